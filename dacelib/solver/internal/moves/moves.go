// Package moves has what searches do to packed solutions: flips, swaps of a one
// and a zero, and mutations that flip every bit with a probability.
package moves

import (
	"math"
	"math/rand/v2"
)

// Flip flips bit i.
func Flip(x []uint64, i int) { x[i>>6] ^= 1 << (i & 63) }

// At returns bit i.
func At(x []uint64, i int) uint64 { return x[i>>6] >> (i & 63) & 1 }

// mostTries is the number of draws after which a solution counts as all zeros or
// all ones, for a swap.
const mostTries = 20

// Partner returns a random bit whose value differs from that of bit i, or -1 if
// some draws find none.
func Partner(x []uint64, d, i int, rng *rand.Rand) int {
	for range mostTries {
		if j := rng.IntN(d); At(x, j) != At(x, i) {
			return j
		}
	}
	return -1
}

// Move flips a random bit or, with probability swaps, a random bit and one of the
// other value, which keeps the number of ones. It returns the bits, j = -1 for a
// flip; [Undo] takes it back.
func Move(x []uint64, d int, swaps float64, rng *rand.Rand) (i, j int) {
	i, j = rng.IntN(d), -1
	if swaps > 0 && rng.Float64() < swaps {
		j = Partner(x, d, i, rng)
	}
	Undo(x, i, j)
	return i, j
}

// Undo flips bit i and, unless j is negative, bit j.
func Undo(x []uint64, i, j int) {
	Flip(x, i)
	if j >= 0 {
		Flip(x, j)
	}
}

// A Rate is a probability with which each bit is flipped.
type Rate struct {
	p   float64
	log float64 // 1/log(1-p)
}

// NewRate returns the rate p in [0,1].
func NewRate(p float64) Rate { return Rate{p, 1 / math.Log1p(-p)} }

// Mutate flips each bit with the rate's probability and returns the number of
// flips. It draws the distances between flips.
func (r Rate) Mutate(x []uint64, d int, rng *rand.Rand) int {
	if r.p >= 1 {
		for i := range d {
			Flip(x, i)
		}
		return d
	}
	if r.p <= 0 {
		return 0
	}
	n := 0
	for i := r.skip(rng, d); i < d; i += 1 + r.skip(rng, d) {
		Flip(x, i)
		n++
	}
	return n
}

// skip draws the number of bits that stay before the next flip, at most d.
func (r Rate) skip(rng *rand.Rand, d int) int {
	return int(min(float64(d), rng.ExpFloat64()*-r.log))
}

// Some is Mutate until at least one bit is flipped: the idle mutations of an
// evolution strategy, which nobody would evaluate, are drawn again.
func (r Rate) Some(x []uint64, d int, rng *rand.Rand) int {
	for {
		if n := r.Mutate(x, d, rng); n > 0 || r.p <= 0 {
			return n
		}
	}
}
