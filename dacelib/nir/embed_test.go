package nir

import (
	"math"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// TestEmbedGradient compares the gradient of what Embed minimises with central
// differences, in all of its terms and for both activations.
func TestEmbedGradient(t *testing.T) {
	t.Parallel()
	for _, s := range []Settings{{DistanceWeight: 3}, {Activation: Identity, Input: Sample, BatchNorm: true}} {
		s.Start, s.HyperBias, s.EmbeddingSize, s.Samples, s.Seed = He, true, 5, 200, 2
		m, err := Random(12, 3, s)
		if err != nil {
			t.Fatal(err)
		}
		data, err := SampleData(t.Context(), onemax.Random(4, 12), 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		f := m.newEmbedLoss(data, []float64{0.3, -0.2, 0.9})
		e := []float64{0.3, -1, 0.7, 0.2, -0.4}
		g := make([]float64, len(e))
		f.at(e, g)
		for i := range e {
			const h = 1e-6
			at := func(by float64) float64 {
				moved := append([]float64(nil), e...)
				moved[i] += by
				return f.at(moved, nil)
			}
			if want := (at(h) - at(-h)) / (2 * h); math.Abs(g[i]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%v: component %d is %v, by differences %v", s.Activation, i, g[i], want)
			}
		}
	}
}

// TestEmbedScores: the score in the loss is the one that the Scorer computes.
func TestEmbedScores(t *testing.T) {
	t.Parallel()
	m, err := Random(12, 3, Settings{Samples: 200, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	p := onemax.Random(4, 12)
	data, err := SampleData(t.Context(), p, 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	e := m.Embeddings()[1]
	s, err := m.Scorer(e)
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, 200)
	if err := s.Evaluate(t.Context(), y, data.X); err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, v := range data.normalised() {
		want += (y[i] - float64(v)) * (y[i] - float64(v)) / 200
	}
	if got := m.newEmbedLoss(data, make([]float64, 3)).at(e, nil); math.Abs(got-want) > 1e-5*want {
		t.Errorf("the loss is %v, from the scorer's values %v", got, want)
	}
}

func TestEmbedRefuses(t *testing.T) {
	t.Parallel()
	m, err := Random(12, 3, Settings{Samples: 200})
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Random(12, 0, Settings{Samples: 200})
	if err != nil {
		t.Fatal(err)
	}
	flat := problem.FromFunc("flat", 12, func([]bool) float64 { return 1 })
	for name, f := range map[string]func() error{
		"dimension": func() error { _, err := m.Embed(t.Context(), onemax.Random(1, 13)); return err },
		"empty":     func() error { _, err := empty.Embed(t.Context(), onemax.Random(1, 12)); return err },
		"flat":      func() error { _, err := m.Embed(t.Context(), flat); return err },
	} {
		if err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
