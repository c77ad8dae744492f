package cell

import (
	"fmt"
	"go/scanner"
	"go/token"
)

// A Token is a token of a text, with its offsets.
type Token struct {
	Kind        token.Token
	Text        string
	Offset, End int
}

// Automatic reports whether the scanner has inserted the semicolon, at the end of a
// line.
func (t Token) Automatic() bool { return t.Kind == token.SEMICOLON && t.Text == "\n" }

// Tokens scans a text. open are the brackets that it leaves open; err is the
// first error.
func Tokens(text string) (list []Token, open []token.Token, err error) {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	list = make([]Token, 0, len(text)/2+8) // more than dense code has
	var s scanner.Scanner
	var first error
	s.Init(f, []byte(text), func(p token.Position, msg string) {
		if first == nil {
			first = fmt.Errorf("%s", msg)
		}
	}, 0)
	for {
		pos, k, lit := s.Scan()
		if k == token.EOF {
			return list, open, first
		}
		off := f.Offset(pos)
		end := off + len(lit)
		if lit == "" {
			end = off + len(k.String())
		}
		t := Token{k, lit, off, end}
		if t.Automatic() {
			t.End = off
		}
		list = append(list, t)
		switch k {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			open = append(open, k)
		case token.RPAREN, token.RBRACE, token.RBRACK:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
}

// IsBlank reports whether a text has no tokens: nothing but space and comments.
func IsBlank(text string) bool {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), []byte(text), nil, 0)
	_, k, _ := s.Scan()
	return k == token.EOF
}

// Trim returns the text from its first token to its last: without space and comments
// around it.
func Trim(text string) string {
	list, _, _ := Tokens(text)
	for n := len(list); n > 0; n-- {
		if !list[n-1].Automatic() {
			return text[list[0].Offset:list[n-1].End]
		}
	}
	return ""
}
