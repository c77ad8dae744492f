package classic

import (
	"fmt"
	"math"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// An Edge joins two nodes of a graph, counted from 0, with a weight. In a QUBO it is
// a term: weight x_I x_J.
type Edge struct {
	// I and J are the nodes.
	I int `json:"i"`
	J int `json:"j"`
	// Weight is the edge's weight, of any sign.
	Weight float64 `json:"w"`
}

// A Graph has nodes 0 to Nodes-1 and weighted edges. Several edges may join the same
// nodes: their weights add up.
type Graph struct {
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Edges are the edges, in any order.
	Edges []Edge `json:"edges"`
}

// check returns an error if the graph is invalid. Loops are edges of a node with
// itself.
func (g Graph) check(what string, loops bool) error {
	if err := checkDim(what, g.Nodes, 1, mostBits); err != nil {
		return err
	}
	if len(g.Edges) > mostTerms {
		return fmt.Errorf("classic: %s of %d edges: at most %d", what, len(g.Edges), mostTerms)
	}
	for _, e := range g.Edges {
		switch {
		case e.I < 0 || e.J < 0 || e.I >= g.Nodes || e.J >= g.Nodes:
			return fmt.Errorf("classic: %s: an edge %d-%d among the nodes 0 to %d", what, e.I, e.J, g.Nodes-1)
		case e.I == e.J && !loops:
			return fmt.Errorf("classic: %s: an edge of node %d with itself", what, e.I)
		case math.IsNaN(e.Weight) || math.Abs(e.Weight) > 1e100:
			return fmt.Errorf("classic: %s: an edge %d-%d of weight %v", what, e.I, e.J, e.Weight)
		}
	}
	return nil
}

// quadratic is constant + sum_i linear_i x_i + sum_{i<j} w_ij x_i x_j.
type quadratic struct {
	constant float64
	linear   []float64
	first    []int32 // the neighbours of i are to[first[i]:first[i+1]],
	above    []int32 // those above i begin at above[i]
	to       []int32
	weight   []float64
}

// newQuadratic makes the function of edges; w returns what an edge adds to the
// constant, to the linear term of each of its nodes, and to their product.
func newQuadratic(g Graph, w func(e Edge) (constant, linear, product float64)) *quadratic {
	q := &quadratic{linear: make([]float64, g.Nodes), first: make([]int32, g.Nodes+1)}
	for _, e := range g.Edges {
		if e.I != e.J {
			q.first[e.I+1]++
			q.first[e.J+1]++
		}
	}
	for i := range g.Nodes {
		q.first[i+1] += q.first[i]
	}
	q.to, q.weight = make([]int32, q.first[g.Nodes]), make([]float64, q.first[g.Nodes])
	at := append([]int32(nil), q.first[:g.Nodes]...)
	for _, e := range g.Edges {
		if e.I != e.J {
			at[max(e.I, e.J)]++
		}
	}
	q.above = append([]int32(nil), at...)
	below := append([]int32(nil), q.first...)
	for _, e := range g.Edges {
		constant, linear, product := w(e)
		q.constant += constant
		q.linear[e.I] += linear
		if e.I == e.J {
			q.linear[e.I] += product // x x = x
			continue
		}
		q.linear[e.J] += linear
		low, high := min(e.I, e.J), max(e.I, e.J)
		q.to[at[low]], q.weight[at[low]] = int32(high), product
		at[low]++
		q.to[below[high]], q.weight[below[high]] = int32(low), product
		below[high]++
	}
	return q
}

func (q *quadratic) value(row []uint64) float64 {
	sum := q.constant
	each(row, func(i int) {
		sum += q.linear[i]
		to := q.to[q.first[i]:q.above[i]]
		weight := q.weight[q.first[i]:][:len(to)]
		for k, j := range to { // without a branch, which would often be mispredicted
			sum += weight[k] * float64(row[j>>6]>>(j&63)&1)
		}
	})
	return sum
}

func (q *quadratic) walk() problem.Walk {
	return &quadraticWalk{q: q, state: state{row: make([]uint64, problem.Stride(len(q.linear)))}, gain: make([]float64, len(q.linear))}
}

// quadraticWalk knows the change of the value by every flip.
type quadraticWalk struct {
	state
	q     *quadratic
	gain  []float64
	flips int
}

// fresh is the number of flips after which a walk on values that are not whole
// numbers adds up anew, so that rounding errors stay small.
const fresh = 1 << 16

func (w *quadraticWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	q := w.q
	w.v, w.flips = q.value(w.row), 0
	copy(w.gain, q.linear)
	each(w.row, func(i int) {
		for k := q.first[i]; k < q.first[i+1]; k++ {
			w.gain[q.to[k]] += q.weight[k]
		}
	})
	each(w.row, func(i int) { w.gain[i] = -w.gain[i] })
	return w.v
}

func (w *quadraticWalk) Peek(j int) float64 { return w.v + w.gain[j] }

func (w *quadraticWalk) PeekAll(dst []float64) {
	for j, g := range w.gain {
		dst[j] = w.v + g
	}
}

func (w *quadraticWalk) Flip(j int) float64 {
	if w.flips++; w.flips == fresh {
		w.row[j>>6] ^= 1 << (j & 63)
		return w.Start(w.row)
	}
	q := w.q
	w.v += w.gain[j]
	w.gain[j] = -w.gain[j]
	w.row[j>>6] ^= 1 << (j & 63)
	up := bit(w.row, j) == 1
	for k := q.first[j]; k < q.first[j+1]; k++ {
		i := q.to[k]
		// The gain of i changes by the weight of x_i x_j: it falls if the bits are
		// equal now.
		if (bit(w.row, int(i)) == 1) == up {
			w.gain[i] -= q.weight[k]
		} else {
			w.gain[i] += q.weight[k]
		}
	}
	return w.v
}

type quboData Graph

// QUBO returns the quadratic unconstrained binary optimisation problem of d bits
// whose value is the sum of weight x_I x_J over the terms; a term with I = J is
// linear.
func QUBO(name string, d int, terms []Edge) (*Instance, error) {
	return (&quboData{d, append([]Edge(nil), terms...)}).instance(name)
}

func (g *quboData) instance(name string) (*Instance, error) {
	if err := Graph(*g).check("a QUBO", true); err != nil {
		return nil, err
	}
	return newInstance(name, g.Nodes, newQuadratic(Graph(*g), func(e Edge) (_, _, _ float64) { return 0, 0, e.Weight }), "qubo", g), nil
}

// RandomQUBO draws a QUBO of d bits in which half of the terms are not 0, uniform
// among the whole numbers of -100 to 100, as Beasley's (OR-Library, bqp) but for
// their density of 0.1.
func RandomQUBO(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a QUBO", d, 1, 5000); err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "qubo", d)
	var terms []Edge
	for i := range d {
		for j := i; j < d; j++ {
			if w := rng.IntN(201) - 100; rng.IntN(2) == 1 && w != 0 {
				terms = append(terms, Edge{i, j, float64(w)})
			}
		}
	}
	return QUBO(fmt.Sprintf("qubo-%d/%d", d, seed), d, terms)
}

type cutData Graph

// MaxCutOf returns the maximum cut problem of a graph: the value is the sum of the
// weights of the edges whose nodes differ.
func MaxCutOf(name string, g Graph) (*Instance, error) {
	return (&cutData{g.Nodes, append([]Edge(nil), g.Edges...)}).instance(name)
}

func (g *cutData) instance(name string) (*Instance, error) {
	if err := Graph(*g).check("a graph to cut", false); err != nil {
		return nil, err
	}
	return newInstance(name, g.Nodes, newQuadratic(Graph(*g), func(e Edge) (_, _, _ float64) { return 0, e.Weight, -2 * e.Weight }), "maxcut", g), nil
}

// MaxCut is [MaxCutOf] for a matrix: the value is the sum of weight[i][j], i < j,
// over the pairs with x_i != x_j.
func MaxCut(name string, weight [][]int) (*Instance, error) {
	g := Graph{Nodes: len(weight)}
	for i, row := range weight {
		if len(row) != len(weight) {
			return nil, fmt.Errorf("classic: row %d of the weights has %d of %d nodes", i, len(row), len(weight))
		}
		for j := i + 1; j < len(row); j++ {
			if row[j] != 0 {
				g.Edges = append(g.Edges, Edge{i, j, float64(row[j])})
			}
		}
	}
	return MaxCutOf(name, g)
}

// RandomMaxCut draws a graph of d nodes in which half of the pairs have an edge, of
// weight 1 to 10.
func RandomMaxCut(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a graph to cut", d, 1, 5000); err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "maxcut", d)
	g := Graph{Nodes: d}
	for i := range d {
		for j := i + 1; j < d; j++ {
			if rng.IntN(2) == 1 {
				g.Edges = append(g.Edges, Edge{i, j, float64(1 + rng.IntN(10))})
			}
		}
	}
	return MaxCutOf(fmt.Sprintf("maxcut-%d/%d", d, seed), g)
}

type isingData Graph

// Ising returns the Ising model of a graph, in which edges want their nodes equal:
// the value is the sum of the weights of the edges whose nodes are equal. With
// negative weights it is a spin glass. [Ring], [Torus] and [Triangular] are the
// graphs of IOHprofiler's F19 to F21.
func Ising(name string, g Graph) (*Instance, error) {
	return (&isingData{g.Nodes, append([]Edge(nil), g.Edges...)}).instance(name)
}

func (g *isingData) instance(name string) (*Instance, error) {
	if err := Graph(*g).check("an Ising model", true); err != nil {
		return nil, err
	}
	same, all := true, 0.0
	for _, e := range g.Edges {
		same = same && e.Weight >= 0
		all += e.Weight
	}
	f := newQuadratic(Graph(*g), func(e Edge) (_, _, _ float64) {
		if e.I == e.J { // a small torus
			return e.Weight, 0, 0
		}
		return e.Weight, -e.Weight, 2 * e.Weight
	})
	p := newInstance(name, g.Nodes, f, "ising", g)
	if same {
		p.known(all)
	}
	return p, nil
}

// Ring returns the graph of n nodes in a ring, each edge of weight 1.
func Ring(n int) Graph {
	g := Graph{Nodes: n}
	for i := range n {
		g.Edges = append(g.Edges, Edge{i, (i + 1) % n, 1})
	}
	return g
}

// Torus returns the grid of rows x columns nodes, joined to a torus, each edge of
// weight 1. Node i of row r is r*columns + i.
func Torus(rows, columns int) Graph { return lattice(rows, columns, false) }

// Triangular is [Torus] with the diagonals of one direction.
func Triangular(rows, columns int) Graph { return lattice(rows, columns, true) }

func lattice(rows, columns int, diagonal bool) Graph {
	g := Graph{Nodes: rows * columns}
	for r := range rows {
		for i := range columns {
			down, right := (r+1)%rows, (i+1)%columns
			at := r*columns + i
			g.Edges = append(g.Edges, Edge{at, down*columns + i, 1}, Edge{at, r*columns + right, 1})
			if diagonal {
				g.Edges = append(g.Edges, Edge{at, down*columns + right, 1})
			}
		}
	}
	return g
}

// RandomIsing draws a spin glass of d nodes on the torus that is most nearly square
// (on a ring if d is prime): each edge has weight 1 or -1.
func RandomIsing(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a spin glass", d, 1, mostBits); err != nil {
		return nil, err
	}
	rows := 1
	for r := 2; r*r <= d; r++ {
		if d%r == 0 {
			rows = r
		}
	}
	g := Torus(rows, d/rows)
	if rows == 1 {
		g = Ring(d)
	}
	rng := run.Rand(seed, "ising", d)
	for k := range g.Edges {
		g.Edges[k].Weight = float64(1 - 2*rng.IntN(2))
	}
	return Ising(fmt.Sprintf("ising-%d/%d", d, seed), g)
}

type independentData Graph

// IndependentSet returns the maximum independent set problem of a graph: the value
// is the number of chosen nodes, minus d for every edge between two of them. Weights
// do not matter.
func IndependentSet(name string, g Graph) (*Instance, error) {
	return (&independentData{g.Nodes, append([]Edge(nil), g.Edges...)}).instance(name)
}

func (g *independentData) instance(name string) (*Instance, error) {
	if err := Graph(*g).check("a graph", false); err != nil {
		return nil, err
	}
	f := newQuadratic(Graph(*g), func(Edge) (_, _, _ float64) { return 0, 0, -float64(g.Nodes) })
	for i := range f.linear {
		f.linear[i] = 1
	}
	return newInstance(name, g.Nodes, f, "independentset", g), nil
}

// RandomIndependentSet draws a graph of d nodes whose mean degree is 4, or all pairs
// if d is below 6.
func RandomIndependentSet(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a graph", d, 1, 5000); err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "independent set", d)
	g := Graph{Nodes: d}
	for i := range d {
		for j := i + 1; j < d; j++ {
			if rng.Float64()*float64(d-1) < 4 {
				g.Edges = append(g.Edges, Edge{i, j, 1})
			}
		}
	}
	return IndependentSet(fmt.Sprintf("independentset-%d/%d", d, seed), g)
}
