package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/std"
	"dace.local/kernel/gocell/internal/syntax"
)

// The interpreter sees a method of a cell's type as a function whose first
// parameter is the receiver. Method calls, method values and method expressions
// are rewritten accordingly. Methods of interfaces and of compiled types remain
// methods; the path to an embedded field is written out.

// declarations lowers the declarations of a cell, or of fetched packages.
func (l *lowerer) declarations() {
	c := l.c
	c.Decls = withoutTypes(c.Decls)
	for _, d := range c.Decls {
		l.noteRecovering(d.Decl)
	}
	for i, d := range c.Decls {
		f, _ := d.Decl.(*ast.FuncDecl)
		c.Decls[i].Decl = l.lower(d.Decl).(ast.Decl)
		if hook := l.hooks[f]; hook != "" {
			l.callHook(c.Decls[i].Decl.(*ast.FuncDecl), hook)
		}
	}
}

// methodToFunc makes a function of a method that a cell declares, and notes it
// for bindMethods.
func (l *lowerer) methodToFunc(n ast.Node) ast.Node {
	f, ok := n.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return n
	}
	t, _ := check.DeclaredOn(l.c.Info.Defs[f.Name].(*types.Func))
	if t == nil {
		return n
	}
	l.methods = append(l.methods, methodOf{t, f.Name.Name})
	return l.methodDecl(f, t)
}

// methodDecl returns the function that a method becomes.
func (l *lowerer) methodDecl(f *ast.FuncDecl, t *types.Named) *ast.FuncDecl {
	if r := f.Recv.List[0]; len(r.Names) == 0 {
		// The interpreter would store the result in the place of an unnamed
		// receiver.
		r.Names = []*ast.Ident{{Name: cell.Mark + "r", NamePos: r.Pos()}}
	}
	g := check.MethodBody(f)
	g.Name = &ast.Ident{Name: l.env.MethodName(t, f.Name.Name), NamePos: f.Name.Pos()}
	return g
}

// bindMethods returns the statements that register the functions of methods
// with the kernel, so that compiled code can call them.
func (l *lowerer) bindMethods(pos token.Pos) []ast.Stmt {
	m := syntax.At(pos)
	var out []ast.Stmt
	for _, b := range l.methods {
		out = append(out, &ast.ExprStmt{X: syntax.Call(l.kernel("Method", pos), pos, m.Int(l.env.MethodNumber(b.t, b.method)),
			m.Ident(l.env.MethodName(b.t, b.method)))})
	}
	return out
}

// methodFunc returns the function that stands for a selected method, and the type
// of its first parameter: for methods that cells declare, and for those that the
// kernel replaces, also by an interface. It returns nil for others.
func (l *lowerer) methodFunc(s *types.Selection, pos token.Pos) (fn ast.Expr, on types.Type) {
	f := s.Obj().(*types.Func)
	if n, byPointer := check.DeclaredOn(f); n != nil {
		on = n
		if byPointer {
			on = types.NewPointer(n)
		}
		return &ast.Ident{Name: l.env.MethodName(n, f.Name()), NamePos: pos}, on
	}
	if name := std.StandIn(f); name != "" {
		on = f.Signature().Recv().Type()
		if hiddenReceiver(f) {
			if _, on = l.selectPath(&ast.Ident{}, s.Recv(), embedding(s)); !isPointer(on) {
				on = types.NewPointer(on)
			}
		}
		return l.kernel(name, pos), on
	}
	if name := std.PlacedIn(f); name != "" {
		return l.kernel(name, pos), types.Universe.Lookup("any").Type()
	}
	return nil, nil
}

// hiddenReceiver reports whether a method that the kernel replaces belongs to a
// type without an exported name, as those of testing.T that testing.common has.
// Its stand-in takes the type that embeds this one.
func hiddenReceiver(f *types.Func) bool {
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && !n.Obj().Exported() && std.StandIn(f) != ""
}

// embedding returns the indices of the embedded fields that a selection of a
// method goes through, but not of one that cannot be named.
func embedding(s *types.Selection) []int {
	path := s.Index()[:len(s.Index())-1]
	if hiddenReceiver(s.Obj().(*types.Func)) && len(path) > 0 {
		path = path[:len(path)-1]
	}
	return path
}

// selectPath returns the expression of the embedded field that a selection goes
// through, and its type.
func (l *lowerer) selectPath(x ast.Expr, t types.Type, path []int) (ast.Expr, types.Type) {
	for _, i := range path {
		u := t.Underlying()
		if p, ok := u.(*types.Pointer); ok {
			u = p.Elem().Underlying()
		}
		f := u.(*types.Struct).Field(i)
		x = &ast.SelectorExpr{X: x, Sel: &ast.Ident{Name: f.Name(), NamePos: x.Pos()}}
		t = f.Type()
	}
	return x, t
}

// runtimeName returns the name of a method in run-time types.
func runtimeName(x *ast.SelectorExpr, f *types.Func) *ast.Ident {
	if f.Exported() {
		return x.Sel
	}
	return &ast.Ident{Name: check.RuntimeName(f), NamePos: x.Sel.NamePos}
}

// receiver returns x, which has type t, as the first argument of a method's
// function: its address, the value it points to, or itself.
func (l *lowerer) receiver(x ast.Expr, t types.Type, byPointer bool) ast.Expr {
	_, isPointer := types.Unalias(t).(*types.Pointer)
	switch {
	case byPointer && !isPointer:
		if s, ok := ast.Unparen(x).(*ast.StarExpr); ok {
			return s.X
		}
		return &ast.UnaryExpr{OpPos: x.Pos(), Op: token.AND, X: x}
	case !byPointer && isPointer:
		return &ast.StarExpr{Star: x.Pos(), X: x}
	}
	return x
}

// methodCall rewrites a call of a method.
func (l *lowerer) methodCall(x *ast.CallExpr) {
	sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	s := l.c.Info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	recv, t := l.selectPath(sel.X, s.Recv(), embedding(s))
	f, on := l.methodFunc(s, sel.Sel.Pos())
	if f == nil {
		sel.X, sel.Sel = recv, runtimeName(sel, s.Obj().(*types.Func))
		return
	}
	if len(x.Args) == 1 {
		if _, many := l.c.Info.Types[x.Args[0]].Type.(*types.Tuple); many {
			x.Fun = l.bindReceiver(sel, s)
			return
		}
	}
	r := l.receiver(recv, t, isPointer(on))
	l.receivers[r] = true
	x.Fun = f
	x.Args = append([]ast.Expr{r}, x.Args...)
}

// methodValue rewrites a method value to a function literal that binds the
// receiver:
func (l *lowerer) methodValue(c *astutil.Cursor, x *ast.SelectorExpr) {
	s := l.c.Info.Selections[x]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	if l.called(c) {
		return
	}
	if f := l.bindReceiver(x, s); f != nil {
		c.Replace(f)
	}
}

// bindReceiver returns the function literal that a method value becomes, or nil
// if it stays a method value.
func (l *lowerer) bindReceiver(x *ast.SelectorExpr, s *types.Selection) ast.Expr {
	recv, t := l.selectPath(x.X, s.Recv(), embedding(s))
	f := s.Obj().(*types.Func)
	m := syntax.At(x.Pos())
	r := m.Ident(cell.Mark + "r")
	var target func(args []ast.Expr) (ast.Expr, []ast.Expr)
	var first []ast.Stmt
	// A call of a stand-in has no position: its caller is that of the literal.
	switch fn, on := l.methodFunc(s, token.NoPos); {
	case fn != nil:
		recv = l.receiver(recv, t, isPointer(on))
		t = on
		target = func(args []ast.Expr) (ast.Expr, []ast.Expr) { return fn, append([]ast.Expr{r}, args...) }
	case types.IsInterface(t), check.IsNative(f.Pkg()):
		if types.IsInterface(t) {
			first = append(first, l.nonNil(r, m))
		} else {
			on := f.Signature().Recv().Type()
			recv = l.receiver(recv, t, isPointer(on))
			if isPointer(on) && !isPointer(t) {
				t = types.NewPointer(t)
			} else if p, ok := types.Unalias(t).(*types.Pointer); ok && !isPointer(on) {
				t = p.Elem()
			}
		}
		target = func(args []ast.Expr) (ast.Expr, []ast.Expr) {
			return &ast.SelectorExpr{X: r, Sel: runtimeName(x, f)}, args
		}
	default:
		x.X, x.Sel = recv, runtimeName(x, f)
		if _, isPointer := types.Unalias(t).(*types.Pointer); !isPointer || check.Inexpressible(t, map[types.Type]bool{}) != "" {
			return nil
		}
		target = func(args []ast.Expr) (ast.Expr, []ast.Expr) {
			return &ast.SelectorExpr{X: r, Sel: runtimeName(x, f)}, args
		}
	}
	sig := types.NewSignatureType(nil, nil, nil, f.Signature().Params(), f.Signature().Results(), f.Signature().Variadic())
	return syntax.Call(m.FuncLit([]*ast.Field{m.Field(r.Name, l.typeExpr(t, m.Pos))}, []*ast.Field{m.Field("", l.typeExpr(sig, m.Pos))},
		append(first, m.Return(l.forward(sig, target, l.state.recovering[f.Name()], m)))...), m.Pos, recv)
}

// nonNil returns a statement that panics if an interface is nil.
func (l *lowerer) nonNil(x ast.Expr, m syntax.Builder) ast.Stmt {
	return &ast.ExprStmt{X: syntax.Call(l.kernel("NonNil", m.Pos), m.Pos, x)}
}

// methodExpr rewrites T.M: func(r T, p P) R { return r.M(p) }.
func (l *lowerer) methodExpr(x *ast.SelectorExpr) ast.Expr {
	s := l.c.Info.Selections[x]
	sig := l.c.Info.Types[x].Type.(*types.Signature)
	f, on := l.methodFunc(s, token.NoPos) // as in bindReceiver
	lit := l.forward(sig, func(args []ast.Expr) (ast.Expr, []ast.Expr) {
		recv, t := l.selectPath(args[0], s.Recv(), embedding(s))
		if f == nil {
			return &ast.SelectorExpr{X: recv, Sel: runtimeName(x, s.Obj().(*types.Func))}, args[1:]
		}
		return f, append([]ast.Expr{l.receiver(recv, t, isPointer(on))}, args[1:]...)
	}, l.state.recovering[x.Sel.Name], syntax.At(x.Pos()))
	l.c.Info.Types[lit] = variableOf(sig)
	return lit
}

// forward returns a function literal of a signature that passes its arguments
// on. The function to returns the callee and its arguments; recovers says that
// the callee may call recover.
func (l *lowerer) forward(sig *types.Signature, to func([]ast.Expr) (ast.Expr, []ast.Expr), recovers bool, m syntax.Builder) *ast.FuncLit {
	var params, results []*ast.Field
	var args []ast.Expr
	for i := range sig.Params().Len() {
		name := cell.Mark + "p" + strconv.Itoa(i)
		t := sig.Params().At(i).Type()
		var te ast.Expr
		if sig.Variadic() && i == sig.Params().Len()-1 {
			te = &ast.Ellipsis{Ellipsis: m.Pos, Elt: l.typeExpr(t.(*types.Slice).Elem(), m.Pos)}
		} else {
			te = l.typeExpr(t, m.Pos)
		}
		params = append(params, m.Field(name, te))
		args = append(args, m.Ident(name))
	}
	for v := range sig.Results().Variables() {
		results = append(results, m.Field("", l.typeExpr(v.Type(), m.Pos)))
	}
	f, rest := to(args)
	c := syntax.Call(f, m.Pos, rest...)
	if sig.Variadic() {
		c.Ellipsis = m.Pos
	}
	var s ast.Stmt = &ast.ExprStmt{X: c}
	if len(results) > 0 {
		s = m.Return(c)
	}
	list := []ast.Stmt{s}
	if recovers {
		list = []ast.Stmt{&ast.ExprStmt{X: syntax.Call(l.kernel("Forward", m.Pos), m.Pos)}, s}
	}
	return m.FuncLit(params, results, list...)
}
