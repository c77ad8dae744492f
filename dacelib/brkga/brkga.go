// Package brkga implements the biased random-key genetic algorithm over
// {0,1}^d. It is the parameterised search method whose configurations make up
// the paper's portfolios.
//
// Start with [Run]. [RunAll] makes many runs at once and evaluates runs on the
// same problem in common batches. A [Config] is a point of the paper's
// configuration space (Appendix B); a portfolio is a list of them.
//
// By default, runs behave as in the paper's solver, pymoo 0.6.0.1 as its
// authors use it: the initial keys are random booleans, a mating has two
// complementary children, and duplicates are found by value and solution.
// [Settings] selects other interpretations; [Pymoo062] selects those of pymoo
// 0.6.2.
package brkga

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// A Config is a configuration of BRKGA: the parameters in the paper's table.
type Config struct {
	// Elites is the number of elite individuals, which survive a generation.
	Elites int `json:"elites"`
	// Offspring is the number of children in a generation.
	Offspring int `json:"offspring"`
	// Mutants is the number of random individuals in a generation.
	Mutants int `json:"mutants"`
	// Bias is the probability that a child inherits a key from its elite
	// parent.
	Bias float64 `json:"bias"`
	// Duplicates says whether duplicates are eliminated.
	Duplicates bool `json:"duplicates"`
}

// Default returns the default configuration, from which the paper's algorithm
// configuration starts: [200, 700, 100, 0.7, False].
func Default() Config { return Config{200, 700, 100, 0.7, false} }

// ForBudget returns a configuration that does well with the given number of
// evaluations on problems of any kind: its population is small enough for many
// generations. (The first generation of the paper's [Default] has 1,000
// individuals, so a run of 800 evaluations is random search.) It returns [5,
// 30, 2, 0.70, F] below 2,000 evaluations and [20, 70, 10, 0.70, F] otherwise.
// From 200 to 20,000 evaluations, on OneMax, leading ones, knapsacks and NK
// landscapes of 40 and 100 bits, its results are within 5 % of the better of
// the two.
func ForBudget(evaluations int) Config {
	if evaluations < 2000 {
		return Config{5, 30, 2, 0.7, false}
	}
	return Config{20, 70, 10, 0.7, false}
}

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

// Check returns an error if the configuration is invalid, else nil. The upper
// ends of the paper's ranges are not enforced; 2^20 of a kind is the most.
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
	return defaults.AtMost("brkga", defaults.Bound{Field: "Config.Elites", Value: c.Elites, Most: maxSize},
		defaults.Bound{Field: "Config.Offspring", Value: c.Offspring, Most: maxSize}, defaults.Bound{Field: "Config.Mutants", Value: c.Mutants, Most: maxSize})
}

const (
	// maxSize is the largest number of individuals of a kind, far above the
	// paper's ranges.
	maxSize = 1 << 20
	// maxKeys is the largest number of keys of a population.
	maxKeys = 1 << 30
)

// Children is the number of children of a mating.
type Children int

const (
	// TwoChildren adds a second child, which takes the keys that the first did
	// not, so it has the elite parent's keys with probability 1 - Bias (pymoo
	// 0.6.0.1).
	TwoChildren Children = iota
	// OneChild makes the first child only (pymoo 0.6.1.3 and later).
	OneChild
)

// A DuplicateRule defines which individuals are duplicates of each other when
// [Config.Duplicates] is on.
type DuplicateRule int

const (
	// BySolution: an individual is a duplicate if its value equals that of an
	// earlier one and its decoded bits equal those of the first individual with
	// this value. The paper's solver does the same: pymoo compares solutions
	// with the first individuals only.
	BySolution DuplicateRule = iota
	// ByEverySolution: an individual is a duplicate if its value and bits equal
	// those of any earlier one. This eliminates more and finds slightly worse
	// solutions: on OneMax, d = 30, with [29, 29, 2, 0.27, T], the mean is
	// 29.28 over 4,000 seeds, compared with 29.39 for BySolution and 29.52
	// (standard error 0.06) for the paper's solver.
	ByEverySolution
	// ByValue: individuals of equal value are duplicates, as the paper's table
	// and pymoo's flag say. On OneMax this leaves at most d+1 individuals.
	ByValue
)

// InitialKeys is the distribution of the first generation's keys.
type InitialKeys int

const (
	// BooleanKeys: 0 or 1 with equal probability.
	BooleanKeys InitialKeys = iota
	// UniformKeys: uniform in [0,1), like the keys of mutants.
	UniformKeys
)

// Settings are the settings of a run. The zero value follows the paper except
// for the configuration; set Config to [Default]() for the paper's default.
type Settings struct {
	// Config is the configuration; the zero value means [ForBudget] of
	// Evaluations.
	Config Config `json:"config"`
	// Evaluations is the budget; 0 means 800. Every evaluation counts,
	// including those of solutions seen before.
	Evaluations int `json:"evaluations"`
	// Target, unless it is nil, ends the run after the first generation that
	// reaches it.
	Target *float64 `json:"target,omitempty"`
	// Start holds solutions of length d with which the first generation begins,
	// for example those of an earlier run; equal ones count once. The others are
	// drawn.
	Start [][]bool `json:"start,omitempty"`
	// Seed determines the random numbers of the run.
	Seed uint64 `json:"seed"`

	// Children, DuplicateRule and InitialKeys select interpretations of the
	// algorithm; the zero values are those of the paper's solver.
	Children      Children      `json:"children"`
	DuplicateRule DuplicateRule `json:"duplicate_rule"`
	InitialKeys   InitialKeys   `json:"initial_keys"`
	// FinishGeneration evaluates the generation in which the budget ends in
	// full, as pymoo does. Otherwise the budget is exact.
	FinishGeneration bool `json:"finish_generation"`

	// OnEvent, if not nil, is called after every generation. Step and Total
	// count evaluations, Value is the generation's best value and Best the
	// run's.
	OnEvent func(run.Event) `json:"-"`
}

// Pymoo062 returns the settings that reproduce pymoo 0.6.2 with its own
// defaults: the configuration [Default], one child, uniform initial keys,
// duplicates by value, the last generation finished.
func Pymoo062() Settings {
	return Settings{Config: Default(), Children: OneChild, DuplicateRule: ByValue, InitialKeys: UniformKeys, FinishGeneration: true}
}

// withDefaults returns s with the zero values replaced, or an error if s does
// not allow a run on p.
func (s Settings) withDefaults(p problem.Problem) (Settings, error) {
	if p == nil {
		return s, errors.New("brkga: there is no problem")
	}
	if d := p.Dim(); d < 1 {
		return s, fmt.Errorf("brkga: problem %s has dimension %d", p.Name(), d)
	}
	if s.Evaluations == 0 {
		s.Evaluations = 800
	}
	if s.Config == (Config{}) {
		s.Config = ForBudget(s.Evaluations)
	}
	if s.Evaluations < 0 {
		return s, fmt.Errorf("brkga: a budget of %d evaluations", s.Evaluations)
	}
	if err := s.Config.Check(); err != nil {
		return s, err
	}
	for i, x := range s.Start {
		if len(x) != p.Dim() {
			return s, fmt.Errorf("brkga: solution %d of Start has %d bits, and problem %s %d", i+1, len(x), p.Name(), p.Dim())
		}
	}
	if size := s.Config.Elites + s.Config.Offspring + s.Config.Mutants; size > maxKeys/p.Dim() {
		return s, fmt.Errorf("brkga: a population of %d individuals with %d keys each; at most %d keys are possible, so at most %d individuals (Settings.Config)",
			size, p.Dim(), maxKeys, maxKeys/p.Dim())
	}
	return s, nil
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
	// Evaluations is the number of evaluations made, Generations the number of
	// generations, including the first.
	Evaluations int `json:"evaluations"`
	Generations int `json:"generations"`
	// Status is BudgetSpent, TargetReached or, together with an error, Cancelled or
	// NotRun.
	Status run.Status `json:"status"`
	// History has one point for every improvement of the best value.
	History []Point `json:"history"`
	// Settings are the settings of the run, with defaults filled in.
	Settings Settings `json:"settings"`
}

// Run maximises p and returns the best solution found within the budget. If ctx
// ends, it returns the best solution so far and ctx's error; if p fails, the
// best solution before the failure and p's error.
//
// On a [problem.Noisy] problem the run ends with a final choice among its best
// solutions; X and Value are its outcome, while History has the values of the
// search. The final repeats are not counted.
//
// A run is determined by p and s, and evaluates one generation at a time; of a
// problem that is [problem.Costly], it evaluates each solution once. To resume
// an interrupted run, repeat it: with problem.Memo, which remembers values, with
// problem.Keep, which keeps them in a file, or on caop, nothing is evaluated twice.
func Run(ctx context.Context, p problem.Problem, s Settings) (Result, error) {
	defer run.Report(&ctx, "brkga", &s.OnEvent)()
	s, err := s.withDefaults(p)
	if err != nil {
		return Result{}, err
	}
	sr := newSearch(p, s)
	evaluate := func() error { return p.Evaluate(ctx, sr.values(), sr.pending()) }
	if costly(p) {
		b, one := newBatch(p, s.Evaluations), []*search{sr}
		defer b.release()
		evaluate = func() error { return b.evaluate(ctx, one) }
	}
	for !sr.done {
		if err := evaluate(); err != nil {
			return sr.result(ctx, err)
		}
		if err := sr.advance(); err != nil {
			return sr.result(ctx, err)
		}
	}
	return sr.result(ctx, nil)
}

// result returns the outcome of the run when it ends, with or without err, and
// gives its buffers back.
func (s *search) result(ctx context.Context, err error) (Result, error) {
	r := Result{
		Problem: s.p.Name(), Value: s.best,
		Evaluations: s.evaluations, Generations: s.generations,
		Status: run.BudgetSpent, History: append(make([]Point, 0, len(s.history)), s.history...), Settings: s.settings,
	}
	if s.reached() {
		r.Status = run.TargetReached
	}
	if s.evaluations > 0 {
		r.X = problem.Solutions{D: s.d, Words: s.bestRow}.Bools(0)
	}
	if err == nil {
		row, value, ok, e := s.final.Choose(ctx)
		if err = e; ok {
			r.X, r.Value = problem.Solutions{D: s.d, Words: row}.Bools(0), value
		}
	}
	if err != nil {
		r.Status = run.NotRun
		if ctx.Err() != nil {
			r.Status = run.Cancelled
			err = ctx.Err()
		}
	}
	s.release()
	return r, err
}

// reached reports whether the run has found its target.
func (s *search) reached() bool { return s.settings.Target != nil && s.best >= *s.settings.Target }

func (s *search) checkValues() error {
	for i, v := range s.values() {
		if math.IsNaN(v) {
			return fmt.Errorf("brkga: problem %s: the value of %s is NaN", s.p.Name(), s.pending().Slice(i, i+1))
		}
	}
	return nil
}
