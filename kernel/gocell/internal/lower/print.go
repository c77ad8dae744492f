package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// print and println write to standard error as Go's run time does: numbers and
// strings by value, anything else by address, whatever methods a type has.

// callPrint rewrites a call of print or println to ˑrt.Print(ln, "vi", x, y). The
// letter i stands for an interface value, v for any other.
func (l *lowerer) callPrint(x *ast.CallExpr) {
	info := l.c.Info
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok {
		return
	}
	b, ok := info.Uses[id].(*types.Builtin)
	if !ok || b.Name() != "print" && b.Name() != "println" {
		return
	}
	m := syntax.At(x.Pos())
	kinds := ""
	note := func(t types.Type) {
		kind := "v"
		switch t.Underlying().(type) {
		case *types.Struct, *types.Array:
			l.refuse(x.Pos(), "illegal types for operand: %s\n\t%s", b.Name(), types.TypeString(t, check.ShortName))
		case *types.Interface:
			kind = "i"
		}
		kinds += kind
	}
	x.Fun = l.kernel("Print", m.Pos)
	ln := m.Ident(strconv.FormatBool(b.Name() == "println"))
	text := func() ast.Expr {
		return &ast.BasicLit{ValuePos: m.Pos, Kind: token.STRING, Value: strconv.Quote(kinds)}
	}
	if len(x.Args) == 1 {
		if many, ok := info.TypeOf(x.Args[0]).(*types.Tuple); ok {
			var params []*ast.Field
			var args []ast.Expr
			for v := range many.Variables() {
				p := cell.Mark + "p" + strconv.Itoa(len(params))
				note(v.Type())
				params = append(params, m.Field(p, l.typeExpr(v.Type(), m.Pos)))
				args = append(args, l.boxSlice(m.Ident(p), v.Type()))
			}
			x.Fun = m.FuncLit(params, nil, &ast.ExprStmt{X: syntax.Call(x.Fun, m.Pos, append([]ast.Expr{ln, text()}, args...)...)})
			return
		}
	}
	args := make([]ast.Expr, len(x.Args))
	for i, a := range x.Args {
		tv := info.Types[a]
		tv.Type = types.Default(tv.Type)
		note(tv.Type)
		if tv.Value != nil {
			args[i] = l.typedLiteral(tv, a.Pos())
		} else {
			args[i] = l.boxSlice(a, tv.Type)
		}
	}
	x.Args = append([]ast.Expr{ln, text()}, args...)
}

// boxSlice boxes a slice. The interpreter would spread it over the variadic
// parameter.
func (l *lowerer) boxSlice(x ast.Expr, t types.Type) ast.Expr {
	if _, ok := t.Underlying().(*types.Slice); !ok {
		return x
	}
	pos := x.Pos()
	y := l.convert(x, anyType, pos)
	if tv, ok := l.c.Info.Types[x]; ok {
		tv.Type = anyType
		l.c.Info.Types[y] = tv
	}
	return y
}

var anyType = types.Universe.Lookup("any").Type()
