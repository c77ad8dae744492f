// Package smac minimises an expensive function of a configuration: whole
// numbers, real numbers and categories. It is sequential model-based
// optimisation with a random forest, as SMAC's algorithm configuration facade
// does it (Hutter et al., LION 2011; Lindauer et al., JMLR 23, 2022), with
// races over instances where there are several.
//
// Start with [Run] for a function to be called, or with [New], [Optimizer.Ask]
// and [Optimizer.Tell] to evaluate where and when it suits. An [Optimizer]
// goes to JSON and back, and then goes on as if it had never stopped.
//
// After 200 trials the median distance from the minimum, over 30 seeds, is
//
//	function                                  here   random search   with 800 trials
//	Branin's, two real numbers               0.067           0.194             0.067
//	Hartmann's, six real numbers             0.342           1.131             0.679
//	three whole numbers, two categories      3.003           6.654             4.734
//
// It is not for conditional parameters and not for cheap functions: 1,600
// trials have about a second of the optimiser's own time.
package smac

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"dace.local/dacelib/forest"
	"dace.local/dacelib/run"
)

// Settings are the parameters of the optimiser. The zero value of each field
// but Space means SMAC's default.
type Settings struct {
	// Space is the set of configurations.
	Space Space
	// Trials is the number of evaluations: of a configuration, or of a
	// configuration on one instance where there are several. 0 means 1600,
	// the paper's number (section V-B).
	Trials int
	// Instances is the number of instances that a configuration is to do
	// well on, on average; 0 means 1. With more than one, configurations
	// race: see [Optimizer].
	Instances int
	// RandomProb is the probability that a configuration to be tried is a
	// purely random one; 0 means 0.5, below 0 never.
	RandomProb float64
	// Candidates is the number of random candidates that the model ranks at
	// each fit; 0 means 5000.
	Candidates int
	// LocalStarts is the number of evaluated configurations, and again of
	// random candidates, that local searches start from at each fit; 0 means
	// 10, below 0 none.
	LocalStarts int
	// RefitEvery is the number of configurations that are tried between two
	// fits of the model: a batch; 0 means 8.
	RefitEvery int
	// Forest is the model; its zero value means SMAC's. Its Seed and
	// Categories are set by the optimiser.
	Forest forest.Settings
	// Workers is the number of evaluations that [Run] makes at once; 0
	// means 1. The function must then be safe to call so. It does not change
	// the result.
	Workers int
	// Seed determines the run together with the costs.
	Seed uint64
	// OnEvent, where not nil, is called after every trial, one call at a
	// time, with the trial's cost and the lowest so far.
	OnEvent func(run.Event) `json:"-"`
}

// withDefaults returns s with its zero fields filled in, or what is wrong.
func (s Settings) withDefaults() (Settings, error) {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&s.Trials, 1600)
	def(&s.Instances, 1)
	def(&s.Candidates, 5000)
	def(&s.LocalStarts, 10)
	def(&s.RefitEvery, 8)
	def(&s.Workers, 1)
	if s.RandomProb == 0 {
		s.RandomProb = 0.5
	}
	switch {
	case s.Trials < 0 || s.Instances < 0 || s.Candidates < 0 || s.RefitEvery < 0 || s.Workers < 0:
		return s, errors.New("smac: Trials, Instances, Candidates, RefitEvery and Workers must not be negative")
	case s.Instances > 1<<20 || s.Candidates > 1<<24:
		return s, fmt.Errorf("smac: %d instances, %d candidates; at most 2^20 and 2^24 are possible", s.Instances, s.Candidates)
	case !(s.RandomProb <= 1):
		return s, fmt.Errorf("smac: RandomProb is %v; it is a probability", s.RandomProb)
	}
	return s, s.Space.Check()
}

// An Origin says how a configuration came to be tried.
type Origin string

const (
	// FromDefault is the default configuration, the first to be tried.
	FromDefault Origin = "default"
	// FromRandom is a random configuration.
	FromRandom Origin = "random"
	// FromModel is a configuration chosen by its expected improvement.
	FromModel Origin = "model"
)

// A Trial is one evaluation.
type Trial struct {
	// Config is the configuration, one raw value per parameter.
	Config []float64 `json:"config"`
	// Instance is the index of the instance; 0 where there is only one.
	Instance int `json:"instance"`
	// Cost is what was returned for it.
	Cost float64 `json:"cost"`
	// Origin says where the configuration came from.
	Origin Origin `json:"origin"`
}

// A Query asks for an evaluation.
type Query struct {
	// ID tells the queries of a run apart.
	ID int
	// Config is the configuration; it must not be changed.
	Config []float64
	// Instance is the index of the instance; 0 where there is only one.
	Instance int
}

// A Result is the outcome of a run so far.
type Result struct {
	// Best is the configuration found, nil where there was no trial. On one
	// instance it is that of the lowest cost, the earliest of equals; on
	// several, the one that won the races.
	Best []float64
	// Cost is the cost of Best, the mean over the instances it was tried on.
	Cost float64
	// BestInstances is the number of instances that Best was tried on.
	BestInstances int
	// History holds all trials in the order in which they were asked for.
	History []Trial
	// Status says why the run ended: BudgetSpent, Cancelled, or Converged
	// where every configuration of a finite space has been tried; NotRun
	// while it has not ended.
	Status run.Status
}

// Run minimises the mean of f over the instances (of f itself where there is
// one). f returns the cost of a configuration, within +-1e100: for an evaluation
// that failed, one worse than all others. config must not be changed.
//
// On the end of ctx, or on an error of f, Run returns the best so far along
// with the error.
func Run(ctx context.Context, f func(ctx context.Context, config []float64) (float64, error), s Settings) (Result, error) {
	if s.Instances > 1 {
		return Result{}, errors.New("smac: Run has no instances; use New and Optimizer.Run with a function of a query")
	}
	o, err := New(s)
	if err != nil {
		return Result{}, err
	}
	return o.Run(ctx, func(ctx context.Context, q Query) (float64, error) { return f(ctx, q.Config) })
}

// Run asks f for the cost of one query after the other, Settings.Workers at
// once, until the run is done. It continues a run that was restored or
// cancelled. On the end of ctx, or on an error of f, it returns the best so
// far along with the error, and may be called again.
func (o *Optimizer) Run(ctx context.Context, f func(ctx context.Context, q Query) (float64, error)) (Result, error) {
	for {
		queries := o.Ask(0)
		if len(queries) == 0 {
			return o.Result(), nil
		}
		if err := o.each(ctx, f, queries); err != nil {
			return o.interrupted(ctx), err
		}
	}
}

// each tells the costs f(queries[i]), Settings.Workers of them at once, until
// there is an error. Costs are told, and so events reported, on the caller's
// goroutine.
func (o *Optimizer) each(ctx context.Context, f func(ctx context.Context, q Query) (float64, error), queries []Query) error {
	workers := min(o.s.Workers, len(queries))
	if workers == 1 {
		for _, q := range queries {
			cost, err := o.call(ctx, f, q)
			if err == nil {
				err = o.Tell(q, cost)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	type outcome struct {
		q    Query
		cost float64
		err  error
	}
	out := make(chan outcome, len(queries)) // no worker waits for the receiver
	var next atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for !stop.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(queries) {
					return
				}
				cost, err := o.call(ctx, f, queries[i])
				out <- outcome{queries[i], cost, err}
			}
		})
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	var first error
	for r := range out {
		err := r.err
		if err == nil {
			err = o.Tell(r.q, r.cost)
		}
		if err != nil && first == nil {
			first = err
			stop.Store(true)
		}
	}
	return first
}

// call returns f(q), and a panic of f as an error.
func (o *Optimizer) call(ctx context.Context, f func(ctx context.Context, q Query) (float64, error), q Query) (cost float64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("smac: the function panicked at %s: %v", o.s.Space.Format(q.Config), r)
		}
	}()
	return f(ctx, q)
}

// RunBatch is [Optimizer.Run] for a function that evaluates many queries at
// once: it sets cost[i] to the cost of queries[i]. On one instance a batch is
// Settings.RefitEvery configurations. An evaluation that f did not get to
// before it returned an error must be left NaN.
func (o *Optimizer) RunBatch(ctx context.Context, f func(ctx context.Context, cost []float64, queries []Query) error) (Result, error) {
	for {
		queries := o.Ask(0)
		if len(queries) == 0 {
			return o.Result(), nil
		}
		err := ctx.Err()
		if err == nil {
			cost := make([]float64, len(queries))
			for i := range cost {
				cost[i] = math.NaN()
			}
			err = f(ctx, cost, queries)
			for i, q := range queries {
				if err != nil && math.IsNaN(cost[i]) {
					continue
				}
				if e := o.Tell(q, cost[i]); e != nil && err == nil {
					err = e
				}
			}
		}
		if err != nil {
			return o.interrupted(ctx), err
		}
	}
}

// interrupted takes back what was asked for and not told, so that it is asked
// for again, and returns the best so far.
func (o *Optimizer) interrupted(ctx context.Context) Result {
	o.handed = 0
	r := o.Result()
	if ctx.Err() != nil {
		r.Status = run.Cancelled
	}
	return r
}
