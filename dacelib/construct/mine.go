package construct

import (
	"context"
	"math"
	"sync"

	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// mined is a configuration with its performance on every instance, in the order
// of a matrix's columns.
type mined struct {
	Config solver.Config
	Values []float64
}

// mineAll makes the round's runs of SMAC concurrently: run i searches for the
// configuration that best completes the portfolio without member i mod K. The
// rows of m hold the members' performance. All runs of BRKGA in a round use the
// round's seeds.
func (c *coevolution) mineAll(ctx context.Context, round int, m portfolio.Matrix) ([]mined, error) {
	s := c.s
	s.Trials = c.trials(len(c.r.Problems))
	out := make([]mined, s.Minings)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	remote, err := c.remote(ctx, c.r.Problems)
	if err != nil {
		return nil, err
	}
	total := &progress{e: c.e, stage: step{Round: round, Stage: miningStage}.stage(), total: s.Minings * s.Trials}
	err = run.Each(remote.concurrent(s.Workers, s.Minings), s.Minings, func(i int) error {
		at := step{round, miningStage, i}
		err := c.j.do(at, &out[i], func(w *work) (err error) {
			task := mining{
				theta: c.theta(), judge: c.judge, problems: c.r.Problems, rest: m.Performance(others(s.Members, i)), trials: s.Trials,
				seed: run.Seed(s.Seed, "construct: mining", round, i), runSeed: c.roundSeed(round),
				reading: s.Reading, workers: max(1, s.Workers/s.Minings), keep: c.j.checkpoint(at),
				reach: func(made int, batch float64) { total.reach(i, made, batch) },
			}
			if remote != nil {
				out[i], err = remote.mine(ctx, task, w)
			} else {
				out[i], err = task.run(ctx, w)
			}
			return err
		})
		if err != nil {
			cancel()
		}
		total.reach(i, s.Trials, math.NaN()) // also if the run was recorded earlier
		return err
	})
	return out, err
}

// others returns 0, ..., k-1 without i mod k.
func others(k, i int) []int {
	var out []int
	for j := range k {
		if j != i%k {
			out = append(out, j)
		}
	}
	return out
}

// A progress adds up the trials of concurrent runs.
type progress struct {
	e     *emitter
	stage string
	total int

	mu   sync.Mutex // guards done and sum
	done map[int]int
	sum  int
}

// reach sets the number of trials that run i has made so far, and sends an event
// with value, the result of the last ones, unless value is NaN.
func (p *progress) reach(i, trials int, value float64) {
	p.mu.Lock()
	if p.done == nil {
		p.done = map[int]int{}
	}
	p.sum += trials - p.done[i]
	p.done[i] = trials
	ev := run.Event{Stage: p.stage, Step: p.sum, Total: p.total, Value: value, Best: math.NaN()}
	p.mu.Unlock()
	if !math.IsNaN(value) {
		p.e.emit(ev)
	}
}

// A search is the saved state of an unfinished run of SMAC.
type search struct {
	Optimizer *smac.Optimizer `json:"optimizer"`
	Best      mined           `json:"best"`
	Gain      float64         `json:"gain"` // of Best
	Spent     Cost            `json:"spent"`
}

// begin restores an unfinished run of SMAC, or begins a new one.
func (s *search) begin(keep *checkpoint, settings smac.Settings) error {
	s.Optimizer = new(smac.Optimizer)
	if keep.load(s) && s.Optimizer.Settings().Seed == settings.Seed && s.Optimizer.Settings().Trials == settings.Trials {
		return nil
	}
	o, err := smac.New(settings)
	*s = search{Optimizer: o}
	return err
}

// A mining is one run of SMAC, in which a trial is a configuration on all
// instances. Its result depends on nothing but its fields.
type mining struct {
	theta    theta
	judge    judge
	problems []problem.Problem
	rest     []float64 // the performance of the other members
	trials   int
	seed     uint64 // of SMAC
	runSeed  uint64 // of the runs of BRKGA
	reading  run.Reading
	workers  int
	keep     *checkpoint
	// reach, if not nil, receives the number of trials made and the best gain
	// of the last ones.
	reach func(made int, batch float64)
}

// run makes the run of SMAC.
func (m mining) run(ctx context.Context, w *work) (mined, error) {
	ctx = openings.With(ctx) // all trials are run under the same seeds
	var s search
	space, err := m.theta.space(ctx, 1)
	if err == nil {
		err = s.begin(m.keep, smac.Settings{Space: space, Trials: m.trials, Seed: m.seed})
	}
	if err != nil {
		return mined{}, err
	}
	made := len(s.Optimizer.Result().History)
	result, err := s.Optimizer.RunBatch(ctx, func(ctx context.Context, cost []float64, queries []smac.Query) error {
		if m.keep.due() {
			if err := m.keep.save(s); err != nil {
				return err
			}
		}
		var configs []solver.Config
		for _, q := range queries {
			one, err := m.theta.configs(ctx, q.Config)
			if err != nil {
				return err
			}
			configs = append(configs, one...)
		}
		values, err := m.judge.each(ctx, configs, m.problems, m.runSeed, m.workers, &s.Spent)
		if err != nil {
			return err
		}
		batch := math.Inf(-1)
		for i, v := range values {
			g := gain(v, m.rest, m.reading)
			batch = max(batch, g)
			cost[i] = -g
			if m.reading == run.Published {
				cost[i] = g // the authors' slip: SMAC minimises the performance
			}
			if s.Best.Values == nil || g > s.Gain {
				s.Gain, s.Best = g, mined{configs[i], v}
			}
		}
		made += len(queries)
		if m.reach != nil {
			m.reach(made, batch)
		}
		return nil
	})
	if err != nil {
		if ctx.Err() != nil {
			_ = m.keep.save(s) // if this fails, the record loses costs but no result
		}
		return mined{}, err
	}
	w.Cost, w.trials, w.whole = s.Spent, result.History, true
	m.keep.remove()
	return s.Best, nil
}

// gain returns how much a configuration adds to the performance of the rest of
// the portfolio, summed over the columns. If it adds nothing, gain is minus its
// distance from the rest in the column where it is nearest (Published:
// furthest).
func gain(values, rest []float64, reading run.Reading) float64 {
	sum, nearest, furthest := 0.0, math.Inf(-1), math.Inf(1)
	for i, v := range values {
		r := rest[i]
		if math.IsInf(r, -1) { // a portfolio of one member: no rest
			r = 0
		}
		sum += max(0, v-r)
		nearest = max(nearest, v-r)
		furthest = min(furthest, v-r)
	}
	switch {
	case sum > 0:
		return sum
	case reading == run.Published:
		return furthest
	}
	return nearest
}
