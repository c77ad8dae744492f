package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
)

// promoted returns the methods that the struct types declared among decls have
// by an embedded interface, written out: the interpreter does not find them.
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
				it, ok := f.Type().Underlying().(*types.Interface)
				if !ok || !f.Embedded() {
					continue
				}
				for m := range it.Methods() {
					_, index, _ := types.LookupFieldOrMethod(typ, true, m.Pkg(), m.Name())
					if len(index) == 2 && index[0] == i {
						out = append(out, declared{decl: l.promote(t.Name, f, m), unit: &unit{}})
					}
				}
			}
		}
	}
	return out
}

// promote returns the method of the type named recv that calls m of a field.
func (l *lowerer) promote(recv *ast.Ident, f *types.Var, m *types.Func) ast.Decl {
	mk := maker{recv.Pos()}
	r := mark + "r"
	field := l.fieldName(f, mk.id(f.Name()))
	lit := l.forward(m.Signature(), func(args []ast.Expr) (ast.Expr, []ast.Expr) {
		return &ast.SelectorExpr{X: &ast.SelectorExpr{X: mk.id(r), Sel: field}, Sel: mk.id(m.Name())}, args
	}, mk)
	return &ast.FuncDecl{
		Recv: &ast.FieldList{Opening: mk.pos, List: []*ast.Field{mk.field(r, mk.id(recv.Name))}, Closing: mk.pos},
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
