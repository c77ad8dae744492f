package nir

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	vec "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/run"
)

// This file finds ranges by references. The scorers that a search tries are
// alike: with the default start of the training, all the weights of a scorer
// follow from one number for each training instance, so a scorer is close to a
// linear combination of a few others. The scores of up to maxReferences
// scorers, the references, are kept for the whole sample. For another scorer,
// the combination of references that fits its scores on the probe best predicts
// its scores on the sample; the solutions whose prediction is within a margin of
// the predicted extremes are scored, and the extremes of these scores are the
// range. A scorer without such a combination passes over the whole sample.
//
// As in the pass in bytes, a solution is missed if it is an extreme but its
// prediction is not within the margin. Its error would have to exceed
// referenceSafety times the largest error seen, on the probe and among the
// candidates. The check is empirical, not a proof; BenchmarkReferences counts
// misses. Weights that were not made from an embedding never take this way.

const (
	// maxReferences is a whole number of the kernel's columns. More references
	// fit more scorers and take more memory, 40 MB each for 10 million
	// solutions.
	maxReferences = 32
	// fewScorers is the number of scorers in one call below which no reference
	// is added.
	fewScorers = 8
	// A misfit is a scorer's largest error on the probe as a share of the range
	// of its scores there. References are added until every misfit is at most
	// goodMisfit: each takes a pass over the sample, as long as 4 million scores
	// of candidates. A scorer with more than mostMisfit is not predicted.
	goodMisfit, mostMisfit = 0.07, 0.12
	// referenceMargin and referenceSafety are what screenMargin and screenSafety
	// are to the pass in bytes. The true extremes are among the foremost
	// predictions, so the margin is smaller than that of roundings.
	referenceMargin, referenceSafety = 3.5, 2
	// firstChunks are passed over twice: the first time gives thresholds for
	// the whole sample.
	firstChunks = 200
)

// references are the scores of some scorers on the sample.
type references struct {
	gate  chan struct{} // a semaphore: holds one while a goroutine uses the fields below
	probe []float32     // latents of the sample's first chunks
	n     int           // the number of references
	rows  []float32     // their scores: maxReferences numbers for each solution
	solve *mat.Dense    // (n + 1) x probes: turns scores on the probe into coefficients
	about *outline      // of these references, or nil
	idle  int           // calls in turn for which the references were of little use
	rest  int           // calls to come that do without references
}

// maxIdle is the number of calls in turn, each with references of its own, after
// which a model's scorers count as unlike one another. restCalls is the number of
// calls until references are tried again, once: the scorers of the next search
// may be alike. A trial costs little, as the references' own ranges are wanted
// anyway.
const maxIdle, restCalls = 3, 5

// A recorder keeps the scores of one scorer as a reference.
type recorder struct {
	rows []float32
	col  int
}

// put keeps the scores of the solutions from index first on. A solution without
// a score in bytes gets 0 until it is scored.
func (r *recorder) put(first int, y []float32) {
	if r == nil {
		return
	}
	at := first*maxReferences + r.col
	for _, v := range y {
		if v != v {
			v = 0
		}
		r.rows[at] = v
		at += maxReferences
	}
}

// set keeps the score of one solution.
func (r *recorder) set(i int, v float32) {
	if r != nil {
		r.rows[i*maxReferences+r.col] = v
	}
}

// A prediction is a scorer whose range is looked for by references.
type prediction struct {
	screened
	index int       // among the scorers of the call
	exact []float32 // its scores on the probe
	y     []float32 // the best combination of references: coefficients, then the constant
	left  []float64 // exact minus that combination: the errors on the probe
	// A prediction is half times what a pass computes, plus middle.
	half, middle float32
}

// sure is [screened.sure] with the factor of references.
func (p *prediction) sure() bool { return p.safe(referenceSafety) }

// largest returns the largest error on the probe.
func (p *prediction) largest() float64 { return vec.Norm(p.left, math.Inf(1)) }

// misfit returns the largest error on the probe as a share of the range there.
func (p *prediction) misfit() float64 {
	return p.largest() / max(float64(slices.Max(p.exact)-slices.Min(p.exact)), math.SmallestNonzeroFloat64)
}

// byReferences writes the ranges that it finds by references to out, and
// returns the indices of the scorers whose ranges it leaves open.
func (m *Model) byReferences(ctx context.Context, scorers []*Scorer, out []Range) (open []int, err error) {
	var able []int
	for i, s := range scorers {
		if s.embedding != nil && s.affine == nil && s.enc == m.encoder() {
			able = append(able, i)
		} else {
			open = append(open, i)
		}
	}
	r, err := m.references(ctx, len(able))
	if err != nil {
		return nil, err
	}
	if r == nil {
		return append(open, able...), nil
	}
	defer func() { <-r.gate }()

	set := make([]*prediction, len(able))
	err = run.Each(m.workers(), len(able), func(k int) error {
		s := scorers[able[k]]
		set[k] = &prediction{index: able[k], exact: r.scores(s)}
		set[k].screened = screened{Scorer: s, lo: math.MaxFloat32, hi: -math.MaxFloat32}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	r.fit(set)
	if len(able) >= fewScorers {
		var chosen []*prediction
		chosen, set = r.chooseFrom(set)
		if err := m.addReferences(ctx, r, chosen, out); err != nil {
			return nil, err
		}
		r.fit(set)
	}
	near := slices.DeleteFunc(slices.Clone(set), func(p *prediction) bool { return p.misfit() > mostMisfit })
	// A scorer with larger errors among the candidates than on the probe gets a
	// second pass, with a wider margin.
	for range 2 {
		if err := m.predict(ctx, r, near); err != nil {
			return nil, err
		}
		near = slices.DeleteFunc(near, func(p *prediction) bool { return p.full || p.sure() })
	}
	for _, p := range set {
		if p.sure() {
			out[p.index] = Range{Min: float64(p.lo), Max: float64(p.hi)}
		} else {
			open = append(open, p.index)
		}
	}
	m.dropUnfit(r, len(able), set)
	return open, nil
}

// references returns the model's references and holds their semaphore, or
// returns nil if there are none for a call with the given number of scorers. One
// scorer alone always passes over the whole sample.
func (m *Model) references(ctx context.Context, scorers int) (*references, error) {
	if scorers < 2 || m.Normalisation.Exact || m.Normalisation.Whole || m.settings.NormaliseSample < byteSample {
		return nil, nil
	}
	m.sample.mu.Lock()
	r := m.sample.references
	if r == nil {
		r = &references{gate: make(chan struct{}, 1)}
		m.sample.references = r
	}
	m.sample.mu.Unlock()
	if err := hold(ctx, r.gate); err != nil {
		return nil, err
	}
	if ok, err := m.prepare(ctx, r, scorers); !ok || err != nil {
		<-r.gate
		return nil, err
	}
	return r, nil
}

// prepare reports whether the references can serve a call with the given number
// of scorers, and makes room for them.
func (m *Model) prepare(ctx context.Context, r *references, scorers int) (bool, error) {
	if r.n == 0 && scorers < fewScorers {
		return false, nil
	}
	if r.rest > 0 {
		r.rest--
		return false, nil
	}
	if r.rows != nil {
		return true, nil
	}
	// The latents come first: without them every pass costs more.
	if err := m.storeLatents(ctx); err != nil {
		return false, err
	}
	n := maxReferences * kernel.RoundRows(m.chunks()*sampleChunk)
	size := 4*int64(n) + outlineBytes*int64(m.settings.NormaliseSample)
	m.sample.mu.Lock()
	defer m.sample.mu.Unlock()
	if memory, _ := m.keptBytes(); memory+size > m.cacheLimit() {
		r.rest = math.MaxInt
		return false, nil
	}
	m.sample.referenceBytes = size
	r.rows, r.probe = make([]float32, n), m.probeLatents(probeChunks*sampleChunk)
	return true, nil
}

// scores returns the scores of s on the probe.
func (r *references) scores(s *Scorer) []float32 {
	in := s.enc.in
	y, sc := make([]float32, probeChunks*sampleChunk), newScratch(in)
	for i := 0; i < len(y); i += block {
		s.score(y[i:min(i+block, len(y))], sc, r.probe[i*in:], in)
	}
	return y
}

// refit prepares fit for the references that there are now.
func (r *references) refit() {
	probes := probeChunks * sampleChunk
	a := mat.NewDense(probes, r.n+1, nil)
	for i := range probes {
		for k, v := range r.rows[i*maxReferences:][:r.n] {
			a.Set(i, k, float64(v))
		}
		a.Set(i, r.n, 1)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, a.T())
	// References that are alike make the matrix singular up to rounding.
	for k := range r.n + 1 {
		gram.SetSym(k, k, gram.At(k, k)*(1+1e-9))
	}
	var c mat.Cholesky
	r.solve, r.about = nil, nil
	if c.Factorize(&gram) {
		r.solve = new(mat.Dense)
		if c.SolveTo(r.solve, a.T()) != nil {
			r.solve = nil
		}
	}
}

// fit finds the combination of references for every prediction, and its errors.
func (r *references) fit(set []*prediction) {
	for _, p := range set {
		p.y = make([]float32, maxReferences+1)
		p.left = make([]float64, len(p.exact))
		for i, v := range p.exact {
			p.left[i] = float64(v)
		}
		if r.n == 0 || r.solve == nil {
			continue
		}
		var c mat.VecDense
		c.MulVec(r.solve, mat.NewVecDense(len(p.left), p.left))
		for k := range r.n {
			p.y[k] = float32(c.AtVec(k))
		}
		p.y[maxReferences] = float32(c.AtVec(r.n))
		for i := range p.left {
			p.left[i] -= float64(p.y[maxReferences]) + float64(kernel.Dot(p.y[:maxReferences], r.rows[i*maxReferences:][:maxReferences]))
		}
	}
}

// chooseFrom is choose, with references of this call alone if those of earlier
// ones leave no room.
func (r *references) chooseFrom(set []*prediction) (chosen, rest []*prediction) {
	chosen, rest = r.choose(set)
	unfit := 0
	for _, p := range rest {
		if p.misfit() > mostMisfit {
			unfit++
		}
	}
	if r.n == 0 || unfit < fewScorers {
		return chosen, rest
	}
	r.n, r.solve, r.about = 0, nil, nil
	r.fit(set)
	return r.choose(set)
}

// choose returns the predictions that shall become references, the worst fitted
// first, and the others. It counts on what each of the chosen leaves of the
// others' errors.
func (r *references) choose(set []*prediction) (chosen, rest []*prediction) {
	rest = slices.Clone(set)
	for r.n+len(chosen) < maxReferences {
		worst, most := -1, goodMisfit
		for i, p := range rest {
			if misfit := p.misfit(); misfit > most {
				worst, most = i, misfit
			}
		}
		if worst < 0 {
			break
		}
		p := rest[worst]
		chosen, rest = append(chosen, p), slices.Delete(rest, worst, worst+1)
		if square := vec.Dot(p.left, p.left); square > 0 {
			for _, q := range rest {
				vec.AddScaled(q.left, -vec.Dot(q.left, p.left)/square, p.left)
			}
		}
	}
	return chosen, rest
}

// addReferences passes over the sample with the chosen scorers, writes their
// ranges to out, and keeps their scores.
func (m *Model) addReferences(ctx context.Context, r *references, chosen []*prediction, out []Range) error {
	if len(chosen) == 0 {
		return nil
	}
	var scorers []*Scorer
	var record []*recorder
	for k, p := range chosen {
		scorers, record = append(scorers, p.Scorer), append(record, &recorder{r.rows, r.n + k})
	}
	ranges, err := m.recordRanges(ctx, scorers, record)
	if err != nil {
		return err
	}
	for k, p := range chosen {
		out[p.index] = ranges[k]
	}
	r.n += len(chosen)
	r.refit()
	return nil
}

// dropUnfit drops references that fit few of a call's scorers, for the next restCalls
// calls. The predictions are of those scorers that have not become references.
func (m *Model) dropUnfit(r *references, scorers int, set []*prediction) {
	predicted := 0
	for _, p := range set {
		if p.sure() {
			predicted++
		}
	}
	switch {
	case scorers < fewScorers: // too few to tell
	case 2*predicted >= scorers:
		r.idle = 0
	default:
		if r.idle++; r.idle >= maxIdle {
			r.idle, r.rest = maxIdle-1, restCalls
			r.n, r.solve, r.about, r.rows, r.probe = 0, nil, nil, nil, nil
			m.sample.mu.Lock()
			m.sample.referenceBytes = 0
			m.sample.mu.Unlock()
		}
	}
}

// predict finds the extremes of each scorer among the solutions whose
// predictions are near the predicted extremes.
func (m *Model) predict(ctx context.Context, r *references, set []*prediction) error {
	if len(set) == 0 {
		return nil
	}
	// The first chunks' extremes, which the others are compared with.
	lo, hi := make([]float32, len(set)), make([]float32, len(set))
	for i := range set {
		lo[i], hi[i] = math.MaxFloat32, -math.MaxFloat32
	}
	for _, p := range set {
		p.half, p.middle = 1, 0
	}
	layer := predictor(set)
	ld := kernel.RoundCols(layer.Out)
	y := make([]float32, kernel.RoundRows(block)*ld)
	first := min(firstChunks*sampleChunk, m.settings.NormaliseSample)
	for i := 0; i < first; i += block {
		k := min(block, first-i)
		layer.Apply(y, ld, r.rows[i*maxReferences:], maxReferences, k)
		kernel.Extremes(lo, hi, y, ld, k)
	}
	var some []*screened
	for i, p := range set {
		p.errors = max(p.errors, float32(p.largest()), 1e-6*(hi[i]-lo[i]))
		p.tails = tails{margin: referenceMargin * p.errors, lo: lo[i], hi: hi[i]}
		// Scale the predictions so that one pair of thresholds serves all.
		p.half, p.middle = (hi[i]-lo[i])/2-p.tails.margin, (hi[i]+lo[i])/2
		if p.half <= 0 {
			p.full, p.half = true, 1
		}
		some = append(some, &p.screened)
	}
	layer = predictor(set)

	if r.about == nil && len(set) >= fewScorers { // a pass over as many columns as there are references
		var err error
		if r.about, err = m.outline(ctx, r); err != nil {
			return err
		}
	}
	var limit []float32
	if r.about != nil {
		limit = r.about.limits(set)
	}
	most := m.mostCandidates()
	var mu sync.Mutex // guards parts
	var parts [][]tails
	err := m.eachChunk(ctx, "normalise", fmt.Sprintf("%d scorers by references", len(set)), func() func(c int) error {
		t := make([]tails, len(set))
		for i, p := range set {
			t[i] = p.tails
		}
		mu.Lock()
		parts = append(parts, t)
		mu.Unlock()
		y := make([]float32, kernel.RoundRows(block)*ld)
		// look keeps candidates among the solutions of the given indices and references' scores.
		look := func(index []int, rows []float32) {
			layer.Apply(y, ld, rows, maxReferences, len(index))
			for row, at := range index {
				for col := 0; col < len(set); col += 16 {
					out := kernel.Outside((*[16]float32)(y[row*ld+col:]), -1, 1)
					for ; out != 0; out &= out - 1 {
						i := col + bits.TrailingZeros16(out)
						if p := set[i]; len(t[i].found) <= most {
							t[i].keep(at, y[row*ld+i]*p.half+p.middle)
						}
					}
				}
			}
		}
		index, rows := make([]int, sampleChunk), make([]float32, kernel.RoundRows(block)*maxReferences)
		return func(c int) error {
			// Chosen first and copied then: with no branch between them the reads of memory overlap.
			n := 0
			for at := c * sampleChunk; at < c*sampleChunk+m.chunkLen(c); at++ {
				index[n] = at
				if limit == nil || !(r.about.rest[at] <= limit[r.about.cells[at]]) { // NaN stays
					n++
				}
			}
			for part := range slices.Chunk(index[:n], block) {
				for k, at := range part {
					*(*[maxReferences]float32)(rows[k*maxReferences:]) = *(*[maxReferences]float32)(r.rows[at*maxReferences:])
				}
				look(part, rows)
			}
			return nil
		}
	})
	if err != nil {
		return err
	}
	return m.rescoreAll(ctx, some, parts, most, referenceMargin, referenceSafety)
}

// predictor returns the layer that turns the references' scores of a solution
// into its predictions, less middle and divided by half.
func predictor(set []*prediction) *kernel.Layer {
	w, b := make([]float32, maxReferences*len(set)), make([]float32, len(set))
	for i, p := range set {
		for k, v := range p.y[:maxReferences] {
			w[k*len(set)+i] = v / p.half
		}
		b[i] = (p.y[maxReferences] - p.middle) / p.half
	}
	return kernel.NewLayer(w, b, maxReferences, len(set), 1)
}
