package code

import (
	"cmp"
	"go/token"
	"math"
	"unsafe"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type number interface{ integer | float32 | float64 }

// numeric are the operations of numbers, each for one kind.
type numeric interface {
	binary(op token.Token, l, r Val, pos int32) any
	compare(op token.Token, l, r Val) Ex[bool]
	unary(op token.Token, v Val) any
	shift(op token.Token, v, count Val) any
	convert(v Val) any
	update(op token.Token, p Place, v Val, pos int32) Do
}

var numbers = [...]numeric{I8: integers[int8]{}, I16: integers[int16]{}, I32: integers[int32]{}, I64: integers[int64]{},
	U8: integers[uint8]{}, U16: integers[uint16]{}, U32: integers[uint32]{}, U64: integers[uint64]{},
	F32: floats[float32]{}, F64: floats[float64]{}, C64: complexes[complex64]{}, C128: complexes[complex128]{}, Str: texts{}}

type (
	integers[T integer]                 struct{}
	floats[T float32 | float64]         struct{}
	complexes[T complex64 | complex128] struct{}
	texts                               struct{}
	ordered[T number | string]          struct{}
)

// Binary is an arithmetic operator at a place; both operands have the kind of the
// result.
func Binary(op token.Token, l, r Val, pos int32) Val {
	return Val{K: l.K, E: numbers[l.K].binary(op, l, r, pos)}
}

// Compare is one of the operators < <= > >= for numbers and strings.
func Compare(op token.Token, l, r Val) Ex[bool] { return numbers[l.K].compare(op, l, r) }

// Unary is one of the operators + - ^ for numbers.
func Unary(op token.Token, v Val) Val {
	if op == token.ADD {
		return v
	}
	return Val{K: v.K, E: numbers[v.K].unary(op, v)}
}

// Shift is << or >>; count is an I64 or a U64.
func Shift(op token.Token, v, count Val) Val {
	return Val{K: v.K, E: numbers[v.K].shift(op, v, count)}
}

// Convert converts a number to a kind of numbers.
func Convert(to Kind, v Val) Val {
	if to == v.K {
		return v
	}
	return Val{K: to, E: numbers[to].convert(v)}
}

// Update is the statement p op= v.
func Update(op token.Token, p Place, v Val, pos int32) Do { return numbers[v.K].update(op, p, v, pos) }

// operands of a binary operator, in the forms that have closures of their own.
func operands[T any](l, r Val) (a, b Ex[T], from, with int32, k T, constant bool) {
	if r.c != nil {
		k, constant = r.c.(T), true
	}
	return as[T](l), as[T](r), l.slot, r.slot, k, constant
}

// arithmetic returns the closure of + - * or / in the form of its operands, nil for
// the operators that integers alone have. Long: one line for each operator in each
// form.
func arithmetic[T number](op token.Token, l, r Val) Ex[T] {
	a, b, from, with, k, constant := operands[T](l, r)
	switch {
	case from != 0 && constant:
		switch op {
		case token.ADD:
			return func(f *Frame) T { return *(*T)(at(f, from)) + k }
		case token.SUB:
			return func(f *Frame) T { return *(*T)(at(f, from)) - k }
		case token.MUL:
			return func(f *Frame) T { return *(*T)(at(f, from)) * k }
		}
	case from != 0 && with != 0:
		switch op {
		case token.ADD:
			return func(f *Frame) T { return *(*T)(at(f, from)) + *(*T)(at(f, with)) }
		case token.SUB:
			return func(f *Frame) T { return *(*T)(at(f, from)) - *(*T)(at(f, with)) }
		case token.MUL:
			return func(f *Frame) T { return *(*T)(at(f, from)) * *(*T)(at(f, with)) }
		}
	case constant:
		switch op {
		case token.ADD:
			return func(f *Frame) T { return a(f) + k }
		case token.SUB:
			return func(f *Frame) T { return a(f) - k }
		case token.MUL:
			return func(f *Frame) T { return a(f) * k }
		}
	case with != 0:
		switch op {
		case token.ADD:
			return func(f *Frame) T { x := a(f); return x + *(*T)(at(f, with)) }
		case token.SUB:
			return func(f *Frame) T { x := a(f); return x - *(*T)(at(f, with)) }
		case token.MUL:
			return func(f *Frame) T { x := a(f); return x * *(*T)(at(f, with)) }
		}
	}
	switch op {
	case token.ADD:
		return func(f *Frame) T { x := a(f); return x + b(f) }
	case token.SUB:
		return func(f *Frame) T { x := a(f); return x - b(f) }
	case token.MUL:
		return func(f *Frame) T { x := a(f); return x * b(f) }
	case token.QUO:
		if constant {
			return func(f *Frame) T { return a(f) / k }
		}
		return func(f *Frame) T { x := a(f); return x / b(f) }
	}
	return nil
}

// updated returns the statement *p op= e for + - * and /, nil for the operators that
// integers alone have.
func updated[T number | complex64 | complex128](op token.Token, addr Ex[unsafe.Pointer], e Ex[T]) Do {
	switch op {
	case token.ADD:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) += x; return Next }
	case token.SUB:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) -= x; return Next }
	case token.MUL:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) *= x; return Next }
	case token.QUO:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) /= x; return Next }
	}
	return nil
}

func (integers[T]) binary(op token.Token, l, r Val, pos int32) any {
	if op == token.QUO || op == token.REM {
		return divided[T](op, l, r, pos)
	}
	if e := arithmetic[T](op, l, r); e != nil {
		return e
	}
	a, b, from, _, k, constant := operands[T](l, r)
	switch {
	case op == token.AND && constant && from != 0:
		return func(f *Frame) T { return *(*T)(at(f, from)) & k }
	case op == token.AND && constant:
		return func(f *Frame) T { return a(f) & k }
	}
	switch op {
	case token.AND:
		return func(f *Frame) T { x := a(f); return x & b(f) }
	case token.OR:
		return func(f *Frame) T { x := a(f); return x | b(f) }
	case token.XOR:
		return func(f *Frame) T { x := a(f); return x ^ b(f) }
	case token.AND_NOT:
		return func(f *Frame) T { x := a(f); return x &^ b(f) }
	}
	panic("code: integers have no " + op.String())
}

// divided is x / y or x % y of integers.
func divided[T integer](op token.Token, l, r Val, pos int32) any {
	a, b, _, _, k, constant := operands[T](l, r)
	switch {
	case constant && k != 0 && op == token.QUO:
		return func(f *Frame) T { return a(f) / k }
	case constant && k != 0:
		return func(f *Frame) T { return a(f) % k }
	case op == token.QUO:
		return func(f *Frame) T {
			x := a(f)
			y := b(f)
			if y == 0 {
				byZero(f, pos)
			}
			return x / y
		}
	}
	return func(f *Frame) T {
		x := a(f)
		y := b(f)
		if y == 0 {
			byZero(f, pos)
		}
		return x % y
	}
}

// byZero panics as a division by zero does.
//
//go:noinline
func byZero(f *Frame, pos int32) {
	if pos > 0 {
		f.Pos = pos
	}
	_ = 1 / zero
}

var zero = 0

func (integers[T]) compare(op token.Token, l, r Val) Ex[bool] { return ordered[T]{}.compare(op, l, r) }

func (ordered[T]) compare(op token.Token, l, r Val) Ex[bool] {
	a, b, from, with, k, constant := operands[T](l, r)
	switch {
	case from != 0 && constant:
		switch op {
		case token.LSS:
			return func(f *Frame) bool { return *(*T)(at(f, from)) < k }
		case token.LEQ:
			return func(f *Frame) bool { return *(*T)(at(f, from)) <= k }
		case token.GTR:
			return func(f *Frame) bool { return *(*T)(at(f, from)) > k }
		case token.GEQ:
			return func(f *Frame) bool { return *(*T)(at(f, from)) >= k }
		}
	case from != 0 && with != 0:
		switch op {
		case token.LSS:
			return func(f *Frame) bool { return *(*T)(at(f, from)) < *(*T)(at(f, with)) }
		case token.LEQ:
			return func(f *Frame) bool { return *(*T)(at(f, from)) <= *(*T)(at(f, with)) }
		case token.GTR:
			return func(f *Frame) bool { return *(*T)(at(f, from)) > *(*T)(at(f, with)) }
		case token.GEQ:
			return func(f *Frame) bool { return *(*T)(at(f, from)) >= *(*T)(at(f, with)) }
		}
	case constant:
		switch op {
		case token.LSS:
			return func(f *Frame) bool { return a(f) < k }
		case token.LEQ:
			return func(f *Frame) bool { return a(f) <= k }
		case token.GTR:
			return func(f *Frame) bool { return a(f) > k }
		case token.GEQ:
			return func(f *Frame) bool { return a(f) >= k }
		}
	}
	switch op {
	case token.LSS:
		return func(f *Frame) bool { x := a(f); return x < b(f) }
	case token.LEQ:
		return func(f *Frame) bool { x := a(f); return x <= b(f) }
	case token.GTR:
		return func(f *Frame) bool { x := a(f); return x > b(f) }
	}
	return func(f *Frame) bool { x := a(f); return x >= b(f) }
}

func (integers[T]) unary(op token.Token, v Val) any {
	e := as[T](v)
	if op == token.SUB {
		return func(f *Frame) T { return -e(f) }
	}
	return func(f *Frame) T { return ^e(f) }
}

func (integers[T]) shift(op token.Token, v, count Val) any {
	e := as[T](v)
	left := op == token.SHL
	switch n := count.E.(type) {
	case Ex[int64]:
		if left {
			return func(f *Frame) T { x := e(f); return x << n(f) }
		}
		return func(f *Frame) T { x := e(f); return x >> n(f) }
	case Ex[uint64]:
		if k, ok := count.c.(uint64); ok && left {
			return func(f *Frame) T { return e(f) << k }
		} else if ok {
			return func(f *Frame) T { return e(f) >> k }
		}
		if left {
			return func(f *Frame) T { x := e(f); return x << n(f) }
		}
		return func(f *Frame) T { x := e(f); return x >> n(f) }
	}
	panic("code: a shift by no integer")
}

func (integers[T]) convert(v Val) any { return converted[T](v) }

func converted[T number](v Val) any {
	switch e := v.E.(type) {
	case Ex[int8]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[int16]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[int32]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[int64]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[uint8]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[uint16]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[uint32]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[uint64]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[float32]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[float64]:
		return func(f *Frame) T { return T(e(f)) }
	}
	panic("code: a conversion of no number")
}

func (integers[T]) update(op token.Token, p Place, v Val, pos int32) Do {
	if op == token.QUO || op == token.REM {
		addr, e, quotient := p.Operand(), as[T](v), op == token.QUO
		return func(f *Frame) Ctl {
			x := e(f)
			p := (*T)(addr(f))
			if x == 0 {
				byZero(f, pos)
			}
			if quotient {
				*p /= x
			} else {
				*p %= x
			}
			return Next
		}
	}
	if p.mode == slot {
		off, e := p.off, as[T](v)
		k, constant := v.c.(T)
		switch {
		case op == token.ADD && constant:
			return func(f *Frame) Ctl { *(*T)(at(f, off)) += k; return Next }
		case op == token.SUB && constant:
			return func(f *Frame) Ctl { *(*T)(at(f, off)) -= k; return Next }
		case op == token.ADD:
			return func(f *Frame) Ctl { x := e(f); *(*T)(at(f, off)) += x; return Next }
		case op == token.XOR:
			return func(f *Frame) Ctl { x := e(f); *(*T)(at(f, off)) ^= x; return Next }
		}
	}
	addr, e := p.Operand(), as[T](v)
	if do := updated(op, addr, e); do != nil {
		return do
	}
	switch op {
	case token.AND:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) &= x; return Next }
	case token.OR:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) |= x; return Next }
	case token.XOR:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) ^= x; return Next }
	case token.AND_NOT:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) &^= x; return Next }
	}
	panic("code: integers have no " + op.String() + "=")
}

func (floats[T]) binary(op token.Token, l, r Val, _ int32) any {
	if e := arithmetic[T](op, l, r); e != nil {
		return e
	}
	panic("code: floating-point numbers have no " + op.String())
}

func (floats[T]) compare(op token.Token, l, r Val) Ex[bool] { return ordered[T]{}.compare(op, l, r) }

func (floats[T]) unary(_ token.Token, v Val) any {
	e := as[T](v)
	return func(f *Frame) T { return -e(f) }
}

func (floats[T]) shift(token.Token, Val, Val) any { panic("code: a shift of no integer") }

func (floats[T]) convert(v Val) any { return converted[T](v) }

func (floats[T]) update(op token.Token, p Place, v Val, _ int32) Do {
	addr, e := p.Operand(), as[T](v)
	if off := p.off; p.mode == slot && op == token.ADD {
		return func(f *Frame) Ctl { x := e(f); *(*T)(at(f, off)) += x; return Next }
	}
	return updated(op, addr, e)
}

func (complexes[T]) binary(op token.Token, l, r Val, _ int32) any {
	a, b := as[T](l), as[T](r)
	switch op {
	case token.ADD:
		return func(f *Frame) T { x := a(f); return x + b(f) }
	case token.SUB:
		return func(f *Frame) T { x := a(f); return x - b(f) }
	case token.MUL:
		return func(f *Frame) T { x := a(f); return x * b(f) }
	}
	return func(f *Frame) T { x := a(f); return x / b(f) }
}

func (complexes[T]) compare(token.Token, Val, Val) Ex[bool] {
	panic("code: complex numbers are not ordered")
}

func (complexes[T]) unary(_ token.Token, v Val) any {
	e := as[T](v)
	return func(f *Frame) T { return -e(f) }
}

func (complexes[T]) shift(token.Token, Val, Val) any { panic("code: a shift of no integer") }

func (complexes[T]) convert(v Val) any {
	switch e := v.E.(type) {
	case Ex[complex64]:
		return func(f *Frame) T { return T(e(f)) }
	case Ex[complex128]:
		return func(f *Frame) T { return T(e(f)) }
	}
	panic("code: a conversion of no complex number")
}

func (o complexes[T]) update(op token.Token, p Place, v Val, _ int32) Do {
	addr, e := p.Operand(), as[T](v)
	return updated(op, addr, e)
}

func (texts) binary(_ token.Token, l, r Val, _ int32) any {
	a, b := as[string](l), as[string](r)
	return func(f *Frame) string {
		x := a(f)
		y := b(f)
		f.G.spend("the string", float64(len(x)+len(y)))
		return x + y
	}
}

func (texts) compare(op token.Token, l, r Val) Ex[bool] { return ordered[string]{}.compare(op, l, r) }

func (texts) unary(token.Token, Val) any { panic("code: strings have no unary operators") }

func (texts) shift(token.Token, Val, Val) any { panic("code: a shift of no integer") }

func (texts) convert(Val) any { panic("code: a string is no number") }

func (texts) update(_ token.Token, p Place, v Val, _ int32) Do {
	addr, e := p.Operand(), as[string](v)
	return func(f *Frame) Ctl {
		x := e(f)
		s := (*string)(addr(f))
		f.G.spend("the string", float64(len(x)+len(*s)))
		*s += x
		return Next
	}
}

// large is how many bytes of an allocation are worth asking for.
const large = 1 << 10

// spend asks for memory of a number of bytes, which something takes.
func (g *G) spend(what string, bytes float64) {
	if bytes >= large && g.M.Need != nil {
		g.M.Need(what, bytes)
	}
}

// grow asks for the memory that a slice takes which append makes longer, to n elements
// of a size.
func (g *G) grow(n int, size uintptr) {
	const least = 256 // elements; shorter slices are not worth asking for
	if n >= least {
		g.spend("append", 1.25*float64(n)*float64(size))
	}
}

// Complex is the built-in function complex, of two F32 or F64.
func Complex(re, im Val) Val {
	if re.K == F32 {
		a, b := as[float32](re), as[float32](im)
		return Val{K: C64, E: func(f *Frame) complex64 { x := a(f); return complex(x, b(f)) }}
	}
	a, b := as[float64](re), as[float64](im)
	return Val{K: C128, E: func(f *Frame) complex128 { x := a(f); return complex(x, b(f)) }}
}

// Part is one of the built-in functions real and imag.
func Part(v Val, imaginary bool) Val {
	switch e := v.E.(type) {
	case Ex[complex64]:
		if imaginary {
			return Val{K: F32, E: func(f *Frame) float32 { return imag(e(f)) }}
		}
		return Val{K: F32, E: func(f *Frame) float32 { return real(e(f)) }}
	case Ex[complex128]:
		if imaginary {
			return Val{K: F64, E: func(f *Frame) float64 { return imag(e(f)) }}
		}
		return Val{K: F64, E: func(f *Frame) float64 { return real(e(f)) }}
	}
	panic("code: a part of no complex number")
}

// Extreme is one of the built-in functions min and max, of two values.
func Extreme(l, r Val, most bool) Val {
	switch l.K {
	case I8:
		return extreme[int8](l, r, most)
	case I16:
		return extreme[int16](l, r, most)
	case I32:
		return extreme[int32](l, r, most)
	case I64:
		return extreme[int64](l, r, most)
	case U8:
		return extreme[uint8](l, r, most)
	case U16:
		return extreme[uint16](l, r, most)
	case U32:
		return extreme[uint32](l, r, most)
	case U64:
		return extreme[uint64](l, r, most)
	case F32:
		return extreme[float32](l, r, most)
	case F64:
		return extreme[float64](l, r, most)
	}
	return extreme[string](l, r, most)
}

func extreme[T cmp.Ordered](l, r Val, most bool) Val {
	a, b := as[T](l), as[T](r)
	if most {
		return Val{K: l.K, E: func(f *Frame) T { x := a(f); return max(x, b(f)) }}
	}
	return Val{K: l.K, E: func(f *Frame) T { x := a(f); return min(x, b(f)) }}
}

// Index converts an integer to the I64 that indexes and lengths are. One that no int
// can be is negative, as it is no index, and said to be unsigned.
func Index(v Val) Val {
	if v.K == U64 {
		e := as[uint64](v)
		if c, ok := v.c.(uint64); ok && c <= 1<<62 {
			return Of(I64).Const(int64(c))
		}
		return Val{K: I64, unsigned: true, E: func(f *Frame) int64 { return int64(e(f)) }}
	}
	return Convert(I64, v)
}

// Length converts a U64; a length that no int can be is -1.
func Length(v Val) Val {
	e := as[uint64](v)
	return Val{K: I64, E: func(f *Frame) int64 {
		if n := e(f); n <= math.MaxInt64 {
			return int64(n)
		}
		return -1
	}}
}

// Count converts the count of a shift.
func Count(v Val) Val {
	if v.K.IsSigned() {
		if c, ok := v.c.(int64); ok && c >= 0 {
			return Of(U64).Const(uint64(c))
		}
		return Convert(I64, v)
	}
	return Convert(U64, v)
}

// SameBits reads a pointer as an integer, and an integer as a pointer: the
// conversions of package unsafe. What a pointer points to is kept as long as the
// frame, where spare is.
func SameBits(v Val, spare int32) Val {
	if v.K == Ptr {
		e := as[unsafe.Pointer](v)
		return Val{K: U64, E: func(f *Frame) uint64 {
			p := e(f)
			*(*unsafe.Pointer)(at(f, spare)) = p
			return uint64(uintptr(p))
		}}
	}
	e := as[uint64](v)
	return Val{K: Ptr, E: func(f *Frame) unsafe.Pointer {
		a := uintptr(e(f))
		return *(*unsafe.Pointer)(unsafe.Pointer(&a))
	}}
}
