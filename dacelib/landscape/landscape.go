// Package landscape compares problem instances by how their values change with
// distance. The paper does so to show that generated instances resemble
// authentic ones (section V-E).
//
// Start with [Extract], which gives every instance a vector of 32
// fitness-distance features, and [FitPCA], which maps such vectors to the
// plane. [Measure] returns the data behind the features, for a figure of a
// single instance.
package landscape

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Quantiles is the number of distances among the features: a_i = i/15.
const Quantiles = 16

// Settings of the sampling. The zero value is a tenth of the paper's numbers, whose
// features are near the paper's: see [Paper].
type Settings struct {
	// Solutions is the number of uniform solutions of each instance that are
	// evaluated; default 100,000.
	Solutions int
	// Pairs is the number of random pairs of them; default 1,000,000.
	Pairs int
	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int
	// Farm, if not nil, has instances measured by the workers of a pool. It
	// does not change the result.
	Farm farm.Pool
	// Seed of the sampling.
	Seed uint64
	// OnEvent, if not nil, receives the progress, several times a second: steps are
	// solutions (128 pairs count as one), Detail is the instance's name.
	OnEvent func(run.Event) `json:"-"`
}

// Paper returns the settings of the paper: 1,000,000 solutions and 10,000,000 pairs
// of each instance, which take ten times as long as the default.
func Paper() Settings { return Settings{Solutions: 1_000_000, Pairs: 10_000_000} }

func (s Settings) withDefaults() (Settings, error) {
	if s.Solutions == 0 {
		s.Solutions = 100_000
	}
	if s.Pairs == 0 {
		s.Pairs = 1_000_000
	}
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.Solutions < 2 || s.Pairs < 1 {
		return s, fmt.Errorf("landscape: Solutions is %d and Pairs %d; at least 2 and 1 are needed", s.Solutions, s.Pairs)
	}
	return s, defaults.AtMost("landscape", defaults.Bound{Field: "Settings.Solutions", Value: s.Solutions, Most: 1 << 28},
		defaults.Bound{Field: "Settings.Pairs", Value: s.Pairs, Most: 1 << 30})
}

// A Curve describes how much the values of an instance differ at each Hamming
// distance. Row i is about the pairs at distance Distance[i]: it holds their
// number, and the mean and population standard deviation of |f(x) - f(y)|,
// where f is normalised by the minimum and maximum over the sampled solutions
// (Eq. 11). Distances ascend; a distance at which no pair was drawn has no row.
type Curve struct {
	// Name is the name of the instance.
	Name string
	// Distance, Mean, Deviation and Pairs have one entry for each row.
	Distance, Mean, Deviation []float64
	Pairs                     []int
}

// Measure draws solutions and pairs of them. A pair is two different positions
// of the sample without solutions that must not be chosen (-Inf), each uniform. If all
// values are equal, all differences are 0.
func Measure(ctx context.Context, p problem.Problem, s Settings) (Curve, error) {
	all, err := measureAll(ctx, []problem.Problem{p}, s)
	if err != nil {
		return Curve{Name: p.Name()}, err
	}
	return all[0], nil
}

// The parts of the work. Progress is counted in solutions; pairSteps pairs, which
// are only compared, count as one.
const (
	solutionsChunk = 10_000
	pairsChunk     = 1 << 17
	pairSteps      = 1 << 7
)

// steps returns the number of steps of an instance's work.
func (s Settings) steps() int { return s.Solutions + s.Pairs/pairSteps }

// measureAll is Measure of several instances. On an error it returns the curves of
// those before the one that failed.
func measureAll(ctx context.Context, instances []problem.Problem, s Settings) ([]Curve, error) {
	defer run.Report(&ctx, "landscape", &s.OnEvent)()
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // guards done, and calls OnEvent once at a time
	done := 0
	add := func(n int, name string) {
		if s.OnEvent == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		done += n
		s.OnEvent(run.Event{Stage: "landscape", Step: done, Total: len(instances) * s.steps(), Value: math.NaN(), Best: math.NaN(), Detail: name})
	}
	if s.Farm != nil && len(instances) > 0 {
		return measureRemote(ctx, instances, s, add)
	}
	var out []Curve
	for _, p := range instances {
		c, err := s.measure(ctx, p, func(n int) { add(n, p.Name()) })
		if err != nil {
			return out, err
		}
		out = append(out, c)
	}
	return out, nil
}

// measure is Measure with settings whose defaults are filled in. It calls add after
// every part of the work.
func (s Settings) measure(ctx context.Context, p problem.Problem, add func(steps int)) (Curve, error) {
	c := Curve{Name: p.Name()}
	x, y, err := sample(ctx, p, s, add)
	if err != nil {
		return c, err
	}
	type sums struct {
		n      int
		m1, m2 float64
	}
	const chunk = pairsChunk
	chunks := (s.Pairs + chunk - 1) / chunk
	parts := make([][]sums, chunks) // by chunk, so that sums are added in a fixed order
	err = run.Each(s.Workers, chunks, func(k int) error {
		rng := run.Rand(s.Seed, "landscape: pairs", k)
		part := make([]sums, p.Dim()+1)
		for range min(chunk, s.Pairs-k*chunk) {
			a := rng.IntN(len(y))
			b := rng.IntN(len(y) - 1)
			if b >= a {
				b++
			}
			h := 0
			other := x.Row(b)
			for w, v := range x.Row(a) {
				h += bits.OnesCount64(v ^ other[w])
			}
			d := math.Abs(y[a] - y[b])
			part[h].n++
			part[h].m1 += d
			part[h].m2 += d * d
		}
		parts[k] = part
		add(min((k+1)*chunk, s.Pairs)/pairSteps - k*chunk/pairSteps)
		return ctx.Err()
	})
	if err != nil {
		return c, err
	}
	for h := 1; h <= p.Dim(); h++ { // equal solutions carry no information
		var t sums
		for _, part := range parts {
			t.n += part[h].n
			t.m1 += part[h].m1
			t.m2 += part[h].m2
		}
		if t.n == 0 {
			continue
		}
		n := float64(t.n)
		mean := t.m1 / n
		c.Distance = append(c.Distance, float64(h))
		c.Mean = append(c.Mean, mean)
		c.Deviation = append(c.Deviation, math.Sqrt(max(0, t.m2/n-mean*mean)))
		c.Pairs = append(c.Pairs, t.n)
	}
	return c, nil
}

// sample returns uniform solutions and their normalised values.
func sample(ctx context.Context, p problem.Problem, s Settings, add func(steps int)) (problem.Solutions, []float64, error) {
	x := problem.NewSolutions(s.Solutions, p.Dim())
	y := make([]float64, s.Solutions)
	const chunk = solutionsChunk
	err := run.Each(s.Workers, (s.Solutions+chunk-1)/chunk, func(k int) error {
		lo, hi := k*chunk, min((k+1)*chunk, s.Solutions)
		problem.Randomize(run.Rand(s.Seed, "landscape: solutions", k), x.Slice(lo, hi))
		return problem.Stepwise(ctx, p, y[lo:hi], x.Slice(lo, hi), add)
	})
	if err != nil {
		if ctx.Err() != nil {
			return x, nil, ctx.Err()
		}
		return x, nil, fmt.Errorf("landscape: instance %s: %w", p.Name(), err)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range y {
		if !math.IsInf(v, -1) { // a solution that must not be chosen
			lo = min(lo, v)
		}
		hi = max(hi, v)
	}
	if lo > hi || math.IsInf(hi, 0) || math.IsNaN(lo+hi) {
		return x, nil, fmt.Errorf("landscape: none of %d solutions of instance %s has a value that is a finite number, or one has +Inf or NaN", len(y), p.Name())
	}
	n := 0 // those that may be chosen come first
	for i, v := range y {
		if !math.IsInf(v, -1) {
			if i != n {
				copy(x.Row(n), x.Row(i))
			}
			y[n] = v
			n++
		}
	}
	if n < 2 {
		return x, nil, fmt.Errorf("landscape: only %d of %d solutions of instance %s may be chosen (the others have the value -Inf); draw more (Settings.Solutions)", n, len(y), p.Name())
	}
	x, y = x.Slice(0, n), y[:n]
	scale := 0.0
	if hi > lo {
		scale = 1 / (hi - lo)
	}
	for i := range y {
		y[i] = (y[i] - lo) * scale
	}
	return x, y, nil
}

// Features returns the paper's feature vector, b (+) c: the means b_i and the
// standard deviations c_i at 16 distances. The i-th distance is number
// min(floor(i m / 15), m-1) of the m distances in descending order. The result
// is nil for a curve without distances.
func (c Curve) Features() []float64 {
	m := len(c.Distance)
	if m == 0 {
		return nil
	}
	f := make([]float64, 2*Quantiles)
	for i := range Quantiles {
		k := m - 1 - min(i*m/(Quantiles-1), m-1)
		f[i], f[Quantiles+i] = c.Mean[k], c.Deviation[k]
	}
	return f
}

// Extract returns the feature vectors of the instances, one row of 32 each. It
// evaluates Settings.Solutions solutions of each: with the default, 14 instances of a
// microsecond a value take seconds, of a millisecond half an hour of one core. For a
// first look, package similarity compares landscapes by 10,000 solutions.
func Extract(ctx context.Context, instances []problem.Problem, s Settings) ([][]float64, error) {
	curves, err := measureAll(ctx, instances, s)
	out := make([][]float64, len(instances))
	for i, c := range curves {
		if out[i] = c.Features(); out[i] == nil && err == nil {
			return out, fmt.Errorf("landscape: all solutions drawn of instance %s are equal; draw more", c.Name)
		}
	}
	return out, err
}

// Distances returns the Euclidean distances from the rows of a to the rows of
// b, len(a) x len(b).
func Distances(a, b [][]float64) [][]float64 {
	out := make([][]float64, len(a))
	for i, u := range a {
		out[i] = make([]float64, len(b))
		for j, v := range b {
			if len(u) != len(v) {
				panic("landscape: Distances needs rows of one length")
			}
			var s float64
			for k := range u {
				s += (u[k] - v[k]) * (u[k] - v[k])
			}
			out[i][j] = math.Sqrt(s)
		}
	}
	return out
}

// Nearest returns the distance from every row of a to the nearest row of b. It
// measures how far generated instances (a) are from authentic ones (b).
func Nearest(a, b [][]float64) []float64 {
	out := make([]float64, len(a))
	for i, row := range Distances(a, b) {
		out[i] = math.Inf(1)
		for _, d := range row {
			out[i] = min(out[i], d)
		}
	}
	return out
}

// AtLeast returns the rows of the curve that n or more pairs are behind: at
// distances that few pairs have, the means are noise.
func (c Curve) AtLeast(n int) Curve {
	out := Curve{Name: c.Name}
	for k, pairs := range c.Pairs {
		if pairs >= n {
			out.Distance, out.Mean = append(out.Distance, c.Distance[k]), append(out.Mean, c.Mean[k])
			out.Deviation, out.Pairs = append(out.Deviation, c.Deviation[k]), append(out.Pairs, pairs)
		}
	}
	return out
}
