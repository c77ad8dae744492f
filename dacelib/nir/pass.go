package nir

import (
	"math"
	"sync"
	"sync/atomic"

	"dace.local/dacelib/nir/internal/kernel"
)

// shardRows is the number of rows of a batch that one goroutine processes at
// once. The result depends on it, because gradients are summed shard by shard,
// in order.
const shardRows = 128

// A pass computes the loss of Eq. 9 and its gradient for one batch per
// instance, with hand-written derivatives. They agree with those that gorgonia
// derives (package reference). The work is cut into shards whose number and
// order do not depend on the number of workers.
type pass struct {
	shape    shape
	settings Settings
	workers  int

	perInstance, rows int // shards per instance, rows per shard
	shards            []*shard
	idle              chan *buffers // holds one set per worker

	// The layers packed for this step; T means transposed.
	e1, e2, e3, d1, d2, d3  *kernel.Layer
	e2T, e3T, d1T, d2T, d3T *kernel.Layer
	s1, s2, s1T, s2T, s3T   []*kernel.Layer // by instance
	norms                   [4]norm         // batch normalisation of e1, e2, d1, d2

	// The hypernetwork, with one row per instance: pre and hidden are its
	// hidden layer before and after the activation (rows of ldE), out is its
	// output, the generated scorers, and dOut the gradient of out (rows of
	// ldW).
	pre, hidden, out, dOut []float32
	ldE, ldW               int
	dHidden                [][]float32 // gradient of the hidden layer by ranges of columns, a row per instance

	parts []gradPart
	sums  [][]float32 // gradients of the shared tensors

	// Strides of the buffers, by the contents of a row: a hidden layer, a
	// solution, the encoder's heads, the scorer's input, a latent vector. They
	// are chosen so that the lines of a column fall into different sets of the
	// cache.
	ldH, ldX, ldL, ldIn, ldZ int
}

// A shard is a part of an instance's batch, with its contribution to loss and
// gradient.
type shard struct {
	instance int
	rows     int
	loss     partLoss
	grads    []float32       // as gradParts lays them out
	stats    [4][2][]float32 // batch means and variances, if there is batch normalisation
}

// partLoss holds sums over the rows of a shard.
type partLoss struct{ reconstruction, scorer, kl float64 }

// A norm holds the parameters of a batch normalisation.
type norm struct{ gamma, beta []float32 }

// buffers are the activations of one shard and their gradients.
type buffers struct {
	x, eps, y            []float32
	h1, h2, head, in, z  []float32
	g1, g2, out          []float32
	a1, a2, pred, dPred  []float32
	dOut, dA, dB, dZ, dI []float32
	dW3                  []float32
	norm                 [4]normBuffers
	grad                 []float32 // gradient of a range of the hypernetwork's output
}

// normBuffers hold the values that the gradient of a batch normalisation needs.
type normBuffers struct {
	unit    []float32 // the normalised input
	inverse [Hidden]float32
}

func newPass(sh shape, s Settings, workers int) *pass {
	p := &pass{shape: sh, settings: s, workers: workers, rows: shardRows}
	p.parts = p.gradParts()
	for _, g := range p.parts {
		if !g.scorer() {
			p.sums = append(p.sums, make([]float32, g.rows*g.cols))
		}
	}
	if sh.norm {
		p.rows = s.Batch // one shard: statistics are over the whole batch
	}
	p.rows = min(p.rows, s.Batch)
	p.perInstance = (s.Batch + p.rows - 1) / p.rows
	for i := range sh.instances {
		for r := 0; r < s.Batch; r += p.rows {
			p.shards = append(p.shards, &shard{instance: i, rows: min(p.rows, s.Batch-r), grads: make([]float32, p.gradSize())})
		}
	}
	ld := func(n int) int { return kernel.RoundCols(n) + 16 }
	p.ldH, p.ldX, p.ldL, p.ldIn, p.ldZ = ld(Hidden), ld(sh.dim), ld(2*sh.latent), ld(sh.in), ld(sh.latent)
	slope := float32(leak)
	first := slope // slope of the layers that a batch normalisation may follow
	if sh.norm {
		first = 1
	}
	act := p.scorerSlope()
	layer := func(in, out int, slope float32) *kernel.Layer { return kernel.NewLayer(nil, nil, in, out, slope) }
	p.e1, p.e2, p.e3 = layer(sh.dim, Hidden, first), layer(Hidden, Hidden, first), layer(Hidden, 2*sh.latent, 1)
	p.d1, p.d2, p.d3 = layer(sh.latent, Hidden, first), layer(Hidden, Hidden, first), layer(Hidden, sh.dim, 1)
	p.e2T, p.e3T = layer(Hidden, Hidden, slope), layer(2*sh.latent, Hidden, slope)
	p.d1T, p.d2T, p.d3T = layer(Hidden, sh.latent, 1), layer(Hidden, Hidden, slope), layer(sh.dim, Hidden, slope)
	for range sh.instances {
		p.s1 = append(p.s1, layer(sh.in, Hidden, act))
		p.s2 = append(p.s2, layer(Hidden, Hidden, act))
		p.s1T = append(p.s1T, layer(Hidden, sh.in, 1))
		p.s2T = append(p.s2T, layer(Hidden, Hidden, act))
		p.s3T = append(p.s3T, layer(1, Hidden, act))
	}
	p.ldE, p.ldW = hyperHidden+kernel.TileRows, kernel.RoundCols(sh.scorerSize)+16
	n := kernel.RoundRows(sh.instances)
	p.pre, p.hidden = make([]float32, n*p.ldE), make([]float32, n*p.ldE)
	p.out, p.dOut = make([]float32, n*p.ldW), make([]float32, n*p.ldW)
	for range (sh.scorerSize + hyperCols - 1) / hyperCols {
		p.dHidden = append(p.dHidden, make([]float32, n*hyperHidden))
	}
	p.idle = make(chan *buffers, workers)
	for range workers {
		p.idle <- p.newBuffers()
	}
	return p
}

// scorerSlope returns the slope below zero of the scorer's activation.
func (p *pass) scorerSlope() float32 {
	if p.settings.Activation == Identity {
		return 1
	}
	return leak
}

func (p *pass) newBuffers() *buffers {
	n := kernel.RoundRows(p.rows)
	rows := func(ld int) []float32 { return make([]float32, n*ld+64) }
	b := &buffers{
		x: rows(p.ldX), eps: rows(p.shape.latent), y: make([]float32, n),
		h1: rows(p.ldH), h2: rows(p.ldH), head: rows(p.ldL), in: rows(p.ldIn), z: rows(p.ldZ),
		g1: rows(p.ldH), g2: rows(p.ldH), out: rows(p.ldX),
		a1: rows(p.ldH), a2: rows(p.ldH), pred: make([]float32, n), dPred: make([]float32, n+kernel.TileRows),
		dOut: rows(max(p.ldX, p.ldL)), dA: rows(p.ldH), dB: rows(p.ldH), dZ: rows(p.ldZ), dI: rows(p.ldIn),
	}
	b.grad = make([]float32, kernel.RoundRows(hyperHidden)*hyperCols)
	b.dW3 = make([]float32, kernel.TileRows*kernel.RoundCols(Hidden))
	if p.shape.norm {
		for k := range b.norm {
			b.norm[k].unit = rows(p.ldH)
		}
	}
	return b
}

// A gradPart is the position of a tensor's gradient within a shard's gradient.
type gradPart struct {
	name           string
	rows, cols, ld int
	off            int
}

// scorer reports whether the tensor belongs to a generated scorer.
func (g gradPart) scorer() bool { return g.name[0] == 's' }

// gradParts lists the tensors of a shard's gradient: first those of encoder and
// decoder, then those of the scorer.
func (p *pass) gradParts() []gradPart {
	var parts []gradPart
	off := 0
	add := func(t tensor) {
		g := gradPart{t.name, t.rows, t.cols, kernel.RoundCols(t.cols), off}
		parts = append(parts, g)
		n := g.rows
		if n > 1 {
			n = kernel.RoundRows(n)
		}
		off += n * g.ld
	}
	for _, t := range p.shape.tensors {
		if t.off >= p.shape.find("h2.W").off {
			break
		}
		add(t)
	}
	for _, t := range p.shape.scorer {
		add(t)
	}
	return parts
}

func (p *pass) gradSize() int {
	last := p.parts[len(p.parts)-1]
	return last.off + last.ld
}

// parallel calls f(0) to f(n-1) from the given number of goroutines and waits.
func parallel(workers, n int, f func(i int)) {
	if workers <= 1 || n <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// load packs the parameters for the next steps. For training it packs forward
// and backward layers; for evaluation, with running statistics, only forward
// layers.
func (p *pass) load(params, stats []float32) {
	v := func(name string) []float32 { return p.shape.view(params, name) }
	evaluate := stats != nil
	hidden := func(k int, name string, l, back *kernel.Layer) func() {
		return func() {
			w, b := v(name+".W"), v(name+".b")
			if p.shape.norm {
				p.norms[k] = norm{v(name + ".gamma"), v(name + ".beta")}
				l.Slope = 1
				if evaluate {
					w, b = foldNorm(w, b, p.norms[k].gamma, p.norms[k].beta, stats[2*k*Hidden:2*(k+1)*Hidden])
					l.Slope = leak
				}
			}
			l.Set(w, b)
			if back != nil && !evaluate {
				back.SetTransposed(w)
			}
		}
	}
	plain := func(name string, l, back *kernel.Layer) func() {
		return func() {
			l.Set(v(name+".W"), v(name+".b"))
			if !evaluate {
				back.SetTransposed(v(name + ".W"))
			}
		}
	}
	tasks := []func(){
		hidden(0, "e1", p.e1, nil), hidden(1, "e2", p.e2, p.e2T), plain("e3", p.e3, p.e3T),
		hidden(2, "d1", p.d1, p.d1T), hidden(3, "d2", p.d2, p.d2T), plain("d3", p.d3, p.d3T),
	}

	// Compute the hypernetwork's hidden layer, then its output by ranges of
	// columns.
	e, w1 := v("embeddings"), v("h1.W")
	for i := range p.shape.instances {
		pre, hidden := p.pre[i*p.ldE:], p.hidden[i*p.ldE:]
		copy(pre, v("h1.b"))
		for j, x := range e[i*p.shape.embedding : (i+1)*p.shape.embedding] {
			kernel.Axpy(pre, x, w1[j*hyperHidden:(j+1)*hyperHidden])
		}
		for j, x := range pre[:hyperHidden] {
			hidden[j] = max(x, leak*x)
		}
	}
	// The numbers after the matrix and the bias in params fill the last panel's
	// columns, which are never read.
	w2, b2, n := params[p.shape.find("h2.W").off:], params[p.shape.find("h2.b").off:], p.shape.scorerSize
	for from := 0; from < n; from += hyperCols {
		tasks = append(tasks, func() {
			kernel.Affine(p.out[from:], p.ldW, p.hidden, p.ldE, p.shape.instances, w2[from:], n, hyperHidden, b2[from:], min(hyperCols, n-from))
		})
	}
	parallel(p.workers, len(tasks), func(i int) { tasks[i]() })

	sv := p.shape.scorerView
	parallel(p.workers, p.shape.instances, func(i int) {
		w := p.weights(i)
		p.s1[i].Set(sv(w, "s1.W"), sv(w, "s1.b"))
		p.s2[i].Set(sv(w, "s2.W"), sv(w, "s2.b"))
		if !evaluate {
			p.s1T[i].SetTransposed(sv(w, "s1.W"))
			p.s2T[i].SetTransposed(sv(w, "s2.W"))
			p.s3T[i].SetTransposed(sv(w, "s3.W"))
		}
	})
}

// hyperCols is the number of columns of the hypernetwork's output that a
// goroutine processes at once: a whole number of panels, few enough for the
// second-level cache and enough to read memory in long runs.
const hyperCols = 2048

// weights returns the generated weights of an instance's scorer.
func (p *pass) weights(instance int) []float32 {
	return p.out[instance*p.ldW : instance*p.ldW+p.shape.scorerSize]
}

// A filler provides the rows of shard k of a batch: x (rows of +-1, a row
// every ldx), the values y, and the noise eps (rows of d_z normal numbers).
type filler func(k, instance, rows int, x []float32, ldx int, y, eps []float32)

// A sink receives the gradient of all parameters. It is called from several
// goroutines, for ranges that do not overlap and together cover all parameters.
type sink interface {
	// add receives the gradient of the parameters from offset off on.
	add(off int, grad []float32)
	// outer receives the gradient of n parameters from offset off on as the
	// product of a column h, one number every ldh, and k rows of g. It returns
	// the number of leading parameters that it has taken; the rest come by add.
	outer(off int, h []float32, ldh int, g []float32, ldg, k, n int) int
}

// gradient computes the losses of one batch per instance, with the loaded
// parameters, and passes their gradient to the sink.
func (p *pass) gradient(params []float32, fill filler, to sink) ([]partLoss, error) {
	parallel(p.workers, len(p.shards), func(k int) {
		s, b := p.shards[k], <-p.idle
		fill(k, s.instance, s.rows, b.x, p.ldX, b.y, b.eps)
		p.forward(s, b, false)
		p.backward(s, b)
		p.idle <- b
	})
	p.reduce(params, to)
	return p.losses(p.shards), nil
}

// evaluate computes the losses of the given shards, with the parameters loaded
// for evaluation.
func (p *pass) evaluate(shards []*shard, fill filler) []partLoss {
	parallel(p.workers, len(shards), func(k int) {
		s, b := shards[k], <-p.idle
		fill(k, s.instance, s.rows, b.x, p.ldX, b.y, b.eps)
		p.forward(s, b, true)
		p.idle <- b
	})
	return p.losses(shards)
}

// losses returns the mean losses of each instance.
func (p *pass) losses(shards []*shard) []partLoss {
	out := make([]partLoss, p.shape.instances)
	rows := make([]float64, len(out))
	for _, s := range shards {
		o := &out[s.instance]
		o.reconstruction += s.loss.reconstruction
		o.scorer += s.loss.scorer
		o.kl += s.loss.kl
		rows[s.instance] += float64(s.rows)
	}
	for i := range out {
		out[i].reconstruction /= rows[i] * float64(p.shape.dim)
		out[i].scorer /= rows[i]
		out[i].kl /= rows[i]
	}
	return out
}

// forward runs the networks over a shard's rows and sums its losses.
func (p *pass) forward(s *shard, b *buffers, evaluate bool) {
	n, d, L := s.rows, p.shape.dim, p.shape.latent
	p.hiddenLayer(0, p.e1, b.h1, b.x, p.ldX, s, b, evaluate)
	p.hiddenLayer(1, p.e2, b.h2, b.h1, p.ldH, s, b, evaluate)
	p.e3.Apply(b.head, p.ldL, b.h2, p.ldH, n)
	var kl float64
	for r := range n {
		mu, lv := b.head[r*p.ldL:r*p.ldL+L], b.head[r*p.ldL+L:r*p.ldL+2*L]
		z, eps := b.z[r*p.ldZ:r*p.ldZ+L], b.eps[r*L:(r+1)*L]
		in := b.in[r*p.ldIn : r*p.ldIn+p.shape.in]
		copy(z, lv)
		kernel.HalfExp(z)
		var row float32
		for j, sd := range z {
			row += mu[j]*mu[j] + sd*sd - lv[j] - 1
		}
		kl += float64(row)
		if p.settings.Input == MeanAndStd {
			copy(in[L:], z)
		}
		for j, sd := range z {
			z[j] = mu[j] + sd*eps[j]
		}
		clear(b.z[r*p.ldZ+L : (r+1)*p.ldZ])
		if p.settings.Input == Sample && !evaluate {
			copy(in, z)
		} else {
			copy(in, mu)
		}
	}
	p.hiddenLayer(2, p.d1, b.g1, b.z, p.ldZ, s, b, evaluate)
	p.hiddenLayer(3, p.d2, b.g2, b.g1, p.ldH, s, b, evaluate)
	p.d3.Apply(b.out, p.ldX, b.g2, p.ldH, n)

	i := s.instance
	sv := p.shape.scorerView
	p.s1[i].Apply(b.a1, p.ldH, b.in, p.ldIn, n)
	p.s2[i].Apply(b.a2, p.ldH, b.a1, p.ldH, n)
	kernel.Dots(b.pred[:n], b.a2, p.ldH, sv(p.weights(i), "s3.W"), sv(p.weights(i), "s3.b")[0])

	var reconstruction, scorer float64
	for r := range n {
		var row float32
		out := b.out[r*p.ldX : r*p.ldX+d]
		for j, x := range b.x[r*p.ldX : r*p.ldX+d] {
			e := min(max(out[j], -1), 1) - x
			row += e * e
		}
		reconstruction += float64(row)
		e := float64(b.pred[r] - b.y[r])
		scorer += e * e
	}
	s.loss = partLoss{reconstruction, scorer, kl / 2}
}

// hiddenLayer applies a hidden layer of encoder or decoder: linear, batch
// normalisation if there is one, LeakyReLU.
func (p *pass) hiddenLayer(k int, l *kernel.Layer, y, x []float32, ldx int, s *shard, b *buffers, evaluate bool) {
	l.Apply(y, p.ldH, x, ldx, s.rows)
	if !p.shape.norm || evaluate {
		return
	}
	n := s.rows
	var sum, squares [Hidden]float64
	for r := range n {
		for j, v := range y[r*p.ldH : r*p.ldH+Hidden] {
			sum[j] += float64(v)
			squares[j] += float64(v) * float64(v)
		}
	}
	nb, gamma, beta := &b.norm[k], p.norms[k].gamma, p.norms[k].beta
	mean, variance := make([]float32, Hidden), make([]float32, Hidden)
	for j := range Hidden {
		m := sum[j] / float64(n)
		v := max(squares[j]/float64(n)-m*m, 0)
		mean[j] = float32(m)
		variance[j] = float32(v * float64(n) / float64(n-1)) // running statistics use the unbiased variance
		nb.inverse[j] = float32(1 / math.Sqrt(v+normEpsilon))
	}
	s.stats[k] = [2][]float32{mean, variance}
	for r := range n {
		row, unit := y[r*p.ldH:r*p.ldH+Hidden], nb.unit[r*p.ldH:r*p.ldH+Hidden]
		for j, v := range row {
			u := (v - mean[j]) * nb.inverse[j]
			unit[j] = u
			u = gamma[j]*u + beta[j]
			row[j] = max(u, leak*u)
		}
	}
}

// backward computes the gradient of a shard's losses with respect to the
// parameters of encoder, decoder and generated scorer. Means are over the rows
// of the whole batch, so that shards add up to the loss of the batch.
func (p *pass) backward(s *shard, b *buffers) {
	n, d, L, i := s.rows, p.shape.dim, p.shape.latent, s.instance
	batch := float32(p.settings.Batch)
	part := p.shardView(s)

	// Decoder.
	scale := 2 / (batch * float32(d))
	for r := range n {
		out, x := b.out[r*p.ldX:r*p.ldX+d], b.x[r*p.ldX:r*p.ldX+d]
		dOut := b.dOut[r*p.ldX : r*p.ldX+d]
		for j, o := range out {
			dOut[j] = 0
			if -1 < o && o < 1 {
				dOut[j] = scale * (o - x[j])
			}
		}
		clear(b.dOut[r*p.ldX+d : (r+1)*p.ldX])
	}
	p.linear(part("d3.W"), part("d3.b"), b.g2, p.ldH, Hidden, b.dOut, p.ldX, d, n)
	p.d3T.ApplyMask(b.dA, p.ldH, b.g2, b.dOut, p.ldX, n)
	p.normBack(3, "d2", part, b.dA, b, n)
	p.linear(part("d2.W"), part("d2.b"), b.g1, p.ldH, Hidden, b.dA, p.ldH, Hidden, n)
	p.d2T.ApplyMask(b.dB, p.ldH, b.g1, b.dA, p.ldH, n)
	p.normBack(2, "d1", part, b.dB, b, n)
	p.linear(part("d1.W"), part("d1.b"), b.z, p.ldZ, L, b.dB, p.ldH, Hidden, n)
	p.d1T.Apply(b.dZ, p.ldZ, b.dB, p.ldH, n)

	// Scorer.
	dw3, db3 := part("s3.W"), part("s3.b")
	ld3 := kernel.RoundCols(1)
	db3[0] = 0
	for r := range n {
		g := 2 * float32(p.settings.PredictionWeight) * (b.pred[r] - b.y[r]) / batch
		b.dPred[r] = g
		db3[0] += g
	}
	kernel.Product(b.dW3, kernel.RoundCols(Hidden), b.dPred, 1, 1, b.a2, p.ldH, Hidden, n)
	for j, v := range b.dW3[:Hidden] {
		dw3[j*ld3] = v
	}
	p.s3T[i].ApplyMask(b.dA, p.ldH, b.a2, b.dPred, 1, n)
	p.linear(part("s2.W"), part("s2.b"), b.a1, p.ldH, Hidden, b.dA, p.ldH, Hidden, n)
	p.s2T[i].ApplyMask(b.dB, p.ldH, b.a1, b.dA, p.ldH, n)
	p.linear(part("s1.W"), part("s1.b"), b.in, p.ldIn, p.shape.in, b.dB, p.ldH, Hidden, n)
	p.s1T[i].Apply(b.dI, p.ldIn, b.dB, p.ldH, n)

	// The encoder's heads: mean and log-variance.
	kl := float32(p.settings.KLWeight) / batch
	for r := range n {
		head := b.head[r*p.ldL : r*p.ldL+2*L]
		mu := head[:L]
		z, dz := b.z[r*p.ldZ:r*p.ldZ+L], b.dZ[r*p.ldZ:r*p.ldZ+L]
		eps, dIn := b.eps[r*L:(r+1)*L], b.dI[r*p.ldIn:r*p.ldIn+p.shape.in]
		dHead := b.dOut[r*p.ldL : (r+1)*p.ldL]
		if p.settings.Input == Sample {
			kernel.Axpy(dz, 1, dIn)
		}
		// The deviation is needed once more.
		copy(z, head[L:])
		kernel.HalfExp(z)
		for j, sd := range z {
			dMu, dSd := dz[j]+kl*mu[j], dz[j]*eps[j]
			switch p.settings.Input {
			case MeanAndStd:
				dMu += dIn[j]
				dSd += dIn[L+j]
			case Mean:
				dMu += dIn[j]
			}
			dHead[j] = dMu
			dHead[L+j] = dSd*sd/2 + kl*(sd*sd-1)/2
		}
		clear(dHead[2*L:])
		clear(b.z[r*p.ldZ+L : (r+1)*p.ldZ])
	}
	p.linear(part("e3.W"), part("e3.b"), b.h2, p.ldH, Hidden, b.dOut, p.ldL, 2*L, n)
	p.e3T.ApplyMask(b.dA, p.ldH, b.h2, b.dOut, p.ldL, n)
	p.normBack(1, "e2", part, b.dA, b, n)
	p.linear(part("e2.W"), part("e2.b"), b.h1, p.ldH, Hidden, b.dA, p.ldH, Hidden, n)
	p.e2T.ApplyMask(b.dB, p.ldH, b.h1, b.dA, p.ldH, n)
	p.normBack(0, "e1", part, b.dB, b, n)
	p.linear(part("e1.W"), part("e1.b"), b.x, p.ldX, d, b.dB, p.ldH, Hidden, n)
}

// shardView returns a function that finds the part of a shard's gradient by
// name.
func (p *pass) shardView(s *shard) func(name string) []float32 {
	return func(name string) []float32 {
		for _, g := range p.parts {
			if g.name == name {
				return s.grads[g.off:]
			}
		}
		panic("nir: no gradient of that name")
	}
}

// linear writes the gradients of a linear layer: dw = x^T g, db = the column
// sums of g.
func (p *pass) linear(dw, db, x []float32, ldx, in int, g []float32, ldg, out, n int) {
	kernel.Product(dw, kernel.RoundCols(out), x, ldx, in, g, ldg, out, n)
	clear(db[:kernel.RoundCols(out)])
	kernel.Sums(db, g, ldg, n, out)
}

// normBack replaces g, the gradient after a batch normalisation, by the
// gradient before it.
func (p *pass) normBack(k int, name string, part func(string) []float32, g []float32, b *buffers, n int) {
	if !p.shape.norm {
		return
	}
	dGamma, dBeta := part(name + ".gamma")[:Hidden], part(name + ".beta")[:Hidden]
	clear(dGamma)
	clear(dBeta)
	nb, gamma := &b.norm[k], p.norms[k].gamma
	for r := range n {
		unit := nb.unit[r*p.ldH:]
		for j, v := range g[r*p.ldH : r*p.ldH+Hidden] {
			dGamma[j] += v * unit[j]
			dBeta[j] += v
		}
	}
	for r := range n {
		row, unit := g[r*p.ldH:r*p.ldH+Hidden], nb.unit[r*p.ldH:]
		for j, v := range row {
			row[j] = gamma[j] * nb.inverse[j] * (v - (dBeta[j]+unit[j]*dGamma[j])/float32(n))
		}
	}
}

// reduce sums the shards' gradients, propagates those of the scorers back
// through the hypernetwork, and passes everything to the sink.
func (p *pass) reduce(params []float32, to sink) {
	sh := p.shape
	var shared, scorer []gradPart
	for _, g := range p.parts {
		if g.scorer() {
			scorer = append(scorer, g)
		} else {
			shared = append(shared, g)
		}
	}
	// Shared tensors are summed over all shards, scorers over one instance's
	// shards.
	parallel(p.workers, len(shared)+sh.instances, func(k int) {
		if k < len(shared) {
			g := shared[k]
			sum := p.sums[k]
			clear(sum)
			for _, s := range p.shards {
				g.addTo(sum, s.grads)
			}
			to.add(sh.find(g.name).off, sum)
			return
		}
		i := k - len(shared)
		dw := p.dOut[i*p.ldW : i*p.ldW+sh.scorerSize]
		clear(dw)
		for _, s := range p.shards[i*p.perInstance : (i+1)*p.perInstance] {
			for _, g := range scorer {
				g.addTo(sh.scorerView(dw, g.name), s.grads)
			}
		}
	})

	// The hypernetwork's output layer and its bias, by ranges of columns. Each
	// range adds to the gradient of the hidden layer.
	n := sh.scorerSize
	w2, off := sh.view(params, "h2.W"), sh.find("h2.W").off
	parallel(p.workers, len(p.dHidden), func(k int) {
		from := k * hyperCols
		m := min(hyperCols, n-from)
		b := <-p.idle
		kernel.ProductTransposed(p.dHidden[k], hyperHidden, w2[from:], n, hyperHidden, p.dOut[from:], p.ldW, sh.instances, m)
		p.hyperWeights(b, off, from, m, to)
		db := b.grad[:m]
		clear(db)
		for i := range sh.instances {
			kernel.Axpy(db, 1, p.dOut[i*p.ldW+from:i*p.ldW+from+m])
		}
		to.add(sh.find("h2.b").off+from, db)
		p.idle <- b
	})
	dHidden := p.dHidden[0]
	for _, part := range p.dHidden[1:] {
		kernel.Axpy(dHidden, 1, part)
	}

	// The hypernetwork's hidden layer and the embeddings.
	w1, e := sh.view(params, "h1.W"), sh.view(params, "embeddings")
	dw1, db1 := make([]float32, len(w1)), make([]float32, hyperHidden)
	de := make([]float32, len(e))
	dPre := make([]float32, hyperHidden)
	for i := range sh.instances {
		for j := range dPre {
			dPre[j] = dHidden[i*hyperHidden+j]
			if !(p.pre[i*p.ldE+j] > 0) {
				dPre[j] *= leak
			}
		}
		kernel.Axpy(db1, 1, dPre)
		for r, x := range e[i*sh.embedding : (i+1)*sh.embedding] {
			row := w1[r*hyperHidden : (r+1)*hyperHidden]
			kernel.Axpy(dw1[r*hyperHidden:(r+1)*hyperHidden], x, dPre)
			de[i*sh.embedding+r] = kernel.Dot(row, dPre)
		}
	}
	to.add(sh.find("h1.W").off, dw1)
	to.add(sh.find("h1.b").off, db1)
	to.add(sh.find("embeddings").off, de)
}

// outerCols is the number of columns of the generated scorers' gradient that
// stay in the first-level cache while one row of the hypernetwork's output layer
// after another reads them.
const outerCols = 1024

// hyperWeights passes the gradient of m columns of the hypernetwork's output
// layer to the sink. The layer's weights begin at offset off of the parameters.
func (p *pass) hyperWeights(b *buffers, off, from, m int, to sink) {
	n, k := p.shape.scorerSize, p.shape.instances
	done := 0
	for c := 0; c < m; c += outerCols {
		for r := range hyperHidden {
			done = c + to.outer(off+r*n+from+c, p.hidden[r:], p.ldE, p.dOut[from+c:], p.ldW, k, min(outerCols, m-c))
		}
		if done < min(c+outerCols, m) {
			break
		}
	}
	if done == m {
		return
	}
	from, m = from+done, m-done
	kernel.Product(b.grad, hyperCols, p.hidden, p.ldE, hyperHidden, p.dOut[from:], p.ldW, m, k)
	for r := range hyperHidden {
		to.add(off+r*n+from, b.grad[r*hyperCols:r*hyperCols+m])
	}
}

// addTo adds a shard's gradient of the tensor to sum, which has no padding.
func (g gradPart) addTo(sum, grads []float32) {
	if g.ld == g.cols {
		kernel.Axpy(sum, 1, grads[g.off:g.off+g.rows*g.cols])
		return
	}
	for r := range g.rows {
		kernel.Axpy(sum[r*g.cols:(r+1)*g.cols], 1, grads[g.off+r*g.ld:g.off+r*g.ld+g.cols])
	}
}
