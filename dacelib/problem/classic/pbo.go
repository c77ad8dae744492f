package classic

import (
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/problem"
)

// pboNames are the names of IOHprofiler's functions, by their numbers from 1.
var pboNames = []string{
	"OneMax", "LeadingOnes", "Linear", "OneMaxDummy1", "OneMaxDummy2", "OneMaxNeutrality", "OneMaxEpistasis",
	"OneMaxRuggedness1", "OneMaxRuggedness2", "OneMaxRuggedness3", "LeadingOnesDummy1", "LeadingOnesDummy2",
	"LeadingOnesNeutrality", "LeadingOnesEpistasis", "LeadingOnesRuggedness1", "LeadingOnesRuggedness2",
	"LeadingOnesRuggedness3", "LABS", "IsingRing", "IsingTorus", "IsingTriangular", "MIS", "NQueens",
	"ConcatenatedTrap", "NKLandscapes",
}

// PBOName returns the name of IOHprofiler's function of a number, 1 to 25; "" for
// other numbers.
func PBOName(function int) string {
	if function < 1 || function > len(pboNames) {
		return ""
	}
	return pboNames[function-1]
}

// pboData names a function of IOHprofiler.
type pboData struct {
	Function int `json:"function"`
	Instance int `json:"instance"`
	Dim      int `json:"dim"`
}

// PBO returns a function of IOHprofiler's suite PBO (Doerr et al., Benchmarking
// discrete optimization heuristics with IOHprofiler, 2020), by its number from 1,
// OneMax, to 25, NKLandscapes: the same values as those of IOHexperimenter 0.3.
// Instance 1 is the function itself. Instances 2 to 50 negate some bits, 51 to 100
// reorder them, and all from 2 on change the scale of values.
//
// The dimension of F20, F21 and F23 must be a square. F24 in a dimension that 5 does
// not divide, and the last bits of F7 and F14 in one that 4 does not divide, are as
// IOHexperimenter computes them, not as they are defined.
func PBO(function, instance, d int) (*Instance, error) {
	return (&pboData{function, instance, d}).instance("")
}

func (p *pboData) instance(name string) (*Instance, error) {
	d := p.Dim
	if PBOName(p.Function) == "" {
		return nil, fmt.Errorf("classic: there is no function F%d: want 1 to %d", p.Function, len(pboNames))
	}
	if p.Instance < 1 || p.Instance > math.MaxInt32-1 {
		return nil, fmt.Errorf("classic: instance %d of F%d: want 1 or more", p.Instance, p.Function)
	}
	if err := checkDim(fmt.Sprintf("F%d, %s,", p.Function, PBOName(p.Function)), d, 2, 1<<14); err != nil {
		return nil, err
	}
	if own := fmt.Sprintf("F%d-%s-%d/%d", p.Function, PBOName(p.Function), d, p.Instance); name == "" {
		name = own
	}
	f, optimum, err := p.function()
	if err != nil {
		return nil, err
	}
	q := newInstance(name, d, f, "pbo", p)
	m := newMove(nil, nil, 1, 0)
	if p.Function == 25 {
		m.scale = -1
	}
	switch i := p.Instance; {
	case i > 1 && i <= 50:
		m.mask = make([]uint64, problem.Stride(d))
		for j, u := range pboUniform(d, i) {
			if int(2*math.Floor(1e4*u)/1e4) == 1 {
				m.mask[j>>6] |= 1 << (j & 63)
			}
		}
	case i > 50 && i <= 100:
		from := make([]int, d)
		for j := range from {
			from[j] = j
		}
		for _, u := range pboUniform(d, i) {
			t := int(math.Floor(u * float64(d)))
			from[0], from[t] = from[t], from[0]
		}
		m = newMove(from, nil, m.scale, 0)
	}
	if p.Instance > 1 {
		u := pboUniform(1, p.Instance)[0]
		m.scale *= u*(5-0.2) + 0.2
		m.shift = u*2000 - 1000
	}
	if p.Function == 25 || p.Instance > 1 {
		q.move = m
	}
	if !math.IsNaN(optimum) {
		q.known(optimum)
	}
	return q, nil
}

// PBO returns the numbers of the function and the instance that [PBO] has made p of;
// ok is false for other instances.
func (p *Instance) PBO() (function, instance int, ok bool) {
	if p == nil {
		return 0, 0, false
	}
	d, ok := p.data.(*pboData)
	if !ok {
		return 0, 0, false
	}
	return d.Function, d.Instance, true
}

// Raw returns the value v of p without the scale and shift of an instance of [PBO].
func (p *Instance) Raw(v float64) float64 {
	if _, instance, ok := p.PBO(); !ok || instance == 1 {
		return v
	}
	scale := p.move.scale
	if p.data.(*pboData).Function == 25 {
		scale = -scale // its own sign belongs to the function
	}
	return (v - p.move.shift) / scale
}

// function returns the function, and its optimum or NaN.
func (p *pboData) function() (f function, optimum float64, err error) {
	d := p.Dim
	unknown := math.NaN()
	all := make([]int, d)
	for j := range all {
		all[j] = j
	}
	count := func(n int, g func(u int) float64) []float64 {
		t := make([]float64, n+1)
		for u := range t {
			t[u] = g(u)
		}
		return t
	}
	itself := func(u int) float64 { return float64(u) }
	// OneMax and LeadingOnes of some bits, behind a table.
	of := func(at []int, table []float64) (function, float64, error) {
		if p.Function >= 11 || p.Function == 2 {
			return newLeadingOnes(d, at, table), table[len(at)], nil
		}
		f := &blocks{d: d}
		f.add(at, table)
		return f, table[len(at)], nil
	}
	n := side(d)
	if n == 0 && (p.Function == 20 || p.Function == 21 || p.Function == 23) {
		return nil, 0, fmt.Errorf("classic: F%d, %s, of dimension %d: want a square", p.Function, PBOName(p.Function), d)
	}
	switch p.Function {
	case 1, 2:
		return of(all, count(d, itself))
	case 3:
		g := Graph{Nodes: d}
		for j := range d {
			g.Edges = append(g.Edges, Edge{j, j, float64(j + 1)})
		}
		return newQuadratic(g, func(e Edge) (_, _, _ float64) { return 0, 0, e.Weight }), float64(d * (d + 1) / 2), nil
	case 4, 11:
		at := pboDummy(d, 0.5)
		return of(at, count(len(at), itself))
	case 5, 12:
		at := pboDummy(d, 0.9)
		return of(at, count(len(at), itself))
	case 6, 13:
		return &layered{at: all, neutrality: 3, leading: p.Function == 13}, float64(d / 3), nil
	case 7, 14:
		optimum := unknown
		if d%4 == 0 {
			optimum = float64(d)
		}
		return &layered{at: all, epistasis: pboEpistasis, leading: p.Function == 14}, optimum, nil
	case 8, 15:
		return of(all, count(d, func(u int) float64 {
			if u == d || d%2 != 0 {
				return math.Ceil(float64(u)/2) + 1
			}
			return math.Floor(float64(u)/2) + 1
		}))
	case 9, 16:
		return of(all, count(d, func(u int) float64 {
			switch {
			case u == d:
				return float64(u)
			case u%2 == d%2:
				return float64(u + 1)
			default:
				return float64(max(u-1, 0))
			}
		}))
	case 10, 17:
		return of(all, count(d, func(u int) float64 {
			first := d % 5 // blocks of five end before d
			switch {
			case u == d:
				return float64(d)
			case u < first:
				return float64(first - 1 - u)
			default:
				k := (u - first) % 5
				return float64(u - k + 4 - k)
			}
		}))
	case 18:
		return labs{d}, unknown, nil
	case 19:
		return pboIsing(Ring(d))
	case 20:
		return pboIsing(Torus(n, n))
	case 21:
		return pboIsing(Triangular(n, n))
	case 22:
		f := newQuadratic(pboGraph(d), func(Edge) (_, _, _ float64) { return 0, 0, -float64(d - d%2) })
		for j := range d - d%2 {
			f.linear[j] = 1
		}
		return f, unknown, nil
	case 23:
		optimum := unknown // none for the smallest boards
		if n >= 4 {
			optimum = float64(n)
		}
		return queens{n}, optimum, nil
	case 24:
		f := &blocks{d: d}
		trap := func(k int) []float64 {
			return count(k, func(u int) float64 {
				if u == k {
					return 1
				}
				return (float64(k) - 1 - float64(u)) / float64(k)
			})
		}
		m := d / 5
		for i := range m {
			f.add(all[5*i:5*i+5], trap(5))
		}
		optimum := float64(m)
		if k := d - 5*m; k > 0 {
			// The rest begins at 4 m, and its table is that of k bits.
			rest := all[4*m:]
			f.add(rest, count(len(rest), func(u int) float64 {
				if u == k {
					return 1
				}
				return (float64(k) - 1 - float64(u)) / float64(k)
			}))
			optimum = unknown
		}
		return f, optimum, nil
	case 25:
		f, err := pboNK(d, 1)
		return f, unknown, err
	}
	panic("classic: a function without a definition")
}

func pboIsing(g Graph) (function, float64, error) {
	f := newQuadratic(g, func(e Edge) (_, _, _ float64) {
		if e.I == e.J {
			return 1, 0, 0
		}
		return 1, -1, 2
	})
	return f, float64(len(g.Edges)), nil
}

// pboGraph returns the graph of F22, of the first even number of nodes.
func pboGraph(d int) Graph {
	n := d - d%2
	g := Graph{Nodes: d}
	for i := 1; i <= n; i++ {
		for j := i + 1; j <= n; j++ {
			if i != n/2 && j == i+1 || i <= n/2-1 && j == i+n/2+1 || i >= 2 && i <= n/2 && j == i+n/2-1 {
				g.Edges = append(g.Edges, Edge{i - 1, j - 1, 1})
			}
		}
	}
	return g
}

// pboNK returns the landscape of F25.
func pboNK(d, k int) (function, error) {
	neighbours, table := make([][]int, d), make([][]float64, d)
	for i := range d {
		from := make([]int, d)
		for j := range from {
			from[j] = j
		}
		for t, u := range pboUniform(k, k*(i+1)) {
			last := d - 1 - t
			at := int(math.Floor(u * float64(last+1)))
			from[last], from[at] = from[at], from[last]
			neighbours[i] = append(neighbours[i], from[last])
		}
		table[i] = pboUniform(1<<(k+1), 2*k*(i+1))
	}
	return &nkSum{neighbours, table}, nil
}

// nkSum is an NK landscape in which a bit may be its own neighbour, as in F25: its
// index in the table then has the bit twice.
type nkSum struct {
	neighbours [][]int
	table      [][]float64
}

func (f *nkSum) value(row []uint64) float64 {
	sum := 0.0
	for i, t := range f.table {
		v := bit(row, i)
		for b, j := range f.neighbours[i] {
			v |= bit(row, j) << (b + 1)
		}
		sum += t[v]
	}
	return sum / float64(len(f.table))
}

// pboEpistasis is IOHexperimenter's transformation of blocks of four bits. That of a
// shorter last block differs from the W-model's.
func pboEpistasis(bits []byte) {
	const nu = 4
	var out [nu]byte
	for start := 0; start < len(bits); start += nu {
		block := bits[start:min(start+nu, len(bits))]
		n := len(block)
		for i := range block {
			skip := n - i - 2
			b := byte(0)
			for j := range block {
				if n-j-1 != skip%nu {
					b ^= block[j]
				}
			}
			out[i] = b
		}
		copy(block, out[:n])
	}
}

// pboDummy returns the bits that matter in F4, F5, F11 and F12.
func pboDummy(d int, rate float64) []int {
	n := int(math.Floor(float64(d) * rate))
	at := make([]int, d)
	for j := range at {
		at[j] = j
	}
	for i, u := range pboUniform(n, 10000) {
		j := int(math.Floor(u * 1e4 / 1e4 * float64(d)))
		at[i], at[j] = at[j], at[i]
	}
	slices.Sort(at[:n])
	return at[:n]
}

// pboUniform returns n numbers of [0,1) from a seed, as IOHexperimenter draws them:
// by the generator of Park and Miller (1988), shuffled through a table of 32 as by
// Bays and Durham.
func pboUniform(n, seed int) []float64 {
	s := int64(seed)
	step := func(s int64) int64 {
		hi := s / 127773
		if s = 16807*(s-hi*127773) - 2836*hi; s < 0 {
			s += math.MaxInt32
		}
		return s
	}
	var table [32]int64
	for i := 39; i >= 0; i-- {
		if s = step(s); i < len(table) {
			table[i] = s
		}
	}
	u := make([]float64, n)
	for i := range u {
		next, at := step(s), s/67108865
		s, table[at] = table[at], next
		u[i] = max(float64(s)/2.147483647e9, 1e-99)
	}
	return u
}
