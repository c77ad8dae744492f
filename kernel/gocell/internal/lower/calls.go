package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/syntax"
)

// passTuple expands a call whose arguments are the results of another call,
// unless the interpreter passes them on correctly:
//
//	f(g()) → func() R { t1, t2 := g(); return f(t1, t2) }()
//
// For go and defer statements see spreadTuple.
func (l *lowerer) passTuple(c *astutil.Cursor, x *ast.CallExpr) verdict {
	info := l.c.Info
	if len(x.Args) != 1 {
		return goOn
	}
	results, ok := info.TypeOf(x.Args[0]).(*types.Tuple)
	if !ok || results.Len() < 2 || info.Types[x.Fun].IsType() || l.passesTuple(x.Fun, results) {
		return goOn
	}
	m := syntax.At(x.Pos())
	hold, args := l.holdTuple(x.Args[0], results, m)
	inner := *x
	inner.Args = args
	tv := info.Types[x]
	info.Types[&inner] = tv
	var list []ast.Stmt
	// The callee is evaluated before its arguments.
	if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil && info.Selections[sel].Kind() == types.MethodVal && hasCall(sel.X) {
		t := m.Ident(l.tempName())
		info.Types[t] = info.Types[sel.X]
		list = append(list, m.Define(t.Name, sel.X))
		s := *sel
		s.X = t
		info.Types[&s], info.Selections[&s] = info.Types[sel], info.Selections[sel]
		inner.Fun = &s
	} else if !l.isBuiltin(x.Fun) && hasCall(x.Fun) {
		t := m.Ident(l.tempName())
		info.Types[t] = info.Types[x.Fun]
		list = append(list, m.Define(t.Name, x.Fun))
		inner.Fun = t
	}
	list = append(list, hold)
	var out []*ast.Field
	switch t := tv.Type.(type) {
	case *types.Tuple:
		for v := range t.Variables() {
			out = append(out, m.Field("", l.typeExpr(v.Type(), m.Pos)))
		}
	default:
		if tv.IsValue() {
			out = append(out, m.Field("", l.typeExpr(tv.Type, m.Pos)))
		}
	}
	if out == nil {
		list = append(list, &ast.ExprStmt{X: &inner})
	} else {
		list = append(list, m.Return(&inner))
	}
	y := syntax.Call(m.FuncLit(nil, out, list...), m.Pos)
	info.Types[y] = tv
	l.expanded[y] = x
	c.Replace(y)
	return goOn
}

// passesTuple reports whether the interpreter passes the results of a call on
// to f: only to a function with exactly these parameter types.
func (l *lowerer) passesTuple(f ast.Expr, results *types.Tuple) bool {
	sig, ok := coreSignature(l.c.Info, f)
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
		return l.c.Info.Selections[f] == nil
	}
	return false
}

// unifyTypes converts one operand of a comparison to the type of the other if
// their types differ and neither is an interface. The interpreter compares
// operands of one type only.
func (l *lowerer) unifyTypes(x *ast.BinaryExpr) {
	if x.Op != token.EQL && x.Op != token.NEQ {
		return
	}
	a, b := l.c.Info.Types[x.X], l.c.Info.Types[x.Y]
	if a.Type == nil || b.Type == nil || a.IsNil() || b.IsNil() || types.Identical(a.Type, b.Type) {
		return
	}
	convert := func(e *ast.Expr, to types.Type) {
		pos := (*e).Pos()
		*e = l.convert(*e, to, pos)
		l.c.Info.Types[*e] = variableOf(to)
	}
	switch {
	case types.IsInterface(a.Type) || types.IsInterface(b.Type):
	case types.AssignableTo(b.Type, a.Type):
		convert(&x.Y, a.Type)
	case types.AssignableTo(a.Type, b.Type):
		convert(&x.X, b.Type)
	}
}

// boxConversion rewrites a conversion to an interface type, as an operand, to a
// call of a function that returns the interface. The interpreter leaves the
// value unboxed and then treats it as an operand of the other type.
func (l *lowerer) boxConversion(x *ast.Expr) {
	c, ok := ast.Unparen(*x).(*ast.CallExpr)
	if !ok || len(c.Args) != 1 || !l.c.Info.Types[c.Fun].IsType() {
		return
	}
	tv := l.c.Info.Types[c]
	if !tv.IsValue() || !types.IsInterface(tv.Type) || l.c.Info.Types[c.Args[0]].IsNil() {
		return
	}
	*x = l.box(c.Args[0], tv.Type)
	l.c.Info.Types[*x] = tv
}

// box returns a call that boxes a value:
func (l *lowerer) box(x ast.Expr, t types.Type) ast.Expr {
	m := syntax.At(x.Pos())
	v := cell.Mark + "v"
	return syntax.Call(m.FuncLit([]*ast.Field{m.Field(v, l.typeExpr(t, m.Pos))}, []*ast.Field{m.Field("", l.typeExpr(t, m.Pos))}, m.Return(m.Ident(v))), m.Pos, x)
}

// callLeftOperand wraps the left operand of && or || in a call of a function
// literal, if a part of it that is evaluated first may be a value without a
// node of its own to execute. The interpreter would take that value for the
// condition.
func (l *lowerer) callLeftOperand(x *ast.BinaryExpr) {
	if x.Op != token.LAND && x.Op != token.LOR || l.c.Info.Types[x.X].Value != nil {
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
			_, basic := l.c.Info.TypeOf(n).Underlying().(*types.Basic)
			sig, ok := coreSignature(l.c.Info, n.Fun)
			variadic := ok && sig.Variadic() && len(n.Args) < sig.Params().Len() // box-slice-args passes a slice
			literal = literal || variadic || l.c.Info.Types[n.Fun].IsType() && !basic
		}
		if e, ok := n.(ast.Expr); ok && l.c.Info.Types[e].Value != nil {
			// A constant that fold-constants rewrites to a conversion.
			if _, plain := n.(*ast.BasicLit); plain || !needsConversion(l.c.Info.TypeOf(e)) {
				return false
			}
			p, ok := x.X, false
			if len(around) > 0 {
				p, ok = around[len(around)-1].(ast.Expr)
			}
			b, isBinary := p.(*ast.BinaryExpr)
			literal = literal || !ok || !isBinary || !l.typeFromOther(b, e)
			return false
		}
		around = append(around, n)
		return true
	})
	if !literal {
		return
	}
	m := syntax.At(x.X.Pos())
	tv := l.c.Info.Types[x.X]
	f := m.FuncLit(nil, []*ast.Field{m.Field("", l.typeExpr(types.Default(tv.Type), m.Pos))}, m.Return(x.X))
	x.X = syntax.Call(f, m.Pos)
	l.c.Info.Types[x.X] = tv
}

// hasCall reports whether evaluating x calls a function or receives from a
// channel.
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

// variableOf returns what the type checker records of a variable of type t.
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
