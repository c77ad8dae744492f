package construct_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/construct"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// tiny returns settings of a construction that takes about a second.
func tiny() construct.Settings {
	return construct.Settings{
		Members: 2, Rounds: 2, Configurations: 6, Minings: 3, Trials: 6, Evaluations: 60,
		NIR:  nir.Settings{Samples: 400, Batch: 8, Steps: 20, NormaliseSample: 500},
		PGPE: pgpe.Settings{Pairs: 2, MaxIterations: 2},
		Seed: 3,
	}
}

func training(t testing.TB, n int) []problem.Problem {
	set, err := ccp.Class().NewSet(1, n, 0)
	if err != nil {
		t.Fatal(err)
	}
	return set.Training
}

// methods holds the constructions by name.
var methods = func() map[string]func(ctx context.Context, training []problem.Problem, s construct.Settings) (construct.Result, error) {
	out := map[string]func(ctx context.Context, training []problem.Problem, s construct.Settings) (construct.Result, error){}
	for _, m := range construct.Methods() {
		out[m] = func(ctx context.Context, training []problem.Problem, s construct.Settings) (construct.Result, error) {
			return construct.Build(ctx, m, ccp.Class(), training, s)
		}
	}
	return out
}()

// same compares results except for times and fields that are not recorded.
func same(a, b construct.Result) bool {
	for _, r := range []*construct.Result{&a, &b} {
		r.Problems, r.Model = nil, nil
		r.Cost.Seconds, r.Cost.CPU = 0, 0
		r.Setup.Training = slices.Clone(r.Setup.Training)
		for i := range r.Setup.Training {
			r.Setup.Training[i].Digest = ""
		}
	}
	return reflect.DeepEqual(a, b)
}

func TestMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := context.Background()
	ps := training(t, 3)
	for name, build := range methods {
		t.Run(name, func(t *testing.T) {
			s := tiny()
			s.Workers = 1
			events := 0
			s.OnEvent = func(run.Event) { events++ }
			one, err := build(ctx, ps, s)
			if err != nil {
				t.Fatal(err)
			}
			if one.Portfolio.Name != name {
				t.Errorf("the portfolio's name is %q: give it that of the method, %q, by which tables know who built it", one.Portfolio.Name, name)
			}
			if one.Portfolio.Size() != 2 || one.Portfolio.Check() != nil || one.Status != run.BudgetSpent || events == 0 {
				t.Errorf("portfolio %v, status %v, %d events", one.Portfolio, one.Status, events)
			}
			s.Workers, s.OnEvent = 4, nil
			four, err := build(ctx, ps, s)
			if err != nil || !same(one, four) {
				t.Errorf("the number of workers changes the result (%v):\n%v\n%v", err, one, four)
			}
			for r, round := range one.Rounds {
				for i, f := range round.After {
					if math.IsNaN(f) || math.IsInf(f, 0) || round.Before != nil && len(round.Before) != len(round.After) {
						t.Errorf("round %d: f = %v on instance %d", r, f, i)
					}
				}
				if round.Before != nil && sum(round.After) < sum(round.Before) {
					t.Errorf("round %d: the portfolio became worse on its instances: %v, before %v", r, round.After, round.Before)
				}
			}
		})
	}
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// The population follows the paper: old instances stay, a new instance replaces
// an easier one in the competition, and a failure ends the round's mutations.
func TestPopulation(t *testing.T) {
	r, err := construct.DACE(context.Background(), training(t, 3), tiny())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rounds) != 3 || r.Rounds[0].Before != nil || len(r.Rounds[2].Mutations) != 0 {
		t.Fatalf("rounds: %v", r)
	}
	f := map[string]float64{}
	for i, n := range r.Rounds[1].Instances {
		f[n] = r.Rounds[1].After[i]
	}
	accepted := 0
	replaced := map[string]bool{}
	for i, m := range r.Rounds[1].Mutations {
		if !m.Accepted {
			if i != len(r.Rounds[1].Mutations)-1 {
				t.Error("mutations went on after a failure")
			}
			continue
		}
		accepted++
		if v, known := f[m.Replaced]; !known || v <= m.Performance || replaced[m.Replaced] {
			t.Errorf("%s with f = %v replaced %q with %v", m.Instance.Name, m.Performance, m.Replaced, v)
		}
		replaced[m.Replaced] = true
		if _, known := f[m.Instance.Parent]; !known {
			t.Errorf("%s has the parent %q", m.Instance.Name, m.Instance.Parent)
		}
	}
	if accepted > 2 || len(r.Instances) != 3+accepted || len(r.Problems) != len(r.Instances) || len(r.Rounds[2].Instances) != len(r.Instances) {
		t.Errorf("%d accepted, %d instances", accepted, len(r.Instances))
	}
	if got := len(r.Rounds[1].Matrix.Configs); got != 2+3 {
		t.Errorf("%d configurations to choose from, want K + n = 5", got)
	}
	if r.Model == nil || len(r.Portfolios()) != 3 || !strings.Contains(r.String(), "round 2") {
		t.Errorf("result %v", r)
	}
}

// A construction that is cancelled at any point continues from its folder to
// the result of an uninterrupted one.
func TestResume(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ps := training(t, 2)
	for name, build := range methods {
		t.Run(name, func(t *testing.T) {
			want, err := build(context.Background(), ps, tiny())
			if err != nil {
				t.Fatal(err)
			}
			s := tiny()
			s.Dir = t.TempDir()
			var got construct.Result
			cancelled := 0
			for stop := 1; ; stop += 9 {
				ctx, cancel := context.WithCancel(context.Background())
				n := 0
				s.OnEvent = func(run.Event) {
					if n++; n == stop {
						cancel()
					}
				}
				got, err = build(ctx, ps, s)
				cancel()
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) || got.Status != run.Cancelled {
					t.Fatalf("cancelled: %v, status %v", err, got.Status)
				}
				cancelled++
			}
			if !same(got, want) {
				t.Errorf("after %d interruptions:\n%v\nwithout:\n%v", cancelled, got, want)
			}
			if cancelled == 0 {
				t.Error("nothing was interrupted")
			}
		})
	}
}

func TestJournalRefuses(t *testing.T) {
	ps := training(t, 2)
	s := tiny()
	s.Dir = t.TempDir()
	if _, err := construct.PARHYDRA(context.Background(), ps, s); err != nil {
		t.Fatal(err)
	}
	s.Seed++
	if _, err := construct.PARHYDRA(context.Background(), ps, s); err == nil || !strings.Contains(err.Error(), "another construction") {
		t.Errorf("other settings: %v", err)
	}
	path := filepath.Join(s.Dir, "journal.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Seed--
	// An incomplete line, as if the process had died while writing it.
	if err := os.WriteFile(path, append(b, `{"step":"x","va`...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := construct.PARHYDRA(context.Background(), ps, s); err != nil {
		t.Errorf("an unfinished last line: %v", err)
	}
	if err := os.WriteFile(path, []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := construct.PARHYDRA(context.Background(), ps, s); err == nil {
		t.Error("nonsense: no error")
	}
}

func TestBadInput(t *testing.T) {
	ctx := context.Background()
	for name, build := range methods {
		if _, err := build(ctx, nil, tiny()); err == nil {
			t.Errorf("%s without instances: no error", name)
		}
		s := tiny()
		s.Rounds = -1
		if _, err := build(ctx, training(t, 1), s); err == nil {
			t.Errorf("%s with -1 rounds: no error", name)
		}
	}
	if _, err := construct.CEPS(ctx, training(t, 1), problem.Class{Name: "x"}, tiny()); err == nil {
		t.Error("CEPS without a generator: no error")
	}
	s := tiny()
	s.Configurations = 1
	if _, err := construct.DACE(ctx, training(t, 1), s); err == nil {
		t.Error("a portfolio of 2 from 1 configuration: no error")
	}
}

// If a problem marks a solution as forbidden, the construction ends in an error
// or a result, not in a panic; an error of a problem is returned.
func TestProblemError(t *testing.T) {
	bad := problem.FromFunc("bad", 12, func(x []bool) float64 {
		if x[0] && x[1] {
			return math.NaN()
		}
		return 1
	})
	for name, build := range methods {
		if _, err := build(context.Background(), []problem.Problem{bad}, tiny()); err == nil || !strings.Contains(err.Error(), "bad") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHarder(t *testing.T) {
	ctx := context.Background()
	m, err := nir.Random(20, 2, nir.Settings{NormaliseSample: 2000})
	if err != nil {
		t.Fatal(err)
	}
	e := m.Embeddings()[0]
	r, err := construct.Harder(ctx, m, e, portfolio.BRKGAPAP(), pgpe.Settings{Pairs: 3, MaxIterations: 3})
	if err != nil || r.Value > r.History[0].AtMean || r.Value >= 2 {
		t.Errorf("f = %v at the start, %v at the hardest (%v)", r.History[0].AtMean, r.Value, err)
	}
	if _, err := construct.Harder(ctx, m, e, portfolio.Portfolio{}, pgpe.Settings{}); err == nil {
		t.Error("an empty portfolio: no error")
	}
}

// Training instances of several dimensions become NIRs of the dimension asked for
// (App. E).
func TestMixedDimensions(t *testing.T) {
	ps := []problem.Problem{onemax.Random(1, 18), onemax.Random(2, 20), onemax.Random(3, 23)}
	s := tiny()
	if _, err := construct.DACE(context.Background(), ps, s); err == nil || !strings.Contains(err.Error(), "Settings.NIR.Dim") {
		t.Errorf("without NIR.Dim: %v", err)
	}
	s.NIR.Dim = 20
	r, err := construct.DACE(context.Background(), ps, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		if p.Dim() != 20 {
			t.Errorf("%s has dimension %d, want 20", p.Name(), p.Dim())
		}
	}
}

func TestSpace(t *testing.T) {
	s := construct.Space(2)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	got := construct.Configs(s.Default())
	if fmt.Sprint(got) != "[[200, 700, 100, 0.70, F] [200, 700, 100, 0.70, F]]" {
		t.Errorf("default %v", got)
	}
	rng := run.Rand(1, "test")
	for range 100 {
		for _, c := range construct.Configs(s.Random(rng)) {
			if c.Check() != nil {
				t.Errorf("%v: %v", c, c.Check())
			}
		}
	}
}

// DACE builds a portfolio of two members for OneMax, far below the paper's
// scale.
func ExampleDACE() {
	var instances []problem.Problem
	for seed := range uint64(3) {
		instances = append(instances, onemax.Random(seed, 20))
	}
	result, err := construct.DACE(context.Background(), instances, construct.Settings{
		Members: 2, Rounds: 2, Configurations: 10, Minings: 4, Trials: 10,
		NIR:  nir.Settings{Samples: 1000, Batch: 16, Steps: 100, NormaliseSample: 1000},
		PGPE: pgpe.Settings{Pairs: 3, MaxIterations: 2},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Portfolio.Name, result.Portfolio.Size(), result.Status)
	// Output: DACE 2 budget spent
}

// The scales have the paper's numbers, by class where the paper distinguishes.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		scale, method, class string
		reading              run.Reading
		minings, trials      int
	}{
		{"paper", "dace", "ccp", run.Written, 0, 0}, // the defaults
		{"paper", "global", "ccp", run.Written, 200, 51_200},
		{"paper", "global", "caop", run.Written, 100, 6_400},
		{"paper", "global", "cimp", run.Written, 75, 6_400},
		{"paper", "parhydra", "cimp", run.Written, 20, 12_800},
		{"paper", "parhydra", "caop", run.Written, 100, 4_800},
		{"paper", "parhydra", "ccp", run.Published, 20, 6_400},
		{"paper", "parhydra", "onemax", run.Written, 200, 25_600},
		{"tenth", "global", "ccp", run.Written, 20, 51_200},
		{"tenth", "ceps", "ccp", run.Written, 0, 160},
		{"quick", "global", "ccp", run.Written, 8, 60},
		{"quick", "best", "ccp", run.Written, 0, 0},
	} {
		s, err := construct.Scale(c.scale, c.method, c.class, c.reading)
		if err != nil || s.Minings != c.minings || s.Trials != c.trials || s.Reading != c.reading {
			t.Errorf("%+v: %d minings of %d trials, %v, %v", c, s.Minings, s.Trials, s.Reading, err)
		}
	}
	for _, bad := range [][2]string{{"huge", "dace"}, {"paper", "sgd"}} {
		if _, err := construct.Scale(bad[0], bad[1], "ccp", run.Written); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// Best is one round of DACE under twelve seeds, whose runs end early.
func TestBest(t *testing.T) {
	ctx, ps := context.Background(), training(t, 2)
	s := tiny()
	s.Checks = -1
	best, err := construct.Best(ctx, ps, old(s))
	if err != nil {
		t.Fatal(err)
	}
	s = tiny()
	s.Rounds, s.Seeds, s.Share = 1, 12, 0.8
	one, err := construct.DACE(ctx, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(best.Portfolio.Members, one.Portfolio.Members) || best.Cost.Runs != one.Cost.Runs || best.Cost.Evaluations != one.Cost.Evaluations || best.Method != "BEST" {
		t.Errorf("%v\nat %+v, DACE's\n%v\nat %+v", best.Portfolio, best.Cost, one.Portfolio, one.Cost)
	}
	s = construct.Settings{NIR: tiny().NIR, Evaluations: 20}
	s.Budget.Runs = 2000
	if best, err = construct.Best(ctx, ps, old(s)); err != nil || best.Setup.Settings.Seeds != 12 || best.Setup.Settings.Minings != 8 || best.Setup.Settings.Trials != 350 || best.Setup.Settings.Share != 0.8 {
		t.Errorf("defaults: %+v, %v", best.Setup.Settings, err)
	}
}

// A check runs what the last round's searches found on the training instances
// themselves, and chooses the best portfolio of it.
func TestChecks(t *testing.T) {
	ctx, ps := context.Background(), training(t, 2)
	s := tiny()
	without, err := construct.DACE(ctx, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Checks = 3
	with, err := construct.DACE(ctx, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	before, last := with.Rounds[:len(without.Rounds)], with.Rounds[len(without.Rounds)]
	if !reflect.DeepEqual(before, without.Rounds) || len(with.Rounds) != len(before)+1 {
		t.Error("the check changes the rounds before it")
	}
	m := last.Matrix
	if n := len(m.Configs); n < 2 || n > 3 || !slices.Equal(m.Configs[:2], without.Portfolio.Members) {
		t.Errorf("checked are %v, the portfolio was %v", m.Configs, without.Portfolio)
	}
	if want := []string{ps[0].Name(), ps[0].Name() + ", seed 2", ps[0].Name() + ", seed 3"}; !slices.Equal(m.Instances[:3], want) || len(m.Instances) != 6 {
		t.Errorf("columns %v", m.Instances)
	}
	runs := 6 * len(m.Configs)
	if with.Cost.Runs != without.Cost.Runs+runs || with.Cost.Evaluations != without.Cost.Evaluations+60*runs+2*500 {
		t.Errorf("%+v with the check, %+v without", with.Cost, without.Cost)
	}
	if !slices.Equal(last.Instances, []string{ps[0].Name(), ps[1].Name()}) || len(last.Before) != 2 || len(last.After) != 2 {
		t.Errorf("f on %v: %v, before %v", last.Instances, last.After, last.Before)
	}
	top := math.Inf(-1)
	for i := range m.Configs {
		for j := range i {
			top = max(top, m.Sum([]int{j, i}))
		}
	}
	if text := with.String(); !strings.Contains(text, "\ncheck on the training instances: f = ") {
		t.Error(text)
	}
	if got := 3 * sum(last.After); math.Abs(got-top) > 1e-9 || !reflect.DeepEqual(with.Portfolio.Members, last.Portfolio.Members) {
		t.Errorf("the sum over the columns is %v, that of the best portfolio %v", got, top)
	}
}

// Best spends a budget in evaluations on NIRs and on checks, never more than it.
func TestChecksBudget(t *testing.T) {
	for _, c := range []struct{ instances, evaluations, runs, checks, samples int }{
		{5, 500_000, 0, 17, 12_460},
		{5, 50_000, 0, 1, 4_380},
		{20, 50_000, 0, -1, 2_500},
		{2, 50_000, 0, 2, 14_260},
		{2, 5_000, 0, -1, 2_500},
		{5, 0, 0, 16, 10_000},
		{5, 0, 5_000, 12, 10_000},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the plan is known before the construction begins
		s := construct.Settings{Budget: construct.Budget{Evaluations: c.evaluations, Runs: c.runs}}
		r, err := construct.Best(ctx, training(t, c.instances), old(s))
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := r.Setup.Settings; got.Checks != c.checks || got.NIR.Samples != c.samples {
			t.Errorf("%+v: %d checks, %d samples", c, got.Checks, got.NIR.Samples)
		}
	}
	s := tiny()
	s.Budget.Evaluations = 40_000
	r, err := construct.Best(t.Context(), training(t, 2), old(s))
	if err != nil || r.Cost.Evaluations > 40_000 || r.Cost.Evaluations < 36_000 || r.Setup.Settings.Checks < 50 {
		t.Errorf("%+v, %d checks, %v", r.Cost, r.Setup.Settings.Checks, err)
	}
}

// A share of the evaluations is what every run makes, and what a budget in
// evaluations pays for.
func TestShare(t *testing.T) {
	ctx, ps := context.Background(), training(t, 2)
	s := tiny()
	s.Evaluations = 20
	whole, err := construct.One(ctx, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	ranges := 2 * 20 * len(ps) // by runs of all evaluations
	s.Share = 0.25
	part, err := construct.One(ctx, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	if part.Cost.Runs != whole.Cost.Runs || 4*(part.Cost.Evaluations-ranges) != whole.Cost.Evaluations-ranges {
		t.Errorf("a quarter: %+v, all: %+v", part.Cost, whole.Cost)
	}
	s.Trials, s.Budget.Evaluations = 0, 2000
	bounded, err := construct.One(ctx, ps, s)
	if err != nil || bounded.Cost.Runs < 300 || bounded.Cost.Runs > 400 {
		t.Errorf("2000 evaluations by 5 a run: %+v, %v", bounded.Cost, err)
	}
	for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
		s.Share = bad
		if _, err := construct.One(ctx, ps, s); err == nil || !strings.Contains(err.Error(), "Settings.Share") {
			t.Errorf("share %v: %v", bad, err)
		}
	}
}

// old returns the settings with BRKGA as the only solver, for which Best searches
// on NIRs.
func old(s construct.Settings) construct.Settings {
	s.Solvers = []solver.Solver{brkga.Solver()}
	return s
}
