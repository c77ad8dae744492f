// Package construct builds portfolios from a few training instances: the
// paper's DACE, and the methods it is compared with.
//
// Start with [DACE] and [Quick]:
//
//	result, err := construct.DACE(ctx, training, construct.Quick())
//	result.Portfolio // K configurations of BRKGA
//
// Every method has a file and a function of its name and takes the same
// [Settings], whose zero value is the paper's scale. DACE, CEPS and NoReg are
// one co-evolution (Alg. 2) with instances of different kinds; GLOBAL and
// PARHYDRA search on the training instances alone. The portfolios that need no
// construction are in package portfolio: portfolio.BRKGAPAP.
//
// A construction with [Settings].Dir keeps what it has done there; called
// again with the same settings it goes on where it stopped, to the same
// result.
package construct

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Settings of a construction. The zero value is the paper's (section V-C); see
// also [Quick].
type Settings struct {
	// Members is the number K of members of the portfolio; default 4.
	Members int
	// Rounds is the number of rounds of co-evolution; default 4.
	Rounds int
	// Configurations is the size of the random set C that the initial
	// portfolio is chosen from; default 50.
	Configurations int
	// Minings is the number of independent runs of SMAC: in a round of DACE
	// and CEPS (n, default 20), for the whole of GLOBAL and for each member
	// of PARHYDRA (default 200, the paper's for CCP).
	Minings int
	// Trials is the number of trials of each such run: default 1600 for DACE
	// and CEPS, where a trial is a configuration on all instances; 51,200 for
	// GLOBAL and 25,600 for PARHYDRA, where it is one on one instance (the
	// paper's for CCP).
	Trials int
	// Evaluations is the budget of a run of BRKGA; default 800.
	Evaluations int
	// NIR says how instances become NIRs (DACE, NoReg).
	NIR nir.Settings
	// PGPE says how instances are made harder. Where its Stop is nil, the
	// authors' rule is used: [pgpe.EarlyStop].
	PGPE pgpe.Settings
	// PerturbEncoder lets NoReg change the encoder's weights along with the
	// scorer's, as the authors' code does.
	PerturbEncoder bool
	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int
	// Seed determines everything random; it also replaces NIR.Seed and
	// PGPE.Seed where these are 0.
	Seed uint64
	// Dir, if not empty, is a folder to keep the construction's state in.
	Dir string
	// OnEvent, if not nil, receives the progress, one event at a time.
	OnEvent func(run.Event)
}

// Quick returns settings for a first look: two rounds on five instances of
// dimension 30 take some tens of seconds on two cores. It is far below the
// paper's scale in every number.
func Quick() Settings {
	return Settings{
		Rounds: 2, Configurations: 30, Minings: 8, Trials: 60,
		NIR:  nir.Settings{Samples: 10_000, Batch: 64, Steps: 1500, NormaliseSample: 20_000},
		PGPE: pgpe.Settings{Pairs: 10, MaxIterations: 5},
	}
}

// withDefaults returns s with the zero values replaced; minings and trials
// are the method's.
func (s Settings) withDefaults(minings, trials int) (Settings, error) {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&s.Members, 4)
	def(&s.Rounds, 4)
	def(&s.Configurations, 50)
	def(&s.Minings, minings)
	def(&s.Trials, trials)
	def(&s.Evaluations, 800)
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.NIR.Seed == 0 {
		s.NIR.Seed = run.Seed(s.Seed, "construct: nir")
	}
	if s.NIR.Workers == 0 {
		s.NIR.Workers = s.Workers
	}
	for _, c := range []struct {
		name  string
		value int
	}{{"Members", s.Members}, {"Rounds", s.Rounds}, {"Configurations", s.Configurations}, {"Minings", s.Minings}, {"Trials", s.Trials}, {"Evaluations", s.Evaluations}} {
		if c.value < 1 {
			return s, fmt.Errorf("construct: Settings.%s is %d; it must be at least 1", c.name, c.value)
		}
	}
	if s.Configurations < s.Members {
		return s, fmt.Errorf("construct: %d configurations cannot make a portfolio of %d members", s.Configurations, s.Members)
	}
	return s, nil
}

// setup describes the settings that change a result, for the journal and the
// result.
func (s Settings) setup(method string, training []problem.Problem) string {
	names := make([]string, len(training))
	for i, p := range training {
		names[i] = p.Name()
	}
	s.NIR.OnEvent, s.NIR.Workers, s.NIR.Resume, s.NIR.Normalisation = nil, 0, nil, nir.Normalisation{}
	s.PGPE.OnEvent, s.PGPE.Resume = nil, nil
	stop := ""
	if s.PGPE.Stop != nil {
		s.PGPE.Stop, stop = nil, " own stop"
	}
	return fmt.Sprintf("%s on %s: K=%d rounds=%d C=%d minings=%d trials=%d evaluations=%d encoder=%t seed=%d nir=%+v pgpe=%+v%s",
		method, strings.Join(names, ","), s.Members, s.Rounds, s.Configurations, s.Minings, s.Trials, s.Evaluations, s.PerturbEncoder, s.Seed, s.NIR, s.PGPE, stop)
}

// A Result is a portfolio and how it came about.
type Result struct {
	// Method that built it: "DACE".
	Method string `json:"method"`
	// Setup describes method, training instances and settings.
	Setup string `json:"setup"`
	// Portfolio is the outcome: after a cancellation the best so far, empty
	// where there was none yet.
	Portfolio portfolio.Portfolio `json:"portfolio"`
	// Rounds is the history: Rounds[0] holds the initial portfolio, Rounds[r]
	// what round r did.
	Rounds []Round `json:"rounds"`
	// Instances are those of the last round.
	Instances []Instance `json:"instances"`
	// Status is BudgetSpent or Cancelled.
	Status run.Status `json:"status"`
	// Problems are the Instances as normalised problems, in their order, and
	// Model the NIRs' model. They are not saved with the result.
	Problems []problem.Problem `json:"-"`
	Model    *nir.Model        `json:"-"`
}

// A Round is a round of the construction.
type Round struct {
	// Portfolio is P after the round's evolution of P.
	Portfolio portfolio.Portfolio `json:"portfolio"`
	// Instances names the round's instances; Before and After hold f(P, m) on
	// each, for P before and after.
	Instances []string  `json:"instances"`
	Before    []float64 `json:"before"`
	After     []float64 `json:"after"`
	// Matrix holds the performance of the configurations that P was chosen
	// from: those of P before, then one per mining.
	Matrix portfolio.Matrix `json:"matrix"`
	// Mutations are the attempts to make instances harder.
	Mutations []Mutation `json:"mutations,omitempty"`
}

// An Instance of the evolving population M, as a record.
type Instance struct {
	// Name is "DACE 2.3" for the third instance made in round 2.
	Name string `json:"name"`
	// Parent is the name of the instance that was mutated; empty for a
	// training instance.
	Parent string `json:"parent,omitempty"`
	// Round in which it was made; 0 for a training instance.
	Round int `json:"round"`
	// Genome is the embedding (DACE), or the weights (NoReg); nil for an
	// authentic instance.
	Genome []float64 `json:"genome,omitempty"`
	// Index is the number under which the class generated it (CEPS).
	Index int `json:"index,omitempty"`
	// Range normalises the instance.
	Range portfolio.Range `json:"range"`
}

// A Mutation is one attempt to make an instance harder.
type Mutation struct {
	// Instance that came out, and its performance f(P, m') as the search for
	// it saw it: one seed per member, drawn for this mutation.
	Instance    Instance `json:"instance"`
	Performance float64  `json:"performance"`
	// Accepted says whether it is harder than an instance of M; Replaced is
	// the name of one such, taken out of the round's competition.
	Accepted bool   `json:"accepted"`
	Replaced string `json:"replaced,omitempty"`
	// Best is the lowest performance seen after each iteration of the search.
	Best []float64 `json:"best"`
}

// Portfolios returns the portfolio after every round, the initial one first.
func (r Result) Portfolios() []portfolio.Portfolio {
	var out []portfolio.Portfolio
	for _, round := range r.Rounds {
		out = append(out, round.Portfolio)
	}
	return out
}

// String says in a few lines what was built and how.
func (r Result) String() string {
	var b strings.Builder
	b.WriteString(r.Portfolio.String())
	for i, round := range r.Rounds {
		what := "initial portfolio"
		if i > 0 {
			what = fmt.Sprintf("round %d", i)
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
	return b.String()
}

func mean(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// performance returns f(P, m) of one portfolio on each instance, member j with
// the seed that seed(j) gives.
func performance(ctx context.Context, configs []brkga.Config, instances []problem.Problem, evaluations, workers int, seed func(member int) uint64) ([]float64, error) {
	var jobs []brkga.Job
	for _, p := range instances {
		for j, c := range configs {
			jobs = append(jobs, brkga.Job{Problem: p, Settings: brkga.Settings{Config: c, Evaluations: evaluations, Seed: seed(j)}})
		}
	}
	results, err := brkga.RunAll(ctx, jobs, workers)
	if err != nil {
		return nil, err
	}
	f := make([]float64, len(instances))
	for i := range f {
		f[i] = math.Inf(-1)
		for _, r := range results[i*len(configs) : (i+1)*len(configs)] {
			f[i] = max(f[i], r.Value)
		}
	}
	return f, nil
}

// An emitter passes events on, one at a time.
type emitter struct {
	mu sync.Mutex
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

// within returns a hook that passes events on under another stage.
func (e *emitter) within(stage string) func(run.Event) {
	return func(ev run.Event) {
		ev.Stage = stage
		e.emit(ev)
	}
}
