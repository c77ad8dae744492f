package lower

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// Fetched lowers declarations of fetched packages, and the initialization
// of packages, as Cell does a cell's. at is the position of nodes that
// stand nowhere in a package.
func Fetched(env Env, state *State, fset *token.FileSet, decls map[*check.FetchedDecl]bool, initialize map[*check.FetchedPackage]bool, next *check.Program, at token.Pos) (*ast.File, error) {
	body := &ast.BlockStmt{Lbrace: at, Rbrace: at}
	c := &check.Checked{Source: &check.Source{Body: body}, Info: check.NewInfo(), Next: next}
	l := newLowerer(env, state, fset, c)
	sorted := slices.SortedFunc(maps.Keys(decls), func(a, b *check.FetchedDecl) int {
		return cmp.Or(a.Owner.Number-b.Owner.Number, a.Order-b.Order, int(a.Pos()-b.Pos()))
	})
	var globals []ast.Decl
	for _, d := range sorted {
		globals = append(globals, l.fetchedDecl(d)...)
	}
	// Package by package: variables, then init functions.
	packages := maps.Clone(initialize)
	for _, d := range sorted {
		packages[d.Owner] = true
	}
	for _, sp := range slices.SortedFunc(maps.Keys(packages), func(a, b *check.FetchedPackage) int { return a.Number - b.Number }) {
		l.fetchedInit(sp, sorted, initialize[sp])
	}
	l.declarations()
	body = l.lower(body).(*ast.BlockStmt)
	file := &ast.File{Name: ast.NewIdent("main"), Package: at}
	if err := l.assemble(file, globals, body.List, body); err != nil {
		return nil, err
	}
	return file, nil
}

// fetchedDecl adds a copy of a declaration to what is lowered, and returns the
// declarations of the variables that it stands for.
func (l *lowerer) fetchedDecl(d *check.FetchedDecl) (globals []ast.Decl) {
	cl := cloner{from: d.Owner.Info, to: l.c.Info}
	add := func(d ast.Decl) { l.c.Decls = append(l.c.Decls, check.Declared{Decl: d, Unit: &check.Unit{}}) }
	for _, n := range d.Nodes {
		at := n.Pos()
		n = cl.node(n)
		if f, ok := n.(*ast.FuncDecl); !ok || !check.HasParams(f) { // else its instances
			n = l.older(n, d.Owner.FileAt(at))
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc = nil
			l.onDisk[n] = d.Owner.Module.Folder != ""
			if hook := l.addHook(d, n); hook != nil {
				globals = append(globals, hook)
			}
			add(n)
		case *ast.GenDecl:
			add(n)
		case *ast.TypeSpec:
			add(&ast.GenDecl{TokPos: n.Pos(), Tok: token.TYPE, Specs: []ast.Spec{n}})
		}
	}
	for _, o := range d.Objects {
		v, ok := o.(*types.Var)
		if !ok {
			continue
		}
		made, _ := check.GeneratedName(v)
		globals = append(globals, &ast.GenDecl{TokPos: v.Pos(), Tok: token.VAR, Specs: []ast.Spec{
			&ast.ValueSpec{Names: []*ast.Ident{{Name: made, NamePos: v.Pos()}}, Type: l.globalType(v.Type(), v.Pos())}}})
	}
	return globals
}

// fetchedInit adds the statements that initialize the variables of a package
// among decls; whole says that its init functions are called too.
func (l *lowerer) fetchedInit(sp *check.FetchedPackage, decls []*check.FetchedDecl, whole bool) {
	cl := cloner{from: sp.Info, to: l.c.Info}
	body := l.c.Source.Body
	var inits, vars []*check.FetchedDecl
	if whole {
		inits = sp.Inits
	}
	for _, d := range decls {
		if d.Owner == sp && (d.Init != nil || d.File) {
			vars = append(vars, d)
		}
	}
	for _, d := range inits {
		if d.Init != nil {
			vars = append(vars, d)
		}
	}
	slices.SortStableFunc(vars, func(a, b *check.FetchedDecl) int { return a.Order - b.Order })
	for _, d := range vars {
		body.List = append(body.List, l.initialize(d, cl))
	}
	for i, d := range inits {
		if d.Init != nil {
			continue
		}
		f := l.older(cl.node(d.Nodes[0]), sp.FileAt(d.Nodes[0].Pos())).(*ast.FuncDecl)
		f.Doc = nil
		l.onDisk[f] = sp.Module.Folder != ""
		f.Name = &ast.Ident{Name: sp.Made("init" + cell.Mark + strconv.Itoa(i)), NamePos: f.Name.Pos()}
		cell.Show(f.Name.Name, sp.Name+".init")
		l.c.Decls = append(l.c.Decls, check.Declared{Decl: f, Unit: &check.Unit{}})
		body.List = append(body.List, &ast.ExprStmt{X: syntax.Call(&ast.Ident{Name: f.Name.Name, NamePos: f.Pos()}, f.Pos())})
	}
}
