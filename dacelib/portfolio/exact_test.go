package portfolio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// Rows are chosen as by the definitions: the best sum of maxima, the first of equals. The
// values are few, so that many are equal, and negative, or -Inf.
func TestChoosingByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 400 {
		n, instances := 1+rng.IntN(6), 1+rng.IntN(3)
		m := portfolio.Matrix{Configs: make([]solver.Config, n), Instances: make([]string, instances)}
		for range n {
			row := make([]float64, instances)
			for j := range row {
				if row[j] = -float64(1 + rng.IntN(3)); rng.IntN(6) == 0 {
					row[j] = math.Inf(-1)
				}
			}
			m.Values = append(m.Values, row)
		}
		sum := func(rows []int) (s float64) {
			for j := range instances {
				best := math.Inf(-1)
				for _, i := range rows {
					best = math.Max(best, m.Values[i][j])
				}
				if s += best; m.Performance(rows)[j] != best {
					t.Errorf("rows %v of %v: instance %d", rows, m.Values, j)
				}
			}
			return s
		}
		k := 1 + rng.IntN(n)
		var greedy []int
		for range k {
			best := -1
			for i := range n {
				if !slices.Contains(greedy, i) && (best < 0 || sum(append(slices.Clone(greedy), i)) > sum(append(slices.Clone(greedy), best))) {
					best = i
				}
			}
			greedy = append(greedy, best)
		}
		if got := m.Greedy(k); !slices.Equal(got, greedy) {
			t.Errorf("greedy in %v: %v, want %v", m.Values, got, greedy)
		}
		current := rng.Perm(n)[:k]
		best := current
		for set := (1 << n) - 1; set > 0; set-- { // in falling order of the first rows' bits: the first set last
			var rows []int
			for i := range n {
				if set>>(n-1-i)&1 == 1 {
					rows = append(rows, i)
				}
			}
			if len(rows) == k && sum(rows) > sum(best) {
				best = rows
			}
		}
		if got := m.Best(current); !slices.Equal(got, best) {
			t.Errorf("best in %v of %v: %v, want %v", m.Values, current, got, best)
		}
	}
	m := portfolio.Matrix{Instances: []string{"a"}}
	m.Append(brkga.Default().Named(), []float64{3})
	if p := m.Portfolio("p", []int{0}); p.Name != "p" || len(p.Members) != 1 || p.Members[0] != m.Configs[0] || m.Sum([]int{0}) != 3 || !math.IsInf(m.Sum(nil), -1) {
		t.Errorf("%v of %v", p, m)
	}
	for name, f := range map[string]func(){"Greedy": func() { m.Greedy(2) }, "Append": func() { m.Append(solver.Config{}, []float64{1, 2}) }, "Random": func() { portfolio.Random(1, 1<<24+1) }} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.HasPrefix(r, "portfolio: "+name) {
					t.Errorf("%s: %s", name, r)
				}
			}()
			f()
		}()
	}
}

// Random configurations reach the ends of the paper's ranges, and are the same ones in each
// version: experiments with them are repeated by their seed. The text is what Random(7, 3)
// gave when it was written.
func TestRandomEnds(t *testing.T) {
	if got := fmt.Sprint(portfolio.Random(7, 3)); got != "[[381, 632, 21, 0.21, T] [324, 111, 13, 0.65, F] [205, 494, 83, 0.95, F]]" {
		t.Error(got)
	}
	lo, hi := brkga.Config{Elites: 999, Offspring: 9999, Mutants: 999, Bias: 1}, brkga.Config{}
	for _, m := range portfolio.Random(1, 10_000) {
		c, err := brkga.From(m, 0)
		if err != nil {
			t.Fatal(err)
		}
		lo = brkga.Config{Elites: min(lo.Elites, c.Elites), Offspring: min(lo.Offspring, c.Offspring), Mutants: min(lo.Mutants, c.Mutants), Bias: min(lo.Bias, c.Bias)}
		hi = brkga.Config{Elites: max(hi.Elites, c.Elites), Offspring: max(hi.Offspring, c.Offspring), Mutants: max(hi.Mutants, c.Mutants), Bias: max(hi.Bias, c.Bias)}
	}
	if lo.Elites != 1 || lo.Offspring != 1 || lo.Mutants != 1 || hi.Elites != 400 || hi.Offspring != 1000 || hi.Mutants != 200 || lo.Bias > 0.001 || hi.Bias < 0.999 {
		t.Errorf("from %v to %v", lo, hi)
	}
}

// A matrix says ten rows, and how many more there are.
func TestMatrixStringTen(t *testing.T) {
	m := portfolio.Matrix{}
	for range 10 {
		m.Append(brkga.Default().Named(), nil)
	}
	if got := m.String(); strings.Count(got, "\n") != 10 || strings.Contains(got, "more") || !strings.HasSuffix(got, " 0.0000") {
		t.Error(got)
	}
	m.Append(brkga.Default().Named(), nil)
	if got := m.String(); strings.Count(got, "\n") != 11 || !strings.HasSuffix(got, "\n  ... 1 more") {
		t.Error(got)
	}
}

// A seen is what a solver was asked to run.
type seen struct {
	mu   sync.Mutex // guards jobs
	jobs []solver.Job
}

func (*seen) Name() string              { return "seen" }
func (*seen) Space(d, n int) smac.Space { return smac.Space{} }
func (s *seen) Run(_ context.Context, jobs []solver.Job, _ int) ([]solver.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, jobs...)
	out := make([]solver.Result, len(jobs))
	for i, j := range jobs {
		out[i] = solver.Result{Value: -float64(j.Seed % 7), X: make([]bool, j.Problem.Dim()), Evaluations: 1}
	}
	return out, nil
}

// streams is a problem whose runs have streams.
type streams struct {
	problem.Problem
	of uint64
}

func (s streams) Stream(seed uint64) problem.Problem { return streams{s.Problem, seed} }

// Each run has the budget, the seed and the stream that the protocol says: twelve seeds in
// turn in the reading Published, and no stream twice.
func TestProtocol(t *testing.T) {
	s := &seen{}
	solver.Register(s)
	c, err := solver.New("seen", nil)
	if err != nil {
		t.Fatal(err)
	}
	pap := portfolio.Portfolio{Name: "pap", Members: []solver.Config{c, c, c}}
	for _, reading := range []run.Reading{run.Written, run.Published} {
		for _, seeds := range []portfolio.MemberSeeds{portfolio.SeedsByReading, portfolio.OwnSeeds, portfolio.SharedSeed} {
			for _, within := range []bool{false, true} {
				s.jobs = nil
				var p problem.Problem = streams{onemax.Random(1, 6), 0}
				if within {
					p = portfolio.Within(p, portfolio.Range{Min: 0, Max: 2})
				}
				rs, err := pap.Run(t.Context(), []problem.Problem{p}, portfolio.Settings{Reading: reading, Seeds: seeds, Seed: 9, Repeats: 25, Evaluations: 33})
				if err != nil || len(s.jobs) != 75 {
					t.Fatal(len(s.jobs), err)
				}
				own := seeds == portfolio.OwnSeeds || seeds == portfolio.SeedsByReading && reading == run.Written
				best, mean := math.Inf(-1), 0.0
				for i, j := range s.jobs {
					repeat, member := i/3, i%3
					if k := repeat; reading == run.Published {
						repeat = k - k/12*12
					}
					seed := run.Seed(9, "portfolio: repeat", repeat)
					if own && member > 0 {
						seed = run.Seed(seed, "portfolio: member", member)
					}
					of := j.Problem
					if w, ok := of.(*portfolio.Instance); ok && within {
						of = w.Problem()
					}
					if j.Seed != seed || j.Evaluations != 33 || of.(streams).of != run.Seed(9, "portfolio: stream", i/3, i) {
						t.Fatalf("%v, %v: run %d has seed %d, want %d; %+v", reading, seeds, i, j.Seed, seed, j)
					}
					best = max(best, -float64(seed%7))
					if v := rs[0].Members[i/3][member]; v != -float64(seed%7) {
						t.Errorf("run %d has the value %v", i, v)
					}
				}
				for _, members := range rs[0].Members {
					mean += slices.Max(members) / 25
				}
				if r := rs[0]; r.BestValue != best || r.Runs != 75 || r.Evaluations != 75 || math.Abs(r.Mean-mean) > 1e-12 || !slices.Equal(portfolio.Means(rs), []float64{r.Mean}) {
					t.Errorf("%+v; best %v, mean %v", r, best, mean)
				}
			}
		}
	}
	// A matrix has the first repeat's seed, which all share, whatever Settings.Seeds says.
	s.jobs = nil
	if _, err := portfolio.Measure(t.Context(), pap.Members, instances(), portfolio.Settings{Seed: 9}); err != nil || len(s.jobs) != 6 {
		t.Fatal(err)
	}
	for _, j := range s.jobs {
		if j.Seed != run.Seed(9, "portfolio: repeat", 0) || j.Evaluations != 800 {
			t.Errorf("%+v", j)
		}
	}
}

// The bounds of the settings, at and one beyond.
func TestSettingsBounds(t *testing.T) {
	for want, s := range map[string]portfolio.Settings{
		"":                            {Repeats: 1 << 20, Seeds: portfolio.SharedSeed},
		"Settings.Repeats":            {Repeats: 1<<20 + 1},
		"Settings.Seeds is 3":         {Seeds: portfolio.SharedSeed + 1},
		"Settings.Seeds is -1":        {Seeds: -1},
		"Evaluations is -1":           {Evaluations: -1},
		"is 0 and Repeats -1":         {Repeats: -1},
		"Evaluations is 1 and Repeat": {Evaluations: 1, Repeats: -5},
	} {
		_, err := portfolio.Measure(t.Context(), nil, nil, s)
		_, e := portfolio.BRKGAPAP().Run(t.Context(), nil, s)
		for _, err := range []error{err, e} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", s, err, want)
			}
		}
	}
	broken := problem.FromFunc("broken", 4, func([]bool) float64 { panic("out of order") })
	if m, err := portfolio.Measure(t.Context(), portfolio.BRKGAPAP().Members, []problem.Problem{broken}, small); err == nil || m.Values != nil {
		t.Errorf("%v, %v", m, err)
	}
}

// The events of a run, here and on a farm: one for each instance, with the best mean so far.
func TestEvents(t *testing.T) {
	falling := func(name string, top float64) problem.Problem {
		return portfolio.Within(onemax.Random(1, 8), portfolio.Range{Min: -top + 8})
	}
	ps := []problem.Problem{falling("a", 5), falling("b", 7), falling("c", 6)}
	for _, pool := range []farm.Pool{nil, farm.Local(1)} {
		var began []string
		ended := 0
		var events, own []run.Event
		ctx := run.WithProgress(t.Context(), func(name string) (func(run.Event), func()) {
			began = append(began, name)
			return func(e run.Event) { events = append(events, e) }, func() { ended++ }
		})
		s := small
		s.Evaluations, s.Farm = 600, pool
		if _, err := portfolio.BRKGAPAP().Run(ctx, ps, s); err != nil {
			t.Fatal(err)
		}
		s.OnEvent = func(e run.Event) { own = append(own, e) }
		rs, err := portfolio.BRKGAPAP().Run(t.Context(), ps, s)
		if err != nil || !slices.Equal(began, []string{"BRKGA-PAP"}) || ended != 1 || !reflect.DeepEqual(events, own) || len(own) != 3 {
			t.Fatalf("%v, %q ended %d times, %+v, %+v", err, began, ended, events, own)
		}
		for i, e := range own {
			best := []float64{5, 7, 7}[i]
			if want := (run.Event{Stage: "run BRKGA-PAP", Step: i + 1, Total: 3, Value: []float64{5, 7, 6}[i], Best: best, Detail: ps[i].Name()}); math.Abs(e.Value-want.Value) > 1e-9 || math.Abs(e.Best-best) > 1e-9 || e.Stage != want.Stage || e.Step != want.Step || e.Total != 3 || e.Detail != want.Detail {
				t.Errorf("event %+v, want %+v; %v", e, want, rs[i].Values)
			}
		}
	}
}

// Results and matrices with values that must not be chosen are the same after their JSON;
// what is none changes nothing.
func TestJSON(t *testing.T) {
	r := portfolio.Result{Problem: "p", Dim: 2, Members: [][]float64{{1, math.Inf(-1)}}, Values: []float64{math.Inf(-1)}, Mean: math.Inf(-1), Best: []bool{true, false}, BestValue: math.Inf(-1), BestMember: 1, BestName: "m", Runs: 3, Evaluations: 4}
	m := portfolio.Matrix{Configs: []solver.Config{brkga.Default().Named()}, Instances: []string{"i"}, Values: [][]float64{{math.Inf(-1)}}}
	var gotR portfolio.Result
	var gotM portfolio.Matrix
	for _, c := range []struct{ value, got any }{{r, &gotR}, {m, &gotM}} {
		b, err := json.Marshal(c.value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, c.got); err != nil || !reflect.DeepEqual(reflect.ValueOf(c.got).Elem().Interface(), c.value) {
			t.Errorf("%s reads as %+v, %v", b, c.got, err)
		}
		if err := json.Unmarshal([]byte(`{"values":7}`), c.got); err == nil || !reflect.DeepEqual(reflect.ValueOf(c.got).Elem().Interface(), c.value) {
			t.Errorf("7 as values reads as %+v, %v", c.got, err)
		}
	}
	members := portfolio.Members{brkga.Config{Elites: 1, Offspring: 2, Mutants: 3, Bias: 0.5}.Named()}
	if b, err := json.Marshal(members); err != nil || string(b) != "[[1,2,3,0.5,false]]" {
		t.Errorf("%s, %v", b, err)
	}
}

// A portfolio that is none is neither saved nor loaded, and the file stays as it is; one
// without a name has its method's.
func TestSaveLoadNames(t *testing.T) {
	at := filepath.Join(t.TempDir(), "p.json")
	if err := (portfolio.Portfolio{Name: "empty"}).Save(at); err == nil || !strings.Contains(err.Error(), `"empty" has no members`) {
		t.Error(err)
	}
	if p, err := portfolio.Load(at); !errors.Is(err, os.ErrNotExist) || p.Name != "" {
		t.Error(p, err)
	}
	for text, want := range map[string]string{
		`{"method":"DACE","members":[{"solver":"anneal"}]}`:               "DACE",
		`{"method":"DACE","name":"mine","members":[{"solver":"anneal"}]}`: "mine",
		`{"members":[{"solver":"anneal"}],"configs":[[1,2,3,0.5,true]]}`:  "",
	} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := portfolio.Load(at); err != nil || p.Name != want || p.Size() != 1 || p.Members[0].Solver() != "anneal" {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for text, want := range map[string]string{`{"method":7}`: "is not a portfolio", `{"members":[{"solver":"nobody"}]}`: at + ": portfolio \"\": "} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := portfolio.Load(at); err == nil || !strings.Contains(err.Error(), want) || p.Size() != 0 {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	half := portfolio.BRKGAPAP()
	before := half.String()
	if err := half.UnmarshalJSON([]byte(`{"members":7}`)); err == nil || half.String() != before {
		t.Errorf("%v, %v", half, err)
	}
}

// rugged is a problem whose values are all different.
func rugged(d int, seen func(n int)) problem.Problem {
	return problem.FromBatch("rugged", d, func(dst []float64, x problem.Solutions) {
		seen(len(dst))
		for i := range dst {
			dst[i] = math.Sin(float64(x.Row(i)[0] % 100_003))
		}
	})
}

// Ranges are the extremes of the solutions that the seed says, chunk by chunk, and the
// progress counts them.
func TestNormaliseRange(t *testing.T) {
	for _, sample := range []int{2, 9_999, 10_000, 10_001, 20_000, 25_000, 0} {
		n := sample
		if n == 0 {
			n = 1_000_000
		}
		var mu sync.Mutex
		made, ended := 0, 0
		p := rugged(40, func(n int) { mu.Lock(); made += n; mu.Unlock() })
		ps := []problem.Problem{p, portfolio.Within(p, portfolio.Range{Min: 1, Max: 3})}
		if n == 1_000_000 {
			ps = ps[:1]
		}
		var last run.Event
		ctx := run.WithProgress(t.Context(), func(string) (func(run.Event), func()) {
			return func(e run.Event) { last = e }, func() { ended++ }
		})
		got, err := portfolio.Normalise(ctx, ps, sample, 4)
		if err != nil || made != n*len(ps) || last.Stage != "normalise" || last.Step != made || last.Total != made || ended != 1 {
			t.Fatalf("%d solutions: %v, %d evaluated, last event %+v, ended %d times", sample, err, made, last, ended)
		}
		want := portfolio.Range{Min: math.Inf(1), Max: math.Inf(-1)}
		for k := 0; k*10_000 < n; k++ {
			x := problem.Random(run.Rand(run.Seed(4, "portfolio: normalise"), "solutions", k), min(10_000, n-k*10_000), 40)
			y := make([]float64, x.Len())
			if err := p.Evaluate(t.Context(), y, x); err != nil {
				t.Fatal(err)
			}
			want = portfolio.Range{Min: min(want.Min, slices.Min(y)), Max: max(want.Max, slices.Max(y))}
		}
		if r := got[0].(*portfolio.Instance).Range(); r != want {
			t.Errorf("%d solutions: %v, want %v", sample, r, want)
		}
		if len(ps) > 1 {
			if r := got[1].(*portfolio.Instance).Range(); r != (portfolio.Range{Min: (want.Min - 1) / 2, Max: (want.Max - 1) / 2}) {
				t.Errorf("%d solutions of the second: %v", sample, r)
			}
		}
	}
}

// nan is a problem of one value, which is none.
type nan struct{ problem.Problem }

func (nan) Evaluate(_ context.Context, dst []float64, _ problem.Solutions) error {
	for i := range dst {
		dst[i] = math.NaN()
	}
	return nil
}

// What values an instance has says whether there is a range, and an error which there is.
func TestNormaliseValues(t *testing.T) {
	inf := math.Inf(1)
	values := func(a, b float64) problem.Problem {
		return problem.FromFunc("two values", 4, func(x []bool) float64 {
			if x[0] {
				return a
			}
			return b
		})
	}
	for _, c := range []struct {
		a, b float64
		want portfolio.Range // zero: there is none
	}{
		{1, 3, portfolio.Range{Min: 1, Max: 3}}, {-inf, 3, portfolio.Range{Min: 3, Max: 3}}, {-5, -5, portfolio.Range{Min: -5, Max: -5}},
		{-inf, -inf, portfolio.Range{}}, {1, inf, portfolio.Range{}}, {inf, inf, portfolio.Range{}}, {-inf, inf, portfolio.Range{}},
	} {
		out, err := portfolio.Normalise(t.Context(), []problem.Problem{values(c.a, c.b)}, 50, 1)
		if c.want == (portfolio.Range{}) {
			if out != nil || !errors.Is(err, portfolio.ErrNoRange) || !strings.Contains(err.Error(), "normalising two values by 50 solutions") {
				t.Errorf("%v, %v: %v, %v", c.a, c.b, out, err)
			}
		} else if err != nil || out[0].(*portfolio.Instance).Range() != c.want {
			t.Errorf("%v, %v: %v, %v", c.a, c.b, out, err)
		}
	}
	if _, err := portfolio.Normalise(t.Context(), []problem.Problem{nan{values(1, 2)}}, 50, 1); !errors.Is(err, portfolio.ErrNoRange) {
		t.Errorf("NaN: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := portfolio.Normalise(ctx, []problem.Problem{values(1, 2)}, 50, 1); err != context.Canceled {
		t.Error(err)
	}
	why := errors.New("it is broken")
	broken := problem.FromContext("broken", 4, func(context.Context, []bool) (float64, error) { return 0, why })
	if out, err := portfolio.Normalise(t.Context(), []problem.Problem{broken}, 50, 1); out != nil || !errors.Is(err, why) || !strings.HasPrefix(err.Error(), "portfolio: normalising broken: ") {
		t.Error(out, err)
	}
	if _, err := portfolio.Normalise(t.Context(), nil, 2, 1); err != nil {
		t.Error(err)
	}
	if _, err := portfolio.NormaliseBySearch(t.Context(), broken, 50, 1); !errors.Is(err, why) {
		t.Error(err)
	}
	calls := 0
	later := problem.FromContext("later", 4, func(context.Context, []bool) (float64, error) {
		if calls++; calls > 50 {
			return 0, why
		}
		return 1, nil
	})
	if _, err := portfolio.NormaliseBySearch(t.Context(), later, 50, 1); !errors.Is(err, why) || calls != 51 {
		t.Error(calls, err)
	}
}

// A search for a range is two runs of BRKGA, with their own seeds; -Inf has none.
func TestNormaliseBySearchRuns(t *testing.T) {
	p := rugged(30, func(int) {})
	for _, evaluations := range []int{0, 150, 2000} {
		got, err := portfolio.NormaliseBySearch(t.Context(), p, evaluations, 6)
		if err != nil {
			t.Fatal(err)
		}
		var want [2]float64
		for i, f := range []problem.Problem{p, problem.Negated(p)} {
			r, err := brkga.Run(t.Context(), f, brkga.Settings{Config: brkga.Config{Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7}, Evaluations: evaluations, Seed: run.Seed(6, "portfolio: "+[]string{"maximum", "minimum"}[i])})
			if err != nil {
				t.Fatal(err)
			}
			want[i] = r.Value
		}
		if r := got.Range(); r != (portfolio.Range{Min: -want[1], Max: want[0]}) {
			t.Errorf("%v, want from %v to %v", r, -want[1], want[0])
		}
	}
	never := problem.FromFunc("never", 4, func([]bool) float64 { return math.Inf(-1) })
	i, err := portfolio.NormaliseBySearch(t.Context(), never, 60, 1)
	if !errors.Is(err, portfolio.ErrNoRange) || i == nil || !strings.Contains(err.Error(), "normalising never by 120 solutions") {
		t.Error(i, err)
	}
}

// An instance evaluates as many solutions as there are, or as have room, and says its
// optimum if it is known.
func TestInstance(t *testing.T) {
	for _, c := range []struct {
		r       portfolio.Range
		v, want float64
	}{
		{portfolio.Range{Min: 1, Max: 5}, 3, 0.5}, {portfolio.Range{Min: 1, Max: 5}, 7, 1.5}, {portfolio.Range{Min: -4, Max: -2}, -3, 0.5},
		{portfolio.Range{Min: 3, Max: 3}, 5, 2}, {portfolio.Range{Min: 3, Max: 1}, 5, 2},
	} {
		i := portfolio.Within(problem.FromFunc("one", 2, func([]bool) float64 { return c.v }), c.r)
		for n := range 4 {
			dst := make([]float64, n)
			if err := i.Evaluate(t.Context(), dst, problem.NewSolutions(n, 2)); err != nil || !slices.Equal(dst, slices.Repeat([]float64{c.want}, n)) {
				t.Errorf("%v of %v: %v, %v", c.v, c.r, dst, err)
			}
		}
		if _, ok := i.Optimum(); ok {
			t.Error("an optimum nobody knows")
		}
		if v, ok := portfolio.Within(problem.WithOptimum(i.Problem(), c.v), c.r).Optimum(); !ok || v != c.want {
			t.Errorf("the optimum of %v is %v", c.r, v)
		}
		if i.Stream(3) != problem.Problem(i) {
			t.Error("an instance without streams has one")
		}
	}
	long := make([]float64, 5)
	if err := portfolio.Within(onemax.Random(1, 3), portfolio.Range{Min: 2}).Evaluate(t.Context(), long, problem.NewSolutions(2, 3)); err != nil || slices.Equal(long[:2], long[3:]) || long[2] != 0 {
		t.Errorf("%v, %v", long, err)
	}
}
