package kernel

//go:generate go run -C asm . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg kernel

import (
	"math"

	"golang.org/x/sys/cpu"
)

// sets are the instruction sets that this platform may have, the best last.
var sets = []string{"Go", "AVX2", "AVX-512"}

func init() {
	x := cpu.X86
	if !x.HasAVX2 || !x.HasFMA {
		return
	}
	use("AVX2")
	if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
		use("AVX-512")
		if !tilesAgree() {
			use("AVX2")
		}
	}
	useBytes(isa == "AVX-512" && x.HasAVX512VNNI)
	if vnni && !bytesAgree() {
		useBytes(false)
	}
}

// vnni reports whether products of bytes use the processor's instructions for
// them.
var vnni bool

func useBytes(on bool) { vnni = on }

// use selects the code for an instruction set.
func use(name string) {
	isa = name
	width = 16
	if name == "AVX-512" {
		width = 64
	}
}

func tile(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	switch isa {
	case "AVX-512":
		tileAVX512(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &b[0], &y[0], uintptr(ldy*4), slope)
	case "AVX2":
		tileAVX2(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &b[0], &y[0], uintptr(ldy*4), slope)
	default:
		tileGo(k, x, xr, xk, w, ldw, b, y, ldy, slope, width)
	}
}

func tileMask(k int, x []float32, xr, xk int, w []float32, ldw int, h []float32, y []float32, ldy int, slope float32) {
	switch isa {
	case "AVX-512":
		tileAVX512Mask(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &h[0], &y[0], uintptr(ldy*4), slope)
	case "AVX2":
		tileAVX2Mask(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &h[0], &y[0], uintptr(ldy*4), slope)
	default:
		tileMaskGo(k, x, xr, xk, w, ldw, h, y, ldy, slope, width)
	}
}

// tileFew is tile for a panel of which only the first cols columns are not
// empty; it sets the columns of y from cols on to numbers without meaning or 0.
func tileFew(cols, k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	if isa != "AVX-512" || cols > width/2 {
		tile(k, x, xr, xk, w, ldw, b, y, ldy, slope)
		return
	}
	tileAVX512Half(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &b[0], &y[0], uintptr(ldy*4), slope)
}

// tileMaskFew is tileFew for tileMask.
func tileMaskFew(cols, k int, x []float32, xr, xk int, w []float32, ldw int, h []float32, y []float32, ldy int, slope float32) {
	if isa != "AVX-512" || cols > width/2 {
		tileMask(k, x, xr, xk, w, ldw, h, y, ldy, slope)
		return
	}
	tileAVX512HalfMask(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &h[0], &y[0], uintptr(ldy*4), slope)
}

// Dots sets dst[i] to b plus the dot product of w with row i of x, which starts
// at x[i*ldx]. It is optimised for len(w) = 128.
func Dots(dst []float32, x []float32, ldx int, w []float32, b float32) {
	if isa == "Go" || len(w) != 128 || len(dst) == 0 {
		dotsGo(dst, x, ldx, w, b)
		return
	}
	_ = x[(len(dst)-1)*ldx+127]
	dotsAVX2(len(dst), &x[0], uintptr(ldx*4), &w[0], b, &dst[0])
}

// Extremes updates lo and hi, the smallest and largest value of each column,
// with m rows of x, which start every ldx elements. The number of columns is
// len(lo).
func Extremes(lo, hi, x []float32, ldx, m int) {
	if m <= 0 {
		return
	}
	j := 0
	if isa != "Go" {
		_ = x[(m-1)*ldx+len(lo)-1]
		_ = hi[len(lo)-1]
		for ; j+8 <= len(lo); j += 8 {
			extremesAVX2(m, &x[j], uintptr(ldx*4), &lo[j], &hi[j])
		}
	}
	extremesGo(lo[j:], hi[j:], x[j:], ldx, m)
}

// Dot returns the dot product of a and b over the length of a.
func Dot(a, b []float32) float32 {
	n := len(a) / 32
	if isa == "Go" || n == 0 {
		return dotGo(a, b)
	}
	_ = b[len(a)-1]
	return dotAVX2(n, &a[0], &b[0]) + dotGo(a[n*32:], b[n*32:])
}

// Axpy adds a*x to y over the length of x.
func Axpy(y []float32, a float32, x []float32) {
	n := len(x) / 8
	if isa == "Go" || n == 0 {
		axpyGo(y, a, x)
		return
	}
	_ = y[len(x)-1]
	axpyAVX2(n, &y[0], a, &x[0])
	axpyGo(y[n*8:], a, x[n*8:])
}

// HalfExp replaces the numbers of x by the exponential of half their value,
// which is first limited to [-87, 88]. It also overwrites up to seven more
// numbers if the capacity of x allows.
func HalfExp(x []float32) {
	n := (len(x) + 7) / 8
	if isa == "Go" || n*8 > cap(x) {
		halfExpGo(x)
		return
	}
	if n > 0 {
		halfExpAVX2(n, &x[0])
	}
}

// Adam makes one step of Adam. m and v are the moments of the gradient g of the
// parameters p; rate is the learning rate with the bias corrections of both.
func Adam(p, m, v, g []float32, b1, b2, rate, epsilon float32) {
	n := 0
	if len(p) > 0 {
		_, _, _ = m[len(p)-1], v[len(p)-1], g[len(p)-1]
	}
	if isa == "AVX-512" && len(p) >= 16 {
		n = len(p) / 16
		adamAVX512(n, &p[0], &m[0], &v[0], &g[0], b1, b2, rate, epsilon)
		n *= 16
	}
	if isa != "Go" && len(p)-n >= 8 {
		k := (len(p) - n) / 8
		adamAVX2(k, &p[n], &m[n], &v[n], &g[n], b1, b2, rate, epsilon)
		n += k * 8
	}
	adamGo(p[n:], m[n:], v[n:], g[n:], b1, b2, rate, epsilon)
}

// adamOuter is [AdamOuter] for the leading columns for which there is assembly;
// it returns how many these are.
func adamOuter(p, m, v []float32, h []float32, ldh int, g []float32, ldg, k int, decay, b1, b2, rate, epsilon float32) int {
	n := len(p) / 64
	if isa != "AVX-512" || n == 0 {
		return 0
	}
	adamOuterAVX512(n, k, &h[0], uintptr(ldh*4), &g[0], uintptr(ldg*4), &p[0], &m[0], &v[0], decay, b1, b2, rate, epsilon)
	return n * 64
}

// tileAhead is tile for a panel that is beside the next one in memory, and not
// in the cache.
func tileAhead(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	if isa != "AVX-512" {
		tile(k, x, xr, xk, w, ldw, b, y, ldy, slope)
		return
	}
	tileAVX512Ahead(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &b[0], &y[0], uintptr(ldy*4), slope)
}

// sums adds m rows of a panel of x to y.
func sums(y, x []float32, ldx, m int) {
	switch isa {
	case "AVX-512":
		sumsAVX512(m, &x[0], uintptr(ldx*4), &y[0])
	case "AVX2":
		sumsAVX2(m, &x[0], uintptr(ldx*4), &y[0])
	default:
		sumsGo(y[:width], x, ldx, m)
	}
}

// columnProducts is [ColumnProducts] for mapCols columns.
func columnProducts(y, a, b []float32, ld, m int, shift []float32) {
	if isa == "Go" {
		columnProductsGo(y, a, b, ld, m, shift)
		return
	}
	columnProductsAVX2(m, &y[0], &a[0], &b[0], uintptr(ld*4), &shift[0])
}

// columnMaps is [ColumnMaps] for mapCols columns.
func columnMaps(y, x, z []float32, ld, m int, p, q, r []float32, slope float32) {
	if isa == "Go" {
		columnMapsGo(y, x, z, ld, m, p, q, r, slope)
		return
	}
	columnMapsAVX2(m, &y[0], &x[0], &z[0], uintptr(ld*4), &p[0], &q[0], &r[0], slope)
}

// productTransposed is [ProductTransposed] for the leading rows of x and
// columns for which there is assembly; it returns how many these are.
func productTransposed(y []float32, ldy int, x []float32, ldx, a int, g []float32, ldg, b, n int) (rows, cols int) {
	const xs = 4 // rows of x at once
	rows, cols = a/xs*xs, n/16*16
	if isa != "AVX-512" || rows == 0 || cols == 0 {
		return 0, 0
	}
	for j := 0; j < b; j += TileRows {
		for i := 0; i < rows; i += xs {
			productTransposedAVX512(cols/16, &x[i*ldx], uintptr(ldx*4), &g[j*ldg], uintptr(ldg*4), &y[j*ldy+i], uintptr(ldy*4))
		}
	}
	return rows, cols
}

// lookup computes one row of [Table.Apply].
func lookup(bits []byte, table, b, y []float32, slope float32) {
	if isa == "Go" {
		lookupGo(bits, table, b, y, slope)
		return
	}
	lookupAVX2(len(bits), &bits[0], &table[0], &b[0], &y[0], slope)
}

// PeakFLOP makes n rounds of independent multiply-adds on registers, the most
// that a core can do with the instructions in use. It returns the number of
// operations, two per multiply-add, or 0 if there is no such loop.
func PeakFLOP(n int) float64 {
	switch isa {
	case "AVX-512":
		peakAVX512(n)
		return float64(n) * 24 * 16 * 2
	case "AVX2":
		peakAVX2(n)
		return float64(n) * 12 * 8 * 2
	}
	return 0
}

// FastBytes reports whether a [ByteScorer] is faster than layers in single
// precision. It is if the processor has AVX-512 VNNI.
func FastBytes() bool { return vnni }

func (s *ByteScorer) scores(y []float32, t *ByteScratch, z []uint8, m int) {
	if !vnni {
		s.scoresGo(y, t, z, m)
		return
	}
	bytesHiddenVNNI(m/ByteRows, s.groups, &z[0], &s.w1[0], &s.c1[0], &t.hidden[0], &t.over[0])
	bytesScoreVNNI(m/ByteRows, &t.hidden[0], &s.w2[0], &s.c2[0], &t.over[0], &y[0])
}

func outsideOf(y *[16]float32, lo, hi float32) uint16 {
	if !vnni {
		return outsideGo(y, lo, hi)
	}
	return outsideAVX512(&y[0], lo, hi)
}

// PeakByteOps makes n rounds of independent products of bytes on registers. It
// returns the number of operations, two per multiply-add, or 0 if there is no
// such loop.
func PeakByteOps(n int) float64 {
	if !vnni {
		return 0
	}
	peakVNNI(n)
	return float64(n) * 24 * 64 * 2
}

// bytesAgree reports whether scores in bytes agree with those of the plain Go
// code, on a small case.
func bytesAgree() bool {
	const in, m = 6, 2 * ByteRows
	w := make([]float32, 128*128)
	for i := range w {
		w[i] = float32(i*i%13) - 6
	}
	g := func(n int, hi float64) Grid {
		lo, top, mean := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range top {
			top[i], mean[i] = hi, hi/2
		}
		return NewGrid(lo, top, mean)
	}
	s := NewByteScorer(w[:in*128], w[7:135], w, w[3:131], w[5:133], 1, 0.25, g(in, 2), g(128, 20))
	z := make([]uint8, m*ByteStride(in))
	for i := range z {
		z[i] = uint8(i * 37)
	}
	var got, want [16]float32
	t := NewByteScratch(m)
	s.scores(got[:], t, z, m)
	s.scoresGo(want[:], t, z, m)
	for i, v := range want {
		if d := math.Abs(float64(v - got[i])); !(d <= 1e-3*math.Abs(float64(v))) && !(v != v && got[i] != got[i]) {
			return false
		}
	}
	return outsideAVX512(&got[0], -1, 1) == outsideGo(&got, -1, 1)
}

// tilesAgree reports whether the selected tiles agree with the plain Go tiles,
// on a small case.
func tilesAgree() bool {
	const k = 5
	x, w := make([]float32, TileRows*k), make([]float32, width*k)
	b, h := make([]float32, width), make([]float32, TileRows*width)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	for i := range w {
		w[i] = float32(i%5) - 2
	}
	for i := range b {
		b[i] = float32(i%3) - 1
	}
	for i := range h {
		h[i] = float32(i%4) - 1.5
	}
	for _, slope := range []float32{1, 0.25} {
		for _, mask := range []bool{false, true} {
			got, want := make([]float32, len(h)), make([]float32, len(h))
			if mask {
				tileMask(k, x, k, 1, w, width, h, got, width, slope)
				tileMaskGo(k, x, k, 1, w, width, h, want, width, slope, width)
			} else {
				tile(k, x, k, 1, w, width, b, got, width, slope)
				tileGo(k, x, k, 1, w, width, b, want, width, slope, width)
			}
			for i, v := range got { // small integers and quarters: exact
				if math.Float32bits(v) != math.Float32bits(want[i]) && v != want[i] {
					return false
				}
			}
		}
	}
	return true
}
