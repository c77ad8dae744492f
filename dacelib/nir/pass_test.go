package nir

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	_ "dace.local/dacelib/nir/graph"
	"dace.local/dacelib/run"
)

// variants returns the variants of the model with which every test of the
// arithmetic runs.
func variants() map[string]Settings {
	return map[string]Settings{
		"paper":             {},
		"mean":              {Input: Mean},
		"sample":            {Input: Sample},
		"affine":            {Activation: Identity},
		"authors":           Authors(),
		"latent":            {Latent: 7},
		"latent and weight": {Latent: 17, PredictionWeight: 3, KLWeight: 0.1},
		"published":         {Reading: run.Published, Steps: 40, ValidateEvery: 10},
		"wide and normal":   {Latent: 70, Input: MeanAndStd, BatchNorm: true},
		"he":                {Start: He, HyperBias: true, EmbeddingSize: 70},
	}
}

// A testBatch is one batch for every instance.
type testBatch struct {
	x, y, eps [][]float64 // by instance: rows x d, rows, rows x d_z
}

func randomBatch(instances, rows, d, latent int, r *rand.Rand) testBatch {
	var b testBatch
	for range instances {
		x, y, eps := make([]float64, rows*d), make([]float64, rows), make([]float64, rows*latent)
		for i := range x {
			x[i] = float64(r.IntN(2)*2 - 1)
		}
		for i := range y {
			y[i] = float64(float32(r.Float64()))
		}
		for i := range eps {
			eps[i] = float64(float32(r.NormFloat64()))
		}
		b.x, b.y, b.eps = append(b.x, x), append(b.y, y), append(b.eps, eps)
	}
	return b
}

// filler passes the batch to a pass.
func (tb testBatch) filler(p *pass) filler {
	return func(k, instance, rows int, x []float32, ldx int, y, eps []float32) {
		first := (k % p.perInstance) * p.rows
		d, L := p.shape.dim, p.shape.latent
		for r := range rows {
			for j := range d {
				x[r*ldx+j] = float32(tb.x[instance][(first+r)*d+j])
			}
			for j := range L {
				eps[r*L+j] = float32(tb.eps[instance][(first+r)*L+j])
			}
			y[r] = float32(tb.y[instance][first+r])
		}
	}
}

// plainLoss computes Eq. 9 in double precision, term by term as in the paper.
func plainLoss(sh shape, s Settings, params []float64, tb testBatch) float64 {
	view := func(name string) []float64 {
		t := sh.find(name)
		return params[t.off : t.off+t.rows*t.cols]
	}
	linear := func(x []float64, w, b []float64) []float64 {
		out := len(b)
		y := append([]float64(nil), b...)
		for i, v := range x {
			for j := range out {
				y[j] += v * w[i*out+j]
			}
		}
		return y
	}
	leaky := func(x []float64) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = v
			if v < 0 {
				y[i] = leak * v
			}
		}
		return y
	}
	hidden := func(rows [][]float64, name string) [][]float64 {
		out := make([][]float64, len(rows))
		for i, x := range rows {
			out[i] = linear(x, view(name+".W"), view(name+".b"))
		}
		if sh.norm {
			n := float64(len(rows))
			for j := range Hidden {
				var mean, variance float64
				for i := range out {
					mean += out[i][j] / n
				}
				for i := range out {
					variance += (out[i][j] - mean) * (out[i][j] - mean) / n
				}
				for i := range out {
					out[i][j] = view(name + ".gamma")[j]*(out[i][j]-mean)/math.Sqrt(variance+normEpsilon) + view(name + ".beta")[j]
				}
			}
		}
		for i := range out {
			out[i] = leaky(out[i])
		}
		return out
	}
	act := leaky
	if s.Activation == Identity {
		act = func(x []float64) []float64 { return x }
	}
	var loss float64
	for i := range tb.x {
		n, d, L := len(tb.y[i]), sh.dim, sh.latent
		e := view("embeddings")[i*sh.embedding : (i+1)*sh.embedding]
		w := linear(leaky(linear(e, view("h1.W"), view("h1.b"))), view("h2.W"), view("h2.b"))
		part := func(name string) []float64 {
			for _, t := range sh.scorer {
				if t.name == name {
					return w[t.off : t.off+t.rows*t.cols]
				}
			}
			panic(name)
		}
		rows := make([][]float64, n)
		for r := range rows {
			rows[r] = tb.x[i][r*d : (r+1)*d]
		}
		rows = hidden(hidden(rows, "e1"), "e2")
		zs := make([][]float64, n)
		for r := range rows {
			head := linear(rows[r], view("e3.W"), view("e3.b"))
			mu, lv := head[:L], head[L:]
			z, sd := make([]float64, L), make([]float64, L)
			for j := range L {
				sd[j] = math.Exp(lv[j] / 2)
				z[j] = mu[j] + sd[j]*tb.eps[i][r*L+j]
				loss += s.KLWeight * -0.5 * (1 + lv[j] - mu[j]*mu[j] - math.Exp(lv[j])) / float64(n)
			}
			zs[r] = z
			in := append(append([]float64(nil), mu...), sd...)
			switch s.Input {
			case Mean:
				in = mu
			case Sample:
				in = z
			}
			a := act(linear(in, part("s1.W"), part("s1.b")))
			a = act(linear(a, part("s2.W"), part("s2.b")))
			y := linear(a, part("s3.W"), part("s3.b"))[0]
			loss += s.PredictionWeight * (y - tb.y[i][r]) * (y - tb.y[i][r]) / float64(n)
		}
		for r, g := range hidden(hidden(zs, "d1"), "d2") {
			for j, o := range linear(g, view("d3.W"), view("d3.b")) {
				o = min(max(o, -1), 1)
				loss += (o - tb.x[i][r*d+j]) * (o - tb.x[i][r*d+j]) / float64(n*d)
			}
		}
	}
	return loss
}

// handPass returns loss and gradient computed by the hand-written pass.
func handPass(m *Model, tb testBatch, workers int) (float64, []float32) {
	p := newPass(m.shape, m.settings, workers)
	p.load(m.params, nil)
	grad := make([]float32, m.shape.size)
	for i := range grad {
		grad[i] = float32(math.NaN())
	}
	parts, _ := p.gradient(m.params, tb.filler(p), copied(grad))
	return m.total(parts).Total, grad
}

// The hand-written gradients agree with finite differences of the plain loss in
// double precision, tensor by tensor along random directions.
func TestGradientFiniteDifferences(t *testing.T) {
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const instances, d = 2, 9
			s.Batch, s.Seed = 6, 5
			if name == "paper" {
				s.Batch = 150 // two shards
			}
			m, err := Random(d, instances, s)
			if err != nil {
				t.Fatal(err)
			}
			r := run.Rand(1, "test")
			jitter(m, r)
			tb := randomBatch(instances, s.Batch, d, m.shape.latent, r)
			loss, grad := handPass(m, tb, 2)
			params := make([]float64, len(m.params))
			for i, v := range m.params {
				params[i] = float64(v)
			}
			plain := plainLoss(m.shape, m.settings, params, tb)
			if math.Abs(loss-plain) > 1e-5*plain {
				t.Fatalf("loss %v, plain %v", loss, plain)
			}
			for _, tn := range m.shape.tensors {
				size := tn.rows * tn.cols
				dir := make([]float64, size)
				var along, norm float64
				for i := range dir {
					dir[i] = r.NormFloat64()
					norm += dir[i] * dir[i]
				}
				var gnorm float64
				for i := range dir {
					gnorm += float64(grad[tn.off+i]) * float64(grad[tn.off+i])
				}
				// Include the gradient in the direction, so that the derivative
				// is not lost in rounding.
				for i := range dir {
					dir[i] /= math.Sqrt(norm)
					if gnorm > 0 {
						dir[i] += float64(grad[tn.off+i]) / math.Sqrt(gnorm)
					}
					along += dir[i] * float64(grad[tn.off+i])
				}
				const h = 1e-6
				shifted := func(by float64) float64 {
					q := append([]float64(nil), params...)
					for i, v := range dir {
						q[tn.off+i] += by * v
					}
					return plainLoss(m.shape, m.settings, q, tb)
				}
				numeric := (shifted(h) - shifted(-h)) / (2 * h)
				if !(math.Abs(numeric-along) <= 2e-4*math.Abs(numeric)+4e-6) {
					t.Errorf("%s: derivative %v, finite differences %v", tn.name, along, numeric)
				}
			}
		})
	}
}

// jitter moves parameters away from special initial values.
func jitter(m *Model, r *rand.Rand) {
	for _, tn := range m.shape.tensors {
		if tn.rows == 1 {
			for i := range tn.cols {
				m.params[tn.off+i] += float32(0.1 * r.NormFloat64())
			}
		}
	}
}

// The gradient is the same, bit for bit, whatever the number of workers.
func TestGradientWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m, err := Random(30, 3, Settings{Batch: 300})
	if err != nil {
		t.Fatal(err)
	}
	tb := randomBatch(3, 300, 30, 30, run.Rand(2, "test"))
	loss, grad := handPass(m, tb, 1)
	loss8, grad8 := handPass(m, tb, 8)
	if loss != loss8 || fmt.Sprint(grad) != fmt.Sprint(grad8) {
		t.Error("1 and 8 workers differ")
	}
}

// The hand-written gradients agree with gorgonia's, element by element.
func TestGradientGorgonia(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			s.Batch, s.Seed = 16, 5
			switch name {
			case "paper":
				s.Batch = 150 // two shards
			case "affine", "published", "wide and normal":
				s.Batch = 600 // several shards, or blocks of one shard
			}
			m, err := Random(9, 2, s)
			if err != nil {
				t.Fatal(err)
			}
			r := run.Rand(1, "test")
			jitter(m, r)
			tb := randomBatch(2, s.Batch, 9, m.shape.latent, r)
			loss, grad := handPass(m, tb, 2)
			p := newPass(m.shape, m.settings, 2)
			p.load(m.params, nil)
			g, err := newGraphPass(p)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second run must not add to the first one's gradient
				want := make([]float32, len(grad))
				parts, err := g.gradient(m.params, tb.filler(p), copied(want))
				if err != nil {
					t.Fatal(err)
				}
				if theirs := m.total(parts).Total; math.Abs(loss-theirs) > 1e-5*loss {
					t.Fatalf("loss %v, gorgonia's %v", loss, theirs)
				}
				for _, tn := range m.shape.tensors {
					var norm, diff float64
					for i := tn.off; i < tn.off+tn.rows*tn.cols; i++ {
						norm = max(norm, math.Abs(float64(want[i])))
						diff = max(diff, math.Abs(float64(want[i]-grad[i])))
					}
					if !(diff <= 1e-4*norm+4e-6) {
						t.Errorf("%s: gradients differ by %v of %v", tn.name, diff, norm)
					}
				}
			}
		})
	}
}

// copied is a sink that keeps the gradient.
type copied []float32

func (c copied) add(off int, g []float32) { copy(c[off:], g) }

func (copied) outer(int, []float32, int, []float32, int, int, int) int { return 0 }
