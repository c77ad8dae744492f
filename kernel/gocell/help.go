package gocell

import (
	"context"
	"dace.local/kernel/engine"
)

// help answers `?name` and `name?`.
func (s *Session) help(text string) ([]engine.Bundle, bool) { return nil, false }

// Evaluate computes one expression.
func (s *Session) Evaluate(ctx context.Context, expr string) (engine.Bundle, error) {
	return engine.Bundle{}, nil
}
func (s *Session) IsComplete(code string) engine.Completeness          { return engine.Completeness{} }
func (s *Session) Complete(code string, cursor int) engine.Completions { return engine.Completions{} }
func (s *Session) Inspect(code string, cursor, detail int) (engine.Bundle, bool) {
	return engine.Bundle{}, false
}
