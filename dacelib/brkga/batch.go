package brkga

import (
	"context"
	"math/bits"
	"sync"

	"dace.local/dacelib/problem"
)

// A batch is the memory in which the solutions of searches on one problem are
// evaluated together.
type batch struct {
	p      problem.Problem
	x      problem.Solutions
	values []float64
	known  *known  // nil unless values are looked up
	at     []int32 // for each solution that is asked for, its place among the known
}

// newBatch returns a batch for searches on p, which evaluate at most n
// solutions in all.
func newBatch(p problem.Problem, n int) *batch {
	b := &batch{p: p, x: problem.Solutions{D: p.Dim()}}
	if costly(p) {
		b.known = knowns.Get().(*known)
		b.known.reset(problem.Stride(b.x.D), n)
	}
	return b
}

// costly reports whether values of p are to be looked up.
func costly(p problem.Problem) bool {
	c, ok := p.(problem.Costly)
	return ok && c.Costly()
}

// release gives memory back. The batch must not be used any more.
func (b *batch) release() {
	if b.known != nil {
		knowns.Put(b.known)
		b.known = nil
	}
}

// evaluate evaluates what searches ask for.
func (b *batch) evaluate(ctx context.Context, searches []*search) error {
	if b.known != nil && !b.onlyOnce(searches) {
		return b.evaluateNew(ctx, searches)
	}
	b.x.Words = b.x.Words[:0]
	for _, s := range searches {
		if !s.done {
			_, asked := s.asked()
			b.x.Words = append(b.x.Words, asked.Words...)
		}
	}
	n := b.x.Len()
	if n == 0 {
		return ctx.Err()
	}
	if cap(b.values) < n {
		b.values = make([]float64, n+n/4)
	}
	b.values = b.values[:n]
	if err := b.p.Evaluate(ctx, b.values, b.x); err != nil {
		return err
	}
	at := 0
	for _, s := range searches {
		if !s.done {
			dst, _ := s.asked()
			at += copy(dst, b.values[at:])
		}
	}
	return nil
}

// onlyOnce reports whether the first generation of a single search spends its
// budget and has distinct solutions, so that no value would ever be looked up.
func (b *batch) onlyOnce(searches []*search) bool {
	s := searches[0]
	return len(searches) == 1 && s.settings.InitialKeys == BooleanKeys && s.generations == 0 && s.wait >= s.settings.Evaluations
}

// evaluateNew is evaluate for solutions whose values are looked up: only those
// that are not known are evaluated.
func (b *batch) evaluateNew(ctx context.Context, searches []*search) error {
	k := b.known
	k.shrink()
	first := len(k.values)
	b.at = b.at[:0]
	for _, s := range searches {
		if s.done {
			continue
		}
		for _, asked := s.asked(); len(asked.Words) > 0; asked.Words = asked.Words[k.w:] {
			b.at = append(b.at, k.find(asked.Words[:k.w]))
		}
	}
	if first == len(k.values) {
		if err := ctx.Err(); err != nil {
			return err
		}
	} else {
		b.x.Words = k.words[first*k.w:]
		if err := b.p.Evaluate(ctx, k.values[first:], b.x); err != nil {
			return err // ends the searches: the values of the new ones are not read
		}
	}
	at := b.at
	for _, s := range searches {
		if s.done {
			continue
		}
		dst, _ := s.asked()
		for i := range dst {
			dst[i] = k.values[at[i]]
		}
		at = at[len(dst):]
	}
	return nil
}

// A known is a hash table of solutions and their values, with open addressing,
// at most half full.
type known struct {
	w      int      // words of a solution
	words  []uint64 // of the solutions, in the order in which they came
	values []float64
	slots  []int32 // place + 1; 0 if free
	shift  int
}

// knowns holds tables of searches that have ended.
var knowns = sync.Pool{New: func() any { return new(known) }}

// mostKnown is the number of solutions at which a table begins anew: 16 MB for
// solutions of one word.
const mostKnown = 1 << 19

// reset empties the table and makes room for n solutions of w words.
func (k *known) reset(w, n int) {
	k.w, k.words, k.values = w, k.words[:0], k.values[:0]
	k.resize(bits.Len(uint(min(n, mostKnown))) + 1)
}

// shrink empties the table if it has become too large.
func (k *known) shrink() {
	if len(k.values)*k.w > mostKnown {
		k.reset(k.w, len(k.values))
	}
}

// resize makes 2^log slots and fills them.
func (k *known) resize(log int) {
	log = max(log, 4)
	k.slots, k.shift = resized(k.slots, 1<<log), 64-log
	clear(k.slots)
	for i := range k.values {
		at := k.slot(k.words[i*k.w:][:k.w])
		k.slots[at] = int32(i + 1)
	}
}

// find returns the place of a solution, which it adds, with no value, unless it
// is there.
func (k *known) find(row []uint64) int32 {
	at := k.slot(row)
	if i := k.slots[at]; i > 0 {
		return i - 1
	}
	k.words = append(k.words, row...)
	k.values = append(k.values, 0)
	n := len(k.values)
	k.slots[at] = int32(n)
	if 2*n > len(k.slots) {
		k.resize(65 - k.shift)
	}
	return int32(n - 1)
}

// slot returns the slot of a solution or, if it is not in the table, the free
// one where it belongs.
func (k *known) slot(row []uint64) uint64 {
	h := uint64(0)
	for _, v := range row {
		h = (bits.RotateLeft64(h, 29) ^ v) * 0x9e3779b97f4a7c15
	}
	at := h >> k.shift
next:
	for ; k.slots[at] != 0; at = (at + 1) & uint64(len(k.slots)-1) {
		for j, v := range k.words[(int(k.slots[at])-1)*k.w:][:k.w] {
			if v != row[j] {
				continue next
			}
		}
		return at
	}
	return at
}
