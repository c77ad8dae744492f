package construct

import (
	"context"
	"math"
	"sync"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// A mined configuration, with its performance on every instance.
type mined struct {
	Config brkga.Config
	Values []float64
}

// mineAll makes the round's runs of SMAC, side by side: run i looks for the
// configuration that best completes the portfolio without member i mod K. The
// rows of m hold the members' performance. All runs of BRKGA have one seed.
func mineAll(ctx context.Context, j *journal, e *emitter, s Settings, round int, m portfolio.Matrix, instances []problem.Problem, seed uint64) ([]mined, error) {
	out := make([]mined, s.Minings)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stage := stageName(round, "mining")
	done := 0
	var mu sync.Mutex
	progress := func(trials int, cost float64) {
		mu.Lock()
		done += trials
		ev := run.Event{Stage: stage, Step: done, Total: s.Minings * s.Trials, Value: -cost, Best: math.NaN()}
		mu.Unlock()
		e.emit(ev)
	}
	err := run.Each(s.Workers, s.Minings, func(i int) error {
		err := j.do(stepName(round, "mining", i), &out[i], func() (err error) {
			rest := others(s.Members, i)
			out[i], err = mine(ctx, s, m.Performance(rest), instances, run.Seed(s.Seed, "construct: mining", round, i), seed,
				max(1, s.Workers/s.Minings), progress)
			return err
		})
		if err != nil {
			cancel()
		}
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

// mine is one run of SMAC: a trial is a configuration on all instances. rest
// is the performance of the other members.
func mine(ctx context.Context, s Settings, rest []float64, instances []problem.Problem, seed, runSeed uint64, workers int, progress func(int, float64)) (mined, error) {
	o, err := smac.New(smac.Settings{Space: Space(1), Trials: s.Trials, Seed: seed})
	if err != nil {
		return mined{}, err
	}
	var best mined
	lowest := math.Inf(1)
	_, err = o.RunBatch(ctx, func(ctx context.Context, cost []float64, queries []smac.Query) error {
		var configs []brkga.Config
		for _, q := range queries {
			configs = append(configs, Configs(q.Config)...)
		}
		values, err := runEach(ctx, configs, instances, s.Evaluations, workers, runSeed)
		if err != nil {
			return err
		}
		batch := math.Inf(1)
		for i, v := range values {
			cost[i] = gainCost(v, rest)
			batch = min(batch, cost[i])
			if cost[i] < lowest {
				lowest, best = cost[i], mined{configs[i], v}
			}
		}
		progress(len(queries), batch)
		return nil
	})
	return best, err
}

// gainCost is the cost of a configuration that SMAC minimises: minus what it
// adds to the rest of the portfolio, summed over the instances; where it adds
// nothing, how far it stays behind where it is nearest.
func gainCost(values, rest []float64) float64 {
	gain, nearest := 0.0, math.Inf(-1)
	for i, v := range values {
		r := rest[i]
		if math.IsInf(r, -1) { // a portfolio of one member: no rest
			r = 0
		}
		gain += max(0, v-r)
		nearest = max(nearest, v-r)
	}
	if gain > 0 {
		return -gain
	}
	return -nearest
}

// runEach runs every configuration on every instance, all with one seed:
// values[i][m] is that of configs[i] on instances[m].
func runEach(ctx context.Context, configs []brkga.Config, instances []problem.Problem, evaluations, workers int, seed uint64) ([][]float64, error) {
	var jobs []brkga.Job
	for _, c := range configs {
		for _, p := range instances {
			jobs = append(jobs, brkga.Job{Problem: p, Settings: brkga.Settings{Config: c, Evaluations: evaluations, Seed: seed}})
		}
	}
	results, err := brkga.RunAll(ctx, jobs, workers)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(configs))
	for i := range out {
		out[i] = make([]float64, len(instances))
		for m := range instances {
			out[i][m] = results[i*len(instances)+m].Value
		}
	}
	return out, nil
}
