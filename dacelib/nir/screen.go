package nir

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// This file implements the pass in bytes. It computes an approximate score of
// every solution of the sample. It then scores in single precision those within
// a margin of the approximation's extremes and those without an approximation;
// the extremes of these scores are the range.
//
// The pass misses a solution if it is an extreme but its approximate score is
// not within the margin. The error of that score would have to exceed the
// difference that [screened.sure] checks. This is unlikely because errors are
// roundings: they do not grow towards the extremes, where most approximations
// fail, since a hidden layer that leaves the range seen in the probe gives no
// score instead of a wrong one. The check is empirical, not a proof.

const (
	// screenMargin is the margin in units of the largest error of the probe.
	// Among 10 million errors the largest was 1.35 to 1.57 units (8 scorers, d
	// = 30). Once [screened.narrow] has given up candidates, a miss takes an error
	// of narrowRoom * screenSafety = 2.5 units or more at the missed solution.
	screenMargin = 5
	// screenRoom is the factor by which the grid of the hidden layer's bytes
	// extends beyond the values in the probe. With a smaller factor, rounding
	// is finer and more solutions leave the grid.
	screenRoom = 1.6
	// screenSafety is the factor by which the error of a missed solution would
	// have to exceed every error seen.
	screenSafety = 2
	// narrowRoom is how much room [screened.narrow] leaves for errors larger than
	// those seen until then.
	narrowRoom = 1.25
	// maxCandidates is the largest share of the sample that is scored in single
	// precision. It bounds the memory for candidates, and is far below the share
	// at which a whole pass in single precision would take less time.
	maxCandidates = 0.15
	// byteBlock is the number of solutions that one scorer in bytes scores
	// before the next: a whole number of parts of a chunk. The weights of both
	// layers and the hidden layer of fewer solutions fit into the first-level
	// cache, but then the weights are read more often.
	byteBlock = sampleChunk / 4
	// rescored bounds the number of candidates whose latents are in memory.
	rescored = 1 << 18
)

// A candidate is a solution to be scored in single precision: its index in the
// sample and its approximate score, NaN if it has none.
type candidate struct {
	index uint32
	score float32
}

// tails holds the solutions near a scorer's approximate extremes so far.
type tails struct {
	margin float32
	lo, hi float32 // the extremes
	found  []candidate
}

// add processes the approximate scores y of the solutions from index first on.
func (t *tails) add(first int, y *[byteBlock]float32, n int) {
	for i := 0; i < n; i += 16 {
		set := kernel.Outside((*[16]float32)(y[i:]), t.lo+t.margin, t.hi-t.margin)
		for ; set != 0; set &= set - 1 {
			k := i + bits.TrailingZeros16(set)
			if k >= n {
				break
			}
			t.keep(first+k, y[k])
		}
	}
}

// keep makes the solution with index i a candidate if its approximate score v
// is near the extremes so far or NaN.
func (t *tails) keep(i int, v float32) {
	if !t.near(v) {
		return
	}
	t.found = append(t.found, candidate{uint32(i), v})
	if v == v {
		t.lo, t.hi = min(t.lo, v), max(t.hi, v)
	}
}

// near reports whether the score of an earlier candidate is still near the
// extremes.
func (t *tails) near(v float32) bool { return !(v >= t.lo+t.margin && v <= t.hi-t.margin) }

// screened is the state of a scorer during the pass in bytes.
type screened struct {
	*Scorer
	bytes  *kernel.ByteScorer
	tails  tails   // of the whole sample after the pass
	errors float32 // the largest error seen
	lo, hi float32 // the extremes in single precision so far
	// All solutions are scored whose approximate score is below bottom or above
	// top.
	bottom, top float32
	full        bool // there are too many candidates
	record      *recorder
	// candidates in all, and those of them that left the hidden layer's bytes
	candidates, over int
}

// sure reports whether any missed solution would need an error of at least
// screenSafety times the largest error seen.
func (s *screened) sure() bool { return s.safe(screenSafety) }

// safe is sure with another factor.
func (s *screened) safe(factor float32) bool {
	return !s.full && min(s.hi-s.top, s.bottom-s.lo) >= factor*s.errors
}

// narrow gives up the candidates that safe does not need, by the extremes and
// the errors seen so far.
func (s *screened) narrow(factor float32) {
	room := narrowRoom * factor * s.errors
	s.bottom, s.top = min(s.bottom, s.lo+room), max(s.top, s.hi-room)
}

// near reports whether a candidate has to be scored.
func (s *screened) near(c candidate) bool { return !(c.score >= s.bottom && c.score <= s.top) }

// see updates the extremes and errors with the exact score v of a solution.
func (s *screened) see(approximate, v float32) {
	s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	if approximate == approximate {
		s.errors = max(s.errors, abs(approximate-v))
	}
}

func abs(v float32) float32 { return max(v, -v) }

// screen finds ranges by the pass in bytes. It returns all scorers with lo and
// hi of those that are sure. record, if not nil, has a recorder for each scorer.
func (m *Model) screen(ctx context.Context, scorers []*Scorer, record []*recorder) ([]*screened, error) {
	lat, err := m.byteLatents(ctx)
	if err != nil {
		return nil, err
	}
	set := make([]*screened, len(scorers))
	err = run.Each(m.workers(), len(scorers), func(i int) error {
		set[i] = newScreened(scorers[i], lat)
		if record != nil {
			set[i].record = record[i]
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}

	// A scorer with larger errors among the candidates than on the probe gets a
	// second pass, with a wider margin.
	unsure := set
	for range 2 {
		if err := m.screenPass(ctx, unsure, lat); err != nil {
			return nil, err
		}
		unsure = slices.DeleteFunc(slices.Clone(unsure), func(s *screened) bool { return s.full || s.sure() })
	}
	return set, nil
}

// screenPass passes over the sample in bytes.
func (m *Model) screenPass(ctx context.Context, set []*screened, lat *byteLatents) error {
	if len(set) == 0 {
		return nil
	}
	for _, s := range set {
		s.tails.margin, s.candidates, s.over = screenMargin*s.errors, 0, 0
	}
	most := m.mostCandidates()
	var mu sync.Mutex // guards parts
	var parts [][]tails
	err := m.eachChunk(ctx, "normalise", fmt.Sprintf("%d scorers", len(set)), func() func(c int) error {
		in := m.shape.in
		t := make([]tails, len(set))
		for i, s := range set {
			t[i] = tails{margin: s.tails.margin, lo: s.tails.lo, hi: s.tails.hi}
		}
		mu.Lock()
		parts = append(parts, t)
		mu.Unlock()
		sc, work := newScratch(in), kernel.NewByteScratch(byteBlock)
		z, buf := make([]float32, latentRows(sampleChunk)*in), make([]byte, lat.store.size)
		return func(c int) error {
			n := m.chunkLen(c)
			b, err := lat.store.chunk(c, buf, func(dst []byte) {
				m.encoder().latents(z, sc, m.sampleOf(c))
				lat.round(dst, z, n)
			})
			if err != nil {
				return err
			}
			var y [byteBlock]float32
			for i, s := range set {
				t := &t[i]
				if len(t.found) > most {
					continue
				}
				for j := 0; j < n; j += byteBlock {
					k := min(byteBlock, n-j)
					s.bytes.Scores(y[:], work, b[j*lat.store.row:], k)
					s.record.put(c*sampleChunk+j, y[:k])
					t.add(c*sampleChunk+j, &y, k)
				}
			}
			return nil
		}
	})
	if err != nil {
		return err
	}
	return m.rescoreAll(ctx, set, parts, most, screenMargin, screenSafety)
}

// mostCandidates returns the largest number of candidates of one scorer that are
// scored.
func (m *Model) mostCandidates() int {
	return int(maxCandidates*float64(m.settings.NormaliseSample)) + 1000
}

// rescoreAll merges what the goroutines of a pass have found, and computes the
// exact scores of the candidates that remain, at most the given number for each
// scorer. First come the foremost: their scores and errors leave fewer of the
// others. The margin of the tails is given in largest errors; safety is the
// factor of the check [screened.safe] to be passed.
func (m *Model) rescoreAll(ctx context.Context, set []*screened, parts [][]tails, most int, margin, safety float32) error {
	foremost := make([][][]candidate, len(set))
	for i, s := range set {
		t := &s.tails
		for _, p := range parts {
			t.lo, t.hi = min(t.lo, p[i].lo), max(t.hi, p[i].hi)
			s.full = s.full || len(p[i].found) > most // the pass has not gone on
		}
		s.bottom, s.top = t.lo+t.margin, t.hi-t.margin
		edge := tails{margin: t.margin / margin, lo: t.lo, hi: t.hi}
		for k := range parts {
			var first []candidate
			rest := parts[k][i].found[:0]
			for _, c := range parts[k][i].found {
				switch {
				case c.score != c.score:
					s.over++
					rest = append(rest, c)
				case edge.near(c.score):
					first = append(first, c)
				case s.near(c):
					rest = append(rest, c)
				}
			}
			parts[k][i].found = rest
			if !s.full {
				foremost[i] = append(foremost[i], first)
				s.candidates += len(first)
			}
		}
	}
	if err := m.rescore(ctx, set, foremost); err != nil {
		return err
	}
	found := make([][][]candidate, len(set))
	for i, s := range set {
		s.narrow(safety)
		for k := range parts {
			rest := slices.DeleteFunc(parts[k][i].found, func(c candidate) bool { return !s.near(c) })
			found[i] = append(found[i], rest)
			s.candidates += len(rest)
		}
		if s.full = s.full || s.candidates > most; s.full {
			found[i] = nil
		}
	}
	return m.rescore(ctx, set, found)
}

// rescore computes the exact scores of each scorer's candidates, which are lists
// with ascending indices. The latents of those within a window of the sample
// are computed once for all scorers.
func (m *Model) rescore(ctx context.Context, set []*screened, found [][][]candidate) error {
	is := make([]uint64, (m.settings.NormaliseSample+63)/64) // the set of all candidates
	for _, lists := range found {
		for _, list := range lists {
			for _, c := range list {
				is[c.index/64] |= 1 << (c.index % 64)
			}
		}
	}
	in := m.shape.in
	at := make([]uint32, len(is)) // how many candidates of the window are in earlier words
	var z []float32
	for from := 0; from < len(is); {
		if err := ctx.Err(); err != nil {
			return err
		}
		to, n := from, 0
		for to < len(is) && n <= rescored-64 {
			at[to] = uint32(n)
			n += bits.OnesCount64(is[to])
			to++
		}
		index := make([]int, 0, n)
		for w := from; w < to; w++ {
			for b := is[w]; b != 0; b &= b - 1 {
				index = append(index, w*64+bits.TrailingZeros64(b))
			}
		}
		if len(z) < n*in {
			z = make([]float32, n*in)
		}
		if err := m.latentsOf(ctx, z, index); err != nil {
			return err
		}
		err := run.Each(m.workers(), len(set), func(i int) error {
			sc, rows := newScratch(in), make([]float32, latentRows(block)*in)
			var out [block]float32
			for k, list := range found[i] {
				n, _ := slices.BinarySearchFunc(list, to*64, func(c candidate, index int) int { return int(c.index) - index })
				for part := range slices.Chunk(list[:n], block) {
					for r, c := range part {
						w := c.index / 64
						row := int(at[w]) + bits.OnesCount64(is[w]&(1<<(c.index%64)-1))
						copy(rows[r*in:(r+1)*in], z[row*in:])
					}
					set[i].score(out[:len(part)], sc, rows, in)
					for r, c := range part {
						set[i].see(c.score, out[r])
						set[i].record.set(int(c.index), out[r])
					}
				}
				found[i][k] = list[n:]
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// newScreened makes a scorer in bytes and measures its errors on the probe.
func newScreened(sc *Scorer, lat *byteLatents) *screened {
	in, ld := sc.enc.in, hiddenStride()
	s := &screened{Scorer: sc, lo: math.MaxFloat32, hi: -math.MaxFloat32}
	s.tails.lo, s.tails.hi = math.MaxFloat32, -math.MaxFloat32

	// Find the exact scores and the range of the first hidden layer.
	var lo, hi, sum [Hidden]float32
	work, exact := newScratch(in), make([]float32, lat.probes)
	for i := 0; i < lat.probes; i += block {
		k := min(block, lat.probes-i)
		sc.score(exact[i:i+k], work, lat.probe[i*in:], in)
		kernel.Extremes(lo[:], hi[:], work.a, ld, k)
		for r := range k {
			kernel.Axpy(sum[:], 1, work.a[r*ld:r*ld+Hidden])
		}
	}
	low, high, mean := make([]float64, Hidden), make([]float64, Hidden), make([]float64, Hidden)
	for j := range Hidden {
		low[j], high[j] = screenRoom*float64(lo[j]), screenRoom*float64(hi[j])
		mean[j] = float64(sum[j]) / float64(lat.probes)
	}
	s.bytes = kernel.NewByteScorer(sc.w1, sc.b1, sc.w2, sc.b2, sc.w3, sc.b3, leak, lat.grid, kernel.NewGrid(low, high, mean))

	scratch := kernel.NewByteScratch(byteBlock)
	var y [byteBlock]float32
	for i := 0; i < lat.probes; i += byteBlock {
		k := min(byteBlock, lat.probes-i)
		s.bytes.Scores(y[:], scratch, lat.probeBytes[i*kernel.ByteStride(in):], k)
		for j, v := range y[:k] {
			s.see(v, exact[i+j])
			if v == v {
				s.tails.lo, s.tails.hi = min(s.tails.lo, v), max(s.tails.hi, v)
			}
		}
	}
	// Errors below the rounding of single precision are not meaningful.
	s.errors = max(s.errors, 1e-6*(s.hi-s.lo))
	return s
}

// latentsOf writes the latents, in single precision, of the sample's solutions
// with the given ascending indices to z.
func (m *Model) latentsOf(ctx context.Context, z []float32, index []int) error {
	in := m.shape.in
	var starts []int // of the indices of each chunk
	for i, v := range index {
		if i == 0 || v/sampleChunk != index[i-1]/sampleChunk {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(index))
	return run.Each(m.workers(), len(starts)-1, func(k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := index[starts[k]:starts[k+1]]
		c := part[0] / sampleChunk
		x, w := m.sampleOf(c), problem.Stride(m.shape.dim)
		some := problem.NewSolutions(len(part), m.shape.dim)
		for i, v := range part {
			copy(some.Words[i*w:(i+1)*w], x.Words[(v-c*sampleChunk)*w:])
		}
		sc := m.encoder().scratches.Get().(*scratch)
		m.encoder().latents(z[starts[k]*in:], sc, some)
		m.encoder().scratches.Put(sc)
		return nil
	})
}
