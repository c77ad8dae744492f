package construct_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/problem"
)

// TestNoise checks that Best refuses an objective whose values differ, and
// takes the same one as [problem.Noisy], as its message says.
func TestNoise(t *testing.T) {
	shaky := func(name string) problem.Problem {
		return problem.FromFunc(name, 20, func(x []bool) float64 {
			ones := 0.0
			for _, b := range x {
				if b {
					ones++
				}
			}
			return ones + rand.Float64()
		})
	}
	settings := construct.Settings{Evaluations: 50, Workers: 1}
	for _, p := range []problem.Problem{shaky("a"), problem.Named(shaky("b"), "a")} {
		_, err := construct.Best(t.Context(), []problem.Problem{p}, settings)
		var noise *construct.NoiseError
		if !errors.As(err, &noise) || noise.Name != "a" || !strings.Contains(err.Error(), "problem.Noisy") {
			t.Errorf("Best of a noisy objective: %v, want a NoiseError of a that names problem.Noisy", err)
		}
	}
	quiet := []problem.Problem{problem.Noisy(shaky("a"), problem.Noise{Repeats: 3}), problem.Noisy(shaky("b"), problem.Noise{Repeats: 3})}
	if r, err := construct.Best(t.Context(), quiet, settings); err != nil || len(r.Portfolio.Members) == 0 {
		t.Errorf("Best of noisy problems: %v, %v", r.Portfolio, err)
	}
}
