package construct_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/construct"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// some are solvers of the library; others may be registered by other tests.
func some(t *testing.T) []solver.Solver {
	t.Helper()
	var out []solver.Solver
	for _, name := range []string{"anneal", "brkga", "ea", "ils"} {
		s, err := solver.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// Best keeps its budget, with any number of instances and of evaluations a member,
// and its result does not depend on workers.
func TestBestBudgets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct{ instances, evaluations, budget, runs int }{
		{2, 60, 0, 0}, {2, 60, 5_000, 0}, {1, 30, 1_000, 0}, {7, 20, 3_000, 0}, {2, 5_000, 20_000, 0}, {3, 50, 0, 40}, {1, 1, 500, 0},
	} {
		s := construct.Settings{Evaluations: c.evaluations, Members: 3, Seed: 1, Solvers: some(t), Workers: 1, Budget: construct.Budget{Evaluations: c.budget, Runs: c.runs}}
		ps := training(t, c.instances)
		r, err := construct.Best(t.Context(), ps, s)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		most := c.budget
		if most == 0 {
			most = 600*c.evaluations + 100
		}
		if r.Portfolio.Size() != 3 || r.Portfolio.Check() != nil || r.Cost.Evaluations > most || c.runs > 0 && r.Cost.Runs > c.runs || r.Status != run.BudgetSpent {
			t.Errorf("%+v: %v, %+v", c, r, r.Cost)
		}
		if c.budget > 0 && r.Cost.Evaluations < c.budget/3 {
			t.Errorf("%+v: only %d evaluations", c, r.Cost.Evaluations)
		}
		// Runs that are less than half as long as a member's are called so.
		if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "need not be best after 5000") != (c.evaluations == 5_000) || most == 600*c.evaluations+100 && strings.Contains(notes, "need not be best") {
			t.Errorf("%+v: %s", c, notes)
		}
		s.Workers = 3
		again, err := construct.Best(t.Context(), ps, s)
		if err != nil || !reflect.DeepEqual(again.Portfolio, r.Portfolio) || !reflect.DeepEqual(again.Notes, r.Notes) {
			t.Errorf("%+v: with three workers %v, %v", c, again, err)
		}
	}
	for _, b := range []construct.Budget{{Evaluations: 30}, {Runs: 5}} {
		_, err := construct.Best(t.Context(), training(t, 2), construct.Settings{Solvers: some(t), Budget: b})
		if err == nil || !strings.Contains(err.Error(), "the least that BEST can keep is") {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// Best finds the solver that fits a problem by construction, and says that a
// portfolio does not pay.
func TestBestChoosesSolver(t *testing.T) {
	// In a process of its own, since the solver stays registered.
	if os.Getenv("DACE_TEST_CHILD") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBestChoosesSolver$", "-test.v")
		cmd.Env = append(os.Environ(), "DACE_TEST_CHILD=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestBestChoosesSolver") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	target := problem.Random(run.Rand(9, "target"), 1, 40).Bools(0)
	// Its solver knows the target; all others see a needle in a haystack.
	needle := problem.FromFunc("needle", 40, func(x []bool) float64 {
		if reflect.DeepEqual(x, target) {
			return 1
		}
		return 0
	})
	knows := solver.FromFunc("knows", smac.Space{Params: []smac.Param{{Name: "really", Kind: smac.Bool, Default: 1}}}, func(s *solver.Search) error {
		if s.Flag("really") {
			s.BoolValue(target)
		}
		s.Value(problem.Random(s.Rand, 1, s.Dim()).Words)
		return nil
	})
	r, err := construct.Best(t.Context(), []problem.Problem{needle}, construct.Settings{Evaluations: 30, Solvers: append(some(t), knows)})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.String(); r.Portfolio.Members[0].Solver() != "knows" || !strings.Contains(text, "A portfolio does not pay here") {
		t.Error(text)
	}
}

// Where a run takes long, each has an event, so that the time left can be told, and
// the result is that of an objective that is fast.
func TestBestSlow(t *testing.T) {
	build := func(slow bool, workers int) (construct.Result, []run.Event) {
		var calls atomic.Int64
		var training []problem.Problem
		for i := range 3 {
			training = append(training, problem.FromContext(fmt.Sprint("slow-", i), 20, func(_ context.Context, x []bool) (float64, error) {
				if slow && calls.Add(1) <= 60 { // as its time is measured
					time.Sleep(5 * time.Millisecond)
				}
				n := 0.0
				for k, b := range x {
					if b == (k%(i+2) == 0) {
						n++
					}
				}
				return n, nil
			}))
		}
		var events []run.Event
		s := construct.Settings{Solvers: some(t), Evaluations: 40, Members: 2, Workers: workers, OnEvent: func(e run.Event) { events = append(events, e) }}
		s.Budget.Evaluations = 8_000
		r, err := construct.Best(t.Context(), training, s)
		if err != nil {
			t.Fatal(err)
		}
		return r, events
	}
	fast, _ := build(false, 1)
	for workers := range 4 {
		r, events := build(true, workers)
		if !reflect.DeepEqual(r.Portfolio, fast.Portfolio) {
			t.Errorf("%d workers: %v, of the fast objective %v", workers, r.Portfolio, fast.Portfolio)
		}
		last := -1
		for _, e := range events {
			if e.Stage != "race" {
				continue
			}
			if e.Step != last && e.Step != last+1 && e.Step != e.Total {
				t.Fatalf("%d workers: event %d after event %d", workers, e.Step, last)
			}
			last = e.Step
		}
		if last < 150 {
			t.Errorf("%d workers: events up to %d", workers, last)
		}
	}
}

// A context that ends leaves the best portfolio so far, the solvers' defaults if
// there is none.
func TestBestCancelled(t *testing.T) {
	n := 0
	for _, after := range []int{40, 2_000} {
		ctx, cancel := context.WithCancel(t.Context())
		p := problem.FromFunc("cancels", 30, func(x []bool) float64 {
			if n++; n == after {
				cancel()
			}
			return float64(len(x))
		})
		n = 0
		r, err := construct.Best(ctx, []problem.Problem{p}, construct.Settings{Evaluations: 100, Solvers: some(t), Workers: 1})
		cancel()
		if !errors.Is(err, context.Canceled) || r.Status != run.Cancelled {
			t.Errorf("after %d evaluations: %v, %v", after, r.Status, err)
		}
		if r.Portfolio.Size() != 4 || r.Portfolio.Check() != nil {
			t.Errorf("after %d evaluations: %v", after, r.Portfolio)
		}
	}
}

// Runs that meet only what must not be chosen are the worst, however low the
// other values are.
func TestBestLowValues(t *testing.T) {
	low := problem.FromFunc("low", 12, func(x []bool) float64 {
		if x[0] {
			return math.Inf(-1)
		}
		return -1000
	})
	r, err := construct.Best(t.Context(), []problem.Problem{low}, construct.Settings{Evaluations: 10, Solvers: some(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Rounds[0].Matrix.Values {
		for _, v := range r.Rounds[0].Matrix.Values[i] {
			if v != -1000 && v != -math.MaxFloat64 {
				t.Errorf("a run has the value %v, want -1000 or the least number", v)
			}
		}
	}
}

// Solutions that must not be chosen, and constant problems, are no obstacle.
func TestBestOddValues(t *testing.T) {
	for name, f := range map[string]func(x []bool) float64{
		"constant": func([]bool) float64 { return 1 },
		"half": func(x []bool) float64 {
			if x[0] {
				return math.Inf(-1)
			}
			return 1
		},
	} {
		r, err := construct.Best(t.Context(), []problem.Problem{problem.FromFunc(name, 12, f)}, construct.Settings{Evaluations: 40, Solvers: some(t), Dir: t.TempDir()})
		if err != nil || r.Portfolio.Size() != 4 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

// The paper's methods search the spaces of several solvers together.
func TestSeveralSolvers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, method := range []string{"DACE", "GLOBAL", "PARHYDRA", "GREEDY"} {
		s := tiny()
		s.Solvers, s.Trials = some(t), 30
		s.Dir = t.TempDir()
		r, err := construct.Build(t.Context(), method, problem.Class{}, training(t, 2), s)
		if err != nil || r.Portfolio.Size() != s.Members || r.Portfolio.Check() != nil {
			t.Errorf("%s: %v, %v", method, r, err)
			continue
		}
		record, err := construct.Read(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := record.Trials()
		if err != nil || method != "GREEDY" && len(rows) == 0 {
			t.Errorf("%s: %d trials, %v", method, len(rows), err)
		}
		seen := map[string]bool{}
		for _, row := range rows {
			for _, c := range row.Configs {
				seen[c.Solver()] = true
				if err := c.Check(); err != nil {
					t.Error(err)
				}
			}
		}
		if method != "GREEDY" && len(seen) < 3 {
			t.Errorf("%s tried solvers %v only", method, seen)
		}
		again, err := construct.Build(t.Context(), method, problem.Class{}, training(t, 2), s)
		if err != nil || !reflect.DeepEqual(again.Portfolio, r.Portfolio) {
			t.Errorf("%s, from its record: %v, %v", method, again.Portfolio, err)
		}
		s.Solvers = []solver.Solver{brkga.Solver()}
		if _, err := construct.Build(t.Context(), method, problem.Class{}, training(t, 2), s); err == nil || !strings.Contains(err.Error(), "solvers[0]") {
			t.Errorf("%s: a record of other solvers is continued: %v", method, err)
		}
	}
}
