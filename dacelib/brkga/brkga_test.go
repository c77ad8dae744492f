package brkga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
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

// kinds returns settings of all kinds, small enough to run often.
func kinds() []Settings {
	var all []Settings
	for _, c := range []Config{
		{}, {20, 70, 10, 0.7, false}, {20, 70, 10, 0.7, true}, {2, 7, 2, 0.69, true}, {1, 156, 22, 0.42, false},
	} {
		for _, s := range []Settings{
			{}, {Children: OneChild}, {DuplicateRule: ByEverySolution}, {DuplicateRule: ByValue}, {InitialKeys: UniformKeys},
			{FinishGeneration: true}, Pymoo062(),
		} {
			s.Config, s.Seed = c, 11
			all = append(all, s)
		}
	}
	return all
}

// same reports whether two results are equal, ignoring function fields.
func same(a, b Result) bool {
	a.Settings.OnEvent, b.Settings.OnEvent = nil, nil
	return reflect.DeepEqual(a, b)
}

// TestBudget checks that the budget is exact, or ends with its generation, and
// that history and events agree.
func TestBudget(t *testing.T) {
	for _, d := range []int{30, 100} {
		for _, s := range kinds() {
			p := problem.Count(onemax.Random(1, d), 0)
			var last run.Event
			s.OnEvent = func(e run.Event) { last = e }
			r, err := Run(context.Background(), p, s)
			if err != nil {
				t.Fatal(err)
			}
			if r.Evaluations != p.Evaluations() || r.Status != run.BudgetSpent {
				t.Errorf("%+v: %d evaluations of %d, %v", s, r.Evaluations, p.Evaluations(), r.Status)
			}
			c := r.Settings.Config
			if past := r.Evaluations - 800; past != 0 && (!s.FinishGeneration || past < 0 || past >= c.Elites+c.Offspring+c.Mutants) {
				t.Errorf("%+v: %d evaluations", s, r.Evaluations)
			}
			x, best := p.Best()
			if best != r.Value || !reflect.DeepEqual(x, r.X) {
				t.Errorf("%+v: best %v, but %v was evaluated", s, r.Value, best)
			}
			if n := len(r.History); n == 0 || r.History[n-1].Best != r.Value || r.History[0].Evaluations != 1 {
				t.Errorf("%+v: history %v of best %v", s, r.History, r.Value)
			}
			for i := 1; i < len(r.History); i++ {
				if a, b := r.History[i-1], r.History[i]; a.Best >= b.Best || a.Evaluations >= b.Evaluations {
					t.Errorf("%+v: history %v", s, r.History)
				}
			}
			if last.Step != r.Evaluations || last.Total != 800 || last.Best != r.Value || last.Value > last.Best {
				t.Errorf("%+v: last event %+v", s, last)
			}
		}
	}
}

// TestSame checks that a run is determined by its settings, whatever runs are
// made along with it.
func TestSame(t *testing.T) {
	ps := []problem.Problem{onemax.Random(1, 30), onemax.Random(2, 70), problem.FromFunc("ones", 20, func(x []bool) float64 {
		n := 0.0
		for _, b := range x {
			if b {
				n++
			}
		}
		return n
	})}
	var jobs []Job
	var want []Result
	for i, s := range kinds() {
		for j, p := range ps {
			s.Seed = uint64(i + j)
			jobs = append(jobs, Job{p, s})
			r, err := Run(context.Background(), p, s)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, r)
		}
	}
	for _, workers := range []int{1, 2, 8, 0} {
		got, err := RunAll(context.Background(), jobs, workers)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !same(got[i], want[i]) {
				t.Errorf("%d workers, job %d: %+v, alone %+v", workers, i, got[i], want[i])
			}
		}
	}
}

// TestBatches checks that jobs on one problem share their batches.
func TestBatches(t *testing.T) {
	largest := 0
	p := problem.FromBatch("batches", 30, func(dst []float64, x problem.Solutions) {
		largest = max(largest, x.Len())
		for i := range dst {
			dst[i] = float64(x.Ones(i))
		}
	})
	jobs := make([]Job, 20)
	for i := range jobs {
		jobs[i] = Job{p, Settings{Config: Config{20, 70, 10, 0.7, false}, Seed: uint64(i)}}
	}
	if _, err := RunAll(context.Background(), jobs, 1); err != nil {
		t.Fatal(err)
	}
	if largest != 20*100 {
		t.Errorf("the largest batch has %d solutions, want 2000", largest)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := Settings{Config: Config{20, 70, 10, 0.7, false}, Seed: 3}
	s.OnEvent = func(e run.Event) {
		if e.Step >= 400 {
			cancel()
		}
	}
	p := onemax.Random(1, 60)
	r, err := Run(ctx, p, s)
	if !errors.Is(err, context.Canceled) || r.Status != run.Cancelled {
		t.Fatalf("cancelled half-way: %v, %v", r.Status, err)
	}
	if v, _ := problem.Value(context.Background(), p, r.X); r.Evaluations < 400 || r.Evaluations > 500 || v != r.Value {
		t.Errorf("best so far %v of value %v after %d evaluations", r.Value, v, r.Evaluations)
	}
	results, err := RunAll(ctx, []Job{{p, Settings{}}, {p, s}}, 2)
	if !errors.Is(err, context.Canceled) || len(results) != 2 || results[0].X != nil || results[0].Status != run.Cancelled {
		t.Errorf("cancelled from the start: %+v, %v", results, err)
	}
	// An error of the problem ends the run; the result is the best before it.
	calls := 0
	faulty := problem.FromBatch("faulty", 30, func(dst []float64, x problem.Solutions) {
		if calls++; calls == 3 {
			panic("out of order")
		}
		for i := range dst {
			dst[i] = float64(x.Ones(i))
		}
	})
	r, err = Run(context.Background(), faulty, Settings{Config: Config{20, 70, 10, 0.7, false}})
	if err == nil || !strings.Contains(err.Error(), "out of order") || r.Evaluations != 180 || r.X == nil {
		t.Errorf("a fault gave %+v, %v", r, err)
	}
	calls = 0
	if _, err = RunAll(context.Background(), []Job{{p, Settings{}}, {faulty, Settings{Config: Config{20, 70, 10, 0.7, false}}}}, 1); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("a fault among jobs gave %v", err)
	}
}

// TestResume checks that an interrupted run, repeated over remembered values,
// equals an uninterrupted run and evaluates nothing twice.
func TestResume(t *testing.T) {
	inner := problem.Count(onemax.Random(1, 40), 0)
	s := Settings{Config: Config{20, 70, 10, 0.7, false}, Seed: 4}
	want, err := Run(context.Background(), problem.Memo(inner), s)
	if err != nil {
		t.Fatal(err)
	}
	once := inner.Evaluations()

	inner = problem.Count(onemax.Random(1, 40), 0)
	memo := problem.Memo(inner)
	ctx, cancel := context.WithCancel(context.Background())
	half := s
	half.OnEvent = func(e run.Event) {
		if e.Step >= 300 {
			cancel()
		}
	}
	if r, err := Run(ctx, memo, half); !errors.Is(err, context.Canceled) || r.Evaluations >= 800 {
		t.Fatalf("broken off: %d evaluations, error %v", r.Evaluations, err)
	}
	got, err := Run(context.Background(), memo, s)
	if err != nil || !same(got, want) || inner.Evaluations() != once {
		t.Errorf("resumed: %+v with %d evaluations in all, error %v; uninterrupted: %+v with %d", got, inner.Evaluations(), err, want, once)
	}
}

func TestErrors(t *testing.T) {
	p := onemax.Random(1, 30)
	for want, s := range map[string]Settings{
		"elites":    {Config: Config{0, 70, 10, 0.7, false}},
		"offspring": {Config: Config{20, 0, 10, 0.7, false}},
		"mutants":   {Config: Config{20, 70, 0, 0.7, false}},
		"bias":      {Config: Config{20, 70, 10, math.NaN(), false}},
		"[0,1]":     {Config: Config{20, 70, 10, 1.5, false}},
		"budget":    {Evaluations: -1},
	} {
		if _, err := Run(context.Background(), p, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", s, err, want)
		}
		if _, err := RunAll(context.Background(), []Job{{p, s}}, 1); err == nil || !strings.Contains(err.Error(), "job 0") {
			t.Errorf("%+v as a job: error %v", s, err)
		}
	}
	if _, err := RunAll(context.Background(), []Job{{}}, 1); err == nil {
		t.Error("a job without a problem: no error")
	}
	if _, err := Run(context.Background(), flatland{}, Settings{}); err == nil {
		t.Error("a problem of dimension 0: no error")
	}
	if _, err := Run(context.Background(), nanProblem{p}, Settings{}); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("NaN: %v", err)
	}
}

// nanLater has values that become NaN, and none at all where a run goes on nevertheless.
type nanLater struct {
	problem.Problem
	evaluations *int
}

func (p nanLater) Evaluate(_ context.Context, dst []float64, x problem.Solutions) error {
	for i := range x.Len() {
		dst[i] = float64(*p.evaluations)
		if *p.evaluations++; *p.evaluations > 300 {
			dst[i] = math.NaN()
		}
	}
	if *p.evaluations > 5000 {
		return errors.New("the run goes on")
	}
	return nil
}

// Runs whose values become NaN later end with that error.
func TestLaterNaN(t *testing.T) {
	job := Job{nanLater{onemax.Random(1, 30), new(int)}, Settings{Config: Config{Elites: 5, Offspring: 40, Mutants: 5}}}
	if _, err := RunAll(t.Context(), []Job{job, job}, 1); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("two runs: %v", err)
	}
}

// The progress of several runs is counted in their evaluations.
func TestProgress(t *testing.T) {
	step := 0
	ctx := run.WithProgress(t.Context(), func(string) (func(run.Event), func()) {
		return func(e run.Event) {
			if e.Step <= step || e.Total != 500+700 {
				t.Errorf("after step %d: %+v", step, e)
			}
			step = e.Step
		}, func() {}
	})
	p := onemax.Random(1, 30)
	if _, err := RunAll(ctx, []Job{{p, Settings{Evaluations: 500}}, {p, Settings{Evaluations: 700}}}, 1); err != nil || step != 500+700 {
		t.Errorf("the last step is %d, %v", step, err)
	}
}

// A configuration is written as the paper does.
func TestConfigString(t *testing.T) {
	for want, c := range map[string]Config{"[1, 156, 22, 0.42, T]": {1, 156, 22, 0.42, true}, "[200, 700, 100, 0.70, F]": Default()} {
		if c.String() != want {
			t.Errorf("%v, want %s", c, want)
		}
	}
}

// A child takes each key from its elite parent with the bias as probability, whatever the
// place of its mask in the words of random bits.
func TestMasks(t *testing.T) {
	const children, bias = 1000, 0.7
	for _, d := range []int{30, 64, 100} {
		p := onemax.Random(1, d)
		s, err := Settings{Config: Config{Elites: 5, Offspring: 40, Mutants: 5, Bias: bias}, Children: OneChild}.withDefaults(p)
		if err != nil {
			t.Fatal(err)
		}
		sr := newSearch(p, s)
		if err := p.Evaluate(t.Context(), sr.values(), sr.pending()); err != nil {
			t.Fatal(err)
		}
		if err := sr.advance(); err != nil {
			t.Fatal(err)
		}
		sr.pair(children)
		masks := problem.Solutions{D: d, Words: sr.masks[:children*sr.w]}
		for j := range d {
			elite := 0
			for k := range children {
				if masks.At(k, j) {
					elite++
				}
				// The masks are slices of the stream, in which none of this length is 0.
				if at := k*d + j; masks.At(k, j) != (sr.stream[at/64]>>(at%64)&1 == 1) {
					t.Fatalf("d = %d: bit %d of mask %d is not bit %d of the stream", d, j, k, at)
				}
			}
			// Five standard deviations: one of a million genes is further off.
			if off := math.Abs(float64(elite) - children*bias); off > 5*math.Sqrt(children*bias*(1-bias)) {
				t.Fatalf("d = %d: gene %d comes from the elite parent in %d of %d children", d, j, elite, children)
			}
		}
	}
}

type flatland struct{ problem.Problem }

func (flatland) Name() string { return "flatland" }
func (flatland) Dim() int     { return 0 }

type nanProblem struct{ problem.Problem }

func (p nanProblem) Evaluate(_ context.Context, dst []float64, x problem.Solutions) error {
	for i := range x.Len() {
		dst[i] = math.NaN()
	}
	return nil
}

// TestOdd checks that runs at the corners of the configuration space spend
// their budget, even if there is almost nothing to search. BenchmarkOdd
// measures their time.
func TestOdd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	flat := func(d int) problem.Problem {
		return problem.FromBatch(fmt.Sprint("flat-", d), d, func(dst []float64, _ problem.Solutions) { clear(dst) })
	}
	for _, p := range []problem.Problem{
		onemax.Random(1, 1), onemax.Random(1, 3), onemax.Random(1, 130), flat(2), flat(30),
	} {
		for _, c := range []Config{
			{1, 1, 1, 0, false}, {1, 1, 1, 1, true}, {1, 1000, 1, 0, true}, {1, 1000, 1, 1, false}, {400, 1, 1, 0.5, true}, {400, 1000, 200, 0.5, true},
			{1, 1, 2000, 0.5, false}, {2000, 2000, 2000, 0.5, true}, {799, 1, 1, 0.5, false}, {1, 50, 1, 1e-20, false}, {20, 70, 1, 0.999999, true},
			{300, 299, 1, 0, true}, {5, 700, 1, 0.5, true},
		} {
			for _, s := range []Settings{{}, {FinishGeneration: true}, {DuplicateRule: ByValue}, {Children: OneChild, InitialKeys: UniformKeys}} {
				s.Config = c
				r, err := Run(context.Background(), p, s)
				if err != nil {
					t.Fatal(err)
				}
				if r.Evaluations < 800 || r.Evaluations > 800 && !s.FinishGeneration {
					t.Errorf("%s, %v: %d evaluations", p.Name(), c, r.Evaluations)
				}
			}
		}
	}
}

// TestAllocations checks that a run of twenty times the generations allocates
// no more.
func TestAllocations(t *testing.T) {
	p := onemax.Random(1, 30)
	of := func(evaluations int) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := Run(context.Background(), p, Settings{Config: Config{20, 70, 10, 0.7, true}, Evaluations: evaluations}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := of(500), of(10_000); many > few {
		t.Errorf("%v allocations for 5 generations, %v for 124", few, many)
	}
}

// TestBernoulli checks the share of ones, and that the bits of a word are
// independent.
func TestBernoulli(t *testing.T) {
	rng := run.Rand(1, "bernoulli")
	const n = 20_000
	for _, p := range []float64{0, 1e-3, 0.23, 0.5, 0.7, 0.999} {
		ones, pairs := 0, 0
		for range n {
			w := bernoulli(rng, p)
			ones += bits.OnesCount64(w)
			pairs += bits.OnesCount64(w & bits.RotateLeft64(w, 7))
		}
		for k, c := range map[float64]int{p: ones, p * p: pairs} {
			share := float64(c) / (64 * n)
			if sd := math.Sqrt(k * (1 - k) / (64 * n)); math.Abs(share-k) > 5*sd {
				t.Errorf("p = %v: share %v, want %v", p, share, k)
			}
		}
	}
}

// TestKeys decodes the packed keys gene by gene and checks that new individuals
// have new keys and that a key number stands for one key.
func TestKeys(t *testing.T) {
	for _, d := range []int{12, 30, 64, 100} {
		for _, s := range []Settings{
			{Config: Config{20, 70, 30, 0.6, false}}, {Config: Config{20, 70, 30, 0.6, true}, InitialKeys: UniformKeys}, {Config: Config{5, 30, 5, 0.3, false}},
		} {
			p := onemax.Random(1, d)
			s, err := s.withDefaults(p)
			if err != nil {
				t.Fatal(err)
			}
			sr := newSearch(p, s)
			for !sr.done {
				if err := sr.p.Evaluate(context.Background(), sr.values(), sr.pending()); err != nil {
					t.Fatal(err)
				}
				if err := sr.advance(); err != nil {
					t.Fatal(err)
				}
				if sr.done {
					break
				}
				// No child has a member's keys, nor another child's.
				seen := map[string]bool{}
				for _, i := range sr.order {
					seen[keysOf(sr, &sr.cur, int(i))] = true
				}
				for i := sr.first; i < sr.next.n; i++ {
					k := keysOf(sr, &sr.next, i)
					if seen[k] {
						t.Fatalf("d = %d: individual %d has known keys", d, i)
					}
					seen[k] = true
				}
				// A uniform key's number determines its bit: all individuals
				// with this number at this gene have the same bit.
				bit := map[[2]int]bool{}
				for i := range sr.next.n {
					for j := range d {
						number := numberOf(sr, &sr.next, i, j)
						if number == 0 {
							continue
						}
						b := sr.next.bits[i*sr.w+j/64]>>(j%64)&1 == 1
						if old, ok := bit[[2]int{j, number}]; ok && old != b {
							t.Fatalf("d = %d: key %d of gene %d is on both sides of 0.5", d, number, j)
						}
						bit[[2]int{j, number}] = b
					}
				}
			}
		}
	}
}

func numberOf(s *search, p *population, i, gene int) int {
	n := 0
	for k := range s.planes {
		n |= int(p.ids[i*s.size+k/s.shared*s.w+gene/64]>>(k%s.shared*s.d+gene%64)&1) << k
	}
	return n
}

func keysOf(s *search, p *population, i int) string {
	var b strings.Builder
	for j := range s.d {
		fmt.Fprint(&b, p.bits[i*s.w+j/64]>>(j%64)&1, numberOf(s, p, i, j), " ")
	}
	return b.String()
}

func TestJSON(t *testing.T) {
	for _, s := range kinds() {
		r, err := Run(context.Background(), onemax.Random(1, 10), s)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !same(r, back) {
			t.Errorf("%+v was read back as %+v", r, back)
		}
	}
}

// TestSettings checks that each field of Settings has a JSON name, is set in kinds
// unless it has a test of its own, and changes a run.
func TestSettings(t *testing.T) {
	own := []string{"Config", "Evaluations", "Target", "Start", "Seed", "OnEvent"}
	p := onemax.Random(1, 40)
	for i := range reflect.TypeFor[Settings]().NumField() {
		f := reflect.TypeFor[Settings]().Field(i)
		if f.Tag.Get("json") == "" {
			t.Errorf("Settings.%s has no JSON name: records of runs would have it by another name than all other fields", f.Name)
		}
		if slices.Contains(own, f.Name) {
			continue
		}
		set, changes := false, false
		for _, s := range kinds() {
			if reflect.ValueOf(s).Field(i).IsZero() {
				continue
			}
			set = true
			plain := s
			reflect.ValueOf(&plain).Elem().Field(i).SetZero()
			with, err := Run(t.Context(), p, s)
			without, err2 := Run(t.Context(), p, plain)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			changes = changes || with.Evaluations != without.Evaluations || !reflect.DeepEqual(with.History, without.History)
		}
		switch {
		case !set:
			t.Errorf("no element of kinds() sets Settings.%s: add one, with which budgets, teams, JSON and cancellation are tested", f.Name)
		case !changes:
			t.Errorf("Settings.%s changes no run of kinds()", f.Name)
		}
	}
}

// TestParameters checks that each parameter of the space survives the way from a
// solver's configuration to BRKGA's and back.
func TestParameters(t *testing.T) {
	for _, param := range Solver().Space(30, 800).Params {
		var v any = int(param.Lo) + 1
		switch param.Kind {
		case smac.Float:
			v = (param.Lo + param.Hi) / 4
		case smac.Bool:
			v = param.Default == 0
		}
		c, err := solver.New("brkga", map[string]any{param.Name: v})
		if err != nil {
			t.Fatal(err)
		}
		own, err := From(c, 800)
		if err != nil {
			t.Errorf("the space has the parameter %s: From, Config and Config.Named must know it (%v)", param.Name, err)
			continue
		}
		if back := own.Named().Values()[param.Name]; fmt.Sprint(back) != fmt.Sprint(v) {
			t.Errorf("%s: %v came back from Config.Named as %v", param.Name, v, back)
		}
	}
}

// TestMembersDiffer checks that two configurations with the same seed, like
// members of a portfolio, evaluate different solutions after the initial ones,
// which they share.
func TestMembersDiffer(t *testing.T) {
	seen := map[string]int{}
	count := func(_ context.Context, dst []float64, x problem.Solutions) error {
		for i := range x.Len() {
			dst[i] = float64(x.Ones(i))
			seen[x.Slice(i, i+1).String()]++
		}
		return nil
	}
	for _, c := range []Config{{9, 1, 103, 0.7, false}, {23, 3, 91, 0.27, true}, Default()} {
		if _, err := Run(context.Background(), counting{count}, Settings{Config: c, Seed: 3}); err != nil {
			t.Fatal(err)
		}
	}
	// The allowance is for the first 113 and 117 of the default's 800 initial
	// solutions, and for children that repeat known solutions.
	if n := len(seen); n < 2400-113-117-60 {
		t.Errorf("%d distinct solutions of 2400 evaluations", n)
	}
}

type counting struct {
	evaluate func(ctx context.Context, dst []float64, x problem.Solutions) error
}

func (counting) Name() string { return "counting" }
func (counting) Dim() int     { return 40 }
func (p counting) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	return p.evaluate(ctx, dst, x)
}

// TestExhausted checks that a search does not give up on children of which there are
// more than it can try.
func TestExhausted(t *testing.T) {
	for _, d := range []int{40, 400} {
		p := onemax.Random(1, d)
		s, err := Settings{Config: Config{Elites: 2, Offspring: 1, Mutants: 1}}.withDefaults(p)
		if err != nil {
			t.Fatal(err)
		}
		sr := newSearch(p, s)
		if err := p.Evaluate(t.Context(), sr.values(), sr.pending()); err != nil {
			t.Fatal(err)
		}
		if err := sr.advance(); err != nil {
			t.Fatal(err)
		}
		if sr.exhausted() {
			t.Errorf("of %d bits all children are said to be known", d)
		}
	}
}

// If all children of the parents are known, the first round of matings is the last.
func TestExhaustedAtOnce(t *testing.T) {
	p := onemax.Random(1, 40)
	s, err := Settings{Config: Config{Elites: 2, Offspring: 3, Mutants: 1}}.withDefaults(p)
	if err != nil {
		t.Fatal(err)
	}
	sr := newSearch(p, s)
	if err := p.Evaluate(t.Context(), sr.values(), sr.pending()); err != nil {
		t.Fatal(err)
	}
	if err := sr.advance(); err != nil {
		t.Fatal(err)
	}
	c := &sr.cur
	for i := 1; i < c.n; i++ { // all parents are equal
		copy(c.bits[i*sr.w:][:sr.w], c.bits[:sr.w])
		copy(c.ids[i*sr.size:][:sr.size], c.ids[:sr.size])
		c.hash[i] = c.hash[0]
	}
	sr.next.n = 0
	round := func(f func()) rand.PCG { // the state of the random numbers after it
		source := *rand.NewPCG(1, 2)
		sr.rng = rand.New(&source)
		f()
		return source
	}
	if round(func() { sr.mating(c.n) }) != round(func() { sr.pair(s.Config.Offspring) }) || sr.next.n != 0 {
		t.Errorf("%d children of equal parents, or more than one round", sr.next.n)
	}
}

// TestAtLeastOneKey checks that at least one key of a child comes from the
// parent of the mask, even if the bias is 0 and no draw selects one: then
// exactly one does.
func TestAtLeastOneKey(t *testing.T) {
	for _, d := range []int{2, 30, 64, 65, 100} {
		p := onemax.Random(1, d)
		s, err := Settings{Config: Config{Elites: 5, Offspring: 40, Mutants: 5}, Children: OneChild}.withDefaults(p)
		if err != nil {
			t.Fatal(err)
		}
		sr := newSearch(p, s)
		if err := p.Evaluate(t.Context(), sr.values(), sr.pending()); err != nil {
			t.Fatal(err)
		}
		if err := sr.advance(); err != nil {
			t.Fatal(err)
		}
		sr.pair(200)
		genes := map[int]bool{}
		for k := range 200 {
			mask := problem.Solutions{D: d, Words: sr.masks[k*sr.w : (k+1)*sr.w]}
			if n := mask.Ones(0); n != 1 {
				t.Fatalf("d = %d: mask %d has %d keys of the elite parent; want 1", d, k, n)
			}
			for j := range d {
				if mask.At(0, j) {
					genes[j] = true
				}
			}
		}
		// Of 200 draws among d genes, 100 e^-2 = 14 are missing at d = 100.
		if len(genes) < d*3/4 {
			t.Errorf("d = %d: the key is one of %d genes only", d, len(genes))
		}
	}
}

// TestStart checks that a run begins with given solutions, and goes on as others do.
func TestStart(t *testing.T) {
	p := onemax.Random(1, 30)
	target := p.Target()
	near := append([]bool(nil), target...)
	near[0] = !near[0]
	for _, keys := range []InitialKeys{BooleanKeys, UniformKeys} {
		s := Settings{Config: Config{5, 30, 2, 0.7, false}, Evaluations: 1500, Start: [][]bool{near, near}, InitialKeys: keys}
		ctx := openings.With(t.Context())
		plain := s
		plain.Start = nil
		all, err := RunAll(ctx, []Job{{p, plain}, {p, s}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		one, err := Run(t.Context(), p, s)
		if err != nil || !reflect.DeepEqual(one, all[1]) {
			t.Errorf("%v, %v and in a team %v", one, err, all[1])
		}
		if one.History[0] != (Point{Evaluations: 1, Best: 29}) || one.Value != 30 || one.Evaluations != 1500 {
			t.Errorf("%v", one)
		}
		if alone, _ := Run(t.Context(), p, plain); !reflect.DeepEqual(alone, all[0]) {
			t.Errorf("beside one with a start: %v, alone %v", all[0], alone)
		}
	}
	if _, err := Run(t.Context(), p, Settings{Start: [][]bool{target[:29]}}); err == nil || !strings.Contains(err.Error(), "solution 1 of Start has 29 bits") {
		t.Error(err)
	}
	many := make([][]bool, 50) // more than the budget
	for i := range many {
		many[i] = problem.Random(run.Rand(uint64(i), "many"), 1, 30).Bools(0)
	}
	if r, err := Run(t.Context(), p, Settings{Start: many, Evaluations: 20}); err != nil || r.Evaluations != 20 {
		t.Errorf("%v, %v", r, err)
	}
}
