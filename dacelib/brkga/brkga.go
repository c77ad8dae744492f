// Package brkga is the biased random-key genetic algorithm over {0,1}^d: the
// parameterised search method whose configurations make up the paper's
// portfolios.
//
// Start with [Run]. [RunAll] makes many runs side by side, such that runs on
// one problem share their batches. A [Config] is a point of the paper's
// configuration space (Appendix B); a portfolio is a list of them.
//
// The semantics are those of the paper's solver, pymoo 0.6.0.1 as its authors
// use it: the initial keys are random booleans, mating has two complementary
// children, duplicate elimination goes by value and solution. [Settings] has
// the other readings, and [Pymoo062] sets those of pymoo 0.6.2.
package brkga

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Config is a configuration: the paper's Table of BRKGA's parameters.
type Config struct {
	// Elites is the number of elite individuals, those that survive.
	Elites int `json:"elites"`
	// Offspring is the number of children of a generation.
	Offspring int `json:"offspring"`
	// Mutants is the number of random individuals of a generation.
	Mutants int `json:"mutants"`
	// Bias is the probability that a child has a key of its elite parent.
	Bias float64 `json:"bias"`
	// Duplicates says whether duplicates are eliminated.
	Duplicates bool `json:"duplicates"`
}

// Default returns the default configuration, from which the paper's algorithm
// configuration starts: [200, 700, 100, 0.7, False].
func Default() Config { return Config{200, 700, 100, 0.7, false} }

// The paper's ranges of the parameters (Appendix B). The bias is in [0,1].
const (
	MinElites, MaxElites       = 1, 400
	MinOffspring, MaxOffspring = 1, 1000
	MinMutants, MaxMutants     = 1, 200
)

// String returns the configuration as the paper writes it:
// [200, 700, 100, 0.70, F].
func (c Config) String() string {
	d := "F"
	if c.Duplicates {
		d = "T"
	}
	return fmt.Sprintf("[%d, %d, %d, %.2f, %s]", c.Elites, c.Offspring, c.Mutants, c.Bias, d)
}

// Check returns an error that says what is wrong with a configuration, if
// anything. The upper ends of the paper's ranges are not limits.
func (c Config) Check() error {
	switch {
	case c.Elites < 1:
		return fmt.Errorf("brkga: configuration %v: elites must be at least 1", c)
	case c.Offspring < 1:
		return fmt.Errorf("brkga: configuration %v: offspring must be at least 1", c)
	case c.Mutants < 1:
		return fmt.Errorf("brkga: configuration %v: mutants must be at least 1", c)
	case !(0 <= c.Bias && c.Bias <= 1):
		return fmt.Errorf("brkga: configuration %v: the bias must be in [0,1]", c)
	}
	return nil
}

// Children says how many children a mating has.
type Children int

const (
	// TwoChildren: a second child takes what the first left over, so it has
	// the elite parent's keys with probability 1 - Bias (pymoo 0.6.0.1).
	TwoChildren Children = iota
	// OneChild: only the first (pymoo 0.6.1.3 and later).
	OneChild
)

// A DuplicateRule says which individuals are duplicates of one another, where
// [Config.Duplicates] is on.
type DuplicateRule int

const (
	// BySolution: an individual whose value equals an earlier one's and
	// whose decoded bits equal those of the first with this value. It is what
	// the paper's solver does: pymoo compares solutions with these alone.
	BySolution DuplicateRule = iota
	// ByEverySolution: one whose value and bits equal those of any earlier
	// one. It eliminates more and finds a little less: on OneMax, d = 30,
	// with [29, 29, 2, 0.27, T], 29.28 over 4,000 seeds, beside 29.39 by
	// BySolution and 29.52 (standard error 0.06) by the paper's solver.
	ByEverySolution
	// ByValue: those of equal value, as the paper's table has it and as
	// pymoo's flag does. On OneMax it leaves at most d+1 individuals.
	ByValue
)

// InitialKeys says how the keys of the first generation are drawn.
type InitialKeys int

const (
	// BooleanKeys: 0 or 1 with equal chances.
	BooleanKeys InitialKeys = iota
	// UniformKeys: uniform in [0,1), as those of mutants.
	UniformKeys
)

// Settings says how to run. The zero value is the paper's: the default
// configuration, 800 evaluations.
type Settings struct {
	// Config is the configuration; the zero value means Default().
	Config Config `json:"config"`
	// Evaluations is the budget; 0 means 800. Every evaluation counts, also
	// that of a solution seen before.
	Evaluations int `json:"evaluations"`
	// Seed determines the run.
	Seed uint64 `json:"seed"`

	// Children, DuplicateRule and InitialKeys choose among the readings of
	// the algorithm; the zero values are the paper's solver.
	Children      Children      `json:"children"`
	DuplicateRule DuplicateRule `json:"duplicate_rule"`
	InitialKeys   InitialKeys   `json:"initial_keys"`
	// FinishGeneration lets the generation in which the budget ends be
	// evaluated in full, as pymoo does. Else the budget is exact.
	FinishGeneration bool `json:"finish_generation"`

	// OnEvent, if not nil, is called after every generation: Step of Total
	// evaluations, Value the generation's best value and Best the run's.
	OnEvent func(run.Event) `json:"-"`
}

// Pymoo062 returns the settings under which a run is one of pymoo 0.6.2 with
// its own defaults: one child, uniform initial keys, duplicates by value, the
// last generation finished.
func Pymoo062() Settings {
	return Settings{Children: OneChild, DuplicateRule: ByValue, InitialKeys: UniformKeys, FinishGeneration: true}
}

// withDefaults returns s with the zero values replaced, or an error where a
// run of p cannot be made.
func (s Settings) withDefaults(p problem.Problem) (Settings, error) {
	if p == nil {
		return s, errors.New("brkga: there is no problem")
	}
	if d := p.Dim(); d < 1 {
		return s, fmt.Errorf("brkga: problem %s has dimension %d", p.Name(), d)
	}
	if s.Config == (Config{}) {
		s.Config = Default()
	}
	if s.Evaluations == 0 {
		s.Evaluations = 800
	}
	if s.Evaluations < 0 {
		return s, fmt.Errorf("brkga: a budget of %d evaluations", s.Evaluations)
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
	// Evaluations made, in Generations generations, the first included.
	Evaluations int `json:"evaluations"`
	Generations int `json:"generations"`
	// Status is BudgetSpent or, with an error, Cancelled or NotRun.
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
// A run is determined by p and s, and evaluates one generation at a time. So a
// run that was broken off is resumed by making it again: over problem.Memo,
// which remembers values, or on caop, which keeps them on disk, nothing is
// evaluated twice.
func Run(ctx context.Context, p problem.Problem, s Settings) (Result, error) {
	s, err := s.withDefaults(p)
	if err != nil {
		return Result{}, err
	}
	sr := newSearch(p, s)
	for !sr.done {
		x := sr.pending()
		if err := p.Evaluate(ctx, sr.values(), x); err != nil {
			return sr.result(ctx, err)
		}
		if err := sr.advance(); err != nil {
			return sr.result(ctx, err)
		}
	}
	return sr.result(ctx, nil)
}

// result ends the run.
func (s *search) result(ctx context.Context, err error) (Result, error) {
	r := Result{
		Problem: s.p.Name(), Value: s.best,
		Evaluations: s.evaluations, Generations: s.generations,
		Status: run.BudgetSpent, History: s.history, Settings: s.settings,
	}
	if s.evaluations > 0 {
		r.X = problem.Solutions{D: s.d, Words: s.bestRow}.Bools(0)
	}
	if err != nil {
		r.Status = run.NotRun
		if ctx.Err() != nil {
			r.Status = run.Cancelled
			err = ctx.Err()
		}
	}
	return r, err
}

func (s *search) checkValues() error {
	for i, v := range s.values() {
		if math.IsNaN(v) {
			return fmt.Errorf("brkga: problem %s: the value of %s is NaN", s.p.Name(), s.pending().Slice(i, i+1))
		}
	}
	return nil
}
