package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/syntax"
)

// deferralName is the variable that holds the deferred call by which a function
// was called.
const deferralName = cell.Mark + "deferral"

// takesDeferral returns the first statement of a function that calls recover:
// it asks the kernel for the deferred call by which the function was called.
func (l *lowerer) takesDeferral(pos token.Pos) ast.Stmt {
	return syntax.At(pos).Define(deferralName, syntax.Call(l.kernel("Deferred", pos), pos))
}

// recoverCall rewrites a call of recover, and notes that the enclosing function
// calls it.
func (l *lowerer) recoverCall(c *astutil.Cursor, x *ast.CallExpr) verdict {
	if !l.isBuiltin(x.Fun) || ast.Unparen(x.Fun).(*ast.Ident).Name != "recover" {
		return goOn
	}
	m := syntax.At(x.Pos())
	from := "nil"
	if _, isGo := c.Parent().(*ast.GoStmt); l.function().typ != nil && !isGo {
		from = deferralName
		l.function().recovers = true
	}
	y := syntax.Call(l.kernel("Recover", m.Pos), m.Pos, m.Ident(from))
	l.c.Info.Types[y] = variableOf(types.Universe.Lookup("any").Type())
	c.Replace(y)
	return stop
}

// claimDeferral inserts takesDeferral into a function that calls recover.
func (l *lowerer) claimDeferral(body *ast.BlockStmt) {
	if body != nil && l.function().recovers {
		body.List = append([]ast.Stmt{l.takesDeferral(body.Lbrace)}, body.List...)
	}
}

// noteRecovering notes the names of methods that call recover. A function
// literal that stands for a method value of that name forwards the deferred
// call to the method.
func (l *lowerer) noteRecovering(d ast.Decl) {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil || f.Body == nil {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && id.Name == "recover" {
				l.state.recovering[f.Name.Name] = true
			}
		}
		return true
	})
}
