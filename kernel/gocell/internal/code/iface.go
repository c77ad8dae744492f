package code

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// An interface type with methods has an itab as its first word, which holds the
// type at typeInTab and from funcsInTab on the code of the methods, so that the
// address of such a word is a function value.
const (
	typeInTab  = 8
	funcsInTab = 24
)

// typeWord returns the type descriptor of what an interface holds, or nil.
func typeWord(tab unsafe.Pointer, methods bool) unsafe.Pointer {
	if tab == nil || !methods {
		return tab
	}
	return *(*unsafe.Pointer)(add(tab, typeInTab))
}

// HasMethods reports whether an interface type has methods, and so itabs.
func HasMethods(t reflect.Type) bool { return t.NumMethod() > 0 }

// ToInterface converts a value of type t to an interface type.
func ToInterface(v Val, t, to reflect.Type) Val {
	tab := rtype.Descriptor(t)
	if HasMethods(to) {
		tab = rtype.Itab(to, t)
	}
	d := rtype.Descriptor(t)
	if rtype.IsDirect(t) {
		if v.K == Ptr {
			e := as[unsafe.Pointer](v.E)
			return NewVal(Ifc, func(f *Frame) Iface { return Iface{tab, e(f)} })
		}
		into := AnyInto(v, t)
		return NewVal(Ifc, func(f *Frame) Iface {
			p := rtype.New(d)
			into(f, p)
			return Iface{tab, *(*unsafe.Pointer)(p)}
		})
	}
	into := AnyInto(v, t)
	if v.c != nil {
		p := rtype.New(d)
		into(nil, p)
		return Of(Ifc).lasting(unsafe.Pointer(&Iface{tab, p}))
	}
	size := int(t.Size())
	return NewVal(Ifc, func(f *Frame) Iface {
		f.G.spend("the value", float64(size))
		p := rtype.New(d)
		into(f, p)
		return Iface{tab, p}
	})
}

// A conversion finds the itabs of an interface type.
type conversion struct {
	to      reflect.Type
	methods bool
	last    atomic.Pointer[[2]unsafe.Pointer] // type, itab
	tabs    sync.Map                          // type descriptor: *[2]unsafe.Pointer, whose itab is nil where there is none
}

func newConversion(to reflect.Type) *conversion { return &conversion{to: to, methods: HasMethods(to)} }

// tab returns the first word of an interface that holds a type, or nil if the
// type does not implement it.
func (c *conversion) tab(typ unsafe.Pointer) unsafe.Pointer {
	if !c.methods {
		return typ
	}
	if l := c.last.Load(); l != nil && l[0] == typ {
		return l[1]
	}
	l, ok := c.tabs.Load(typ)
	if !ok {
		pair := &[2]unsafe.Pointer{typ}
		if t := rtype.TypeAt(typ); t.Implements(c.to) {
			pair[1] = rtype.Itab(c.to, t)
		}
		l, _ = c.tabs.LoadOrStore(typ, pair)
	}
	pair := l.(*[2]unsafe.Pointer)
	c.last.Store(pair)
	return pair[1]
}

// Widen converts an interface to another whose methods it has.
func Widen(v Val, from, to reflect.Type) Val {
	e, methods := as[Iface](v.E), HasMethods(from)
	if !HasMethods(to) && !methods {
		return v
	}
	c := newConversion(to)
	return NewVal(Ifc, func(f *Frame) Iface {
		i := e(f)
		if i.Tab == nil {
			return i
		}
		return Iface{c.tab(typeWord(i.Tab, methods)), i.Data}
	})
}

// An Assertion is a type assertion of an interface.
type Assertion struct {
	From, To reflect.Type
	Pos      int32
	// Missing returns the name of a method that a type lacks for an interface.
	Missing func(t, i reflect.Type) string
}

// fail panics as a type assertion that fails does.
func (a *Assertion) fail(f *Frame, typ unsafe.Pointer) {
	if a.Pos != 0 {
		f.Pos = a.Pos
	}
	missing := ""
	if typ != nil && a.To.Kind() == reflect.Interface {
		missing = a.Missing(rtype.TypeAt(typ), a.To)
	}
	from := rtype.Descriptor(a.From)
	if a.To.Kind() == reflect.Interface && typ == nil {
		from = nil
	}
	panic(rtype.AssertionError(from, typ, rtype.Descriptor(a.To), missing))
}

// Interface is an assertion to an interface type. Where okAt is not 0 it stores
// there whether it holds, and does not panic.
func (a *Assertion) Interface(v Val, okAt int32) Val {
	e, methods, c := as[Iface](v.E), HasMethods(a.From), newConversion(a.To)
	return NewVal(Ifc, func(f *Frame) Iface {
		i := e(f)
		typ := typeWord(i.Tab, methods)
		var tab unsafe.Pointer
		if typ != nil {
			tab = c.tab(typ)
		}
		if okAt != 0 {
			*(*bool)(at(f, okAt)) = tab != nil
		} else if tab == nil {
			a.fail(f, typ)
		}
		if tab == nil {
			return Iface{}
		}
		return Iface{tab, i.Data}
	})
}

// Holds reports whether an interface holds a type, which may be an interface
// type; nil is for nil.
func Holds(v Val, from, t reflect.Type) Ex[bool] {
	e, methods := as[Iface](v.E), HasMethods(from)
	if t == nil {
		return func(f *Frame) bool { return e(f).Tab == nil }
	}
	if t.Kind() == reflect.Interface {
		c := newConversion(t)
		return func(f *Frame) bool {
			typ := typeWord(e(f).Tab, methods)
			return typ != nil && c.tab(typ) != nil
		}
	}
	d := rtype.Descriptor(t)
	return func(f *Frame) bool { return typeWord(e(f).Tab, methods) == d }
}

// Concrete is an assertion to a type that is no interface. Where okAt is not 0
// it stores there whether it holds, and returns the zero value if not.
func (a *Assertion) Concrete(v Val, okAt int32) Val {
	e, methods, d := as[Iface](v.E), HasMethods(a.From), rtype.Descriptor(a.To)
	zero, direct := rtype.New(d), rtype.IsDirect(a.To)
	k := KindOf(a.To)
	data := func(f *Frame) unsafe.Pointer {
		i := e(f)
		typ := typeWord(i.Tab, methods)
		if okAt != 0 {
			*(*bool)(at(f, okAt)) = typ == d
		}
		if typ == d {
			return i.Data
		}
		if okAt == 0 {
			a.fail(f, typ)
		}
		if direct {
			return nil
		}
		return zero
	}
	switch {
	case direct && k == Ptr:
		return NewVal(Ptr, Ex[unsafe.Pointer](data))
	case direct:
		return NewVal(Agg, func(f *Frame, dst unsafe.Pointer) { *(*unsafe.Pointer)(dst) = data(f) })
	case k == Agg:
		return Val{K: Agg, Addr: data}
	}
	return Of(k).Load(Memory(data))
}

// MethodOf is how a machine finds the methods that cells declare.
type MethodOf func(t reflect.Type, name string) *Entry

// A Method is a method of an interface type.
type Method struct {
	// Sig is the method's type with an unsafe.Pointer as first parameter: the data
	// word of an interface.
	Sig   *Signature
	Of    reflect.Type
	Name  string
	Find  MethodOf
	thunk *Entry
	index int
}

// MethodNamed returns a method of an interface type.
func (m *Machine) MethodNamed(of reflect.Type, name string, find MethodOf) *Method {
	i := 0
	for i < of.NumMethod() && of.Method(i).Name != name {
		i++
	}
	t := of.Method(i).Type
	in := append([]reflect.Type{rtype.UnsafePointer}, slices.Collect(t.Ins())...)
	s := SignatureOf(reflect.FuncOf(in, slices.Collect(t.Outs()), t.IsVariadic()))
	return &Method{Sig: s, Of: of, Name: name, Find: find, thunk: s.thunkOf(m), index: i}
}

// A target is the function that a method call goes to for a type; entry is nil
// for types that cells have not declared.
type target struct {
	typ   unsafe.Pointer
	entry *Entry
}

// Prepare prepares a call of the method of an interface value. The arguments
// come after the data word.
func (m *Method) Prepare(v Val, args []Arg, pos int32) Prepare {
	e, s, thunk := as[Iface](v.E), m.Sig, m.thunk
	var last [2]atomic.Pointer[target]
	off := funcsInTab + 8*m.index
	return func(f *Frame, g *G) *Frame {
		i := e(f)
		if i.Tab == nil {
			isNil(f, pos)
		}
		typ := *(*unsafe.Pointer)(add(i.Tab, typeInTab))
		t := last[0].Load()
		if t == nil || t.typ != typ {
			if t = last[1].Load(); t == nil || t.typ != typ {
				t = &target{typ, m.Find(rtype.TypeAt(typ), m.Name)}
				last[1].Store(last[0].Load())
				last[0].Store(t)
			}
		}
		var c *Frame
		if t.entry != nil {
			c = g.frame(t.entry.Fn, f)
		} else {
			c = g.frame(thunk.Fn, f)
			*(*unsafe.Pointer)(at(c, s.end)) = add(i.Tab, uintptr(off))
		}
		*(*unsafe.Pointer)(at(c, first)) = i.Data
		for _, a := range args {
			a(f, c)
		}
		f.Pos = pos
		return c
	}
}
