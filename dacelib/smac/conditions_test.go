package smac

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/run"
)

// families is a space of two solvers with parameters of their own, one of which
// has a parameter below its own category.
func families() Space {
	return Space{
		Params: []Param{
			{Name: "solver", Kind: Category, Choices: []string{"a", "b", "c"}},
			{Name: "a.x", Kind: Float, Lo: -5, Hi: 10},
			{Name: "b.kind", Kind: Category, Choices: []string{"low", "high"}},
			{Name: "b.n", Kind: Int, Lo: 1, Hi: 100, Log: true, Default: 10},
			{Name: "b.on", Kind: Bool},
		},
		Conditions: []Condition{
			{Param: "a.x", Parent: "solver", Values: []float64{0, 2}},
			{Param: "b.kind", Parent: "solver", Values: []float64{1}},
			{Param: "b.n", Parent: "b.kind", Values: []float64{1}},
			{Param: "b.on", Parent: "solver", Values: []float64{1}},
		},
		Forbidden: []Forbidden{{{Param: "b.kind", Values: []float64{0}}, {Param: "b.on", Values: []float64{1}}}},
	}
}

func TestConditions(t *testing.T) {
	s := families()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config []float64
		active []bool
		want   string
	}{
		{[]float64{0, 3, 0, 10, 0}, []bool{true, true, false, false, false}, "solver=a a.x=3"},
		{[]float64{1, 0, 0, 10, 0}, []bool{true, false, true, false, true}, "solver=b b.kind=low b.on=false"},
		{[]float64{1, 0, 1, 7, 1}, []bool{true, false, true, true, true}, "solver=b b.kind=high b.n=7 b.on=true"},
		{[]float64{2, 1, 0, 10, 0}, []bool{true, true, false, false, false}, "solver=c a.x=1"},
	} {
		if got := s.Active(c.config); !slices.Equal(got, c.active) {
			t.Errorf("%v: active %v, want %v", c.config, got, c.active)
		}
		if got := s.Format(c.config); got != c.want {
			t.Errorf("%v is %q, want %q", c.config, got, c.want)
		}
		if err := s.CheckConfig(c.config); err != nil {
			t.Error(err)
		}
	}
	if got := s.Canonical([]float64{0, 3, 1, 7, 1}); !slices.Equal(got, []float64{0, 3, 0, 10, 0}) {
		t.Errorf("canonical: %v", got)
	}
	for _, c := range [][]float64{nil, {0, 3, 1, 7}, {0, 3, 1, 7, 1, 9}} { // not of this space
		if got := s.Canonical(c); !slices.Equal(got, c) {
			t.Errorf("canonical of %v: %v", c, got)
		}
	}
	for want, c := range map[string][]float64{"not active": {0, 3, 1, 7, 1}, "forbidden": {1, 0, 0, 10, 1}} {
		if err := s.CheckConfig(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", c, err, want)
		}
	}
}

// An expression excludes the configurations in which it is true, and not those in which
// it is unknown, as a parameter of it is not active.
func TestExcluded(t *testing.T) {
	s := families()
	s.Excluded = []Expr{{Op: ">", Args: []Expr{{Param: "b.n"}, {Value: 50}}}}
	for _, c := range []struct {
		config   []float64
		excluded bool
	}{
		{[]float64{1, 0, 1, 50, 1}, false},
		{[]float64{1, 0, 1, 51, 1}, true},
		{[]float64{0, 3, 0, 10, 0}, false},
	} {
		if err := s.CheckConfig(c.config); (err != nil) != c.excluded {
			t.Errorf("%v: %v; excluded: %v", c.config, err, c.excluded)
		}
	}
}

// The neighbours of a place are all other categories and some other numbers of the
// parameters that are active.
func TestNeighbours(t *testing.T) {
	o, err := New(Settings{Space: families()})
	if err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	unit := o.at([]float64{1, 0, 1, 50, 1})
	for _, e := range o.neighbours(nil, unit, rand.New(rand.NewPCG(1, 6))) {
		count[e.Feature]++
		if e.Value == unit[e.Feature] || e.Value < 0 || e.Value > 2 || e.Feature == 3 && e.Value > 1 {
			t.Errorf("%v is a neighbour of %v in %s", e.Value, unit[e.Feature], o.s.Space.Params[e.Feature].Name)
		}
	}
	if want := map[int]int{0: 2, 2: 1, 3: 4, 4: 1}; !maps.Equal(count, want) {
		t.Errorf("neighbours by parameter: %v, want %v", count, want)
	}
}

func TestConditionErrors(t *testing.T) {
	for want, change := range map[string]func(s *Space){
		"both must be parameters":                               func(s *Space) { s.Conditions[0].Parent = "solvers" },
		"must come before it":                                   func(s *Space) { s.Conditions[0] = Condition{Param: "solver", Parent: "b.on", Values: []float64{1}} },
		"which must come before":                                func(s *Space) { s.Conditions[0].Parent = s.Conditions[0].Param },
		"has no values":                                         func(s *Space) { s.Conditions[0].Values = nil },
		"has no value 3":                                        func(s *Space) { s.Conditions[0].Values = []float64{3} },
		"forbids everything":                                    func(s *Space) { s.Forbidden = append(s.Forbidden, nil) },
		"is no parameter":                                       func(s *Space) { s.Forbidden[0][0].Param = "b" },
		"of \"none\", which is no parameter":                    func(s *Space) { s.Conditions[0] = Condition{Param: "none", When: &Expr{Value: 1}} },
		"has When and a Parent or Values":                       func(s *Space) { s.Conditions[0].When = &Expr{Value: 1} },
		"condition of \"a.x\": an expression":                   func(s *Space) { s.Conditions[0] = Condition{Param: "a.x", When: &Expr{Op: "mod"}} },
		"\"a.x\" depends on \"a.x\", which must come before it": func(s *Space) { s.Conditions[0] = Condition{Param: "a.x", When: &Expr{Param: "a.x"}} },
		"a forbidden combination: b.on has no value 2":          func(s *Space) { s.Forbidden[0][1].Values = []float64{2} },
		"a forbidden combination: an expression":                func(s *Space) { s.Excluded = []Expr{{Op: "mod"}} },
		"the default configuration, ":                           func(s *Space) { s.Forbidden = []Forbidden{{{Param: "solver", Values: []float64{0, 1}}}} },
	} {
		s := families()
		change(&s)
		if _, err := New(Settings{Space: s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestImputed checks what the model sees of a parameter that is not active: as in
// SMAC3, -1 for a number, whose range is [0,1], and a category of its own.
func TestImputed(t *testing.T) {
	o, err := New(Settings{Space: families()})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.at([]float64{0, 10, 0, 10, 0}); !slices.Equal(got, []float64{0, 1, 2, -1, 2}) {
		t.Errorf("a's place is %v", got)
	}
	if got := o.place(nil, &tried{Config: []float64{0, 10, 0, 10, 0}}); !slices.Equal(got, []float64{0, 1, 2, -1, 2}) {
		t.Errorf("the model has a at %v", got)
	}
	if got := o.forestSettings().Categories; !slices.Equal(got, []int{3, 0, 3, 0, 3}) {
		t.Errorf("categories %v", got)
	}
	for range 1000 {
		c := families().Random(run.Rand(1, "random"))
		if got := o.config(o.at(c)); !slices.Equal(families().Canonical(got), got) || got[0] != c[0] {
			t.Fatalf("%v became %v", c, got)
		}
	}
}

// cost has its minimum, 0, in family b; a and c end at 1 and 3.
func cost(c []float64) float64 {
	switch c[0] {
	case 0:
		return 1 + (c[1]-3)*(c[1]-3)/10
	case 2:
		return 3 + math.Abs(c[1])/10
	}
	if c[2] == 0 {
		return 2.5
	}
	return math.Abs(math.Log(c[3]/40)) + 0.5*(1-c[4])
}

func TestConditionalSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	sum, random := 0.0, 0.0
	for seed := range uint64(8) {
		s := Settings{Space: families(), Trials: 160, Seed: seed}
		r, err := Run(t.Context(), func(_ context.Context, c []float64) (float64, error) { return cost(c), s.Space.CheckConfig(c) }, s)
		if err != nil {
			t.Fatal(err)
		}
		sum += r.Cost
		s.RandomProb = 1
		if r, err = Run(t.Context(), func(_ context.Context, c []float64) (float64, error) { return cost(c), nil }, s); err != nil {
			t.Fatal(err)
		}
		random += r.Cost
	}
	if sum > random/2 {
		t.Errorf("the sum of the costs found is %.3f, that of random search %.3f", sum, random)
	}
}

func TestConditionalResume(t *testing.T) {
	s := Settings{Space: families(), Trials: 60, Seed: 4}
	whole, err := Run(t.Context(), func(_ context.Context, c []float64) (float64, error) { return cost(c), nil }, s)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for !o.Done() {
		for _, q := range o.Ask(3) {
			if err := o.Tell(q, cost(q.Config)); err != nil {
				t.Fatal(err)
			}
		}
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		o = new(Optimizer)
		if err := json.Unmarshal(b, o); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(o.Result(), whole) {
		t.Error("a run that was saved and restored at every step differs")
	}
}

// TestConditionalExhaustion tries every configuration of a finite space once.
func TestConditionalExhaustion(t *testing.T) {
	s := families()
	s.Params[1] = Param{Name: "a.x", Kind: Int, Lo: 0, Hi: 2}
	s.Params[3] = Param{Name: "b.n", Kind: Int, Lo: 1, Hi: 4}
	seen := map[string]bool{}
	r, err := Run(t.Context(), func(_ context.Context, c []float64) (float64, error) {
		seen[s.Format(c)] = true
		return c[0], s.CheckConfig(c)
	}, Settings{Space: s, Trials: 100, Seed: 1})
	// a: 3, c: 3, b low: 1 that is allowed, b high: 4 x 2.
	if err != nil || r.Status != run.Converged || len(r.History) != 15 || len(seen) != 15 {
		t.Errorf("%d trials, %d different, %v, %v", len(r.History), len(seen), r.Status, err)
	}
}

// An allowed configuration is one, the same for a seed; in a space that forbids all there is
// none, and the default is drawn.
func TestAllowed(t *testing.T) {
	s := families()
	different := map[string]bool{}
	for seed := range uint64(50) {
		c, ok := s.Allowed(seed)
		again, _ := s.Allowed(seed)
		if err := s.CheckConfig(c); !ok || err != nil || !slices.Equal(c, again) {
			t.Errorf("%v, %v, %v", c, ok, err)
		}
		different[s.Format(c)] = true
	}
	if len(different) < 20 {
		t.Errorf("%d of 50 differ", len(different))
	}
	s.Excluded = []Expr{{Value: 1}}
	if c, ok := s.Allowed(1); ok || c != nil {
		t.Errorf("%v of none", c)
	}
	if c := s.Random(rand.New(rand.NewPCG(1, 1))); !slices.Equal(c, s.Default()) {
		t.Errorf("%v, want the default", c)
	}
	if got := s.Neighbour(s.Default(), rand.New(rand.NewPCG(1, 1))); !slices.Equal(got, s.Default()) {
		t.Errorf("%v is allowed", got)
	}
	for want, p := range map[string]Param{"one of x, y": {Kind: Category, Choices: []string{"x", "y"}}, "true or false": {Kind: Bool}, "a whole number in [1, 1000000]": {Kind: Int, Lo: 1, Hi: 1e6}, "a number in [0, 0.5]": {Hi: 0.5}} {
		if p.Domain() != want {
			t.Errorf("%s, want %s", p.Domain(), want)
		}
	}
}
