package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"dace.local/kernel/internal/toolchain/module"
)

// oneImporter finds one package.
type oneImporter struct{ p *types.Package }

func (i oneImporter) Import(string) (*types.Package, error) { return i.p, nil }

// A type of a fetched package is seen through whatever others can reach, and through
// nothing else.
func TestFetchedIn(t *testing.T) {
	x := types.NewPackage("example.org/x", "x")
	name := types.NewTypeName(token.NoPos, x, "T", nil)
	types.NewNamed(name, types.Typ[types.Int], nil)
	x.Scope().Insert(name)
	x.MarkComplete()
	for text, want := range map[string]bool{
		"x.T": true, "[]x.T": true, "*x.T": true, "[2]x.T": true, "chan x.T": true, "map[x.T]int": true, "map[int]x.T": true,
		"func(x.T)": true, "func() x.T": true, "func(int) (int, x.T)": true, "struct{ X x.T }": true, "struct{ x.T }": true, "interface{ M(x.T) }": true,
		"With": true, "[]struct{ F func(With) }": true,
		"int": false, "[]int": false, "map[string]int": false, "func(int) string": false, "struct{ y x.T }": false, "interface{ M() }": false, "Without": false,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "a.go", `package main
			import "example.org/x"
			type With struct{}
			func (With) M(x.T) {}
			type Without struct{}
			func (Without) m(x.T) {}
			var v `+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := (&types.Config{Importer: oneImporter{x}}).Check("main", fset, []*ast.File{f}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := fetchedIn(p.Scope().Lookup("v").Type(), p, map[types.Type]bool{})
		if (got != nil) != want || want && got.String() != "example.org/x.T" {
			t.Errorf("in %s is %v", text, got)
		}
	}
}

// A fetched package is checked again with what it has imported, by the paths that it has.
func TestFixedImporter(t *testing.T) {
	pkg, a, b := types.NewPackage("example.org/p", "p"), types.NewPackage("example.org/a", "a"), types.NewPackage("example.org/vendor/b", "b")
	pkg.SetImports([]*types.Package{a, b})
	i := fixedImporter{&FetchedPackage{pkg: pkg, Package: &module.Package{ImportMap: map[string]string{"b": b.Path()}}}}
	for path, want := range map[string]*types.Package{a.Path(): a, "b": b, b.Path(): b, "example.org/c": nil} {
		if got, err := i.Import(path); got != want || (err == nil) != (want != nil) {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
}

// A scope that is emptied holds neither objects nor the scopes of what was declared in it, nor
// those the package's.
func TestSetScope(t *testing.T) {
	pkg := types.NewPackage("example.org/p", "p")
	pkg.Scope().Insert(types.NewVar(0, pkg, "x", types.Typ[types.Int]))
	file := types.NewScope(pkg.Scope(), 0, 0, "file")
	types.NewScope(file, 0, 0, "function")
	setScope(pkg)
	if pkg.Scope().Len()+pkg.Scope().NumChildren()+file.NumChildren() != 0 {
		t.Errorf("%v, of the file %v", pkg.Scope(), file)
	}
}
