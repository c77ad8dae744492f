package nir

import (
	"fmt"
	"math"
	"slices"

	vec "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// correlate returns the correlations of the instances' values on the solutions for
// validation, which all of them must have in common.
func correlate(data []Data) (*mat.SymDense, error) {
	first := data[0].X.Slice(data[0].split(), data[0].X.Len())
	rows := mat.NewDense(len(data), first.Len(), nil)
	for i, d := range data {
		x := d.X.Slice(d.split(), d.X.Len())
		if x.D != first.D || !slices.Equal(x.Words, first.Words) {
			return nil, fmt.Errorf("nir: Settings.DistanceWeight compares the values of the instances on the last 25 %% of their solutions, of which %q and %q have others; draw them with one seed, for instances of one dimension", data[0].Name, d.Name)
		}
		rows.SetRow(i, standard(d.Y[d.split():]))
	}
	var gram mat.SymDense
	gram.SymOuterK(1, rows)
	return &gram, nil
}

// standard returns values with mean 0 and length 1, -Inf as the smallest of the
// others; 0 if all are equal.
func standard(y []float64) []float64 {
	y = slices.Clone(y)
	raise(y)
	scale := max(math.Abs(slices.Min(y)), math.Abs(slices.Max(y)), math.SmallestNonzeroFloat64)
	for i := range y {
		y[i] /= scale // squares must not overflow
	}
	vec.AddConst(-vec.Sum(y)/float64(len(y)), y)
	if norm := vec.Norm(y, 2); norm > 0 {
		vec.Scale(1/norm, y)
	}
	return y
}

// place returns embeddings whose inner products are d_e times the correlations, or
// as near as d_e numbers can be, in a random orientation; nil without correlations.
func place(correlations *mat.SymDense, s Settings) []float32 {
	if correlations == nil {
		return nil
	}
	n, size := correlations.SymmetricDim(), s.EmbeddingSize
	var eigen mat.EigenSym
	if !eigen.Factorize(correlations, true) {
		return nil // training brings them there
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil) // ascending
	rng := run.Rand(s.Seed, "nir: orientation")
	axes := make([]float64, size*size)
	for i := range axes {
		axes[i] = rng.NormFloat64()
	}
	var qr mat.QR
	qr.Factorize(mat.NewDense(size, size, axes))
	var q mat.Dense
	qr.QTo(&q)
	out := make([]float32, n*size)
	for c := range min(n, size) {
		at := n - 1 - c
		length := math.Sqrt(max(0, values[at]) * float64(size))
		for i := range n {
			v := length * vectors.At(i, at)
			for j := range size {
				out[i*size+j] += float32(v * q.At(c, j))
			}
		}
	}
	return out
}

// distanceGradient adds to de the gradient of the term of Settings.DistanceWeight,
//
//	weight / n^2 sum_ij (e_i.e_j / d_e - r_ij)^2,
//
// for the n embeddings e.
func (p *pass) distanceGradient(de, e []float32) {
	if p.correlations == nil {
		return
	}
	n, size := p.shape.instances, p.shape.embedding
	scale := 4 * p.settings.DistanceWeight / float64(n*n*size)
	for i := range n {
		for j := range n {
			ei, ej := e[i*size:(i+1)*size], e[j*size:(j+1)*size]
			off := float64(kernel.Dot(ei, ej))/float64(size) - p.correlations.At(i, j)
			kernel.Axpy(de[i*size:(i+1)*size], float32(scale*off), ej)
		}
	}
}

// Caution returns what must be known before distances of the model's embeddings are
// taken for a similarity of the instances; "" if the model was trained with
// [Settings].DistanceWeight.
func (m *Model) Caution() string {
	if m.settings.DistanceWeight > 0 {
		return ""
	}
	return "distances of these embeddings are not similarities (trained without DistanceWeight)"
}

// NIRs returns the NIRs of the training instances as problems, under the
// instances' names. Their values are not normalised: see [Model.Instance].
func (m *Model) NIRs() ([]problem.Problem, error) {
	out := make([]problem.Problem, m.shape.instances)
	for i, e := range m.Embeddings() {
		s, err := m.Scorer(e)
		if err != nil {
			return nil, err
		}
		out[i] = s.Named(m.names[i])
	}
	return out, nil
}
