package nir

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/nir/internal/kernel"
)

// An outline tells which solutions may be near a prediction's extremes, so that the others
// need not be predicted. The scores of the references differ mostly along one direction, and the
// predictions, which are combinations of them, too: a solution that is in the middle
// there, and not far off elsewhere, is at no extreme. Of each solution it has the first two
// principal components of the references' scores, to a cell, and the length of the others;
// by the Cauchy-Schwarz inequality they bound every combination.
type outline struct {
	mean  []float64  // of the references' scores on the probe
	axes  *mat.Dense // n x n: column j is component j, times its standard deviation
	cells []uint16   // by solution: of the first two components
	rest  []float32  // by solution: the length of the other components
}

// outlineBytes is what an outline has of each solution.
const outlineBytes = 2 + 4

// Components have variance 1 on the probe. Those beyond outlineReach count as out of
// bounds; between the first's cells are 1/16, between the second's 1/4.
const (
	outlineReach                 = 8
	firstCells, secondCells      = 2 * outlineReach * 16, 2 * outlineReach * 4
	outlineFloor, outlineRounded = 1e-8, 1e-3 // least share of a component's variance; errors of single precision
)

// outline passes over the references' scores. It returns nil if they have no components.
func (m *Model) outline(ctx context.Context, r *references) (*outline, error) {
	n, size := r.n, m.settings.NormaliseSample
	probes := min(probeChunks*sampleChunk, size)
	x := mat.NewDense(probes, n, nil)
	o := &outline{mean: make([]float64, n), axes: mat.NewDense(n, n, nil)}
	for i := range probes {
		for k, v := range r.rows[i*maxReferences:][:n] {
			o.mean[k] += float64(v) / float64(probes)
		}
	}
	for i := range probes {
		for k, v := range r.rows[i*maxReferences:][:n] {
			x.Set(i, k, float64(v)-o.mean[k])
		}
	}
	var cov mat.SymDense
	cov.SymOuterK(1/float64(probes), x.T())
	var e mat.EigenSym
	if !e.Factorize(&cov, true) {
		return nil, nil
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	variance := e.Values(nil) // ascending
	w, b := make([]float32, n*n), make([]float32, n)
	for j := range n {
		d := math.Sqrt(max(variance[n-1-j], outlineFloor*variance[n-1]))
		if d == 0 {
			return nil, nil
		}
		var shift float64
		for k := range n {
			v := vectors.At(k, n-1-j)
			o.axes.Set(k, j, v*d)
			w[k*n+j] = float32(v / d)
			shift += v / d * o.mean[k]
		}
		b[j] = float32(-shift)
	}
	components := kernel.NewLayer(w, b, n, n, 1)
	ld := kernel.RoundCols(n)
	o.cells, o.rest = make([]uint16, size), make([]float32, size)
	err := m.eachChunk(ctx, "normalise", "comparing references", func() func(c int) error {
		y := make([]float32, kernel.RoundRows(block)*ld)
		return func(c int) error {
			for j := 0; j < m.chunkLen(c); j += block {
				at, k := c*sampleChunk+j, min(block, m.chunkLen(c)-j)
				components.Apply(y, ld, r.rows[at*maxReferences:], maxReferences, k)
				for i := range k {
					u := y[i*ld:][:n]
					first, second := u[0], float32(0)
					if n > 1 {
						second = u[1]
					}
					o.cells[at+i] = cellOf(first, second)
					o.rest[at+i] = float32(math.Sqrt(float64(max(0, kernel.Dot(u, u)-first*first-second*second))))
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, err // without what it has not passed over
	}
	return o, nil
}

// cellOf returns the cell of two components. Those out of bounds, and NaN, have the last.
func cellOf(first, second float32) uint16 {
	const reach = outlineReach
	if !(first >= -reach && first < reach && second >= -reach && second < reach) {
		return firstCells * secondCells
	}
	i, j := int((first+reach)*(firstCells/(2*reach))), int((second+reach)*(secondCells/(2*reach)))
	return uint16(i*secondCells + j)
}

// limits returns for each cell the length of the other components up to which no
// prediction of a solution is outside -1 to 1.
func (o *outline) limits(set []*prediction) []float32 {
	limit := make([]float32, firstCells*secondCells+1)
	for c := range limit {
		limit[c] = math.MaxFloat32
	}
	limit[len(limit)-1] = -1
	n := len(o.mean)
	for _, p := range set {
		if p.full {
			continue
		}
		constant := float64(p.y[maxReferences] - p.middle)
		slope := make([]float64, max(n, 2))
		for k, v := range p.y[:n] {
			constant += float64(v) * o.mean[k]
			for j := range n {
				slope[j] += float64(v) * o.axes.At(k, j) / float64(p.half)
			}
		}
		constant /= float64(p.half)
		var others float64
		for _, v := range slope[2:] {
			others += v * v
		}
		others = max(math.Sqrt(others), 1e-30)
		const first, second = 2. * outlineReach / firstCells, 2. * outlineReach / secondCells
		// The largest absolute value of a plane over a cell: at its centre, and as far as
		// it rises from there.
		rise := math.Abs(slope[0])*first/2 + math.Abs(slope[1])*second/2 + outlineRounded
		for i := range firstCells {
			v := constant + slope[0]*((float64(i)+0.5)*first-outlineReach)
			for j := range secondCells {
				at := math.Abs(v+slope[1]*((float64(j)+0.5)*second-outlineReach)) + rise
				limit[i*secondCells+j] = min(limit[i*secondCells+j], float32((1-at)/others*(1-outlineRounded)))
			}
		}
	}
	return limit
}
