//go:build !amd64 && !arm64

package kernel

// sets are the instruction sets that this platform may have, the best last.
var sets = []string{"Go"}

// use does nothing: there is only one instruction set.
func use(string) {}

func tile(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	tileGo(k, x, xr, xk, w, ldw, b, y, ldy, slope, width)
}

func tileMask(k int, x []float32, xr, xk int, w []float32, ldw int, h []float32, y []float32, ldy int, slope float32) {
	tileMaskGo(k, x, xr, xk, w, ldw, h, y, ldy, slope, width)
}

func lookup(bits []byte, table, b, y []float32, slope float32) {
	lookupGo(bits, table, b, y, slope)
}
