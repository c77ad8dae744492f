package mirror

import (
	"reflect"
	"sync/atomic"

	"dace.local/kernel/gocell/rtype"
)

// A boundMethod is a method that a cell declares; its function is there once the cell
// runs.
type boundMethod struct {
	Name string       // in messages
	fn   atomic.Value // reflect.Value, which is zero once the session has ended
}

// Value returns the function, and whether it is there.
func (f *boundMethod) Value() (reflect.Value, bool) {
	fn, _ := f.fn.Load().(reflect.Value)
	return fn, fn.IsValid()
}

// A placer finds methods of libraries' types as cells have them, see [Hooks].Placed.
type placer struct {
	find atomic.Pointer[func(x any, method string) any] // nil where there is none, or once the session has ended
}

// method returns the method f of what a path leads to, as cells have it: of the first
// value on the path that has another one in cells.
func (p *placer) method(v reflect.Value, path []int, name string, f reflect.Value) reflect.Value {
	find := p.find.Load()
	for i := range path {
		x, ok := fieldIn(v, path[:i+1])
		if ok && x.Kind() == reflect.Struct && x.CanAddr() {
			x = x.Addr()
		}
		if !ok || !x.CanInterface() || find == nil {
			return f
		}
		if y := (*find)(x.Interface(), name); y != nil && reflect.TypeOf(y) != x.Type() {
			if g := reflect.ValueOf(y).MethodByName(name); g.IsValid() {
				return g
			}
		}
	}
	return f
}

// fieldIn returns the embedded field that a path leads to, and false where there
// is a nil pointer on the way.
func fieldIn(v reflect.Value, path []int) (reflect.Value, bool) {
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

// receiverIn returns the receiver of a method that is declared on what a path
// leads to, or on a pointer to it.
func receiverIn(v reflect.Value, path []int, byPointer bool) (reflect.Value, bool) {
	v, ok := fieldIn(v, path)
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
