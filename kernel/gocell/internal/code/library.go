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
	// call makes calls of functions of libraries; it is nil for shapes that few have.
	call caller
}

type (
	// An adapter returns a function value that calls a function of cells.
	adapter = func(c *Closure) unsafe.Pointer
	// A caller returns what makes a call: an Ex of the class of the result, or a Do if
	// there is none or are several, as the word that a function is.
	caller = func(c *libraryCall) unsafe.Pointer
)

// A libraryCall is a call of a function value of a library, at a place. Functions are
// held as the words that they are, so that closures of all classes have one type: a type
// each would take more room than their code.
type libraryCall struct {
	fn   Ex[unsafe.Pointer]
	args [4]unsafe.Pointer // Ex of the classes
	to   []int32           // where several results go in the frame
	pos  int32
}

var shapes = sync.OnceValue(func() map[string]*shape {
	m := map[string]*shape{}
	in := func(key string) *shape {
		s := m[key]
		if s == nil {
			s = &shape{}
			m[key] = s
		}
		return s
	}
	for _, s := range calls {
		in(s.key).call = s.call
	}
	for _, s := range adapters {
		in(s.key).adapt = s.adapt
	}
	return m
})

// class is the Go types that stand for the classes.
type class interface {
	int64 | float64 | string | unsafe.Pointer | Slice | Iface
}

// Keys name the class of each parameter, >, and that of each result by a letter, as
// classes has them; TestShapes calls functions of each.

// adapters make the function values that libraries want most, methods with their
// receiver among them, and those that cells themselves make most.
var adapters = [...]struct {
	key   string
	adapt adapter
}{
	{">", adapt0}, {">I", adapt0r[int64]}, {">F", adapt0r[float64]}, {">S", adapt0r[string]},
	{">P", adapt0r[unsafe.Pointer]}, {">L", adapt0r[Slice]}, {">E", adapt0r[Iface]}, {"I>", adapt1[int64]},
	{"I>I", adapt1r[int64, int64]}, {"I>F", adapt1r[int64, float64]}, {"I>S", adapt1r[int64, string]},
	{"I>P", adapt1r[int64, unsafe.Pointer]}, {"I>L", adapt1r[int64, Slice]}, {"I>E", adapt1r[int64, Iface]},
	{"F>", adapt1[float64]}, {"F>I", adapt1r[float64, int64]}, {"F>F", adapt1r[float64, float64]},
	{"F>S", adapt1r[float64, string]}, {"F>P", adapt1r[float64, unsafe.Pointer]}, {"F>L", adapt1r[float64, Slice]},
	{"F>E", adapt1r[float64, Iface]}, {"S>", adapt1[string]}, {"S>I", adapt1r[string, int64]},
	{"S>F", adapt1r[string, float64]}, {"S>S", adapt1r[string, string]}, {"S>P", adapt1r[string, unsafe.Pointer]},
	{"S>L", adapt1r[string, Slice]}, {"S>E", adapt1r[string, Iface]}, {"P>", adapt1[unsafe.Pointer]},
	{"P>I", adapt1r[unsafe.Pointer, int64]}, {"P>F", adapt1r[unsafe.Pointer, float64]},
	{"P>S", adapt1r[unsafe.Pointer, string]}, {"P>P", adapt1r[unsafe.Pointer, unsafe.Pointer]},
	{"P>L", adapt1r[unsafe.Pointer, Slice]}, {"P>E", adapt1r[unsafe.Pointer, Iface]}, {"L>", adapt1[Slice]},
	{"L>I", adapt1r[Slice, int64]}, {"L>F", adapt1r[Slice, float64]}, {"L>S", adapt1r[Slice, string]},
	{"L>P", adapt1r[Slice, unsafe.Pointer]}, {"L>L", adapt1r[Slice, Slice]}, {"L>E", adapt1r[Slice, Iface]},
	{"E>", adapt1[Iface]}, {"E>I", adapt1r[Iface, int64]}, {"E>F", adapt1r[Iface, float64]},
	{"E>S", adapt1r[Iface, string]}, {"E>P", adapt1r[Iface, unsafe.Pointer]}, {"E>L", adapt1r[Iface, Slice]},
	{"E>E", adapt1r[Iface, Iface]}, {"I>IE", adapt1p[int64, int64, Iface]}, {"I>SE", adapt1p[int64, string, Iface]},
	{"I>II", adapt1p[int64, int64, int64]}, {"S>IE", adapt1p[string, int64, Iface]},
	{"S>SE", adapt1p[string, string, Iface]}, {"S>PE", adapt1p[string, unsafe.Pointer, Iface]},
	{"S>II", adapt1p[string, int64, int64]}, {"S>SI", adapt1p[string, string, int64]},
	{"P>IE", adapt1p[unsafe.Pointer, int64, Iface]}, {"P>SE", adapt1p[unsafe.Pointer, string, Iface]},
	{"P>PE", adapt1p[unsafe.Pointer, unsafe.Pointer, Iface]}, {"P>LE", adapt1p[unsafe.Pointer, Slice, Iface]},
	{"P>EE", adapt1p[unsafe.Pointer, Iface, Iface]}, {"P>II", adapt1p[unsafe.Pointer, int64, int64]},
	{"E>EE", adapt1p[Iface, Iface, Iface]},
	// What loops over functions give, and what is called for its effect.
	{"II>I", adapt2r[int64, int64, int64]}, {"IF>I", adapt2r[int64, float64, int64]},
	{"IS>I", adapt2r[int64, string, int64]}, {"IP>I", adapt2r[int64, unsafe.Pointer, int64]},
	{"IL>I", adapt2r[int64, Slice, int64]}, {"IE>I", adapt2r[int64, Iface, int64]},
	{"SI>I", adapt2r[string, int64, int64]}, {"SF>I", adapt2r[string, float64, int64]},
	{"SS>I", adapt2r[string, string, int64]}, {"SP>I", adapt2r[string, unsafe.Pointer, int64]},
	{"SL>I", adapt2r[string, Slice, int64]}, {"SE>I", adapt2r[string, Iface, int64]},
	{"FF>I", adapt2r[float64, float64, int64]}, {"PP>I", adapt2r[unsafe.Pointer, unsafe.Pointer, int64]},
	{"LL>I", adapt2r[Slice, Slice, int64]}, {"EE>I", adapt2r[Iface, Iface, int64]},
	{"PI>", adapt2[unsafe.Pointer, int64]}, {"PF>", adapt2[unsafe.Pointer, float64]},
	{"PS>", adapt2[unsafe.Pointer, string]}, {"PP>", adapt2[unsafe.Pointer, unsafe.Pointer]},
	{"PL>", adapt2[unsafe.Pointer, Slice]}, {"PE>", adapt2[unsafe.Pointer, Iface]}, {"II>", adapt2[int64, int64]},
	{"IF>", adapt2[int64, float64]}, {"IS>", adapt2[int64, string]}, {"FF>", adapt2[float64, float64]},
	{"SS>", adapt2[string, string]}, {"SI>", adapt2[string, int64]}, {"EP>", adapt2[Iface, unsafe.Pointer]},
	{"EE>", adapt2[Iface, Iface]}, {"LL>", adapt2[Slice, Slice]},
	// Methods and what sorts, walks and optimises.
	{"II>F", adapt2r[int64, int64, float64]}, {"II>S", adapt2r[int64, int64, string]},
	{"FF>F", adapt2r[float64, float64, float64]}, {"SS>S", adapt2r[string, string, string]},
	{"LL>F", adapt2r[Slice, Slice, float64]}, {"LL>L", adapt2r[Slice, Slice, Slice]},
	{"EE>E", adapt2r[Iface, Iface, Iface]}, {"EE>F", adapt2r[Iface, Iface, float64]},
	{"PP>P", adapt2r[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer]},
	{"PI>P", adapt2r[unsafe.Pointer, int64, unsafe.Pointer]}, {"PE>E", adapt2r[unsafe.Pointer, Iface, Iface]},
	{"PL>E", adapt2r[unsafe.Pointer, Slice, Iface]}, {"PP>E", adapt2r[unsafe.Pointer, unsafe.Pointer, Iface]},
	{"IL>E", adapt2r[int64, Slice, Iface]}, {"LI>F", adapt2r[Slice, int64, float64]},
	{"IF>F", adapt2r[int64, float64, float64]}, {"FI>F", adapt2r[float64, int64, float64]},
	{"SI>S", adapt2r[string, int64, string]}, {"SS>E", adapt2r[string, string, Iface]},
	{"PI>E", adapt2r[unsafe.Pointer, int64, Iface]}, {"PI>F", adapt2r[unsafe.Pointer, int64, float64]},
	{"PI>S", adapt2r[unsafe.Pointer, int64, string]}, {"PF>F", adapt2r[unsafe.Pointer, float64, float64]},
	{"PL>IE", adapt2p[unsafe.Pointer, Slice, int64, Iface]},
	{"PP>PE", adapt2p[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, Iface]},
	{"PS>PE", adapt2p[unsafe.Pointer, string, unsafe.Pointer, Iface]},
	{"PII>", adapt3[unsafe.Pointer, int64, int64]}, {"PII>I", adapt3r[unsafe.Pointer, int64, int64, int64]},
	{"PII>F", adapt3r[unsafe.Pointer, int64, int64, float64]},
}

// calls are those of functions, and of methods with their receiver.
var calls = [...]struct {
	key  string
	call caller
}{
	// Shapes that at least five functions have that cells can import.
	{">", call0}, {">I", call0r[int64]}, {">F", call0r[float64]}, {">S", call0r[string]},
	{">P", call0r[unsafe.Pointer]}, {">L", call0r[Slice]}, {">E", call0r[Iface]}, {"I>", call1[int64]},
	{"I>I", call1r[int64, int64]}, {"I>F", call1r[int64, float64]}, {"I>S", call1r[int64, string]},
	{"I>P", call1r[int64, unsafe.Pointer]}, {"I>E", call1r[int64, Iface]}, {"F>", call1[float64]},
	{"F>I", call1r[float64, int64]}, {"F>F", call1r[float64, float64]}, {"F>P", call1r[float64, unsafe.Pointer]},
	{"S>", call1[string]}, {"S>I", call1r[string, int64]}, {"S>S", call1r[string, string]},
	{"S>P", call1r[string, unsafe.Pointer]}, {"S>L", call1r[string, Slice]}, {"S>E", call1r[string, Iface]},
	{"P>", call1[unsafe.Pointer]}, {"P>I", call1r[unsafe.Pointer, int64]}, {"P>F", call1r[unsafe.Pointer, float64]},
	{"P>S", call1r[unsafe.Pointer, string]}, {"P>P", call1r[unsafe.Pointer, unsafe.Pointer]},
	{"P>L", call1r[unsafe.Pointer, Slice]}, {"P>E", call1r[unsafe.Pointer, Iface]}, {"L>", call1[Slice]},
	{"L>I", call1r[Slice, int64]}, {"L>F", call1r[Slice, float64]}, {"L>S", call1r[Slice, string]},
	{"L>P", call1r[Slice, unsafe.Pointer]}, {"L>L", call1r[Slice, Slice]}, {"L>E", call1r[Slice, Iface]},
	{"E>", call1[Iface]}, {"E>I", call1r[Iface, int64]}, {"E>F", call1r[Iface, float64]},
	{"E>S", call1r[Iface, string]}, {"E>P", call1r[Iface, unsafe.Pointer]}, {"E>L", call1r[Iface, Slice]},
	{"E>E", call1r[Iface, Iface]}, {"I>LE", pair1[int64, Slice, Iface]}, {"S>IE", pair1[string, int64, Iface]},
	{"S>SE", pair1[string, string, Iface]}, {"S>PE", pair1[string, unsafe.Pointer, Iface]},
	{"S>LE", pair1[string, Slice, Iface]}, {"P>IE", pair1[unsafe.Pointer, int64, Iface]},
	{"P>SE", pair1[unsafe.Pointer, string, Iface]}, {"P>PE", pair1[unsafe.Pointer, unsafe.Pointer, Iface]},
	{"P>LE", pair1[unsafe.Pointer, Slice, Iface]}, {"P>EE", pair1[unsafe.Pointer, Iface, Iface]},
	{"P>II", pair1[unsafe.Pointer, int64, int64]}, {"L>IE", pair1[Slice, int64, Iface]},
	{"L>PE", pair1[Slice, unsafe.Pointer, Iface]}, {"L>LE", pair1[Slice, Slice, Iface]},
	{"L>EE", pair1[Slice, Iface, Iface]}, {"L>II", pair1[Slice, int64, int64]},
	{"E>PE", pair1[Iface, unsafe.Pointer, Iface]}, {"E>LE", pair1[Iface, Slice, Iface]},
	{"E>EE", pair1[Iface, Iface, Iface]}, {"PI>E", call2r[unsafe.Pointer, int64, Iface]},
	{"PE>E", call2r[unsafe.Pointer, Iface, Iface]}, {"PL>E", call2r[unsafe.Pointer, Slice, Iface]},
	{"PI>I", call2r[unsafe.Pointer, int64, int64]}, {"PP>P", call2r[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer]},
	{"PF>F", call2r[unsafe.Pointer, float64, float64]}, {"PE>I", call2r[unsafe.Pointer, Iface, int64]},
	{"II>E", call2r[int64, int64, Iface]}, {"IP>E", call2r[int64, unsafe.Pointer, Iface]},
	{"PP>E", call2r[unsafe.Pointer, unsafe.Pointer, Iface]}, {"PS>E", call2r[unsafe.Pointer, string, Iface]},
	{"LL>L", call2r[Slice, Slice, Slice]}, {"PI>P", call2r[unsafe.Pointer, int64, unsafe.Pointer]},
	{"FF>F", call2r[float64, float64, float64]}, {"PP>I", call2r[unsafe.Pointer, unsafe.Pointer, int64]},
	{"PL>L", call2r[unsafe.Pointer, Slice, Slice]}, {"SI>E", call2r[string, int64, Iface]},
	{"II>I", call2r[int64, int64, int64]}, {"LL>I", call2r[Slice, Slice, int64]},
	{"SS>E", call2r[string, string, Iface]}, {"PP>L", call2r[unsafe.Pointer, unsafe.Pointer, Slice]},
	{"LL>F", call2r[Slice, Slice, float64]}, {"LI>I", call2r[Slice, int64, int64]},
	{"PS>P", call2r[unsafe.Pointer, string, unsafe.Pointer]}, {"PS>S", call2r[unsafe.Pointer, string, string]},
	{"PI>F", call2r[unsafe.Pointer, int64, float64]}, {"PL>F", call2r[unsafe.Pointer, Slice, float64]},
	{"PE>P", call2r[unsafe.Pointer, Iface, unsafe.Pointer]}, {"EE>I", call2r[Iface, Iface, int64]},
	{"PL>P", call2r[unsafe.Pointer, Slice, unsafe.Pointer]}, {"PL>I", call2r[unsafe.Pointer, Slice, int64]},
	{"SS>I", call2r[string, string, int64]}, {"FF>P", call2r[float64, float64, unsafe.Pointer]},
	{"SP>E", call2r[string, unsafe.Pointer, Iface]}, {"PS>L", call2r[unsafe.Pointer, string, Slice]},
	{"PI>L", call2r[unsafe.Pointer, int64, Slice]}, {"LI>L", call2r[Slice, int64, Slice]},
	{"LI>E", call2r[Slice, int64, Iface]}, {"EL>E", call2r[Iface, Slice, Iface]},
	{"LL>P", call2r[Slice, Slice, unsafe.Pointer]}, {"EP>P", call2r[Iface, unsafe.Pointer, unsafe.Pointer]},
	{"EE>E", call2r[Iface, Iface, Iface]}, {"SS>S", call2r[string, string, string]},
	{"II>P", call2r[int64, int64, unsafe.Pointer]}, {"PI>S", call2r[unsafe.Pointer, int64, string]},
	{"IE>E", call2r[int64, Iface, Iface]}, {"IL>E", call2r[int64, Slice, Iface]},
	{"SL>E", call2r[string, Slice, Iface]}, {"LS>L", call2r[Slice, string, Slice]},
	{"PS>I", call2r[unsafe.Pointer, string, int64]}, {"SE>E", call2r[string, Iface, Iface]},
	{"EP>E", call2r[Iface, unsafe.Pointer, Iface]}, {"EI>P", call2r[Iface, int64, unsafe.Pointer]},
	{"SI>P", call2r[string, int64, unsafe.Pointer]}, {"EE>P", call2r[Iface, Iface, unsafe.Pointer]},
	{"SS>P", call2r[string, string, unsafe.Pointer]}, {"LP>I", call2r[Slice, unsafe.Pointer, int64]},
	{"IS>E", call2r[int64, string, Iface]}, {"EI>E", call2r[Iface, int64, Iface]},
	{"IL>I", call2r[int64, Slice, int64]}, {"FL>L", call2r[float64, Slice, Slice]},
	{"LS>I", call2r[Slice, string, int64]}, {"SL>P", call2r[string, Slice, unsafe.Pointer]},
	{"LE>E", call2r[Slice, Iface, Iface]}, {"LP>L", call2r[Slice, unsafe.Pointer, Slice]},
	{"EP>I", call2r[Iface, unsafe.Pointer, int64]}, {"EL>P", call2r[Iface, Slice, unsafe.Pointer]},
	{"PE>F", call2r[unsafe.Pointer, Iface, float64]}, {"IL>P", call2r[int64, Slice, unsafe.Pointer]},
	{"SP>S", call2r[string, unsafe.Pointer, string]}, {"PE>", call2[unsafe.Pointer, Iface]},
	{"PI>", call2[unsafe.Pointer, int64]}, {"PP>", call2[unsafe.Pointer, unsafe.Pointer]},
	{"PL>", call2[unsafe.Pointer, Slice]}, {"PF>", call2[unsafe.Pointer, float64]},
	{"PS>", call2[unsafe.Pointer, string]}, {"LL>", call2[Slice, Slice]}, {"EE>", call2[Iface, Iface]},
	{"EP>", call2[Iface, unsafe.Pointer]}, {"SL>", call2[string, Slice]}, {"EL>", call2[Iface, Slice]},
	{"IP>", call2[int64, unsafe.Pointer]}, {"SS>", call2[string, string]}, {"SE>", call2[string, Iface]},
	{"SP>", call2[string, unsafe.Pointer]}, {"PL>IE", pair2[unsafe.Pointer, Slice, int64, Iface]},
	{"PL>PE", pair2[unsafe.Pointer, Slice, unsafe.Pointer, Iface]},
	{"PE>IE", pair2[unsafe.Pointer, Iface, int64, Iface]},
	{"PP>PE", pair2[unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, Iface]},
	{"II>PE", pair2[int64, int64, unsafe.Pointer, Iface]},
	{"PS>PE", pair2[unsafe.Pointer, string, unsafe.Pointer, Iface]}, {"II>IE", pair2[int64, int64, int64, Iface]},
	{"IL>IE", pair2[int64, Slice, int64, Iface]}, {"SS>PE", pair2[string, string, unsafe.Pointer, Iface]},
	{"SL>IE", pair2[string, Slice, int64, Iface]}, {"EI>PE", pair2[Iface, int64, unsafe.Pointer, Iface]},
	{"PS>SE", pair2[unsafe.Pointer, string, string, Iface]},
	{"PI>PE", pair2[unsafe.Pointer, int64, unsafe.Pointer, Iface]},
	{"PS>IE", pair2[unsafe.Pointer, string, int64, Iface]},
	{"SP>PE", pair2[string, unsafe.Pointer, unsafe.Pointer, Iface]}, {"EL>IE", pair2[Iface, Slice, int64, Iface]},
	{"EL>PE", pair2[Iface, Slice, unsafe.Pointer, Iface]}, {"PI>IE", pair2[unsafe.Pointer, int64, int64, Iface]},
	{"PE>PE", pair2[unsafe.Pointer, Iface, unsafe.Pointer, Iface]}, {"SI>IE", pair2[string, int64, int64, Iface]},
	{"SS>IE", pair2[string, string, int64, Iface]}, {"ES>PE", pair2[Iface, string, unsafe.Pointer, Iface]},
	{"PL>SE", pair2[unsafe.Pointer, Slice, string, Iface]}, {"SL>PE", pair2[string, Slice, unsafe.Pointer, Iface]},
	{"IS>PE", pair2[int64, string, unsafe.Pointer, Iface]}, {"PI>SE", pair2[unsafe.Pointer, int64, string, Iface]},
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
	{"SI>FE", pair2[string, int64, float64, Iface]}, // strconv.ParseFloat
	{"ES>IE", pair2[Iface, string, int64, Iface]},   // io.WriteString
	{"SS>SI", pair2[string, string, string, int64]}, // strings.CutPrefix
	{"F>FF", pair1[float64, float64, float64]},
	{"SS>SSI", strings3},
	{"SII>IE", pair3[string, int64, int64, int64, Iface]},
	{"ESL>IE", pair3[Iface, string, Slice, int64, Iface]},
}

// wide is how many bytes a value of a class takes in a frame.
func wide[T class]() int32 { return int32(unsafe.Sizeof(*new(T))) }

func put[T class](f *Frame, off int32, x T) { *(*T)(at(f, off)) = x }

func get[T class](f *Frame, off int32) T { return *(*T)(at(f, off)) }

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

func call0(c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) Ctl {
		p := c.fn(f)
		f.leaves(c.pos)
		(*(*func())(unsafe.Pointer(&p)))()
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call0r[R class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) R {
		p := c.fn(f)
		f.leaves(c.pos)
		return (*(*func() R)(unsafe.Pointer(&p)))()
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call1[A class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) Ctl {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		f.leaves(c.pos)
		(*(*func(A))(unsafe.Pointer(&p)))(x)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call1r[A, R class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) R {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		f.leaves(c.pos)
		return (*(*func(A) R)(unsafe.Pointer(&p)))(x)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func pair1[A, R, S class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) Ctl {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		f.leaves(c.pos)
		r, s := (*(*func(A) (R, S))(unsafe.Pointer(&p)))(x)
		put(f, c.to[0], r)
		put(f, c.to[1], s)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call2[A, B class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) Ctl {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		y := (*(*Ex[B])(unsafe.Pointer(&c.args[1])))(f)
		f.leaves(c.pos)
		(*(*func(A, B))(unsafe.Pointer(&p)))(x, y)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call2r[A, B, R class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) R {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		y := (*(*Ex[B])(unsafe.Pointer(&c.args[1])))(f)
		f.leaves(c.pos)
		return (*(*func(A, B) R)(unsafe.Pointer(&p)))(x, y)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func pair2[A, B, R, S class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) Ctl {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		y := (*(*Ex[B])(unsafe.Pointer(&c.args[1])))(f)
		f.leaves(c.pos)
		r, s := (*(*func(A, B) (R, S))(unsafe.Pointer(&p)))(x, y)
		put(f, c.to[0], r)
		put(f, c.to[1], s)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call3r[A, B, C, R class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) R {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		y := (*(*Ex[B])(unsafe.Pointer(&c.args[1])))(f)
		z := (*(*Ex[C])(unsafe.Pointer(&c.args[2])))(f)
		f.leaves(c.pos)
		return (*(*func(A, B, C) R)(unsafe.Pointer(&p)))(x, y, z)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func pair3[A, B, C, R, S class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) Ctl {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		y := (*(*Ex[B])(unsafe.Pointer(&c.args[1])))(f)
		z := (*(*Ex[C])(unsafe.Pointer(&c.args[2])))(f)
		f.leaves(c.pos)
		r, s := (*(*func(A, B, C) (R, S))(unsafe.Pointer(&p)))(x, y, z)
		put(f, c.to[0], r)
		put(f, c.to[1], s)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

func call4r[A, B, C, D, R class](c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) R {
		p := c.fn(f)
		x := (*(*Ex[A])(unsafe.Pointer(&c.args[0])))(f)
		y := (*(*Ex[B])(unsafe.Pointer(&c.args[1])))(f)
		z := (*(*Ex[C])(unsafe.Pointer(&c.args[2])))(f)
		w := (*(*Ex[D])(unsafe.Pointer(&c.args[3])))(f)
		f.leaves(c.pos)
		return (*(*func(A, B, C, D) R)(unsafe.Pointer(&p)))(x, y, z, w)
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// strings3 calls strings.Cut and its like.
func strings3(c *libraryCall) unsafe.Pointer {
	v := func(f *Frame) Ctl {
		p := c.fn(f)
		x := as[string](c.args[0])(f)
		y := as[string](c.args[1])(f)
		f.leaves(c.pos)
		r, s, ok := (*(*func(string, string) (string, string, int64))(unsafe.Pointer(&p)))(x, y)
		put(f, c.to[0], r)
		put(f, c.to[1], s)
		put(f, c.to[2], ok)
		return Next
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&v))
}

// CallLibrary calls a function value of a library, at a place, and stores its
// results in the frame.
func CallLibrary(s *Signature, fn Val, args []Val, to []int32, pos int32) Do {
	e := as[unsafe.Pointer](fn.E)
	if s.shape == nil {
		return s.callReflected(e, args, to, pos)
	}
	w := s.shape.call(newCall(e, args, to, pos))
	if len(to) == 1 {
		return Of(s.Results[0]).Store(Slot(to[0]), Val{K: s.Results[0], E: w})
	}
	return *(*Do)(unsafe.Pointer(&w))
}

// LibraryResult calls a function value of a library of one result that is
// usual; it is false for others.
func LibraryResult(s *Signature, fn Val, args []Val, pos int32) (Val, bool) {
	if s.shape == nil || len(s.Results) != 1 {
		return Val{}, false
	}
	return Val{K: s.Results[0], E: s.shape.call(newCall(as[unsafe.Pointer](fn.E), args, nil, pos))}, true
}

func newCall(fn Ex[unsafe.Pointer], args []Val, to []int32, pos int32) *libraryCall {
	c := &libraryCall{fn: fn, to: slices.Clone(to), pos: pos}
	for i, a := range args {
		c.args[i] = a.E
	}
	return c
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
	return intoOf(v)
}

// intoOf returns the closure of an Agg.
func intoOf(v Val) Into {
	return *(*Into)(unsafe.Pointer(&v.E))
}
