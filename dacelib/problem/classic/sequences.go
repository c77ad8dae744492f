package classic

import (
	"math"
	"math/bits"

	"dace.local/dacelib/problem"
)

// leadingOnes is a table by the number of ones before the first zero among the bits
// at, in this order.
type leadingOnes struct {
	d     int
	at    []int
	order []int // of each bit, its place in at, or -1
	table []float64
}

func newLeadingOnes(d int, at []int, table []float64) *leadingOnes {
	f := &leadingOnes{d: d, at: at, order: make([]int, d), table: table}
	for j := range f.order {
		f.order[j] = -1
	}
	for i, j := range at {
		f.order[j] = i
	}
	return f
}

// from returns the number of leading ones if the first n are ones.
func (f *leadingOnes) from(row []uint64, n int) int {
	for n < len(f.at) && bit(row, f.at[n]) == 1 {
		n++
	}
	return n
}

func (f *leadingOnes) value(row []uint64) float64 { return f.table[f.from(row, 0)] }

func (f *leadingOnes) walk() problem.Walk {
	return &leadingWalk{f: f, state: state{row: make([]uint64, problem.Stride(f.d))}}
}

type leadingWalk struct {
	state
	f *leadingOnes
	n int
}

func (w *leadingWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	w.n = w.f.from(w.row, 0)
	w.v = w.f.table[w.n]
	return w.v
}

// flipped returns the number of leading ones with bit j flipped.
func (w *leadingWalk) flipped(j int) int {
	switch i := w.f.order[j]; {
	case i < 0 || i > w.n:
		return w.n
	case i < w.n:
		return i
	default: // the first zero
		return w.f.from(w.row, w.n+1)
	}
}

func (w *leadingWalk) Peek(j int) float64    { return w.f.table[w.flipped(j)] }
func (w *leadingWalk) PeekAll(dst []float64) { peekAll(w, dst[:w.f.d]) }

func (w *leadingWalk) Flip(j int) float64 {
	w.n = w.flipped(j)
	w.row[j>>6] ^= 1 << (j & 63)
	w.v = w.f.table[w.n]
	return w.v
}

// labs is the merit factor of a binary sequence s of -1 and 1:
// d^2 / (2 sum_{k=1}^{d-1} C_k^2), C_k = sum_i s_i s_{i+k}.
type labs struct{ d int }

func (f labs) value(row []uint64) float64 {
	energy := 0
	for k := 1; k < f.d; k++ {
		c := f.correlation(row, k)
		energy += c * c
	}
	return f.merit(energy)
}

// correlation returns C_k: the number of equal pairs at distance k, minus that of
// unequal ones.
func (f labs) correlation(row []uint64, k int) int {
	n, different := f.d-k, 0
	word, shift := k>>6, k&63
	for i := 0; i<<6 < n; i++ {
		v := row[i+word] >> shift
		if shift > 0 && i+word+1 < len(row) {
			v |= row[i+word+1] << (64 - shift)
		}
		v ^= row[i]
		if left := n - i<<6; left < 64 {
			v &= 1<<left - 1
		}
		different += bits.OnesCount64(v)
	}
	return n - 2*different
}

func (f labs) merit(energy int) float64 {
	return float64(f.d) * float64(f.d) / 2 / float64(energy)
}

func (f labs) walk() problem.Walk {
	return &labsWalk{f: f, state: state{row: make([]uint64, problem.Stride(f.d))}, c: make([]int, f.d)}
}

// labsWalk knows the correlations, so that a flip costs d steps (Gallardo, Cotta and
// Fernandez 2009).
type labsWalk struct {
	state
	f labs
	c []int
}

func (w *labsWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	energy := 0
	for k := 1; k < w.f.d; k++ {
		w.c[k] = w.f.correlation(w.row, k)
		energy += w.c[k] * w.c[k]
	}
	w.v = w.f.merit(energy)
	return w.v
}

// change returns what a flip of bit j adds to C_k.
func (w *labsWalk) change(j, k int) int {
	sum, own := 0, bit(w.row, j)
	if j >= k {
		sum += 1 - 2*(own^bit(w.row, j-k))
	}
	if j+k < w.f.d {
		sum += 1 - 2*(own^bit(w.row, j+k))
	}
	return -2 * sum
}

func (w *labsWalk) Peek(j int) float64 {
	energy := 0
	for k := 1; k < w.f.d; k++ {
		c := w.c[k] + w.change(j, k)
		energy += c * c
	}
	return w.f.merit(energy)
}

func (w *labsWalk) PeekAll(dst []float64) { peekAll(w, dst[:w.f.d]) }

func (w *labsWalk) Flip(j int) float64 {
	energy := 0
	for k := 1; k < w.f.d; k++ {
		w.c[k] += w.change(j, k)
		energy += w.c[k] * w.c[k]
	}
	w.row[j>>6] ^= 1 << (j & 63)
	w.v = w.f.merit(energy)
	return w.v
}

// queens is the problem of n queens on a board of n x n = d squares, of which no two
// may share a row, column or diagonal: the number of queens, minus n for every queen
// too many in a line.
type queens struct{ n int }

// lines returns the four lines of a square among all 6n - 2: rows, columns and both
// kinds of diagonals.
func (f queens) lines(j int) [4]int {
	r, c := j/f.n, j%f.n
	return [4]int{r, f.n + c, 2*f.n + c - r + f.n - 1, 4*f.n - 1 + c + r}
}

func (f queens) value(row []uint64) float64 {
	count := make([]int, 6*f.n-2)
	on, tooMany := 0, 0
	each(row, func(j int) {
		on++
		for _, l := range f.lines(j) {
			if count[l]++; count[l] > 1 {
				tooMany++
			}
		}
	})
	return float64(on - f.n*tooMany)
}

func (f queens) walk() problem.Walk {
	return &queensWalk{f: f, state: state{row: make([]uint64, problem.Stride(f.n*f.n))}, count: make([]int, 6*f.n-2)}
}

type queensWalk struct {
	state
	f     queens
	count []int // queens in each line
}

func (w *queensWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	clear(w.count)
	each(w.row, func(j int) {
		for _, l := range w.f.lines(j) {
			w.count[l]++
		}
	})
	w.v = w.f.value(w.row)
	return w.v
}

func (w *queensWalk) Peek(j int) float64 {
	tooMany, set := 0, bit(w.row, j)
	for _, l := range w.f.lines(j) {
		if w.count[l] > set {
			tooMany++
		}
	}
	s := float64(1 - 2*set)
	return w.v + s*(1-float64(w.f.n*tooMany))
}

func (w *queensWalk) PeekAll(dst []float64) { peekAll(w, dst[:w.f.n*w.f.n]) }

func (w *queensWalk) Flip(j int) float64 {
	w.v = w.Peek(j)
	s := 1 - 2*bit(w.row, j)
	for _, l := range w.f.lines(j) {
		w.count[l] += s
	}
	w.row[j>>6] ^= 1 << (j & 63)
	return w.v
}

// side returns the root of d if it is a square, else 0.
func side(d int) int {
	n := int(math.Sqrt(float64(d)) + 0.5)
	if n*n == d {
		return n
	}
	return 0
}
