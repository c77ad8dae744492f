package problem

import "context"

// An Optimist is a problem whose largest value is known.
type Optimist interface {
	Problem
	// Optimum returns the largest value of the problem; ok is false where
	// this instance's is not known.
	Optimum() (value float64, ok bool)
}

// Optimum returns the largest value of p where it is known: where p has a
// method Optimum() (float64, bool), or was made by [WithOptimum].
func Optimum(p Problem) (value float64, ok bool) {
	if o, is := p.(Optimist); is {
		return o.Optimum()
	}
	return 0, false
}

// WithOptimum returns p with a known largest value. It is the way to state it
// for a problem defined in a cell, whose further methods compiled code cannot
// see.
func WithOptimum(p Problem, value float64) Problem { return withOptimum{p, value} }

type withOptimum struct {
	Problem
	value float64
}

func (p withOptimum) Optimum() (float64, bool) { return p.value, true }

// Named returns p under another name.
func Named(p Problem, name string) Problem { return named{p, name} }

type named struct {
	Problem
	name string
}

func (p named) Name() string             { return p.name }
func (p named) Optimum() (float64, bool) { return Optimum(p.Problem) }

// Negated returns the problem of minimising p: its values are -f(x).
func Negated(p Problem) Problem { return negated{p} }

type negated struct{ Problem }

func (p negated) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	if err := p.Problem.Evaluate(ctx, dst, x); err != nil {
		return err
	}
	for i := range dst[:x.Len()] {
		dst[i] = -dst[i]
	}
	return nil
}
