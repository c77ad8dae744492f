package problem

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// An Optimist is a problem whose largest value may be known.
type Optimist interface {
	Problem
	// Optimum returns the largest value of the problem; ok is false if it is
	// not known for this instance.
	Optimum() (value float64, ok bool)
}

// Optimum returns the largest value of p. It is known if p has a method
// Optimum() (float64, bool), or was made by [WithOptimum].
func Optimum(p Problem) (value float64, ok bool) {
	if o, is := p.(Optimist); is {
		return o.Optimum()
	}
	return 0, false
}

// WithOptimum returns p with a known largest value. Use it for a problem
// defined in a cell: compiled code does not see its methods beyond those of
// [Problem].
func WithOptimum(p Problem, value float64) Problem { return withOptimum{p, value} }

type withOptimum struct {
	Problem
	value float64
}

func (p withOptimum) Optimum() (float64, bool) { return p.value, true }
func (p withOptimum) Costly() bool             { return costly(p.Problem) }

// costly reports whether searches look values of p up.
func costly(p Problem) bool {
	c, ok := p.(Costly)
	return ok && c.Costly()
}

// Named returns p with another name.
func Named(p Problem, name string) Problem { return named{p, name} }

type named struct {
	Problem
	name string
}

func (p named) Name() string             { return p.name }
func (p named) Optimum() (float64, bool) { return Optimum(p.Problem) }
func (p named) Costly() bool             { return costly(p.Problem) }

// Negated returns p with its values negated, -f(x), so that maximising it
// minimises p. -Inf, the value of a solution that must not be chosen, stays -Inf.
func Negated(p Problem) Problem { return negated{p} }

type negated struct{ Problem }

func (p negated) Costly() bool { return costly(p.Problem) }

func (p negated) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	if err := p.Problem.Evaluate(ctx, dst, x); err != nil {
		return err
	}
	for i := range dst[:x.Len()] {
		if !math.IsInf(dst[i], -1) {
			dst[i] = -dst[i]
		}
	}
	return nil
}

// The ways in which this package makes a problem from another, as [Unwrap]
// names them.
const (
	WrapNamed    = "named"
	WrapNegated  = "negated"
	WrapMemo     = "memo"
	WrapParallel = "parallel"
	WrapNoisy    = "noisy"
)

// Unwrap returns the problem from which [Named], [Negated], [Memo], [Parallel] or
// [Noisy] has made p, how, and the name that Named gave it, or Noisy's settings as
// text; inner is nil for all other problems. [Wrap] makes the problem again, in another process too.
func Unwrap(p Problem) (inner Problem, wrap, name string) {
	switch p := p.(type) {
	case named:
		return p.Problem, WrapNamed, p.name
	case negated:
		return p.Problem, WrapNegated, ""
	case *memo:
		return p.p, WrapMemo, ""
	case parallel:
		return p.Problem, WrapParallel, ""
	case *noisy:
		return p.p, WrapNoisy, p.text()
	}
	return nil, "", ""
}

// Wrap makes a problem from p in a way that [Unwrap] has named.
func Wrap(p Problem, wrap, name string) (Problem, error) {
	switch wrap {
	case WrapNamed:
		return Named(p, name), nil
	case WrapNegated:
		return Negated(p), nil
	case WrapMemo:
		return Memo(p), nil
	case WrapParallel:
		return Parallel(p, 0), nil
	case WrapNoisy:
		var n Noise
		if err := json.Unmarshal([]byte(name), &n); err != nil {
			return nil, fmt.Errorf("problem: the settings of noise %q: %w", name, err)
		}
		if min(n.Repeats, n.Finalists, n.Final, n.Workers) < 0 || max(n.Repeats, n.Finalists, n.Final) > MaxRepeats {
			return nil, fmt.Errorf("problem: the settings of noise %q are out of range", name)
		}
		return Noisy(p, n), nil
	}
	return nil, fmt.Errorf("problem: there is no way %q to make a problem from another", wrap)
}
