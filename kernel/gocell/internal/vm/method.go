package vm

import (
	"reflect"
	"sync/atomic"

	"dace.local/kernel/gocell/rtype"
)

// A Function is a method that a cell declares; the function is there once its
// cell runs.
type Function struct {
	Name string       // in messages
	fn   atomic.Value // reflect.Value
}

// Bind gives the method its function.
func (f *Function) Bind(fn any) { f.fn.Store(reflect.ValueOf(fn)) }

// Value returns the function, and whether it is there.
func (f *Function) Value() (reflect.Value, bool) {
	fn, ok := f.fn.Load().(reflect.Value)
	return fn, ok
}

// A Method is a method that a cell has declared, as a type has it: on itself, or
// on the embedded field that Path leads to.
type Method struct {
	*Function
	Path      []int
	ByPointer bool // it is declared on a pointer
}

type methodKey struct {
	typ  reflect.Type
	name string
}

// Declare makes a method of a type known to calls by an interface, which go to
// its function directly.
func (m *Machine) Declare(t reflect.Type, name string, x *Method) {
	m.methods.Store(methodKey{t, name}, x)
}

// FieldIn returns the embedded field that a path leads to, and false where there
// is a nil pointer on the way.
func FieldIn(v reflect.Value, path []int) (reflect.Value, bool) {
	for _, i := range path {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if !v.IsValid() {
			return v, false
		}
		v = rtype.Open(v.Field(i))
	}
	return v, true
}

// ReceiverIn returns the receiver of a method that is declared on what a path
// leads to, or on a pointer to it.
func ReceiverIn(v reflect.Value, path []int, byPointer bool) (reflect.Value, bool) {
	v, ok := FieldIn(v, path)
	if !ok {
		return v, false
	}
	switch isPointer := v.Kind() == reflect.Pointer; {
	case byPointer && !isPointer:
		return v.Addr(), true
	case !byPointer && isPointer:
		return v.Elem(), !v.IsNil()
	}
	return v, true
}
