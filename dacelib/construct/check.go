package construct

import (
	"context"
	"slices"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/run"
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
	c.e.emit(run.Event{Stage: at.stage(), Step: 0, Total: 1})
	var instances []string
	for _, p := range n.training {
		instances = append(instances, p.Name())
	}
	matrix := portfolio.Matrix{Configs: configs, Instances: j.columns(instances)}
	err := c.j.do(at, &matrix.Values, func(w *work) error {
		ps, err := portfolio.NormaliseOn(ctx, c.s.Farm, n.training, checkSample, run.Seed(c.s.Seed, "construct: check"))
		if err != nil {
			return err
		}
		w.Evaluations += checkSample * len(ps)
		matrix.Values, err = j.each(ctx, configs, ps, c.roundSeed(at.Round), c.s.Workers, &w.Cost)
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
	c.e.emit(run.Event{Stage: at.stage(), Step: 1, Total: 1, Value: f, Best: f})
	c.changed()
	return nil
}

// checked returns the configurations that are checked after a round: the
// members of its portfolio, then others that its searches found.
func (s Settings) checked(r Round) []brkga.Config {
	out := slices.Clone(r.Portfolio.Configs)
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
