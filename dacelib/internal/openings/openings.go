// Package openings shares the values of BRKGA's first generations between runs.
// Runs on one problem with one seed begin with the same individuals, whatever
// their configurations: the larger first generation continues the smaller. A
// search for configurations gives its runs common seeds, so that it would
// evaluate the same solutions in each trial. With the context of [With],
// brkga.RunAll evaluates them once, with the same results; Result.Evaluations
// counts them as evaluated.
package openings

import (
	"context"
	"slices"
	"sync"
)

// A Key identifies the sequence of individuals with which runs begin: by the
// problem, which must be comparable, the seed, and the distribution of keys.
type Key struct {
	Problem any
	Seed    uint64
	Keys    int
}

// A Table holds the values of the individuals with which runs begin, 8 bytes
// each. It may be used from several goroutines at once.
type Table struct {
	mu     sync.Mutex // guards values
	values map[Key][]float64
}

// Recall sets the first elements of dst, as far as they are known, and returns
// how many.
func (t *Table) Recall(k Key, dst []float64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copy(dst, t.values[k])
}

// Learn stores the values of the first individuals, which it copies.
func (t *Table) Learn(k Key, values []float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.values == nil {
		t.values = map[Key][]float64{}
	}
	if len(t.values[k]) < len(values) {
		t.values[k] = slices.Clone(values)
	}
}

type contextKey struct{}

// With returns a context with a table that is in use as long as the context is,
// unless ctx has one already.
func With(ctx context.Context) context.Context {
	if Of(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, new(Table))
}

// Of returns the table of a context, or nil.
func Of(ctx context.Context) *Table {
	t, _ := ctx.Value(contextKey{}).(*Table)
	return t
}
