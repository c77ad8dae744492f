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
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/internal/atomicfile"
	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/internal/room"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Portfolio is a PAP. Its members are the configurations of BRKGA in Configs,
// followed by the solvers of other kinds in Solvers.
type Portfolio struct {
	// Name of the portfolio in tables and figures.
	Name string `json:"name"`
	// Configs are the members that are configurations of BRKGA.
	Configs []brkga.Config `json:"configs"`
	// Solvers are further members. They cannot be saved.
	Solvers []Solver `json:"-"`
}

// A Solver is a member that is not a configuration of BRKGA.
type Solver struct {
	// Name of the solver.
	Name string
	// Solve returns the best value that it finds for p with the given number of
	// evaluations. It must depend on its arguments only, and it may be called
	// from several goroutines at once. p counts the evaluations and remembers
	// the best solution for the [Result].
	Solve func(ctx context.Context, p problem.Problem, evaluations int, seed uint64) (float64, error)
}

// Size returns the number of members, K.
func (p Portfolio) Size() int { return len(p.Configs) + len(p.Solvers) }

// String returns the name and then the members, one per line, as the paper
// does.
func (p Portfolio) String() string {
	var b strings.Builder
	b.WriteString(p.Name)
	for _, c := range p.Configs {
		b.WriteString("\n  " + c.String())
	}
	for _, s := range p.Solvers {
		b.WriteString("\n  " + s.Name)
	}
	return b.String()
}

// Check returns an error if the portfolio is invalid.
func (p Portfolio) Check() error {
	if p.Size() == 0 {
		return fmt.Errorf("portfolio %q has no members", p.Name)
	}
	for _, c := range p.Configs {
		if err := c.Check(); err != nil {
			return fmt.Errorf("portfolio %q: %w", p.Name, err)
		}
	}
	for i, s := range p.Solvers {
		if s.Solve == nil {
			return fmt.Errorf("portfolio %q: solver %d (%s) has no Solve", p.Name, i, s.Name)
		}
	}
	return nil
}

// Save writes the portfolio to a file as JSON, atomically.
func (p Portfolio) Save(path string) error {
	if len(p.Solvers) > 0 {
		return fmt.Errorf("portfolio %q: its member %s is a function and cannot be saved", p.Name, p.Solvers[0].Name)
	}
	if err := p.Check(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, append(b, '\n'))
}

// Load reads a portfolio that Save wrote, or the portfolio.json of a
// construction.
func Load(path string) (Portfolio, error) {
	b, err := room.ReadFile(path)
	if err != nil {
		return Portfolio{}, err
	}
	var f struct {
		Portfolio
		Method  string  `json:"method"`
		Members Members `json:"members"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return Portfolio{}, fmt.Errorf("%s is not a portfolio: %w", path, err)
	}
	p := f.Portfolio
	if f.Members != nil {
		p = Portfolio{Name: f.Method, Configs: f.Members}
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
	// does not change the result. A portfolio with Solvers, which are functions
	// of this process, runs here.
	Farm farm.Pool `json:"-"`
	// Seed of the runs. All members have the same seed in a repeat; it is also
	// the same on every instance and for every portfolio.
	Seed uint64
	// OnEvent, if not nil, is called after every instance; Value is the mean
	// performance on it.
	OnEvent func(run.Event) `json:"-"`
}

func (s Settings) withDefaults() (Settings, error) {
	if s.Evaluations == 0 {
		s.Evaluations = 800
	}
	if s.Repeats == 0 {
		s.Repeats = 20
	}
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.Evaluations < 0 || s.Repeats < 0 {
		return s, fmt.Errorf("portfolio: Settings.Evaluations is %d and Repeats %d; they must not be negative", s.Evaluations, s.Repeats)
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
	// earliest repeat. Best is nil if a member in [Portfolio].Solvers reports a
	// value that it did not get from the problem.
	Best      []bool  `json:"best"`
	BestValue float64 `json:"best_value"`
	// BestMember is the index of the member that found Best, where
	// configurations come before solvers. BestName is its name; that of a
	// configuration has the paper's form, "[20, 70, 10, 0.70, F]".
	BestMember int    `json:"best_member"`
	BestName   string `json:"best_name"`
	// Runs is the number of runs of members, Evaluations the number of
	// evaluations of the instance in them.
	Runs        int `json:"runs"`
	Evaluations int `json:"evaluations"`
}

// found is the outcome of one run of a member.
type found struct {
	x           []bool // nil if unknown
	value       float64
	evaluations int
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
	if s.Farm != nil && len(p.Solvers) == 0 {
		return p.runFar(ctx, instances, s)
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
	var jobs []brkga.Job
	for k := range s.Repeats {
		for _, c := range p.Configs {
			jobs = append(jobs, job(stream(instance, s, k, len(jobs)), c, s, k))
		}
	}
	searched, err := brkga.RunAll(ctx, jobs, s.Workers)
	if err != nil {
		return r, err
	}
	solved, err := p.solvers(ctx, instance, s)
	if err != nil {
		return r, err
	}
	n, m := len(p.Configs), len(p.Solvers)
	for k := range s.Repeats {
		members := make([]found, 0, n+m)
		for _, f := range searched[k*n : (k+1)*n] {
			members = append(members, found{f.X, f.Value, f.Evaluations})
		}
		r.take(k, append(members, solved[k*m:(k+1)*m]...))
		r.Mean += r.Values[k] / float64(s.Repeats)
	}
	r.BestName = p.member(r.BestMember)
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
func (r *Result) take(k int, members []found) {
	r.Members[k] = make([]float64, len(members))
	r.Values[k] = math.Inf(-1)
	for i, f := range members {
		r.Members[k][i] = f.value
		r.Values[k] = max(r.Values[k], f.value)
		r.Runs++
		r.Evaluations += f.evaluations
		if f.value > r.BestValue || r.Runs == 1 {
			r.Best, r.BestValue, r.BestMember = f.x, f.value, i
		}
	}
}

// member returns the name of member i.
func (p Portfolio) member(i int) string {
	if i < len(p.Configs) {
		return p.Configs[i].String()
	}
	return p.Solvers[i-len(p.Configs)].Name
}

// job returns the run of a configuration in repeat k.
func job(p problem.Problem, c brkga.Config, s Settings, k int) brkga.Job {
	return brkga.Job{Problem: p, Settings: brkga.Settings{Config: c, Evaluations: s.Evaluations, Seed: repeatSeed(s, k)}}
}

// repeatSeed returns the seed of all members in repeat k.
func repeatSeed(s Settings, k int) uint64 {
	if s.Reading == run.Published {
		k %= 12
	}
	return run.Seed(s.Seed, "portfolio: repeat", k)
}

// solvers makes the runs of the members in Solvers, ordered by repeat and then
// by solver.
func (p Portfolio) solvers(ctx context.Context, instance problem.Problem, s Settings) ([]found, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := len(p.Solvers)
	out := make([]found, n*s.Repeats)
	return out, run.Each(s.Workers, n*s.Repeats, func(i int) error {
		k, solver := i/n, p.Solvers[i%n]
		counted := problem.Count(stream(instance, s, k, -1-i), 0)
		v, err := solver.Solve(ctx, counted, s.Evaluations, repeatSeed(s, k))
		if err == nil && math.IsNaN(v) {
			err = errors.New("the value is NaN")
		}
		if err != nil {
			cancel()
			return fmt.Errorf("portfolio %q on %s: solver %s: %w", p.Name, instance.Name(), solver.Name, err)
		}
		out[i] = found{value: v, evaluations: counted.Evaluations()}
		if x, value := counted.Best(); value == v {
			out[i].x = x
		}
		return nil
	})
}

// Means returns the mean performance on every instance.
func Means(results []Result) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = r.Mean
	}
	return out
}
