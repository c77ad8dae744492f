package construct

import (
	"context"
	"fmt"
	"math"

	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// static runs a construction on the training instances alone.
func (c *coevolution) static(ctx context.Context, training []problem.Problem, build func() ([]solver.Config, error)) error {
	c.pop = newAuthentic(c, training, problem.Class{})
	m, err := c.instances(ctx)
	if err != nil {
		return err
	}
	configs, err := build()
	if err != nil {
		return err
	}
	matrix, err := c.measure(ctx, step{Stage: "result"}, configs, m)
	if err != nil {
		return err
	}
	rows := make([]int, len(configs))
	for i := range rows {
		rows[i] = i
	}
	c.r.Portfolio = portfolio.Portfolio{Name: c.method, Members: configs}
	c.r.Rounds = []Round{{Portfolio: c.r.Portfolio, Instances: names(m), After: c.judge.means(matrix.Performance(rows)), Matrix: matrix}}
	if err := c.record(0); err != nil {
		return err
	}
	c.changed()
	return nil
}

// A candidate is the outcome of a run of SMAC: its configurations, and the sum
// over the training instances of their performance together with the given
// ones.
type candidate struct {
	Configs []solver.Config
	Sum     float64
}

// searchAll makes independent runs of SMAC concurrently. Run i searches for k
// configurations that complement those that given(i) returns.
func (c *coevolution) searchAll(ctx context.Context, stage string, k int, given func(i int) []solver.Config) ([]candidate, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([]candidate, c.s.Minings)
	remote, err := c.remote(ctx, c.r.Problems)
	if err != nil {
		return nil, err
	}
	total := &progress{e: c.e, stage: stage, total: c.s.Minings * c.s.Trials}
	err = run.Each(remote.concurrent(c.s.Workers, c.s.Minings), c.s.Minings, func(i int) error {
		at := step{Stage: stage, Index: i}
		err := c.j.do(at, &out[i], func(w *work) (err error) {
			task := race{
				theta: c.theta(), judge: c.judge, problems: c.r.Problems, members: k, given: given(i), trials: c.s.Trials,
				seed: run.Seed(c.s.Seed, "construct: race: "+stage, i), runSeed: c.roundSeed(0),
				reading: c.s.Reading, keep: c.j.checkpoint(at),
				reach: func(made int) { total.reach(i, made, 0) },
			}
			if remote != nil {
				out[i], err = remote.race(ctx, task, w)
			} else {
				out[i], err = task.run(ctx, w)
			}
			w.whole = c.s.Minings*c.s.Trials*c.s.Members <= wholeTrials
			return err
		})
		if err != nil {
			cancel()
			return err
		}
		total.reach(i, c.s.Trials, out[i].Sum/float64(len(c.r.Problems)))
		return nil
	})
	return out, err
}

// best returns the candidate with the largest sum, the first of equals.
func best(candidates []candidate) candidate {
	top := candidates[0]
	for _, c := range candidates[1:] {
		if c.Sum > top.Sum {
			top = c
		}
	}
	return top
}

// A race is one run of SMAC for configurations that complement the given ones.
// In the reading Written, configurations race over the training instances; in
// Published, a trial runs on all of them. Its result depends on nothing but its
// fields.
type race struct {
	theta    theta
	judge    judge
	problems []problem.Problem
	members  int // the number of configurations searched for
	given    []solver.Config
	trials   int
	seed     uint64 // of SMAC
	runSeed  uint64 // of the runs of BRKGA: that of round 0, as in the result's matrix
	reading  run.Reading
	keep     *checkpoint
	reach    func(made int) // receives the number of trials made; may be nil
}

// run makes the run of SMAC.
func (r race) run(ctx context.Context, w *work) (candidate, error) {
	ctx = openings.With(ctx) // all trials are run under the same seeds
	columns := len(r.problems) * r.judge.seeds
	space, err := r.theta.space(ctx, r.members)
	if err != nil {
		return candidate{}, err
	}
	settings := smac.Settings{Space: space, Trials: r.trials, Instances: columns, Seed: r.seed}
	if r.reading == run.Published {
		settings.Instances = 1
	}
	var s search
	if err := s.begin(r.keep, settings); err != nil {
		return candidate{}, err
	}
	one := r.judge
	one.seeds = 1
	seed := func(column int) func(int) uint64 {
		return func(int) uint64 { return r.judge.seed(r.runSeed, column%r.judge.seeds) }
	}
	value := func(ctx context.Context, configs []solver.Config, column int) (float64, error) {
		f, err := one.portfolio(ctx, configs, r.problems[column/r.judge.seeds:][:1], seed(column), 1, &s.Spent)
		if err != nil {
			return 0, err
		}
		return f[0], nil
	}
	rest := make([]float64, columns)
	for m := range rest {
		rest[m] = math.Inf(-1)
		if len(r.given) > 0 {
			spent := s.Spent // every run repeats this work, so it counts for none
			f, err := value(ctx, r.given, m)
			if s.Spent = spent; err != nil {
				return candidate{}, err
			}
			rest[m] = f
		}
	}
	complete := func(ctx context.Context, configs []solver.Config, column int) (float64, error) {
		f, err := value(ctx, configs, column)
		return max(rest[column], f), err
	}
	made := len(s.Optimizer.Result().History)
	trial := func(ctx context.Context, q smac.Query) (float64, error) {
		if r.keep.due() {
			if err := r.keep.save(s); err != nil {
				return 0, err
			}
		}
		if made++; made%100 == 0 && r.reach != nil {
			r.reach(made)
		}
		configs, err := r.theta.configs(ctx, q.Config)
		if err != nil {
			return 0, err
		}
		if r.reading == run.Written {
			v, err := complete(ctx, configs, q.Instance)
			return -v, err
		}
		sum := 0.0
		for m := range columns {
			v, err := complete(ctx, configs, m)
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum / float64(columns), nil // the authors' slip: SMAC minimises it
	}
	result, err := s.Optimizer.Run(ctx, trial)
	if err != nil {
		if ctx.Err() != nil {
			_ = r.keep.save(s) // if this fails, the record loses costs but no result
		}
		return candidate{}, err
	}
	var out candidate
	if out.Configs, err = r.theta.configs(ctx, result.Best); err != nil {
		return out, err
	}
	for m := range columns {
		v, err := complete(ctx, out.Configs, m)
		if err != nil {
			return candidate{}, err
		}
		out.Sum += v / float64(r.judge.seeds)
	}
	w.Cost, w.trials = s.Spent, result.History
	r.keep.remove()
	return out, nil
}

// wholeTrials is the largest number of trials for which a record holds all
// configurations tried.
const wholeTrials = 1_000_000

// memberStage names the stage that searches for the k-th member of PARHYDRA.
func memberStage(k int) string { return fmt.Sprintf("member %d", k+1) }
