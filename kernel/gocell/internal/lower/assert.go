package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/syntax"
)

// The interpreter compares types by name in assertions and type switches, and
// takes a type for any other that it is assignable to. So rewritten code asks
// the kernel, which compares run-time types: each type has a number.

// typeNumber returns the number of a type, and refuses a type that no cell can
// use.
func (l *lowerer) typeNumber(t types.Type, pos token.Pos) int {
	l.requireMethods(t)
	n, err := l.env.TypeNumber(t)
	if err != nil {
		l.refuse(pos, "%v", err)
	}
	return n
}

// assertByNumber rewrites x.(T): *(As(n, x).(*T)), and with a second value
// func(x any) (T, bool) { p, ok := AsOK(n, x); return *(p.(*T)), ok }(x).
func (l *lowerer) assertByNumber(c *astutil.Cursor, x *ast.TypeAssertExpr) verdict {
	if x.Type == nil {
		return goOn
	}
	tv := l.c.Info.Types[x]
	t := tv.Type
	tuple, withOK := t.(*types.Tuple)
	if withOK {
		t = tuple.At(0).Type()
	}
	m := syntax.At(x.Lparen)
	if !m.Pos.IsValid() {
		m.Pos = x.Pos()
	}
	n := m.Int(l.typeNumber(t, m.Pos))
	from := m.Int(l.typeNumber(l.c.Info.Types[l.operand(x)].Type, m.Pos))
	value := func(p ast.Expr) ast.Expr {
		return &ast.StarExpr{Star: m.Pos, X: &ast.TypeAssertExpr{X: p, Lparen: m.Pos, Rparen: m.Pos,
			Type: &ast.StarExpr{Star: m.Pos, X: l.typeExpr(t, m.Pos)}}}
	}
	if !withOK {
		c.Replace(value(syntax.Call(l.kernel("As", m.Pos), m.Pos, n, from, x.X)))
		return goOn
	}
	v, p, ok := cell.Mark+"v", cell.Mark+"p", cell.Mark+"ok"
	anyType := func() ast.Expr { return l.typeExpr(types.Universe.Lookup("any").Type(), m.Pos) }
	c.Replace(syntax.Call(m.FuncLit([]*ast.Field{m.Field(v, anyType())}, []*ast.Field{m.Field("", l.typeExpr(t, m.Pos)), m.Field("", m.Ident("bool"))},
		m.Assign(token.DEFINE, []ast.Expr{m.Ident(p), m.Ident(ok)}, syntax.Call(l.kernel("AsOK", m.Pos), m.Pos, n, m.Ident(v))),
		m.Return(value(m.Ident(p)), m.Ident(ok))), m.Pos, x.X))
	return goOn
}

// operand returns the operand of an assertion as the checker knows it.
func (l *lowerer) operand(x *ast.TypeAssertExpr) ast.Expr {
	if o, ok := l.operands[x]; ok {
		return o
	}
	return x.X
}

// switchByNumber rewrites a type switch:
//
//	{ init; var t I = x; switch Which(n, t) { case 0: v := *(As(k, t).(*T)); body } }
func (l *lowerer) switchByNumber(c *astutil.Cursor, x *ast.TypeSwitchStmt) verdict {
	info := l.c.Info
	var operand ast.Expr
	name := ""
	switch a := x.Assign.(type) {
	case *ast.ExprStmt:
		operand = a.X.(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		operand = a.Rhs[0].(*ast.TypeAssertExpr).X
		name = a.Lhs[0].(*ast.Ident).Name
	}
	m := syntax.At(x.Pos())
	held := l.tempName()
	static := l.switched[x]
	body := &ast.BlockStmt{Lbrace: x.Body.Lbrace, Rbrace: x.Body.Rbrace}
	var list []int
	for _, s := range x.Body.List {
		cc := s.(*ast.CaseClause)
		out := &ast.CaseClause{Case: cc.Case, Colon: cc.Colon}
		asked := l.cases[cc]
		for _, t := range asked {
			out.List = append(out.List, m.Int(len(list)))
			if t == nil {
				list = append(list, -1)
			} else {
				list = append(list, l.typeNumber(t, cc.Pos()))
			}
		}
		if name != "" && name != "_" && info.Implicits[cc] != nil {
			var v ast.Expr = m.Ident(held)
			if len(asked) == 1 && asked[0] != nil && !types.Identical(asked[0], static) {
				v = &ast.StarExpr{Star: m.Pos, X: &ast.TypeAssertExpr{
					X:      syntax.Call(l.kernel("As", m.Pos), m.Pos, m.Int(l.typeNumber(asked[0], m.Pos)), m.Int(0), m.Ident(held)),
					Lparen: m.Pos, Type: &ast.StarExpr{Star: m.Pos, X: l.typeExpr(asked[0], m.Pos)}, Rparen: m.Pos}}
			}
			out.Body = append(out.Body, m.Define(name, v), m.Assign(token.ASSIGN, []ast.Expr{m.Ident("_")}, m.Ident(name)))
		}
		out.Body = append(out.Body, cc.Body...)
		body.List = append(body.List, out)
	}
	number := l.env.SwitchNumber(list)
	sw := &ast.SwitchStmt{Switch: m.Pos, Tag: syntax.Call(l.kernel("Which", m.Pos), m.Pos, m.Int(number), m.Ident(held)), Body: body}
	b := m.Block()
	if x.Init != nil {
		b.List = append(b.List, x.Init)
	}
	b.List = append(b.List, m.Variable(held, l.typeExpr(static, m.Pos), operand), sw)
	l.enclosed[b] = true
	c.Replace(b)
	return goOn
}

// noteSwitchTypes notes the types of a type switch, which name-types replaces
// on the way in.
func (l *lowerer) noteSwitchTypes(x *ast.TypeSwitchStmt) {
	var operand ast.Expr
	switch a := x.Assign.(type) {
	case *ast.ExprStmt:
		operand = a.X.(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		operand = a.Rhs[0].(*ast.TypeAssertExpr).X
	}
	l.switched[x] = l.c.Info.Types[operand].Type
	for _, s := range x.Body.List {
		cc := s.(*ast.CaseClause)
		for _, e := range cc.List {
			tv := l.c.Info.Types[e]
			if tv.IsNil() {
				l.cases[cc] = append(l.cases[cc], nil)
			} else {
				l.cases[cc] = append(l.cases[cc], tv.Type)
			}
		}
	}
}
