package gocell

import (
	"context"
	"slices"
	"sync"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/stdio"
	"dace.local/kernel/gocell/internal/vm"
)

// Cells, and functions that widgets call, may run concurrently: while one sleeps or
// computes, another that a subshell has sent runs too, as a goroutine would. They
// take turns at what they share.

// A turn is taken by one cell at a time.
type turn chan struct{}

// take waits for the turn. The cell that has it calls release at its end.
func (t turn) take(ctx context.Context) (release func(), err error) {
	select {
	case t <- struct{}{}:
		return sync.OnceFunc(func() { <-t }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// concurrent is the state that concurrent cells share.
type concurrent struct {
	// compiling is taken from the check of a cell until its own code begins: the
	// checker's program, the lowering, the types, fetched packages and the
	// interpreter's tables then change.
	compiling turn
	// calling is taken while functions of widgets run, so that they run one
	// after the other.
	calling turn

	mu    sync.Mutex // guards cells
	cells []*vm.Cell // that run, oldest first
}

func newConcurrent() concurrent {
	return concurrent{compiling: make(turn, 1), calling: make(turn, 1)}
}

// start makes a new cell the machine's running cell, and directs the standard
// streams and package display to its outputs: what compiled code writes to the
// process's streams is the output of the cell that started last. The caller
// calls finish.
func (s *Session) start(ctx context.Context, out engine.Outputs, result func(values []any, failed error)) *vm.Cell {
	c := s.machine.NewCell(display.WithProgress(ctx), out, result)
	b := &s.concurrent
	b.mu.Lock()
	b.cells = append(b.cells, c)
	b.mu.Unlock()
	s.direct(out)
	return c
}

// direct directs the standard streams and package display.
func (s *Session) direct(out engine.Outputs) {
	if !s.opts.KeepStdio {
		stdio.Output.Use(out)
	}
	display.SetOutputs(out)
}

// finish ends a cell, and directs the streams to the cell that started before it and
// still runs.
func (s *Session) finish(c *vm.Cell) {
	c.Cancel(nil)
	b := &s.concurrent
	b.mu.Lock()
	last := b.cells[len(b.cells)-1] == c
	alone := len(b.cells) == 1
	b.cells = slices.DeleteFunc(b.cells, func(other *vm.Cell) bool { return other == c })
	var before *vm.Cell
	if n := len(b.cells); n > 0 && last {
		before = b.cells[n-1]
	}
	b.mu.Unlock()
	s.debugger.End(c, alone)
	if before != nil {
		s.direct(before.Outputs())
	}
}

// running reports whether a cell runs.
func (b *concurrent) running() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.cells) > 0
}

// alone reports whether no other cell runs: then a cell answers reads of
// os.Stdin.
func (b *concurrent) alone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.cells) == 1
}

// runWatched calls run, which runs a cell, while a goroutine answers reads of
// os.Stdin. It returns when the captured output has been delivered.
func (s *Session) runWatched(c *vm.Cell, run func() error) error {
	over := make(chan struct{})
	var asking sync.WaitGroup
	if !s.opts.KeepStdin && s.concurrent.alone() {
		if err := stdio.Input.Renew(); err != nil {
			return err
		}
		asking.Go(func() { stdio.Input.Serve(c, over) })
	}
	err := run()
	close(over)
	asking.Wait()
	if !s.opts.KeepStdio {
		stdio.Output.Drain()
	}
	return err
}

// runCompiled runs a compiled cell, and releases the turn to compile when the
// cell's own code begins.
func (s *Session) runCompiled(c *vm.Cell, program *vm.Program, release func()) error {
	over := make(chan struct{})
	go func() {
		select {
		case <-c.Started():
		case <-over:
		}
		release()
	}()
	err := s.runWatched(c, func() error { return s.machine.Run(c, program) })
	close(over)
	select {
	case s.concurrent.compiling <- struct{}{}:
		s.machine.Prune()
		<-s.concurrent.compiling
	default: // another cell is being compiled, and prunes when it has ended
	}
	return err
}
