// Package tabu is tabu search over single flips (Glover: Tabu search, ORSA Journal
// on Computing 1, 1989; for bits: Glover, Kochenberger, Alidaee: Adaptive memory
// tabu search for binary quadratic programs, 1998): it moves to the best neighbour
// even if that loses, and does not flip a bit again for a while, unless that leads
// to a new best solution.
//
// Start with [Solver]. Its parameters:
//
//   - tenure, for how many moves a bit stays, as a share of d; one to three are
//     added at random;
//   - sample, the share of the bits that are tried before a move;
//   - ascent: the search first climbs by first improvement, which reaches a local
//     optimum with fewer evaluations;
//   - restart, after how many moves without a new best it begins anew; 0 means
//     never;
//   - memory: values of solutions seen before are looked up, not evaluated.
package tabu

import (
	"context"
	"math"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/internal/moves"
)

func init() { solver.Register(Solver()) }

// Solver returns tabu search.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "tabu" }

func (family) Space(d, evaluations int) smac.Space {
	return smac.Space{Params: []smac.Param{
		{Name: "tenure", Kind: smac.Float, Lo: 0, Hi: 0.8, Default: 0.25},
		{Name: "sample", Kind: smac.Float, Lo: 0.05, Hi: 1, Log: true, Default: 1},
		{Name: "ascent", Kind: smac.Bool, Default: 1},
		{Name: "restart", Kind: smac.Int, Lo: 0, Hi: 200, Default: 10},
		{Name: "memory", Kind: smac.Bool, Default: solver.MemoryDefault(evaluations)},
	}}
}

// Starts returns configurations to begin a choice with.
func (family) Starts(d, evaluations int) []string {
	return []string{"tabu", "tabu{ascent: false}", "tabu{tenure: 0.1}", "tabu{sample: 0.3, restart: 50}"}
}

func (f family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	return solver.Each(ctx, f, jobs, workers, func(s *solver.Search) error {
		search(s)
		return nil
	})
}

func search(s *solver.Search) {
	if s.Flag("memory") {
		s.Remember()
	}
	d, rng := s.Dim(), s.Rand
	tenure := int(s.Number("tenure") * float64(d))
	size := max(1, int(math.Round(s.Number("sample")*float64(d))))
	ascent, restart := s.Flag("ascent"), s.Int("restart")
	x := problem.NewSolutions(1, d)
	near, got := problem.NewSolutions(size, d), make([]float64, size)
	until, order := make([]int, d), rng.Perm(d)
	var v, best float64
	move, stale := 0, 0
	begin := func() {
		problem.Randomize(rng, x)
		v = s.Value(x.Words)
		clear(until)
		move, stale = 0, 0
		if ascent {
			v = climb(s, x.Words, v, order)
		}
		best = v
	}
	for begin(); !s.Over(); move++ {
		if s.Stuck() || restart > 0 && stale >= restart {
			begin()
		}
		if size < d { // the beginning of a shuffle is a random sample
			for k := range size {
				at := k + rng.IntN(d-k)
				order[k], order[at] = order[at], order[k]
			}
		}
		for k, i := range order[:size] {
			copy(near.Row(k), x.Words)
			moves.Flip(near.Row(k), i)
		}
		n := s.Values(got, near)
		at, same := -1, 0
		for k, w := range got[:n] {
			switch {
			case until[order[k]] > move && w <= best, at >= 0 && w < got[at]:
			case at < 0 || w > got[at]:
				at, same = k, 1
			default:
				if same++; rng.IntN(same) == 0 {
					at = k
				}
			}
		}
		stale++
		if at < 0 {
			continue
		}
		copy(x.Words, near.Row(at))
		v = got[at]
		until[order[at]] = move + 1 + tenure + rng.IntN(3)
		if v > best {
			best, stale = v, 0
		}
	}
}

// climb takes the first better flips, in random order, until there is none.
func climb(s *solver.Search, x []uint64, v float64, order []int) float64 {
	d := len(order)
	s.Rand.Shuffle(d, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for k, failed := 0, 0; failed < d && !s.Over(); k = (k + 1) % d {
		moves.Flip(x, order[k])
		if w := s.Value(x); w > v {
			v, failed = w, 1
		} else {
			moves.Flip(x, order[k])
			failed++
		}
	}
	return v
}
