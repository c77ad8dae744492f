package vm

import (
	"reflect"
	"unsafe"
)

// Elements returns the elements of a slice whose element type has E's layout.
func Elements[E any](v reflect.Value) []E {
	return unsafe.Slice((*E)(v.UnsafePointer()), v.Len())
}
