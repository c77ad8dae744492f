package check

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// A Piece is the text and position of one declaration. It is kept so that the
// declaration can be compiled again when something it uses has changed.
type Piece struct {
	Cell         int          // the cell's number
	File         *FetchedFile // of a fetched package; nil for a cell's
	id           string       // the notebook's id of the cell, where known
	Text         string       // as typed
	preamble     string       // before the import of C: text in C
	at           int          // the line of its first line
	Line, Column int          // of its first byte in the cell
	imported     *imported    // what it has of imports, once it is checked
}

// Source is one parsed cell.
type Source struct {
	Number  int
	id      string
	text    string
	decls   []Piece // const, type, func
	native  []Piece // all declarations, with variables and imports, of a compiled cell
	File    *ast.File
	Body    *ast.BlockStmt // the statements
	Last    ast.Stmt       // the last statement, if the cell ends with a statement
	Quiet   bool           // the cell ends with a semicolon: its value is not shown
	Program bool           // begins with package main
	// Effects is what the cell does, once it is checked, where it is not nil before.
	Effects *Effects
	// Recalled holds the variables that stand for results of earlier cells; recalls says
	// that the statements may have names of such.
	Recalled []*types.Var
	recalls  bool
	// Results holds the types of the last expression, once the cell is checked.
	Results []types.Type
}

// Text returns the cell's text, as it was typed.
func (src *Source) Text() string { return src.text }

// ParseCell parses a cell, without a package clause at its beginning. The error is a
// scanner.ErrorList with positions in the cell.
func ParseCell(fset *token.FileSet, number int, id, text string) (*Source, error) {
	tokens, _, _ := cell.Tokens(text)
	src := &Source{Number: number, id: id}
	if n := len(tokens); n > 1 && tokens[0].Kind == token.PACKAGE && tokens[1].Kind == token.IDENT {
		// A file that is pasted into a cell.
		src.Program = tokens[1].Text == "main"
		from, to := tokens[0].Offset, tokens[1].End
		text = text[:from] + strings.Repeat(" ", to-from) + text[to:]
		tokens = tokens[2:]
	}
	src.text = text
	parts := cell.Split(tokens, len(text))
	var head []cell.Part // parts that are not statements
	for _, p := range parts {
		if p.Kind != cell.PartStmt {
			head = append(head, p)
		}
	}
	const mode = parser.ParseComments | parser.SkipObjectResolution
	var errs scanner.ErrorList
	collect := func(err error) {
		if l, ok := err.(scanner.ErrorList); ok {
			errs = append(errs, l...)
		}
	}
	// Imports come first in a file, wherever they stand in the cell.
	var imports, decls []cell.Part
	for _, p := range head {
		if p.Kind == cell.PartImport {
			imports = append(imports, p)
		} else {
			decls = append(decls, p)
		}
	}
	f, err := parser.ParseFile(fset, cell.FileName(number), "package main;"+cell.LineDirective(1, 1)+cell.Blank(text, imports), mode)
	collect(err)
	src.File = &ast.File{Name: ast.NewIdent("main")}
	if f != nil {
		src.File.Decls = append(src.File.Decls, f.Decls...)
	}
	for _, p := range decls {
		line, col := cell.LineCol(text, p.Start)
		pc := Piece{Cell: number, id: id, Text: text[p.Start:p.End], Line: line, Column: col}
		ds, err := pc.Parse(fset)
		collect(err)
		for _, d := range ds {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil && err == nil {
				errs = append(errs, bodyless(fset, f, text, p.End))
			}
		}
		src.File.Decls = append(src.File.Decls, ds...)
		src.decls = append(src.decls, pc)
	}
	collect(src.parseBody(fset, head, parts, tokens))
	if len(errs) > 0 {
		return src, inCell(errs, text, tokens)
	}
	return src, nil
}

// bodyless returns the error of a function without a body, whose head ends before offset
// end of the cell's text.
func bodyless(fset *token.FileSet, f *ast.FuncDecl, text string, end int) *scanner.Error {
	rest := strings.TrimLeft(text[end:], "; \t\r\n")
	if !strings.HasPrefix(rest, "{") {
		return &scanner.Error{Pos: fset.Position(f.Name.Pos()), Msg: "missing function body"}
	}
	pos := fset.Position(f.Pos())
	pos.Line, pos.Column = cell.LineCol(text, len(text)-len(rest))
	return &scanner.Error{Pos: pos, Msg: "unexpected semicolon or newline before {"}
}

// bodyPrefix is what the statements of a cell follow where they are parsed.
var bodyPrefix = "package main;func _(){" + cell.LineDirective(1, 1)

// parseBody parses the statements of a cell: the parts that are not in head.
func (src *Source) parseBody(fset *token.FileSet, head, parts []cell.Part, tokens []cell.Token) error {
	text := src.text
	body := cell.Without(text, head)
	n := len(parts)
	src.recalls = slices.ContainsFunc(parts, func(p cell.Part) bool {
		return p.Kind == cell.PartStmt && slices.ContainsFunc(p.Tokens, func(t cell.Token) bool { return t.Kind == token.IDENT && isRecall(t.Text) })
	})
	ends := n > 0 && (len(head) == 0 || head[len(head)-1].Start != parts[n-1].Start) // with a statement
	if ends {
		body = encloseList(body, parts[n-1])
	}
	f, err := parser.ParseFile(fset, cell.FileName(src.Number), bodyPrefix+body+"\n}", parser.ParseComments|parser.SkipObjectResolution)
	if f != nil && len(f.Decls) > 0 {
		if fd, ok := f.Decls[0].(*ast.FuncDecl); ok && fd.Body != nil {
			src.Body = fd.Body
		}
	}
	if src.Body == nil {
		src.Body = &ast.BlockStmt{}
	}
	if ends && len(src.Body.List) > 0 {
		src.Last = src.Body.List[len(src.Body.List)-1]
		// A trailing semicolon hides the value, as in other notebooks.
		last := tokens[len(tokens)-1]
		src.Quiet = last.Kind == token.SEMICOLON && !last.Automatic()
	}
	return err
}

// Main reports whether the cell declares func main and does not call it, and
// whether it has nothing but declarations beside it.
func (s *Source) Main() (declared, alone bool) {
	for _, d := range s.File.Decls {
		f, ok := d.(*ast.FuncDecl)
		declared = declared || ok && f.Recv == nil && f.Name.Name == "main"
	}
	if declared {
		used := map[string]bool{}
		mention(used, s.Body)
		declared = !used["main"]
	}
	for _, x := range s.Body.List {
		if _, ok := x.(*ast.DeclStmt); !ok {
			return declared, false
		}
	}
	return declared, declared
}

// FileName returns the name, in the file set, of the file that a piece is of.
func (p Piece) FileName() string {
	if p.File != nil {
		return p.File.name
	}
	return cell.FileName(p.Cell)
}

// Parse returns the declarations of a piece, positioned in its cell.
func (p Piece) Parse(fset *token.FileSet) ([]ast.Decl, error) {
	f, err := parser.ParseFile(fset, p.FileName(), "package main;"+cell.LineDirective(p.Line, p.Column)+p.Text, parser.ParseComments|parser.SkipObjectResolution)
	if f == nil {
		return nil, err
	}
	return f.Decls, err
}

// Imports returns the import paths in a cell.
func (src *Source) Imports() (paths []string) {
	for _, d := range src.Declarations() {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, spec := range g.Specs {
			paths = append(paths, ImportPath(spec.(*ast.ImportSpec)))
		}
	}
	return paths
}

// Declarations returns the declarations of a cell, also of one that is compiled.
func (src *Source) Declarations() []ast.Decl {
	all := slices.Clone(src.File.Decls)
	for _, pc := range src.native {
		if ds, err := pc.Parse(token.NewFileSet()); err == nil {
			all = append(all, ds...)
		}
	}
	return all
}
