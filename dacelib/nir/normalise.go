package nir

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// sampleChunk is the number of solutions of the normalising sample that are
// worked on at once: a whole number of blocks whose latents stay in the
// second-level cache while scorer after scorer reads them. Each chunk has a
// random stream of its own.
const sampleChunk = 20 * block

// Normalise returns the range of each NIR given by its embedding: minimum and
// maximum of its score over 10 million uniform solutions (Eq. 11) that are the
// same for every embedding, as [Settings].NormaliseSample says. Many embeddings
// in one call cost less than one by one. On the end of ctx it returns
// ctx.Err().
func (m *Model) Normalise(ctx context.Context, embeddings [][]float64) ([]Range, error) {
	scorers := make([]*Scorer, len(embeddings))
	for i, e := range embeddings {
		s, err := m.Scorer(e)
		if err != nil {
			return nil, err
		}
		scorers[i] = s
	}
	return m.NormaliseScorers(ctx, scorers)
}

// NormaliseScorers is [Model.Normalise] for scorers of this model, whether made
// of embeddings or of weights. The result is that of the raw score, whatever
// range a scorer has.
func (m *Model) NormaliseScorers(ctx context.Context, scorers []*Scorer) ([]Range, error) {
	for _, s := range scorers {
		if s.model != m {
			return nil, fmt.Errorf("nir: %s is a scorer of another model; normalise it with that model", s.name)
		}
	}
	m.keepLatents()
	plan := newPlan(m, scorers)
	chunks := (m.settings.NormaliseSample + sampleChunk - 1) / sampleChunk
	workers := min(m.workers(), chunks)
	parts := make([]extremes, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() {
			w := plan.worker()
			for ctx.Err() == nil {
				c := int(next.Add(1)) - 1
				if c >= chunks {
					break
				}
				w.chunk(c)
			}
			parts[i] = w.found
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]Range, len(scorers))
	for i := range out {
		lo, hi := parts[0].lo[i], parts[0].hi[i]
		for _, p := range parts[1:] {
			lo, hi = min(lo, p.lo[i]), max(hi, p.hi[i])
		}
		out[i] = Range{Min: float64(lo), Max: float64(hi)}
	}
	return out, nil
}

// workers returns the number of goroutines to use.
func (m *Model) workers() int {
	if m.settings.Workers > 0 {
		return m.settings.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// keepLatents makes room for the sample's latents, once, if they fit.
func (m *Model) keepLatents() {
	m.latentsOnce.Do(func() {
		n := m.settings.NormaliseSample
		if int64(n)*int64(m.shape.in)*4 <= m.settings.CacheBytes {
			m.latents = make([]atomic.Pointer[[]float32], (n+sampleChunk-1)/sampleChunk)
		}
	})
}

// LatentBytes returns the memory in bytes that the normalising sample's
// latents take once a range has been computed; 0 if they are not kept.
func (m *Model) LatentBytes() int64 {
	m.keepLatents()
	if m.latents == nil {
		return 0
	}
	return int64(m.settings.NormaliseSample) * int64(m.shape.in) * 4
}

// sampleOf returns chunk c of the normalising sample.
func (m *Model) sampleOf(c int) problem.Solutions {
	n := min(sampleChunk, m.settings.NormaliseSample-c*sampleChunk)
	return problem.Random(run.Rand(m.settings.Seed, "nir: normalise", c), n, m.shape.dim)
}

// extremes are the lowest and highest scores so far, by scorer.
type extremes struct{ lo, hi []float32 }

// A plan is a pass over the sample.
type plan struct {
	m       *Model
	scorers []*Scorer
	// own, other and affine are the indices of the scorers that read the
	// model's latents, that have an encoder of their own, and that are affine
	// functions of the model's latents, all of which are one layer.
	own, other, affine []int
	all                *kernel.Layer
}

func newPlan(m *Model, scorers []*Scorer) *plan {
	p := &plan{m: m, scorers: scorers}
	for i, s := range scorers {
		switch {
		case s.enc != m.encoder():
			p.other = append(p.other, i)
		case s.affine != nil:
			p.affine = append(p.affine, i)
		default:
			p.own = append(p.own, i)
		}
	}
	if k := len(p.affine); k > 0 {
		w, b := make([]float32, m.shape.in*k), make([]float32, k)
		for c, i := range p.affine {
			b[c] = scorers[i].b3
			for r, v := range scorers[i].affine {
				w[r*k+c] = v
			}
		}
		p.all = kernel.NewLayer(w, b, m.shape.in, k, 1)
	}
	return p
}

// A rangeWorker goes through chunks of the sample.
type rangeWorker struct {
	*plan
	found   extremes
	scratch *scratch
	z       []float32

	// Of the affine scorers: a block of their scores, and their extremes.
	y, lo, hi []float32
}

func (p *plan) worker() *rangeWorker {
	w := &rangeWorker{plan: p, scratch: newScratch(p.m.shape.in)}
	w.found.lo = make([]float32, len(p.scorers))
	w.found.hi = make([]float32, len(p.scorers))
	for i := range p.scorers {
		w.found.lo[i], w.found.hi[i] = math.MaxFloat32, -math.MaxFloat32
	}
	if p.all != nil {
		w.y = make([]float32, block*kernel.RoundCols(p.all.Out))
		for range p.affine {
			w.lo, w.hi = append(w.lo, math.MaxFloat32), append(w.hi, -math.MaxFloat32)
		}
	}
	return w
}

// chunk takes chunk c of the sample into account.
func (w *rangeWorker) chunk(c int) {
	m := w.m
	n := min(sampleChunk, m.settings.NormaliseSample-c*sampleChunk)
	var x problem.Solutions // drawn when needed
	if len(w.own)+len(w.affine) > 0 {
		var z []float32
		if m.latents != nil && m.latents[c].Load() != nil {
			z = *m.latents[c].Load()
		} else {
			x = m.sampleOf(c)
			if m.latents != nil {
				z = make([]float32, latentRows(n)*m.shape.in)
				m.latents[c].Store(&z)
			} else {
				w.z = slicesGrow(w.z, latentRows(n)*m.shape.in)
				z = w.z
			}
			m.encoder().latents(z, w.scratch, x)
		}
		for _, i := range w.own {
			w.scan(i, z, n)
		}
		if w.all != nil {
			w.scanAffine(z, n)
		}
	}
	for _, i := range w.other {
		if x.D == 0 {
			x = m.sampleOf(c)
		}
		w.z = slicesGrow(w.z, latentRows(n)*m.shape.in)
		w.scorers[i].enc.latents(w.z, w.scratch, x)
		w.scan(i, w.z, n)
	}
}

// latentRows is the room that n latents need: a whole number of tiles.
func latentRows(n int) int { return kernel.RoundRows(n) }

// slicesGrow returns a slice of length n, s if it is large enough.
func slicesGrow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// latents writes the latents of x to z, one row every in numbers.
func (e *encoder) latents(z []float32, s *scratch, x problem.Solutions) {
	ldz := kernel.RoundCols(e.in)
	for i := 0; i < x.Len(); i += block {
		n := min(block, x.Len()-i)
		e.encode(s, x.Slice(i, i+n), n)
		for j := range n {
			copy(z[(i+j)*e.in:(i+j+1)*e.in], s.z[j*ldz:])
		}
	}
}

// scan updates the extremes of scorer i by n latents z.
func (w *rangeWorker) scan(i int, z []float32, n int) {
	s, in := w.scorers[i], w.m.shape.in
	lo, hi := w.found.lo[i], w.found.hi[i]
	var out [block]float32
	for j := 0; j < n; j += block {
		k := min(block, n-j)
		s.score(out[:k], w.scratch, z[j*in:], in)
		for _, v := range out[:k] {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	w.found.lo[i], w.found.hi[i] = lo, hi
}

// scanAffine updates the extremes of all affine scorers by n latents z.
func (w *rangeWorker) scanAffine(z []float32, n int) {
	in, ld := w.m.shape.in, kernel.RoundCols(w.all.Out)
	for j := 0; j < n; j += block {
		k := min(block, n-j)
		w.all.Apply(w.y, ld, z[j*in:], in, k)
		kernel.Extremes(w.lo, w.hi, w.y, ld, k)
	}
	for c, i := range w.affine {
		w.found.lo[i], w.found.hi[i] = min(w.found.lo[i], w.lo[c]), max(w.found.hi[i], w.hi[c])
	}
}
