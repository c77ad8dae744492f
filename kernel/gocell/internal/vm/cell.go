package vm

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/widget/model"
)

var _ model.Cell = (*Cell)(nil)

// A Cell is a cell under way. It is the value of the cell's goroutines (see
// package goroutine), also of those that outlive it.
type Cell struct {
	asked   context.Context // that NewCell was given; ctx is its child
	ctx     context.Context
	cancel  context.CancelCauseFunc
	out     engine.Outputs
	flush   func()
	widgets *model.Session
	result  func(values []any, failed error)
	stop    chan struct{} // closed when the cell is interrupted
	ended   atomic.Bool   // whether its own goroutine has ended
	others  atomic.Int32  // goroutines that it has started and that go on
	main    *mainRun      // in its own goroutine; nil before that begins

	stopping func()       // called when the cell is told to stop; may be nil
	own      atomic.Value // that another machine keeps with the cell

	mu     sync.Mutex     // guards frames and halted
	frames []Frame        // that a panic passed, innermost first
	halted token.Position // where the cell was stopped
}

// A mainRun is the run of a cell in the goroutine g.
type mainRun struct {
	g      uintptr
	end    func(error) // says that it is over
	defers func() bool // whether functions of compiled cells that defer calls are under way
}

// NewCell makes a cell the one under way. Its outputs go to out, and to result
// the values of its last expression, or the error with which that has failed.
// result is nil for a call that is no cell of the notebook, as a widget's handler.
func (m *Machine) NewCell(ctx context.Context, out engine.Outputs, result func(values []any, failed error)) *Cell {
	own, cancel := context.WithCancelCause(ctx)
	c := &Cell{asked: ctx, ctx: own, cancel: cancel, out: out, flush: m.hooks.Flush, widgets: m.hooks.Widgets, result: result, stop: make(chan struct{})}
	m.last.Store(c)
	return c
}

// Cell returns the cell that this goroutine belongs to, the latest where that is
// not known; nil before the first.
func (m *Machine) Cell() *Cell {
	if c, ok := goroutine.Value().(*Cell); ok {
		return c
	}
	return m.last.Load()
}

// Context returns the context of the cell that this goroutine belongs to.
func (m *Machine) Context() context.Context {
	if c := m.Cell(); c != nil {
		return c.ctx
	}
	return context.Background()
}

// Context returns the cell's context. It ends with the cell.
func (c *Cell) Context() context.Context { return c.ctx }

// Cancel ends the cell for a reason; nil is that it is done.
func (c *Cell) Cancel(cause error) { c.cancel(cause) }

// Stopped returns a channel that is closed when the cell has been told to stop.
func (c *Cell) Stopped() <-chan struct{} { return c.stop }

// Done returns a channel that is closed when the cell that this goroutine belongs to has
// been told to stop.
func (m *Machine) Done() <-chan struct{} {
	if c := m.Cell(); c != nil {
		return c.stop
	}
	return nil
}

// Outputs returns where the cell's outputs go, after what it wrote to the
// process's streams. There is no other way to them. They stay the cell's when it has
// ended.
func (c *Cell) Outputs() engine.Outputs {
	if c.flush != nil {
		c.flush()
	}
	return c.out
}

// Lasts reports whether goroutines that the cell has started go on.
func (c *Cell) Lasts() bool { return c.others.Load() > 0 }

func (c *Cell) last(values []any, failed error) {
	if c.result != nil {
		WithMaps(false, func() { c.result(values, failed) }, values...)
	}
}

// Widgets returns the widgets of the cell's session.
func (c *Cell) Widgets() *model.Session { return c.widgets }

// Reading calls f, which reads values that cells may be changing.
func (c *Cell) Reading(f func(), values ...any) { WithMaps(false, f, values...) }

// Redirect calls f as part of the cell, with outputs of its own. What a panic
// passes in f is the cell's to report.
func (c *Cell) Redirect(out engine.Outputs, f func()) {
	own := &Cell{asked: c.asked, ctx: c.ctx, cancel: c.cancel, out: out, flush: c.flush, widgets: c.widgets, result: c.result, stop: c.stop, main: c.main}
	if v := c.own.Load(); v != nil {
		own.own.Store(v)
	}
	defer func() {
		own.mu.Lock()
		defer own.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.frames = append(c.frames, own.frames...)
	}()
	goroutine.With(own, f)
}

// StoppedAt returns where the cell was stopped; not valid if that is not known.
func (c *Cell) StoppedAt() token.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted
}

// StoppedHere notes where the cell was stopped: the first that is told counts.
func (c *Cell) StoppedHere(p token.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.halted.IsValid() {
		c.halted = p
	}
}

// OnStop sets a function that is called when the cell is told to stop.
func (c *Cell) OnStop(f func()) { c.stopping = f }

// Keep keeps a value with the cell, which Kept returns; nil if there is none.
func (c *Cell) Keep(v any) { c.own.Store(v) }

// Kept returns what Keep was given.
func (c *Cell) Kept() any { return c.own.Load() }

// NoteFrames sets the frames that a panic has passed, the innermost first.
func (c *Cell) NoteFrames(frames []Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames = frames
}

// TakeFrames returns the frames that a panic has passed, the innermost first,
// and forgets them.
func (c *Cell) TakeFrames() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	frames := c.frames
	c.frames = nil
	return frames
}

// grace is how long an interrupted cell has to unwind before it is left to
// itself.
const grace = 700 * time.Millisecond

// ErrAbandoned says that an interrupted cell is still in compiled code.
var ErrAbandoned = errors.New("abandoned")

// patience is how long a cell that the kernel ends for a reason of its own has
// to unwind.
func patience(cause error) time.Duration {
	var p *ForeignPanic
	if errors.As(cause, &p) || errors.Is(cause, ErrConcurrent) {
		return grace
	}
	return 20 * time.Second // a deep stack takes a while
}

// Run calls a function that runs a cell's code, until it ends or the cell's context does,
// or memory runs out.
func (m *Machine) Run(c *Cell, f func()) error {
	over := make(chan struct{})
	defer close(over)
	go m.watchMemory(c, over)
	return m.run(c, func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = &panicked{v}
			}
		}()
		f()
		return nil
	})
}

func (m *Machine) run(c *Cell, run func() error) error {
	m.begin(c)
	defer m.end(c)
	done, ended := make(chan error, 1), make(chan struct{})
	go goroutine.With(c, func() {
		end := func(err error) {
			c.ended.Store(true)
			m.left.Delete(c)
			done <- err
			close(ended)
		}
		c.main = &mainRun{currentG(), end, m.hooks.CompiledDefers}
		err := errors.New("runtime.Goexit has ended the cell; the session lives on")
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("internal: %v", v)
			}
			end(err)
		}()
		err = run()
	})
	select {
	case err := <-done:
		if !m.stopped() {
			return err
		}
		done <- err // the cell ended as soon as it was told to
	case <-c.ctx.Done():
	}
	m.stopRuns()
	if c.stopping != nil {
		c.stopping()
	}
	close(c.stop)
	err, wait := c.asked.Err(), grace
	if err == nil {
		err = context.Cause(c.ctx) // the kernel's own reason
		wait = patience(err)
	}
	go m.halt(ended)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-done:
		return err
	case <-t.C:
		if p := (*ForeignPanic)(nil); errors.As(err, &p) {
			return err
		}
		m.left.Store(c, time.Now())
		if c.ended.Load() {
			m.left.Delete(c)
		}
		return ErrAbandoned
	}
}

// LeftBehind returns when each of the interrupted cells that are still in a
// compiled call was given up, the first first.
func (m *Machine) LeftBehind() []time.Time {
	var list []time.Time
	m.left.Range(func(_, at any) bool {
		list = append(list, at.(time.Time))
		return true
	})
	slices.SortFunc(list, time.Time.Compare)
	return list
}
