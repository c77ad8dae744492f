package code

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// SetAgg copies a struct or an array to a place. The value is computed into
// spare, which nothing else uses, if it is not in memory; what it reads may be
// where it goes.
func SetAgg(p Place, v Val, t reflect.Type, spare int32) Do {
	d, dst := rtype.Descriptor(t), p.Operand()
	if src := v.Addr; src != nil {
		return func(f *Frame) Ctl {
			s := nonNil(src(f))
			rtype.Move(d, nonNil(dst(f)), s)
			return Next
		}
	}
	into := intoOf(v)
	return func(f *Frame) Ctl {
		s := at(f, spare)
		into(f, s)
		rtype.Move(d, nonNil(dst(f)), s)
		return Next
	}
}

// Init stores the first value of a variable: nothing that it is computed from
// lies there.
func Init(p Place, into Into) Do {
	dst := p.Address()
	return func(f *Frame) Ctl { into(f, dst(f)); return Next }
}

// Spill computes a struct or an array into a spare part of the frame.
func Spill(into Into, spare int32) Ex[unsafe.Pointer] {
	return func(f *Frame) unsafe.Pointer {
		p := at(f, spare)
		into(f, p)
		return p
	}
}

// ZeroAt zeroes a value of a type at a place.
func ZeroAt(p Place, t reflect.Type) Do {
	d, dst := rtype.Descriptor(t), p.Address()
	return func(f *Frame) Ctl { rtype.Clear(d, dst(f)); return Next }
}

// Check evaluates the address of a place and panics if it is behind nil.
func Check(p Place) Do {
	addr := p.Operand()
	return func(f *Frame) Ctl { nonNil(addr(f)); return Next }
}

// Discard evaluates a value.
func Discard(v Val, t reflect.Type, spare int32) Do {
	if v.K == Agg && v.Addr != nil {
		addr := v.Addr
		return func(f *Frame) Ctl { nonNil(addr(f)); return Next }
	}
	into := AnyInto(v, t)
	return func(f *Frame) Ctl { into(f, at(f, spare)); return Next }
}

// NewVar makes memory for a variable that outlives its frame, stores its address
// in the frame, and the value there; into may be nil for zero.
func NewVar(off int32, t reflect.Type, into Into) Do {
	d, size := rtype.Descriptor(t), int(t.Size())
	return func(f *Frame) Ctl {
		f.G.spend("the value", float64(size))
		p := rtype.New(d)
		if into != nil {
			into(f, p)
		}
		*(*unsafe.Pointer)(at(f, off)) = p
		return Next
	}
}

// Fresh returns the address of new memory for a value; into may be nil for zero.
func Fresh(t reflect.Type, into Into) Val {
	d, size := rtype.Descriptor(t), int(t.Size())
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer {
		f.G.spend("the value", float64(size))
		p := rtype.New(d)
		if into != nil {
			into(f, p)
		}
		return p
	})
}

// A Piece is a part of a composite literal.
type Piece struct {
	Off  uintptr
	Into Into
}

// Composite computes a struct or an array from its parts; zero says that there
// are others, or gaps, which are to be zero.
func Composite(t reflect.Type, parts []Piece, clear bool) Into {
	d := rtype.Descriptor(t)
	return func(f *Frame, dst unsafe.Pointer) {
		if clear {
			rtype.Clear(d, dst)
		}
		for i := range parts {
			p := &parts[i]
			p.Into(f, add(dst, p.Off))
		}
	}
}

// SliceLiteral makes a slice of n elements of a type from its parts.
func SliceLiteral(elem reflect.Type, n int, parts []Piece) Val {
	d, size := rtype.Descriptor(elem), int(elem.Size())
	return NewVal(Slc, func(f *Frame) Slice {
		f.G.spend("the slice", float64(n*size))
		p := rtype.NewArray(d, n)
		for i := range parts {
			parts[i].Into(f, add(p, parts[i].Off))
		}
		return Slice{P: p, Len: n, Cap: n}
	})
}

// MakeSlice is make for slices; c may be the zero Val.
func MakeSlice(t reflect.Type, n, c Val) Val {
	elem := t.Elem()
	d, size, name := rtype.Descriptor(elem), float64(elem.Size()), t.String()
	length, capacity := Int(n), Ex[int64](nil)
	if c.E != nil {
		capacity = Int(c)
	}
	return NewVal(Slc, func(f *Frame) Slice {
		n := length(f)
		k := n
		if capacity != nil {
			k = capacity(f)
		}
		if n < 0 || float64(n)*size > maxAlloc {
			_ = make([]int, minus) // panics: len out of range
		}
		if k < n || float64(k)*size > maxAlloc {
			_ = make([]int, 0, minus) // panics: cap out of range
		}
		f.G.makes(name, k, float64(k)*size)
		return Slice{P: rtype.NewArray(d, int(k)), Len: int(n), Cap: int(k)}
	})
}

const maxAlloc = 1 << 47 // bytes that the run time can allocate at once

var minus = -1

// AppendAll appends elements of any kind to a slice.
func AppendAll(s Val, elems []Val, elem reflect.Type) Val {
	e, d, size := as[Slice](s.E), rtype.Descriptor(elem), elem.Size()
	list := make([]Into, len(elems))
	for i, v := range elems {
		list[i] = AnyInto(v, elem)
	}
	return NewVal(Slc, func(f *Frame) Slice {
		s := e(f)
		more := rtype.NewArray(d, len(list))
		for i, into := range list {
			into(f, add(more, uintptr(i)*size))
		}
		return joined(f, d, size, s, Slice{P: more, Len: len(list), Cap: len(list)})
	})
}

// AppendSlice appends the elements of a slice, or the bytes of a string.
func AppendSlice(s, more Val, elem reflect.Type) Val {
	e, d, size := as[Slice](s.E), rtype.Descriptor(elem), elem.Size()
	if more.K == Str {
		text := as[string](more.E)
		return NewVal(Slc, func(f *Frame) Slice {
			s := e(f)
			more := text(f)
			if s.Cap-s.Len < len(more) {
				f.G.grow(s.Len+len(more), 1)
			}
			t := append(*(*[]byte)(unsafe.Pointer(&s)), more...)
			return *(*Slice)(unsafe.Pointer(&t))
		})
	}
	m := as[Slice](more.E)
	return NewVal(Slc, func(f *Frame) Slice { s := e(f); return joined(f, d, size, s, m(f)) })
}

func joined(f *Frame, d unsafe.Pointer, size uintptr, s, more Slice) Slice {
	if more.Len == 0 {
		return s
	}
	n := s.Len
	if s.Cap-n < more.Len {
		f.G.grow(n+more.Len, size)
		s = rtype.Grow(d, s, more.Len)
	}
	s.Len = n + more.Len
	rtype.Copy(d, Slice{P: add(s.P, uintptr(n)*size), Len: more.Len, Cap: more.Len}, more)
	return s
}

// Copy is the built-in function copy.
func Copy(dst, src Val, elem reflect.Type) Val {
	to, d := as[Slice](dst.E), rtype.Descriptor(elem)
	if src.K == Str {
		from := as[string](src.E)
		return NewVal(I64, func(f *Frame) int64 {
			s := to(f)
			return int64(copy(*(*[]byte)(unsafe.Pointer(&s)), from(f)))
		})
	}
	from := as[Slice](src.E)
	return NewVal(I64, func(f *Frame) int64 { s := to(f); return int64(rtype.Copy(d, s, from(f))) })
}

// ClearSlice is the built-in function clear for slices.
func ClearSlice(s Val, elem reflect.Type) Do {
	e, d, size := as[Slice](s.E), rtype.Descriptor(elem), elem.Size()
	return func(f *Frame) Ctl {
		s := e(f)
		for i := range s.Len {
			rtype.Clear(d, add(s.P, uintptr(i)*size))
		}
		return Next
	}
}

// Len is the built-in function len, and Cap cap, of a slice, string, map or
// channel.
func Len(v Val, isMap bool) Val {
	switch v.K {
	case Str:
		e := as[string](v.E)
		if off := v.slot; off != 0 {
			return NewVal(I64, func(f *Frame) int64 { return int64(len(*(*string)(at(f, off)))) })
		}
		return NewVal(I64, func(f *Frame) int64 { return int64(len(e(f))) })
	case Slc:
		e := as[Slice](v.E)
		if off := v.slot; off != 0 {
			return NewVal(I64, func(f *Frame) int64 { return int64((*Slice)(at(f, off)).Len) })
		}
		return NewVal(I64, func(f *Frame) int64 { return int64(e(f).Len) })
	}
	e := as[unsafe.Pointer](v.E)
	if isMap {
		return NewVal(I64, func(f *Frame) int64 {
			m := e(f)
			if f.shared() {
				defer f.lock(m, false)()
			}
			return int64(len(*(*map[int]int)(unsafe.Pointer(&m))))
		})
	}
	return NewVal(I64, func(f *Frame) int64 { return int64(rtype.ChanLen(e(f))) })
}

// Cap is the built-in function cap.
func Cap(v Val) Val {
	if v.K == Slc {
		e := as[Slice](v.E)
		return NewVal(I64, func(f *Frame) int64 { return int64(e(f).Cap) })
	}
	e := as[unsafe.Pointer](v.E)
	return NewVal(I64, func(f *Frame) int64 { return int64(rtype.ChanCap(e(f))) })
}

// bound returns a bound of a slice expression, which is def if it is left out.
func bound(f *Frame, e Ex[int64], def int) int {
	if e == nil {
		return def
	}
	return int(e(f))
}

func optional(v Val) Ex[int64] {
	if v.E == nil {
		return nil
	}
	return Int(v)
}

// SliceOf is a slice expression of a slice with elements of a size; bounds that
// are left out are the zero Val.
func SliceOf(s, low, high, most Val, size uintptr, pos int32) Val {
	e, lo, hi, mx := as[Slice](s.E), optional(low), optional(high), optional(most)
	bad := badSlice(pos, low, high, most, true)
	return NewVal(Slc, func(f *Frame) Slice {
		s := e(f)
		i := bound(f, lo, 0)
		j := bound(f, hi, s.Len)
		k := bound(f, mx, s.Cap)
		if uint(k) > uint(s.Cap) || uint(j) > uint(k) || uint(i) > uint(j) {
			bad(f, i, j, k, s.Cap)
		}
		s.Cap = k
		return cut(s, i, j, size)
	})
}

// A boundsError is the run time's error of a[i:j:k] whose k is beyond the array: it
// names the length, which only arrays of that length in the text of Go have.
type boundsError string

func (e boundsError) Error() string { return "runtime error: slice bounds out of range [" + string(e) }

// RuntimeError makes e a runtime.Error.
func (boundsError) RuntimeError() {}

// badSlice returns what panics as a slice expression does whose bounds are out of
// range. It slices what takes no memory at bounds of the same types, so that the error
// is the run time's own, of its type. Go looks at the last bound first.
func badSlice(pos int32, low, high, most Val, ofSlice bool) func(f *Frame, i, j, k, limit int) {
	u, v, w, three := low.unsigned, high.unsigned, most.unsigned, most.E != nil
	return func(f *Frame, i, j, k, limit int) {
		if pos != 0 {
			f.Pos = pos
		}
		s := make([]struct{}, limit)
		switch {
		case three && uint(k) > uint(limit) && !ofSlice && (k >= 0 || w):
			panic(boundsError(fmt.Sprintf("::%d] with length %d", uint(k), limit)))
		case three && uint(k) > uint(limit) && w:
			_ = s[0:0:uint(k)]
		case three && uint(k) > uint(limit):
			_ = s[0:0:k]
		case three && uint(j) > uint(k) && v:
			_ = s[0:uint(j):k]
		case three && uint(j) > uint(k):
			_ = s[0:j:k]
		case three && u:
			_ = s[uint(i):j:k]
		case three:
			_ = s[i:j:k]
		case uint(j) > uint(limit) && !ofSlice && v:
			_ = textOf(limit)[:uint(j)]
		case uint(j) > uint(limit) && !ofSlice:
			_ = textOf(limit)[:j]
		case uint(j) > uint(limit) && v:
			_ = s[:uint(j)]
		case uint(j) > uint(limit):
			_ = s[:j]
		case u:
			_ = s[uint(i):j]
		}
		_ = s[i:j]
	}
}

// textOf returns a string that has a length, but no bytes to read.
//
//go:nocheckptr
func textOf(length int) string { return unsafe.String(&someByte, length) }

// cut does not let a slice of capacity 0 point behind its memory.
func cut(s Slice, i, j int, size uintptr) Slice {
	if s.Cap > i {
		s.P = add(s.P, uintptr(i)*size)
	}
	return Slice{P: s.P, Len: j - i, Cap: s.Cap - i}
}

// SliceArray is a slice expression of an array of n elements at an address.
func SliceArray(addr Ex[unsafe.Pointer], n int, low, high, most Val, size uintptr, pos int32) Val {
	lo, hi, mx := optional(low), optional(high), optional(most)
	bad := badSlice(pos, low, high, most, false)
	return NewVal(Slc, func(f *Frame) Slice {
		p := addr(f)
		i := bound(f, lo, 0)
		j := bound(f, hi, n)
		k := bound(f, mx, n)
		if p == nil {
			isNil(f, pos)
		}
		if uint(k) > uint(n) || uint(j) > uint(k) || uint(i) > uint(j) {
			bad(f, i, j, k, n)
		}
		return cut(Slice{P: p, Len: n, Cap: k}, i, j, size)
	})
}

var someByte byte

// SliceString is a slice expression of a string.
func SliceString(s, low, high Val, pos int32) Val {
	e, lo, hi := as[string](s.E), optional(low), optional(high)
	bad := badSlice(pos, low, high, Val{}, false)
	return NewVal(Str, func(f *Frame) string {
		s := e(f)
		i := bound(f, lo, 0)
		j := bound(f, hi, len(s))
		if uint(j) > uint(len(s)) || uint(i) > uint(j) {
			bad(f, i, j, 0, len(s))
		}
		return s[i:j]
	})
}

// ByteOf is an index expression of a string.
func ByteOf(s, i Val, pos int32) Val {
	e, k, bad := as[string](s.E), Int(i), &failure{pos, i.unsigned}
	if at1, at2 := s.slot, i.slot; at1 != 0 && at2 != 0 {
		return NewVal(U8, func(f *Frame) uint8 {
			s, k := *(*string)(at(f, at1)), *(*int64)(at(f, at2))
			if uint64(k) >= uint64(len(s)) {
				badIndex(f, bad, k, len(s))
			}
			return s[k]
		})
	}
	return NewVal(U8, func(f *Frame) uint8 {
		s := e(f)
		k := k(f)
		if uint64(k) >= uint64(len(s)) {
			badIndex(f, bad, k, len(s))
		}
		return s[k]
	})
}

// SliceToArray is the conversion of a slice to a pointer to an array of n
// elements, or to the value at that.
func SliceToArray(s Val, n int, value bool) Ex[unsafe.Pointer] {
	e := as[Slice](s.E)
	return func(f *Frame) unsafe.Pointer {
		s := e(f)
		if s.Len < n {
			arrayTooLong(s.Len, n)
		}
		if value && n == 0 { // a nil slice, too, has the elements of this array
			return unsafe.Pointer(&someByte)
		}
		return s.P
	}
}

func arrayTooLong(have, want int) {
	panic(lengthError(fmt.Sprintf("cannot convert slice with length %d to array or pointer to array with length %d", have, want)))
}

// A lengthError is the run time's error of a conversion to an array.
type lengthError string

func (e lengthError) Error() string { return "runtime error: " + string(e) }

// RuntimeError makes e a runtime.Error.
func (lengthError) RuntimeError() {}

// Text converts between strings, bytes and runes.
func Text(to, from reflect.Type, v Val) Val {
	switch {
	case v.K == Str && to.Elem().Kind() == reflect.Uint8:
		e := as[string](v.E)
		return NewVal(Slc, func(f *Frame) Slice {
			s := e(f)
			f.G.spend("the conversion", float64(len(s)))
			b := []byte(s)
			return *(*Slice)(unsafe.Pointer(&b))
		})
	case v.K == Str:
		e := as[string](v.E)
		return NewVal(Slc, func(f *Frame) Slice {
			s := e(f)
			f.G.spend("the conversion", 4*float64(len(s)))
			r := []rune(s)
			return *(*Slice)(unsafe.Pointer(&r))
		})
	case v.K == Slc && from.Elem().Kind() == reflect.Uint8:
		e := as[Slice](v.E)
		return NewVal(Str, func(f *Frame) string {
			s := e(f)
			f.G.spend("the conversion", float64(s.Len))
			return string(*(*[]byte)(unsafe.Pointer(&s)))
		})
	case v.K == Slc:
		e := as[Slice](v.E)
		return NewVal(Str, func(f *Frame) string {
			s := e(f)
			f.G.spend("the conversion", float64(s.Len))
			return string(*(*[]rune)(unsafe.Pointer(&s)))
		})
	case v.K.IsSigned():
		e := as[int64](Convert(I64, v).E)
		return NewVal(Str, func(f *Frame) string { return string(rune32(e(f))) })
	}
	e := as[uint64](Convert(U64, v).E)
	return NewVal(Str, func(f *Frame) string { return string(rune32(int64(min(e(f), math.MaxInt64)))) })
}

// rune32 returns what string makes of an integer: it is U+FFFD if it is no rune.
func rune32(i int64) rune {
	if i < 0 || i > math.MaxInt32 {
		return -1
	}
	return rune(i)
}

// RangeSlice runs the body for each element of the slice that is at an offset of
// the frame; index is where the number of the turn is.
func RangeSlice(slice, index int32, enter func(f *Frame), body Do, l Loop) Do {
	return func(f *Frame) Ctl {
		n := int64((*Slice)(at(f, slice)).Len)
		for k := int64(0); k < n; k++ {
			*(*int64)(at(f, index)) = k
			if enter != nil {
				enter(f)
			}
			if k := body(f); k != Next {
				if k, over := l.ends(k); over {
					return k
				}
			}
			poll(f)
		}
		return Next
	}
}

// Unchecked is the element of the slice in the frame whose index is there, too,
// and in range.
func Unchecked(slice, index int32, size uintptr) Place {
	return Memory(func(f *Frame) unsafe.Pointer {
		return add((*Slice)(at(f, slice)).P, uintptr(*(*int64)(at(f, index)))*size)
	})
}

// Pointed stores a slice of all of an array in the frame, for a loop over its
// elements.
func Pointed(slice int32, addr Ex[unsafe.Pointer], n int) Do {
	return func(f *Frame) Ctl {
		*(*Slice)(at(f, slice)) = Slice{P: addr(f), Len: n, Cap: n}
		return Next
	}
}

// Enter makes a function that is called at the begin of a loop's turn from
// statements.
func Enter(all []Do) func(f *Frame) {
	switch len(all) {
	case 0:
		return nil
	case 1:
		a := all[0]
		return func(f *Frame) { a(f) }
	}
	return func(f *Frame) {
		for _, s := range all {
			s(f)
		}
	}
}

// EqualAgg compares two structs or arrays of a type with ==, and with != if not.
func EqualAgg(l, r Val, t reflect.Type, spare, other int32, not bool) Ex[bool] {
	eq := rtype.Equal(t)
	address := func(v Val, spare int32) Ex[unsafe.Pointer] {
		if v.Addr != nil {
			return v.Addr
		}
		return Spill(intoOf(v), spare)
	}
	a, b := address(l, spare), address(r, other)
	return func(f *Frame) bool {
		x := a(f)
		y := b(f)
		return eq(nonNil(x), nonNil(y)) != not
	}
}
