package vm

import (
	"reflect"
	"unsafe"
)

// The interpreter converts strings to slices of the basic types byte and rune
// alone, and back.

// textOf returns the string of a slice of bytes or runes of any type.
func textOf(x any) string {
	v := reflect.ValueOf(x)
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return string(Elements[byte](v))
	}
	return string(Elements[rune](v))
}

// letters returns a pointer to a slice, of the type of a number, of the bytes
// or the runes of a string.
func (a *Types) letters(n int, s string) any {
	p := reflect.New(a.types[n])
	if p.Type().Elem().Elem().Kind() == reflect.Uint8 {
		*(*[]byte)(p.UnsafePointer()) = []byte(s)
	} else {
		*(*[]rune)(p.UnsafePointer()) = []rune(s)
	}
	return p.Interface()
}

// runes returns the runes of a string and where they stand.
func runes(s string) (at []int, rs []rune) {
	for i, r := range s {
		at, rs = append(at, i), append(rs, r)
	}
	return at, rs
}

// Elements returns the elements of a slice whose element type has E's layout.
func Elements[E any](v reflect.Value) []E {
	return unsafe.Slice((*E)(v.UnsafePointer()), v.Len())
}
