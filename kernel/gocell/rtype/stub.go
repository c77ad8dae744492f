package rtype

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// The run time calls a method at a code address of its own, without a closure:
// there is one little piece of code for every method made here, which puts the
// closure of its number, made by reflect.MakeFunc, into the context register
// and goes to its code.

// maxStubs is the number of pieces in the assembly.
const maxStubs = 65536

// closures holds the closure of each stub.
var closures [maxStubs]unsafe.Pointer

// base returns the address of the first stub.
func base() uintptr

var stubs struct {
	sync.Mutex
	next int
}

// ErrFull says that no more methods can be made.
var ErrFull = errors.New("the session has declared all the methods that it has room for: restart the kernel")

// stub returns the address of code that calls f: a function of type t with a
// receiver before its parameters.
func stub(recv, t reflect.Type, f func(recv reflect.Value, args []reflect.Value) []reflect.Value) (unsafe.Pointer, error) {
	in := []reflect.Type{recv}
	for p := range t.Ins() {
		in = append(in, p)
	}
	fn := reflect.MakeFunc(reflect.FuncOf(in, slices.Collect(t.Outs()), t.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		return f(args[0], args[1:])
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
