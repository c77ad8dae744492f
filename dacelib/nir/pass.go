package nir

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/nir/internal/kernel"
)

// shardRows is the number of rows of a batch that one goroutine processes at
// once. The result depends on it, because gradients are summed shard by shard,
// in order. With batch normalisation a shard holds a whole batch, which goes
// through the layers normRows by normRows: a whole number of tiles, so that
// no block writes into the next.
const shardRows, normRows = 128, 42 * kernel.TileRows

// A pass computes the loss of Eq. 9 and its gradient for one batch per
// instance, with hand-written derivatives. They agree with those that gorgonia
// derives (package graph). The work is cut into shards whose number and
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
	affine                  []affineScorer  // by instance, in place of s1 and s2, for scorers without activation

	// The hypernetwork, with one row per instance: pre and hidden are its
	// hidden layer before and after the activation (rows of ldE), out is its
	// output, the generated scorers, and dOut the gradient of out (rows of
	// ldW).
	pre, hidden, out, dOut []float32
	ldE, ldW               int
	dHidden                [][]float32 // gradient of the hidden layer by ranges of columns, a row per instance

	parts []gradPart
	sums  [][]float32 // gradients of the shared tensors

	correlations *mat.SymDense // of the instances' values, for Settings.DistanceWeight, or nil

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
	head, in, z, out     []float32
	hidden               [4][]float32 // the outputs of e1, e2, d1, d2, before batch normalisation
	unit                 []float32    // some rows of one of these after it
	a1, a2, pred, dPred  []float32
	dOut, dA, dB, dZ, dI []float32
	dW3                  []float32
	dW                   []float32 // of a layer, for some of a shard's rows
	dIn                  []float32 // the sum of the scorer's inputs times the gradients of the scores
	dSum                 float32   // the sum of these gradients
	norm                 [4]normBuffers
	grad                 []float32 // gradient of a range of the hypernetwork's output
}

// normBuffers hold the values that the gradient of a batch normalisation needs.
type normBuffers struct {
	mean, inverse [Hidden]float32 // inverse is that of the input's standard deviation
	// Column sums over the batch: of the input and its squares; after forward, of
	// the gradient of the output, and of it times the input's deviation.
	sums [2][Hidden]float64
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
	layer := func(in, out int, slope float32) *kernel.Layer { return kernel.NewLayer(nil, nil, in, out, slope) }
	p.e1, p.e2, p.e3 = layer(sh.dim, Hidden, first), layer(Hidden, Hidden, first), layer(Hidden, 2*sh.latent, 1)
	p.d1, p.d2, p.d3 = layer(sh.latent, Hidden, first), layer(Hidden, Hidden, first), layer(Hidden, sh.dim, 1)
	p.e2T, p.e3T = layer(Hidden, Hidden, slope), layer(2*sh.latent, Hidden, slope)
	p.d1T, p.d2T, p.d3T = layer(Hidden, sh.latent, 1), layer(Hidden, Hidden, slope), layer(sh.dim, Hidden, slope)
	if s.Activation == Identity {
		p.affine = make([]affineScorer, sh.instances)
	}
	for range sh.instances - len(p.affine) {
		p.s1 = append(p.s1, layer(sh.in, Hidden, slope))
		p.s2 = append(p.s2, layer(Hidden, Hidden, slope))
		p.s1T = append(p.s1T, layer(Hidden, sh.in, 1))
		p.s2T = append(p.s2T, layer(Hidden, Hidden, slope))
		p.s3T = append(p.s3T, layer(1, Hidden, slope))
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

func (p *pass) newBuffers() *buffers {
	n := kernel.RoundRows(p.rows)
	rows := func(ld int) []float32 { return make([]float32, n*ld+64) }
	b := &buffers{
		x: rows(p.ldX), eps: rows(p.shape.latent), y: make([]float32, n),
		head: rows(p.ldL), in: rows(p.ldIn), z: rows(p.ldZ), out: rows(p.ldX),
		pred: make([]float32, n), dPred: make([]float32, n+kernel.TileRows),
		dOut: rows(max(p.ldX, p.ldL)), dA: rows(p.ldH), dB: rows(p.ldH), dZ: rows(p.ldZ), dI: rows(p.ldIn),
	}
	b.grad = make([]float32, kernel.RoundRows(hyperHidden)*hyperCols)
	for k := range b.hidden {
		b.hidden[k] = rows(p.ldH)
	}
	if p.affine != nil {
		b.dIn = make([]float32, p.shape.in)
	} else {
		b.a1, b.a2 = rows(p.ldH), rows(p.ldH)
		b.dW3 = make([]float32, kernel.TileRows*kernel.RoundCols(Hidden))
	}
	if p.shape.norm {
		b.unit = make([]float32, normRows*p.ldH)
		in, out := max(Hidden, p.shape.dim, p.shape.in, p.shape.latent), max(Hidden, p.shape.dim, 2*p.shape.latent)
		b.dW = make([]float32, kernel.RoundRows(in)*kernel.RoundCols(out))
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
		if p.affine != nil {
			p.affine[i] = collapse(sv(w, "s1.W"), sv(w, "s1.b"), sv(w, "s2.W"), sv(w, "s2.b"), sv(w, "s3.W"), sv(w, "s3.b")[0])
			return
		}
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

// A step is a part of the work on a shard, for n rows from the given one on.
type step func(from, n int)

// inBlocks does the work on a shard of the given number of rows, block by block.
// If after is not nil, each step processes all blocks before the next begins,
// and ends with a call of after: a batch normalisation needs the sums over all
// rows.
func (p *pass) inBlocks(rows int, after func(step int), steps ...step) {
	if after == nil {
		all := steps
		steps = []step{func(from, n int) {
			for _, f := range all {
				f(from, n)
			}
		}}
		after = func(int) {}
	}
	for k, f := range steps {
		for from := 0; from < rows; from += normRows {
			f(from, min(normRows, rows-from))
		}
		after(k)
	}
}

// forward runs the networks over a shard's rows and sums its losses.
func (p *pass) forward(s *shard, b *buffers, evaluate bool) {
	s.loss = partLoss{}
	var after func(int)
	norm := p.shape.norm && !evaluate
	if norm {
		after = func(step int) {
			if step < len(b.norm) {
				p.setNorm(step, s, b)
			}
		}
	}
	// hidden computes n rows of hidden layer k.
	hidden := func(k int, l *kernel.Layer, x []float32, ldx, from, n int) {
		y := b.hidden[k][from*p.ldH:]
		l.Apply(y, p.ldH, x, ldx, n)
		if norm { // the sums of the values and of their squares
			b.norm[k].add(y, y, p.ldH, zeros[:], n, from == 0)
		}
	}
	output := func(k, from, n int) []float32 { return p.output(k, b, norm, from, n) }
	p.inBlocks(s.rows, after,
		func(from, n int) { hidden(0, p.e1, b.x[from*p.ldX:], p.ldX, from, n) },
		func(from, n int) { hidden(1, p.e2, output(0, from, n), p.ldH, from, n) },
		func(from, n int) {
			p.e3.Apply(b.head[from*p.ldL:], p.ldL, output(1, from, n), p.ldH, n)
			p.latents(s, b, evaluate, from, n)
			p.score(s, b, from, n)
			hidden(2, p.d1, b.z[from*p.ldZ:], p.ldZ, from, n)
		},
		func(from, n int) { hidden(3, p.d2, output(2, from, n), p.ldH, from, n) },
		func(from, n int) {
			p.d3.Apply(b.out[from*p.ldX:], p.ldX, output(3, from, n), p.ldH, n)
			for r := from; r < from+n; r++ {
				var row float32
				out := b.out[r*p.ldX : r*p.ldX+p.shape.dim]
				for j, x := range b.x[r*p.ldX : r*p.ldX+p.shape.dim] {
					e := min(max(out[j], -1), 1) - x
					row += e * e
				}
				s.loss.reconstruction += float64(row)
			}
		},
	)
}

// latents computes the latent vectors and the scorer's input from the encoder's
// heads, and adds the rows' KL divergence to the loss.
func (p *pass) latents(s *shard, b *buffers, evaluate bool, from, n int) {
	L := p.shape.latent
	var kl float64
	for r := from; r < from+n; r++ {
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
	s.loss.kl += kl / 2
}

// score applies the instance's scorer and adds the rows' squared errors to the
// loss.
func (p *pass) score(s *shard, b *buffers, from, n int) {
	i, pred, in := s.instance, b.pred[from:from+n], b.in[from*p.ldIn:]
	if p.affine != nil {
		a := p.affine[i]
		for r := range pred {
			pred[r] = a.c + kernel.Dot(a.w, in[r*p.ldIn:])
		}
	} else {
		a1, a2 := b.a1[from*p.ldH:], b.a2[from*p.ldH:]
		p.s1[i].Apply(a1, p.ldH, in, p.ldIn, n)
		p.s2[i].Apply(a2, p.ldH, a1, p.ldH, n)
		sv := p.shape.scorerView
		kernel.Dots(pred, a2, p.ldH, sv(p.weights(i), "s3.W"), sv(p.weights(i), "s3.b")[0])
	}
	for r, v := range pred {
		e := float64(v - b.y[from+r])
		s.loss.scorer += e * e
	}
}

// zeros stands for numbers of columns that are all 0.
var zeros [Hidden]float32

// add adds the column sums of n rows of a, and of a times b less shift, to the
// sums; the first rows set them.
func (nb *normBuffers) add(a, b []float32, ld int, shift []float32, n int, first bool) {
	if first {
		nb.sums = [2][Hidden]float64{}
	}
	var sums [2][Hidden]float32
	kernel.Sums(sums[0][:], a, ld, n, Hidden)
	kernel.ColumnProducts(sums[1][:], a, b, ld, n, shift)
	for which := range sums {
		for j, v := range sums[which] {
			nb.sums[which][j] += float64(v)
		}
	}
}

// setNorm computes the statistics of a batch normalisation from its sums.
func (p *pass) setNorm(k int, s *shard, b *buffers) {
	n := float64(s.rows)
	nb := &b.norm[k]
	variance := make([]float32, Hidden)
	for j := range Hidden {
		m := nb.sums[0][j] / n
		v := max(nb.sums[1][j]/n-m*m, 0)
		nb.mean[j] = float32(m)
		variance[j] = float32(v * n / (n - 1)) // running statistics use the unbiased variance
		nb.inverse[j] = float32(1 / math.Sqrt(v+normEpsilon))
	}
	s.stats[k] = [2][]float32{slices.Clone(nb.mean[:]), variance}
}

// output returns n rows of the output of hidden layer k. With batch
// normalisation they are computed from what the layer has computed, and the next
// call overwrites them: this takes less time than to read them from memory.
func (p *pass) output(k int, b *buffers, norm bool, from, n int) []float32 {
	in := b.hidden[k][from*p.ldH:]
	if !norm {
		return in
	}
	nb, gamma, beta := &b.norm[k], p.norms[k].gamma, p.norms[k].beta
	var scale, shift [Hidden]float32
	for j := range Hidden {
		scale[j] = gamma[j] * nb.inverse[j]
		shift[j] = beta[j] - scale[j]*nb.mean[j]
	}
	kernel.ColumnMaps(b.unit, in, in, p.ldH, n, scale[:], zeros[:], shift[:], leak)
	return b.unit
}

// backward computes the gradient of a shard's losses with respect to the
// parameters of encoder, decoder and generated scorer. Means are over the rows
// of the whole batch, so that shards add up to the loss of the batch.
func (p *pass) backward(s *shard, b *buffers) {
	part := p.shardView(s)
	names := [4]string{"e1", "e2", "d1", "d2"}
	var after func(int)
	if p.shape.norm {
		after = func(step int) {
			if k := len(names) - 1 - step; k >= 0 {
				p.setNormGradient(k, part(names[k]+".gamma"), part(names[k]+".beta"), b)
			}
		}
	}
	// linear adds the gradients of a linear layer from n rows of its input and
	// of the gradient of its output.
	linear := func(name string, x []float32, ldx, in int, g []float32, ldg, out, from, n int) {
		p.linear(part(name+".W"), part(name+".b"), x, ldx, in, g[from*ldg:], ldg, out, b, from, n)
	}
	// into adds the gradients of the layer after hidden layer k, of whose output
	// g is the gradient, and propagates g back to y, the gradient of hidden layer
	// k.
	into := func(k int, name string, back *kernel.Layer, y, g []float32, ldg, out, from, n int) {
		h := p.output(k, b, p.shape.norm, from, n)
		linear(name, h, p.ldH, Hidden, g, ldg, out, from, n)
		y = y[from*p.ldH:]
		back.ApplyMask(y, p.ldH, h, g[from*ldg:], ldg, n)
		if nb := &b.norm[k]; p.shape.norm {
			nb.add(y, b.hidden[k][from*p.ldH:], p.ldH, nb.mean[:], n, from == 0)
		}
	}
	norm := func(k int, g []float32, from, n int) {
		if p.shape.norm {
			p.normBack(k, b, g, s.rows, from, n)
		}
	}
	d, L := p.shape.dim, p.shape.latent
	p.inBlocks(s.rows, after,
		func(from, n int) {
			p.decoderGradient(b, from, n)
			into(3, "d3", p.d3T, b.dA, b.dOut, p.ldX, d, from, n)
		},
		func(from, n int) {
			norm(3, b.dA, from, n)
			into(2, "d2", p.d2T, b.dB, b.dA, p.ldH, Hidden, from, n)
		},
		func(from, n int) {
			norm(2, b.dB, from, n)
			linear("d1", b.z[from*p.ldZ:], p.ldZ, L, b.dB, p.ldH, Hidden, from, n)
			p.d1T.Apply(b.dZ[from*p.ldZ:], p.ldZ, b.dB[from*p.ldH:], p.ldH, n)
			p.scorerGradient(s, b, from, n)
			p.latentGradient(b, from, n)
			into(1, "e3", p.e3T, b.dA, b.dOut, p.ldL, 2*L, from, n)
		},
		func(from, n int) {
			norm(1, b.dA, from, n)
			into(0, "e2", p.e2T, b.dB, b.dA, p.ldH, Hidden, from, n)
		},
		func(from, n int) {
			norm(0, b.dB, from, n)
			linear("e1", b.x[from*p.ldX:], p.ldX, d, b.dB, p.ldH, Hidden, from, n)
		},
	)
}

// decoderGradient writes n rows of the gradient of the decoder's output.
func (p *pass) decoderGradient(b *buffers, from, n int) {
	d := p.shape.dim
	scale := 2 / (float32(p.settings.Batch) * float32(d))
	for r := from; r < from+n; r++ {
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
}

// scorerGradient computes n rows of the gradient of the scorer's input, and adds
// the gradient of its weights.
func (p *pass) scorerGradient(s *shard, b *buffers, from, n int) {
	dPred := b.dPred[from : from+n]
	for r := range dPred {
		dPred[r] = 2 * float32(p.settings.PredictionWeight) * (b.pred[from+r] - b.y[from+r]) / float32(p.settings.Batch)
	}
	part, i := p.shardView(s), s.instance
	in, dI := b.in[from*p.ldIn:], b.dI[from*p.ldIn:]
	if p.affine != nil {
		p.affineGradient(part, i, b, in, dI, dPred, from+n == s.rows)
		return
	}
	dw3, db3 := part("s3.W"), part("s3.b")
	if from == 0 {
		clear(dw3[:kernel.RoundCols(1)*Hidden])
		db3[0] = 0
	}
	for _, g := range dPred {
		db3[0] += g
	}
	a1, a2 := b.a1[from*p.ldH:], b.a2[from*p.ldH:]
	dA, dB := b.dA[from*p.ldH:], b.dB[from*p.ldH:]
	kernel.Product(b.dW3, kernel.RoundCols(Hidden), b.dPred[from:], 1, 1, a2, p.ldH, Hidden, n)
	for j, v := range b.dW3[:Hidden] {
		dw3[j*kernel.RoundCols(1)] += v
	}
	p.s3T[i].ApplyMask(dA, p.ldH, a2, b.dPred[from:], 1, n)
	p.linear(part("s2.W"), part("s2.b"), a1, p.ldH, Hidden, dA, p.ldH, Hidden, b, from, n)
	p.s2T[i].ApplyMask(dB, p.ldH, a1, dA, p.ldH, n)
	p.linear(part("s1.W"), part("s1.b"), in, p.ldIn, p.shape.in, dB, p.ldH, Hidden, b, from, n)
	p.s1T[i].Apply(dI, p.ldIn, dB, p.ldH, n)
}

// affineGradient is scorerGradient for an affine scorer. The gradient of each of
// its weights is a product of two vectors. After the shard's last rows it
// writes them.
func (p *pass) affineGradient(part func(string) []float32, i int, b *buffers, in, dI, dPred []float32, last bool) {
	a, width := p.affine[i], p.shape.in
	for r, g := range dPred {
		kernel.Axpy(b.dIn, g, in[r*p.ldIn:r*p.ldIn+width])
		b.dSum += g
		row := dI[r*p.ldIn : r*p.ldIn+width]
		for j, w := range a.w {
			row[j] = g * w
		}
	}
	if !last {
		return
	}
	outer := func(name string, x, g []float32) {
		dw, ld := part(name), kernel.RoundCols(Hidden)
		clear(dw[:len(x)*ld])
		for r, v := range x {
			kernel.Axpy(dw[r*ld:], v, g)
		}
	}
	times := func(name string, g []float32) {
		db := part(name)
		clear(db[:len(g)])
		kernel.Axpy(db, b.dSum, g)
	}
	w := p.weights(i)
	view := func(name string) []float32 { return p.shape.scorerView(w, name) }
	w3 := view("s3.W")
	outer("s1.W", b.dIn, a.v)
	times("s1.b", a.v)
	// The sums of the hidden layers' outputs times the gradient of the score.
	var sums [2][Hidden]float32
	from := b.dIn
	for k, name := range []string{"s1", "s2"} {
		w := view(name + ".W")
		for r, v := range from {
			kernel.Axpy(sums[k][:], v, w[r*Hidden:(r+1)*Hidden])
		}
		kernel.Axpy(sums[k][:], b.dSum, view(name+".b"))
		from = sums[k][:]
	}
	outer("s2.W", sums[0][:], w3)
	times("s2.b", w3)
	dw3 := part("s3.W")
	for j, v := range sums[1] {
		dw3[j*kernel.RoundCols(1)] = v
	}
	part("s3.b")[0] = b.dSum
	clear(b.dIn)
	b.dSum = 0
}

// latentGradient writes n rows of the gradient of the encoder's heads: mean and
// log-variance.
func (p *pass) latentGradient(b *buffers, from, n int) {
	L := p.shape.latent
	kl := float32(p.settings.KLWeight) / float32(p.settings.Batch)
	for r := from; r < from+n; r++ {
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

// linear adds the gradients of a linear layer from n rows of a shard, of which
// from come before: dw = x^T g, db = the column sums of g.
func (p *pass) linear(dw, db, x []float32, ldx, in int, g []float32, ldg, out int, b *buffers, from, n int) {
	ld := kernel.RoundCols(out)
	if from == 0 {
		kernel.Product(dw, ld, x, ldx, in, g, ldg, out, n)
		clear(db[:ld])
	} else {
		kernel.Product(b.dW, ld, x, ldx, in, g, ldg, out, n)
		kernel.Axpy(dw, 1, b.dW[:in*ld])
	}
	kernel.Sums(db, g, ldg, n, out)
}

// setNormGradient writes the gradients of a batch normalisation's parameters.
func (p *pass) setNormGradient(k int, dGamma, dBeta []float32, b *buffers) {
	nb := &b.norm[k]
	for j := range Hidden {
		dBeta[j] = float32(nb.sums[0][j])
		dGamma[j] = float32(nb.sums[1][j]) * nb.inverse[j]
	}
}

// normBack replaces n rows of g, the gradient after a batch normalisation, by
// the gradient before it. The sums are over all rows of the shard.
func (p *pass) normBack(k int, b *buffers, g []float32, rows, from, n int) {
	nb, gamma := &b.norm[k], p.norms[k].gamma
	var scale, slope, shift [Hidden]float32
	for j := range Hidden {
		f := float64(gamma[j]) * float64(nb.inverse[j])
		perUnit := nb.sums[1][j] * float64(nb.inverse[j]) * float64(nb.inverse[j]) / float64(rows)
		scale[j], slope[j] = float32(f), float32(-f*perUnit)
		shift[j] = float32(f * (perUnit*float64(nb.mean[j]) - nb.sums[0][j]/float64(rows)))
	}
	g = g[from*p.ldH:]
	kernel.ColumnMaps(g, g, b.hidden[k][from*p.ldH:], p.ldH, n, scale[:], slope[:], shift[:], 1)
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
	p.distanceGradient(de, e)
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
