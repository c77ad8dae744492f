package rtype

import (
	"errors"
	"reflect"
	"unsafe"
)

// itab is internal/abi.ITab, with as many functions as the interface has methods.
type itab struct {
	inter, typ unsafe.Pointer
	hash       uint32
	fun        [1]unsafe.Pointer
}

// CallHidden calls the method with index i of the type of v, an interface value that is
// not nil. Package reflect refuses to call methods that are not exported.
func CallHidden(v reflect.Value, i int, args []reflect.Value) []reflect.Value {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	words := (*[2]unsafe.Pointer)(p.UnsafePointer())
	tab := (*itab)(words[0])
	code := *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(&tab.fun), uintptr(i)*unsafe.Sizeof(tab.fun[0])))
	t := v.Type().Method(i).Type
	in := []reflect.Type{reflect.TypeFor[unsafe.Pointer]()}
	for p := range t.Ins() {
		in = append(in, p)
	}
	var out []reflect.Type
	for r := range t.Outs() {
		out = append(out, r)
	}
	closure := unsafe.Pointer(&code) // a func value points to its code's address
	f := reflect.NewAt(reflect.FuncOf(in, out, t.IsVariadic()), unsafe.Pointer(&closure)).Elem()
	args = append([]reflect.Value{reflect.ValueOf(words[1])}, args...)
	if t.IsVariadic() {
		return f.CallSlice(args)
	}
	return f.Call(args)
}

// A hider has a method of each kind, for checkHidden.
type hider interface {
	Shown(n int) int
	hidden(n int, more ...string) int
}

type hides struct{ n int }

func (h *hides) Shown(n int) int                  { return h.n - n }
func (h *hides) hidden(n int, more ...string) int { return h.n + n + len(more) }

// checkHidden makes a type with a method of this package that is not exported, as cells
// do, and calls it.
func checkHidden() error {
	inter := reflect.TypeFor[hider]()
	var methods []Method
	for i := range inter.NumMethod() {
		m := inter.Method(i)
		methods = append(methods, Method{Name: m.Name, Hidden: m.PkgPath != "", PkgPath: m.PkgPath, Type: m.Type,
			Call: func(v reflect.Value, args []reflect.Value) []reflect.Value {
				return CallHidden(Open(v.Field(0)), i, args)
			}})
	}
	n := Declare("check", "check", "H", reflect.Struct, len(methods), len(methods), 0)
	under := reflect.TypeFor[struct{ hider }]()
	n.Layout(under)
	n.Define(under)
	if err := n.SetMethods(methods, nil); err != nil {
		return err
	}
	v := reflect.New(n.Type()).Elem()
	Open(v.Field(0)).Set(reflect.ValueOf(&hides{40}))
	h, ok := v.Interface().(hider)
	if !ok || h.Shown(1) != 39 || h.hidden(1, "a") != 42 {
		return errors.New("a type has not the method of another package that it was given")
	}
	return nil
}
