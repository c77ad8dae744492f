package problem

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// FromFunc makes a problem from a function of one solution, to be maximised:
//
//	p := problem.FromFunc("ones", 30, func(x []bool) float64 { ... })
//
// The function must return the same value for the same solution, and must not
// keep x, which is used again for the next solution. A panic in it, and a NaN
// that it returns, become errors that name the solution.
//
// The solutions of a batch are evaluated one after the other. [Parallel]
// spreads them over the cores; the function is then called from several
// goroutines at once and must write nothing that they share.
//
// FromFunc panics if d is not positive or f is nil.
func FromFunc(name string, d int, f func(x []bool) float64) Problem {
	if d <= 0 {
		panic("problem: FromFunc needs a positive dimension")
	}
	if f == nil {
		panic("problem: FromFunc needs a function")
	}
	return &funcProblem{name, d, f}
}

type funcProblem struct {
	name string
	d    int
	f    func([]bool) float64
}

func (p *funcProblem) Name() string { return p.name }
func (p *funcProblem) Dim() int     { return p.d }

func (p *funcProblem) Evaluate(ctx context.Context, dst []float64, x Solutions) (err error) {
	if err := CheckBatch(p, dst, x); err != nil {
		return err
	}
	i := 0
	defer func() {
		if r := recover(); r != nil {
			err = solutionError(p.name, x, i, fmt.Sprintf("the function panicked: %v", r))
		}
	}()
	b := make([]bool, p.d)
	for ; i < x.Len(); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		for j := range b {
			b[j] = x.At(i, j)
		}
		v := p.f(b)
		if math.IsNaN(v) {
			return solutionError(p.name, x, i, "the value is NaN, which cannot be compared; return -Inf for a solution that must not be chosen")
		}
		dst[i] = v
	}
	return nil
}

// FromBatch makes a problem from a function of a batch: it sets
// dst[i] = f(x_i) for the x.Len() solutions of x. What [Problem] asks of
// Evaluate holds for it. A panic in it, and a NaN, become errors.
//
// FromBatch panics if d is not positive or f is nil.
func FromBatch(name string, d int, f func(dst []float64, x Solutions)) Problem {
	if d <= 0 {
		panic("problem: FromBatch needs a positive dimension")
	}
	if f == nil {
		panic("problem: FromBatch needs a function")
	}
	return &batchProblem{name, d, f}
}

type batchProblem struct {
	name string
	d    int
	f    func([]float64, Solutions)
}

func (p *batchProblem) Name() string { return p.name }
func (p *batchProblem) Dim() int     { return p.d }

func (p *batchProblem) Evaluate(ctx context.Context, dst []float64, x Solutions) (err error) {
	if err := CheckBatch(p, dst, x); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("problem %s: the function panicked on a batch of %d solutions: %v", p.name, x.Len(), r)
		}
	}()
	dst = dst[:x.Len()]
	p.f(dst, x)
	for i, v := range dst {
		if math.IsNaN(v) {
			return solutionError(p.name, x, i, "the value is NaN, which cannot be compared")
		}
	}
	return ctx.Err()
}

// CheckBatch reports, as an error for a person, a batch that does not fit p:
// a wrong dimension, words that are no whole number of rows, or a dst that is
// too short. Implementations of [Problem] call it first.
func CheckBatch(p Problem, dst []float64, x Solutions) error {
	switch n := x.Len(); {
	case len(x.Words) == 0:
		return nil
	case x.D != p.Dim():
		return fmt.Errorf("problem %s: got solutions of dimension %d, want %d", p.Name(), x.D, p.Dim())
	case len(x.Words) != n*Stride(x.D):
		return fmt.Errorf("problem %s: %d words are no whole number of solutions of dimension %d", p.Name(), len(x.Words), x.D)
	case len(dst) < n:
		return fmt.Errorf("problem %s: got %d solutions but room for only %d values", p.Name(), n, len(dst))
	}
	return nil
}

// Value returns f(x) of one solution. It is a convenience: methods evaluate
// batches.
func Value(ctx context.Context, p Problem, x []bool) (float64, error) {
	if len(x) != p.Dim() {
		return 0, fmt.Errorf("problem %s: got a solution of dimension %d, want %d", p.Name(), len(x), p.Dim())
	}
	var v [1]float64
	err := p.Evaluate(ctx, v[:], Pack(x))
	return v[0], err
}

func solutionError(name string, x Solutions, i int, what string) error {
	return fmt.Errorf("problem %s: solution %d of %d, %s: %s", name, i+1, x.Len(), x.Slice(i, i+1), what)
}

// isCtx reports whether err is the end of a context, which is passed on as it
// is.
func isCtx(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
