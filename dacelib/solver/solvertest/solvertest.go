// Package solvertest checks that a solver keeps the contract of
// [solver.Solver].
//
// Start with [Run] in a test, or with [Check] anywhere else.
package solvertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// Run checks a solver in subtests.
func Run(t *testing.T, s solver.Solver) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if err := c.f(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check returns the first breach of the contract, nil if there is none.
func Check(ctx context.Context, s solver.Solver) error {
	for _, c := range checks {
		if err := c.f(ctx, s); err != nil {
			return fmt.Errorf("solver %s: %s: %w", s.Name(), c.name, err)
		}
	}
	return nil
}

var checks = []struct {
	name string
	f    func(ctx context.Context, s solver.Solver) error
}{
	{"space", space},
	{"budgets", budgets},
	{"values", values},
	{"repeats", repeats},
	{"random configurations", random},
	{"target", target},
	{"cancelled", cancelled},
	{"failing problem", failing},
}

// configs returns the default and, where the space is not trivial, some random
// configurations.
func configs(s solver.Solver, n int) ([]solver.Config, error) {
	name, err := solver.New(s.Name(), nil)
	if err != nil {
		return nil, err
	}
	out := []solver.Config{name}
	space := s.Space(20, 200)
	if len(space.Params) == 0 {
		return out, nil
	}
	rng := run.Rand(1, "solvertest")
	for range n {
		c, err := solver.At(s.Name(), space, space.Random(rng))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// space checks the parameters, and that defaults alone depend on d and budget.
func space(_ context.Context, s solver.Solver) error {
	first := s.Space(20, 200)
	for _, d := range []int{1, 2, 63, 64, 65, 1000} {
		for _, n := range []int{1, 50, 800, 100_000} {
			sp := s.Space(d, n)
			if len(sp.Params) == 0 {
				continue
			}
			if err := sp.Check(); err != nil {
				return fmt.Errorf("Space(%d, %d): %w", d, n, err)
			}
			if len(sp.Params) != len(first.Params) || !reflect.DeepEqual(sp.Conditions, first.Conditions) {
				return fmt.Errorf("Space(%d, %d) has other parameters or conditions than Space(20, 200)", d, n)
			}
			for i, p := range sp.Params {
				q := first.Params[i]
				if p.Default = q.Default; !reflect.DeepEqual(p, q) {
					return fmt.Errorf("Space(%d, %d): parameter %s differs from that of Space(20, 200) in more than its default", d, n, p.Name)
				}
			}
		}
	}
	return nil
}

// counted returns a problem that counts evaluations and fails beyond a budget.
func counted(d, budget int, f func(x []bool) float64) *problem.Counted {
	return problem.Count(problem.FromFunc("test", d, f), budget)
}

func ones(x []bool) float64 {
	n := 0.0
	for _, b := range x {
		if b {
			n++
		}
	}
	return n
}

// same checks that a result fits what the problem has counted.
func same(r solver.Result, p *problem.Counted, budget int) error {
	x, v := p.Best()
	switch {
	case r.Evaluations != p.Evaluations():
		return fmt.Errorf("the result says %d evaluations; there were %d", r.Evaluations, p.Evaluations())
	case r.Evaluations > budget || r.Evaluations < budget && r.Status != run.Converged && r.Status != run.TargetReached:
		return fmt.Errorf("%d evaluations of %d, status %q", r.Evaluations, budget, r.Status)
	case r.Value != v || !reflect.DeepEqual(r.X, x):
		return fmt.Errorf("the result has the value %v; the best was %v", r.Value, v)
	case len(r.History) == 0 || r.History[len(r.History)-1].Best != v || r.History[0].Evaluations != 1:
		return fmt.Errorf("the history %v does not go from the first evaluation to the best value, %v", r.History, v)
	}
	for i := 1; i < len(r.History); i++ {
		if a, b := r.History[i-1], r.History[i]; a.Evaluations >= b.Evaluations || a.Best >= b.Best || b.Evaluations > budget {
			return fmt.Errorf("the history does not rise: %v, %v", a, b)
		}
	}
	return nil
}

func budgets(ctx context.Context, s solver.Solver) error {
	cs, err := configs(s, 3)
	if err != nil {
		return err
	}
	for _, d := range []int{1, 2, 5, 30, 64, 65, 130} {
		for _, n := range []int{1, 2, 3, 17, 100, 333} {
			for _, c := range cs {
				p := counted(d, n, ones)
				r, err := solver.Run(ctx, solver.Job{Problem: p, Config: c, Evaluations: n, Seed: 7})
				if err == nil {
					err = same(r, p, n)
				}
				if err != nil {
					return fmt.Errorf("%v, d = %d, %d evaluations: %w", c, d, n, err)
				}
			}
		}
	}
	return nil
}

func values(ctx context.Context, s solver.Solver) error {
	cs, err := configs(s, 3)
	if err != nil {
		return err
	}
	for name, f := range map[string]func(x []bool) float64{
		"constant": func([]bool) float64 { return 3 },
		"-Inf":     func([]bool) float64 { return math.Inf(-1) },
		"mostly -Inf": func(x []bool) float64 {
			if v := ones(x); v < 9 {
				return v
			}
			return math.Inf(-1)
		},
		"huge":  func(x []bool) float64 { return 1e300 * ones(x) },
		"small": func(x []bool) float64 { return -1e-300 * ones(x) },
	} {
		for _, d := range []int{1, 18} {
			for _, c := range cs {
				p := counted(d, 150, f)
				r, err := solver.Run(ctx, solver.Job{Problem: p, Config: c, Evaluations: 150, Seed: 3})
				if err == nil {
					err = same(r, p, 150)
				}
				if err != nil {
					return fmt.Errorf("%v, values that are %s, d = %d: %w", c, name, d, err)
				}
			}
		}
	}
	return nil
}

// repeats checks that results depend on jobs alone.
func repeats(ctx context.Context, s solver.Solver) error {
	cs, err := configs(s, 2)
	if err != nil {
		return err
	}
	var jobs []solver.Job
	a, b := problem.FromFunc("a", 25, ones), problem.FromFunc("b", 70, func(x []bool) float64 { return math.Abs(ones(x) - 20) })
	for i, c := range cs {
		for seed := range uint64(3) {
			p := a
			if (i+int(seed))%2 == 0 {
				p = b
			}
			jobs = append(jobs, solver.Job{Problem: p, Config: c, Evaluations: 120, Seed: seed})
		}
	}
	first, err := solver.RunAll(ctx, jobs, 1)
	if err != nil {
		return err
	}
	again, err := solver.RunAll(ctx, jobs, 3)
	if err != nil {
		return err
	}
	differ := false
	for i := range jobs {
		alone, err := solver.Run(ctx, jobs[i])
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(first[i], again[i]) || !reflect.DeepEqual(first[i], alone) {
			return fmt.Errorf("job %d, %v: its result depends on the workers or on other jobs", i, jobs[i].Config)
		}
		differ = differ || i > 0 && !reflect.DeepEqual(first[i].X, first[0].X)
	}
	if !differ {
		return errors.New("all jobs end at the same solution, whatever their seeds")
	}
	return nil
}

func random(ctx context.Context, s solver.Solver) error {
	cs, err := configs(s, 40)
	if err != nil {
		return err
	}
	for _, c := range cs {
		p := counted(40, 250, ones)
		r, err := solver.Run(ctx, solver.Job{Problem: p, Config: c, Evaluations: 250, Seed: 1})
		if err == nil {
			err = same(r, p, 250)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
		b, err := c.MarshalJSON()
		if err != nil {
			return err
		}
		var again solver.Config
		if err := again.UnmarshalJSON(b); err != nil || again != c {
			return fmt.Errorf("%v became %v by its JSON %s: %w", c, again, b, err)
		}
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

func target(ctx context.Context, s solver.Solver) error {
	p := counted(12, 0, ones)
	want := 7.0
	c, err := solver.New(s.Name(), nil)
	if err != nil {
		return err
	}
	r, err := solver.Run(ctx, solver.Job{Problem: p, Config: c, Evaluations: 2000, Target: &want, Seed: 1})
	if err != nil {
		return err
	}
	if r.Status != run.TargetReached || r.Value < want || r.Evaluations != p.Evaluations() || r.Evaluations == 2000 {
		return fmt.Errorf("for the target %v: value %v after %d evaluations of 2000, status %q", want, r.Value, r.Evaluations, r.Status)
	}
	return nil
}

func cancelled(ctx context.Context, s solver.Solver) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := 0
	p := problem.FromFunc("cancel", 30, func(x []bool) float64 {
		if n++; n == 40 {
			cancel()
		}
		return ones(x)
	})
	c, err := solver.New(s.Name(), nil)
	if err != nil {
		return err
	}
	r, err := solver.Run(ctx, solver.Job{Problem: p, Config: c, Evaluations: 100_000})
	if !errors.Is(err, context.Canceled) || r.Status != run.Cancelled || n > 10_000 {
		return fmt.Errorf("cancelled during an evaluation: error %v, status %q, %d evaluations", err, r.Status, n)
	}
	return nil
}

func failing(ctx context.Context, s solver.Solver) error {
	c, err := solver.New(s.Name(), nil)
	if err != nil {
		return err
	}
	for name, value := range map[string]func() float64{"NaN": math.NaN, "a panic": func() float64 { panic("no value") }} {
		n := 0
		p := problem.FromFunc("fails", 30, func(x []bool) float64 {
			if n++; n == 50 {
				return value()
			}
			return ones(x)
		})
		r, err := solver.Run(ctx, solver.Job{Problem: p, Config: c, Evaluations: 5000})
		if err == nil || r.Status != run.NotRun {
			return fmt.Errorf("the problem fails with %s: error %v, status %q", name, err, r.Status)
		}
	}
	return nil
}
