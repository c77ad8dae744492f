package notebook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"time"

	"dace.local/kernel/engine"
)

// Settings configures Run. The zero value runs every cell without a time limit
// and stops at the first cell that fails.
type Settings struct {
	// Timeout is how long one cell may run; zero means no limit.
	Timeout time.Duration
	// Grace is how long a cell may take to stop after its timeout or after
	// the end of the context; zero means 5 s. A cell that does not stop in
	// time is abandoned, and the run ends.
	Grace time.Duration
	// KeepGoing continues the run after a cell that failed.
	KeepGoing bool
	// Input answers a cell that asks for a line. If Input is nil, the cell
	// fails.
	Input func(ctx context.Context, prompt string, password bool) (string, error)
	// Now is the clock for the cells' timing metadata; nil means time.Now.
	Now func() time.Time

	// OnStart is called when a cell starts, OnEnd when it has ended. Index
	// is the cell's index, from 0, among the n code cells to be run.
	OnStart func(c *Cell, index, n int)
	OnEnd   func(c *Cell, index, n int, took time.Duration, err error)
	// OnOutput is called with every output as it arrives (for a stream,
	// with the new text only), OnUpdate with an output that replaces an
	// earlier one. Both are called with the notebook locked: they must not
	// keep the cell nor call back.
	OnOutput func(c *Cell, o *Output)
	OnUpdate func(c *Cell, o *Output)
	// OnPage is called with the content of the pager, which is not stored
	// in notebooks.
	OnPage func(c *Cell, b engine.Bundle)
	// Checkpoint is called after every cell. Its argument returns a copy
	// of the notebook at that moment, which the caller may keep.
	Checkpoint func(copy func() *Notebook)
}

// Kernel name and display name that Run writes into a notebook's metadata.
const (
	KernelName    = "dace"
	KernelDisplay = "Go (dace)"
)

// A CellError is the failure of a cell.
type CellError struct {
	Cell  *Cell
	Index int   // index among the code cells that run, from 0
	Err   error // an *engine.Error, unless the engine itself failed
}

// Error returns the cell's number and the error.
func (e *CellError) Error() string { return fmt.Sprintf("cell %d: %v", e.Index+1, e.Err) }

// Unwrap returns the error of the engine.
func (e *CellError) Unwrap() error { return e.Err }

// Timeout is the name of the error of a cell that exceeded Settings.Timeout.
const Timeout = "Timeout"

var errTimeout = errors.New("the cell ran into the timeout")

// Run executes the notebook's code cells in order on eng, which stays open,
// and replaces their outputs, execution counts and timing. It sets kernelspec
// and language_info from the engine. Cells without code and cells tagged
// skip-execution are not run. A cell tagged raises-exception may fail.
//
// The error is nil if every cell succeeded, a *CellError for the first cell
// that failed, or the context's cause if ctx ended. In every case the notebook
// contains the outputs up to that point.
func Run(ctx context.Context, nb *Notebook, eng engine.Engine, set Settings) error {
	if set.Now == nil {
		set.Now = time.Now
	}
	if set.Grace == 0 {
		set.Grace = 5 * time.Second
	}
	describeKernel(nb, eng.Info())
	var cells []*Cell
	for _, c := range nb.Cells {
		if c.Type != Code || c.HasTag("skip-execution") {
			continue
		}
		c.Outputs, c.Count = nil, 0
		if strings.TrimSpace(c.Source) != "" {
			cells = append(cells, c)
		}
	}
	rec := newRecorder(nb, &set)
	defer rec.close()
	var first error
	for i, c := range cells {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if set.OnStart != nil {
			set.OnStart(c, i, len(cells))
		}
		start := set.Now()
		err := rec.run(ctx, eng, c, i+1)
		if set.OnEnd != nil {
			set.OnEnd(c, i, len(cells), set.Now().Sub(start), err)
		}
		if set.Checkpoint != nil {
			set.Checkpoint(rec.snapshot)
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var e *engine.Error
		own := !errors.As(err, &e)
		if !own && e.Name != Timeout && c.HasTag("raises-exception") {
			continue
		}
		if first == nil {
			first = &CellError{Cell: c, Index: i, Err: err}
		}
		if own || !set.KeepGoing {
			return first
		}
	}
	return first
}

func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, c := range r.nb.Cells {
		for _, o := range c.Outputs {
			o.Text = settle(o.Text)
		}
	}
	r.nb.Metadata = r.storeWidgets(r.nb.Metadata)
}

// describeKernel sets the metadata by which Jupyter finds the kernel.
func describeKernel(nb *Notebook, info engine.Info) {
	if nb.Metadata == nil {
		nb.Metadata = map[string]any{}
	}
	nb.Metadata["kernelspec"] = map[string]any{
		"name": KernelName, "display_name": KernelDisplay, "language": info.Name,
	}
	language := map[string]any{}
	for key, v := range info.LanguageInfo() {
		language[key] = v
	}
	nb.Metadata["language_info"] = language
}

// run executes one cell and records its outputs.
func (r *recorder) run(ctx context.Context, eng engine.Engine, c *Cell, number int) error {
	busy := r.set.Now()
	out := &record{recorder: r, cell: c}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.set.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, r.set.Timeout, errTimeout)
		defer cancel()
	}
	type reply struct {
		result engine.Result
		err    error
	}
	done := make(chan reply, 1)
	go func() {
		var rep reply
		defer func() {
			if p := recover(); p != nil {
				rep.err = fmt.Errorf("the engine panicked: %v\n%s", p, debug.Stack())
			}
			done <- rep
		}()
		rep.result, rep.err = eng.Execute(ctx, engine.Cell{Number: number, Code: c.Source, ID: c.ID}, out)
	}()
	var rep reply
	select {
	case rep = <-done:
	case <-ctx.Done():
		select {
		case rep = <-done:
		case <-time.After(r.set.Grace):
			rep.err = fmt.Errorf("the cell did not stop within %v of being told to", r.set.Grace)
		}
	}
	if context.Cause(ctx) == errTimeout && rep.err != nil {
		rep.err = timedOut(r.set.Timeout, rep.err)
	}
	if rep.err == nil && !rep.result.Value.Empty() {
		out.put(&Output{Type: Result, Count: number}, rep.result.Value, "")
	}
	if rep.err != nil {
		out.fail(asEngineError(rep.err))
	} else if r.set.OnPage != nil {
		for _, b := range rep.result.Pages {
			r.set.OnPage(c, b)
		}
	}
	idle := r.set.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Count = number
	c.Metadata = maps.Clone(c.Metadata)
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	c.Metadata["execution"] = map[string]any{
		"iopub.status.busy":   stamp(busy),
		"iopub.execute_input": stamp(busy),
		"shell.execute_reply": stamp(idle),
		"iopub.status.idle":   stamp(idle),
	}
	return rep.err
}

func timedOut(limit time.Duration, err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	message := fmt.Sprintf("the cell ran longer than %v and was stopped", limit)
	return &engine.Error{Name: Timeout, Message: message, Traceback: append([]string{Timeout + ": " + message}, e.Traceback...)}
}

func asEngineError(err error) *engine.Error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return &engine.Error{Name: "EngineError", Message: err.Error(), Traceback: []string{"EngineError: " + err.Error()}}
}

// stamp formats a time as in Jupyter's timing metadata.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
