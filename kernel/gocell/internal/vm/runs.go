package vm

import (
	"errors"
	"sync"
)

// Cells may run concurrently: a cell, functions that widgets call, cells of
// subshells. They share the session's variables and the locks of its maps, and a cell
// that is stopped may hold one that another waits for: stopping one cell stops all.

// ErrConcurrent says that a cell was stopped because a concurrent one was.
var ErrConcurrent = errors.New("stopped with a cell that ran concurrently")

// runs are the cells that run.
type runs struct {
	mu       sync.Mutex // guards the fields below
	over     *sync.Cond // that stopping has become false
	cells    map[*Cell]bool
	stopping bool // the cells have been told to stop
}

// begin notes that a cell runs. It waits while other cells are being stopped.
func (m *Machine) begin(c *Cell) {
	r := &m.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.stopping {
		r.over.Wait()
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
		r.stopping = false
		r.over.Broadcast()
	}
}

// stopRuns tells all cells that run to stop.
func (m *Machine) stopRuns() {
	r := &m.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping || len(r.cells) == 0 {
		return
	}
	r.stopping = true
	for c := range r.cells {
		c.cancel(ErrConcurrent) // without effect on one that has a reason already
	}
}

// stopped reports whether the running cells have been told to stop.
func (m *Machine) stopped() bool {
	m.runs.mu.Lock()
	defer m.runs.mu.Unlock()
	return m.runs.stopping
}
