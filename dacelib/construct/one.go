package construct

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// The methods of this file are not in the paper. They generate no hard
// instances, and so show how much co-evolution adds to the same search.

// One is CEPS without generated instances: one round on the training instances
// alone. With [Settings].Seeds = 3 every instance is judged under three seeds:
// "ONEx3". The same on NIRs is [DACE] with Rounds = 1.
func One(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	if s.Rounds >= 0 {
		s.Rounds = 1
	}
	name := "ONE"
	if s.Seeds > 1 {
		name = fmt.Sprintf("ONEx%d", s.Seeds)
	}
	return coevolveAuthentic(ctx, name, training, problem.Class{}, s, methodDefaults{Minings: 20, Trials: 1600})
}

// Fresh is [One] on the training instances and [Settings].Fresh random
// instances of the class, drawn by class.Train. They are not made harder.
func Fresh(ctx context.Context, training []problem.Problem, class problem.Class, s Settings) (Result, error) {
	if s.Rounds >= 0 {
		s.Rounds = 1
	}
	if s.Fresh == 0 {
		s.Fresh = 3 * len(training)
	}
	return coevolveAuthentic(ctx, "FRESH", training, class, s, methodDefaults{Minings: 20, Trials: 1600})
}

// Greedy chooses the portfolio from [Settings].Configurations random
// configurations: one after the other, it takes the configuration that adds
// most on the training instances. This is the paper's initial portfolio, chosen
// from a larger set, without any search.
func Greedy(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	defer run.Report(&ctx, "GREEDY", &s.OnEvent)()
	ctx, end := s.limited(ctx)
	defer end()
	c, err := start(ctx, "GREEDY", "", training, s, methodDefaults{Configurations: 4000, Minings: 1, Trials: 1}, func(c *coevolution) error {
		c.judge.authentic = true
		b := c.runs()
		if b == 0 {
			return nil
		}
		configurations := func(budget int) int { return (budget - c.ranging()*len(training)) / (len(training) * c.s.Seeds) }
		c.s.Configurations = max(c.s.Members, configurations(b))
		return c.afford(func(budget int) bool { return configurations(budget) >= c.s.Members })
	})
	if err != nil {
		return early(ctx, "GREEDY", s, err)
	}
	c.pop = newAuthentic(c, training, problem.Class{})
	m, err := c.instances(ctx)
	if err == nil {
		_, err = c.first(ctx, m)
	}
	return c.finish(ctx, err)
}
