package figure_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/figure"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// sphere computes the squared distance from 1.
func sphere(_ context.Context, dst []float64, candidates [][]float64) error {
	for i, c := range candidates {
		dst[i] = 0
		for _, v := range c {
			dst[i] += (v - 1) * (v - 1) / 20
		}
	}
	return nil
}

func ExampleHardening() {
	r, err := pgpe.Run(context.Background(), make([]float64, 8), sphere, pgpe.Settings{MaxIterations: 40, Pairs: 10})
	if err != nil {
		panic(err)
	}
	save(figure.Hardening("PGPE on a sphere", r), "hardening")
}

func ExampleComparison() {
	var x, y, z []float64
	r := rng()
	for range 30 {
		v := 1 + 0.03*r.NormFloat64()
		x, y, z = append(x, v+0.02), append(y, v+0.01*r.NormFloat64()), append(z, v+0.02)
	}
	save(figure.Comparison("CCP, 30 unseen instances", []string{"DACE", "BRKGA-PAP", "its twin"}, [][]float64{x, y, z}), "comparison")
}

func ExampleTested() {
	// Records of a test: the portfolio, and the baselines that experiment.Test adds.
	var records []experiment.Record
	r := rng()
	for i := range 30 {
		v := 1 + 0.03*r.NormFloat64()
		for k, method := range []string{"mine", "ils x 4", "ea x 4", "mine: single x 4", "anneal x 4", "BRKGA-PAP"} {
			m := v - 0.012*float64(k) + 0.01*r.NormFloat64()
			records = append(records, experiment.Record{
				Class: "ccp", Instance: fmt.Sprint(i), Dim: 30, Method: method, Baseline: k > 0, Values: []float64{m}, Mean: m,
			})
		}
	}
	p, err := figure.Tested("CCP, 30 unseen instances", records)
	if err != nil {
		panic(err)
	}
	save(p, "tested")
}

// Methods come first, then baselines, the best first; a dimension has a plot of its own.
func TestTested(t *testing.T) {
	var records []experiment.Record
	for _, d := range []int{10, 20} {
		for i := range 6 {
			for k, method := range []string{"low", "high"} {
				m := float64(i) + float64(k)
				records = append(records, experiment.Record{Class: "x", Instance: fmt.Sprint(d, i), Dim: d, Method: method, Baseline: true, Values: []float64{m}, Mean: m})
			}
			records = append(records, experiment.Record{Class: "x", Instance: fmt.Sprint(d, i), Dim: d, Method: "own", Values: []float64{0}})
		}
	}
	samples, err := experiment.Samples(records, "")
	if err != nil || len(samples) != 8 {
		t.Fatalf("%v, %v", samples, err)
	}
	for i, want := range []string{"own", "high", experiment.Virtual, "low"} {
		if s := samples[4+i]; s.Method != want || s.Dim != 20 || s.Baseline != (i > 0) || len(s.Means) != 6 {
			t.Errorf("%d: %+v, want %s", i, s, want)
		}
	}
	if p := samples[1].P; p != 2*2/64.0 { // two baselines, all six instances one way
		t.Errorf("p = %v", p)
	}
	if _, err := figure.Tested("x", records); err != nil {
		t.Error(err)
	}
	if _, err := figure.Tested("x", nil); err == nil {
		t.Error("no error without records")
	}
}

func TestMethods(t *testing.T) {
	ctx := context.Background()
	p := onemax.Random(1, 12)
	r, err := brkga.Run(ctx, p, brkga.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := figure.Solver("x", []brkga.Result{r}).Curves[0]
	if n := len(c.X); c.X[n-1] != 800 || c.Y[n-1] != r.Value {
		t.Errorf("the curve ends at %v, %v", c.X[n-1], c.Y[n-1])
	}
	m, err := nir.Train(ctx, []problem.Problem{p}, nir.Settings{Samples: 200, Batch: 8, Steps: 10, ValidateEvery: 2})
	if err != nil {
		t.Fatal(err)
	}
	if plot := figure.Training("x", m); plot.X.Max != 10 || math.IsInf(plot.Y.Min, 0) {
		t.Errorf("training: x to %v, y from %v", plot.X.Max, plot.Y.Min)
	}
	l, err := landscape.Measure(ctx, p, landscape.Settings{Solutions: 1000, Pairs: 1000})
	if err != nil {
		t.Fatal(err)
	}
	figure.FitnessDistance("x", []figure.Distances{figure.Landscape(l)})
	if cl := figure.Plane("x", [][]float64{{1, 2}, {3, 4}}); cl.X[1] != 3 || cl.Y[0] != 2 {
		t.Errorf("%v", cl)
	}
}

// Methods are compared on the same instances, and no value is left out without a word.
func TestComparisonRefuses(t *testing.T) {
	for want, values := range map[string][][]float64{
		"b has 2 where a has 3":   {{1, 2, 3}, {4, 5}},
		"value 1 of b is -Inf":    {{1, 2, 3}, {4, math.Inf(-1), 5}},
		"value 0 of a is NaN":     {{math.NaN(), 2, 3}, {4, 5, 6}},
		"needs one name for ever": {{1, 2, 3}},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("%v: %s, want %s", values, got, want)
				}
			}()
			figure.Comparison("t", []string{"a", "b"}, values)
		}()
	}
}

// A run whose first solutions must not be chosen begins where it has one that may.
func TestConvergenceInfeasible(t *testing.T) {
	inf := math.Inf(-1)
	runs := []figure.Curve{{X: []float64{1, 30, 40}, Y: []float64{inf, 2, 3}}, {X: []float64{1, 20}, Y: []float64{inf, 1}}}
	never := []figure.Curve{{X: []float64{1}, Y: []float64{inf}}}
	p := figure.Convergence("t", []figure.Runs{{Name: "a", Curves: runs}, {Name: "never", Curves: never}})
	if p.Y.Min > 1.5 || p.Y.Min < 1 || p.Y.Max < 2 || p.Y.Max > 3.5 || p.X.Max != 40 {
		t.Errorf("y from %v to %v, x to %v", p.Y.Min, p.Y.Max, p.X.Max)
	}
	if runs[0].Y[0] != inf || len(runs[0].Y) != 3 {
		t.Error("the runs are changed")
	}
}
