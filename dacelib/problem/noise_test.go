package problem_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all"
)

// shaky is the number of ones with noise of standard deviation 3.
func shaky(_ context.Context, x []bool, seed uint64) (float64, error) {
	return ones(x) + 3*rand.New(rand.NewPCG(seed, uint64(ones(x)))).NormFloat64(), nil
}

func TestNoisyConformance(t *testing.T) {
	for _, n := range []problem.Noise{{}, {Independent: true, Repeats: 3, Workers: 2}} {
		problemtest.Run(t, problem.Noisy(problem.FromSeeded("shaky", 20, shaky), n), problemtest.Settings{})
	}
}

// TestNoisy checks means against their definition, and common random numbers.
func TestNoisy(t *testing.T) {
	seen := map[string][]uint64{}
	p := problem.FromSeeded("seeds", 3, func(_ context.Context, x []bool, seed uint64) (float64, error) {
		seen[fmt.Sprint(x)] = append(seen[fmt.Sprint(x)], seed)
		return float64(seed % 1000), nil
	})
	for _, independent := range []bool{false, true} {
		clear(seen)
		q := problem.Noisy(p, problem.Noise{Repeats: 4, Independent: independent, Seed: 7, Workers: 1})
		v := make([]float64, 8)
		if err := q.Evaluate(t.Context(), v, problem.Enumerate(3)); err != nil {
			t.Fatal(err)
		}
		first := seen[fmt.Sprint([]bool{false, false, false})]
		all := map[uint64]bool{}
		for i := range v {
			x := problem.Enumerate(3).Bools(i)
			s := seen[fmt.Sprint(x)]
			sum := 0.0
			for _, seed := range s {
				sum += float64(seed % 1000)
				all[seed] = true
			}
			if len(s) != 4 || v[i] != sum/4 {
				t.Errorf("%v: %v of the seeds %v", x, v[i], s)
			}
			if !independent && !slices.Equal(s, first) {
				t.Errorf("%v has the seeds %v, the first solution %v", x, s, first)
			}
		}
		if want := map[bool]int{false: 4, true: 32}[independent]; len(all) != want {
			t.Errorf("%d seeds, want %d", len(all), want)
		}
	}
}

// TestFinalChoice checks that searches report the value of more repeats: without
// bias, and of a better solution than the best by a few.
func TestFinalChoice(t *testing.T) {
	type outcome struct {
		x     []bool
		value float64
	}
	quiet := problem.Noise{Repeats: 1, Final: 400, Finalists: 20, Workers: 1}
	methods := map[string]func(p problem.Problem, seed uint64) (outcome, error){
		"brkga.Run": func(p problem.Problem, seed uint64) (outcome, error) {
			r, err := brkga.Run(t.Context(), p, brkga.Settings{Evaluations: 300, Seed: seed})
			return outcome{r.X, r.Value}, err
		},
		"brkga.RunAll": func(p problem.Problem, seed uint64) (outcome, error) {
			r, err := brkga.RunAll(t.Context(), []brkga.Job{{Problem: p, Settings: brkga.Settings{Evaluations: 300, Seed: seed}}}, 1)
			return outcome{r[0].X, r[0].Value}, err
		},
	}
	for _, s := range solver.Families() {
		c, err := solver.Parse(s.Name())
		if err != nil {
			t.Fatal(err)
		}
		methods[s.Name()] = func(p problem.Problem, seed uint64) (outcome, error) {
			r, err := solver.Run(t.Context(), solver.Job{Problem: p, Config: c, Evaluations: 300, Seed: seed})
			return outcome{r.X, r.Value}, err
		}
	}
	for name, method := range methods {
		for seed := range uint64(3) {
			n := quiet
			n.Seed = seed
			p := problem.Named(problem.Noisy(problem.FromSeeded("shaky", 20, shaky), n), "again")
			r, err := method(p, seed)
			if err != nil {
				t.Fatal(err)
			}
			// 400 repeats have a standard error of 0.15, and the best of 20 finalists
			// is chosen by them.
			if d := math.Abs(r.value - ones(r.x)); d > 0.75 {
				t.Errorf("%s, seed %d: the value %v of a solution worth %v", name, seed, r.value, ones(r.x))
			}
			again, err := method(p, seed)
			if err != nil || again.value != r.value || !slices.Equal(again.x, r.x) {
				t.Errorf("%s, seed %d: %v, then %v, %v", name, seed, r, again, err)
			}
		}
	}
}

// The value of pure noise has no bias, though it is the best of many and of the finalists.
func TestFinalValue(t *testing.T) {
	noise := problem.FromSeeded("noise", 20, func(_ context.Context, _ []bool, seed uint64) (float64, error) {
		return run.Rand(seed, "noise").NormFloat64(), nil
	})
	const runs, final = 40, 50
	sum := 0.0
	for seed := range uint64(runs) {
		p := problem.Noisy(noise, problem.Noise{Independent: true, Repeats: 2, Final: final, Seed: seed, Workers: 1})
		r, err := brkga.Run(t.Context(), p, brkga.Settings{Evaluations: 100, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		sum += r.Value
	}
	if mean, sure := sum/runs, 4/math.Sqrt(runs*final); math.Abs(mean) > sure { // four standard errors
		t.Errorf("values of nothing but noise have the mean %.3f, want 0 within %.3f", mean, sure)
	}
}

// TestNoisyKept checks that random values that no seed determines are the same in a
// later process, the final ones too.
func TestNoisyKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "values")
	var results []brkga.Result
	for range 2 {
		p := problem.Noisy(problem.FromFunc("dice", 12, func(x []bool) float64 { return ones(x) + rand.Float64() }), problem.Noise{Repeats: 2, Final: 6})
		k, err := problem.Keep(p, path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := brkga.Run(t.Context(), k, brkga.Settings{Evaluations: 200})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(results[0]) != fmt.Sprint(results[1]) {
		t.Errorf("%v\nthen\n%v", results[0], results[1])
	}
	if v := results[0].Value; v == results[0].History[len(results[0].History)-1].Best {
		t.Errorf("the value %v is that of the search", v)
	}
}

func TestNoisyWraps(t *testing.T) {
	p := problem.Noisy(problem.FromSeeded("shaky", 20, shaky), problem.Noise{Repeats: 3, Seed: 9, Finalists: 4})
	inner, wrap, text := problem.Unwrap(p)
	q, err := problem.Wrap(inner, wrap, text)
	if err != nil {
		t.Fatal(err)
	}
	x := problem.Random(run.Rand(1, "noise"), 5, 20)
	v, u := make([]float64, 5), make([]float64, 5)
	if p.Evaluate(t.Context(), v, x) != nil || q.Evaluate(t.Context(), u, x) != nil || !slices.Equal(u, v) || problem.Finalists(q) != 4 {
		t.Errorf("%v became %v, with %d finalists", v, u, problem.Finalists(q))
	}
	for _, bad := range []string{"", "{", `{"repeats": -1}`, `{"final": 1e7}`} {
		if _, err := problem.Wrap(inner, wrap, bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestPenalised(t *testing.T) {
	// In the order of Deb's rules, best first: value, violation.
	order := [][2]float64{{5, 0}, {1, -2}, {0, 0}, {100, 0.5}, {-3, 2}, {7, 3}}
	for i, a := range order[1:] {
		if b := order[i]; problem.Penalised(a[0], a[1], 0) >= problem.Penalised(b[0], b[1], 0) {
			t.Errorf("%v is not worse than %v", a, b)
		}
	}
	p := problem.FromFunc("profit", 2, func(x []bool) float64 { return problem.Penalised(-1, ones(x)-1, 0) })
	if v, err := problem.Value(t.Context(), p, []bool{true, true}); v != -1 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := problem.Value(t.Context(), p, []bool{true, false}); err == nil || !strings.Contains(err.Error(), "10: the function panicked: the feasible value -1 is below 0") {
		t.Errorf("a value below the worst: %v", err)
	}
}
