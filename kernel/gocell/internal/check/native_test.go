package check

import (
	"go/token"
	"strings"
	"testing"
)

// checked checks cells one after another, which begin with %%compile where they are to be
// compiled. It returns the program after them, and the last cell's error.
func checked(t *testing.T, fset *token.FileSet, cells ...string) (*Program, error) {
	t.Helper()
	p, err := NewProgram()
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range cells {
		parse := ParseCell
		if rest, ok := strings.CutPrefix(text, "%%compile"); ok {
			parse, text = ParseNative, rest
		}
		src, err := parse(fset, i+1, "", text)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Check(fset, src)
		switch {
		case err == nil:
			p = c.Next
		case i == len(cells)-1:
			return p, err
		default:
			t.Fatalf("cell %d: %v", i+1, err)
		}
	}
	return p, nil
}

// Compiled cells that would use each other are an error of the compiled cell that makes
// them so; where an interpreted cell does, one of them no longer compiles.
func TestUseEachOther(t *testing.T) {
	for _, c := range []struct {
		cells []string
		want  string
	}{
		{[]string{"%%compile\nfunc g() int { return 1 }", "%%compile\nfunc f() int { return g() }", "%%compile\n\nfunc g() int { return f() }"},
			"In[3]/_.go:3:1: f and g use each other: declare them in one compiled cell"},
		{[]string{"func h() int { return 1 }", "%%compile\nfunc g() int { return h() }", "%%compile\nfunc f() int { return g() }", "func h() int { return f() }"},
			"In[4]/_.go:1:23: undefined: f\n\tf, compiled in cell 3, no longer compiles: f and g use each other: declare them in one compiled cell (line 2)"},
	} {
		_, err := checked(t, token.NewFileSet(), c.cells...)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.cells, err, c.want)
		}
	}
}

// A function with copies of types must not show that they are copies: by an interface,
// an assertion, or a generic of a library that could ask for the type.
func TestAsksIdentity(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"var t T\nt.A++", ""},
		{"_ = any(T{})", "a value of T, a type of a cell, goes into an interface"},
		{"var v any\n_ = v.(T)", "it asserts T, a type of a cell"},
		{"var v any\nswitch v.(type) {\ncase *T:\n}", "it asserts T, a type of a cell"},
		{"var b box[T]\nb.value.A++", ""},
		{"_ = slices.Clone([]T{})", ""},
		{"_ = reflect.TypeFor[T]()", "T, a type of a cell, is a type argument of reflect.TypeFor"},
		{"var p atomic.Pointer[T]\n_ = p.Load()", ""},
		{"var h unique.Handle[T]\n_ = h", "T, a type of a cell, is a type argument of Handle"},
		{"var h unique.Handle[int]\n_ = h", ""},
	} {
		fset := token.NewFileSet()
		p, err := checked(t, fset, `import ("reflect"; "slices"; "sync/atomic"; "unique")`, "type T struct{ A int }\ntype box[E any] struct{ value E }", "func f() {\n"+c.code+"\n}")
		if err != nil {
			t.Fatal(err)
		}
		n, err := p.Layout(fset, "f", "", false)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		if got := n.AsksIdentity(); got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
}
