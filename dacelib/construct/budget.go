package construct

import (
	"fmt"
	"math"

	"dace.local/dacelib/run"
)

// This file turns a Budget into numbers of trials and iterations, and refuses one
// that pays for no trial. The numbers follow from the settings and the numbers of
// instances alone, so a resumed construction computes the same ones.

// runs returns the budget in runs of BRKGA; 0 means no bound.
func (c *coevolution) runs() int {
	b := c.s.Budget.Runs
	if e := c.s.Budget.Evaluations; e > 0 && c.judge.authentic {
		if n := max(1, (e-c.looked)/c.judge.evaluations); b == 0 || n < b {
			b = n
		}
	}
	return b
}

// ranging returns the number of runs that find the range of an instance. They
// have all Evaluations, also where others have a share.
func (c *coevolution) ranging() int {
	switch {
	case !c.judge.authentic:
		return 0
	case c.s.Budget.Evaluations > 0:
		return (2*c.s.Evaluations + c.judge.evaluations - 1) / c.judge.evaluations
	}
	return 2
}

// generates reports whether the construction makes instances.
func (c *coevolution) generates() bool { return c.s.Rounds > 1 }

// firstRuns returns the number of runs before the first round, and of the check
// after the last.
func (c *coevolution) firstRuns() int {
	initial := len(c.r.Setup.Training) + c.s.Fresh
	first := c.s.Configurations*initial*c.s.Seeds + c.ranging()*initial
	if c.s.Checks > 0 && !c.judge.authentic {
		first += c.s.Checks * len(c.r.Setup.Training) * c.s.candidates()
	}
	return first
}

// trials returns the number of trials of a mining on that many instances.
func (c *coevolution) trials(instances int) int {
	budget := c.runs()
	if budget == 0 {
		return c.s.Trials
	}
	return max(1, c.affordable(budget, instances))
}

// affordable is trials for a budget of runs; it may be 0 or less.
func (c *coevolution) affordable(budget, instances int) int {
	if c.generates() {
		budget -= budget / 4
	}
	columns := instances * c.s.Seeds
	left := (budget-c.firstRuns())/c.s.Rounds - c.s.Members*columns
	return left / (c.s.Minings * columns)
}

// iterations returns the largest number of iterations of a mutation in a round
// of at most that many mutations.
func (c *coevolution) iterations(mutations int) int {
	most := c.s.PGPE.MaxIterations
	if most == 0 {
		most = 200
	}
	if budget := c.runs(); budget > 0 {
		most = min(most, max(1, c.affordableIterations(budget, mutations)))
	}
	return most
}

// affordableIterations is iterations for a budget of runs; it may be 0.
func (c *coevolution) affordableIterations(budget, mutations int) int {
	each := budget / 4 / (c.s.Rounds - 1) / mutations
	return each / (c.pairs()*2 + 1) / c.runsPerCandidate()
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
func (c *coevolution) runsPerCandidate() int { return c.s.Members*c.s.Seeds + c.ranging() }

// mutations returns the largest number of mutations in a round on that many
// instances.
func mutations(instances int) int { return instances/2 + 1 }

// fits reports whether a budget of runs pays for a trial of each mining and an
// iteration of each mutation, also if every mutation is accepted.
func (c *coevolution) fits(budget int) bool {
	m := len(c.r.Setup.Training) + c.s.Fresh
	for r := 1; r <= c.s.Rounds; r++ {
		if m > budget || c.affordable(budget, m) < 1 {
			return false
		}
		if r < c.s.Rounds {
			if c.affordableIterations(budget, mutations(m)) < 1 {
				return false
			}
			m += mutations(m)
		}
	}
	return true
}

// afford returns an error if the budget does not fit.
func (c *coevolution) afford(fits func(budget int) bool) error {
	b := c.runs()
	if b == 0 || fits(b) {
		return nil
	}
	low, high := b, b // low does not fit
	for !fits(high) {
		if low, high = high, 2*high; high > math.MaxInt/4 {
			return fmt.Errorf("construct: no Budget pays for %s with %s", c.method, c.numbers())
		}
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; fits(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	field, value, least := "Runs", c.s.Budget.Runs, high
	if c.s.Budget.Runs == 0 || c.s.Budget.Runs >= high {
		field, value = "Evaluations", c.s.Budget.Evaluations
		least = high*c.judge.evaluations + c.looked
	}
	return fmt.Errorf("construct: Budget.%s is %d, and the least that %s can keep is %d, with %s: raise it, or make some of these smaller", field, value, c.method, least, c.numbers())
}

// numbers lists the settings that decide what a construction costs at least.
func (c *coevolution) numbers() string {
	s := c.s
	text := fmt.Sprintf("%d training instances, Members %d, Minings %d, Configurations %d, Seeds %d, Evaluations %d", len(c.r.Setup.Training), s.Members, s.Minings, s.Configurations, s.Seeds, s.Evaluations)
	if c.generates() && s.Rounds > 1 {
		text += fmt.Sprintf(", Rounds %d, PGPE.Pairs %d", s.Rounds, c.pairs())
	}
	if s.Fresh > 0 {
		text += fmt.Sprintf(", Fresh %d", s.Fresh)
	}
	if s.Checks > 0 {
		text += fmt.Sprintf(", Checks %d", s.Checks)
	}
	return text
}

// planRace sets the number of trials of searches on the training instances, in
// which steps times Minings runs of SMAC search for so many members each. It
// returns an error if the budget pays for no trial.
func (c *coevolution) planRace(members, steps int) error {
	c.judge.authentic = true
	if c.runs() == 0 {
		return nil
	}
	n := len(c.r.Setup.Training)
	columns := n * c.s.Seeds
	// Ranges, the matrix of the result and, for each run of SMAC, its outcome and
	// the members that it begins with on all columns.
	fixed := c.ranging()*n + c.s.Members*columns + c.s.Minings*c.s.Members*columns
	for k := range steps {
		fixed += c.s.Minings * k * columns
	}
	unit := c.s.Minings * steps * members // of one trial of all
	if c.s.Reading == run.Published {
		unit *= columns
	}
	trials := func(budget int) int { return (budget - fixed) / unit }
	c.s.Trials = max(1, trials(c.runs()))
	return c.afford(func(budget int) bool { return trials(budget) >= 1 })
}
