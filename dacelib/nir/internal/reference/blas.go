package reference

import (
	"dace.local/dacelib/nir/internal/kernel"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BLAS is gonum's, with the product of single-precision matrices by this
// library's kernels where the processor has what they need.
type BLAS struct{ gonum.Implementation }

// Sgemm computes c = alpha op(a) op(b) + beta c; see gonum's.
func (g BLAS) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if kernel.ISA() == "Go" || m*n*k < 4096 || !fits(tA, m, k, a, lda) || !fits(tB, k, n, b, ldb) || !fits(blas.NoTrans, m, n, c, ldc) {
		g.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	kernel.Sgemm(tA != blas.NoTrans, tB != blas.NoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// fits reports whether x holds a matrix of r rows and c columns, stored
// transposed or not; where it does not, gonum says so.
func fits(t blas.Transpose, r, c int, x []float32, ld int) bool {
	if t != blas.NoTrans {
		r, c = c, r
	}
	return r > 0 && c > 0 && ld >= c && len(x) >= (r-1)*ld+c
}
