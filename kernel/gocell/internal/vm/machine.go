package vm

import (
	"go/token"
	"io"
	"os"
	"reflect"
	"sync"
	"sync/atomic"

	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/widget/model"
)

// A Machine is what the cells that run share.
type Machine struct {
	// Memory returns the limits on memory: those of the machine, of the control
	// groups and of the process. Tests have others.
	Memory func() []limits.Limit

	spent    atomic.Int64 // bytes that cells have allocated since the memory was read last
	pacing   sync.Once    // sets ownLimit
	ownLimit int64        // the collector's memory limit as the process began

	left sync.Map // *Cell -> time.Time: cells that were given up, and when

	hooks   Hooks
	files   *token.FileSet
	last    atomic.Pointer[Cell] // that runs, or ran last
	runs    runs
	tick    atomic.Uint32 // the clock of profiles
	halting uint32        // cells that are to stop; accessed atomically
}

// Hooks are what a Machine asks of those who use it. Those that are nil are not
// called.
type Hooks struct {
	// Flush is called before something is written to a cell's outputs: what the
	// cell wrote to the process's streams goes first.
	Flush func()
	// Redirected returns the file that a cell has made its standard output, or
	// nil.
	Redirected func() *os.File
	// Callers returns the calls of cells under way in this goroutine, the innermost
	// first.
	Callers func() []Caller
	// CompiledUnderWay returns the frames of compiled cells on the stack of this
	// goroutine, which does not panic.
	CompiledUnderWay func() []Frame
	// CompiledCallers returns the calls under way in compiled cells in this
	// goroutine, the innermost first: those inside the innermost interpreted
	// function, and the others.
	CompiledCallers func() (inner, outer []Caller)
	// CompiledDefers reports whether functions of compiled cells that defer calls
	// are under way in this goroutine.
	CompiledDefers func() bool
	// FunctionOf describes a function that cells have made: its name, and where it is
	// declared. Function literals have a Start, too. ok is false for other functions.
	FunctionOf func(f reflect.Value) (c Caller, ok bool)
	// Widgets are those that the cells have shown.
	Widgets *model.Session
	// GoroutinePanicked reports a panic that has ended a goroutine of a cell.
	GoroutinePanicked func(c *Cell, frames []Frame, value any)
	// Traceback returns the text of a panic and of the frames that it passed.
	Traceback func(frames []Frame, value any) string
}

// New returns a Machine.
func New(hooks Hooks) *Machine {
	m := &Machine{hooks: hooks, files: token.NewFileSet(), Memory: memory}
	m.runs.over, m.runs.cells = sync.NewCond(&m.runs.mu), map[*Cell]bool{}
	return m
}

// Clock returns a counter that moves while a profile is taken.
func (m *Machine) Clock() *atomic.Uint32 { return &m.tick }

// Files returns the file set that all positions belong to.
func (m *Machine) Files() *token.FileSet { return m.files }

// Show shows the values of the running cell's last expression. Where errorLast is set,
// the last of them is the error, which the expression may be: then the cell fails with
// it, and else the values before it are shown, if any are to be.
func (m *Machine) Show(values []any, errorLast, hidden bool) {
	var err error
	if errorLast {
		values, err = checked(values)
	}
	if hidden {
		values = nil
	}
	m.Cell().last(values, err)
}

// checked divides the values of a last expression into those to show and the
// error that is the last of them; nil if that is none.
func checked(values []any) ([]any, error) {
	last := len(values) - 1
	if err, ok := values[last].(error); ok {
		return nil, err
	}
	return values[:last], nil
}

// Stdout returns the standard output of the cell that the goroutine which
// writes belongs to.
func (m *Machine) Stdout() io.Writer { return stdout{m} }

type stdout struct{ m *Machine }

func (w stdout) Write(b []byte) (int, error) {
	c := w.m.Cell()
	if c == nil {
		return os.Stdout.Write(b)
	}
	if redirected := w.m.hooks.Redirected; redirected != nil {
		if f := redirected(); f != nil {
			return f.Write(b)
		}
	}
	c.Outputs().Stdout(string(b))
	return len(b), nil
}

// Stderr returns the standard error of the cell that the goroutine which writes
// belongs to.
func (m *Machine) Stderr() io.Writer { return stderr{m} }

type stderr struct{ m *Machine }

func (w stderr) Write(b []byte) (int, error) {
	c := w.m.Cell()
	if c == nil {
		return os.Stderr.Write(b)
	}
	c.Outputs().Stderr(string(b))
	return len(b), nil
}

// Guarded returns f for compiled code that runs it in a goroutine of its own,
// where a panic would end the process. foreign knows it by its name.
//
//go:noinline
func (m *Machine) Guarded(f func()) func() {
	return func() {
		defer func() {
			if v := recover(); v != nil {
				m.goroutinePanic(v)
			}
		}()
		f()
	}
}

// goroutinePanic reports a panic of a goroutine that a cell started.
func (m *Machine) goroutinePanic(v any) {
	c := m.Cell()
	m.hooks.GoroutinePanicked(c, c.TakeFrames(), v)
}

// Traceback returns the text of a panic that compiled code has recovered, and of
// the frames that it passed.
func (m *Machine) Traceback(v any) string { return m.hooks.Traceback(m.Cell().TakeFrames(), v) }

// Contain makes a panic that leaves the outermost function of cells in this goroutine
// the error of the cell, if it would end the process; nil is no panic of its own.
// Functions defer the call.
func (m *Machine) Contain(frames []Frame, value any) bool {
	library, ok := foreign()
	if !ok {
		return false
	}
	c := m.Cell()
	if value == nil {
		return true
	}
	if c.ctx.Err() != nil {
		m.hooks.GoroutinePanicked(c, frames, value)
		return true
	}
	c.cancel(&ForeignPanic{value, frames, library})
	m.stopRuns()
	return true
}

// Report reports a panic that ends a goroutine of the cell that this goroutine
// belongs to.
func (m *Machine) Report(frames []Frame, value any) {
	m.hooks.GoroutinePanicked(m.Cell(), frames, value)
}
