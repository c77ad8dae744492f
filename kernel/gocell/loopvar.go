package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"go/version"

	"golang.org/x/tools/go/ast/astutil"
)

// sharedLoopVars gives the loops below n the variables of Go before 1.22: one
// for all rounds, where somebody could tell, because a function literal or a
// pointer keeps it.
func (l *lowerer) sharedLoopVars(n ast.Node, file *sourceFile) ast.Node {
	if v := file.syntax.GoVersion; v == "" || version.Compare(v, "go1.22") >= 0 {
		return n
	}
	return astutil.Apply(n, nil, func(c *astutil.Cursor) bool {
		s, ok := c.Node().(ast.Stmt)
		if !ok {
			return true
		}
		if _, labelled := c.Parent().(*ast.LabeledStmt); labelled {
			return true // with its label
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
			if !ok || a.Tok != token.DEFINE || !l.kept(x, a.Lhs) {
				return true
			}
			before, x.Init = []ast.Stmt{a}, nil
		case *ast.RangeStmt:
			if x.Tok != token.DEFINE || !l.kept(x, []ast.Expr{x.Key, x.Value}) {
				return true
			}
			for _, v := range []ast.Expr{x.Key, x.Value} {
				id, ok := v.(*ast.Ident)
				if !ok || id.Name == "_" {
					continue
				}
				if o := l.c.info.Defs[id]; o != nil {
					before = append(before, &ast.DeclStmt{Decl: &ast.GenDecl{TokPos: id.Pos(), Tok: token.VAR, Specs: []ast.Spec{
						&ast.ValueSpec{Names: []*ast.Ident{{Name: id.Name, NamePos: id.Pos()}}, Type: l.typeExpr(o.Type(), id.Pos())}}}})
					l.c.info.Types[id] = variableOf(o.Type())
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

// kept reports whether a variable that a loop defines may outlive a round.
func (l *lowerer) kept(loop ast.Node, vars []ast.Expr) bool {
	info := l.c.info
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
