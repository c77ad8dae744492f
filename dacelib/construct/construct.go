// Package construct builds portfolios from a few training instances: the
// paper's DACE, and the methods it is compared with.
//
// Start with [Best], which is not the paper's, or [DACE], and [Quick]:
//
//	result, err := construct.Best(ctx, training, construct.Quick())
//	result.Portfolio // K configurations of solvers
//
// Every method has a function of its own, which takes the same [Settings];
// their zero value means the paper's scale. [Build] selects a method by its
// name. DACE, CEPS and NoReg are one co-evolution (Alg. 2) with instances of
// different kinds. GLOBAL and PARHYDRA search on the training instances alone;
// so do One, Fresh and Greedy, which are not in the paper and show how much
// co-evolution adds. The portfolios that need no construction are in package
// portfolio: portfolio.BRKGAPAP.
//
// If [Settings].Dir is set, a construction keeps its record in that folder.
// Called again with the same settings, it continues where it stopped and
// reaches the same result; a kill loses at most a minute's work. [Read] returns
// the record as tables, [Watch] shows a running construction in a notebook.
package construct

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// Settings of a construction. The zero value is the paper's (section V-C); see
// also [Quick], [Small], [Tenth] and [Scale].
type Settings struct {
	// Reading selects which description to follow where the paper's text and
	// the authors' public code differ; default run.Written. Published also sets
	// NIR.Reading and PGPE.Reading, and with it
	//   - SMAC, which minimises, is given the performance itself, so that the
	//     search prefers small ones. DACE and CEPS keep the best
	//     configuration visited, GLOBAL and PARHYDRA the one that SMAC returns;
	//   - a trial of GLOBAL and PARHYDRA is a portfolio on all training
	//     instances;
	//   - PARHYDRA makes Minings independent chains of Members steps and keeps
	//     the best chain.
	Reading run.Reading
	// Members is the number K of members of the portfolio; default 4.
	Members int
	// Solvers are the solvers whose configurations can be members; by default
	// BRKGA, with the paper's space, for Best all registered ones that can run the
	// instances. Those that are not registered yet are registered.
	Solvers []solver.Solver `json:"-"`
	// Rounds is the number of rounds of co-evolution; default 4.
	Rounds int
	// Configurations is the size of the random set C that the initial
	// portfolio is chosen from; default 50, for Greedy 4000.
	Configurations int
	// Minings is the number of independent runs of SMAC: per round for DACE and
	// CEPS (n, default 20), in all for GLOBAL, and per member for PARHYDRA
	// (default 200, the paper's for CCP; 20 for Published PARHYDRA).
	Minings int
	// Trials is the number of trials of each run of SMAC. Default 1600 for DACE
	// and CEPS, where a trial is a configuration on all instances; 51,200 for
	// GLOBAL and 25,600 for PARHYDRA (the paper's for CCP; 6,400 for Published
	// PARHYDRA).
	Trials int
	// Evaluations is the budget of a run of BRKGA; default 800.
	Evaluations int
	// Share is the share of Evaluations after which a run ends while a portfolio
	// is constructed; 0 means all, for Best 0.8. Members that are good after
	// fewer evaluations are good on larger instances, too.
	Share float64
	// Seeds is the number of seeds of BRKGA with which a configuration is
	// evaluated on every instance; default 1, the paper's, for Best 12. More
	// seeds keep the search from overfitting one seed.
	Seeds int
	// Checks is the number of seeds with which the configurations found on NIRs
	// are run on the training instances themselves, in a last round that chooses
	// the portfolio from them. 0 means none, which is the paper's, for Best 16 or
	// as many as the budget allows; -1 means none for Best, too. Only methods
	// that search on NIRs use it: Best, DACE and NoReg.
	Checks int
	// Target, unless it is nil, ends a run as soon as a value of the instance as it
	// is searched reaches it: that of the instance itself for Best, elsewhere a
	// normalised one.
	Target *float64 `json:",omitempty"`
	// Measure is what a run is judged by: the best value or, by Anytime, the area
	// under the curve of the best values. With a Target, Anytime prefers those that
	// reach it early.
	Measure Measure `json:",omitempty"`
	// Fresh is the number of random instances of the class that the method
	// Fresh adds to the training instances. The default is three for each
	// training instance, the most that CEPS can reach.
	Fresh int
	// Budget, unless it is zero, bounds the whole construction.
	Budget Budget
	// NIR holds the settings for training NIRs of the instances (DACE, NoReg).
	NIR nir.Settings
	// PGPE holds the settings of the search for harder instances; its Rule and
	// Margin decide when that search ends. The construction sets Known.
	PGPE pgpe.Settings
	// PerturbEncoder lets NoReg change the encoder's weights along with the
	// scorer's, as the authors' code does.
	PerturbEncoder bool
	// Seed determines all random numbers; it also replaces NIR.Seed and
	// PGPE.Seed where they are 0.
	Seed uint64

	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int `json:"-"`
	// Farm, if not nil, computes the construction's work on other processes and
	// machines; see package farm. It does not change the result.
	Farm farm.Pool `json:"-"`
	// Dir, if not empty, is the folder for the construction's record, from
	// which the construction also continues: see [Read]. It is locked while the
	// construction runs.
	Dir string `json:"-"`
	// OnEvent, if not nil, receives progress events, one at a time.
	OnEvent func(run.Event) `json:"-"`
	// OnRound, if not nil, receives the result so far whenever its portfolio or
	// its instances have changed. The function must not modify the result.
	OnRound func(Result) `json:"-"`
}

// judged returns the number of evaluations of a run during the construction.
func (s Settings) judged() int {
	if s.Share == 0 {
		return s.Evaluations
	}
	return max(1, int(math.Round(s.Share*float64(s.Evaluations))))
}

// A Budget bounds a construction; 0 means no bound. Numbers of trials and
// iterations are chosen so that it is kept; one that pays for no trial with the
// other settings is refused, with the least that can be kept. A construction that is
// gone on with looks at its training instances once more, which is not counted.
type Budget struct {
	// Runs is the number of runs of BRKGA. Three quarters are spent on the
	// search for configurations, in equal parts for the rounds, and Trials is
	// chosen accordingly. One quarter is spent on the generation of instances,
	// which ends when it is used up. Methods that generate no instances spend
	// all on the search.
	Runs int
	// Evaluations is the number of evaluations of authentic instances. DACE
	// spends them on the solutions that NIRs are trained with (NIR.Samples is
	// chosen accordingly), Best on these and on Checks, the other methods spend
	// them on runs.
	Evaluations int
	// Seconds is the time of a call by the clock. When it is over, the result is the
	// best portfolio so far, the solvers' defaults if there is none, without an
	// error; Result.Notes say so. Called again with a Dir, the construction goes on.
	// Best plans its runs for that time, by the cost of some evaluations. The result
	// depends on how fast the machine is.
	Seconds float64 `json:"-"`
}

// methodDefaults are the default numbers of one method.
type methodDefaults struct {
	Configurations, Minings, Trials int
}

// withDefaults returns s with zero values replaced by their defaults.
func (s Settings) withDefaults(d methodDefaults) (Settings, error) {
	defaults.Set(&s.Members, 4)
	defaults.Set(&s.Rounds, 4)
	defaults.Set(&d.Configurations, 50)
	defaults.Set(&s.Configurations, d.Configurations)
	defaults.Set(&s.Minings, d.Minings)
	defaults.Set(&s.Trials, d.Trials)
	defaults.Set(&s.Evaluations, 800)
	defaults.Set(&s.Seeds, 1)
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.NIR.Seed == 0 {
		s.NIR.Seed = run.Seed(s.Seed, "construct: nir")
	}
	if s.NIR.Workers == 0 {
		s.NIR.Workers = s.Workers
	}
	if s.NIR.Farm == nil {
		s.NIR.Farm = s.Farm
	}
	for _, one := range s.Solvers {
		if one == nil {
			return s, errors.New("construct: Settings.Solvers has a nil")
		}
		if there, err := solver.Lookup(one.Name()); err != nil || there != one {
			solver.Register(one)
		}
	}
	if s.Reading == run.Published {
		s.NIR.Reading, s.PGPE.Reading = run.Published, run.Published
	}
	for _, c := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"Members", s.Members, 1, 1 << 10},
		{"Rounds", s.Rounds, 1, 1 << 16},
		{"Configurations", s.Configurations, 1, 1 << 20},
		{"Minings", s.Minings, 1, 1 << 16},
		{"Trials", s.Trials, 1, 1 << 26},
		{"Evaluations", s.Evaluations, 1, math.MaxInt},
		{"Seeds", s.Seeds, 1, 1 << 16},
		{"Checks", s.Checks, -1, 1 << 16},
		{"Fresh", s.Fresh, 0, 1 << 20},
		{"Budget.Runs", s.Budget.Runs, 0, math.MaxInt},
		{"Budget.Evaluations", s.Budget.Evaluations, 0, math.MaxInt},
	} {
		if c.value < c.least {
			return s, fmt.Errorf("construct: Settings.%s is %d; it must be at least %d", c.name, c.value, c.least)
		}
		if err := defaults.AtMost("construct", defaults.Bound{Field: "Settings." + c.name, Value: c.value, Most: c.most}); err != nil {
			return s, err
		}
	}
	switch {
	case !(s.Budget.Seconds >= 0):
		return s, fmt.Errorf("construct: Settings.Budget.Seconds is %v; it must not be negative", s.Budget.Seconds)
	case s.Measure != BestValue && s.Measure != Anytime:
		return s, fmt.Errorf("construct: Settings.Measure is %d; use BestValue or Anytime", int(s.Measure))
	case s.Target != nil && math.IsNaN(*s.Target):
		return s, errors.New("construct: Settings.Target is NaN")
	}
	if !(s.Share >= 0 && s.Share <= 1) {
		return s, fmt.Errorf("construct: Settings.Share is %v; it must be between 0, which means 1, and 1", s.Share)
	}
	if s.Reading != run.Written && s.Reading != run.Published {
		return s, fmt.Errorf("construct: Settings.Reading is %d; use run.Written or run.Published", int(s.Reading))
	}
	if s.Configurations < s.Members {
		return s, fmt.Errorf("construct: %d configurations cannot make a portfolio of %d members", s.Configurations, s.Members)
	}
	return s, nil
}

// A Result is a portfolio with the history of its construction.
type Result struct {
	// Method is the name of the method, such as "DACE".
	Method string `json:"method"`
	// Setup holds everything that determines the construction: method, training
	// instances and settings.
	Setup Setup `json:"setup"`
	// Version is the library's version, CPU the processor's name.
	Version string `json:"version"`
	CPU     string `json:"cpu"`
	// Cost is the cost so far, over all sessions. Runs and evaluations count
	// finished steps only, so that they do not depend on interruptions; seconds
	// count all time spent.
	Cost Cost `json:"cost"`
	// Portfolio is the portfolio built. After a cancellation it is the best so
	// far, or empty if there is none yet.
	Portfolio portfolio.Portfolio `json:"portfolio"`
	// Rounds is the history: Rounds[0] holds the initial portfolio, Rounds[r]
	// the outcome of round r. After Checks a last one holds their outcome, on
	// the training instances themselves.
	Rounds []Round `json:"rounds"`
	// Instances are the instances after the last round.
	Instances []Instance `json:"instances"`
	// Notes say in sentences what the method did and why, and what ran out.
	Notes []string `json:"notes,omitempty"`
	// Status is BudgetSpent or Cancelled.
	Status run.Status `json:"status"`
	// Problems holds Instances as normalised problems, in the same order; Model
	// is the model of the NIRs. Neither is saved with the result.
	Problems []problem.Problem `json:"-"`
	Model    *nir.Model        `json:"-"`
}

// A Round is a round of the construction.
type Round struct {
	// Portfolio is P after the evolution of P in this round.
	Portfolio portfolio.Portfolio `json:"portfolio"`
	// Instances names the round's instances. Before and After hold f(P, m) on
	// each instance, for P before and after the evolution of P: the mean over
	// Settings.Seeds.
	Instances []string  `json:"instances"`
	Before    []float64 `json:"before"`
	After     []float64 `json:"after"`
	// Matrix holds the performance of the configurations from which P was
	// chosen: the members of P before, then one configuration per mining. With
	// several Seeds an instance has one column per seed.
	Matrix portfolio.Matrix `json:"matrix"`
	// Mutations are the attempts to make instances harder.
	Mutations []Mutation `json:"mutations,omitempty"`
}

// An Instance records one instance of the evolving population M.
type Instance struct {
	// Name of the instance: "DACE 2.3" is the third one made in round 2.
	Name string `json:"name"`
	// Parent is the name of the instance that was mutated; empty for a
	// training instance.
	Parent string `json:"parent,omitempty"`
	// Round in which the instance was made; 0 for a training instance.
	Round int `json:"round"`
	// Genome is the embedding (DACE) or the weights (NoReg); nil for an
	// authentic instance.
	Genome Genome `json:"genome,omitempty"`
	// Index is the number from which the class generated the instance (CEPS).
	Index int `json:"index,omitempty"`
	// Range normalises the instance.
	Range portfolio.Range `json:"range"`
}

// A Mutation is one attempt to make an instance harder.
type Mutation struct {
	// Instance is the result of the mutation, Performance its performance f(P,
	// m') as measured by the search: one seed per member, drawn for this
	// mutation.
	Instance    Instance `json:"instance"`
	Performance float64  `json:"performance"`
	// Accepted reports whether the instance is harder than some instance of M.
	// Replaced is the name of one such instance, which was taken out of the
	// round's competition.
	Accepted bool   `json:"accepted"`
	Replaced string `json:"replaced,omitempty"`
	// Best is the lowest performance seen after each iteration of the search.
	Best []float64 `json:"best"`
}

// Portfolios returns the portfolio after every round, the initial one first.
func (r Result) Portfolios() []portfolio.Portfolio {
	var out []portfolio.Portfolio
	for _, round := range r.Rounds {
		p := round.Portfolio
		p.Members = slices.Clone(p.Members)
		out = append(out, p)
	}
	return out
}

// String returns a summary of the result in a few lines.
func (r Result) String() string {
	var b strings.Builder
	b.WriteString(r.Portfolio.String())
	for i, round := range r.Rounds {
		what := "initial portfolio"
		if i > 0 {
			what = fmt.Sprintf("round %d", i)
		}
		if n := r.Setup.Settings.Rounds; n > 0 && i > n {
			what = "check on the training instances"
		}
		fmt.Fprintf(&b, "\n%s: f = %.4f on %d instances", what, mean(round.After), len(round.After))
		if round.Before != nil {
			fmt.Fprintf(&b, " (before: %.4f)", mean(round.Before))
		}
		made := 0
		for _, m := range round.Mutations {
			if m.Accepted {
				made++
			}
		}
		if len(round.Mutations) > 0 {
			fmt.Fprintf(&b, ", %d harder instances made", made)
		}
	}
	for _, n := range r.Notes {
		b.WriteString("\n" + n)
	}
	return b.String()
}

func mean(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// An emitter forwards events to one function, one event at a time.
type emitter struct {
	mu sync.Mutex // guards calls of to
	to func(run.Event)
}

func (e *emitter) emit(ev run.Event) {
	if e.to == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.to(ev)
}

// within returns a hook that forwards events with the given stage.
func (e *emitter) within(stage string) func(run.Event) {
	return func(ev run.Event) {
		ev.Stage = stage
		e.emit(ev)
	}
}
