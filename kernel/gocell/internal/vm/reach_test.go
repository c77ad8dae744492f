package vm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/internal/system/limits"
)

func TestReach(t *testing.T) {
	if err := reach(structs, fields, functions); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		name   string
		field  field
		linked linked
		want   string
	}{
		{name: "a struct that is gone", field: field{of: "os.files", name: "pfd", typ: "int"}, want: "there is no struct os.files"},
		{name: "a field that is gone", field: field{of: "os.File", name: "handle", typ: "int"}, want: "os.File has no field handle"},
		{name: "another type", field: field{of: "poll.fdMutex", name: "state", typ: "uint32"}, want: "field state of poll.fdMutex is a uint64, not a uint32"},
		{name: "a function that is gone", linked: linked{strings.Fields, "database/sql.convert"}, want: "there is no function database/sql.convert"},
	} {
		fields, functions := slices.Clone(fields), slices.Clone(functions)
		if c.linked.f != nil {
			functions = append(functions, c.linked)
		} else {
			fields = append(fields, c.field)
		}
		if err := reach(structs, fields, functions); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestFalseWords: each word of a goroutine that is another is seen.
func TestFalseWords(t *testing.T) {
	if err := checkStack(stack); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		stack func() (used, id uintptr)
		want  string
	}{
		{func() (used, id uintptr) { _, id = stack(); return 4096, id }, "a goroutine does not begin with the bounds of its stack"},
		{func() (used, id uintptr) { used, id = stack(); return -used, id }, "a goroutine does not begin with the bounds of its stack"},
		{func() (used, id uintptr) { used, _ = stack(); return used, 8 }, "a goroutine is not known by its address"},
		{func() (used, id uintptr) { used, id = stack(); return used, id + 8 }, "a goroutine is not known by its address"},
	} {
		if err := checkStack(c.stack); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestReachComplete: no file but reach.go names a private function or field, and
// the table has each function that is linked.
func TestReachComplete(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range f.Comments {
			for _, c := range g.List {
				target, ok := strings.CutPrefix(c.Text, "//go:linkname ")
				switch {
				case !ok:
				case name != "reach.go":
					t.Errorf("%s: %s stands outside of the table", name, c.Text)
				case !slices.ContainsFunc(functions, func(l linked) bool { return strings.HasSuffix(target, " "+l.name) }):
					t.Errorf("%s is not in the table", c.Text)
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) != 1 {
				return true
			}
			_, constant := c.Args[0].(*ast.BasicLit)
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "FieldByName" && constant {
				t.Errorf("%s reads a field by its name outside of the table", fset.Position(n.Pos()))
			}
			return true
		})
	}
}

// TestScarce holds the reserve: 512 MB, or a sixteenth of a small machine.
func TestScarce(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		available, total int64
		want             bool
	}{
		{512*mb - 1, 64 << 30, true}, {512 * mb, 64 << 30, false}, {513 * mb, 64 << 30, false}, {0, 64 << 30, true},
		{64*mb - 1, 1 << 30, true}, {64 * mb, 1 << 30, false}, {100 * mb, 8 << 30, true},
	} {
		roomy := limits.Limit{Name: "roomy", Total: 1 << 40, Available: 1 << 39}
		l, got := scarce([]limits.Limit{roomy, {Name: "tight", Total: c.total, Available: c.available}})
		if got != c.want || got && l.Name != "tight" {
			t.Errorf("%d of %d bytes: scarce is %t, of %s", c.available, c.total, got, l.Name)
		}
	}
	for _, l := range memory() {
		if l.Available <= 0 || l.Total < l.Available {
			t.Errorf("%s has %d bytes of %d", l.Name, l.Available, l.Total)
		}
	}
}

func TestBeingRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if BeingRead(r) {
		t.Error("locked, and nobody reads")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Read(make([]byte, 1))
	}()
	for end := time.Now().Add(time.Minute); !BeingRead(r); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a reader does not lock")
		}
	}
	w.Close()
	<-done
	if BeingRead(r) {
		t.Error("still locked")
	}
}
