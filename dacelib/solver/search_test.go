package solver_test

import (
	"context"
	"math"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// searched runs one search of a function.
func searched(t *testing.T, p problem.Problem, evaluations int, f func(s *solver.Search) error) solver.Result {
	t.Helper()
	of := solver.FromFunc("searched", smac.Space{}, f)
	solver.Register(of)
	c, err := solver.New("searched", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := solver.Each(context.Background(), of, []solver.Job{{Problem: p, Config: c, Evaluations: evaluations, Seed: 1}}, 1, f)
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

// A run that leaves an evaluation has converged, and one that leaves none has not.
func TestStatus(t *testing.T) {
	for calls, want := range map[int]run.Status{9: run.Converged, 10: run.BudgetSpent, 11: run.BudgetSpent} {
		r := searched(t, onemax.Random(1, 10), 10, func(s *solver.Search) error {
			x := problem.NewSolutions(1, s.Dim())
			for range calls {
				s.Value(x.Words)
			}
			return nil
		})
		if r.Status != want || r.Evaluations != min(calls, 10) {
			t.Errorf("%d calls of a budget of 10: %v after %d evaluations, want %v", calls, r.Status, r.Evaluations, want)
		}
	}
}

// A run has a best solution although no value is above -Inf, and the first of equals.
func TestFirstOfEquals(t *testing.T) {
	for i, value := range []float64{math.Inf(-1), 3, math.Inf(-1), 3} {
		p := problem.FromFunc("flat", 6, func([]bool) float64 { return value })
		r := searched(t, p, 10, func(s *solver.Search) error {
			if i > 1 {
				s.Remember()
			}
			x := problem.NewSolutions(4, s.Dim())
			for i := range 4 {
				x.Row(i)[0] = uint64(i + 1)
			}
			s.Values(make([]float64, 4), x)
			return nil
		})
		if len(r.X) != 6 || !r.X[0] || r.X[1] || r.Value != value {
			t.Errorf("the best of solutions of %v is %v with %v", value, r.X, r.Value)
		}
	}
}

// A search that remembers is stuck after 4 d + 100 known solutions in a row.
func TestStuck(t *testing.T) {
	known := 0
	r := searched(t, onemax.Random(1, 10), 1000, func(s *solver.Search) error {
		s.Remember()
		x := problem.NewSolutions(1, s.Dim())
		for s.Value(x.Words); !s.Stuck(); known++ {
			s.Value(x.Words)
		}
		x.Words[0] = 1
		if s.Value(x.Words); s.Stuck() {
			t.Error("stuck after a new solution")
		}
		return nil
	})
	if known != 4*10+101 || r.Evaluations != 2 {
		t.Errorf("stuck after %d known solutions, %d evaluations", known, r.Evaluations)
	}
}

func TestMemoryDefault(t *testing.T) {
	if solver.MemoryDefault(20_000) != 1 || solver.MemoryDefault(20_001) != 0 {
		t.Error("searches remember values in runs of up to 20,000 evaluations")
	}
}

// The progress of several runs is counted in their evaluations, all of them at the end.
func TestProgress(t *testing.T) {
	var last run.Event
	ended := 0
	ctx := run.WithProgress(t.Context(), func(string) (func(run.Event), func()) {
		return func(e run.Event) { last = e }, func() { ended++ }
	})
	walk := func(s *solver.Search) error {
		for x := make([]bool, s.Dim()); !s.Over(); {
			s.BoolValue(x)
		}
		return nil
	}
	of := solver.FromFunc("walk", smac.Space{}, walk)
	solver.Register(of)
	c, err := solver.New("walk", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := onemax.Random(1, 10)
	if _, err := solver.Each(ctx, of, []solver.Job{{Problem: p, Config: c, Evaluations: 7}, {Problem: p, Config: c, Evaluations: 5}}, 1, walk); err != nil {
		t.Fatal(err)
	}
	if last.Stage != "walk" || last.Step != 12 || last.Total != 12 || ended != 1 {
		t.Errorf("the last event is %+v, ended %d times", last, ended)
	}
}
