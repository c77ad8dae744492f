package lower

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/syntax"
)

// The interpreter converts between strings and []byte or []rune only. The
// kernel converts those whose element is a named type.

// convertByteSlice rewrites a conversion between a string and a slice of named
// bytes or runes.
func (l *lowerer) convertByteSlice(c *astutil.Cursor, x *ast.CallExpr) {
	from, to := l.conversions[x][0], l.conversions[x][1]
	if from == nil || to == nil {
		return
	}
	m := syntax.At(x.Pos())
	switch {
	case isString(to) && isNamedBytes(from):
		x.Args[0] = syntax.Call(l.kernel("Text", m.Pos), m.Pos, x.Args[0])
	case isNamedBytes(to) && isString(from):
		n, s := m.Int(l.typeNumber(to, m.Pos)), syntax.Call(m.Ident("string"), m.Pos, x.Args[0])
		c.Replace(&ast.StarExpr{Star: m.Pos, X: &ast.TypeAssertExpr{X: syntax.Call(l.kernel("Letters", m.Pos), m.Pos, n, s),
			Lparen: m.Pos, Type: l.typeExpr(types.NewPointer(to), m.Pos), Rparen: m.Pos}})
	}
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// isNamedBytes reports whether t is a slice of bytes or runes of a named type.
func isNamedBytes(t types.Type) bool {
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
