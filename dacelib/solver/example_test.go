package solver_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all"
)

// Example runs configurations of three solvers on one problem.
func Example() {
	p := onemax.Random(1, 30)
	var jobs []solver.Job
	for _, text := range []string{"ea{mu: 2, lambda: 4}", "anneal", "tabu{tenure: 0.1}"} {
		config, err := solver.Parse(text)
		if err != nil {
			panic(err)
		}
		jobs = append(jobs, solver.Job{Problem: p, Config: config, Evaluations: 2000, Seed: 1})
	}
	results, err := solver.RunAll(context.Background(), jobs, 2)
	for i, r := range results {
		fmt.Println(jobs[i].Config, r.Value)
	}
	fmt.Println(err)
	// Output:
	// ea{mu: 2, lambda: 4} 30
	// anneal 30
	// tabu{tenure: 0.1} 30
	// <nil>
}
