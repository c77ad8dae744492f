package problem

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// Random returns n solutions of dimension d, each drawn uniformly from {0,1}^d;
// solutions may repeat.
func Random(rng *rand.Rand, n, d int) Solutions {
	s := NewSolutions(n, d)
	Randomize(rng, s)
	return s
}

// Randomize overwrites the solutions of s with uniformly drawn ones.
func Randomize(rng *rand.Rand, s Solutions) {
	if len(s.Words) == 0 {
		return
	}
	w, top := Stride(s.D), lastWord(s.D)
	for i := range s.Words {
		s.Words[i] = rng.Uint64()
		if i%w == w-1 {
			s.Words[i] &= top
		}
	}
}

// Distinct returns n distinct solutions of dimension d: a uniform sample
// without replacement, in random order. It returns an error if {0,1}^d has
// fewer than n elements.
func Distinct(rng *rand.Rand, n, d int) (Solutions, error) {
	if n < 0 || d <= 0 {
		return Solutions{}, fmt.Errorf("problem: cannot draw %d solutions of dimension %d", n, d)
	}
	if d < 63 && n > 1<<d {
		return Solutions{}, fmt.Errorf("problem: there are only %d solutions of dimension %d, not %d", uint64(1)<<d, d, n)
	}
	if d > MaxDim || n > MaxBatch/8/Stride(d) {
		return Solutions{}, fmt.Errorf("problem: %d solutions of dimension %d are more than a batch holds (MaxDim, MaxBatch)", n, d)
	}
	s := NewSolutions(n, d)
	if d < 30 && n > 1<<d/4 {
		// Dense case: take the first n of a shuffle of all solutions.
		all := make([]uint32, 1<<d)
		for i := range all {
			all[i] = uint32(i)
		}
		for i := range n {
			j := i + rng.IntN(len(all)-i)
			all[i], all[j] = all[j], all[i]
			s.Words[i] = uint64(all[i])
		}
		return s, nil
	}
	// Sparse case: draw, and repeat draws of known solutions.
	set := newRowSet(n)
	for i := 0; i < n; {
		Randomize(rng, s.Slice(i, i+1))
		if set.add(s, i) {
			i++
		}
	}
	return s, nil
}

// Enumerate returns all 2^d solutions of dimension d; bit j of solution i is
// bit j of i. It panics for d > 24.
func Enumerate(d int) Solutions {
	if d > 24 {
		panic("problem: Enumerate is for d <= 24")
	}
	s := NewSolutions(1<<d, d)
	for i := range s.Words {
		s.Words[i] = uint64(i)
	}
	return s
}

// lastWord returns the mask of the bits in use in a row's last word.
func lastWord(d int) uint64 { return ^uint64(0) >> (-d & 63) }

// A rowSet is a hash set of rows of a Solutions, stored by index, with open
// addressing, at most half full.
type rowSet struct {
	slots []int32 // index+1; 0 if empty
	shift int
}

func newRowSet(n int) *rowSet {
	k := max(bits.Len(uint(n))+1, 4)
	return &rowSet{make([]int32, 1<<k), 64 - k}
}

// add adds row i of s and reports whether it was new.
func (t *rowSet) add(s Solutions, i int) bool {
	row := s.Row(i)
	h := uint64(0)
	for _, w := range row {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	h *= 0xd6e8feb86659fd93
next:
	for k := h >> t.shift; ; k = (k + 1) & uint64(len(t.slots)-1) {
		at := t.slots[k]
		if at == 0 {
			t.slots[k] = int32(i + 1)
			return true
		}
		for j, w := range s.Row(int(at - 1)) {
			if w != row[j] {
				continue next
			}
		}
		return false
	}
}
