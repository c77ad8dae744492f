package gocell

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"
)

// assignMany spells out an assignment of several values of which one is an
// interface, which the interpreter gets wrong where it is read from a place
// that compiled code knows, or a function: first the operands on the left and the values are
// held, then assigned from left to right.
func (l *lowerer) assignMany(c *astutil.Cursor, s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN || c.Index() < 0 {
		return
	}
	if list := l.spread(s); list != nil {
		c.Replace(&ast.BlockStmt{Lbrace: s.Pos(), List: list, Rbrace: s.End()})
	}
}

// spread returns the statements that do what an assignment of several values
// means, or nil where the interpreter does it.
func (l *lowerer) spread(s *ast.AssignStmt) []ast.Stmt {
	info := l.c.info
	if len(s.Lhs) < 2 || len(s.Lhs) != len(s.Rhs) {
		return nil
	}
	typeOf := func(x ast.Expr) types.Type {
		if tv, ok := info.Types[x]; ok && tv.Type != nil {
			return tv.Type
		}
		if id, ok := x.(*ast.Ident); ok {
			for _, o := range []types.Object{info.Uses[id], info.Defs[id]} {
				if o != nil {
					return o.Type()
				}
			}
		}
		return nil
	}
	any := false
	for i := range s.Lhs {
		for _, x := range []ast.Expr{s.Lhs[i], s.Rhs[i]} {
			t := typeOf(x)
			any = any || t != nil && (types.IsInterface(t) || isSignature(t))
		}
	}
	if !any {
		return nil
	}
	var list []ast.Stmt
	hold := func(x ast.Expr, t types.Type) ast.Expr {
		pos := x.Pos()
		id := &ast.Ident{Name: l.tempName(), NamePos: pos}
		v := &ast.ValueSpec{Names: []*ast.Ident{id}, Values: []ast.Expr{x}}
		if t != nil {
			if b, ok := t.(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
				v.Type = l.typeExpr(t, pos)
			}
		}
		list = append(list, &ast.DeclStmt{Decl: &ast.GenDecl{TokPos: pos, Tok: token.VAR, Specs: []ast.Spec{v}}})
		return id
	}
	// held returns a place on the left whose operands are held.
	var held func(x ast.Expr) ast.Expr
	held = func(x ast.Expr) ast.Expr {
		switch x := x.(type) {
		case *ast.ParenExpr:
			return held(x.X)
		case *ast.IndexExpr:
			y := *x
			if t := typeOf(x.X); t != nil {
				if _, isArray := t.Underlying().(*types.Array); isArray {
					y.X = held(x.X)
				} else {
					y.X = hold(x.X, t)
				}
			}
			if tv := info.Types[x.Index]; tv.Value == nil {
				y.Index = hold(x.Index, tv.Type)
			}
			return &y
		case *ast.StarExpr:
			y := *x
			y.X = hold(x.X, typeOf(x.X))
			return &y
		case *ast.SelectorExpr:
			if sel := info.Selections[x]; sel == nil {
				return x
			}
			y := *x
			if t := typeOf(x.X); t != nil {
				if _, isPointer := t.Underlying().(*types.Pointer); isPointer {
					y.X = hold(x.X, t)
				} else {
					y.X = held(x.X)
				}
			}
			return &y
		}
		return x
	}
	places := make([]ast.Expr, len(s.Lhs))
	for i, x := range s.Lhs {
		places[i] = held(x)
	}
	values := make([]ast.Expr, len(s.Rhs))
	for i, x := range s.Rhs {
		values[i] = hold(x, typeOf(s.Lhs[i]))
	}
	for i, x := range places {
		list = append(list, &ast.AssignStmt{Lhs: []ast.Expr{x}, TokPos: s.TokPos, Tok: token.ASSIGN, Rhs: []ast.Expr{values[i]}})
	}
	return list
}

// namedBool converts the outcome of a comparison to the type of one's own that
// it is used as; the interpreter knows bool alone.
func (l *lowerer) namedBool(c *astutil.Cursor) {
	x, ok := c.Node().(ast.Expr)
	if !ok {
		return
	}
	if b, ok := x.(*ast.BinaryExpr); ok {
		l.withConstant(b)
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
	case *ast.UnaryExpr:
		if x.Op != token.NOT {
			return
		}
	default:
		return
	}
	tv, ok := l.c.info.Types[x]
	if !ok || tv.Value != nil {
		return
	}
	n, ok := types.Unalias(tv.Type).(*types.Named)
	if !ok || !interpreted(n.Obj().Pkg()) {
		return
	}
	if b, ok := n.Underlying().(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 {
		return
	}
	switch p := c.Parent().(type) {
	case *ast.ParenExpr:
		return
	case *ast.BinaryExpr:
		if p.Op == token.LAND || p.Op == token.LOR {
			return
		}
	case *ast.UnaryExpr:
		return
	}
	pos := x.Pos()
	c.Replace(l.convert(x, n, pos))
}

// withConstant makes a comparison of a bool of one's own with a constant one of
// bools; the interpreter compares them as if they were never equal.
func (l *lowerer) withConstant(b *ast.BinaryExpr) {
	if b.Op != token.EQL && b.Op != token.NEQ {
		return
	}
	for _, operands := range [][2]*ast.Expr{{&b.X, &b.Y}, {&b.Y, &b.X}} {
		x, k := l.c.info.Types[*operands[0]], l.c.info.Types[*operands[1]]
		if x.Value != nil || k.Value == nil || k.Value.Kind() != constant.Bool || x.Type == nil || !own(x.Type) {
			continue
		}
		pos := b.Pos()
		*operands[0] = call(&ast.Ident{Name: "bool", NamePos: pos}, pos, *operands[0])
		*operands[1] = &ast.Ident{Name: k.Value.String(), NamePos: pos}
	}
}
