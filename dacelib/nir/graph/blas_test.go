package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Sgemm agrees with gonum's, for shapes that leave every kind of remainder.
func TestSgemm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 5000}, {6, 16, 128}, {7, 17, 129}, {128, 60, 33}, {1, 128, 64}, {256, 1, 128}, {65, 130, 5}} {
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				for _, ab := range [][2]float32{{1, 0}, {1, 1}, {-0.5, 2}} {
					m, n, k := s[0], s[1], s[2]
					matrix := func(rows, cols int, tr blas.Transpose) ([]float32, int) {
						if tr != blas.NoTrans {
							rows, cols = cols, rows
						}
						x := make([]float32, rows*(cols+3))
						for i := range x {
							x[i] = float32(r.NormFloat64())
						}
						return x, cols + 3
					}
					a, lda := matrix(m, k, tA)
					b, ldb := matrix(k, n, tB)
					c, ldc := matrix(m, n, blas.NoTrans)
					want := append([]float32(nil), c...)
					if ab[1] == 0 {
						for i := range c {
							c[i] = float32(math.NaN())
						}
					}
					blas32{}.Sgemm(tA, tB, m, n, k, ab[0], a, lda, b, ldb, ab[1], c, ldc)
					gonum.Implementation{}.Sgemm(tA, tB, m, n, k, ab[0], a, lda, b, ldb, ab[1], want, ldc)
					for i := range m {
						for j := range n {
							if d := math.Abs(float64(c[i*ldc+j] - want[i*ldc+j])); !(d < 1e-5*math.Sqrt(float64(k))) {
								t.Fatalf("%v %c %c %v: element %d, %d is %v, want %v", s, tA, tB, ab, i, j, c[i*ldc+j], want[i*ldc+j])
							}
						}
					}
				}
			}
		}
	}
}
