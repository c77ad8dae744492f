package brkga_test

import (
	"context"
	"fmt"
	"math"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// Example minimises the difference between the sums of two halves of 1, 4, 9,
// ..., 400, with 800 evaluations.
func Example() {
	halves := problem.FromFunc("halves", 20, func(x []bool) float64 {
		difference := 0
		for i, left := range x {
			if square := (i + 1) * (i + 1); left {
				difference += square
			} else {
				difference -= square
			}
		}
		return -math.Abs(float64(difference)) // to be maximised
	})
	r, err := brkga.Run(context.Background(), halves, brkga.Settings{Config: brkga.Config{Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7}, Seed: 2})
	fmt.Println(-r.Value, r.Evaluations, r.Status, err)
	// Output: 0 800 budget spent <nil>
}

// ExampleRunAll runs the same configuration with ten seeds.
func ExampleRunAll() {
	p := onemax.Random(1, 30)
	var jobs []brkga.Job
	for seed := range 10 {
		jobs = append(jobs, brkga.Job{Problem: p, Settings: brkga.Settings{Config: brkga.Config{Elites: 15, Offspring: 37, Mutants: 2, Bias: 0.23}, Seed: uint64(seed)}})
	}
	results, err := brkga.RunAll(context.Background(), jobs, 0)
	for _, r := range results {
		fmt.Print(r.Value, " ")
	}
	fmt.Println(err)
	// Output: 30 30 30 30 30 30 30 30 30 30 <nil>
}
