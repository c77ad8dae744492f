package rtype

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

func stringMethod(f func(v reflect.Value) string) Method {
	return Method{Name: "String", Type: reflect.TypeFor[func() string](), Call: func(v reflect.Value, _ []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(f(v))}
	}}
}

func named(t testing.TB, name string, under reflect.Type, value, pointer []Method) reflect.Type {
	t.Helper()
	params := 0
	if under.Kind() == reflect.Func {
		params = under.NumIn() + under.NumOut()
	}
	n := Declare("main", "main", name, under.Kind(), len(value), len(value)+len(pointer), params)
	n.Layout(under)
	n.Define(under)
	if err := n.SetMethods(value, pointer); err != nil {
		t.Fatal(err)
	}
	return n.Type()
}

func TestNamed(t *testing.T) {
	for _, x := range []any{3, "x", 2.5, []int{1, 2}, map[string]int{"a": 1}, [3]int{1, 2, 3}, struct{ X int }{4}, new(int),
		make(chan int), true, complex(1, 2), func(int) string { return "called" }, struct{}{}, struct{ P *int }{new(int)}} {
		under := reflect.TypeOf(x)
		a := named(t, "A", under, []Method{stringMethod(func(v reflect.Value) string {
			return "<" + v.Kind().String() + ">"
		})}, nil)
		b := named(t, "B", under, nil, nil)
		runtime.GC()
		if a == b || a == under || a.String() != "main.A" || a.Name() != "A" || a.PkgPath() != "main" || a.Kind() != under.Kind() {
			t.Errorf("%v: %v, %v", under, a, b)
		}
		if !under.AssignableTo(a) && under.Name() == "" || !a.ConvertibleTo(b) || a.AssignableTo(b) {
			t.Errorf("%v: assignability", under)
		}
		v := reflect.ValueOf(x).Convert(a)
		if s, ok := v.Interface().(fmt.Stringer); !ok || s.String() != "<"+under.Kind().String()+">" {
			t.Errorf("%v: Stringer: %v", under, v)
		}
		p := reflect.New(a)
		p.Elem().Set(v)
		if s, ok := p.Interface().(fmt.Stringer); !ok || s.String() != "<"+under.Kind().String()+">" {
			t.Errorf("%v: Stringer of a pointer", under)
		}
		if got := fmt.Sprintf("%T %v %T", v.Interface(), v.Interface(), p.Interface()); got != "main.A <"+under.Kind().String()+"> *main.A" {
			t.Errorf("%v: %s", under, got)
		}
		if _, ok := reflect.ValueOf(x).Convert(b).Interface().(fmt.Stringer); ok {
			t.Errorf("%v: B has a String method", under)
		}
		if under.Comparable() && under.Kind() != reflect.Func {
			m := map[any]int{v.Interface(): 1, x: 2, reflect.ValueOf(x).Convert(b).Interface(): 3}
			if len(m) != 3 || m[reflect.ValueOf(x).Convert(a).Interface()] != 1 {
				t.Errorf("%v as a map key: %v", under, m)
			}
		}
		if under.Kind() == reflect.Func {
			if got := v.Call([]reflect.Value{reflect.ValueOf(1)})[0].String(); got != "called" {
				t.Errorf("call: %q", got)
			}
		}
	}
}

func TestNilReceiver(t *testing.T) {
	a := named(t, "A", reflect.TypeFor[struct{ X int }](), []Method{stringMethod(func(v reflect.Value) string { return "x" })}, nil)
	defer func() {
		err, ok := recover().(runtime.Error)
		if want := "value method main.A.String called using nil *A pointer"; !ok || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}()
	_ = reflect.Zero(reflect.PointerTo(a)).Interface().(fmt.Stringer).String()
}

// TestMethodFunc calls methods as functions that take the receiver first.
func TestMethodFunc(t *testing.T) {
	type wide struct {
		A, B, C int
		S       string
	}
	add := Method{Name: "Add", Type: reflect.TypeFor[func(f float64, rest ...int) (string, error)](), Call: func(v reflect.Value, args []reflect.Value) []reflect.Value {
		s := fmt.Sprint(v.Interface(), args[0], args[1])
		return []reflect.Value{reflect.ValueOf(s), reflect.Zero(reflect.TypeFor[error]())}
	}}
	for _, x := range []any{1, "s", 2.5, wide{1, 2, 3, "w"}, [5]int{4: 1}, []int{1}, map[int]int{1: 2}, new(int) == nil, struct{}{}, [1]string{"one"}} {
		a := named(t, "A", reflect.TypeOf(x), []Method{add}, nil)
		v := reflect.ValueOf(x).Convert(a)
		p := reflect.New(a)
		p.Elem().Set(v)
		want := fmt.Sprint(x, 1.5, []int{7, 8})
		for _, recv := range []reflect.Value{v, p} {
			m, ok := recv.Type().MethodByName("Add")
			if !ok || m.Type.NumIn() != 3 || m.Type.In(0) != recv.Type() {
				t.Fatalf("%v: %v", recv.Type(), m)
			}
			runtime.GC()
			got := m.Func.Call([]reflect.Value{recv, reflect.ValueOf(1.5), reflect.ValueOf(7), reflect.ValueOf(8)})
			if got[0].String() != want || !got[1].IsNil() {
				t.Errorf("%v: %v, want %s", recv.Type(), got[0], want)
			}
		}
	}
}

// TestRecursive makes a tree type whose children are a map of itself, and
// methods with many arguments.
func TestRecursive(t *testing.T) {
	n := Declare("main", "main", "Tree", reflect.Struct, 0, 1, 0)
	shape := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[string]()}, {Name: "B", Type: reflect.TypeFor[map[string]int]()}, {Name: "C", Type: reflect.TypeFor[*int]()}})
	n.Layout(shape)
	s := Struct("struct { name string; kids map[string]main.Tree; next *main.Tree }", "main", []Field{
		{Name: "name", Type: reflect.TypeFor[string]()},
		{Name: "kids", Type: reflect.MapOf(reflect.TypeFor[string](), n.Type())},
		{Name: "next", Type: reflect.PointerTo(n.Type())}})
	sum := Method{Name: "Sum", Type: reflect.TypeFor[func(a int, f float64, s string, b [3]int, rest ...int) (float64, error)](),
		Call: func(v reflect.Value, args []reflect.Value) []reflect.Value {
			x := float64(v.Elem().Field(1).Len()) + float64(args[0].Int()) + args[1].Float() + float64(args[2].Len()) + float64(args[3].Index(2).Int())
			for i := range args[4].Len() {
				x += float64(args[4].Index(i).Int())
			}
			return []reflect.Value{reflect.ValueOf(x), reflect.Zero(reflect.TypeFor[error]())}
		}}
	n.Define(s)
	if err := n.SetMethods(nil, []Method{sum}); err != nil {
		t.Fatal(err)
	}
	tree := reflect.New(n.Type())
	kids := reflect.MakeMap(tree.Elem().Field(1).Type())
	for i := range 1000 {
		kid := reflect.New(n.Type()).Elem()
		Open(kid.Field(0)).SetString(strings.Repeat("x", i))
		kids.SetMapIndex(reflect.ValueOf(fmt.Sprint(i)), kid)
	}
	Open(tree.Elem().FieldByName("kids")).Set(kids)
	Open(tree.Elem().FieldByName("next")).Set(tree)
	runtime.GC()
	for i := range 1000 {
		if got := kids.MapIndex(reflect.ValueOf(fmt.Sprint(i))).Field(0).Len(); got != i {
			t.Fatalf("kid %d: %d", i, got)
		}
	}
	type summer interface {
		Sum(a int, f float64, s string, b [3]int, rest ...int) (float64, error)
	}
	if x, err := tree.Interface().(summer).Sum(1, 0.5, "abc", [3]int{0, 0, 7}, 1, 2, 3); x != 1000+1+.5+3+7+6 || err != nil {
		t.Error(x, err)
	}
	if f := n.Type().Field(0); f.Name != "name" || f.PkgPath != "main" || tree.Elem().Field(0).CanSet() {
		t.Error("fields")
	}
}

func TestInterface(t *testing.T) {
	area := reflect.TypeFor[func() float64]()
	i := Interface("main.Shape", "main", []Method{{Name: "perimeter", Type: area}, {Name: "Area", Type: area}})
	method := func(name string) Method {
		return Method{Name: name, Type: area, Call: func(v reflect.Value, _ []reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(v.Float() * 2)}
		}}
	}
	sq := named(t, "Sq", reflect.TypeFor[float64](), []Method{method("Area"), method("perimeter")}, nil)
	half := named(t, "Half", reflect.TypeFor[float64](), []Method{method("Area")}, nil)
	if !sq.Implements(i) || half.Implements(i) || !reflect.PointerTo(sq).Implements(i) || i.NumMethod() != 2 {
		t.Error("Implements")
	}
	v := reflect.New(i).Elem()
	v.Set(reflect.ValueOf(2.5).Convert(sq))
	if got := v.MethodByName("perimeter").Call(nil)[0].Float(); got != 5 {
		t.Error(got)
	}
	if v.Elem().Type() != sq {
		t.Error(v.Elem().Type())
	}
}

// TestCompiled checks that compiled code that looks for methods finds them.
func TestCompiled(t *testing.T) {
	e := named(t, "E", reflect.TypeFor[struct{ Code int }](), nil, []Method{{Name: "Error", Type: reflect.TypeFor[func() string](), Call: func(v reflect.Value, _ []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(fmt.Sprint("code ", v.Elem().Field(0).Int()))}
	}}})
	p := reflect.New(e)
	p.Elem().Field(0).SetInt(7)
	err := fmt.Errorf("wrapped: %w", p.Interface().(error))
	target := reflect.New(p.Type())
	if !errors.As(err, target.Interface()) || target.Elem().Pointer() != p.Pointer() || err.Error() != "wrapped: code 7" {
		t.Error(err)
	}
	j := named(t, "J", reflect.TypeFor[int](), []Method{{Name: "MarshalJSON", Type: reflect.TypeFor[func() ([]byte, error)](), Call: func(v reflect.Value, _ []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf([]byte(fmt.Sprintf(`"j%d"`, v.Int()))), reflect.Zero(reflect.TypeFor[error]())}
	}}}, nil)
	list := reflect.MakeSlice(reflect.SliceOf(j), 2, 2)
	list.Index(1).SetInt(3)
	b, jerr := json.Marshal(map[string]any{"list": list.Interface()})
	if string(b) != `{"list":["j0","j3"]}` || jerr != nil {
		t.Error(string(b), jerr)
	}
}

func TestEmbedded(t *testing.T) {
	inner := Struct("struct { x int }", "main", []Field{{Name: "x", Type: reflect.TypeFor[int]()}})
	in := named(t, "Inner", inner, nil, nil)
	out := Struct("struct { main.Inner; y int }", "main", []Field{{Name: "Inner", Type: in, Embedded: true}, {Name: "y", Type: reflect.TypeFor[int]()}})
	o := named(t, "Outer", out, nil, nil)
	f, ok := o.FieldByName("x")
	if !ok || len(f.Index) != 2 {
		t.Error(f, ok)
	}
	v := reflect.New(o).Elem()
	Open(v.FieldByName("x")).SetInt(4)
	Open(v.FieldByName("y")).SetInt(5)
	if got := fmt.Sprintf("%+v %#v", v.Interface(), v.Interface()); got != "{Inner:{x:4} y:5} main.Outer{Inner:main.Inner{x:4}, y:5}" {
		t.Error(got)
	}
	if b, err := json.Marshal(v.Interface()); err != nil || string(b) != `{}` {
		t.Error(string(b), err)
	}
}

// TestLaidOut checks that types that are laid out but not defined yet have
// their pointers where the garbage collector looks for them.
func TestLaidOut(t *testing.T) {
	n := Declare("main", "main", "Pair", reflect.Struct, 0, 0, 0)
	shape := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[int]()}, {Name: "B", Type: reflect.TypeFor[string]()}})
	n.Layout(shape)
	group := reflect.MapOf(reflect.TypeFor[int](), n.Type())
	out := Struct("struct { p main.Pair; q int }", "main", []Field{{Name: "p", Type: n.Type()}, {Name: "q", Type: reflect.TypeFor[int]()}})
	n.Define(Struct("struct { a int; b string }", "main", []Field{{Name: "a", Type: reflect.TypeFor[int]()}, {Name: "b", Type: reflect.TypeFor[string]()}}))
	if err := n.SetMethods(nil, nil); err != nil {
		t.Fatal(err)
	}
	list := reflect.MakeSlice(reflect.SliceOf(out), 2000, 2000)
	m := reflect.MakeMap(group)
	for i := range 2000 {
		Open(list.Index(i).Field(0).Field(1)).SetString(fmt.Sprintf("text %d", i))
		m.SetMapIndex(reflect.ValueOf(i), Open(list.Index(i).Field(0)))
	}
	runtime.GC()
	var junk [][]byte
	for i := range 5000 {
		junk = append(junk, []byte(fmt.Sprintf("junk %d", i)))
	}
	runtime.KeepAlive(junk)
	for i := range 2000 {
		want := fmt.Sprintf("text %d", i)
		if got := list.Index(i).Field(0).Field(1).String(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if got := m.MapIndex(reflect.ValueOf(i)).Field(1).String(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// Each stub calls its closure.
func TestStubs(t *testing.T) {
	before := closures
	t.Cleanup(func() { closures = before })
	for i := range maxStubs {
		f := func() int { return i }
		closures[i] = *(*unsafe.Pointer)(unsafe.Pointer(&f))
	}
	for i := range maxStubs {
		code := address(i)
		f := &code // a function is a pointer to the address of its code
		if got := (*(*func() int)(unsafe.Pointer(&f)))(); got != i {
			t.Fatalf("stub %d calls closure %d", i, got)
		}
	}
	if f := runtime.FuncForPC(uintptr(address(maxStubs)) + 16); f != nil && strings.HasSuffix(f.Name(), "stubs") {
		t.Error("the code is longer than the stubs")
	}
}

func BenchmarkCall(b *testing.B) {
	a := named(b, "A", reflect.TypeFor[int](), []Method{{Name: "Less", Type: reflect.TypeFor[func(i, j int) bool](), Call: func(v reflect.Value, args []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(args[0].Int() < args[1].Int())}
	}}}, nil)
	type lesser interface{ Less(i, j int) bool }
	x := reflect.ValueOf(3).Convert(a).Interface().(lesser)
	b.ReportAllocs()
	for b.Loop() {
		x.Less(1, 2)
	}
}

type renamed struct {
	Xa int `json:"b"`
	Xb string
	C  any
}

// TestRename renames the fields of a type of this test program, and renames
// them back.
func TestRename(t *testing.T) {
	rt := reflect.TypeFor[renamed]()
	for _, c := range []struct{ from, to, want string }{
		{"X", "", "{a:1 b:x C:<nil>}"},
		{"", "X", "{Xa:1 Xb:x XC:<nil>}"},
	} {
		err := Rename(rt, "main", func(name string) string {
			if rest, ok := strings.CutPrefix(name, c.from); ok {
				return c.to + rest
			}
			return name
		})
		x := renamed{Xa: 1, Xb: "x"}
		if got := fmt.Sprintf("%+v", x); got != c.want || err != nil {
			t.Errorf("shows %s, %v, want %s", got, err, c.want)
		}
		f, ok := rt.FieldByName(c.to + "a")
		if !ok || f.IsExported() != (c.to != "") || f.Tag != `json:"b"` {
			t.Errorf("field %sa: %v, %v", c.to, f, ok)
		}
		v := reflect.New(rt).Elem()
		Open(v.FieldByIndex(f.Index)).SetInt(7)
		if v.Interface().(renamed).Xa != 7 {
			t.Error("the field is not set")
		}
	}
	if err := Rename(reflect.TypeFor[int](), "main", nil); err != nil {
		t.Error(err)
	}
}
