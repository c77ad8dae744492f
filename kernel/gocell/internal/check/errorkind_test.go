package check

import (
	"errors"
	"go/ast"
	std "go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"dace.local/kernel/internal/randomtest"
)

// TestErrorKind checks texts that have one error each, by the type checker
// itself.
func TestErrorKind(t *testing.T) {
	randomtest.FindGo()
	for _, c := range []struct {
		text string
		want errorKind
		name string
	}{
		{"import \"fmt\"", unusedImport, ""},
		{"import f \"fmt\"", unusedImport, ""},
		{"import \"no/such\"", failedImport, ""},
		{"func f() { x := 1 }", unusedVariable, "x"},
		{"func f() { 1 + 2 }", unusedValue, ""},
		{"func f(s []int) { s[0] }", unusedValue, ""},
		{"func f[T any]()", missingBody, ""},
		{"func init()", missingBody, ""},
		{"import \"strings\"\nvar _ = strings.Builder{nil, nil}", unexportedField, ""},
		{"var x = y", undefinedName, "y"},
		{"import \"strings\"\nfunc strings() {}", importConflict, "strings"},
		{"import . \"strings\"\ntype Builder int", importConflict, "Builder"},
		{"var x int8 = 300", ofConstant, ""},
		{"var x = 1 / 0", ofConstant, ""},
		{"var x int = 1.5", ofConstant, ""},
		{"var x = 1 << -1", ofConstant, ""},
		{"var x int = \"a\"", ofConstant, ""}, // names one
		{"import \"fmt\"\nvar _ = fmt.Prinln", undefinedName, "fmt.Prinln"},
		{"var s struct{}; var _ = s.x", unknownMember, "x"},
		{"type T struct{ Seed int }; var _ = T{}.Sed", unknownMember, "Sed"},
		{"type T struct{ Seed int }; var _ = T{Sed: 1}", unknownMember, "Sed"},
		{"type T int; var _ error = T(0)", missingMethod, "Error"},
		{"var p *error; var _ = p.x", otherError, ""},                   // "type *error is pointer to interface, not interface"
		{"type T struct{ Seed int }; var _ = T{}.seed", otherError, ""}, // "but does have field Seed"
		{"func f() { return 1 }", otherError, ""},
		{"func f() int { }", otherError, ""},
		{"var x, y = 1", otherError, ""},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "a.go", "package main\n"+c.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var first *types.Error
		conf := types.Config{Importer: std.Default(), Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) && first == nil {
				first = &e
			}
		}}
		_, _ = conf.Check("main", fset, []*ast.File{f}, nil)
		if first == nil {
			t.Errorf("%s: no error", c.text)
			continue
		}
		if kind, name := kindOfError(first.Msg); kind != c.want || name != c.name {
			t.Errorf("%s: %q is of kind %d, %q; want %d, %q", c.text, first.Msg, kind, name, c.want, c.name)
		}
	}
}
