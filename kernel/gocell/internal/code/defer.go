package code

import (
	"slices"
	"unsafe"
)

// A panicking is a panic on its way through a function that has deferred calls.
type panicking struct {
	Replaced
	before []Replaced // which it has replaced, the first first
}

// Replaced is a panic in whose place a deferred call has panicked.
type Replaced struct {
	Value     any
	Recovered bool
	Trace     []Step // where it came from
}

// mostReplaced is how many of them are kept: a function may panic anew at each level of
// calls.
const mostReplaced = 8

// A deferred is a call that has been deferred: its frame, with its arguments.
type deferred struct {
	next *deferred
	c    *Frame
}

// Defer defers a call.
func Defer(p Prepare) Do {
	return func(f *Frame) Ctl {
		c := p(f, f.G)
		f.deferred = &deferred{f.deferred, c}
		return Next
	}
}

// runDeferring runs the body of a function that may defer calls, and then
// those. A panic is recovered at once and kept in the frame, because recover is
// called by code that Go has not deferred itself; it goes on from here if nothing
// recovers it.
func (c *Frame) runDeferring() {
	g := c.G
	c.deferred, c.panicked = nil, nil
	switch r := c.attempt(); {
	case r == nil:
	case g.M.Ends != nil && g.M.Ends(r):
		g.noted = r
		panic(r)
	default:
		c.panicked = &panicking{Replaced{Value: r, Trace: g.Trace}, g.Replaced}
		c.runDeferred()
	}
	c.goOn()
}

// attempt runs the body, and the calls that it has deferred unless it panics; it returns
// the value of the panic. As with G.attempt the frames that a panic has left are gone
// when it goes on.
func (c *Frame) attempt() (r any) {
	g, depth := c.G, c.G.stack
	ended := false
	defer func() {
		if ended {
			return
		}
		r = recover()
		if r != nil {
			g.Note(r)
		}
		g.Top, g.stack = c, depth
		if r == nil { // runtime.Goexit ends the goroutine
			c.runDeferred()
			c.goOn()
		}
	}()
	c.Fn.Body(c)
	c.runDeferred()
	ended = true
	return nil
}

// goOn panics again if nothing has recovered a panic.
func (c *Frame) goOn() {
	if p := c.panicked; p != nil && !p.Recovered {
		g := c.G // a deferred call may have recovered a panic of its own
		g.noted, g.Trace, g.Replaced = p.Value, p.Trace, p.before
		panic(p.Value)
	}
}

func (c *Frame) runDeferred() {
	for c.deferred != nil {
		d := c.deferred
		c.deferred = d.next
		c.runOne(d)
	}
}

// runOne runs a deferred call. A panic of it takes the place of the one on its
// way.
func (c *Frame) runOne(d *deferred) {
	g, depth := c.G, c.G.stack
	ended := false
	defer func() {
		if ended {
			return
		}
		r := recover()
		if r != nil {
			g.Note(r) // with the deferred call's own frames
		}
		g.Top, g.stack = c, depth
		if r != nil {
			if g.M.Ends != nil && g.M.Ends(r) {
				g.noted = r
				panic(r)
			}
			if p := c.panicked; p != nil {
				all := slices.Concat(p.before, []Replaced{p.Replaced}, g.Replaced)
				g.Replaced = all[:min(len(all), mostReplaced)]
			}
			c.panicked = &panicking{Replaced{Value: r, Trace: g.Trace}, g.Replaced}
			return
		}
		c.panicked = nil // runtime.Goexit
		c.runDeferred()
		c.goOn()
	}()
	d.c.by = c.panicked
	g.call(d.c)
	d.c.by = nil
	g.release(d.c)
	if p := c.panicked; p != nil && p.Recovered {
		c.panicked, g.Trace, g.Replaced, g.noted = nil, nil, nil, nil
	}
	ended = true
}

// Recover is the built-in function recover.
func Recover(f *Frame) Iface {
	p := f.by
	if p == nil || p.Recovered {
		return Iface{}
	}
	p.Recovered = true
	v := p.Value
	if r := f.G.M.Recovered; r != nil {
		v = r(v)
	}
	return *(*Iface)(unsafe.Pointer(&v))
}

// RecoverDeferred is recover as a deferred call: as if the function that defers
// it called it.
func RecoverDeferred(f *Frame) Iface {
	if f.Caller == nil {
		return Iface{}
	}
	return Recover(f.Caller)
}

// Panic is the built-in function panic.
func Panic(v Val) Do {
	e := as[Iface](v.E)
	return func(f *Frame) Ctl {
		x := e(f)
		panic(*(*any)(unsafe.Pointer(&x)))
	}
}

// A Step is a place on the way of a panic.
type Step struct {
	Fn    *Func
	Pos   int32
	Frame *Frame
	// Native is what Machine.Native has told of frames in this place; the others are
	// nil then.
	Native any
}

// maxTrace is how many places of a panic's way are kept, at each end of it.
const maxTrace = 50

// native returns a step for the frames of other code that a panic comes out of.
func (g *G) native(around bool) []Step {
	if g.M.Native != nil {
		if frames := g.M.Native(around); frames != nil {
			return []Step{{Native: frames}}
		}
	}
	return nil
}

// Note notes where a panic comes from, if that has not been noted where it came
// by.
func (g *G) Note(value any) {
	noted := g.noted
	g.noted = nil
	if *(*Iface)(unsafe.Pointer(&noted)) == *(*Iface)(unsafe.Pointer(&value)) {
		if i := slices.IndexFunc(g.Trace, func(s Step) bool { return s.Frame == g.border && s.Frame != nil }); i >= 0 {
			g.Trace = slices.Insert(g.Trace, i+1, g.native(true)...)
		}
		g.border = nil
		return
	}
	g.border, g.Trace, g.Replaced = nil, g.native(false), nil
	g.trace()
	if g.M.Raised != nil {
		g.M.Raised(g, value)
	}
}

// Noted returns the state of this goroutine if what a library called in it has panicked
// with a value, which the library has just recovered, else nil.
func (m *Machine) Noted(value any) *G {
	g := m.here()
	if g == nil || g.border == nil || *(*Iface)(unsafe.Pointer(&g.noted)) != *(*Iface)(unsafe.Pointer(&value)) {
		return nil
	}
	return g
}

// trace adds the calls under way to the trace, the innermost first.
func (g *G) trace() {
	for f := g.Top; f != nil; f = f.Caller {
		g.Trace = append(g.Trace, Step{Fn: f.Fn, Pos: f.Pos, Frame: f})
		if len(g.Trace) >= 2*maxTrace {
			break
		}
	}
}
