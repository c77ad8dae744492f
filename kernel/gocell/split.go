package gocell

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// A cell mixes what Go keeps apart: imports, declarations and statements.
// split cuts it at its top-level semicolons; each part is then parsed on its
// own ground, blanked out elsewhere, so that every position stays a position
// in the cell.

// partKind says where a part of a cell belongs.
type partKind int

const (
	partImport partKind = iota
	partDecl            // const, type, func: package level, in any order
	partStmt            // everything else, var too: run in order
)

// A part is a top-level piece of a cell's text.
type part struct {
	kind       partKind
	tok        token.Token // the first token
	start, end int         // byte offsets
}

// split cuts src into its top-level parts, in order.
func split(src string) []part {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(f, []byte(src), func(token.Position, string) {}, 0)
	var parts []part
	var toks []token.Token // the first tokens of the part under way
	depth, start := 0, -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		p := part{kind: partStmt, tok: toks[0], start: start, end: end}
		switch toks[0] {
		case token.IMPORT:
			p.kind = partImport
		case token.CONST, token.TYPE:
			p.kind = partDecl
		case token.FUNC:
			if declaresFunc(toks) {
				p.kind = partDecl
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

// declaresFunc reports whether the tokens, which start with func, declare a
// function or method rather than begin a function literal.
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

// A piece is the text of one declaration with the place where it stood, kept
// so that it can be declared again when something it uses has changed.
type piece struct {
	cell      int         // the cell's number
	file      *sourceFile // of a fetched package; nil for a cell's
	id        string      // the notebook's id of the cell, where known
	text      string      // as typed
	line, col int         // of its first byte in the cell
}

// source is one parsed cell.
type source struct {
	number int
	id     string
	text   string
	decls  []piece // const, type, func
	native []piece // all declarations of a compiled cell, which has no others
	file   *ast.File
	body   *ast.BlockStmt // the statements
	last   ast.Stmt       // the last statement, where the cell ends in one
	quiet  bool           // the cell ends in a semicolon: its value is not to be shown
}

// fileName is the name under which a cell's text is known to the file set.
// Its base must be _.go: yaegi files imports under the base name.
func fileName(cell int) string { return "In[" + itoa(cell) + "]/" + cellBase }

const cellBase = "_.go"

// lineDirective makes the text that follows it stand at a place of the cell;
// the name is relative to the folder of the file.
func lineDirective(line, col int) string {
	return "/*line _.go:" + itoa(line) + ":" + itoa(col) + "*/"
}

// blank returns text with everything outside the kept parts replaced by
// spaces, newlines kept.
func blank(text string, keep []part) string {
	b := []byte(text)
	i := 0
	for _, p := range keep {
		wipe(b[i:p.start])
		i = p.end
		if i < len(b) && b[i] == ';' {
			i++
		}
	}
	wipe(b[i:])
	return string(b)
}

// without returns text with the parts replaced by spaces: what is left keeps
// every semicolon, also those that are no end of a statement (for i := 0; ; i++).
func without(text string, parts []part) string {
	b := []byte(text)
	for _, p := range parts {
		wipe(b[p.start:p.end])
		if p.end < len(b) && b[p.end] == ';' {
			b[p.end] = ' '
		}
	}
	return string(b)
}

func wipe(b []byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}

// parseCell parses a cell. The error is a scanner.ErrorList with positions in
// the cell.
func parseCell(fset *token.FileSet, number int, id, text string) (*source, error) {
	src := &source{number: number, id: id, text: text}
	parts := split(text)
	var head []part // what is no statement
	for _, p := range parts {
		if p.kind != partStmt {
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
	var imports, decls []part
	for _, p := range head {
		if p.kind == partImport {
			imports = append(imports, p)
		} else {
			decls = append(decls, p)
		}
	}
	f, err := parser.ParseFile(fset, fileName(number), "package main;"+lineDirective(1, 1)+blank(text, imports), mode)
	collect(err)
	src.file = &ast.File{Name: ast.NewIdent("main")}
	if f != nil {
		src.file.Decls = append(src.file.Decls, f.Decls...)
	}
	for _, p := range decls {
		line, col := lineCol(text, p.start)
		pc := piece{cell: number, id: id, text: text[p.start:p.end], line: line, col: col}
		ds, err := pc.parse(fset)
		collect(err)
		src.file.Decls = append(src.file.Decls, ds...)
		src.decls = append(src.decls, pc)
	}
	f, err = parser.ParseFile(fset, fileName(number), "package main;func _(){"+lineDirective(1, 1)+without(text, head)+"\n}", mode)
	collect(err)
	if f != nil && len(f.Decls) > 0 {
		if fd, ok := f.Decls[0].(*ast.FuncDecl); ok && fd.Body != nil {
			src.body = fd.Body
		}
	}
	if src.body == nil {
		src.body = &ast.BlockStmt{}
	}
	if n := len(parts); n > 0 && parts[n-1].kind == partStmt && len(src.body.List) > 0 {
		src.last = src.body.List[len(src.body.List)-1]
		// A trailing semicolon asks for silence, as in other notebooks.
		if strings.HasSuffix(strings.TrimRight(stripComments(text[parts[n-1].start:]), " \t\r\n"), ";") {
			src.quiet = true
		}
	}
	if len(errs) > 0 {
		errs.Sort()
		return src, errs
	}
	return src, nil
}

// parse returns the declarations of a piece, positioned in its cell.
func (p piece) parse(fset *token.FileSet) ([]ast.Decl, error) {
	name := fileName(p.cell)
	if p.file != nil {
		name = p.file.name
	}
	f, err := parser.ParseFile(fset, name, "package main;"+lineDirective(p.line, p.col)+p.text, parser.ParseComments|parser.SkipObjectResolution)
	if f == nil {
		return nil, err
	}
	return f.Decls, err
}

// stripComments blanks the comments of Go text.
func stripComments(text string) string {
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

// lineCol returns the 1-based line and byte column of an offset.
func lineCol(text string, off int) (line, col int) {
	line = 1 + strings.Count(text[:off], "\n")
	return line, off - strings.LastIndexByte(text[:off], '\n')
}
