package code

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A shape is a list of classes of parameters and results: all function types of
// one shape pass them in the same registers.
type shape struct {
	// adapt makes function values of functions of cells; it may be nil.
	adapt adapter
	// call makes calls of functions of libraries. It is nil where several is not, and
	// both are nil for shapes that few functions of libraries have.
	call    caller
	several severalCaller
}

type (
	// An adapter returns a function value that calls a function of cells.
	adapter = func(c *Closure) unsafe.Pointer
	// A caller returns what calls a function value of a library: an Ex of the class of
	// the result, or a Do if there is none. Of the arguments it is given the Ex of their
	// classes. All are functions as the words that they are: to ask for their types would
	// take more room than to call them.
	caller = func(fn Ex[unsafe.Pointer], args *arguments, pos int32) unsafe.Pointer
	// arguments are those of a caller.
	arguments = [4]unsafe.Pointer
	// A severalCaller is a caller for several results, which it stores in the frame.
	severalCaller = func(fn Ex[unsafe.Pointer], args *arguments, to []int32, pos int32) Do
)

var shapes = sync.OnceValue(func() map[string]*shape {
	m := map[string]*shape{}
	addShapes(m)
	return m
})

// class is the Go types that stand for the classes.
type class interface {
	int64 | float64 | string | unsafe.Pointer | Slice | Iface
}

// Keys name the class of each parameter, >, and that of each result by a letter, as
// classes has them; TestShapes calls functions of each.
func addShapes(m map[string]*shape) {
	results0(m)
	add1[int64](m, "I")
	add1[float64](m, "F")
	add1[string](m, "S")
	add1[unsafe.Pointer](m, "P")
	add1[Slice](m, "L")
	add1[Iface](m, "E")
	for _, s := range calls {
		in(m, s.key).call = s.call
	}
	for _, s := range severalCalls {
		in(m, s.key).several = s.several
	}
	for _, s := range adapters {
		in(m, s.key).adapt = s.adapt
	}
}

func add1[A class](m map[string]*shape, a string) {
	results1[A](m, a)
	// The function values of two parameters that loops over functions give, and those
	// without a result.
	for _, y := range []struct {
		b            string
		yield, plain adapter
	}{
		{"I", adapt2r[A, int64, int64], adapt2[A, int64]},
		{"F", adapt2r[A, float64, int64], adapt2[A, float64]},
		{"S", adapt2r[A, string, int64], adapt2[A, string]},
		{"P", adapt2r[A, unsafe.Pointer, int64], adapt2[A, unsafe.Pointer]},
		{"L", adapt2r[A, Slice, int64], adapt2[A, Slice]},
		{"E", adapt2r[A, Iface, int64], adapt2[A, Iface]},
	} {
		in(m, a+y.b+">").adapt = y.plain
		in(m, a+y.b+">I").adapt = y.yield
	}
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

// adapters make the function values that libraries want most, methods with their
// receiver among them.
var adapters = [...]struct {
	key   string
	adapt adapter
}{
	{"II>F", adapt2r[int64, int64, float64]},
	{"II>S", adapt2r[int64, int64, string]},
	{"FF>F", adapt2r[float64, float64, float64]},
	{"SS>S", adapt2r[string, string, string]},
	{"LL>F", adapt2r[Slice, Slice, float64]},
	{"LL>L", adapt2r[Slice, Slice, Slice]},
	{"EE>E", adapt2r[Iface, Iface, Iface]},
	{"EE>F", adapt2r[Iface, Iface, float64]},
	{"PP>P", adapt2r[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer]},
	{"PI>P", adapt2r[unsafe.Pointer, int64, unsafe.Pointer]},
	{"PE>E", adapt2r[unsafe.Pointer, Iface, Iface]},
	{"PL>E", adapt2r[unsafe.Pointer, Slice, Iface]},
	{"PP>E", adapt2r[unsafe.Pointer, unsafe.Pointer, Iface]},
	{"IL>E", adapt2r[int64, Slice, Iface]},
	{"LI>F", adapt2r[Slice, int64, float64]},
	{"IF>F", adapt2r[int64, float64, float64]},
	{"FI>F", adapt2r[float64, int64, float64]},
	{"SI>S", adapt2r[string, int64, string]},
	{"SS>E", adapt2r[string, string, Iface]},
	{"PI>E", adapt2r[unsafe.Pointer, int64, Iface]},
	{"PI>F", adapt2r[unsafe.Pointer, int64, float64]},
	{"PI>S", adapt2r[unsafe.Pointer, int64, string]},
	{"PF>F", adapt2r[unsafe.Pointer, float64, float64]},
	{"PL>IE", adapt2p[unsafe.Pointer, Slice, int64, Iface]},
	{"PP>PE", adapt2p[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, Iface]},
	{"PS>PE", adapt2p[unsafe.Pointer, string, unsafe.Pointer, Iface]},
	{"PII>", adapt3[unsafe.Pointer, int64, int64]},
	{"PII>I", adapt3r[unsafe.Pointer, int64, int64, int64]},
	{"PII>F", adapt3r[unsafe.Pointer, int64, int64, float64]},
}

// calls are those of functions with several parameters, or a method's receiver and one.
var calls = [...]struct {
	key  string
	call caller
}{
	// Shapes that at least five functions have that cells can import.
	{"PI>E", call2r[unsafe.Pointer, int64, Iface]},
	{"PE>E", call2r[unsafe.Pointer, Iface, Iface]},
	{"PL>E", call2r[unsafe.Pointer, Slice, Iface]},
	{"PI>I", call2r[unsafe.Pointer, int64, int64]},
	{"PP>P", call2r[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer]},
	{"PF>F", call2r[unsafe.Pointer, float64, float64]},
	{"PE>I", call2r[unsafe.Pointer, Iface, int64]},
	{"II>E", call2r[int64, int64, Iface]},
	{"IP>E", call2r[int64, unsafe.Pointer, Iface]},
	{"PP>E", call2r[unsafe.Pointer, unsafe.Pointer, Iface]},
	{"PS>E", call2r[unsafe.Pointer, string, Iface]},
	{"LL>L", call2r[Slice, Slice, Slice]},
	{"PI>P", call2r[unsafe.Pointer, int64, unsafe.Pointer]},
	{"FF>F", call2r[float64, float64, float64]},
	{"PP>I", call2r[unsafe.Pointer, unsafe.Pointer, int64]},
	{"PL>L", call2r[unsafe.Pointer, Slice, Slice]},
	{"SI>E", call2r[string, int64, Iface]},
	{"II>I", call2r[int64, int64, int64]},
	{"LL>I", call2r[Slice, Slice, int64]},
	{"SS>E", call2r[string, string, Iface]},
	{"PP>L", call2r[unsafe.Pointer, unsafe.Pointer, Slice]},
	{"LL>F", call2r[Slice, Slice, float64]},
	{"LI>I", call2r[Slice, int64, int64]},
	{"PS>P", call2r[unsafe.Pointer, string, unsafe.Pointer]},
	{"PS>S", call2r[unsafe.Pointer, string, string]},
	{"PI>F", call2r[unsafe.Pointer, int64, float64]},
	{"PL>F", call2r[unsafe.Pointer, Slice, float64]},
	{"PE>P", call2r[unsafe.Pointer, Iface, unsafe.Pointer]},
	{"EE>I", call2r[Iface, Iface, int64]},
	{"PL>P", call2r[unsafe.Pointer, Slice, unsafe.Pointer]},
	{"PL>I", call2r[unsafe.Pointer, Slice, int64]},
	{"SS>I", call2r[string, string, int64]},
	{"FF>P", call2r[float64, float64, unsafe.Pointer]},
	{"SP>E", call2r[string, unsafe.Pointer, Iface]},
	{"PS>L", call2r[unsafe.Pointer, string, Slice]},
	{"PI>L", call2r[unsafe.Pointer, int64, Slice]},
	{"LI>L", call2r[Slice, int64, Slice]},
	{"LI>E", call2r[Slice, int64, Iface]},
	{"EL>E", call2r[Iface, Slice, Iface]},
	{"LL>P", call2r[Slice, Slice, unsafe.Pointer]},
	{"EP>P", call2r[Iface, unsafe.Pointer, unsafe.Pointer]},
	{"EE>E", call2r[Iface, Iface, Iface]},
	{"SS>S", call2r[string, string, string]},
	{"II>P", call2r[int64, int64, unsafe.Pointer]},
	{"PI>S", call2r[unsafe.Pointer, int64, string]},
	{"IE>E", call2r[int64, Iface, Iface]},
	{"IL>E", call2r[int64, Slice, Iface]},
	{"SL>E", call2r[string, Slice, Iface]},
	{"LS>L", call2r[Slice, string, Slice]},
	{"PS>I", call2r[unsafe.Pointer, string, int64]},
	{"SE>E", call2r[string, Iface, Iface]},
	{"EP>E", call2r[Iface, unsafe.Pointer, Iface]},
	{"EI>P", call2r[Iface, int64, unsafe.Pointer]},
	{"SI>P", call2r[string, int64, unsafe.Pointer]},
	{"EE>P", call2r[Iface, Iface, unsafe.Pointer]},
	{"SS>P", call2r[string, string, unsafe.Pointer]},
	{"LP>I", call2r[Slice, unsafe.Pointer, int64]},
	{"IS>E", call2r[int64, string, Iface]},
	{"EI>E", call2r[Iface, int64, Iface]},
	{"IL>I", call2r[int64, Slice, int64]},
	{"FL>L", call2r[float64, Slice, Slice]},
	{"LS>I", call2r[Slice, string, int64]},
	{"SL>P", call2r[string, Slice, unsafe.Pointer]},
	{"LE>E", call2r[Slice, Iface, Iface]},
	{"LP>L", call2r[Slice, unsafe.Pointer, Slice]},
	{"EP>I", call2r[Iface, unsafe.Pointer, int64]},
	{"EL>P", call2r[Iface, Slice, unsafe.Pointer]},
	{"PE>F", call2r[unsafe.Pointer, Iface, float64]},
	{"IL>P", call2r[int64, Slice, unsafe.Pointer]},
	{"SP>S", call2r[string, unsafe.Pointer, string]},
	{"PE>", call2[unsafe.Pointer, Iface]},
	{"PI>", call2[unsafe.Pointer, int64]},
	{"PP>", call2[unsafe.Pointer, unsafe.Pointer]},
	{"PL>", call2[unsafe.Pointer, Slice]},
	{"PF>", call2[unsafe.Pointer, float64]},
	{"PS>", call2[unsafe.Pointer, string]},
	{"LL>", call2[Slice, Slice]},
	{"EE>", call2[Iface, Iface]},
	{"EP>", call2[Iface, unsafe.Pointer]},
	{"SL>", call2[string, Slice]},
	{"EL>", call2[Iface, Slice]},
	{"IP>", call2[int64, unsafe.Pointer]},
	{"SS>", call2[string, string]},
	{"SE>", call2[string, Iface]},
	{"SP>", call2[string, unsafe.Pointer]},
	// Those of the functions that loops over text and numbers call.
	{"SL>S", call2r[string, Slice, string]},         // fmt.Sprintf
	{"SS>L", call2r[string, string, Slice]},         // strings.Split
	{"LS>S", call2r[Slice, string, string]},         // strings.Join
	{"SI>S", call2r[string, int64, string]},         // strings.Repeat
	{"SI>I", call2r[string, int64, int64]},          // strings.IndexByte
	{"SP>I", call2r[string, unsafe.Pointer, int64]}, // strings.IndexFunc
	{"SP>L", call2r[string, unsafe.Pointer, Slice]}, // strings.FieldsFunc
	{"II>S", call2r[int64, int64, string]},          // strconv.FormatInt
	{"IP>I", call2r[int64, unsafe.Pointer, int64]},  // sort.Search
	{"FI>I", call2r[float64, int64, int64]},         // math.IsInf
	{"SSS>S", call3r[string, string, string, string]},
	{"SSI>L", call3r[string, string, int64, Slice]},
	{"PII>I", call3r[unsafe.Pointer, int64, int64, int64]}, // atomic.CompareAndSwapInt64
	{"PPP>P", call3r[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer]},
	{"SSSI>S", call4r[string, string, string, int64, string]},
	{"FIII>S", call4r[float64, int64, int64, int64, string]},
}

// severalCalls are those with several results.
var severalCalls = [...]struct {
	key     string
	several severalCaller
}{
	{"PL>IE", pair2[unsafe.Pointer, Slice, int64, Iface]},
	{"PL>PE", pair2[unsafe.Pointer, Slice, unsafe.Pointer, Iface]},
	{"PE>IE", pair2[unsafe.Pointer, Iface, int64, Iface]},
	{"PP>PE", pair2[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, Iface]},
	{"II>PE", pair2[int64, int64, unsafe.Pointer, Iface]},
	{"PS>PE", pair2[unsafe.Pointer, string, unsafe.Pointer, Iface]},
	{"II>IE", pair2[int64, int64, int64, Iface]},
	{"IL>IE", pair2[int64, Slice, int64, Iface]},
	{"SS>PE", pair2[string, string, unsafe.Pointer, Iface]},
	{"SL>IE", pair2[string, Slice, int64, Iface]},
	{"EI>PE", pair2[Iface, int64, unsafe.Pointer, Iface]},
	{"PS>SE", pair2[unsafe.Pointer, string, string, Iface]},
	{"PI>PE", pair2[unsafe.Pointer, int64, unsafe.Pointer, Iface]},
	{"PS>IE", pair2[unsafe.Pointer, string, int64, Iface]},
	{"SP>PE", pair2[string, unsafe.Pointer, unsafe.Pointer, Iface]},
	{"EL>IE", pair2[Iface, Slice, int64, Iface]},
	{"EL>PE", pair2[Iface, Slice, unsafe.Pointer, Iface]},
	{"PI>IE", pair2[unsafe.Pointer, int64, int64, Iface]},
	{"PE>PE", pair2[unsafe.Pointer, Iface, unsafe.Pointer, Iface]},
	{"SI>IE", pair2[string, int64, int64, Iface]},
	{"SS>IE", pair2[string, string, int64, Iface]},
	{"ES>PE", pair2[Iface, string, unsafe.Pointer, Iface]},
	{"PL>SE", pair2[unsafe.Pointer, Slice, string, Iface]},
	{"SL>PE", pair2[string, Slice, unsafe.Pointer, Iface]},
	{"IS>PE", pair2[int64, string, unsafe.Pointer, Iface]},
	{"SI>FE", pair2[string, int64, float64, Iface]}, // strconv.ParseFloat
	{"ES>IE", pair2[Iface, string, int64, Iface]},   // io.WriteString
	{"PI>SE", pair2[unsafe.Pointer, int64, string, Iface]},
	{"SS>SI", pair2[string, string, string, int64]}, // strings.CutPrefix
	{"F>FF", pair1[float64, float64, float64]},
	{"SS>SSI", strings3},
	{"SII>IE", pair3[string, int64, int64, int64, Iface]},
	{"ESL>IE", pair3[Iface, string, Slice, int64, Iface]},
}

func results0(m map[string]*shape) {
	m[">"] = &shape{adapt: adapt0, call: call0}
	m[">I"] = &shape{adapt: adapt0r[int64], call: call0r[int64]}
	m[">F"] = &shape{adapt: adapt0r[float64], call: call0r[float64]}
	m[">S"] = &shape{adapt: adapt0r[string], call: call0r[string]}
	m[">P"] = &shape{adapt: adapt0r[unsafe.Pointer], call: call0r[unsafe.Pointer]}
	m[">L"] = &shape{adapt: adapt0r[Slice], call: call0r[Slice]}
	m[">E"] = &shape{adapt: adapt0r[Iface], call: call0r[Iface]}
}

func results1[A class](m map[string]*shape, a string) {
	for _, s := range []struct {
		results string
		adapt   adapter
		call    caller
		several severalCaller
	}{
		{"", adapt1[A], call1[A], nil},
		{"I", adapt1r[A, int64], call1r[A, int64], nil},
		{"F", adapt1r[A, float64], call1r[A, float64], nil},
		{"S", adapt1r[A, string], call1r[A, string], nil},
		{"P", adapt1r[A, unsafe.Pointer], call1r[A, unsafe.Pointer], nil},
		{"L", adapt1r[A, Slice], call1r[A, Slice], nil},
		{"E", adapt1r[A, Iface], call1r[A, Iface], nil},
		{"IE", adapt1p[A, int64, Iface], nil, pair1[A, int64, Iface]},
		{"FE", adapt1p[A, float64, Iface], nil, pair1[A, float64, Iface]},
		{"SE", adapt1p[A, string, Iface], nil, pair1[A, string, Iface]},
		{"PE", adapt1p[A, unsafe.Pointer, Iface], nil, pair1[A, unsafe.Pointer, Iface]},
		{"LE", adapt1p[A, Slice, Iface], nil, pair1[A, Slice, Iface]},
		{"EE", adapt1p[A, Iface, Iface], nil, pair1[A, Iface, Iface]},
		{"II", adapt1p[A, int64, int64], nil, pair1[A, int64, int64]},
		{"SI", adapt1p[A, string, int64], nil, pair1[A, string, int64]},
		{"EI", adapt1p[A, Iface, int64], nil, pair1[A, Iface, int64]},
	} {
		m[a+">"+s.results] = &shape{s.adapt, s.call, s.several}
	}
}

// wide is how many bytes a value of a class takes in a frame.
func wide[T class]() int32 { return int32(unsafe.Sizeof(*new(T))) }

func put[T class](f *Frame, off int32, x T) { *(*T)(at(f, off)) = x }

func get[T class](f *Frame, off int32) T { return *(*T)(at(f, off)) }

// function returns a Go function as the word that it is. Generic functions do the same
// in place, and what lib does: an instance for each of their types would take 0.3 MB.
func function[F any](f F) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&f)) }

const first = int32(header)

func adapt0(c *Closure) unsafe.Pointer {
	v := func() {
		g, f := c.enter()
		g.run(f)
		g.leave(f)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt0r[R class](c *Closure) unsafe.Pointer {
	v := func() R {
		g, f := c.enter()
		g.run(f)
		r := get[R](f, first)
		g.leave(f)
		return r
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt1[A class](c *Closure) unsafe.Pointer {
	v := func(a A) {
		g, f := c.enter()
		put(f, first, a)
		g.run(f)
		g.leave(f)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt1r[A, R class](c *Closure) unsafe.Pointer {
	v := func(a A) R {
		g, f := c.enter()
		put(f, first, a)
		g.run(f)
		r := get[R](f, first+wide[A]())
		g.leave(f)
		return r
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt1p[A, R, S class](c *Closure) unsafe.Pointer {
	v := func(a A) (R, S) {
		g, f := c.enter()
		put(f, first, a)
		g.run(f)
		r, s := get[R](f, first+wide[A]()), get[S](f, first+wide[A]()+wide[R]())
		g.leave(f)
		return r, s
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt2[A, B class](c *Closure) unsafe.Pointer {
	v := func(a A, b B) {
		g, f := c.enter()
		put(f, first, a)
		put(f, first+wide[A](), b)
		g.run(f)
		g.leave(f)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt2r[A, B, R class](c *Closure) unsafe.Pointer {
	v := func(a A, b B) R {
		g, f := c.enter()
		put(f, first, a)
		put(f, first+wide[A](), b)
		g.run(f)
		r := get[R](f, first+wide[A]()+wide[B]())
		g.leave(f)
		return r
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt2p[A, B, R, S class](c *Closure) unsafe.Pointer {
	v := func(a A, b B) (R, S) {
		g, f := c.enter()
		put(f, first, a)
		put(f, first+wide[A](), b)
		g.run(f)
		at := first + wide[A]() + wide[B]()
		r, s := get[R](f, at), get[S](f, at+wide[R]())
		g.leave(f)
		return r, s
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt3[A, B, C class](c *Closure) unsafe.Pointer {
	v := func(x A, y B, z C) {
		g, f := c.enter()
		put(f, first, x)
		put(f, first+wide[A](), y)
		put(f, first+wide[A]()+wide[B](), z)
		g.run(f)
		g.leave(f)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func adapt3r[A, B, C, R class](c *Closure) unsafe.Pointer {
	v := func(x A, y B, z C) R {
		g, f := c.enter()
		put(f, first, x)
		put(f, first+wide[A](), y)
		put(f, first+wide[A]()+wide[B](), z)
		g.run(f)
		r := get[R](f, first+wide[A]()+wide[B]()+wide[C]())
		g.leave(f)
		return r
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// lib returns a function value as a Go function of a shape.
func lib[F any](p unsafe.Pointer) F { return *(*F)(unsafe.Pointer(&p)) }

func call0(fn Ex[unsafe.Pointer], _ *arguments, pos int32) unsafe.Pointer {
	v := func(f *Frame) Ctl { p := fn(f); f.leaves(pos); (*(*func())(unsafe.Pointer(&p)))(); return Next }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call0r[R class](fn Ex[unsafe.Pointer], _ *arguments, pos int32) unsafe.Pointer {
	v := func(f *Frame) R { p := fn(f); f.leaves(pos); return (*(*func() R)(unsafe.Pointer(&p)))() }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call1[A class](fn Ex[unsafe.Pointer], args *arguments, pos int32) unsafe.Pointer {
	a := *(*Ex[A])(unsafe.Pointer(&args[0]))
	v := func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		f.leaves(pos)
		(*(*func(A))(unsafe.Pointer(&p)))(x)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call1r[A, R class](fn Ex[unsafe.Pointer], args *arguments, pos int32) unsafe.Pointer {
	a := *(*Ex[A])(unsafe.Pointer(&args[0]))
	v := func(f *Frame) R { p := fn(f); x := a(f); f.leaves(pos); return (*(*func(A) R)(unsafe.Pointer(&p)))(x) }
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func pair1[A, R, S class](fn Ex[unsafe.Pointer], args *arguments, at []int32, pos int32) Do {
	a, to, next := *(*Ex[A])(unsafe.Pointer(&args[0])), at[0], at[1]
	return func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		f.leaves(pos)
		r, s := (*(*func(A) (R, S))(unsafe.Pointer(&p)))(x)
		put(f, to, r)
		put(f, next, s)
		return Next
	}
}

func call2[A, B class](fn Ex[unsafe.Pointer], args *arguments, pos int32) unsafe.Pointer {
	a, b := *(*Ex[A])(unsafe.Pointer(&args[0])), *(*Ex[B])(unsafe.Pointer(&args[1]))
	v := func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		y := b(f)
		f.leaves(pos)
		(*(*func(A, B))(unsafe.Pointer(&p)))(x, y)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call2r[A, B, R class](fn Ex[unsafe.Pointer], args *arguments, pos int32) unsafe.Pointer {
	a, b := *(*Ex[A])(unsafe.Pointer(&args[0])), *(*Ex[B])(unsafe.Pointer(&args[1]))
	v := func(f *Frame) R {
		p := fn(f)
		x := a(f)
		y := b(f)
		f.leaves(pos)
		return (*(*func(A, B) R)(unsafe.Pointer(&p)))(x, y)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func pair2[A, B, R, S class](fn Ex[unsafe.Pointer], args *arguments, at []int32, pos int32) Do {
	a, b, to, next := *(*Ex[A])(unsafe.Pointer(&args[0])), *(*Ex[B])(unsafe.Pointer(&args[1])), at[0], at[1]
	return func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		y := b(f)
		f.leaves(pos)
		r, s := (*(*func(A, B) (R, S))(unsafe.Pointer(&p)))(x, y)
		put(f, to, r)
		put(f, next, s)
		return Next
	}
}

func call3r[A, B, C, R class](fn Ex[unsafe.Pointer], args *arguments, pos int32) unsafe.Pointer {
	a, b, c := *(*Ex[A])(unsafe.Pointer(&args[0])), *(*Ex[B])(unsafe.Pointer(&args[1])), *(*Ex[C])(unsafe.Pointer(&args[2]))
	v := func(f *Frame) R {
		p := fn(f)
		x := a(f)
		y := b(f)
		z := c(f)
		f.leaves(pos)
		return (*(*func(A, B, C) R)(unsafe.Pointer(&p)))(x, y, z)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func pair3[A, B, C, R, S class](fn Ex[unsafe.Pointer], args *arguments, at []int32, pos int32) Do {
	a, b, c, to, next := *(*Ex[A])(unsafe.Pointer(&args[0])), *(*Ex[B])(unsafe.Pointer(&args[1])), *(*Ex[C])(unsafe.Pointer(&args[2])), at[0], at[1]
	return func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		y := b(f)
		z := c(f)
		f.leaves(pos)
		r, s := (*(*func(A, B, C) (R, S))(unsafe.Pointer(&p)))(x, y, z)
		put(f, to, r)
		put(f, next, s)
		return Next
	}
}

func call4r[A, B, C, D, R class](fn Ex[unsafe.Pointer], args *arguments, pos int32) unsafe.Pointer {
	a, b, c, d := *(*Ex[A])(unsafe.Pointer(&args[0])), *(*Ex[B])(unsafe.Pointer(&args[1])), *(*Ex[C])(unsafe.Pointer(&args[2])), *(*Ex[D])(unsafe.Pointer(&args[3]))
	v := func(f *Frame) R {
		p := fn(f)
		w := a(f)
		x := b(f)
		y := c(f)
		z := d(f)
		f.leaves(pos)
		return (*(*func(A, B, C, D) R)(unsafe.Pointer(&p)))(w, x, y, z)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// strings3 calls strings.Cut and its like.
func strings3(fn Ex[unsafe.Pointer], args *arguments, at []int32, pos int32) Do {
	a, b, to := *(*Ex[string])(unsafe.Pointer(&args[0])), *(*Ex[string])(unsafe.Pointer(&args[1])), slices.Clone(at)
	return func(f *Frame) Ctl {
		p := fn(f)
		x := a(f)
		y := b(f)
		f.leaves(pos)
		r, s, ok := (*(*func(string, string) (string, string, int64))(unsafe.Pointer(&p)))(x, y)
		put(f, to[0], r)
		put(f, to[1], s)
		put(f, to[2], ok)
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
		return lib[Do](s.shape.call(e, list, pos))
	case 1:
		k := s.Results[0]
		return Of(k).Store(Slot(to[0]), Val{K: k, E: fromClass(k, s.shape.call(e, list, pos))})
	}
	return s.shape.several(e, list, to, pos)
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

func classed(args []Val) *arguments {
	list := &arguments{}
	for i, a := range args {
		list[i] = toClass(a)
	}
	return list
}

// word returns the function that an interface holds as the word that it is.
func word(f any) unsafe.Pointer { return (*Iface)(unsafe.Pointer(&f)).Data }

// toClass returns the Ex of a value's class.
func toClass(v Val) unsafe.Pointer {
	switch {
	case v.K == Bool:
		e := as[bool](v)
		return function(func(f *Frame) int64 {
			if e(f) {
				return 1
			}
			return 0
		})
	case v.K.IsInteger():
		return word(Convert(I64, v).E)
	}
	return word(v.E)
}

// fromClass returns the Ex of a kind of what has its class.
func fromClass(k Kind, e unsafe.Pointer) any {
	switch k {
	case Bool:
		e := lib[Ex[int64]](e)
		return func(f *Frame) bool { return uint8(e(f)) != 0 }
	case F64:
		return lib[Ex[float64]](e)
	case Str:
		return lib[Ex[string]](e)
	case Ptr:
		return lib[Ex[unsafe.Pointer]](e)
	case Slc:
		return lib[Ex[Slice]](e)
	case Ifc:
		return lib[Ex[Iface]](e)
	}
	return Convert(k, Val{K: I64, E: lib[Ex[int64]](e)}).E
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
