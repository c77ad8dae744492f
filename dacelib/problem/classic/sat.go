package classic

import (
	"fmt"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// satData is a formula in conjunctive normal form.
type satData struct {
	Variables int `json:"variables"`
	// Clauses holds literals as DIMACS does: v or -v for variable v, from 1.
	Clauses [][]int `json:"clauses"`
}

// MaxSat returns the maximum satisfiability problem of a formula: the value is the
// number of satisfied clauses. A clause holds literals as DIMACS files do: v is
// variable v, from 1, and -v its negation. Bit v-1 of a solution is variable v.
// [ReadCNF] reads a file.
func MaxSat(name string, variables int, clauses [][]int) (*Instance, error) {
	s := &satData{Variables: variables}
	for _, c := range clauses {
		s.Clauses = append(s.Clauses, append([]int{}, c...))
	}
	return s.instance(name)
}

func (s *satData) instance(name string) (*Instance, error) {
	if err := checkDim("a formula", s.Variables, 1, mostBits); err != nil {
		return nil, err
	}
	if len(s.Clauses) > mostTerms {
		return nil, fmt.Errorf("classic: a formula of %d clauses: at most %d", len(s.Clauses), mostTerms)
	}
	f := &sat{d: s.Variables, in: make([][]int32, s.Variables)}
	for i, c := range s.Clauses {
		seen := map[int]bool{}
		var literals []int32
		always := false
		for _, v := range c {
			if v == 0 || v < -s.Variables || v > s.Variables {
				return nil, fmt.Errorf("classic: clause %d of the formula has the literal %d; there are %d variables", i+1, v, s.Variables)
			}
			always = always || seen[-v]
			if !seen[v] {
				seen[v] = true
				literals = append(literals, int32(v))
			}
		}
		if always {
			f.always++
			continue
		}
		for _, v := range literals {
			f.in[max(v, -v)-1] = append(f.in[max(v, -v)-1], int32(len(f.clauses))<<1|sign(v))
		}
		f.clauses = append(f.clauses, literals)
	}
	return newInstance(name, s.Variables, f, "maxsat", s), nil
}

// sign returns 1 for a negated literal, else 0.
func sign(v int32) int32 {
	if v < 0 {
		return 1
	}
	return 0
}

// sat counts satisfied clauses.
type sat struct {
	d       int
	always  int       // clauses with a variable and its negation
	clauses [][]int32 // the others
	in      [][]int32 // of each bit: clause<<1 | whether it is negated there
}

func (f *sat) value(row []uint64) float64 {
	n := f.always
	for _, c := range f.clauses {
		for _, v := range c {
			if v > 0 && bit(row, int(v-1)) == 1 || v < 0 && bit(row, int(-v-1)) == 0 {
				n++
				break
			}
		}
	}
	return float64(n)
}

func (f *sat) walk() problem.Walk {
	return &satWalk{f: f, state: state{row: make([]uint64, problem.Stride(f.d))}, count: make([]int32, len(f.clauses)), gain: make([]int32, f.d)}
}

// satWalk knows the number of true literals of every clause, and what each flip
// adds.
type satWalk struct {
	state
	f     *sat
	count []int32
	gain  []int32
}

func (w *satWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	clear(w.count)
	clear(w.gain)
	n := w.f.always
	for i, c := range w.f.clauses {
		for _, v := range c {
			if w.holds(v) {
				w.count[i]++
			}
		}
		if w.count[i] > 0 {
			n++
		}
		w.add(i, 1)
	}
	w.v = float64(n)
	return w.v
}

// holds reports whether a literal is true.
func (w *satWalk) holds(v int32) bool {
	if v > 0 {
		return bit(w.row, int(v-1)) == 1
	}
	return bit(w.row, int(-v-1)) == 0
}

// add adds what clause i contributes to the gains, s times.
func (w *satWalk) add(i int, s int32) {
	switch w.count[i] {
	case 0: // any of its literals would satisfy it
		for _, v := range w.f.clauses[i] {
			w.gain[max(v, -v)-1] += s
		}
	case 1: // the true one must stay
		for _, v := range w.f.clauses[i] {
			if w.holds(v) {
				w.gain[max(v, -v)-1] -= s
				break
			}
		}
	}
}

func (w *satWalk) Peek(j int) float64 { return w.v + float64(w.gain[j]) }

func (w *satWalk) PeekAll(dst []float64) {
	for j, g := range w.gain {
		dst[j] = w.v + float64(g)
	}
}

func (w *satWalk) Flip(j int) float64 {
	w.v += float64(w.gain[j])
	for _, c := range w.f.in[j] {
		w.add(int(c>>1), -1)
	}
	w.row[j>>6] ^= 1 << (j & 63)
	now := int32(bit(w.row, j))
	for _, c := range w.f.in[j] {
		w.count[c>>1] += 2*(now^c&1) - 1
		w.add(int(c>>1), 1)
	}
	return w.v
}

// RandomMaxSat draws a formula of clauses of three different variables, each negated
// or not with equal probability. There are 4.27 clauses a variable, where about half
// of large formulas can be satisfied.
func RandomMaxSat(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a formula of three variables a clause", d, 3, 100_000); err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "max3sat", d)
	s := &satData{Variables: d}
	for range int(4.27*float64(d) + 0.5) {
		var c []int
		for len(c) < 3 {
			v := 1 + rng.IntN(d)
			if len(c) > 0 && (c[0] == v || c[0] == -v) || len(c) > 1 && (c[1] == v || c[1] == -v) {
				continue
			}
			if rng.IntN(2) == 1 {
				v = -v
			}
			c = append(c, v)
		}
		s.Clauses = append(s.Clauses, c)
	}
	return s.instance(fmt.Sprintf("maxsat-%d/%d", d, seed))
}
