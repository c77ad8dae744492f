package solver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all"
	"dace.local/dacelib/solver/solvertest"
)

func parse(t testing.TB, text string) solver.Config {
	t.Helper()
	c, err := solver.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// own reports whether a solver is none of the library's, but one that a test has
// registered: the library's families are of a type of this name.
func own(s solver.Solver) bool { return reflect.TypeOf(s).Name() != "family" }

func TestConfigForms(t *testing.T) {
	choices := smac.Space{Params: []smac.Param{
		{Name: "a", Kind: smac.Category, Choices: []string{"x", `x, y: "z"`}}, {Name: "b", Kind: smac.Category, Choices: []string{"x", "true"}},
	}}
	solver.Register(solver.FromFunc("mine", choices, func(s *solver.Search) error { return nil }))
	for _, c := range []struct{ text, json, shown string }{
		{"ea", `{"solver":"ea"}`, "ea"},
		{"anneal{ swaps:0.5 , start : 1e-1}", `{"solver":"anneal","start":0.1,"swaps":0.5}`, "anneal{start: 0.1, swaps: 0.5}"},
		{"ea{mutation: heavy, memory: false}", `{"solver":"ea","memory":false,"mutation":"heavy"}`, "ea{mutation: heavy, memory: false}"},
		{"mine{a: \"x, y: \\\"z\\\"\", b: \"true\"}", `{"solver":"mine","a":"x, y: \"z\"","b":"true"}`, `mine{a: "x, y: \"z\"", b: "true"}`},
		{"brkga{elites: 20, offspring: 70, mutants: 10, bias: 0.7, duplicates: false}", `{"solver":"brkga","bias":0.7,"duplicates":false,"elites":20,"mutants":10,"offspring":70}`, "[20, 70, 10, 0.70, F]"},
		{"brkga{elites: 20}", `{"solver":"brkga","elites":20}`, "brkga{elites: 20}"},
	} {
		got := parse(t, c.text)
		b, err := json.Marshal(got)
		if err != nil || string(b) != c.json {
			t.Errorf("JSON of %s: %s, %v; want %s", c.text, b, err, c.json)
		}
		var again solver.Config
		if err := json.Unmarshal(b, &again); err != nil || again != got {
			t.Errorf("%s became %v, %v", b, again, err)
		}
		if s := got.String(); s != c.shown {
			t.Errorf("%s is shown as %s, want %s", c.text, s, c.shown)
		}
		if parse(t, got.Text()) != got {
			t.Errorf("%s does not read as %v", got.Text(), got)
		}
	}
	if s := parse(t, "anneal{start: 0.123456}").String(); s != "anneal{start: 0.1235}" {
		t.Errorf("%s is not rounded to four digits", s)
	}
}

// A point of a space and the configuration of its values say the same.
func TestAt(t *testing.T) {
	space := smac.Space{
		Params: []smac.Param{
			{Name: "real", Hi: 4}, {Name: "whole", Kind: smac.Int, Hi: 4}, {Name: "truth", Kind: smac.Bool},
			{Name: "choice", Kind: smac.Category, Choices: []string{"x", "y"}}, {Name: "asleep", Hi: 4},
		},
		Conditions: []smac.Condition{{Param: "asleep", Parent: "choice", Values: []float64{0}}},
	}
	point := space.Canonical([]float64{0.5, 3, 1, 1, 0})
	c, err := solver.At("several", space, point)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"real": 0.5, "whole": 3.0, "truth": true, "choice": "y"}; !reflect.DeepEqual(c.Values(), want) {
		t.Errorf("%v has values %v, want %v", point, c.Values(), want)
	}
	if again, err := c.Point(space); err != nil || !reflect.DeepEqual(again, point) {
		t.Errorf("%v became %v, %v", point, again, err)
	}
	if _, err := solver.At("several", space, []float64{5, 3, 1, 1, 0}); err == nil {
		t.Error("a point outside of the space is taken")
	}
}

// TestOldForms reads configurations of BRKGA as older files have them.
func TestOldForms(t *testing.T) {
	want := brkga.Config{Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7}
	var cs []solver.Config
	if err := json.Unmarshal([]byte(`[[20,70,10,0.7,false], {"elites":20,"offspring":70,"mutants":10,"bias":0.7,"duplicates":false}]`), &cs); err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		own, err := brkga.From(c, 800)
		if err != nil || own != want || c != want.Named() {
			t.Errorf("read %v, %v", own, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"anneal{start: 0.8":          "does not end with a brace",
		"anneal{start 0.8}":          "has no colon",
		"anneal{start: 1, start: 2}": "named twice",
		"an neal":                    "cannot be the name of a solver",
		"":                           "cannot be the name of a solver",
		"ea{mutation: \"heavy}":      "no closing quote",
		"annealing":                  "there are anneal, brkga",
		"Aneal{start: 0.8}":          "(did you mean anneal?); there are anneal, brkga",
		"anneal{strat: 0.8}":         `no parameter "strat" (did you mean start?); it has start, end`,
		"anneal{begin: 1}":           `has no parameter "begin"; it has start, end`,
		"anneal{start: 9}":           "must lie in [0.01, 5]",
		"ea{mutation: gaussian}":     "one of standard, one, heavy, adaptive",
		"ea{mutation: adaptive}":     "forbidden",
		"ea{mu: 1.5}":                "whole number",
		"ea{memory: 3}":              "memory",
		"brkga{elites: 0}":           "elites must be at least 1",
		"brkga{elite: 1}":            `no parameter "elite"`,
	} {
		if _, err := solver.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v; want %q", text, err, want)
		}
	}
	for _, v := range []any{json.Number("one"), json.Number("1e999"), math.NaN(), math.Inf(1), []int{1}, nil} {
		if c, err := solver.New("ea", map[string]any{"mu": v}); err == nil {
			t.Errorf("%v is taken as a value: %v", v, c)
		}
	}
	// A file may name a solver that is registered later, or in another program.
	var later solver.Config
	if err := json.Unmarshal([]byte(`{"solver":"later","a":1}`), &later); err != nil || later.Check() == nil {
		t.Errorf("%v, %v", err, later)
	}
	for _, text := range []string{`[1,2]`, `{"start":1}`, `{"solver":3}`, `3`, `{"solver":"ea","mu":[1]}`, `{"solver":"ea","mu":null}`} {
		var c solver.Config
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s is read as %v", text, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("anneal{start: 0.8, kind: linear, \"a\": \"}\"}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := solver.Parse(text)
		if err != nil {
			return
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var again solver.Config
		if err := json.Unmarshal(b, &again); err != nil || again != c {
			t.Fatalf("%q: %s became %v, %v", text, b, again, err)
		}
	})
}

// climb is a solver of one's own, as a cell has it.
func climb(s *solver.Search) error {
	x := problem.Random(s.Rand, 1, s.Dim()).Bools(0)
	for v := s.BoolValue(x); !s.Over(); {
		i := s.Rand.IntN(len(x))
		x[i] = !x[i]
		if w := s.BoolValue(x); w >= v {
			v = w
		} else {
			x[i] = !x[i]
		}
	}
	return nil
}

func TestOwn(t *testing.T) {
	own := solver.FromFunc("climb", smac.Space{}, climb)
	solver.Register(own)
	solvertest.Run(t, own)
}

func TestOwnPanics(t *testing.T) {
	solver.Register(solver.FromFunc("panics", smac.Space{}, func(s *solver.Search) error { panic("no") }))
	_, err := solver.Run(t.Context(), solver.Job{Problem: problem.FromFunc("p", 3, func([]bool) float64 { return 0 }), Config: parse(t, "panics")})
	if err == nil || !strings.Contains(err.Error(), "panicked: no") {
		t.Error(err)
	}
}

// A named is a solver that is nothing but its name.
type named struct{ name string }

func (n named) Name() string                                                  { return n.name }
func (named) Space(int, int) smac.Space                                       { return smac.Space{} }
func (named) Run(context.Context, []solver.Job, int) ([]solver.Result, error) { return nil, nil }

// What Register refuses is not registered.
func TestRegisterRefuses(t *testing.T) {
	for _, s := range []solver.Solver{nil, named{"two words"}, named{""}} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.HasPrefix(r, "solver: Register needs") {
					t.Errorf("%v is registered: %s", s, r)
				}
			}()
			solver.Register(s)
		}()
	}
}

// A result's JSON, of which -Inf is no number, reads as the same result.
func TestResultJSON(t *testing.T) {
	never := problem.FromFunc("never", 2, func([]bool) float64 { return math.Inf(-1) })
	want := searched(t, never, 7, climb)
	if len(want.History) != 1 || want.Value != math.Inf(-1) {
		t.Fatalf("%+v", want)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got solver.Result
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s reads as %+v, %v", b, got, err)
	}
	if err := json.Unmarshal([]byte(`{"value":true}`), &got); err == nil {
		t.Errorf("a value that is true is read as %v", got.Value)
	}
}

func TestAnytime(t *testing.T) {
	r := solver.Result{History: []solver.Point{{Evaluations: 1, Best: 2}, {Evaluations: 4, Best: 10}}}
	if v := r.Anytime(6); v != (2*3+10*3)/6.0 {
		t.Error(v)
	}
	if v := r.At(3); v != 2 || r.At(4) != 10 || !math.IsNaN(r.At(0)) {
		t.Error(v)
	}
}

// quadratic returns a random quadratic function and its largest value.
func quadratic(seed uint64, d int) (problem.Problem, float64) {
	rng := run.Rand(seed, "quadratic")
	q := make([]float64, d*d)
	for i := range d {
		for j := range i + 1 {
			q[i*d+j] = float64(rng.IntN(201) - 100)
		}
	}
	p := problem.FromBatch("quadratic", d, func(dst []float64, x problem.Solutions) {
		for k := range dst {
			v, row := 0.0, x.Words[k]
			for i := range d {
				if row>>i&1 == 1 {
					for j := range i + 1 {
						v += q[i*d+j] * float64(row>>j&1)
					}
				}
			}
			dst[k] = v
		}
	})
	x := problem.Enumerate(d)
	y := make([]float64, x.Len())
	if err := p.Evaluate(context.Background(), y, x); err != nil {
		panic(err)
	}
	best := math.Inf(-1)
	for _, v := range y {
		best = max(best, v)
	}
	return p, best
}

// TestBruteForce compares the families with the optimum by brute force, on random
// quadratic functions of 14 bits: with 6,000 evaluations, a third of all
// solutions, each finds it.
func TestBruteForce(t *testing.T) {
	for _, s := range solver.Families() {
		if _, slow := s.(solver.Timed); slow || own(s) {
			continue
		}
		c, err := solver.New(s.Name(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(6) {
			p, best := quadratic(seed, 14)
			r, err := solver.Run(t.Context(), solver.Job{Problem: p, Config: c, Evaluations: 6000, Seed: seed})
			if err != nil || r.Value != best {
				t.Errorf("%s, instance %d: %v, %v; the optimum is %v", s.Name(), seed, r.Value, err, best)
			}
		}
	}
}

// BenchmarkFamilies shows the evaluations a second of each family on an objective
// that takes 100 ns, d = 40, beside the objective's own (own). SMARTEST is left out:
// its own computing takes seconds a run.
func BenchmarkFamilies(b *testing.B) {
	const n = 100_000
	var p problem.Problem = hundred{40}
	b.Run("own", func(b *testing.B) {
		x := problem.Random(run.Rand(1, "x"), 1000, 40)
		y := make([]float64, 1000)
		cpu := process.Time()
		for range b.N {
			for range n / 1000 {
				_ = p.Evaluate(b.Context(), y, x)
			}
		}
		b.ReportMetric(float64(process.Time()-cpu)/float64(b.N)/n, "cpu-ns/evaluation")
	})
	for _, s := range solver.Families() {
		if _, slow := s.(solver.Timed); slow || own(s) {
			continue
		}
		for _, memory := range []string{"", "{memory: false}"} {
			if memory != "" && s.Space(1, 1).Params[len(s.Space(1, 1).Params)-1].Name != "memory" {
				continue
			}
			b.Run(s.Name()+memory, func(b *testing.B) {
				b.ReportAllocs()
				made, cpu := 0, process.Time()
				for range b.N {
					r, err := solver.Run(b.Context(), solver.Job{Problem: p, Config: parse(b, s.Name()+memory), Evaluations: n, Seed: 1})
					if err != nil {
						b.Fatal(err)
					}
					made += r.Evaluations
				}
				b.ReportMetric(float64(process.Time()-cpu)/float64(made), "cpu-ns/evaluation")
			})
		}
	}
}

// hundred is an objective of about 100 ns: a rugged function of d <= 64 bits.
type hundred struct{ d int }

func (h hundred) Name() string { return "hundred" }
func (h hundred) Dim() int     { return h.d }

// Evaluate is not inlined: beside a loop that reads no value it would not be computed.
//
//go:noinline
func (h hundred) Evaluate(_ context.Context, dst []float64, x problem.Solutions) error {
	for i, w := range x.Words {
		v := 0.0
		for k := range 125 {
			u := (w>>(k&31)&31 + uint64(k)) * 0x9e3779b97f4a7c15
			v += float64(u >> 40)
		}
		dst[i] = v
	}
	return nil
}
