package rtype

import (
	"reflect"
	"unsafe"
)

// value is reflect.Value.
type value struct {
	typ, ptr unsafe.Pointer
	flag     uintptr
}

// closed are the bits of a value that came by a field that is not exported.
var closed = func() (bits uintptr) {
	flag := func(v reflect.Value) uintptr { return (*value)(unsafe.Pointer(&v)).flag }
	if f, _ := reflect.TypeFor[reflect.Value]().FieldByName("flag"); f.Offset != unsafe.Offsetof(value{}.flag) || f.Type.Size() != unsafe.Sizeof(uintptr(0)) {
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
	(*value)(unsafe.Pointer(&v)).flag &^= closed
	return v
}
