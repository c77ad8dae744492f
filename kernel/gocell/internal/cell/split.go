package cell

import (
	"go/token"
	"strconv"
	"strings"
)

// A cell may mix imports, declarations and statements. Split divides it at top-level
// semicolons. Each part is parsed in a text of its own, in which the rest of the cell
// is blanked, so that positions remain positions in the cell.

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
	Start, End int     // byte offsets
	Tokens     []Token // at least one
}

// Split divides a cell, of which it is given the tokens and the size in bytes, into
// its top-level parts, in order.
func Split(list []Token, size int) []Part {
	var parts []Part
	depth, first := 0, -1
	flush := func(next, end int) {
		if first >= 0 {
			own := list[first:next]
			parts = append(parts, Part{kindOf(own), own[0].Offset, end, own})
		}
		first = -1
	}
	for i, t := range list {
		if first < 0 && t.Kind != token.SEMICOLON {
			first = i
		}
		switch t.Kind {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth = max(depth-1, 0)
		case token.SEMICOLON:
			if depth == 0 {
				flush(i, t.Offset)
			}
		}
	}
	flush(len(list), size)
	return parts
}

func kindOf(part []Token) partKind {
	switch part[0].Kind {
	case token.IMPORT:
		return PartImport
	case token.CONST, token.TYPE:
		return partDecl
	case token.FUNC:
		if declaresFunc(part) {
			return partDecl
		}
	}
	return PartStmt
}

// declaresFunc reports whether tokens that start with func declare a function
// or method; otherwise they start a function literal.
func declaresFunc(list []Token) bool {
	if len(list) < 2 {
		return false
	}
	if list[1].Kind == token.IDENT {
		return true
	}
	if list[1].Kind != token.LPAREN {
		return false
	}
	depth := 0
	for i := 1; i < len(list); i++ {
		switch list[i].Kind {
		case token.LPAREN:
			depth++
		case token.RPAREN:
			if depth--; depth == 0 {
				// func (r T) name( ... against func (x int) T { ... }.
				return i+2 < len(list) && list[i+1].Kind == token.IDENT && list[i+2].Kind == token.LPAREN
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

// Wipe replaces all but newlines by spaces.
func Wipe(b []byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}

// LineCol returns the 1-based line and byte column of an offset.
func LineCol(text string, off int) (line, col int) {
	line = 1 + strings.Count(text[:off], "\n")
	return line, off - strings.LastIndexByte(text[:off], '\n')
}
