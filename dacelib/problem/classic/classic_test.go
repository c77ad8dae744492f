package classic

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
)

// random draws an instance of every problem of the package.
func random(t *testing.T, seed uint64, d int) []*Instance {
	t.Helper()
	var all []*Instance
	add := func(p *Instance, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	add(RandomKnapsack(seed, d))
	if d <= 24 {
		add(RandomMaxCut(seed, d))
	}
	for _, k := range []int{0, 2, 5} {
		if k < d {
			add(RandomNK(seed, d, k))
		}
	}
	return all
}

func TestConformance(t *testing.T) {
	for _, d := range []int{1, 2, 20, 64, 100} {
		for _, p := range random(t, 1, d) {
			problemtest.Run(t, p, problemtest.Settings{})
		}
	}
}

// TestOptimum compares the optima with the best of all solutions.
func TestOptimum(t *testing.T) {
	for _, d := range []int{1, 2, 3, 7, 14} {
		for seed := range uint64(5) {
			for _, p := range random(t, seed, d) {
				x := problem.Enumerate(d)
				values := make([]float64, x.Len())
				if err := p.Evaluate(context.Background(), values, x); err != nil {
					t.Fatal(err)
				}
				best, _ := p.Optimum()
				if top := slices.Max(values); math.Abs(top-best) > 1e-12 {
					t.Errorf("%s: optimum %v, the best of all is %v", p.Name(), best, top)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for what, f := range map[string]func() (*Instance, error){
		"lengths":   func() (*Instance, error) { return Knapsack("", []int{1}, []int{1, 2}, 3) },
		"capacity":  func() (*Instance, error) { return Knapsack("", []int{1}, []int{1}, -3) },
		"weight":    func() (*Instance, error) { return Knapsack("", []int{1}, []int{-1}, 3) },
		"items":     func() (*Instance, error) { return RandomKnapsack(1, 0) },
		"nodes":     func() (*Instance, error) { return RandomMaxCut(1, 25) },
		"weights":   func() (*Instance, error) { return MaxCut("", [][]int{{0, 1}, {1}}) },
		"k":         func() (*Instance, error) { return RandomNK(1, 5, 5) },
		"table":     func() (*Instance, error) { return NK("", 0, [][]float64{{1}}) },
		"table NaN": func() (*Instance, error) { return NK("", 0, [][]float64{{1, math.NaN()}}) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// ExampleRandomKnapsack runs BRKGA on a knapsack of 30 items.
func ExampleRandomKnapsack() {
	p, _ := RandomKnapsack(1, 30)
	r, err := brkga.Run(context.Background(), p, brkga.Settings{
		Config: brkga.Config{Elites: 15, Offspring: 37, Mutants: 2, Bias: 0.23}, Evaluations: 5000,
	})
	best, _ := p.Optimum()
	fmt.Println(r.Value, best, err)
	// Output: 1334 1334 <nil>
}
