package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// The interpreter compares types in assertions and type switches by their
// names, and takes a type for another that it can be assigned to. Both are
// decided here, by the types themselves.

// asserted holds the types that a session's cells ask for, by number.
type asserted struct {
	types []reflect.Type
	lists [][]int // of type switches; -1 stands for nil
}

// typeNumber returns the number of a type to ask for.
func (l *lowerer) typeNumber(t types.Type, pos token.Pos) int {
	a := &l.gen.s.asserted
	m := l.gen.s.mirror
	l.wanted(t)
	if _, err := m.symbol(t); err != nil {
		l.refuse(pos, "%v", err)
		return 0
	}
	rt := m.of(t)
	if i := slices.Index(a.types, rt); i >= 0 {
		return i
	}
	a.types = append(a.types, rt)
	return len(a.types) - 1
}

// assertion rewrites x.(T): *(As(n, x).(*T)), and with a second value
// func(x any) (T, bool) { p, ok := AsOK(n, x); return *(p.(*T)), ok }(x).
func (l *lowerer) assertion(c *astutil.Cursor, x *ast.TypeAssertExpr) {
	if x.Type == nil {
		return
	}
	tv := l.c.info.Types[x]
	t := tv.Type
	tuple, withOK := t.(*types.Tuple)
	if withOK {
		t = tuple.At(0).Type()
	}
	m := maker{x.Lparen}
	if !m.pos.IsValid() {
		m.pos = x.Pos()
	}
	n := m.num(l.typeNumber(t, m.pos))
	from := m.num(l.typeNumber(l.c.info.Types[l.operand(x)].Type, m.pos))
	value := func(p ast.Expr) ast.Expr {
		return &ast.StarExpr{Star: m.pos, X: &ast.TypeAssertExpr{X: p, Lparen: m.pos, Rparen: m.pos,
			Type: &ast.StarExpr{Star: m.pos, X: l.typeExpr(t, m.pos)}}}
	}
	if !withOK {
		c.Replace(value(call(l.rt("As", m.pos), m.pos, n, from, x.X)))
		return
	}
	v, p, ok := mark+"v", mark+"p", mark+"ok"
	anyType := func() ast.Expr { return l.typeExpr(types.Universe.Lookup("any").Type(), m.pos) }
	c.Replace(call(m.funcLit([]*ast.Field{m.field(v, anyType())}, []*ast.Field{m.field("", l.typeExpr(t, m.pos)), m.field("", m.id("bool"))},
		m.assign(token.DEFINE, []ast.Expr{m.id(p), m.id(ok)}, call(l.rt("AsOK", m.pos), m.pos, n, m.id(v))),
		m.ret(value(m.id(p)), m.id(ok))), m.pos, x.X))
}

// operand returns what an assertion asserts, as it stood in the cell.
func (l *lowerer) operand(x *ast.TypeAssertExpr) ast.Expr {
	if o, ok := l.operands[x]; ok {
		return o
	}
	return x.X
}

// typeSwitch rewrites a type switch:
//
//	{ init; var t I = x; switch Which(n, t) { case 0: v := *(As(k, t).(*T)); body } }
func (l *lowerer) typeSwitch(c *astutil.Cursor, x *ast.TypeSwitchStmt) {
	info := l.c.info
	var operand ast.Expr
	name := ""
	switch a := x.Assign.(type) {
	case *ast.ExprStmt:
		operand = a.X.(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		operand = a.Rhs[0].(*ast.TypeAssertExpr).X
		name = a.Lhs[0].(*ast.Ident).Name
	}
	m := maker{x.Pos()}
	held := l.tempName()
	static := l.switched[x]
	body := &ast.BlockStmt{Lbrace: x.Body.Lbrace, Rbrace: x.Body.Rbrace}
	var list []int
	for _, s := range x.Body.List {
		cc := s.(*ast.CaseClause)
		out := &ast.CaseClause{Case: cc.Case, Colon: cc.Colon}
		asked := l.cases[cc]
		for _, t := range asked {
			out.List = append(out.List, m.num(len(list)))
			if t == nil {
				list = append(list, -1)
			} else {
				list = append(list, l.typeNumber(t, cc.Pos()))
			}
		}
		if name != "" && name != "_" && info.Implicits[cc] != nil {
			var v ast.Expr = m.id(held)
			if len(asked) == 1 && asked[0] != nil && !types.Identical(asked[0], static) {
				v = &ast.StarExpr{Star: m.pos, X: &ast.TypeAssertExpr{
					X:      call(l.rt("As", m.pos), m.pos, m.num(l.typeNumber(asked[0], m.pos)), m.num(0), m.id(held)),
					Lparen: m.pos, Type: &ast.StarExpr{Star: m.pos, X: l.typeExpr(asked[0], m.pos)}, Rparen: m.pos}}
			}
			out.Body = append(out.Body, m.define(name, v), m.assign(token.ASSIGN, []ast.Expr{m.id("_")}, m.id(name)))
		}
		out.Body = append(out.Body, cc.Body...)
		body.List = append(body.List, out)
	}
	a := &l.gen.s.asserted
	a.lists = append(a.lists, list)
	sw := &ast.SwitchStmt{Switch: m.pos, Tag: call(l.rt("Which", m.pos), m.pos, m.num(len(a.lists)-1), m.id(held)), Body: body}
	b := m.block()
	if x.Init != nil {
		b.List = append(b.List, x.Init)
	}
	b.List = append(b.List, m.variable(held, l.typeExpr(static, m.pos), operand), sw)
	l.inside[b] = true
	c.Replace(b)
}

// noteSwitch keeps the types of a type switch before it is rewritten.
func (l *lowerer) noteSwitch(x *ast.TypeSwitchStmt) {
	var operand ast.Expr
	switch a := x.Assign.(type) {
	case *ast.ExprStmt:
		operand = a.X.(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		operand = a.Rhs[0].(*ast.TypeAssertExpr).X
	}
	l.switched[x] = l.c.info.Types[operand].Type
	for _, s := range x.Body.List {
		cc := s.(*ast.CaseClause)
		for _, e := range cc.List {
			tv := l.c.info.Types[e]
			if tv.IsNil() {
				l.cases[cc] = append(l.cases[cc], nil)
			} else {
				l.cases[cc] = append(l.cases[cc], tv.Type)
			}
		}
	}
}

// holds reports whether an interface value holds a t.
func holds(x any, t reflect.Type) bool {
	if x == nil {
		return false
	}
	xt := reflect.TypeOf(x)
	if t.Kind() == reflect.Interface {
		return xt.Implements(t)
	}
	return xt == t
}

// which returns the first case of a type switch that takes a value, -1 where
// none does.
func (a *asserted) which(n int, x any) int {
	for i, k := range a.lists[n] {
		if k < 0 && x == nil || k >= 0 && holds(x, a.types[k]) {
			return i
		}
	}
	return -1
}

// asOK returns a pointer to what x holds as the type of a number.
func (a *asserted) asOK(n int, x any) (p any, ok bool) {
	v := reflect.New(a.types[n])
	if ok = holds(x, a.types[n]); ok {
		v.Elem().Set(reflect.ValueOf(x))
	}
	return v.Interface(), ok
}

// as does so or panics as Go does; from is the type of the interface.
func (a *asserted) as(n, from int, x any) any {
	p, ok := a.asOK(n, x)
	if ok {
		return p
	}
	t, f := a.types[n], a.types[from].String()
	text := ""
	switch {
	case x == nil && t.Kind() == reflect.Interface:
		text = "interface is nil, not " + t.String()
	case x == nil:
		text = f + " is nil, not " + t.String()
	case t.Kind() == reflect.Interface:
		text = reflect.TypeOf(x).String() + " is not " + t.String() + ": missing method " + missingMethod(reflect.TypeOf(x), t)
	default:
		have := reflect.TypeOf(x).String()
		text = f + " is " + have + ", not " + t.String()
		if have == t.String() {
			text += " (types from different scopes)"
		}
	}
	panic(goError("interface conversion: " + text).conversion())
}

func missingMethod(t, i reflect.Type) string {
	for k := range i.NumMethod() {
		m := i.Method(k)
		if x, ok := t.MethodByName(m.Name); !ok || !sameSignature(x.Type, m.Type) {
			return strings.TrimPrefix(m.Name, exportMark)
		}
	}
	return ""
}

// sameSignature compares a method's type, which has its receiver, with that of
// an interface's method.
func sameSignature(f, i reflect.Type) bool {
	if f.NumIn() != i.NumIn()+1 || f.NumOut() != i.NumOut() {
		return false
	}
	for k := range i.NumIn() {
		if f.In(k+1) != i.In(k) {
			return false
		}
	}
	for k := range i.NumOut() {
		if f.Out(k) != i.Out(k) {
			return false
		}
	}
	return true
}
