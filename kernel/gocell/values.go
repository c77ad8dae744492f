package gocell

import (
	"context"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
)

// Values returns the values of an expression after the session's cells. Output of
// the expression is not shown. An error is an *engine.Error if the expression does
// not compile or panics.
func (s *Session) Values(ctx context.Context, expression string) (values []any, err error) {
	src, err := check.ParseCell(s.machine.Files(), 0, "", expression)
	if err != nil {
		return nil, &engine.Error{Name: "compile error", Message: err.Error()}
	}
	err = s.runWith(ctx, src, false, discard{}, func(v []any) { values = v })
	return values, err
}
