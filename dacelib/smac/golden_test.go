package smac

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/forest"
	"dace.local/dacelib/run"
)

// numbered is the cost of a configuration on an instance: which is best differs.
func numbered(f function, q Query) float64 {
	return f.f(q.Config) + 3*math.Sin(float64(7*q.Instance)+q.Config[0])
}

// TestGolden holds runs to the trials that they made when this was written: a hash of their
// configurations, to six digits, instances and origins. A change of the search that is meant
// changes them: TestBetterThanRandomSearch, TestRace and TestConditionalSearch then say
// whether the search is as good, and the failure shows the hash to write here.
func TestGolden(t *testing.T) {
	related := function{"related", families(), cost, 0}
	small := function{"small", Space{Params: []Param{{Name: "a", Kind: Int, Lo: 1, Hi: 6}, {Name: "b", Kind: Bool}}}, func(c []float64) float64 { return c[0] + c[1] }, 1}
	fs := append(functions(), related, small)
	for _, c := range []struct {
		f    int
		s    Settings
		want string
	}{
		{0, Settings{Trials: 60}, "ecf62bbc22169dd7"},
		{1, Settings{Trials: 60, Candidates: 300, LocalStarts: 3, RefitEvery: 5}, "205de026d7de6a0c"},
		{2, Settings{Trials: 100, Candidates: 300, RandomProb: -1}, "86ba5b726fd29eb0"},
		{2, Settings{Trials: 150, Candidates: 200, RefitFrom: 20, RefitEvery: 3}, "f46a3cb2501f26a"},
		{2, Settings{Trials: 120, Candidates: 200, RefitFrom: -1, LocalStarts: -1}, "305d73e5fcd805fd"},
		{0, Settings{Trials: 150, Candidates: 200, Instances: 7, RefitEvery: 4}, "92f672a567bccc90"},
		{2, Settings{Trials: 150, Candidates: 200, Instances: 3, RefitEvery: 6, RefitFrom: 15, RandomProb: 0.2}, "8d1a9f1a7ea8e9a7"},
		{3, Settings{Trials: 80, Candidates: 200, RandomProb: 0.1}, "e5b9d1e7ca3c740f"},
		{3, Settings{Trials: 90, Candidates: 200, Instances: 4, RefitFrom: 10, RefitEvery: 4, Forest: forest.Settings{Trees: 5}}, "34068e226c01aef3"},
		{4, Settings{Trials: 80}, "47e1f87750bb8c1d"},
	} {
		f := fs[c.f]
		c.s.Space, c.s.Seed = f.space, 11
		o, err := New(c.s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := o.Run(t.Context(), func(_ context.Context, q Query) (float64, error) { return numbered(f, q), nil })
		if err != nil {
			t.Fatal(err)
		}
		// The same run, saved and restored after every third trial.
		if o, err = New(c.s); err != nil {
			t.Fatal(err)
		}
		var events []run.Event
		for n := 1; !o.Done(); n++ {
			q := o.Ask(1)[0]
			if err := o.Tell(q, numbered(f, q)); err != nil {
				t.Fatal(err)
			}
			if n%3 == 0 {
				b, err := json.Marshal(o)
				if err == nil {
					o = new(Optimizer)
					err = json.Unmarshal(b, o)
				}
				if err != nil {
					t.Fatal(err)
				}
				o.SetWorkers(1, func(e run.Event) { events = append(events, e) })
			}
		}
		if again := o.Result(); !reflect.DeepEqual(again, r) {
			t.Errorf("%s, %d trials: restored, the run ends with %s, %v of %d trials", f.name, c.s.Trials, f.space.Format(again.Best), again.Cost, len(again.History))
		}
		best := math.Inf(1)
		for i, x := range r.History {
			best = min(best, x.Cost)
			if i < 3 {
				continue
			}
			if e := events[i-3]; c.s.Instances < 2 && (e.Step != i+1 || e.Total != c.s.Trials || e.Value != x.Cost || e.Best != best || e.Detail != f.space.Format(x.Config) || e.Stage != "smac") {
				t.Fatalf("%s: event %d is %+v", f.name, i, e)
			}
		}
		h := fnv.New64a()
		for _, x := range r.History {
			fmt.Fprintln(h, f.space.Format(x.Config), x.Instance, x.Origin)
		}
		if got := fmt.Sprintf("%x", h.Sum64()); got != c.want {
			t.Errorf("%s, %d trials: %s, want %s; best %s after %d, %v", f.name, c.s.Trials, got, c.want, f.space.Format(r.Best), len(r.History), r.Status)
		}
	}
}

// TestRaceByDefinition makes runs with random costs, few of them, and makes each stage of
// their races again by the documentation.
func TestRaceByDefinition(t *testing.T) {
	space := Space{Params: []Param{{Name: "x", Hi: 1}}}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := Settings{Space: space, Trials: 1 + rng.IntN(90), Instances: 1 + rng.IntN(9), RefitEvery: 1 + rng.IntN(6), Candidates: 20, LocalStarts: -1, RandomProb: 1, Seed: seed}
		o, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		order := run.Rand(seed, "smac: instances").Perm(s.Instances)
		costs := map[string][]float64{} // of each configuration, in the order of the instances
		var all, racing, through []string
		incumbent, round, trials, batch := "", 0, 0, 0
		mean := func(c string, n int) float64 {
			sum := 0.0
			for _, v := range costs[c][:n] {
				sum += v
			}
			return sum / float64(n)
		}
		for !o.Done() {
			qs := o.Ask(0)
			if len(racing) == 0 { // a new batch
				round = 0
				for _, q := range qs {
					if c := fmt.Sprint(q.Config); !slices.Contains(all, c) && !slices.Contains(racing, c) {
						racing = append(racing, c)
					}
				}
				batch = min(s.RefitEvery, s.Trials-trials) // of which the budget may show fewer
				if all == nil {
					incumbent, racing = racing[0], racing[1:]
					batch--
				}
			} else {
				round++
			}
			var want []string
			more := len(costs[incumbent])
			if round == 0 {
				more = min(more+max(1, batch), s.Instances)
				for n := len(costs[incumbent]); n < more; n++ {
					want = append(want, fmt.Sprint(incumbent, order[n]))
				}
			}
			if round == 0 { // the batch is as large as the budget shows it
				for _, c := range racing {
					if !slices.Contains(all, c) {
						all = append(all, c)
					}
				}
				if !slices.Contains(all, incumbent) {
					all = append(all, incumbent)
				}
			}
			for _, c := range racing {
				n := len(costs[c])
				for i := n; i < min(n+1<<round, more); i++ {
					want = append(want, fmt.Sprint(c, order[i]))
				}
			}
			want = want[:min(len(want), s.Trials-trials)]
			var got []string
			for i, q := range qs {
				if q.ID != trials+i {
					t.Fatalf("seed %d: query %d has ID %d", seed, trials+i, q.ID)
				}
				got = append(got, fmt.Sprint(fmt.Sprint(q.Config), q.Instance))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, after %d trials, round %d: asked\n%q\nwant\n%q", seed, trials, round, got, want)
			}
			for _, k := range rng.Perm(len(qs)) { // in any order
				q := qs[k]
				cost := float64((q.Instance*7+int(q.Config[0]*1000))%5) + math.Floor(q.Config[0]*3)
				if err := o.Tell(q, cost); err != nil {
					t.Fatal(err)
				}
			}
			for _, q := range qs {
				c := fmt.Sprint(q.Config)
				costs[c] = append(costs[c], float64((q.Instance*7+int(q.Config[0]*1000))%5)+math.Floor(q.Config[0]*3))
			}
			trials += len(qs)
			var left []string
			for _, c := range racing {
				switch n := len(costs[c]); {
				case n > 0 && mean(c, n) > mean(incumbent, n):
				case n == len(costs[incumbent]):
					through = append(through, c)
				default:
					left = append(left, c)
				}
			}
			if racing = left; len(racing) == 0 || trials == s.Trials {
				for _, c := range through {
					if n := len(costs[c]); mean(c, n) < mean(incumbent, n) {
						incumbent = c
					}
				}
				through = nil
			}
			if r := o.Result(); s.Instances > 1 && (fmt.Sprint(r.Best) != incumbent || r.Cost != mean(incumbent, len(costs[incumbent])) || r.BestInstances != len(costs[incumbent]) || len(r.History) != trials) {
				t.Fatalf("seed %d: best %v of cost %v on %d, want %s", seed, r.Best, r.Cost, r.BestInstances, incumbent)
			}
		}
		if r := o.Result(); r.Status != run.BudgetSpent || len(r.History) != s.Trials {
			t.Errorf("seed %d: %v after %d of %d", seed, r.Status, len(r.History), s.Trials)
		}
	}
}

// The bounds of the settings, at and one beyond.
func TestSettingsBounds(t *testing.T) {
	space := Space{Params: []Param{{Name: "x", Hi: 1}}}
	for want, all := range map[string][]Settings{
		"": {
			{}, {Trials: 1 << 26}, {Instances: 1 << 20}, {Candidates: 1 << 24}, {RandomProb: 1}, {RandomProb: -7}, {LocalStarts: 1 << 20}, {RefitEvery: 1 << 20},
			{Trials: 1, Instances: 1, Candidates: 1, LocalStarts: 1, RefitEvery: 1, RefitFrom: 1, Workers: 1, RandomProb: 1e-9}, {Forest: forest.Settings{Trees: forest.MaxTrees}},
		},
		"must not be negative":               {{Trials: -1}, {Instances: -1}, {Candidates: -1}, {RefitEvery: -1}, {Workers: -1}},
		"at most 2^20 and 2^24 are possible": {{Instances: 1<<20 + 1}, {Candidates: 1<<24 + 1}}, "RandomProb is": {{RandomProb: 1.0000001}, {RandomProb: math.NaN()}},
		"Settings.Trials": {{Trials: 1<<26 + 1}}, "Settings.LocalStarts": {{LocalStarts: 1<<20 + 1}}, "Settings.RefitEvery": {{RefitEvery: 1<<20 + 1}}, "Settings.Forest.Trees": {{Forest: forest.Settings{Trees: forest.MaxTrees + 1}}},
	} {
		for _, s := range all {
			s.Space = space
			if _, err := s.withDefaults(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", s, err, want)
			}
		}
	}
	s, err := Settings{Space: space}.withDefaults()
	if err != nil || s.Trials != 1600 || s.Instances != 1 || s.Candidates != 5000 || s.LocalStarts != 10 || s.RefitEvery != 8 || s.RefitFrom != 1600 || s.Workers != 1 || s.RandomProb != 0.5 {
		t.Errorf("%+v, %v", s, err)
	}
	f := func(context.Context, []float64) (float64, error) { return 0, nil }
	if _, err := Run(t.Context(), f, Settings{Space: space, Instances: 2}); err == nil || !strings.Contains(err.Error(), "Run has no instances") {
		t.Error(err)
	}
	if r, err := Run(t.Context(), f, Settings{Space: space, Instances: 1, Trials: 3}); err != nil || len(r.History) != 3 {
		t.Error(r, err)
	}
	for _, c := range []struct{ workers, slots, want int }{{1, 0, 1}, {5, 0, 5}, {2, 3, 3}, {3, 2, 3}} {
		s := Settings{Workers: c.workers}
		if c.slots > 0 {
			s.Farm = farm.Local(c.slots)
		}
		if s.concurrent() != c.want {
			t.Errorf("%+v: %d", c, s.concurrent())
		}
	}
}

// A batch whose function fails keeps the costs that it has set, and the run goes on.
func TestRunBatchFails(t *testing.T) {
	o, err := New(Settings{Space: Space{Params: []Param{{Name: "x", Hi: 1}}}, Trials: 20, RefitEvery: 5, Candidates: 20})
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("it breaks")
	var told []int
	r, err := o.RunBatch(t.Context(), func(_ context.Context, cost []float64, qs []Query) error {
		for i, c := range cost {
			if !math.IsNaN(c) {
				t.Errorf("cost %d is %v before it is set", i, c)
			}
			if qs[i].ID%2 == 0 {
				cost[i] = float64(qs[i].ID)
			}
		}
		return why
	})
	if !errors.Is(err, why) || len(r.History) != 3 || r.Status != run.NotRun {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := o.RunBatch(ctx, func(context.Context, []float64, []Query) error { t.Error("it runs"); return nil }); err != context.Canceled || r.Status != run.Cancelled {
		t.Errorf("%v, %v", r.Status, err)
	}
	if r, err := o.RunBatch(t.Context(), func(_ context.Context, cost []float64, qs []Query) error { cost[0] = math.Inf(1); return nil }); err == nil || len(r.History) != 3 || !strings.Contains(err.Error(), "is +Inf; it must lie within") {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = o.RunBatch(t.Context(), func(_ context.Context, cost []float64, qs []Query) error {
		for i, q := range qs {
			told = append(told, q.ID)
			cost[i] = 1e100
		}
		return nil
	})
	if err != nil || len(r.History) != 20 || !slices.Equal(told[:3], []int{1, 3, 5}) || len(told) != 17 || r.Status != run.BudgetSpent || r.Cost != 0 {
		t.Errorf("%+v, %v; told %v", r, err, told)
	}
	// The progress of each call is its own, and ends with it.
	for _, batch := range []bool{true, false} {
		o, err := New(Settings{Space: Space{Params: []Param{{Name: "x", Hi: 1}}}, Trials: 3})
		if err != nil {
			t.Fatal(err)
		}
		began, events, ended := "", 0, 0
		ctx := run.WithProgress(t.Context(), func(name string) (func(run.Event), func()) {
			began += name
			return func(run.Event) { events++ }, func() { ended++ }
		})
		if batch {
			_, err = o.RunBatch(ctx, func(_ context.Context, cost []float64, _ []Query) error { clear(cost); return nil })
		} else {
			_, err = o.Run(ctx, func(context.Context, Query) (float64, error) { return 0, nil })
		}
		if began != "SMAC" || ended != 1 || o.s.OnEvent != nil || events != 3 {
			t.Errorf("%v: %q began, %d events, ended %d times, %v", batch, began, events, ended, err)
		}
	}
	events := 0
	o.SetWorkers(0, func(run.Event) { events++ })
	if o.Settings().Workers != 1 || o.Settings().OnEvent == nil {
		t.Errorf("%+v", o.Settings())
	}
	o.SetWorkers(7, nil)
	if o.Settings().Workers != 7 || o.Settings().OnEvent != nil {
		t.Errorf("%+v", o.Settings())
	}
}

// A run whose context has ended evaluates nothing.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, workers := range []int{1, 3} {
		r, err := Run(ctx, func(context.Context, []float64) (float64, error) { t.Error("it runs"); return 0, nil }, Settings{Space: Space{Params: []Param{{Name: "x", Hi: 1}}}, Workers: workers})
		if err != context.Canceled || r.Status != run.Cancelled || len(r.History) != 0 {
			t.Errorf("%d workers: %+v, %v", workers, r, err)
		}
	}
}

// At most limit queries are asked for, each once; costs to the bound are taken.
func TestAskTell(t *testing.T) {
	o, err := New(Settings{Space: Space{Params: []Param{{Name: "x", Hi: 1}}}, Trials: 5, RefitEvery: 4, Candidates: 20})
	if err != nil {
		t.Fatal(err)
	}
	if r := o.Result(); r.Best != nil || len(r.History) != 0 || r.Status != run.NotRun {
		t.Errorf("%+v", r)
	}
	var qs []Query
	for _, n := range []int{1, 2, 5, 0, -1} {
		more := o.Ask(n)
		if want := map[int]int{1: 1, 2: 2, 5: 1}[n]; len(more) != want {
			t.Errorf("%d of %d", len(more), n)
		}
		qs = append(qs, more...)
	}
	for i, cost := range []float64{1e100, -1e100, 3, 2} {
		for _, bad := range []float64{math.Nextafter(1e100, 2e100), math.NaN(), math.Inf(-1)} {
			if err := o.Tell(qs[i], bad); err == nil {
				t.Errorf("the cost %v is taken", bad)
			}
		}
		if err := o.Tell(qs[i], cost); err != nil {
			t.Error(err)
		}
		if err := o.Tell(qs[i], cost); err == nil {
			t.Error("a cost is told twice")
		}
		if r := o.Result(); r.Cost != []float64{1e100, -1e100, -1e100, -1e100}[i] || r.BestInstances != 1 || len(r.History) != i+1 || r.History[i].Cost != cost {
			t.Errorf("%+v", r)
		}
	}
	if o.Done() || o.Tell(Query{ID: -1}, 0) == nil {
		t.Error("the run is over, or takes query -1")
	}
	q := o.Ask(0)
	if len(q) != 1 || q[0].ID != 4 || o.Tell(q[0], 0) != nil || !o.Done() || o.Ask(0) != nil {
		t.Errorf("%+v", q)
	}
}
