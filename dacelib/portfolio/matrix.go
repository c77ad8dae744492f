package portfolio

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// A Matrix records the performance of configurations on instances, so that
// portfolios can be chosen without running anything again.
type Matrix struct {
	// Configs are the n rows; Instances holds the names of the m columns.
	Configs   []solver.Config `json:"configs"`
	Instances []string        `json:"instances"`
	// Values holds f(theta, s), n x m.
	Values [][]float64 `json:"values"`
}

// Measure runs every configuration once on every instance, all with the seed of
// a portfolio's first repeat, which they share ([SharedSeed]): they are compared.
// It ignores Settings.Repeats.
func Measure(ctx context.Context, configs []solver.Config, instances []problem.Problem, s Settings) (Matrix, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Matrix{}, err
	}
	m := Matrix{Configs: slices.Clone(configs)}
	var jobs []solver.Job
	for _, p := range instances {
		m.Instances = append(m.Instances, p.Name())
		for _, c := range configs {
			jobs = append(jobs, job(p, c, s, memberSeed(s, 0, 0)))
		}
	}
	found, err := solver.RunAll(ctx, jobs, s.Workers)
	if err != nil {
		return Matrix{}, err
	}
	for i := range configs {
		row := make([]float64, len(instances))
		for j := range instances {
			row[j] = found[j*len(configs)+i].Value
		}
		m.Values = append(m.Values, row)
	}
	return m, nil
}

// Append adds a configuration with its performance on every instance.
func (m *Matrix) Append(c solver.Config, values []float64) {
	if len(values) != len(m.Instances) {
		panic("portfolio: Append needs a value for every instance")
	}
	m.Configs = append(m.Configs, c)
	m.Values = append(m.Values, slices.Clone(values))
}

// Performance returns f(P, s) on every instance for the portfolio P made of the
// given rows: the largest value among the rows (Eq. 1), or -Inf for no rows.
func (m Matrix) Performance(rows []int) []float64 {
	f := make([]float64, len(m.Instances))
	for j := range f {
		f[j] = math.Inf(-1)
		for _, i := range rows {
			f[j] = max(f[j], m.Values[i][j])
		}
	}
	return f
}

// Sum returns the sum of [Matrix.Performance], the objective maximised in Eq.
// 4.
func (m Matrix) Sum(rows []int) float64 { return sum(m.Performance(rows)) }

func sum(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s
}

// Greedy returns k rows chosen one after the other: each is the row that adds
// most to the sum, the first of equals. The paper chooses its initial portfolio
// this way. Greedy panics if there are fewer than k rows.
func (m Matrix) Greedy(k int) []int {
	if k > len(m.Configs) {
		panic("portfolio: Greedy needs at least as many configurations as members")
	}
	var rows []int
	for range k {
		best, at := math.Inf(-1), -1
		for i := range m.Configs {
			if slices.Contains(rows, i) {
				continue
			}
			if s := m.Sum(append(rows, i)); s > best || at < 0 {
				best, at = s, i
			}
		}
		rows = append(rows, at)
	}
	return rows
}

// Best returns the rows of the best portfolio of len(current) members among all
// portfolios of the configurations, or current if none is better. With n = 24
// and K = 4 these are the paper's 10,626 portfolios.
func (m Matrix) Best(current []int) []int {
	k, n := len(current), len(m.Configs)
	best, rows := m.Sum(current), slices.Clone(current)
	chosen := make([]int, k)
	tops := make([][]float64, k+1) // tops[i]: performance of the first i rows chosen
	for i := range tops {
		tops[i] = slices.Repeat([]float64{math.Inf(-1)}, len(m.Instances))
	}
	var choose func(depth, from int)
	choose = func(depth, from int) {
		if depth == k {
			if s := sum(tops[k]); s > best {
				best, rows = s, slices.Clone(chosen)
			}
			return
		}
		for i := from; i <= n-(k-depth); i++ {
			chosen[depth] = i
			for j, v := range m.Values[i] {
				tops[depth+1][j] = max(tops[depth][j], v)
			}
			choose(depth+1, i+1)
		}
	}
	choose(0, 0)
	return rows
}

// Portfolio returns the portfolio of the given rows.
func (m Matrix) Portfolio(name string, rows []int) Portfolio {
	p := Portfolio{Name: name}
	for _, i := range rows {
		p.Members = append(p.Members, m.Configs[i])
	}
	return p
}

// Random returns n configurations of BRKGA drawn uniformly from the paper's ranges
// (Appendix B). With n = 50 they are the paper's set C.
func Random(seed uint64, n int) []solver.Config {
	if n > 1<<24 {
		panic("portfolio: Random is for at most 2^24 configurations")
	}
	rng := run.Rand(seed, "portfolio: random configurations")
	out := make([]solver.Config, n)
	for i := range out {
		c := brkga.Config{
			Elites:     brkga.MinElites + rng.IntN(brkga.MaxElites-brkga.MinElites+1),
			Offspring:  brkga.MinOffspring + rng.IntN(brkga.MaxOffspring-brkga.MinOffspring+1),
			Mutants:    brkga.MinMutants + rng.IntN(brkga.MaxMutants-brkga.MinMutants+1),
			Bias:       rng.Float64(),
			Duplicates: rng.IntN(2) == 1,
		}
		out[i] = c.Named()
	}
	return out
}

// String returns the matrix as a table, with the mean of every row.
func (m Matrix) String() string {
	s := fmt.Sprintf("%d configurations x %d instances", len(m.Configs), len(m.Instances))
	for i, c := range m.Configs {
		if i == 10 {
			return s + fmt.Sprintf("\n  ... %d more", len(m.Configs)-i)
		}
		s += fmt.Sprintf("\n  %-30v %.4f", c, sum(m.Values[i])/float64(max(1, len(m.Instances))))
	}
	return s
}
