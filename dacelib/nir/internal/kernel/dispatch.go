package kernel

const width = 16

func tile(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	tileGo(k, x, xr, xk, w, ldw, b, y, ldy, slope, width)
}

// Dot returns the sum of a[i]*b[i] over the length of a.
func Dot(a, b []float32) float32 { return dotGo(a, b) }
