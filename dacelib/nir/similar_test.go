package nir

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

// directLoss computes L1 as in the paper: it evaluates OneMax of target t on
// all solutions and normalises NIR and instance by their extremes.
func directLoss(x problem.Solutions, y []float64, t uint64) float64 {
	z := make([]float64, len(y))
	for i := range z {
		z[i] = float64(x.D - bits.OnesCount64(x.Row(i)[0]^t))
	}
	ylo, yhi, zlo, zhi := slices.Min(y), slices.Max(y), slices.Min(z), slices.Max(z)
	var l float64
	for i := range y {
		e := (y[i]-ylo)/(yhi-ylo) - (z[i]-zlo)/(zhi-zlo)
		l += e * e / float64(len(y))
	}
	return l
}

// The result agrees with a search of all 256 targets of eight bits, each
// evaluated on all solutions. With so many solutions, every target's range is 0
// to 8.
func TestClosestOneMax(t *testing.T) {
	const d = 8
	for seed := range uint64(5) {
		s, o, x, y, got := closestRandom(t, d, OneMaxSettings{Solutions: 2000, Validation: 3000, Seed: 5}, seed)
		best := math.Inf(1)
		for target := range uint64(1 << d) {
			best = min(best, directLoss(x, y, target))
		}
		if math.Abs(got.L1-best) > 1e-9 {
			t.Errorf("seed %d: L1 = %v, the least over all targets is %v", seed, got.L1, best)
		}
		x = problem.Random(run.Rand(o.Seed, "nir: onemax validation"), o.Validation, d)
		y = make([]float64, o.Validation)
		if err := s.Evaluate(bg, y, x); err != nil {
			t.Fatal(err)
		}
		if want := directLoss(x, y, problem.Pack(got.Target).Words[0]); math.Abs(got.L2-want) > 1e-9 {
			t.Errorf("seed %d: L2 = %v, want %v", seed, got.L2, want)
		}
	}
	if _, err := ClosestOneMax(bg, onemax.Random(1, d), OneMaxSettings{Solutions: 1}); err == nil || !strings.Contains(err.Error(), "Solutions is 1") {
		t.Errorf("one solution: %v", err)
	}
}

// closestRandom finds the closest instance to an NIR with random weights; it
// returns the solutions x over which L1 is taken and the NIR's values y on
// them.
func closestRandom(t *testing.T, d int, o OneMaxSettings, seed uint64) (*Scorer, OneMaxSettings, problem.Solutions, []float64, OneMaxMatch) {
	t.Helper()
	m := randomModel(t, d, 1, Settings{NormaliseSample: 5000, Seed: seed})
	s, err := m.Scorer(m.Embeddings()[0])
	if err != nil {
		t.Fatal(err)
	}
	got, err := ClosestOneMax(bg, s, o)
	if err != nil {
		t.Fatal(err)
	}
	x := problem.Random(run.Rand(o.Seed, "nir: onemax"), o.Solutions, d)
	y := make([]float64, o.Solutions)
	if err := s.Evaluate(bg, y, x); err != nil {
		t.Fatal(err)
	}
	return s, o, x, y, got
}

// With more bits, the targets' ranges differ; L1 uses that of the target found.
func TestClosestOneMaxRange(t *testing.T) {
	ranges := map[Range]bool{}
	for seed := range uint64(5) {
		_, _, x, y, got := closestRandom(t, 24, OneMaxSettings{Solutions: 500, Validation: 10, Seed: seed}, seed)
		target := problem.Pack(got.Target)
		if want := directLoss(x, y, target.Words[0]); math.Abs(got.L1-want) > 1e-9 {
			t.Errorf("seed %d: L1 = %v, want %v", seed, got.L1, want)
		}
		ranges[oneMaxRange(x, target)] = true
	}
	if len(ranges) < 2 {
		t.Errorf("all targets have one range, %v", ranges)
	}
}

// A OneMax of two words, scaled or not, is identified without a loss.
func TestClosestOneMaxOfOneMax(t *testing.T) {
	o := onemax.Random(3, 70)
	scaled := problem.FromFunc("scaled", 70, func(x []bool) float64 {
		v, _ := problem.Value(context.Background(), o, x)
		return v/100 - 3
	})
	got, err := ClosestOneMax(bg, scaled, OneMaxSettings{Solutions: 3000, Validation: 2000})
	if err != nil || !slices.Equal(got.Target, o.Target()) || got.L1 > 1e-12 || got.L2 > 1e-12 {
		t.Errorf("got %v (%v), want %v", got, err, problem.Pack(o.Target()))
	}
}

func TestCompare(t *testing.T) {
	a, b := onemax.Random(1, 20), onemax.Random(2, 20)
	scaled := problem.FromFunc("scaled", 20, func(x []bool) float64 {
		v, _ := problem.Value(context.Background(), a, x)
		return 3*v - 100
	})
	same, err := Compare(bg, a, scaled, 1000, 1)
	if err != nil || same.MSE > 1e-20 || math.Abs(same.Correlation-1) > 1e-12 {
		t.Errorf("a function and a multiple of it: %+v (%v)", same, err)
	}
	// The correlation of two OneMax instances is 1 - 2 h/d if h is the Hamming
	// distance of their targets.
	h := 0
	for j, v := range a.Target() {
		if v != b.Target()[j] {
			h++
		}
	}
	other, err := Compare(bg, a, b, 20_000, 1)
	if want := 1 - 2*float64(h)/20; err != nil || math.Abs(other.Correlation-want) > 0.03 {
		t.Errorf("correlation %v (%v), want %v", other.Correlation, err, want)
	}
	k, s, err := Closest(bg, scaled, []problem.Problem{b, a}, 1000, 1)
	if err != nil || k != 1 || s != same {
		t.Errorf("closest is %d, %+v (%v)", k, s, err)
	}
	if _, err := Compare(bg, a, onemax.Random(1, 21), 1000, 1); err == nil || !strings.Contains(err.Error(), "dimension 20") {
		t.Errorf("20 and 21 bits: %v", err)
	}
	if _, _, err := Closest(bg, a, nil, 1000, 1); err == nil {
		t.Error("no instances: no error")
	}
}

// From any start, and with moments that are not exact, changes of one or two
// bits at a time lead to the target.
func TestDescend(t *testing.T) {
	o := onemax.Random(3, 30)
	r := run.Rand(1, "test")
	x := problem.Random(r, 2000, 30)
	y, err := normalisedValues(bg, o, x)
	if err != nil {
		t.Fatal(err)
	}
	q, rng := newQuadratic(x, y), oneMaxRange(x, problem.Pack(o.Target()))
	for range 3 {
		start := problem.Random(r, 1, 30)
		q.descend(start, rng)
		if l := q.loss(start, rng); !slices.Equal(start.Bools(0), o.Target()) || math.Abs(l) > 1e-12 {
			t.Errorf("got %v with a loss of %v, want %v", start, l, problem.Pack(o.Target()))
		}
	}
}

func TestOutside(t *testing.T) {
	a, b, c := onemax.Random(1, 20), onemax.Random(2, 20), onemax.Random(3, 20)
	value := func(p problem.Problem, x []bool) float64 {
		v, err := problem.Value(bg, p, x)
		if err != nil {
			t.Error(err)
		}
		return v
	}
	blend := problem.FromFunc("blend", 20, func(x []bool) float64 { return 0.3*value(a, x) - 2*value(b, x) + 7 })
	// Parity is orthogonal to all linear functions.
	parity := problem.FromFunc("parity", 20, func(x []bool) float64 {
		v := 1.0
		for _, bit := range x[:5] {
			if bit {
				v = -v
			}
		}
		return v
	})
	half := problem.FromFunc("half", 20, func(x []bool) float64 {
		s := math.Sqrt(20) / 2 // the standard deviation of OneMax
		return value(a, x)/s + value(parity, x)
	})
	for _, tc := range []struct {
		p         problem.Problem
		instances []problem.Problem
		want, tol float64
	}{
		{blend, []problem.Problem{a, b, c}, 0, 1e-9},
		{blend, []problem.Problem{a, a, b}, 0, 1e-9}, // with one instance twice
		{parity, []problem.Problem{a, b, c}, 1, 0.01},
		{half, []problem.Problem{a, b}, 0.5, 0.03},
		{c, nil, 1, 0},
	} {
		got, err := Outside(bg, tc.p, tc.instances, 5000, 1)
		if err != nil || math.Abs(got-tc.want) > tc.tol {
			t.Errorf("%s: %v (%v), want %v", tc.p.Name(), got, err, tc.want)
		}
	}
	for want, f := range map[string]func() (float64, error){
		"use 6 solutions or more": func() (float64, error) { return Outside(bg, a, []problem.Problem{b, c}, 5, 1) },
		"dimension 20, onemax":    func() (float64, error) { return Outside(bg, a, []problem.Problem{onemax.Random(1, 21)}, 50, 1) },
		"has the same value": func() (float64, error) {
			return Outside(bg, problem.FromFunc("flat", 20, func([]bool) float64 { return 1 }), []problem.Problem{a}, 50, 1)
		},
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// Neighbours compare as CompareAll does, and refuse what cannot be compared.
func TestNeighbours(t *testing.T) {
	const d = 12
	var all []problem.Problem
	for i := range 4 {
		p, err := onemax.Class(d).Train(1, i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	want, err := CompareAll(bg, all[0], all[1:], 500, 3)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewNeighbours(bg, all[1:], 500, 3)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a comparison leaves the neighbours as they are
		if got, err := k.Compare(bg, all[0]); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	if got, err := k.Compare(bg, all[2]); err != nil || math.Abs(got[1].Correlation-1) > 1e-12 || got[1].MSE != 0 {
		t.Errorf("with itself: %v, %v", got, err)
	}
	other, err := onemax.Class(d+1).Train(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Compare(bg, other); err == nil || !strings.Contains(err.Error(), "has 13") {
		t.Errorf("another dimension: %v", err)
	}
	if _, err := NewNeighbours(bg, nil, 500, 3); err == nil {
		t.Error("no problems: no error")
	}
	if _, err := NewNeighbours(bg, all, 1, 3); err == nil {
		t.Error("one solution: no error")
	}
}
