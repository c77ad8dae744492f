package landscape

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// A PCA is a linear map to the principal components of a set of vectors.
type PCA struct {
	// Mean of the vectors that the map was fitted to.
	Mean []float64
	// Components holds the directions, one row each: orthonormal, in descending
	// order of variance. The sign of each is chosen so that the fitted vector
	// with the largest absolute coordinate has a positive one.
	Components [][]float64
	// Variance is the variance along each component, with n-1; Ratio is its
	// share of the total variance.
	Variance, Ratio []float64
}

// FitPCA fits a map to k components to the rows of x, n x d, centred but not
// scaled. For the paper's figure, fit it to the training and test instances
// only.
func FitPCA(x [][]float64, k int) (PCA, error) {
	n := len(x)
	if n < 2 || k < 1 || k > min(n, len(x[0])) {
		return PCA{}, fmt.Errorf("landscape: PCA of %d vectors to %d components: at least 2 vectors, and as many vectors and coordinates as components, are needed", n, k)
	}
	d := len(x[0])
	p := PCA{Mean: make([]float64, d)}
	for i, row := range x {
		if len(row) != d {
			return PCA{}, fmt.Errorf("landscape: PCA: vector %d has %d coordinates, the first has %d", i, len(row), d)
		}
		for j, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return PCA{}, fmt.Errorf("landscape: PCA: coordinate %d of vector %d is %v", j, i, v)
			}
			p.Mean[j] += v / float64(n)
		}
	}
	a := mat.NewDense(n, d, nil)
	for i, row := range x {
		for j, v := range row {
			a.Set(i, j, v-p.Mean[j])
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return PCA{}, fmt.Errorf("landscape: PCA: the singular value decomposition of %d x %d does not converge", n, d)
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	total := 0.0
	for _, s := range values {
		total += s * s
	}
	for c := range k {
		sign, largest := 1.0, 0.0
		for i := range n {
			if m := math.Abs(u.At(i, c)); m > largest {
				largest, sign = m, math.Copysign(1, u.At(i, c))
			}
		}
		row := make([]float64, d)
		for j := range row {
			row[j] = sign * v.At(j, c)
		}
		p.Components = append(p.Components, row)
		p.Variance = append(p.Variance, values[c]*values[c]/float64(n-1))
		ratio := 0.0
		if total > 0 {
			ratio = values[c] * values[c] / total
		}
		p.Ratio = append(p.Ratio, ratio)
	}
	return p, nil
}

// Transform maps the rows of x to their components: n x k. It panics if a row
// does not have the length of those that the map was fitted to.
func (p PCA) Transform(x [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for i, row := range x {
		if len(row) != len(p.Mean) {
			panic("landscape: Transform needs rows as long as those of FitPCA")
		}
		out[i] = make([]float64, len(p.Components))
		for c, comp := range p.Components {
			for j, v := range row {
				out[i][c] += (v - p.Mean[j]) * comp[j]
			}
		}
	}
	return out
}
