package solver_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// several is a space with a parameter of each kind, and one that is active under a
// condition.
var several = smac.Space{
	Params: []smac.Param{
		{Name: "real", Lo: 0, Hi: 4, Default: 2.5}, {Name: "whole", Kind: smac.Int, Lo: 1, Hi: 9, Default: 3}, {Name: "truth", Kind: smac.Bool, Default: 1},
		{Name: "choice", Kind: smac.Category, Choices: []string{"9", "0.5", "y"}, Default: 2}, {Name: "asleep", Hi: 4},
	},
	Conditions: []smac.Condition{{Param: "asleep", Parent: "choice", Values: []float64{0}}},
}

// Values become a point of a space, in the order of its parameters, the others its defaults.
func TestPoint(t *testing.T) {
	defaults := []float64{2.5, 3, 1, 2, 0}
	with := func(i int, v float64) []float64 { p := slices.Clone(defaults); p[i] = v; return p }
	for _, c := range []struct {
		name  string
		value any
		want  any // a point, or a part of the error
	}{
		{"real", 4, with(0, 4)}, {"real", 0.0, with(0, 0)}, {"real", math.Copysign(0, -1), with(0, 0)},
		{"real", 4.0001, "real"}, {"real", -0.0001, "real"}, {"real", "x", `real is "x"; it must be`}, {"real", true, "real is true; it must be"},
		{"whole", json.Number("9"), with(1, 9)}, {"whole", 1, with(1, 1)}, {"whole", 0, "whole"}, {"whole", 10, "whole"}, {"whole", 1.5, "whole"},
		{"truth", false, with(2, 0)}, {"truth", true, defaults}, {"truth", "true", `truth is "true"; it must be`},
		{"choice", "9", with(3, 0)}, {"choice", 9, with(3, 0)}, {"choice", "0.5", with(3, 1)}, {"choice", 0.5, with(3, 1)}, {"choice", 2, defaults}, {"choice", 3, "choice"},
		{"choice", "z", `choice is "z"; it must be`}, {"choice", false, "choice is false; it must be"},
		{"wholes", 1, `no parameter "wholes" (did you mean whole?); it has real, whole, truth, choice, asleep`},
	} {
		config, err := solver.New("several", map[string]any{c.name: c.value})
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.Point(several)
		if text, fails := c.want.(string); fails {
			if err == nil || !strings.Contains(err.Error(), text) || !strings.HasPrefix(err.Error(), "solver: several") {
				t.Errorf("%s %v: %v, %v; want %s", c.name, c.value, got, err, text)
			}
		} else if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %v: %v, %v; want %v", c.name, c.value, got, err, c.want)
		}
	}
	none, err := solver.New("none", map[string]any{"b": 1, "a": 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Point(smac.Space{}); err == nil || err.Error() != `solver: none has no parameter "a"; it has none` {
		t.Error(err)
	}
}

// Drawn configurations are random points of a space, the same each time.
func TestDraw(t *testing.T) {
	got := solver.Draw("several", several, 30)
	rng := run.Rand(1, "solver: draw")
	var want []solver.Config
	for range 30 {
		c, err := solver.At("several", several, several.Random(rng))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, c)
	}
	if !slices.Equal(got, want) || slices.Equal(got[1:], got[:29]) {
		t.Errorf("%v, want %v", got, want)
	}
	if out := solver.Draw("none", smac.Space{}, 3); out != nil {
		t.Errorf("%v of a space without parameters", out)
	}
	mine := solver.FromFunc("several", several, func(*solver.Search) error { return nil })
	if out := mine.(interface {
		Configs(d, n int) []solver.Config
	}).Configs(5, 9); !slices.Equal(out, want[:7]) {
		t.Errorf("a function's configurations are %v, want the first seven of %v", out, want)
	}
}

// The text of a configuration has the order of the solver's parameters, and quotes where a
// choice could be another thing; without the solver it has the order of the names.
func TestText(t *testing.T) {
	solver.Register(solver.FromFunc("texts", smac.Space{Params: []smac.Param{
		{Name: "z", Kind: smac.Category, Choices: []string{"true", "false", "12", "a b", "word", ""}}, {Name: "a", Hi: 1e6},
	}}, func(*solver.Search) error { return nil }))
	for _, c := range []struct {
		solver string
		values map[string]any
		want   string
	}{
		{"texts", nil, "texts"},
		{"texts", map[string]any{"a": 123456, "z": "word"}, "texts{z: word, a: 1.235e+05}"},
		{"texts", map[string]any{"z": "true", "a": 0}, `texts{z: "true", a: 0}`},
		{"texts", map[string]any{"z": "false"}, `texts{z: "false"}`}, {"texts", map[string]any{"z": "12"}, `texts{z: "12"}`},
		{"texts", map[string]any{"z": "a b"}, `texts{z: "a b"}`}, {"texts", map[string]any{"z": ""}, `texts{z: ""}`},
		{"texts", map[string]any{"z": true, "b": 2, "c": "x"}, "texts{z: true, b: 2, c: x}"}, // what it lacks follows
		{"unheard-of", map[string]any{"z": "word", "a": false}, "unheard-of{a: false, z: word}"},
	} {
		config, err := solver.New(c.solver, c.values)
		if err != nil || config.Text() != c.want || config.String() != c.want {
			t.Errorf("%v: %s, %s, %v; want %s", c.values, config.Text(), config, err, c.want)
		}
		other, err := config.With("b", 7)
		if err != nil || other.Values()["b"] != 7.0 || len(other.Values()) != len(config.Values())+1 && config.Values()["b"] == nil {
			t.Errorf("%v with b: %v, %v", config, other, err)
		}
	}
	zero, _ := solver.New("texts", map[string]any{"a": 0})
	if negative, err := solver.New("texts", map[string]any{"a": math.Copysign(0, -1)}); err != nil || zero != negative {
		t.Errorf("%v of -0 is not %v", negative, zero)
	}
}

// Texts with odd spaces, quotes and commas are read, and each breach is told.
func TestParseForms(t *testing.T) {
	solver.Register(solver.FromFunc("parsed", smac.Space{Params: []smac.Param{
		{Name: "z", Kind: smac.Category, Choices: []string{"true", "a, b", "c", `d"`}}, {Name: "a", Hi: 9}, {Name: "t", Kind: smac.Bool},
	}}, func(*solver.Search) error { return nil }))
	for text, want := range map[string]string{
		" parsed ": "parsed", "parsed{}": "parsed", "parsed { } ": "parsed", "parsed{a:1,}": "parsed{a: 1}",
		"parsed{ z : \"a, b\" , a : 2 }": `parsed{z: "a, b", a: 2}`, `parsed{z: "true",t: true}`: `parsed{z: "true", t: true}`,
		`parsed{a: 9, z: "d\""}`: `parsed{z: "d\"", a: 9}`, "parsed{t: false,z:c}": "parsed{z: c, t: false}",
		`parsed{z: "c" a: 1}`: "! a comma must follow the value of z", `parsed{: 1}`: `! the parameter "" is named twice, or has no name`,
		`parsed{z: "c`: "! does not end with a brace", `parsed{z: "c}`: "! the value of z has no closing quote", "parsed{a}": `! "a" has no colon`,
		"parsed{a: 10}": "! a", "parsed{t: 1}x": "! does not end with a brace", "parsed{a: 1, b: 2}": `! no parameter "b"`,
	} {
		c, err := solver.Parse(text)
		if fails, ok := strings.CutPrefix(want, "! "); ok {
			if err == nil || !strings.Contains(err.Error(), fails) || c != (solver.Config{}) {
				t.Errorf("%s: %v, %v; want %s", text, c, err, fails)
			}
		} else if err != nil || c.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, c, err, want)
		}
	}
}

// The JSON of a configuration in each form, and what is none.
func TestConfigJSON(t *testing.T) {
	const full = `{"solver":"brkga","bias":0.7,"duplicates":true,"elites":1,"mutants":3,"offspring":2}`
	for text, want := range map[string]string{
		" [1, 2, 3, 0.7, true]": full, `{"elites":1,"offspring":2,"mutants":3,"bias":0.7,"duplicates":true}`: full,
		`{"solver":"x"}`: `{"solver":"x"}`, `{"solver":"x","b":true,"a":"c"}`: `{"solver":"x","a":"c","b":true}`, `{"elites":1}`: `{"solver":"brkga","elites":1}`,
		"": "! unexpected end", " ": "! unexpected end", "[1,2,3,4]": "! a configuration of 4 values without names", "[1,2,3,4,5,6]": "! a configuration of 6 values", "[": "! unexpected end",
		`{"solver":"x y"}`: "! cannot be the name", `{"a":1}`: "! says no solver: {\"a\":1}", `{"solver":null}`: "! whose solver is <nil>", `{"solver":"x","a":{}}`: "! a value of type map",
	} {
		before, _ := solver.New("before", nil)
		c := before
		err := c.UnmarshalJSON([]byte(text))
		if fails, ok := strings.CutPrefix(want, "! "); ok {
			if err == nil || !strings.Contains(err.Error(), fails) || c != before {
				t.Errorf("%s: %v, %v; want %s", text, c, err, fails)
			}
			continue
		}
		b, e := c.MarshalJSON()
		if err != nil || e != nil || string(b) != want {
			t.Errorf("%s: %s, %v, %v; want %s", text, b, err, e, want)
		}
	}
}

// The area beneath a history, and its value at any evaluation, are those of a list of the
// best values.
func TestHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var r solver.Result
		var best []float64
		for v := 0.0; len(r.History) < 4; {
			if rng.IntN(2) == 0 || best == nil {
				v += float64(1 + rng.IntN(9))
				r.History = append(r.History, solver.Point{Evaluations: len(best) + 1, Best: v})
			}
			best = append(best, v)
		}
		for budget := 1; budget < len(best)+3; budget++ {
			sum := 0.0
			for i := range budget {
				sum += best[min(i, len(best)-1)]
			}
			if v := r.Anytime(budget); math.Abs(v-sum/float64(budget)) > 1e-12 || r.At(budget) != best[min(budget, len(best))-1] {
				t.Fatalf("%v, budget %d: %v, want %v; at its end %v", r.History, budget, v, sum/float64(budget), r.At(budget))
			}
		}
		if !math.IsNaN(r.Anytime(0)) || !math.IsNaN(r.At(0)) {
			t.Fatal("there is a value before the first evaluation")
		}
	}
	if v := (solver.Result{}).Anytime(5); !math.IsNaN(v) {
		t.Errorf("without a history: %v", v)
	}
}
