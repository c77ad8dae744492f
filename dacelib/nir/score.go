package nir

import (
	"context"
	"fmt"
	"math"
	"sync"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
)

// block is the number of solutions that go through the networks together. It is
// a whole number of tiles whose activations stay in the first-level cache.
const block = 48

// An encoder turns packed solutions into the scorer's input. It is immutable.
type encoder struct {
	dim, latent, in int
	table           *kernel.Table // the first layer
	l2, l3          *kernel.Layer
	scratches       sync.Pool // of *scratch
}

// newEncoder packs an encoder's weights, with batch normalisation folded in.
func newEncoder(sh shape, p, stats []float32) *encoder {
	e := &encoder{dim: sh.dim, latent: sh.latent, in: sh.in}
	e.scratches.New = func() any { return newScratch(sh.in) }
	hidden := func(name string, k int) (w, b []float32) {
		w, b = sh.view(p, name+".W"), sh.view(p, name+".b")
		if sh.norm {
			w, b = foldNorm(w, b, sh.view(p, name+".gamma"), sh.view(p, name+".beta"), stats[2*k*Hidden:2*(k+1)*Hidden])
		}
		return w, b
	}
	w1, b1 := hidden("e1", 0)
	e.table = kernel.NewTable(w1, b1, sh.dim, leak)
	w2, b2 := hidden("e2", 1)
	e.l2 = kernel.NewLayer(w2, b2, Hidden, Hidden, leak)
	w, b := sh.view(p, "e3.W"), sh.view(p, "e3.b")
	outs := 2 * sh.latent
	if sh.in == sh.latent { // the scorer reads only the means
		mw := make([]float32, 0, Hidden*sh.latent)
		for i := range Hidden {
			mw = append(mw, w[i*outs:i*outs+sh.latent]...)
		}
		w, b, outs = mw, b[:sh.latent], sh.latent
	}
	e.l3 = kernel.NewLayer(w, b, Hidden, outs, 1)
	return e
}

// foldNorm returns weights and bias of the linear layer w, b followed by the
// batch normalisation gamma, beta with running mean and variance in stats.
func foldNorm(w, b, gamma, beta, stats []float32) (fw, fb []float32) {
	fw, fb = make([]float32, len(w)), make([]float32, Hidden)
	for j := range Hidden {
		g := gamma[j] / float32(math.Sqrt(float64(stats[Hidden+j])+normEpsilon))
		fb[j] = beta[j] + g*(b[j]-stats[j])
		for i := j; i < len(w); i += Hidden {
			fw[i] = g * w[i]
		}
	}
	return fw, fb
}

// normEpsilon is added to the variance in a batch normalisation.
const normEpsilon = 1e-5

// scratch is the working memory of one block.
type scratch struct {
	a, b, z []float32
}

// The strides of the scratch's matrices are chosen so that their lines fall
// into different sets of the cache.
func hiddenStride() int { return kernel.RoundCols(Hidden) + 16 }

func newScratch(in int) *scratch {
	return &scratch{
		a: make([]float32, block*hiddenStride()),
		b: make([]float32, block*hiddenStride()),
		z: make([]float32, block*kernel.RoundCols(in)),
	}
}

// encode writes the scorer's input for the m <= block solutions x to s.z, with
// one row every RoundCols(in) numbers.
func (e *encoder) encode(s *scratch, x problem.Solutions, m int) {
	ld, ldz := hiddenStride(), kernel.RoundCols(e.in)
	e.table.Apply(s.a, ld, x.Words, problem.Stride(x.D), m)
	e.l2.Apply(s.b, ld, s.a, ld, m)
	e.l3.Apply(s.z, ldz, s.b, ld, m)
	if e.in == e.latent {
		return
	}
	for i := range m {
		kernel.HalfExp(s.z[i*ldz+e.latent : i*ldz+e.in])
	}
}

// A Scorer is an NIR as a problem: its values are the network's scores of
// solutions. It is immutable and safe for use by several goroutines.
type Scorer struct {
	name      string
	model     *Model
	enc       *encoder
	embedding []float64 // nil if made from weights
	weights   []float32 // nil if made from an embedding
	rng       Range
	ranged    bool

	l1, l2 *kernel.Layer
	w3     []float32
	b3     float32

	w1, b1, w2, b2 []float32 // the numbers packed in l1 and l2
	affine         []float32 // the coefficients of an affine scorer, else nil; its constant is b3
}

// Scorer returns the NIR with the given embedding. Its values are the network's
// scores without normalisation, about [0, 1] on training instances: see
// [Scorer.Within], [Model.Instance].
func (m *Model) Scorer(embedding []float64) (*Scorer, error) {
	w, err := m.generate(embedding)
	if err != nil {
		return nil, err
	}
	s := m.newScorer(w)
	s.embedding = append([]float64(nil), embedding...)
	return s, nil
}

// ScorerOf returns the NIR with the given weights instead of an embedding:
// those of the scorer, or those of encoder and scorer, as [Model.Weights]
// returns them.
func (m *Model) ScorerOf(weights []float64) (*Scorer, error) {
	ne, ns := m.shape.encoderSize(), m.shape.scorerSize
	if len(weights) != ns && len(weights) != ne+ns {
		return nil, fmt.Errorf("nir: this model's scorer has %d weights, its encoder and scorer %d; got %d", ns, ne+ns, len(weights))
	}
	w := make([]float32, len(weights))
	for i, v := range weights {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("nir: weight %d is %v; it must be finite", i, v)
		}
		w[i] = float32(v)
	}
	s := m.newScorer(w[len(w)-ns:])
	s.weights = w
	if len(w) > ns {
		p := make([]float32, m.shape.size)
		copy(p, w[:ne])
		s.enc = newEncoder(m.shape, p, m.stats)
	}
	return s, nil
}

// encoder returns the model's packed encoder; the first call makes it.
func (m *Model) encoder() *encoder {
	m.once.Do(func() { m.enc = newEncoder(m.shape, m.params, m.stats) })
	return m.enc
}

// newScorer packs the weights w of a scorer.
func (m *Model) newScorer(w []float32) *Scorer {
	sh := m.shape
	s := &Scorer{name: "nir", model: m, enc: m.encoder()}
	w1, b1 := sh.scorerView(w, "s1.W"), sh.scorerView(w, "s1.b")
	w2, b2 := sh.scorerView(w, "s2.W"), sh.scorerView(w, "s2.b")
	s.w3, s.b3 = sh.scorerView(w, "s3.W"), sh.scorerView(w, "s3.b")[0]
	if m.settings.Activation == Identity {
		a := collapse(w1, b1, w2, b2, s.w3, s.b3)
		s.affine, s.b3 = a.w, a.c
		return s
	}
	s.w1, s.b1, s.w2, s.b2 = w1, b1, w2, b2
	s.l1 = kernel.NewLayer(w1, b1, sh.in, Hidden, leak)
	s.l2 = kernel.NewLayer(w2, b2, Hidden, Hidden, leak)
	return s
}

// An affineScorer is a scorer without activations, an affine function of its
// input: the score is in . w + c, with w = s1.W v and v = s2.W s3.W.
type affineScorer struct {
	w, v []float32
	c    float32
}

// collapse returns the affine function that three layers without activations
// compute. It calculates in double precision and rounds the result.
func collapse(w1, b1, w2, b2, w3 []float32, b3 float32) affineScorer {
	var v [Hidden]float64
	c := float64(b3)
	for i := range Hidden {
		for j := range Hidden {
			v[i] += float64(w2[i*Hidden+j]) * float64(w3[j])
		}
		c += float64(b2[i])*float64(w3[i]) + float64(b1[i])*v[i]
	}
	a := affineScorer{w: make([]float32, len(w1)/Hidden), v: make([]float32, Hidden), c: float32(c)}
	for i := range a.w {
		var s float64
		for j := range Hidden {
			s += float64(w1[i*Hidden+j]) * v[j]
		}
		a.w[i] = float32(s)
	}
	for i := range a.v {
		a.v[i] = float32(v[i])
	}
	return a
}

// Name identifies the NIR; see [Scorer.Named].
func (s *Scorer) Name() string { return s.name }

// Named returns s with another name; an empty one means "nir".
func (s *Scorer) Named(name string) *Scorer {
	t := *s
	t.name = name
	if name == "" {
		t.name = "nir"
	}
	return &t
}

// Within returns s with its values normalised by Eq. 11: (value - r.Min) /
// (r.Max - r.Min). Values can be outside [0, 1]. If r.Max = r.Min, it only
// subtracts r.Min.
func (s *Scorer) Within(r Range) *Scorer {
	t := *s
	t.rng, t.ranged = r, true
	return &t
}

// width returns the width of a range, or 1 if the width is 0.
func width(r Range) float64 {
	if r.Max > r.Min {
		return r.Max - r.Min
	}
	return 1
}

// Range returns the range by which s is normalised, and whether it is
// normalised.
func (s *Scorer) Range() (Range, bool) { return s.rng, s.ranged }

// Dim returns the dimension d of the model.
func (s *Scorer) Dim() int { return s.enc.dim }

// Costly reports true: a search evaluates a solution once in a run. See
// [problem.Costly].
func (s *Scorer) Costly() bool { return true }

// Embedding returns a copy of the NIR's embedding; nil if it was made from
// weights.
func (s *Scorer) Embedding() []float64 { return append([]float64(nil), s.embedding...) }

// Evaluate sets dst[i] to the score of solution i. It divides large batches
// among the model's workers.
func (s *Scorer) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(s, dst, x); err != nil {
		return err
	}
	const piece = 100 * block
	n := x.Len()
	if n < 2*piece {
		return s.evaluate(ctx, dst[:n], x)
	}
	parallel(s.model.workers(), (n+piece-1)/piece, func(k int) {
		from, to := k*piece, min((k+1)*piece, n)
		// The only possible error is the end of ctx, which is checked below.
		_ = s.evaluate(ctx, dst[from:to], x.Slice(from, to))
	})
	return ctx.Err()
}

// evaluate is Evaluate in one goroutine, for len(dst) = x.Len(). It does not
// allocate.
func (s *Scorer) evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	sc := s.enc.scratches.Get().(*scratch)
	defer s.enc.scratches.Put(sc)
	scale, shift := 1.0, 0.0
	if s.ranged {
		shift, scale = s.rng.Min, 1/width(s.rng)
	}
	var out [block]float32
	for i := 0; i < len(dst); i += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := min(block, len(dst)-i)
		s.enc.encode(sc, x.Slice(i, i+m), m)
		s.score(out[:m], sc, sc.z, kernel.RoundCols(s.enc.in))
		for j, v := range out[:m] {
			dst[i+j] = (float64(v) - shift) * scale
		}
	}
	return nil
}

// score writes the scores of the len(dst) <= block inputs z, which have a row
// every ldz numbers.
func (s *Scorer) score(dst []float32, sc *scratch, z []float32, ldz int) {
	if s.affine != nil {
		for i := range dst {
			dst[i] = s.b3 + kernel.Dot(s.affine, z[i*ldz:])
		}
		return
	}
	ld := hiddenStride()
	s.l1.Apply(sc.a, ld, z, ldz, len(dst))
	s.l2.Apply(sc.b, ld, sc.a, ld, len(dst))
	kernel.Dots(dst, sc.b, ld, s.w3, s.b3)
}
