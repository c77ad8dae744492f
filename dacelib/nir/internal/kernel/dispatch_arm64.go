package kernel

// sets are the instruction sets that this platform may have, the best last.
var sets = []string{"Go", "NEON"}

// Every arm64 processor has NEON.
func init() { use("NEON") }

// use selects the code for an instruction set. Panels have 16 columns with
// each: six rows of them fill 24 of the 32 registers.
func use(name string) { isa = name }

func tile(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32) {
	if isa == "Go" {
		tileGo(k, x, xr, xk, w, ldw, b, y, ldy, slope, width)
		return
	}
	tileNEON(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &b[0], &y[0], uintptr(ldy*4), slope)
}

func tileMask(k int, x []float32, xr, xk int, w []float32, ldw int, h []float32, y []float32, ldy int, slope float32) {
	if isa == "Go" {
		tileMaskGo(k, x, xr, xk, w, ldw, h, y, ldy, slope, width)
		return
	}
	tileMaskNEON(k, &x[0], uintptr(xr*4), uintptr(xk*4), &w[0], uintptr(ldw*4), &h[0], &y[0], uintptr(ldy*4), slope)
}

// lookup computes one row of [Table.Apply].
func lookup(bits []byte, table, b, y []float32, slope float32) {
	if isa == "Go" || len(bits) == 0 {
		lookupGo(bits, table, b, y, slope)
		return
	}
	lookupNEON(len(bits), &bits[0], &table[0], &b[0], &y[0], slope)
}

// tileNEON computes a tile as tileGo does, for 16 columns. Strides are in
// bytes. A product and its sum are rounded once, as with AVX2 and AVX-512.
//
//go:noescape
func tileNEON(k int, x *float32, xr, xk uintptr, w *float32, ldw uintptr, b *float32, y *float32, ldy uintptr, slope float32)

// tileMaskNEON computes a tile as tileMaskGo does, for 16 columns.
//
//go:noescape
func tileMaskNEON(k int, x *float32, xr, xk uintptr, w *float32, ldw uintptr, h *float32, y *float32, ldy uintptr, slope float32)

// lookupNEON adds up n rows of a [Table], one for each byte.
//
//go:noescape
func lookupNEON(n int, bits *byte, table *float32, b *float32, y *float32, slope float32)
