package smartest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

// quadratic returns a random quadratic function of d bits.
func quadratic(d int, seed uint64) problem.Problem {
	rng := run.Rand(seed, "quadratic")
	w := make([]float64, d*d)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	return problem.FromFunc(fmt.Sprintf("quadratic-%d/%d", d, seed), d, func(x []bool) float64 {
		s := 0.0
		for i := range x {
			for j := 0; x[i] && j <= i; j++ {
				if x[j] {
					s += w[i*d+j]
				}
			}
		}
		return s
	})
}

func mustRun(t testing.TB, p problem.Problem, s Settings) Result {
	t.Helper()
	r, err := Run(context.Background(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBetterThanRandomSearch compares means over 5 problems with those of
// random search with 10 times the evaluations.
func TestBetterThanRandomSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for seed := range uint64(5) {
		p := quadratic(40, seed)
		r := mustRun(t, p, Settings{Seed: seed, Workers: 2})
		x := problem.Random(run.Rand(seed, "random"), 10*800, 40)
		v := make([]float64, x.Len())
		if err := p.Evaluate(context.Background(), v, x); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f; random search %.1f, with 10 times the evaluations %.1f", p.Name(), r.Value, slices.Max(v[:800]), slices.Max(v))
		if r.Value <= slices.Max(v) {
			t.Errorf("%s: %v; random search with 10 times the evaluations has %v", p.Name(), r.Value, slices.Max(v))
		}
	}
}

func TestSameResult(t *testing.T) {
	p := quadratic(70, 1) // a solution has two words
	want := mustRun(t, p, Settings{Seed: 5, Evaluations: 300, Trees: 20})
	want.Settings.Workers = 8
	if got := mustRun(t, p, Settings{Seed: 5, Evaluations: 300, Trees: 20, Workers: 8}); !reflect.DeepEqual(got, want) {
		t.Error("8 workers give another result than one")
	}
	if got := mustRun(t, p, Settings{Seed: 6, Evaluations: 300, Trees: 20}); reflect.DeepEqual(got.History, want.History) {
		t.Error("another seed gives the same run")
	}
	if v, err := problem.Value(context.Background(), p, want.X); err != nil || v != want.Value {
		t.Errorf("the solution's value is %v, error %v; the result says %v", v, err, want.Value)
	}
}

// TestFarm checks that a run on a farm is the same as one without.
func TestFarm(t *testing.T) {
	p, err := onemax.Class(70).Train(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := mustRun(t, p, Settings{Seed: 5, Evaluations: 200, Trees: 10})
	pool := farm.Local(2)
	got := mustRun(t, p, Settings{Seed: 5, Evaluations: 200, Trees: 10, Farm: pool})
	got.Settings.Farm = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if pool.Rate("evaluate") == 0 {
		t.Error("nothing was evaluated on the farm")
	}
}

// TestBudgetAndElite checks that no solution is evaluated twice, that the
// budget holds, and that no generation is worse than its predecessor, as the
// elite is kept.
func TestBudgetAndElite(t *testing.T) {
	for _, c := range append(PAP(), Config{1, 1, 0}, Config{2, 0, 0.5}, Config{7, 0, 0.9}, Config{1000, 0.5, 0.1}, Config{3, 0.8, 0.4}) {
		for _, d := range []int{1, 2, 25, 65} {
			seen := make(map[string]bool)
			p := quadratic(d, 3)
			counted := problem.FromBatch("counted", d, func(dst []float64, x problem.Solutions) {
				for i := range dst {
					if seen[key(x.Row(i))] {
						t.Errorf("%v: evaluated again: %s", c, x.Slice(i, i+1))
					}
					seen[key(x.Row(i))] = true
				}
				if err := p.Evaluate(context.Background(), dst, x); err != nil {
					t.Error(err)
				}
			})
			last := math.Inf(-1)
			r := mustRun(t, counted, Settings{Config: c, Evaluations: 230, Trees: 5, OnEvent: func(e run.Event) {
				elite := int(c.EliteRate * float64(c.Population))
				if e.Step < 230 && elite > 0 && d > 10 && e.Best < last {
					t.Errorf("%v: the best fell from %v to %v", c, last, e.Best)
				}
				last = e.Best
			}})
			if r.Distinct != len(seen) || r.Evaluations > 230 || r.Evaluations < 230 && r.Status == run.BudgetSpent {
				t.Errorf("%v, d = %d: %d evaluations of %d solutions, %v; %d were evaluated", c, d, r.Evaluations, r.Distinct, r.Status, len(seen))
			}
			if r.Status != run.BudgetSpent {
				t.Errorf("%v, d = %d: %v", c, d, r.Status)
			}
		}
	}
	r := mustRun(t, quadratic(20, 1), Settings{Config: Config{50, 0.8, 1}})
	if r.Status != run.Converged || r.Evaluations != 50 {
		t.Errorf("all elite: %v after %d evaluations", r.Status, r.Evaluations)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	p := quadratic(30, 1)
	r, err := Run(ctx, p, Settings{OnEvent: func(e run.Event) {
		if n++; n == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.Status != run.Cancelled || r.Generations != 3 || r.X == nil {
		t.Errorf("%d generations, status %v, error %v", r.Generations, r.Status, err)
	}
	cancel()
	if r, err := Run(ctx, p, Settings{}); !errors.Is(err, context.Canceled) || r.X != nil || r.Status != run.Cancelled {
		t.Errorf("cancelled before the start: %v, error %v", r, err)
	}
}

// TestResume checks that an interrupted run, repeated over remembered values,
// equals an uninterrupted run and evaluates nothing twice.
func TestResume(t *testing.T) {
	s := Settings{Evaluations: 300, Trees: 20, Seed: 2}
	whole := problem.Count(quadratic(30, 1), 0)
	want := mustRun(t, whole, s)

	inner := problem.Count(quadratic(30, 1), 0)
	memo := problem.Memo(inner)
	ctx, cancel := context.WithCancel(context.Background())
	half := s
	half.OnEvent = func(e run.Event) {
		if e.Step >= 150 {
			cancel()
		}
	}
	if r, err := Run(ctx, memo, half); !errors.Is(err, context.Canceled) || r.Evaluations >= 300 {
		t.Fatalf("broken off: %d evaluations, error %v", r.Evaluations, err)
	}
	got := mustRun(t, memo, s)
	if !reflect.DeepEqual(got, want) || inner.Evaluations() != whole.Evaluations() {
		t.Errorf("resumed: %v with %d evaluations in all; uninterrupted: %v with %d", got.Value, inner.Evaluations(), want.Value, whole.Evaluations())
	}
}

// TestValues checks that failed evaluations, with value -Inf, are avoided, and
// that NaN and +Inf are errors.
func TestValues(t *testing.T) {
	d := 20
	base := quadratic(d, 2)
	with := func(bad float64) problem.Problem {
		return problem.FromBatch("bad", d, func(dst []float64, x problem.Solutions) {
			if err := base.Evaluate(context.Background(), dst, x); err != nil {
				t.Error(err)
			}
			for i := range dst {
				if x.At(i, 0) && x.At(i, 1) {
					dst[i] = bad
				}
			}
		})
	}
	r := mustRun(t, with(math.Inf(-1)), Settings{Evaluations: 400})
	if math.IsInf(r.Value, -1) || r.X[0] && r.X[1] {
		t.Errorf("the best is a failure: %v", r.Value)
	}
	all := problem.FromFunc("failures", d, func([]bool) float64 { return math.Inf(-1) })
	r = mustRun(t, all, Settings{Evaluations: 400})
	if !math.IsInf(r.Value, -1) || r.X == nil || r.Evaluations != 400 {
		t.Errorf("all failures: value %v, %d evaluations", r.Value, r.Evaluations)
	}
	var again Result
	if b, err := json.Marshal(r); err != nil {
		t.Error(err)
	} else if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("all failures: %s reads as %+v, %v", b, again, err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := Run(context.Background(), with(bad), Settings{}); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	for _, s := range []Settings{{Evaluations: -1}, {Config: Config{0, 0.5, 0.5}}, {Config: Config{5, 2, 0.5}}, {Config: Config{5, 0.5, math.NaN()}}} {
		if _, err := Run(context.Background(), base, s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

func TestSplice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		d := 1 + rng.IntN(200)
		x := problem.Random(rng, 2, d)
		dst := problem.NewSolutions(1, d)
		cut := rng.IntN(d + 1)
		splice(dst.Row(0), x.Row(0), x.Row(1), cut)
		for j := range d {
			from := 0
			if j >= cut {
				from = 1
			}
			if dst.At(0, j) != x.At(from, j) {
				t.Fatalf("d = %d, cut %d: bit %d is not its parent's", d, cut, j)
			}
		}
	}
}

func TestSpin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	weight := []float64{1, 5, 2, 4}
	count := make([]float64, 4)
	const n = 100000
	for range n {
		count[spin(rng, weight, 1)]++
	}
	for i, want := range []float64{1. / 7, 0, 2. / 7, 4. / 7} {
		if math.Abs(count[i]/n-want) > 4*math.Sqrt(want*(1-want)/n) {
			t.Errorf("index %d was drawn with frequency %v, not %v", i, count[i]/n, want)
		}
	}
}

// BenchmarkRun measures the method's own time for 800 evaluations at CAOP's
// dimension, on one core.
func BenchmarkRun(b *testing.B) {
	p := quadratic(80, 1)
	for b.Loop() {
		if _, err := Run(context.Background(), p, Settings{}); err != nil {
			b.Fatal(err)
		}
	}
}
