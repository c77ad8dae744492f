package nir

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Data holds the solutions that an NIR is trained on and their n values.
type Data struct {
	// Name of the instance.
	Name string
	// X holds the n solutions in random order: the first 75 % are for training,
	// the rest for validation.
	X problem.Solutions
	// Y holds the n values, on any scale; training maps them to [0, 1] by their
	// minimum and maximum. -Inf, the value of a solution that must not be chosen,
	// counts as the minimum of the others.
	Y []float64
}

// SampleData evaluates n distinct uniform solutions of p. If p has fewer than n
// solutions, it takes all of them, in random order.
func SampleData(ctx context.Context, p problem.Problem, n int, seed uint64) (Data, error) {
	x, err := distinct(n, p.Dim(), seed)
	if err != nil {
		return Data{}, fmt.Errorf("nir: drawing solutions of %s: %w", p.Name(), err)
	}
	return sampleAt(ctx, p, x)
}

// distinct returns n distinct uniform solutions, or all if there are fewer.
func distinct(n, d int, seed uint64) (problem.Solutions, error) {
	if d < 31 {
		n = min(n, 1<<d)
	}
	return problem.Distinct(run.Rand(seed, "nir: data"), n, d)
}

// solutions returns the n solutions of instance i for a training. With
// DistanceWeight those for validation are the same for all instances; of few bits
// all are.
func (s Settings) solutions(n, d, i int) (problem.Solutions, error) {
	of := func(i int) uint64 { return run.Seed(s.Seed, "nir: data", i) }
	if s.DistanceWeight == 0 {
		return distinct(n, d, of(i))
	}
	if d < 31 && 1<<d < 2*n {
		return distinct(n, d, of(0))
	}
	own, err := distinct(n, d, of(i))
	if err != nil {
		return own, err
	}
	common, err := distinct(n-n*3/4, d, run.Seed(s.Seed, "nir: common"))
	if err != nil {
		return own, err
	}
	used := make(map[string]bool, common.Len())
	for k := range common.Len() {
		used[string(common.Slice(k, k+1).Bytes())] = true
	}
	x, at := problem.NewSolutions(n, d), 0
	for k := 0; k < own.Len() && at < n*3/4; k++ {
		if !used[string(own.Slice(k, k+1).Bytes())] {
			copy(x.Row(at), own.Row(k))
			at++
		}
	}
	for k := range common.Len() {
		copy(x.Row(at+k), common.Row(k))
	}
	return x, nil
}

// sampleAt evaluates p at solutions.
func sampleAt(ctx context.Context, p problem.Problem, x problem.Solutions) (Data, error) {
	d := Data{Name: p.Name(), X: x, Y: make([]float64, x.Len())}
	add, end := run.Steps(&ctx, "sampling", x.Len())
	defer end()
	if err := problem.Stepwise(ctx, p, d.Y, x, add); err != nil {
		return Data{}, &EvaluationError{Name: p.Name(), Err: err}
	}
	return d, nil
}

// An EvaluationError says that an instance could not be evaluated, unlike errors of
// values from which nothing can be learned.
type EvaluationError struct {
	Name string // of the instance
	Err  error  // of its evaluation
}

func (e *EvaluationError) Error() string { return fmt.Sprintf("nir: evaluating %s: %v", e.Name, e.Err) }

// Unwrap returns Err.
func (e *EvaluationError) Unwrap() error { return e.Err }

// check returns an error if the data is invalid.
func (d Data) check() error {
	n := len(d.Y)
	switch {
	case d.X.D < 1 || d.X.Len() != n:
		return fmt.Errorf("nir: instance %q has %d solutions of dimension %d but %d values", d.Name, d.X.Len(), d.X.D, n)
	case n < minData:
		return fmt.Errorf("nir: instance %q has %d solutions; training needs at least %d", d.Name, n, minData)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, y := range d.Y {
		switch {
		case math.IsNaN(y) || math.IsInf(y, 1):
			return fmt.Errorf("nir: instance %q: the value of solution %d is %v; every value must be a finite number, or -Inf for a solution that must not be chosen", d.Name, i, y)
		case !math.IsInf(y, -1):
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	if lo > hi {
		return fmt.Errorf("nir: instance %q: all %d solutions have the value -Inf; there is nothing to learn: draw more (Settings.Samples), or give a solution that must not be chosen a value that says how far it is from one that may", d.Name, n)
	}
	if math.IsInf(hi-lo, 1) {
		return fmt.Errorf("nir: instance %q: its values are between %v and %v, further apart than a number can tell; scale them", d.Name, lo, hi)
	}
	if lo == hi {
		return fmt.Errorf("nir: instance %q: all %d solutions have the value %v; there is nothing to learn", d.Name, n, lo)
	}
	return nil
}

// raise replaces -Inf, the value of solutions that must not be chosen, by the
// smallest of the other values, which it leaves if there are none.
func raise(y []float64) {
	low := math.Inf(1)
	for _, v := range y {
		if !math.IsInf(v, -1) {
			low = min(low, v)
		}
	}
	for i, v := range y {
		if math.IsInf(v, -1) && !math.IsInf(low, 1) {
			y[i] = low
		}
	}
}

// split returns the number of solutions to train with: the first 75 %.
func (d Data) split() int { return len(d.Y) * 3 / 4 }

// normalised returns the values mapped to [0, 1] by their minimum and maximum;
// -Inf becomes 0.
func (d Data) normalised() []float32 {
	y := slices.Clone(d.Y)
	raise(y)
	lo, hi := slices.Min(y), slices.Max(y)
	out := make([]float32, len(y))
	for i, v := range y {
		out[i] = float32((v - lo) / (hi - lo))
	}
	return out
}

// unpack writes a packed solution of dimension from to dst, one number per bit:
// -1 or +1. It truncates to len(dst) or pads with 0.
func unpack(dst []float32, row []uint64, from int) {
	m := min(len(dst), from)
	j := 0
	for ; j+8 <= m; j += 8 {
		*(*[8]float32)(dst[j:]) = signs[byte(row[j>>6]>>(j&63))]
	}
	for ; j < m; j++ {
		dst[j] = float32(int64(row[j>>6]>>(j&63)&1)*2 - 1)
	}
	clear(dst[m:])
}

// signs maps every byte to its eight bits as -1 and +1.
var signs = func() (t [256][8]float32) {
	for v := range t {
		for j := range 8 {
			t[v][j] = float32(v>>j&1*2 - 1)
		}
	}
	return t
}()
