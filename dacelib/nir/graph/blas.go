package graph

import (
	"dace.local/dacelib/nir/internal/kernel"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// blas32 is gonum's BLAS, except that it multiplies single-precision matrices
// with this library's kernels if the processor supports them.
type blas32 struct{ gonum.Implementation }

// Sgemm computes c = alpha op(a) op(b) + beta c, like gonum's Sgemm.
func (g blas32) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if kernel.ISA() == "Go" || m*n*k < 4096 || !fits(tA, m, k, a, lda) || !fits(tB, k, n, b, ldb) || !fits(blas.NoTrans, m, n, c, ldc) {
		g.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	kernel.Sgemm(tA != blas.NoTrans, tB != blas.NoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// fits reports whether x can hold a matrix of r rows and c columns, stored
// transposed or not. If not, the caller leaves the panic to gonum.
func fits(t blas.Transpose, r, c int, x []float32, ld int) bool {
	if t != blas.NoTrans {
		r, c = c, r
	}
	return r > 0 && c > 0 && ld >= c && len(x) >= (r-1)*ld+c
}
