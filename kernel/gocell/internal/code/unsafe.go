package code

import (
	"reflect"
	"unsafe"
)

// The functions of package unsafe. A length that no int can be is negative.

// UnsafeAdd is unsafe.Add.
func UnsafeAdd(p, n Val) Val {
	e, k := Pointer(p), Int(n)
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer { p := e(f); return add(p, uintptr(k(f))) })
}

// UnsafeSlice is unsafe.Slice, of elements of a type.
func UnsafeSlice(p, n Val, elem reflect.Type) Val {
	e, k, size := Pointer(p), Int(n), elem.Size()
	return NewVal(Slc, func(f *Frame) Slice {
		p := e(f)
		n := k(f)
		switch {
		case n < 0 || size > 0 && (uint64(n) > maxAlloc/uint64(size) || p != nil && uintptr(n)*size > -uintptr(p)):
			panic(lengthError("unsafe.Slice: len out of range"))
		case p == nil && n > 0:
			panic(lengthError("unsafe.Slice: ptr is nil and len is not zero"))
		case p == nil:
			return Slice{}
		}
		return Slice{P: p, Len: int(n), Cap: int(n)}
	})
}

// UnsafeString is unsafe.String.
func UnsafeString(p, n Val) Val {
	e, k := Pointer(p), Int(n)
	return NewVal(Str, func(f *Frame) string {
		p := e(f)
		n := k(f)
		switch {
		case n < 0 || n > maxAlloc || p != nil && uintptr(n) > -uintptr(p):
			panic(lengthError("unsafe.String: len out of range"))
		case p == nil && n > 0:
			panic(lengthError("unsafe.String: ptr is nil and len is not zero"))
		}
		return unsafe.String((*byte)(p), int(n))
	})
}

// DataOf is unsafe.SliceData and unsafe.StringData.
func DataOf(v Val) Val {
	if v.K == Str {
		e := as[string](v.E)
		return NewVal(Ptr, func(f *Frame) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(e(f))) })
	}
	e := as[Slice](v.E)
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer { return e(f).P })
}
