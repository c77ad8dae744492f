package rtype

import (
	"reflect"
	"unsafe"
)

// Raw is what a reflect.Value is made of.
type Raw struct {
	Type, Pointer unsafe.Pointer
	Flag          uintptr
}

// RawOf returns what v is made of, in place.
func RawOf(v *reflect.Value) *Raw { return (*Raw)(unsafe.Pointer(v)) }

// closed are the bits of a value that came by a field that is not exported.
var closed = func() (bits uintptr) {
	flag := func(v reflect.Value) uintptr { return RawOf(&v).Flag }
	if f, _ := reflect.TypeFor[reflect.Value]().FieldByName("flag"); f.Offset != unsafe.Offsetof(Raw{}.Flag) || f.Type.Size() != unsafe.Sizeof(uintptr(0)) {
		panic("rtype: reflect.Value has another layout")
	}
	struc := reflect.New(reflect.TypeFor[arrayType]()).Elem() // embeds header
	head := reflect.New(reflect.TypeFor[header]()).Elem()
	word := reflect.New(reflect.TypeFor[uintptr]()).Elem()
	return flag(struc.Field(0))&^flag(head) | flag(head.Field(0))&^flag(word)
}()

// Open returns a value that came by a field which is not exported as if it were:
// it can be set and handed on.
func Open(v reflect.Value) reflect.Value {
	RawOf(&v).Flag &^= closed
	return v
}
