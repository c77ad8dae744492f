package code

import (
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

type (
	// A Prepare returns the frame of a call, for g, with its arguments.
	Prepare = func(f *Frame, g *G) *Frame
	// A Call makes a call and returns its frame, which has the results.
	Call = func(f *Frame) *Frame
)

// Static prepares a call of a function by its entry, at a place.
func Static(e *Entry, args []Arg, pos int32) Prepare {
	return func(f *Frame, g *G) *Frame {
		c := g.frame(e.Fn, f)
		for _, a := range args {
			a(f, c)
		}
		f.Pos = pos
		return c
	}
}

// CallStatic calls a function by its entry, at a place.
func CallStatic(e *Entry, args []Arg, pos int32) Call {
	switch len(args) {
	case 0:
		return func(f *Frame) *Frame {
			c := f.G.frame(e.Fn, f)
			f.Pos = pos
			f.G.call(c)
			return c
		}
	case 1:
		a := args[0]
		return func(f *Frame) *Frame {
			c := f.G.frame(e.Fn, f)
			a(f, c)
			f.Pos = pos
			f.G.call(c)
			return c
		}
	case 2:
		a, b := args[0], args[1]
		return func(f *Frame) *Frame {
			c := f.G.frame(e.Fn, f)
			a(f, c)
			b(f, c)
			f.Pos = pos
			f.G.call(c)
			return c
		}
	}
	return func(f *Frame) *Frame {
		c := f.G.frame(e.Fn, f)
		for _, a := range args {
			a(f, c)
		}
		f.Pos = pos
		f.G.call(c)
		return c
	}
}

// Run makes a call of what has been prepared.
func Run(p Prepare) Call {
	return func(f *Frame) *Frame {
		c := p(f, f.G)
		f.G.call(c)
		return c
	}
}

// Through prepares a call that may recover what this function, which has been
// deferred for it, may recover.
func Through(p Prepare) Call {
	return func(f *Frame) *Frame {
		c := p(f, f.G)
		c.by = f.by
		f.G.call(c)
		c.by = nil
		return c
	}
}

// Statement makes a call without use for its results.
func Statement(call Call) Do {
	return func(f *Frame) Ctl {
		f.G.release(call(f))
		return Next
	}
}

// ResultInto stores the result of a call, of a type.
func ResultInto(call Call, off int32, typ unsafe.Pointer) Into {
	return func(f *Frame, dst unsafe.Pointer) {
		c := call(f)
		rtype.Move(typ, dst, at(c, off))
		f.G.release(c)
	}
}

// A Move copies a value of a type between frames.
type Move struct {
	From, To int32
	Type     unsafe.Pointer
}

// Results copies the results of a call to the frame.
func Results(call Call, moves []Move) Do {
	return func(f *Frame) Ctl {
		c := call(f)
		for _, m := range moves {
			rtype.Move(m.Type, at(f, m.To), at(c, m.From))
		}
		f.G.release(c)
		return Next
	}
}

// AggArg stores an argument that is a struct or an array.
func AggArg(off int32, into Into) Arg {
	return func(f, c *Frame) { into(f, at(c, off)) }
}

// Go starts a goroutine for a call.
func Go(p Prepare) Do {
	return func(f *Frame) Ctl {
		m := f.G.M
		f.G.spend("a goroutine", 8<<10) // of stack, at least
		g := m.NewG()
		g.Group = f.G.Group
		c := p(f, g)
		c.Caller = nil
		m.others.Add(1)
		begins := m.begins(f)
		run := func() {
			m.begin(g)
			begins(g)
			ended := false
			defer func() {
				defer m.others.Add(-1)
				defer m.over(g, &ended)
				if ended || m.Panicked == nil {
					return
				}
				if r := recover(); r != nil {
					g.Note(r)
					m.Panicked(g, r)
				}
			}()
			g.call(c)
			g.release(c)
			ended = true
		}
		if m.Start != nil {
			m.Start(run)
		} else {
			go run()
		}
		return Next
	}
}

// CallNoting is Call for a cell, and tells where a panic came from that ends it.
func (m *Machine) CallNoting(e *Entry, group *Group, note func(g *G)) {
	if m.calls.Add(1) > 1 {
		m.alone()
	}
	m.cells.Add(1)
	g := m.NewG()
	g.Group = group
	m.begin(g)
	m.begins(nil)(g)
	group.main.Store(g)
	ended, released := false, false
	defer func() {
		group.main.Store(nil)
		defer m.calls.Add(-1)
		defer m.over(g, &released)
		if ended {
			return
		}
		if r := recover(); r != nil {
			g.Note(r)
			note(g)
			panic(r)
		} else if group.Stop.Load() != 0 { // a function of a library has stopped the goroutine
			g.Trace = nil
			g.trace()
			note(g)
		}
	}()
	c := g.frame(e.Fn, nil)
	g.call(c)
	ended = true
	if group.Stop.Load() != 0 { // in the last statement, which waits no longer
		g.Top = c
		g.trace()
		note(g)
		return
	}
	g.release(c)
	released = true
}

// Call calls a function without parameters and results.
func (m *Machine) Call(e *Entry) {
	g := m.NewG()
	g.Group = noCell
	m.begin(g)
	ended := false
	defer m.over(g, &ended)
	c := g.frame(e.Fn, nil)
	g.call(c)
	g.release(c)
	ended = true
}
