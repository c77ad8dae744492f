package solver_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// A fake is a solver whose Run is a function, of a type that is none of the library's.
func fake(name string, run func(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error)) solver.Solver {
	return &struct{ solver.Solver }{faked{named{name}, run}}
}

type faked struct {
	named
	run func(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error)
}

func (f faked) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	return f.run(ctx, jobs, workers)
}

// picky is a solver for problems of its name.
type picky struct{ named }

func (p picky) Fits(q problem.Problem) error {
	if q.Name() == p.name {
		return nil
	}
	return errors.New("it is another")
}

// opaque is a problem that says whether it is one for no solver.
type opaque struct {
	problem.Problem
	is bool
}

func (o opaque) Opaque() bool { return o.is }

func config(t *testing.T, name string) solver.Config {
	t.Helper()
	c, err := solver.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Jobs of several solvers have their results in the jobs' order, those before an error too.
func TestRunAll(t *testing.T) {
	var failure error
	short := 0
	for _, name := range []string{"fake-a", "fake-b"} {
		solver.Register(fake(name, func(_ context.Context, jobs []solver.Job, workers int) (out []solver.Result, err error) {
			for _, j := range jobs {
				out = append(out, solver.Result{Problem: fmt.Sprint(name, j.Seed, workers)})
			}
			if name == "fake-b" {
				return out[:len(out)-short], failure
			}
			return out, nil
		}))
	}
	var jobs []solver.Job
	for i, name := range []string{"fake-b", "fake-a", "fake-a", "fake-b", "fake-a"} {
		jobs = append(jobs, solver.Job{Problem: onemax.Random(1, 5), Config: config(t, name), Seed: uint64(i)})
	}
	names := func(rs []solver.Result) (out []string) {
		for _, r := range rs {
			out = append(out, r.Problem)
		}
		return out
	}
	all := []string{"fake-b0 3", "fake-a1 3", "fake-a2 3", "fake-b3 3", "fake-a4 3"}
	if rs, err := solver.RunAll(t.Context(), jobs, 3); err != nil || !slices.Equal(names(rs), all) {
		t.Errorf("%q, %v; want %q", names(rs), err, all)
	}
	failure = errors.New("failed")
	if rs, err := solver.RunAll(t.Context(), jobs, 3); err != failure || !slices.Equal(names(rs), []string{"fake-b0 3", "", "", "fake-b3 3", ""}) {
		t.Errorf("%q, %v", names(rs), err)
	}
	failure, short = nil, 1
	if _, err := solver.RunAll(t.Context(), jobs, 3); err == nil || !strings.Contains(err.Error(), "fake-b returned 1 results of 2 jobs") {
		t.Error(err)
	}
	jobs[2].Config = config(t, "nobody")
	if rs, err := solver.RunAll(t.Context(), jobs[1:3], 3); err == nil || !slices.Equal(names(rs), []string{"fake-a1 3", ""}) || !strings.Contains(err.Error(), `none is called "nobody"`) {
		t.Errorf("%q, %v", names(rs), err)
	}
}

// A job that cannot be run is told by its number, before any has run.
func TestJobs(t *testing.T) {
	ran := 0
	solver.Register(fake("fake-c", func(_ context.Context, jobs []solver.Job, _ int) ([]solver.Result, error) {
		ran++
		return make([]solver.Result, len(jobs)), nil
	}))
	sized := func(d int) problem.Problem { return batches{d: d} }
	for i, c := range []struct {
		job  solver.Job
		want string
	}{
		{solver.Job{Problem: sized(1)}, ""}, {solver.Job{Problem: sized(problem.MaxDim), Evaluations: 1}, ""},
		{solver.Job{Problem: sized(problem.MaxDim + 1)}, "has dimension"}, {solver.Job{Problem: sized(0)}, "has dimension 0"},
		{solver.Job{}, "there is no problem"}, {solver.Job{Problem: (*onemax.Instance)(nil)}, "there is no problem"},
		{solver.Job{Problem: sized(1), Evaluations: -1}, "a budget of -1 evaluations"},
	} {
		c.job.Config = config(t, "fake-c")
		jobs := []solver.Job{{Problem: sized(3), Config: c.job.Config}, c.job}
		before := ran
		rs, err := solver.RunAll(t.Context(), jobs, 1)
		of := solver.FromFunc("fake-c", smac.Space{}, func(s *solver.Search) error { ran++; return nil })
		each, eachErr := solver.Each(t.Context(), of, jobs, 1, func(*solver.Search) error { return nil })
		if c.want == "" {
			if err != nil || ran != before+1 || eachErr != nil {
				t.Errorf("job %d: %v, %v", i, err, eachErr)
			}
			continue
		}
		for _, err := range []error{err, eachErr} {
			if err == nil || ran != before || !strings.HasPrefix(err.Error(), "job 1: solver: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("job %d: %v; want %s", i, err, c.want)
			}
		}
		if len(rs) != 2 || len(each) != 2 {
			t.Errorf("job %d: %d and %d results", i, len(rs), len(each))
		}
	}
	if (solver.Job{}).Budget() != 800 || (solver.Job{Evaluations: 1}).Budget() != 1 {
		t.Error("the budget is 800 where none is said")
	}
}

// Solvers come in the order of their names, and those that cannot run a problem are left out.
func TestFor(t *testing.T) {
	solver.Register(picky{named{"picky"}})
	var all, without []string
	for _, s := range solver.Families() {
		all = append(all, s.Name())
		if s.Name() != "picky" {
			without = append(without, s.Name())
		}
	}
	if !slices.IsSorted(all) || !slices.Contains(all, "anneal") || !slices.Contains(all, "picky") {
		t.Errorf("solvers %q", all)
	}
	its, other := problem.FromFunc("picky", 3, nothing), problem.FromFunc("other", 3, nothing)
	for i, c := range []struct {
		problems []problem.Problem
		want     []string
	}{
		{nil, all}, {[]problem.Problem{its}, all}, {[]problem.Problem{its, other}, without}, {[]problem.Problem{other}, without},
		{[]problem.Problem{opaque{its, false}}, all}, {[]problem.Problem{opaque{its, true}}, []string{"picky"}}, {[]problem.Problem{opaque{other, true}}, nil},
	} {
		var got []string
		for _, s := range solver.For(c.problems) {
			got = append(got, s.Name())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("problems %d: %q, want %q", i, got, c.want)
		}
	}
}

func nothing([]bool) float64 { return 0 }

// A search has the parameters of the solver's space for its dimension and budget.
func TestParameters(t *testing.T) {
	of := sized{named{"sized"}}
	solver.Register(of)
	checked := solver.Job{Problem: onemax.Random(1, 12), Config: parse(t, `sized{choice: y}`), Evaluations: 34}
	seen := false
	if _, err := solver.Each(t.Context(), of, []solver.Job{checked}, 1, func(s *solver.Search) error {
		seen = true
		if s.Int("d") != 12 || s.Number("n") != 34 || s.Flag("no") || !s.Flag("yes") || s.Choice("choice") != "y" || s.Dim() != 12 || s.Budget() != 34 || s.Problem() != checked.Problem {
			t.Errorf("d %d, n %v, no %v, yes %v, choice %s of %+v", s.Int("d"), s.Number("n"), s.Flag("no"), s.Flag("yes"), s.Choice("choice"), s)
		}
		defer func() {
			if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "its Space does not have: dd") {
				t.Errorf("an unknown parameter: %v", r)
			}
		}()
		s.Int("dd")
		return nil
	}); err != nil || !seen {
		t.Error(err)
	}
	bad := config(t, "sized")
	bad, _ = bad.With("d", "x")
	checked.Config = bad
	if _, err := solver.Each(t.Context(), of, []solver.Job{checked}, 1, func(*solver.Search) error { t.Error("it runs"); return nil }); err == nil || !strings.Contains(err.Error(), `d is "x"`) {
		t.Error(err)
	}
}

// sized is a solver whose space says for what it was asked.
type sized struct{ named }

func (sized) Space(d, n int) smac.Space {
	return smac.Space{Params: []smac.Param{
		{Name: "d", Kind: smac.Int, Hi: 1 << 20, Default: float64(d)}, {Name: "n", Hi: 1 << 20, Default: float64(n)}, {Name: "no", Kind: smac.Bool},
		{Name: "yes", Kind: smac.Bool, Default: 1}, {Name: "choice", Kind: smac.Category, Choices: []string{"x", "y"}},
	}}
}

// Where a job fails, the others end; the context of all ends with them.
func TestFirstError(t *testing.T) {
	begun := make(chan context.Context, 1)
	waits := problem.FromContext("waits", 3, func(ctx context.Context, _ []bool) (float64, error) {
		begun <- ctx
		<-ctx.Done()
		return 0, ctx.Err()
	})
	why := errors.New("it breaks")
	var seen context.Context
	breaks := problem.FromContext("breaks", 3, func(context.Context, []bool) (float64, error) {
		seen = <-begun
		return 0, why
	})
	once := func(s *solver.Search) error { s.BoolValue(make([]bool, 3)); return nil }
	of := solver.FromFunc("once", smac.Space{}, once)
	solver.Register(of)
	rs, err := solver.Each(t.Context(), of, []solver.Job{{Problem: breaks, Config: config(t, "once")}, {Problem: waits, Config: config(t, "once")}}, 2, once)
	if !errors.Is(err, why) || rs[0].Evaluations != 0 || rs[1].Status.String() != "cancelled" || seen.Err() == nil {
		t.Errorf("%+v, %v", rs, err)
	}
	var good context.Context
	keeps := problem.FromContext("keeps", 3, func(ctx context.Context, _ []bool) (float64, error) { good = ctx; return 0, ctx.Err() })
	if _, err := solver.Each(t.Context(), of, []solver.Job{{Problem: keeps, Config: config(t, "once")}, {Problem: keeps, Config: config(t, "once")}}, 1, once); err != nil || good.Err() == nil {
		t.Errorf("%v; the context of runs that have ended: %v", err, good.Err())
	}
}

// costly is a problem whose values are to be looked up.
type costly struct {
	problem.Problem
	is bool
}

func (c costly) Costly() bool { return c.is }

// Where a problem says that it is costly, a value asked for again counts and is looked up.
func TestLooksUp(t *testing.T) {
	for _, is := range []bool{false, true} {
		counted := problem.Count(onemax.Random(1, 4), 100)
		r := searched(t, costly{counted, is}, 3, func(s *solver.Search) error {
			for range 3 {
				s.BoolValue(make([]bool, 4))
			}
			return nil
		})
		if want := map[bool]int{false: 3, true: 1}[is]; counted.Evaluations() != want || r.Evaluations != 3 {
			t.Errorf("costly %v: %d evaluations, and the result says %d", is, counted.Evaluations(), r.Evaluations)
		}
	}
}

// A solution of another length than the problem's has no value.
func TestWrongLength(t *testing.T) {
	for _, n := range []int{0, 3, 5, 80} {
		wrong := solver.FromFunc(fmt.Sprint("wrong", n), smac.Space{}, func(s *solver.Search) error { s.BoolValue(make([]bool, n)); return nil })
		solver.Register(wrong)
		_, err := solver.Run(t.Context(), solver.Job{Problem: onemax.Random(1, 4), Evaluations: 3, Config: config(t, fmt.Sprint("wrong", n)), Seed: 1})
		if want := fmt.Sprintf("a solution of dimension %d, want 4", n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bits: %v, want %s", n, err, want)
		}
	}
}

// A search whose moves all lead to known solutions ends after 100,000 and 1,000 d of them.
func TestMostKnown(t *testing.T) {
	calls := 0
	r := searched(t, onemax.Random(1, 3), 10, func(s *solver.Search) error {
		s.Remember()
		for x := make([]uint64, 1); !s.Over(); calls++ {
			s.Value(x)
		}
		return nil
	})
	if calls != 1+103_001 || r.Evaluations != 1 || r.Status.String() != "converged" {
		t.Errorf("%d calls, %d evaluations, %v", calls, r.Evaluations, r.Status)
	}
}

// A type of solvers with a codec travels, under its kind; another's stays.
func TestCodec(t *testing.T) {
	strange := fake("strange", nil)
	solver.Register(strange)
	if err := solver.Stays("strange"); err == nil || solver.Travels("strange") || !strings.Contains(err.Error(), "strange cannot travel to a farm: its type is *struct") {
		t.Error(err)
	}
	pool := farm.Local(1)
	pk := farm.NewPacker(t.Context(), pool)
	if key, err := solver.Pack(pk, []string{"strange"}); err == nil || key != "" || !strings.Contains(err.Error(), "its type is *struct") {
		t.Error(key, err)
	}
	var fails error
	solver.RegisterCodec("plain", plain{}, solver.Codec{
		Encode: func(_ *farm.Packer, s solver.Solver) ([]byte, error) { return json.Marshal(s.(plain).N + 1) },
		Decode: func(_ context.Context, _ *farm.Env, name string, data []byte) (solver.Solver, error) {
			p := plain{named: named{name}}
			return p, errors.Join(fails, json.Unmarshal(data, &p.N))
		},
	})
	solver.Register(plain{named{"plain-b"}, 4})
	solver.Register(plain{named{"plain-a"}, 7})
	if !solver.Travels("plain-b") || !solver.Travels("anneal") || solver.Travels("nobody") {
		t.Error("a type with a codec and the library's travel")
	}
	if key, err := solver.Pack(pk, []string{"anneal", "brkga"}); key != "" || err != nil {
		t.Errorf("the library's solvers are packed as %q, %v", key, err)
	}
	key, err := solver.Pack(pk, []string{"plain-b", "anneal", "plain-a", "plain-b"})
	if err != nil {
		t.Fatal(err)
	}
	blob, err := pool.Get(t.Context(), key)
	if want := `[{"kind":"plain","name":"plain-a","data":8},{"kind":"plain","name":"plain-b","data":5}]`; err != nil || string(blob) != want {
		t.Errorf("%s, %v; want %s", blob, err, want)
	}
	there, err := solver.Unpack(t.Context(), farm.NewEnv(1, pool.Get, pool.Put), key)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := solver.Find(there, "plain-b"); err != nil || !reflect.DeepEqual(s, plain{named{"plain-b"}, 5}) {
		t.Errorf("%+v, %v", s, err)
	}
	fails = errors.New("it is too old")
	if ctx, err := solver.Unpack(t.Context(), farm.NewEnv(1, pool.Get, pool.Put), key); ctx != nil || !errors.Is(err, fails) || !strings.HasPrefix(err.Error(), "solver: plain-a: ") {
		t.Error(ctx, err)
	}
}

type plain struct {
	named
	N int
}

// A function is made again and compared in three runs of 60 evaluations, on 11 bits that
// count where they change; its JSON tells it from another.
func TestProof(t *testing.T) {
	seen := 0
	again := func(s *solver.Search) error {
		x := make([]bool, s.Dim())
		zero := s.BoolValue(x)
		x[0] = true
		first := s.BoolValue(x)
		x[0], x[10] = false, true
		last := s.BoolValue(x)
		if seen++; s.Dim() != 11 || s.Budget() != 60 || zero != 0 || first != 0 || last != 1.5 {
			t.Errorf("%d bits, %d evaluations, values %v, %v, %v", s.Dim(), s.Budget(), zero, first, last)
		}
		return nil
	}
	own := solver.FromFunc("proved", smac.Space{}, again)
	solver.Register(own)
	bare, err := json.Marshal(own)
	if err != nil || string(bare) != `{"space":{"Params":null},"source":""}` {
		t.Errorf("%s, %v", bare, err)
	}
	(&carried{source: "text", again: []func(*solver.Search) error{again}}).carry(t)
	if b, err := json.Marshal(own); err != nil || !strings.Contains(string(b), fmt.Sprintf(`"source":"%x"`, sha256.Sum256([]byte("text")))) {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := solver.Pack(farm.NewPacker(t.Context(), farm.Local(1)), []string{"proved"}); err != nil || seen != 6 {
		t.Errorf("%d runs, %v", seen, err)
	}
}

// On a noisy problem the result is the final choice among the best solutions, however they
// were asked for.
func TestNoisy(t *testing.T) {
	p := problem.Noisy(problem.FromSeeded("noisy", 8, func(_ context.Context, x []bool, seed uint64) (float64, error) {
		v := run.Rand(seed, "noise").Float64()
		for _, b := range x[:4] {
			if b {
				v += 0.1
			}
		}
		return v, nil
	}), problem.Noise{Repeats: 1, Independent: true})
	x := problem.Random(run.Rand(5, "x"), 40, 8)
	y := make([]float64, x.Len())
	if err := p.Evaluate(t.Context(), y, x); err != nil {
		t.Fatal(err)
	}
	final := problem.NewFinal(p)
	for i := range y {
		final.Add(x.Row(i), y[i])
	}
	row, value, ok, err := final.Choose(t.Context())
	if err != nil || !ok || value == slices.Max(y) {
		t.Fatal(value, ok, err)
	}
	want := problem.Solutions{D: 8, Words: row}.Bools(0)
	for name, f := range map[string]func(s *solver.Search){
		"one by one": func(s *solver.Search) {
			for i := range x.Len() {
				s.Value(x.Row(i))
			}
		},
		"together":   func(s *solver.Search) { s.Values(make([]float64, 40), x) },
		"remembered": func(s *solver.Search) { s.Remember(); s.Values(make([]float64, 40), x) },
	} {
		r := searched(t, p, 1000, func(s *solver.Search) error { f(s); return nil })
		if r.Value != value || !slices.Equal(r.X, want) {
			t.Errorf("%s: %v of %v, want %v of %v", name, r.Value, r.X, value, want)
		}
	}
}
