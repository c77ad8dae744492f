package nir_test

import (
	"context"
	"hash/fnv"
	"strings"
	"testing"

	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// OneMax is learned well, a function without structure is not; the advice says
// so.
func TestCheckFit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	hash := problem.FromFunc("hash", 20, func(x []bool) float64 {
		h := fnv.New64a()
		for _, b := range x {
			h.Write([]byte{map[bool]byte{true: 1}[b]})
		}
		return float64(h.Sum64()>>40) / (1 << 24)
	})
	instances := []problem.Problem{onemax.Random(1, 20), hash}
	s := nir.Settings{Samples: 2000, Batch: 64, Steps: 600, LearningRate: 0.004, HyperRate: 0.025, NormaliseSample: 2000, Seed: 1}
	m, err := nir.Train(context.Background(), instances, s)
	if err != nil {
		t.Fatal(err)
	}
	fits, err := nir.CheckFit(context.Background(), m, instances, 2000, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"good", "poor: "} {
		f := fits[i]
		if f.Instance != instances[i].Name() || !strings.HasPrefix(f.Advice, want) || f.Loss <= 0 {
			t.Errorf("%+v, want %q", f, want)
		}
	}
	if fits[0].Correlation < 0.95 || fits[1].Correlation > 0.6 || fits[1].Top > fits[0].Top {
		t.Errorf("%+v", fits)
	}
	for name, of := range map[string][]problem.Problem{
		"the model has learned 2 instances, and 1 are given": instances[:1],
		"dimension 21": {instances[0], onemax.Random(1, 21)},
	} {
		if _, err := nir.CheckFit(context.Background(), m, of, 100, 1); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	if _, err := nir.CheckFit(context.Background(), m, instances, 3, 1); err == nil {
		t.Error("three solutions are a fit")
	}
}
