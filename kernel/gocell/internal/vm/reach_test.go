package vm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/internal/system/limits"
)

func TestReach(t *testing.T) {
	if _, err := reach(structs, fields, functions); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		name   string
		field  field
		linked linked
		want   string
	}{
		{name: "a struct that is gone", field: field{of: "interp.nodes", name: "child", typ: "int"}, want: "there is no struct interp.nodes"},
		{name: "a field that is gone", field: field{of: "interp.node", name: "children", typ: "int"}, want: "interp.node has no field children"},
		{name: "another type", field: field{of: "interp.node", name: "level", typ: "int64"}, want: "field level of interp.node is a int, not a int64"},
		{name: "a function that is gone", linked: linked{strings.Fields, yaegi + "/interp.runAll"}, want: "there is no function " + yaegi + "/interp.runAll"},
	} {
		fields, functions := slices.Clone(fields), slices.Clone(functions)
		if c.linked.f != nil {
			functions = append(functions, c.linked)
		} else {
			fields = append(fields, c.field)
		}
		if _, err := reach(structs, fields, functions); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	type frame = struct{ ID, Debug uint64 }
	if err := sameLayout(reflect.TypeFor[frame](), reflect.TypeFor[runFrame]()); err == nil {
		t.Error("a frame of two fields is taken for one of nine")
	}
}

// TestFalseWords: each word of a goroutine and of a reflect.Value that is another
// is seen.
func TestFalseWords(t *testing.T) {
	if err := checkWords(methodFlag, kindBits, stack); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		method, kind uintptr
		stack        func() (used, id uintptr)
		want         string
	}{
		{methodFlag << 1, kindBits, stack, "the flag of a reflect.Value that is a method is not 0x400"},
		{methodFlag, kindBits << 5, stack, "the kind of a reflect.Value is not in its flags 0x3e0"},
		{methodFlag, kindBits, func() (used, id uintptr) { _, id = stack(); return 4096, id }, "a goroutine does not begin with the bounds of its stack"},
		{methodFlag, kindBits, func() (used, id uintptr) { used, id = stack(); return -used, id }, "a goroutine does not begin with the bounds of its stack"},
		{methodFlag, kindBits, func() (used, id uintptr) { used, _ = stack(); return used, 8 }, "a goroutine is not known by its address"},
		{methodFlag, kindBits, func() (used, id uintptr) { used, id = stack(); return used, id + 8 }, "a goroutine is not known by its address"},
	} {
		if err := checkWords(c.method, c.kind, c.stack); err == nil || err.Error() != c.want {
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
				case !strings.HasSuffix(c.Text, ".valueInterfaceType") && // a variable; reach starts at it
					!slices.ContainsFunc(functions, func(l linked) bool { return strings.HasSuffix(target, " "+l.name) }):
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

// TestSignatures compares the functions of the table with yaegi's source: the
// linker does not.
func TestSignatures(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", yaegi+"/interp").Output()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	theirs := map[string]*ast.FuncDecl{}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				theirs[qualified(d)] = d
			}
		}
	}
	// What they declare and what we do.
	same := map[string]string{
		"*node": "unsafe.Pointer", "*scope": "unsafe.Pointer", "*frame": "unsafe.Pointer", "*itype": "unsafe.Pointer", "bltn": "step",
		"func(*frame) reflect.Value": "func(unsafe.Pointer) reflect.Value",
	}
	ours, err := parser.ParseFile(fset, "reach.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range ours.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok || d.Body != nil {
			continue
		}
		i := slices.IndexFunc(functions, func(l linked) bool {
			at := strings.LastIndexByte(l.name, '.')
			return l.name[at+1:] == d.Name.Name || d.Name.Name == "callStep" && strings.HasSuffix(l.name, "interp.call") || d.Name.Name == "typeOfItype" && strings.HasSuffix(l.name, "TypeOf")
		})
		if i < 0 || !strings.HasPrefix(functions[i].name, yaegi) {
			continue // Go's own
		}
		name := strings.TrimPrefix(functions[i].name, yaegi+"/interp.")
		seen[name] = true
		their := theirs[name]
		if their == nil {
			t.Errorf("yaegi has no function %s", name)
			continue
		}
		list := func(f *ast.FuncDecl) []string {
			var l []string
			for _, fields := range []*ast.FieldList{f.Recv, f.Type.Params, f.Type.Results} {
				if fields == nil {
					continue
				}
				for _, p := range fields.List {
					text := typeText(t, p.Type)
					l = append(l, slices.Repeat([]string{text}, max(1, len(p.Names)))...)
				}
			}
			return l
		}
		want, got := list(their), list(d)
		for i, w := range want {
			if s, ok := same[w]; ok && !(w == "*frame" && i < len(got) && got[i] == "*runFrame") {
				want[i] = s
			} else if w == "*frame" {
				want[i] = "*runFrame"
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, yaegi's has %v", name, got, want)
		}
	}
	for _, l := range functions {
		if name, ok := strings.CutPrefix(l.name, yaegi+"/interp."); ok && !seen[name] {
			t.Errorf("%s was not compared; there are %v", name, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// qualified is the name of a function as the run time has it.
func qualified(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	switch r := d.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		return "(*" + r.X.(*ast.Ident).Name + ")." + d.Name.Name
	case *ast.Ident:
		return r.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// typeText writes a type without the names of parameters.
func typeText(t *testing.T, x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return typeText(t, x.X) + "." + x.Sel.Name
	case *ast.StarExpr:
		return "*" + typeText(t, x.X)
	case *ast.ArrayType:
		return "[]" + typeText(t, x.Elt)
	case *ast.FuncType:
		s := "func("
		for _, p := range x.Params.List {
			s += typeText(t, p.Type)
		}
		return s + ") " + typeText(t, x.Results.List[0].Type)
	}
	t.Fatalf("a type of another form: %T", x)
	return ""
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
