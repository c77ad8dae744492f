package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"testing"

	"dace.local/kernel/gocell/symbols"
)

// TestPreludeCovers checks that each exported generic of the packages that
// cells can import has a text in the prelude, with as many type parameters and,
// for a type, the same methods.
func TestPreludeCovers(t *testing.T) {
	imp, err := symbols.NewTypes()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range symbols.Paths() {
		p, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			o := p.Scope().Lookup(name)
			if !o.Exported() || IsSeq(o) {
				continue
			}
			n := 0
			var methods []string
			switch typ := o.Type().(type) {
			case *types.Signature:
				n = typ.TypeParams().Len()
			case *types.Named:
				n = typ.TypeParams().Len()
				for m := range typ.Methods() {
					if m.Exported() {
						methods = append(methods, m.Name())
					}
				}
			}
			if n == 0 {
				continue
			}
			lib := libraries()[path]
			if lib == nil || lib.decls[name].Text == "" {
				t.Errorf("%s.%s: no text", path, name)
				continue
			}
			ds, err := lib.decls[name].Parse(token.NewFileSet())
			if err != nil {
				t.Fatal(err)
			}
			var params *ast.FieldList
			switch d := ds[0].(type) {
			case *ast.FuncDecl:
				params = d.Type.TypeParams
			case *ast.GenDecl:
				params = d.Specs[0].(*ast.TypeSpec).TypeParams
			}
			if got := len(FieldNames(params)); got != n {
				t.Errorf("%s.%s: %d type parameters, want %d", path, name, got, n)
			}
			if len(lib.methods[name]) != len(methods) {
				t.Errorf("%s.%s: %d methods, want %v", path, name, len(lib.methods[name]), methods)
			}
		}
	}
}
