package run_test

import (
	"fmt"

	"dace.local/dacelib/run"
)

// Each repetition draws from its own stream, so its numbers depend neither on
// the worker that runs it nor on the draws of other repetitions.
func Example() {
	means := make([]float64, 4)
	err := run.Each(2, len(means), func(i int) error {
		rng := run.Rand(1, "example: means", i)
		for range 1000 {
			means[i] += rng.Float64() / 1000
		}
		return nil
	})
	fmt.Printf("%.1f %v\n", means, err)
	// Output: [0.5 0.5 0.5 0.5] <nil>
}
