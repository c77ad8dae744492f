package widget_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestControls checks that each function that makes a control is explained and tested.
func TestControls(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "control.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/widgets.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("widget_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !fn.Name.IsExported() {
			continue
		}
		found++
		if name := fn.Name.Name; !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s: README.md does not name it: add it to the table of controls", name)
		}
		if name := fn.Name.Name; !strings.Contains(string(tests), "widget."+name+"(") {
			t.Errorf("%s: add a case to the cases of TestValueFromPage in widget_test.go", name)
		}
	}
	if found < 15 {
		t.Errorf("only %d controls are found", found)
	}
}
