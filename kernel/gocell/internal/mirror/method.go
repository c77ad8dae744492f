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
	fn   atomic.Value // reflect.Value
}

// Value returns the function, and whether it is there.
func (f *boundMethod) Value() (reflect.Value, bool) {
	fn, ok := f.fn.Load().(reflect.Value)
	return fn, ok
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
