package code

import (
	"reflect"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/gocell/rtype"
)

// goroutines finds the state of the goroutine that asks: when a library calls a
// function of cells, that belongs to the calls around the library's.
type goroutines struct {
	near [256]atomic.Pointer[G] // by a part of the goroutine's number
	all  sync.Map               // uintptr: *G
}

func place(id uintptr) uintptr { return (id>>7 ^ id>>15) % 256 }

// begin makes g the state of this goroutine. Addresses that are not there are panics
// in it, and not the end of the process.
func (m *Machine) begin(g *G) {
	debug.SetPanicOnFault(true)
	if m.Here == nil {
		return
	}
	_, id := m.Here()
	g.id.Store(id)
	m.table.all.Store(id, g)
	m.table.near[place(id)].Store(g)
}

// end is called when the goroutine is over.
func (m *Machine) end(g *G) {
	id := g.id.Load()
	if id == 0 {
		return
	}
	m.table.all.CompareAndDelete(id, g)
	m.table.near[place(id)].CompareAndSwap(g, nil)
	g.id.Store(0)
}

// over is end, and gives the state back where the goroutine has ended as it should:
// another may have it at once.
func (m *Machine) over(g *G, ended *bool) {
	m.end(g)
	if *ended {
		g.Free()
	}
}

// here returns the state of this goroutine, or nil.
func (m *Machine) here() *G {
	if m.Here == nil {
		return nil
	}
	_, id := m.Here()
	if g := m.table.near[place(id)].Load(); g != nil && g.id.Load() == id {
		return g
	}
	if g, ok := m.table.all.Load(id); ok {
		m.table.near[place(id)].Store(g.(*G))
		return g.(*G)
	}
	return nil
}

// Calls returns the calls under way in this goroutine, the innermost first.
func (m *Machine) Calls() []Step {
	var list []Step
	if g := m.here(); g != nil {
		for f := g.Top; f != nil; f = f.Caller {
			list = append(list, Step{Fn: f.Fn, Pos: f.Pos, Frame: f})
		}
	}
	return list
}

// Within returns the positions of the calls under way in the cell's own goroutine, the
// innermost first, while that is in a call of a library. It reads them from another
// goroutine: should the call return just then, one may be that of the next statement.
//
//go:norace
func (gr *Group) Within() (list []int32) {
	g := gr.main.Load()
	if g == nil {
		return nil
	}
	for f := g.Top; f != nil && len(list) < mostWithin; f = f.Caller {
		list = append(list, f.Pos)
	}
	return list
}

// mostWithin bounds Within: a frame that is given back meanwhile refers to others.
const mostWithin = 100

// alone has all goroutines lock maps from now on. A step that has begun without is
// over when it returns.
func (m *Machine) alone() {
	m.foreign.Do(func() {
		m.others.Add(1)
		time.Sleep(time.Millisecond)
	})
}

// leaves notes where a function of a library is called, and stops where the cell is to
// stop.
func (f *Frame) leaves(pos int32) {
	f.Pos = pos
	if f.G.Group.Stop.Load() != 0 {
		f.G.M.Stopped(f.G)
	}
}

// enter begins a call by a library.
func (c *Closure) enter() (*G, *Frame) {
	fn := c.Entry.Fn
	m := fn.M
	g := m.here()
	if g == nil {
		g = m.NewG()
		if g.Group = noCell; m.Latest != nil {
			g.Group = m.Latest()
		}
		g.foreign = true
		m.begin(g)
		m.alone()
	}
	f := g.frame(fn, g.Top)
	f.Env = c.Env
	return g, f
}

// run runs the body of a call by a library.
func (g *G) run(f *Frame) {
	if g.foreign && f.Caller == nil {
		g.outermost(f)
		return
	}
	if r := g.attempt(f); r != nil {
		panic(r)
	}
}

// attempt runs the body, and returns what it panics with. The caller panics again, when
// the frames that have been left are gone: that a deferred function panics anew at each
// level of calls takes time quadratic in their number. What the library's frames take of
// the stack is not known before.
func (g *G) attempt(f *Frame) (r any) {
	top, depth, ended := g.Top, g.stack, false
	if g.M.Here != nil {
		used, _ := g.M.Here()
		g.stack = max(depth, int(used))
	}
	defer func() {
		if !ended {
			if r = recover(); r != nil { // else the goroutine exits
				g.Note(r)
			}
		}
		g.Top, g.stack = top, depth
		if r != nil { // which the library may recover
			g.noted, g.border = r, f
		}
	}()
	g.call(f)
	ended = true
	return nil
}

// outermost is run in a goroutine that a library has started. A panic would end the
// process there if nothing recovers it.
func (g *G) outermost(f *Frame) {
	ended := false
	defer func() {
		if ended {
			return
		}
		defer g.M.end(g)
		if r := recover(); r != nil {
			g.Note(r)
			if g.M.Foreign == nil || !g.M.Foreign(g, r) {
				panic(r)
			}
			s := f.Fn.Sig
			for i, off := range s.ResultAt {
				rtype.Clear(rtype.Descriptor(s.Type.Out(i)), at(f, off))
			}
		}
	}()
	g.call(f)
	ended = true
}

// leave ends a call by a library.
func (g *G) leave(f *Frame) {
	outermost := g.foreign && f.Caller == nil
	g.release(f)
	if outermost {
		g.M.end(g)
		g.foreign = false
		g.Free()
	}
}

func (c *Closure) reflectCall(args []reflect.Value) []reflect.Value {
	g, f := c.enter()
	fn := f.Fn
	t := fn.Sig
	for i, p := range t.ParamAt {
		reflect.NewAt(t.Type.In(i), at(f, p)).Elem().Set(rtype.Open(args[i]))
	}
	g.run(f)
	out := make([]reflect.Value, len(t.ResultAt))
	for i, r := range t.ResultAt {
		v := reflect.New(t.Type.Out(i)).Elem()
		rtype.Move(rtype.Descriptor(t.Type.Out(i)), v.Addr().UnsafePointer(), at(f, r))
		out[i] = v
	}
	g.leave(f)
	return out
}
