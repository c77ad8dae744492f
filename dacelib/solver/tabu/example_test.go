package tabu_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/tabu"
)

// Example finds the sequence of Barker, whose merit factor 169/12 is the greatest of length 13.
func Example() {
	p, err := classic.PBO(18, 1, 13)
	if err != nil {
		panic(err)
	}
	config, err := solver.Parse("tabu{tenure: 0.3}")
	if err != nil {
		panic(err)
	}
	r, err := solver.Run(context.Background(), solver.Job{Problem: p, Config: config, Evaluations: 20000, Seed: 1})
	fmt.Println(fmt.Sprintf("%.3f", r.Value), err)
	// Output: 14.083 <nil>
}
