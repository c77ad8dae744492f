// Package pieces cuts a cell of Go into its declarations and statements by syntax
// alone, for engines that have no types.
package pieces

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"dace.local/kernel/engine"
)

// fileBase is the base of the names that cells have in positions.
const fileBase = "_.go"

// FileName returns the name of a cell in positions.
func FileName(cell int) string { return fmt.Sprintf("In[%d]/%s", cell, fileBase) }

// A Place is a position in a cell.
type Place struct{ Cell, Line, Col int }

// Errorf returns an error at a place, as the parser's are.
func (p Place) Errorf(format string, args ...any) error {
	return scanner.ErrorList{{Pos: token.Position{Filename: FileName(p.Cell), Line: p.Line, Column: p.Col}, Msg: fmt.Sprintf(format, args...)}}
}

// A Piece is a declaration or a statement of a cell.
type Piece struct {
	Text      string
	At        Place
	Semicolon bool // a written one follows
}

// declaring matches what begins like a declaration; a literal may begin with func, too.
var declaring = regexp.MustCompile(`^(import|func|type|var|const)\b`)

// Parse parses a piece with the cell's positions: a file for a declaration, a block
// for a statement.
func (p Piece) Parse(fset *token.FileSet) (ast.Node, error) {
	text := fmt.Sprintf("/*line %s:%d:%d*/%s\n", FileName(p.At.Cell), p.At.Line, p.At.Col, p.Text)
	if word := declaring.FindString(p.Text); word != "" {
		f, err := parser.ParseFile(fset, fileBase, "package main;"+text, parser.SkipObjectResolution)
		if err == nil || word != "func" {
			return f, err
		}
	}
	f, err := parser.ParseFile(fset, fileBase, "package main;func main() {"+text+"}", parser.SkipObjectResolution)
	if err == nil && len(f.Decls) != 1 {
		err = p.At.Errorf("syntax error: unexpected }")
	}
	if err != nil {
		return nil, err
	}
	return f.Decls[0].(*ast.FuncDecl).Body, nil
}

// A Lexeme is a token of a text.
type Lexeme struct {
	Tok token.Token
	Lit string
	At  int // offset
}

// Lex returns the tokens of a text, without comments.
func Lex(text string) (list []Lexeme, errs scanner.ErrorList) {
	f := token.NewFileSet().AddFile(fileBase, -1, len(text))
	var sc scanner.Scanner
	sc.Init(f, []byte(text), errs.Add, 0)
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			return list, errs
		}
		list = append(list, Lexeme{tok, lit, f.Offset(pos)})
	}
}

// nesting is what a token adds to the depth of brackets.
func (l Lexeme) nesting() int {
	switch l.Tok {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		return 1
	case token.RPAREN, token.RBRACK, token.RBRACE:
		return -1
	}
	return 0
}

// Split cuts a cell into pieces: at the semicolons outside brackets, also those that
// ends of lines are, before which the text is complete.
func Split(number int, text string) (pieces []Piece, err error) {
	list, errs := Lex(text)
	if len(errs) > 0 {
		return nil, errs
	}
	depth, start := 0, 0
	for i, t := range list {
		depth += t.nesting()
		semicolon, atEnd := t.Tok == token.SEMICOLON, i == len(list)-1
		if semicolon && i == start {
			start++
			continue
		}
		if !atEnd && (!semicolon || depth > 0) {
			continue
		}
		from, end := list[start].At, len(text)
		if semicolon {
			end = t.At
		}
		p := Piece{text[from:end], Place{number, 1 + strings.Count(text[:from], "\n"), from - strings.LastIndexByte(text[:from], '\n')}, t.Lit == ";"}
		if _, err := p.Parse(token.NewFileSet()); err == nil {
			pieces, start = append(pieces, p), i+1
		} else if atEnd || depth < 0 { // else a semicolon in a statement's header
			return nil, err
		}
	}
	return pieces, nil
}

// Names returns the functions, types and methods ("T.m") that a piece declares, and
// whether each is a function.
func Names(n ast.Node) map[string]bool {
	list := map[string]bool{}
	f, ok := n.(*ast.File)
	if !ok {
		return nil
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				list[d.Name.Name] = true
			} else {
				list[strings.TrimLeft(types.ExprString(d.Recv.List[0].Type), "*")+"."+d.Name.Name] = false
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					list[t.Name.Name] = false
				}
			}
		}
	}
	return list
}

// Mentions reports whether a piece has an identifier.
func (p Piece) Mentions(name string) bool {
	list, _ := Lex(p.Text)
	return slices.ContainsFunc(list, func(l Lexeme) bool { return l.Tok == token.IDENT && l.Lit == name })
}

// Completeness reports whether code is a complete cell, or lacks lines.
func Completeness(code string) engine.Completeness {
	list, errs := Lex(code)
	depth, n := 0, len(list)
	for _, t := range list {
		depth += t.nesting()
	}
	_, err := Split(0, code)
	switch {
	case len(errs) > 0 && (strings.Contains(errs[0].Msg, "raw string") || strings.Contains(errs[0].Msg, "comment not terminated")),
		len(errs) == 0 && (depth > 0 || depth == 0 && n > 0 && list[n-1].Tok.IsOperator() && list[n-1].Tok != token.SEMICOLON):
		return engine.Completeness{Status: "incomplete", Indent: strings.Repeat("\t", max(0, depth))}
	case err != nil && !strings.HasPrefix(strings.TrimSpace(code), "?"):
		return engine.Completeness{Status: "invalid"}
	}
	return engine.Completeness{Status: "complete"}
}
