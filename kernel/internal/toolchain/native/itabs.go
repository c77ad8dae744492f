package native

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/buildinfo"
)

// A value of an interface type with methods begins with a pointer to the table of
// its methods (runtime.itab). There is one for each pair of an interface and a type,
// and compiled code compares the pointers: x.(T), a type switch and x == y do. The run
// time makes a table when a conversion first wants one; a plugin that is loaded later
// brings its own for the same pair, and by that its code would not know the values
// that have the first. So a plugin's references to its tables are set to those that
// the run time uses.

// An itab is how a table begins.
type itab struct {
	inter, typ unsafe.Pointer
	hash       uint32 // the type's; 0 in tables that the run time has made
}

// used returns the table that the run time uses for the interface and the type of x,
// with the hash, by which type switches look first.
func (x *itab) used() *itab {
	v := reflect.New(typeAt(x.inter)).Elem()
	v.Set(reflect.Zero(typeAt(x.typ)))
	y := *(**itab)(v.Addr().UnsafePointer())
	if y != x {
		atomic.StoreUint32(&y.hash, x.hash)
	}
	return y
}

// typeAt returns the type with a descriptor.
func typeAt(descriptor unsafe.Pointer) reflect.Type {
	return reflect.TypeOf(*(*any)(unsafe.Pointer(&[2]unsafe.Pointer{descriptor, nil})))
}

func init() {
	var e error = buildError
	x := *(**itab)(unsafe.Pointer(&e))
	const typeHash = 2 * unsafe.Sizeof(uintptr(0)) // where a descriptor has it
	if t := reflect.TypeFor[error](); typeAt(x.inter) != t || typeAt(x.typ) != reflect.TypeOf(e) || x.hash != *(*uint32)(unsafe.Add(x.typ, typeHash)) {
		buildinfo.Refuse(fmt.Errorf("the table of the methods of %T does not begin with an interface, a type and its hash", e))
	}
}

// buildError is for the check above.
var buildError = new(BuildError)
