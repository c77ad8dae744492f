package construct

import (
	"context"
	"math"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// A judge evaluates configurations on instances, all under the same seeds.
type judge struct {
	evaluations int      // budget of one run
	seeds       int      // number of seeds per instance
	authentic   bool     // whether evaluations are of authentic instances and so count
	target      *float64 // nil: none
	measure     Measure
	raw         bool // whether instances are not normalised: -Inf has no number then

	farm farm.Pool // nil for this process

	// ran, unless it is nil, has each run made by itself, on whatever core is free,
	// and is called after each.
	ran func()
}

// seed returns the k-th of the seeds that are derived from seed.
func (j judge) seed(seed uint64, k int) uint64 {
	if k == 0 {
		return seed
	}
	return run.Seed(seed, "construct: repeat", k)
}

// run makes the runs and adds their cost to spent.
func (j judge) run(ctx context.Context, jobs []solver.Job, workers int, spent *Cost) ([]solver.Result, error) {
	results := make([]solver.Result, len(jobs))
	var err error
	if j.ran == nil {
		results, err = solver.RunAll(ctx, jobs, workers)
	} else {
		err = run.Each(workers, len(jobs), func(i int) error {
			found, err := solver.RunAll(ctx, jobs[i:i+1], 1)
			if err == nil {
				results[i] = found[0]
				j.ran()
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	spent.Runs += len(results)
	if j.authentic {
		for _, r := range results {
			spent.Evaluations += r.Evaluations
		}
	}
	return results, nil
}

func (j judge) job(p problem.Problem, c solver.Config, seed uint64) solver.Job {
	return solver.Job{Problem: p, Config: c, Evaluations: j.evaluations, Target: j.target, Seed: seed}
}

// each runs every configuration on every instance under n = j.seeds seeds
// derived from seed: values[i][m*n+k] is that of configs[i] on instances[m]
// under the k-th.
func (j judge) each(ctx context.Context, configs []solver.Config, instances []problem.Problem, seed uint64, workers int, spent *Cost) ([][]float64, error) {
	if j.farm != nil {
		return j.remoteEach(ctx, configs, instances, seed, spent)
	}
	ctx = openings.With(ctx)
	var jobs []solver.Job
	for _, c := range configs {
		for _, p := range instances {
			for k := range j.seeds {
				jobs = append(jobs, j.job(p, c, j.seed(seed, k)))
			}
		}
	}
	results, err := j.run(ctx, jobs, workers, spent)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(configs))
	columns := len(instances) * j.seeds
	for i := range out {
		out[i] = make([]float64, columns)
		for m := range out[i] {
			out[i][m] = j.quality(j.measure.of(results[i*columns+m], j.evaluations))
		}
	}
	return out, nil
}

// portfolio returns f(P, m) of one portfolio on each instance, the mean over
// the seeds. The seeds of member i are derived from seed(i).
func (j judge) portfolio(ctx context.Context, configs []solver.Config, instances []problem.Problem, seed func(member int) uint64, workers int, spent *Cost) ([]float64, error) {
	if j.farm != nil {
		return j.remotePortfolio(ctx, configs, instances, seed, spent)
	}
	var jobs []solver.Job
	for _, p := range instances {
		for k := range j.seeds {
			for i, c := range configs {
				jobs = append(jobs, j.job(p, c, j.seed(seed(i), k)))
			}
		}
	}
	results, err := j.run(ctx, jobs, workers, spent)
	if err != nil {
		return nil, err
	}
	columns := make([]float64, len(instances)*j.seeds)
	for m := range columns {
		columns[m] = math.Inf(-1)
		for _, r := range results[m*len(configs) : (m+1)*len(configs)] {
			columns[m] = max(columns[m], j.quality(j.measure.of(r, j.evaluations)))
		}
	}
	return j.means(columns), nil
}

// unchosen is the quality of a run that has met no solution that may be chosen:
// as far below the worst of the solutions by which an instance is normalised as
// the best of them is above it. -Inf would make all portfolios equal that fail on
// some instance.
const unchosen = -1

// quality returns the value of a run, of normalised instances unchosen for -Inf.
func (j judge) quality(value float64) float64 {
	if !j.raw && math.IsInf(value, -1) {
		return unchosen
	}
	return value
}

// means returns for each instance the mean of its columns.
func (j judge) means(columns []float64) []float64 {
	if j.seeds == 1 {
		return columns
	}
	out := make([]float64, len(columns)/j.seeds)
	for m := range out {
		out[m] = mean(columns[m*j.seeds : (m+1)*j.seeds])
	}
	return out
}
