package gocell

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Values of variables travel to other processes as bytes that depend on the
// values alone: the same value has the same bytes, whatever the order in a map.

// maxPlainDepth bounds the depth of a value, which may contain itself.
const maxPlainDepth = 1000

// appendPlain appends the bytes of a value of plain data (see check.NotPlain).
func appendPlain(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth > maxPlainDepth {
		return nil, errors.New("it is deeper than 1000 levels, or contains itself")
	}
	var err error
	elements := func(n int) {
		for i := 0; i < n && err == nil; i++ {
			b, err = appendPlain(b, v.Index(i), depth+1)
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return binary.AppendUvarint(b, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float())), nil
	case reflect.Complex64, reflect.Complex128:
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(real(v.Complex())))
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(imag(v.Complex()))), nil
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...), nil
	case reflect.Array:
		elements(v.Len())
		return b, err
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			b, err = appendPlain(b, v.Field(i), depth+1)
		}
		return b, err
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return append(b, 0), nil
		}
		b = append(b, 1)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return appendPlain(b, v.Elem(), depth+1)
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		elements(v.Len())
		return b, err
	case reflect.Map:
		return appendMap(b, v, depth)
	}
	return nil, fmt.Errorf("it holds a %s", v.Type())
}

// appendMap appends the entries of a map, ordered by the bytes of their keys.
func appendMap(b []byte, v reflect.Value, depth int) ([]byte, error) {
	type entry struct{ key, value []byte }
	var entries []entry
	for it := v.MapRange(); it.Next(); {
		key, err := appendPlain(nil, it.Key(), depth+1)
		if err != nil {
			return nil, err
		}
		value, err := appendPlain(nil, it.Value(), depth+1)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{key, value})
	}
	slices.SortFunc(entries, func(x, y entry) int { return bytes.Compare(x.key, y.key) })
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for _, e := range entries {
		b = append(append(b, e.key...), e.value...)
	}
	return b, nil
}

// A plainReader decodes what appendPlain has written.
type plainReader struct{ b []byte }

var errPlain = errors.New("damaged values of variables")

func (r *plainReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		panic(errPlain)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *plainReader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		panic(errPlain)
	}
	r.b = r.b[n:]
	return x
}

func (r *plainReader) varint() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		panic(errPlain)
	}
	r.b = r.b[n:]
	return x
}

func (r *plainReader) float() float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(r.bytes(8)))
}

// length reads a length, of at most what is left if each element has a byte.
func (r *plainReader) length() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		panic(errPlain)
	}
	return int(n)
}

// read sets an addressable value. It panics with errPlain if the bytes are not
// of its type.
func (r *plainReader) read(v reflect.Value) {
	if !v.CanSet() { // a field that is not exported
		v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.bytes(1)[0] == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.varint())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(r.uvarint())
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.float())
	case reflect.Complex64, reflect.Complex128:
		re := r.float()
		v.SetComplex(complex(re, r.float()))
	case reflect.String:
		v.SetString(string(r.bytes(r.uvarint())))
	case reflect.Array:
		for i := range v.Len() {
			r.read(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.read(v.Field(i))
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if r.bytes(1)[0] == 1 {
			r.readInto(v)
		} else {
			v.SetZero()
		}
	default:
		panic(errPlain)
	}
}

// readInto sets a pointer, slice or map that is not nil.
func (r *plainReader) readInto(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		r.read(p.Elem())
		v.Set(p)
	case reflect.Slice:
		n := r.length()
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			r.read(v.Index(i))
		}
	case reflect.Map:
		n := r.length()
		v.Set(reflect.MakeMapWithSize(v.Type(), n))
		for range n {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.read(key)
			r.read(value)
			v.SetMapIndex(key, value)
		}
	}
}
