package gocell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/compiled"
	"dace.local/kernel/gocell/internal/vm"
)

// Execute runs a cell: its magics first, then its Go code.
func (s *Session) Execute(ctx context.Context, input engine.Cell, out engine.Outputs) (res engine.Result, err error) {
	if s.closed.Load() {
		return res, &engine.Error{Name: "Closed", Message: "the session has ended", Traceback: []string{"the session has ended"}}
	}
	input.Code = strings.TrimPrefix(input.Code, "\ufeff") // a byte order mark, which Go allows at the start of a file
	text := input.Code
	if pages, err := s.help(text); pages != nil || err != nil {
		return engine.Result{Pages: pages}, err
	}
	ctx = engine.WithCell(ctx, &input)
	number := input.Number
	s.mu.Lock()
	s.texts[number], s.ids[number] = text, input.ID
	s.mu.Unlock()
	s.begun.Do(func() { s.runStartFile(ctx, out) })
	s.compiled.auto.update(ctx, text)
	if s.opts.KeepOutputs && number > 0 {
		var end func(engine.Result, error)
		out, end = s.shown.keep(number, out)
		defer func() { end(res, err) }()
	}
	if !input.Silent {
		defer s.hooks(ctx, input, out)(&err)
	}
	res, err = s.watchedSteps(ctx, input, out, false)
	s.widgets.Refresh()
	if err == nil && res.Next == nil && s.formats.Load() {
		res.Next = s.formatted(text)
	}
	return res, err
}

// executeGo runs the Go of a cell.
func (s *Session) executeGo(ctx context.Context, src *check.Source, out engine.Outputs) (res engine.Result, err error) {
	isProgram := src.Program
	if s.fetched.auto {
		s.autoGet(ctx, src, out)
	}
	if main, alone := src.Main(); alone {
		isProgram = true
	} else if main && !isProgram {
		out.Stderr("func main runs by itself only in a cell without statements: call main()\n")
	}
	return s.run(ctx, src, isProgram, out)
}

// run checks, compiles and runs a parsed cell.
func (s *Session) run(ctx context.Context, src *check.Source, isProgram bool, out engine.Outputs) (res engine.Result, err error) {
	var value syncValue[engine.Bundle]
	if s.opts.Stale && src.Number > 0 {
		src.Effects = &check.Effects{}
		defer func() { s.stale.note(s, src) }()
	}
	err = s.runWith(ctx, src, isProgram, out, func(values []any) {
		s.results.note(src, values)
		value.set(display.Result(values, false))
	})
	if err == nil {
		res.Value = value.get()
	} else if e := (*engine.Error)(nil); errors.As(err, &e) && e.Name == outOfMemory {
		s.results.forget()
	}
	return res, err
}

// runWith is like run, but passes the values of the last expression to a
// function.
func (s *Session) runWith(ctx context.Context, src *check.Source, isProgram bool, out engine.Outputs, result func([]any)) error {
	number := src.Number
	release, err := s.concurrent.compiling.take(ctx)
	if err != nil {
		return interrupted("the cell was interrupted before it began")
	}
	defer release()
	src.Recall(s.declaredByCells, recalling{s})
	c, err := s.checkWithOwn(ctx, src, out)
	if err != nil {
		return err
	}
	for _, n := range c.Notes {
		out.Stderr(n + "\n")
	}
	if src.Effects != nil {
		src.Effects = c.Effects(s.prog)
		s.stale.begin(s, src)
	}

	if err := s.link(ctx, c, out); err != nil {
		return err
	}
	var failure syncValue[error]
	run := s.start(ctx, out, func(values []any, failed error) {
		if failure.set(failed); failed == nil {
			result(values)
		}
	})
	defer s.finishCell(run, out)
	if err := s.buildNatives(run, c, number, out); err != nil {
		return err
	}
	s.errorVars.note(s.machine.Files(), c)
	return s.runCell(run, c, isProgram, release, s.errorVars.of(c), failure.get)
}

// buildNatives builds what a cell has the toolchain compile.
func (s *Session) buildNatives(run *vm.Cell, c *check.Checked, number int, out engine.Outputs) error {
	if err := s.compiled.Build(run.Context(), c.Natives, out); err != nil {
		if err := run.Context().Err(); err != nil {
			return s.runtimeError(run, err)
		}
		if away := compiled.Unavailable(nil); errors.As(err, &away) {
			return &notHere{s.compileError(number, err)}
		}
		return s.compileError(number, err)
	}
	return nil
}

// errorIn returns the error that the variable of a name holds.
func (s *Session) errorIn(name string) error {
	if v, ok := s.global(name); ok && v.CanInterface() {
		err, _ := v.Interface().(error)
		return err
	}
	return nil
}

// checkWithOwn checks a cell, after a look at the packages on disk; one that does not
// check may need modules on disk that are not known yet.
func (s *Session) checkWithOwn(ctx context.Context, src *check.Source, out engine.Outputs) (*check.Checked, error) {
	if err := s.reload(ctx, src); err != nil {
		return nil, err
	}
	c, err := s.checkCell(src)
	for range 2 { // the session's modules, then one that they require
		if err == nil || !s.useOwn(ctx, src, out) {
			break
		}
		c, err = s.checkCell(src)
	}
	if err == nil {
		err = s.oversized(c)
	}
	if err != nil {
		return nil, s.compileError(src.Number, err)
	}
	return c, nil
}

// A syncValue is a value, read by the session, that a goroutine of a cell may still
// set after the cell has been abandoned.
type syncValue[T any] struct {
	mu    sync.Mutex // guards value
	value T
}

func (l *syncValue[T]) set(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value = v
}

func (l *syncValue[T]) get() T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value
}

// checkCell type-checks a cell against the session. A panic of the checker is
// returned as an error, because it must not end the kernel.
func (s *Session) checkCell(src *check.Source) (c *check.Checked, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("the kernel cannot check this cell: %v", r)
		}
	}()
	return s.prog.Check(s.machine.Files(), src)
}

// compilerPanic recovers a panic of the compiler and stores it in err. Functions defer it.
func compilerPanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the kernel cannot compile it: %v", r)
	}
}
