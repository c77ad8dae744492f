package anneal_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/anneal"
)

// Example anneals a ring of Ising spins: all neighbours are equal in the end.
func Example() {
	p, err := classic.PBO(19, 1, 25)
	if err != nil {
		panic(err)
	}
	config, err := solver.Parse("anneal{start: 1}")
	if err != nil {
		panic(err)
	}
	r, err := solver.Run(context.Background(), solver.Job{Problem: p, Config: config, Evaluations: 2000, Seed: 1})
	fmt.Println(r.Value, "of", p.Dim(), err)
	// Output: 25 of 25 <nil>
}
