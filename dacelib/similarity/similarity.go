// Package similarity compares instances of binary optimisation problems with one
// another: authentic ones, NIRs, or both together, for an NIR is a problem too.
//
// Start with [Of], which returns a [Matrix] of all pairs. It shows itself as a
// table, and has [Matrix.HeatMap], [Matrix.Map], [Matrix.CSV] and [Matrix.LaTeX].
// [Matrix.Nearest] lists neighbours, [Matrix.Link] groups the instances, and
// [Matrix.SameGroup] and [Matrix.Silhouette] say how well groups that are known
// agree with what was measured:
//
//	m, err := similarity.Of(ctx, instances, similarity.Settings{})
//	groups, err := m.Link(similarity.Average).Cut(3)
//	m.Map(groups)
//
// There are two questions, and a [Measure] for each. Do two instances prefer the
// same solutions? Then their values correlate. Are they of one kind, whatever their
// bits mean? Then their landscapes are alike: all instances of OneMax have the same,
// and their values need not correlate at all.
//
// [Embeddings] compares the embeddings of a model of package nir, whose distances
// mean something only after a training that asked for it.
package similarity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/stats"
)

// A Measure is what a [Matrix] compares.
type Measure int

const (
	// Correlation is Pearson's correlation of the values on common uniform
	// solutions: 1 if one instance is a rising linear function of the other. It
	// needs instances of one dimension.
	Correlation Measure = iota
	// RankCorrelation is Spearman's correlation of the same values. A rising
	// function of the values, such as a logarithm, does not change it, and a few
	// extreme values, such as penalties, count no more than others.
	RankCorrelation
	// Landscape is the Euclidean distance of eleven numbers that describe how an
	// instance's values are distributed and how they change with Hamming
	// distance; 0 for the same. Dimensions may differ, and what a bit means does
	// not matter. See [Features].
	Landscape
	// Embedding is the Euclidean distance of embeddings: see [Embeddings].
	Embedding
)

// String returns the measure in words.
func (m Measure) String() string {
	switch m {
	case Correlation:
		return "correlation of values"
	case RankCorrelation:
		return "rank correlation of values"
	case Landscape:
		return "distance of landscapes"
	case Embedding:
		return "distance of embeddings"
	}
	return fmt.Sprintf("Measure(%d)", int(m))
}

// correlates reports whether values are correlations, of which 1 is the nearest;
// otherwise they are distances.
func (m Measure) correlates() bool { return m == Correlation || m == RankCorrelation }

// Settings of a comparison. The zero value compares by Correlation.
type Settings struct {
	// Measure is what is compared.
	Measure Measure
	// Samples is the number of solutions of each instance that are evaluated;
	// default 4,096, and 10,000 for Landscape. A correlation r then has a standard
	// error of about (1 - r^2)/64.
	Samples int
	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int
	// Seed of the solutions.
	Seed uint64
	// OnEvent, if not nil, receives the progress: the steps are solutions, Detail
	// is the instance's name.
	OnEvent func(run.Event) `json:"-"`
}

// withDefaults fills in what is zero.
func (s Settings) withDefaults() (Settings, error) {
	if s.Samples == 0 {
		if s.Samples = 4096; s.Measure == Landscape {
			s.Samples = 10_000
		}
	}
	switch {
	case s.Measure < Correlation || s.Measure > Landscape:
		return s, fmt.Errorf("similarity: Settings.Measure is %v; use Correlation, RankCorrelation or Landscape", s.Measure)
	case s.Samples < 50 || s.Samples > 1<<24:
		return s, fmt.Errorf("similarity: Settings.Samples is %d; it must be 50 to %d", s.Samples, 1<<24)
	}
	return s, nil
}

// Of compares every instance with every other, on the same random solutions, of
// which it evaluates [Settings].Samples for each instance: 100 instances of a
// microsecond a value take half a second of one core. -Inf, the value of a
// solution that must not be chosen, counts as the smallest other value. An
// instance that has one value at all solutions is an error.
func Of(ctx context.Context, instances []problem.Problem, s Settings) (Matrix, error) {
	defer run.Report(&ctx, "similarity", &s.OnEvent)()
	s, err := s.withDefaults()
	if err != nil {
		return Matrix{}, err
	}
	if len(instances) < 2 {
		return Matrix{}, fmt.Errorf("similarity: comparing needs at least 2 instances; got %d", len(instances))
	}
	m := Matrix{Measure: s.Measure}
	for _, p := range instances {
		m.Names = append(m.Names, p.Name())
	}
	if s.Measure == Landscape {
		f, err := Features(ctx, instances, s)
		if err != nil {
			return m, err
		}
		m.Values = euclidean(f, 1)
		return m, nil
	}
	for _, p := range instances[1:] {
		if a := instances[0]; p.Dim() != a.Dim() {
			return m, fmt.Errorf("similarity: %s has dimension %d, %s has %d; values can be compared on one dimension only: set Settings.Measure to similarity.Landscape", a.Name(), a.Dim(), p.Name(), p.Dim())
		}
	}
	x := problem.Random(run.Rand(s.Seed, "similarity"), s.Samples, instances[0].Dim())
	values, err := s.evaluate(ctx, instances, func(int) problem.Solutions { return x })
	if err != nil {
		return m, err
	}
	n := len(values)
	rows := mat.NewDense(n, s.Samples, nil) // of mean 0 and length 1
	for i, y := range values {
		if s.Measure == RankCorrelation {
			if y, err = stats.Ranks(y); err != nil {
				return m, fmt.Errorf("similarity: %s: %w", m.Names[i], err)
			}
		}
		floats.AddConst(-floats.Sum(y)/float64(len(y)), y)
		floats.Scale(1/floats.Norm(y, 2), y)
		rows.SetRow(i, y)
	}
	var gram mat.Dense
	gram.Mul(rows, rows.T())
	for i := range n {
		row := make([]float64, n)
		for j := range row {
			// One of the two sums, so that the matrix is symmetric.
			row[j] = min(max(gram.At(min(i, j), max(i, j)), -1), 1)
		}
		row[i] = 1
		m.Values = append(m.Values, row)
	}
	return m, nil
}

// evaluate returns the values of every instance at its solutions. All are finite
// and, of one instance, not all equal.
func (s Settings) evaluate(ctx context.Context, instances []problem.Problem, x func(i int) problem.Solutions) ([][]float64, error) {
	total := 0
	for i := range instances {
		total += x(i).Len()
	}
	var mu sync.Mutex // guards done, and calls OnEvent once at a time
	done := 0
	out := make([][]float64, len(instances))
	err := run.Each(s.Workers, len(instances), func(i int) error {
		p, x := instances[i], x(i)
		y := make([]float64, x.Len())
		err := problem.Stepwise(ctx, p, y, x, func(n int) {
			if s.OnEvent == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			done += n
			s.OnEvent(run.Event{Stage: "similarity", Step: done, Total: total, Value: math.NaN(), Best: math.NaN(), Detail: p.Name()})
		})
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("similarity: instance %s: %w", p.Name(), err)
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, v := range y {
			if !math.IsInf(v, -1) {
				lo = min(lo, v)
			}
			hi = max(hi, v)
		}
		same := true
		for k := range y {
			y[k] = max(y[k], lo)
			same = same && y[k] == y[0]
		}
		switch {
		case math.IsNaN(lo+hi) || math.IsInf(hi, 1) || math.IsInf(hi-lo, 1):
			return fmt.Errorf("similarity: instance %s has values that are no finite numbers", p.Name())
		case same:
			return fmt.Errorf("similarity: instance %s has one value at all of %d random solutions, which nothing can be compared with; evaluate more (Settings.Samples), or leave it out", p.Name(), len(y))
		}
		// The scale does not matter to any measure, but squares must not overflow.
		floats.AddConst(-lo, y)
		floats.Scale(1/(hi-lo), y)
		out[i] = y
		return nil
	})
	return out, err
}

// Embeddings returns the distances between the embeddings of a model's training
// instances, divided by the square root of their length. After an ordinary
// training they say nothing about the instances, and [Matrix].Caution says so; if
// the model was trained with [nir.Settings].DistanceWeight they are about
// sqrt(2 (1 - r)), where r is the correlation of the instances' values, as
// [Matrix.Distances] of Correlation are.
func Embeddings(model *nir.Model) Matrix {
	e := model.Embeddings()
	m := Matrix{Measure: Embedding, Names: model.Names(), Caution: model.Caution()}
	m.Values = euclidean(e, 1/math.Sqrt(float64(model.Settings().EmbeddingSize)))
	return m
}

// euclidean returns the distances of rows, times a factor.
func euclidean(rows [][]float64, factor float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i := range rows {
		out[i] = make([]float64, len(rows))
		for j := range i {
			out[i][j] = factor * floats.Distance(rows[i], rows[j], 2)
			out[j][i] = out[i][j]
		}
	}
	return out
}

// Features returns eleven numbers for each instance, whose distances are the
// measure [Landscape]. A base of random solutions is evaluated, and as many
// solutions that differ from them in one bit, and in a 16th, an 8th and a 4th of
// the bits. With sigma the standard deviation of the base's values, the features
// are
//
//	0 to 7    mean and standard deviation of |f(x) - f(y)| / sigma, at each distance
//	8         the share of flips of one bit that do not change the value
//	9 and 10  L-skewness and L-kurtosis of the base's values (Hosking, 1990)
//
// The first eight are the paper's b and c (section V-E) at four distances, on a
// scale that does not depend on the two most extreme values drawn.
func Features(ctx context.Context, instances []problem.Problem, s Settings) ([][]float64, error) {
	defer run.Report(&ctx, "landscapes", &s.OnEvent)()
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	const kinds = 5 // the base and four distances
	n := s.Samples / kinds
	drawn := map[int]problem.Solutions{} // by dimension
	for _, p := range instances {
		d := p.Dim()
		if _, ok := drawn[d]; ok {
			continue
		}
		rng := run.Rand(s.Seed, "similarity: landscape", d)
		x := problem.NewSolutions(kinds*n, d)
		problem.Randomize(rng, x.Slice(0, n))
		for k, part := range []int{d, 16, 8, 4} {
			h := max(1, d/part)
			for i := range n {
				to := (k+1)*n + i
				copy(x.Row(to), x.Row(i))
				flipped := make([]int, 0, h)
				for len(flipped) < h {
					if j := rng.IntN(d); !slices.Contains(flipped, j) {
						flipped = append(flipped, j)
						x.Set(to, j, !x.At(to, j))
					}
				}
			}
		}
		drawn[d] = x
	}
	values, err := s.evaluate(ctx, instances, func(i int) problem.Solutions { return drawn[instances[i].Dim()] })
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(values))
	for i, y := range values {
		out[i] = describe(y, n)
	}
	return out, nil
}

// describe returns the features of values: those of n solutions, then n at each
// distance.
func describe(y []float64, n int) []float64 {
	base := y[:n]
	mean := floats.Sum(base) / float64(n)
	variance := 0.0
	for _, v := range base {
		variance += (v - mean) * (v - mean) / float64(n)
	}
	sigma := math.Sqrt(variance)
	if sigma == 0 {
		sigma = 1
	}
	var f []float64
	still := 0.0
	for k := 1; k < len(y)/n; k++ {
		m1, m2 := 0.0, 0.0
		for i, v := range base {
			d := math.Abs(y[k*n+i]-v) / sigma
			m1 += d / float64(n)
			m2 += d * d / float64(n)
			if k == 1 && d == 0 {
				still += 1 / float64(n)
			}
		}
		f = append(f, m1, math.Sqrt(max(0, m2-m1*m1)))
	}
	sorted := slices.Sorted(slices.Values(base))
	var b [4]float64 // probability-weighted moments
	for i, v := range sorted {
		w, at := v/float64(n), float64(i)
		for r := range b {
			b[r] += w
			w *= (at - float64(r)) / float64(n-1-r)
		}
	}
	l2 := 2*b[1] - b[0]
	if l2 == 0 {
		return append(f, still, 0, 0)
	}
	return append(f, still, (6*b[2]-6*b[1]+b[0])/l2, (20*b[3]-30*b[2]+12*b[1]-b[0])/l2)
}
