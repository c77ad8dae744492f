package gocell

import (
	"context"

	"dace.local/kernel/engine"
	"dace.local/kernel/widget/model"
)

var _ engine.CommHandler = (*Session)(nil)

// Comm passes a message from a page to the session's widgets and calls the
// functions of cells that are registered for it. Each runs as a cell of its
// own, with its own outputs.
func (s *Session) Comm(ctx context.Context, m engine.CommMessage, out engine.Outputs) error {
	release, err := s.concurrent.calling.take(ctx)
	if err != nil {
		return nil // interrupted
	}
	defer release()
	calls, err := s.widgets.Receive(m, out)
	for _, c := range calls {
		if s.closed.Load() {
			break
		}
		failed := s.call(ctx, c)
		c.End(failed)
		if ctx.Err() != nil {
			break // interrupted: the remaining functions are not called
		}
	}
	return err
}

// call runs one function of a cell as a cell of its own.
func (s *Session) call(ctx context.Context, c model.Call) *engine.Error {
	run := s.start(ctx, c.Out, nil)
	defer s.finish(run)
	err := s.runWatched(run, func() error { return s.machine.Call(run, c.Run) })
	if err == nil {
		return nil
	}
	return s.runtimeError(run, err)
}
