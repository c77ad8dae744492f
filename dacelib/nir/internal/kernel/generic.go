package kernel

// tileGo is the tile in plain Go: for r < 6 and c < n,
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
			wp := w[p*ldw : p*ldw+n]
			for c, u := range wp {
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

// dotGo returns the sum of a[i]*b[i].
func dotGo(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}
