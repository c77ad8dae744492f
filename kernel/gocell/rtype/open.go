package rtype

import (
	"fmt"
	"reflect"
	"unsafe"

	"dace.local/kernel/buildinfo"
)

// Raw is the memory layout of a reflect.Value.
type Raw struct {
	Type, Pointer unsafe.Pointer
	Flag          uintptr
}

// RawOf returns the parts of v as a pointer into v itself.
func RawOf(v *reflect.Value) *Raw { return (*Raw)(unsafe.Pointer(v)) }

// closed holds the flag bits of a reflect.Value that was obtained from a field
// that is not exported.
var closed = func() (bits uintptr) {
	flag := func(v reflect.Value) uintptr { return RawOf(&v).Flag }
	struc := reflect.New(reflect.TypeFor[arrayType]()).Elem() // embeds header
	head := reflect.New(reflect.TypeFor[header]()).Elem()
	word := reflect.New(reflect.TypeFor[uintptr]()).Elem()
	return flag(struc.Field(0))&^flag(head) | flag(head.Field(0))&^flag(word)
}()

// UnsafePointer is the type unsafe.Pointer.
var UnsafePointer = reflect.TypeFor[unsafe.Pointer]()

// Hidden returns a function that gives full access to an unexported field of an
// addressable struct value of the standard library. It refuses a Go where the type
// has no field of that name, or package reflect writes the field's type differently
// from typ: call it at the start of the process.
func Hidden(of reflect.Type, name, typ string) func(v reflect.Value) reflect.Value {
	f, ok := of.FieldByName(name)
	if !ok || f.Type.String() != typ {
		buildinfo.Refuse(fmt.Errorf("%s has no field %s of type %s", of, name, typ))
	}
	return func(v reflect.Value) reflect.Value { return Open(v.FieldByIndex(f.Index)) }
}

// Open returns a value that was obtained from an unexported field as if the
// field were exported: the value can be set and passed on.
func Open(v reflect.Value) reflect.Value {
	RawOf(&v).Flag &^= closed
	return v
}
