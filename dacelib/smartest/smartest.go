// Package smartest is SMARTEST, the memetic algorithm for compiler arguments
// (Jiang et al., IEEE Transactions on Reliability 71, 2022) that the paper
// compares with on CAOP: a genetic algorithm whose offspring climb the
// prediction of a random forest before they are evaluated.
//
// Start with [Run]; [PAP] is the paper's SMARTEST-PAP (Appendix C). It works
// for any binary problem, but it is meant for evaluations that cost
// milliseconds: a run of 800 has about a second of its own time.
package smartest

import (
	"context"
	"fmt"
	"math"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Config is a configuration: the paper's table of SMARTEST's parameters.
type Config struct {
	// Population is the number of individuals.
	Population int `json:"population"`
	// Crossover is the probability that two parents are crossed over; else
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

// Check returns an error that says what is wrong with a configuration, if
// anything.
func (c Config) Check() error {
	switch {
	case c.Population < 1:
		return fmt.Errorf("smartest: configuration %v: the population must be at least 1", c)
	case !(0 <= c.Crossover && c.Crossover <= 1):
		return fmt.Errorf("smartest: configuration %v: the crossover probability must be in [0,1]", c)
	case !(0 <= c.EliteRate && c.EliteRate <= 1):
		return fmt.Errorf("smartest: configuration %v: the elite rate must be in [0,1]", c)
	}
	return nil
}

// Settings says how to run. The zero value is the paper's: the default
// configuration, 800 evaluations, a forest of 100 trees.
type Settings struct {
	// Config is the configuration; the zero value means Default().
	Config Config
	// Evaluations is the budget; 0 means 800. An individual that is taken
	// into a generation counts, also where its value is known from an
	// earlier one; it is not evaluated again.
	Evaluations int
	// Trees is the number of trees of the forest; 0 means 100. The trees are
	// grown until their leaves are pure, with all features at each split, on
	// bootstrap samples: scikit-learn's defaults.
	Trees int
	// Workers is the number of goroutines that grow trees and climb; 0 means
	// 1. It does not change the result.
	Workers int
	// Seed determines the run.
	Seed uint64
	// OnEvent, if not nil, is called after every generation: Step of Total
	// evaluations, Value the generation's best value and Best the run's.
	OnEvent func(run.Event) `json:"-"`
}

// withDefaults returns s with the zero values replaced, or an error.
func (s Settings) withDefaults() (Settings, error) {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	if s.Config == (Config{}) {
		s.Config = Default()
	}
	def(&s.Evaluations, 800)
	def(&s.Trees, 100)
	def(&s.Workers, 1)
	if s.Evaluations < 0 || s.Trees < 0 || s.Workers < 0 {
		return s, fmt.Errorf("smartest: %d evaluations, %d trees, %d workers: none may be negative", s.Evaluations, s.Trees, s.Workers)
	}
	return s, s.Config.Check()
}

// A Point of a run's history: the best value after a number of evaluations.
type Point struct {
	Evaluations int     `json:"evaluations"`
	Best        float64 `json:"best"`
}

// A Result is what a run found, and what is needed to repeat it.
type Result struct {
	// Problem is the problem's name.
	Problem string `json:"problem"`
	// X is the best solution, of length d, and Value its value; of several
	// equally good ones the first. X is nil where nothing was evaluated.
	X     []bool  `json:"x"`
	Value float64 `json:"value"`
	// Evaluations counted, of Distinct solutions, in Generations
	// generations, the first included.
	Evaluations int `json:"evaluations"`
	Distinct    int `json:"distinct"`
	Generations int `json:"generations"`
	// Status is BudgetSpent, or Converged where no new generation is
	// possible (all are elite); with an error, Cancelled or NotRun.
	Status run.Status `json:"status"`
	// History has one point for every improvement.
	History []Point `json:"history"`
	// Settings are those of the run, defaults filled in.
	Settings Settings `json:"settings"`
}

// Run maximises p. It returns the best solution found within the budget. On
// the end of ctx it returns the best so far and ctx's error; on an error of
// the problem, the best before it and this error.
//
// The first generation is random and without repetition. In each later one,
// pairs of parents are drawn by roulette, crossed over at one point, and their
// children climb: the bit whose flip raises the forest's prediction most is
// flipped, until none raises it. The forest is fitted to all solutions
// evaluated. After the elite, the generation is filled up with the ends of
// the climbs, then with the children as they were, then with the rest of the
// old generation, leaving out repetitions.
//
// Two things differ from what the paper's authors run. The roulette's weights
// are the values above the generation's worst, plus the n-th part of their
// range among n individuals: the values themselves, which are all negative on
// CAOP, would prefer the worst. And the two children of a crossover are
// complementary, not equal.
//
// A value of -Inf, a failed compilation, is the worst value; NaN and +Inf are
// errors.
//
// A run is determined by p and s. One that was broken off is resumed by making
// it again: over problem.Memo, which remembers values, or on caop, which keeps
// them on disk, nothing is evaluated twice.
func Run(ctx context.Context, p problem.Problem, s Settings) (Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Result{}, err
	}
	g := newSearch(p, s)
	err = g.first(ctx)
	for err == nil && g.evaluations < s.Evaluations && g.rest() > 0 {
		err = g.generation(ctx)
	}
	return g.result(ctx, err)
}

// result ends the run.
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
	if err != nil {
		r.Status = run.NotRun
		if ctx.Err() != nil {
			r.Status, err = run.Cancelled, ctx.Err()
		}
	}
	return r, err
}
