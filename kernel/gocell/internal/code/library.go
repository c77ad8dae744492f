package code

import (
	"reflect"
	"sync"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A shape is a list of classes of parameters and results: all function types of
// one shape pass them in the same registers.
type shape struct {
	// adapt returns a function value that calls a function of cells; it may be nil.
	adapt func(c *Closure) unsafe.Pointer
	// call calls a function value of a library; of the arguments it is given the
	// Ex of their classes, and it returns that of the result, or a Do if there is
	// none. It is nil where pair is not, and both are nil for shapes that few functions
	// of libraries have.
	call func(fn Ex[unsafe.Pointer], args []any, pos int32) any
	// pair is call for two results, which it stores in the frame.
	pair func(fn Ex[unsafe.Pointer], args []any, to, next, pos int32) Do
}

var shapes = sync.OnceValue(func() map[string]*shape {
	m := map[string]*shape{}
	addShapes(m)
	return m
})

// class is the Go types that stand for the classes.
type class interface {
	int64 | float64 | string | unsafe.Pointer | Slice | Iface
}

func letter[T class]() string {
	switch any(*new(T)).(type) {
	case int64:
		return "I"
	case float64:
		return "F"
	case string:
		return "S"
	case unsafe.Pointer:
		return "P"
	case Slice:
		return "L"
	}
	return "E"
}

func addShapes(m map[string]*shape) {
	results0(m)
	add1[int64](m)
	add1[float64](m)
	add1[string](m)
	add1[unsafe.Pointer](m)
	add1[Slice](m)
	add1[Iface](m)
	calls2(m)
	otherCalls2(m)
	adapters(m)
}

func add1[A class](m map[string]*shape) {
	results1[A](m)
	yields[A, int64](m)
	yields[A, float64](m)
	yields[A, string](m)
	yields[A, unsafe.Pointer](m)
	yields[A, Slice](m)
	yields[A, Iface](m)
}

// in returns the shape of a key, which it adds where it is new.
func in(m map[string]*shape, key string) *shape {
	s := m[key]
	if s == nil {
		s = &shape{}
		m[key] = s
	}
	return s
}

// yields adds the function values of two parameters that loops over functions give, and
// those without a result.
func yields[A, B class](m map[string]*shape) {
	in(m, letter[A]()+letter[B]()+">").adapt = adapt2[A, B]
	in(m, letter[A]()+letter[B]()+">I").adapt = adapt2r[A, B, int64]
}

func value2[A, B, R class](m map[string]*shape) {
	in(m, letter[A]()+letter[B]()+">"+letter[R]()).adapt = adapt2r[A, B, R]
}

func values2[A, B, R, S class](m map[string]*shape) {
	in(m, letter[A]()+letter[B]()+">"+letter[R]()+letter[S]()).adapt = adapt2p[A, B, R, S]
}

func none2[A, B class](m map[string]*shape) {
	in(m, letter[A]()+letter[B]()+">").call = call2[A, B]
}

func one2[A, B, R class](m map[string]*shape) {
	in(m, letter[A]()+letter[B]()+">"+letter[R]()).call = call2r[A, B, R]
}

func two2[A, B, R, S class](m map[string]*shape) {
	in(m, letter[A]()+letter[B]()+">"+letter[R]()+letter[S]()).pair = pair2[A, B, R, S]
}

// adapters adds the function values that libraries want most, methods with their
// receiver among them.
func adapters(m map[string]*shape) {
	value2[int64, int64, float64](m)
	value2[int64, int64, string](m)
	value2[float64, float64, float64](m)
	value2[string, string, string](m)
	value2[Slice, Slice, float64](m)
	value2[Slice, Slice, Slice](m)
	value2[Iface, Iface, Iface](m)
	value2[Iface, Iface, float64](m)
	value2[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer](m)
	value2[unsafe.Pointer, int64, unsafe.Pointer](m)
	value2[unsafe.Pointer, Iface, Iface](m)
	value2[unsafe.Pointer, Slice, Iface](m)
	value2[unsafe.Pointer, unsafe.Pointer, Iface](m)
	value2[int64, Slice, Iface](m)
	value2[Slice, int64, float64](m)
	value2[int64, float64, float64](m)
	value2[float64, int64, float64](m)
	value2[string, int64, string](m)
	value2[string, string, Iface](m)
	value2[unsafe.Pointer, int64, Iface](m)
	value2[unsafe.Pointer, int64, float64](m)
	value2[unsafe.Pointer, int64, string](m)
	value2[unsafe.Pointer, float64, float64](m)
	values2[unsafe.Pointer, Slice, int64, Iface](m)
	values2[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, Iface](m)
	values2[unsafe.Pointer, string, unsafe.Pointer, Iface](m)
	in(m, "PII>").adapt = adapt3[unsafe.Pointer, int64, int64]
	in(m, "PII>I").adapt = adapt3r[unsafe.Pointer, int64, int64, int64]
	in(m, "PII>F").adapt = adapt3r[unsafe.Pointer, int64, int64, float64]
}

// calls2 adds the calls of functions with two parameters, or a method's receiver and one:
// of the shapes that at least five functions have that cells can import.
func calls2(m map[string]*shape) {
	one2[unsafe.Pointer, int64, Iface](m)
	one2[unsafe.Pointer, Iface, Iface](m)
	one2[unsafe.Pointer, Slice, Iface](m)
	one2[unsafe.Pointer, int64, int64](m)
	one2[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer](m)
	one2[unsafe.Pointer, float64, float64](m)
	one2[unsafe.Pointer, Iface, int64](m)
	one2[int64, int64, Iface](m)
	one2[int64, unsafe.Pointer, Iface](m)
	one2[unsafe.Pointer, unsafe.Pointer, Iface](m)
	one2[unsafe.Pointer, string, Iface](m)
	one2[Slice, Slice, Slice](m)
	one2[unsafe.Pointer, int64, unsafe.Pointer](m)
	one2[float64, float64, float64](m)
	one2[unsafe.Pointer, unsafe.Pointer, int64](m)
	one2[unsafe.Pointer, Slice, Slice](m)
	one2[string, int64, Iface](m)
	one2[int64, int64, int64](m)
	one2[Slice, Slice, int64](m)
	one2[string, string, Iface](m)
	one2[unsafe.Pointer, unsafe.Pointer, Slice](m)
	one2[Slice, Slice, float64](m)
	one2[Slice, int64, int64](m)
	one2[unsafe.Pointer, string, unsafe.Pointer](m)
	one2[unsafe.Pointer, string, string](m)
	one2[unsafe.Pointer, int64, float64](m)
	one2[unsafe.Pointer, Slice, float64](m)
	one2[unsafe.Pointer, Iface, unsafe.Pointer](m)
	one2[Iface, Iface, int64](m)
	one2[unsafe.Pointer, Slice, unsafe.Pointer](m)
	one2[unsafe.Pointer, Slice, int64](m)
	one2[string, string, int64](m)
	one2[float64, float64, unsafe.Pointer](m)
	one2[string, unsafe.Pointer, Iface](m)
	one2[unsafe.Pointer, string, Slice](m)
	one2[unsafe.Pointer, int64, Slice](m)
	one2[Slice, int64, Slice](m)
	one2[Slice, int64, Iface](m)
	one2[Iface, Slice, Iface](m)
	one2[Slice, Slice, unsafe.Pointer](m)
	one2[Iface, unsafe.Pointer, unsafe.Pointer](m)
	one2[Iface, Iface, Iface](m)
	one2[string, string, string](m)
	one2[int64, int64, unsafe.Pointer](m)
	one2[unsafe.Pointer, int64, string](m)
	one2[int64, Iface, Iface](m)
	one2[int64, Slice, Iface](m)
	one2[string, Slice, Iface](m)
	one2[Slice, string, Slice](m)
	one2[unsafe.Pointer, string, int64](m)
	one2[string, Iface, Iface](m)
	one2[Iface, unsafe.Pointer, Iface](m)
	one2[Iface, int64, unsafe.Pointer](m)
	one2[string, int64, unsafe.Pointer](m)
	one2[Iface, Iface, unsafe.Pointer](m)
	one2[string, string, unsafe.Pointer](m)
	one2[Slice, unsafe.Pointer, int64](m)
	one2[int64, string, Iface](m)
	one2[Iface, int64, Iface](m)
	one2[int64, Slice, int64](m)
	one2[float64, Slice, Slice](m)
	one2[Slice, string, int64](m)
	one2[string, Slice, unsafe.Pointer](m)
	one2[Slice, Iface, Iface](m)
	one2[Slice, unsafe.Pointer, Slice](m)
	one2[Iface, unsafe.Pointer, int64](m)
	one2[Iface, Slice, unsafe.Pointer](m)
	one2[unsafe.Pointer, Iface, float64](m)
	one2[int64, Slice, unsafe.Pointer](m)
	one2[string, unsafe.Pointer, string](m)
}

// otherCalls2 adds those without a result and with two.
func otherCalls2(m map[string]*shape) {
	none2[unsafe.Pointer, Iface](m)
	none2[unsafe.Pointer, int64](m)
	none2[unsafe.Pointer, unsafe.Pointer](m)
	none2[unsafe.Pointer, Slice](m)
	none2[unsafe.Pointer, float64](m)
	none2[unsafe.Pointer, string](m)
	none2[Slice, Slice](m)
	none2[Iface, Iface](m)
	none2[Iface, unsafe.Pointer](m)
	none2[string, Slice](m)
	none2[Iface, Slice](m)
	none2[int64, unsafe.Pointer](m)
	none2[string, string](m)
	none2[string, Iface](m)
	none2[string, unsafe.Pointer](m)
	two2[unsafe.Pointer, Slice, int64, Iface](m)
	two2[unsafe.Pointer, Slice, unsafe.Pointer, Iface](m)
	two2[unsafe.Pointer, Iface, int64, Iface](m)
	two2[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, Iface](m)
	two2[int64, int64, unsafe.Pointer, Iface](m)
	two2[unsafe.Pointer, string, unsafe.Pointer, Iface](m)
	two2[int64, int64, int64, Iface](m)
	two2[int64, Slice, int64, Iface](m)
	two2[string, string, unsafe.Pointer, Iface](m)
	two2[string, Slice, int64, Iface](m)
	two2[Iface, int64, unsafe.Pointer, Iface](m)
	two2[unsafe.Pointer, string, string, Iface](m)
	two2[unsafe.Pointer, int64, unsafe.Pointer, Iface](m)
	two2[unsafe.Pointer, string, int64, Iface](m)
	two2[string, unsafe.Pointer, unsafe.Pointer, Iface](m)
	two2[Iface, Slice, int64, Iface](m)
	two2[Iface, Slice, unsafe.Pointer, Iface](m)
	two2[unsafe.Pointer, int64, int64, Iface](m)
	two2[unsafe.Pointer, Iface, unsafe.Pointer, Iface](m)
	two2[string, int64, int64, Iface](m)
	two2[string, string, int64, Iface](m)
	two2[Iface, string, unsafe.Pointer, Iface](m)
	two2[unsafe.Pointer, Slice, string, Iface](m)
	two2[string, Slice, unsafe.Pointer, Iface](m)
	two2[int64, string, unsafe.Pointer, Iface](m)
}

func results0(m map[string]*shape) {
	m[">"] = &shape{adapt: adapt0, call: call0}
	add := func(k string, s *shape) { m[">"+k] = s }
	add("I", &shape{adapt: adapt0r[int64], call: call0r[int64]})
	add("F", &shape{adapt: adapt0r[float64], call: call0r[float64]})
	add("S", &shape{adapt: adapt0r[string], call: call0r[string]})
	add("P", &shape{adapt: adapt0r[unsafe.Pointer], call: call0r[unsafe.Pointer]})
	add("L", &shape{adapt: adapt0r[Slice], call: call0r[Slice]})
	add("E", &shape{adapt: adapt0r[Iface], call: call0r[Iface]})
}

func results1[A class](m map[string]*shape) {
	a := letter[A]()
	m[a+">"] = &shape{adapt: adapt1[A], call: call1[A]}
	add := func(k string, s *shape) { m[a+">"+k] = s }
	add("I", &shape{adapt: adapt1r[A, int64], call: call1r[A, int64]})
	add("F", &shape{adapt: adapt1r[A, float64], call: call1r[A, float64]})
	add("S", &shape{adapt: adapt1r[A, string], call: call1r[A, string]})
	add("P", &shape{adapt: adapt1r[A, unsafe.Pointer], call: call1r[A, unsafe.Pointer]})
	add("L", &shape{adapt: adapt1r[A, Slice], call: call1r[A, Slice]})
	add("E", &shape{adapt: adapt1r[A, Iface], call: call1r[A, Iface]})
	add("IE", &shape{adapt: adapt1p[A, int64, Iface], pair: pair1[A, int64, Iface]})
	add("FE", &shape{adapt: adapt1p[A, float64, Iface], pair: pair1[A, float64, Iface]})
	add("SE", &shape{adapt: adapt1p[A, string, Iface], pair: pair1[A, string, Iface]})
	add("PE", &shape{adapt: adapt1p[A, unsafe.Pointer, Iface], pair: pair1[A, unsafe.Pointer, Iface]})
	add("LE", &shape{adapt: adapt1p[A, Slice, Iface], pair: pair1[A, Slice, Iface]})
	add("EE", &shape{adapt: adapt1p[A, Iface, Iface], pair: pair1[A, Iface, Iface]})
	add("II", &shape{adapt: adapt1p[A, int64, int64], pair: pair1[A, int64, int64]})
	add("SI", &shape{adapt: adapt1p[A, string, int64], pair: pair1[A, string, int64]})
	add("EI", &shape{adapt: adapt1p[A, Iface, int64], pair: pair1[A, Iface, int64]})
}

// wide is how many bytes a value of a class takes in a frame.
func wide[T class]() int32 { return int32(unsafe.Sizeof(*new(T))) }

func put[T class](f *Frame, off int32, x T) { *(*T)(at(f, off)) = x }

func get[T class](f *Frame, off int32) T { return *(*T)(at(f, off)) }

// function returns a Go function as the word that it is.
func function[F any](f F) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&f)) }

const first = int32(header)

func adapt0(c *Closure) unsafe.Pointer {
	return function(func() {
		g, f := c.enter()
		g.run(f)
		g.leave(f)
	})
}

func adapt0r[R class](c *Closure) unsafe.Pointer {
	return function(func() R {
		g, f := c.enter()
		g.run(f)
		r := get[R](f, first)
		g.leave(f)
		return r
	})
}

func adapt1[A class](c *Closure) unsafe.Pointer {
	return function(func(a A) {
		g, f := c.enter()
		put(f, first, a)
		g.run(f)
		g.leave(f)
	})
}

func adapt1r[A, R class](c *Closure) unsafe.Pointer {
	return function(func(a A) R {
		g, f := c.enter()
		put(f, first, a)
		g.run(f)
		r := get[R](f, first+wide[A]())
		g.leave(f)
		return r
	})
}

func adapt1p[A, R, S class](c *Closure) unsafe.Pointer {
	return function(func(a A) (R, S) {
		g, f := c.enter()
		put(f, first, a)
		g.run(f)
		r, s := get[R](f, first+wide[A]()), get[S](f, first+wide[A]()+wide[R]())
		g.leave(f)
		return r, s
	})
}

func adapt2[A, B class](c *Closure) unsafe.Pointer {
	return function(func(a A, b B) {
		g, f := c.enter()
		put(f, first, a)
		put(f, first+wide[A](), b)
		g.run(f)
		g.leave(f)
	})
}

func adapt2r[A, B, R class](c *Closure) unsafe.Pointer {
	return function(func(a A, b B) R {
		g, f := c.enter()
		put(f, first, a)
		put(f, first+wide[A](), b)
		g.run(f)
		r := get[R](f, first+wide[A]()+wide[B]())
		g.leave(f)
		return r
	})
}

func adapt2p[A, B, R, S class](c *Closure) unsafe.Pointer {
	return function(func(a A, b B) (R, S) {
		g, f := c.enter()
		put(f, first, a)
		put(f, first+wide[A](), b)
		g.run(f)
		at := first + wide[A]() + wide[B]()
		r, s := get[R](f, at), get[S](f, at+wide[R]())
		g.leave(f)
		return r, s
	})
}

func adapt3[A, B, C class](c *Closure) unsafe.Pointer {
	return function(func(x A, y B, z C) {
		g, f := c.enter()
		put(f, first, x)
		put(f, first+wide[A](), y)
		put(f, first+wide[A]()+wide[B](), z)
		g.run(f)
		g.leave(f)
	})
}

func adapt3r[A, B, C, R class](c *Closure) unsafe.Pointer {
	return function(func(x A, y B, z C) R {
		g, f := c.enter()
		put(f, first, x)
		put(f, first+wide[A](), y)
		put(f, first+wide[A]()+wide[B](), z)
		g.run(f)
		r := get[R](f, first+wide[A]()+wide[B]()+wide[C]())
		g.leave(f)
		return r
	})
}

// lib returns a function value as a Go function of a shape.
func lib[F any](p unsafe.Pointer) F { return *(*F)(unsafe.Pointer(&p)) }

func call0(fn Ex[unsafe.Pointer], _ []any, pos int32) any {
	return func(f *Frame) Ctl { p := fn(f); f.leaves(pos); lib[func()](p)(); return Next }
}

func call0r[R class](fn Ex[unsafe.Pointer], _ []any, pos int32) any {
	return func(f *Frame) R { p := fn(f); f.leaves(pos); return lib[func() R](p)() }
}

func call1[A class](fn Ex[unsafe.Pointer], args []any, pos int32) any {
	a := args[0].(Ex[A])
	return func(f *Frame) Ctl { p := fn(f); x := a(f); f.leaves(pos); lib[func(A)](p)(x); return Next }
}

func call1r[A, R class](fn Ex[unsafe.Pointer], args []any, pos int32) any {
	a := args[0].(Ex[A])
	return func(f *Frame) R { p := fn(f); x := a(f); f.leaves(pos); return lib[func(A) R](p)(x) }
}

func pair1[A, R, S class](fn Ex[unsafe.Pointer], args []any, to, next, pos int32) Do {
	a := args[0].(Ex[A])
	return func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		f.leaves(pos)
		r, s := lib[func(A) (R, S)](p)(x)
		put(f, to, r)
		put(f, next, s)
		return Next
	}
}

func call2[A, B class](fn Ex[unsafe.Pointer], args []any, pos int32) any {
	a, b := args[0].(Ex[A]), args[1].(Ex[B])
	return func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		y := b(f)
		f.leaves(pos)
		lib[func(A, B)](p)(x, y)
		return Next
	}
}

func call2r[A, B, R class](fn Ex[unsafe.Pointer], args []any, pos int32) any {
	a, b := args[0].(Ex[A]), args[1].(Ex[B])
	return func(f *Frame) R {
		p := fn(f)
		x := a(f)
		y := b(f)
		f.leaves(pos)
		return lib[func(A, B) R](p)(x, y)
	}
}

func pair2[A, B, R, S class](fn Ex[unsafe.Pointer], args []any, to, next, pos int32) Do {
	a, b := args[0].(Ex[A]), args[1].(Ex[B])
	return func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		y := b(f)
		f.leaves(pos)
		r, s := lib[func(A, B) (R, S)](p)(x, y)
		put(f, to, r)
		put(f, next, s)
		return Next
	}
}

// CallLibrary calls a function value of a library, at a place, and stores its
// results in the frame.
func CallLibrary(s *Signature, fn Val, args []Val, to []int32, pos int32) Do {
	e := as[unsafe.Pointer](fn)
	if s.shape == nil {
		return s.callReflected(e, args, to, pos)
	}
	list := classed(args)
	switch len(to) {
	case 0:
		return s.shape.call(e, list, pos).(Do)
	case 1:
		k := s.Results[0]
		return Of(k).Store(Slot(to[0]), Val{K: k, E: fromClass(k, s.shape.call(e, list, pos))})
	}
	return s.shape.pair(e, list, to[0], to[1], pos)
}

// LibraryResult calls a function value of a library of one result that is
// usual; it is false for others.
func LibraryResult(s *Signature, fn Val, args []Val, pos int32) (Val, bool) {
	if s.shape == nil || len(s.Results) != 1 {
		return Val{}, false
	}
	k := s.Results[0]
	return Val{K: k, E: fromClass(k, s.shape.call(as[unsafe.Pointer](fn), classed(args), pos))}, true
}

func classed(args []Val) []any {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = toClass(a)
	}
	return list
}

// toClass returns the Ex of a value's class.
func toClass(v Val) any {
	switch {
	case v.K == Bool:
		e := as[bool](v)
		return func(f *Frame) int64 {
			if e(f) {
				return 1
			}
			return 0
		}
	case v.K.IsInteger():
		return Convert(I64, v).E
	}
	return v.E
}

// fromClass returns the Ex of a kind of what has its class.
func fromClass(k Kind, e any) any {
	switch {
	case k == Bool:
		e := e.(Ex[int64])
		return func(f *Frame) bool { return uint8(e(f)) != 0 }
	case k.IsInteger():
		return Convert(k, Val{K: I64, E: e}).E
	}
	return e
}

// callReflected calls a function by reflect. The arguments are computed into
// memory of their own, since the function may keep them.
func (s *Signature) callReflected(fn Ex[unsafe.Pointer], args []Val, to []int32, pos int32) Do {
	into := make([]Into, len(args))
	for i, a := range args {
		into[i] = AnyInto(a, s.Type.In(i))
	}
	t := s.Type
	return func(f *Frame) Ctl {
		p := fn(f)
		if p == nil {
			isNil(f, pos)
		}
		v := reflect.NewAt(t, unsafe.Pointer(&p)).Elem()
		in := make([]reflect.Value, len(into))
		for i, store := range into {
			a := reflect.New(t.In(i))
			store(f, a.UnsafePointer())
			in[i] = a.Elem()
		}
		f.leaves(pos)
		var out []reflect.Value
		if t.IsVariadic() {
			out = v.CallSlice(in)
		} else {
			out = v.Call(in)
		}
		for i, off := range to {
			storeValue(at(f, off), out[i])
		}
		return Next
	}
}

// storeValue stores what a reflect.Value holds.
func storeValue(dst unsafe.Pointer, v reflect.Value) {
	reflect.NewAt(v.Type(), dst).Elem().Set(v)
}

// AnyInto computes a value of any kind into memory.
func AnyInto(v Val, t reflect.Type) Into {
	if v.K != Agg {
		return Of(v.K).Into(v)
	}
	if v.Addr != nil {
		addr, d := v.Addr, rtype.Descriptor(t)
		return func(f *Frame, dst unsafe.Pointer) { rtype.Move(d, dst, nonNil(addr(f))) }
	}
	return v.E.(Into)
}
