package construct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

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
	return coevolveAuthentic(ctx, "CEPS", training, class, s, methodDefaults{Minings: 20, Trials: 1600})
}

// coevolveAuthentic runs a co-evolution on instances of the class.
func coevolveAuthentic(ctx context.Context, method string, training []problem.Problem, class problem.Class, s Settings, d methodDefaults) (Result, error) {
	defer run.Report(&ctx, method, &s.OnEvent)()
	ctx, end := s.limited(ctx)
	defer end()
	c, err := start(ctx, method, class.Name, training, s, d, func(c *coevolution) error {
		c.judge.authentic = true
		return c.afford(c.fits)
	})
	if err != nil {
		return early(ctx, method, s, err)
	}
	if class.Train == nil && (c.generates() || c.s.Fresh > 0) {
		return c.finish(ctx, fmt.Errorf("construct: %s needs a generator, and class %q has no Train", method, class.Name))
	}
	c.pop = newAuthentic(c, training, class)
	return c.finish(ctx, c.run(ctx))
}

// authentic is the population of CEPS: instances of the class.
type authentic struct {
	c        *coevolution
	training []problem.Problem
	class    problem.Class
}

func newAuthentic(c *coevolution, training []problem.Problem, class problem.Class) *authentic {
	c.judge.authentic = true
	return &authentic{c, training, class}
}

// normaliseAll returns the instances normalised by the ranges that a search
// finds; nil for those on which it finds no solution that may be chosen. The error
// is then that of the first of them, and wraps [portfolio.ErrNoRange].
func (p *authentic) normaliseAll(ctx context.Context, instances []problem.Problem, spent *Cost) ([]problem.Problem, error) {
	if pool := p.c.s.Farm; pool != nil {
		normalised, evaluations, err := portfolio.NormaliseBySearchOn(ctx, pool, instances, p.c.s.Evaluations, run.Seed(p.c.s.Seed, "construct: normalise"))
		if err != nil && !errors.Is(err, portfolio.ErrNoRange) {
			return nil, err
		}
		spent.Evaluations += evaluations
		spent.Runs += 2 * len(instances)
		return normalised, err
	}
	out := make([]problem.Problem, len(instances))
	counted := make([]*problem.Counted, len(instances))
	without := make([]error, len(instances))
	err := run.Each(p.c.s.Workers, len(instances), func(i int) error {
		counted[i] = problem.Count(instances[i], 0)
		n, err := portfolio.NormaliseBySearch(ctx, counted[i], p.c.s.Evaluations, run.Seed(p.c.s.Seed, "construct: normalise"))
		if errors.Is(err, portfolio.ErrNoRange) {
			without[i] = err
			return nil
		}
		if err != nil {
			return err
		}
		out[i] = portfolio.Within(instances[i], n.Range())
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, c := range counted {
		spent.Evaluations += c.Evaluations()
	}
	spent.Runs += 2 * len(instances)
	return out, cmp.Or(without...)
}

func (p *authentic) initial(ctx context.Context, w *work) ([]Instance, error) {
	ps := slices.Clone(p.training)
	for i := range p.c.s.Fresh {
		fresh, err := p.draw(len(p.training) + i)
		if err != nil {
			return nil, err
		}
		ps = append(ps, problem.Named(fresh, fmt.Sprintf("%s 0.%d", p.c.method, i+1)))
	}
	ps, err := p.normaliseAll(ctx, ps, &w.Cost)
	if err != nil && (!errors.Is(err, portfolio.ErrNoRange) || slices.Contains(ps[:len(p.training)], nil)) {
		return nil, err
	}
	var out []Instance
	for i, q := range ps {
		if q != nil { // a fresh instance without solutions that may be chosen tells nothing
			out = append(out, Instance{Name: q.Name(), Index: i, Range: q.(*portfolio.Instance).Range()})
		}
	}
	return out, nil
}

// draw returns the instance with an index: a training instance, or one that the
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

// A sampling is the saved state of an unfinished mutation of CEPS.
type sampling struct {
	Best    Instance  `json:"best"`
	History []float64 `json:"history"` // the lowest performance after each iteration
	Spent   Cost      `json:"spent"`
}

func (p *authentic) mutate(ctx context.Context, m mutation, w *work) (Instance, []float64, error) {
	rule := p.c.s.PGPE
	if rule.Stop == nil {
		rule.Known = m.f
	}
	size := 2*p.c.pairs() + 1
	// Every mutation draws from its own range of indices.
	first := len(p.training) + int(run.Seed(m.seed, "construct: ceps")%(1<<40))<<16
	member := func(member int) uint64 { return run.Seed(m.seed, "construct: member", member) }
	keep := p.c.j.checkpoint(m.step)
	var s sampling
	if !keep.load(&s) {
		s = sampling{}
	}
	lowest := math.Inf(1)
	if n := len(s.History); n > 0 {
		lowest = s.History[n-1]
	}
	for it := len(s.History); it < m.iterations; it++ {
		if it > 0 && rule.Ends(pgpe.Iteration{Number: it, Best: lowest}) {
			break
		}
		if it > 0 && (keep.due() || ctx.Err() != nil) {
			if err := keep.save(s); err != nil {
				return Instance{}, nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return Instance{}, nil, err
		}
		spent := s.Spent
		ps := make([]problem.Problem, size)
		for i := range ps {
			var err error
			if ps[i], err = p.draw(first + it*size + i); err != nil {
				return Instance{}, nil, err
			}
		}
		ps, err := p.normaliseAll(ctx, ps, &spent)
		if err != nil && !errors.Is(err, portfolio.ErrNoRange) {
			return Instance{}, nil, err
		}
		var of []int // the places of those with solutions that may be chosen
		for i, q := range ps {
			if q != nil {
				of = append(of, i)
			}
		}
		if len(of) == 0 {
			return Instance{}, nil, fmt.Errorf("construct: class %s: none of %d fresh instances will do: %w", p.class.Name, size, err)
		}
		ps = slices.DeleteFunc(ps, func(q problem.Problem) bool { return q == nil })
		values, err := p.c.judge.portfolio(ctx, m.configs, ps, member, p.c.s.Workers, &spent)
		if err != nil {
			return Instance{}, nil, err
		}
		hardest := math.Inf(1)
		for i, v := range values {
			hardest = min(hardest, v)
			if v < lowest {
				lowest = v
				s.Best = Instance{Index: first + it*size + of[i], Range: ps[i].(*portfolio.Instance).Range()}
			}
		}
		s.History, s.Spent = append(s.History, lowest), spent
		p.c.e.emit(run.Event{Stage: m.step.String(), Step: it + 1, Total: m.iterations, Value: hardest, Best: lowest})
	}
	w.Cost = s.Spent
	keep.remove()
	return s.Best, s.History, nil
}
