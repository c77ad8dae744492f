package caop

import (
	"context"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
)

// Instances travel to the workers of a farm as their JSON. Sizes depend on GCC:
// only workers with the same one compute them.
func init() {
	farm.Trait("compilers", func() string {
		id, err := compilerID(context.Background())
		if err != nil {
			return ""
		}
		return id
	})
	farm.RegisterProblem("caop", (*Instance)(nil), farm.Codec{
		Decode: func(_ context.Context, _ *farm.Env, data []byte) (problem.Problem, error) { return Decode(data) },
		Needs:  []string{"compilers"}, Expensive: true,
	})
}
