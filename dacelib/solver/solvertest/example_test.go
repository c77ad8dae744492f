package solvertest_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/solvertest"
)

// ExampleCheck checks a solver that tries random solutions.
func ExampleCheck() {
	random := solver.FromFunc("random", smac.Space{}, func(s *solver.Search) error {
		x := make([]bool, s.Dim())
		for !s.Over() {
			for i := range x {
				x[i] = s.Rand.IntN(2) == 1
			}
			s.BoolValue(x)
		}
		return nil
	})
	solver.Register(random)
	fmt.Println(solvertest.Check(context.Background(), random))
	// Output: <nil>
}
