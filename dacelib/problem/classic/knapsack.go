package classic

import (
	"fmt"
	"sync"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// knapsackData is a knapsack's items.
type knapsackData struct {
	Values   []int `json:"values"`
	Weights  []int `json:"weights"`
	Capacity int   `json:"capacity"`
}

// mostCapacity bounds the capacity of a knapsack and the sums of its values and
// weights: the optimum is found in the time of the capacity times the items.
const mostCapacity = 1 << 40

// Knapsack returns the knapsack problem. The value of a selection of items is
// the sum of their values if their weight is within capacity, and else minus
// the excess weight, so that every selection that fits is better than any that
// does not. The optimum is found by dynamic programming over the capacity when it
// is first asked for, if that takes at most about a second.
//
// It returns an error if values and weights have different lengths, or if an
// item's value or weight or the capacity is below 0.
func Knapsack(name string, values, weights []int, capacity int) (*Instance, error) {
	return (&knapsackData{append([]int(nil), values...), append([]int(nil), weights...), capacity}).instance(name)
}

func (k *knapsackData) instance(name string) (*Instance, error) {
	if len(k.Values) != len(k.Weights) || len(k.Values) == 0 {
		return nil, fmt.Errorf("classic: a knapsack of %d values and %d weights", len(k.Values), len(k.Weights))
	}
	if k.Capacity < 0 || k.Capacity > mostCapacity {
		return nil, fmt.Errorf("classic: a knapsack of capacity %d", k.Capacity)
	}
	value, weight := 0, 0
	for j, v := range k.Values {
		w := k.Weights[j]
		if v < 0 || w < 0 || v > mostCapacity || w > mostCapacity {
			return nil, fmt.Errorf("classic: item %d of the knapsack has value %d and weight %d", j, v, w)
		}
		value, weight = value+v, weight+w
	}
	if value > 1<<52 || weight > 1<<52 {
		return nil, fmt.Errorf("classic: a knapsack of value %d and weight %d", value, weight)
	}
	p := newInstance(name, len(k.Values), k, "knapsack", k)
	all := p.best
	p.best = sync.OnceValues(func() (float64, bool) {
		capacity := min(k.Capacity, weight)
		if capacity > 1<<30/len(k.Values) {
			return all()
		}
		return float64(k.most(capacity)), true
	})
	return p, nil
}

// most returns the largest value of a selection within a capacity.
func (k *knapsackData) most(capacity int) int {
	best := make([]int, capacity+1)
	for j, v := range k.Values {
		w := k.Weights[j]
		for c := capacity; c >= w; c-- {
			best[c] = max(best[c], best[c-w]+v)
		}
	}
	return best[capacity]
}

func (k *knapsackData) value(row []uint64) float64 {
	v, w := 0, 0
	each(row, func(j int) { v += k.Values[j]; w += k.Weights[j] })
	return k.of(v, w)
}

// of returns the value of a selection of value v and weight w.
func (k *knapsackData) of(v, w int) float64 {
	if w > k.Capacity {
		return float64(k.Capacity - w)
	}
	return float64(v)
}

func (k *knapsackData) walk() problem.Walk {
	return &knapsackWalk{k: k, state: state{row: make([]uint64, problem.Stride(len(k.Values)))}}
}

type knapsackWalk struct {
	state
	k            *knapsackData
	worth, heavy int
}

func (w *knapsackWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	w.worth, w.heavy = 0, 0
	each(w.row, func(j int) { w.worth += w.k.Values[j]; w.heavy += w.k.Weights[j] })
	w.v = w.k.of(w.worth, w.heavy)
	return w.v
}

func (w *knapsackWalk) Peek(j int) float64 {
	s := 1 - 2*bit(w.row, j)
	return w.k.of(w.worth+s*w.k.Values[j], w.heavy+s*w.k.Weights[j])
}

func (w *knapsackWalk) PeekAll(dst []float64) { peekAll(w, dst[:len(w.k.Values)]) }

func (w *knapsackWalk) Flip(j int) float64 {
	s := 1 - 2*bit(w.row, j)
	w.worth += s * w.k.Values[j]
	w.heavy += s * w.k.Weights[j]
	w.row[j>>6] ^= 1 << (j & 63)
	w.v = w.k.of(w.worth, w.heavy)
	return w.v
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
