package rtype

import (
	"reflect"
	"runtime"
	"unsafe"
)

// The functions below are the run time's own, which package reflect reaches by
// the same names. Each type is the address of a descriptor: see [Descriptor].

// New returns zeroed memory for a value of a type.
//
//go:linkname New reflect.unsafe_New
func New(t unsafe.Pointer) unsafe.Pointer

// NewArray returns zeroed memory for n values of a type.
//
//go:linkname NewArray reflect.unsafe_NewArray
func NewArray(t unsafe.Pointer, n int) unsafe.Pointer

// Move copies a value of a type; the memory may overlap.
//
//go:linkname Move reflect.typedmemmove
//go:noescape
func Move(t, dst, src unsafe.Pointer)

// Clear zeroes a value of a type.
//
//go:linkname Clear reflect.typedmemclr
//go:noescape
func Clear(t, p unsafe.Pointer)

// A Slice is the memory layout of a slice.
type Slice struct {
	P        unsafe.Pointer
	Len, Cap int
}

// Grow returns s with room for n more elements, of an element type t. There is
// too little room in s.
//
//go:linkname Grow reflect.growslice
//go:noescape
func Grow(t unsafe.Pointer, s Slice, n int) Slice

// Copy copies elements of a type between slices, as the built-in function does.
//
//go:linkname Copy reflect.typedslicecopy
//go:noescape
func Copy(t unsafe.Pointer, dst, src Slice) int

// MapGet returns where the element of a key lies, or nil.
//
//go:linkname MapGet reflect.mapaccess
//go:noescape
func MapGet(t, m, key unsafe.Pointer) unsafe.Pointer

// MapSet sets the element of a key.
//
//go:linkname MapSet reflect.mapassign0
//go:noescape
func MapSet(t, m, key, elem unsafe.Pointer)

// MapDelete deletes a key.
//
//go:linkname MapDelete reflect.mapdelete
//go:noescape
func MapDelete(t, m, key unsafe.Pointer)

// MapClear deletes all keys.
//
//go:linkname MapClear reflect.mapclear
//go:noescape
func MapClear(t, m unsafe.Pointer)

// MakeMap returns a map with room for n keys.
//
//go:linkname MakeMap reflect.makemap
func MakeMap(t unsafe.Pointer, n int) unsafe.Pointer

// MakeChan returns a channel.
//
//go:linkname MakeChan reflect.makechan
func MakeChan(t unsafe.Pointer, size int) unsafe.Pointer

// ChanSend sends what lies at elem. With nb it does not wait; it reports
// whether it has sent.
//
//go:linkname ChanSend reflect.chansend0
//go:noescape
func ChanSend(ch, elem unsafe.Pointer, nb bool) bool

// ChanReceive stores what it receives at elem. With nb it does not wait, and
// selected reports whether the channel was ready.
//
//go:linkname ChanReceive reflect.chanrecv
//go:noescape
func ChanReceive(ch unsafe.Pointer, nb bool, elem unsafe.Pointer) (selected, received bool)

// ChanLen and ChanCap are len and cap of a channel.
//
//go:linkname ChanLen reflect.chanlen
//go:noescape
func ChanLen(ch unsafe.Pointer) int

//go:linkname ChanCap reflect.chancap
//go:noescape
func ChanCap(ch unsafe.Pointer) int

// Descriptor returns the address of the descriptor of a type.
func Descriptor(t reflect.Type) unsafe.Pointer { return unsafe.Pointer(descriptor(t)) }

// TypeAt returns the type of a descriptor; it is the inverse of Descriptor.
func TypeAt(p unsafe.Pointer) reflect.Type { return typeOf(p) }

// IsDirect reports whether an interface holds values of a type in its data
// word, not behind it.
func IsDirect(t reflect.Type) bool { return descriptor(t).tflag&flagDirectIface != 0 }

const word = unsafe.Sizeof(uintptr(0))

// Pointers sets the bit of each word at an offset that is a pointer in values of
// a type.
func Pointers(t reflect.Type, offset uintptr, set func(word int)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.String, reflect.Slice:
		set(int(offset / word))
	case reflect.Interface: // the first word may point to a type that was made here
		set(int(offset / word))
		set(int(offset/word) + 1)
	case reflect.Array:
		if descriptor(t).ptrBytes == 0 {
			return
		}
		for i := range t.Len() {
			Pointers(t.Elem(), offset+uintptr(i)*t.Elem().Size(), set)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			Pointers(f.Type, offset+f.Offset, set)
		}
	}
}

// HasPointers reports whether values of a type hold pointers.
func HasPointers(t reflect.Type) bool { return descriptor(t).ptrBytes != 0 }

// Block returns the descriptor of a block of memory of a number of words, of
// which those whose bits are set are pointers. It is for New alone: the block
// has no type that package reflect knows.
func Block(words int, bits []byte) unsafe.Pointer {
	h := new(header)
	*h = *descriptor(reflect.TypeFor[struct{ a, b *int }]())
	h.size = uintptr(words) * word
	h.ptrBytes = 0
	for i := range words {
		if bits[i/8]&(1<<(i%8)) != 0 {
			h.ptrBytes = uintptr(i+1) * word
		}
	}
	// The run time reads the mask by words.
	mask := make([]byte, (len(bits)+15)/8*8)
	copy(mask, bits)
	h.gcData, h.equal, h.ptrToThis = &mask[0], nil, 0
	h.tflag &= flagRegular
	pin(h)
	pin(mask)
	return unsafe.Pointer(h)
}

// Itab returns the first word of an interface of type i that holds a t; i has
// methods, and t has them.
func Itab(i, t reflect.Type) unsafe.Pointer {
	v := reflect.New(i)
	v.Elem().Set(reflect.Zero(t))
	return *(*unsafe.Pointer)(v.UnsafePointer())
}

// assertion is runtime.TypeAssertionError.
type assertion struct {
	inter, concrete, asserted unsafe.Pointer
	missing                   string
}

func init() {
	t := reflect.TypeFor[runtime.TypeAssertionError]()
	if t.NumField() != 4 || t.Size() != unsafe.Sizeof(assertion{}) || t.Field(0).Name != "_interface" || t.Field(1).Name != "concrete" ||
		t.Field(2).Name != "asserted" || t.Field(3).Name != "missingMethod" {
		panic("rtype: runtime.TypeAssertionError has another layout")
	}
}

// AssertionError returns the error of a type assertion that fails: the types are
// those of the interface, of the value in it (or nil), and the one asserted.
func AssertionError(inter, concrete, asserted unsafe.Pointer, missing string) *runtime.TypeAssertionError {
	return (*runtime.TypeAssertionError)(unsafe.Pointer(&assertion{inter, concrete, asserted, missing}))
}

// Equal returns the function that compares two values of a comparable type.
func Equal(t reflect.Type) func(p, q unsafe.Pointer) bool { return descriptor(t).equal }
