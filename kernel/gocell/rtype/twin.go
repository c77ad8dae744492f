package rtype

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// twins records where the descriptors made here refer to the types of their
// methods, and which of those types have a second descriptor from a plugin. It
// grows with the types that cells declare, which live as long as the process.
var twins = struct {
	sync.Mutex                               // guards places and of
	places     map[reflect.Type][]*int32     // type of a method -> the offsets that refer to it
	of         map[reflect.Type]reflect.Type // type -> its twin from a plugin
}{places: map[reflect.Type][]*int32{}, of: map[reflect.Type]reflect.Type{}}

// methodType stores the offset of a method's type at place.
func methodType(place *int32, t reflect.Type) {
	twins.Lock()
	defer twins.Unlock()
	if other, ok := twins.of[t]; ok {
		t = other
	}
	*place = addReflectOff(unsafe.Pointer(descriptor(t)))
	twins.places[t] = append(twins.places[t], place)
}

// Meet registers the descriptor of a function type that a plugin has brought.
// If package reflect made the same type before, the type has two descriptors,
// and a type whose method has one of them does not implement an interface whose
// method has the other. So the types made here switch to the plugin's
// descriptor.
func Meet(t reflect.Type) {
	twins.Lock()
	defer twins.Unlock()
	for old, places := range twins.places {
		if old == t || !Same(old, t) {
			continue
		}
		off := addReflectOff(unsafe.Pointer(descriptor(t)))
		for _, p := range places {
			atomic.StoreInt32(p, off)
		}
		twins.places[t] = append(twins.places[t], places...)
		delete(twins.places, old)
		for a, b := range twins.of {
			if b == old {
				twins.of[a] = t
			}
		}
		twins.of[old] = t
		delete(twins.of, t)
	}
}

// Same reports whether two types are identical to the language, although they
// may have two descriptors.
func Same(a, b reflect.Type) bool {
	if a == b {
		return true
	}
	if a.Kind() != b.Kind() || a.Name() != "" || b.Name() != "" || a.String() != b.String() {
		return false
	}
	switch a.Kind() {
	case reflect.Array:
		return a.Len() == b.Len() && Same(a.Elem(), b.Elem())
	case reflect.Chan:
		return a.ChanDir() == b.ChanDir() && Same(a.Elem(), b.Elem())
	case reflect.Pointer, reflect.Slice:
		return Same(a.Elem(), b.Elem())
	case reflect.Map:
		return Same(a.Key(), b.Key()) && Same(a.Elem(), b.Elem())
	case reflect.Func:
		if a.NumIn() != b.NumIn() || a.NumOut() != b.NumOut() || a.IsVariadic() != b.IsVariadic() {
			return false
		}
		for i := range a.NumIn() {
			if !Same(a.In(i), b.In(i)) {
				return false
			}
		}
		for i := range a.NumOut() {
			if !Same(a.Out(i), b.Out(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return false
		}
		for i := range a.NumField() {
			f, g := a.Field(i), b.Field(i)
			if f.Name != g.Name || f.PkgPath != g.PkgPath || f.Tag != g.Tag || f.Anonymous != g.Anonymous || !Same(f.Type, g.Type) {
				return false
			}
		}
		return true
	case reflect.Interface:
		if a.NumMethod() != b.NumMethod() {
			return false
		}
		for i := range a.NumMethod() {
			if a.Method(i).Name != b.Method(i).Name || !Same(a.Method(i).Type, b.Method(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}
