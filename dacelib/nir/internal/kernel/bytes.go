package kernel

import (
	"math"
	"slices"
)

// ByteRows is the number of rows that a [ByteScorer] computes at once.
const ByteRows = 3

// A Grid maps the bytes of a matrix to numbers: byte v of column j stands for
// Low[j] + v Step[j]. Mean[j] is the column's mean on the scale of bytes,
// without rounding; the errors of rounded weights are compensated for at the
// mean.
type Grid struct {
	Low, Step, Mean []float64
	low, inverse    []float32
}

// NewGrid returns the grid on which bytes 0 and 255 are lo and hi, for columns
// with the given means.
func NewGrid(lo, hi, mean []float64) Grid {
	n := len(lo)
	g := Grid{make([]float64, n), make([]float64, n), make([]float64, n), make([]float32, n), make([]float32, n)}
	for j := range lo {
		step := (hi[j] - lo[j]) / 255
		if !(step > 0) {
			step = 1 // for a constant column
		}
		g.Low[j], g.Step[j], g.Mean[j] = lo[j], step, (mean[j]-lo[j])/step
		g.low[j], g.inverse[j] = float32(lo[j]), float32(1/step)
	}
	return g
}

// Round writes the bytes of x, one number per column, to dst. The numbers must
// be between the columns' lo and hi.
func (g Grid) Round(dst []uint8, x []float32) {
	low, inverse := g.low[:len(x)], g.inverse[:len(x)]
	dst = dst[:len(x)]
	for j, v := range x {
		dst[j] = uint8(int32((v-low[j])*inverse[j] + 0.5))
	}
}

// A ByteScorer is an approximation, in products of bytes, of
//
//	y = act(act(z W1 + b1) W2 + b2) w3 + b3
//
// with two hidden layers of 128 units and act(v) = max(v, slope v). Weights are
// rounded to -127..127 times a factor per output; z and the first hidden layer
// are rounded to bytes on a [Grid]. A row whose hidden layer exceeds the top of
// its grid has no score: NaN. A ByteScorer is immutable.
type ByteScorer struct {
	groups int // of four inputs
	slope  float32
	w1, w2 []int8 // per group of four rows: 128 columns of four
	// c1 holds, for every 16 columns, factor, addend, and both times slope.
	//
	// c2 is for the second layer and the output, as
	//
	//	w3 act(t) = (1+slope)/2 w3 t + (1-slope)/2 w3 |t|,
	//
	// which takes fewer of the operations that compete with products of bytes.
	// It holds 16 numbers to start from, then for every 16 columns factor and
	// addend of (1-slope)/2 |w3| t, the factor of (1+slope)/2 w3 t, whose
	// addends are in the 16 numbers, and the sign of w3 as that of a zero.
	c1, c2 []float32
}

// byteStart is the initial value of a sum of products, as bits. The bits of the
// sum are then those of the float32 byteStartFloat plus the sum, if that is
// below 2^22.
const (
	byteStart      = 0x4b400000
	byteStartFloat = 3 << 22
)

// ByteStride returns the distance between rows of n bytes in a [ByteScorer]'s
// input.
func ByteStride(n int) int { return (n + 3) / 4 * 4 }

// NewByteScorer packs a scorer for inputs on the grid z whose first hidden
// layer is on the grid h. w1 is in x 128 and w2 128 x 128, row-major.
func NewByteScorer(w1, b1, w2, b2, w3 []float32, b3, slope float32, z, h Grid) *ByteScorer {
	in := len(z.Low)
	s := &ByteScorer{groups: ByteStride(in) / 4, slope: slope, c1: make([]float32, 4*128), c2: make([]float32, 16+4*128)}
	var f1, a1, f2, a2 []float64
	s.w1, f1, a1 = roundWeights(w1, b1, z, func(i int) int { return i })
	// Choose steps such that no sum exceeds 2^31 of them.
	h.Step, h.Mean = slices.Clone(h.Step), slices.Clone(h.Mean)
	for j, f := range f1 {
		if step := f / 64; h.Step[j] < step {
			h.Mean[j] *= h.Step[j] / step
			h.Step[j] = step
		}
	}
	s.w2, f2, a2 = roundWeights(w2, b2, h, bytePlace)
	start := [16]float64{float64(b3)}
	for j := range 128 {
		// The unit is a step of the hidden layer's grid, counted from its low.
		step := h.Step[j]
		low := h.Low[j] / step
		f, a := f1[j]/step, (a1[j]-byteStartFloat*f1[j])/step
		c1 := s.c1[j/16*64+j%16:]
		c1[0], c1[16] = float32(f), float32(a-low)
		c1[32], c1[48] = float32(f)*slope, float32(a*float64(slope)-low)
		f, a, w := f2[j], a2[j]-byteStartFloat*f2[j], float64(w3[j])
		bent, straight := (1-float64(slope))/2*math.Abs(w), (1+float64(slope))/2*w
		c2 := s.c2[16+j/16*64+j%16:]
		c2[0], c2[16], c2[32] = float32(bent*f), float32(bent*a), float32(straight*f)
		c2[48] = float32(math.Copysign(0, w))
		start[j%16] += straight * a
	}
	for j, v := range start {
		s.c2[j] = float32(v)
	}
	return s
}

// roundWeights rounds the matrix w of 128 columns, whose input is on the grid
// g, and packs it. place returns the position of an input column's byte. A sum
// of products with the packed weights stands for factor times the sum plus
// addend.
func roundWeights(w, b []float32, g Grid, place func(int) int) (packed []int8, factor, addend []float64) {
	in := len(g.Low)
	packed = make([]int8, ByteStride(in)*128)
	factor, addend = make([]float64, 128), make([]float64, 128)
	for j := range 128 {
		var top, positive, negative float64
		for i := range in {
			v := float64(w[i*128+j]) * g.Step[i]
			top = max(top, math.Abs(v))
			positive, negative = positive+max(v, 0), negative-min(v, 0)
		}
		// Keep sums of products, including roundings, below 2^22.
		f := max(top/127, 255*max(positive, negative)/(1<<22-128*float64(in)))
		if !(f > 0) {
			f = 1
		}
		a := float64(b[j])
		for i := range in {
			v := float64(w[i*128+j])
			q := math.RoundToEven(v * g.Step[i] / f)
			p := place(i)
			packed[p/4*512+j*4+p%4] = int8(q)
			a += v*g.Low[i] + (v*g.Step[i]-q*f)*g.Mean[i]
		}
		factor[j], addend[j] = f, a
	}
	return packed, factor, addend
}

// bytePlace returns the position of the hidden layer's column j, in the order
// in which the processor packs columns.
func bytePlace(j int) int { return j&64 | j>>2&3<<4 | j>>4&3<<2 | j&3 }

// ByteScratch is the working memory of [ByteScorer.Scores] for a number of
// rows.
type ByteScratch struct {
	hidden []uint8
	over   []uint32
}

// NewByteScratch returns the working memory for m rows.
func NewByteScratch(m int) *ByteScratch {
	m = (m + ByteRows - 1) / ByteRows * ByteRows
	return &ByteScratch{make([]uint8, m*128), make([]uint32, m)}
}

// Scores writes the scores of m rows of z, which start every ByteStride(inputs)
// bytes, to y. z, y and t must have space for a multiple of [ByteRows] rows.
func (s *ByteScorer) Scores(y []float32, t *ByteScratch, z []uint8, m int) {
	m = (m + ByteRows - 1) / ByteRows * ByteRows
	if m <= 0 {
		return
	}
	_, _, _, _ = y[m-1], t.over[m-1], t.hidden[m*128-1], z[m*4*s.groups-1]
	s.scores(y, t, z, m)
}

// scoresGo is Scores in plain Go.
func (s *ByteScorer) scoresGo(y []float32, t *ByteScratch, z []uint8, m int) {
	var sums [128]int32
	for i := range m {
		hidden, over := t.hidden[i*128:(i+1)*128], false
		byteSums(&sums, z[i*4*s.groups:(i+1)*4*s.groups], s.w1)
		for j, sum := range sums {
			c, v := s.c1[j/16*64+j%16:], byteFloat(sum)
			v = float32(math.RoundToEven(float64(max(fma(v, c[0], c[16]), fma(v, c[32], c[48])))))
			v = min(max(v, 0), 255)
			over = over || v == 255
			hidden[bytePlace(j)] = uint8(v)
		}
		byteSums(&sums, hidden, s.w2)
		var lanes [16]float32
		copy(lanes[:], s.c2)
		for j, sum := range sums {
			c := s.c2[16+j/16*64+j%16:]
			v := byteFloat(sum)
			lanes[j%16] = fma(v, c[32], lanes[j%16])
			lanes[j%16] += float32(math.Copysign(float64(fma(v, c[0], c[16])), float64(c[48])))
		}
		for n := 8; n > 0; n /= 2 {
			for j := range n {
				lanes[j] += lanes[j+n]
			}
		}
		y[i] = lanes[0]
		if over {
			y[i] = float32(math.NaN())
		}
	}
}

func byteSums(sums *[128]int32, x []uint8, w []int8) {
	clear(sums[:])
	for k, v := range x {
		row := w[k/4*512+k%4:]
		for j := range sums {
			sums[j] += int32(v) * int32(row[4*j])
		}
	}
}

func byteFloat(sum int32) float32 { return math.Float32frombits(uint32(byteStart + sum)) }

func fma(a, b, c float32) float32 {
	return float32(math.FMA(float64(a), float64(b), float64(c)))
}

// Outside returns a bit mask of the numbers of y that are not within [lo, hi];
// NaN never is.
func Outside(y *[16]float32, lo, hi float32) uint16 { return outsideOf(y, lo, hi) }

func outsideGo(y *[16]float32, lo, hi float32) uint16 {
	var bits uint16
	for i, v := range y {
		if !(v >= lo && v <= hi) {
			bits |= 1 << i
		}
	}
	return bits
}
