package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A cell of declarations alone is like a file of Go: its variables begin in
// the order in which they depend on one another, wherever they stand, and its
// init functions run when they have.

// A declaredVar is one line of a var declaration.
type declaredVar struct {
	gen  *ast.GenDecl
	spec *ast.ValueSpec
}

// declarationsOnly returns the variables of a cell that has no other
// statements, and whether that is so.
func declarationsOnly(body *ast.BlockStmt) (vars []declaredVar, ok bool) {
	for _, s := range body.List {
		d, isDecl := s.(*ast.DeclStmt)
		if !isDecl {
			return nil, false
		}
		g, isGen := d.Decl.(*ast.GenDecl)
		if !isGen || g.Tok != token.VAR {
			return nil, false
		}
		for _, sp := range g.Specs {
			vars = append(vars, declaredVar{g, sp.(*ast.ValueSpec)})
		}
	}
	return vars, len(vars) > 0
}

// statement makes a statement of its own of variables and their values.
func (v declaredVar) statement(names []*ast.Ident, values []ast.Expr) ast.Stmt {
	g, spec := *v.gen, *v.spec
	spec.Names, spec.Values = names, values
	g.Lparen, g.Rparen, g.Specs = token.NoPos, token.NoPos, []ast.Spec{&spec}
	return &ast.DeclStmt{Decl: &g}
}

// inInitOrder puts the variables of a cell of declarations into the order in
// which they begin, as far as the checker knows one: initializers are those of
// the cell checked as a package.
func inInitOrder(body *ast.BlockStmt, vars []declaredVar, initializers []*types.Initializer) {
	byPos := map[token.Pos]declaredVar{}
	var list []ast.Stmt
	values := 0
	for _, v := range vars {
		for _, n := range v.spec.Names {
			byPos[n.Pos()] = v
		}
		if len(v.spec.Values) == 0 {
			list = append(list, v.statement(v.spec.Names, nil))
		} else if len(v.spec.Values) == len(v.spec.Names) {
			values += len(v.spec.Values)
		} else {
			values++
		}
	}
	for _, in := range initializers {
		v, ok := byPos[in.Lhs[0].Pos()]
		if !ok {
			return
		}
		names := v.spec.Names
		if len(in.Lhs) == 1 {
			i := slices.IndexFunc(names, func(n *ast.Ident) bool { return n.Pos() == in.Lhs[0].Pos() })
			names = names[i : i+1]
		}
		list = append(list, v.statement(names, []ast.Expr{in.Rhs}))
		values--
	}
	if values == 0 { // else they depend on themselves: the order is as written
		body.List = list
	}
}

// initFuncs renames the init functions of a cell and returns the statements
// that call them.
func initFuncs(decls []declared) (calls []ast.Stmt) {
	for _, d := range decls {
		if f, ok := d.decl.(*ast.FuncDecl); ok && isInit(f) {
			name := "init" + mark + itoa(len(calls))
			instanceNames.Store(mark+name, "init")
			pos := f.Name.Pos()
			f.Name = &ast.Ident{Name: mark + name, NamePos: pos}
			calls = append(calls, &ast.ExprStmt{X: call(&ast.Ident{Name: f.Name.Name, NamePos: pos}, pos)})
		}
	}
	return calls
}

// isInit reports whether a declaration is that of an init function.
func isInit(f *ast.FuncDecl) bool { return f.Recv == nil && f.Name.Name == "init" }

// afterVars returns where in a cell's statements its init functions are
// called: after the variables that it begins with.
func afterVars(list []ast.Stmt) int {
	for i, s := range list {
		if d, ok := s.(*ast.DeclStmt); !ok || d.Decl.(*ast.GenDecl).Tok != token.VAR {
			return i
		}
	}
	return len(list)
}
