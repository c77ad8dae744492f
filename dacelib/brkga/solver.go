package brkga

import (
	"context"
	"fmt"

	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

func init() { solver.Register(Solver()) }

// Solver returns BRKGA as a solver of portfolios, "brkga". It runs jobs on one
// problem in teams, as [RunAll] does.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "brkga" }

// Space is the paper's (Appendix B), with the defaults of [ForBudget].
func (family) Space(d, evaluations int) smac.Space {
	c := ForBudget(evaluations)
	return smac.Space{Params: []smac.Param{
		{Name: "elites", Kind: smac.Int, Lo: MinElites, Hi: MaxElites, Log: true, Default: float64(c.Elites)},
		{Name: "offspring", Kind: smac.Int, Lo: MinOffspring, Hi: MaxOffspring, Log: true, Default: float64(c.Offspring)},
		{Name: "mutants", Kind: smac.Int, Lo: MinMutants, Hi: MaxMutants, Log: true, Default: float64(c.Mutants)},
		{Name: "bias", Kind: smac.Float, Lo: 0, Hi: 1, Default: c.Bias},
		{Name: "duplicates", Kind: smac.Bool},
	}}
}

// Starts returns configurations to begin a choice with.
func (family) Starts(d, evaluations int) []string {
	return []string{
		"brkga", "brkga{elites: 11, offspring: 35, mutants: 1, bias: 0.58, duplicates: true}",
		"brkga{elites: 7, offspring: 48, mutants: 1, bias: 0.48, duplicates: true}",
		"brkga{elites: 2, offspring: 10, mutants: 1, bias: 0.6, duplicates: true}",
	}
}

// Named returns the configuration as one that says its solver: a member of a
// portfolio.
func (c Config) Named() solver.Config {
	n, err := solver.New("brkga", map[string]any{
		"elites": c.Elites, "offspring": c.Offspring, "mutants": c.Mutants, "bias": c.Bias, "duplicates": c.Duplicates,
	})
	if err != nil { // the bias is not finite: Check refuses what is left
		n, _ = solver.New("brkga", map[string]any{"elites": 0})
	}
	return n
}

// From returns the configuration of BRKGA that has a solver's name; parameters
// without a value have those of [ForBudget].
func From(c solver.Config, evaluations int) (Config, error) {
	out := ForBudget(evaluations)
	if c.Solver() != "brkga" {
		return out, fmt.Errorf("brkga: %v is no configuration of BRKGA", c)
	}
	for name, v := range c.Values() {
		var at *int
		switch name {
		case "elites":
			at = &out.Elites
		case "offspring":
			at = &out.Offspring
		case "mutants":
			at = &out.Mutants
		case "bias":
			b, ok := v.(float64)
			if !ok {
				return out, fmt.Errorf("brkga: bias is %v; it must be a number in [0,1]", v)
			}
			out.Bias = b
			continue
		case "duplicates":
			b, ok := v.(bool)
			if !ok {
				return out, fmt.Errorf("brkga: duplicates is %v; it must be true or false", v)
			}
			out.Duplicates = b
			continue
		default:
			return out, fmt.Errorf("brkga: there is no parameter %q; there are elites, offspring, mutants, bias and duplicates", name)
		}
		n, ok := v.(float64)
		if !ok || n != float64(int(n)) {
			return out, fmt.Errorf("brkga: %s is %v; it must be a whole number", name, v)
		}
		*at = int(n)
	}
	return out, out.Check()
}

// CheckConfig allows more than the paper's ranges, as [Config.Check] does.
func (family) CheckConfig(c solver.Config) error {
	_, err := From(c, 0)
	return err
}

// Format writes a configuration as the paper does, if it has all values.
func (family) Format(c solver.Config) string {
	if own, err := From(c, 0); err == nil && len(c.Values()) == 5 {
		return own.String()
	}
	return c.Text()
}

func (family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	own := make([]Job, len(jobs))
	for i, j := range jobs {
		c, err := From(j.Config, j.Budget())
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", i, err)
		}
		own[i] = Job{Problem: j.Problem, Settings: Settings{Config: c, Evaluations: j.Budget(), Seed: j.Seed, Target: j.Target}}
	}
	found, err := RunAll(ctx, own, workers)
	out := make([]solver.Result, len(found))
	for i, r := range found {
		out[i] = solver.Result{Problem: r.Problem, X: r.X, Value: r.Value, Evaluations: r.Evaluations, Status: r.Status, History: r.History}
	}
	return out, err
}
