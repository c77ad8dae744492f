// Package kernel holds the arithmetic of the neural instance representation:
// single-precision layers y = act(x W + b) over tiles of six rows, with the
// weights packed into panels as wide as the processor's registers allow.
//
// [Layer] is the packed form of a layer. Which code runs is decided once, at
// start, from what the processor offers: AVX-512, AVX2 with FMA, or plain Go.
package kernel

// TileRows is the number of rows that a tile computes at once. Buffers that
// a layer reads from or writes to must have room for a whole number of tiles.
const TileRows = 6

// RoundRows returns m rounded up to a whole number of tiles.
func RoundRows(m int) int { return (m + TileRows - 1) / TileRows * TileRows }

// Width returns the number of columns of a panel.
func Width() int { return width }

// RoundCols returns n rounded up to a whole number of panels.
func RoundCols(n int) int { return (n + width - 1) / width * width }

// A Layer is y = act(x W + b) with W packed: panels of Width columns, each
// stored row after row, padded with zeros. act(v) = max(v, Slope v): Slope 1
// is the identity.
type Layer struct {
	In, Out int
	Slope   float32

	w []float32 // RoundCols(Out)/Width panels of In x Width
	b []float32 // RoundCols(Out)
}

// NewLayer packs the in x out matrix w (row-major) and the bias b of length
// out, which may be nil for none.
func NewLayer(w, b []float32, in, out int, slope float32) *Layer {
	l := &Layer{
		In: in, Out: out, Slope: slope,
		w: make([]float32, RoundCols(out)*in),
		b: make([]float32, RoundCols(out)),
	}
	l.Set(w, b)
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

// SetTransposed packs the transpose of w, which is out x in (row-major), and
// no bias: the layer that carries gradients back through w.
func (l *Layer) SetTransposed(w []float32) {
	for j := 0; j < l.Out; j += width {
		n := min(width, l.Out-j)
		panel := l.w[j*l.In:]
		for c := range n {
			row := w[(j+c)*l.In : (j+c+1)*l.In]
			for i, v := range row {
				panel[i*width+c] = v
			}
		}
	}
}

// Apply computes rows 0 to m-1 of y, and possibly up to five more, from the
// same rows of x. Rows of x start every ldx elements, those of y every ldy;
// ldy must be at least RoundCols(l.Out), and the columns of y at and above
// Out become 0 or garbage. Both must have room for RoundRows(m) rows.
func (l *Layer) Apply(y []float32, ldy int, x []float32, ldx, m int) {
	if m <= 0 {
		return
	}
	last := RoundRows(m) - 1
	_ = x[last*ldx+l.In-1]
	_ = y[last*ldy+RoundCols(l.Out)-1]
	for j := 0; j < l.Out; j += width {
		w, b := l.w[j*l.In:(j+width)*l.In], l.b[j:j+width]
		for i := 0; i < m; i += TileRows {
			tile(l.In, x[i*ldx:], ldx, 1, w, width, b, y[i*ldy+j:], ldy, l.Slope)
		}
	}
}
