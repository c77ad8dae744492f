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

// imported is what a declaration has of imports: the import paths of the packages that it
// names, and those of the names that it has from imports with a dot.
type imported struct{ named, dotted map[string]string }

// importedBy returns what a checked node has of imports, nil for nothing.
func importedBy(info *types.Info, n ast.Node) *imported {
	im := &imported{map[string]string{}, map[string]string{}}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			return false
		case *ast.Ident:
			switch o := info.Uses[n].(type) {
			case nil:
			case *types.PkgName:
				im.named[n.Name] = PathOf(o.Imported())
			default:
				if o.Pkg() != nil && o.Pkg().Path() != "main" && PackageLevel(o) { // of no cell
					im.dotted[n.Name] = PathOf(o.Pkg())
				}
			}
		}
		return true
	}
	ast.Inspect(n, visit)
	if len(im.named)+len(im.dotted) == 0 {
		return nil
	}
	return im
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
	main := &ast.File{Name: ast.NewIdent(p.Package.Name())}
	declared := map[string]token.Token{}
	for _, d := range decls {
		tok := token.FUNC
		if g, ok := d.(*ast.GenDecl); ok {
			tok = g.Tok
		}
		if u := UnitsOf(Piece{}, d); u.Method == "" {
			for _, n := range u.Names {
				declared[n] = tok
			}
		}
	}
	hidden := func(name string) bool {
		return (declared[name] != 0 || p.Names[name] != nil) && !p.conflicts[name] || p.Package.Scope().Lookup(name) != nil
	}
	paths := map[string]string{} // by the name of the import
	if imports != nil {
		g := *imports
		g.Specs = nil
		for _, s := range imports.Specs {
			s := s.(*ast.ImportSpec)
			switch {
			case s.Name == nil:
			case s.Name.Name == ".":
				s = p.withoutHidden(s, hidden)
			case declared[s.Name.Name] == token.VAR || p.Package.Scope().Lookup(s.Name.Name) != nil:
				continue
			default:
				paths[s.Name.Name] = ImportPath(s)
			}
			g.Specs = append(g.Specs, s)
		}
		main.Decls = append(main.Decls, &g)
	}
	files := []*ast.File{main}
	for _, d := range decls {
		im := in(d)
		others := im != nil
		if others {
			others = false
			for name, path := range im.named {
				others = others || paths[name] != path
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
	names := slices.DeleteFunc(of.Scope().Names(), func(n string) bool { return !token.IsExported(n) || hidden(n) })
	if !slices.ContainsFunc(of.Scope().Names(), hidden) {
		return s
	}
	return importSpec(".", onlyOf(ImportPath(s), names))
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
