package gocell

import (
	"go/ast"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/ast/astutil"
)

// The interpreter converts strings to bytes and runes of the basic types alone,
// and back. Those of a cell's types are converted here.

// lettersOf rewrites a conversion between strings and slices of a cell's type
// of bytes or runes.
func (l *lowerer) lettersOf(c *astutil.Cursor, x *ast.CallExpr) {
	from, to := l.conversions[x][0], l.conversions[x][1]
	if from == nil || to == nil {
		return
	}
	m := maker{x.Pos()}
	switch {
	case isString(to) && ownLetters(from):
		x.Args[0] = call(l.rt("Text", m.pos), m.pos, x.Args[0])
	case ownLetters(to) && isString(from):
		n, s := m.num(l.typeNumber(to, m.pos)), call(m.id("string"), m.pos, x.Args[0])
		c.Replace(&ast.StarExpr{Star: m.pos, X: &ast.TypeAssertExpr{X: call(l.rt("Letters", m.pos), m.pos, n, s),
			Lparen: m.pos, Type: l.typeExpr(types.NewPointer(to), m.pos), Rparen: m.pos}})
	}
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// ownLetters reports whether t is a slice of bytes or runes whose type has
// another name.
func ownLetters(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	if _, basic := types.Unalias(s.Elem()).(*types.Basic); basic {
		return false
	}
	b, ok := s.Elem().Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Byte || b.Kind() == types.Rune)
}

// textOf returns the string of a slice of bytes or runes of any type.
func textOf(x any) string {
	v := reflect.ValueOf(x)
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return string(elements[byte](v))
	}
	return string(elements[rune](v))
}

// letters returns a pointer to a slice, of the type of a number, of the bytes
// or the runes of a string.
func (a *asserted) letters(n int, s string) any {
	p := reflect.New(a.types[n])
	if p.Type().Elem().Elem().Kind() == reflect.Uint8 {
		*(*[]byte)(p.UnsafePointer()) = []byte(s)
	} else {
		*(*[]rune)(p.UnsafePointer()) = []rune(s)
	}
	return p.Interface()
}
