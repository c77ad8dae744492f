//go:build !amd64

package kernel

// Dots sets dst[i] to b plus the dot product of w with row i of x, which starts
// at x[i*ldx].
func Dots(dst []float32, x []float32, ldx int, w []float32, b float32) { dotsGo(dst, x, ldx, w, b) }

// Extremes updates lo and hi, the smallest and largest value of each column,
// with m rows of x, which start every ldx elements. The number of columns is
// len(lo).
func Extremes(lo, hi, x []float32, ldx, m int) { extremesGo(lo, hi, x, ldx, m) }

// Dot returns the dot product of a and b over the length of a.
func Dot(a, b []float32) float32 { return dotGo(a, b) }

func sums(y, x []float32, ldx, m int) { sumsGo(y[:width], x, ldx, m) }

func columnProducts(y, a, b []float32, ld, m int, shift []float32) {
	columnProductsGo(y, a, b, ld, m, shift)
}

func columnMaps(y, x, z []float32, ld, m int, p, q, r []float32, slope float32) {
	columnMapsGo(y, x, z, ld, m, p, q, r, slope)
}

func productTransposed([]float32, int, []float32, int, int, []float32, int, int, int) (rows, cols int) {
	return 0, 0
}

func adamOuter([]float32, []float32, []float32, []float32, int, []float32, int, int, float32, float32, float32, float32, float32) int {
	return 0
}

func tileAhead(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	tile(k, x, xr, xk, w, ldw, b, y, ldy, slope)
}

func tileFew(_, k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	tile(k, x, xr, xk, w, ldw, b, y, ldy, slope)
}

func tileMaskFew(_, k int, x []float32, xr, xk int, w []float32, ldw int, h []float32, y []float32, ldy int, slope float32) {
	tileMask(k, x, xr, xk, w, ldw, h, y, ldy, slope)
}

// Axpy adds a*x to y over the length of x.
func Axpy(y []float32, a float32, x []float32) { axpyGo(y, a, x) }

// HalfExp replaces the numbers of x by the exponential of half their value.
func HalfExp(x []float32) { halfExpGo(x) }

// Adam makes one step of Adam. m and v are the moments of the gradient g of the
// parameters p; rate is the learning rate with the bias corrections of both.
func Adam(p, m, v, g []float32, b1, b2, rate, epsilon float32) {
	adamGo(p, m, v, g, b1, b2, rate, epsilon)
}

// PeakFLOP returns 0: there is no loop that measures the core's peak here.
func PeakFLOP(int) float64 { return 0 }

// FastBytes reports whether a [ByteScorer] is faster than layers in single
// precision.
func FastBytes() bool { return false }

func useBytes(bool) {}

func (s *ByteScorer) scores(y []float32, t *ByteScratch, z []uint8, m int) { s.scoresGo(y, t, z, m) }

func outsideOf(y *[16]float32, lo, hi float32) uint16 { return outsideGo(y, lo, hi) }

// PeakByteOps returns 0: there is no loop that measures the core's peak here.
func PeakByteOps(int) float64 { return 0 }
