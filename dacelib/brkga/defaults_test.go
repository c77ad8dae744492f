package brkga_test

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/problem/onemax"
)

// leadingOnes counts the ones before the first zero.
func leadingOnes(d int) problem.Problem {
	return problem.FromBatch(fmt.Sprintf("leading ones, d = %d", d), d, func(dst []float64, x problem.Solutions) {
		for i := range dst {
			n := 0
			for _, w := range x.Row(i) {
				k := bits.TrailingZeros64(^w)
				if n += k; k < 64 {
					break
				}
			}
			dst[i] = float64(min(n, d))
		}
	})
}

// TestForBudget checks that a run without a configuration is, on average over
// seeds, within 5 % of the better of two configurations, one good on small and
// one on large budgets, for any budget and problem. Run it with -v for the
// table.
func TestForBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var problems []problem.Problem
	for _, d := range []int{40, 100} {
		knapsack, err := classic.RandomKnapsack(1, d)
		if err != nil {
			t.Fatal(err)
		}
		nk, err := classic.RandomNK(1, d, 4)
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, onemax.Random(1, d), leadingOnes(d), knapsack, nk)
	}
	const seeds = 48
	configs := []brkga.Config{{Elites: 5, Offspring: 30, Mutants: 2, Bias: 0.7}, {Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7}}
	for _, p := range problems {
		for _, evaluations := range []int{200, 800, 3000, 20_000} {
			// A run without a configuration equals one with ForBudget's choice.
			r, err := brkga.Run(t.Context(), p, brkga.Settings{Evaluations: evaluations})
			if err != nil {
				t.Fatal(err)
			}
			chosen := slices.Index(configs, r.Settings.Config)
			if chosen < 0 {
				t.Fatalf("%d evaluations: chosen is %v, which is not compared here", evaluations, r.Settings.Config)
			}
			var jobs []brkga.Job
			for _, c := range configs {
				for seed := range uint64(seeds) {
					jobs = append(jobs, brkga.Job{Problem: p, Settings: brkga.Settings{Config: c, Evaluations: evaluations, Seed: seed}})
				}
			}
			results, err := brkga.RunAll(t.Context(), jobs, 0)
			if err != nil {
				t.Fatal(err)
			}
			mean := make([]float64, len(configs))
			for i, r := range results {
				mean[i/seeds] += r.Value / seeds
			}
			share := mean[chosen] / slices.Max(mean)
			t.Logf("%-24s %6d: %8.2f with %v, %8.2f with %v; chosen %.3f of the best", p.Name(), evaluations, mean[0], configs[0], mean[1], configs[1], share)
			if share < 0.95 {
				t.Errorf("%s, %d evaluations: %v reaches %.2f of %.2f; want at least 0.95 of it", p.Name(), evaluations, r.Settings.Config, mean[chosen], slices.Max(mean))
			}
		}
	}
}

// The configuration without a choice is the documented one, up to the budget at which
// it changes.
func TestForBudgetChoice(t *testing.T) {
	for evaluations, want := range map[int]string{1: "[5, 30, 2, 0.70, F]", 1999: "[5, 30, 2, 0.70, F]", 2000: "[20, 70, 10, 0.70, F]"} {
		if got := brkga.ForBudget(evaluations).String(); got != want {
			t.Errorf("%d evaluations: %s, want %s", evaluations, got, want)
		}
	}
}

// What is no result is an error, and changes nothing.
func TestResultOfBadJSON(t *testing.T) {
	r := brkga.Result{Value: 3}
	if err := json.Unmarshal([]byte(`{"evaluations": "many"}`), &r); err == nil || r.Value != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}
