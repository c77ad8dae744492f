// Package landscape compares problem instances by how their values change
// with distance, as the paper does to show that generated instances resemble
// authentic ones (section V-E): [Extract] gives every instance a vector of 32
// fitness-distance features, and [FitPCA] draws such vectors in the plane.
//
// Start with [Extract] and [FitPCA]; [Curve] is the same data for one figure
// of a single instance.
package landscape

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"runtime"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Quantiles is the number of distances among the features: a_i = i/15.
const Quantiles = 16

// Settings of the sampling. The zero value is the paper's.
type Settings struct {
	// Solutions is the number of uniform solutions that are evaluated;
	// default 1,000,000.
	Solutions int
	// Pairs is the number of random pairs of them; default 10,000,000.
	Pairs int
	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int
	// Seed of the sampling.
	Seed uint64
}

func (s Settings) withDefaults() (Settings, error) {
	if s.Solutions == 0 {
		s.Solutions = 1_000_000
	}
	if s.Pairs == 0 {
		s.Pairs = 10_000_000
	}
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.Solutions < 2 || s.Pairs < 1 {
		return s, fmt.Errorf("landscape: Solutions is %d and Pairs %d; at least 2 and 1 are needed", s.Solutions, s.Pairs)
	}
	return s, nil
}

// A Curve is how the values of an instance differ with Hamming distance. Row
// i is about the pairs at distance Distance[i]: their number, and mean and
// population standard deviation of |f(x) - f(y)|, where f is normalised by
// the minimum and maximum over the sampled solutions (Eq. 11). Distances
// ascend; those of which no pair was drawn are absent.
type Curve struct {
	Name                      string
	Distance, Mean, Deviation []float64
	Pairs                     []int
}

// Measure samples solutions and pairs of them. A pair is two different
// positions of the sample, each uniform. An instance with one value throughout
// has differences 0.
func Measure(ctx context.Context, p problem.Problem, s Settings) (Curve, error) {
	c := Curve{Name: p.Name()}
	s, err := s.withDefaults()
	if err != nil {
		return c, err
	}
	x, y, err := sample(ctx, p, s)
	if err != nil {
		return c, err
	}
	type sums struct {
		n      int
		m1, m2 float64
	}
	const chunk = 1 << 17
	chunks := (s.Pairs + chunk - 1) / chunk
	parts := make([][]sums, chunks) // by chunk: the order of adding is fixed
	err = run.Each(s.Workers, chunks, func(k int) error {
		rng := run.Rand(s.Seed, "landscape: pairs", k)
		part := make([]sums, p.Dim()+1)
		for range min(chunk, s.Pairs-k*chunk) {
			a := rng.IntN(s.Solutions)
			b := rng.IntN(s.Solutions - 1)
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
		return ctx.Err()
	})
	if err != nil {
		return c, err
	}
	for h := 1; h <= p.Dim(); h++ { // equal solutions tell nothing
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
func sample(ctx context.Context, p problem.Problem, s Settings) (problem.Solutions, []float64, error) {
	x := problem.NewSolutions(s.Solutions, p.Dim())
	y := make([]float64, s.Solutions)
	const chunk = 10_000
	err := run.Each(s.Workers, (s.Solutions+chunk-1)/chunk, func(k int) error {
		lo, hi := k*chunk, min((k+1)*chunk, s.Solutions)
		problem.Randomize(run.Rand(s.Seed, "landscape: solutions", k), x.Slice(lo, hi))
		return p.Evaluate(ctx, y[lo:hi], x.Slice(lo, hi))
	})
	if err != nil {
		if ctx.Err() != nil {
			return x, nil, ctx.Err()
		}
		return x, nil, fmt.Errorf("landscape: instance %s: %w", p.Name(), err)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) || math.IsNaN(lo+hi) {
		return x, nil, fmt.Errorf("landscape: instance %s has values that are not finite", p.Name())
	}
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
// standard deviations c_i at 16 distances, the i-th of which is number
// min(floor(i m / 15), m-1) of the m distances in descending order. It is nil
// for a curve without distances.
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

// Extract returns the feature vectors of instances, one row of 32 each.
func Extract(ctx context.Context, instances []problem.Problem, s Settings) ([][]float64, error) {
	out := make([][]float64, len(instances))
	for i, p := range instances {
		c, err := Measure(ctx, p, s)
		if err != nil {
			return out, err
		}
		if out[i] = c.Features(); out[i] == nil {
			return out, fmt.Errorf("landscape: all solutions drawn of instance %s are equal; draw more", p.Name())
		}
	}
	return out, nil
}

// Distances returns the Euclidean distances between the rows of a and those
// of b: len(a) x len(b).
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

// Nearest returns, for every row of a, the distance to the nearest row of b:
// how far generated instances (a) are from authentic ones (b).
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
