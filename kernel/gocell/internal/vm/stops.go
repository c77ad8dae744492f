package vm

import (
	"go/token"
	"reflect"
	"strings"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
)

// A cell that runs while a client debugs has a call ˑrt.At(n, x, y) before each
// statement: stop n, with the variables in scope. The call is never made. Its step
// looks at a flag and goes on; while the flag is up it asks the debugger, which
// returns when the cell is to go on. The arguments only say where the interpreter
// has put the variables.

// Stops is a debugger as the machine sees it.
type Stops interface {
	// Flag returns the flag of a stop: while it is not 0, Stop is called each
	// time that a goroutine comes by.
	Flag(stop int) *uint32
	// Stop is called in a goroutine of a cell that has come to a stop.
	Stop(stop int, at *Stack)
	// Panics reports whether Panicked wants to be called.
	Panics() bool
	// Panicked is called in a goroutine of a cell that begins to panic.
	Panicked(value any, at *Stack)
}

// A stopAt is where a stop's variables are.
type stopAt struct{ slots []stopSlot }

// A stopSlot is a place in a frame; its index is -1 if it is in no frame.
type stopSlot struct{ level, index int }

// Trace says whether calls note their frames, which a debugger wants for the
// variables of the functions that have called the one that has stopped.
func (m *Machine) Trace(on bool) {
	var v uint32
	if on {
		v = 1
	}
	atomic.StoreUint32(&m.tracing, v)
}

// isStop reports whether a node is a stop's call.
func isStop(n node) bool { return callsRuntime(n, "At") }

// callsRuntime reports whether a node calls a function of the run time.
func callsRuntime(n node, name string) bool {
	if n.kind() != "callExpr" || len(n.children()) == 0 || n.children()[0].kind() != "selectorExpr" {
		return false
	}
	sel := n.children()[0].children()
	return len(sel) == 2 && sel[0].ident() == cell.Runtime && sel[1].ident() == name
}

// stopStep returns the step of a stop.
func (m *Machine) stopStep(n node) step {
	c := n.children()
	number := int(c[1].rval().Int())
	where := &stopAt{}
	for _, x := range c[2:] {
		s := stopSlot{x.level(), x.findex()}
		if sym := x.sym(); sym != nil {
			if s.index = *at[int](sym, layout.symbol.index); *at[bool](sym, layout.symbol.global) {
				s.level = globalLevel
			}
		}
		where.slots = append(where.slots, s)
	}
	m.stops.Store(number, where)
	next, flag, name := getExec(n.tnext().p), m.hooks.Stops.Flag(number), shownFunction(n)
	return func(p unsafe.Pointer) step {
		if atomic.LoadUint32(flag) != 0 {
			f := (*runFrame)(p)
			s := m.stackOf(callsIn(f, currentG()), f)
			s.Function = name
			m.hooks.Stops.Stop(number, s)
		}
		return next
	}
}

// A Stack is the calls under way in a goroutine of a cell that has stopped.
type Stack struct {
	// Goroutine tells the goroutines of the cells that run apart.
	Goroutine uintptr
	Cell      *Cell // that the goroutine belongs to
	// Calls are where each function that is not the innermost has called another,
	// the outermost first.
	Calls []StackCall

	// Function is the innermost function.
	Function string

	m    *Machine
	here *runFrame
	vars func(i, stop int) []reflect.Value // of another machine; nil where the interpreter runs the cells
}

// NewStack returns the calls under way in this goroutine, which another machine runs:
// calls and function are the Stack's, vars does what Variables does.
func (m *Machine) NewStack(calls []StackCall, function string, vars func(i, stop int) []reflect.Value) *Stack {
	return &Stack{Goroutine: currentG(), Cell: m.Cell(), Calls: calls, Function: function, m: m, vars: vars}
}

// Goroutine returns what Stack.Goroutine is of this goroutine.
func Goroutine() uintptr { return currentG() }

// GoroutineStack returns how many bytes of its stack this goroutine uses, and what
// Goroutine returns.
func GoroutineStack() (used, id uintptr) { return stack() }

// A StackCall is a call under way.
type StackCall struct {
	Pos      token.Pos
	Function string // that makes the call
	frame    *runFrame
}

func (m *Machine) stackOf(c *calls, f *runFrame) *Stack {
	s := &Stack{Goroutine: c.g, Cell: m.Cell(), m: m, here: f}
	for _, n := range c.nodes {
		s.Calls = append(s.Calls, StackCall{n.pos(), shownFunction(n.node), (*runFrame)(n.frame)})
	}
	return s
}

// shownFunction returns the name of the function that a node is in, as a debugger
// shows it.
func shownFunction(n node) string { return strings.TrimPrefix(functionOf(n), "main.") }

// Position returns where a position is.
func (s *Stack) Position(p token.Pos) token.Position { return s.m.Files().Position(p) }

// Depth is the number of calls under way.
func (s *Stack) Depth() int { return len(s.Calls) }

// Variables returns the variables of a stop in a frame: of call i, or with
// len(s.Calls) that of the innermost function. They can be set. One that the
// interpreter keeps in no frame is not valid, and there are none where the frame
// is not known.
func (s *Stack) Variables(i, stop int) []reflect.Value {
	if s.vars != nil {
		return s.vars(i, stop)
	}
	f := s.here
	if i < len(s.Calls) {
		f = s.Calls[i].frame
	}
	known, ok := s.m.stops.Load(stop)
	if f == nil || !ok {
		return nil
	}
	var list []reflect.Value
	for _, slot := range known.(*stopAt).slots {
		list = append(list, variableIn(f, slot))
	}
	return list
}

// variableIn returns the variable in a slot of a frame. A slot that holds a value
// becomes one that holds a variable.
func variableIn(f *runFrame, s stopSlot) (v reflect.Value) {
	if s.level == globalLevel {
		f = f.root
	}
	for l := s.level; l > 0 && f != nil; l-- {
		f = f.anc
	}
	if f == nil || s.index < 0 || s.index >= len(f.data) {
		return v
	}
	// The goroutine of the frame has stopped. It may hold the lock itself, while it
	// makes a deferred call.
	if f.mutex.TryLock() {
		defer f.mutex.Unlock()
	}
	place := &f.data[s.index]
	if place.IsValid() && !place.CanAddr() {
		v := reflect.New(place.Type()).Elem()
		v.Set(*place)
		*place = v
	}
	return *place
}

// Shown returns a variable as compiled code sees its value.
func Shown(v reflect.Value) reflect.Value {
	if !v.IsValid() {
		return v
	}
	inner, _ := unwrap(v)
	return inner
}

// GlobalIndex returns the index of a global variable, for Alias.
func (m *Machine) GlobalIndex(name string) int { return m.Names().index(name) }

// Alias makes a global variable another name of a variable of the same type.
func (m *Machine) Alias(index int, v reflect.Value) {
	f := *at[*runFrame](unsafe.Pointer(m.in), layout.interpreter.frame)
	if index < 0 || index >= len(f.data) || !f.data[index].IsValid() || !v.IsValid() {
		return
	}
	place := &f.data[index]
	if v.CanAddr() && v.Type() == place.Type() {
		*place = v
		return
	}
	if v.Type().AssignableTo(place.Type()) {
		place.Set(v)
	}
}

// panicked tells the debugger, if it wants to know, of a panic that has begun at a
// node.
func (m *Machine) panicked(n node, f unsafe.Pointer, c *calls, v any) {
	d := m.hooks.Stops
	if d == nil || !d.Panics() {
		return
	}
	if _, ends := recovered(v).(Exit); ends || c.raised == wordsOf(v) {
		return
	}
	depth := c.enter(n)
	c.raised = wordsOf(v)
	c.nodes[depth].frame = f
	s := m.stackOf(c, (*runFrame)(f))
	c.nodes = c.nodes[:depth] // not leave: the call has not been made
	d.Panicked(recovered(v), s)
}

// wordsOf returns what tells a value that a panic carries from those of others.
func wordsOf(v any) [2]uintptr { return *(*[2]uintptr)(unsafe.Pointer(&v)) }
