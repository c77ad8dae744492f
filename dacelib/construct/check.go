package construct

import (
	"context"
	"errors"
	"slices"

	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// checkSample is the number of solutions of a training instance that normalise
// it for the check.
const checkSample = 500

// check chooses the portfolio again, by runs on the training instances
// themselves: the candidates are the members chosen on NIRs and what the last
// round's searches found. It is not in the paper. Where NIRs differ from their
// instances, they mislead all searches in the same way.
func (n *neural) check(ctx context.Context) error {
	c := n.c
	last := c.r.Rounds[len(c.r.Rounds)-1]
	configs := c.s.checked(last)
	j := c.judge
	j.seeds, j.authentic = c.s.Checks, true
	at := step{Round: len(c.r.Rounds), Stage: checkStage}
	total := len(configs) * j.seeds
	c.e.emit(run.Event{Stage: at.stage(), Step: 0, Total: total})
	// An instance without solutions that may be chosen among those of the sample
	// has no range, nil, and is not checked.
	ranges := make([]*portfolio.Range, len(n.training))
	err := c.j.do(at, &ranges, func(w *work) error {
		for i, p := range n.training {
			normalised, err := portfolio.NormaliseOn(ctx, c.s.Farm, []problem.Problem{p}, checkSample, run.Seed(c.s.Seed, "construct: check"))
			w.Evaluations += checkSample
			switch {
			case err == nil:
				r := normalised[0].(*portfolio.Instance).Range()
				ranges[i] = &r
			case !errors.Is(err, portfolio.ErrNoRange):
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var instances []string
	var ps []problem.Problem
	for i, r := range ranges {
		if r != nil {
			instances, ps = append(instances, n.training[i].Name()), append(ps, portfolio.Within(n.training[i], *r))
		}
	}
	if len(ps) == 0 {
		return nil
	}
	matrix := portfolio.Matrix{Configs: configs, Instances: j.columns(instances)}
	at.Index = 1
	err = c.j.do(at, &matrix.Values, func(w *work) (err error) {
		matrix.Values, err = c.runAll(ctx, at, j, configs, ps, w)
		return err
	})
	if err != nil {
		return err
	}
	c.choose(j, matrix, instances)
	if err := c.record(at.Round); err != nil {
		return err
	}
	f := mean(c.r.Rounds[at.Round].After)
	c.e.emit(run.Event{Stage: at.stage(), Step: total, Total: total, Value: f, Best: f})
	c.changed()
	return nil
}

// checked returns the configurations that are checked after a round: the
// members of its portfolio, then others that its searches found.
func (s Settings) checked(r Round) []solver.Config {
	out := slices.Clone(r.Portfolio.Members)
	for _, found := range r.Matrix.Configs[s.Members:] {
		if len(out) < s.candidates() && !slices.Contains(out, found) {
			out = append(out, found)
		}
	}
	return out
}

// candidates returns the largest number of configurations that are checked.
func (s Settings) candidates() int { return max(s.Members, s.Minings) }

// checkEvaluations returns the largest number of evaluations that the check
// makes on an instance.
func (s Settings) checkEvaluations() int {
	if s.Checks < 1 {
		return 0
	}
	return checkSample + s.Checks*s.candidates()*s.judged()
}
