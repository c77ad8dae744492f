package gocell

import (
	"context"
	"slices"
	"sync"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/internal/debug"
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

// concurrent is what concurrent cells share.
type concurrent struct {
	machine              *vm.Machine
	debugger             *debug.Debugger
	keepStdin, keepStdio bool // see Options

	// compiling is taken from the check of a cell until its code is compiled: the
	// checker's program, the types, fetched packages and the compiler then change.
	compiling turn
	// calling is taken while functions of widgets run, so that they run one
	// after the other.
	calling turn

	cellsMu sync.Mutex // guards cells
	cells   []*vm.Cell // that run, oldest first
}

// start makes a new cell the machine's running cell, and directs outputs to it. The
// caller calls finish.
func (k *concurrent) start(ctx context.Context, out engine.Outputs, result func(values []any, failed error)) *vm.Cell {
	c := k.machine.NewCell(display.WithProgress(ctx), out, result)
	k.cellsMu.Lock()
	k.cells = append(k.cells, c)
	k.cellsMu.Unlock()
	k.direct(c, out)
	return c
}

// direct makes a cell that of goroutines which belong to none, and directs the
// process's streams to its outputs: what compiled code writes there is the output of
// the cell that started last.
func (k *concurrent) direct(c *vm.Cell, out engine.Outputs) {
	if !k.keepStdio {
		stdio.Output.Use(out)
	}
	goroutine.SetDefault(c)
}

// finishCell ends a cell of the notebook, and tells its outputs where it lasts.
func (k *concurrent) finishCell(c *vm.Cell, out engine.Outputs) {
	if o, ok := out.(engine.LastingOutputs); ok && c.Lasts() {
		o.Lasts()
	}
	k.finish(c)
}

// finish ends a cell, and directs the streams to the cell that started before it and
// still runs.
func (k *concurrent) finish(c *vm.Cell) {
	c.Cancel(nil)
	k.cellsMu.Lock()
	last := k.cells[len(k.cells)-1] == c
	alone := len(k.cells) == 1
	k.cells = slices.DeleteFunc(k.cells, func(other *vm.Cell) bool { return other == c })
	var before *vm.Cell
	if n := len(k.cells); n > 0 && last {
		before = k.cells[n-1]
	}
	k.cellsMu.Unlock()
	k.debugger.End(c, alone)
	if before != nil {
		k.direct(before, before.Outputs())
	}
}

// running reports whether a cell runs.
func (k *concurrent) running() bool {
	k.cellsMu.Lock()
	defer k.cellsMu.Unlock()
	return len(k.cells) > 0
}

// alone reports whether no other cell runs: then a cell answers reads of
// os.Stdin.
func (k *concurrent) alone() bool {
	k.cellsMu.Lock()
	defer k.cellsMu.Unlock()
	return len(k.cells) == 1
}

// runWatched calls run, which runs a cell, while a goroutine answers reads of
// os.Stdin. It returns when the captured output has been delivered.
func (k *concurrent) runWatched(c *vm.Cell, run func() error) error {
	over := make(chan struct{})
	var asking sync.WaitGroup
	if !k.keepStdin && k.alone() {
		if err := stdio.Input.Renew(); err != nil {
			return err
		}
		asking.Go(func() { stdio.Input.Serve(c, over) })
	}
	err := run()
	close(over)
	asking.Wait()
	if !k.keepStdio {
		stdio.Output.Drain()
	}
	return err
}
