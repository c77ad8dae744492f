// Package ils is iterated local search (Lourenço, Martin, Stützle: Iterated local
// search, Handbook of Metaheuristics, 2003): climb to a local optimum, flip some
// bits of it, climb again, and go on from the better one.
//
// Start with [Solver]. Its parameters:
//
//   - improvement: "first" takes the first better neighbour, in random order, "best"
//     the best of all;
//   - swaps: neighbours that exchange a one and a zero follow those of one flip,
//     once no flip improves;
//   - kick, how many bits are flipped between climbs;
//   - restart: after so many climbs without gain the search begins anew at a random
//     solution; 0 means never;
//   - memory: values of solutions seen before are looked up, not evaluated. After a
//     kick many are.
package ils

import (
	"context"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/internal/moves"
)

func init() { solver.Register(Solver()) }

// Solver returns iterated local search.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "ils" }

func (family) Space(d, evaluations int) smac.Space {
	return smac.Space{Params: []smac.Param{
		{Name: "improvement", Kind: smac.Category, Choices: []string{"first", "best"}},
		{Name: "swaps", Kind: smac.Bool},
		{Name: "kick", Kind: smac.Int, Lo: 1, Hi: 50, Log: true, Default: 3},
		{Name: "restart", Kind: smac.Int, Lo: 0, Hi: 50, Default: 0},
		{Name: "memory", Kind: smac.Bool, Default: solver.MemoryDefault(evaluations)},
	}}
}

// Starts returns configurations to begin a choice with.
func (family) Starts(d, evaluations int) []string {
	return []string{"ils", "ils{kick: 2}", "ils{kick: 5}", "ils{kick: 8}", "ils{swaps: true}", "ils{kick: 5, restart: 10}", "ils{improvement: best}"}
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
	c := &climber{s: s, d: d, x: problem.Random(rng, 1, d).Words, order: rng.Perm(d), swaps: s.Flag("swaps")}
	kick, restart := min(s.Int("kick"), d), s.Int("restart")
	climb := c.first
	if s.Choice("improvement") == "best" {
		climb = c.best
	}
	c.v = s.Value(c.x)
	climb()
	top, best := append([]uint64(nil), c.x...), c.v
	for stale := 0; !s.Over(); {
		if s.Stuck() || restart > 0 && stale >= restart {
			problem.Randomize(rng, problem.Solutions{D: d, Words: c.x})
			c.v = s.Value(c.x)
			climb()
			copy(top, c.x)
			best, stale = c.v, 0
			continue
		}
		copy(c.x, top)
		for k := range kick { // distinct bits: the beginning of a shuffle
			at := k + rng.IntN(d-k)
			c.order[k], c.order[at] = c.order[at], c.order[k]
			moves.Flip(c.x, c.order[k])
		}
		c.v = s.Value(c.x)
		climb()
		if stale++; c.v > best {
			stale = 0
		}
		if c.v >= best {
			copy(top, c.x)
			best = c.v
		}
	}
}

// A climber climbs from x, whose value is v.
type climber struct {
	s     *solver.Search
	d     int
	x     []uint64
	v     float64
	order []int
	swaps bool
	ones  []int
	zeros []int
	batch problem.Solutions
	got   []float64
}

func (c *climber) shuffle() {
	c.s.Rand.Shuffle(c.d, func(i, j int) { c.order[i], c.order[j] = c.order[j], c.order[i] })
}

// first takes the first better neighbour until there is none. It goes round the
// bits, and ends when none has improved since the last gain.
func (c *climber) first() {
	for {
		c.shuffle()
		for k, failed := 0, 0; failed < c.d && !c.s.Over(); k = (k + 1) % c.d {
			moves.Flip(c.x, c.order[k])
			if w := c.s.Value(c.x); w > c.v {
				c.v, failed = w, 1 // flipping it back would lose
			} else {
				moves.Flip(c.x, c.order[k])
				failed++
			}
		}
		if !c.swaps || c.s.Over() || !c.firstSwap() {
			return
		}
	}
}

// firstSwap takes the first better exchange of a one and a zero.
func (c *climber) firstSwap() bool {
	c.split()
	rng := c.s.Rand
	rng.Shuffle(len(c.ones), func(i, j int) { c.ones[i], c.ones[j] = c.ones[j], c.ones[i] })
	rng.Shuffle(len(c.zeros), func(i, j int) { c.zeros[i], c.zeros[j] = c.zeros[j], c.zeros[i] })
	for _, i := range c.ones {
		for _, j := range c.zeros {
			moves.Undo(c.x, i, j)
			if w := c.s.Value(c.x); w > c.v {
				c.v = w
				return true
			}
			moves.Undo(c.x, i, j)
			if c.s.Over() {
				return false
			}
		}
	}
	return false
}

// split lists the ones and the zeros of x.
func (c *climber) split() {
	c.ones, c.zeros = c.ones[:0], c.zeros[:0]
	for i := range c.d {
		if moves.At(c.x, i) == 1 {
			c.ones = append(c.ones, i)
		} else {
			c.zeros = append(c.zeros, i)
		}
	}
}

// best takes the best neighbour until none is better.
func (c *climber) best() {
	for !c.s.Over() {
		c.room(c.d)
		for i := range c.d {
			copy(c.batch.Row(i), c.x)
			moves.Flip(c.batch.Row(i), i)
		}
		if c.take(c.d) {
			continue
		}
		if !c.swaps {
			return
		}
		c.split()
		n := len(c.ones) * len(c.zeros)
		c.room(n)
		for a, i := range c.ones {
			for b, j := range c.zeros {
				row := c.batch.Row(a*len(c.zeros) + b)
				copy(row, c.x)
				moves.Undo(row, i, j)
			}
		}
		if !c.take(n) {
			return
		}
	}
}

// room makes room for n neighbours.
func (c *climber) room(n int) {
	if c.batch.Len() < n {
		c.batch = problem.NewSolutions(n, c.d)
		c.got = make([]float64, n)
	}
}

// take evaluates n neighbours, moves to the best of them, the first of a random
// choice among equals, and reports whether it is better.
func (c *climber) take(n int) bool {
	n = c.s.Values(c.got, c.batch.Slice(0, n))
	best, same := -1, 0
	for i, w := range c.got[:n] {
		switch {
		case w <= c.v || best >= 0 && w < c.got[best]:
		case best < 0 || w > c.got[best]:
			best, same = i, 1
		default:
			if same++; c.s.Rand.IntN(same) == 0 {
				best = i
			}
		}
	}
	if best < 0 {
		return false
	}
	copy(c.x, c.batch.Row(best))
	c.v = c.got[best]
	return true
}
