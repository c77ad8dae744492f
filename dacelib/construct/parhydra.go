package construct

import (
	"context"
	"slices"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// PARHYDRA constructs a portfolio member by member: each member is the best
// that [Settings].Minings independent runs of SMAC find to add to the members
// before it (Xu et al., 2010). In the reading Published, Minings is the number
// of independent chains of members instead, and the best chain is kept.
// Instances are normalised as in CEPS.
func PARHYDRA(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	defer run.Report(&ctx, "PARHYDRA", &s.OnEvent)()
	d := methodDefaults{Minings: 200, Trials: 25_600}
	if s.Reading == run.Published {
		d = methodDefaults{Minings: 20, Trials: 6_400}
	}
	ctx, end := s.limited(ctx)
	defer end()
	c, err := start(ctx, "PARHYDRA", "", training, s, d, func(c *coevolution) error { return c.planRace(1, c.s.Members) })
	if err != nil {
		return early(ctx, "PARHYDRA", s, err)
	}
	return c.finish(ctx, c.static(ctx, training, func() ([]solver.Config, error) {
		chains := make([]candidate, c.s.Minings)
		for k := range c.s.Members {
			found, err := c.searchAll(ctx, memberStage(k), 1, func(i int) []solver.Config { return chains[i].Configs })
			if err != nil {
				return nil, err
			}
			for i := range chains {
				next := found[i]
				if c.s.Reading == run.Written {
					next = best(found)
				}
				chains[i] = candidate{slices.Concat(chains[i].Configs, next.Configs), next.Sum}
			}
		}
		return best(chains).Configs, nil
	}))
}
