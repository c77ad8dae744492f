package smac_test

import (
	"context"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/smac"
)

func init() {
	smac.CCP.Instances = func(t testing.TB) []problem.Problem {
		t.Helper()
		var instances []problem.Problem
		for i := range 5 {
			p, err := ccp.Class().Train(1, i)
			if err != nil {
				t.Fatal(err)
			}
			instances = append(instances, p)
		}
		instances, err := portfolio.Normalise(t.Context(), instances, 100_000, 1)
		if err != nil {
			t.Fatal(err)
		}
		return instances
	}
	smac.CCP.Run = func(p problem.Problem, c []float64) (float64, error) {
		config := brkga.Config{Elites: int(c[0]), Offspring: int(c[1]), Mutants: int(c[2]), Bias: c[3], Duplicates: c[4] == 1}
		r, err := brkga.Run(context.Background(), p, brkga.Settings{Config: config, Evaluations: 800, Seed: 1})
		return r.Value, err
	}
}
