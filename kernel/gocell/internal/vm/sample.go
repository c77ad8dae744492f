package vm

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/internal/cell"
)

// A CPU profile of Go's run time shows the interpreter's steps, and not the lines of
// cells that they belong to. While a Sampler is active, each goroutine of a cell sees a
// clock of 100 Hz after each step, and notes where it is when the clock has moved: the
// step during which it moved is that which the goroutine has just made, be it an
// addition or a library's call of a minute. The time until then since the last such
// note is a span. The goroutine has the span's number as its profiler label, so that
// the run time's samples, which alone know what used the processor, tell how much of
// it each span did. Goroutines that a library starts inherit the label, and with it
// the line that called the library.

// SpanLabel is the key of the profiler label of a span.
const SpanLabel = "dace.span"

// A Sampler finds out which lines of a session's cells run.
type Sampler struct {
	m    *Machine
	tick *atomic.Uint32
	stop chan struct{}

	mu    sync.Mutex // guards the fields below
	spans map[string]*Span
	steps map[*function]map[unsafe.Pointer]node
}

// A Span is a part of a goroutine's time.
type Span struct {
	// At is the stack of the line that ran, the outermost call first.
	At []Place
	// Inner are stacks of functions of cells that ran in other goroutines with the
	// span's label, one for each tick of the clock. Those of a library's goroutines
	// stand below At; those of a cell's are whole.
	Inner, Whole [][]Place
}

// A Place is a line of a cell that runs, or calls.
type Place struct {
	Function string
	File     string // as Frame.Pos has it
	Line     int
	Callee   string // the function that the line calls there; "" if it does not
}

// sampling is the active Sampler of this process, whose profiler is one.
var sampling atomic.Pointer[Sampler]

// Sampled is the state of a goroutine.
type Sampled struct {
	by     *Sampler // nil for a goroutine of a library
	tick   uint32
	span   *Span        // nil before the first
	parent []activeCall // that started the goroutine
	// Parent is parent where another machine runs the goroutine.
	Parent []Place
}

// A sampledStart is a node in place of that where a function begins, whose step runs
// the whole function.
type sampledStart struct {
	by   *Sampler
	node node
}

// StartSampling makes a Sampler active. Only one can be.
func (m *Machine) StartSampling() (*Sampler, bool) {
	s := &Sampler{m: m, tick: &m.tick, stop: make(chan struct{}), spans: map[string]*Span{}, steps: map[*function]map[unsafe.Pointer]node{}}
	if !sampling.CompareAndSwap(nil, s) {
		return nil, false
	}
	go func() {
		clock := time.NewTicker(10 * time.Millisecond)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				s.tick.Add(1)
			case <-s.stop:
				return
			}
		}
	}()
	return s, true
}

// Stop ends the sampling, and returns the spans by their labels.
func (s *Sampler) Stop() map[string]*Span {
	sampling.Store(nil)
	close(s.stop)
	s.mu.Lock()
	defer s.mu.Unlock()
	spans := s.spans
	s.spans = nil
	return spans
}

// sampleGoroutine is called where a goroutine of a cell is to begin. The function that
// it returns is called in the new goroutine, and returns what ends it.
func (m *Machine) sampleGoroutine() (begin func() (end func())) {
	s := sampling.Load()
	if s == nil || s.m != m {
		return func() func() { return func() {} }
	}
	var parent []activeCall
	if c := callsHere(); len(c.nodes) > 0 {
		parent = slices.Concat(c.sampled.parent, c.nodes[:min(len(c.nodes), mostPlaces)])
	}
	return func() func() {
		c := callsHere()
		c.sampled = Sampled{by: s, tick: s.tick.Load(), parent: parent}
		if parent == nil { // others may be too short for a span of their own
			s.open(&c.sampled, nil)
		}
		return func() { c.sampled = Sampled{} }
	}
}

// open begins a span of this goroutine, which belongs to a line until more is known.
func (s *Sampler) open(x *Sampled, at []Place) {
	x.span = &Span{At: at}
	s.mu.Lock()
	if s.spans == nil { // the profile is over
		s.mu.Unlock()
		return
	}
	id := strconv.Itoa(len(s.spans))
	s.spans[id] = x.span
	s.mu.Unlock()
	goroutine.SetLabel(SpanLabel, id)
}

// sampleBody returns the step of the call with which the statements of a cell begin: one
// that runs them all, for a profile and to know at which of them the cell is stopped.
func (m *Machine) sampleBody(n node, run step) step {
	def := n
	for def.p != nil && def.kind() != "funcDecl" {
		def = def.parent()
	}
	return func(p unsafe.Pointer) step {
		next := run(p)
		s, fn, f := sampling.Load(), functionAt(def), (*runFrame)(p)
		switch {
		case fn == nil:
			return next
		case s == nil || s.m != m:
			m.steps(fn, f, next)
		default:
			s.run(next, fn, f, callsIn(f, currentG()))
		}
		return nil
	}
}

// run does what runBody does, from a step on, and looks at the clock. The calls of the
// goroutine are found when they are needed, if c is nil.
func (s *Sampler) run(exec step, fn *function, f *runFrame, c *calls) {
	id, last := s.m.runID(), s.tick.Load()
	if c != nil {
		last = c.sampled.tick
	}
	for exec != nil && atomic.LoadUint64(&f.id) == id.Load() {
		next := exec(unsafe.Pointer(f))
		if t := s.tick.Load(); t != last {
			last = t
			if c == nil {
				c = callsIn(f, currentG())
			}
			if c.sampled.tick != t { // else a function called here has seen it
				c.sampled.tick = t
				s.take(c, fn, exec)
			}
		}
		exec = next
	}
}

// start returns the node from which the interpreter is to run a function.
func (s *Sampler) start(fn *function) node {
	if made := fn.sampledStart.Load(); made != nil && made.by == s {
		return made.node
	}
	copied := newNode(fn.start)
	*copied.exec() = func(p unsafe.Pointer) step {
		s.run(*fn.start.exec(), fn, (*runFrame)(p), nil)
		return nil
	}
	fn.sampledStart.Store(&sampledStart{s, copied})
	return copied
}

// take notes that this goroutine has made a step of a function, and begins its next
// span.
func (s *Sampler) take(c *calls, fn *function, made step) {
	s.Take(&c.sampled, s.stack(c, s.nodeOf(fn, made)))
}

// Begin returns the state of a goroutine of a cell that begins, which the parent has
// started; first is true for that of the cell itself.
func (s *Sampler) Begin(first bool, parent []Place) *Sampled {
	x := &Sampled{by: s, Parent: parent}
	if first { // others may be too short for a span of their own
		s.open(x, nil)
	}
	return x
}

// Take notes that a line of the last place has run in this goroutine until now.
func (s *Sampler) Take(x *Sampled, at []Place) {
	own := x.by == s
	if own {
		defer s.open(x, at)
	}
	label := goroutine.Label(SpanLabel)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch span := s.spans[label]; {
	case own && x.span != nil:
		x.span.At = at
	case span == nil:
	case own:
		span.Whole = append(span.Whole, at)
	default:
		span.Inner = append(span.Inner, at)
	}
}

// nodeOf returns the node whose step a function has made.
func (s *Sampler) nodeOf(fn *function, made step) node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps[fn] == nil {
		s.steps[fn] = stepsOf(fn)
	}
	return nodeOf(s.steps[fn], fn, made)
}

// stepsOf returns the nodes of a function by their steps.
func stepsOf(fn *function) map[unsafe.Pointer]node {
	known := map[unsafe.Pointer]node{}
	var add func(n node)
	add = func(n node) {
		if e := *n.exec(); e != nil {
			known[closureOf(e)] = n
		}
		if n.kind() != "funcLit" || n == fn.def {
			for _, c := range n.children() {
				add(c)
			}
		}
	}
	add(fn.def)
	return known
}

// nodeOf returns the node of a step; the first of the function if it is not known.
func nodeOf(known map[unsafe.Pointer]node, fn *function, made step) node {
	p := closureOf(made)
	n, ok := known[p]
	if !ok && strings.Contains(runtime.FuncForPC(*(*uintptr)(p)).Name(), ".setExec.") {
		// The interpreter leads to the first step of a loop by a closure over its node.
		n = node{*(*unsafe.Pointer)(unsafe.Add(p, unsafe.Sizeof(p)))}
	} else if !ok {
		n = fn.start
	}
	return n
}

// closureOf returns what a function value points to.
func closureOf(f step) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&f)) }

// mostPlaces bounds a stack: of a deep recursion the innermost calls are left out.
const mostPlaces = 200

// stack returns the places of the calls under way, and that of a node, if it is one.
func (s *Sampler) stack(c *calls, leaf node) []Place {
	var at []Place
	add := func(n node) {
		for n.p != nil && !n.pos().IsValid() {
			n = n.parent()
		}
		if n.p == nil || len(at) >= mostPlaces {
			return
		}
		p := s.m.Files().Position(n.pos())
		if p.Filename == cell.FileName(0) {
			return // the prelude's
		}
		at = append(at, Place{Function: shownFunction(n), File: p.Filename, Line: p.Line, Callee: calleeOf(n)})
	}
	for _, list := range [][]activeCall{c.sampled.parent, c.nodes} {
		for _, n := range list {
			add(n.node)
		}
	}
	add(leaf)
	return at
}

// calleeOf returns the name of the function that a node calls.
func calleeOf(n node) string {
	if n.kind() != "callExpr" {
		return ""
	}
	c := n.children()[0]
	if k := c.children(); c.kind() == "selectorExpr" && len(k) == 2 {
		c = k[1]
	}
	return cell.Clean(c.ident())
}
