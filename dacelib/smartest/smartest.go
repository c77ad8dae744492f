// Package smartest implements SMARTEST, the memetic algorithm for compiler
// arguments (Jiang et al., IEEE Transactions on Reliability 71, 2022) with
// which the paper compares on CAOP. It is a genetic algorithm whose offspring
// climb the prediction of a random forest before they are evaluated.
//
// Start with [Run]; [PAP] returns the paper's SMARTEST-PAP (Appendix C). The
// method works for any binary problem, but is meant for evaluations that take
// milliseconds: its own computations take about a second in a run of 800.
package smartest

import (
	"context"
	"fmt"
	"math"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// A Config is a configuration of SMARTEST: the parameters in the paper's table.
type Config struct {
	// Population is the number of individuals.
	Population int `json:"population"`
	// Crossover is the probability that two parents are crossed over; otherwise
	// they are copied.
	Crossover float64 `json:"crossover"`
	// EliteRate is the share of the population that is copied to the next
	// generation: the best floor(EliteRate*Population) individuals.
	EliteRate float64 `json:"elite_rate"`
}

// Default returns the first configuration of [PAP]: [100, 0.8, 0.1].
func Default() Config { return Config{100, 0.8, 0.1} }

// PAP returns the four configurations of the paper's SMARTEST-PAP (Appendix
// C).
func PAP() []Config {
	return []Config{{100, 0.8, 0.1}, {150, 0.8, 0.1}, {100, 0.8, 0.2}, {100, 0.5, 0.2}}
}

// String returns the configuration as the paper writes it: [100, 0.8, 0.1].
func (c Config) String() string {
	return fmt.Sprintf("[%d, %g, %g]", c.Population, c.Crossover, c.EliteRate)
}

// Check returns an error if the configuration is invalid, else nil.
func (c Config) Check() error {
	switch {
	case c.Population < 1:
		return fmt.Errorf("smartest: configuration %v: the population must be at least 1", c)
	case !(0 <= c.Crossover && c.Crossover <= 1):
		return fmt.Errorf("smartest: configuration %v: the crossover probability must be in [0,1]", c)
	case !(0 <= c.EliteRate && c.EliteRate <= 1):
		return fmt.Errorf("smartest: configuration %v: the elite rate must be in [0,1]", c)
	}
	return defaults.AtMost("smartest", defaults.Bound{Field: "Config.Population", Value: c.Population, Most: 1 << 20})
}

// Settings are the settings of a run. The zero value is the paper's: the
// default configuration, 800 evaluations, a forest of 100 trees.
type Settings struct {
	// Config is the configuration; the zero value means Default().
	Config Config
	// Evaluations is the budget; 0 means 800. Every individual that enters a
	// generation counts, even if its value is known from an earlier one and it
	// is not evaluated again.
	Evaluations int
	// Trees is the number of trees of the forest; 0 means 100. The trees are
	// grown until their leaves are pure, with all features at each split, on
	// bootstrap samples: scikit-learn's defaults.
	Trees int
	// Workers is the number of goroutines that grow trees and climb; 0 means
	// 1. It does not change the result.
	Workers int
	// Farm, if not nil, has the solutions of each generation evaluated by the
	// workers of a pool, as by farm.Problem; the forest grows in this process. It
	// does not change the result, and pays off where an evaluation takes longer
	// than about 50 us.
	Farm farm.Pool `json:"-"`
	// Target, unless it is nil, ends the run after the first generation that
	// reaches it.
	Target *float64 `json:",omitempty"`
	// Seed determines the random numbers of the run.
	Seed uint64
	// OnEvent, if not nil, is called after every generation. Step and Total
	// count evaluations, Value is the generation's best value and Best the
	// run's.
	OnEvent func(run.Event) `json:"-"`
}

// withDefaults returns s with the zero values replaced, or an error.
func (s Settings) withDefaults() (Settings, error) {
	if s.Config == (Config{}) {
		s.Config = Default()
	}
	defaults.Set(&s.Evaluations, 800)
	defaults.Set(&s.Trees, 100)
	defaults.Set(&s.Workers, 1)
	if s.Evaluations < 0 || s.Trees < 0 || s.Workers < 0 {
		return s, fmt.Errorf("smartest: %d evaluations, %d trees, %d workers: none may be negative", s.Evaluations, s.Trees, s.Workers)
	}
	if err := defaults.AtMost("smartest", defaults.Bound{Field: "Settings.Evaluations", Value: s.Evaluations, Most: 1 << 26},
		defaults.Bound{Field: "Settings.Trees", Value: s.Trees, Most: 1 << 16}); err != nil {
		return s, err
	}
	return s, s.Config.Check()
}

// A Point is an entry of a run's history: the best value after a number of
// evaluations.
type Point = solver.Point

// A Result is the outcome of a run, with everything needed to repeat it.
type Result struct {
	// Problem is the problem's name.
	Problem string `json:"problem"`
	// X is the best solution, of length d, and Value its value; among equally
	// good solutions it is the first. X is nil if nothing was evaluated.
	X     []bool  `json:"x"`
	Value float64 `json:"value"`
	// Evaluations is the number of evaluations counted, Distinct the number of
	// distinct solutions among them, Generations the number of generations,
	// including the first.
	Evaluations int `json:"evaluations"`
	Distinct    int `json:"distinct"`
	Generations int `json:"generations"`
	// Status is BudgetSpent, or Converged if no new generation is possible (all
	// individuals are elite); together with an error it is Cancelled or NotRun.
	Status run.Status `json:"status"`
	// History has one point for every improvement of the best value.
	History []Point `json:"history"`
	// Settings are the settings of the run, with defaults filled in.
	Settings Settings `json:"settings"`
}

// Run maximises p and returns the best solution found within the budget. If ctx
// ends, it returns the best solution so far and ctx's error; if p fails, the
// best solution before the failure and p's error. On a [problem.Noisy] problem the
// run ends with a final choice among its best solutions, whose repeats are not
// counted.
//
// The first generation is random, without repetition. In each later one, pairs
// of parents are drawn by roulette and crossed over at one point. Their
// children climb: the bit whose flip raises the forest's prediction most is
// flipped, until no flip raises it. The forest is fitted to all solutions
// evaluated so far. After the elite, the generation is filled up with the ends
// of the climbs, then with the children before their climbs, then with the rest
// of the old generation, leaving out repetitions.
//
// There are two deviations from the authors' code. First, the roulette's
// weights are the values minus the generation's worst value, plus 1/n of their
// range for n individuals: the values themselves, which are all negative on
// CAOP, would prefer the worst. Second, the two children of a crossover are
// complementary, not equal.
//
// A value of -Inf means a failed compilation and counts as the worst value; NaN
// and +Inf are errors.
//
// A run is determined by p and s. To resume an interrupted run, repeat it: with
// problem.Memo, which remembers values, or on caop, which stores them on disk,
// nothing is evaluated twice.
func Run(ctx context.Context, p problem.Problem, s Settings) (Result, error) {
	defer run.Report(&ctx, "SMARTEST", &s.OnEvent)()
	s, err := s.withDefaults()
	if err != nil {
		return Result{}, err
	}
	g := newSearch(farm.Problem(s.Farm, p), s)
	err = g.first(ctx)
	for err == nil && g.evaluations < s.Evaluations && g.rest() > 0 && !g.reached() {
		err = g.generation(ctx)
	}
	return g.result(ctx, err)
}

// result returns the outcome of the run when it ends, with or without err.
func (g *search) result(ctx context.Context, err error) (Result, error) {
	r := Result{
		Problem: g.p.Name(), Value: math.NaN(),
		Evaluations: g.evaluations, Distinct: len(g.value), Generations: g.generations,
		Status: run.Converged, History: g.history, Settings: g.s,
	}
	if len(g.value) > 0 {
		r.X, r.Value = g.known.Bools(g.best), g.value[g.best]
	}
	if g.evaluations >= g.s.Evaluations {
		r.Status = run.BudgetSpent
	}
	if g.reached() {
		r.Status = run.TargetReached
	}
	if final := problem.NewFinal(g.p); err == nil && final != nil {
		for i, v := range g.value {
			final.Add(g.known.Row(i), v)
		}
		row, value, ok, e := final.Choose(ctx)
		if err = e; ok {
			r.X, r.Value = problem.Solutions{D: g.known.D, Words: row}.Bools(0), value
		}
	}
	if err != nil {
		r.Status = run.NotRun
		if ctx.Err() != nil {
			r.Status, err = run.Cancelled, ctx.Err()
		}
	}
	return r, err
}

// reached reports whether the run has found its target.
func (g *search) reached() bool {
	return g.s.Target != nil && len(g.value) > 0 && g.value[g.best] >= *g.s.Target
}
