package nir

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	vec "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Model is a trained set of NIRs: the shared networks and one embedding per
// training instance. It is safe for use by several goroutines.
type Model struct {
	// Normalisation selects how ranges are found. Change it only before the
	// first use.
	Normalisation Normalisation
	// Farm, if not nil, has the ranges of scorers computed by the workers of a
	// pool. It does not change any result. Change it only before the first use.
	Farm farm.Pool

	settings Settings
	names    []string
	data     string // fingerprint of the training data; empty if unknown
	shape    shape
	params   []float32 // laid out as shape describes
	stats    []float32 // running statistics of the batch normalisations
	history  []Record
	status   run.Status
	training *checkpoint // state of an unfinished training, else nil

	once sync.Once
	enc  *encoder

	sample sample
	// from is the number of the first chunk of the normalising sample: 0 but in
	// a model that stands for a part of the sample, see part.
	from int

	packOnce sync.Once // guards packed and packErr
	packed   []byte    // the model's file, which workers of a farm get
	packErr  error
}

// A Record is an entry of the training's history.
type Record struct {
	// Step is the training step after which the losses were measured.
	Step int
	// Train and Validation are the losses of Eq. 9 on the last batch and on
	// the validation data.
	Train, Validation Losses
	// LearningRate of the step.
	LearningRate float64
}

// Losses are the terms of Eq. 9.
type Losses struct {
	// Total is the weighted sum of the three terms, summed over the instances.
	Total float64
	// Reconstruction, MSE(x, x'), is the mean over solutions, bits and
	// instances.
	Reconstruction float64
	// Scorer holds MSE(y, y') of each instance.
	Scorer []float64
	// KL is the divergence from N(0, I), the mean over solutions and
	// instances of the sum over the latent dimensions.
	KL float64
}

// A tensor is a named row-major matrix within the parameters.
type tensor struct {
	name       string
	rows, cols int
	off        int
}

// A shape describes the layout of a model's parameters.
type shape struct {
	dim, latent, in int // d, d_z, the scorer's input
	norm            bool
	instances       int
	embedding       int // d_e
	tensors         []tensor
	size            int
	scorer          []tensor // the parts of the hypernetwork's output
	scorerSize      int
}

func newShape(s Settings, instances int) shape {
	sh := shape{dim: s.Dim, latent: s.Latent, in: s.Latent, norm: s.BatchNorm, instances: instances, embedding: s.EmbeddingSize}
	if s.Input == MeanAndStd {
		sh.in *= 2
	}
	for _, t := range []tensor{
		{"s1.W", sh.in, Hidden, 0}, {"s1.b", 1, Hidden, 0},
		{"s2.W", Hidden, Hidden, 0}, {"s2.b", 1, Hidden, 0},
		{"s3.W", Hidden, 1, 0}, {"s3.b", 1, 1, 0},
	} {
		t.off = sh.scorerSize
		sh.scorer = append(sh.scorer, t)
		sh.scorerSize += t.rows * t.cols
	}
	add := func(name string, rows, cols int) {
		sh.tensors = append(sh.tensors, tensor{name, rows, cols, sh.size})
		sh.size += rows * cols
	}
	linear := func(name string, in, out int, norm bool) {
		add(name+".W", in, out)
		add(name+".b", 1, out)
		if norm && sh.norm {
			add(name+".gamma", 1, out)
			add(name+".beta", 1, out)
		}
	}
	linear("e1", sh.dim, Hidden, true)
	linear("e2", Hidden, Hidden, true)
	linear("e3", Hidden, 2*sh.latent, false) // mean | log-variance
	linear("d1", sh.latent, Hidden, true)
	linear("d2", Hidden, Hidden, true)
	linear("d3", Hidden, sh.dim, false)
	linear("h2", hyperHidden, sh.scorerSize, false)
	linear("h1", sh.embedding, hyperHidden, false)
	add("embeddings", instances, sh.embedding)
	return sh
}

// statsSize is the length of the running statistics: mean and variance of
// four layers.
func (sh shape) statsSize() int {
	if !sh.norm {
		return 0
	}
	return 4 * 2 * Hidden
}

// find returns the tensor with the given name.
func (sh shape) find(name string) tensor {
	for _, t := range sh.tensors {
		if t.name == name {
			return t
		}
	}
	panic("nir: no tensor of that name")
}

// view returns the part of p that holds the named tensor.
func (sh shape) view(p []float32, name string) []float32 {
	t := sh.find(name)
	return p[t.off : t.off+t.rows*t.cols : t.off+t.rows*t.cols]
}

// scorerView returns the named part of a scorer's weights.
func (sh shape) scorerView(w []float32, name string) []float32 {
	for _, t := range sh.scorer {
		if t.name == name {
			return w[t.off : t.off+t.rows*t.cols : t.off+t.rows*t.cols]
		}
	}
	panic("nir: no tensor of that name")
}

// wide reports whether d is more than half the width of the hidden layers. If
// so, encoder and decoder start with orthogonal matrices and with hidden biases
// of 1, which put most units on the side of LeakyReLU with slope 1. With
// independent numbers and biases of 0, many units are on the other side for all
// solutions, and many directions pass only weakly through six matrices. The
// reconstruction loss of d = 80 then stays at 0.18; from the orthogonal start
// it reaches 0.016 in half as many steps. A smaller d does not need this, and
// the scorers of a contamination control problem learn a quarter faster from
// independent numbers.
func (sh shape) wide() bool { return 2*sh.dim > Hidden && !sh.norm }

// initial returns the initial parameters of a training: see [Start]. embeddings,
// unless nil, are those to begin with.
func (sh shape) initial(s Settings, embeddings []float32, r *rand.Rand) []float32 {
	p := make([]float32, sh.size)
	if s.Start == Torch {
		sh.torchStart(p, r)
	} else {
		sh.heStart(p, s.Activation, r)
	}
	for _, name := range []string{"e1", "e2", "d1", "d2"} {
		if sh.norm {
			g := sh.view(p, name+".gamma")
			for i := range g {
				g[i] = 1
			}
		}
	}
	if embeddings != nil {
		copy(sh.view(p, "embeddings"), embeddings)
	}
	if s.Start == Duals {
		sh.dualStart(p)
	}
	if !s.HyperBias {
		clear(sh.view(p, "h1.b"))
		clear(sh.view(p, "h2.b"))
	}
	return p
}

// fillNormal fills v with normal numbers.
func fillNormal(v []float32, std float64, r *rand.Rand) {
	for i := range v {
		v[i] = float32(r.NormFloat64() * std)
	}
}

// heStart fills p with random parameters. Variances are He's for layers
// followed by LeakyReLU, and 1/in for others; the log-variances' head has a
// tenth of that. The hypernetwork's last layer is scaled so that the generated
// weights have these variances too. Embeddings are N(0, 1), biases 0. See also
// [shape.wide].
func (sh shape) heStart(p []float32, act Activation, r *rand.Rand) {
	he := func(gain float64, in int) float64 { return math.Sqrt(gain / float64(in)) }
	matrix := func(name string, gain float64) {
		t, w := sh.find(name+".W"), sh.view(p, name+".W")
		if sh.wide() {
			orthogonal(w, t.rows, t.cols, t.cols, gain, r)
			return
		}
		fillNormal(w, he(gain, t.rows), r)
	}
	for _, name := range []string{"e1", "e2", "d1", "d2"} {
		matrix(name, 2)
		if b := sh.view(p, name+".b"); sh.wide() {
			for i := range b {
				b[i] = 1
			}
		}
	}
	fillNormal(sh.view(p, "h1.W"), he(2, sh.embedding), r)
	head := sh.view(p, "e3.W")
	for i := range Hidden {
		row := head[i*2*sh.latent:]
		fillNormal(row[:sh.latent], he(1, Hidden), r)
		fillNormal(row[sh.latent:2*sh.latent], he(0.1, Hidden), r)
	}
	if sh.wide() {
		orthogonal(head, Hidden, sh.latent, 2*sh.latent, 1, r)
	}
	matrix("d3", 1)
	// The hypernetwork's hidden units have mean square 1.
	gain := 2.0
	if act == Identity {
		gain = 1
	}
	h2 := sh.view(p, "h2.W")
	for i := range hyperHidden {
		row := h2[i*sh.scorerSize : (i+1)*sh.scorerSize]
		for _, t := range sh.scorer {
			std := 1e-3
			switch {
			case t.name == "s3.W":
				std = he(1, Hidden*hyperHidden)
			case t.rows > 1:
				std = he(gain, t.rows*hyperHidden)
			}
			fillNormal(row[t.off:t.off+t.rows*t.cols], std, r)
		}
	}
	fillNormal(sh.view(p, "embeddings"), 1, r)
}

// torchStart fills p with the initial values of PyTorch's Linear: numbers,
// biases included, uniform within 1/sqrt(in). Embeddings are N(0, 1).
func (sh shape) torchStart(p []float32, r *rand.Rand) {
	for _, name := range []string{"e1", "e2", "e3", "d1", "d2", "d3", "h1", "h2"} {
		bound := 1 / math.Sqrt(float64(sh.find(name+".W").rows))
		for _, part := range []string{".W", ".b"} {
			v := sh.view(p, name+part)
			for i := range v {
				v[i] = float32((2*r.Float64() - 1) * bound)
			}
		}
	}
	fillNormal(sh.view(p, "embeddings"), 1, r)
}

// dualStart turns the hypernetwork's hidden units into detectors, see [Duals],
// and scales its output weights.
func (sh shape) dualStart(p []float32) {
	k := sh.instances
	if k == 0 {
		return
	}
	groups := min(k, hyperHidden)
	// Solve e W = g for the wanted outputs g by a pseudo-inverse: exactly if
	// the embeddings are independent, otherwise in the sense of least squares.
	e := mat.NewDense(k, sh.embedding, nil)
	for i, v := range sh.view(p, "embeddings") {
		e.Set(i/sh.embedding, i%sh.embedding, float64(v))
	}
	g := mat.NewDense(k, hyperHidden, nil)
	for i := range k {
		for u := i % groups; u < hyperHidden; u += groups {
			g.Set(i, u, 1)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(e, mat.SVDThin) {
		return // keep the random units, which training moves as well
	}
	var w mat.Dense
	svd.SolveTo(&w, g, max(1, svd.Rank(1e-6)))
	h1 := sh.view(p, "h1.W")
	for i := range h1 {
		h1[i] = float32(w.At(i/hyperHidden, i%hyperHidden))
	}
	// groups units are 1 at an embedding, whereas in heStart 64 units have mean
	// square 1. The generated weights then start at dualScale times He's.
	scale := float32(dualScale * math.Sqrt(float64(groups)))
	h2 := sh.view(p, "h2.W")
	for i := range h2 {
		h2[i] *= scale
	}
}

// dualScale is the initial size of the generated weights relative to He's. The
// smaller it is, the less an instance generated from a new embedding depends on
// the initial weights.
const dualScale = 0.045

// orthogonal fills the matrix w, rows x cols with a row every ld numbers. Its
// rows (or its columns, if there are more rows than columns) are orthogonal and
// have random directions. Its numbers have the variance gain/rows.
func orthogonal(w []float32, rows, cols, ld int, gain float64, r *rand.Rand) {
	n, m := min(rows, cols), max(rows, cols)
	scale := math.Sqrt(gain * float64(m) / float64(rows))
	vectors := make([][]float64, n)
	for k := range vectors {
		v := make([]float64, m)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		for range 2 { // the second pass removes what rounding left
			for _, u := range vectors[:k] {
				vec.AddScaled(v, -vec.Dot(u, v), u)
			}
		}
		vec.Scale(1/vec.Norm(v, 2), v)
		vectors[k] = v
		for i, x := range v {
			if rows <= cols {
				w[k*ld+i] = float32(scale * x)
			} else {
				w[i*ld+k] = float32(scale * x)
			}
		}
	}
}

// Random returns a model with random, untrained parameters: NIRs without the
// features of any problem class (App. F, the comparison with random weights).
// dim is the dimension of its solutions, instances the number of its
// embeddings. Without training there is nothing to detect, so the start [Duals]
// becomes [He], with biases.
func Random(dim, instances int, s Settings) (*Model, error) {
	if instances < 0 {
		return nil, fmt.Errorf("nir: Random needs a number of instances of at least 0; got %d", instances)
	}
	if instances > 1<<20 {
		return nil, fmt.Errorf("nir: Random with %d instances; it must be at most %d", instances, 1<<20)
	}
	if s = s.withDefaults(dim); s.Start == Duals {
		s.Start, s.HyperBias = He, true
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	names := make([]string, instances)
	for i := range names {
		names[i] = fmt.Sprintf("random/%d", i)
	}
	return newModel(names, s), nil
}

// newModel returns a model with initial parameters.
func newModel(names []string, s Settings) *Model { return newModelAt(names, s, nil) }

// newModelAt is newModel with the embeddings to begin with, unless they are nil.
func newModelAt(names []string, s Settings, embeddings []float32) *Model {
	m := &Model{settings: s, names: names, shape: newShape(s, len(names))}
	m.settings.OnEvent, m.settings.OnRecord, m.settings.Resume, m.settings.Checkpoint = nil, nil, nil, ""
	m.Normalisation, m.settings.Normalisation = s.Normalisation, Normalisation{}
	m.Farm, m.settings.Farm = s.Farm, nil
	m.params = m.shape.initial(s, embeddings, run.Rand(s.Seed, "nir: initial"))
	m.stats = make([]float32, m.shape.statsSize())
	for i := 0; i < len(m.stats); i += 2 * Hidden {
		for j := range Hidden {
			m.stats[i+Hidden+j] = 1
		}
	}
	return m
}

// Dim returns the dimension d of the model's solutions.
func (m *Model) Dim() int { return m.shape.dim }

// Settings returns the settings with which the model was made, with defaults
// filled in and without the hooks.
func (m *Model) Settings() Settings { return m.settings }

// Names returns the names of the training instances.
func (m *Model) Names() []string { return slices.Clone(m.names) }

// Status returns the reason why the training ended.
func (m *Model) Status() run.Status { return m.status }

// History returns the losses over the training, oldest first.
func (m *Model) History() []Record {
	out := slices.Clone(m.history)
	for i := range out {
		out[i].Train.Scorer = slices.Clone(out[i].Train.Scorer)
		out[i].Validation.Scorer = slices.Clone(out[i].Validation.Scorer)
	}
	return out
}

// Losses returns the validation losses of the kept parameters: those of the
// record with the smallest validation loss from [Settings].KeepFrom on.
func (m *Model) Losses() Losses {
	var best Losses
	found := false
	for _, r := range m.history {
		if r.Step >= m.settings.KeepFrom && (!found || r.Validation.Total < best.Total) {
			best, found = r.Validation, true
		}
	}
	best.Scorer = slices.Clone(best.Scorer)
	return best
}

// Embeddings returns the embedding of every training instance,
// [Settings].EmbeddingSize numbers each: a copy.
//
// Their distances do not tell how similar the instances are, unless the model was
// trained with [Settings].DistanceWeight: they begin at random, and training has no
// reason to bring similar instances together. A map of them (a PCA, for instance)
// shows noise: see [Model.Caution]. Compare the instances, or the NIRs
// ([Model.NIRs]), by their values: package similarity.
func (m *Model) Embeddings() [][]float64 {
	e := m.shape.view(m.params, "embeddings")
	out := make([][]float64, m.shape.instances)
	for i := range out {
		out[i] = make([]float64, m.shape.embedding)
		for j := range out[i] {
			out[i][j] = float64(e[i*m.shape.embedding+j])
		}
	}
	return out
}

// Weights returns the weights that the hypernetwork generates from an embedding
// for the scorer; if encoder is true, the encoder's weights come first. Changed
// or not, they can be given to [Model.ScorerOf]. The paper's NoReg variant
// changes weights this way instead of an embedding.
func (m *Model) Weights(embedding []float64, encoder bool) ([]float64, error) {
	w, err := m.generate(embedding)
	if err != nil {
		return nil, err
	}
	var out []float64
	if encoder {
		for _, v := range m.params[:m.shape.encoderSize()] {
			out = append(out, float64(v))
		}
	}
	for _, v := range w {
		out = append(out, float64(v))
	}
	return out, nil
}

// encoderSize returns the number of the encoder's parameters, which come first.
func (sh shape) encoderSize() int { return sh.find("d1.W").off }

// generate returns the weights that the hypernetwork generates from an
// embedding.
func (m *Model) generate(embedding []float64) ([]float32, error) {
	if n := m.shape.embedding; len(embedding) != n {
		return nil, fmt.Errorf("nir: an embedding of this model has %d numbers; got %d", n, len(embedding))
	}
	for i, v := range embedding {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("nir: number %d of the embedding is %v; it must be finite", i, v)
		}
	}
	sh := m.shape
	w1, b1 := sh.view(m.params, "h1.W"), sh.view(m.params, "h1.b")
	w2, b2 := sh.view(m.params, "h2.W"), sh.view(m.params, "h2.b")
	hidden := slices.Clone(b1)
	for i, e := range embedding {
		kernel.Axpy(hidden, float32(e), w1[i*hyperHidden:(i+1)*hyperHidden])
	}
	out := slices.Clone(b2)
	for i, h := range hidden {
		kernel.Axpy(out, max(h, leak*h), w2[i*sh.scorerSize:(i+1)*sh.scorerSize])
	}
	return out, nil
}

// A Range is the minimum and maximum of a score over the normalising sample
// (Eq. 11).
type Range struct {
	// Min and Max are scores as the network computes them.
	Min, Max float64
}

// Instance returns the NIR with that embedding as a problem, normalised by
// Eq. 11 over the sample of [Model.Normalise]. An empty name means "nir".
func (m *Model) Instance(ctx context.Context, name string, embedding []float64) (problem.Problem, error) {
	s, err := m.Scorer(embedding)
	if err != nil {
		return nil, err
	}
	r, err := m.Normalise(ctx, [][]float64{embedding})
	if err != nil {
		return nil, err
	}
	return s.Named(name).Within(r[0]), nil
}
