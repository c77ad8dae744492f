package smac

import (
	"math"
	"math/rand/v2"
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
