package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
)

// promoted returns the methods that the struct types declared among decls have
// by an embedded interface, or an embedded type of compiled code, written out:
// the interpreter does not find them, or not everywhere.
//
//	func (r T) M(p P) R { return r.I.M(p) }
func (l *lowerer) promoted(decls []declared) []declared {
	var out []declared
	for _, d := range decls {
		g, ok := d.decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			t := s.(*ast.TypeSpec)
			o, ok := l.c.info.Defs[t.Name].(*types.TypeName)
			if !ok || t.Assign.IsValid() {
				continue
			}
			typ := o.Type()
			for _, in := range l.gen.s.generic.instances {
				if in.name == t.Name.Name {
					typ, _ = types.Instantiate(nil, in.obj.Type(), in.args, false)
				}
			}
			st, ok := typ.Underlying().(*types.Struct)
			if !ok {
				continue
			}
			for i := range st.NumFields() {
				f := st.Field(i)
				if !f.Embedded() {
					continue
				}
				var methods *types.MethodSet
				if types.IsInterface(f.Type()) {
					methods = types.NewMethodSet(f.Type())
				} else if compiledType(f.Type()) {
					methods = types.NewMethodSet(types.NewPointer(deref(f.Type())))
				} else {
					continue
				}
				for sel := range methods.Methods() {
					m := sel.Obj().(*types.Func)
					if !m.Exported() && !interpreted(m.Pkg()) || inexpressible(m.Type(), map[types.Type]bool{}) != "" {
						continue
					}
					if o, index, _ := types.LookupFieldOrMethod(typ, true, m.Pkg(), m.Name()); o == m && index[0] == i && len(index) > 1 {
						out = append(out, declared{decl: l.promote(t.Name, f, m, !hasMethod(f.Type(), m)), unit: &unit{}})
					}
				}
			}
		}
	}
	return out
}

// deref returns what a pointer points to; of another type, the type.
func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// compiledType reports whether t, or what it points to, is declared by compiled
// code.
func compiledType(t types.Type) bool {
	n, ok := types.Unalias(deref(t)).(*types.Named)
	return ok && n.Obj().Pkg() != nil && !interpreted(n.Obj().Pkg()) && n.TypeArgs().Len() == 0
}

// hasMethod reports whether m is in the method set of t itself.
func hasMethod(t types.Type, m *types.Func) bool {
	sel := types.NewMethodSet(t).Lookup(m.Pkg(), m.Name())
	return sel != nil && sel.Obj() == m
}

// promote returns the method of the type named recv, or of a pointer to it,
// that calls m of a field.
func (l *lowerer) promote(recv *ast.Ident, f *types.Var, m *types.Func, byPointer bool) ast.Decl {
	mk := maker{recv.Pos()}
	r := mark + "r"
	field := l.fieldName(f, mk.id(f.Name()))
	lit := l.forward(m.Signature(), func(args []ast.Expr) (ast.Expr, []ast.Expr) {
		return &ast.SelectorExpr{X: &ast.SelectorExpr{X: mk.id(r), Sel: field}, Sel: mk.id(m.Name())}, args
	}, mk)
	var t ast.Expr = mk.id(recv.Name)
	if byPointer {
		t = &ast.StarExpr{Star: mk.pos, X: t}
	}
	return &ast.FuncDecl{
		Recv: &ast.FieldList{Opening: mk.pos, List: []*ast.Field{mk.field(r, t)}, Closing: mk.pos},
		Name: mk.id(m.Name()), Type: lit.Type, Body: lit.Body}
}

// forward returns a function of a signature that passes its arguments on: to
// makes the called function and its arguments of them.
func (l *lowerer) forward(sig *types.Signature, to func([]ast.Expr) (ast.Expr, []ast.Expr), m maker) *ast.FuncLit {
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
	return m.funcLit(params, results, s)
}
