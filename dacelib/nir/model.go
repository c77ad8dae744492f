package nir

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	vec "gonum.org/v1/gonum/floats"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Model is a trained set of NIRs: the shared networks and one embedding per
// training instance. It is safe for use by several goroutines.
type Model struct {
	// Normalisation says how ranges are found. Change it before the first use.
	Normalisation Normalisation

	settings Settings
	names    []string
	shape    shape
	params   []float32 // as shape lays them out
	stats    []float32 // running statistics of the batch normalisations
	history  []Record
	status   run.Status
	training *checkpoint // of an unfinished training, else nil

	once sync.Once
	enc  *encoder

	sample sample
}

// A Record is a line of the training's history.
type Record struct {
	// Step of training after which the losses were taken.
	Step int
	// Train and Validation are the losses of Eq. 9 on the last batch and on
	// the validation data.
	Train, Validation Losses
	// LearningRate of the step.
	LearningRate float64
}

// Losses are the terms of Eq. 9.
type Losses struct {
	// Total is the sum over the instances of the three terms with their
	// weights.
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

// A tensor is a named matrix within the parameters, row-major.
type tensor struct {
	name       string
	rows, cols int
	off        int
}

// A shape lays out the parameters of a model.
type shape struct {
	dim, latent, in int // d, d_z, the scorer's input
	norm            bool
	instances       int
	tensors         []tensor
	size            int
	scorer          []tensor // the parts of the hypernetwork's output
	scorerSize      int
}

func newShape(s Settings, instances int) shape {
	sh := shape{dim: s.Dim, latent: s.Latent, in: s.Latent, norm: s.BatchNorm, instances: instances}
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
	linear("h1", EmbeddingSize, EmbeddingSize, false)
	linear("h2", EmbeddingSize, sh.scorerSize, false)
	add("embeddings", instances, EmbeddingSize)
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

// find returns the named tensor.
func (sh shape) find(name string) tensor {
	for _, t := range sh.tensors {
		if t.name == name {
			return t
		}
	}
	panic("nir: no tensor of that name")
}

// view returns the named tensor's part of p.
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

// wide says whether d is more than half the width of the hidden layers. Encoder
// and decoder then begin with orthogonal matrices, and with hidden biases of 1,
// which put most units on the side of LeakyReLU where its slope is 1. From
// independent numbers and biases of 0, so many units end on the other side for
// all solutions, and so many directions pass weakly through six matrices, that
// the reconstruction of d = 80 stands still at 0.18, where it comes to 0.016 in
// half as many steps from here. With a smaller d there is room, and the scorers
// of a contamination control problem learn a quarter faster from the former.
func (sh shape) wide() bool { return 2*sh.dim > Hidden && !sh.norm }

// initial returns random parameters. Variances are He's for layers that
// LeakyReLU follows and 1/in for others, a tenth of that for the log-variances'
// head; the hypernetwork's last layer is such that the weights it generates
// have that variance too; embeddings are N(0, 1), biases 0. See also
// [shape.wide].
func (sh shape) initial(act Activation, r *rand.Rand) []float32 {
	p := make([]float32, sh.size)
	fill := func(v []float32, std float64) {
		for i := range v {
			v[i] = float32(r.NormFloat64() * std)
		}
	}
	he := func(gain float64, in int) float64 { return math.Sqrt(gain / float64(in)) }
	matrix := func(name string, gain float64) {
		t, w := sh.find(name+".W"), sh.view(p, name+".W")
		if sh.wide() {
			orthogonal(w, t.rows, t.cols, t.cols, gain, r)
			return
		}
		fill(w, he(gain, t.rows))
	}
	for _, name := range []string{"e1", "e2", "d1", "d2"} {
		matrix(name, 2)
		if b := sh.view(p, name+".b"); sh.wide() {
			for i := range b {
				b[i] = 1
			}
		}
	}
	fill(sh.view(p, "h1.W"), he(2, EmbeddingSize))
	if sh.norm {
		for _, name := range []string{"e1", "e2", "d1", "d2"} {
			g := sh.view(p, name+".gamma")
			for i := range g {
				g[i] = 1
			}
		}
	}
	head := sh.view(p, "e3.W")
	for i := range Hidden {
		row := head[i*2*sh.latent:]
		fill(row[:sh.latent], he(1, Hidden))
		fill(row[sh.latent:2*sh.latent], he(0.1, Hidden))
	}
	if sh.wide() {
		orthogonal(head, Hidden, sh.latent, 2*sh.latent, 1, r)
	}
	matrix("d3", 1)
	// Hidden units of the hypernetwork have mean square 1.
	gain := 2.0
	if act == Identity {
		gain = 1
	}
	h2 := sh.view(p, "h2.W")
	for i := range EmbeddingSize {
		row := h2[i*sh.scorerSize : (i+1)*sh.scorerSize]
		for _, t := range sh.scorer {
			std := 1e-3
			switch {
			case t.name == "s3.W":
				std = he(1, Hidden*EmbeddingSize)
			case t.rows > 1:
				std = he(gain, t.rows*EmbeddingSize)
			}
			fill(row[t.off:t.off+t.rows*t.cols], std)
		}
	}
	fill(sh.view(p, "embeddings"), 1)
	return p
}

// orthogonal fills the matrix w, rows x cols with a row every ld numbers, with
// rows (or, where there are more rows than columns, columns) that are
// orthogonal, in random directions. Its numbers have the variance gain/rows.
func orthogonal(w []float32, rows, cols, ld int, gain float64, r *rand.Rand) {
	n, m := min(rows, cols), max(rows, cols)
	scale := math.Sqrt(gain * float64(m) / float64(rows))
	vectors := make([][]float64, n)
	for k := range vectors {
		v := make([]float64, m)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		for range 2 { // the second time for what rounding has left
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

// Random returns a model whose parameters are random and not trained: NIRs
// without the features of any problem class (App. F, the comparison with
// random weights). dim is the dimension of its solutions, instances the number
// of its embeddings.
func Random(dim, instances int, s Settings) (*Model, error) {
	if instances < 0 {
		return nil, fmt.Errorf("nir: Random needs a number of instances of at least 0; got %d", instances)
	}
	s = s.withDefaults(dim)
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
func newModel(names []string, s Settings) *Model {
	m := &Model{settings: s, names: names, shape: newShape(s, len(names))}
	m.settings.OnEvent, m.settings.OnRecord, m.settings.Resume = nil, nil, nil
	m.Normalisation, m.settings.Normalisation = s.Normalisation, Normalisation{}
	m.params = m.shape.initial(s.Activation, run.Rand(s.Seed, "nir: initial"))
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

// Settings returns the settings that the model was made with, defaults filled
// in, without the hook.
func (m *Model) Settings() Settings { return m.settings }

// Names returns the names of the training instances.
func (m *Model) Names() []string { return slices.Clone(m.names) }

// Status says why the training ended.
func (m *Model) Status() run.Status { return m.status }

// History returns the losses over the training, oldest first.
func (m *Model) History() []Record { return slices.Clone(m.history) }

// Losses returns the validation losses of the kept parameters: those of the
// record with the smallest validation loss.
func (m *Model) Losses() Losses {
	var best Losses
	for i, r := range m.history {
		if i == 0 || r.Validation.Total < best.Total {
			best = r.Validation
		}
	}
	return best
}

// Embeddings returns the embedding of every training instance, 64 numbers
// each: a copy.
func (m *Model) Embeddings() [][]float64 {
	e := m.shape.view(m.params, "embeddings")
	out := make([][]float64, m.shape.instances)
	for i := range out {
		out[i] = make([]float64, EmbeddingSize)
		for j := range out[i] {
			out[i][j] = float64(e[i*EmbeddingSize+j])
		}
	}
	return out
}

// Weights returns the weights that the hypernetwork generates from an
// embedding for the scorer; with encoder, those of the encoder come first.
// [Model.ScorerOf] takes them back, changed or not: the NoReg variant of the
// paper, which perturbs weights instead of an embedding.
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

// encoderSize is the number of the encoder's parameters, which come first.
func (sh shape) encoderSize() int { return sh.find("d1.W").off }

// generate runs the hypernetwork.
func (m *Model) generate(embedding []float64) ([]float32, error) {
	if len(embedding) != EmbeddingSize {
		return nil, fmt.Errorf("nir: an embedding has %d numbers; got %d", EmbeddingSize, len(embedding))
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
		kernel.Axpy(hidden, float32(e), w1[i*EmbeddingSize:(i+1)*EmbeddingSize])
	}
	out := slices.Clone(b2)
	for i, h := range hidden {
		kernel.Axpy(out, max(h, leak*h), w2[i*sh.scorerSize:(i+1)*sh.scorerSize])
	}
	return out, nil
}

// A Range is the minimum and maximum of a score over the normalising sample
// (Eq. 11).
type Range struct{ Min, Max float64 }

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
