package problem

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dace.local/dacelib/internal/failure"
)

// FromFunc makes a problem from a function of one solution, to be maximised:
//
//	p := problem.FromFunc("ones", 30, func(x []bool) float64 { ... })
//
// f must return the same value for the same solution. It must not keep x, which
// is reused for the next solution. If f panics or returns NaN, Evaluate returns
// an error that names the solution.
//
// The solutions of a batch are evaluated one after the other. [Parallel]
// spreads them over the cores; f is then called from several goroutines at once
// and must not write to shared variables.
//
// FromFunc panics if d is not positive or above MaxDim, or f is nil.
func FromFunc(name string, d int, f func(x []bool) float64) Problem {
	if d <= 0 {
		panic("problem: FromFunc needs a positive dimension")
	}
	checkDim("FromFunc", d)
	if f == nil {
		panic("problem: FromFunc needs a function")
	}
	return &funcProblem{name, d, f}
}

// FromContext is [FromFunc] for a function that takes long or can fail: ctx ends
// when the run is interrupted, and an error ends the run with a message that names
// the solution. x must not be kept.
//
// Solutions that must not be chosen have the value -Inf; an error is for what
// should not happen. Values of several solutions are computed at once by
// [Parallel]:
//
//	p := problem.Parallel(problem.FromContext("mine", 30, f), 0)
func FromContext(name string, d int, f func(ctx context.Context, x []bool) (float64, error)) Problem {
	if d <= 0 {
		panic("problem: FromContext needs a positive dimension")
	}
	checkDim("FromContext", d)
	if f == nil {
		panic("problem: FromContext needs a function")
	}
	return &contextProblem{name, d, f}
}

type funcProblem struct {
	name string
	d    int
	f    func([]bool) float64
}

type contextProblem struct {
	name string
	d    int
	f    func(context.Context, []bool) (float64, error)
}

func (p *contextProblem) Name() string { return p.name }
func (p *contextProblem) Dim() int     { return p.d }

func (p *contextProblem) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	return evaluateEach(ctx, p, dst, x, func(ctx context.Context, _ int, b []bool) (float64, error) { return p.f(ctx, b) })
}

func (p *funcProblem) Name() string { return p.name }
func (p *funcProblem) Dim() int     { return p.d }

func (p *funcProblem) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	return evaluateEach(ctx, p, dst, x, func(_ context.Context, _ int, b []bool) (float64, error) { return p.f(b), nil })
}

// evaluateEach evaluates the solutions of a batch for p, each by f. Panics and
// errors of f become errors that name the solution.
func evaluateEach(ctx context.Context, p Problem, dst []float64, x Solutions, f func(ctx context.Context, i int, x []bool) (float64, error)) (err error) {
	if err := CheckBatch(p, dst, x); err != nil {
		return err
	}
	i := 0
	defer func() {
		if r := recover(); r != nil {
			err = solutionError(p.Name(), x, i, panicError(r))
		}
	}()
	d := p.Dim()
	room := make([]bool, (d+7)&^7)
	b := room[:d:d]
	for ; i < x.Len(); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		unpack(room, x.Row(i))
		v, err := f(ctx, i, b)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return solutionError(p.Name(), x, i, failure.Wrap(err))
		}
		if math.IsNaN(v) {
			return solutionError(p.Name(), x, i, errors.New("the value is NaN, which cannot be compared; return -Inf for a solution that must not be chosen"))
		}
		dst[i] = v
	}
	return nil
}

// unpack sets b, whose length is a multiple of 8, to the first len(b) bits of
// row.
func unpack(b []bool, row []uint64) {
	for _, w := range row {
		for range min(8, len(b)/8) {
			*(*[8]bool)(b) = eight[uint8(w)]
			b, w = b[8:], w>>8
		}
	}
}

// eight holds the bits of every byte as booleans, lowest bit first.
var eight = func() (t [256][8]bool) {
	for v := range t {
		for j := range t[v] {
			t[v][j] = v>>j&1 == 1
		}
	}
	return t
}()

// FromBatch makes a problem from a function of a batch: f sets dst[i] to the
// value of x_i for the x.Len() solutions of x. It must meet the requirements
// that [Problem] states for Evaluate. If f panics or sets a NaN, Evaluate
// returns an error.
//
// FromBatch panics if d is not positive or f is nil.
func FromBatch(name string, d int, f func(dst []float64, x Solutions)) Problem {
	if d <= 0 {
		panic("problem: FromBatch needs a positive dimension")
	}
	checkDim("FromBatch", d)
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
			err = fmt.Errorf("problem %s: on a batch of %d solutions %w", p.name, x.Len(), panicError(r))
		}
	}()
	dst = dst[:x.Len()]
	p.f(dst, x)
	for i, v := range dst {
		if math.IsNaN(v) {
			return solutionError(p.name, x, i, errors.New("the value is NaN, which cannot be compared"))
		}
	}
	return ctx.Err()
}

// CheckBatch returns an error, with a message for users, if a batch does not
// fit p: if the dimension is wrong, the words are not a whole number of rows,
// or dst is too short. Implementations of [Problem] call it first.
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

// Value returns the value of one solution. It is a convenience for single
// solutions; methods evaluate batches.
func Value(ctx context.Context, p Problem, x []bool) (float64, error) {
	if len(x) != p.Dim() {
		return 0, fmt.Errorf("problem %s: got a solution of dimension %d, want %d", p.Name(), len(x), p.Dim())
	}
	var v [1]float64
	err := p.Evaluate(ctx, v[:], Pack(x))
	return v[0], err
}

func solutionError(name string, x Solutions, i int, err error) error {
	return fmt.Errorf("problem %s: solution %d of %d, %s: %w", name, i+1, x.Len(), x.Slice(i, i+1), err)
}

// panicError returns an error of a function that has panicked with r, which it
// wraps if it is an error. It does not wrap the end of a context of the function's
// own, which is not that of the run.
func panicError(r any) error {
	if err, ok := r.(error); ok && !isCtx(err) {
		return fmt.Errorf("%s: %w", failure.Panicked(r), failure.Wrap(err))
	}
	return fmt.Errorf("%s: %v", failure.Panicked(r), r)
}

// isCtx reports whether err is a context's error, which is returned unwrapped.
func isCtx(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Function returns the function from which [FromFunc], [FromBatch], [FromContext]
// or [FromSeeded] has made a problem, nil for other problems.
func Function(p Problem) any {
	switch p := p.(type) {
	case *funcProblem:
		return p.f
	case *batchProblem:
		return p.f
	case *contextProblem:
		return p.f
	case *seededProblem:
		return p.f
	}
	return nil
}
