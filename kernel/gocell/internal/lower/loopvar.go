package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/check"
)

// shareLoopVars gives the loops below n one set of variables for all rounds, as
// Go before 1.22 did, if a closure or pointer keeps one.
func (l *lowerer) shareLoopVars(n ast.Node, file *check.FetchedFile) ast.Node {
	if !file.SharesLoopVars() {
		return n
	}
	return astutil.Apply(n, nil, func(c *astutil.Cursor) bool {
		s, ok := c.Node().(ast.Stmt)
		if !ok {
			return true
		}
		if _, labelled := c.Parent().(*ast.LabeledStmt); labelled {
			return true // it is rewritten with its label
		}
		loop := s
		for {
			ls, ok := loop.(*ast.LabeledStmt)
			if !ok {
				break
			}
			loop = ls.Stmt
		}
		var before []ast.Stmt
		switch x := loop.(type) {
		case *ast.ForStmt:
			a, ok := x.Init.(*ast.AssignStmt)
			if !ok || a.Tok != token.DEFINE || !l.mayOutliveRound(x, a.Lhs) {
				return true
			}
			before, x.Init = []ast.Stmt{a}, nil
		case *ast.RangeStmt:
			if x.Tok != token.DEFINE || !l.mayOutliveRound(x, []ast.Expr{x.Key, x.Value}) {
				return true
			}
			for _, v := range []ast.Expr{x.Key, x.Value} {
				id, ok := v.(*ast.Ident)
				if !ok || id.Name == "_" {
					continue
				}
				if o := l.c.Info.Defs[id]; o != nil {
					before = append(before, &ast.DeclStmt{Decl: &ast.GenDecl{TokPos: id.Pos(), Tok: token.VAR, Specs: []ast.Spec{
						&ast.ValueSpec{Names: []*ast.Ident{{Name: id.Name, NamePos: id.Pos()}}, Type: l.typeExpr(o.Type(), id.Pos())}}}})
					l.c.Info.Types[id] = variableOf(o.Type())
				}
			}
			x.Tok = token.ASSIGN
		default:
			return true
		}
		c.Replace(&ast.BlockStmt{Lbrace: s.Pos(), List: append(before, s), Rbrace: s.End()})
		return true
	})
}

// mayOutliveRound reports whether a variable that a loop defines may outlive a
// round: a closure, a pointer or a method value keeps it.
func (l *lowerer) mayOutliveRound(loop ast.Node, vars []ast.Expr) bool {
	info := l.c.Info
	of := map[types.Object]bool{}
	for _, v := range vars {
		if id, ok := v.(*ast.Ident); ok && info.Defs[id] != nil {
			of[info.Defs[id]] = true
		}
	}
	mentions := func(n ast.Node) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && of[info.Uses[id]] {
				found = true
			}
			return !found
		})
		return found
	}
	found := false
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			found = found || mentions(n.Body)
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && mentions(n.X)
		case *ast.SliceExpr: // of an array
			found = found || mentions(n.X)
		case *ast.SelectorExpr: // v.m takes the address of v where m wants it
			if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
				_, byPointer := types.Unalias(s.Obj().(*types.Func).Signature().Recv().Type()).(*types.Pointer)
				_, pointer := s.Recv().Underlying().(*types.Pointer)
				found = found || byPointer && !pointer && mentions(n.X)
			}
		}
		return !found
	})
	return found
}
