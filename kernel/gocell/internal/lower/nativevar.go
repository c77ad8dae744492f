package lower

import (
	"go/ast"
	"go/types"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// nativeVar returns the expression of a compiled cell's variable, through a
// pointer. The interpreter copies a package's variable before some assignments
// to it.
func (l *lowerer) nativeVar(v *types.Var, x *ast.Ident) ast.Expr {
	star := &ast.StarExpr{Star: x.Pos(), X: &ast.SelectorExpr{X: &ast.Ident{Name: cell.Alias(check.PathOf(v.Pkg())), NamePos: x.Pos()},
		Sel: &ast.Ident{Name: cell.PointerMark + v.Name(), NamePos: x.Pos()}}}
	whole := &ast.ParenExpr{Lparen: x.Pos(), X: star, Rparen: x.Pos()}
	if tv, ok := l.c.Info.Types[x]; ok {
		l.c.Info.Types[star], l.c.Info.Types[whole] = tv, tv
	}
	return whole
}
