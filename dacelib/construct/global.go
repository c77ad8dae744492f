package construct

import (
	"context"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// GLOBAL constructs a portfolio by one search over the space of whole
// portfolios, Theta^K: the best of [Settings].Minings independent runs of
// SMAC, whose configurations race over the training instances (Lindauer et
// al., 2017). Instances are normalised as in CEPS.
func GLOBAL(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	defer run.Report(&ctx, "GLOBAL", &s.OnEvent)()
	ctx, end := s.limited(ctx)
	defer end()
	c, err := start(ctx, "GLOBAL", "", training, s, methodDefaults{Minings: 200, Trials: 51_200}, func(c *coevolution) error { return c.planRace(c.s.Members, 1) })
	if err != nil {
		return early(ctx, "GLOBAL", s, err)
	}
	return c.finish(ctx, c.static(ctx, training, func() ([]solver.Config, error) {
		found, err := c.searchAll(ctx, allMembersStage, c.s.Members, func(int) []solver.Config { return nil })
		if err != nil {
			return nil, err
		}
		return best(found).Configs, nil
	}))
}
