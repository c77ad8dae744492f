package main

import (
	"fmt"
	"strings"
	"unicode"
)

type kind int

const (
	word kind = iota
	number
	punct
)

func (k kind) String() string { return [...]string{"word", "number", "punct"}[k] }

type token struct {
	k    kind
	text string
	pos  int
}

type lexer struct {
	in    []rune
	pos   int
	start int
	out   []token
}

func (l *lexer) next() (r rune, ok bool) {
	if l.pos >= len(l.in) {
		return 0, false
	}
	r = l.in[l.pos]
	l.pos++
	return r, true
}

func (l *lexer) accept(f func(rune) bool) {
	for {
		r, ok := l.next()
		if !ok {
			return
		}
		if !f(r) {
			l.pos--
			return
		}
	}
}

func (l *lexer) emit(k kind) {
	l.out = append(l.out, token{k, string(l.in[l.start:l.pos]), l.start})
	l.start = l.pos
}

func lex(s string) []token {
	l := &lexer{in: []rune(s)}
	for {
		r, ok := l.next()
		switch {
		case !ok:
			return l.out
		case unicode.IsSpace(r):
			l.start = l.pos
		case unicode.IsLetter(r), r == '_':
			l.accept(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' })
			l.emit(word)
		case unicode.IsDigit(r):
			l.accept(unicode.IsDigit)
			l.emit(number)
		default:
			l.emit(punct)
		}
	}
}

func main() {
	for _, t := range lex("größe := (a1 + 42)*_x; 7") {
		fmt.Printf("%d:%v:%s ", t.pos, t.k, t.text)
	}
	fmt.Println()
	fmt.Println(lex("x 1")[1].k, len(lex("")), strings.Repeat("=", 3))
	fmt.Printf("%+v %v\n", lex("a!")[1].text, punct)
}
