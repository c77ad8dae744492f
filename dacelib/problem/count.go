package problem

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
)

// A Counted is a problem with a budget of evaluations. It counts evaluations,
// keeps the best solution, and stops at the budget. Make one with [Count].
type Counted struct {
	p      Problem
	budget int

	mu    sync.Mutex // guards the fields below
	count int
	best  []uint64
	value float64
}

// Count returns p with a budget of evaluations; 0 means no limit. Every
// evaluation counts, including those of solutions seen before; with
// Count(Memo(p), n) a repeated solution is not evaluated again, but still
// counts.
//
// If a batch exceeds the budget, only its first solutions, up to the budget,
// are evaluated. The values of the others are -Inf, and the error is a
// [*BudgetError].
func Count(p Problem, budget int) *Counted {
	if budget < 0 {
		panic("problem: Count needs a budget that is not negative")
	}
	return &Counted{p: p, budget: budget, value: math.Inf(-1)}
}

// A BudgetError reports that a [Counted] problem's budget ended within a batch.
type BudgetError struct {
	Name      string // the problem's name
	Budget    int    // evaluations allowed
	Evaluated int    // the number of solutions of this batch, the first ones, that were evaluated
	Wanted    int    // the size of this batch
}

// Error returns the message.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("problem %s: the budget of %d evaluations is spent: %d of the last %d solutions were evaluated",
		e.Name, e.Budget, e.Evaluated, e.Wanted)
}

// Name returns the name of the counted problem.
func (c *Counted) Name() string { return c.p.Name() }

// Dim returns the dimension of the counted problem.
func (c *Counted) Dim() int { return c.p.Dim() }

// Optimum returns the known optimum of the counted problem, if any.
func (c *Counted) Optimum() (float64, bool) { return Optimum(c.p) }

// Evaluate evaluates and counts the solutions of x; see [Count]. If the counted
// problem returns an error, the batch is not counted.
func (c *Counted) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	if err := CheckBatch(c.p, dst, x); err != nil {
		return err
	}
	n := x.Len()
	k := n
	c.mu.Lock()
	if c.budget > 0 {
		k = min(n, c.budget-c.count)
	}
	c.count += k // reserved, so that concurrent batches cannot overspend
	c.mu.Unlock()
	if k > 0 {
		if err := c.p.Evaluate(ctx, dst[:k], x.Slice(0, k)); err != nil {
			c.mu.Lock()
			c.count -= k
			c.mu.Unlock()
			return err
		}
		c.mu.Lock()
		for i, v := range dst[:k] {
			if v > c.value || c.best == nil {
				c.value = v
				c.best = append(c.best[:0], x.Row(i)...)
			}
		}
		c.mu.Unlock()
	}
	if k < n {
		for i := k; i < n; i++ {
			dst[i] = math.Inf(-1)
		}
		return &BudgetError{c.Name(), c.budget, k, n}
	}
	return nil
}

// Evaluations returns the number of evaluations counted so far.
func (c *Counted) Evaluations() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Left returns the number of evaluations left, or -1 if there is no limit.
func (c *Counted) Left() int {
	if c.budget == 0 {
		return -1
	}
	return c.budget - c.Evaluations()
}

// Best returns a copy of the best solution evaluated so far and its value.
// Before the first evaluation it returns nil and -Inf.
func (c *Counted) Best() (x []bool, value float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.best == nil {
		return nil, c.value
	}
	return Solutions{D: c.Dim(), Words: c.best}.Bools(0), c.value
}

// Memo returns p with a memory of its values: each solution is evaluated once,
// within a batch and across batches. Only batches that are evaluated
// concurrently may both evaluate a solution that is new to them. Looking a
// solution up takes about 0.1 us, so Memo pays off if an evaluation costs more
// than that. The memory grows with every new solution and is never emptied.
func Memo(p Problem) Problem { return &memo{p: p, seen: map[string]float64{}} }

type memo struct {
	p    Problem
	mu   sync.Mutex // guards seen
	seen map[string]float64
}

func (m *memo) Name() string             { return m.p.Name() }
func (m *memo) Dim() int                 { return m.p.Dim() }
func (m *memo) Optimum() (float64, bool) { return Optimum(m.p) }

func (m *memo) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	if err := CheckBatch(m.p, dst, x); err != nil {
		return err
	}
	var (
		key   = make([]byte, 0, 8*Stride(max(x.D, 1)))
		fresh = Solutions{D: x.D}   // the new solutions, without repetition
		first map[string]int        // their indices in fresh
		later []struct{ i, at int } // dst[i] is the value of solution at of fresh
	)
	m.mu.Lock()
	for i := range x.Len() {
		key = appendKey(key[:0], x.Row(i))
		if v, ok := m.seen[string(key)]; ok {
			dst[i] = v
			continue
		}
		at, ok := first[string(key)]
		if !ok {
			if first == nil {
				first = map[string]int{}
			}
			at = fresh.Len()
			first[string(key)] = at
			fresh.Words = append(fresh.Words, x.Row(i)...)
		}
		later = append(later, struct{ i, at int }{i, at})
	}
	m.mu.Unlock()
	if len(later) == 0 {
		return ctx.Err()
	}
	values := make([]float64, fresh.Len())
	if err := m.p.Evaluate(ctx, values, fresh); err != nil {
		return err
	}
	m.mu.Lock()
	for k, at := range first {
		m.seen[k] = values[at]
	}
	m.mu.Unlock()
	for _, l := range later {
		dst[l.i] = values[l.at]
	}
	return nil
}

func appendKey(b []byte, row []uint64) []byte {
	for _, w := range row {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
