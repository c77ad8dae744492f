package cimp

import (
	"context"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"dace.local/dacelib/problem"
)

// A model is an instance prepared for evaluation: the polynomial of the worlds
// that collapsed, and the other worlds.
type model struct {
	d, k, worlds int
	form         *form // nil if no world was collapsed
	rest         []*world
	pool         sync.Pool // of *scratch
}

func newModel(ctx context.Context, data *Data) (*model, error) {
	m := &model{d: len(data.Candidates), k: data.K, worlds: data.Worlds}
	m.pool.New = func() any { return newScratch(m.d) }
	var (
		mu    sync.Mutex // guards total
		total = newSum()
		rest  = make([]*world, data.Worlds)
	)
	err := eachWorld(ctx, data, func(next func() (int, *world)) {
		c := newCollapser(m.d)
		for r, w := next(); w != nil; r, w = next() {
			if m.d > maxCollapse || !c.add(w) {
				rest[r] = w.clone()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		total.addAll(c.sum)
	})
	if err != nil {
		return nil, err
	}
	m.rest = slices.DeleteFunc(rest, func(w *world) bool { return w == nil })
	m.rest = slices.Clip(m.rest)
	if m.d <= maxCollapse {
		m.form = newForm(total, m.d)
	}
	return m, nil
}

// eachWorld calls worker on all cores. next returns the worker's next world,
// valid until the following call, and nil at the end or when ctx ends.
func eachWorld(ctx context.Context, data *Data, worker func(next func() (int, *world))) error {
	var (
		done atomic.Int64
		wg   sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), data.Worlds) {
		wg.Go(func() {
			b := newBuilder(data.Graph.Nodes())
			worker(func() (int, *world) {
				r := int(done.Add(1)) - 1
				if r >= data.Worlds || ctx.Err() != nil {
					return 0, nil
				}
				return r, b.build(newChance(data.Graph, data.GAPs, data.Seed, r), data.Candidates, data.Others)
			})
		})
	}
	wg.Wait()
	return ctx.Err()
}

// A scratch is the working memory of one evaluation.
type scratch struct {
	rows    []uint64 // up to 64 repaired solutions
	columns []uint64 // the rows transposed: one per candidate
	lanes   lanes
	count   counter
	sums    [64]int64
}

func newScratch(d int) *scratch {
	w := problem.Stride(d)
	return &scratch{rows: make([]uint64, 64*w), columns: make([]uint64, 64*w)}
}

func (m *model) evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	s := m.pool.Get().(*scratch)
	defer m.pool.Put(s)
	for lo := 0; lo < x.Len(); lo += 64 {
		if lo&(1<<14-1) == 0 || len(m.rest) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		part := x.Slice(lo, min(lo+64, x.Len()))
		m.sum(s, part)
		for i := range part.Len() {
			dst[lo+i] = float64(s.sums[i]) / float64(m.worlds)
		}
	}
	return ctx.Err()
}

// minLanes is the number of solutions from which they are evaluated all at
// once.
const minLanes = 8

// sum sets s.sums[i] to the number of adopters for solution i over all worlds,
// for up to 64 solutions.
func (m *model) sum(s *scratch, x problem.Solutions) {
	n := x.Len()
	sums := s.sums[:n]
	s.repair(x, m.k, func(i, seeds int) { sums[i] = int64(seeds) * int64(m.worlds) })
	sliced := m.form != nil && len(m.form.digits) > 0 && n >= minLanes
	if m.form != nil {
		w := problem.Stride(m.d)
		for i := range sums {
			at := set{lo: s.rows[i*w]}
			if w > 1 {
				at.hi = s.rows[i*w+1]
			}
			if sliced {
				sums[i] += m.form.linearAt(at)
			} else {
				sums[i] += m.form.at(at)
			}
		}
	}
	if sliced || len(m.rest) > 0 {
		s.transposeRows(n, m.d)
	}
	if len(m.rest) > 0 {
		for _, w := range m.rest {
			s.lanes.run(w, s.columns, &s.count)
		}
		s.count.addTo(sums, 1)
	}
	if sliced {
		for j, c := range s.columns {
			s.columns[j] = ^c
		}
		m.form.slice(sums, s.columns)
	}
}

// repair copies the solutions to s.rows, each without the ones after its first
// k, and calls tell with the number of ones left.
func (s *scratch) repair(x problem.Solutions, k int, tell func(i, seeds int)) {
	w := problem.Stride(x.D)
	copy(s.rows, x.Words)
	for i := range x.Len() {
		row, left := s.rows[i*w:(i+1)*w], k
		for j, word := range row {
			n := bits.OnesCount64(word)
			if n > left {
				row[j] = word & firstOnes(word, left)
				n = left
			}
			left -= n
		}
		tell(i, k-left)
	}
}

// firstOnes returns a mask of the lowest bits of w that contains its first k
// ones; w has more than k.
func firstOnes(w uint64, k int) uint64 {
	at := 0
	for width := 32; width > 0; width >>= 1 {
		if n := bits.OnesCount64(w >> at & (1<<width - 1)); n <= k {
			k -= n
			at += width
		}
	}
	return 1<<at - 1
}

// transposeRows sets s.columns to the transposed first n rows; the bits of further lanes
// are 0.
func (s *scratch) transposeRows(n, d int) {
	w := problem.Stride(d)
	for j := range w {
		block := (*[64]uint64)(s.columns[j*64:])
		for i := range 64 {
			block[i] = 0
			if i < n {
				block[i] = s.rows[i*w+j]
			}
		}
		transpose(block)
	}
}

// estimate simulates all worlds for up to 64 solutions.
func estimate(ctx context.Context, data *Data, x problem.Solutions) ([]Estimate, error) {
	var (
		n             = x.Len()
		mu            sync.Mutex // guards sums and squares
		sums, squares [64]int64
		seeds         [64]int64
		s             = newScratch(x.D)
	)
	s.repair(x, data.K, func(i, k int) { seeds[i] = int64(k) })
	s.transposeRows(n, x.D)
	err := eachWorld(ctx, data, func(next func() (int, *world)) {
		var (
			l    lanes
			c    counter
			a, b [64]int64
		)
		for _, w := next(); w != nil; _, w = next() {
			spread := seeds
			l.run(w, s.columns, &c)
			c.addTo(spread[:n], 1)
			for i, v := range spread[:n] {
				a[i] += v
				b[i] += v * v
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range n {
			sums[i] += a[i]
			squares[i] += b[i]
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]Estimate, n)
	for i := range out {
		out[i] = Estimate{float64(sums[i]) / float64(data.Worlds), standardError(sums[i], squares[i], data.Worlds)}
	}
	return out, nil
}

func (m *model) info() Info {
	in := Info{Worlds: m.worlds, Simulated: len(m.rest)}
	if f := m.form; f != nil {
		in.Terms = len(f.terms)
		in.Bytes = len(f.linear)*256*8 + len(f.terms)*24
		for _, g := range f.digits {
			in.Bytes += len(g.pairs) * 8
			for _, t := range g.more {
				in.Bytes += 24 + 4*len(t)
			}
		}
	}
	for _, w := range m.rest {
		in.Bytes += len(w.class) + 4*len(w.start) + 4*len(w.head) + 8*len(w.cands) + 4*len(w.seeds)
	}
	return in
}
