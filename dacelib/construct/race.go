package construct

import (
	"context"
	"fmt"
	"math"
	"sync"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// static is a construction on the training instances alone.
func (c *coevolution) static(ctx context.Context, training []problem.Problem, build func() ([]brkga.Config, error)) error {
	c.pop = &authentic{c: c, training: training}
	m, err := c.pop.initial(ctx)
	if err != nil {
		return err
	}
	if err := c.keep(m); err != nil {
		return err
	}
	configs, err := build()
	if err != nil {
		return err
	}
	matrix, err := c.measure(ctx, "result", configs, m, 0)
	if err != nil {
		return err
	}
	rows := make([]int, len(configs))
	for i := range rows {
		rows[i] = i
	}
	c.r.Portfolio = portfolio.Portfolio{Name: c.method, Configs: configs}
	c.r.Rounds = []Round{{Portfolio: c.r.Portfolio, Instances: matrix.Instances, After: matrix.Performance(rows), Matrix: matrix}}
	return nil
}

// race makes independent runs of SMAC for k configurations that complete the
// given ones, and returns the best by the sum over the training instances.
func (c *coevolution) race(ctx context.Context, what string, step, k int, given []brkga.Config) ([]brkga.Config, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type found struct {
		Configs []brkga.Config
		Sum     float64
	}
	out := make([]found, c.s.Minings)
	instances := c.r.Problems
	seed := func(int) uint64 { return c.roundSeed(0) }
	rest, err := performance(ctx, given, instances, c.s.Evaluations, c.s.Workers, seed)
	if err != nil {
		return nil, err
	}
	value := func(ctx context.Context, configs []brkga.Config, i int) (float64, error) {
		f, err := performance(ctx, configs, instances[i:i+1], c.s.Evaluations, 1, seed)
		if err != nil {
			return 0, err
		}
		return max(rest[i], f[0]), nil
	}
	done := 0
	var mu sync.Mutex
	err = run.Each(c.s.Workers, c.s.Minings, func(i int) error {
		err := c.j.do(fmt.Sprintf("%s: run %d", what, i), &out[i], func() error {
			o, err := smac.New(smac.Settings{Space: Space(k), Trials: c.s.Trials, Instances: len(instances), Seed: run.Seed(c.s.Seed, "construct: race", step, i)})
			if err != nil {
				return err
			}
			r, err := o.Run(ctx, func(ctx context.Context, q smac.Query) (float64, error) {
				v, err := value(ctx, Configs(q.Config), q.Instance)
				return -v, err
			})
			if err != nil {
				return err
			}
			out[i].Configs = Configs(r.Best)
			for k := range instances {
				v, err := value(ctx, out[i].Configs, k)
				if err != nil {
					return err
				}
				out[i].Sum += v
			}
			mu.Lock()
			done++
			ev := run.Event{Stage: what, Step: done, Total: c.s.Minings, Value: out[i].Sum / float64(len(instances)), Best: math.NaN()}
			mu.Unlock()
			c.e.emit(ev)
			return nil
		})
		if err != nil {
			cancel()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	best := 0
	for i := range out {
		if out[i].Sum > out[best].Sum {
			best = i
		}
	}
	return out[best].Configs, nil
}
