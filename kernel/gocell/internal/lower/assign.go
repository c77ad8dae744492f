package lower

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// splitInterfaceAssign splits a tuple assignment with interface or function
// operands. The interpreter gets it wrong if one is read from a variable of a
// compiled type. The operands on the left and the values are evaluated first,
// then assigned from left to right.
func (l *lowerer) splitInterfaceAssign(c *astutil.Cursor, s *ast.AssignStmt) verdict {
	if s.Tok != token.ASSIGN || c.Index() < 0 {
		return goOn
	}
	if list := l.splitBoxed(s); list != nil {
		c.Replace(&ast.BlockStmt{Lbrace: s.Pos(), List: list, Rbrace: s.End()})
	}
	return goOn
}

// splitBoxed returns the statements that a tuple assignment is split into, or nil
// if it stays.
func (l *lowerer) splitBoxed(s *ast.AssignStmt) []ast.Stmt {
	if len(s.Lhs) < 2 || len(s.Lhs) != len(s.Rhs) {
		return nil
	}
	any := false
	for i := range s.Lhs {
		for _, x := range []ast.Expr{s.Lhs[i], s.Rhs[i]} {
			t := l.knownType(x)
			any = any || t != nil && (types.IsInterface(t) || check.IsSignature(t))
		}
	}
	if !any {
		return nil
	}
	var list []ast.Stmt
	places := make([]ast.Expr, len(s.Lhs))
	for i, x := range s.Lhs {
		places[i] = l.holdPlace(x, &list)
	}
	values := make([]ast.Expr, len(s.Rhs))
	for i, x := range s.Rhs {
		values[i] = l.hold(x, l.knownType(s.Lhs[i]), &list)
	}
	for i, x := range places {
		list = append(list, &ast.AssignStmt{Lhs: []ast.Expr{x}, TokPos: s.TokPos, Tok: token.ASSIGN, Rhs: []ast.Expr{values[i]}})
	}
	return list
}

// knownType returns the type of an expression, or of a variable that the
// statement defines; nil if the checker knows none.
func (l *lowerer) knownType(x ast.Expr) types.Type {
	if tv, ok := l.c.Info.Types[x]; ok && tv.Type != nil {
		return tv.Type
	}
	if id, ok := x.(*ast.Ident); ok {
		if o := l.objectOf(id); o != nil {
			return o.Type()
		}
	}
	return nil
}

// hold appends the declaration of a variable that holds x to the list, and
// returns the variable. Its type is t unless that is nil or untyped.
func (l *lowerer) hold(x ast.Expr, t types.Type, list *[]ast.Stmt) ast.Expr {
	pos := x.Pos()
	id := &ast.Ident{Name: l.tempName(), NamePos: pos}
	v := &ast.ValueSpec{Names: []*ast.Ident{id}, Values: []ast.Expr{x}}
	if t != nil {
		if b, ok := t.(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
			v.Type = l.typeExpr(t, pos)
		}
	}
	*list = append(*list, &ast.DeclStmt{Decl: &ast.GenDecl{TokPos: pos, Tok: token.VAR, Specs: []ast.Spec{v}}})
	return id
}

// holdPlace returns the left side of an assignment with its operands (the
// pointer, slice, map and index) in variables.
func (l *lowerer) holdPlace(x ast.Expr, list *[]ast.Stmt) ast.Expr {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return l.holdPlace(x.X, list)
	case *ast.IndexExpr:
		y := *x
		if t := l.knownType(x.X); t != nil {
			if _, isArray := t.Underlying().(*types.Array); isArray {
				y.X = l.holdPlace(x.X, list)
			} else {
				y.X = l.hold(x.X, t, list)
			}
		}
		if tv := l.c.Info.Types[x.Index]; tv.Value == nil {
			y.Index = l.hold(x.Index, tv.Type, list)
		}
		return &y
	case *ast.StarExpr:
		y := *x
		y.X = l.hold(x.X, l.knownType(x.X), list)
		return &y
	case *ast.SelectorExpr:
		if sel := l.c.Info.Selections[x]; sel == nil {
			return x
		}
		y := *x
		if t := l.knownType(x.X); t != nil {
			if isPointer(t) {
				y.X = l.hold(x.X, t, list)
			} else {
				y.X = l.holdPlace(x.X, list)
			}
		}
		return &y
	}
	return x
}

// convertNamedBool converts the bool of a comparison or logical operation to
// the named type that the checker gives it. The interpreter knows bool only.
func convertNamedBool[N ast.Expr](l *lowerer, c *astutil.Cursor, x N) verdict {
	if u, ok := ast.Expr(x).(*ast.UnaryExpr); ok && u.Op != token.NOT {
		return goOn
	}
	tv, ok := l.c.Info.Types[x]
	if !ok || tv.Value != nil {
		return goOn
	}
	n, ok := types.Unalias(tv.Type).(*types.Named)
	if !ok {
		return goOn
	}
	if b, ok := n.Underlying().(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 {
		return goOn
	}
	switch p := c.Parent().(type) {
	case *ast.ParenExpr:
		return goOn
	case *ast.BinaryExpr:
		if p.Op == token.LAND || p.Op == token.LOR {
			return goOn
		}
	case *ast.UnaryExpr:
		return goOn
	}
	pos := x.Pos()
	c.Replace(l.convert(x, n, pos))
	return goOn
}

// compareNamedBool converts a bool of a cell's type to bool where it is compared
// with a constant. The interpreter finds them never equal.
func (l *lowerer) compareNamedBool(b *ast.BinaryExpr) {
	if b.Op != token.EQL && b.Op != token.NEQ {
		return
	}
	for _, operands := range [][2]*ast.Expr{{&b.X, &b.Y}, {&b.Y, &b.X}} {
		x, k := l.c.Info.Types[*operands[0]], l.c.Info.Types[*operands[1]]
		if x.Value != nil || k.Value == nil || k.Value.Kind() != constant.Bool || x.Type == nil || !check.IsOwn(x.Type) {
			continue
		}
		pos := b.Pos()
		*operands[0] = syntax.Call(&ast.Ident{Name: "bool", NamePos: pos}, pos, *operands[0])
		*operands[1] = &ast.Ident{Name: k.Value.String(), NamePos: pos}
	}
}
