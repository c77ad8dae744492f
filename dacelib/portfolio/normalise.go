package portfolio

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Range is the interval that normalisation maps to [0,1] (Eq. 11).
type Range struct {
	// Min and Max are values of the instance before normalisation.
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// An Instance is a problem whose values are normalised by Eq. 11, (f(x) - Min)
// / (Max - Min). Values can be outside [0,1].
type Instance struct {
	p problem.Problem
	r Range
}

// Within returns p normalised by the given range. If Max = Min, it only
// subtracts Min.
func Within(p problem.Problem, r Range) *Instance { return &Instance{p, r} }

// Name returns the name of the problem.
func (i *Instance) Name() string { return i.p.Name() }

// Dim returns the dimension.
func (i *Instance) Dim() int { return i.p.Dim() }

// Range returns the range by which the values are normalised.
func (i *Instance) Range() Range { return i.r }

// Problem returns the problem without normalisation.
func (i *Instance) Problem() problem.Problem { return i.p }

// Stream returns the instance as one run evaluates it. That is the instance
// itself, unless its problem is [Stochastic].
func (i *Instance) Stream(seed uint64) problem.Problem {
	if p, ok := i.p.(Stochastic); ok {
		return Within(p.Stream(seed), i.r)
	}
	return i
}

// Optimum returns the problem's known optimum, normalised.
func (i *Instance) Optimum() (float64, bool) {
	v, ok := problem.Optimum(i.p)
	return i.scale(v), ok
}

// Evaluate sets dst to the normalised values.
func (i *Instance) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	dst = dst[:min(len(dst), x.Len())]
	if err := i.p.Evaluate(ctx, dst, x); err != nil {
		return err
	}
	for k, v := range dst {
		dst[k] = i.scale(v)
	}
	return nil
}

func (i *Instance) scale(v float64) float64 {
	v -= i.r.Min
	if i.r.Max > i.r.Min {
		v /= i.r.Max - i.r.Min
	}
	return v
}

// Normalise returns the instances normalised by the smallest and largest value
// of sample uniform solutions of each (0 means the paper's 1,000,000). It uses
// one goroutine per core; the number of cores does not change the result.
func Normalise(ctx context.Context, instances []problem.Problem, sample int, seed uint64) ([]problem.Problem, error) {
	if sample == 0 {
		sample = 1_000_000
	}
	if sample < 2 {
		return nil, fmt.Errorf("portfolio: normalising by %d solutions; at least 2 are needed", sample)
	}
	add, end := run.Steps(&ctx, "normalise", sample*len(instances))
	defer end()
	out := make([]problem.Problem, len(instances))
	for i, p := range instances {
		r, err := sampleRange(ctx, p, sample, run.Seed(seed, "portfolio: normalise"), add)
		if err != nil {
			return nil, err
		}
		out[i] = Within(p, r)
	}
	return out, nil
}

// sampleRange returns the extremes of p over n uniform solutions. It calls add
// with the number of solutions of each chunk.
func sampleRange(ctx context.Context, p problem.Problem, n int, seed uint64, add func(n int)) (Range, error) {
	r, err := chunkRange(ctx, p, n, 0, (n+sampleChunk-1)/sampleChunk, 0, seed, add)
	if err == nil {
		err = r.check(p, n)
	}
	return r, err
}

// sampleChunk is the number of solutions of the sample that have a random stream
// of their own.
const sampleChunk = 10_000

// chunkRange returns the extremes of p over the chunks from to to-1 of n uniform
// solutions.
func chunkRange(ctx context.Context, p problem.Problem, n, from, to, workers int, seed uint64, add func(n int)) (Range, error) {
	parts := make([]Range, to-from)
	err := run.Each(workers, len(parts), func(i int) error {
		k := from + i
		x := problem.Random(run.Rand(seed, "solutions", k), min(sampleChunk, n-k*sampleChunk), p.Dim())
		y := make([]float64, x.Len())
		if err := p.Evaluate(ctx, y, x); err != nil {
			return err
		}
		r := Range{math.Inf(1), math.Inf(-1)}
		for _, v := range y {
			if !math.IsInf(v, -1) { // -Inf marks a solution that must not be chosen
				r.Min = min(r.Min, v)
			}
			r.Max = max(r.Max, v)
		}
		parts[i] = r
		add(x.Len())
		return nil
	})
	r := Range{math.Inf(1), math.Inf(-1)}
	for _, part := range parts {
		r.Min, r.Max = min(r.Min, part.Min), max(r.Max, part.Max)
	}
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil:
		return r, fmt.Errorf("portfolio: normalising %s: %w", p.Name(), err)
	}
	return r, nil
}

// ErrNoRange is wrapped by the error of a normalisation that has met no value that
// is a finite number.
var ErrNoRange = errors.New("none has a value that is a finite number; -Inf is for solutions that must not be chosen")

// check returns an error if n solutions of p have given no finite range.
func (r Range) check(p problem.Problem, n int) error {
	if r.Min > r.Max || math.IsInf(r.Max, 0) || math.IsNaN(r.Min) {
		return fmt.Errorf("portfolio: normalising %s by %d solutions: %w", p.Name(), n, ErrNoRange)
	}
	return nil
}

// NormaliseBySearch returns p normalised by the largest and the smallest value
// that BRKGA, [20, 70, 10, 0.7, False], finds in two runs with the given number
// of evaluations each (0 means 800). CEPS normalises authentic instances this
// way during construction. Where neither has met a finite value, the error wraps
// [ErrNoRange].
func NormaliseBySearch(ctx context.Context, p problem.Problem, evaluations int, seed uint64) (*Instance, error) {
	s := brkga.Settings{Config: brkga.Config{Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7}, Evaluations: evaluations, Seed: run.Seed(seed, "portfolio: maximum")}
	high, err := brkga.Run(ctx, p, s)
	if err != nil {
		return nil, err
	}
	s.Seed = run.Seed(seed, "portfolio: minimum")
	low, err := brkga.Run(ctx, problem.Negated(p), s)
	if err != nil {
		return nil, err
	}
	r := Range{-low.Value, high.Value}
	return Within(p, r), r.check(p, high.Evaluations+low.Evaluations)
}
