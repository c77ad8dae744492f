package gocell

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"
)

// A method of a cell's type is a function to the interpreter, with the receiver
// as its first parameter. Calls, method values and method expressions are
// rewritten to it; methods of interfaces and of compiled types stay what they
// are, with the path to an embedded field written out.

// declarations lowers the declarations of a cell or of fetched packages.
func (l *lowerer) declarations() {
	c := l.c
	c.decls = plainOnly(c.decls)
	for _, d := range c.decls {
		l.noteRecovering(d.decl)
	}
	for i, d := range c.decls {
		if f, ok := d.decl.(*ast.FuncDecl); ok && f.Recv != nil {
			if t, _ := declaredOn(c.info.Defs[f.Name].(*types.Func)); t != nil {
				l.bound = append(l.bound, methodOf{t, f.Name.Name})
				d.decl = l.methodDecl(f, t)
			}
		}
		c.decls[i].decl = l.expressions(d.decl).(ast.Decl)
	}
}

// methodDecl makes a function of a method.
func (l *lowerer) methodDecl(f *ast.FuncDecl, t *types.Named) *ast.FuncDecl {
	if r := f.Recv.List[0]; len(r.Names) == 0 {
		// The interpreter would take the receiver's place for the result's.
		r.Names = []*ast.Ident{{Name: mark + "r", NamePos: r.Pos()}}
	}
	g := methodBody(f)
	g.Name = &ast.Ident{Name: l.gen.s.mirror.methodName(t, f.Name.Name), NamePos: f.Name.Pos()}
	return g
}

// bindMethods returns the statements that hand the methods of a cell's types
// to compiled code.
func (l *lowerer) bindMethods(pos token.Pos) []ast.Stmt {
	m := maker{pos}
	var out []ast.Stmt
	for _, b := range l.bound {
		out = append(out, &ast.ExprStmt{X: call(l.rt("Method", pos), pos, m.num(l.gen.s.mirror.methodNumber(b.t, b.method)),
			m.id(l.gen.s.mirror.methodName(b.t, b.method)))})
	}
	return out
}

// declaredOn returns the cell's type that declares a method, nil for methods
// of interfaces and of compiled types.
func declaredOn(f *types.Func) (t *types.Named, byPointer bool) {
	recv := f.Signature().Recv()
	if recv == nil {
		return nil, false
	}
	r := types.Unalias(recv.Type())
	p, byPointer := r.(*types.Pointer)
	if byPointer {
		r = types.Unalias(p.Elem())
	}
	n, ok := r.(*types.Named)
	if !ok || !ofCells(n.Obj()) || types.IsInterface(n) {
		return nil, false
	}
	return n, byPointer
}

// methodFunc returns the function that a method is to the interpreter, and the
// type of its receiver: of methods that cells declare, and of those that the
// kernel has a stand-in for. Others are methods.
func (l *lowerer) methodFunc(f *types.Func, pos token.Pos) (fn ast.Expr, on types.Type) {
	if n, byPointer := declaredOn(f); n != nil {
		on = n
		if byPointer {
			on = types.NewPointer(n)
		}
		return &ast.Ident{Name: l.gen.s.mirror.methodName(n, f.Name()), NamePos: pos}, on
	}
	if name := standIn(f); name != "" {
		return l.rt(name, pos), f.Signature().Recv().Type()
	}
	return nil, nil
}

// walkTo returns the expression of the embedded field that a selection leads
// through, and its type.
func (l *lowerer) walkTo(x ast.Expr, t types.Type, path []int) (ast.Expr, types.Type) {
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

// runSel returns the selector of a method under its name at run time.
func runSel(x *ast.SelectorExpr, f *types.Func) *ast.Ident {
	if f.Exported() {
		return x.Sel
	}
	return &ast.Ident{Name: runName(f), NamePos: x.Sel.NamePos}
}

// receiver returns the first argument of a method's function: x, of type t, as
// a pointer or as a value.
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
	s := l.c.info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	recv, t := l.walkTo(sel.X, s.Recv(), s.Index()[:len(s.Index())-1])
	f, on := l.methodFunc(s.Obj().(*types.Func), sel.Sel.Pos())
	if f == nil {
		sel.X, sel.Sel = recv, runSel(sel, s.Obj().(*types.Func))
		return
	}
	if len(x.Args) == 1 {
		if _, many := l.c.info.Types[x.Args[0]].Type.(*types.Tuple); many {
			x.Fun = l.boundTo(sel, s)
			return
		}
	}
	r := l.receiver(recv, t, isPointer(on))
	l.receivers[r] = true
	x.Fun = f
	x.Args = append([]ast.Expr{r}, x.Args...)
}

// methodValue binds the receiver of a method value where it stands:
// func(r T) func(P) R { return func(p P) R { return r.M(p) } }(x).
func (l *lowerer) methodValue(c *astutil.Cursor, x *ast.SelectorExpr) {
	s := l.c.info.Selections[x]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	if l.called(c) {
		return
	}
	if f := l.boundTo(x, s); f != nil {
		c.Replace(f)
	}
}

// boundTo returns what a method value becomes, nil where it stays.
func (l *lowerer) boundTo(x *ast.SelectorExpr, s *types.Selection) ast.Expr {
	recv, t := l.walkTo(x.X, s.Recv(), s.Index()[:len(s.Index())-1])
	f := s.Obj().(*types.Func)
	m := maker{x.Pos()}
	r := m.id(mark + "r")
	var target func(args []ast.Expr) (ast.Expr, []ast.Expr)
	var first []ast.Stmt
	switch fn, on := l.methodFunc(f, m.pos); {
	case fn != nil:
		recv = l.receiver(recv, t, isPointer(on))
		t = on
		target = func(args []ast.Expr) (ast.Expr, []ast.Expr) { return fn, append([]ast.Expr{r}, args...) }
	case types.IsInterface(t), isNative(f.Pkg()):
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
			return &ast.SelectorExpr{X: r, Sel: runSel(x, f)}, args
		}
	default:
		x.X, x.Sel = recv, runSel(x, f)
		if _, isPointer := types.Unalias(t).(*types.Pointer); !isPointer || inexpressible(t, map[types.Type]bool{}) != "" {
			return nil
		}
		target = func(args []ast.Expr) (ast.Expr, []ast.Expr) {
			return &ast.SelectorExpr{X: r, Sel: runSel(x, f)}, args
		}
	}
	sig := types.NewSignatureType(nil, nil, nil, f.Signature().Params(), f.Signature().Results(), f.Signature().Variadic())
	return call(m.funcLit([]*ast.Field{m.field(r.Name, l.typeExpr(t, m.pos))}, []*ast.Field{m.field("", l.typeExpr(sig, m.pos))},
		append(first, m.ret(l.forward(sig, target, l.gen.s.recovering[f.Name()], m)))...), m.pos, recv)
}

// nonNil returns a statement that fails where an interface is nil whose method
// is wanted.
func (l *lowerer) nonNil(x ast.Expr, m maker) ast.Stmt {
	return &ast.ExprStmt{X: call(l.rt("NonNil", m.pos), m.pos, x)}
}

// methodExpr rewrites T.M: func(r T, p P) R { return r.M(p) }.
func (l *lowerer) methodExpr(x *ast.SelectorExpr) ast.Expr {
	s := l.c.info.Selections[x]
	sig := l.c.info.Types[x].Type.(*types.Signature)
	f, on := l.methodFunc(s.Obj().(*types.Func), x.Pos())
	lit := l.forward(sig, func(args []ast.Expr) (ast.Expr, []ast.Expr) {
		recv, t := l.walkTo(args[0], s.Recv(), s.Index()[:len(s.Index())-1])
		if f == nil {
			return &ast.SelectorExpr{X: recv, Sel: runSel(x, s.Obj().(*types.Func))}, args[1:]
		}
		return f, append([]ast.Expr{l.receiver(recv, t, isPointer(on))}, args[1:]...)
	}, l.gen.s.recovering[x.Sel.Name], maker{x.Pos()})
	l.c.info.Types[lit] = variableOf(sig)
	return lit
}

// forward returns a function of a signature that passes its arguments on: to
// makes the called function and its arguments of them, recovers says that it may
// be one that recovers.
func (l *lowerer) forward(sig *types.Signature, to func([]ast.Expr) (ast.Expr, []ast.Expr), recovers bool, m maker) *ast.FuncLit {
	var params, results []*ast.Field
	var args []ast.Expr
	for i := range sig.Params().Len() {
		name := mark + "p" + itoa(i)
		t := sig.Params().At(i).Type()
		var te ast.Expr
		if sig.Variadic() && i == sig.Params().Len()-1 {
			te = &ast.Ellipsis{Ellipsis: m.pos, Elt: l.typeExpr(t.(*types.Slice).Elem(), m.pos)}
		} else {
			te = l.typeExpr(t, m.pos)
		}
		params = append(params, m.field(name, te))
		args = append(args, m.id(name))
	}
	for v := range sig.Results().Variables() {
		results = append(results, m.field("", l.typeExpr(v.Type(), m.pos)))
	}
	f, rest := to(args)
	c := call(f, m.pos, rest...)
	if sig.Variadic() {
		c.Ellipsis = m.pos
	}
	var s ast.Stmt = &ast.ExprStmt{X: c}
	if len(results) > 0 {
		s = m.ret(c)
	}
	list := []ast.Stmt{s}
	if recovers {
		list = []ast.Stmt{&ast.ExprStmt{X: call(l.rt("Forward", m.pos), m.pos)}, s}
	}
	return m.funcLit(params, results, list...)
}
