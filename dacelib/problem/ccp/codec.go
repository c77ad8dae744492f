package ccp

import (
	"context"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
)

// Instances travel to the workers of a farm as their JSON.
func init() {
	farm.RegisterProblem("ccp", (*Instance)(nil), farm.Codec{
		Decode: func(_ context.Context, _ *farm.Env, data []byte) (problem.Problem, error) { return Decode(data) },
	})
}
