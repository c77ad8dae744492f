package construct

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all"
)

func contenders(t *testing.T, texts ...string) []*contender {
	t.Helper()
	var out []*contender
	for _, text := range texts {
		c, err := solver.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := solver.Lookup(c.Solver())
		if err != nil {
			t.Fatal(err)
		}
		space := s.Space(40, 800)
		point, err := c.Point(space)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &contender{config: c, place: space.Place(point)})
	}
	return out
}

// The posterior is that of the textbook's formulas with inverse and determinant
// (Rasmussen, Williams: Gaussian processes for machine learning, 2.25 to 2.30), under
// the variances of the grid with the largest likelihood.
func TestPosterior(t *testing.T) {
	t.Parallel()
	e := evidence{
		tried: contenders(t, "anneal", "anneal{start: 0.2}", "anneal{swaps: 0.5}", "ea", "ea{rate: 2}", "linkage"),
		y:     []float64{1.2, 0.9, 1, -0.4, -0.1, 0.5}, noise: []float64{0.05, 0.1, 0.1, 0.05, 0.2, 0.1}, runs: 1.5,
	}
	n := len(e.y)
	var want []float64
	top := math.Inf(-1)
	for _, family := range likely {
		for _, own := range likely {
			belief, all := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
			for i, a := range e.tried {
				for j, b := range e.tried {
					v := 0.0
					if a.config.Solver() == b.config.Solver() {
						v = e.runs * (family + own*a.near(b))
					}
					belief.Set(i, j, v)
					if i == j {
						v += e.noise[i]
					}
					all.Set(i, j, v)
				}
			}
			var inverse mat.Dense
			if err := inverse.Inverse(all); err != nil {
				t.Fatal(err)
			}
			sum, weight := 0.0, 0.0
			for i := range n {
				for j := range n {
					sum += inverse.At(i, j) * e.y[j]
					weight += inverse.At(i, j)
				}
			}
			mean, q := sum/weight, 0.0
			post := make([]float64, n)
			for i := range n {
				post[i] = mean
				for j := range n {
					q += (e.y[i] - mean) * inverse.At(i, j) * (e.y[j] - mean)
					for k := range n {
						post[i] += belief.At(i, j) * inverse.At(j, k) * (e.y[k] - mean)
					}
				}
			}
			if l := -q/2 - math.Log(mat.Det(all))/2; l > top {
				top, want = l, post
			}
		}
	}
	got := e.posterior()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Errorf("%v: %v, want %v", e.tried[i].config, got[i], want[i])
		}
	}
}

// Of one lucky configuration in a bad family and many steady ones in a good family,
// the estimate prefers the steady ones; what the runs say alone does not.
func TestEstimate(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	good := contenders(t, "anneal", "anneal{start: 0.4}", "anneal{start: 0.6}", "anneal{end: 0.03}", "anneal{end: 0.015}", "anneal{start: 0.45}")
	bad := contenders(t, "ea", "ea{rate: 1.1}", "ea{rate: 0.9}", "ea{rate: 1.2}", "ea{rate: 0.8}", "ea{rate: 1.3}")
	r := &rungs{c: &coevolution{}, columns: []column{{seeds: 4, instances: []int{0, 1, 2}}}}
	r.c.s.Members = 1
	r.training = flat(3)
	fill := func(c *contender, mean float64) {
		c.values = make([][]float64, 3)
		for m := range c.values {
			for range 4 {
				c.values[m] = append(c.values[m], mean+rng.NormFloat64())
			}
		}
	}
	for _, c := range good {
		fill(c, 1)
	}
	for k, c := range bad {
		if fill(c, 0); k == 0 {
			fill(c, 2) // luck
		}
	}
	r.field = append(append(r.field, bad...), good...)
	r.tried = r.field
	r.rank()
	lucky := bad[0]
	for _, c := range r.field {
		if c != lucky && c.score-c.shift >= lucky.score-lucky.shift {
			t.Errorf("by its own runs %v is as good as the lucky one: the test shows nothing", c.config)
		}
	}
	if lucky.shift > -0.1 {
		t.Errorf("the lucky configuration's estimate is %v above its own runs", lucky.shift)
	}
	if r.field[0] == lucky {
		t.Errorf("the lucky configuration of a bad family is preferred to six steady ones of a good family")
	}
	for _, c := range good[1:] {
		if c.score < bad[1].score {
			t.Errorf("%v has %v, %v has %v", c.config, c.score, bad[1].config, bad[1].score)
		}
	}
}

func flat(n int) []problem.Problem {
	out := make([]problem.Problem, n)
	for i := range out {
		out[i] = problem.FromFunc("p", 4, func(x []bool) float64 { return 0 })
	}
	return out
}
