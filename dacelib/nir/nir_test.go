package nir

import (
	"context"
	"math"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

func TestSkeleton(t *testing.T) {
	for _, s := range []Settings{{NormaliseSample: 10000}, {Input: Mean, NormaliseSample: 10000, CacheBytes: -1}, Authors()} {
		s.NormaliseSample = 10007
		m, err := Random(30, 3, s)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Instance(context.Background(), "x", m.Embeddings()[1])
		if err != nil {
			t.Fatal(err)
		}
		x := problem.NewSolutions(1000, 30)
		r := run.Rand(1, "x")
		for i := range 1000 {
			uniform(x.Row(i), 30, r)
		}
		y := make([]float64, 1000)
		if err := p.Evaluate(context.Background(), y, x); err != nil {
			t.Fatal(err)
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, v := range y {
			lo, hi = min(lo, v), max(hi, v)
		}
		t.Log(lo, hi)
	}
}
