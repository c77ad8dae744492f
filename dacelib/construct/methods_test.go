package construct_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"dace.local/dacelib/construct"
)

// TestMethodsKnown checks that each function of the form of a method is one of
// Methods.
func TestMethodsKnown(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "construct" || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil {
				continue
			}
			params, results := fn.Type.Params.List, fn.Type.Results.List
			names := func(e ast.Expr, want string) bool { id, ok := e.(*ast.Ident); return ok && id.Name == want }
			if len(results) != 2 || !names(results[0].Type, "Result") || len(params) < 3 || !names(params[len(params)-1].Type, "Settings") ||
				fn.Name.Name == "Build" || fn.Name.Name == "Watch" {
				continue
			}
			found++
			if _, err := construct.Method(fn.Name.Name); err != nil {
				t.Errorf("%s: %s is not among the methods in build.go: add a row there, by which Build, dace construct and the tests of all methods know it", name, fn.Name.Name)
			}
		}
	}
	if found < 9 {
		t.Errorf("only %d methods are found", found)
	}
}
