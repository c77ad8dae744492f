package experiment_test

import (
	"context"
	"math"
	"reflect"
	"testing"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/cimp"
	"dace.local/dacelib/run"
)

// The noise of influence maximisation has the standard error of the worlds. It
// is fixed for a solution outside of runs and new in every evaluation of a
// run's stream; the number of workers does not change a test.
func TestSampled(t *testing.T) {
	ctx := context.Background()
	p, err := cimp.Generate(1, cimp.Settings{Dim: 20, K: 6})
	if err != nil {
		t.Fatal(err)
	}
	noisy, err := experiment.Sampled(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	const n = 4000
	x := problem.Random(run.Rand(2, "test"), n, p.Dim())
	estimates, err := p.Estimate(ctx, x.Slice(0, 64))
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, e := range estimates {
		want += e.StandardError / 64
	}
	exact, first, second, stream, again := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	s := noisy.(portfolio.Stochastic).Stream(7)
	for _, c := range []struct {
		p   problem.Problem
		dst []float64
	}{{p, exact}, {noisy, first}, {noisy, second}, {s, stream}, {s, again}} {
		if err := c.p.Evaluate(ctx, c.dst, x); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(first, second) || reflect.DeepEqual(stream, again) {
		t.Error("fixed noise changes, or a stream's does not")
	}
	for name, v := range map[string][]float64{"fixed": first, "stream": stream} {
		sum, squares := 0.0, 0.0
		for i := range v {
			d := v[i] - exact[i]
			sum += d
			squares += d * d
		}
		if sd := math.Sqrt(squares / n); math.Abs(sd/want-1) > 0.1 || math.Abs(sum/n) > 4*want/math.Sqrt(n) {
			t.Errorf("%s: standard deviation %.4f and mean %.4f, want %.4f and 0", name, sd, sum/n, want)
		}
	}
	set := problem.Set{Class: "cimp", Test: []problem.Problem{p}}
	settings := experiment.Settings{Reading: run.Published, Sample: 2000, Evaluations: 100, Repeats: 4, Workers: 1}
	one, err := experiment.Test(ctx, set, experiment.Entries([]portfolio.Portfolio{portfolio.BRKGAPAP()}), settings)
	if err != nil {
		t.Fatal(err)
	}
	settings.Workers = 4
	four, err := experiment.Test(ctx, set, experiment.Entries([]portfolio.Portfolio{portfolio.BRKGAPAP()}), settings)
	if err != nil || !reflect.DeepEqual(one, four) {
		t.Errorf("workers change a test: %v\n%v\n%v", err, one, four)
	}
}
