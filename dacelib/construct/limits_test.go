package construct_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// stuck is an objective that ends with its context only, after some values.
func stuck(after int) problem.Problem {
	left := make(chan struct{}, after)
	for range after {
		left <- struct{}{}
	}
	return problem.FromContext("stuck", 16, func(ctx context.Context, x []bool) (float64, error) {
		select {
		case <-left:
			return float64(len(x)), nil
		default:
			<-ctx.Done()
			return 0, ctx.Err()
		}
	})
}

// TestSeconds ends constructions by the clock: each returns a portfolio, without an
// error, and says what ran out, however early that is.
func TestSeconds(t *testing.T) {
	t.Parallel()
	s := construct.Settings{Budget: construct.Budget{Seconds: 0.05}, Members: 3, Evaluations: 40, Trials: 5, Minings: 2, NIR: nir.Settings{Samples: 100, Steps: 10}}
	for _, c := range []struct {
		method string
		after  int // values
	}{{"BEST", 0}, {"BEST", 20}, {"BEST", 400}, {"ONE", 0}, {"ONE", 30}, {"GREEDY", 60}, {"GLOBAL", 100}, {"PARHYDRA", 0}, {"DACE", 0}} {
		r, err := construct.Build(t.Context(), c.method, problem.Class{Name: "c"}, []problem.Problem{stuck(c.after)}, s)
		if err != nil || len(r.Portfolio.Members) != 3 || r.Status != run.BudgetSpent || !strings.Contains(strings.Join(r.Notes, "\n"), "The time ran out") {
			t.Errorf("%s after %d values: %v, %v, %v, %q", c.method, c.after, r.Portfolio, r.Status, err, r.Notes)
		}
	}
	// The caller's own deadline gives the portfolio, too.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r, err := construct.Best(ctx, []problem.Problem{stuck(0)}, construct.Settings{})
	if !errors.Is(err, context.DeadlineExceeded) || len(r.Portfolio.Members) != 4 || r.Status != run.Cancelled {
		t.Errorf("%v, %v, %v", r.Portfolio, r.Status, err)
	}
	// An error of the objective is one, although there is a limit.
	bad := problem.FromContext("bad", 16, func(context.Context, []bool) (float64, error) { return 0, errors.New("it is broken") })
	s.Budget.Seconds = 100
	if _, err := construct.Best(t.Context(), []problem.Problem{bad}, s); err == nil || !strings.Contains(err.Error(), "it is broken") {
		t.Error(err)
	}
}

// TestSecondsGoOn goes on after the time was over, to the result of a construction
// without a limit.
func TestSecondsGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	p := []problem.Problem{onemax.Random(3, 16), onemax.Random(4, 16)}
	s := construct.Settings{Evaluations: 50, Solvers: some(t)}
	want, err := construct.Best(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Dir = t.TempDir()
	s.Budget.Seconds = 1e-9
	if r, err := construct.Best(t.Context(), p, s); err != nil || r.Status != run.BudgetSpent {
		t.Errorf("%v, %v", r.Status, err)
	}
	s.Budget.Seconds = 0
	got, err := construct.Best(t.Context(), p, s)
	if err != nil || got.Portfolio.String() != want.Portfolio.String() {
		t.Errorf("%v, %v; want %v", got.Portfolio, err, want.Portfolio)
	}
}

// TestAnytime finds the solver that is good early, where another is better in the
// end; by the best value it finds the other.
func TestAnytime(t *testing.T) {
	t.Parallel()
	values := problem.FromFunc("values", 8, func(x []bool) float64 {
		v := 0.0
		for i, b := range x {
			if b {
				v += math.Pow(2, float64(i))
			}
		}
		return v
	})
	at := func(v int) []uint64 { return []uint64{uint64(v)} }
	early := solver.FromFunc("early", some(t)[0].Space(1, 1), func(s *solver.Search) error {
		for !s.Over() {
			s.Value(at(200))
		}
		return nil
	})
	late := solver.FromFunc("late", some(t)[0].Space(1, 1), func(s *solver.Search) error {
		for !s.Over() {
			s.Value(at(map[bool]int{true: 210, false: 1}[s.Left() < 10]))
		}
		return nil
	})
	for measure, want := range map[construct.Measure]string{construct.BestValue: "late", construct.Anytime: "early"} {
		s := construct.Settings{Evaluations: 100, Members: 1, Solvers: []solver.Solver{early, late}, Measure: measure, Budget: construct.Budget{Runs: 60}}
		r, err := construct.Best(t.Context(), []problem.Problem{values}, s)
		if err != nil || r.Portfolio.Members[0].Solver() != want {
			t.Errorf("%v: %v, %v", measure, r.Portfolio, err)
		}
	}
	// A target ends runs: those of the early one at once.
	target := 200.0
	s := construct.Settings{Evaluations: 100, Members: 1, Solvers: []solver.Solver{early, late}, Measure: construct.Anytime, Target: &target, Budget: construct.Budget{Runs: 60}}
	r, err := construct.Best(t.Context(), []problem.Problem{values}, s)
	if err != nil || r.Portfolio.Members[0].Solver() != "early" || r.Cost.Evaluations > 60*92 || r.Cost.Evaluations > r.Cost.Runs*92 {
		t.Errorf("%v, %v, %+v", r.Portfolio, err, r.Cost)
	}
}

// TestBudgetsOfMembers runs Best with few and with many evaluations a member.
func TestBudgetsOfMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for _, n := range []int{50, 20_000} {
		r, err := construct.Best(t.Context(), []problem.Problem{onemax.Random(5, 20)}, construct.Settings{Evaluations: n, Budget: construct.Budget{Evaluations: 100_000}})
		if err != nil || len(r.Portfolio.Members) != 4 || r.Cost.Evaluations > 100_000 {
			t.Errorf("%d: %v, %v, %+v", n, r.Portfolio, err, r.Cost)
		}
	}
}
