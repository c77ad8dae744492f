// Package anneal is simulated annealing (Kirkpatrick, Gelatt, Vecchi: Optimization
// by simulated annealing, Science 220, 1983): a walk over single flips or swaps
// that accepts a loss of delta with probability exp(-delta/T), for a temperature T
// that falls.
//
// Start with [Solver]. Its parameters:
//
//   - start, the first temperature, in units of the mean absolute change of the
//     first moves; end, the last one as a share of it; the temperature falls
//     geometrically with the evaluations made;
//   - swaps, the share of moves that exchange a one and a zero;
//   - cycles, how many times it falls, each from the best solution so far;
//   - memory: values of solutions seen before are looked up, not evaluated.
package anneal

import (
	"context"
	"math"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/internal/moves"
)

func init() { solver.Register(Solver()) }

// Solver returns simulated annealing.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "anneal" }

func (family) Space(d, evaluations int) smac.Space {
	return smac.Space{Params: []smac.Param{
		{Name: "start", Kind: smac.Float, Lo: 0.01, Hi: 5, Log: true, Default: 0.5},
		{Name: "end", Kind: smac.Float, Lo: 0.001, Hi: 1, Log: true, Default: 0.02},
		{Name: "swaps", Kind: smac.Float, Lo: 0, Hi: 1, Default: 0},
		{Name: "cycles", Kind: smac.Int, Lo: 1, Hi: 20, Log: true, Default: 1},
		{Name: "memory", Kind: smac.Bool, Default: solver.MemoryDefault(evaluations)},
	}}
}

// Starts returns configurations to begin a choice with.
func (family) Starts(d, evaluations int) []string {
	return []string{
		"anneal", "anneal{start: 0.2}", "anneal{start: 1}", "anneal{swaps: 0.5}", "anneal{start: 0.2, swaps: 0.5}", "anneal{start: 1, swaps: 0.5}",
		"anneal{start: 0.3, cycles: 4}",
	}
}

func (f family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	return solver.Each(ctx, f, jobs, workers, func(s *solver.Search) error {
		walk(s)
		return nil
	})
}

// mostScale bounds the moves by which the scale of the changes is estimated.
const mostScale = 20

func walk(s *solver.Search) {
	if s.Flag("memory") {
		s.Remember()
	}
	d, swaps, rng := s.Dim(), s.Number("swaps"), s.Rand
	x := problem.Random(rng, 1, d).Words
	v := s.Value(x)

	// The scale, from moves that are taken unless they lose.
	sum, n := 0.0, 0
	for range min(mostScale, s.Left()/10) {
		i, j := moves.Move(x, d, swaps, rng)
		w := s.Value(x)
		if delta := math.Abs(w - v); !math.IsInf(delta, 0) && !math.IsNaN(delta) && delta > 0 {
			sum += delta
			n++
		}
		if w >= v {
			v = w
		} else {
			moves.Undo(x, i, j)
		}
	}
	scale := sum / max(1, float64(n))
	first, last := scale*s.Number("start"), s.Number("end")
	cycles := min(s.Int("cycles"), s.Left())
	for c := range cycles {
		length := s.Left() / (cycles - c)
		if length == 0 {
			return
		}
		end := s.Left() - length
		if c > 0 {
			s.BestInto(x)
			v = s.Best()
		}
		rate := math.Exp(math.Log(last) / float64(length)) // of the temperature, for each evaluation
		t, at := first, s.Left()
		for s.Left() > end {
			for ; at > s.Left(); at-- {
				t *= rate
			}
			if s.Stuck() {
				problem.Randomize(rng, problem.Solutions{D: d, Words: x})
				v = s.Value(x)
				continue
			}
			i, j := moves.Move(x, d, swaps, rng)
			// Accepting a loss with probability exp(-loss/t) is the same as
			// accepting one below an exponential variable of mean t.
			if w := s.Value(x); w >= v || v-w < t*rng.ExpFloat64() {
				v = w
			} else {
				moves.Undo(x, i, j)
			}
		}
	}
}
