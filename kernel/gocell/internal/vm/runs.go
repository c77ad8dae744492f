package vm

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"
)

// Cells may run concurrently: a cell, functions that widgets call, cells of
// subshells. The interpreter has one switch that stops all that it runs: its run
// number. So stopping one cell stops all.

// ErrConcurrent says that a cell was stopped because a concurrent one was.
var ErrConcurrent = errors.New("stopped with a cell that ran concurrently")

// runs are the cells that run.
type runs struct {
	mu       sync.Mutex // guards the fields below
	over     *sync.Cond // that stopping has become false
	cells    map[*Cell]bool
	stopping bool          // the cells have been told to stop
	id       uint64        // the run number that they began with
	done     chan struct{} // closed to end their waits on channels
}

// globals is the number of global variables, those of the kernel's rewrites among
// them, that a session has room for from the start.
const globals = 1 << 14

// makeGlobals makes the global variables of a program that begins. The
// interpreter would move the slice of all of them to a longer one while concurrent
// cells may be reading it; beyond the number globals it still does.
func (m *Machine) makeGlobals() {
	in := unsafe.Pointer(m.in)
	f := *at[*runFrame](in, layout.interpreter.frame)
	types := *at[[]reflect.Type](*at[unsafe.Pointer](in, layout.interpreter.universe), layout.scope.types)
	if len(f.data) < globals {
		data := make([]reflect.Value, globals)
		m.made = copy(data, f.data)
		f.data = data
	}
	for ; m.made < min(len(types), globals); m.made++ {
		f.data[m.made] = reflect.New(types[m.made]).Elem()
	}
}

// begin readies the interpreter for a cell. It waits while other cells are being
// stopped.
func (m *Machine) begin(c *Cell) {
	r := &m.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.stopping {
		r.over.Wait()
	}
	if len(r.cells) == 0 {
		// ExecuteWithContext does the same, but returns before a stopped run has
		// unwound, and writes its results while they are read.
		in := unsafe.Pointer(m.in)
		mu := at[sync.RWMutex](in, layout.interpreter.mutex)
		r.id, r.done = m.runID().Load(), make(chan struct{})
		mu.Lock()
		*at[chan struct{}](in, layout.interpreter.done), *at[bool](in, layout.interpreter.cancelChan) = r.done, true
		mu.Unlock()
	}
	r.cells[c] = true
}

// end records that a cell has ended or is given up.
func (m *Machine) end(c *Cell) {
	r := &m.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cells, c)
	if len(r.cells) == 0 && r.stopping {
		m.runID().Store(r.id)
		r.stopping = false
		r.over.Broadcast()
	}
}

// stopRuns stops the frames of all cells at once, not when their contexts are
// noticed, and ends their waits on channels.
func (m *Machine) stopRuns() {
	r := &m.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.cells) == 0: // a goroutine that has outlived its cell
		m.runID().Add(1)
	case !r.stopping:
		r.stopping = true
		for c := range r.cells {
			c.cancel(ErrConcurrent) // without effect on one that has a reason already
		}
		m.runID().Add(1)
		close(r.done)
	}
}

// stopped reports whether the running cells have been told to stop.
func (m *Machine) stopped() bool {
	m.runs.mu.Lock()
	defer m.runs.mu.Unlock()
	return m.runs.stopping
}
