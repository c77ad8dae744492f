package ea_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/ea"
)

// Example runs the (1+1)-EA with heavy-tailed rates on LeadingOnes.
func Example() {
	p, err := classic.PBO(2, 1, 20)
	if err != nil {
		panic(err)
	}
	config, err := solver.Parse("ea{mutation: heavy}")
	if err != nil {
		panic(err)
	}
	r, err := solver.Run(context.Background(), solver.Job{Problem: p, Config: config, Evaluations: 2000, Seed: 1})
	fmt.Println(r.Value, "of", p.Dim(), err)
	// Output: 20 of 20 <nil>
}
