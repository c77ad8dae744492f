package kernel

import "math"

// tileGo is a tile in plain Go: for r < 6 and c < n,
//
//	y[r*ldy+c] = act(b[c] + sum_p x[r*xr+p*xk] * w[p*ldw+c])
//
// with act(v) = max(v, slope*v).
func tileGo(k int, x []float32, xr, xk int, w []float32, ldw int, b []float32, y []float32, ldy int, slope float32, n int) {
	for r := range TileRows {
		row := y[r*ldy : r*ldy+n]
		copy(row, b[:n])
		for p := range k {
			v := x[r*xr+p*xk]
			for c, u := range w[p*ldw : p*ldw+n] {
				row[c] += v * u
			}
		}
		if slope != 1 {
			for c, v := range row {
				row[c] = max(v, slope*v)
			}
		}
	}
}

// tileMaskGo is a tile with the derivative of the activation. For r < 6 and c <
// n, y[r*ldy+c] is the sum as in tileGo, but without b, times 1 where
// h[r*ldy+c] > 0 and times slope elsewhere.
func tileMaskGo(k int, x []float32, xr, xk int, w []float32, ldw int, h []float32, y []float32, ldy int, slope float32, n int) {
	tileGo(k, x, xr, xk, w, ldw, zeros[:], y, ldy, 1, n)
	for r := range TileRows {
		for c := range n {
			if !(h[r*ldy+c] > 0) {
				y[r*ldy+c] *= slope
			}
		}
	}
}

// zeros is the bias of tiles without one, long enough for the widest tile.
var zeros [64]float32

func dotsGo(dst []float32, x []float32, ldx int, w []float32, b float32) {
	for i := range dst {
		dst[i] = b + dotGo(w, x[i*ldx:])
	}
}

func extremesGo(lo, hi, x []float32, ldx, m int) {
	for i := range m {
		for j := range lo {
			v := x[i*ldx+j]
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
}

func dotGo(a, b []float32) float32 {
	var s [4]float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		for c := range 4 {
			s[c] += a[i+c] * b[i+c]
		}
	}
	for ; i < len(a); i++ {
		s[0] += a[i] * b[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func sumsGo(y, x []float32, ldx, m int) {
	for i := range m {
		axpyGo(y, 1, x[i*ldx:i*ldx+len(y)])
	}
}

func columnProductsGo(y, a, b []float32, ld, m int, shift []float32) {
	for i := range m {
		for j := range y {
			y[j] += a[i*ld+j] * (b[i*ld+j] - shift[j])
		}
	}
}

func columnMapsGo(y, x, z []float32, ld, m int, p, q, r []float32, slope float32) {
	for i := range m {
		for j := range mapCols {
			t := p[j]*x[i*ld+j] + q[j]*z[i*ld+j] + r[j]
			y[i*ld+j] = max(t, slope*t)
		}
	}
}

func axpyGo(y []float32, a float32, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

func halfExpGo(x []float32) {
	for i, v := range x {
		x[i] = float32(math.Exp(min(max(float64(v)/2, -87), 88)))
	}
}

func adamGo(p, m, v, g []float32, b1, b2, rate, epsilon float32) {
	for i, gi := range g[:len(p)] {
		m[i] = b1*m[i] + (1-b1)*gi
		v[i] = b2*v[i] + (1-b2)*gi*gi
		p[i] -= rate * m[i] / (float32(math.Sqrt(float64(v[i]))) + epsilon)
	}
}

func lookupGo(bits []byte, table, b, y []float32, slope float32) {
	y = y[:TableCols]
	copy(y, b)
	for t, v := range bits {
		row := table[(t*256+int(v))*TableCols:]
		for c, u := range row[:TableCols] {
			y[c] += u
		}
	}
	for c, v := range y {
		y[c] = max(v, slope*v)
	}
}
