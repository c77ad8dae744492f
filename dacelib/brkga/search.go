package brkga

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A search is the state of a run between two evaluations.
//
// Random keys matter in two ways only: a bit is key > 0.5, and two keys are
// either equal or not. Boolean keys are equal if their bits are; the key of a
// mutant differs from all other draws. So a key is represented exactly by its
// bit and a number: 0 for a boolean key, m for a gene of the m-th uniform
// individual. The numbers of an individual's genes are stored as bit planes, so
// inheriting 64 genes by a mask takes three word operations per plane. If d is
// at most 32, several planes share a word.
type search struct {
	p        problem.Problem
	settings Settings
	d, w     int // genes; words of a plane
	planes   int
	shared   int    // planes in a word; 1 if d is above 32
	size     int    // words of an individual's numbers
	copies   uint64 // bit k d is set for each plane k of a word
	rng      *rand.Rand

	*buffers
	elites int    // the first elites entries of order are the elites
	last   uint64 // mask of the bits in use in a row's last word

	uniforms    uint64 // number of individuals with uniform keys so far
	used        int    // words of an individual's numbers that can differ from 0
	first       int    // the individuals of next from here on wait for their values
	wait        int    // the number of individuals that wait
	given       int    // of these, the first ones have their values already
	evaluations int
	generations int
	done        bool

	best  float64
	final *problem.Final // nil: none
}

// buffers are the memory of a search, which later searches use again.
type buffers struct {
	cur, next population
	order     []int32 // the individuals of cur, best first, without duplicates
	ranks     []rank  // scratch of survive
	merged    []rank
	rest      []int32
	seen      table  // keys during mating, duplicates during survive
	mates     []mate // scratch of mating
	stream    []uint64
	masks     []uint64
	number    []uint64 // the numbers of the latest uniform individual
	genes     []int    // scratch of exhausted
	mask      []uint64
	odd       []uint64 // multipliers of the hash: number i depends on i only
	bestRow   []uint64
	history   []Point
}

// spare holds the buffers of searches that have ended. The garbage collector
// frees those that nobody takes.
var spare = sync.Pool{New: func() any { return new(buffers) }}

// release gives the buffers back. The search must not be used any more.
func (s *search) release() {
	spare.Put(s.buffers)
	s.buffers = nil
}

// resized returns a slice of n elements in the memory of s, if it is large
// enough. Their values are undefined.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// A population holds the individuals 0 to n-1.
type population struct {
	n     int
	bits  []uint64 // decoded: w words each
	ids   []uint64 // numbers: size words each, plane by plane
	hash  []uint64 // of the keys
	value []float64
}

// reset empties the population and makes room for size individuals, whose
// numbers are 0.
func (p *population) reset(size, w, ids int) {
	p.n = 0
	p.bits = resized(p.bits, size*w)
	p.ids = resized(p.ids, size*ids)
	clear(p.ids)
	p.hash = resized(p.hash, size)
	p.value = resized(p.value, size)
}

type rank struct {
	key uint64 // the value, descending
	i   int32
}

type mate struct{ elite, other int32 }

// newSearch returns a run that waits for the values of its first generation.
func newSearch(p problem.Problem, s Settings) *search {
	return newSearchIn(p, s, spare.Get().(*buffers))
}

// newSearchIn is newSearch in given buffers.
func newSearchIn(p problem.Problem, s Settings, b *buffers) *search {
	c, d := s.Config, p.Dim()
	size := c.Elites + c.Offspring + c.Mutants
	planes := bits.Len(uint(s.Evaluations + size)) // every individual may be uniform
	switch {
	case size >= s.Evaluations && s.FinishGeneration:
		planes = 0 // there is no mating
	case size >= s.Evaluations:
		size, planes = s.Evaluations, 0
	}
	sr := &search{
		p: p, settings: s, d: d, w: problem.Stride(d), planes: planes, shared: max(1, 64/d),
		buffers: b,
		best:    math.Inf(-1),
		final:   problem.NewFinal(p),
		last:    ^uint64(0) >> (-d & 63),
	}
	sr.size = (planes + sr.shared - 1) / sr.shared * sr.w
	for k := range sr.shared {
		sr.copies |= 1 << (k * d)
	}
	sr.rng = run.Rand(s.Seed, "brkga")
	for i := len(sr.odd); i < sr.w+sr.size; i++ {
		sr.odd = append(sr.odd, run.Seed(0, "hash", i)|1)
	}
	sr.mask, sr.bestRow, sr.number = resized(sr.mask, sr.w), resized(sr.bestRow, sr.w), resized(sr.number, sr.size)
	clear(sr.number)
	sr.order, sr.history = sr.order[:0], sr.history[:0]
	sr.next.reset(size, sr.w, sr.size)
	sr.cur.n = 0
	sr.initialise()
	// Breeding uses a random stream that depends on the configuration. A row
	// takes one random number per 64 genes, so with a common stream the mutants
	// of one configuration would be the initial individuals of another with the
	// same seed, and the members of a portfolio would evaluate the same
	// solutions.
	sr.rng = run.Rand(s.Seed, "brkga: breeding", c.Elites, c.Offspring, c.Mutants, int(math.Float64bits(c.Bias)))
	return sr
}

// initialise draws the first generation. Individuals with equal keys are kept
// once, as in pymoo; this matters only if 2^d is small.
func (s *search) initialise() {
	c, n := s.settings.Config, &s.next
	size := c.Elites + c.Offspring + c.Mutants
	limit := s.limit(size)
	s.seen.reset(limit)
	for _, x := range s.settings.Start {
		if n.n == limit {
			break
		}
		copy(n.bits[n.n*s.w:], problem.Pack(x).Words)
		n.hash[n.n] = s.hashOf(n, n.n)
		if s.addKeys(n, n.n) {
			n.n++
		}
	}
	for range size {
		if n.n == limit {
			break
		}
		if s.settings.InitialKeys == UniformKeys {
			s.addUniform()
			continue
		}
		row := n.bits[n.n*s.w : (n.n+1)*s.w]
		s.randomRow(row)
		n.hash[n.n] = s.hashOf(n, n.n)
		if s.addKeys(n, n.n) {
			n.n++
		}
	}
	s.first, s.wait = 0, n.n
}

// limit returns how many of n new individuals the budget allows to evaluate.
func (s *search) limit(n int) int {
	if s.settings.FinishGeneration {
		return n
	}
	return min(n, s.settings.Evaluations-s.evaluations)
}

// pending returns the solutions that wait for their values.
func (s *search) pending() problem.Solutions {
	return problem.Solutions{D: s.d, Words: s.next.bits[s.first*s.w : (s.first+s.wait)*s.w]}
}

// values returns the slice that receives the values of the pending solutions.
func (s *search) values() []float64 { return s.next.value[s.first : s.first+s.wait] }

// asked returns the pending solutions whose values are not known, and the slice
// that receives them.
func (s *search) asked() (dst []float64, x problem.Solutions) {
	return s.values()[s.given:], s.pending().Slice(s.given, s.wait)
}

// advance processes the values of the pending solutions and breeds the next
// generation.
func (s *search) advance() error {
	if err := s.checkValues(); err != nil {
		return err
	}
	s.given = 0
	for i, v := range s.values() {
		if v > s.best || s.evaluations+i == 0 {
			s.best = v
			copy(s.bestRow, s.next.bits[(s.first+i)*s.w:])
			s.history = append(s.history, Point{Evaluations: s.evaluations + i + 1, Best: v})
		}
	}
	if s.final != nil {
		for i, v := range s.values() {
			s.final.Add(s.pending().Row(i), v)
		}
	}
	s.evaluations += s.wait
	s.generations++
	if f := s.settings.OnEvent; f != nil {
		f(run.Event{Stage: "brkga", Step: s.evaluations, Total: s.settings.Evaluations, Value: slices.Max(s.values()), Best: s.best})
	}
	if s.evaluations >= s.settings.Evaluations || s.reached() {
		s.done = true
		return nil
	}
	s.cur, s.next = s.next, s.cur
	if s.generations == 1 {
		s.next.reset(len(s.cur.value), s.w, s.size)
	}
	s.survive()
	s.breed()
	return nil
}

// survive drops duplicates, if they are eliminated, and finds the elites: the
// first individuals in a stable sort of [elites | offspring | mutants]. The old
// elites come first and are sorted already, so only individuals that may
// displace one are sorted with them; the order of the others does not matter.
func (s *search) survive() {
	p, old := &s.cur, s.first
	want := s.settings.Config.Elites
	drop := s.settings.Config.Duplicates
	if drop {
		s.seen.reset(p.n)
		for i := range old {
			s.known(i)
		}
	}
	s.ranks, s.rest = resized(s.ranks, p.n-old), resized(s.rest, p.n-old)
	better, rest := 0, 0
	worst := uint64(math.MaxUint64)
	if old == want {
		worst = descending(p.value[old-1])
	}
	for i := old; i < p.n; i++ {
		if drop && s.known(i) {
			continue
		}
		// Both are written, because a branch would often be mispredicted.
		key := descending(p.value[i])
		s.ranks[better], s.rest[rest] = rank{key, int32(i)}, int32(i)
		_, less := bits.Sub64(key, worst, 0)
		better += int(less)
		rest += 1 - int(less)
	}
	s.ranks, s.rest = s.ranks[:better], s.rest[:rest]
	s.merged = resized(s.merged, len(s.ranks))
	sortRanks(s.ranks, s.merged)
	s.order = s.order[:0]
	for i, k := 0, 0; i < old || k < len(s.ranks); {
		if k == len(s.ranks) || i < old && p.value[i] >= p.value[s.ranks[k].i] {
			s.order = append(s.order, int32(i))
			i++
		} else {
			s.order = append(s.order, s.ranks[k].i)
			k++
		}
	}
	s.order = append(s.order, s.rest...)
	s.elites = min(want, len(s.order))
}

// sortRanks sorts ranks by key and leaves equal ones in their order. Scratch is
// as long as ranks.
func sortRanks(ranks, scratch []rank) {
	const block = 8
	for from := 0; from < len(ranks); from += block {
		b := ranks[from:min(from+block, len(ranks))]
		for i := 1; i < len(b); i++ {
			r, k := b[i], i
			for ; k > 0 && b[k-1].key > r.key; k-- {
				b[k] = b[k-1]
			}
			b[k] = r
		}
	}
	from, to := ranks, scratch
	for size := block; size < len(ranks); size *= 2 {
		for a := 0; a < len(ranks); a += 2 * size {
			mid, end := min(a+size, len(ranks)), min(a+2*size, len(ranks))
			merge(to[a:end], from[a:mid], from[mid:end])
		}
		from, to = to, from
	}
	if len(ranks) > 0 && &from[0] != &ranks[0] {
		copy(ranks, from)
	}
}

// merge merges the sorted x and y, x's first among equals, to dst, which is as
// long as both.
func merge(dst, x, y []rank) {
	i, j := 0, 0
	for k := range dst {
		if j == len(y) || i < len(x) && x[i].key <= y[j].key {
			dst[k] = x[i]
			i++
		} else {
			dst[k] = y[j]
			j++
		}
	}
}

// descending maps values to numbers in the opposite order; -0 and 0 map to the
// same number.
func descending(v float64) uint64 {
	b := math.Float64bits(v + 0)
	if b>>63 == 0 {
		b ^= 1<<63 - 1
	}
	return b
}

// breed fills next with [elites | offspring | mutants].
func (s *search) breed() {
	c, n := s.settings.Config, &s.next
	n.n = 0
	for _, i := range s.order[:s.elites] {
		s.copyTo(n.n, int(i))
		n.n++
	}
	s.first = n.n
	limit := n.n + s.limit(c.Offspring+c.Mutants)
	s.mating(min(limit, n.n+c.Offspring))
	for range c.Mutants {
		if n.n == limit {
			break
		}
		s.addUniform()
	}
	s.wait = n.n - s.first
}

// copyTo makes individual k of next a copy of individual i of cur.
func (s *search) copyTo(k, i int) {
	w, m := s.w, s.size
	copy(s.next.bits[k*w:(k+1)*w], s.cur.bits[i*w:])
	copy(s.next.ids[k*m:][:s.used], s.cur.ids[i*m:])
	s.next.hash[k] = s.cur.hash[i]
	s.next.value[k] = s.cur.value[i]
}

// addUniform appends an individual of uniform keys to next.
func (s *search) addUniform() {
	n := &s.next
	s.uniforms++
	planes := min(bits.Len64(s.uniforms), s.planes)
	s.used = (planes + s.shared - 1) / s.shared * s.w
	// The next number differs in the planes up to its lowest 1.
	for k := range min(bits.TrailingZeros64(s.uniforms)+1, planes) {
		at := k / s.shared * s.w
		for j := range s.w - 1 {
			s.number[at+j] ^= ^uint64(0)
		}
		s.number[at+s.w-1] ^= s.last << (k % s.shared * s.d)
	}
	s.randomRow(n.bits[n.n*s.w : (n.n+1)*s.w])
	copy(n.ids[n.n*s.size:][:s.used], s.number)
	n.hash[n.n] = s.hashOf(n, n.n)
	n.n++
}

func (s *search) randomRow(row []uint64) {
	problem.Randomize(s.rng, problem.Solutions{D: s.d, Words: row})
}
