package classic

import (
	"fmt"
	"math/bits"

	"dace.local/dacelib/run"
)

// MaxCut returns the maximum cut problem of a weighted graph of d nodes, 1 to
// 24: the value is the sum of weight[i][j], i < j, over the pairs with x_i !=
// x_j. The optimum is found by trying all cuts.
func MaxCut(name string, weight [][]int) (*Instance, error) {
	d := len(weight)
	if err := checkDim("a graph to cut", d, 1, 24); err != nil {
		return nil, err
	}
	w := make([][]int, d) // symmetric
	for i := range w {
		w[i] = make([]int, d)
	}
	for i, row := range weight {
		if len(row) != d {
			return nil, fmt.Errorf("classic: row %d of the weights has %d of %d nodes", i, len(row), d)
		}
		for j := i + 1; j < d; j++ {
			w[i][j], w[j][i] = row[j], row[j]
		}
	}
	f := func(row []uint64) float64 {
		cut := 0
		each(row, func(i int) {
			for j, v := range w[i] {
				cut += v * (1 - bit(row, j))
			}
		})
		return float64(cut)
	}
	// Try all cuts in the order of a Gray code, which moves one node at a time;
	// the last node stays on its side.
	best, cut, side := 0, 0, uint32(0)
	for k := uint32(1); k < 1<<(d-1); k++ {
		i := bits.TrailingZeros32(k)
		for j, v := range w[i] {
			if (side>>i^side>>j)&1 == 1 {
				v = -v
			}
			cut += v
		}
		side ^= 1 << i
		best = max(best, cut)
	}
	return &Instance{name, d, f, float64(best)}, nil
}

// RandomMaxCut draws a graph of d nodes, 1 to 24, in which half of the pairs
// have an edge, of weight 1 to 10.
func RandomMaxCut(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a graph to cut", d, 1, 24); err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "maxcut", d)
	weight := make([][]int, d)
	for i := range weight {
		weight[i] = make([]int, d)
		for j := i + 1; j < d; j++ {
			if rng.IntN(2) == 1 {
				weight[i][j] = 1 + rng.IntN(10)
			}
		}
	}
	return MaxCut(fmt.Sprintf("maxcut-%d/%d", d, seed), weight)
}
