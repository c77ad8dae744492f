package rtype

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"
)

// The run time calls a method at a code address of its own, without a closure:
// there is one little piece of code for every method made here, which puts the
// closure of its number, made by reflect.MakeFunc, into the context register
// and goes to its code.

// maxStubs is the number of pieces in the assembly.
const maxStubs = 32768

// closures holds the closure of each stub.
var closures [maxStubs]unsafe.Pointer

// base returns the address of the first stub.
func base() uintptr

var stubs struct {
	sync.Mutex
	next int
	none unsafe.Pointer
}

// ErrFull says that no more methods can be made.
var ErrFull = errors.New("the session has declared all the methods that it has room for: restart the kernel")

// stub returns the address of code that calls f: a method of type t, whose
// receiver is the word of an interface.
func stub(t reflect.Type, f func(word unsafe.Pointer, args []reflect.Value) []reflect.Value) (unsafe.Pointer, error) {
	in := []reflect.Type{reflect.TypeFor[unsafe.Pointer]()}
	for i := range t.NumIn() {
		in = append(in, t.In(i))
	}
	var out []reflect.Type
	for i := range t.NumOut() {
		out = append(out, t.Out(i))
	}
	fn := reflect.MakeFunc(reflect.FuncOf(in, out, t.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		return f(args[0].UnsafePointer(), args[1:])
	}).Interface()
	stubs.Lock()
	defer stubs.Unlock()
	if stubs.next == maxStubs {
		return nil, ErrFull
	}
	i := stubs.next
	stubs.next++
	closures[i] = (*[2]unsafe.Pointer)(unsafe.Pointer(&fn))[1]
	return address(i), nil
}

// address returns the address of a stub.
func address(i int) unsafe.Pointer {
	a := base() + uintptr(i)*stride
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) // code does not move
}

// noFunc returns the code of a method that cannot be called as a function.
func noFunc() unsafe.Pointer {
	stubs.Lock()
	defer stubs.Unlock()
	if stubs.none == nil {
		fn := any(func() {
			panic("a method of a cell's type cannot be called by reflect.Method.Func; use reflect.Value.Method")
		})
		stubs.none = **(**unsafe.Pointer)(unsafe.Add(unsafe.Pointer(&fn), unsafe.Sizeof(uintptr(0))))
	}
	return stubs.none
}
