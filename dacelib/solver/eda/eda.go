// Package eda is population-based incremental learning, PBIL (Baluja: Population-
// based incremental learning, CMU-CS-94-163, 1994), an estimation-of-distribution
// algorithm: solutions are drawn from a vector of probabilities, one for each bit,
// which moves towards the best of them.
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
	"context"
	"math"
	"math/rand/v2"

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
	x, values, scratch := problem.NewSolutions(n, d), make([]float64, n), make([]float64, n)
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
		first, last := 0, 0 // the best, the worst
		for k, v := range values[:m] {
			if v > values[first] {
				first = k
			}
			if v <= values[last] {
				last = k
			}
		}
		if m == 0 || values[first] == values[last] {
			continue // nothing is learnt from equals
		}
		top := min(best, m-1)
		bound, more := largest(append(scratch[:0], values[:m]...), top)
		clear(ones)
		for k, v := range values[:m] {
			if v > bound || v == bound && more > 0 {
				if v == bound {
					more--
				}
				count(ones, x.Row(k))
			}
		}
		for i := range p {
			p[i] += rate * (float64(ones[i])/float64(top) - p[i])
			if bit := moves.At(x.Row(first), i); away && bit != moves.At(x.Row(last), i) {
				p[i] += rate / 2 * (float64(bit) - p[i])
			}
			p[i] = min(1-margin, max(margin, p[i]))
		}
	}
}

// largest returns the n-th largest of some values, and how many of the n largest are
// equal to it. It reorders them: Hoare's selection.
func largest(v []float64, n int) (bound float64, equal int) {
	rest := v
	for at := n - 1; len(rest) > 1; {
		pivot := rest[len(rest)/2]
		i, j := 0, len(rest)-1
		for i <= j {
			for rest[i] > pivot {
				i++
			}
			for rest[j] < pivot {
				j--
			}
			if i <= j {
				rest[i], rest[j] = rest[j], rest[i]
				i++
				j--
			}
		}
		switch {
		case at <= j:
			rest = rest[:j+1]
		case at >= i:
			rest, at = rest[i:], at-i
		default: // between equals
			rest = rest[at : at+1]
		}
	}
	bound, equal = rest[0], n
	for _, w := range v {
		if w > bound {
			equal--
		}
	}
	return bound, equal
}

// draw sets each bit with its probability, to 16 binary digits: where a random number
// of 16 bits is below a bound.
func draw(row, below []uint64, rng *rand.Rand) {
	for w := range row {
		part := below[64*w : min(64*w+64, len(below))]
		bits, at := uint64(0), 0
		for ; len(part) >= 4; part, at = part[4:], at+4 {
			u := rng.Uint64()
			// The sign of each difference.
			bits |= ((u&0xffff-part[0])>>63 | (u>>16&0xffff-part[1])>>63<<1 | (u>>32&0xffff-part[2])>>63<<2 | (u>>48-part[3])>>63<<3) << (at & 63)
		}
		if len(part) > 0 {
			u := rng.Uint64()
			for k, b := range part {
				bits |= (u&0xffff - b) >> 63 << ((at + k) & 63)
				u >>= 16
			}
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
