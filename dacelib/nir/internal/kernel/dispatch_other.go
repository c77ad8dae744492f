//go:build !amd64

package kernel

// use selects the code of an instruction set: there is only one.
func use(string) {}

func tile(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	tileGo(k, x, xr, xk, w, ldw, b, y, ldy, slope, width)
}

func tileMask(k int, x []float32, xr, xk int, w []float32, ldw int, h []float32, y []float32, ldy int, slope float32) {
	tileMaskGo(k, x, xr, xk, w, ldw, h, y, ldy, slope, width)
}

// Dots sets dst[i] to b plus the product of row i of x, which starts at
// x[i*ldx], with w.
func Dots(dst []float32, x []float32, ldx int, w []float32, b float32) { dotsGo(dst, x, ldx, w, b) }

// Extremes lowers lo and raises hi to the values of m rows of x, which start
// every ldx elements, column by column over the length of lo.
func Extremes(lo, hi, x []float32, ldx, m int) { extremesGo(lo, hi, x, ldx, m) }

// Dot returns the product of a and b over the length of a.
func Dot(a, b []float32) float32 { return dotGo(a, b) }

// Axpy adds a*x to y over the length of x.
func Axpy(y []float32, a float32, x []float32) { axpyGo(y, a, x) }

// HalfExp replaces the numbers of x by the exponential of their half.
func HalfExp(x []float32) { halfExpGo(x) }

// Adam takes a step of Adam: m and v are the moments of the gradient g of the
// parameters p; rate is the learning rate with the corrections of both.
func Adam(p, m, v, g []float32, b1, b2, rate, epsilon float32) {
	adamGo(p, m, v, g, b1, b2, rate, epsilon)
}

func lookup(bits []byte, table, b, y []float32, slope float32) {
	lookupGo(bits, table, b, y, slope)
}

// PeakFLOP would measure the core's peak; there is no such loop here.
func PeakFLOP(int) float64 { return 0 }

// FastBytes reports whether a [ByteScorer] is faster than layers in single
// precision.
func FastBytes() bool { return false }

func useBytes(bool) {}

func (s *ByteScorer) scores(y []float32, t *ByteScratch, z []uint8, m int) { s.scoresGo(y, t, z, m) }

func outsideOf(y *[16]float32, lo, hi float32) uint16 { return outsideGo(y, lo, hi) }

// PeakByteOps would measure the core's peak; there is no such loop here.
func PeakByteOps(int) float64 { return 0 }
