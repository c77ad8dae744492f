package classic

import (
	"fmt"
	"math"

	"dace.local/dacelib/run"
)

// NK returns Kauffman's NK landscape in which bit i depends on the next k bits,
// cyclically. The value is the mean over i of table[i][v], where v is the
// number with the bits x_i, x_{i+1}, ..., x_{i+k}, lowest first. table is d x
// 2^(k+1), with k < d and k at most 8. The optimum is found by dynamic
// programming.
func NK(name string, k int, table [][]float64) (*Instance, error) {
	d := len(table)
	if k < 0 || k >= d || k > 8 {
		return nil, fmt.Errorf("classic: an NK landscape of d = %d and k = %d: want 0 <= k < d and k <= 8", d, k)
	}
	t := make([][]float64, d)
	for i, row := range table {
		if len(row) != 1<<(k+1) {
			return nil, fmt.Errorf("classic: row %d of the NK table has %d values, want %d", i, len(row), 1<<(k+1))
		}
		for _, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("classic: row %d of the NK table holds %v", i, v)
			}
		}
		t[i] = append([]float64(nil), row...)
	}
	f := func(row []uint64) float64 {
		sum := 0.0
		v := 0
		for j := range k {
			v |= bit(row, j) << (j + 1)
		}
		for i := range d {
			v = v>>1 | bit(row, (i+k)%d)<<k
			sum += t[i][v]
		}
		return sum / float64(d)
	}
	return &Instance{name, d, f, nkOptimum(t, k)}, nil
}

// nkOptimum adds the best table entries in the same order as Evaluate, so that
// the sum equals the best solution's value to the last bit. For every choice of
// the first k bits it keeps, for every state of the last k bits, the best sum
// so far.
func nkOptimum(t [][]float64, k int) float64 {
	d, states := len(t), 1<<k
	best := math.Inf(-1)
	sum, next := make([]float64, states), make([]float64, states)
	for start := range states {
		for s := range sum {
			sum[s] = math.Inf(-1)
		}
		sum[start] = 0
		for i := range d {
			for s := range next {
				next[s] = math.Inf(-1)
			}
			for s, v := range sum {
				for b := range 2 {
					// Bit i+k is free until it wraps around to the start.
					if j := i + k - d; j >= 0 && b != start>>j&1 {
						continue
					}
					w := s | b<<k
					next[w>>1] = max(next[w>>1], v+t[i][w])
				}
			}
			sum, next = next, sum
		}
		best = max(best, sum[start])
	}
	return best / float64(d)
}

// RandomNK draws an NK landscape of dimension d with uniform tables.
func RandomNK(seed uint64, d, k int) (*Instance, error) {
	if d < 1 || k < 0 || k >= d || k > 8 {
		return nil, fmt.Errorf("classic: an NK landscape of d = %d and k = %d: want 0 <= k < d and k <= 8", d, k)
	}
	rng := run.Rand(seed, "nk", d, k)
	table := make([][]float64, d)
	for i := range table {
		table[i] = make([]float64, 1<<(k+1))
		for v := range table[i] {
			table[i][v] = rng.Float64()
		}
	}
	return NK(fmt.Sprintf("nk-%d-%d/%d", d, k, seed), k, table)
}
