package code

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"strconv"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// An Address is the address of a value.
type Address = unsafe.Pointer

// After is an address that is computed after a statement.
func After(s Do, addr Ex[unsafe.Pointer]) Ex[unsafe.Pointer] {
	return func(f *Frame) unsafe.Pointer { s(f); return addr(f) }
}

// Before prepares a call after a statement.
func Before(s Do, p Prepare) Prepare {
	return func(f *Frame, g *G) *Frame { s(f); return p(f, g) }
}

// IsNil compares with nil, with != if not.
func IsNil(v Val, not bool) Ex[bool] {
	switch v.K {
	case Ptr:
		e := as[unsafe.Pointer](v.E)
		if not {
			return func(f *Frame) bool { return e(f) != nil }
		}
		return func(f *Frame) bool { return e(f) == nil }
	case Slc:
		e := as[Slice](v.E)
		return func(f *Frame) bool { return (e(f).P == nil) != not }
	case Ifc:
		e := as[Iface](v.E)
		return func(f *Frame) bool { return (e(f).Tab == nil) != not }
	}
	panic("code: a value that is never nil")
}

// Fixed is a pointer that does not change.
func Fixed(p unsafe.Pointer) Val { return Of(Ptr).Const(p) }

// NonNilInterface is an interface of which a method is taken, at a place.
func NonNilInterface(v Val, pos int32) Val {
	e := as[Iface](v.E)
	return NewVal(Ifc, func(f *Frame) Iface {
		i := e(f)
		if i.Tab == nil {
			isNil(f, pos)
		}
		return i
	})
}

// ValueMethod is the address of a receiver, for a method of a type, as "main.T", that is
// declared on the value.
func ValueMethod(addr Ex[unsafe.Pointer], typ, method string, pos int32) Ex[unsafe.Pointer] {
	return func(f *Frame) unsafe.Pointer {
		p := addr(f)
		if p == nil {
			if pos > 0 {
				f.Pos = pos
			}
			panic(rtype.NilReceiver(typ, method))
		}
		return p
	}
}

// ReturnAt is a return statement at a place, from where deferred calls are made.
func ReturnAt(pos int32, s Do) Do {
	return func(f *Frame) Ctl {
		k := s(f)
		f.Pos = pos
		return k
	}
}

// ReturnAfter returns after statements.
func ReturnAfter(all []Do) Do {
	if len(all) == 1 {
		return ReturnValue(all[0])
	}
	return func(f *Frame) Ctl {
		for _, s := range all {
			s(f)
		}
		return Return
	}
}

// ReturnValue returns after a statement.
func ReturnValue(s Do) Do {
	return func(f *Frame) Ctl {
		s(f)
		return Return
	}
}

// CondAt notes the place of a condition.
func CondAt(pos int32, cond Ex[bool]) Ex[bool] {
	return func(f *Frame) bool { f.Pos = pos; return cond(f) }
}

// CondAfter is a condition after a statement.
func CondAfter(s Do, cond Ex[bool]) Ex[bool] {
	return func(f *Frame) bool { s(f); return cond(f) }
}

// Clamp is an unsigned number as a signed one.
func Clamp(v Val) Val {
	e := as[uint64](v.E)
	return NewVal(I64, func(f *Frame) int64 { return int64(min(e(f), math.MaxInt64)) })
}

// Print is print and println.
func Print(vals []Val, line bool) Do {
	texts := make([]func(f *Frame, b []byte) []byte, len(vals))
	for i, v := range vals {
		texts[i] = printed(v)
	}
	return func(f *Frame) Ctl {
		var b []byte
		for i, text := range texts {
			if i > 0 && line {
				b = append(b, ' ')
			}
			b = text(f, b)
		}
		if line {
			b = append(b, '\n')
		}
		if p := f.G.M.Print; p != nil {
			p(string(b))
		} else {
			print(string(b))
		}
		return Next
	}
}

func printed(v Val) func(f *Frame, b []byte) []byte {
	switch v.K {
	case Bool:
		e := as[bool](v.E)
		return func(f *Frame, b []byte) []byte { return strconv.AppendBool(b, e(f)) }
	case Str:
		e := as[string](v.E)
		return func(f *Frame, b []byte) []byte { return append(b, e(f)...) }
	case U64:
		e := as[uint64](v.E)
		return func(f *Frame, b []byte) []byte { return strconv.AppendUint(b, e(f), 10) }
	case F32:
		e := as[float32](v.E)
		return func(f *Frame, b []byte) []byte { return appendFloat(b, float64(e(f)), 32) }
	case F64:
		e := as[float64](v.E)
		return func(f *Frame, b []byte) []byte { return appendFloat(b, e(f), 64) }
	case C64:
		e := as[complex64](v.E)
		return func(f *Frame, b []byte) []byte { return appendComplex(b, complex128(e(f)), 32) }
	case C128:
		e := as[complex128](v.E)
		return func(f *Frame, b []byte) []byte { return appendComplex(b, e(f), 64) }
	case Ptr:
		e := as[unsafe.Pointer](v.E)
		return func(f *Frame, b []byte) []byte { return fmt.Appendf(b, "%#x", uintptr(e(f))) }
	case Slc:
		e := as[Slice](v.E)
		return func(f *Frame, b []byte) []byte {
			s := e(f)
			return fmt.Appendf(b, "[%d/%d]%#x", s.Len, s.Cap, uintptr(s.P))
		}
	case Ifc:
		e := as[Iface](v.E)
		return func(f *Frame, b []byte) []byte {
			i := e(f)
			return fmt.Appendf(b, "(%#x,%#x)", uintptr(i.Tab), uintptr(i.Data))
		}
	}
	e := as[int64](Convert(I64, v).E)
	return func(f *Frame, b []byte) []byte { return strconv.AppendInt(b, e(f), 10) }
}

// appendFloat writes a number of 32 or 64 bits as print does.
func appendFloat(b []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, "NaN"...)
	case math.IsInf(x, 1):
		return append(b, "+Inf"...)
	case math.IsInf(x, -1):
		return append(b, "-Inf"...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, bits)
}

func appendComplex(b []byte, x complex128, bits int) []byte {
	b = appendFloat(append(b, '('), real(x), bits)
	if i := imag(x); !math.Signbit(i) && !math.IsInf(i, 1) || math.IsNaN(i) {
		b = append(b, '+')
	}
	return append(appendFloat(b, imag(x), bits), "i)"...)
}

// A rangeState is a loop over a function.
type rangeState struct {
	f     *Frame
	k     Ctl
	state rangeStage
}

type rangeStage uint8

const (
	ready rangeStage = iota
	running
	returned
	exhausted
	failed
)

// A rangeError is the run time's error of a function that calls the body of a
// loop when it must not.
type rangeError string

func (e rangeError) Error() string { return "runtime error: range function " + string(e) }

// RuntimeError makes e a runtime.Error.
func (rangeError) RuntimeError() {}

var rangeErrors = map[rangeStage]rangeError{
	running:   "continued iteration after loop body panic",
	failed:    "continued iteration after loop body panic",
	returned:  "continued iteration after function for loop body returned false",
	exhausted: "continued iteration after whole loop exit",
}

// RangeFunc is a loop over a function: its body is called with the variables'
// values, which it stores at offsets of the frame that the loop is in.
func RangeFunc(m *Machine, fun Val, fs, ys *Signature, offs []int32, enter func(*Frame), body Do, l Loop) Do {
	entry := yieldEntry(m, ys, offs, enter, body, l)
	at1 := fs.ParamAt[0]
	return func(f *Frame) Ctl {
		s := &rangeState{f: f}
		y := ys.Value(&Closure{Entry: entry, Env: unsafe.Pointer(s)})
		arg := func(_, c *Frame) { *(*unsafe.Pointer)(at(c, at1)) = y }
		p := PrepareValue(m, fs, fun, []Arg{arg}, f.Pos)
		f.once = true // an iterator may keep the body
		c := p(f, f.G)
		f.G.call(c)
		f.G.release(c)
		if s.state == failed {
			panic(rangeError("recovered a loop body panic and did not resume panicking"))
		}
		s.state = exhausted
		k, _ := l.ends(s.k)
		return k
	}
}

// yieldEntry makes the function that an iterator calls for each turn.
func yieldEntry(m *Machine, ys *Signature, offs []int32, enter func(*Frame), body Do, l Loop) *Entry {
	layout := NewLayout()
	for i := range len(ys.Params) + len(ys.Results) {
		t := ys.typeAt(i)
		layout.Add(t.Size(), func(off uintptr, set func(int)) { rtype.Pointers(t, off, set) })
	}
	types := make([]unsafe.Pointer, len(offs))
	for i := range offs {
		types[i] = rtype.Descriptor(ys.Type.In(i))
	}
	fn := &Func{Name: "the body of a loop", Sig: ys, Layout: layout, M: m}
	fn.Body = func(c *Frame) Ctl {
		s := (*rangeState)(c.Env)
		if s.state != ready {
			panic(rangeErrors[s.state])
		}
		s.state = failed
		f := s.f
		for i, off := range offs {
			rtype.Move(types[i], at(f, off), at(c, ys.ParamAt[i]))
		}
		top := f.G.Top
		if enter != nil {
			enter(f)
		}
		k := body(f)
		f.G.Top = top
		s.state = ready
		goesOn := true
		if k != Next {
			if _, over := l.ends(k); over {
				s.k, s.state, goesOn = k, returned, false
			}
		}
		*(*bool)(at(c, ys.ResultAt[0])) = goesOn
		return Return
	}
	fn.Finish(2)
	return &Entry{Fn: fn}
}

// Show hands the values of interfaces without methods to a function.
func Show(vals []Val, show func([]any)) Do {
	list := make([]Ex[Iface], len(vals))
	for i, v := range vals {
		list[i] = as[Iface](v.E)
	}
	return func(f *Frame) Ctl {
		out := make([]any, len(list))
		for i, e := range list {
			x := e(f)
			out[i] = *(*any)(unsafe.Pointer(&x))
		}
		show(out)
		return Next
	}
}

// Set stores a value in a package-level variable of its type.
func (v *Var) Set(x reflect.Value) { reflect.NewAt(x.Type(), v.P).Elem().Set(x) }

// Computed is the value that into computes, which it does into spare.
func Computed(t reflect.Type, into Into, spare int32) Val {
	return InMemory(Memory(Spill(into, spare)), t)
}

// SameLayout reports whether values of two types have the same size, and pointers
// at the same places.
func SameLayout(a, b reflect.Type) bool {
	words := func(t reflect.Type) map[int]bool {
		m := map[int]bool{}
		rtype.Pointers(t, 0, func(w int) { m[w] = true })
		return m
	}
	return a.Size() == b.Size() && maps.Equal(words(a), words(b))
}
