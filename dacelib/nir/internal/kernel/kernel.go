// Package kernel implements the arithmetic of the neural instance
// representation: single-precision layers y = act(x W + b) over tiles of six
// rows, with the weights packed into panels as wide as the processor's
// registers allow, and the other operations that training and scoring need.
//
// [Layer] is the packed form of a layer, [Table] that of a first layer that
// reads bits, [Product] computes the gradients of weights, and [ByteScorer] is
// a whole scorer in products of bytes. The code to run is selected once, at
// start, by the processor's features and after a comparison with the plain Go
// code: AVX-512, AVX2 with FMA, or plain Go (see [ISA]), and AVX-512 VNNI (see
// [FastBytes]). On arm64, tiles and tables use NEON. GODEBUG=cpu.avx2=off selects plain Go.
package kernel

// TileRows is the number of rows that a tile computes at once. Buffers that a
// layer reads or writes must have space for a whole number of tiles.
const TileRows = 6

var (
	isa   = "Go"
	width = 16
)

// ISA returns the instruction set in use: "AVX-512", "AVX2", "NEON" or "Go".
func ISA() string { return isa }

// RoundRows returns m rounded up to a whole number of tiles.
func RoundRows(m int) int { return (m + TileRows - 1) / TileRows * TileRows }

// RoundCols returns n rounded up to a whole number of panels.
func RoundCols(n int) int { return (n + width - 1) / width * width }

// A Layer is y = act(x W + b) with W packed into panels of columns, each stored
// row after row and padded with zeros. act(v) = max(v, Slope v); with Slope 1
// it is the identity.
type Layer struct {
	In, Out int
	Slope   float32

	w []float32 // RoundCols(Out)/width panels of In x width
	b []float32 // RoundCols(Out)
}

// NewLayer packs the in x out matrix w (row-major) and the bias b of length
// out. Either may be nil for zeros.
func NewLayer(w, b []float32, in, out int, slope float32) *Layer {
	l := &Layer{
		In: in, Out: out, Slope: slope,
		w: make([]float32, RoundCols(out)*in),
		b: make([]float32, RoundCols(out)),
	}
	if w != nil {
		l.Set(w, b)
	}
	return l
}

// Set packs new weights of the same shape.
func (l *Layer) Set(w, b []float32) {
	for j := 0; j < l.Out; j += width {
		n := min(width, l.Out-j)
		panel := l.w[j*l.In:]
		for i := range l.In {
			copy(panel[i*width:i*width+n], w[i*l.Out+j:i*l.Out+j+n])
		}
	}
	copy(l.b, b)
}

// SetTransposed packs the transpose of w, which is Out x In (row-major),
// without bias. The layer then propagates gradients back through w.
func (l *Layer) SetTransposed(w []float32) {
	for j := 0; j < l.Out; j += width {
		n := min(width, l.Out-j)
		panel := l.w[j*l.In:]
		for c := range n {
			for i, v := range w[(j+c)*l.In : (j+c+1)*l.In] {
				panel[i*width+c] = v
			}
		}
	}
}

// Apply computes rows 0 to m-1 of y, and up to five more, from the same rows of
// x. Rows of x start every ldx elements, rows of y every ldy; ldy must be at
// least RoundCols(l.Out), and the columns of y from Out on become 0. x and y
// must have space for RoundRows(m) rows.
func (l *Layer) Apply(y []float32, ldy int, x []float32, ldx, m int) {
	if !l.fits(y, ldy, x, ldx, m) {
		return
	}
	for j := 0; j < l.Out; j += width {
		w, b := l.w[j*l.In:(j+width)*l.In], l.b[j:j+width]
		for i := 0; i < m; i += TileRows {
			tileFew(l.Out-j, l.In, x[i*ldx:], ldx, 1, w, width, b, y[i*ldy+j:], ldy, l.Slope)
		}
	}
}

// ApplyMask computes y = (x W) * act'(h), without bias. It propagates gradients
// back through a layer and the activation before it; h is the activation's
// output, with the layout of y. act' is 1 where h > 0 and Slope elsewhere.
func (l *Layer) ApplyMask(y []float32, ldy int, h []float32, x []float32, ldx, m int) {
	if !l.fits(y, ldy, x, ldx, m) {
		return
	}
	_ = h[(RoundRows(m)-1)*ldy+RoundCols(l.Out)-1]
	for j := 0; j < l.Out; j += width {
		w := l.w[j*l.In : (j+width)*l.In]
		for i := 0; i < m; i += TileRows {
			tileMaskFew(l.Out-j, l.In, x[i*ldx:], ldx, 1, w, width, h[i*ldy+j:], y[i*ldy+j:], ldy, l.Slope)
		}
	}
}

// fits panics if a buffer is too small; it returns false if there is nothing to
// compute.
func (l *Layer) fits(y []float32, ldy int, x []float32, ldx, m int) bool {
	if m <= 0 || l.In == 0 {
		return false
	}
	last := RoundRows(m) - 1
	_ = x[last*ldx+l.In-1]
	_ = y[last*ldy+RoundCols(l.Out)-1]
	return true
}

// Product computes the a x b matrix y = x^T g, for x of n rows and a columns
// and g of n rows and b columns: the gradient of a layer's weights. Rows start
// every ldx, ldg, ldy elements. ldg and ldy must be at least RoundCols(b); the
// columns of g from b on must be finite. If a is not a whole number of tiles, x
// must be readable, and y is written, up to the next whole number.
func Product(y []float32, ldy int, x []float32, ldx, a int, g []float32, ldg, b, n int) {
	if n <= 0 || a <= 0 || b <= 0 {
		return
	}
	_ = x[(n-1)*ldx+RoundRows(a)-1]
	_ = g[(n-1)*ldg+RoundCols(b)-1]
	_ = y[(RoundRows(a)-1)*ldy+RoundCols(b)-1]
	for j := 0; j < b; j += width {
		for i := 0; i < a; i += TileRows {
			tileFew(b-j, n, x[i:], 1, ldx, g[j:], ldg, zeros[:], y[i*ldy+j:], ldy, 1)
		}
	}
}

// TableCols is the number of columns of a [Table].
const TableCols = 128

// Affine computes y = x W + b for a W that is not packed. Rows of W start every
// ldw elements and have, like b, at least RoundCols(cols) columns. It serves
// wide matrices that are used only once. y and x are as in [Layer.Apply], with
// m rows. Numbers in W and b beyond cols only affect columns of y from cols on.
func Affine(y []float32, ldy int, x []float32, ldx, m int, w []float32, ldw, in int, b []float32, cols int) {
	if m <= 0 || in <= 0 || cols <= 0 {
		return
	}
	last, n := RoundRows(m)-1, RoundCols(cols)
	_ = x[last*ldx+in-1]
	_ = y[last*ldy+n-1]
	_ = w[(in-1)*ldw+n-1]
	_ = b[n-1]
	for j := 0; j < cols; j += width {
		for i := 0; i < m; i += TileRows {
			tileAhead(in, x[i*ldx:], ldx, 1, w[j:], ldw, b[j:], y[i*ldy+j:], ldy, 1)
		}
	}
}

// AdamOuter makes one step of [Adam] whose gradient is, for parameter j, decay
// p[j] plus the sum over i < k of h[i*ldh] g[i*ldg+j], computed as [Product] and
// [Axpy] do. It serves a layer's weights that are read only here: the gradient
// is never in memory. It returns the number of leading parameters that it has
// processed, 0 where there is no code for it.
func AdamOuter(p, m, v []float32, h []float32, ldh int, g []float32, ldg, k int, decay, b1, b2, rate, epsilon float32) int {
	if len(p) == 0 || k <= 0 {
		return 0
	}
	_, _ = m[len(p)-1], v[len(p)-1]
	_, _ = h[(k-1)*ldh], g[(k-1)*ldg+len(p)-1]
	return adamOuter(p, m, v, h, ldh, g, ldg, k, decay, b1, b2, rate, epsilon)
}

// ProductTransposed computes the b x a matrix y = g x^T for x of a rows and g
// of b rows, both of n columns. Rows start every ldx, ldg, ldy elements. g must
// be readable, and y is written, up to a whole number of tiles of rows.
func ProductTransposed(y []float32, ldy int, x []float32, ldx, a int, g []float32, ldg, b, n int) {
	if a <= 0 || b <= 0 || n <= 0 {
		return
	}
	_ = x[(a-1)*ldx+n-1]
	_ = g[(RoundRows(b)-1)*ldg+n-1]
	_ = y[(RoundRows(b)-1)*ldy+a-1]
	rows, cols := productTransposed(y, ldy, x, ldx, a, g, ldg, b, n)
	for j := range b {
		for i := range a {
			from, sum := 0, float32(0)
			if i < rows {
				if cols == n {
					continue
				}
				from, sum = cols, y[j*ldy+i]
			}
			y[j*ldy+i] = sum + Dot(x[i*ldx+from:i*ldx+n], g[j*ldg+from:j*ldg+n])
		}
	}
}

// Sums adds the m rows of x, which start every ldx elements, to y, column by
// column. Both must have space for RoundCols(cols) columns, all of which are
// added.
func Sums(y, x []float32, ldx, m, cols int) {
	if m <= 0 || cols <= 0 {
		return
	}
	n := RoundCols(cols)
	_, _ = x[(m-1)*ldx+n-1], y[n-1]
	for j := 0; j < n; j += width {
		sums(y[j:], x[j:], ldx, m)
	}
}

// mapCols is the number of columns that [ColumnProducts] and [ColumnMaps] process
// at once.
const mapCols = 32

// ColumnProducts adds to y[j] the sum over m rows of a[j] (b[j] - shift[j]). Rows
// of a and b start every ld elements; the number of columns, len(y), must be a
// multiple of 32.
func ColumnProducts(y, a, b []float32, ld, m int, shift []float32) {
	if m <= 0 || len(y) == 0 {
		return
	}
	last := (m-1)*ld + len(y) - 1
	_, _, _ = a[last], b[last], shift[len(y)-1]
	for j := 0; j < len(y); j += mapCols {
		columnProducts(y[j:j+mapCols], a[j:], b[j:], ld, m, shift[j:])
	}
}

// ColumnMaps computes m rows of y, y[j] = max(t, slope t) with t = p[j] x[j] +
// q[j] z[j] + r[j]. Rows of y, x and z start every ld elements; y may be x. The
// number of columns, len(p), must be a multiple of 32.
func ColumnMaps(y, x, z []float32, ld, m int, p, q, r []float32, slope float32) {
	if m <= 0 || len(p) == 0 {
		return
	}
	last := (m-1)*ld + len(p) - 1
	_, _, _, _, _ = y[last], x[last], z[last], q[len(p)-1], r[len(p)-1]
	for j := 0; j < len(p); j += mapCols {
		columnMaps(y[j:], x[j:], z[j:], ld, m, p[j:], q[j:], r[j:], slope)
	}
}

// A Table is a layer y = act(x W + b) of 128 columns whose input is a packed
// solution, where a bit stands for -1 or +1. For every byte of the solution it
// holds the 256 possible sums of rows of W.
type Table struct {
	bytes int
	slope float32
	sums  []float32 // bytes x 256 x TableCols
	b     []float32
}

// NewTable returns the table of the d x 128 matrix w and the bias b.
func NewTable(w, b []float32, d int, slope float32) *Table {
	n := (d + 7) / 8
	t := &Table{bytes: n, slope: slope, sums: make([]float32, n*256*TableCols), b: append([]float32(nil), b...)}
	for k := range n {
		sums := t.sums[k*256*TableCols:]
		// Row 0: all bits -1. Each other row is an earlier one with one bit set.
		for j := k * 8; j < min(k*8+8, d); j++ {
			for c, v := range w[j*TableCols : (j+1)*TableCols] {
				sums[c] -= v
			}
		}
		for v := 1; v < 256; v++ {
			bit := 0
			for v>>bit&1 == 0 {
				bit++
			}
			from, to := sums[(v&(v-1))*TableCols:], sums[v*TableCols:(v+1)*TableCols]
			if j := k*8 + bit; j < d {
				for c, u := range w[j*TableCols : (j+1)*TableCols] {
					to[c] = from[c] + 2*u
				}
			} else {
				copy(to, from)
			}
		}
	}
	return t
}

// Apply computes m rows of y, which start every ldy elements, from m packed
// solutions of stride words each.
func (t *Table) Apply(y []float32, ldy int, words []uint64, stride, m int) {
	var buf [512]byte
	bits := buf[:]
	if t.bytes > len(buf) {
		bits = make([]byte, t.bytes)
	}
	bits = bits[:t.bytes]
	for i := range m {
		row := words[i*stride : (i+1)*stride]
		for k := range bits {
			bits[k] = byte(row[k>>3] >> (8 * (k & 7)))
		}
		lookup(bits, t.sums, t.b, y[i*ldy:i*ldy+TableCols], t.slope)
	}
}
