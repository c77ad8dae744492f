package vm

import (
	"maps"
	"reflect"
	"runtime/debug"
	"unsafe"
)

// unsafeFuncs adds what package unsafe is for cells: each function returns a
// pointer to a value of the type of a number.
func (a *Types) unsafeFuncs(values map[string]reflect.Value) {
	result := func(n int, set func(v reflect.Value)) any {
		v := reflect.New(a.types[n])
		set(v.Elem())
		return v.Interface()
	}
	pointer := func(n int, p unsafe.Pointer) any {
		return result(n, func(v reflect.Value) { *(*unsafe.Pointer)(v.Addr().UnsafePointer()) = p })
	}
	maps.Copy(values, map[string]reflect.Value{
		"UnsafePointer": reflect.ValueOf(func(n int, x any) any { return pointer(n, pointerOf(x)) }),
		"UnsafeAddress": reflect.ValueOf(func(n int, p any) any {
			return result(n, func(v reflect.Value) { v.SetUint(uint64(uintptr(pointerOf(p)))) })
		}),
		"UnsafeAt": reflect.ValueOf(func(n int, p any) any {
			// What it points to may not be there: that is a panic then, not the
			// end of the process.
			debug.SetPanicOnFault(true)
			return pointer(n, pointerOf(p))
		}),
		"UnsafeAdd": reflect.ValueOf(func(n int, p, by any) any { return pointer(n, unsafe.Add(pointerOf(p), length(by, ""))) }),
		"UnsafeSlice": reflect.ValueOf(func(n int, p, count any) any {
			return result(n, func(v reflect.Value) {
				v.Set(reflect.SliceAt(v.Type().Elem(), pointerOf(p), length(count, "Slice")))
			})
		}),
		"UnsafeSliceData": reflect.ValueOf(func(n int, s any) any { return pointer(n, pointerOf(s)) }),
		"UnsafeString": reflect.ValueOf(func(n int, p, count any) any {
			return result(n, func(v reflect.Value) { v.SetString(unsafe.String((*byte)(pointerOf(p)), length(count, "String"))) })
		}),
		"UnsafeStringData": reflect.ValueOf(func(n int, s any) any {
			return pointer(n, unsafe.Pointer(unsafe.StringData(reflect.ValueOf(s).String())))
		}),
	})
}

// pointerOf returns the pointer that x is: of any kind of pointer, the address
// that a uintptr holds, or the first element of a slice.
func pointerOf(x any) unsafe.Pointer {
	v := reflect.ValueOf(x)
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.Uintptr:
		u := uintptr(v.Uint())
		return *(*unsafe.Pointer)(unsafe.Pointer(&u))
	}
	return v.UnsafePointer()
}

// length returns an integer of any type as an int; one that does not fit is out
// of range for a function that counts elements.
func length(x any, f string) int {
	v := reflect.ValueOf(x)
	if v.CanInt() {
		return int(v.Int())
	}
	if n := v.Uint(); f == "" || int(n) >= 0 {
		return int(n)
	}
	panic(RuntimeError("unsafe." + f + ": len out of range"))
}
