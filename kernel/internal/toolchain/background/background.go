// Package background marks work that nobody waits for, so that what it starts
// leaves the processors to others.
package background

import "context"

type key struct{}

// Work returns a context for work in the background.
func Work(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether a context is one of Work, or made of one.
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
