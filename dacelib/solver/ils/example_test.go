package ils_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/ils"
)

// Example places five queens on a board of five by five.
func Example() {
	p, err := classic.PBO(23, 1, 25)
	if err != nil {
		panic(err)
	}
	config, err := solver.Parse("ils{improvement: best, swaps: true}")
	if err != nil {
		panic(err)
	}
	r, err := solver.Run(context.Background(), solver.Job{Problem: p, Config: config, Evaluations: 2000, Seed: 1})
	fmt.Println(r.Value, err)
	// Output: 5 <nil>
}
