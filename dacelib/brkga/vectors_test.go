package brkga

import (
	"context"
	"fmt"
	"math"
	"testing"

	"dace.local/dacelib/internal/vectors"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/onemax"
)

// comboInstance is the instance on which the CCP references were run: COMBO's
// draws of seed 0, d = 30, lambda = 1e-4.
func comboInstance(t testing.TB) problem.Problem {
	t.Helper()
	p, err := ccp.COMBO(0, ccp.Settings{Dim: 30, Lambda: 1e-4})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A reference holds the runs of one configuration by another implementation.
type reference struct {
	Problem   string
	Cfg       [5]any
	N, NSeeds int
	Mean, Std float64
	NEvalMean float64 `json:"n_eval_mean"`
	GensMean  float64 `json:"gens_mean"`
}

func (r reference) config() Config {
	number := func(i int) float64 { return r.Cfg[i].(float64) }
	c := Config{Elites: int(number(0)), Offspring: int(number(1)), Mutants: int(number(2)), Bias: number(3)}
	switch d := r.Cfg[4].(type) {
	case bool:
		c.Duplicates = d
	case float64:
		c.Duplicates = d != 0
	}
	return c
}

// TestPaperSolverVectors compares our means over 200 seeds with those of the
// paper's solver (pymoo 0.6.0.1) over 100.
func TestPaperSolverVectors(t *testing.T) {
	var v struct{ Runs []reference }
	vectors.Read(t, "brkga_paper_solver_runs.json", &v)
	problems := map[string]problem.Problem{
		"onemax30":               onemax.Random(1, 30),
		"ccp30_seed0_lambda1e-4": comboInstance(t),
	}
	compare(t, problems, v.Runs, Settings{})
}

// TestOneChildVectors does the same for pymoo 0.6.2, over its 200 seeds.
func TestOneChildVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var v struct{ Runs []reference }
	vectors.Read(t, "brkga_onechild_runs.json", &v)
	problems := map[string]problem.Problem{
		"onemax30": onemax.Random(1, 30),
		"ccp30":    comboInstance(t),
	}
	for i := range v.Runs {
		v.Runs[i].N = 200
	}
	compare(t, problems, v.Runs, Pymoo062())
}

func compare(t *testing.T, problems map[string]problem.Problem, refs []reference, s Settings) {
	const n = 200
	for _, r := range refs {
		p := problems[r.Problem]
		if p == nil {
			t.Errorf("unknown problem %s", r.Problem)
			continue
		}
		jobs := make([]Job, n)
		for i := range jobs {
			jobs[i] = Job{p, s}
			jobs[i].Settings.Config = r.config()
			jobs[i].Settings.Seed = uint64(i)
		}
		results, err := RunAll(context.Background(), jobs, 0)
		if err != nil {
			t.Fatal(err)
		}
		var sum, squares, evals float64
		for _, q := range results {
			sum += q.Value
			squares += q.Value * q.Value
			evals += float64(q.Evaluations)
		}
		mean := sum / n
		// CCP's values differ in steps of 0.01, and all seeds may agree: the
		// lower bound keeps the standard error above zero.
		variance := max(squares/n-mean*mean, 1e-6)
		se := math.Sqrt(variance/n + r.Std*r.Std/float64(r.N))
		off := (mean - r.Mean) / se
		line := fmt.Sprintf("%-22s %-28v %9.4f, reference %9.4f: %+.2f standard errors", r.Problem, r.config(), mean, r.Mean, off)
		if math.Abs(off) > 4 {
			t.Error(line)
		} else {
			t.Log(line)
		}
		if r.NEvalMean > 0 && math.Abs(evals/n-r.NEvalMean) > 0.5 {
			t.Errorf("%v: %v evaluations, reference %v", r.config(), evals/n, r.NEvalMean)
		}
	}
}
