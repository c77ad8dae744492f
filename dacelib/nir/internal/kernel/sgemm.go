package kernel

import "sync"

var sgemmPool = sync.Pool{New: func() any { return new([]float32) }}

// Sgemm computes c = alpha op(a) op(b) + beta c, where op is the transpose or
// nothing. op(a) is m x k and op(b) k x n; all matrices are row-major.
func Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	// buf holds one panel of op(b), then the rows of op(a) for the last,
	// incomplete tile, then a tile of the product.
	buf := sgemmPool.Get().(*[]float32)
	need := k*width + TileRows*k + TileRows*width
	if cap(*buf) < need {
		*buf = make([]float32, need)
	}
	panel, ragged, out := (*buf)[:k*width], (*buf)[k*width:k*(width+TileRows)], (*buf)[k*(width+TileRows):need]
	ar, ak := lda, 1
	if transA {
		ar, ak = 1, lda
	}
	whole := m / TileRows * TileRows
	clear(ragged)
	for i := whole; i < m; i++ {
		for p := range k {
			ragged[(i-whole)*k+p] = a[i*ar+p*ak]
		}
	}
	for j := 0; j < n; j += width {
		cols := min(width, n-j)
		if transB {
			clear(panel)
			for q := range cols {
				for p, v := range b[(j+q)*ldb : (j+q)*ldb+k] {
					panel[p*width+q] = v
				}
			}
		} else {
			for p := range k {
				row := panel[p*width : (p+1)*width]
				copy(row, b[p*ldb+j:p*ldb+j+cols])
				clear(row[cols:])
			}
		}
		for i := 0; i < m; i += TileRows {
			if i < whole {
				tile(k, a[i*ar:], ar, ak, panel, width, zeros[:], out, width, 1)
			} else {
				tile(k, ragged, k, 1, panel, width, zeros[:], out, width, 1)
			}
			for r := range min(TileRows, m-i) {
				row := c[(i+r)*ldc+j : (i+r)*ldc+j+cols]
				for q, v := range out[r*width : r*width+cols] {
					if beta == 0 { // c may be uninitialised, even NaN
						row[q] = alpha * v
					} else {
						row[q] = alpha*v + beta*row[q]
					}
				}
			}
		}
	}
	*buf = (*buf)[:cap(*buf)]
	sgemmPool.Put(buf)
}
