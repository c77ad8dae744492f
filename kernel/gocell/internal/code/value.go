package code

import (
	"fmt"
	"reflect"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A Kind is a machine representation of values.
type Kind uint8

// The kinds. Agg stands for structs and arrays.
const (
	None Kind = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F32
	F64
	C64
	C128
	Str
	Ptr
	Slc
	Ifc
	Agg
)

type (
	// A Slice is the memory of any slice.
	Slice = rtype.Slice
	// An Iface is the memory of any interface: for a type with methods, Tab
	// points to an itab, else to a type descriptor.
	Iface struct{ Tab, Data unsafe.Pointer }
)

// IsInteger, IsSigned and IsFloat classify kinds.
func (k Kind) IsInteger() bool { return k >= I8 && k <= U64 }

// IsSigned reports whether a kind is one of signed integers.
func (k Kind) IsSigned() bool { return k >= I8 && k <= I64 }

// IsFloat reports whether a kind is one of floating-point numbers.
func (k Kind) IsFloat() bool { return k == F32 || k == F64 }

// IsComplex reports whether a kind is one of complex numbers.
func (k Kind) IsComplex() bool { return k == C64 || k == C128 }

var kinds = [...]Kind{reflect.Bool: Bool, reflect.Int: I64, reflect.Int8: I8, reflect.Int16: I16, reflect.Int32: I32, reflect.Int64: I64,
	reflect.Uint: U64, reflect.Uint8: U8, reflect.Uint16: U16, reflect.Uint32: U32, reflect.Uint64: U64, reflect.Uintptr: U64,
	reflect.Float32: F32, reflect.Float64: F64, reflect.Complex64: C64, reflect.Complex128: C128, reflect.Array: Agg, reflect.Chan: Ptr,
	reflect.Func: Ptr, reflect.Interface: Ifc, reflect.Map: Ptr, reflect.Pointer: Ptr, reflect.Slice: Slc, reflect.String: Str,
	reflect.Struct: Agg, reflect.UnsafePointer: Ptr}

// KindOf returns the kind of a type's values.
func KindOf(t reflect.Type) Kind { return kinds[t.Kind()] }

// A Val is an expression that has been compiled. E is an Ex of the kind's Go
// type, or for Agg an Into, as the word that a function is: the kind says its type.
type Val struct {
	K    Kind
	E    unsafe.Pointer
	slot int32          // not 0: the value of the variable at this offset of the frame
	c    unsafe.Pointer // not nil: where the value lies, a constant
	// Addr is, for an Agg that lies in memory, where it does.
	Addr     Ex[unsafe.Pointer]
	unsigned bool // an I64 has the bits of a uint64
}

// IsConst reports whether the value is a constant.
func (v Val) IsConst() bool { return v.c != nil }

// A Place is where a value lies.
type Place struct {
	mode  mode
	off   int32   // in the frame, or in the closure's environment
	d     uintptr // from the address to the value
	v     *Var
	addr  Ex[unsafe.Pointer]
	slice Val // of elements
	index Val
	size  uintptr
	len   int   // of arrays
	array int32 // of the array that an item is of, where its address is to fail; 0 for one that is not nil
	bare  bool  // what a pointer points to, no part of it
	pos   int32 // of the operand, where it is to fail; 0 for one that cannot be nil
}

type mode uint8

const (
	slot    mode = iota // in the frame
	box                 // behind a pointer in the frame
	env                 // in the closure's environment
	envBox              // behind a pointer there
	global              // a package-level variable
	memory              // at an address that is computed
	element             // of a slice
	item                // of an array at an address
)

// Slot is a variable in the frame.
func Slot(off int32) Place { return Place{mode: slot, off: off} }

// Box is a variable whose address is in the frame.
func Box(off int32) Place { return Place{mode: box, off: off} }

// Env is a variable whose value was copied when the closure was made.
func Env(off int32) Place { return Place{mode: env, off: off} }

// EnvBox is a variable whose address is in the closure's environment.
func EnvBox(off int32) Place { return Place{mode: envBox, off: off} }

// Global is a package-level variable.
func Global(v *Var) Place { return Place{mode: global, v: v} }

// Memory is what lies at an address.
func Memory(addr Ex[unsafe.Pointer]) Place { return Place{mode: memory, addr: addr} }

// Deref is what a pointer points to; pos is where it is dereferenced.
func Deref(p Val, pos int32) Place {
	if p.slot != 0 {
		return Place{mode: box, off: p.slot, pos: pos, bare: true}
	}
	return Place{mode: memory, addr: as[unsafe.Pointer](p.E), pos: pos, bare: true}
}

// Element is an element of a slice, of a size in bytes.
func Element(s, index Val, size uintptr, pos int32) Place {
	return Place{mode: element, slice: s, index: index, size: size, pos: pos}
}

// Item is an element of an array of a length.
func Item(array Place, index Val, size uintptr, length int, pos int32) Place {
	if index.c != nil {
		if i := *(*int64)(index.c); i >= 0 && int(i) < length {
			return array.Field(uintptr(i) * size)
		}
	}
	p := Place{mode: item, index: index, size: size, len: length, pos: pos}
	switch array.mode {
	case box, memory: // whether the pointer is nil is seen when the index is known
		p.d, p.array, array.d = array.d, array.pos, 0
		if p.array == 0 {
			p.array = -1
		}
	}
	p.addr = array.Address()
	return p
}

// page is the size of memory at address 0 of which the run time makes reading
// a panic.
const page = 4096

// Field is the part of the value that begins d bytes into it.
func (p Place) Field(d uintptr) Place {
	p.bare = false
	switch p.mode {
	case slot, env:
		p.off += int32(d)
	case box, envBox, memory:
		if p.d < page && p.d+d >= page { // a nil pointer would go unnoticed
			return Place{mode: memory, d: d, addr: p.Operand(), pos: p.pos}
		}
		p.d += d
	default:
		p.d += d
	}
	return p
}

// isNil panics as the use of a nil pointer does, at a place.
//
//go:noinline
func isNil(f *Frame, pos int32) {
	if pos > 0 {
		f.Pos = pos
	}
	nonNil(nil)
}

// Operand returns the address of what is used: it panics where that is behind nil.
func (p Place) Operand() Ex[unsafe.Pointer] {
	off, d, pos := p.off, p.d, p.pos
	switch {
	case pos == 0 && p.mode != memory:
	case p.mode == box:
		return func(f *Frame) unsafe.Pointer {
			q := *(*unsafe.Pointer)(at(f, off))
			if q == nil {
				isNil(f, pos)
			}
			return add(q, d)
		}
	case p.mode == memory:
		addr := p.addr
		return func(f *Frame) unsafe.Pointer {
			q := addr(f)
			if q == nil {
				isNil(f, pos)
			}
			return add(q, d)
		}
	}
	return p.Address()
}

// Receiver returns the address that a method with a pointer receiver gets: a pointer
// itself may be nil.
func (p Place) Receiver() Ex[unsafe.Pointer] {
	if p.bare {
		return p.Address()
	}
	return p.Operand()
}

// nonNil returns p, and panics where it is nil as dereferencing it would.
func nonNil(p unsafe.Pointer) unsafe.Pointer {
	if p == nil {
		_ = *(*byte)(p)
	}
	return p
}

// Fixed is the place with its operands as they are when the statements have been
// run: the pointer, or slice and index, which are checked later. temp makes room
// in the frame.
func (p Place) Fixed(temp func(t reflect.Type) int32) (Place, []Do) {
	var before []Do
	keep := func(v Val, t reflect.Type) Val {
		if v.c != nil {
			return v
		}
		off := temp(t)
		before = append(before, Of(v.K).Store(Slot(off), v))
		return Of(v.K).Load(Slot(off))
	}
	switch p.mode {
	case box:
		p.off = keep(Of(Ptr).Load(Slot(p.off)), rtype.UnsafePointer).slot
	case memory:
		p.mode, p.off = box, keep(NewVal(Ptr, p.addr), rtype.UnsafePointer).slot
	case element:
		p.slice = keep(p.slice, reflect.TypeFor[[]int]())
		p.index = keep(p.index, reflect.TypeFor[int]())
	case item:
		base := keep(NewVal(Ptr, p.addr), rtype.UnsafePointer)
		p.addr, p.index = as[unsafe.Pointer](base.E), keep(p.index, reflect.TypeFor[int]())
	}
	return p, before
}

// InFrame reports whether the place is in the frame, where no pointer to it can
// be.
func (p Place) InFrame() bool { return p.mode == slot }

// Address returns the place's address.
func (p Place) Address() Ex[unsafe.Pointer] {
	off, d := p.off, p.d
	switch p.mode {
	case slot:
		return func(f *Frame) unsafe.Pointer { return at(f, off) }
	case box:
		if d == 0 {
			return func(f *Frame) unsafe.Pointer { return *(*unsafe.Pointer)(at(f, off)) }
		}
		return func(f *Frame) unsafe.Pointer { return add(*(*unsafe.Pointer)(at(f, off)), d) }
	case env:
		return func(f *Frame) unsafe.Pointer { return add(f.Env, uintptr(off)) }
	case envBox:
		return func(f *Frame) unsafe.Pointer { return add(*(*unsafe.Pointer)(add(f.Env, uintptr(off))), d) }
	case global:
		v := p.v
		return func(*Frame) unsafe.Pointer { return add(v.P, d) }
	case element:
		return p.elementAddress()
	case item:
		base, size, n, bad := p.addr, p.size, p.len, p.failure()
		i, pos := as[int64](p.index.E), p.array
		return func(f *Frame) unsafe.Pointer {
			b := base(f)
			k := i(f)
			if b == nil && pos != 0 {
				isNil(f, pos)
			}
			if uint64(k) >= uint64(n) {
				badIndex(f, bad, k, n)
			}
			return add(b, uintptr(k)*size+d)
		}
	}
	addr := p.addr
	if d == 0 {
		return addr
	}
	return func(f *Frame) unsafe.Pointer { return add(addr(f), d) }
}

func (p Place) elementAddress() Ex[unsafe.Pointer] {
	size, d, bad := p.size, p.d, p.failure()
	i := as[int64](p.index.E)
	if at1, at2 := p.slice.slot, p.index.slot; at1 != 0 && at2 != 0 {
		return func(f *Frame) unsafe.Pointer {
			s, k := (*Slice)(at(f, at1)), *(*int64)(at(f, at2))
			if uint64(k) >= uint64(s.Len) {
				badIndex(f, bad, k, s.Len)
			}
			return add(s.P, uintptr(k)*size+d)
		}
	} else if at1 != 0 {
		return func(f *Frame) unsafe.Pointer {
			k := i(f)
			s := (*Slice)(at(f, at1))
			if uint64(k) >= uint64(s.Len) {
				badIndex(f, bad, k, s.Len)
			}
			return add(s.P, uintptr(k)*size+d)
		}
	}
	e := as[Slice](p.slice.E)
	return func(f *Frame) unsafe.Pointer {
		s := e(f)
		k := i(f)
		if uint64(k) >= uint64(s.Len) {
			badIndex(f, bad, k, s.Len)
		}
		return add(s.P, uintptr(k)*size+d)
	}
}

// badIndex panics as an index that is out of range does.
//
//go:noinline
func badIndex(f *Frame, p *failure, i int64, n int) {
	if p.pos != 0 {
		f.Pos = p.pos
	}
	if p.unsigned {
		_ = make([]struct{}, n)[uint64(i)]
	}
	_ = make([]struct{}, n)[i]
}

// A failure is what is known of an index.
type failure struct {
	pos      int32
	unsigned bool
}

func (p Place) failure() *failure { return &failure{p.pos, p.index.unsigned} }

// Ops are the operations that all kinds but Agg have, of one of them.
type Ops struct{ k Kind }

// Of returns the operations of a kind.
func Of(k Kind) Ops { return Ops{k} }

// Load returns the value at a place.
func (o Ops) Load(p Place) Val {
	v := Val{K: o.k, E: representations[o.k].load(p)}
	if p.mode == slot {
		v.slot = p.off
	}
	return v
}

// Store stores a value at a place. The value is computed first.
func (o Ops) Store(p Place, v Val) Do { return representations[o.k].store(p, v) }

// Arg stores an argument at an offset of a callee's frame.
func (o Ops) Arg(off int32, v Val) Arg { return representations[o.k].arg(off, v) }

// Into computes a value into memory.
func (o Ops) Into(v Val) Into { return representations[o.k].into(v.E) }

// Const returns a constant, of the kind's Go type; it is not for slices and interfaces.
func (o Ops) Const(c any) Val {
	if KindOf(reflect.TypeOf(c)) != o.k {
		panic(fmt.Sprintf("code: a %T is no constant of kind %d", c, o.k))
	}
	p := word(c)
	if o.k == Ptr { // which is not behind another
		return o.lasting(unsafe.Pointer(&p))
	}
	return o.lasting(p)
}

// lasting returns the value at an address as a constant.
func (o Ops) lasting(at unsafe.Pointer) Val {
	return Val{K: o.k, E: representations[o.k].constant(at), c: at}
}

var nothing [2]complex128 // zero values of all kinds but Agg

// Zero returns the zero value.
func (o Ops) Zero() Val { return o.lasting(unsafe.Pointer(&nothing)) }

// Equal compares with ==, and with != if not.
func (o Ops) Equal(l, r Val, not bool) Ex[bool] {
	switch o.k {
	case Bool, I8, U8:
		return equal[uint8](l, r, not)
	case I16, U16:
		return equal[uint64](Convert(I64, l), Convert(I64, r), not)
	case I32, U32:
		return equal[uint32](l, r, not)
	case I64, U64:
		return equal[uint64](l, r, not)
	case F32:
		return equal[float64](Convert(F64, l), Convert(F64, r), not)
	case F64:
		return equal[float64](l, r, not)
	case C64, C128:
		a, b := as[complex128](Convert(C128, l).E), as[complex128](Convert(C128, r).E)
		return func(f *Frame) bool { x := a(f); return (x == b(f)) != not }
	case Str:
		return equal[string](l, r, not)
	case Ptr:
		return equal[unsafe.Pointer](l, r, not)
	case Ifc:
		a, b := as[any](l.E), as[any](r.E)
		return func(f *Frame) bool { x := a(f); return (x == b(f)) != not }
	}
	panic("code: a kind without ==")
}

// Result returns the result of a call that has left it at an offset of the callee's
// frame.
func (o Ops) Result(call Call, off int32) Val {
	return Val{K: o.k, E: representations[o.k].result(call, off)}
}

// Then returns the value that e has after a statement has been run.
func (o Ops) Then(s Do, e Val) Val { return Val{K: o.k, E: representations[o.k].then(s, e.E)} }

// Append appends an element to a slice.
func (o Ops) Append(s, elem Val) Val { return NewVal(Slc, representations[o.k].appended(s.E, elem.E)) }

// A representation is how kinds are kept that are the same words in memory and in
// registers. What its methods return as a word is an Ex of the kinds.
type representation struct {
	storage
	passing
}

// A storage reads and writes memory.
type storage interface {
	load(p Place) unsafe.Pointer
	store(p Place, v Val) Do
	arg(off int32, v Val) Arg
}

// A passing hands values on.
type passing interface {
	into(e unsafe.Pointer) Into
	constant(at unsafe.Pointer) unsafe.Pointer
	result(call Call, off int32) unsafe.Pointer
	then(s Do, e unsafe.Pointer) unsafe.Pointer
	appended(s, elem unsafe.Pointer) Ex[Slice]
}

var (
	bits8           = representation{&usual[uint8]{}, &passed[uint8]{}}
	bits16          = representation{&rare[uint16]{}, &passed[uint16]{}}
	bits32          = representation{&usual[uint32]{}, &passed[uint32]{}}
	bits64          = representation{&usual[uint64]{}, &passed[uint64]{}}
	representations = [...]representation{
		Bool: bits8, I8: bits8, I16: bits16, I32: bits32, I64: bits64, U8: bits8, U16: bits16, U32: bits32, U64: bits64,
		F32:  {&usual[float32]{}, &passed[float32]{}},
		F64:  {&usual[float64]{}, &passed[float64]{}},
		C64:  {&rare[complex64]{}, &passed[complex64]{}},
		C128: {&usual[complex128]{}, &passed[complex128]{}},
		Str:  {&usual[string]{}, &passed[string]{}},
		Ptr:  {&usual[unsafe.Pointer]{}, &passed[unsafe.Pointer]{}},
		Slc:  {&usual[Slice]{}, &passed[Slice]{}},
		Ifc:  {&usual[Iface]{}, &passed[Iface]{}},
	}
)

// NewVal returns a value that a closure computes.
func NewVal(k Kind, e any) Val { return Val{K: k, E: word(e)} }

// word returns the pointer that an interface holds; of a function that is the function.
func word(x any) unsafe.Pointer { return (*Iface)(unsafe.Pointer(&x)).Data }

// as returns the closure of a value of a kind, or of one with more bits than are wanted:
// those above a value in a register mean nothing.
func as[T any](e unsafe.Pointer) Ex[T] { return *(*Ex[T])(unsafe.Pointer(&e)) }

// Condition returns the closure of a bool.
func Condition(v Val) Ex[bool] { return as[bool](v.E) }

// Int returns the closure of an I64.
func Int(v Val) Ex[int64] { return as[int64](v.E) }

// Pointer returns the closure of a Ptr.
func Pointer(v Val) Ex[unsafe.Pointer] { return as[unsafe.Pointer](v.E) }

// rare is the storage of kinds that few loops are about: a place is its address.
type rare[T any] struct{}

func (*rare[T]) load(p Place) unsafe.Pointer { return loadAt[T](p.Operand()) }

func (*rare[T]) store(p Place, v Val) Do { return storeAt[T](p.Operand(), v.E) }

func (*rare[T]) arg(off int32, v Val) Arg { return storeArg[T](off, v.E) }

//go:noinline
func loadAt[T any](addr Ex[unsafe.Pointer]) unsafe.Pointer {
	v := func(f *Frame) T { return *(*T)(addr(f)) }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

//go:noinline
func storeAt[T any](addr Ex[unsafe.Pointer], w unsafe.Pointer) Do {
	e := as[T](w)
	return func(f *Frame) Ctl {
		x := e(f)
		*(*T)(addr(f)) = x
		return Next
	}
}

//go:noinline
func storeArg[T any](off int32, w unsafe.Pointer) Arg {
	e := as[T](w)
	return func(f, c *Frame) { x := e(f); *(*T)(at(c, off)) = x }
}

// passed is the passing of all kinds.
type passed[T any] struct{}

func (*passed[T]) into(w unsafe.Pointer) Into {
	e := as[T](w)
	return func(f *Frame, dst unsafe.Pointer) { x := e(f); *(*T)(dst) = x }
}

func (*passed[T]) constant(at unsafe.Pointer) unsafe.Pointer {
	x := *(*T)(at)
	v := func(*Frame) T { return x }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func (*passed[T]) result(call Call, off int32) unsafe.Pointer {
	v := func(f *Frame) T {
		c := call(f)
		x := *(*T)(at(c, off))
		f.G.release(c)
		return x
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func (*passed[T]) then(s Do, w unsafe.Pointer) unsafe.Pointer {
	e := as[T](w)
	v := func(f *Frame) T { s(f); return e(f) }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func (*passed[T]) appended(s, elem unsafe.Pointer) Ex[Slice] {
	e, x := as[Slice](s), as[T](elem)
	return func(f *Frame) Slice {
		s := e(f)
		v := x(f)
		if s.Len == s.Cap {
			f.G.grow(s.Len+1, unsafe.Sizeof(v))
		}
		t := append(*(*[]T)(unsafe.Pointer(&s)), v)
		return *(*Slice)(unsafe.Pointer(&t))
	}
}

// usual is the storage of the other kinds: places that loops use have closures of their
// own.
type usual[T any] struct{}

func (o *usual[T]) load(p Place) unsafe.Pointer {
	var v Ex[T]
	off, d := p.off, p.d
	switch p.mode {
	case slot:
		v = func(f *Frame) T { return *(*T)(at(f, off)) }
	case box:
		if pos := p.pos; pos != 0 {
			v = func(f *Frame) T {
				q := *(*unsafe.Pointer)(at(f, off))
				if q == nil {
					isNil(f, pos)
				}
				return *(*T)(add(q, d))
			}
			break
		}
		v = func(f *Frame) T { return *(*T)(add(*(*unsafe.Pointer)(at(f, off)), d)) }
	case env:
		v = func(f *Frame) T { return *(*T)(add(f.Env, uintptr(off))) }
	case envBox:
		v = func(f *Frame) T { return *(*T)(add(*(*unsafe.Pointer)(add(f.Env, uintptr(off))), d)) }
	case global:
		g := p.v
		v = func(*Frame) T { return *(*T)(add(g.P, d)) }
	case element:
		v = o.loadElement(p)
	case memory:
		addr, pos := p.addr, p.pos
		v = func(f *Frame) T {
			q := addr(f)
			if q == nil {
				isNil(f, pos)
			}
			return *(*T)(add(q, d))
		}
	default:
		return loadAt[T](p.Operand())
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func (*usual[T]) loadElement(p Place) Ex[T] {
	size, d, bad := p.size, p.d, p.failure()
	i := as[int64](p.index.E)
	at1, at2 := p.slice.slot, p.index.slot
	switch {
	case at1 != 0 && at2 != 0:
		return func(f *Frame) T {
			s, k := (*Slice)(at(f, at1)), *(*int64)(at(f, at2))
			if uint64(k) >= uint64(s.Len) {
				badIndex(f, bad, k, s.Len)
			}
			return *(*T)(add(s.P, uintptr(k)*size+d))
		}
	case at1 != 0:
		return func(f *Frame) T {
			k := i(f)
			s := (*Slice)(at(f, at1))
			if uint64(k) >= uint64(s.Len) {
				badIndex(f, bad, k, s.Len)
			}
			return *(*T)(add(s.P, uintptr(k)*size+d))
		}
	case at2 != 0:
		e := as[Slice](p.slice.E)
		return func(f *Frame) T {
			s, k := e(f), *(*int64)(at(f, at2))
			if uint64(k) >= uint64(s.Len) {
				badIndex(f, bad, k, s.Len)
			}
			return *(*T)(add(s.P, uintptr(k)*size+d))
		}
	}
	w := loadAt[T](p.elementAddress())
	return *(*Ex[T])(unsafe.Pointer(&w))
}

func (*usual[T]) store(p Place, v Val) Do {
	off, d := p.off, p.d
	e := as[T](v.E)
	switch p.mode {
	case slot:
		switch {
		case v.c != nil:
			x := *(*T)(v.c)
			return func(f *Frame) Ctl { *(*T)(at(f, off)) = x; return Next }
		case v.slot != 0:
			from := v.slot
			return func(f *Frame) Ctl { *(*T)(at(f, off)) = *(*T)(at(f, from)); return Next }
		}
		return func(f *Frame) Ctl { *(*T)(at(f, off)) = e(f); return Next }
	case box:
		pos := p.pos
		return func(f *Frame) Ctl {
			x := e(f)
			q := *(*unsafe.Pointer)(at(f, off))
			if q == nil {
				isNil(f, pos)
			}
			*(*T)(add(q, d)) = x
			return Next
		}
	case envBox:
		return func(f *Frame) Ctl {
			x := e(f)
			*(*T)(add(*(*unsafe.Pointer)(add(f.Env, uintptr(off))), d)) = x
			return Next
		}
	case global:
		g := p.v
		return func(f *Frame) Ctl {
			x := e(f)
			*(*T)(add(g.P, d)) = x
			return Next
		}
	case element:
		if at1, at2, size, bad := p.slice.slot, p.index.slot, p.size, p.failure(); at1 != 0 && at2 != 0 {
			return func(f *Frame) Ctl {
				x := e(f)
				s, k := (*Slice)(at(f, at1)), *(*int64)(at(f, at2))
				if uint64(k) >= uint64(s.Len) {
					badIndex(f, bad, k, s.Len)
				}
				*(*T)(add(s.P, uintptr(k)*size+d)) = x
				return Next
			}
		}
	}
	return storeAt[T](p.Operand(), v.E)
}

func (*usual[T]) arg(off int32, v Val) Arg {
	if v.c != nil {
		x := *(*T)(v.c)
		return func(_, c *Frame) { *(*T)(at(c, off)) = x }
	}
	if from := v.slot; from != 0 {
		return func(f, c *Frame) { *(*T)(at(c, off)) = *(*T)(at(f, from)) }
	}
	return storeArg[T](off, v.E)
}

func equal[T comparable](l, r Val, not bool) Ex[bool] {
	a, b, from, with, k, constant := operands[T](l, r)
	switch {
	case from != 0 && constant && not:
		return func(f *Frame) bool { return *(*T)(at(f, from)) != k }
	case from != 0 && constant:
		return func(f *Frame) bool { return *(*T)(at(f, from)) == k }
	case from != 0 && with != 0 && !not:
		return func(f *Frame) bool { return *(*T)(at(f, from)) == *(*T)(at(f, with)) }
	case constant && not:
		return func(f *Frame) bool { return a(f) != k }
	case constant:
		return func(f *Frame) bool { return a(f) == k }
	case not:
		return func(f *Frame) bool { x := a(f); return x != b(f) }
	}
	return func(f *Frame) bool { x := a(f); return x == b(f) }
}

// Not negates a condition.
func Not(e Ex[bool]) Ex[bool] { return func(f *Frame) bool { return !e(f) } }

// And and Or are && and ||.
func And(l, r Ex[bool]) Ex[bool] { return func(f *Frame) bool { return l(f) && r(f) } }

// Or is ||.
func Or(l, r Ex[bool]) Ex[bool] { return func(f *Frame) bool { return l(f) || r(f) } }
