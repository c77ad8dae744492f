package debug

import (
	"context"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/vm"
)

// A Host is the session that is debugged.
type Host interface {
	// Text returns the text of a file of the file set, and the file's path if it is of a
	// package on disk, "" if it is a cell.
	Text(name string) (text, path string)
	// File returns the text of a file on disk in which a cell may come to stop.
	File(path string) (text string, ok bool)
	// Places returns where, in a cell's text, the first statement of each line
	// begins, sorted.
	Places(text string) []Place
	// Run runs code as if it stood in a function, among variables, and returns the
	// value of its last expression, if it has one, and that value's type.
	Run(ctx context.Context, code string, in Scope, out engine.Outputs) (value any, typ string, err error)
	// Condition compiles an expression of type bool that may use variables.
	Condition(ctx context.Context, expr string, vars []*types.Var) (holds func(values []reflect.Value) bool, err error)
	// Define gives the session a variable with the value that a function's has.
	Define(ctx context.Context, name, as string, in Scope) error
	// Globals returns the session's variables, with their values unless a cell runs
	// that has not stopped.
	Globals(ctx context.Context, stopped bool) []Global
	// TypeName returns a type as messages name it.
	TypeName(t types.Type) string
	// Attached is called when a client begins to debug: the functions that the session
	// has compiled get stops, too.
	Attached()
}

// A Place is a line and a column, both from 1.
type Place struct{ Line, Column int }

// A Scope is the variables that code in a function sees, the outermost first.
type Scope struct {
	Vars   []*types.Var
	Values []reflect.Value
}

// A Global is a variable of the session.
type Global struct {
	Name, Type string
	Value      reflect.Value // invalid where it is not known
	Why        string        // it is not known: "(a cell runs)"
}

// A Debugger debugs the cells of one session for its clients, which share it.
type Debugger struct {
	host   Host
	prefix string // of the paths of cells

	panics atomic.Bool // goroutines that begin to panic stop
	lab    atomic.Bool // the client is JupyterLab, which looks at some replies in its own way

	mu       sync.Mutex // guards the fields below
	send     func(event string, body any)
	attached bool
	stops    []*stop
	texts    map[string]string // of the cells, by path
	names    map[string]string // of the cells, by path: "In[3]"
	breaks   map[string][]breakpoint
	places   map[string][]Place // of the texts, by path
	pausing  bool               // the next goroutine at a stop stops
	threads  map[uintptr]*thread
	numbers  map[uintptr]int   // of goroutines, as clients know them
	quiet    map[*vm.Cell]bool // those that run for the debugger itself
	busy     map[uintptr]bool  // goroutines that compute something for the debugger
	shown    *thread           // that clients have been told of
	waiting  []*thread         // stopped, but clients are not told yet
	handles  handles
}

// A stop is a place where a cell may stop.
type stop struct {
	Stop
	path string
	flag uint32 // accessed atomically
}

// A breakpoint is one that a client has set.
type breakpoint struct {
	line      int
	condition string
	compiled  map[int]func([]reflect.Value) bool // the condition, by stop
}

// New returns a debugger of a session.
func New(host Host) *Debugger {
	return &Debugger{host: host, prefix: newPrefix(), send: func(string, any) {}, texts: map[string]string{}, names: map[string]string{},
		breaks: map[string][]breakpoint{}, places: map[string][]Place{}, threads: map[uintptr]*thread{}, numbers: map[uintptr]int{},
		quiet: map[*vm.Cell]bool{}, busy: map[uintptr]bool{}, handles: handles{frames: map[int]*frame{}, kids: map[int]children{}}}
}

// Events sets where the debugger's events go.
func (d *Debugger) Events(send func(event string, body any)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.send = send
}

// Attached reports whether a client debugs: cells that are compiled now get stops.
func (d *Debugger) Attached() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attached
}

// attach makes cells that are compiled from now on stop.
func (d *Debugger) attach() {
	d.mu.Lock()
	d.attached = true
	d.mu.Unlock()
	d.host.Attached()
}

// Detach lets all goroutines go on, and forgets the breakpoints.
func (d *Debugger) Detach() {
	d.panics.Store(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attached, d.pausing = false, false
	clear(d.breaks)
	for _, t := range d.threads {
		if t.wanted = toGoOn; t.stopped {
			t.stopped = false
			close(t.resume)
		}
	}
	clear(d.threads)
	d.shown, d.waiting = nil, nil
	d.handles.clear()
	d.raise()
}

// Add adds a stop and returns its number.
func (d *Debugger) Add(s Stop) int {
	text, path := d.host.Text(s.At.Filename)
	d.mu.Lock()
	defer d.mu.Unlock()
	if path == "" {
		path = d.know(text)
	} else {
		d.knowFile(path, text)
	}
	d.names[path] = cell.Name(s.At.Filename)
	x := &stop{Stop: s, path: path}
	d.stops = append(d.stops, x)
	d.raiseOne(x)
	return len(d.stops) - 1
}

// Flag returns the flag of a stop.
func (d *Debugger) Flag(number int) *uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &d.stops[number].flag
}

// know notes the text of a cell and returns its path.
func (d *Debugger) know(text string) (path string) {
	path = d.pathOf(text)
	if _, ok := d.texts[path]; !ok {
		d.texts[path] = text
		d.places[path] = d.host.Places(text)
	}
	return path
}

// knowFile notes the text of a file on disk, as it is now.
func (d *Debugger) knowFile(path, text string) {
	if was, ok := d.texts[path]; !ok || was != text {
		d.texts[path], d.places[path] = text, d.host.Places(text)
	}
}

// raise sets the flags of all stops.
func (d *Debugger) raise() {
	for _, s := range d.stops {
		d.raiseOne(s)
	}
}

// raiseOne sets the flag of a stop: at a breakpoint, and everywhere while a
// goroutine steps or the next one is to stop.
func (d *Debugger) raiseOne(s *stop) {
	up := d.pausing || d.breakAt(s) != nil
	for _, t := range d.threads {
		up = up || t.wanted != toGoOn && !t.stopped
	}
	var v uint32
	if up && d.attached {
		v = 1
	}
	atomic.StoreUint32(&s.flag, v)
}

// breakAt returns the breakpoint at a stop: its line is the stop's, and the stop is
// the first of its line.
func (d *Debugger) breakAt(s *stop) *breakpoint {
	list := d.breaks[s.path]
	i := slices.IndexFunc(list, func(b breakpoint) bool { return b.line == s.At.Line })
	if i < 0 || !slices.Contains(d.places[s.path], Place{s.At.Line, s.At.Column}) {
		return nil
	}
	return &list[i]
}

// What a goroutine that has stopped does next.
type wanted int

const (
	toGoOn   wanted = iota
	stepIn          // to the next stop
	stepOver        // to the next stop in the function, or in one that has called it
	stepOut         // to the next stop in a function that has called it
)

// A thread is a goroutine that has stopped, or steps.
type thread struct {
	id      int
	stack   *vm.Stack
	at      int // the stop; -1 at a panic
	reason  string
	text    string // what the reason is: of a panic its value
	stopped bool
	wanted  wanted
	depth   int // of the calls where the step began
	resume  chan struct{}
}

// Stop is called by a goroutine that has come to a stop whose flag is up. It
// returns when the goroutine is to go on.
func (d *Debugger) Stop(number int, stack *vm.Stack) {
	d.mu.Lock()
	g := stack.Goroutine
	if !d.attached || d.quiet[stack.Cell] || d.busy[g] {
		d.mu.Unlock()
		return
	}
	s := d.stops[number]
	reason := ""
	t := d.threads[g]
	switch depth := stack.Depth(); {
	case t == nil:
	case t.wanted == stepIn, t.wanted == stepOver && depth <= t.depth, t.wanted == stepOut && depth < t.depth:
		reason = "step"
	}
	if d.pausing {
		reason = "pause"
	}
	text := ""
	if b := d.breakAt(s); b != nil {
		holds := true
		if b.condition != "" {
			holds, text = d.holds(*b, number, stack)
		}
		if holds {
			reason = "breakpoint"
		}
	}
	if reason == "" {
		d.mu.Unlock()
		return
	}
	d.halt(stack, number, reason, text)
}

// holds reports whether the condition of a breakpoint holds. One that cannot be
// computed stops the cell, which the text explains. The lock is not held
// meanwhile.
func (d *Debugger) holds(b breakpoint, number int, stack *vm.Stack) (holds bool, text string) {
	s, f := d.stops[number], b.compiled[number]
	d.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			holds, text = true, fmt.Sprintf("the condition %s panics: %v", b.condition, v)
		}
		d.mu.Lock()
	}()
	if f == nil {
		var err error
		if f, err = d.host.Condition(stack.Cell.Context(), b.condition, s.Vars); err != nil {
			return true, fmt.Sprintf("the condition %s: %v", b.condition, err)
		}
		d.mu.Lock()
		b.compiled[number] = f
		d.mu.Unlock()
	}
	d.quietly(func() { holds = f(stack.Variables(len(stack.Calls), number)) })
	return holds, ""
}

// Panics reports whether goroutines that begin to panic stop.
func (d *Debugger) Panics() bool { return d.panics.Load() }

// Panicked is called by a goroutine that begins to panic. It returns when the
// goroutine is to go on.
func (d *Debugger) Panicked(value any, stack *vm.Stack) {
	text := ""
	d.quietly(func() { text = vm.PanicText(value, display.Format) })
	d.mu.Lock()
	if !d.attached || d.quiet[stack.Cell] || d.busy[stack.Goroutine] {
		d.mu.Unlock()
		return
	}
	d.halt(stack, -1, "exception", text)
}

// quietly calls f, which may call methods of cells, without stops in them: f is
// what the debugger itself computes. The lock must not be held.
func (d *Debugger) quietly(f func()) {
	g := vm.Goroutine()
	d.mu.Lock()
	outer := d.busy[g]
	d.busy[g] = true
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !outer {
			delete(d.busy, g)
		}
	}()
	f()
}

// halt stops this goroutine until a client lets it go on, or its cell is
// interrupted. It gives the lock up.
func (d *Debugger) halt(stack *vm.Stack, number int, reason, text string) {
	if !d.attached { // no longer
		d.mu.Unlock()
		return
	}
	g := stack.Goroutine
	t := &thread{id: d.numberOf(g), stack: stack, at: number, reason: reason, text: text, stopped: true, resume: make(chan struct{})}
	d.threads[g] = t
	d.pausing = false
	d.raise()
	if d.shown == nil {
		d.show(t)
	} else {
		d.waiting = append(d.waiting, t)
	}
	d.mu.Unlock()
	select {
	case <-t.resume:
	case <-stack.Cell.Stopped():
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.stopped {
			d.goOn(t, toGoOn)
			delete(d.threads, g)
		}
	}
}

// numberOf returns the number by which clients know a goroutine.
func (d *Debugger) numberOf(g uintptr) int {
	if d.numbers[g] == 0 {
		d.numbers[g] = len(d.numbers) + 1
	}
	return d.numbers[g]
}

// show tells the clients of a thread that has stopped. They are told of one at a
// time: JupyterLab forgets the one before.
func (d *Debugger) show(t *thread) {
	d.shown = t
	body := map[string]any{"reason": t.reason, "threadId": t.id, "allThreadsStopped": false, "preserveFocusHint": false}
	if t.text != "" {
		body["text"], body["description"] = t.text, t.text
	}
	d.send("stopped", body)
}

// stepPatience is how long other goroutines that have stopped wait for one that
// steps: it may wait for one of them.
const stepPatience = 300 * time.Millisecond

// goOn lets a thread go on.
func (d *Debugger) goOn(t *thread, w wanted) {
	t.wanted, t.depth = w, t.stack.Depth()
	d.waiting = slices.DeleteFunc(d.waiting, func(u *thread) bool { return u == t })
	if d.shown == t {
		d.shown = nil
		d.handles.clear()
		d.send("continued", map[string]any{"threadId": t.id, "allThreadsContinued": false})
	}
	stopped := t.stopped
	t.stopped = false
	d.raise() // before it goes on: it may be at the next stop at once
	if stopped {
		close(t.resume)
	}
	if w == toGoOn {
		d.showNext()
		return
	}
	time.AfterFunc(stepPatience, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.showNext()
	})
}

// showNext tells the clients of the next thread that has stopped, unless they know
// of one.
func (d *Debugger) showNext() {
	if d.shown == nil && len(d.waiting) > 0 {
		t := d.waiting[0]
		d.waiting = d.waiting[1:]
		d.show(t)
	}
}

// Begin says that a cell runs for the debugger itself: it does not stop.
func (d *Debugger) Begin(c *vm.Cell) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quiet[c] = true
}

// End says that a cell has ended: steps in it are over, and if it was the last
// that runs, nothing is left to pause.
func (d *Debugger) End(c *vm.Cell, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.quiet, c)
	for g, t := range d.threads {
		if t.stack.Cell == c && !t.stopped {
			delete(d.threads, g)
		}
	}
	if last {
		d.pausing = false
		if len(d.threads) == 0 {
			clear(d.numbers)
		}
	}
	if d.attached {
		d.raise()
	}
}
