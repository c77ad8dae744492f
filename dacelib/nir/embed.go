package nir

import (
	"context"
	"fmt"
	"math"

	vec "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// embedRows is the number of solutions whose values an embedding is fitted to; the
// others decide where it starts.
const embedRows = 1024

// Embed places a new instance among those of the model: it returns the embedding
// whose NIR is nearest to p's values, with the networks as they are. Nothing is
// trained again. p has the model's dimension, and is evaluated on
// [Settings].Samples solutions.
//
// It starts at the linear combination of the training instances' embeddings whose
// coefficients are those of a least-squares fit of p's values by their NIRs'. Then
// L-BFGS reduces the mean squared difference between the NIR's and p's values, and,
// in a model with [Settings].DistanceWeight, that term for the new embedding. How
// well it fits is the correlation of the values: see [Compare]. An instance unlike
// all that the model has learned is placed where it fits least badly.
func (m *Model) Embed(ctx context.Context, p problem.Problem) ([]float64, error) {
	sh := m.shape
	if p.Dim() != sh.dim {
		return nil, fmt.Errorf("nir: %s has dimension %d, the model %d; only instances of the model's dimension can be embedded", p.Name(), p.Dim(), sh.dim)
	}
	if sh.instances == 0 {
		return nil, fmt.Errorf("nir: the model has learned no instance, among which %s could be placed", p.Name())
	}
	x, err := distinct(m.settings.Samples, sh.dim, run.Seed(m.settings.Seed, "nir: embed"))
	if err != nil {
		return nil, fmt.Errorf("nir: drawing solutions of %s: %w", p.Name(), err)
	}
	data, err := sampleAt(ctx, p, x)
	if err != nil {
		return nil, err
	}
	if err := data.check(); err != nil {
		return nil, err
	}
	start, correlations, err := m.blend(ctx, data)
	if err != nil {
		return nil, err
	}
	f := m.newEmbedLoss(data, correlations)
	best, lowest := start, math.Inf(1)
	loss := optimize.Problem{
		Func: func(e []float64) float64 {
			l := f.at(e, nil)
			if l < lowest {
				best, lowest = append([]float64(nil), e...), l
			}
			return l
		},
		Grad:   func(g, e []float64) { f.at(e, g) },
		Status: func() (optimize.Status, error) { return optimize.NotTerminated, ctx.Err() },
	}
	// A line search that ends at a kink of LeakyReLU is no failure: the best so
	// far counts.
	_, _ = optimize.Minimize(loss, start, &optimize.Settings{MajorIterations: 60, GradientThreshold: 1e-9}, &optimize.LBFGS{})
	return best, ctx.Err()
}

// blend returns the linear combination of the training embeddings that fits the
// data best, and the correlations of the data with the NIRs' values.
func (m *Model) blend(ctx context.Context, data Data) (start, correlations []float64, err error) {
	nirs, err := m.NIRs()
	if err != nil {
		return nil, nil, err
	}
	n := len(nirs)
	values := mat.NewDense(n, data.X.Len(), nil)
	y := make([]float64, data.X.Len())
	for i, s := range nirs {
		if err := s.Evaluate(ctx, y, data.X); err != nil {
			return nil, nil, err
		}
		values.SetRow(i, standard(y))
	}
	var gram mat.Dense
	gram.Mul(values, values.T())
	var r mat.VecDense
	r.MulVec(values, mat.NewVecDense(data.X.Len(), standard(data.Y)))
	var svd mat.SVD
	if !svd.Factorize(&gram, mat.SVDThin) {
		return nil, nil, fmt.Errorf("nir: the values of the model's NIRs cannot be decomposed; are its weights finite?")
	}
	var c mat.Dense
	svd.SolveTo(&c, &r, max(1, svd.Rank(1e-3)))
	start = make([]float64, m.shape.embedding)
	for i, e := range m.Embeddings() {
		vec.AddScaled(start, c.At(i, 0), e)
	}
	return start, r.RawVector().Data, nil
}

// An embedLoss is what an embedding is fitted to: the mean squared difference
// between scores and values, and the term of Settings.DistanceWeight.
type embedLoss struct {
	model        *Model
	y            []float64
	latents      *mat.Dense // the scorer's input, a row per solution
	embeddings   [][]float64
	correlations []float64
	h1, h2       *mat.Dense // the hypernetwork's weights, inputs x outputs
	b1, b2       []float64
}

func (m *Model) newEmbedLoss(data Data, correlations []float64) *embedLoss {
	sh := m.shape
	n := min(embedRows, data.X.Len())
	f := &embedLoss{model: m, embeddings: m.Embeddings(), correlations: correlations}
	for _, v := range data.normalised()[:n] {
		f.y = append(f.y, float64(v))
	}
	z := make([]float32, latentRows(n)*sh.in)
	m.encoder().latents(z, newScratch(sh.in), data.X.Slice(0, n))
	wide := func(v []float32) []float64 {
		out := make([]float64, len(v))
		for i, x := range v {
			out[i] = float64(x)
		}
		return out
	}
	f.latents = mat.NewDense(n, sh.in, wide(z[:n*sh.in]))
	f.h1 = mat.NewDense(sh.embedding, hyperHidden, wide(sh.view(m.params, "h1.W")))
	f.h2 = mat.NewDense(hyperHidden, sh.scorerSize, wide(sh.view(m.params, "h2.W")))
	f.b1, f.b2 = wide(sh.view(m.params, "h1.b")), wide(sh.view(m.params, "h2.b"))
	return f
}

// at returns the loss of an embedding, and writes its gradient to g unless that is
// nil.
func (f *embedLoss) at(e, g []float64) float64 {
	sh := f.model.shape
	slope := func(v float64) float64 {
		if v > 0 {
			return 1
		}
		return leak
	}
	var pre, weights mat.VecDense
	pre.MulVec(f.h1.T(), mat.NewVecDense(len(e), e))
	hidden := mat.NewVecDense(hyperHidden, nil)
	for i, b := range f.b1 {
		v := pre.AtVec(i) + b
		pre.SetVec(i, v)
		hidden.SetVec(i, v*slope(v))
	}
	weights.MulVec(f.h2.T(), hidden)
	w := weights.RawVector().Data
	vec.Add(w, f.b2)
	part := func(of []float64, name string) *mat.Dense {
		for _, t := range sh.scorer {
			if t.name == name {
				return mat.NewDense(t.rows, t.cols, of[t.off:t.off+t.rows*t.cols])
			}
		}
		panic("nir: no tensor of that name")
	}
	unit := func(v float64) float64 { return slope(v) }
	if f.model.settings.Activation == Identity {
		unit = func(float64) float64 { return 1 }
	}
	// Forward: two hidden layers and the score.
	layer := func(in mat.Matrix, name string) (before, after *mat.Dense) {
		before = new(mat.Dense)
		before.Mul(in, part(w, name+".W"))
		b := part(w, name+".b").RawRowView(0)
		after = new(mat.Dense)
		after.Apply(func(_, j int, v float64) float64 { v += b[j]; return v * unit(v) }, before)
		before.Apply(func(_, j int, v float64) float64 { return unit(v + b[j]) }, before) // now the slopes
		return before, after
	}
	s1, a1 := layer(f.latents, "s1")
	s2, a2 := layer(a1, "s2")
	var score mat.Dense
	score.Mul(a2, part(w, "s3.W"))
	n := len(f.y)
	loss, d := 0.0, mat.NewDense(n, 1, nil)
	for i, y := range f.y {
		off := score.At(i, 0) + part(w, "s3.b").At(0, 0) - y
		loss += off * off / float64(n)
		d.Set(i, 0, 2*off/float64(n))
	}
	if g != nil { // backward, to the scorer's weights, then through the hypernetwork
		dw := make([]float64, len(w))
		back := func(in mat.Matrix, name string, d *mat.Dense) {
			part(dw, name+".W").Mul(in.T(), d)
			b := part(dw, name+".b").RawRowView(0)
			rows, _ := d.Dims()
			for i := range rows {
				vec.Add(b, d.RawRowView(i))
			}
		}
		var d2, d1 mat.Dense
		back(a2, "s3", d)
		d2.Mul(d, part(w, "s3.W").T())
		d2.MulElem(&d2, s2)
		back(a1, "s2", &d2)
		d1.Mul(&d2, part(w, "s2.W").T())
		d1.MulElem(&d1, s1)
		back(f.latents, "s1", &d1)
		var dHidden mat.VecDense
		dHidden.MulVec(f.h2, mat.NewVecDense(len(dw), dw))
		for i := range f.b1 {
			dHidden.SetVec(i, dHidden.AtVec(i)*slope(pre.AtVec(i)))
		}
		mat.NewVecDense(len(g), g).MulVec(f.h1, &dHidden)
	}
	return loss + f.distances(e, g)
}

// distances returns the mean squared difference between the correlations and what
// the inner products of e with the training embeddings and with itself say, times
// DistanceWeight, and adds its gradient to g unless that is nil.
func (f *embedLoss) distances(e, g []float64) float64 {
	weight := f.model.settings.DistanceWeight
	if weight == 0 {
		return 0
	}
	n, size := float64(len(f.embeddings)+1), float64(len(e))
	loss := 0.0
	add := func(to []float64, r, factor float64) {
		off := vec.Dot(e, to)/size - r
		loss += weight * off * off / n
		if g != nil {
			vec.AddScaled(g, factor*2*weight*off/(n*size), to)
		}
	}
	for i, to := range f.embeddings {
		add(to, f.correlations[i], 1)
	}
	add(e, 1, 2)
	return loss
}
