package ccp

import (
	"context"
	"math/bits"
	"slices"
	"sync"

	"dace.local/dacelib/problem"
)

// lanes is the number of simulations that step works on at a time; rows are
// padded to it with simulations that are never contaminated.
const lanes = 20

// A kernel evaluates batches. The simulations are the lanes of a vector: all
// take a stage at once.
//
// Since z_{i-1} enters stage i either as (1-gamma) z, where measures are
// taken, or as alpha (1-z) + z, the factors of the paper's formula that are 0
// or 1 drop out without changing a bit of the result.
type kernel struct {
	d, width int
	// table holds the rates: for stage i, width values alpha_i, then width
	// values 1-gamma_i.
	table   []float64
	initial []float64 // z_0, width
	limit   float64
	cost    []float64 // of measures at stage i, lambda included
	share   float64   // 1/T
	pool    *sync.Pool
}

func newKernel(p *Data) kernel {
	d, t := len(p.Cost), len(p.Initial)
	w := (t + lanes - 1) / lanes * lanes
	k := kernel{
		d: d, width: w, limit: p.Limit,
		table:   make([]float64, 2*d*w),
		initial: make([]float64, w),
		cost:    make([]float64, d),
		share:   1 / float64(t),
	}
	copy(k.initial, p.Initial)
	for i := range d {
		copy(k.table[2*i*w:], p.Contamination[i])
		for j, g := range p.Restoration[i] {
			k.table[(2*i+1)*w+j] = 1 - g
		}
		k.cost[i] = p.Cost[i] + p.Lambda
	}
	k.pool = &sync.Pool{New: func() any {
		s := &scratch{z: make([]float64, (d+1)*w), sum: make([]sum, d+1)}
		copy(s.z, k.initial)
		return s
	}}
	return k
}

// A scratch holds the path of the last solution: z[i] is the contamination
// before stage i, sum[i] what the first i stages cost.
type scratch struct {
	z     []float64 // (d+1) x width
	sum   []sum     // d+1
	order []key
}

type sum struct {
	violations int
	cost       float64
}

// A key is a solution in the order of its bits, first stage first.
type key struct {
	bits uint64
	i    int32
}

// every is the number of solutions between two looks at the context.
const every = 1024

func (k *kernel) evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	s := k.pool.Get().(*scratch)
	defer k.pool.Put(s)
	n := x.Len()
	sorted := problem.Stride(x.D) == 1 && n > 2
	if sorted {
		s.order = s.order[:0]
		for i, w := range x.Words {
			s.order = append(s.order, key{bits.Reverse64(w), int32(i)})
		}
		slices.SortFunc(s.order, func(a, b key) int {
			if a.bits < b.bits {
				return -1
			}
			if a.bits > b.bits {
				return 1
			}
			return 0
		})
	}
	var last []uint64
	for r := range n {
		if r%every == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		i := r
		if sorted {
			i = int(s.order[r].i)
		}
		row := x.Row(i)
		from := 0
		if last != nil {
			from = common(last, row, k.d)
		}
		last = row
		k.walk(s, row, from)
		dst[i] = -(s.sum[k.d].cost + float64(s.sum[k.d].violations)*k.share)
	}
	return ctx.Err()
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

// walk follows a solution from a stage on.
func (k *kernel) walk(s *scratch, row []uint64, from int) {
	w := k.width
	for i := from; i < k.d; i++ {
		var (
			z    = s.z[i*w : (i+1)*w]
			next = s.z[(i+1)*w : (i+2)*w]
			t    = s.sum[i]
		)
		if row[i>>6]>>(i&63)&1 == 1 {
			t.violations += restore(next, z, k.table[(2*i+1)*w:(2*i+2)*w], k.limit)
			t.cost += k.cost[i]
		} else {
			t.violations += contaminate(next, z, k.table[2*i*w:(2*i+1)*w], k.limit)
		}
		s.sum[i+1] = t
	}
}
