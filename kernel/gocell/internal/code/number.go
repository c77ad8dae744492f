package code

import (
	"cmp"
	"fmt"
	"go/token"
	"math"
	"unsafe"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type number interface{ integer | float32 | float64 }

// Numbers of fewer bits than 64 are computed with 64 where the bits above them make no
// difference, or after they have been made wider: so there is code of their own for what
// loops use, and for the rest that of int64, uint64 and float64.

// Binary is an arithmetic operator at a place; both operands have the kind of the
// result.
func Binary(op token.Token, l, r Val, pos int32) Val {
	v := Val{K: l.K}
	switch integer := l.K.IsInteger(); {
	case l.K == Str:
		return NewVal(Str, concatenation(l, r))
	case integer && (op == token.QUO || op == token.REM):
		return Val{K: l.K, E: division(op, l, r, pos)}
	case integer && op != token.ADD && op != token.SUB && op != token.MUL:
		return NewVal(l.K, bitwise(op, l, r))
	}
	switch l.K {
	case I8, U8:
		v.E = arithmetic[uint8](op, l, r)
	case I16, U16:
		v.E = plain(op, as[uint64](l.E), as[uint64](r.E))
	case I32, U32:
		v.E = arithmetic[uint32](op, l, r)
	case I64, U64:
		v.E = arithmetic[uint64](op, l, r)
	case F32:
		v.E = fractional(op, as[float32](l.E), as[float32](r.E))
	case F64:
		if op != token.QUO {
			v.E = arithmetic[float64](op, l, r)
		} else {
			v.E = fractional(op, as[float64](l.E), as[float64](r.E))
		}
	case C64:
		v.E = fractional(op, as[complex64](l.E), as[complex64](r.E))
	default:
		v.E = fractional(op, as[complex128](l.E), as[complex128](r.E))
	}
	return v
}

// operands of a binary operator, in the forms that have closures of their own.
func operands[T any](l, r Val) (a, b Ex[T], from, with int32, k T, constant bool) {
	if r.c != nil {
		k, constant = *(*T)(r.c), true
	}
	return as[T](l.E), as[T](r.E), l.slot, r.slot, k, constant
}

// arithmetic returns the closure of + - or * in the form of its operands. Long: one line
// for each operator in each form.
func arithmetic[T number](op token.Token, l, r Val) unsafe.Pointer {
	a, b, from, with, k, constant := operands[T](l, r)
	var v Ex[T]
	switch {
	case from != 0 && constant:
		switch op {
		case token.ADD:
			v = func(f *Frame) T { return *(*T)(at(f, from)) + k }
		case token.SUB:
			v = func(f *Frame) T { return *(*T)(at(f, from)) - k }
		case token.MUL:
			v = func(f *Frame) T { return *(*T)(at(f, from)) * k }
		}
	case from != 0 && with != 0:
		switch op {
		case token.ADD:
			v = func(f *Frame) T { return *(*T)(at(f, from)) + *(*T)(at(f, with)) }
		case token.SUB:
			v = func(f *Frame) T { return *(*T)(at(f, from)) - *(*T)(at(f, with)) }
		case token.MUL:
			v = func(f *Frame) T { return *(*T)(at(f, from)) * *(*T)(at(f, with)) }
		}
	case constant:
		switch op {
		case token.ADD:
			v = func(f *Frame) T { return a(f) + k }
		case token.SUB:
			v = func(f *Frame) T { return a(f) - k }
		case token.MUL:
			v = func(f *Frame) T { return a(f) * k }
		}
	case with != 0:
		switch op {
		case token.ADD:
			v = func(f *Frame) T { x := a(f); return x + *(*T)(at(f, with)) }
		case token.SUB:
			v = func(f *Frame) T { x := a(f); return x - *(*T)(at(f, with)) }
		case token.MUL:
			v = func(f *Frame) T { x := a(f); return x * *(*T)(at(f, with)) }
		}
	default:
		return plain(op, a, b)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// plain returns the closure of + - or *, whatever its operands are.
func plain[T number | complex64 | complex128](op token.Token, a, b Ex[T]) unsafe.Pointer {
	var v Ex[T]
	switch op {
	case token.ADD:
		v = func(f *Frame) T { x := a(f); return x + b(f) }
	case token.SUB:
		v = func(f *Frame) T { x := a(f); return x - b(f) }
	case token.MUL:
		v = func(f *Frame) T { x := a(f); return x * b(f) }
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

type fraction interface {
	float32 | float64 | complex64 | complex128
}

// fractional is plain, and / for what is divided without a remainder.
func fractional[T fraction](op token.Token, a, b Ex[T]) unsafe.Pointer {
	if op != token.QUO {
		return plain(op, a, b)
	}
	v := func(f *Frame) T { x := a(f); return x / b(f) }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// division is x / y or x % y of integers.
func division(op token.Token, l, r Val, pos int32) unsafe.Pointer {
	switch l.K {
	case I32:
		return divided[int32](op, l, r, pos)
	case I64:
		return divided[int64](op, l, r, pos)
	case U32:
		return divided[uint32](op, l, r, pos)
	case U64:
		return divided[uint64](op, l, r, pos)
	}
	return division(op, Convert(I64, l), Convert(I64, r), pos)
}

func divided[T integer](op token.Token, l, r Val, pos int32) unsafe.Pointer {
	a, b, _, _, k, constant := operands[T](l, r)
	var v Ex[T]
	switch {
	case constant && k != 0 && op == token.QUO:
		v = func(f *Frame) T { return a(f) / k }
	case constant && k != 0:
		v = func(f *Frame) T { return a(f) % k }
	case op == token.QUO:
		v = func(f *Frame) T {
			x := a(f)
			y := b(f)
			if y == 0 {
				byZero(f, pos)
			}
			return x / y
		}
	default:
		v = func(f *Frame) T {
			x := a(f)
			y := b(f)
			if y == 0 {
				byZero(f, pos)
			}
			return x % y
		}
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
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

// bitwise is & | ^ or &^.
func bitwise(op token.Token, l, r Val) Ex[uint64] {
	a, b := as[uint64](l.E), as[uint64](r.E)
	if op == token.AND && r.c != nil {
		k, from := r.bits(), l.slot
		if from != 0 && (l.K == I64 || l.K == U64) {
			return func(f *Frame) uint64 { return *(*uint64)(at(f, from)) & k }
		} else if from != 0 && (l.K == I32 || l.K == U32) {
			return func(f *Frame) uint64 { return uint64(*(*uint32)(at(f, from))) & k }
		}
		return func(f *Frame) uint64 { return a(f) & k }
	}
	switch op {
	case token.AND:
		return func(f *Frame) uint64 { x := a(f); return x & b(f) }
	case token.OR:
		return func(f *Frame) uint64 { x := a(f); return x | b(f) }
	case token.XOR:
		return func(f *Frame) uint64 { x := a(f); return x ^ b(f) }
	case token.AND_NOT:
		return func(f *Frame) uint64 { x := a(f); return x &^ b(f) }
	}
	panic("code: integers have no " + op.String())
}

// bits returns an integer constant, with 64 bits.
func (v Val) bits() uint64 { return *(*uint64)(Convert(U64, v).c) }

func concatenation(l, r Val) Ex[string] {
	a, b, j := as[string](l.E), as[string](r.E), new(joiner)
	return func(f *Frame) string {
		x := a(f)
		return j.join(f.G, x, b(f))
	}
}

// Compare is one of the operators < <= > >= for numbers and strings.
func Compare(op token.Token, l, r Val) Ex[bool] {
	switch l.K {
	case U8:
		return ordered[uint8](op, l, r)
	case I32:
		return ordered[int32](op, l, r)
	case U64:
		return ordered[uint64](op, l, r)
	case F32, F64:
		return ordered[float64](op, Convert(F64, l), Convert(F64, r))
	case Str:
		return ordered[string](op, l, r)
	}
	return ordered[int64](op, Convert(I64, l), Convert(I64, r))
}

func ordered[T number | string](op token.Token, l, r Val) Ex[bool] {
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
		case token.GTR:
			op, from, with = token.LSS, with, from
		case token.GEQ:
			op, from, with = token.LEQ, with, from
		}
		x, y := from, with
		if op == token.LSS {
			return func(f *Frame) bool { return *(*T)(at(f, x)) < *(*T)(at(f, y)) }
		}
		return func(f *Frame) bool { return *(*T)(at(f, x)) <= *(*T)(at(f, y)) }
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

// Unary is one of the operators + - ^ for numbers.
func Unary(op token.Token, v Val) Val {
	switch {
	case op == token.ADD:
		return v
	case op == token.XOR:
		e := as[uint64](v.E)
		return NewVal(v.K, func(f *Frame) uint64 { return ^e(f) })
	}
	w := Val{K: v.K}
	switch v.K {
	case F32:
		w.E = negative[float32](v.E)
	case F64:
		w.E = negative[float64](v.E)
	case C64:
		w.E = negative[complex64](v.E)
	case C128:
		w.E = negative[complex128](v.E)
	default:
		w.E = negative[uint64](v.E)
	}
	return w
}

func negative[T uint64 | fraction](w unsafe.Pointer) unsafe.Pointer {
	e := as[T](w)
	v := func(f *Frame) T { return -e(f) }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// Shift is << or >>; count is an I64 or a U64.
func Shift(op token.Token, v, count Val) Val {
	if op == token.SHL {
		return NewVal(v.K, leftShift(as[uint64](v.E), count))
	}
	w := Val{K: v.K}
	switch v.K {
	case U8:
		w.E = rightShift[uint8](v.E, count)
	case I32:
		w.E = rightShift[int32](v.E, count)
	case U32:
		w.E = rightShift[uint32](v.E, count)
	case U64:
		w.E = rightShift[uint64](v.E, count)
	default:
		w.E = rightShift[int64](Convert(I64, v).E, count)
	}
	return w
}

func leftShift(e Ex[uint64], count Val) Ex[uint64] {
	if count.c != nil {
		k := count.bits()
		return func(f *Frame) uint64 { return e(f) << k }
	}
	if count.K == I64 {
		n := as[int64](count.E)
		return func(f *Frame) uint64 { x := e(f); return x << n(f) }
	}
	n := as[uint64](count.E)
	return func(f *Frame) uint64 { x := e(f); return x << n(f) }
}

func rightShift[T integer](w unsafe.Pointer, count Val) unsafe.Pointer {
	e := as[T](w)
	n := as[uint64](count.E)
	v := func(f *Frame) T { x := e(f); return x >> n(f) }
	if count.c != nil {
		k := count.bits()
		v = func(f *Frame) T { return e(f) >> k }
	} else if count.K == I64 {
		n := as[int64](count.E)
		v = func(f *Frame) T { x := e(f); return x >> n(f) }
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// Convert converts a number to a kind of numbers.
func Convert(to Kind, v Val) Val {
	if to == v.K {
		return v
	}
	w := Val{K: to}
	switch {
	case to.IsInteger() && v.K.IsInteger():
		if w.E = v.E; sizes[to] == sizes[v.K] {
			w.slot = v.slot
		} else if sizes[to] > sizes[v.K] {
			w.E = widened(v)
		}
	case to.IsInteger() && v.K == F32:
		return Convert(to, Convert(F64, v))
	case to.IsInteger():
		w.E = truncated(to, v.E)
	case v.K.IsInteger() && v.K != U64 && v.K != I64:
		return Convert(to, Convert(I64, v))
	case to == F32:
		w.E = converted[float32](v)
	case to == F64:
		w.E = converted[float64](v)
	case to == C64:
		e := as[complex128](v.E)
		w.E = word(func(f *Frame) complex64 { return complex64(e(f)) })
	default:
		e := as[complex64](v.E)
		w.E = word(func(f *Frame) complex128 { return complex128(e(f)) })
	}
	if v.c != nil { // a constant needs no frame
		at := unsafe.Pointer(new([2]uint64))
		Of(to).Into(w)(nil, at)
		return Of(to).lasting(at)
	}
	return w
}

// sizes are the bytes of integers.
var sizes = [...]int{I8: 1, I16: 2, I32: 4, I64: 8, U8: 1, U16: 2, U32: 4, U64: 8}

// widened returns an integer with 64 bits.
func widened(v Val) unsafe.Pointer {
	switch v.K {
	case I8:
		e := as[int8](v.E)
		return word(func(f *Frame) int64 { return int64(e(f)) })
	case I16:
		e := as[int16](v.E)
		return word(func(f *Frame) int64 { return int64(e(f)) })
	case I32:
		e := as[int32](v.E)
		return word(func(f *Frame) int64 { return int64(e(f)) })
	case U8:
		e := as[uint8](v.E)
		return word(func(f *Frame) int64 { return int64(e(f)) })
	case U16:
		e := as[uint16](v.E)
		return word(func(f *Frame) int64 { return int64(e(f)) })
	}
	e := as[uint32](v.E)
	return word(func(f *Frame) int64 { return int64(e(f)) })
}

// truncated returns a float64 as an integer.
func truncated(to Kind, w unsafe.Pointer) unsafe.Pointer {
	e := as[float64](w)
	switch to {
	case I8:
		return word(func(f *Frame) int8 { return int8(e(f)) })
	case I16:
		return word(func(f *Frame) int16 { return int16(e(f)) })
	case I32:
		return word(func(f *Frame) int32 { return int32(e(f)) })
	case I64:
		return word(func(f *Frame) int64 { return int64(e(f)) })
	case U8:
		return word(func(f *Frame) uint8 { return uint8(e(f)) })
	case U16:
		return word(func(f *Frame) uint16 { return uint16(e(f)) })
	case U32:
		return word(func(f *Frame) uint32 { return uint32(e(f)) })
	}
	return word(func(f *Frame) uint64 { return uint64(e(f)) })
}

// converted returns an I64, U64, F32 or F64 as a floating-point number.
func converted[T float32 | float64](w Val) unsafe.Pointer {
	var v Ex[T]
	switch w.K {
	case I64:
		e := as[int64](w.E)
		v = func(f *Frame) T { return T(e(f)) }
	case U64:
		e := as[uint64](w.E)
		v = func(f *Frame) T { return T(e(f)) }
	case F32:
		e := as[float32](w.E)
		v = func(f *Frame) T { return T(e(f)) }
	default:
		e := as[float64](w.E)
		v = func(f *Frame) T { return T(e(f)) }
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// Update is the statement p op= v.
func Update(op token.Token, p Place, v Val, pos int32) Do {
	if v.K.IsInteger() && (op == token.QUO || op == token.REM) {
		return divide(op == token.QUO, p.Operand(), v, pos)
	}
	switch v.K {
	case I8, U8:
		return updateBits[uint8](op, p, v)
	case I16, U16:
		return updateBits[uint16](op, p, v)
	case I32, U32:
		return updateBits[uint32](op, p, v)
	case I64, U64:
		return updateBits[uint64](op, p, v)
	case F32:
		return updateFraction[float32](op, p, v)
	case F64:
		return updateFraction[float64](op, p, v)
	case C64:
		return updateFraction[complex64](op, p, v)
	case C128:
		return updateFraction[complex128](op, p, v)
	}
	addr, e, j := p.Operand(), as[string](v.E), new(joiner)
	return func(f *Frame) Ctl {
		x := e(f)
		s := (*string)(addr(f))
		*s = j.join(f.G, *s, x)
		return Next
	}
}

// updated returns the statement *p op= e for + - and *.
func updated[T number | fraction](op token.Token, addr Ex[unsafe.Pointer], e Ex[T]) Do {
	switch op {
	case token.ADD:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) += x; return Next }
	case token.SUB:
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) -= x; return Next }
	}
	return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) *= x; return Next }
}

func updateFraction[T fraction](op token.Token, p Place, v Val) Do {
	addr, e := p.Operand(), as[T](v.E)
	if off := p.off; p.mode == slot && op == token.ADD {
		return func(f *Frame) Ctl { x := e(f); *(*T)(at(f, off)) += x; return Next }
	}
	if op == token.QUO {
		return func(f *Frame) Ctl { x := e(f); *(*T)(addr(f)) /= x; return Next }
	}
	return updated(op, addr, e)
}

func updateBits[T uint8 | uint16 | uint32 | uint64](op token.Token, p Place, v Val) Do {
	e := as[T](v.E)
	if p.mode == slot {
		off := p.off
		switch {
		case op == token.ADD && v.c != nil:
			k := *(*T)(v.c)
			return func(f *Frame) Ctl { *(*T)(at(f, off)) += k; return Next }
		case op == token.SUB && v.c != nil:
			k := *(*T)(v.c)
			return func(f *Frame) Ctl { *(*T)(at(f, off)) -= k; return Next }
		case op == token.ADD:
			return func(f *Frame) Ctl { x := e(f); *(*T)(at(f, off)) += x; return Next }
		case op == token.XOR:
			return func(f *Frame) Ctl { x := e(f); *(*T)(at(f, off)) ^= x; return Next }
		}
	}
	addr := p.Operand()
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
	return updated(op, addr, e)
}

// divide is the statement *p /= v, or *p %= v, of integers.
func divide(quotient bool, addr Ex[unsafe.Pointer], v Val, pos int32) Do {
	switch v.K {
	case I8:
		return divideBy[int8](quotient, addr, v.E, pos)
	case I16:
		return divideBy[int16](quotient, addr, v.E, pos)
	case I32:
		return divideBy[int32](quotient, addr, v.E, pos)
	case I64:
		return divideBy[int64](quotient, addr, v.E, pos)
	case U8:
		return divideBy[uint8](quotient, addr, v.E, pos)
	case U16:
		return divideBy[uint16](quotient, addr, v.E, pos)
	case U32:
		return divideBy[uint32](quotient, addr, v.E, pos)
	}
	return divideBy[uint64](quotient, addr, v.E, pos)
}

func divideBy[T integer](quotient bool, addr Ex[unsafe.Pointer], w unsafe.Pointer, pos int32) Do {
	e := as[T](w)
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

// large is how many bytes of an allocation are worth asking for.
const large = 1 << 10

// spend asks for memory of a number of bytes, which something takes.
func (g *G) spend(what string, bytes float64) {
	if bytes >= large && g.M.Need != nil {
		g.M.Need(what, bytes)
	}
}

// makes asks for the memory of n elements that make takes for a type.
func (g *G) makes(typ string, n int64, bytes float64) {
	what := "make"
	if bytes >= named {
		what = fmt.Sprintf("make(%s, %d)", typ, n)
	}
	g.spend(what, bytes)
}

// named is how many bytes of an allocation may be refused, with its name. Smaller ones are
// counted.
const named = 1 << 20

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
		a, b := as[float32](re.E), as[float32](im.E)
		return NewVal(C64, func(f *Frame) complex64 { x := a(f); return complex(x, b(f)) })
	}
	a, b := as[float64](re.E), as[float64](im.E)
	return NewVal(C128, func(f *Frame) complex128 { x := a(f); return complex(x, b(f)) })
}

// Part is one of the built-in functions real and imag.
func Part(v Val, imaginary bool) Val {
	to := F64
	if v.K == C64 {
		to = F32
	}
	e := as[complex128](Convert(C128, v).E)
	if imaginary {
		return Convert(to, NewVal(F64, func(f *Frame) float64 { return imag(e(f)) }))
	}
	return Convert(to, NewVal(F64, func(f *Frame) float64 { return real(e(f)) }))
}

// Extreme is one of the built-in functions min and max, of two values.
func Extreme(l, r Val, most bool) Val {
	switch l.K {
	case U64:
		return extreme[uint64](l, r, most)
	case F32:
		return Convert(F32, Extreme(Convert(F64, l), Convert(F64, r), most))
	case F64:
		return extreme[float64](l, r, most)
	case Str:
		return extreme[string](l, r, most)
	}
	v := extreme[int64](Convert(I64, l), Convert(I64, r), most)
	v.K = l.K
	return v
}

func extreme[T cmp.Ordered](l, r Val, most bool) Val {
	a, b := as[T](l.E), as[T](r.E)
	v := func(f *Frame) T { x := a(f); return min(x, b(f)) }
	if most {
		v = func(f *Frame) T { x := a(f); return max(x, b(f)) }
	}
	return Val{K: l.K, E: *(*unsafe.Pointer)(unsafe.Pointer(&v))}
}

// Index converts an integer to the I64 that indexes and lengths are. One that no int
// can be is negative, as it is no index, and said to be unsigned.
func Index(v Val) Val {
	if v.K == U64 {
		if v.c != nil && v.bits() <= 1<<62 {
			return Of(I64).Const(int64(v.bits()))
		}
		return Val{K: I64, E: v.E, slot: v.slot, unsigned: true}
	}
	return Convert(I64, v)
}

// Length converts a U64; a length that no int can be is -1.
func Length(v Val) Val {
	e := as[uint64](v.E)
	return NewVal(I64, func(f *Frame) int64 {
		if n := e(f); n <= math.MaxInt64 {
			return int64(n)
		}
		return -1
	})
}

// Count converts the count of a shift.
func Count(v Val) Val {
	if v.K.IsSigned() {
		if v.c != nil && int64(v.bits()) >= 0 {
			return Convert(U64, v)
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
		e := as[unsafe.Pointer](v.E)
		return NewVal(U64, func(f *Frame) uint64 {
			p := e(f)
			*(*unsafe.Pointer)(at(f, spare)) = p
			return uint64(uintptr(p))
		})
	}
	e := as[uint64](v.E)
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer {
		a := uintptr(e(f))
		return *(*unsafe.Pointer)(unsafe.Pointer(&a))
	})
}
