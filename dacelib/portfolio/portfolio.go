// Package portfolio is the parallel algorithm portfolio (PAP) of the paper: a
// set of configurations that run side by side on an instance, of whose
// solutions the best counts (Eq. 1).
//
// Start with a [Portfolio], such as [BRKGAPAP], and [Portfolio.Run] on
// instances whose values [Normalise] has made comparable. [Measure] records
// the performance of many configurations in a [Matrix], which chooses
// portfolios: [Matrix.Greedy] and [Matrix.Best]. Package construct builds
// portfolios from training instances.
package portfolio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Portfolio is a PAP. Its members are configurations of BRKGA and, after
// them, solvers of other kinds.
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
	// Solve returns the best value that it finds for p with so many
	// evaluations. It must be determined by its arguments. It may be called
	// from several goroutines at once.
	Solve func(ctx context.Context, p problem.Problem, evaluations int, seed uint64) (float64, error)
}

// Size returns the number of members, K.
func (p Portfolio) Size() int { return len(p.Configs) + len(p.Solvers) }

// String lists the members as the paper does, one a line after the name.
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

// Check returns what is wrong with a portfolio, or nil.
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

// Save writes the portfolio to a file as JSON, whole or not at all.
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
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Load reads a portfolio that Save wrote.
func Load(path string) (Portfolio, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Portfolio{}, err
	}
	var p Portfolio
	if err := json.Unmarshal(b, &p); err != nil {
		return Portfolio{}, fmt.Errorf("%s is not a portfolio: %w", path, err)
	}
	if err := p.Check(); err != nil {
		return Portfolio{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Settings of test runs. The zero value is the paper's protocol (section
// V-C).
type Settings struct {
	// Evaluations is the budget of each member; default 800.
	Evaluations int
	// Repeats is the number of runs on every instance; default 20.
	Repeats int
	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int
	// Seed of the runs. In a repeat all members have the same seed, the same
	// on every instance and for every portfolio.
	Seed uint64
	// OnEvent, if not nil, is called after every instance, with its mean
	// performance as Value.
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
	return s, nil
}

// A Result is what a portfolio reached on an instance.
type Result struct {
	// Problem and Dim identify the instance.
	Problem string `json:"problem"`
	Dim     int    `json:"dim"`
	// Members holds the best value of every member in every repeat: repeat x
	// member.
	Members [][]float64 `json:"members"`
	// Values holds the portfolio's value in every repeat, the largest of its
	// members'; Mean is their mean, its performance on the instance.
	Values []float64 `json:"values"`
	Mean   float64   `json:"mean"`
}

// Run runs the portfolio on every instance, Settings.Repeats times. The values
// are those of the instances as they are: see [Normalise]. On an error, and on
// the end of ctx, it returns the results of the instances that are finished.
func (p Portfolio) Run(ctx context.Context, instances []problem.Problem, s Settings) ([]Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
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
	r := Result{Problem: instance.Name(), Dim: instance.Dim(), Members: make([][]float64, s.Repeats), Values: make([]float64, s.Repeats)}
	var jobs []brkga.Job
	for k := range s.Repeats {
		r.Members[k] = make([]float64, p.Size())
		for _, c := range p.Configs {
			jobs = append(jobs, job(instance, c, s, k))
		}
	}
	found, err := brkga.RunAll(ctx, jobs, s.Workers)
	if err != nil {
		return r, err
	}
	n := len(p.Configs)
	for i, f := range found {
		r.Members[i/n][i%n] = f.Value
	}
	if err := p.solvers(ctx, instance, s, r.Members); err != nil {
		return r, err
	}
	for k, members := range r.Members {
		r.Values[k] = math.Inf(-1)
		for _, v := range members {
			r.Values[k] = max(r.Values[k], v)
		}
		r.Mean += r.Values[k] / float64(s.Repeats)
	}
	return r, nil
}

// job is the run of a configuration in repeat k.
func job(p problem.Problem, c brkga.Config, s Settings, k int) brkga.Job {
	return brkga.Job{Problem: p, Settings: brkga.Settings{Config: c, Evaluations: s.Evaluations, Seed: repeatSeed(s, k)}}
}

// repeatSeed is the seed of all members in repeat k.
func repeatSeed(s Settings, k int) uint64 { return run.Seed(s.Seed, "portfolio: repeat", k) }

// solvers makes the runs of the members that are functions.
func (p Portfolio) solvers(ctx context.Context, instance problem.Problem, s Settings, members [][]float64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := len(p.Solvers)
	return run.Each(s.Workers, n*s.Repeats, func(i int) error {
		k, solver := i/n, p.Solvers[i%n]
		v, err := solver.Solve(ctx, instance, s.Evaluations, repeatSeed(s, k))
		if err == nil && math.IsNaN(v) {
			err = errors.New("the value is NaN")
		}
		if err != nil {
			cancel()
			return fmt.Errorf("portfolio %q on %s: solver %s: %w", p.Name, instance.Name(), solver.Name, err)
		}
		members[k][len(p.Configs)+i%n] = v
		return nil
	})
}

// Means returns the performance on every instance: the means of the results.
func Means(results []Result) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = r.Mean
	}
	return out
}
