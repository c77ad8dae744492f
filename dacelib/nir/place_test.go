package nir

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

// TestDistanceWeight: the result depends neither on the workers nor on an
// interruption, also where the training goes back; embeddings have the inner products
// that the correlations of the values want.
func TestDistanceWeight(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	ps := []problem.Problem{onemax.Random(1, 20), onemax.Random(2, 20), onemax.Random(3, 20)}
	s := Settings{Samples: 600, Steps: 60, Batch: 16, ValidateEvery: 5, LearningRate: 0.02, NormaliseSample: 100, DistanceWeight: 1, Seed: 3, Workers: 1}
	whole, err := Train(t.Context(), ps, s)
	if err != nil {
		t.Fatal(err)
	}
	rises := 0
	for i, r := range whole.History() {
		if i > 0 && r.Validation.Total > setback*whole.Losses().Total {
			rises++
		}
	}
	s.Workers = 3
	ctx, cancel := context.WithCancel(t.Context())
	s.OnRecord = func(r Record) {
		if r.Step == 30 {
			cancel()
		}
	}
	half, err := Train(ctx, ps, s)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.OnRecord, s.Resume = nil, half
	resumed, err := Train(t.Context(), ps, s)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.params, resumed.params) {
		t.Error("other parameters with three workers and an interruption")
	}
	if rises == 0 {
		t.Error("the training never went back; the test needs a larger rate")
	}

	e := whole.Embeddings()
	near, err := CompareAll(t.Context(), ps[0], ps, 20_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range e {
		dot := 0.0
		for k := range e[0] {
			dot += e[0][k] * e[i][k] / EmbeddingSize
		}
		if math.Abs(dot-near[i].Correlation) > 0.1 {
			t.Errorf("inner product 0, %d is %v, the correlation %v", i, dot, near[i].Correlation)
		}
	}
}

// TestCommonSolutions: with DistanceWeight the solutions for validation are those of
// all instances, the others are an instance's own, and all are distinct.
func TestCommonSolutions(t *testing.T) {
	t.Parallel()
	s := Settings{DistanceWeight: 1, Seed: 1}
	for _, d := range []int{9, 12, 70} {
		a, err := s.solutions(400, d, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.solutions(400, d, 1)
		if err != nil {
			t.Fatal(err)
		}
		from := a.Len() * 3 / 4
		if a.Len() != 400 || !slices.Equal(a.Slice(from, a.Len()).Words, b.Slice(from, b.Len()).Words) {
			t.Errorf("d = %d: %d solutions, of which the last are not the same", d, a.Len())
		}
		if own := d > 9; own == slices.Equal(a.Slice(0, from).Words, b.Slice(0, from).Words) {
			t.Errorf("d = %d: solutions of one's own: %v", d, !own)
		}
		seen := map[string]bool{}
		for i := range a.Len() {
			seen[a.Slice(i, i+1).String()] = true
		}
		if len(seen) != a.Len() {
			t.Errorf("d = %d: %d of %d solutions are distinct", d, len(seen), a.Len())
		}
	}
}

// TestDistanceWeightRefuses: data that cannot be compared is named.
func TestDistanceWeightRefuses(t *testing.T) {
	t.Parallel()
	s := Settings{Samples: 200, Steps: 2, Batch: 10, DistanceWeight: 1, Dim: 12}
	a, b := onemax.Random(1, 12), onemax.Random(2, 13)
	if _, err := Train(t.Context(), []problem.Problem{a, b}, s); err == nil || !strings.Contains(err.Error(), "needs one dimension") {
		t.Errorf("two dimensions: %v", err)
	}
	var data []Data
	for i := range uint64(2) {
		d, err := SampleData(t.Context(), a, 200, run.Seed(i, "test"))
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, d)
	}
	if _, err := TrainOn(t.Context(), data, s); err == nil || !strings.Contains(err.Error(), "have others") {
		t.Errorf("other solutions: %v", err)
	}
	s.DistanceWeight = math.NaN()
	if _, err := Train(t.Context(), []problem.Problem{a, a}, s); err == nil || !strings.Contains(err.Error(), "DistanceWeight is NaN") {
		t.Errorf("NaN: %v", err)
	}
}
