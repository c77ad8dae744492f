package linkage_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/linkage"
)

// Example solves concatenated traps, which mislead whoever flips single bits.
func Example() {
	p, err := classic.Traps("traps", 40, 5, nil)
	if err != nil {
		panic(err)
	}
	config, err := solver.Parse("linkage")
	if err != nil {
		panic(err)
	}
	r, err := solver.Run(context.Background(), solver.Job{Problem: p, Config: config, Evaluations: 20000, Seed: 1})
	fmt.Println(r.Value, "of", p.Dim(), err)
	// Output: 40 of 40 <nil>
}
