package construct

import (
	"context"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
)

// GLOBAL constructs a portfolio by one search over the space of whole
// portfolios, Theta^K: the best of [Settings].Minings independent runs of
// SMAC, whose configurations race over the training instances (Lindauer et
// al., 2017). Instances are normalised as in CEPS.
func GLOBAL(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	c, err := start("GLOBAL", training, s, 200, 51_200)
	if err != nil {
		return Result{}, err
	}
	return c.finish(ctx, c.static(ctx, training, func() ([]brkga.Config, error) {
		return c.race(ctx, "all members", 0, c.s.Members, nil)
	}))
}
