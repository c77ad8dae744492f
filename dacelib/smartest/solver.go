package smartest

import (
	"context"
	"fmt"
	"time"

	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

func init() { solver.Register(Solver()) }

// Solver returns SMARTEST as a solver of portfolios, "smartest".
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "smartest" }

// Space has the parameters of the paper's table (Appendix C).
func (family) Space(d, evaluations int) smac.Space {
	return smac.Space{Params: []smac.Param{
		{Name: "population", Kind: smac.Int, Lo: 1, Hi: 1000, Log: true, Default: 100},
		{Name: "crossover", Kind: smac.Float, Lo: 0, Hi: 1, Default: 0.8},
		{Name: "elite-rate", Kind: smac.Float, Lo: 0, Hi: 0.9, Default: 0.1},
	}}
}

// Overhead is about a second for 800 evaluations of 40 bits: the forests grow with
// the square of the evaluations.
func (family) Overhead(d, evaluations int) time.Duration {
	n := float64(evaluations) / 800
	return time.Duration(n * n * float64(d) / 40 * float64(time.Second))
}

// Named returns the configuration as one that says its solver: a member of a
// portfolio.
func (c Config) Named() solver.Config {
	n, err := solver.New("smartest", map[string]any{"population": c.Population, "crossover": c.Crossover, "elite-rate": c.EliteRate})
	if err != nil { // a rate is not finite: Check refuses what is left
		n, _ = solver.New("smartest", map[string]any{"population": 0})
	}
	return n
}

// Format writes a configuration as the paper does, if it has all values.
func (family) Format(c solver.Config) string {
	own, err := from(c)
	if err != nil || len(c.Values()) != 3 {
		return c.Text()
	}
	return own.String()
}

func from(c solver.Config) (Config, error) {
	point, err := c.Point(family{}.Space(1, 1))
	if err != nil {
		return Config{}, err
	}
	return Config{Population: int(point[0]), Crossover: point[1], EliteRate: point[2]}, nil
}

func (f family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	results := make([]solver.Result, len(jobs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return results, run.Each(workers, len(jobs), func(i int) error {
		j := jobs[i]
		c, err := from(j.Config)
		if err == nil {
			var r Result
			r, err = Run(ctx, j.Problem, Settings{Config: c, Evaluations: j.Budget(), Seed: j.Seed, Target: j.Target})
			results[i] = solver.Result{Problem: r.Problem, X: r.X, Value: r.Value, Evaluations: r.Evaluations, Status: r.Status, History: r.History}
		}
		if err != nil {
			cancel()
			return fmt.Errorf("job %d: %w", i, err)
		}
		return nil
	})
}
