package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// The declarations of variables with which the statements of a cell begin are treated as
// those of a Go file: the variables are initialized in dependency order, and the cell's
// init functions run afterwards.

// A declaredVar is one spec of a var declaration.
type declaredVar struct {
	gen  *ast.GenDecl
	spec *ast.ValueSpec
}

// leadingVars returns the variables whose declarations a cell's statements begin with, and
// the number of these declarations.
func leadingVars(body *ast.BlockStmt) (vars []declaredVar, n int) {
	n = AfterVars(body.List)
	for _, s := range body.List[:n] {
		g := s.(*ast.DeclStmt).Decl.(*ast.GenDecl)
		for _, sp := range g.Specs {
			vars = append(vars, declaredVar{g, sp.(*ast.ValueSpec)})
		}
	}
	return vars, n
}

// statement returns a var statement of some of the variables.
func (v declaredVar) statement(names []*ast.Ident, values []ast.Expr) ast.Stmt {
	g, spec := *v.gen, *v.spec
	spec.Names, spec.Values = names, values
	g.Lparen, g.Rparen, g.Specs = token.NoPos, token.NoPos, []ast.Spec{&spec}
	return &ast.DeclStmt{Decl: &g}
}

// inInitOrder sorts the variables of the first n statements of a cell by initialization
// order; initializers is the checker's order for these declarations as a package.
func inInitOrder(body *ast.BlockStmt, vars []declaredVar, n int, initializers []*types.Initializer) {
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
	if values == 0 { // otherwise not all can be ordered: keep the order of the source
		body.List = append(list, body.List[n:]...)
	}
}

// initOrder sorts the variables of the first n statements by initialization order. A cycle
// is an error, as in Go, unless each variable that is needed before it is initialized has a
// value of an earlier cell, as x in var x = x + 1: then they stay as they stand.
func (u *update) initOrder(k *checking, vars []declaredVar, n int) {
	if asWritten(vars, k.all) {
		var zero, valued []ast.Stmt
		for _, v := range vars {
			if s := v.statement(v.spec.Names, v.spec.Values); len(v.spec.Values) == 0 {
				zero = append(zero, s)
			} else {
				valued = append(valued, s)
			}
		}
		u.src.Body.List = slices.Concat(zero, valued, u.src.Body.List[n:])
		return
	}
	leading := &ast.BlockStmt{List: u.src.Body.List[:n]}
	defined := DefinedBy(leading)
	setScope(u.p.Package)
	for n := range k.used {
		if e := u.p.Names[n]; e != nil && !k.hidden[n] && !defined[n] {
			u.p.Package.Scope().Insert(e.Object)
		}
	}
	names := map[token.Pos]*ast.Ident{}
	for _, v := range vars {
		for _, id := range v.spec.Names {
			names[id.Pos()] = id
		}
	}
	order, cycles := u.p.initializers(u.fset, leading, k)
	for _, c := range cycles {
		if u.needsValue(c, names, k) {
			k.errs = append(k.errs, c.Error)
		}
	}
	if len(cycles) == 0 {
		inInitOrder(u.src.Body, vars, n, order)
	}
}

// asWritten reports whether variables are initialized in the order of the source, those
// without a value first: whether no value, and no declaration that it uses, mentions a
// variable that is declared later. It goes by names alone, so that it may say no where the
// type checker, which most cells need not ask then, says yes.
func asWritten(vars []declaredVar, all []Declared) bool {
	decls := map[string][]ast.Decl{}
	for _, d := range all {
		switch f := d.Decl.(type) {
		case *ast.FuncDecl:
			decls[f.Name.Name] = append(decls[f.Name.Name], f) // also of a method
		case *ast.GenDecl:
			for _, n := range d.Unit.Names {
				decls[n] = append(decls[n], f)
			}
		}
	}
	later := map[string]bool{}
	for _, v := range vars {
		for _, id := range v.spec.Names {
			later[id.Name] = true
		}
	}
	seen := map[string]bool{} // what is seen needs variables before only
	ok := true
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		if id, isName := n.(*ast.Ident); isName && !seen[id.Name] {
			seen[id.Name] = true
			ok = ok && !later[id.Name]
			for _, d := range decls[id.Name] {
				if ok {
					ast.Inspect(d, visit)
				}
			}
		}
		return ok
	}
	for _, v := range vars {
		if v.spec.Type != nil {
			ast.Inspect(v.spec.Type, visit)
		}
		for _, x := range v.spec.Values {
			ast.Inspect(x, visit)
		}
		for _, id := range v.spec.Names {
			delete(later, id.Name)
		}
	}
	return ok
}

// An initCycle is a cycle among initial values; path holds where the variables and
// functions are declared, each of which needs the next and the last the first.
type initCycle struct {
	types.Error
	path []token.Pos
}

// needsValue reports whether a cycle needs a variable, of those with names, that has no
// value when they are initialized as they stand. In var time = time.Now() the second is the
// package.
func (u *update) needsValue(c initCycle, names map[token.Pos]*ast.Ident, k *checking) bool {
	var vars []*ast.Ident
	for _, at := range c.path {
		if id := names[at]; id != nil {
			vars = append(vars, id)
		}
	}
	// A function of the cell means the cell's new variable, unless an earlier cell has one.
	byFunction := len(vars) < len(c.path)
	for i, v := range vars {
		needed := vars[(i+1)%len(vars)]
		if needed.Pos() < v.Pos() {
			continue
		}
		before := u.p.Lookup(needed.Name)
		if _, isVar := before.(*types.Var); !isVar && (byFunction || before == nil && !u.p.outside(needed.Name, k.imports)) {
			return true
		}
	}
	return false
}

// initializers checks the declarations of a cell and of variables as a package and returns
// the order in which these are initialized, and what has none.
func (p *Program) initializers(fset *token.FileSet, vars *ast.BlockStmt, k *checking) (order []*types.Initializer, cycles []initCycle) {
	info := &types.Info{}
	var decls []ast.Decl
	for _, d := range k.all {
		decls = append(decls, d.Decl)
	}
	for _, s := range vars.List {
		decls = append(decls, s.(*ast.DeclStmt).Decl)
	}
	if p.excess(fset, decls) != nil {
		return nil, nil // the statements' check reports it
	}
	conf := &types.Config{Importer: p.Importer, Error: func(err error) {
		e := err.(types.Error)
		switch {
		case strings.HasPrefix(e.Msg, "initialization cycle: "): // x refers to itself
			cycles = append(cycles, initCycle{e, []token.Pos{e.Pos}})
		case strings.HasPrefix(e.Msg, "initialization cycle"):
			cycles = append(cycles, initCycle{e, nil})
		case strings.Contains(e.Msg, " refers to ") && len(cycles) > 0: // lines of their own: a refers to b, b refers to a
			c := &cycles[len(cycles)-1]
			c.Msg += "\n" + e.Msg
			c.path = append(c.path, e.Pos)
		}
	}}
	_ = types.NewChecker(conf, fset, p.Package, info).Files(p.files(k.imports, decls, k.keeps))
	return info.InitOrder, cycles
}

// isInit reports whether f is an init function.
func isInit(f *ast.FuncDecl) bool { return f.Recv == nil && f.Name.Name == "init" }

// AfterVars returns the index in a cell's statements at which init functions
// are called: after the leading var declarations.
func AfterVars(list []ast.Stmt) int {
	for i, s := range list {
		if d, ok := s.(*ast.DeclStmt); !ok || d.Decl.(*ast.GenDecl).Tok != token.VAR {
			return i
		}
	}
	return len(list)
}
