package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"dace.local/dacelib/run"
)

// A Seeded problem has random values, which a seed determines.
type Seeded interface {
	Problem
	// EvaluateSeeded is Evaluate where seeds[i] determines what is random in the
	// value of solution i. Evaluate itself takes the seed 0.
	EvaluateSeeded(ctx context.Context, dst []float64, x Solutions, seeds []uint64) error
}

// FromSeeded is [FromContext] for a function whose values are random, drawn from
// the given seed: a simulation. Pass it to [Noisy].
func FromSeeded(name string, d int, f func(ctx context.Context, x []bool, seed uint64) (float64, error)) Problem {
	if d <= 0 {
		panic("problem: FromSeeded needs a positive dimension")
	}
	checkDim("FromSeeded", d)
	if f == nil {
		panic("problem: FromSeeded needs a function")
	}
	return &seededProblem{name, d, f}
}

type seededProblem struct {
	name string
	d    int
	f    func(context.Context, []bool, uint64) (float64, error)
}

func (p *seededProblem) Name() string { return p.name }
func (p *seededProblem) Dim() int     { return p.d }

func (p *seededProblem) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	return p.EvaluateSeeded(ctx, dst, x, make([]uint64, x.Len()))
}

func (p *seededProblem) EvaluateSeeded(ctx context.Context, dst []float64, x Solutions, seeds []uint64) error {
	return evaluateEach(ctx, p, dst, x, func(ctx context.Context, i int, b []bool) (float64, error) {
		return p.f(ctx, b, seeds[i])
	})
}

// Noise says how often the values of a [Noisy] problem are repeated.
type Noise struct {
	// Repeats is the number of values whose mean a search sees; 0 means 5.
	Repeats int `json:"repeats"`
	// Independent draws other random numbers for each solution. By default, repeat
	// r has the same seed for all solutions (common random numbers): differences of
	// solutions are then less noisy, if the values of similar solutions are random
	// in similar ways.
	Independent bool `json:"independent,omitempty"`
	// Finalists is the number of the best solutions of a run among which more
	// repeats choose at its end; 0 means 10. Final is the number of these repeats, and
	// of those that then value the chosen one, whose random numbers are fresh; 0 means
	// ten times Repeats.
	Finalists int `json:"finalists"`
	Final     int `json:"final"`
	// Seed is the seed of all random numbers.
	Seed uint64 `json:"seed"`
	// Workers is the number of repeats that are computed at once, if p is a
	// function; 0 means one per core. Programs have workers of their own.
	Workers int `json:"workers,omitempty"`
}

// Noisy returns the problem of the mean of p's random values. Evaluate sets the mean
// of Repeats values; each such mean counts as one evaluation. The largest of many
// noisy values is too large, and its solution often not the best. So a run of a
// search ends with a final choice: the best Finalists solutions are valued
// again by Final fresh repeats each. The result has the best of them, with the mean of
// Final others: the largest of these means would be too large again.
//
// If p is [Seeded] (by [FromSeeded] or Program.Seeds), everything is determined by
// the seeds: a run is repeated and resumed to the last bit. Otherwise the first mean
// of each solution is remembered, and other processes have other values: keep them
// by [Keep] to resume. p must not remember values itself.
func Noisy(p Problem, n Noise) Problem {
	if n.Repeats < 0 || n.Finalists < 0 || n.Final < 0 || n.Workers < 0 {
		panic("problem: Noisy needs numbers that are not negative")
	}
	if n.Repeats == 0 {
		n.Repeats = 5
	}
	if n.Finalists == 0 {
		n.Finalists = 10
	}
	if n.Final == 0 {
		n.Final = 10 * n.Repeats
	}
	if n.Repeats > MaxRepeats || n.Final > MaxRepeats || n.Finalists > MaxRepeats {
		panic("problem: Noisy with more than 2^20 repeats or finalists")
	}
	q := &noisy{p: p, n: n}
	q.seeded, _ = seededOf(p)
	if q.seeded == nil {
		q.memo = &memo{p: means{q, "repeat", n.Repeats}, seen: map[string]float64{}}
	}
	return q
}

// MaxRepeats is the largest number of repeats.
const MaxRepeats = 1 << 20

// seededOf returns p as Seeded, through [Named] and the like.
func seededOf(p Problem) (Seeded, bool) {
	switch p := p.(type) {
	case Seeded:
		return p, true
	case named:
		return seededOf(p.Problem)
	case parallel:
		return seededOf(p.Problem)
	case withOptimum:
		return seededOf(p.Problem)
	}
	return nil, false
}

type noisy struct {
	p      Problem
	n      Noise
	seeded Seeded // nil: none
	memo   *memo  // of the means, if they are not determined by seeds
}

func (p *noisy) Name() string             { return p.p.Name() }
func (p *noisy) Dim() int                 { return p.p.Dim() }
func (p *noisy) Costly() bool             { return true }
func (p *noisy) Optimum() (float64, bool) { return 0, false } // a mean may be above it

func (p *noisy) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	if p.memo != nil {
		return p.memo.Evaluate(ctx, dst, x)
	}
	return p.mean(ctx, dst, x, "repeat", p.n.Repeats)
}

// means is the problem of a mean.
type means struct {
	*noisy
	purpose string
	repeats int
}

func (m means) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	return m.mean(ctx, dst, x, m.purpose, m.repeats)
}

// mean sets dst[i] to the mean of n values of x_i.
func (p *noisy) mean(ctx context.Context, dst []float64, x Solutions, purpose string, n int) error {
	if err := CheckBatch(p, dst, x); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Some solutions at a time, so that their copies need little memory.
	size := max(1, 4096/n)
	for lo := 0; lo < x.Len(); lo += size {
		part := x.Slice(lo, min(lo+size, x.Len()))
		if err := p.meanOf(ctx, dst[lo:lo+part.Len()], part, purpose, n); err != nil {
			return err
		}
	}
	return nil
}

func (p *noisy) meanOf(ctx context.Context, dst []float64, x Solutions, purpose string, n int) error {
	all := Solutions{D: x.D, Words: make([]uint64, 0, n*len(x.Words))}
	seeds := make([]uint64, 0, n*x.Len())
	for i := range x.Len() {
		row := x.Row(i)
		for r := range n {
			all.Words = append(all.Words, row...)
			if p.n.Independent {
				seeds = append(seeds, run.Seed(p.n.Seed, "noise: "+purpose+string(appendKey(nil, row)), r))
			} else {
				seeds = append(seeds, run.Seed(p.n.Seed, "noise: "+purpose, r))
			}
		}
	}
	values := make([]float64, all.Len())
	if err := p.values(ctx, values, all, seeds); err != nil {
		return err
	}
	for i := range dst {
		sum := 0.0
		for _, v := range values[i*n : (i+1)*n] {
			sum += v
		}
		dst[i] = sum / float64(n)
		if math.IsNaN(dst[i]) {
			return solutionError(p.Name(), x, i, errors.New("the mean of its values is NaN: they hold Inf and -Inf"))
		}
	}
	return nil
}

// values evaluates a batch, spread over workers if p is a function.
func (p *noisy) values(ctx context.Context, dst []float64, x Solutions, seeds []uint64) error {
	evaluate := func(ctx context.Context, lo, hi int) error {
		if p.seeded != nil {
			return p.seeded.EvaluateSeeded(ctx, dst[lo:hi], x.Slice(lo, hi), seeds[lo:hi])
		}
		return p.p.Evaluate(ctx, dst[lo:hi], x.Slice(lo, hi))
	}
	_, function := p.seeded.(*seededProblem)
	if !function {
		return evaluate(ctx, 0, x.Len())
	}
	workers := p.n.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	size := max(1, (x.Len()+4*workers-1)/(4*workers))
	return run.Each(workers, (x.Len()+size-1)/size, func(k int) error {
		return evaluate(ctx, k*size, min((k+1)*size, x.Len()))
	})
}

// A finalist is a problem with a final choice.
type finalist interface {
	Problem
	finalists() int
	// final sets means of the final repeats, of which those for each purpose are others.
	final(ctx context.Context, purpose string, dst []float64, x Solutions) error
}

// The purposes of final repeats: to choose among the finalists, and to value the one that
// is chosen.
const toChoose, toValue = "final", "value"

func (p *noisy) finalists() int { return p.n.Finalists }

func (p *noisy) final(ctx context.Context, purpose string, dst []float64, x Solutions) error {
	return p.mean(ctx, dst, x, purpose, p.n.Final)
}

// finalistOf returns p as a finalist, through [Named] and the like. Its values are
// negated if sign is -1.
func finalistOf(p Problem) (f finalist, sign float64) {
	sign = 1
	for p != nil {
		if f, ok := p.(finalist); ok && f.finalists() > 0 {
			return f, sign
		}
		switch q := p.(type) {
		case negated:
			p, sign = q.Problem, -sign
		case withOptimum:
			p = q.Problem
		case *Counted:
			p = q.p
		default:
			p, _, _ = Unwrap(p)
		}
	}
	return nil, 1
}

// Finalists returns the number of solutions among which a run on p makes a final
// choice: 0 unless p is [Noisy].
func Finalists(p Problem) int {
	if f, _ := finalistOf(p); f != nil {
		return f.finalists()
	}
	return 0
}

// A Final is the final choice of a run on a [Noisy] problem. It collects the best
// solutions of the run. It is for one goroutine.
type Final struct {
	p      Problem
	x      Solutions
	values []float64 // descending
	most   int
}

// NewFinal returns the final choice of a run on p, nil unless p is [Noisy].
func NewFinal(p Problem) *Final {
	n := Finalists(p)
	if n == 0 {
		return nil
	}
	return &Final{p: p, x: NewSolutions(0, p.Dim()), most: n}
}

// Add offers a solution, packed, with its value. A nil Final ignores it.
func (f *Final) Add(row []uint64, v float64) {
	if f == nil || len(f.values) == f.most && v <= f.values[f.most-1] {
		return
	}
	at := len(f.values)
	for i, u := range f.values {
		if u == v && slices.Equal(f.x.Row(i), row) {
			return
		}
		if u < v {
			at = min(at, i)
		}
	}
	w := len(row)
	f.values = slices.Insert(f.values, at, v)
	f.x.Words = slices.Insert(f.x.Words, at*w, row...)
	if len(f.values) > f.most {
		f.values, f.x.Words = f.values[:f.most], f.x.Words[:f.most*w]
	}
}

// Choose evaluates the collected solutions by the final repeats, which are not
// counted, and returns the best, packed, the first among equals, and its value by fresh
// ones. ok is false if f is nil or there is none.
func (f *Final) Choose(ctx context.Context) (row []uint64, value float64, ok bool, err error) {
	if f == nil || len(f.values) == 0 {
		return nil, 0, false, nil
	}
	p, sign := finalistOf(f.p)
	values := make([]float64, len(f.values))
	if err := p.final(ctx, toChoose, values, f.x); err != nil {
		return nil, 0, false, err
	}
	best := 0
	for i := range values {
		if values[i] *= sign; values[i] > values[best] {
			best = i
		}
	}
	if err := p.final(ctx, toValue, values[:1], f.x.Slice(best, best+1)); err != nil {
		return nil, 0, false, err
	}
	return f.x.Row(best), sign * values[0], true, nil
}

// text returns the settings as text, for [Unwrap].
func (p *noisy) text() string {
	b, err := json.Marshal(p.n)
	if err != nil {
		panic("problem: the settings of noise cannot be written: " + err.Error())
	}
	return string(b)
}

// Penalised returns one number for a value to be maximised and a violation of
// constraints to be least, by the rules of Deb (An efficient constraint handling
// method for genetic algorithms, 2000): among feasible solutions, whose violation is
// 0 or less, the larger value is better; a feasible solution is better than any that
// is not; among those, the smaller violation is better. The number is the value of a
// feasible solution, and else worst - violation, where worst is a number that no
// feasible value is below:
//
//	return problem.Penalised(profit, weight-capacity, 0)
//
// It panics, which an objective's message names with the solution, if a feasible
// value is below worst, or a number is NaN.
func Penalised(value, violation, worst float64) float64 {
	switch {
	case math.IsNaN(violation) || math.IsNaN(worst):
		panic("problem: Penalised with NaN")
	case violation > 0:
		return worst - violation
	case value < worst:
		panic(fmt.Sprintf("the feasible value %v is below %v, which was said to be the worst", value, worst))
	}
	return value
}
