package portfolio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
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

// backwards is a pool that has computed the last unit first, and spoils results.
type backwards struct {
	farm.Pool
	spoil func(result []byte) []byte
}

func (b backwards) Do(ctx context.Context, units []farm.Unit, done func(i int, result []byte) error) error {
	results := make([][]byte, len(units))
	if err := b.Pool.Do(ctx, units, func(i int, r []byte) error { results[i] = r; return nil }); err != nil {
		return err
	}
	for i := len(units) - 1; i >= 0; i-- {
		if err := done(i, b.spoil(results[i])); err != nil {
			return err
		}
	}
	return nil
}

func unspoiled(r []byte) []byte { return r }

// A farm changes neither what a test nor what a normalisation finds, and events come in
// the instances' order whichever is done first.
func TestFarm(t *testing.T) {
	ctx := context.Background()
	three := append(instances(), onemax.Random(3, 20))
	pap := portfolio.BRKGA("pap", []brkga.Config{brkga.Default(), {Elites: 5, Offspring: 10, Mutants: 5, Bias: 0.6}})
	tested := func(pool farm.Pool) (out []portfolio.Result, events []run.Event, err error) {
		s := small
		s.Farm, s.OnEvent = pool, func(e run.Event) { events = append(events, e) }
		out, err = pap.Run(ctx, three, s)
		return out, events, err
	}
	want, wantEvents, err := tested(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, pool := range map[string]farm.Pool{"local": farm.Local(1), "backwards": backwards{farm.Local(2), unspoiled}} {
		got, events, err := tested(pool)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
		if len(events) != 3 {
			t.Fatalf("%s: %d events", name, len(events))
		}
		for i, e := range events {
			if w := wantEvents[i]; e.Step != i+1 || e.Value != want[i].Mean || e.Best != w.Best || e.Detail != w.Detail {
				t.Errorf("%s: event %d is %+v, want %+v", name, i, e, w)
			}
		}
	}
	for _, sample := range []int{2, 12_345} {
		want, err := portfolio.Normalise(ctx, three, sample, 3)
		if err != nil {
			t.Fatal(err)
		}
		got, err := portfolio.NormaliseOn(ctx, farm.Local(2), three, sample, 3)
		if err != nil || len(got) != len(want) {
			t.Fatal(got, err)
		}
		for i := range want {
			if g, w := got[i].(*portfolio.Instance).Range(), want[i].(*portfolio.Instance).Range(); g != w {
				t.Errorf("%d solutions of instance %d: %v on a farm, %v here", sample, i, g, w)
			}
		}
	}
}

// failing is an instance that travels and has no values.
type failing struct{ *onemax.Instance }

func (failing) Evaluate(context.Context, []float64, problem.Solutions) error {
	return errors.New("the instance has no value")
}

func init() {
	farm.RegisterProblem("failing", failing{}, farm.Codec{
		Encode: func(*farm.Packer, problem.Problem) ([]byte, error) { return []byte("0"), nil },
		Decode: func(context.Context, *farm.Env, []byte) (problem.Problem, error) {
			return failing{onemax.Random(1, 12)}, nil
		},
	})
}

// What a worker sends that is no result, and an instance that fails there, are errors.
func TestFarmFails(t *testing.T) {
	ctx := context.Background()
	spoiled := backwards{farm.Local(1), func([]byte) []byte { return []byte("{") }}
	if _, err := portfolio.NormaliseOn(ctx, spoiled, instances(), 100, 1); err == nil || !strings.Contains(err.Error(), "JSON") {
		t.Errorf("half a range: %v", err)
	}
	one, err := json.Marshal(map[string]farm.Floats{"range": {1}})
	if err != nil {
		t.Fatal(err)
	}
	short := backwards{farm.Local(1), func([]byte) []byte { return one }}
	if _, err := portfolio.NormaliseOn(ctx, short, instances(), 100, 1); err == nil || !strings.Contains(err.Error(), "a range of 1 numbers") {
		t.Error(err)
	}
	s := small
	s.Farm = spoiled
	if _, err := portfolio.BRKGAPAP().Run(ctx, instances(), s); err == nil {
		t.Error("half a result is taken")
	}
	s.Farm = farm.Local(1)
	if _, err := portfolio.BRKGAPAP().Run(ctx, []problem.Problem{failing{onemax.Random(1, 12)}}, s); err == nil || !strings.Contains(err.Error(), "has no value") {
		t.Errorf("an instance that fails on a worker: %v", err)
	}
	unknown := portfolio.BRKGA("zero", []brkga.Config{{}})
	_, here := unknown.Run(ctx, instances(), small)
	if _, err := unknown.Run(ctx, instances(), s); here == nil || err == nil || !strings.Contains(err.Error(), "elites") || !strings.Contains(here.Error(), "elites") {
		t.Errorf("a configuration that is none: %v on a farm, %v here", err, here)
	}
}

// Why a worker cannot make a solver again is the error of the run.
func TestFarmLacksSolver(t *testing.T) {
	walk := func(s *solver.Search) error { s.BoolValue(make([]bool, s.Dim())); return nil }
	solver.Register(solver.FromFunc("walk", smac.Space{}, walk))
	made := 0
	farm.SetCarrier(farm.Carrier{
		Pack: func(any) ([]byte, error) { return []byte("walk"), nil },
		Make: func(context.Context, []byte, []byte, string) (farm.Carried, error) {
			if made++; made > 1 { // the first is made here, to be compared
				return farm.Carried{}, errors.New("no compiler")
			}
			return farm.Carried{Value: []func(*solver.Search) error{walk}}, nil
		},
	})
	t.Cleanup(func() { farm.SetCarrier(farm.Carrier{}) })
	member, err := solver.New("walk", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := small
	s.Farm = farm.Local(1)
	pap := portfolio.Portfolio{Name: "walk", Members: []solver.Config{member}}
	if _, err := pap.Run(t.Context(), instances(), s); err == nil || !strings.Contains(err.Error(), "no compiler") || made != 2 {
		t.Errorf("made %d times: %v", made, err)
	}
}

// A farm finds the ranges that a search here finds, and says which instance has none.
func TestNormaliseBySearchOn(t *testing.T) {
	ctx := context.Background()
	const evaluations, seed = 60, 3
	good := instances()
	out, made, err := portfolio.NormaliseBySearchOn(ctx, farm.Local(2), good, evaluations, seed)
	if err != nil || made != 2*2*evaluations {
		t.Fatalf("%d evaluations, %v", made, err)
	}
	for i, p := range good {
		want, err := portfolio.NormaliseBySearch(ctx, p, evaluations, seed)
		if err != nil || out[i].(*portfolio.Instance).Range() != want.Range() {
			t.Errorf("instance %d: %v on a farm, %v here, %v", i, out[i], want, err)
		}
	}
	never := portfolio.Within(good[0], portfolio.Range{Min: math.Inf(1)}) // its values are -Inf
	out, _, err = portfolio.NormaliseBySearchOn(ctx, farm.Local(2), []problem.Problem{never, good[1]}, evaluations, seed)
	if !errors.Is(err, portfolio.ErrNoRange) || len(out) != 2 || out[0] != nil || out[1] == nil {
		t.Errorf("an instance without values: %v, %v", out, err)
	}
}

// A normalisation looks at as many solutions as it says, and an instance passes on why
// it has no value.
func TestNormaliseCounts(t *testing.T) {
	ctx := context.Background()
	counted := problem.Count(onemax.Random(1, 12), math.MaxInt)
	if _, err := portfolio.Normalise(ctx, []problem.Problem{counted}, 25_000, 1); err != nil || counted.Evaluations() != 25_000 {
		t.Errorf("%d solutions, %v", counted.Evaluations(), err)
	}
	if _, err := portfolio.Normalise(ctx, []problem.Problem{onemax.Random(1, 12)}, 1, 1); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Error(err)
	}
	why := errors.New("it is broken")
	broken := false
	n := portfolio.Within(problem.FromContext("breaks", 5, func(context.Context, []bool) (float64, error) {
		if broken {
			return 0, why
		}
		return 1, nil
	}), portfolio.Range{Min: 0, Max: 2})
	if v, err := problem.Value(ctx, n, make([]bool, 5)); err != nil || v != 0.5 {
		t.Error(v, err)
	}
	broken = true
	if _, err := problem.Value(ctx, n, make([]bool, 5)); !errors.Is(err, why) {
		t.Errorf("the error is %v", err)
	}
}

// The defaults are the paper's: 800 evaluations a member, 20 repeats.
func TestDefaults(t *testing.T) {
	r, err := portfolio.BRKGA("one", []brkga.Config{brkga.Default()}).Run(context.Background(), []problem.Problem{onemax.Random(1, 40)}, portfolio.Settings{})
	if err != nil || len(r[0].Values) != 20 || r[0].Evaluations != 20*800 {
		t.Errorf("%d values of %d evaluations, %v", len(r[0].Values), r[0].Evaluations, err)
	}
}

func TestMemberSeedsString(t *testing.T) {
	for m, want := range map[portfolio.MemberSeeds]string{-1: "MemberSeeds(-1)", portfolio.SeedsByReading: "by reading", portfolio.OwnSeeds: "own", portfolio.SharedSeed: "shared", 3: "MemberSeeds(3)"} {
		if m.String() != want {
			t.Errorf("%d: %s", int(m), m)
		}
	}
}

// A recorder is a pool that keeps the units it is given.
type recorder struct {
	farm.Pool
	units []farm.Unit
	fails error // of Put
}

func (r *recorder) Do(ctx context.Context, units []farm.Unit, done func(i int, result []byte) error) error {
	r.units = append(r.units, units...)
	return r.Pool.Do(ctx, units, done)
}

func (r *recorder) Put(ctx context.Context, blob []byte) (string, error) {
	if r.fails != nil {
		return "", r.fails
	}
	return r.Pool.Put(ctx, blob)
}

// The units of a run, of a sample and of searches have the instances' names, and as many
// items as they have runs, chunks or searches.
func TestUnits(t *testing.T) {
	pool := &recorder{Pool: farm.Local(1)}
	units := func() (out []string) {
		for _, u := range pool.units {
			var d struct{ Index, Sample, From, To, Evaluations, Repeats int }
			if err := json.Unmarshal(u.Data, &d); err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %d %s %v", u.Kind, u.Items, u.Name, d))
		}
		pool.units = nil
		return out
	}
	ps := instances()
	s := small
	s.Farm = pool
	if _, err := portfolio.BRKGAPAP().Run(t.Context(), ps, s); err != nil {
		t.Fatal(err)
	}
	if got, want := units(), []string{"test 12 onemax-30/1 {0 0 0 0 120 3}", "test 12 onemax-40/2 {1 0 0 0 120 3}"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for sample, want := range map[int][]string{
		2:      {"extremes 1 onemax-30/1 {0 2 0 1 0 0}", "extremes 1 onemax-40/2 {1 2 0 1 0 0}"},
		10_000: {"extremes 1 onemax-30/1 {0 10000 0 1 0 0}", "extremes 1 onemax-40/2 {1 10000 0 1 0 0}"},
		// Three chunks each, of six in all: two in a unit.
		20_001: {"extremes 2 onemax-30/1 {0 20001 0 2 0 0}", "extremes 1 onemax-30/1 {0 20001 2 3 0 0}", "extremes 2 onemax-40/2 {1 20001 0 2 0 0}", "extremes 1 onemax-40/2 {1 20001 2 3 0 0}"},
	} {
		pool.Pool = farm.Local(1) // which knows no rates yet
		if _, err := portfolio.NormaliseOn(t.Context(), pool, ps, sample, 1); err != nil {
			t.Fatal(err)
		}
		if got := units(); !slices.Equal(got, want) {
			t.Errorf("%d solutions: %q, want %q", sample, got, want)
		}
	}
	if _, _, err := portfolio.NormaliseBySearchOn(t.Context(), pool, ps, 60, 1); err != nil {
		t.Fatal(err)
	}
	if got, want := units(), []string{"extremes 1 onemax-30/1 {0 0 0 0 60 0}", "extremes 1 onemax-40/2 {1 0 0 0 60 0}"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// The default sample is the paper's, and what no farm is for is told as here.
	if out, err := portfolio.NormaliseOn(t.Context(), pool, []problem.Problem{onemax.Random(1, 2)}, 0, 1); err != nil || out[0].(*portfolio.Instance).Range() != (portfolio.Range{Max: 2}) {
		t.Error(out, err)
	}
	items := 0
	for _, u := range pool.units {
		items += u.Items
	}
	if units(); items != 100 {
		t.Errorf("%d chunks of 10,000", items)
	}
	for sample, text := range map[int]string{1: "by 1 solutions; at least 2", -1: "by -1 solutions; at least 2"} {
		if _, err := portfolio.NormaliseOn(t.Context(), pool, ps, sample, 1); err == nil || !strings.Contains(err.Error(), text) || pool.units != nil {
			t.Errorf("%d: %v", sample, err)
		}
	}
	if out, err := portfolio.NormaliseOn(t.Context(), nil, ps[:1], 20, 1); err != nil || len(out) != 1 {
		t.Error(out, err)
	}
	if out, err := portfolio.NormaliseOn(t.Context(), pool, []problem.Problem{portfolio.Within(ps[0], portfolio.Range{Min: math.Inf(1)})}, 20, 1); out != nil || !errors.Is(err, portfolio.ErrNoRange) || !strings.Contains(err.Error(), "by 20 solutions") {
		t.Error(out, err)
	}
	out, made, err := portfolio.NormaliseBySearchOn(t.Context(), pool, []problem.Problem{portfolio.Within(ps[0], portfolio.Range{Min: math.Inf(1)}), ps[1]}, 60, 1)
	if out == nil || made != 240 || !errors.Is(err, portfolio.ErrNoRange) || !strings.Contains(err.Error(), "by 120 solutions") {
		t.Error(made, err)
	}
	pool.fails = errors.New("the store is full")
	if _, err := portfolio.NormaliseOn(t.Context(), pool, ps, 20, 1); !errors.Is(err, pool.fails) {
		t.Error(err)
	}
	if _, _, err := portfolio.NormaliseBySearchOn(t.Context(), pool, ps, 20, 1); !errors.Is(err, pool.fails) {
		t.Error(err)
	}
	if _, err := portfolio.BRKGAPAP().Run(t.Context(), ps, s); !errors.Is(err, pool.fails) {
		t.Error(err)
	}
}

// floats returns numbers as units have them.
func floats(v ...float64) string {
	b, err := json.Marshal(farm.Floats(v))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A worker refuses units that are none, with the reason.
func TestUnitsRefused(t *testing.T) {
	pool := farm.Local(1)
	pk := farm.NewPacker(t.Context(), pool)
	key, err := pk.Problems([]problem.Problem{onemax.Random(1, 8), portfolio.Within(onemax.Random(1, 8), portfolio.Range{Min: 2, Max: 4})})
	if err != nil {
		t.Fatal(err)
	}
	compute := func(kind string, data any) (string, error) {
		u, err := farm.NewUnit(kind, data, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out string
		err = pool.Do(t.Context(), []farm.Unit{u}, func(_ int, b []byte) error { out = string(b); return nil })
		return out, err
	}
	m := func(key string, more ...any) map[string]any {
		d := map[string]any{"problems": key}
		for i := 0; i < len(more); i += 2 {
			d[more[i].(string)] = more[i+1]
		}
		return d
	}
	for i, c := range []struct {
		kind string
		data any
		want string // of the error; else the result, after an =
	}{
		{"test", 7, "json"}, {"extremes", 7, "json"}, {"test", m("nowhere"), "nowhere"}, {"extremes", m("nowhere"), "nowhere"},
		{"test", m(key, "solvers", "nowhere"), "nowhere"},
		{"extremes", m(key, "from", -1, "to", 1, "sample", 5), "chunks -1 to 1 of 5"}, {"extremes", m(key, "from", 1, "to", 0, "sample", 5), "chunks 1 to 0 of 5"},
		{"extremes", m(key, "from", 1<<30+1, "to", 1<<30+1, "sample", 5), "chunks"}, {"extremes", m(key, "to", 1, "sample", -1), "of -1 solutions"},
		{"extremes", m(key, "from", 1<<30, "to", 1<<30, "sample", 5), `={"range":` + floats(math.Inf(1), math.Inf(-1)) + `,"evaluations":0}`},
		{"extremes", m(key, "from", 0, "to", 1, "sample", 5000, "seed", 1), `={"range":` + floats(0, 8) + `,"evaluations":5000}`},
		{"extremes", m(key, "index", 1, "from", 0, "to", 1, "sample", 5000, "seed", 1), `={"range":` + floats(-1, 3) + `,"evaluations":5000}`},
		{"extremes", m(key, "evaluations", 600, "seed", 1), `={"range":` + floats(0, 8) + `,"evaluations":1200}`},
	} {
		got, err := compute(c.kind, c.data)
		if want, ok := strings.CutPrefix(c.want, "="); ok && (err != nil || got != want) || !ok && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("unit %d: %s, %v; want %s", i, got, err, c.want)
		}
	}
	pap := portfolio.BRKGAPAP()
	if _, err := pap.RemoteUnit(pk, key, 0, portfolio.Settings{Repeats: -1}); err == nil {
		t.Error("a unit of settings that are none")
	}
	if _, err := (portfolio.Portfolio{Members: []solver.Config{{}}}).RemoteUnit(pk, key, 0, small); err == nil || !strings.Contains(err.Error(), `none is called ""`) {
		t.Error(err)
	}
	for text, want := range map[string]string{`{"members":[` + floats(1, 2) + `]}`: "a worker returned 2 members of 4", `{"members":[` + floats(1, 2, 3, 4, 5) + `]}`: "a worker returned 5 members of 4", "7": "portfolio: the result of a worker: json"} {
		if _, err := pap.RemoteResult([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	want := portfolio.Result{
		Problem: "p", Dim: 2, Members: [][]float64{{-4, -3, -5, -4}, {-2, -1, math.Inf(-1), -7}}, Values: []float64{-3, -1}, Mean: -2, Best: []bool{true, false}, BestValue: -1,
		BestMember: 1, BestName: "[20, 70, 10, 0.70, T]", Runs: 8, Evaluations: 9,
	}
	if r, err := pap.RemoteResult([]byte(`{"problem":"p","dim":2,"members":[` + floats(-4, -3, -5, -4) + "," + floats(-2, -1, math.Inf(-1), -7) + `],"best":[true,false],"best_member":1,"evaluations":9}`)); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v; want %+v", r, err, want)
	}
}

// An instance travels with its range, and data that are none are refused.
func TestInstanceTravels(t *testing.T) {
	pool := farm.Local(1)
	inner := problem.FromFunc("stays", 3, func([]bool) float64 { return 0 })
	if _, err := farm.NewPacker(t.Context(), pool).Problems([]problem.Problem{portfolio.Within(inner, portfolio.Range{})}); err == nil {
		t.Error("a function of this program travels")
	}
	for text, want := range map[string]string{
		"7": "json", `{"range":` + floats(1) + `}`: "a range of 1 numbers", `{"range":` + floats(1, 2, 3) + `}`: "a range of 3 numbers", `{"of":{"type":"nobody"},"range":` + floats(1, 2) + `}`: "nobody",
	} {
		p, err := farm.NewEnv(1, pool.Get, pool.Put).Problem(t.Context(), &farm.Spec{Type: "within", Data: json.RawMessage(text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, p, err, want)
		}
	}
}
