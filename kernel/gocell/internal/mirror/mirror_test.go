package mirror

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"strings"
	"testing"

	"dace.local/kernel/gocell/internal/check"
	_ "dace.local/kernel/gocell/symbols/std" // what cells can import
)

// A session declares types by cells.
type session struct {
	*testing.T
	fset *token.FileSet
	prog *check.Program
	made *Types
	n    int
}

func newSession(t *testing.T) *session {
	prog, err := check.NewProgram()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{T: t, fset: token.NewFileSet(), prog: prog}
	s.made = New(Hooks{
		Compiled: func(*types.TypeName) reflect.Type { return nil }, Instance: func(*types.Named) reflect.Type { return nil },
		Canonical: prog.Prelude.CanonicalOf, Textual: func(n *types.Named) *types.Named { return s.prog.Prelude.Textual(n, s.prog) },
		PlacedIn: func(*types.Func) string { return "" },
	})
	return s
}

// cell declares what a cell does.
func (s *session) cell(text string) {
	s.Helper()
	s.n++
	src, err := check.ParseCell(s.fset, s.n, "", text)
	if err != nil {
		s.Fatal(err)
	}
	c, err := s.prog.Check(s.fset, src)
	if err != nil {
		s.Fatal(err)
	}
	s.made.Adopt(c)
	s.prog = c.Next
}

// named returns the type that cells have declared by a name.
func (s *session) named(name string) (*types.Named, reflect.Type) {
	s.Helper()
	n := s.prog.Names[name].Object.Type().(*types.Named)
	r, err := s.made.TypeOf(n)
	if err != nil {
		s.Fatal(err)
	}
	return n, r
}

// Types of cells are types of the run time: named, with fields and tags, comparable,
// recursive, and different from others of the same shape.
func TestTypes(t *testing.T) {
	s := newSession(t)
	s.cell("type Int int\ntype Node struct {\n\tNext *Node `json:\"next\"`\n\tkids map[Int][]Node\n}\ntype Other struct {\n\tNext *Node `json:\"next\"`\n\tkids map[Int][]Node\n}\ntype Pair[K comparable, V any] struct { Key K; Value V }\nvar p Pair[Int, string]")
	_, i := s.named("Int")
	if i.String() != "main.Int" || i.Kind() != reflect.Int || i == reflect.TypeFor[int]() || fmt.Sprintf("%T", reflect.New(i).Elem().Interface()) != "main.Int" {
		t.Error(i)
	}
	_, node := s.named("Node")
	if node.NumField() != 2 || node.Field(0).Type != reflect.PointerTo(node) || node.Field(0).Tag.Get("json") != "next" || node.Field(1).Type.Elem().Elem() != node || node.Field(1).IsExported() {
		t.Error(node)
	}
	if _, other := s.named("Other"); other == node || other.Size() != node.Size() {
		t.Error("types of the same shape are one")
	}
	pair, err := s.made.TypeOf(s.prog.Names["p"].Object.Type())
	if err != nil || pair.String() != "main.Pair[main.Int,string]" {
		t.Error(pair, err)
	}
	if again, err := s.made.TypeOf(s.prog.Names["p"].Object.Type()); again != pair || err != nil {
		t.Error("an instance is made twice")
	}
}

// Libraries call methods by the function that Bind has set, by value and by pointer, and
// those that an embedded field promotes.
func TestMethods(t *testing.T) {
	s := newSession(t)
	s.cell("type T struct{ n int }\nfunc (t T) String() string { return \"\" }\nfunc (t *T) Error() string { return \"\" }\ntype Outer struct {\n\tX int\n\t*T\n}")
	n, r := s.named("T")
	field := func(v reflect.Value) int64 { return v.FieldByName("n").Int() }
	text := func(f func(v reflect.Value) string) func([]reflect.Value) []reflect.Value {
		return func(args []reflect.Value) []reflect.Value { return []reflect.Value{reflect.ValueOf(f(args[0]))} }
	}
	result := []reflect.Type{reflect.TypeFor[string]()}
	s.made.Bind(n, "String", reflect.MakeFunc(reflect.FuncOf([]reflect.Type{r}, result, false), text(func(v reflect.Value) string { return fmt.Sprint("T", field(v)) })))
	s.made.Bind(n, "Error", reflect.MakeFunc(reflect.FuncOf([]reflect.Type{reflect.PointerTo(r)}, result, false), text(func(v reflect.Value) string { return fmt.Sprint("error ", field(v.Elem())) })))
	p := reflect.New(r)
	*(*int)(p.UnsafePointer()) = 3
	if got := p.Elem().Interface().(fmt.Stringer).String(); got != "T3" {
		t.Error(got)
	}
	if got := p.Interface().(error).Error(); got != "error 3" {
		t.Error(got)
	}
	if _, ok := p.Elem().Interface().(error); ok {
		t.Error("a value has the methods of its pointer")
	}
	_, outer := s.named("Outer")
	o := reflect.New(outer).Elem()
	o.FieldByName("T").Set(p)
	if got := o.Interface().(fmt.Stringer).String(); got != "T3" {
		t.Error(got)
	}
	func() {
		defer func() {
			if got := fmt.Sprint(recover()); got != "runtime error: invalid memory address or nil pointer dereference" {
				t.Errorf("a method of a nil pointer that is embedded: %s", got)
			}
		}()
		_ = reflect.New(outer).Elem().Interface().(fmt.Stringer).String()
	}()
}

// A declaration that is run again without a change keeps its type, one that has changed
// makes another, and what a cell that fails has made is gone.
func TestIdentity(t *testing.T) {
	s := newSession(t)
	s.cell("type A struct{ X int }\ntype B struct{ A A }")
	_, a := s.named("A")
	_, b := s.named("B")
	s.cell("type A struct{ X int }")
	if _, again := s.named("A"); again != a {
		t.Error("the same declaration makes another type")
	}
	s.cell("type A struct{ X, Y int }")
	if _, other := s.named("A"); other == a || other.NumField() != 2 {
		t.Error("a changed declaration keeps its type")
	}
	if b.Field(0).Type != a {
		t.Error("a type that was made has changed")
	}
	undo := s.made.Snapshot()
	s.cell("type C struct{ X int }")
	_, c := s.named("C")
	undo()
	if _, again := s.named("C"); again == c {
		t.Error("what was undone is there")
	}
}

// So do instances of generic types, and what is made of types that are the same.
func TestIdentityOfInstances(t *testing.T) {
	const (
		box  = "type Box[T any] struct{ x T }\nfunc (b Box[T]) Get() T { return b.x }"
		key  = "type Key int"
		uses = "type Uses struct{ a Box[Key]; b Box[map[Key]Box[int]]; c struct{ Box[string] }; d []interface{ M(Key) Box[Key] } }"
	)
	for name, c := range map[string]struct {
		again []string
		same  bool
	}{
		"the generic type":         {[]string{box}, true},
		"its argument":             {[]string{key}, true},
		"what uses it":             {[]string{uses}, true},
		"each, one by one":         {[]string{key, box, uses, box, key}, true},
		"in one cell":              {[]string{uses + "\n" + key + "\n" + box}, true},
		"another argument":         {[]string{"type Key string"}, false},
		"another field":            {[]string{strings.Replace(box, "x T", "x T; y int", 1)}, false},
		"another method":           {[]string{box + "\nfunc (b Box[T]) Put(x T) {}"}, false},
		"another and the same one": {[]string{"type Key string", key}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.cell(box + "\n" + key + "\n" + uses)
			_, first := s.named("Uses")
			for _, text := range c.again {
				s.cell(text)
				if _, now := s.named("Uses"); c.same && now != first {
					t.Fatalf("another type after\n%s", text)
				}
			}
			if _, now := s.named("Uses"); !c.same && now == first {
				t.Error("the same type")
			}
		})
	}
	s := newSession(t)
	s.cell(box + "\n" + key + "\n" + uses)
	_, first := s.named("Uses")
	undo := s.made.Snapshot()
	before := s.prog
	s.cell(box)
	undo()
	s.prog = before
	if _, now := s.named("Uses"); now != first {
		t.Error("another type after a cell that was undone")
	}
	s.cell(box)
	if _, now := s.named("Uses"); now != first {
		t.Error("another type after a cell that was undone, and run again")
	}
}
