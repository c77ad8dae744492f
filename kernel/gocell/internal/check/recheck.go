package check

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Recheck type-checks the declaration of an instance, in a scope where the type
// parameters name their arguments. Errors are dropped that a generic cannot
// have but its instance can (a repeated case, a constant that overflows).
//
// It reports whether the checker could evaluate all constants of the instance,
// which the generic does not have.
func (p *Program) Recheck(fset *token.FileSet, info *types.Info, d ast.Decl, params []string, args []types.Type, lib *Library, from *FetchedFile) (ok bool) {
	if from != nil {
		return from.recheck(fset, info, d, params, args)
	}
	ok = true
	var own []types.Object
	if lib != nil {
		own = p.Prelude.types(lib.ipath, p)
	}
	setScope(p.Package)
	for i, n := range params {
		if n != "_" && i < len(args) {
			o := types.NewTypeName(token.NoPos, p.Package, n, args[i])
			p.Package.Scope().Insert(o)
		}
	}
	m := newMentions()
	m.add(d)
	var imports *ast.GenDecl
	if lib != nil {
		for _, o := range own {
			p.Package.Scope().Insert(o)
		}
		imports = lib.importDecl(m.names)
	} else {
		for n := range m.names {
			if e := p.Names[n]; e != nil {
				p.Package.Scope().Insert(e.Object)
			}
		}
		imports = p.importDecl(m, []Declared{{Decl: d, Unit: &Unit{}}})
	}
	file := &ast.File{Name: ast.NewIdent("main")}
	if imports != nil {
		file.Decls = append(file.Decls, imports)
	}
	file.Decls = append(file.Decls, d)
	conf := &types.Config{Importer: withStd{p.Importer}, Error: func(err error) {
		ok = ok && !ofConstants(err)
		if lib != nil && p.Prelude.Problem != nil {
			p.Prelude.Problem(err)
		}
	}}
	_ = types.NewChecker(conf, fset, p.Package, info).Files([]*ast.File{file})
	if again, _ := sizeMusts(info, file, nil); again {
		return p.Recheck(fset, info, d, params, args, lib, from)
	}
	return ok
}

// recheck is program.recheck for a declaration of a fetched package.
func (sf *FetchedFile) recheck(fset *token.FileSet, info *types.Info, d ast.Decl, params []string, args []types.Type) (ok bool) {
	ok = true
	sp := sf.owner
	var extra []types.Object
	for i, n := range params {
		if n != "_" && i < len(args) {
			o := types.NewTypeName(token.NoPos, sp.pkg, n, args[i])
			extra = append(extra, o)
		}
	}
	m := newMentions()
	m.add(d)
	f := &ast.File{Name: ast.NewIdent(sp.Name)}
	if imports := sf.importDecl(m.names); imports != nil {
		f.Decls = append(f.Decls, imports)
	}
	f.Decls = append(f.Decls, d)
	conf := &types.Config{Importer: fixedImporter{sp}, Error: func(err error) { ok = ok && !ofConstants(err) }}
	sp.inScope(extra, func() {
		_ = types.NewChecker(conf, fset, sp.pkg, info).Files([]*ast.File{f})
	})
	return ok
}
