package ccp

import (
	"context"
	"math/bits"
	"slices"
	"sync"

	"dace.local/dacelib/problem"
)

// A block is a number of simulations, lanes, that are taken through a stage
// together: nine vectors of four (narrow), or seven of eight (wide) where the
// processor has AVX-512. The last block is padded with simulations that are never
// contaminated.
const narrow, wide = 36, 56

// chunk is the number of solutions sorted and evaluated together.
const chunk = 1 << 15

// A kernel evaluates batches: it goes through the simulations block by block
// and, in a block, through the solutions in an order in which neighbours share
// their first stages. A block's rates and path fit into the first-level cache.
type kernel struct {
	d, blocks int
	// table holds the rates: for each block and stage, lanes values alpha_i,
	// then lanes values 1-gamma_i.
	table   []float64
	initial []float64 // z_0: for each block, lanes values
	limit   float64
	cost    []float64 // cost of measures at stage i, lambda included
	share   float64   // 1/T
	pool    *sync.Pool
}

func newKernel(p *Data) kernel {
	d, t := len(p.Cost), len(p.Initial)
	b := (t + lanes - 1) / lanes
	k := kernel{
		d: d, blocks: b, limit: p.Limit,
		table:   make([]float64, b*d*2*lanes),
		initial: make([]float64, b*lanes),
		cost:    make([]float64, d),
		share:   1 / float64(t),
		pool:    &sync.Pool{New: func() any { return newScratch(d) }},
	}
	copy(k.initial, p.Initial)
	for i := range d {
		for s := range t {
			at := (s/lanes*d+i)*2*lanes + s%lanes
			k.table[at] = p.Contamination[i][s]
			k.table[at+lanes] = 1 - p.Restoration[i][s]
		}
		k.cost[i] = p.Cost[i] + p.Lambda
	}
	return k
}

// counts are the violations so far by lane of a vector; a narrow block uses the
// first four.
type counts [8]int64

// A scratch holds the path of the last solution through one block.
type scratch struct {
	z     []float64 // z[i*lanes:] is the contamination before stage i
	count []counts  // count[i] sums to the violations in the first i stages
	last  int       // the violations of the last solution in the block
	order []entry
}

func newScratch(d int) *scratch {
	return &scratch{z: make([]float64, (d+1)*lanes), count: make([]counts, d+1)}
}

// An entry is a solution's place in the order of evaluation.
type entry struct {
	key        uint64 // its bits, the first stage highest
	i          int32
	from       int32 // the number of stages shared with the previous entry
	violations int32
}

func (k *kernel) evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	s := k.pool.Get().(*scratch)
	defer k.pool.Put(s)
	for lo := 0; lo < x.Len(); lo += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+chunk, x.Len())
		k.chunk(s, dst[lo:hi], x.Slice(lo, hi))
	}
	return ctx.Err()
}

func (k *kernel) chunk(s *scratch, dst []float64, x problem.Solutions) {
	keep := s.sort(x, k.d)
	for b := range k.blocks {
		copy(s.z, k.initial[b*lanes:(b+1)*lanes])
		table := k.table[b*k.d*2*lanes : (b+1)*k.d*2*lanes]
		for j := range s.order {
			e := &s.order[j]
			row, violations := x.Row(int(e.i)), 0
			for i := int(e.from); i < k.d; {
				// Go on to the end of the word; the stages that other solutions
				// may share are kept.
				end := min((i|63)+1, k.d)
				n := max(min(keep, end)-i, 0)
				if end < k.d {
					n = end - i // the next word continues here
				}
				violations = walk(s.z[i*lanes:], s.count[i:], table[i*2*lanes:], row[i>>6]>>(i&63), n, end-i-n, k.limit)
				i = end
			}
			if int(e.from) == k.d {
				violations = s.last // the same solution as before
			}
			s.last = violations
			e.violations += int32(violations)
		}
	}
	for _, e := range s.order {
		v := float64(e.violations) * k.share
		for j, w := range x.Row(int(e.i)) {
			for ; w != 0; w &= w - 1 {
				v += k.cost[j*64+bits.TrailingZeros64(w)]
			}
		}
		dst[e.i] = -v
	}
}

// sort finds the order in which to evaluate x, by the first 64 stages, and
// returns the largest number of stages, less than d, that a solution shares
// with its predecessor.
func (s *scratch) sort(x problem.Solutions, d int) (keep int) {
	s.order = s.order[:0]
	for i := range x.Len() {
		s.order = append(s.order, entry{key: bits.Reverse64(x.Row(i)[0]), i: int32(i)})
	}
	slices.SortFunc(s.order, func(a, b entry) int {
		if a.key < b.key {
			return -1
		}
		if a.key > b.key {
			return 1
		}
		return 0
	})
	for j := 1; j < len(s.order); j++ {
		e := &s.order[j]
		from := common(x.Row(int(s.order[j-1].i)), x.Row(int(e.i)), d)
		e.from = int32(from)
		if from < d {
			keep = max(keep, from)
		}
	}
	return keep
}

// common returns the number of leading bits, at most d, that a and b share.
func common(a, b []uint64, d int) int {
	for i := range a {
		if v := a[i] ^ b[i]; v != 0 {
			return i*64 + bits.TrailingZeros64(v)
		}
	}
	return d
}
