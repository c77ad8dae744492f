package construct

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"dace.local/dacelib/internal/jsonfloat"
	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// A population supplies the instances of a co-evolution. DACE, CEPS and NoReg
// differ only in their population.
type population interface {
	// initial returns the first population, made from the training instances.
	initial(ctx context.Context, w *work) ([]Instance, error)
	// problem returns an instance as a normalised problem.
	problem(i Instance) (problem.Problem, error)
	// mutate returns the hardest instance that it finds (Alg. 1), without a
	// name, and the lowest performance after every iteration; the last of these
	// is the instance's own.
	mutate(ctx context.Context, m mutation, w *work) (Instance, []float64, error)
}

// A mutation describes one attempt to make an instance harder.
type mutation struct {
	step    step
	parent  Instance
	configs []solver.Config // the portfolio
	f       []float64       // its performance on the present instances
	seed    uint64
	// iterations bounds the iterations of the search.
	iterations int
}

// A coevolution executes Alg. 2.
type coevolution struct {
	// before and all count runs for events, if all is not 0: those before the present
	// step, and those of the whole construction, about.
	before, all int
	// slow says that a run takes so long that each has an event.
	slow bool

	method string
	s      Settings
	judge  judge
	pop    population
	j      *journal
	e      *emitter
	r      *Result
	looked int // evaluations of the training instances before the construction
}

// run executes Alg. 2. Even if it returns an error, r holds the best result so
// far.
func (c *coevolution) run(ctx context.Context) error {
	m, err := c.instances(ctx)
	if err != nil {
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
		configs = c.r.Portfolio.Members
		if r < c.s.Rounds {
			if m, err = c.evolveInstances(ctx, r, m); err != nil {
				return err
			}
		}
		if err := c.record(r); err != nil {
			return err
		}
	}
	return nil
}

// instances returns the first population.
func (c *coevolution) instances(ctx context.Context) ([]Instance, error) {
	var m []Instance
	err := c.j.do(step{Stage: "instances"}, &m, func(w *work) (err error) {
		m, err = c.pop.initial(ctx, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, c.keep(m)
}

// keep sets the instances of the result, c.r.
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

// changed calls OnRound after the result has changed.
func (c *coevolution) changed() {
	if c.s.OnRound != nil {
		c.r.Cost = c.j.total()
		c.s.OnRound(*c.r)
	}
}

// record writes a finished round to the journal, for readers of the record.
func (c *coevolution) record(r int) error {
	var out Round
	return c.j.do(step{Round: r, Stage: roundStage}, &out, func(*work) error {
		out = c.r.Rounds[r]
		out.Mutations = slices.Clone(out.Mutations)
		for i := range out.Mutations {
			out.Mutations[i].Instance.Genome = nil // recorded in the mutation's own entry
		}
		return nil
	})
}

const (
	// roundStage is the stage of the entry that records a whole round.
	roundStage    = "round"
	mutationStage = "mutation"
	checkStage    = "check"
	// miningStage and allMembersStage, and those that memberStage names, are the
	// stages whose steps are runs of SMAC.
	miningStage     = "mining"
	allMembersStage = "all members"
)

// roundSeed is the seed of the runs of BRKGA that measure f in a round. All
// configurations share it (common random numbers); every round has a new one.
func (c *coevolution) roundSeed(round int) uint64 {
	return run.Seed(c.s.Seed, "construct: round", round)
}

// measure records the performance of configurations on the population.
func (c *coevolution) measure(ctx context.Context, at step, configs []solver.Config, m []Instance) (portfolio.Matrix, error) {
	var out portfolio.Matrix
	err := c.j.do(at, &out, func(w *work) error {
		values, err := c.runAll(ctx, at, c.judge, configs, c.r.Problems, w)
		out.Configs, out.Values, out.Instances = configs, values, c.judge.columns(names(m))
		return err
	})
	return out, err
}

// runAll runs every configuration on every instance, in parts of about
// checkpointEvery, because an instance may be slow: it saves the values after a
// part. They are those of [judge.each].
func (c *coevolution) runAll(ctx context.Context, at step, j judge, configs []solver.Config, instances []problem.Problem, w *work) ([][]float64, error) {
	var s struct {
		// Rows are the values on the instances of all configurations under the
		// first seed, then under the second, and so on.
		Rows  []jsonfloat.Floats `json:"rows"`
		Spent Cost               `json:"spent"`
	}
	keep := c.j.checkpoint(at)
	total := len(configs) * j.seeds
	if !keep.load(&s) || len(s.Rows) > total || slices.ContainsFunc(s.Rows, func(r jsonfloat.Floats) bool { return len(r) != len(instances) }) {
		s.Rows, s.Spent = nil, Cost{}
	}
	one := j
	one.seeds = 1
	ctx = openings.With(ctx)
	size := 1
	if c.slow && j.farm == nil {
		size = c.s.Workers // no core waits as one configuration ends
		var mu sync.Mutex  // guards made, and sends events in their order
		made := c.before + len(s.Rows)*len(instances)
		c.e.emit(run.Event{Stage: at.Stage, Step: made, Total: c.all})
		one.ran = func() {
			mu.Lock()
			defer mu.Unlock()
			made++
			c.e.emit(run.Event{Stage: at.Stage, Step: min(c.all, made), Total: c.all})
		}
	}
	for len(s.Rows) < total {
		k, first := len(s.Rows)/len(configs), len(s.Rows)%len(configs)
		part := configs[first:min(first+size, len(configs))]
		began := time.Now()
		rows, err := one.each(ctx, part, instances, j.seed(c.roundSeed(at.Round), k), c.s.Workers, &s.Spent)
		s.Rows = append(s.Rows, jsonfloat.Rows(rows)...)
		if len(s.Rows) > 0 && (err != nil || keep.due()) {
			if err := keep.save(s); err != nil {
				return nil, err
			}
		}
		if err != nil {
			return nil, err
		}
		size = int(checkpointEvery/max(1, time.Since(began)/time.Duration(len(part))))/c.s.Workers*c.s.Workers + c.s.Workers
		if one.ran != nil {
			continue
		}
		e := run.Event{Stage: at.stage(), Step: len(s.Rows), Total: total}
		if c.all > 0 { // of the whole construction
			e = run.Event{Stage: at.Stage, Step: min(c.all, c.before+len(s.Rows)*len(instances)), Total: c.all}
		}
		c.e.emit(e)
	}
	w.Cost = s.Spent
	keep.remove()
	out := make([][]float64, len(configs))
	for i := range out {
		for m := range instances {
			for k := range j.seeds {
				out[i] = append(out[i], s.Rows[k*len(configs)+i][m])
			}
		}
	}
	return out, nil
}

// columns names the columns of instances, one for each seed.
func (j judge) columns(instances []string) []string {
	var out []string
	for _, name := range instances {
		out = append(out, name)
		for k := 1; k < j.seeds; k++ {
			out = append(out, fmt.Sprintf("%s, seed %d", name, k+1))
		}
	}
	return out
}

// names returns the names of instances.
func names(m []Instance) []string {
	out := make([]string, len(m))
	for i, inst := range m {
		out[i] = inst.Name
	}
	return out
}

// first chooses the initial portfolio (lines 2-7).
func (c *coevolution) first(ctx context.Context, m []Instance) ([]solver.Config, error) {
	at := step{Stage: "initial portfolio"}
	runs := c.s.Configurations * c.judge.seeds
	c.e.emit(run.Event{Stage: at.stage(), Step: 0, Total: runs})
	random := portfolio.Random(run.Seed(c.s.Seed, "construct: C"), c.s.Configurations)
	if !c.s.paper() {
		var err error
		if random, err = c.theta().random(ctx, run.Seed(c.s.Seed, "construct: C"), c.s.Configurations); err != nil {
			return nil, err
		}
	}
	matrix, err := c.measure(ctx, at, random, m)
	if err != nil {
		return nil, err
	}
	rows := matrix.Greedy(c.s.Members)
	f := c.judge.means(matrix.Performance(rows))
	c.r.Portfolio = matrix.Portfolio(c.method, rows)
	c.r.Rounds = append(c.r.Rounds, Round{Portfolio: c.r.Portfolio, Instances: names(m), After: f, Matrix: matrix})
	if err := c.record(0); err != nil {
		return nil, err
	}
	c.e.emit(run.Event{Stage: at.stage(), Step: runs, Total: runs, Value: mean(f), Best: mean(f)})
	c.changed()
	return c.r.Portfolio.Members, nil
}

// evolvePortfolio is the evolution of P (lines 9-16).
func (c *coevolution) evolvePortfolio(ctx context.Context, r int, m []Instance, configs []solver.Config) error {
	matrix, err := c.measure(ctx, step{Round: r, Stage: "portfolio"}, configs, m)
	if err != nil {
		return err
	}
	found, err := c.mineAll(ctx, r, matrix)
	if err != nil {
		return err
	}
	for _, f := range found {
		matrix.Append(f.Config, f.Values)
	}
	c.choose(c.judge, matrix, names(m))
	c.changed()
	return nil
}

// choose appends a round with the best portfolio of the configurations of a
// matrix, whose first rows are the present members and whose columns j has
// measured on instances of these names.
func (c *coevolution) choose(j judge, matrix portfolio.Matrix, instances []string) {
	current := make([]int, c.s.Members)
	for i := range current {
		current[i] = i
	}
	rows := matrix.Best(current)
	c.r.Portfolio = matrix.Portfolio(c.method, rows)
	c.r.Rounds = append(c.r.Rounds, Round{
		Portfolio: c.r.Portfolio, Instances: instances,
		Before: j.means(matrix.Performance(current)), After: j.means(matrix.Performance(rows)), Matrix: matrix,
	})
}

// evolveInstances is the evolution of M (lines 18-28). It mutates random
// parents. A mutant that is harder than some instance still in the competition
// is accepted, and one such instance leaves the competition; this goes on until
// a mutant is not harder, or more than |M|/2 are accepted. No old instance is
// removed from the population, so M grows from 5 to at most 8, 13 and 20.
func (c *coevolution) evolveInstances(ctx context.Context, r int, m []Instance) ([]Instance, error) {
	round := &c.r.Rounds[r]
	f := round.After
	left := make([]int, len(m)) // the shrinking M of the pseudocode
	for i := range left {
		left[i] = i
	}
	rng := run.Rand(c.s.Seed, "construct: parents", r)
	most := mutations(len(m))
	var made []Instance
	for i := 0; len(made) < most; i++ {
		parent := m[rng.IntN(len(m))]
		mutant, err := c.mutate(ctx, mutation{
			step: step{r, mutationStage, i}, parent: parent, configs: c.r.Portfolio.Members, f: f,
			seed: run.Seed(c.s.Seed, "construct: mutation", r, i), iterations: c.iterations(most),
		})
		if err != nil {
			return nil, err
		}
		if k, found := easier(rng, left, f, mutant.Performance); found {
			mutant.Accepted, mutant.Replaced = true, m[left[k]].Name
			left = slices.Delete(left, k, k+1)
			made = append(made, mutant.Instance)
		}
		round.Mutations = append(round.Mutations, mutant)
		c.changed()
		if !mutant.Accepted {
			break
		}
	}
	return append(made, m...), nil
}

// easier returns the index in left of a random instance whose performance is
// higher than value, and whether there is one.
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

// mutate makes one mutation.
func (c *coevolution) mutate(ctx context.Context, m mutation) (Mutation, error) {
	var out Mutation
	err := c.j.do(m.step, &out, func(w *work) error {
		child, best, err := c.pop.mutate(ctx, m, w)
		if err != nil {
			return err
		}
		child.Name = fmt.Sprintf("%s %d.%d", c.method, m.step.Round, m.step.Index+1)
		child.Parent, child.Round = m.parent.Name, m.step.Round
		out = Mutation{Instance: child, Performance: best[len(best)-1], Best: best}
		return nil
	})
	return out, err
}

// theta returns the space in which the construction searches.
func (c *coevolution) theta() theta {
	d := 0
	for _, i := range c.r.Setup.Training {
		d = max(d, i.Dim)
	}
	return c.s.theta(d)
}

// start prepares a construction: settings, journal, events and result. class is
// the name of the class from which the method draws instances; it is empty for
// a method that draws none. plan makes the settings keep the budget, or returns why
// they cannot: then nothing is evaluated or recorded.
func start(ctx context.Context, method, class string, training []problem.Problem, s Settings, d methodDefaults, plan func(*coevolution) error) (*coevolution, error) {
	s, err := s.withDefaults(d)
	if err != nil {
		return nil, err
	}
	if len(training) == 0 {
		return nil, fmt.Errorf("construct: %s needs at least one training instance", method)
	}
	for _, p := range training {
		if p.Dim() < 1 {
			return nil, fmt.Errorf("construct: training instance %s has dimension %d; it must be at least 1", p.Name(), p.Dim())
		}
	}
	c := &coevolution{
		method: method, s: s, e: &emitter{to: s.OnEvent},
		judge: judge{evaluations: s.judged(), seeds: s.Seeds, target: s.Target, measure: s.Measure, farm: s.Farm}, looked: looks(training),
		r: &Result{
			Method: method, Setup: Setup{Training: make([]TrainingInstance, len(training))}, Version: run.Build(), CPU: run.CPU(),
			Portfolio: portfolio.Portfolio{Name: method},
		},
	}
	if err := plan(c); err != nil {
		return nil, err
	}
	if c.r.Setup, err = newSetup(ctx, method, class, training, s); err != nil {
		return nil, err
	}
	c.j, err = openJournal(s.Dir, c.r.Setup)
	return c, err
}

// finish closes the journal and returns the method's result and error.
func (c *coevolution) finish(ctx context.Context, err error) (Result, error) {
	c.r.Status = run.BudgetSpent
	if err != nil {
		c.r.Status = run.NotRun
		if ctx.Err() != nil {
			c.r.Status, err = run.Cancelled, ctx.Err()
			if len(c.r.Portfolio.Members) == 0 {
				c.r.Portfolio.Members = c.s.untuned()
				c.r.Notes = append(c.r.Notes, noneTried)
			}
		}
	}
	c.r.Portfolio.Single = c.single()
	c.r.Cost = c.j.total()
	if e := c.j.close(c.r.Status); e != nil {
		err = errors.Join(err, e)
	}
	if c.r.Status == run.Cancelled && timeUp(ctx) {
		// Called again it goes on, but its budget is spent.
		c.r.Status, err = run.BudgetSpent, nil
		c.r.Notes = append(c.r.Notes, timeNote)
	}
	return *c.r, err
}

// single returns the configuration that is best alone: that which the method has
// found or, by the performances from which it last chose its portfolio, the one of
// the largest mean; nil if there are none.
func (c *coevolution) single() *solver.Config {
	if c.r.Portfolio.Single != nil || len(c.r.Rounds) == 0 {
		return c.r.Portfolio.Single
	}
	m := c.r.Rounds[len(c.r.Rounds)-1].Matrix
	best, top := -1, math.Inf(-1)
	for i, row := range m.Values {
		if v := mean(row); len(row) > 0 && v > top {
			best, top = i, v
		}
	}
	if best < 0 {
		return nil
	}
	one := m.Configs[best]
	return &one
}
