package lower

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/syntax"
)

// The interpreter lacks package unsafe. Sizes and offsets are constants of the
// type checker, as run-time types have the compiler's layout (package rtype).
// Pointers are real pointers, so only conversions remain; they become calls of
// the kernel.

// An unsafeCall is a call of a function of package unsafe, or a conversion
// from or to unsafe.Pointer.
type unsafeCall struct {
	f string // the kernel's function
	t types.Type
}

// noteUnsafe rewrites the function of a call that converts from or to
// unsafe.Pointer or calls package unsafe, and notes the result type. A constant
// such as unsafe.Sizeof(x) is replaced by its value.
func (l *lowerer) noteUnsafe(c *astutil.Cursor, x *ast.CallExpr) verdict {
	info := l.c.Info
	tv := info.Types[x]
	name := ""
	if info.Types[x.Fun].IsType() {
		if len(x.Args) != 1 || tv.Type == nil {
			return goOn
		}
		from := info.Types[x.Args[0]]
		switch into, outOf := isUnsafePointer(tv.Type), isUnsafePointer(from.Type); {
		case from.IsNil(), into == outOf:
			return goOn
		case into:
			name = "Pointer"
		case isPointer(tv.Type):
			name = "At"
		default:
			name = "Address"
		}
	} else if name = unsafeBuiltin(info, x.Fun); name == "" {
		return goOn
	}
	if tv.Value != nil {
		c.Replace(l.typedLiteral(tv, x.Pos()))
		return skip
	}
	if l.unsafe == nil {
		l.unsafe = map[*ast.CallExpr]unsafeCall{}
	}
	l.unsafe[x] = unsafeCall{"Unsafe" + name, tv.Type}
	x.Fun = l.kernel("Unsafe"+name, x.Pos())
	return goOn
}

// unsafeBuiltin returns the name of the function of package unsafe that is
// called, or "".
func unsafeBuiltin(info *types.Info, f ast.Expr) string {
	if b, ok := info.Uses[calledName(f)].(*types.Builtin); ok && b.Pkg() == types.Unsafe {
		return b.Name()
	}
	return ""
}

func isUnsafePointer(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// unsafeResult dereferences the result of a call that noteUnsafe has rewritten,
// which is a pointer to it:
func (l *lowerer) unsafeResult(c *astutil.Cursor, x *ast.CallExpr) verdict {
	u, ok := l.unsafe[x]
	if !ok {
		return goOn
	}
	m := syntax.At(x.Pos())
	x.Args = append([]ast.Expr{m.Int(l.typeNumber(u.t, m.Pos))}, x.Args...)
	c.Replace(&ast.StarExpr{Star: m.Pos, X: &ast.TypeAssertExpr{X: x, Lparen: m.Pos, Rparen: m.Pos,
		Type: &ast.StarExpr{Star: m.Pos, X: l.typeExpr(u.t, m.Pos)}}})
	return stop
}
