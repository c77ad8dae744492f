package classic

import (
	"fmt"
	"math"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// ringData is an NK landscape in which bit i depends on the next k bits.
type ringData struct {
	K     int         `json:"k"`
	Table [][]float64 `json:"table"`
}

// NK returns Kauffman's NK landscape in which bit i depends on the next k bits,
// cyclically. The value is the mean over i of table[i][v], where v is the
// number with the bits x_i, x_{i+1}, ..., x_{i+k}, lowest first. table is d x
// 2^(k+1), with k < d and k at most 8. The optimum is found by dynamic
// programming.
func NK(name string, k int, table [][]float64) (*Instance, error) {
	return (&ringData{k, cloneTable(table)}).instance(name)
}

func (r *ringData) instance(name string) (*Instance, error) {
	d := len(r.Table)
	if r.K < 0 || r.K >= d || r.K > 8 {
		return nil, fmt.Errorf("classic: an NK landscape of d = %d and k = %d: want 0 <= k < d and k <= 8", d, r.K)
	}
	next := make([][]int, d)
	for i := range next {
		for j := range r.K {
			next[i] = append(next[i], (i+j+1)%d)
		}
	}
	f, err := newNK(next, r.Table)
	if err != nil {
		return nil, err
	}
	p := newInstance(name, d, &ring{f, r.K}, "nk ring", r)
	return p.known(nkOptimum(r.Table, r.K)), nil
}

// ring is an NK landscape whose terms are found faster, from one to the next.
type ring struct {
	*nk
	k int
}

func (f *ring) value(row []uint64) float64 {
	d, sum, v := len(f.table), 0.0, 0
	for j := range f.k {
		v |= bit(row, j) << (j + 1)
	}
	for i, t := range f.table {
		v = v>>1 | bit(row, (i+f.k)%d)<<f.k
		sum += t[v]
	}
	return sum / float64(d)
}

// nkData is an NK landscape of any neighbours.
type nkData struct {
	Neighbours [][]int     `json:"neighbours"`
	Table      [][]float64 `json:"table"`
}

// NKOf returns the NK landscape in which bit i depends on the bits neighbours[i].
// The value is the mean over i of table[i][v], where v is the number with the bits
// x_i and those of neighbours[i], lowest first.
func NKOf(name string, neighbours [][]int, table [][]float64) (*Instance, error) {
	n := &nkData{Table: cloneTable(table)}
	for _, row := range neighbours {
		n.Neighbours = append(n.Neighbours, append([]int{}, row...))
	}
	return n.instance(name)
}

func (n *nkData) instance(name string) (*Instance, error) {
	f, err := newNK(n.Neighbours, n.Table)
	if err != nil {
		return nil, err
	}
	return newInstance(name, len(n.Table), f, "nk", n), nil
}

func cloneTable(table [][]float64) [][]float64 {
	var t [][]float64
	for _, row := range table {
		t = append(t, append([]float64(nil), row...))
	}
	return t
}

// nk is an NK landscape: term i is a table over the bits vars[i], lowest first.
type nk struct {
	vars  [][]int
	table [][]float64
	in    [][]place // the terms of each bit
}

// A place is where a bit appears: in a term, as a bit of its index.
type place struct{ term, bit int32 }

func newNK(neighbours [][]int, table [][]float64) (*nk, error) {
	d := len(table)
	if err := checkDim("an NK landscape", d, 1, mostBits); err != nil {
		return nil, err
	}
	if len(neighbours) != d {
		return nil, fmt.Errorf("classic: an NK landscape of %d lists of neighbours and %d tables", len(neighbours), d)
	}
	f := &nk{table: table, in: make([][]place, d)}
	for i, row := range table {
		vars := append([]int{i}, neighbours[i]...)
		if len(vars) > 20 || len(row) != 1<<len(vars) {
			return nil, fmt.Errorf("classic: row %d of the NK table has %d values for %d bits", i, len(row), len(vars))
		}
		for _, v := range row {
			if math.IsNaN(v) || math.Abs(v) > 1e100 {
				return nil, fmt.Errorf("classic: row %d of the NK table holds %v", i, v)
			}
		}
		for b, j := range vars {
			if j < 0 || j >= d {
				return nil, fmt.Errorf("classic: bit %d of an NK landscape has the neighbour %d", i, j)
			}
			for _, k := range vars[:b] {
				if j == k {
					return nil, fmt.Errorf("classic: bit %d of an NK landscape has the neighbour %d twice", i, j)
				}
			}
			f.in[j] = append(f.in[j], place{int32(i), int32(b)})
		}
		f.vars = append(f.vars, vars)
	}
	return f, nil
}

// index returns the index of term i in its table.
func (f *nk) index(row []uint64, i int) int {
	v := 0
	for b, j := range f.vars[i] {
		v |= bit(row, j) << b
	}
	return v
}

func (f *nk) value(row []uint64) float64 {
	sum := 0.0
	for i, t := range f.table {
		sum += t[f.index(row, i)]
	}
	return sum / float64(len(f.table))
}

func (f *nk) walk() problem.Walk {
	d := len(f.table)
	return &nkWalk{f: f, state: state{row: make([]uint64, problem.Stride(d))}, at: make([]int, d)}
}

// nkWalk knows the index of every term.
type nkWalk struct {
	state
	f     *nk
	at    []int
	sum   float64
	flips int
}

func (w *nkWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	w.sum, w.flips = 0, 0
	for i, t := range w.f.table {
		w.at[i] = w.f.index(w.row, i)
		w.sum += t[w.at[i]]
	}
	w.v = w.sum / float64(len(w.at))
	return w.v
}

// change returns what a flip of bit j adds to the sum.
func (w *nkWalk) change(j int) float64 {
	change := 0.0
	for _, p := range w.f.in[j] {
		t, at := w.f.table[p.term], w.at[p.term]
		change += t[at^1<<p.bit] - t[at]
	}
	return change
}

func (w *nkWalk) Peek(j int) float64 { return (w.sum + w.change(j)) / float64(len(w.at)) }

func (w *nkWalk) PeekAll(dst []float64) { peekAll(w, dst[:len(w.at)]) }

func (w *nkWalk) Flip(j int) float64 {
	w.row[j>>6] ^= 1 << (j & 63)
	if w.flips++; w.flips == fresh {
		return w.Start(w.row)
	}
	w.sum += w.change(j)
	for _, p := range w.f.in[j] {
		w.at[p.term] ^= 1 << p.bit
	}
	w.v = w.sum / float64(len(w.at))
	return w.v
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

// RandomNK draws an NK landscape of dimension d with uniform tables, in which bit i
// depends on the next k.
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

// RandomNKOf is RandomNK, but bit i depends on k others drawn at random, so that the
// optimum is not known beyond 20 bits.
func RandomNKOf(seed uint64, d, k int) (*Instance, error) {
	if d < 1 || d > mostBits || k < 0 || k >= d || k > 8 {
		return nil, fmt.Errorf("classic: an NK landscape of d = %d and k = %d: want 0 <= k < d and k <= 8", d, k)
	}
	rng := run.Rand(seed, "nk of random neighbours", d, k)
	n := &nkData{}
	for i := range d {
		row := []int{}
	draw:
		for len(row) < k {
			j := rng.IntN(d)
			if j == i {
				continue
			}
			for _, other := range row {
				if other == j {
					continue draw
				}
			}
			row = append(row, j)
		}
		values := make([]float64, 1<<(k+1))
		for v := range values {
			values[v] = rng.Float64()
		}
		n.Neighbours, n.Table = append(n.Neighbours, row), append(n.Table, values)
	}
	return n.instance(fmt.Sprintf("nk-random-%d-%d/%d", d, k, seed))
}
