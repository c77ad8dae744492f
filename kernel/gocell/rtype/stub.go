package rtype

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// The run time calls a method at a code address of its own, without a closure.
// So each method that is made here takes a stub, a small piece of assembly: the
// stub with number i loads closure i, made by reflect.MakeFunc, into the
// context register and jumps to its code.

// maxStubs is the number of stubs in the assembly.
const maxStubs = 65536

// closures holds the closure of each stub.
var closures [maxStubs]unsafe.Pointer

// base returns the address of the first stub.
func base() uintptr

// stubs counts the stubs that methods have taken; there are maxStubs.
var stubs struct {
	sync.Mutex     // guards next
	next       int // number of the next stub to take
}

// ErrFull reports that all stubs are taken, so that no more methods can be
// made.
var ErrFull = errors.New("the session has declared all the methods that it has room for: restart the kernel")

// stub returns the address of code that calls f. The type of the code is t with
// a receiver of type recv before its parameters.
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

// address returns the address of a stub by its number.
func address(i int) unsafe.Pointer {
	a := base() + offset(i)
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) // the collector does not move code
}
