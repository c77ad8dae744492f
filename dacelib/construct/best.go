package construct

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all" // Best chooses from all of them.
)

// Best is the method to begin with. It is not in the paper. It chooses from all
// solvers: [Settings].Solvers or, by default, all registered ones that can run the
// instances.
//
// It begins cheaply: configurations that the solvers' authors recommend race on the
// training instances, where after each rung the worse half leaves and the others get
// further seeds. Then configurations near those that are left race for their places.
// What is left of the budget goes to more seeds for the finalists, of which the
// portfolio is chosen that is best in expectation when every member has a seed of its
// own; a member may be in it several times. The best of the solvers' defaults is
// among the finalists. As the luckiest of many looks best, the value of a
// configuration is an estimate from its own runs and from those of similar ones.
// Result.Notes say what was done, and whether a portfolio pays: whether it is better
// than its best member under as many seeds, by more than two standard errors over the
// training instances. With few runs even that is often luck: experiment.Test beside
// that member, on instances that were not seen, decides.
// All instances have the same weight.
//
// If the budget is at most 5,000 evaluations and does not pay for a run of every
// solver on the instances, Best spends it on solutions for NIRs, the paper's models
// of instances, and the race is on these; NIR has then the defaults of nir.Quick.
//
// By default it makes at most 600 runs, 480,000 evaluations for members of 800;
// [Settings].Budget sets another number. If too few runs are affordable, the first
// rungs make shorter ones. If ctx ends, it returns the best portfolio so far, the
// solvers' defaults if there is none yet.
//
// With BRKGA as the only solver, Best searches on NIRs, the paper's models of
// instances, and chooses among what it found by runs on the instances; Minings,
// Trials, Seeds, Share, Checks and NIR are for this method.
func Best(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	if len(s.Solvers) > 0 && s.paper() {
		return bestOfNIRs(ctx, training, s)
	}
	if len(s.Solvers) == 0 {
		s.Solvers = solver.For(training)
	}
	defer run.Report(&ctx, "BEST", &s.OnEvent)()
	if s.Rounds >= 0 {
		s.Rounds = 1
	}
	ctx, end := s.limited(ctx)
	defer end()
	c, err := start(ctx, "BEST", "", training, s, methodDefaults{Minings: 1, Trials: 1}, (*coevolution).affordRace)
	if err != nil {
		return early(ctx, "BEST", s, err)
	}
	r := &rungs{c: c, training: training}
	return c.finish(ctx, r.run(ctx))
}

// objectiveSample is the number of evaluations by which the objective's cost is
// measured.
const objectiveSample = 8

// affordRace makes Best keep the budget, which must pay for a short run of every
// solver on the instances of a rung.
func (c *coevolution) affordRace() error {
	c.judge.authentic, c.judge.raw, c.judge.evaluations = true, true, c.s.Evaluations
	c.looked += objectiveSample
	const shortest = 10
	runs := len(c.s.Solvers) * min(len(c.r.Setup.Training), mostBlock)
	least := c.looked + runs*min(shortest, c.s.Evaluations)
	if b := c.s.Budget.Runs; b > 0 && b < runs {
		return fmt.Errorf("construct: Budget.Runs is %d, and the least that BEST can keep is %d, a run of each of %d solvers on each of %d instances: raise it, or name fewer Solvers", b, runs, len(c.s.Solvers), runs/len(c.s.Solvers))
	}
	if b := c.s.Budget.Evaluations; b > 0 && b < least {
		return fmt.Errorf("construct: Budget.Evaluations is %d, and the least that BEST can keep is %d, a short run of each of %d solvers on each of %d instances: raise it, or name fewer Solvers", b, least, len(c.s.Solvers), runs/len(c.s.Solvers))
	}
	return nil
}

// defaultRuns is the number of runs that Best makes without a budget.
const defaultRuns = 600

// mostBlock bounds the instances of a rung; more instances take turns.
const mostBlock = 5

// rungs is the state of a race: contenders, and the columns on which those in the
// race have been run.
type rungs struct {
	c        *coevolution
	training []problem.Problem
	field    []*contender // those in the race, best first
	columns  []column
	tried    []*contender // all that have had runs
	families []solver.Config
	seen     map[solver.Config]bool
	total    int // evaluations that the runs may make
	most     int // number of runs that may be made
	spent    int // evaluations of the runs so far, at most
	ran      int // runs so far
	made     int // configurations tried
}

// A column is a rung's runs: some instances, each under some seeds.
type column struct {
	rung, seeds int
	instances   []int // indices of training instances
}

func (c column) size() int { return c.seeds * len(c.instances) }

// A contender is a configuration with the values of its runs, by instance.
type contender struct {
	config solver.Config
	values [][]float64 // by training instance
	done   int         // columns
	score  float64
	shift  float64   // what the estimate of its value adds to that of its runs
	place  []float64 // in the solver's space
}

// contender returns a configuration without runs.
func (r *rungs) contender(config solver.Config) (*contender, error) {
	s, err := solver.Lookup(config.Solver())
	if err != nil {
		return nil, err
	}
	t := r.c.theta()
	space := s.Space(t.D, t.Evaluations)
	point, err := config.Point(space)
	if err != nil {
		return nil, err
	}
	return &contender{config: config, values: make([][]float64, len(r.training)), place: space.Place(point)}, nil
}

// A Starter is a solver that knows configurations with which a choice should
// begin, as texts that solver.Parse reads.
type Starter interface {
	solver.Solver
	// Starts returns them for problems of a dimension and a budget.
	Starts(d, evaluations int) []string
}

// A beginner is a Starter that gives configurations, not texts: a solver of one's
// own.
type beginner interface {
	Configs(d, evaluations int) []solver.Config
}

func (r *rungs) note(format string, a ...any) {
	r.c.r.Notes = append(r.c.r.Notes, fmt.Sprintf(format, a...))
}

func (r *rungs) run(ctx context.Context) error {
	c := r.c
	for _, p := range r.training {
		c.r.Instances = append(c.r.Instances, Instance{Name: p.Name()})
	}
	c.r.Problems = r.training
	r.c.r.Portfolio.Members = r.c.s.untuned()
	field, families, seconds, err := r.starts(ctx)
	if err != nil {
		return err
	}
	c.slow = seconds*float64(c.s.Evaluations) >= slowRun
	r.most, r.total = math.MaxInt, defaultRuns*c.s.Evaluations
	if b := c.s.Budget.Runs; b > 0 {
		r.most, r.total = b, b*c.s.Evaluations
	}
	if b := c.s.Budget.Evaluations; b > 0 && (c.s.Budget.Runs == 0 || b-c.looked < r.total) {
		r.total = b - c.looked
	}
	if byTime := r.affordable(seconds); byTime < r.total {
		r.total = byTime
		r.note("Budget.Seconds pays for about %d evaluations of %.2g s.", byTime, seconds)
	}
	if r.few(families, seconds) {
		if ok, err := r.model(ctx); !ok {
			return err
		}
	}
	r.seen = map[solver.Config]bool{}
	r.families = families
	r.c.r.Portfolio.Members = r.untuned(families)
	m := min(len(r.training), mostBlock)
	if len(field)*m > r.left()/3 {
		field = families
		r.note("The budget pays for few runs: the race has the default of each solver only.")
	}
	var names []string
	for _, f := range families {
		names = append(names, f.Solver())
	}
	plural := "s"
	if len(field) == 1 {
		plural = ""
	}
	r.note("%d configuration%s of %s raced on the instances.", len(field), plural, strings.Join(names, ", "))
	if err := r.enter(ctx, field, r.plan(m, len(field))); err != nil {
		return err
	}
	// The race among the recommended configurations.
	for seeds := 1; len(r.field) > 8 && r.affords(len(r.field)/2*m*seeds); seeds = 2 {
		r.keep(max(6, (len(r.field)+1)/2))
		if err := r.rung(ctx, m, seeds); err != nil {
			return err
		}
	}
	// Configurations near those that are left, in two parts.
	before := r.field[0].config
	tried := 0
	for part := range 2 {
		r.keep(8)
		// Most challengers leave in the first rungs, so that one takes half of what
		// a contender has had.
		n := r.left() / 4 * 2 / r.cost()
		if n < 2 {
			continue
		}
		n = min(n, 40)
		if err := r.challenge(ctx, n, part); err != nil {
			return err
		}
		tried += n
	}
	switch {
	case tried == 0:
		r.note("Nothing was configured: the budget pays for the choice only.")
	case before != r.field[0].config:
		r.note("%d configurations near the best were tried on the instances; the best is now %v, before %v.", tried, r.field[0].config, before)
	default:
		r.note("%d configurations near the best were tried on the instances; none is better than %v.", tried, before)
	}
	// More seeds for the finalists, while there is budget.
	for finalists := 6; r.left() > 0; finalists = max(3, finalists-1) {
		r.membersFirst()
		r.keep(min(finalists, max(3, r.left()/m))) // rather fewer than none
		if !r.affords(len(r.field) * m) {
			break
		}
		seeds := max(1, min(2, r.left()/(len(r.field)*m)))
		if err := r.rung(ctx, m, seeds); err != nil {
			return err
		}
	}
	return r.finish()
}

// slowRun is the time in seconds of evaluations from which on each run has an event.
const slowRun = 0.1

// affordable returns the evaluations that Budget.Seconds pays for, if one takes some
// seconds.
func (r *rungs) affordable(seconds float64) int {
	s := r.c.s
	if s.Budget.Seconds == 0 || seconds <= 0 || seconds == math.MaxFloat64 {
		return math.MaxInt
	}
	workers := float64(s.Workers)
	if s.Farm != nil {
		workers = float64(s.Farm.Slots())
	}
	// A tenth is left for the solvers' own time, and for workers that wait.
	n := 0.9 * s.Budget.Seconds * workers / seconds
	if n < 1e15 {
		return max(1, int(n))
	}
	return math.MaxInt
}

// starts returns the configurations with which the race begins, the solvers'
// defaults among them, and the seconds that an evaluation takes.
func (r *rungs) starts(ctx context.Context) (field, families []solver.Config, seconds float64, err error) {
	c := r.c
	d := 0
	for _, p := range r.training {
		d = max(d, p.Dim())
	}
	err = c.j.do(step{Stage: "objective"}, &seconds, func(w *work) error {
		const n = objectiveSample
		p := r.training[0]
		if o, ok := p.(problem.Opaque); ok && o.Opaque() {
			seconds = math.MaxFloat64
			return nil
		}
		x := problem.Random(run.Rand(c.s.Seed, "construct: objective"), n, p.Dim())
		var took [n]float64
		for i := range took {
			begun := time.Now()
			if err := p.Evaluate(ctx, make([]float64, 1), x.Slice(i, i+1)); err != nil {
				return err
			}
			took[i] = time.Since(begun).Seconds()
		}
		// The quartile: the first may start a program, and more than half may wait for
		// a processor.
		slices.Sort(took[:])
		seconds = took[n/4]
		w.Evaluations += n
		return nil
	})
	if err != nil {
		return nil, nil, 0, err
	}
	var left []string
	for _, s := range c.s.Solvers {
		if t, ok := s.(solver.Timed); ok && t.Overhead(d, c.s.Evaluations).Seconds() > seconds*float64(c.s.Evaluations) {
			left = append(left, s.Name())
			continue
		}
		texts := []string{s.Name()}
		if t, ok := s.(Starter); ok {
			texts = append(texts, t.Starts(d, c.s.Evaluations)...)
		}
		for i, text := range texts {
			config, err := solver.Parse(text)
			if err == nil {
				err = config.Check()
			}
			if err != nil {
				return nil, nil, 0, fmt.Errorf("construct: solver %s recommends %q: %w", s.Name(), text, err)
			}
			if i == 0 {
				families = append(families, config)
			}
			if !slices.Contains(field, config) {
				field = append(field, config)
			}
		}
		if t, ok := s.(beginner); ok {
			for _, config := range t.Configs(d, c.s.Evaluations) {
				if !slices.Contains(field, config) {
					field = append(field, config)
				}
			}
		}
	}
	if len(field) == 0 {
		return nil, nil, 0, fmt.Errorf("construct: no solver is left: %s take longer than the objective, which needs %.2g s an evaluation; name them in Settings.Solvers alone, or take others", strings.Join(left, ", "), seconds)
	}
	if len(left) > 0 {
		r.note("Left out, as its own computing takes longer than the objective: %s.", strings.Join(left, ", "))
	}
	return field, families, seconds, nil
}

// untuned returns the defaults of the solvers in turn.
func (r *rungs) untuned(families []solver.Config) []solver.Config {
	var out []solver.Config
	for i := range r.c.s.Members {
		out = append(out, families[i%len(families)])
	}
	return out
}

// plan sets the length of the race's runs, so that the first rung, of n
// configurations on m instances, takes a third of the budget at most.
func (r *rungs) plan(m, n int) int {
	e := r.c.s.Evaluations
	if most := r.total / 3 / (n * m); most < e {
		r.c.judge.evaluations = max(1, most)
		r.note("The race's runs have %d of the %d evaluations, for the budget.", r.c.judge.evaluations, e)
		if 2*r.c.judge.evaluations < e {
			r.note("What is best after %d need not be best after %d: a larger budget, fewer Solvers or shorter runs of the members would tell more.", r.c.judge.evaluations, e)
		}
	}
	return m
}

// left returns how many runs of the race the budget still pays for.
func (r *rungs) left() int {
	return min((r.total-r.spent)/r.c.judge.evaluations, r.most-r.ran)
}

func (r *rungs) affords(runs int) bool { return runs > 0 && runs <= r.left() }

// cost returns the number of runs that a contender has had.
func (r *rungs) cost() int {
	n := 0
	for _, c := range r.columns {
		n += c.size()
	}
	return n
}

// enter begins the race with configurations.
func (r *rungs) enter(ctx context.Context, configs []solver.Config, m int) error {
	for _, config := range configs {
		c, err := r.contender(config)
		if err != nil {
			return err
		}
		r.seen[config] = true
		r.field = append(r.field, c)
	}
	r.made = len(configs)
	return r.rung(ctx, m, 1)
}

// rung adds a column of m instances under some seeds and runs the field on it.
func (r *rungs) rung(ctx context.Context, m, seeds int) error {
	col := column{rung: len(r.columns), seeds: seeds}
	for i := range m {
		col.instances = append(col.instances, (len(r.columns)*m+i)%len(r.training))
	}
	r.columns = append(r.columns, col)
	if err := r.runOn(ctx, r.field, len(r.columns)-1, 0); err != nil {
		return err
	}
	r.rank()
	r.choose()
	r.c.changed()
	return nil
}

// runOn runs contenders on a column. part tells apart the steps of one column.
func (r *rungs) runOn(ctx context.Context, field []*contender, col, part int) error {
	column := r.columns[col]
	configs := make([]solver.Config, len(field))
	for i, f := range field {
		configs[i] = f.config
	}
	ps := make([]problem.Problem, len(column.instances))
	for i, k := range column.instances {
		ps[i] = r.training[k]
	}
	j := r.c.judge
	j.seeds = column.seeds
	r.c.before, r.c.all = r.ran, max(r.ran, min(r.most, r.total/j.evaluations))
	at := step{Round: column.rung, Stage: "race", Index: part}
	var values []farm.Floats
	err := r.c.j.do(at, &values, func(w *work) error {
		found, err := r.c.runAll(ctx, at, j, configs, ps, w)
		for _, row := range found {
			values = append(values, row)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.spent += len(field) * column.size() * j.evaluations
	r.ran += len(field) * column.size()
	for i, f := range field {
		if f.done == 0 {
			r.tried = append(r.tried, f)
		}
		for k, instance := range column.instances {
			for s := range column.seeds {
				f.values[instance] = append(f.values[instance], values[i][k*column.seeds+s])
			}
		}
		f.done = col + 1
	}
	return nil
}

// challenge makes n configurations near those in the race and runs them on its
// columns, one after the other, as long as they are among the better half of the
// field there.
func (r *rungs) challenge(ctx context.Context, n, part int) error {
	rng := run.Rand(r.c.s.Seed, "construct: challengers", part)
	t := r.c.theta()
	var fresh []*contender
	for tries := 0; len(fresh) < n && tries < 100*n; tries++ {
		// The better half are parents twice as often.
		parent := r.field[min(rng.IntN(len(r.field)), rng.IntN(len(r.field)))].config
		s, err := solver.Lookup(parent.Solver())
		if err != nil {
			return err
		}
		space := s.Space(t.D, t.Evaluations)
		if len(space.Params) == 0 {
			continue
		}
		point, err := parent.Point(space)
		if err != nil {
			return err
		}
		if rng.IntN(6) == 0 {
			point = space.Random(rng)
		} else {
			for range 1 + rng.IntN(2) {
				point = space.Neighbour(point, rng)
			}
		}
		config, err := solver.At(parent.Solver(), space, point)
		if err != nil {
			return err
		}
		if !r.seen[config] {
			c, err := r.contender(config)
			if err != nil {
				return err
			}
			r.seen[config] = true
			fresh = append(fresh, c)
		}
	}
	r.made += len(fresh)
	for col := range r.columns {
		if err := r.runOn(ctx, fresh, col, 1+part); err != nil {
			return err
		}
		all := append(slices.Clone(r.field), fresh...)
		r.scores(all, col+1)
		bar := make([]float64, len(r.field))
		for i, f := range r.field {
			bar[i] = f.score
		}
		slices.Sort(bar)
		fresh = slices.DeleteFunc(fresh, func(f *contender) bool { return f.score < bar[len(bar)/2] })
		if len(fresh) == 0 {
			break
		}
	}
	r.field = append(r.field, fresh...)
	r.rank()
	r.choose()
	r.c.changed()
	return nil
}

// rank sorts the field by its scores.
func (r *rungs) rank() {
	r.scores(r.field, len(r.columns))
	r.estimate()
	slices.SortStableFunc(r.field, func(a, b *contender) int { return cmp.Compare(b.score, a.score) })
}

// keep keeps the first n of the field; the last of them gives way to the best of the
// solvers' defaults, if that is not among them.
func (r *rungs) keep(n int) {
	if n >= len(r.field) {
		return
	}
	if at := r.untunedAt(); at >= n {
		r.field[n-1] = r.field[at]
	}
	r.field = r.field[:n]
}

// membersFirst moves the members of what is the best portfolio so far to the front of
// the field: one that is best on a single instance may have a small mean.
func (r *rungs) membersFirst() {
	members := r.best()
	var front, rest []*contender
	for i, c := range r.field {
		if slices.Contains(members, i) {
			front = append(front, c)
		} else {
			rest = append(rest, c)
		}
	}
	r.field = append(front, rest...)
}

// untunedAt returns the index in the field of the best of the solvers' defaults.
func (r *rungs) untunedAt() int {
	return slices.IndexFunc(r.field, func(c *contender) bool { return slices.Contains(r.families, c.config) })
}

// prior is the weight, in runs, of the common spread in that of a contender.
const prior = 10

// scores sets the scores of contenders by their runs in the first columns: the mean
// over instances, in units of the instances' spread, and what the best of K runs
// adds to it in expectation, if the values were normal.
func (r *rungs) scores(field []*contender, columns int) {
	count := r.count(columns)
	sum := make([]float64, len(field))
	squares := make([]float64, len(field))
	n := 0
	mid, spread := r.scales(field, columns)
	for i, k := range count {
		if k == 0 {
			continue
		}
		for at, f := range field {
			own := 0.0
			for _, v := range f.values[i][:k] {
				own += clipped(v, mid[i], spread[i]) / float64(k)
			}
			for _, v := range f.values[i][:k] {
				z := clipped(v, mid[i], spread[i])
				sum[at] += z
				squares[at] += (z - own) * (z - own)
			}
		}
		n += k
	}
	instances := 0
	for _, k := range count {
		instances += min(k, 1)
	}
	common := 0.0
	for _, q := range squares {
		common += q / float64(len(field)*max(1, n-instances))
	}
	for at, f := range field {
		variance := (squares[at] + prior*common) / float64(n-instances+prior)
		f.score = sum[at]/float64(n) + expectedMax(r.c.s.Members)*math.Sqrt(variance)
	}
}

// count returns the runs of a contender on each instance in the first columns.
func (r *rungs) count(columns int) []int {
	count := make([]int, len(r.training))
	for _, c := range r.columns[:columns] {
		for _, i := range c.instances {
			count[i] += c.seeds
		}
	}
	return count
}

// scales returns the middle and the spread of the values of contenders in the first
// columns on each instance.
func (r *rungs) scales(field []*contender, columns int) (mid, spread []float64) {
	mid, spread = make([]float64, len(r.training)), make([]float64, len(r.training))
	for m, k := range r.count(columns) {
		var all []float64
		for _, f := range field {
			all = append(all, f.values[m][:min(k, len(f.values[m]))]...)
		}
		mid[m], spread[m] = scale(all)
	}
	return mid, spread
}

// expectedMax returns the expected largest of k standard normal variables (Blom's
// approximation).
func expectedMax(k int) float64 {
	if k < 2 {
		return 0
	}
	p := (float64(k) - 0.375) / (float64(k) + 0.25)
	return math.Sqrt2 * math.Erfinv(2*p-1)
}

// scale returns the middle and the spread of values, of the finite ones.
func scale(values []float64) (mid, spread float64) {
	v := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsInf(v, 0) })
	if len(v) == 0 {
		return 0, 1
	}
	slices.Sort(v)
	mid, spread = v[len(v)/2], v[len(v)*9/10]-v[len(v)/10]
	if spread <= 0 {
		if spread = v[len(v)-1] - v[0]; spread <= 0 {
			spread = 1
		}
	}
	return mid, spread
}

// clipped returns a value in units of the spread, at most ten from the middle: -Inf
// must not outweigh everything.
func clipped(v, mid, spread float64) float64 { return min(10, max(-10, (v-mid)/spread)) }

// choose sets the portfolio of the result to the best in expectation of the field.
func (r *rungs) choose() {
	rows := r.best()
	c := r.c
	c.r.Portfolio = portfolio.Portfolio{Name: c.method}
	for _, i := range rows {
		c.r.Portfolio.Members = append(c.r.Portfolio.Members, r.field[i].config)
	}
	at, _ := r.single()
	one := r.field[at].config
	c.r.Portfolio.Single = &one
}

// best returns the multiset of contenders with the largest expected best value, as
// indices of the field: by exchanges from the greedy choice and from
// the best contender K times, which is taken where the other is not better.
func (r *rungs) best() []int {
	k := r.c.s.Members
	var rows []int
	value := math.Inf(-1)
	for range k {
		at, top := 0, math.Inf(-1)
		for i := range r.field {
			if v := mean(r.expected(append(slices.Clone(rows), i))); v > top {
				at, top = i, v
			}
		}
		rows, value = append(rows, at), top
	}
	rows, value = r.exchange(rows, value)
	one, top := r.single()
	if same, v := r.exchange(slices.Repeat([]int{one}, k), top); v >= value-1e-12 {
		rows = same
	}
	slices.Sort(rows)
	return rows
}

// single returns the contender that is best K times, and its value.
func (r *rungs) single() (at int, value float64) {
	value = math.Inf(-1)
	for i := range r.field {
		if v := mean(r.expected(slices.Repeat([]int{i}, r.c.s.Members))); v > value {
			at, value = i, v
		}
	}
	return at, value
}

// exchange replaces members one at a time, as long as that is better.
func (r *rungs) exchange(rows []int, value float64) ([]int, float64) {
	for improved := true; improved; {
		improved = false
		for slot := range rows {
			for i := range r.field {
				other := slices.Clone(rows)
				other[slot] = i
				if v := mean(r.expected(other)); v > value+1e-12 {
					rows, value, improved = other, v, true
				}
			}
		}
	}
	return rows, value
}

// expected returns for each instance with runs the expected best value of one run of
// each of the given contenders, in units of the instance's spread. The distribution
// of a contender's values is that of its runs, moved by its shift; r runs of one
// contender are r different ones of these, where there are as many.
func (r *rungs) expected(rows []int) []float64 {
	times := map[int]int{}
	for _, i := range rows {
		times[i]++
	}
	var out []float64
	mid, spread := r.scales(r.field, len(r.columns))
	values, below := make([][]float64, len(r.field)), make([]int, len(r.field))
	for m := range r.training {
		if len(r.field[0].values[m]) == 0 {
			continue
		}
		var some []float64
		for i, f := range r.field {
			values[i] = values[i][:0]
			if times[i] > 0 {
				for _, v := range f.values[m] {
					values[i] = append(values[i], clipped(v, mid[m], spread[m])+f.shift)
				}
				some = append(some, values[i]...)
			}
		}
		slices.Sort(some)
		some = slices.Compact(some)
		for i := range values {
			slices.Sort(values[i])
			below[i] = 0
		}
		e, before := 0.0, 0.0
		for _, v := range some {
			g := 1.0
			for i, own := range values {
				if times[i] == 0 {
					continue
				}
				for below[i] < len(own) && own[below[i]] <= v {
					below[i]++
				}
				g *= within(below[i], len(own), times[i])
			}
			e += (g - before) * v
			before = g
		}
		out = append(out, e)
	}
	return out
}

// within returns the probability that r runs are among the k lowest of n.
func within(k, n, r int) float64 {
	p := 1.0
	for i := range r {
		if n >= r {
			p *= float64(max(0, k-i)) / float64(n-i)
		} else {
			p *= float64(k) / float64(n)
		}
	}
	return p
}

// finish sets the result: the portfolio, or its best member under as many seeds, if
// that is as good.
func (r *rungs) finish() error {
	c := r.c
	for m, p := range r.training {
		var met []float64
		for _, f := range r.field {
			met = append(met, f.values[m]...)
		}
		if len(met) > 0 && math.IsInf(slices.Max(met), -1) {
			return fmt.Errorf("construct: instance %s: no run met a solution that may be chosen, all values are -Inf", p.Name())
		}
	}
	rows := r.best()
	single, _ := r.single()
	several, alone := r.expected(rows), r.expected(slices.Repeat([]int{single}, c.s.Members))
	var gain, squares float64
	for i := range several {
		g := several[i] - alone[i]
		gain += g / float64(len(several))
		squares += g * g
	}
	n := float64(len(several))
	se := math.Sqrt(max(0, squares/n-gain*gain) / max(1, n-1))
	distinct := slices.Compact(slices.Clone(rows))
	switch {
	case len(distinct) == 1:
		r.note("A portfolio does not pay here: one configuration under %d seeds is best, %v.", c.s.Members, r.field[single].config)
	case gain <= 2*se: // one error was right in 25 of 48 constructions, two in 36: experiment/solvers/RESULTS.md
		r.note("A portfolio does not pay here: %v under %d seeds is as good as the best of different members (%.3f of an instance's spread between them, standard error %.3f).", r.field[single].config, c.s.Members, gain, se)
	default:
		r.note("The portfolio is ahead of its best single configuration under %d seeds, %v, by %.3f of an instance's spread (standard error %.3f).", c.s.Members, r.field[single].config, gain, se)
	}
	if at := r.untunedAt(); at >= 0 && (at != single || len(distinct) > 1) { // which is not what was chosen
		behind := mean(several) - mean(r.expected(slices.Repeat([]int{at}, c.s.Members)))
		r.note("The best solver with nothing configured, %v, is behind it under %d seeds by %.3f.", r.field[at].config, c.s.Members, max(0, behind))
	}
	r.note("%d configurations were tried in all; %d finalists had %d runs each.", r.made, len(r.field), r.cost())
	r.choose()
	matrix := portfolio.Matrix{}
	var instances []string
	for m, p := range r.training {
		if len(r.field[0].values[m]) == 0 {
			continue
		}
		instances = append(instances, p.Name())
		for k := range r.field[0].values[m] {
			name := p.Name()
			if k > 0 {
				name = fmt.Sprintf("%s, seed %d", name, k+1)
			}
			matrix.Instances = append(matrix.Instances, name)
		}
	}
	for _, f := range r.field {
		row := slices.Concat(f.values...)
		for k, v := range row { // JSON has no infinity
			row[k] = max(v, -math.MaxFloat64)
		}
		matrix.Append(f.config, row)
	}
	c.r.Rounds = []Round{{Portfolio: c.r.Portfolio, Instances: instances, Before: alone, After: several, Matrix: matrix}}
	if err := c.record(0); err != nil {
		return err
	}
	c.changed()
	return nil
}
