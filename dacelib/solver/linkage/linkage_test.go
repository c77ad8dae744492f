package linkage_test

import (
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/linkage"
	"dace.local/dacelib/solver/solvertest"
)

func TestContract(t *testing.T) { solvertest.Run(t, linkage.Solver()) }

// TestTraps solves concatenated deceptive traps of five bits, on which searches by
// single bits fail: 100 bits, in about 20,000 evaluations by the published figures
// (Goldman, Punch 2014), whose order of magnitude is the bound here. The bits of the
// traps are permuted.
func TestTraps(t *testing.T) {
	const d, size = 100, 5
	order := run.Rand(1, "traps").Perm(d)
	p := problem.FromBatch("traps", d, func(dst []float64, x problem.Solutions) {
		for k := range dst {
			v := 0
			for b := 0; b < d; b += size {
				u := 0
				for _, i := range order[b : b+size] {
					if x.At(k, i) {
						u++
					}
				}
				if u == size {
					v += size
				} else {
					v += size - 1 - u
				}
			}
			dst[k] = float64(v)
		}
	})
	c, err := solver.New("linkage", nil)
	if err != nil {
		t.Fatal(err)
	}
	target := float64(d)
	sum := 0
	const runs = 5
	for seed := range uint64(runs) {
		r, err := solver.Run(t.Context(), solver.Job{Problem: p, Config: c, Evaluations: 200_000, Target: &target, Seed: seed})
		if err != nil || r.Status != run.TargetReached {
			t.Fatalf("seed %d: %v of %d, %v, %v", seed, r.Value, d, r.Status, err)
		}
		sum += r.Evaluations
	}
	if mean := sum / runs; mean > 60_000 {
		t.Errorf("%d evaluations on average", mean)
	} else {
		t.Logf("%d evaluations on average", mean)
	}
}
