package rtype

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
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

// stub returns the address of code that calls f, with its number. The type of the code is t with
// a receiver of type recv before its parameters.
func stub(recv, t reflect.Type, f func(recv reflect.Value, args []reflect.Value) []reflect.Value) (code unsafe.Pointer, number int, err error) {
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
		return nil, 0, ErrFull
	}
	i := stubs.next
	stubs.next++
	closures[i] = closureOf(fn)
	return address(i), i, nil
}

// closureOf returns the closure of a function.
func closureOf(f any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&f))[1] }

// address returns the address of a stub by its number.
func address(i int) unsafe.Pointer {
	a := base() + offset(i)
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) // the collector does not move code
}

// A takesPointer is a stub of a method that is called with a pointer to its receiver.
type takesPointer struct {
	number  int
	closure unsafe.Pointer // that the stub was made with
}

// takePointer notes such a stub.
func (n *Named) takePointer(method string, number int) {
	if n.stubs == nil {
		n.stubs = map[string][]takesPointer{}
	}
	n.stubs[method] = append(n.stubs[method], takesPointer{number, closures[number]})
}

// SetMethod has interfaces call a function in the place of a method of the type. It has a
// pointer to the receiver as its first parameter, and the method's others; the zero Value is
// the method itself.
func (n *Named) SetMethod(method string, f reflect.Value) {
	for _, s := range n.stubs[method] {
		closure := s.closure
		if f.IsValid() {
			closure = closureOf(f.Interface())
		}
		atomic.StorePointer(&closures[s.number], closure)
	}
}
