package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
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
