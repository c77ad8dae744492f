package construct

import "dace.local/dacelib/run"

// This file turns a Budget into numbers of trials and iterations. They follow
// from the settings and the numbers of instances alone, so a resumed
// construction computes the same ones.

// runs returns the budget in runs of BRKGA; 0 means no bound.
func (c *coevolution) runs() int {
	b := c.s.Budget.Runs
	if e := c.s.Budget.Evaluations; e > 0 && c.judge.authentic {
		if n := max(1, e/c.judge.evaluations); b == 0 || n < b {
			b = n
		}
	}
	return b
}

// generates reports whether the construction makes instances.
func (c *coevolution) generates() bool { return c.s.Rounds > 1 }

// trials returns the number of trials of a mining on that many instances.
func (c *coevolution) trials(instances int) int {
	budget := c.runs()
	if budget == 0 {
		return c.s.Trials
	}
	if c.generates() {
		budget -= budget / 4
	}
	columns := instances * c.s.Seeds
	initial := len(c.r.Setup.Training) + c.s.Fresh
	first := c.s.Configurations * initial * c.s.Seeds
	if c.judge.authentic {
		first += 2 * initial // runs that find the ranges
	}
	if c.s.Checks > 0 && !c.judge.authentic {
		first += c.s.Checks * len(c.r.Setup.Training) * c.s.candidates()
	}
	left := (budget-first)/c.s.Rounds - c.s.Members*columns
	return max(1, left/(c.s.Minings*columns))
}

// iterations returns the largest number of iterations of a mutation in a round
// of at most that many mutations.
func (c *coevolution) iterations(mutations int) int {
	most := c.s.PGPE.MaxIterations
	if most == 0 {
		most = 200
	}
	if budget := c.runs(); budget > 0 {
		each := budget / 4 / (c.s.Rounds - 1) / mutations
		most = min(most, max(1, each/(c.pairs()*2+1)/c.runsPerCandidate()))
	}
	return most
}

// pairs returns the number of pairs in a generation of PGPE.
func (c *coevolution) pairs() int {
	if c.s.PGPE.Pairs == 0 {
		return 40
	}
	return c.s.PGPE.Pairs
}

// runsPerCandidate returns the number of runs of BRKGA that evaluate one
// candidate for a new instance.
func (c *coevolution) runsPerCandidate() int {
	n := c.s.Members * c.s.Seeds
	if c.judge.authentic {
		n += 2 // runs that find its range
	}
	return n
}

// planRace sets the number of trials of searches on the training instances.
// runs is the number of runs per trial, times the number of times the minings
// are made.
func (c *coevolution) planRace(runs, times int) {
	c.judge.authentic = true
	if b := c.runs(); b > 0 {
		if c.s.Reading == run.Published {
			runs *= len(c.r.Setup.Training) * c.s.Seeds
		}
		c.s.Trials = max(1, b/(runs*times*c.s.Minings))
	}
}
