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

// Against all 256 targets of eight bits, each evaluated on all solutions.
func TestClosestOneMax(t *testing.T) {
	for seed := range uint64(5) {
		m := randomModel(t, 8, 1, Settings{NormaliseSample: 5000, Seed: seed})
		s, err := m.Scorer(m.Embeddings()[0])
		if err != nil {
			t.Fatal(err)
		}
		o := OneMaxSettings{Solutions: 2000, Validation: 3000, Seed: 5}
		got, err := ClosestOneMax(bg, s, o)
		if err != nil {
			t.Fatal(err)
		}
		x := problem.Random(run.Rand(o.Seed, "nir: onemax"), o.Solutions, 8)
		y := make([]float64, o.Solutions)
		if err := s.Evaluate(bg, y, x); err != nil {
			t.Fatal(err)
		}
		lo, hi := slices.Min(y), slices.Max(y)
		best := math.Inf(1)
		for target := range 256 {
			// 2000 solutions of eight bits: the range is 0 to 8.
			var l float64
			for i := range y {
				same := 8 - bits.OnesCount64(x.Row(i)[0]^uint64(target))
				e := (y[i]-lo)/(hi-lo) - float64(same)/8
				l += e * e / float64(len(y))
			}
			best = min(best, l)
		}
		if math.Abs(got.L1-best) > 1e-9 {
			t.Errorf("seed %d: L1 = %v, the least over all targets is %v", seed, got.L1, best)
		}
		if math.Abs(got.L2-got.L1) > 0.2*got.L1 {
			t.Errorf("seed %d: L1 = %v, L2 = %v", seed, got.L1, got.L2)
		}
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
	// The correlation of two OneMax instances is 1 - 2 h/d at Hamming distance
	// h of the targets.
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

// The target's own bits come out of an exact OneMax.
func TestQuadraticDescent(t *testing.T) {
	o := onemax.Random(3, 30)
	q := &quadratic{d: 30, m: make([]float64, 30), c: make([]float64, 30), g: make([][]float64, 30)}
	for j, v := range o.Target() {
		q.c[j] = -0.5 / 30
		if v {
			q.c[j] = 0.5 / 30
		}
		q.g[j] = make([]float64, 30)
		q.g[j][j] = 1
	}
	q.y, q.q = 0.5, 0.25+0.25/30
	start := problem.NewSolutions(1, 30)
	q.descend(start, Range{0, 30})
	if !slices.Equal(start.Bools(0), o.Target()) {
		t.Errorf("got %v, want %v", start, problem.Pack(o.Target()))
	}
	if l := q.loss(start, Range{0, 30}); math.Abs(l) > 1e-12 {
		t.Errorf("the loss of the true target is %v", l)
	}
}
