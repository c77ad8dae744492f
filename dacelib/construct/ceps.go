package construct

import (
	"context"
	"fmt"
	"math"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// CEPS constructs a portfolio by co-evolution with the problem class's own
// instance generator, class.Train: the mutation draws 2N+1 fresh instances per
// iteration (N = PGPE.Pairs), for at most PGPE.MaxIterations, and returns the
// hardest. Instances are normalised by the extremes that BRKGA finds with
// [Settings].Evaluations evaluations each.
func CEPS(ctx context.Context, training []problem.Problem, class problem.Class, s Settings) (Result, error) {
	c, err := start("CEPS", training, s, 20, 1600)
	if err != nil {
		return Result{}, err
	}
	if class.Train == nil {
		return c.finish(ctx, fmt.Errorf("construct: CEPS needs a generator, and class %q has no Train", class.Name))
	}
	c.pop = &authentic{c: c, training: training, class: class}
	return c.finish(ctx, c.run(ctx))
}

// authentic is the population of CEPS: instances of the class.
type authentic struct {
	c        *coevolution
	training []problem.Problem
	class    problem.Class
}

// normalise finds the range of an instance.
func (p *authentic) normalise(ctx context.Context, instance problem.Problem) (portfolio.Range, error) {
	i, err := portfolio.NormaliseBySearch(ctx, instance, p.c.s.Evaluations, run.Seed(p.c.s.Seed, "construct: normalise"))
	if err != nil {
		return portfolio.Range{}, err
	}
	return i.Range(), nil
}

// normaliseAll returns instances normalised.
func (p *authentic) normaliseAll(ctx context.Context, instances []problem.Problem) ([]problem.Problem, error) {
	out := make([]problem.Problem, len(instances))
	err := run.Each(p.c.s.Workers, len(instances), func(i int) error {
		r, err := p.normalise(ctx, instances[i])
		out[i] = portfolio.Within(instances[i], r)
		return err
	})
	return out, err
}

func (p *authentic) initial(ctx context.Context) ([]Instance, error) {
	ps, err := p.normaliseAll(ctx, p.training)
	if err != nil {
		return nil, err
	}
	out := make([]Instance, len(ps))
	for i := range ps {
		out[i] = Instance{Name: ps[i].Name(), Index: i, Range: ps[i].(*portfolio.Instance).Range()}
	}
	return out, nil
}

// draw returns the instance of an index: a training instance, or one that the
// generator makes.
func (p *authentic) draw(index int) (problem.Problem, error) {
	if index < len(p.training) {
		return p.training[index], nil
	}
	i, err := p.class.Train(run.Seed(p.c.s.Seed, "construct: ceps"), index)
	if err != nil {
		return nil, fmt.Errorf("construct: class %s, instance %d: %w", p.class.Name, index, err)
	}
	return i, nil
}

func (p *authentic) problem(i Instance) (problem.Problem, error) {
	instance, err := p.draw(i.Index)
	if err != nil {
		return nil, err
	}
	return portfolio.Within(problem.Named(instance, i.Name), i.Range), nil
}

func (p *authentic) mutate(ctx context.Context, parent Instance, configs []brkga.Config, f []float64, step string, seed uint64) (Instance, []float64, error) {
	pairs, iterations, stop := p.c.s.PGPE.Pairs, p.c.s.PGPE.MaxIterations, p.c.s.PGPE.Stop
	if pairs == 0 {
		pairs = 40
	}
	if iterations == 0 {
		iterations = 200
	}
	if stop == nil {
		stop = pgpe.EarlyStop(f)
	}
	// Every mutation draws from indices of its own.
	first := len(p.training) + int(run.Seed(seed, "construct: ceps")%(1<<40))<<16
	var best Instance
	var history []float64
	lowest := math.Inf(1)
	for it := range iterations {
		ps := make([]problem.Problem, 2*pairs+1)
		for i := range ps {
			var err error
			if ps[i], err = p.draw(first + it*len(ps) + i); err != nil {
				return best, nil, err
			}
		}
		ps, err := p.normaliseAll(ctx, ps)
		if err != nil {
			return best, nil, err
		}
		values, err := performance(ctx, configs, ps, p.c.s.Evaluations, p.c.s.Workers, func(member int) uint64 { return run.Seed(seed, "construct: member", member) })
		if err != nil {
			return best, nil, err
		}
		hardest := math.Inf(1)
		for i, v := range values {
			hardest = min(hardest, v)
			if v < lowest {
				lowest = v
				best = Instance{Index: first + it*len(ps) + i, Range: ps[i].(*portfolio.Instance).Range()}
			}
		}
		history = append(history, lowest)
		p.c.e.emit(run.Event{Stage: step, Step: it + 1, Total: iterations, Value: hardest, Best: lowest})
		if stop(pgpe.Iteration{Number: it + 1, Lowest: hardest, Best: lowest}) {
			break
		}
	}
	return best, history, nil
}
