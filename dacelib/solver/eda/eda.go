// Package eda is population-based incremental learning, PBIL (Baluja: Population-
// based incremental learning, CMU-CS-94-163, 1994), an estimation of distribution:
// solutions are drawn from a vector of probabilities, one a bit, which moves towards
// the best of them.
//
// Start with [Solver]. Its parameters:
//
//   - sample, the solutions of a generation; with 2 and a rate of 1/K the method is
//     close to the compact genetic algorithm with a population of K;
//   - best, the share of them, at least one, towards whose mean the vector moves;
//   - rate, how far it moves;
//   - away: it also moves away from the worst where the best and the worst differ;
//   - margin, the least distance of a probability from 0 and 1, in units of 1/d;
//   - memory: values of solutions seen before are looked up, not evaluated.
package eda

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/internal/moves"
)

func init() { solver.Register(Solver()) }

// Solver returns PBIL.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "eda" }

func (family) Space(d, evaluations int) smac.Space {
	// A run should have some tens of generations.
	sample := min(200, max(2, math.Round(math.Sqrt(float64(evaluations))/2)))
	return smac.Space{Params: []smac.Param{
		{Name: "sample", Kind: smac.Int, Lo: 2, Hi: 500, Log: true, Default: sample},
		{Name: "best", Kind: smac.Float, Lo: 0.01, Hi: 0.5, Log: true, Default: 0.2},
		{Name: "rate", Kind: smac.Float, Lo: 0.005, Hi: 1, Log: true, Default: 0.2},
		{Name: "away", Kind: smac.Bool},
		{Name: "margin", Kind: smac.Float, Lo: 0.05, Hi: 5, Log: true, Default: 1},
		{Name: "memory", Kind: smac.Bool, Default: solver.MemoryDefault(evaluations)},
	}}
}

// Starts returns configurations to begin a choice with.
func (family) Starts(d, evaluations int) []string {
	return []string{"eda", "eda{best: 0.1, rate: 0.5, margin: 0.5}"}
}

func (f family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	return solver.Each(ctx, f, jobs, workers, func(s *solver.Search) error {
		learn(s)
		return nil
	})
}

func learn(s *solver.Search) {
	if s.Flag("memory") {
		s.Remember()
	}
	d, rng := s.Dim(), s.Rand
	n := s.Int("sample")
	rate, away := s.Number("rate"), s.Flag("away")
	best := max(1, int(s.Number("best")*float64(n)))
	margin := min(0.5, s.Number("margin")/float64(d))
	p := make([]float64, d)
	reset := func() {
		for i := range p {
			p[i] = 0.5
		}
	}
	reset()
	x, values, order := problem.NewSolutions(n, d), make([]float64, n), make([]int, n)
	below, ones := make([]uint64, d), make([]int, d)
	for !s.Over() {
		if s.Stuck() {
			reset()
		}
		for i, q := range p {
			below[i] = uint64(math.Ceil(q * 0x10000)) // u < q for a whole u, too
		}
		for k := range n {
			draw(x.Row(k), below, rng)
		}
		m := s.Values(values, x)
		for k := range m {
			order[k] = k
		}
		slices.SortStableFunc(order[:m], func(i, j int) int { return cmp.Compare(values[j], values[i]) })
		if m == 0 || values[order[0]] == values[order[m-1]] {
			continue // nothing is learnt from equals
		}
		top := min(best, m-1)
		worst := x.Row(order[m-1])
		clear(ones)
		for _, k := range order[:top] {
			count(ones, x.Row(k))
		}
		for i := range p {
			p[i] += rate * (float64(ones[i])/float64(top) - p[i])
			if first := moves.At(x.Row(order[0]), i); away && first != moves.At(worst, i) {
				p[i] += rate / 2 * (float64(first) - p[i])
			}
			p[i] = min(1-margin, max(margin, p[i]))
		}
	}
}

// draw sets each bit with its probability, to 16 binary digits: where a random number
// of 16 bits is below a bound.
func draw(row, below []uint64, rng *rand.Rand) {
	u, left := uint64(0), 0
	for w := range row {
		part := below[64*w : min(64*w+64, len(below))]
		bits := uint64(0)
		for i, b := range part {
			if left == 0 {
				u, left = rng.Uint64(), 4
			}
			bits |= (u&0xffff - b) >> 63 << (i & 63) // the sign of the difference
			u >>= 16
			left--
		}
		row[w] = bits
	}
}

// count adds the bits of a row to their counts.
func count(ones []int, row []uint64) {
	for w, v := range row {
		part := ones[64*w : min(64*w+64, len(ones))]
		for i := range part {
			part[i] += int(v & 1)
			v >>= 1
		}
	}
}
