package gocell

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"
)

// passTuple writes out a call whose arguments are the results of another,
// where the interpreter does not pass them as they are:
//
//	f(g()) → func() R { t1, t2 := g(); return f(t1, t2) }()
//
// Before a go or a defer the arguments are evaluated where that stands.
func (l *lowerer) passTuple(c *astutil.Cursor, x *ast.CallExpr) {
	info := l.c.info
	if len(x.Args) != 1 {
		return
	}
	results, ok := info.TypeOf(x.Args[0]).(*types.Tuple)
	if !ok || results.Len() < 2 || info.Types[x.Fun].IsType() || l.passesTuple(x.Fun, results) {
		return
	}
	m := maker{x.Pos()}
	hold, args := l.holdTuple(x.Args[0], results, m)
	inner := *x
	inner.Args = args
	tv := info.Types[x]
	info.Types[&inner] = tv
	var list []ast.Stmt
	// What is called is evaluated before its arguments.
	if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil && info.Selections[sel].Kind() == types.MethodVal && hasCall(sel.X) {
		t := m.id(l.tempName())
		info.Types[t] = info.Types[sel.X]
		list = append(list, m.define(t.Name, sel.X))
		s := *sel
		s.X = t
		info.Types[&s], info.Selections[&s] = info.Types[sel], info.Selections[sel]
		inner.Fun = &s
	} else if !l.isBuiltin(x.Fun) && hasCall(x.Fun) {
		t := m.id(l.tempName())
		info.Types[t] = info.Types[x.Fun]
		list = append(list, m.define(t.Name, x.Fun))
		inner.Fun = t
	}
	list = append(list, hold)
	var out []*ast.Field
	switch t := tv.Type.(type) {
	case *types.Tuple:
		for v := range t.Variables() {
			out = append(out, m.field("", l.typeExpr(v.Type(), m.pos)))
		}
	default:
		if tv.IsValue() {
			out = append(out, m.field("", l.typeExpr(tv.Type, m.pos)))
		}
	}
	if out == nil {
		list = append(list, &ast.ExprStmt{X: &inner})
	} else {
		list = append(list, m.ret(&inner))
	}
	y := call(m.funcLit(nil, out, list...), m.pos)
	info.Types[y] = tv
	l.writtenOut[y] = x
	c.Replace(y)
}

// passesTuple reports whether the interpreter passes the results of a call on
// to what is called.
func (l *lowerer) passesTuple(f ast.Expr, results *types.Tuple) bool {
	sig, ok := coreSignature(l.c.info, f)
	if !ok || l.isBuiltin(f) || sig.Variadic() || sig.Params().Len() != results.Len() {
		return false
	}
	for i := range results.Len() {
		if !types.Identical(sig.Params().At(i).Type(), results.At(i).Type()) {
			return false
		}
	}
	switch f := ast.Unparen(f).(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return l.c.info.Selections[f] == nil
	}
	return false
}

// sameType makes the operands of a comparison be of one type where they are of
// two and neither is an interface, as the interpreter wants it.
func (l *lowerer) sameType(x *ast.BinaryExpr) {
	if x.Op != token.EQL && x.Op != token.NEQ {
		return
	}
	a, b := l.c.info.Types[x.X], l.c.info.Types[x.Y]
	if a.Type == nil || b.Type == nil || a.IsNil() || b.IsNil() || types.Identical(a.Type, b.Type) {
		return
	}
	convert := func(e *ast.Expr, to types.Type) {
		pos := (*e).Pos()
		*e = l.convert(*e, to, pos)
		l.c.info.Types[*e] = variableOf(to)
	}
	switch {
	case types.IsInterface(a.Type) || types.IsInterface(b.Type):
	case types.AssignableTo(b.Type, a.Type):
		convert(&x.Y, a.Type)
	case types.AssignableTo(a.Type, b.Type):
		convert(&x.X, b.Type)
	}
}

// toInterface makes a conversion to an interface a call of a function that
// converts: the interpreter would take the value as it is, which as an operand
// it then takes for something else.
func (l *lowerer) toInterface(x *ast.Expr) {
	c, ok := ast.Unparen(*x).(*ast.CallExpr)
	if !ok || len(c.Args) != 1 || !l.c.info.Types[c.Fun].IsType() {
		return
	}
	tv := l.c.info.Types[c]
	if !tv.IsValue() || !types.IsInterface(tv.Type) || l.c.info.Types[c.Args[0]].IsNil() {
		return
	}
	*x = l.asInterface(c.Args[0], tv.Type)
	l.c.info.Types[*x] = tv
}

// asInterface returns a call that makes an interface of a value:
// func(v I) I { return v }(x).
func (l *lowerer) asInterface(x ast.Expr, t types.Type) ast.Expr {
	m := maker{x.Pos()}
	v := mark + "v"
	return call(m.funcLit([]*ast.Field{m.field(v, l.typeExpr(t, m.pos))}, []*ast.Field{m.field("", l.typeExpr(t, m.pos))}, m.ret(m.id(v))), m.pos, x)
}

// leftOperand makes a call of the left operand of a logical operation where
// what is evaluated first may be a value that takes no step, which the
// interpreter would take for the condition.
func (l *lowerer) leftOperand(x *ast.BinaryExpr) {
	if x.Op != token.LAND && x.Op != token.LOR || l.c.info.Types[x.X].Value != nil {
		return
	}
	literal := false
	var around []ast.Node
	ast.Inspect(x.X, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CompositeLit, *ast.SliceExpr:
			literal = true
		case *ast.CallExpr:
			_, basic := l.c.info.TypeOf(n).Underlying().(*types.Basic)
			sig, ok := coreSignature(l.c.info, n.Fun)
			variadic := ok && sig.Variadic() && len(n.Args) < sig.Params().Len() // passed a slice
			literal = literal || variadic || l.c.info.Types[n.Fun].IsType() && !basic
		}
		if e, ok := n.(ast.Expr); ok && l.c.info.Types[e].Value != nil {
			// A constant of which fold makes a conversion.
			if _, plain := n.(*ast.BasicLit); plain || !wantsType(l.c.info.TypeOf(e)) {
				return false
			}
			p, ok := x.X, false
			if len(around) > 0 {
				p, ok = around[len(around)-1].(ast.Expr)
			}
			b, isBinary := p.(*ast.BinaryExpr)
			literal = literal || !ok || !isBinary || !l.takesType(b, e)
			return false
		}
		around = append(around, n)
		return true
	})
	if !literal {
		return
	}
	m := maker{x.X.Pos()}
	tv := l.c.info.Types[x.X]
	f := m.funcLit(nil, []*ast.Field{m.field("", l.typeExpr(types.Default(tv.Type), m.pos))}, m.ret(x.X))
	x.X = call(f, m.pos)
	l.c.info.Types[x.X] = tv
}

// hasCall reports whether evaluating x calls a function or receives.
func hasCall(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}

// variableOf returns what the checker would say of a variable of a type.
func variableOf(t types.Type) types.TypeAndValue {
	tv := someVariable
	tv.Type = t
	return tv
}

var someVariable = func() types.TypeAndValue {
	p := types.NewPackage("p", "p")
	p.Scope().Insert(types.NewVar(token.NoPos, p, "x", types.Typ[types.Int]))
	tv, err := types.Eval(token.NewFileSet(), p, token.NoPos, "x")
	if err != nil {
		panic(err)
	}
	return tv
}()
