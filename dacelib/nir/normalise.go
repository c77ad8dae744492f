package nir

import (
	"context"
	"fmt"
	"math"
	"sync"

	"dace.local/dacelib/nir/internal/kernel"
)

// Normalise returns the range of the NIR of each embedding: minimum and maximum
// of its score over 10 million uniform solutions (Eq. 11), the same for every
// embedding; see [Settings].NormaliseSample. Many embeddings in one call cost
// less than one by one. [Model].Normalisation selects how the ranges are found.
// If ctx ends, Normalise returns ctx.Err().
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

// byteSample is the smallest sample for which the pass in bytes saves time.
const byteSample = 200_000

// NormaliseScorers is [Model.Normalise] for scorers of this model, made from
// embeddings or from weights. The result is the range of the score without
// normalisation, even if a scorer is already normalised.
func (m *Model) NormaliseScorers(ctx context.Context, scorers []*Scorer) ([]Range, error) {
	for _, s := range scorers {
		if s.model != m {
			return nil, fmt.Errorf("nir: %s is a scorer of another model; normalise it with that model", s.name)
		}
	}
	out := make([]Range, len(scorers))
	open, err := m.byReferences(ctx, scorers, out)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return out, nil
	}
	rest := make([]*Scorer, len(open))
	for k, i := range open {
		rest[k] = scorers[i]
	}
	whole := m.wholeRanges
	if m.Farm != nil {
		whole = m.remoteRanges
	}
	ranges, err := whole(ctx, rest)
	if err != nil {
		return nil, err
	}
	for k, i := range open {
		out[i] = ranges[k]
	}
	return out, nil
}

// wholeRanges finds ranges in this process by passing over the whole sample.
func (m *Model) wholeRanges(ctx context.Context, scorers []*Scorer) ([]Range, error) {
	return m.recordRanges(ctx, scorers, nil)
}

// recordRanges is wholeRanges, with a recorder for each scorer if record is not
// nil.
func (m *Model) recordRanges(ctx context.Context, scorers []*Scorer, record []*recorder) ([]Range, error) {
	out := make([]Range, len(scorers))
	var screened, exact []int
	for i, s := range scorers {
		switch {
		case m.Normalisation.Exact || !kernel.FastBytes() || m.settings.NormaliseSample < byteSample || s.enc != m.encoder() || s.affine != nil:
			exact = append(exact, i)
		default:
			screened = append(screened, i)
		}
	}
	of := func(index []int) (some []*Scorer, records []*recorder) {
		for _, i := range index {
			some = append(some, scorers[i])
			if record != nil {
				records = append(records, record[i])
			}
		}
		return some, records
	}
	if len(screened) > 0 {
		some, records := of(screened)
		set, err := m.screen(ctx, some, records)
		if err != nil {
			return nil, err
		}
		for k, i := range screened {
			out[i] = Range{Min: float64(set[k].lo), Max: float64(set[k].hi)}
			if !set[k].sure() {
				exact = append(exact, i)
			}
		}
	}
	if len(exact) > 0 {
		// The scorers that the pass in bytes gives up on are too few to justify
		// keeping the latents in single precision too.
		some, records := of(exact)
		ranges, err := m.exactRanges(ctx, some, records, len(screened) == 0)
		if err != nil {
			return nil, err
		}
		for k, i := range exact {
			out[i] = ranges[k]
		}
	}
	return out, nil
}

// exactRanges finds the ranges of scorers in single precision. record, if not
// nil, has a recorder for each scorer; keep selects whether it keeps the
// latents.
func (m *Model) exactRanges(ctx context.Context, scorers []*Scorer, record []*recorder, keep bool) ([]Range, error) {
	plan, err := newPlan(m, scorers, keep)
	if err != nil {
		return nil, err
	}
	if plan.record = record; record == nil {
		plan.record = make([]*recorder, len(scorers))
	}
	var mu sync.Mutex // guards parts
	var parts []extremes
	err = m.eachChunk(ctx, "normalise", fmt.Sprintf("%d scorers in single precision", len(scorers)), func() func(c int) error {
		w := plan.worker()
		mu.Lock()
		parts = append(parts, w.found)
		mu.Unlock()
		return w.chunk
	})
	if err != nil {
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

// extremes holds the lowest and highest score so far of each scorer.
type extremes struct{ lo, hi []float32 }

// A plan describes a pass over the sample.
type plan struct {
	m       *Model
	scorers []*Scorer
	record  []*recorder // of the scores of each scorer, or nil
	// own, other and affine are indices of scorers: own for those that read the
	// model's latents, other for those with their own encoder, and affine for
	// those that are affine functions of the model's latents. The layer all
	// computes all affine ones.
	own, other, affine []int
	all                *kernel.Layer
	store              *store // of the model's latents
}

func newPlan(m *Model, scorers []*Scorer, keep bool) (*plan, error) {
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
	var err error
	switch {
	case len(p.own)+len(p.affine) == 0:
	case keep:
		p.store, err = m.floatStore()
	default:
		p.store, err = m.newStore(4*m.shape.in, false)
	}
	return p, err
}

// A rangeWorker processes chunks of the sample in one goroutine.
type rangeWorker struct {
	*plan
	found   extremes
	scratch *scratch
	z       []byte // latents of a chunk

	// For the affine scorers: a block of their scores, and their extremes.
	y, lo, hi []float32
}

func (p *plan) worker() *rangeWorker {
	in := p.m.shape.in
	w := &rangeWorker{plan: p, scratch: newScratch(in), z: make([]byte, latentRows(sampleChunk)*in*4)}
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

// chunk updates the extremes by chunk c of the sample.
func (w *rangeWorker) chunk(c int) error {
	m, n := w.m, w.m.chunkLen(c)
	if w.store != nil {
		b, err := w.store.chunk(c, w.z[:w.store.size], func(dst []byte) {
			m.encoder().latents(floats(dst), w.scratch, m.sampleOf(c))
		})
		if err != nil {
			return err
		}
		z := floats(b)
		for _, i := range w.own {
			w.scan(i, z, c*sampleChunk, n)
		}
		if w.all != nil {
			w.scanAffine(z, n)
		}
	}
	if len(w.other) == 0 {
		return nil
	}
	x, z := m.sampleOf(c), floats(w.z)
	for _, i := range w.other {
		w.scorers[i].enc.latents(z, w.scratch, x)
		w.scan(i, z, c*sampleChunk, n)
	}
	return nil
}

// scan updates the extremes of scorer i with the latents z of n solutions, the
// first of which has index first.
func (w *rangeWorker) scan(i int, z []float32, first, n int) {
	s, in := w.scorers[i], w.m.shape.in
	lo, hi := w.found.lo[i], w.found.hi[i]
	var out [block]float32
	for j := 0; j < n; j += block {
		k := min(block, n-j)
		s.score(out[:k], w.scratch, z[j*in:], in)
		w.record[i].put(first+j, out[:k])
		for _, v := range out[:k] {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	w.found.lo[i], w.found.hi[i] = lo, hi
}

// scanAffine updates the extremes of all affine scorers with n latents z.
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
