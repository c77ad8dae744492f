package smac

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, p := range []Param{
		{Lo: -3, Hi: 12},
		{Lo: 1e-6, Hi: 1e3, Log: true},
		{Lo: 2, Hi: 2},
		{Kind: Int, Lo: -5, Hi: 5},
		{Kind: Int, Lo: 1, Hi: 1000},
		{Kind: Int, Lo: 1, Hi: 1024, Log: true},
		{Kind: Int, Lo: 4, Hi: 4},
		{Kind: Category, Choices: []string{"a", "b", "c"}},
		{Kind: Bool},
	} {
		for range 2000 {
			u := p.draw(rng)
			v := p.raw(u)
			if !p.contains(v) {
				t.Fatalf("%+v: %v is no value of it", p, v)
			}
			if p.choices() == 0 && !(u >= 0 && u <= 1) {
				t.Fatalf("%+v: place %v", p, u)
			}
			if back := p.unit(v); math.Abs(back-u) > 1e-12 {
				t.Fatalf("%+v: value %v drawn at %v lies at %v", p, v, u, back)
			}
			if p.Kind == Int && p.raw(p.unit(v)) != v {
				t.Fatalf("%+v: %v comes back as %v", p, v, p.raw(p.unit(v)))
			}
		}
	}
}

// TestDraw checks that whole numbers are drawn with equal probability, bounds
// included; on a logarithmic scale, in proportion to their cells.
func TestDraw(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, p := range []Param{{Kind: Int, Lo: 3, Hi: 12}, {Kind: Int, Lo: 1, Hi: 10, Log: true}, {Kind: Category, Choices: make([]string, 10)}} {
		const n = 100000
		var count [10]float64
		for range n {
			count[int(p.raw(p.draw(rng))-p.Lo)]++
		}
		chi2 := 0.0
		for k, c := range count {
			e := n / 10.0
			if p.Log {
				e = n * math.Log((p.Lo+float64(k)+0.5)/(p.Lo+float64(k)-0.5)) / math.Log(10.5/0.5)
			}
			chi2 += (c - e) * (c - e) / e
		}
		if chi2 > 27.9 { // the 99.9 % point for 9 degrees of freedom
			t.Errorf("%+v: chi-squared %v", p, chi2)
		}
	}
}

func TestDefaultAndFormat(t *testing.T) {
	s := Space{Params: []Param{
		{Name: "n", Kind: Int, Lo: 1, Hi: 9},
		{Name: "rate", Lo: 1e-4, Hi: 1, Log: true},
		{Name: "x", Lo: -1, Hi: 1},
		{Name: "rule", Kind: Category, Choices: []string{"one", "two"}, Default: 1},
		{Name: "fast", Kind: Bool},
	}}
	c := s.Default()
	if got, want := s.Format(c), "n=5 rate=0.01 x=0 rule=two fast=false"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got, want := s.Format(append(s.Default(), 0.5)), "n=5 rate=0.01 x=0 rule=two fast=false ?=0.5"; got != want {
		t.Errorf("with a value too many: %q, not %q", got, want)
	}
	for i, bad := range []float64{0, 2, -3, 2, 0.5} {
		d := append([]float64(nil), c...)
		d[i] = bad
		if s.CheckConfig(d) == nil {
			t.Errorf("%s is accepted", s.Format(d))
		}
	}
	if s.CheckConfig(c[1:]) == nil || s.CheckConfig(c) != nil {
		t.Error("CheckConfig is wrong about the default, or about its length")
	}
}

// A parameter's bounds, at and one beyond.
func TestParamBounds(t *testing.T) {
	names := func(n int) []string { return make([]string, n) }
	for i, c := range []struct {
		p    Param
		want string // of the error
	}{
		{Param{Hi: 1}, ""}, {Param{}, ""}, {Param{Lo: 1, Hi: 1}, ""}, {Param{Lo: math.Nextafter(1, 2), Hi: 1}, "the range"}, {Param{Lo: -math.MaxFloat64, Hi: math.MaxFloat64}, "must be finite"}, {Param{Hi: math.Inf(1)}, "must be finite"},
		{Param{Lo: 1e-300, Hi: 1, Log: true}, ""}, {Param{Lo: 0, Hi: 1, Log: true}, "needs Lo > 0, not 0"},
		{Param{Kind: Int, Lo: -1 << 52, Hi: 1 << 52}, ""}, {Param{Kind: Int, Hi: 1<<52 + 1}, "at most 52 bits"}, {Param{Kind: Int, Lo: -1<<52 - 1}, "at most 52 bits"}, {Param{Kind: Int, Lo: 0.5, Hi: 2}, "whole numbers"}, {Param{Kind: Int, Hi: 2.5}, "whole numbers"},
		{Param{Kind: Category, Choices: names(1)}, ""}, {Param{Kind: Category, Choices: names(64)}, ""}, {Param{Kind: Category, Choices: names(65)}, "65 choices"}, {Param{Kind: Category}, "0 choices"}, {Param{Kind: Category, Choices: names(65), Ordered: true, Default: 64}, ""},
		{Param{Kind: Category, Choices: names(2), Default: 2}, "the default 2"}, {Param{Kind: Category, Choices: names(2), Ordered: true, Default: 2}, "the default 2"}, {Param{Kind: Bool, Default: 1}, ""}, {Param{Kind: Bool, Default: 2}, "the default"}, {Param{Kind: Bool + 1}, "unknown kind 4"},
		{Param{Lo: 2, Hi: 4, Default: 4}, ""}, {Param{Lo: 2, Hi: 4, Default: 5}, "the default"}, {Param{Lo: 2, Hi: 4, Default: 1}, "the default"}, {Param{Kind: Int, Hi: 3, Default: 1.5}, "the default"},
	} {
		if err := c.p.check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d, %+v: %v, want %q", i, c.p, err, c.want)
		}
	}
	for i, c := range []struct {
		s    Space
		want string
	}{
		{Space{}, "has no parameters"}, {Space{Params: []Param{{Name: "a"}, {Name: "a"}}}, `two parameters are called "a"`}, {Space{Params: []Param{{Name: "a"}, {Name: "b", Kind: 9}}}, `parameter 1 ("b"): unknown kind`},
	} {
		if err := c.s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %v, want %s", i, err, c.want)
		}
	}
}

// The values of parameters: how many, which first, where in [0,1], and which is where.
func TestParamValues(t *testing.T) {
	for i, c := range []struct {
		p           Param
		size, first float64
		in, out     []float64
		raw, unit   map[float64]float64
	}{
		{Param{Lo: 2, Hi: 6}, math.Inf(1), 4, []float64{2, 2.5, 6}, []float64{1.99, 6.01, math.NaN()}, map[float64]float64{0: 2, 0.25: 3, 1: 6, 2: 6, -1: 2}, map[float64]float64{2: 0, 3: 0.25, 6: 1}},
		{Param{Lo: -6, Hi: -2}, math.Inf(1), -4, nil, nil, nil, nil}, {Param{Lo: -1, Hi: 3}, math.Inf(1), 0, nil, nil, nil, nil}, {Param{Lo: 0, Hi: 3}, math.Inf(1), 0, nil, nil, nil, nil}, {Param{Lo: -3, Hi: 0}, math.Inf(1), 0, nil, nil, nil, nil}, {Param{Lo: 2, Hi: 6, Default: 5}, math.Inf(1), 5, nil, nil, nil, nil},
		{Param{Lo: 1, Hi: 100, Log: true}, math.Inf(1), 10, nil, nil, map[float64]float64{0: 1, 0.5: 10, 1: 100}, map[float64]float64{1: 0, 10: 0.5, 100: 1}},
		{Param{Lo: 3, Hi: 3}, 1, 3, []float64{3}, []float64{2, 4}, map[float64]float64{0: 3, 1: 3}, map[float64]float64{3: 0.5}},
		{Param{Kind: Int, Lo: 1, Hi: 4}, 4, 3, []float64{1, 4}, []float64{0, 5, 1.5}, map[float64]float64{0: 1, 0.24: 1, 0.26: 2, 0.99: 4, 1: 4}, map[float64]float64{1: 0.125, 2: 0.375, 4: 0.875}},
		{Param{Kind: Int, Lo: 5, Hi: 5}, 1, 5, []float64{5}, []float64{4, 6}, map[float64]float64{0: 5, 1: 5}, map[float64]float64{5: 0.5}},
		{Param{Kind: Category, Choices: make([]string, 3)}, 3, 0, []float64{0, 2}, []float64{-1, 3, 0.5}, map[float64]float64{2: 2}, map[float64]float64{2: 2}},
		{Param{Kind: Category, Choices: make([]string, 4), Ordered: true, Log: true}, 4, 0, []float64{0, 3}, []float64{-1, 4, 0.5}, map[float64]float64{0: 0, 0.3: 1, 1: 3}, map[float64]float64{0: 0.125, 3: 0.875}},
		{Param{Kind: Bool, Default: 1}, 2, 1, []float64{0, 1}, []float64{2, 0.5, -1}, map[float64]float64{1: 1}, map[float64]float64{1: 1}},
	} {
		if c.p.size() != c.size || math.Abs(c.p.first()-c.first) > 1e-9 {
			t.Errorf("%d: %v values, first %v; want %v, %v", i, c.p.size(), c.p.first(), c.size, c.first)
		}
		for _, v := range c.in {
			if !c.p.contains(v) {
				t.Errorf("%d: %v is no value", i, v)
			}
		}
		for _, v := range c.out {
			if c.p.contains(v) {
				t.Errorf("%d: %v is a value", i, v)
			}
		}
		for u, v := range c.raw {
			if got := c.p.raw(u); math.Abs(got-v) > 1e-9 {
				t.Errorf("%d: at %v is %v, want %v", i, u, got, v)
			}
		}
		for v, u := range c.unit {
			if got := c.p.unit(v); math.Abs(got-u) > 1e-9 {
				t.Errorf("%d: %v is at %v, want %v", i, v, got, u)
			}
		}
	}
	log := Param{Kind: Int, Lo: 1, Hi: 1000, Log: true}
	if v := log.raw(0.5); v != 22 { // the root of 0.5 * 1000.5
		t.Errorf("the middle is %v", v)
	}
}

// The configurations of a finite space have numbers.
func TestSpaceNumbers(t *testing.T) {
	s := Space{Params: []Param{{Name: "a", Kind: Int, Lo: -1, Hi: 1}, {Name: "b", Kind: Bool}, {Name: "c", Lo: 7, Hi: 7, Default: 7}, {Name: "d", Kind: Category, Choices: []string{"x", "y"}, Ordered: true}}}
	if s.size() != 12 {
		t.Fatalf("%v configurations", s.size())
	}
	for k := range 12 {
		if got, want := s.at(k), []float64{float64(k%3) - 1, float64(k / 3 % 2), 7, float64(k / 6)}; !slices.Equal(got, want) {
			t.Errorf("number %d is %v, want %v", k, got, want)
		}
	}
	for c, want := range map[[4]float64]string{{0, 1, 7, 1}: "", {2, 1, 7, 1}: "a = 2; it must be a whole number in [-1, 1]", {0, 2, 7, 1}: "b = 2; it must be the index of one of 2 choices", {0, 0, 7, 2}: "d = 2; it must be the index of one of 2 choices", {0, 0, 6, 0}: "c = 6; it must lie in [7, 7]"} {
		if err := s.CheckConfig(c[:]); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", c, err, want)
		}
	}
	if got := s.Format([]float64{0.5, 3, 1234567, 5, 1}); got != "a=0.5 b=3 c=1.23457e+06 d=5 ?=1" {
		t.Error(got)
	}
	if got := s.Format([]float64{0, 0, 7, 1}); got != "a=0 b=false c=7 d=y" {
		t.Error(got)
	}
}

// A neighbour differs in one active parameter, near the old value or in any other choice,
// and is allowed; where there is none it is the configuration itself.
func TestNeighbour(t *testing.T) {
	s := families()
	rng := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	far := 0.0
	for range 3000 {
		c := []float64{1, s.Params[1].first(), 1, 50, 0}
		n := s.Neighbour(c, rng)
		if err := s.CheckConfig(n); err != nil || slices.Equal(n, c) {
			t.Fatalf("%v, %v", n, err)
		}
		changed := 0
		for _, i := range []int{0, 2, 3, 4} {
			if n[i] != c[i] && (i == 0 || n[0] == 1 && (i != 3 || n[2] == 1)) {
				changed++
				seen[fmt.Sprint(i)] = true
				if i == 3 {
					far += math.Pow(s.Params[3].unit(n[3])-s.Params[3].unit(50), 2)
				}
			}
		}
		if changed != 1 {
			t.Fatalf("%v differs in %d", n, changed)
		}
	}
	if len(seen) != 4 || far == 0 {
		t.Errorf("it differs in %v", seen)
	}
	one := Space{Params: []Param{{Name: "x", Lo: 2, Hi: 2, Default: 2}}}
	if n := one.Neighbour([]float64{2}, rng); !slices.Equal(n, []float64{2}) {
		t.Error(n)
	}
	x := Space{Params: []Param{{Name: "x", Hi: 1}}}
	sum, squares := 0.0, 0.0
	for range 4000 {
		v := x.Neighbour([]float64{0.5}, rng)[0] - 0.5
		sum += v
		squares += v * v
	}
	if sd := math.Sqrt(squares / 4000); math.Abs(sum/4000) > 0.02 || sd < 0.185 || sd > 0.205 { // 0.2, cut at 0 and 1
		t.Errorf("mean %v, standard deviation %v", sum/4000, sd)
	}
}
