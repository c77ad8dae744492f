package smac

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// A function is a benchmark function with its minimum.
type function struct {
	name    string
	space   Space
	f       func(c []float64) float64
	minimum float64
}

// branin has the minimum 0.397887 (Dixon and Szego 1978).
func branin(c []float64) float64 {
	x, y := c[0], c[1]
	v := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
	return v*v + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
}

// hartmann6 has the minimum -3.32237 (Dixon and Szego 1978).
func hartmann6(x []float64) float64 {
	a := [4][6]float64{{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}
	p := [4][6]float64{{1312, 1696, 5569, 124, 8283, 5886}, {2329, 4135, 8307, 3736, 1004, 9991}, {2348, 1451, 3522, 2883, 3047, 6650}, {4047, 8828, 8732, 5743, 1091, 381}}
	s := 0.0
	for i, c := range [4]float64{1, 1.2, 3, 3.2} {
		e := 0.0
		for j := range 6 {
			v := x[j] - p[i][j]*1e-4
			e += a[i][j] * v * v
		}
		s -= c * math.Exp(-e)
	}
	return s
}

// mixed has the minimum 0 at 17, -4, 100, "s", true; the first choices of its
// category are better if the boolean is false.
func mixed(c []float64) float64 {
	off := [...]float64{3, 5, 1, 0, 4}[int(c[3])]
	v := math.Abs(c[0]-17)/5 + math.Abs(c[1]+4)/3 + 2*math.Abs(math.Log(c[2]/100)) + off + 2*(1-c[4])
	if c[3] == 0 && c[4] == 0 {
		v -= 3
	}
	return v
}

func functions() []function {
	var cube Space
	for j := range 6 {
		cube.Params = append(cube.Params, Param{Name: fmt.Sprint("x", j), Hi: 1})
	}
	return []function{
		{"branin", Space{Params: []Param{{Name: "x", Lo: -5, Hi: 10}, {Name: "y", Lo: 0, Hi: 15}}}, branin, 0.397887},
		{"hartmann6", cube, hartmann6, -3.32237},
		{"mixed", Space{Params: []Param{
			{Name: "a", Kind: Int, Lo: 1, Hi: 200},
			{Name: "b", Kind: Int, Lo: -50, Hi: 50},
			{Name: "c", Kind: Int, Lo: 1, Hi: 10000, Log: true},
			{Name: "d", Kind: Category, Choices: []string{"p", "q", "r", "s", "t"}},
			{Name: "e", Kind: Bool},
		}}, mixed, 0},
	}
}

func (f function) run(t testing.TB, s Settings) Result {
	t.Helper()
	s.Space = f.space
	r, err := Run(context.Background(), func(_ context.Context, c []float64) (float64, error) { return f.f(c), nil }, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBetterThanRandomSearch checks over 30 seeds and 200 trials that the
// median distance from the minimum is at most half that of random search with
// as many trials, and at most 1.1 times that of random search with four times
// as many.
func TestBetterThanRandomSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	median := func(f function, s Settings) float64 {
		var d []float64
		for seed := range 30 {
			s.Seed = uint64(seed)
			d = append(d, f.run(t, s).Cost-f.minimum)
		}
		slices.Sort(d)
		return (d[14] + d[15]) / 2
	}
	for _, f := range functions() {
		model := median(f, Settings{Trials: 200})
		random := median(f, Settings{Trials: 200, RandomProb: 1})
		random4 := median(f, Settings{Trials: 800, RandomProb: 1})
		t.Logf("%-9s median distance from the minimum: %.4f; random search %.4f; with four times the trials %.4f", f.name, model, random, random4)
		if model < -1e-4 || model > random/2 || model > 1.1*random4 {
			t.Errorf("%s: median distance %v; random search has %v, with four times the trials %v", f.name, model, random, random4)
		}
	}
}

// TestSameResult checks that the result depends on the seed, and neither on the
// workers nor on the order in which costs are told.
func TestSameResult(t *testing.T) {
	f := functions()[2]
	want := f.run(t, Settings{Trials: 100, Seed: 3})
	if got := f.run(t, Settings{Trials: 100, Seed: 3, Workers: 8}); !reflect.DeepEqual(got, want) {
		t.Error("8 workers give another result than one")
	}
	if got := f.run(t, Settings{Trials: 100, Seed: 3, Farm: farm.Local(8)}); !reflect.DeepEqual(got, want) {
		t.Error("a farm gives another result than none")
	}
	if got := f.run(t, Settings{Trials: 100, Seed: 4}); reflect.DeepEqual(got.History, want.History) {
		t.Error("another seed gives the same run")
	}
	s := Settings{Space: f.space, Trials: 100, Seed: 3}
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for !o.Done() {
		qs := append(o.Ask(2), o.Ask(0)...)
		if len(o.Ask(0)) > 0 {
			t.Fatal("Ask returned a query twice")
		}
		for _, q := range slices.Backward(qs) {
			if err := o.Tell(q, f.f(q.Config)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := o.Result(); !reflect.DeepEqual(got, want) {
		t.Error("costs told backwards give another result")
	}
	o, _ = New(s)
	got, err := o.RunBatch(context.Background(), func(_ context.Context, cost []float64, qs []Query) error {
		for i, q := range qs {
			cost[i] = f.f(q.Config)
		}
		return nil
	})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("RunBatch gives another result than Run, error %v", err)
	}
}

// TestHistory checks that the default configuration is the first, and none is
// tried twice.
func TestHistory(t *testing.T) {
	f := functions()[2]
	f.space.Params[0].Default = 33
	f.space.Params[3].Default = 2
	r := f.run(t, Settings{Trials: 300})
	if h := r.History[0]; h.Origin != FromDefault || !slices.Equal(h.Config, f.space.Default()) || h.Config[0] != 33 || h.Config[3] != 2 {
		t.Errorf("the first trial is %+v", h)
	}
	seen := make(map[string]bool)
	best, random := math.Inf(1), 0
	for i, h := range r.History {
		if err := f.space.CheckConfig(h.Config); err != nil {
			t.Fatal(err)
		}
		if seen[key(h.Config)] {
			t.Fatalf("trial %d repeats a configuration", i)
		}
		seen[key(h.Config)] = true
		best = min(best, h.Cost)
		if h.Origin == FromRandom {
			random++
		}
	}
	if len(r.History) != 300 || r.Cost != best || f.f(r.Best) != best || r.Status != run.BudgetSpent {
		t.Errorf("%d trials, cost %v of %v, status %v; the lowest cost is %v", len(r.History), r.Cost, r.Best, r.Status, best)
	}
	if random < 120 || random > 180 { // binomial, 300 of p = 1/2: sd 8.7
		t.Errorf("%d of 300 configurations are random", random)
	}
}

// TestExhausted checks that a finite space is tried completely.
func TestExhausted(t *testing.T) {
	for _, instances := range []int{1, 3} {
		o, err := New(Settings{Instances: instances, Space: Space{Params: []Param{
			{Name: "a", Kind: Int, Lo: -2, Hi: 2},
			{Name: "b", Kind: Bool},
			{Name: "c", Lo: 7, Hi: 7},
			{Name: "d", Kind: Category, Choices: []string{"only"}},
			{Name: "e", Kind: Category, Choices: []string{"x", "y", "z"}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := o.Run(context.Background(), func(_ context.Context, q Query) (float64, error) {
			return math.Abs(q.Config[0]-1) + q.Config[1] + q.Config[4], nil
		})
		if err != nil || r.Cost != 0 || r.Status != run.Converged || r.BestInstances != instances {
			t.Errorf("cost %v on %d instances, status %v, error %v", r.Cost, r.BestInstances, r.Status, err)
		}
		if instances == 1 && len(r.History) != 30 {
			t.Errorf("%d trials of 30 configurations", len(r.History))
		}
	}
}

// The last untried configuration of a large space is found, wherever it is.
func TestLastUnseen(t *testing.T) {
	const n = 1 << 10
	o, err := New(Settings{Space: Space{Params: []Param{{Name: "x", Kind: Int, Hi: n - 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	for k := range n {
		o.seen[key([]float64{float64(k)})] = k
	}
	rng := rand.New(rand.NewPCG(1, 4))
	for _, last := range []float64{0, 1, n / 2, n - 1} {
		delete(o.seen, key([]float64{last}))
		if c := o.unseen(rng); len(c) != 1 || c[0] != last {
			t.Errorf("the last configuration is %v, want %v", c, last)
		}
		o.seen[key([]float64{last})] = 0
	}
	if c := o.unseen(rng); c != nil {
		t.Errorf("all were tried, and %v is untried", c)
	}
}

// Without local searches the next configurations are the best of the random ones.
func TestNoLocalSearches(t *testing.T) {
	o, err := New(Settings{Space: Space{Params: []Param{{Name: "x", Hi: 1}}}, LocalStarts: -1, Candidates: 50})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // whole batches, which the model needs
		for _, q := range o.Ask(0) {
			if err := o.Tell(q, q.Config[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := o.rank(5, rand.New(rand.NewPCG(1, 5))); len(got) != 5 {
		t.Errorf("%d configurations, want 5: %v", len(got), got)
	}
}

// TestCancelAndResume checks that a cancelled run returns the best result so
// far and, saved, restored and continued, ends like an uninterrupted run, with
// and without races.
func TestCancelAndResume(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	f := functions()[2]
	for _, instances := range []int{1, 5} {
		s := Settings{Space: f.space, Trials: 150, Instances: instances, Seed: 8, RefitFrom: 20}
		cost := func(_ context.Context, q Query) (float64, error) {
			return f.f(q.Config) + float64(q.Instance)*q.Config[0]/100, nil
		}
		o, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		want, err := o.Run(context.Background(), cost)
		if err != nil {
			t.Fatal(err)
		}
		for _, stop := range []int{0, 1, 5, 8, 9, 40, 77, 90, 111, 149} {
			o, _ := New(s)
			ctx, cancel := context.WithCancel(context.Background())
			n := 0
			if stop == 0 {
				cancel()
			}
			r, err := o.Run(ctx, func(ctx context.Context, q Query) (float64, error) {
				if n++; n == stop {
					cancel()
				}
				return cost(ctx, q)
			})
			if !errors.Is(err, context.Canceled) || r.Status != run.Cancelled || len(r.History) != stop {
				t.Fatalf("stopped at %d: %d trials, status %v, error %v", stop, len(r.History), r.Status, err)
			}
			if !reflect.DeepEqual(r.History, want.History[:stop:stop]) && stop > 0 {
				t.Fatalf("stopped at %d: the history is not the beginning of the whole", stop)
			}
			if stop > 0 && r.Best == nil {
				t.Fatalf("stopped at %d: no best so far", stop)
			}
			b, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			var p Optimizer
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
			for name, o := range map[string]*Optimizer{"continued": o, "restored": &p} {
				o.SetWorkers(3, nil)
				got, err := o.Run(context.Background(), cost)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%d instances, stopped at %d, %s: another result than uninterrupted", instances, stop, name)
				}
			}
		}
	}
}

// TestErrors checks that invalid costs and errors of the function end a run
// with the best result so far.
func TestErrors(t *testing.T) {
	f := functions()[0]
	boom := errors.New("boom")
	for name, bad := range map[string]func() (float64, error){
		"NaN":      func() (float64, error) { return math.NaN(), nil },
		"infinite": func() (float64, error) { return math.Inf(1), nil },
		"error":    func() (float64, error) { return 0, boom },
		"panic":    func() (float64, error) { panic("boom") },
	} {
		for _, workers := range []int{1, 4} {
			var o *Optimizer
			o, err := New(Settings{Space: f.space, Trials: 100, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			r, err := o.Run(context.Background(), func(_ context.Context, q Query) (float64, error) {
				if q.ID == 40 {
					return bad()
				}
				return f.f(q.Config), nil
			})
			if err == nil || name == "error" && !errors.Is(err, boom) {
				t.Errorf("%s: error %v", name, err)
			}
			if len(r.History) < 40 || len(r.History) > 40 && workers == 1 || r.Best == nil {
				t.Errorf("%s: %d trials, best %v", name, len(r.History), r.Best)
			}
		}
	}
	o, err := New(Settings{Space: f.space})
	if err != nil {
		t.Fatal(err)
	}
	q := o.Ask(1)[0]
	if err := o.Tell(q, 1); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{q.ID, len(o.state.Log) + len(o.state.Stage), 99} {
		if o.Tell(Query{ID: id, Config: q.Config}, 1) == nil {
			t.Errorf("query %d, which is not awaited, was taken", id)
		}
	}
}

// A saved run whose parts do not fit together is refused, by what is wrong.
func TestDamaged(t *testing.T) {
	f := functions()[0]
	o, err := New(Settings{Space: f.space, Trials: 100, Instances: 3, Candidates: 20, RefitFrom: 10})
	if err != nil {
		t.Fatal(err)
	}
	for o.state.Fitted < 10 {
		for _, q := range o.Ask(1) {
			if err := o.Tell(q, f.f(q.Config)); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	const damaged = "smac: the saved run is damaged: "
	for _, c := range []struct {
		damage func(s *state)
		want   string
	}{
		{func(*state) {}, ""},
		{func(s *state) { s.Tried[1].Config = s.Tried[1].Config[1:] }, damaged + "configuration 1: "},
		{func(s *state) { s.Tried[2].Config = s.Tried[1].Config }, damaged + "configuration 2 was tried before"},
		{func(s *state) { s.Tried[1].Costs[0] = 1e101 }, damaged + "a cost of configuration 1 is out of range"},
		{func(s *state) { s.Tried[1].Costs = make([]float64, 4) }, damaged + "configuration 1 has more costs than there are instances"},
		{func(s *state) { *s = state{Log: s.Log} }, damaged + "it has trials and no configurations"},
		{func(s *state) { s.Round = -1 }, damaged + "its counts do not fit together"},
		{func(s *state) { s.Round = 0 }, ""}, {func(s *state) { s.Round = 32 }, ""}, {func(s *state) { s.Round = 33 }, damaged + "its counts do not fit together"},
		{func(s *state) { s.Batches = 0 }, damaged + "its counts do not fit together"}, {func(s *state) { s.Incumbent = -1 }, damaged + "its counts do not fit together"}, {func(s *state) { s.Incumbent = len(s.Tried) }, damaged + "its counts do not fit together"},
		{func(s *state) { s.Stage = append(s.Stage, make([]pending, 101-len(s.Log)-len(s.Stage))...) }, damaged + "its counts do not fit together"},
		{func(s *state) { s.Log[0].Tried = -1 }, damaged + "a trial in the log has no cost"}, {func(s *state) { s.Log[0].Tried = len(s.Tried) }, damaged + "a trial in the log has no cost"}, {func(s *state) { s.Log[0].Place = 1 }, damaged + "a trial in the log has no cost"},
		{func(s *state) {
			s.Log = append(s.Log, trialRef{Tried: s.Log[0].Tried, Place: len(s.Tried[s.Log[0].Tried].Costs)})
		}, damaged + "a trial in the log has no cost"},
		{func(s *state) { s.Stage[0].Tried = -1 }, damaged + "a trial that is asked for"}, {func(s *state) { s.Stage[0].Tried = len(s.Tried) }, damaged + "a trial that is asked for"},
		{func(s *state) { // the incumbent is to be run on a fourth of three instances
			n := len(s.Tried[s.Incumbent].Costs)
			for _, p := range s.Stage {
				if p.Tried == s.Incumbent {
					n++
				}
			}
			for ; n <= 3; n++ {
				s.Stage = append(s.Stage, pending{trialRef: trialRef{s.Incumbent, n}})
			}
		}, damaged + "a trial that is asked for"},
		{func(s *state) { s.Tried[1].Costs[0] = 1e100 }, ""}, {func(s *state) { s.Tried[1].Costs[0] = -1e100 }, ""}, {func(s *state) { s.Tried[1].Costs[0] = -1e101 }, damaged + "a cost of configuration 1 is out of range"},
		{func(s *state) { s.Racing = append(s.Racing, -1) }, damaged + "a configuration in the race does not exist"}, {func(s *state) { s.Through = append(s.Through, len(s.Tried)) }, damaged + "a configuration in the race does not exist"},
		{func(s *state) { s.Tried[1].Seen = -1 }, damaged + "the model has seen more costs of configuration 1"},
		{func(s *state) { s.Fitted = -1 }, damaged + "the last fit"}, {func(s *state) { s.FitBatch = -1 }, damaged + "the last fit"}, {func(s *state) { s.FitBatch = s.Batches }, ""}, {func(s *state) { s.FitBatch = s.Batches + 1 }, damaged + "the last fit"},
		{func(s *state) { s.Log[1] = s.Log[0] }, damaged + "a trial in the log has no cost"},
		{func(s *state) { s.Log = s.Log[:len(s.Log)-1] }, damaged + "a cost of configuration "},
		{func(s *state) { s.Stage[0].Place++ }, damaged + "a trial that is asked for does not follow the others"},
		{func(s *state) { s.Stage[0].Done, s.Stage[0].Cost = true, 1e101 }, damaged + "a cost is out of range"},
		{func(s *state) { s.Racing[0] = len(s.Tried) }, damaged + "a configuration in the race does not exist"},
		{func(s *state) { s.Tried[1].Seen = 4 }, damaged + "the model has seen more costs of configuration 1 than there are"},
		{func(s *state) { s.Tried[1].Seen = 0 }, damaged + "its model was fitted to configuration 1, of which it has seen no cost"},
		{func(s *state) { s.Fitted = len(s.Tried) + 1 }, damaged + "the last fit of its model does not fit its trials"},
		{func(s *state) { // nobody asks for the last one's first trial any more
			last := len(s.Tried) - 1
			s.Racing = slices.DeleteFunc(s.Racing, func(c int) bool { return c == last })
			s.Stage = slices.DeleteFunc(s.Stage, func(p pending) bool { return p.Tried == last })
		}, damaged + fmt.Sprintf("configuration %d has no cost and is not to be run", len(o.state.Tried)-1)},
	} {
		var s saved
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		c.damage(&s.State)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, new(Optimizer)); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestSettingsErrors(t *testing.T) {
	ok := []Param{{Name: "x", Hi: 1}}
	for name, s := range map[string]Settings{
		"no parameters":   {},
		"negative":        {Space: Space{Params: ok}, Trials: -1},
		"trials":          {Space: Space{Params: ok}, Trials: 1 << 27},
		"probability":     {Space: Space{Params: ok}, RandomProb: 2},
		"same name":       {Space: Space{Params: append(ok, ok...)}},
		"range":           {Space: Space{Params: []Param{{Name: "x", Lo: 1}}}},
		"log":             {Space: Space{Params: []Param{{Name: "x", Hi: 1, Log: true}}}},
		"fraction":        {Space: Space{Params: []Param{{Name: "x", Kind: Int, Hi: 1.5}}}},
		"NaN":             {Space: Space{Params: []Param{{Name: "x", Hi: math.NaN()}}}},
		"no choices":      {Space: Space{Params: []Param{{Name: "x", Kind: Category}}}},
		"default":         {Space: Space{Params: []Param{{Name: "x", Hi: 1, Default: 2}}}},
		"default choice":  {Space: Space{Params: []Param{{Name: "x", Kind: Bool, Default: 2}}}},
		"default integer": {Space: Space{Params: []Param{{Name: "x", Kind: Int, Hi: 2, Default: 0.5}}}},
		"forest":          {Space: Space{Params: ok}, Forest: forest.Settings{FeatureRatio: 3}},
		"kind":            {Space: Space{Params: []Param{{Name: "x", Kind: 9}}}},
	} {
		if _, err := New(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRace checks that each trial in a race is on an instance on which the
// configuration was not run before, that a configuration is dropped as soon as
// it is worse, and that most of the budget goes to good configurations. The
// winner has the best true mean.
func TestRace(t *testing.T) {
	f := functions()[2]
	const instances = 20
	noise := make([]float64, instances)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = 5 * rng.NormFloat64()
	}
	cost := func(_ context.Context, q Query) (float64, error) {
		return f.f(q.Config) + noise[q.Instance]*(1+q.Config[1]/100), nil
	}
	o, err := New(Settings{Space: f.space, Trials: 1000, Instances: instances})
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.Run(context.Background(), cost)
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[string][]int)
	for _, h := range r.History {
		k := key(h.Config)
		if slices.Contains(runs[k], h.Instance) {
			t.Fatal("a configuration ran twice on an instance")
		}
		runs[k] = append(runs[k], h.Instance)
	}
	first := runs[key(f.space.Default())]
	ended := make(map[int]int)
	for _, is := range runs {
		if !slices.Equal(is, first[:min(len(is), len(first))]) && len(is) <= len(first) {
			t.Fatal("configurations ran on the instances in different orders")
		}
		ended[len(is)]++
	}
	t.Logf("%d configurations in %d trials; cost %.3f; configurations by number of instances: %v", len(runs), len(r.History), r.Cost, ended)
	if r.BestInstances != instances || len(r.History) != 1000 || r.Status != run.BudgetSpent {
		t.Errorf("best on %d instances, %d trials, status %v", r.BestInstances, len(r.History), r.Status)
	}
	if len(runs) < 300 {
		t.Errorf("only %d configurations in 1000 trials", len(runs))
	}
	for n := range ended { // 1, then 2, 4, 8 more, then the rest; the last race may be cut off
		if !slices.Contains([]int{1, 3, 7, 15, 20}, n) && ended[n] > 1 {
			t.Errorf("%d configurations ended with %d instances", ended[n], n)
		}
	}
	if v := f.f(r.Best); v > 3 {
		t.Errorf("the winner is %v above the minimum", v)
	}
}

func TestEvents(t *testing.T) {
	f := functions()[0]
	step, best := 0, math.Inf(1)
	f.run(t, Settings{Trials: 30, Workers: 4, OnEvent: func(e run.Event) {
		step++
		best = min(best, e.Value)
		if e.Step != step || e.Total != 30 || e.Best != best {
			t.Errorf("event %d: %+v, best %v", step, e, best)
		}
	}})
	if step != 30 {
		t.Errorf("%d events of 30 trials", step)
	}
}

// TestImprovement compares the expected improvement with its integral.
func TestImprovement(t *testing.T) {
	for _, c := range []struct{ eta, mean, variance float64 }{{0, 0, 1}, {1, 0, 4}, {0, 1, 0.25}, {-3, 2, 1}, {2, 2, 1e-10}, {0, 0.01, 1}} {
		s, sum := math.Sqrt(c.variance), 0.0
		const n = 200000
		for i := range n {
			z := -10 + 20*(float64(i)+0.5)/n
			sum += max(0, c.eta-(c.mean+s*z)) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 20 / n
		}
		got := improvement(c.eta, c.mean, c.variance)
		if math.Abs(got-sum) > 1e-8*max(1, sum) {
			t.Errorf("%+v: %v; the integral is %v", c, got, sum)
		}
		if !mayExceed(c.eta, c.mean, c.variance, got*(1-1e-9)) {
			t.Errorf("%+v: mayExceed rules out the value itself", c)
		}
	}
}

// TestTop checks that the shortcuts of offer, by mayExceed and by comparing
// mean and variance, lose no candidate.
func TestTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	top := newTop(7)
	var all []float64
	for i := range 5000 {
		m, v := rng.NormFloat64(), rng.ExpFloat64()
		top.offer(-1, m, v, []float64{float64(i)}, nil)
		all = append(all, improvement(-1, m, v))
	}
	slices.Sort(all)
	for i, c := range top.items {
		if c.ei != all[len(all)-1-i] {
			t.Errorf("number %d of the best has %v, not %v", i, c.ei, all[len(all)-1-i])
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	fn := functions()[2]
	for _, instances := range []int{1, 3} {
		o, err := New(Settings{Space: fn.space, Trials: 30, Instances: instances, Candidates: 20, RefitFrom: 20})
		if err != nil {
			f.Fatal(err)
		}
		for i := range 25 {
			if i%8 == 0 {
				b, _ := json.Marshal(o)
				f.Add(b)
			}
			for _, q := range o.Ask(1) {
				if err := o.Tell(q, fn.f(q.Config)); err != nil {
					f.Fatal(err)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var o Optimizer
		if json.Unmarshal(b, &o) != nil {
			return
		}
		if s := o.Settings(); s.Candidates > 1000 || s.LocalStarts > 100 || s.RefitEvery > 100 || s.Forest.Trees > 100 || len(s.Space.Params) > 10 {
			return
		}
		for range 40 {
			for _, q := range o.Ask(1) {
				if err := o.Tell(q, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		o.Result()
	})
}

// A configuration that is as good as the incumbent does not replace it: of equal
// ones the first tried stays, which is the default.
func TestTies(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		r := function{space: Space{Params: []Param{{Name: "x", Hi: 1, Default: 0.25}}}, f: func([]float64) float64 { return 7 }}.run(t, Settings{Trials: 40, Seed: seed})
		if r.Best[0] != 0.25 || r.Cost != 7 {
			t.Errorf("seed %d: of equal configurations %v was chosen, cost %v; want the first, 0.25", seed, r.Best, r.Cost)
		}
	}
}

// The number of configurations between two fits grows with the square of those
// that the model has, from Settings.RefitEvery at Settings.RefitFrom.
func TestRefitSchedule(t *testing.T) {
	of := func(refitFrom, fitted, extra int) *Optimizer {
		o := &Optimizer{s: Settings{RefitFrom: refitFrom, RefitEvery: 8}}
		o.state.Fitted, o.state.Tried = fitted, make([]tried, fitted+extra)
		return o
	}
	for _, c := range []struct{ fitted, between int }{{50, 2}, {100, 8}, {200, 32}, {300, 72}} {
		if of(100, c.fitted, c.between-1).stale() || !of(100, c.fitted, c.between).stale() {
			t.Errorf("a model of %d configurations is not fitted anew after %d more", c.fitted, c.between)
		}
	}
	if !of(100, 0, 0).stale() || !of(-1, 300, 1).stale() {
		t.Error("the first fit, or one with a negative RefitFrom, is left out")
	}
}

// With one instance a batch has Settings.RefitEvery configurations, and each cost counts
// as soon as it is told.
func TestBatches(t *testing.T) {
	o, err := New(Settings{Space: Space{Params: []Param{{Name: "x", Hi: 1}}}, Trials: 30, RefitEvery: 5, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	var queries []Query
	for range 4 {
		queries = append(queries, o.Ask(4)...)
	}
	for _, q := range queries {
		cost := 1 - q.Config[0]
		if err := o.Tell(q, cost); err != nil {
			t.Fatal(err)
		}
		if least = min(least, cost); o.Result().Cost != least {
			t.Errorf("the best cost is %v after one of %v was told", o.Result().Cost, least)
		}
	}
	if _, err := o.RunBatch(t.Context(), func(_ context.Context, cost []float64, queries []Query) error {
		if len(queries) != 5 {
			t.Errorf("a batch of %d configurations", len(queries))
		}
		for i, q := range queries {
			cost[i] = 1 - q.Config[0]
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
