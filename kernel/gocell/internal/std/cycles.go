package std

import (
	"encoding"
	"encoding/gob"
	"encoding/xml"
	"errors"
	"reflect"
	"sync"

	"dace.local/kernel/gocell/internal/vm"
)

// For a value that contains itself, packages gob and xml recurse until the stack
// is used up, which ends the process. Here they return an error.

// errCyclic is the error of encoding a value that contains itself.
var errCyclic = errors.New("the value contains itself: it cannot be encoded")

// overrideEncoders replaces the functions of a package that encode values.
func overrideEncoders(ipath string, set func(name string, f any)) {
	if ipath != "encoding/xml" {
		return
	}
	set("Marshal", func(v any) ([]byte, error) {
		return encoded(v, func() ([]byte, error) { return xml.Marshal(v) })
	})
	set("MarshalIndent", func(v any, prefix, indent string) ([]byte, error) {
		return encoded(v, func() ([]byte, error) { return xml.MarshalIndent(v, prefix, indent) })
	})
}

// encoded returns what encode does, called while no goroutine of a cell writes to
// the maps of v, or an error if v contains itself.
func encoded(v any, encode func() ([]byte, error)) (b []byte, err error) {
	vm.WithMaps(false, func() {
		switch {
		case tooDeep(v):
			err = errDeep
		case cyclic(reflect.ValueOf(v)):
			err = errCyclic
		default:
			b, err = encode()
		}
	}, v)
	return b, err
}

// encodes is encoded for an encoder that writes to a stream.
func encodes(v any, encode func() error) error {
	_, err := encoded(v, func() ([]byte, error) { return nil, encode() })
	return err
}

// encoderMethods returns stand-ins for the methods that encode values.
func encoderMethods() map[string]any {
	return map[string]any{
		"(*encoding/gob.Encoder).Encode": func(e *gob.Encoder, v any) error {
			return encodes(v, func() error { return e.Encode(v) })
		},
		"(*encoding/gob.Encoder).EncodeValue": func(e *gob.Encoder, v reflect.Value) error {
			if !v.IsValid() || !v.CanInterface() {
				return e.EncodeValue(v)
			}
			return encodes(v.Interface(), func() error { return e.EncodeValue(v) })
		},
		"(*encoding/xml.Encoder).Encode": func(e *xml.Encoder, v any) error {
			return encodes(v, func() error { return e.Encode(v) })
		},
		"(*encoding/xml.Encoder).EncodeElement": func(e *xml.Encoder, v any, start xml.StartElement) error {
			return encodes(v, func() error { return e.EncodeElement(v, start) })
		},
	}
}

// A reference is a pointer, a map or a slice on the way to a value.
type reference struct {
	at  uintptr
	len int
	typ reflect.Type
}

// cyclic reports whether a value contains itself, by pointers, maps, slices and
// interfaces.
func cyclic(v reflect.Value) bool {
	if !v.IsValid() || !mayCycle(v.Type()) {
		return false
	}
	return visitedAgain(v, map[reference]bool{})
}

// visitedAgain reports whether v, or a value in it, is one of those that are
// within.
func visitedAgain(v reflect.Value, within map[reference]bool) bool {
	if !v.IsValid() || !mayCycle(v.Type()) || encodesItself(v.Type()) {
		return false
	}
	switch k := v.Kind(); k {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return false
		}
		r := reference{v.Pointer(), 0, v.Type()}
		if k == reflect.Slice {
			r.len = v.Len()
		}
		if within[r] {
			return true
		}
		within[r] = true
		defer delete(within, r)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return visitedAgain(v.Elem(), within)
	case reflect.Struct:
		for i := range v.NumField() {
			if visitedAgain(v.Field(i), within) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if visitedAgain(v.Index(i), within) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if visitedAgain(it.Key(), within) || visitedAgain(it.Value(), within) {
				return true
			}
		}
	}
	return false
}

var itself = []reflect.Type{
	reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[xml.Marshaler](),
}

// encodesItself reports whether values of a type encode themselves.
func encodesItself(t reflect.Type) bool {
	for _, i := range itself {
		if t.Kind() != reflect.Interface && t.Implements(i) {
			return true
		}
	}
	return false
}

// cycling caches the results of mayCycle. It is bounded by the number of types.
var cycling sync.Map // reflect.Type -> bool

// mayCycle reports whether a value of a type may contain a value of its own
// type: the type is recursive, or an interface is in it.
func mayCycle(t reflect.Type) bool {
	if b, ok := cycling.Load(t); ok {
		return b.(bool)
	}
	b := recurses(t, map[reflect.Type]bool{})
	cycling.Store(t, b)
	return b
}

// recurses reports whether t contains itself, or a type that contains it. In within the
// types that contain t are true; others that have been visited are false.
func recurses(t reflect.Type, within map[reflect.Type]bool) bool {
	if t.Kind() == reflect.Interface {
		return true
	}
	if on, seen := within[t]; seen {
		return on
	}
	within[t] = true
	defer func() { within[t] = false }()
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return recurses(t.Elem(), within)
	case reflect.Map:
		return recurses(t.Key(), within) || recurses(t.Elem(), within)
	case reflect.Struct:
		for f := range t.Fields() {
			if recurses(f.Type, within) {
				return true
			}
		}
	}
	return false
}
