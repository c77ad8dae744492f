package construct

import (
	"context"
	"fmt"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
)

// PARHYDRA constructs a portfolio member by member: each is the best that
// [Settings].Minings independent runs of SMAC find to add to those before it
// (Xu et al., 2010). Instances are normalised as in CEPS.
func PARHYDRA(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	c, err := start("PARHYDRA", training, s, 200, 25_600)
	if err != nil {
		return Result{}, err
	}
	return c.finish(ctx, c.static(ctx, training, func() ([]brkga.Config, error) {
		var configs []brkga.Config
		for k := range c.s.Members {
			more, err := c.race(ctx, fmt.Sprintf("member %d", k+1), k, 1, configs)
			if err != nil {
				return nil, err
			}
			configs = append(configs, more...)
		}
		return configs, nil
	}))
}
