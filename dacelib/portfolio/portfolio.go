// Package portfolio implements the parallel algorithm portfolio (PAP) of the
// paper: a set of configurations that run side by side on an instance. The best
// of their solutions is the portfolio's (Eq. 1).
//
// Start with a [Portfolio], such as [BRKGAPAP], and [Portfolio.Run] it on
// instances whose values [Normalise] has made comparable. [Measure] records the
// performance of many configurations in a [Matrix], whose methods
// [Matrix.Greedy] and [Matrix.Best] choose portfolios. To build portfolios from
// training instances, see package construct.
package portfolio

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files"
	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all" // a program that loads a portfolio can run it
)

// A Portfolio is a PAP: solvers' configurations that run side by side. A member
// may be any solver's; one of your own is a function that solver.FromFunc takes.
type Portfolio struct {
	// Name of the portfolio in tables and figures.
	Name string `json:"name"`
	// Members are the configurations. Their JSON is that of [Members], which reads
	// the older "configs", too.
	Members []solver.Config `json:"members"`
	// Single, unless it is nil, is the configuration that its construction found to
	// be best alone, a baseline for tests.
	Single *solver.Config `json:"single,omitempty"`
}

// UnmarshalJSON decodes a portfolio, also one from before it had members of
// other solvers than BRKGA, whose "configs" these were.
func (p *Portfolio) UnmarshalJSON(b []byte) error {
	var f struct {
		Name    string          `json:"name"`
		Members []solver.Config `json:"members"`
		Configs []solver.Config `json:"configs"`
		Single  *solver.Config  `json:"single"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	p.Name, p.Members, p.Single = f.Name, f.Members, f.Single
	if f.Members == nil {
		p.Members = f.Configs
	}
	return nil
}

// Size returns the number of members, K.
func (p Portfolio) Size() int { return len(p.Members) }

// String returns the name and then the members, one per line, as the paper
// does.
func (p Portfolio) String() string {
	var b strings.Builder
	b.WriteString(p.Name)
	for _, c := range p.Members {
		b.WriteString("\n  " + c.String())
	}
	return b.String()
}

// Check returns an error if the portfolio is invalid.
func (p Portfolio) Check() error {
	if p.Size() == 0 {
		return fmt.Errorf("portfolio %q has no members", p.Name)
	}
	for _, c := range p.Members {
		if err := c.Check(); err != nil {
			return fmt.Errorf("portfolio %q: %w", p.Name, err)
		}
	}
	return nil
}

// Save writes the portfolio to a file as JSON, atomically.
func (p Portfolio) Save(path string) error {
	if err := p.Check(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteBytes(path, append(b, '\n'))
}

// Load reads a portfolio that Save wrote, or the portfolio.json of a
// construction.
func Load(path string) (Portfolio, error) {
	b, err := files.ReadFile(path)
	if err != nil {
		return Portfolio{}, err
	}
	var f struct {
		Method string `json:"method"`
	}
	var p Portfolio
	err = json.Unmarshal(b, &f)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return Portfolio{}, fmt.Errorf("%s is not a portfolio: %w", path, err)
	}
	if p.Name == "" {
		p.Name = f.Method
	}
	if err := p.Check(); err != nil {
		return Portfolio{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Settings of test runs. The zero value is the paper's protocol (section
// V-C).
type Settings struct {
	// Reading of the paper; default Written. In Published the repeats use
	// twelve seeds in turn, as in the authors' public code, so that eight of 20
	// repeats are duplicates.
	Reading run.Reading
	// Evaluations is the budget of each member; default 800.
	Evaluations int
	// Repeats is the number of runs on every instance; default 20.
	Repeats int
	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int
	// Farm, if not nil, has instances computed by the workers of a pool. It
	// does not change the result. A solver that is a function of this program, and
	// not of a cell, runs here.
	Farm farm.Pool `json:"-"`
	// Seed of the runs, which is the same on every instance and for every
	// portfolio. Seeds says whether the members of a portfolio share that of a
	// repeat; by default each has its own, except in the reading Published.
	Seed  uint64
	Seeds MemberSeeds
	// OnEvent, if not nil, is called after every instance; Value is the mean
	// performance on it.
	OnEvent func(run.Event) `json:"-"`
}

func (s Settings) withDefaults() (Settings, error) {
	if s.Evaluations < 0 || s.Repeats < 0 {
		return s, fmt.Errorf("portfolio: Settings.Evaluations is %d and Repeats %d; they must not be negative", s.Evaluations, s.Repeats)
	}
	if s.Evaluations == 0 {
		s.Evaluations = 800
	}
	if s.Repeats == 0 {
		s.Repeats = 20
	}
	if s.Seeds < SeedsByReading || s.Seeds > SharedSeed {
		return s, fmt.Errorf("portfolio: Settings.Seeds is %d; use SeedsByReading, OwnSeeds or SharedSeed", int(s.Seeds))
	}
	return s, defaults.AtMost("portfolio", defaults.Bound{Field: "Settings.Repeats", Value: s.Repeats, Most: 1 << 20})
}

// A Result is the performance of a portfolio on an instance.
type Result struct {
	// Problem and Dim identify the instance.
	Problem string `json:"problem"`
	Dim     int    `json:"dim"`
	// Members holds the best value of every member in every repeat, as a matrix
	// of repeats x members.
	Members [][]float64 `json:"members"`
	// Values holds the portfolio's value in every repeat, the largest value of
	// its members. Mean is the mean of Values, the performance on the instance.
	Values []float64 `json:"values"`
	Mean   float64   `json:"mean"`
	// Best is the best solution of all repeats, of length Dim, and BestValue
	// its value. Among equally good solutions it is the first member's in the
	// earliest repeat.
	Best      []bool  `json:"best"`
	BestValue float64 `json:"best_value"`
	// BestMember is the index of the member that found Best, BestName its text;
	// that of BRKGA has the paper's form, "[20, 70, 10, 0.70, F]".
	BestMember int    `json:"best_member"`
	BestName   string `json:"best_name"`
	// Runs is the number of runs of members, Evaluations the number of
	// evaluations of the instance in them.
	Runs        int `json:"runs"`
	Evaluations int `json:"evaluations"`
}

// Run runs the portfolio Settings.Repeats times on every instance. It does not
// normalise the values: see [Normalise]. On an error, or if ctx ends, it
// returns the results of the finished instances.
func (p Portfolio) Run(ctx context.Context, instances []problem.Problem, s Settings) ([]Result, error) {
	defer run.Report(&ctx, p.Name, &s.OnEvent)()
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if s.Farm != nil && p.Travels() {
		return p.runRemote(ctx, instances, s)
	}
	var results []Result
	best := math.Inf(-1)
	for i, instance := range instances {
		r, err := p.run(ctx, instance, s)
		if err != nil {
			return results, err
		}
		results = append(results, r)
		best = max(best, r.Mean)
		if s.OnEvent != nil {
			s.OnEvent(run.Event{Stage: "run " + p.Name, Step: i + 1, Total: len(instances), Value: r.Mean, Best: best, Detail: r.Problem})
		}
	}
	return results, nil
}

// run makes the runs on one instance.
func (p Portfolio) run(ctx context.Context, instance problem.Problem, s Settings) (Result, error) {
	r := Result{
		Problem: instance.Name(), Dim: instance.Dim(),
		Members: make([][]float64, s.Repeats), Values: make([]float64, s.Repeats), BestValue: math.Inf(-1),
	}
	var jobs []solver.Job
	for k := range s.Repeats {
		for i, c := range p.Members {
			jobs = append(jobs, job(stream(instance, s, k, len(jobs)), c, s, memberSeed(s, k, i)))
		}
	}
	found, err := solver.RunAll(ctx, jobs, s.Workers)
	if err != nil {
		return r, fmt.Errorf("portfolio %q on %s: %w", p.Name, instance.Name(), err)
	}
	n := len(p.Members)
	for k := range s.Repeats {
		r.take(k, found[k*n:(k+1)*n])
		r.Mean += r.Values[k] / float64(s.Repeats)
	}
	r.BestName = p.Members[r.BestMember].String()
	return r, nil
}

// A Stochastic is a problem whose evaluations are random samples.
type Stochastic interface {
	problem.Problem
	// Stream returns the problem with its own random stream, for one run.
	Stream(seed uint64) problem.Problem
}

// stream returns the instance for run i in repeat k. No two runs share a
// stream, even if they share a seed.
func stream(instance problem.Problem, s Settings, k, i int) problem.Problem {
	if p, ok := instance.(Stochastic); ok {
		return p.Stream(run.Seed(s.Seed, "portfolio: stream", k, i))
	}
	return instance
}

// take adds the runs of the members in repeat k to the result.
func (r *Result) take(k int, members []solver.Result) {
	r.Members[k] = make([]float64, len(members))
	r.Values[k] = math.Inf(-1)
	for i, f := range members {
		r.Members[k][i] = f.Value
		r.Values[k] = max(r.Values[k], f.Value)
		r.Runs++
		r.Evaluations += f.Evaluations
		if f.Value > r.BestValue || r.Runs == 1 {
			r.Best, r.BestValue, r.BestMember = f.X, f.Value, i
		}
	}
}

// job returns the run of a configuration under a seed.
func job(p problem.Problem, c solver.Config, s Settings, seed uint64) solver.Job {
	return solver.Job{Problem: p, Config: c, Evaluations: s.Evaluations, Seed: seed}
}

// Travels reports whether workers of a farm have the solvers of all members.
func (p Portfolio) Travels() bool {
	return !slices.ContainsFunc(p.Members, func(c solver.Config) bool { return !solver.Travels(c.Solver()) })
}

// Means returns the mean performance on every instance.
func Means(results []Result) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = r.Mean
	}
	return out
}
