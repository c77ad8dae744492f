package gocell

import (
	"cmp"
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
)

// Declarations of fetched packages are linked on demand: before a cell is
// compiled, the declarations that the cell uses are compiled, and
// all that those depend on. A type brings its methods, a variable its
// initializer, and the first declaration of a package brings the package's init
// functions and the packages that it imports for side effects; of a package on disk also
// the variables whose initializers may have side effects. Other
// declarations are neither compiled nor initialized.

// A linkage is the set of declarations and packages to link before a cell.
type linkage struct {
	decls    map[*check.FetchedDecl]bool
	packages map[*check.FetchedPackage]bool // packages to initialize
	have     *fetched
}

// linkFor returns the declarations of fetched packages that a cell depends on
// and that have not been compiled yet.
func (g *fetched) linkFor(c *check.Checked) *linkage {
	k := &linkage{map[*check.FetchedDecl]bool{}, map[*check.FetchedPackage]bool{}, g}
	for _, d := range c.Source.File.Decls {
		if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.IMPORT {
			for _, spec := range decl.Specs {
				k.addPackage(g.prog.Importer.Source(check.ImportPath(spec.(*ast.ImportSpec))))
			}
		}
	}
	for _, o := range c.Info.Uses {
		k.add(o)
	}
	k.addLinked()
	return k
}

func (k *linkage) add(o types.Object) {
	if o == nil {
		return
	}
	sp := check.FetchedOf(o.Pkg())
	if sp == nil {
		return
	}
	d := sp.ByObject[o]
	if d == nil || k.have.linked[d] || k.decls[d] {
		return
	}
	k.decls[d] = true
	k.addPackage(sp)
	for _, n := range d.Needs {
		k.add(n)
	}
}

// addPackage adds the initialization of a package, and of the packages that it
// imports for side effects.
func (k *linkage) addPackage(sp *check.FetchedPackage) {
	if sp == nil || sp.Why != "" || k.have.initialized[sp] || k.packages[sp] {
		return
	}
	k.packages[sp] = true
	for _, f := range sp.Parsed {
		for _, is := range f.Syntax.Imports {
			if is.Name != nil && is.Name.Name == "_" {
				k.addPackage(sp.Imported(check.ImportPath(is)))
			}
		}
	}
	for _, d := range sp.Inits {
		for _, n := range d.Needs {
			k.add(n)
		}
	}
	if sp.Module.Folder == "" {
		return
	}
	for o, d := range sp.ByObject { // before init functions, as its author expects
		if d.HasEffects() {
			k.add(o)
		}
	}
}

// sorted returns the declarations and the packages of a linkage in the order in which
// they are initialized.
func (k *linkage) sorted() (decls []*check.FetchedDecl, packages []*check.FetchedPackage) {
	all := maps.Clone(k.packages)
	for d := range k.decls {
		all[d.Owner] = true
	}
	decls = slices.SortedFunc(maps.Keys(k.decls), func(a, b *check.FetchedDecl) int {
		return cmp.Or(a.Owner.Number-b.Owner.Number, a.Order-b.Order, int(a.Pos()-b.Pos()))
	})
	return decls, slices.SortedFunc(maps.Keys(all), func(a, b *check.FetchedPackage) int { return a.Number - b.Number })
}

// link compiles and initializes the declarations of fetched packages that a
// cell depends on. If that fails, none of them is linked.
func (s *Session) link(ctx context.Context, c *check.Checked, out engine.Outputs) error {
	k := s.linkFor(c)
	if len(k.decls) == 0 && len(k.packages) == 0 {
		return nil
	}
	undo := s.types.Snapshot()
	initialize, err := s.linker(k)
	if err != nil {
		undo()
		return s.linkError(err)
	}
	run := s.start(ctx, out, nil)
	defer s.finish(run)
	if e := initialize(run); e != nil {
		undo()
		e.Traceback = append([]string{"while the packages that this cell imports are initialized:"}, e.Traceback...)
		return e
	}
	for d := range k.decls {
		s.fetched.linked[d] = true
	}
	for sp := range k.packages {
		s.fetched.initialized[sp] = true
	}
	return nil
}

// linkError returns the error of a cell that uses declarations which the
// interpreter cannot compile.
func (m *messages) linkError(err error) *engine.Error {
	e := m.compileError(0, err)
	e.Message = "this cannot be interpreted: " + e.Message + "; " + check.InsteadCompile
	e.Traceback = append(append([]string{bold + "what this cell uses of a fetched package cannot be interpreted:" + plain}, e.Traceback...), check.InsteadCompile)
	return e
}
