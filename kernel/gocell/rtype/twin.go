package rtype

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// twins knows where the types made here have the types of their methods, and
// which of those a plugin brought another descriptor of.
var twins = struct {
	sync.Mutex
	places map[reflect.Type][]*int32
	of     map[reflect.Type]reflect.Type
}{places: map[reflect.Type][]*int32{}, of: map[reflect.Type]reflect.Type{}}

// methodType writes the type of a method to its place.
func methodType(place *int32, t reflect.Type) {
	twins.Lock()
	defer twins.Unlock()
	if other, ok := twins.of[t]; ok {
		t = other
	}
	*place = addReflectOff(unsafe.Pointer(descriptor(t)))
	twins.places[t] = append(twins.places[t], place)
}

// Meet tells of a function type that a plugin has brought. Where package reflect
// made the same type before, there are two descriptors of it, and a type with a
// method of the one does not implement an interface with a method of the other:
// the types made here take the plugin's.
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

// Same reports whether two types are one to the language, though they may have
// two descriptors.
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
