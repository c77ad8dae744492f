package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// Imports belong to a file in Go, declarations to the package. So a declaration of a cell
// hides what cells have imported, for cells that come later, and earlier declarations
// keep the imports that they were checked with.

// imported is what a declaration has from outside: the import paths of the packages that it
// names, and those of the names that it has from imports with a dot.
type imported struct {
	named, dotted map[string]string
	session       map[string]bool // names of the session
	golang        map[string]bool // Go's own names
}

// usesOf returns the names of the session that a checked node uses, and what it has from
// outside.
func usesOf(info *types.Info, n ast.Node) (deps map[string]bool, im *imported) {
	deps = map[string]bool{}
	im = &imported{session: deps, golang: map[string]bool{}}
	note := func(id *ast.Ident, selected bool) {
		o := info.Uses[id]
		if o == nil {
			return
		}
		if FetchedOf(o.Pkg()) != nil {
			deps[PackageKey(o.Pkg().Path())] = true
		}
		if _, ok := MustResults(o); ok {
			deps["must"] = true // which a cell may declare
			return
		}
		switch pn, isPkg := o.(*types.PkgName); {
		case isPkg:
			im.named = addPath(im.named, id.Name, pn.Imported())
		case o.Parent() == types.Universe:
			im.golang[id.Name] = true
		case o.Pkg() == nil || !PackageLevel(o):
		case o.Pkg().Path() == "main": // of a cell, perhaps a compiled one
			deps[id.Name] = true
		case !selected:
			im.dotted = addPath(im.dotted, id.Name, o.Pkg())
		}
	}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			note(n.Sel, true)
			return false
		case *ast.Ident:
			note(n, false)
		}
		return true
	}
	ast.Inspect(n, visit)
	return deps, im
}

// addPath adds the path of a package, by a name, and makes the map for the first.
func addPath(paths map[string]string, name string, of *types.Package) map[string]string {
	if paths == nil {
		paths = map[string]string{}
	}
	paths[name] = PathOf(of)
	return paths
}

// imports returns the declaration of what is imported.
func (im *imported) imports() *ast.GenDecl {
	g := &ast.GenDecl{Tok: token.IMPORT}
	for _, name := range slices.Sorted(maps.Keys(im.named)) {
		g.Specs = append(g.Specs, importSpec(name, im.named[name]))
	}
	names := map[string][]string{} // by path
	for _, name := range slices.Sorted(maps.Keys(im.dotted)) {
		names[im.dotted[name]] = append(names[im.dotted[name]], name)
	}
	for _, path := range slices.Sorted(maps.Keys(names)) {
		g.Specs = append(g.Specs, importSpec(".", onlyOf(path, names[path])))
	}
	return g
}

func importSpec(name, path string) *ast.ImportSpec {
	return &ast.ImportSpec{Name: ast.NewIdent(name), Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(path)}}
}

// onlyOf is an import path of a package that has no more than some names of another.
func onlyOf(path string, names []string) string {
	return path + cell.Mark + strings.Join(names, cell.Mark)
}

// importOnly imports what onlyOf says.
func (m *Importer) importOnly(path, names string) (*types.Package, error) {
	of, err := m.Import(path)
	if err != nil {
		return nil, err
	}
	p := types.NewPackage(of.Path(), of.Name())
	for name := range strings.SplitSeq(names, cell.Mark) {
		if o := of.Scope().Lookup(name); o != nil {
			p.Scope().Insert(o)
		}
	}
	p.MarkComplete()
	return p, nil
}

// files returns the files of declarations, with the imports that importDecl has found, nil
// for none. What the session and the declarations have in package scope hides what is
// imported. An earlier cell's declaration whose imports are hidden, or others now, has a
// file of its own: in has those of declarations.
//
// A variable alone hides a package of its name: var list point is no container/list.
func (p *Program) files(imports *ast.GenDecl, decls []ast.Decl, in func(d ast.Decl) *imported) []*ast.File {
	main := &ast.File{Name: ast.NewIdent(p.Package.Name()), Decls: make([]ast.Decl, 0, len(decls)+1)}
	declared := make(map[string]token.Token, len(decls))
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				declared[d.Name.Name] = token.FUNC
			}
		case *ast.GenDecl:
			for _, n := range namesOf(d) {
				declared[n] = d.Tok
			}
		}
	}
	hidden := func(name string) bool {
		return (declared[name] != 0 || p.Names[name] != nil) && !p.conflicts[name] || p.Package.Scope().Lookup(name) != nil
	}
	kept := &ast.GenDecl{Tok: token.IMPORT}
	if imports != nil {
		kept.Specs = make([]ast.Spec, 0, len(imports.Specs))
		for _, s := range imports.Specs {
			s := s.(*ast.ImportSpec)
			switch {
			case s.Name == nil:
			case s.Name.Name == ".":
				s = p.withoutHidden(s, hidden)
			case declared[s.Name.Name] == token.VAR || p.Package.Scope().Lookup(s.Name.Name) != nil:
				continue
			}
			kept.Specs = append(kept.Specs, s)
		}
		main.Decls = append(main.Decls, kept)
	}
	files := []*ast.File{main}
	for _, d := range decls {
		im := in(d)
		others := im != nil
		if others {
			others = false
			for name, path := range im.named {
				others = others || !slices.ContainsFunc(kept.Specs, func(s ast.Spec) bool {
					i := s.(*ast.ImportSpec)
					return i.Name != nil && i.Name.Name == name && ImportPath(i) == path
				})
			}
			for name := range im.dotted {
				others = others || hidden(name)
			}
		}
		if others {
			files = append(files, &ast.File{Name: main.Name, Decls: []ast.Decl{im.imports(), d}})
		} else {
			main.Decls = append(main.Decls, d)
		}
	}
	return files
}

// outside reports whether a name is predeclared or imported.
func (p *Program) outside(name string, imports *ast.GenDecl) bool {
	if types.Universe.Lookup(name) != nil {
		return true
	}
	return imports != nil && slices.ContainsFunc(imports.Specs, func(s ast.Spec) bool {
		i := s.(*ast.ImportSpec)
		if i.Name == nil || i.Name.Name != "." {
			return i.Name != nil && i.Name.Name == name
		}
		of, err := p.Importer.Import(ImportPath(i))
		return err == nil && token.IsExported(name) && of.Scope().Lookup(name) != nil
	})
}

// withoutHidden returns an import with a dot without the names that are hidden.
func (p *Program) withoutHidden(s *ast.ImportSpec, hidden func(name string) bool) *ast.ImportSpec {
	of, err := p.Importer.Import(ImportPath(s))
	if err != nil {
		return s // the checker reports it
	}
	names := of.Scope().Names()
	if !slices.ContainsFunc(names, hidden) {
		return s
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !token.IsExported(n) || hidden(n) })
	path, _, _ := strings.Cut(ImportPath(s), cell.Mark)
	return importSpec(".", onlyOf(path, names))
}

// noteConflicts notes the names that a cell both declares and has from an import with a
// dot of its own, which Go refuses.
func (p *Program) noteConflicts(own []Declared, ownNative *Unit) {
	p.conflicts = map[string]bool{}
	for _, path := range p.ownDots {
		of, err := p.Importer.Import(path)
		if err != nil {
			continue
		}
		note := func(u *Unit) {
			for _, n := range u.Names {
				if u.Method == "" && token.IsExported(n) && of.Scope().Lookup(n) != nil {
					p.conflicts[n] = true
				}
			}
		}
		for _, d := range own {
			note(d.Unit)
		}
		if ownNative != nil {
			note(ownNative)
		}
	}
}

// A conflictFilter drops the checker's errors about names that one of several files imports
// and the package declares, but for those that are the cell's own.
type conflictFilter struct {
	own     map[string]bool
	dropped bool // the last error: its other place is to follow
}

func (f *conflictFilter) drops(msg string) bool {
	kind, name := kindOfError(msg)
	f.dropped = kind == importConflict && !f.own[name] || f.dropped && strings.HasPrefix(msg, "\tother declaration of ")
	return f.dropped
}

// allDecls returns the declarations of files as those of one.
func allDecls(files []*ast.File) *ast.File {
	all := &ast.File{Name: files[0].Name}
	for _, f := range files {
		all.Decls = append(all.Decls, f.Decls...)
	}
	return all
}
