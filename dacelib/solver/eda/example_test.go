package eda_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/eda"
)

// Example learns a distribution of bits on OneMax.
func Example() {
	p, err := classic.PBO(1, 1, 30)
	if err != nil {
		panic(err)
	}
	config, err := solver.Parse("eda")
	if err != nil {
		panic(err)
	}
	r, err := solver.Run(context.Background(), solver.Job{Problem: p, Config: config, Evaluations: 2000, Seed: 1})
	fmt.Println(r.Value, "of", p.Dim(), err)
	// Output: 30 of 30 <nil>
}
