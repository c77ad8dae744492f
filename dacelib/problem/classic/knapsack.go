package classic

import (
	"fmt"

	"dace.local/dacelib/run"
)

// Knapsack returns the knapsack problem. The value of a selection of items is
// the sum of their values if their weight is within capacity, and else minus
// the excess weight, so that every selection that fits is better than any that
// does not. The optimum is found by dynamic programming over the capacity.
//
// It returns an error if values and weights have different lengths, or if an
// item's value or weight or the capacity is below 0.
func Knapsack(name string, values, weights []int, capacity int) (*Instance, error) {
	if len(values) != len(weights) || len(values) == 0 {
		return nil, fmt.Errorf("classic: a knapsack of %d values and %d weights", len(values), len(weights))
	}
	if capacity < 0 {
		return nil, fmt.Errorf("classic: a knapsack of capacity %d", capacity)
	}
	best := make([]int, capacity+1)
	for j, v := range values {
		w := weights[j]
		if v < 0 || w < 0 {
			return nil, fmt.Errorf("classic: item %d of the knapsack has value %d and weight %d", j, v, w)
		}
		for c := capacity; c >= w; c-- {
			best[c] = max(best[c], best[c-w]+v)
		}
	}
	values, weights = append([]int(nil), values...), append([]int(nil), weights...)
	f := func(row []uint64) float64 {
		v, w := 0, 0
		each(row, func(j int) { v += values[j]; w += weights[j] })
		if w > capacity {
			return float64(capacity - w)
		}
		return float64(v)
	}
	return &Instance{name, len(values), f, float64(best[capacity])}, nil
}

// RandomKnapsack draws a knapsack of d items with values and weights of 1 to
// 100 and a capacity of half the total weight.
func RandomKnapsack(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a knapsack", d, 1, 10_000); err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "knapsack", d)
	values, weights, total := make([]int, d), make([]int, d), 0
	for j := range d {
		values[j], weights[j] = 1+rng.IntN(100), 1+rng.IntN(100)
		total += weights[j]
	}
	return Knapsack(fmt.Sprintf("knapsack-%d/%d", d, seed), values, weights, total/2)
}
