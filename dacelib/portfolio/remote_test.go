package portfolio_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
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
