package brkga

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// flat is a problem of any dimension that is not evaluated.
type flat struct{ d int }

func (f flat) Name() string { return "flat" }
func (f flat) Dim() int     { return f.d }
func (f flat) Evaluate(context.Context, []float64, problem.Solutions) error {
	return errors.New("flat")
}

// The bounds of configurations and settings, at and one beyond.
func TestBounds(t *testing.T) {
	const most = 1 << 20
	inside := Config{1, 1, 1, 0, false}
	for _, c := range []struct {
		d    int
		s    Settings
		want string
	}{
		{1, Settings{}, ""}, {0, Settings{}, "flat has dimension 0"}, {5, Settings{Evaluations: 1}, ""}, {5, Settings{Evaluations: -1}, "a budget of -1"},
		{5, Settings{Config: inside}, ""}, {5, Settings{Config: Config{1, 1, 1, 1, true}}, ""},
		{5, Settings{Config: Config{1, 1, 1, math.Nextafter(1, 2), false}}, "the bias must be in [0,1]"}, {5, Settings{Config: Config{1, 1, 1, -math.SmallestNonzeroFloat64, false}}, "the bias"},
		{5, Settings{Config: Config{0, 1, 1, 0.5, false}}, "elites must be at least 1"}, {5, Settings{Config: Config{1, 0, 1, 0.5, false}}, "offspring must be"}, {5, Settings{Config: Config{1, 1, 0, 0.5, false}}, "mutants must be"},
		{5, Settings{Config: Config{most, most, most, 0, false}}, ""},
		{5, Settings{Config: Config{most + 1, 1, 1, 0, false}}, "Config.Elites"}, {5, Settings{Config: Config{1, most + 1, 1, 0, false}}, "Config.Offspring"}, {5, Settings{Config: Config{1, 1, most + 1, 0, false}}, "Config.Mutants"},
		{3, Settings{Start: [][]bool{{true, false, true}}}, ""}, {3, Settings{Start: [][]bool{{true, false, true}, {true}}}, "solution 2 of Start has 1 bits, and problem flat 3"},
		{maxKeys / 4, Settings{Config: Config{1, 2, 1, 0, false}}, ""}, {maxKeys/4 + 1, Settings{Config: Config{1, 2, 1, 0, false}}, "at most 3 individuals"},
	} {
		got, err := c.s.withDefaults(flat{c.d})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("d = %d, %+v: %v, want %q", c.d, c.s, err, c.want)
		}
		if c.want != "" {
			if r, e := Run(t.Context(), flat{c.d}, c.s); e == nil || e.Error() != err.Error() || r.X != nil {
				t.Errorf("d = %d, %+v: %v, want %v", c.d, c.s, e, err)
			}
		}
		if c.want == "" && (got.Evaluations != max(c.s.Evaluations, got.Evaluations) || c.s.Evaluations == 0 && got.Evaluations != 800 || c.s.Config == (Config{}) && got.Config != ForBudget(got.Evaluations)) {
			t.Errorf("d = %d, %+v became %+v", c.d, c.s, got)
		}
	}
	if _, err := Run(t.Context(), nil, Settings{}); err == nil || !strings.Contains(err.Error(), "no problem") {
		t.Error(err)
	}
	if s := Pymoo062(); !reflect.DeepEqual(s, Settings{Config: Config{200, 700, 100, 0.7, false}, Children: OneChild, DuplicateRule: ByValue, InitialKeys: UniformKeys, FinishGeneration: true}) {
		t.Errorf("%+v", s)
	}
}

// The solver's space is the paper's (Appendix B), its values become a configuration, and
// what cannot is refused.
func TestNames(t *testing.T) {
	for _, n := range []int{800, 2000} {
		c := ForBudget(n)
		want := []smac.Param{
			{Name: "elites", Kind: smac.Int, Lo: 1, Hi: 400, Log: true, Default: float64(c.Elites)},
			{Name: "offspring", Kind: smac.Int, Lo: 1, Hi: 1000, Log: true, Default: float64(c.Offspring)},
			{Name: "mutants", Kind: smac.Int, Lo: 1, Hi: 200, Log: true, Default: float64(c.Mutants)},
			{Name: "bias", Hi: 1, Default: c.Bias}, {Name: "duplicates", Kind: smac.Bool},
		}
		if got := Solver().Space(30, n).Params; !reflect.DeepEqual(got, want) {
			t.Errorf("%d evaluations: %+v, want %+v", n, got, want)
		}
	}
	full := Config{1, 2, 3, 0.5, true}
	named := func(values map[string]any) solver.Config {
		c, err := solver.New("brkga", values)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	other, err := solver.New("anneal", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config solver.Config
		want   any // a configuration, or a part of the error
		text   string
	}{
		{full.Named(), full, "[1, 2, 3, 0.50, T]"}, {named(nil), Config{5, 30, 2, 0.7, false}, "brkga"}, {named(map[string]any{"mutants": 9}), Config{5, 30, 9, 0.7, false}, "brkga{mutants: 9}"},
		{named(map[string]any{"elites": 401, "bias": 1}), Config{401, 30, 2, 1, false}, "brkga{elites: 401, bias: 1}"},
		{named(map[string]any{"elites": 1.5}), "elites is 1.5; it must be a whole number", "brkga{elites: 1.5}"}, {named(map[string]any{"mutants": true}), "mutants is true; it must be a whole number", "brkga{mutants: true}"},
		{named(map[string]any{"bias": "x"}), "bias is x; it must be a number", "brkga{bias: x}"}, {named(map[string]any{"duplicates": 1}), "duplicates is 1; it must be true or false", "brkga{duplicates: 1}"},
		{named(map[string]any{"offspring": 0}), "offspring must be at least 1", "brkga{offspring: 0}"}, {named(map[string]any{"size": 7}), `no parameter "size"; there are`, "brkga{size: 7}"},
		{named(map[string]any{"elites": 0, "offspring": 1, "mutants": 1, "bias": 1, "duplicates": true}), "elites must be", "brkga{elites: 0, offspring: 1, mutants: 1, bias: 1, duplicates: true}"},
		{other, "anneal is no configuration of BRKGA", ""},
	} {
		own, err := From(c.config, 800)
		checked := Solver().(interface{ CheckConfig(solver.Config) error }).CheckConfig(c.config)
		if fails, ok := c.want.(string); ok {
			if err == nil || !strings.Contains(err.Error(), fails) || checked == nil {
				t.Errorf("%v: %v, %v; want %s", c.config, err, checked, fails)
			}
		} else if err != nil || checked != nil || own != c.want {
			t.Errorf("%v: %v, %v, %v; want %v", c.config, own, err, checked, c.want)
		}
		if got := Solver().(solver.Formatter).Format(c.config); c.text != "" && got != c.text {
			t.Errorf("%s, want %s", got, c.text)
		}
	}
	if c := (Config{Bias: math.NaN()}).Named(); c.Check() == nil {
		t.Errorf("a bias that is no number is named %v", c)
	}
	for _, text := range Solver().(interface{ Starts(d, n int) []string }).Starts(30, 800) {
		if _, err := solver.Parse(text); err != nil {
			t.Error(err)
		}
	}
	if s := Solver().(interface{ Starts(d, n int) []string }).Starts(30, 800); len(s) != 4 || s[3] != "brkga{elites: 2, offspring: 10, mutants: 1, bias: 0.6, duplicates: true}" {
		t.Errorf("%q", s)
	}
	// A run by the solver is Run's.
	target := 11.0
	for _, j := range []solver.Job{{Evaluations: 77, Seed: 5}, {Seed: 6, Target: &target}} {
		j.Problem, j.Config = onemax.Random(1, 12), full.Named()
		want, err := Run(t.Context(), j.Problem, Settings{Config: full, Evaluations: j.Budget(), Seed: j.Seed, Target: j.Target})
		got, e := solver.Run(t.Context(), j)
		if err != nil || e != nil || !reflect.DeepEqual(got, solver.Result{Problem: want.Problem, X: want.X, Value: want.Value, Evaluations: want.Evaluations, Status: want.Status, History: want.History}) {
			t.Errorf("%+v, %v, %v; want %+v", got, e, err, want)
		}
	}
	bad := named(map[string]any{"elites": 0})
	if _, err := Solver().Run(t.Context(), []solver.Job{{Problem: onemax.Random(1, 3), Config: full.Named()}, {Problem: onemax.Random(1, 3), Config: bad}}, 1); err == nil || !strings.HasPrefix(err.Error(), "job 1: brkga: ") {
		t.Error(err)
	}
}

// Jobs on one problem are in teams, of at most 64 and so many that all workers have one.
func TestTeams(t *testing.T) {
	a, b, c := onemax.Random(1, 5), onemax.Random(2, 5), incomparable{flat{5}, nil}
	for _, x := range []struct {
		jobs    string // the problem of each
		workers int
		want    string
	}{
		{"", 1, ""}, {"a", 1, "0"}, {"a", 9, "0"}, {"abab", 1, "02 13"}, {"aaaaa", 2, "012 34"}, {"aaaaaa", 2, "012 345"}, {"aaaaaaa", 2, "0123 456"},
		{"aab", 3, "0 1 2"}, {"cca", 1, "0 1 2"}, {"baab", 2, "03 12"}, {"baaaab", 4, "05 12 34"},
	} {
		var jobs []Job
		for _, p := range x.jobs {
			jobs = append(jobs, Job{Problem: map[rune]problem.Problem{'a': a, 'b': b, 'c': c}[p]})
		}
		var got []string
		for _, team := range teams(jobs, x.workers) {
			got = append(got, strings.Trim(strings.ReplaceAll(fmt.Sprint(team), " ", ""), "[]"))
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s with %d workers: %q, want %s", x.jobs, x.workers, got, x.want)
		}
	}
	sizes := []int{}
	for _, team := range teams(slices.Repeat([]Job{{Problem: a}}, 130), 1) {
		sizes = append(sizes, len(team))
	}
	if !slices.Equal(sizes, []int{64, 64, 2}) {
		t.Errorf("teams of %v", sizes)
	}
}

// incomparable is a problem that cannot be a key of a map.
type incomparable struct {
	flat
	_ []int
}

func (incomparable) Evaluate(_ context.Context, dst []float64, x problem.Solutions) error {
	for i := range dst {
		dst[i] = float64(x.Ones(i))
	}
	return nil
}

// Problems that cannot be compared share no openings.
func TestIncomparable(t *testing.T) {
	s := Settings{Evaluations: 90}
	want, err := Run(t.Context(), incomparable{flat{5}, nil}, s)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := RunAll(openings.With(t.Context()), slices.Repeat([]Job{{incomparable{flat{5}, nil}, s}}, 3), 2)
	for _, r := range rs {
		if err != nil || !reflect.DeepEqual(r, want) {
			t.Errorf("%+v, %v; want %+v", r, err, want)
		}
	}
}

// A job's own error goes before those of jobs that it ended, and the progress ends with
// all evaluations.
func TestFirstError(t *testing.T) {
	why := errors.New("it breaks")
	begun := make(chan bool, 1)
	waits := problem.FromContext("waits", 5, func(ctx context.Context, _ []bool) (float64, error) {
		select {
		case begun <- true:
		default:
		}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	var seen context.Context
	breaks := problem.FromContext("breaks", 5, func(ctx context.Context, _ []bool) (float64, error) { <-begun; seen = ctx; return 0, why })
	ended := 0
	ctx := run.WithProgress(t.Context(), func(string) (func(run.Event), func()) { return func(run.Event) {}, func() { ended++ } })
	rs, err := RunAll(ctx, []Job{{waits, Settings{}}, {breaks, Settings{}}}, 2)
	if !errors.Is(err, why) || ended != 1 || seen.Err() == nil || rs[0].Status != run.Cancelled || rs[0].X != nil || rs[0].Evaluations != 0 {
		t.Errorf("%v, progress ended %d times, %+v", err, ended, rs)
	}
	var good context.Context
	keeps := problem.FromContext("keeps", 5, func(ctx context.Context, _ []bool) (float64, error) { good = ctx; return 0, nil })
	if _, err := RunAll(t.Context(), []Job{{keeps, Settings{}}}, 1); err != nil || good.Err() == nil {
		t.Errorf("%v; the context of runs that have ended: %v", err, good.Err())
	}
	for err, want := range map[error]bool{context.Canceled: true, context.DeadlineExceeded: true, why: false} {
		if isCtx(fmt.Errorf("wrapped: %w", err)) != want {
			t.Errorf("%v", err)
		}
	}
}

// The table of known solutions has at least 16 slots and is at most half full; where it has
// more than mostKnown words it begins anew.
func TestKnownSlots(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 7, 8, 1000, mostKnown, mostKnown + 1, 2 * mostKnown} {
		k := new(known)
		k.reset(1, n)
		if want := max(16, 2<<bits.Len(uint(min(n, mostKnown)))); len(k.slots) != want || k.shift != 64-bits.Len(uint(want-1)) {
			t.Errorf("for %d: %d slots, shift %d; want %d", n, len(k.slots), k.shift, want)
		}
	}
	k := new(known)
	k.reset(2, 0)
	for i := range 300 {
		k.find([]uint64{uint64(i), uint64(i) << 32})
		want := 16
		for want < 2*(i+1) {
			want *= 2
		}
		if len(k.slots) != want || len(k.words) != 2*(i+1) || len(k.values) != i+1 {
			t.Fatalf("%d solutions: %d slots, want %d", i+1, len(k.slots), want)
		}
	}
	for over := range 2 {
		k.values = k.values[:0]
		k.values = append(k.values, make([]float64, mostKnown/2+over)...)
		k.words = append(k.words[:0], make([]uint64, 2*len(k.values))...)
		if k.shrink(); (len(k.values) == 0) != (over == 1) {
			t.Errorf("%d values over: %d are left", over, len(k.values))
		}
	}
	b := newBatch(dear{flat{3}}, 5)
	if b.known == nil || b.x.D != 3 {
		t.Fatal("a costly problem's values are not looked up")
	}
	if b.release(); b.known != nil {
		t.Error("a table that was given back is kept")
	}
	b.release()
	if newBatch(flat{3}, 5).known != nil {
		t.Error("values are looked up of a problem that is not costly")
	}
}

// Nothing is looked up where one generation of one run spends the budget.
func TestOnlyOnce(t *testing.T) {
	p := dear{onemax.Random(1, 20)}
	for _, c := range []struct {
		keys        InitialKeys
		evaluations int
		runs        int
		known       int
	}{{BooleanKeys, 40, 1, 0}, {BooleanKeys, 90, 1, 90}, {UniformKeys, 40, 1, 40}, {BooleanKeys, 40, 2, 40}} {
		s, err := Settings{Config: Config{10, 20, 20, 0.5, false}, Evaluations: c.evaluations, InitialKeys: c.keys}.withDefaults(p)
		if err != nil {
			t.Fatal(err)
		}
		var all []*search
		for range c.runs {
			all = append(all, newSearch(p, s))
		}
		b := newBatch(p, 100)
		if err := b.evaluate(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		for i, v := range all[0].values() {
			if v != float64(all[0].pending().Ones(i)) && v != mustValue(t, p, all[0].pending().Row(i)) {
				t.Errorf("value %d is %v", i, v)
			}
		}
		if got, want := len(b.known.values), min(c.known, 50); got != want {
			t.Errorf("%+v: %d are known, want %d", c, got, want)
		}
		b.release()
	}
}

func mustValue(t *testing.T, p problem.Problem, row []uint64) float64 {
	dst := []float64{0}
	if err := p.Evaluate(t.Context(), dst, problem.Solutions{D: p.Dim(), Words: row}); err != nil {
		t.Fatal(err)
	}
	return dst[0]
}

// The set of individuals has room for four times as many, and is empty after each reset.
func TestTableReset(t *testing.T) {
	var x table
	for _, c := range []struct{ n, slots int }{{0, 16}, {3, 16}, {4, 32}, {1000, 4096}, {7, 32}, {1023, 4096}, {1024, 8192}} {
		if x.reset(c.n); len(x.slots) != c.slots || x.shift != 64-bits.Len(uint(c.slots-1)) || slices.ContainsFunc(x.slots, func(i int32) bool { return i != 0 }) {
			t.Errorf("for %d: %d slots, shift %d; want %d", c.n, len(x.slots), x.shift, c.slots)
		}
		for i := range x.slots {
			x.slots[i] = 1
		}
	}
}
