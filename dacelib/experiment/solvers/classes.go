package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// draw returns instance i of a class of dimension d. Instances of different seeds
// are independent.
func draw(class string, d int, seed uint64, i int) (problem.Problem, error) {
	if class == "jobs" {
		return job("notebooks/data/functions.csv", seed, d, i)
	}
	f, ok := functions[class]
	if !ok { // one of the library's
		c, err := experiment.Class(class, d)
		if err != nil {
			return nil, err
		}
		return c.Test(seed, d, i)
	}
	value := f(run.Rand(seed, "solvers: "+class, d, i), d)
	return problem.FromBatch(fmt.Sprintf("%s-%d/%d/%d", class, d, seed, i), d, func(dst []float64, x problem.Solutions) {
		for k := range dst {
			dst[k] = value(x.Row(k))
		}
	}), nil
}

func bit(x []uint64, i int) int { return int(x[i>>6] >> (i & 63) & 1) }

// functions are the classes: the six of the comparison first, then those that
// served while the methods were written.
var functions = map[string]func(r *rand.Rand, d int) func(x []uint64) float64{
	"nk":       func(r *rand.Rand, d int) func(x []uint64) float64 { return nk(r, d, 4) },
	"qubo":     func(r *rand.Rand, d int) func(x []uint64) float64 { return qubo(r, d, 0.5) },
	"max3sat":  func(r *rand.Rand, d int) func(x []uint64) float64 { return max3sat(r, d, 4.27) },
	"maxcut":   func(r *rand.Rand, d int) func(x []uint64) float64 { return maxcut(r, d, 0.3) },
	"knapsack": knapsack,
	"traps":    func(r *rand.Rand, d int) func(x []uint64) float64 { return traps(r, d, 5) },

	"nk2":     func(r *rand.Rand, d int) func(x []uint64) float64 { return nk(r, d, 2) },
	"sparse":  func(r *rand.Rand, d int) func(x []uint64) float64 { return qubo(r, d, 0.1) },
	"labs":    labs,
	"cover":   cover,
	"leading": leading,
	"traps4":  func(r *rand.Rand, d int) func(x []uint64) float64 { return traps(r, d, 4) },
}

func nk(r *rand.Rand, d, k int) func(x []uint64) float64 {
	near, table := make([][]int, d), make([][]float64, d)
	for i := range d {
		near[i] = []int{i}
		for _, j := range r.Perm(d) {
			if j != i && len(near[i]) <= k {
				near[i] = append(near[i], j)
			}
		}
		table[i] = make([]float64, 2<<k)
		for j := range table[i] {
			table[i][j] = r.Float64()
		}
	}
	return func(x []uint64) float64 {
		v := 0.0
		for i := range near {
			at := 0
			for _, j := range near[i] {
				at = at<<1 | bit(x, j)
			}
			v += table[i][at]
		}
		return v / float64(d)
	}
}

func qubo(r *rand.Rand, d int, density float64) func(x []uint64) float64 {
	q := make([][]float64, d)
	for i := range q {
		q[i] = make([]float64, i+1)
		for j := range q[i] {
			if i == j || r.Float64() < density {
				q[i][j] = float64(r.IntN(201) - 100)
			}
		}
	}
	return func(x []uint64) float64 {
		v := 0.0
		for i := range q {
			if bit(x, i) == 1 {
				for j, w := range q[i] {
					v += w * float64(bit(x, j))
				}
			}
		}
		return v
	}
}

func max3sat(r *rand.Rand, d int, ratio float64) func(x []uint64) float64 {
	type literal struct{ at, value int }
	clauses := make([][3]literal, int(ratio*float64(d)))
	for i := range clauses {
		for k, at := range r.Perm(d)[:3] {
			clauses[i][k] = literal{at, r.IntN(2)}
		}
	}
	return func(x []uint64) float64 {
		n := 0
		for i := range clauses {
			for _, l := range clauses[i] {
				if bit(x, l.at) == l.value {
					n++
					break
				}
			}
		}
		return float64(n)
	}
}

func maxcut(r *rand.Rand, d int, density float64) func(x []uint64) float64 {
	type edge struct {
		i, j int
		w    float64
	}
	var edges []edge
	for i := range d {
		for j := range i {
			if r.Float64() < density {
				w := float64(r.IntN(10) - 5)
				if w >= 0 {
					w++
				}
				edges = append(edges, edge{i, j, w})
			}
		}
	}
	return func(x []uint64) float64 {
		v := 0.0
		for _, e := range edges {
			v += e.w * float64(bit(x, e.i)^bit(x, e.j))
		}
		return v
	}
}

func knapsack(r *rand.Rand, d int) func(x []uint64) float64 {
	weight, total := make([]float64, d), 0.0
	for i := range weight {
		weight[i] = float64(1 + r.IntN(100))
		total += weight[i]
	}
	room := math.Floor(total * 0.4)
	return func(x []uint64) float64 {
		v, w := 0.0, 0.0
		for i := range weight {
			if bit(x, i) == 1 {
				v, w = v+weight[i]+10, w+weight[i]
			}
		}
		if w > room {
			return room - w
		}
		return v
	}
}

func traps(r *rand.Rand, d, size int) func(x []uint64) float64 {
	target, order := make([]int, d), r.Perm(d)
	for i := range target {
		target[i] = r.IntN(2)
	}
	return func(x []uint64) float64 {
		v := 0
		for b := 0; b+size <= d; b += size {
			u := 0
			for _, i := range order[b : b+size] {
				if bit(x, i) == target[i] {
					u++
				}
			}
			if u == size {
				v += size
			} else {
				v += size - 1 - u
			}
		}
		return float64(v)
	}
}

// labs is the merit factor of low-autocorrelation binary sequences, masked at
// random.
func labs(r *rand.Rand, d int) func(x []uint64) float64 {
	mask := make([]int, d)
	for i := range mask {
		mask[i] = r.IntN(2)
	}
	return func(x []uint64) float64 {
		s := make([]int, d)
		for i := range s {
			s[i] = 2*(bit(x, i)^mask[i]) - 1
		}
		e := 0
		for k := 1; k < d; k++ {
			c := 0
			for i := range d - k {
				c += s[i] * s[i+k]
			}
			e += c * c
		}
		return float64(d*d) / float64(2*e)
	}
}

// cover is minus the size of a vertex cover of a random graph; an edge that is not
// covered costs three.
func cover(r *rand.Rand, d int) func(x []uint64) float64 {
	var edges [][2]int
	for i := range d {
		for j := range i {
			if r.Float64() < 4/float64(d) {
				edges = append(edges, [2]int{i, j})
			}
		}
	}
	return func(x []uint64) float64 {
		v := 0
		for i := range d {
			v -= bit(x, i)
		}
		for _, e := range edges {
			if bit(x, e[0])+bit(x, e[1]) == 0 {
				v -= 3
			}
		}
		return float64(v)
	}
}

// leading is LeadingOnes with a random order and target.
func leading(r *rand.Rand, d int) func(x []uint64) float64 {
	order, target := r.Perm(d), make([]int, d)
	for i := range target {
		target[i] = r.IntN(2)
	}
	return func(x []uint64) float64 {
		for k, i := range order {
			if bit(x, i) != target[i] {
				return float64(k)
			}
		}
		return float64(d)
	}
}
