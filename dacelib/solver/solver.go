// Package solver defines what a portfolio is made of: solvers, which are
// parameterised searches over {0,1}^d, and their configurations.
//
// Start with [Families], which lists the solvers that a program has, and
// [RunAll], which runs configurations of any of them. A [Config] is a solver's
// name with values for its parameters:
//
//	c, err := solver.Parse("anneal{start: 0.8, swaps: 0.5}")
//	r, err := solver.Run(ctx, solver.Job{Problem: p, Config: c, Evaluations: 800})
//
// Solvers register themselves when their packages are imported, as the drivers of
// database/sql do; package solver/all imports those of this library. A solver of
// your own is a function: see [FromFunc]. Package solvertest checks that a solver
// keeps the contract.
package solver

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// A Solver is a parameterised search that maximises problems of bits.
//
// It makes exactly the evaluations that its jobs allow, or fewer if it says in
// the result's Status why; every solution whose value it asks for counts, also one
// that it has asked for before, and each neighbour of a solution. A result depends
// on its job alone. The methods may be called from several goroutines at once.
type Solver interface {
	// Name identifies the solver in configurations, files and tables: "anneal".
	Name() string
	// Space returns the solver's parameters, with defaults that suit problems of
	// dimension d and runs of that many evaluations. Names, kinds, ranges and
	// conditions depend on neither.
	Space(d, evaluations int) smac.Space
	// Run runs all jobs, whose configurations are of this solver, on that many
	// goroutines; results[i] is that of jobs[i]. On an error, or if ctx ends, it
	// returns it along with the results so far.
	Run(ctx context.Context, jobs []Job, workers int) ([]Result, error)
}

// A Timed solver says how much time it takes itself. Methods that have to choose
// from all solvers leave out one that would take much longer than the objective.
type Timed interface {
	Solver
	// Overhead estimates the solver's own computing time for a run, without the
	// evaluations.
	Overhead(d, evaluations int) time.Duration
}

// A Formatter is a solver whose configurations have a form of their own in texts.
type Formatter interface {
	Solver
	// Format returns the configuration as text.
	Format(c Config) string
}

// A Job is one run of a configuration on a problem.
type Job struct {
	// Problem is maximised.
	Problem problem.Problem
	// Config is the configuration. Parameters without a value have the default
	// for the problem's dimension and the budget.
	Config Config
	// Evaluations is the budget; 0 means 800.
	Evaluations int
	// Target, unless it is nil, ends the run as soon as a value reaches it.
	// Solvers that evaluate many solutions at once finish those.
	Target *float64
	// Seed determines the run's random numbers.
	Seed uint64
}

// A Point is an entry of a run's history: the best value after a number of
// evaluations.
type Point struct {
	// Evaluations is the number of evaluations so far, Best the best value that
	// they found.
	Evaluations int     `json:"evaluations"`
	Best        float64 `json:"best"`
}

// A Result is the outcome of a run.
type Result struct {
	// Problem is the problem's name.
	Problem string `json:"problem"`
	// X is the best solution, of length d, and Value its value; among equally
	// good solutions it is the first. X is nil if nothing was evaluated. On a
	// problem.Noisy problem they are those of its final choice.
	X     []bool  `json:"x"`
	Value float64 `json:"value"`
	// Evaluations is the number of evaluations made.
	Evaluations int `json:"evaluations"`
	// Status is BudgetSpent or TargetReached, Converged if the solver has nothing
	// left to try, or, together with an error, Cancelled or NotRun.
	Status run.Status `json:"status"`
	// History has one point for every improvement of the best value.
	History []Point `json:"history"`
}

// At returns the best value after a number of evaluations; it is NaN before the
// first.
func (r Result) At(evaluations int) float64 { return at(r.History, evaluations) }

// Anytime returns the mean over all evaluations of the best value so far, the
// area under the curve of the best values divided by the budget. A run that has
// ended before the budget keeps its last value.
func (r Result) Anytime(budget int) float64 { return anytime(r.History, budget) }

// registry holds the solvers by name.
var registry = struct {
	sync.RWMutex // guards by
	by           map[string]Solver
}{by: map[string]Solver{}}

// Register makes a solver known under its name; it replaces another of this
// name, so that a cell can be run again. It panics if the name is not made of
// letters, digits and dashes, or s is nil.
func Register(s Solver) {
	if s == nil || !isName(s.Name()) {
		panic("solver: Register needs a solver with a name of letters, digits and dashes")
	}
	registry.Lock()
	defer registry.Unlock()
	registry.by[s.Name()] = s
}

// isName reports whether a name can stand before the braces of a configuration.
func isName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// Families returns the registered solvers, in the order of their names.
func Families() []Solver {
	registry.RLock()
	defer registry.RUnlock()
	var out []Solver
	for _, name := range slices.Sorted(maps.Keys(registry.by)) {
		out = append(out, registry.by[name])
	}
	return out
}

// A Fitter is a solver that cannot run every problem, such as an external program,
// which reads its own instances only.
type Fitter interface {
	Solver
	// Fits returns why the solver cannot run a problem, nil if it can.
	Fits(p problem.Problem) error
}

// For returns the registered solvers that can run all of some problems, in the order
// of their names.
func For(problems []problem.Problem) []Solver {
	var out []Solver
	for _, s := range Families() {
		if !slices.ContainsFunc(problems, func(p problem.Problem) bool { return !fits(s, p) }) {
			out = append(out, s)
		}
	}
	return out
}

func fits(s Solver, p problem.Problem) bool {
	if f, ok := s.(Fitter); ok {
		return f.Fits(p) == nil
	}
	o, ok := p.(problem.Opaque)
	return !ok || !o.Opaque()
}

// Lookup returns the registered solver of a name. The error says which there are.
func Lookup(name string) (Solver, error) {
	registry.RLock()
	s := registry.by[name]
	registry.RUnlock()
	if s != nil {
		return s, nil
	}
	var names []string
	for _, s := range Families() {
		names = append(names, s.Name())
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("solver: none is called %q, none is registered: import dace.local/dacelib/solver/all, or register your own with solver.Register", name)
	}
	return nil, fmt.Errorf("solver: none is called %q%s; there are %s, those that you register with solver.Register, and in a program the library's once it imports dace.local/dacelib/solver/all", name, meant(name, names), strings.Join(names, ", "))
}

// meant returns " (did you mean X?)" with the name that is most like an unknown one: at
// most about a third of its letters added, left out or changed. It returns "" if none is.
func meant(unknown string, names []string) string {
	best, least := "", max(1, (len(unknown)+1)/3)+1
	for _, name := range names {
		row := make([]int, len(name)+1) // edits that make the letters so far those of name
		for j := range row {
			row[j] = j
		}
		for i := range len(unknown) {
			corner := row[0]
			row[0]++
			for j := range len(name) {
				changed := corner
				if unknown[i]|0x20 != name[j]|0x20 { // letters of either case
					changed++
				}
				corner, row[j+1] = row[j+1], min(changed, row[j]+1, row[j+1]+1)
			}
		}
		if n := row[len(name)]; n < least {
			best, least = name, n
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// Run runs a job. If ctx ends, it returns the best solution so far and ctx's
// error; if the problem fails, the best solution before the failure and the error.
func Run(ctx context.Context, j Job) (Result, error) {
	r, err := RunAll(ctx, []Job{j}, 1)
	return r[0], err
}

// RunAll runs jobs of any solvers on that many goroutines; 0 means one per core.
// results[i] is the result of jobs[i]; it depends neither on the other jobs nor on
// workers. The first error ends all runs; the results are then the best so far.
func RunAll(ctx context.Context, jobs []Job, workers int) ([]Result, error) {
	results := make([]Result, len(jobs))
	var names []string
	groups := map[string][]int{}
	for i := range jobs {
		if err := jobs[i].check(); err != nil {
			return results, fmt.Errorf("job %d: %w", i, err)
		}
		name := jobs[i].Config.Solver()
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], i)
	}
	for _, name := range names {
		s, err := Find(ctx, name)
		if err != nil {
			return results, err
		}
		group := make([]Job, len(groups[name]))
		for k, i := range groups[name] {
			group[k] = jobs[i]
		}
		found, err := s.Run(ctx, group, workers)
		for k, r := range found {
			results[groups[name][k]] = r
		}
		if err != nil {
			return results, err
		}
		if len(found) != len(group) {
			return results, fmt.Errorf("solver: %s returned %d results of %d jobs", name, len(found), len(group))
		}
	}
	return results, nil
}

// check returns an error if the job cannot be run.
func (j *Job) check() error {
	switch {
	case j.Problem == nil || reflect.ValueOf(j.Problem).Kind() == reflect.Pointer && reflect.ValueOf(j.Problem).IsNil():
		return fmt.Errorf("solver: there is no problem")
	case j.Problem.Dim() < 1 || j.Problem.Dim() > problem.MaxDim:
		return fmt.Errorf("solver: problem %s has dimension %d; it must be from 1 to %d", j.Problem.Name(), j.Problem.Dim(), problem.MaxDim)
	case j.Evaluations < 0:
		return fmt.Errorf("solver: a budget of %d evaluations", j.Evaluations)
	}
	return nil
}

// Budget returns the evaluations that the job allows.
func (j Job) Budget() int {
	if j.Evaluations == 0 {
		return 800
	}
	return j.Evaluations
}
