package cell

import (
	"go/scanner"
	"go/token"
	"strconv"
	"strings"
)

// A cell may mix imports, declarations and statements. split cuts it at
// top-level semicolons. Each part is parsed in a text of its own, in which the
// rest of the cell is blanked, so that positions remain positions in the cell.

// A partKind is the kind of a top-level part of a cell.
type partKind int

const (
	PartImport partKind = iota
	partDecl            // const, type, func: at package level, in any order
	PartStmt            // anything else, var included: executed in order
)

// A Part is a top-level piece of a cell's text.
type Part struct {
	Kind       partKind
	Tok        token.Token // the first token
	Start, End int         // byte offsets
}

// Split cuts src into its top-level parts, in order.
func Split(src string) []Part {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(f, []byte(src), func(token.Position, string) {}, 0)
	var parts []Part
	var toks []token.Token // the first tokens of the part under way
	depth, start := 0, -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		p := Part{Kind: PartStmt, Tok: toks[0], Start: start, End: end}
		switch toks[0] {
		case token.IMPORT:
			p.Kind = PartImport
		case token.CONST, token.TYPE:
			p.Kind = partDecl
		case token.FUNC:
			if declaresFunc(toks) {
				p.Kind = partDecl
			}
		}
		parts = append(parts, p)
		start, toks = -1, toks[:0]
	}
	for {
		pos, tok, _ := s.Scan()
		if tok == token.EOF {
			break
		}
		off := f.Offset(pos)
		if start < 0 {
			if tok == token.SEMICOLON {
				continue
			}
			start = off
		}
		if len(toks) < 4096 {
			toks = append(toks, tok)
		}
		switch tok {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth = max(depth-1, 0)
		case token.SEMICOLON:
			if depth == 0 {
				flush(off)
			}
		}
	}
	flush(len(src))
	return parts
}

// declaresFunc reports whether tokens that start with func declare a function
// or method; otherwise they start a function literal.
func declaresFunc(toks []token.Token) bool {
	if len(toks) < 2 {
		return false
	}
	if toks[1] == token.IDENT {
		return true
	}
	if toks[1] != token.LPAREN {
		return false
	}
	depth := 0
	for i := 1; i < len(toks); i++ {
		switch toks[i] {
		case token.LPAREN:
			depth++
		case token.RPAREN:
			if depth--; depth == 0 {
				// func (r T) name( ... against func (x int) T { ... }.
				return i+2 < len(toks) && toks[i+1] == token.IDENT && toks[i+2] == token.LPAREN
			}
		}
	}
	return false
}

// LineDirective returns a directive that gives the text after it a position in
// the cell; the name is relative to the folder of the file.
func LineDirective(line, col int) string {
	return "/*line _.go:" + strconv.Itoa(line) + ":" + strconv.Itoa(col) + "*/"
}

// Blank replaces everything outside the kept parts by spaces, except newlines.
func Blank(text string, keep []Part) string {
	b := []byte(text)
	i := 0
	for _, p := range keep {
		Wipe(b[i:p.Start])
		i = p.End
		if i < len(b) && b[i] == ';' {
			i++
		}
	}
	Wipe(b[i:])
	return string(b)
}

// Without replaces the parts by spaces. The rest keeps its semicolons,
// including those that end no statement (for i := 0; ; i++).
func Without(text string, parts []Part) string {
	b := []byte(text)
	for _, p := range parts {
		Wipe(b[p.Start:p.End])
		if p.End < len(b) && b[p.End] == ';' {
			b[p.End] = ' '
		}
	}
	return string(b)
}

func Wipe(b []byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}

// StripComments blanks the comments of Go text.
func StripComments(text string) string {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	b := []byte(text)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return string(b)
		}
		if tok == token.COMMENT {
			o := f.Offset(pos)
			for i := o; i < min(o+len(lit), len(b)); i++ {
				b[i] = ' '
			}
		}
	}
}

// LineCol returns the 1-based line and byte column of an offset.
func LineCol(text string, off int) (line, col int) {
	line = 1 + strings.Count(text[:off], "\n")
	return line, off - strings.LastIndexByte(text[:off], '\n')
}
