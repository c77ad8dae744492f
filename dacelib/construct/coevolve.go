package construct

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A population is where the instances of a co-evolution come from: the part
// in which DACE, CEPS and NoReg differ.
type population interface {
	// initial returns the first population, of the training instances.
	initial(ctx context.Context) ([]Instance, error)
	// problem returns an instance as a problem, normalised.
	problem(i Instance) (problem.Problem, error)
	// mutate returns the hardest instance that it finds from parent for the
	// portfolio (Alg. 1), but for its name, and the lowest performance after
	// every iteration, the last that of the instance. f is the portfolio's performance on the present instances,
	// step names the mutation.
	mutate(ctx context.Context, parent Instance, configs []brkga.Config, f []float64, step string, seed uint64) (Instance, []float64, error)
}

// A coevolution is a run of Alg. 2.
type coevolution struct {
	method string
	s      Settings
	pop    population
	j      *journal
	e      *emitter
	r      *Result
}

// run is Alg. 2. Whatever it returns, r holds the best so far.
func (c *coevolution) run(ctx context.Context) error {
	m, err := c.pop.initial(ctx)
	if err != nil {
		return err
	}
	if err := c.keep(m); err != nil {
		return err
	}
	configs, err := c.first(ctx, m)
	if err != nil {
		return err
	}
	for r := 1; r <= c.s.Rounds; r++ {
		if err := c.keep(m); err != nil {
			return err
		}
		if err := c.evolvePortfolio(ctx, r, m, configs); err != nil {
			return err
		}
		configs = c.r.Portfolio.Configs
		if r == c.s.Rounds {
			break
		}
		if m, err = c.evolveInstances(ctx, r, m); err != nil {
			return err
		}
	}
	return nil
}

// keep sets the result's instances.
func (c *coevolution) keep(m []Instance) error {
	ps := make([]problem.Problem, len(m))
	for i, inst := range m {
		p, err := c.pop.problem(inst)
		if err != nil {
			return err
		}
		ps[i] = p
	}
	c.r.Instances, c.r.Problems = slices.Clone(m), ps
	return nil
}

// roundSeed is the seed of the runs of BRKGA that measure f in a round: common
// random numbers for all configurations, new ones in every round.
func (c *coevolution) roundSeed(round int) uint64 {
	return run.Seed(c.s.Seed, "construct: round", round)
}

// measure records the performance of configurations on the population.
func (c *coevolution) measure(ctx context.Context, step string, configs []brkga.Config, m []Instance, round int) (portfolio.Matrix, error) {
	var out portfolio.Matrix
	err := c.j.do(step, &out, func() error {
		values, err := runEach(ctx, configs, c.r.Problems, c.s.Evaluations, c.s.Workers, c.roundSeed(round))
		out.Configs, out.Values = configs, values
		for _, inst := range m {
			out.Instances = append(out.Instances, inst.Name)
		}
		return err
	})
	return out, err
}

// first chooses the initial portfolio (lines 2-7).
func (c *coevolution) first(ctx context.Context, m []Instance) ([]brkga.Config, error) {
	stage := "initial portfolio"
	c.e.emit(run.Event{Stage: stage, Step: 0, Total: 1})
	matrix, err := c.measure(ctx, stage, portfolio.Random(run.Seed(c.s.Seed, "construct: C"), c.s.Configurations), m, 0)
	if err != nil {
		return nil, err
	}
	rows := matrix.Greedy(c.s.Members)
	f := matrix.Performance(rows)
	c.r.Portfolio = matrix.Portfolio(c.method, rows)
	c.r.Rounds = append(c.r.Rounds, Round{Portfolio: c.r.Portfolio, Instances: matrix.Instances, After: f, Matrix: matrix})
	c.e.emit(run.Event{Stage: stage, Step: 1, Total: 1, Value: mean(f), Best: mean(f)})
	return c.r.Portfolio.Configs, nil
}

// evolvePortfolio is the evolution of P (lines 9-16).
func (c *coevolution) evolvePortfolio(ctx context.Context, r int, m []Instance, configs []brkga.Config) error {
	matrix, err := c.measure(ctx, stepName(r, "portfolio", 0), configs, m, r)
	if err != nil {
		return err
	}
	found, err := mineAll(ctx, c.j, c.e, c.s, r, matrix, c.r.Problems, c.roundSeed(r))
	if err != nil {
		return err
	}
	for _, f := range found {
		matrix.Append(f.Config, f.Values)
	}
	current := make([]int, len(configs))
	for i := range current {
		current[i] = i
	}
	rows := matrix.Best(current)
	c.r.Portfolio = matrix.Portfolio(c.method, rows)
	c.r.Rounds = append(c.r.Rounds, Round{
		Portfolio: c.r.Portfolio, Instances: matrix.Instances,
		Before: matrix.Performance(current), After: matrix.Performance(rows), Matrix: matrix,
	})
	return nil
}

// evolveInstances is the evolution of M (lines 18-28). Mutants of random
// parents are taken in while each is harder than some instance that is left in
// the competition, of which one such leaves it, until there are more than |M|/2
// of them. All old instances stay: M grows from 5 to at most 8, 13 and 20.
func (c *coevolution) evolveInstances(ctx context.Context, r int, m []Instance) ([]Instance, error) {
	round := &c.r.Rounds[r]
	f := round.After
	left := make([]int, len(m)) // the shrinking M of the pseudocode
	for i := range left {
		left[i] = i
	}
	rng := run.Rand(c.s.Seed, "construct: parents", r)
	var made []Instance
	for i := 0; 2*len(made) <= len(m); i++ {
		parent := m[rng.IntN(len(m))]
		mutation, err := c.mutate(ctx, r, i, parent, f)
		if err != nil {
			return nil, err
		}
		if k, found := easier(rng, left, f, mutation.Performance); found {
			mutation.Accepted, mutation.Replaced = true, m[left[k]].Name
			left = slices.Delete(left, k, k+1)
			made = append(made, mutation.Instance)
		}
		round.Mutations = append(round.Mutations, mutation)
		if !mutation.Accepted {
			break
		}
	}
	return append(made, m...), nil
}

// easier returns the place in left of a random instance with a higher
// performance than value.
func easier(rng *rand.Rand, left []int, f []float64, value float64) (int, bool) {
	var places []int
	for k, i := range left {
		if f[i] > value {
			places = append(places, k)
		}
	}
	if len(places) == 0 {
		return 0, false
	}
	return places[rng.IntN(len(places))], true
}

// mutate is the i-th mutation of round r.
func (c *coevolution) mutate(ctx context.Context, r, i int, parent Instance, f []float64) (Mutation, error) {
	var out Mutation
	step := stepName(r, "mutation", i)
	err := c.j.do(step, &out, func() error {
		configs := c.r.Portfolio.Configs
		child, best, err := c.pop.mutate(ctx, parent, configs, f, step, run.Seed(c.s.Seed, "construct: mutation", r, i))
		if err != nil {
			return err
		}
		child.Name, child.Parent, child.Round = fmt.Sprintf("%s %d.%d", c.method, r, i+1), parent.Name, r
		out = Mutation{Instance: child, Performance: best[len(best)-1], Best: best}
		return nil
	})
	return out, err
}

// start prepares a construction: settings, journal, events and result.
func start(method string, training []problem.Problem, s Settings, minings, trials int) (*coevolution, error) {
	s, err := s.withDefaults(minings, trials)
	if err != nil {
		return nil, err
	}
	if len(training) == 0 {
		return nil, fmt.Errorf("construct: %s needs at least one training instance", method)
	}
	setup := s.setup(method, training)
	j, err := openJournal(s.Dir, setup)
	if err != nil {
		return nil, err
	}
	e := &emitter{to: s.OnEvent}
	return &coevolution{method: method, s: s, j: j, e: e, r: &Result{Method: method, Setup: setup, Portfolio: portfolio.Portfolio{Name: method}}}, nil
}

// finish closes the journal and returns what a method returns.
func (c *coevolution) finish(ctx context.Context, err error) (Result, error) {
	err = errors.Join(err, c.j.close())
	c.r.Status = run.BudgetSpent
	if err != nil {
		c.r.Status = run.NotRun
		if ctx.Err() != nil {
			c.r.Status, err = run.Cancelled, ctx.Err()
		}
	}
	return *c.r, err
}

func stageName(round int, what string) string { return fmt.Sprintf("round %d: %s", round, what) }

func stepName(round int, what string, i int) string {
	return fmt.Sprintf("round %d: %s %d", round, what, i)
}
