package eda_test

import (
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/eda"
	"dace.local/dacelib/solver/solvertest"
)

func TestContract(t *testing.T) { solvertest.Run(t, eda.Solver()) }

// TestOneMax compares the evaluations on OneMax with theory. With two samples and a
// rate of 1/K, PBIL is close to the compact genetic algorithm, whose expected time
// is of the order K sqrt(n), for K from sqrt(n) log n (Sudholt, Witt: On the choice
// of the update strength in estimation-of-distribution algorithms and ant colony
// optimization, Algorithmica 81, 2019): doubling K doubles it.
func TestOneMax(t *testing.T) {
	const d = 64
	p := problem.FromBatch("onemax", d, func(dst []float64, x problem.Solutions) {
		for i := range dst {
			dst[i] = float64(x.Ones(i))
		}
	})
	times := func(text string) float64 {
		c, err := solver.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		target, sum := float64(d), 0
		const runs = 40
		for seed := range uint64(runs) {
			r, err := solver.Run(t.Context(), solver.Job{Problem: p, Config: c, Evaluations: 200_000, Target: &target, Seed: seed})
			if err != nil || r.Status != run.TargetReached {
				t.Fatalf("%s: %v, %v", text, r.Status, err)
			}
			sum += r.Evaluations
		}
		return float64(sum) / runs
	}
	once, twice := times("eda{sample: 2, rate: 0.02, memory: false}"), times("eda{sample: 2, rate: 0.01, memory: false}")
	if ratio := twice / once; ratio < 1.7 || ratio > 2.3 {
		t.Errorf("K = 50: %.0f evaluations, K = 100: %.0f", once, twice)
	}
	// 2 evaluations a step, K/2 sqrt(n) steps and some.
	if once < 50*8 || once > 50*8*8 {
		t.Errorf("K = 50: %.0f evaluations", once)
	}
}
