package code

import (
	"reflect"
	"sync"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A Closure is a function of cells as a value: its body, and the variables of
// the functions around it that it uses.
type Closure struct {
	Entry *Entry
	Env   unsafe.Pointer
}

// A Signature is what calls know of a function type.
type Signature struct {
	Type            reflect.Type
	Params, Results []Kind
	ParamAt         []int32 // where parameters lie in a frame of a function of this type
	ResultAt        []int32

	shape *shape                          // by which functions of libraries are called; nil where reflect has to call them
	adapt func(c *Closure) unsafe.Pointer // makes function values; nil where reflect has to make them
	end   int32                           // where the frame goes on after parameters and results
	code  unsafe.Pointer                  // of function values made here
	off   uintptr                         // of the *Closure in them
}

var signatures sync.Map // reflect.Type: *Signature

// SignatureOf returns what there is to know of a function type.
func SignatureOf(t reflect.Type) *Signature {
	if s, ok := signatures.Load(t); ok {
		return s.(*Signature)
	}
	s := &Signature{Type: t}
	off := int32(header)
	key := ""
	add := func(t reflect.Type, list *[]Kind, places *[]int32) {
		*list = append(*list, KindOf(t))
		*places = append(*places, off)
		off += int32(max(8, (t.Size()+7)&^7))
		key += string(classes[KindOf(t)])
	}
	for p := range t.Ins() {
		add(p, &s.Params, &s.ParamAt)
	}
	key += ">"
	for r := range t.Outs() {
		add(r, &s.Results, &s.ResultAt)
	}
	s.end = off
	if x := shapes()[key]; x != nil {
		if s.adapt = x.adapt; x.call != nil {
			s.shape = x
		}
	}
	if s.adapt != nil {
		sample := &Closure{}
		f := s.adapt(sample)
		s.code, s.off = *(*unsafe.Pointer)(f), find(f, unsafe.Pointer(sample), 3)
	} else {
		s.code = *(*unsafe.Pointer)(s.reflected(&Closure{}))
	}
	kept, _ := signatures.LoadOrStore(t, s)
	return kept.(*Signature)
}

// classes are the letters of kinds in the keys of shapes: all integers and bool
// are passed alike. A kind without a class makes reflect serve the signature.
var classes = [...]byte{None: '?', Bool: 'I', I8: 'I', I16: 'I', I32: 'I', I64: 'I', U8: 'I', U16: 'I', U32: 'I', U64: 'I',
	F32: '?', F64: 'F', C64: '?', C128: '?', Str: 'S', Ptr: 'P', Slc: 'L', Ifc: 'E', Agg: '?'}

// Value returns the function value of a closure.
func (s *Signature) Value(c *Closure) unsafe.Pointer {
	if s.adapt != nil {
		return s.adapt(c)
	}
	return s.reflected(c)
}

// closure returns the closure of a function value, or nil if it is not of
// cells.
func (s *Signature) closure(f unsafe.Pointer) *Closure {
	if f == nil || *(*unsafe.Pointer)(f) != s.code {
		return nil
	}
	if s.adapt != nil {
		return *(**Closure)(add(f, s.off))
	}
	body := *(*unsafe.Pointer)(add(f, implFn))
	if *(*unsafe.Pointer)(body) != reflectedCode {
		return nil // made by reflect.MakeFunc for somebody else
	}
	return *(**Closure)(add(body, implClosure))
}

// FunctionOf returns the function of cells that a function value is, or nil.
func FunctionOf(v reflect.Value) *Func {
	if c := SignatureOf(v.Type()).closure(FuncPointer(v)); c != nil {
		return c.Entry.Fn
	}
	return nil
}

// Captures reports whether a function of cells uses variables of a function around it.
func Captures(v reflect.Value) bool {
	c := SignatureOf(v.Type()).closure(FuncPointer(v))
	return c != nil && c.Env != nil
}

// reflected makes a function value with reflect.MakeFunc.
func (s *Signature) reflected(c *Closure) unsafe.Pointer {
	return FuncPointer(reflect.MakeFunc(s.Type, reflectedBody(c)))
}

// FuncPointer returns the function value that v holds.
func FuncPointer(v reflect.Value) unsafe.Pointer {
	x := v.Interface()
	return (*Iface)(unsafe.Pointer(&x)).Data
}

// The layout of what reflect.MakeFunc returns, found by looking for what
// is known to be in it.
var reflectedCode, implFn, implClosure = func() (code unsafe.Pointer, fn, closure uintptr) {
	c := &Closure{}
	body := reflectedBody(c)
	b := *(*unsafe.Pointer)(unsafe.Pointer(&body))
	closure = find(b, unsafe.Pointer(c), 3)
	code = *(*unsafe.Pointer)(b)
	f := reflect.MakeFunc(reflect.TypeFor[func()](), body).Interface().(func())
	return code, find(*(*unsafe.Pointer)(unsafe.Pointer(&f)), b, 6), closure
}()

// find returns the offset of a word among the first n words at p.
func find(p, word unsafe.Pointer, n uintptr) uintptr {
	for i := range n {
		if *(*unsafe.Pointer)(add(p, i*8)) == word {
			return i * 8
		}
	}
	panic("code: function values of this version of Go have another layout")
}

// reflectedBody returns what reflect.MakeFunc calls for a function of cells. It is not
// inlined, so that what it returns has the same code everywhere: closure knows it by that.
//
//go:noinline
func reflectedBody(c *Closure) func(args []reflect.Value) []reflect.Value {
	return func(args []reflect.Value) []reflect.Value { return c.reflectCall(args) }
}

// NewClosure makes a function value of a function literal or of a function: env
// stores the variables that it uses, at the offsets of a block of memory; block
// is nil where it uses none.
func NewClosure(s *Signature, e *Entry, block unsafe.Pointer, env []Into, offs []int32) Val {
	if block == nil {
		fixed := s.Value(&Closure{Entry: e})
		return NewVal(Ptr, func(*Frame) unsafe.Pointer { return fixed })
	}
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer {
		m := rtype.New(block)
		for i, store := range env {
			store(f, add(m, uintptr(offs[i])))
		}
		return s.Value(&Closure{e, m})
	})
}

// PrepareValue prepares a call of a function value, at a place: of cells directly,
// else of the signature's thunk.
func PrepareValue(m *Machine, s *Signature, fn Val, args []Arg, pos int32) Prepare {
	e, thunk := as[unsafe.Pointer](fn.E), s.thunkOf(m)
	return func(f *Frame, g *G) *Frame {
		p := e(f)
		var callee *Frame
		if c := s.closure(p); c != nil {
			callee = g.frame(c.Entry.Fn, f)
			callee.Env = c.Env
		} else {
			callee = g.frame(thunk.Fn, f)
			*(*unsafe.Pointer)(at(callee, s.end)) = p
		}
		for _, a := range args {
			a(f, callee)
		}
		f.Pos = pos
		return callee
	}
}

// thunkOf returns a function of cells that calls a function value of a library:
// its parameters and results lie in a frame as the signature says, and after them
// the value.
func (s *Signature) thunkOf(m *Machine) *Entry {
	l := s.layout()
	fnAt := l.Add(8, func(off uintptr, set func(int)) { set(int(off / 8)) })
	return &Entry{Fn: s.thunk(m, l, Of(Ptr).Load(Slot(fnAt)))}
}

// Calling returns a function of cells that calls a function of a library.
func (s *Signature) Calling(m *Machine, fn reflect.Value) *Func {
	return s.thunk(m, s.layout(), Of(Ptr).Const(FuncPointer(fn)))
}

// layout returns that of a frame with parameters and results.
func (s *Signature) layout() *Layout {
	l := NewLayout()
	for i := range len(s.Params) + len(s.Results) {
		t := s.typeAt(i)
		l.Add(t.Size(), func(off uintptr, set func(int)) { rtype.Pointers(t, off, set) })
	}
	return l
}

func (s *Signature) thunk(m *Machine, l *Layout, called Val) *Func {
	args := make([]Val, len(s.Params))
	for i, k := range s.Params {
		args[i] = loadAny(k, Slot(s.ParamAt[i]))
	}
	fn := &Func{Name: "a function of a library", Sig: s, Layout: l, M: m}
	fn.Body = CallLibrary(s, called, args, s.ResultAt, 0)
	fn.Finish(2)
	return fn
}

func (s *Signature) typeAt(i int) reflect.Type {
	if i < len(s.Params) {
		return s.Type.In(i)
	}
	return s.Type.Out(i - len(s.Params))
}

// loadAny loads a value of any kind.
func loadAny(k Kind, p Place) Val {
	if k == Agg {
		return Val{K: Agg, Addr: p.Operand()}
	}
	return Of(k).Load(p)
}
