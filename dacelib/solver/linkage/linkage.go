// Package linkage is the parameter-less population pyramid, P3 (Goldman, Punch:
// Parameter-less population pyramid, GECCO 2014), which learns which bits belong
// together. Each new solution climbs by single flips and then rises through the
// levels of a pyramid of populations: at each level it takes over groups of bits
// from the solutions there, if that does not lose. The groups are the linkage tree
// of the level, a hierarchical clustering of the bits by mutual information.
//
// Start with [Solver]. Its parameters:
//
//   - climb: new solutions climb first;
//   - smallest: groups are tried from the smallest to the largest, otherwise in
//     random order;
//   - memory: values of solutions seen before are looked up, not evaluated.
//
// A tree is built anew when its level has grown by an eighth; the published method
// builds it after each solution, which takes longer and changes little.
package linkage

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/internal/moves"
)

func init() { solver.Register(Solver()) }

// Solver returns P3.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "linkage" }

func (family) Space(d, evaluations int) smac.Space {
	return smac.Space{Params: []smac.Param{
		{Name: "climb", Kind: smac.Bool, Default: 1},
		{Name: "smallest", Kind: smac.Bool, Default: 1},
		{Name: "memory", Kind: smac.Bool, Default: solver.MemoryDefault(evaluations)},
	}}
}

func (f family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	return solver.Each(ctx, f, jobs, workers, func(s *solver.Search) error {
		pyramid(s)
		return nil
	})
}

// A level is a population of the pyramid.
type level struct {
	members problem.Solutions
	// ones and both count the members with a one in a bit, and in two bits i > j at
	// place i(i-1)/2 + j; all and some are the ones of all members and of any.
	ones, both []int
	all, some  []uint64
	groups     []group // of the tree, without the whole
	built      int     // members when groups were made
	primes     []prime // of the number of members
	// Working memory of build and of mix.
	shuffled, sorted []group
	distance         []float64
	masks            []uint64
}

// A group is a set of bits.
type group struct {
	mask []uint64
	size int
}

// mostMembers bounds the solutions of all levels; a run that has more begins anew.
const mostMembers = 1 << 16

func pyramid(s *solver.Search) {
	if s.Flag("memory") {
		s.Remember()
	}
	d, w, rng := s.Dim(), problem.Stride(s.Dim()), s.Rand
	climb, smallest := s.Flag("climb"), s.Flag("smallest")
	var levels []*level
	seen := map[string]bool{}
	x, y := make([]uint64, w), make([]uint64, w)
	order := rng.Perm(d)
	key := make([]byte, 0, 8*w)
	add := func(at int) {
		key = key[:0]
		for _, v := range x {
			for range 8 {
				key = append(key, byte(v))
				v >>= 8
			}
		}
		if seen[string(key)] {
			return
		}
		seen[string(key)] = true
		if at == len(levels) {
			levels = append(levels, newLevel(d))
		}
		levels[at].add(x)
	}
	for !s.Over() {
		if s.Stuck() || len(seen) >= mostMembers {
			levels = nil
			clear(seen)
		}
		problem.Randomize(rng, problem.Solutions{D: d, Words: x})
		v := s.Value(x)
		if climb {
			v = ascend(s, x, v, order)
		}
		add(0)
		for at := 0; at < len(levels) && !s.Over(); at++ {
			before := v
			v = levels[at].mix(s, x, y, v, smallest)
			if v > before {
				add(at + 1)
			}
		}
	}
}

// ascend takes the first better flips, in random order, until there is none.
func ascend(s *solver.Search, x []uint64, v float64, order []int) float64 {
	d := len(order)
	s.Rand.Shuffle(d, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for k, failed := 0, 0; failed < d && !s.Over(); k++ {
		if k == d {
			k = 0
		}
		moves.Flip(x, order[k])
		if w := s.Value(x); w > v {
			v, failed = w, 1
		} else {
			moves.Flip(x, order[k])
			failed++
		}
	}
	return v
}

func newLevel(d int) *level {
	w := problem.Stride(d)
	l := &level{members: problem.Solutions{D: d}, ones: make([]int, d), both: make([]int, d*(d-1)/2), all: make([]uint64, w), some: make([]uint64, w)}
	for i := range l.all {
		l.all[i] = ^uint64(0)
	}
	return l
}

// add adds a member.
func (l *level) add(x []uint64) {
	l.members.Words = append(l.members.Words, x...)
	for i, v := range x {
		l.all[i] &= v
		l.some[i] |= v
	}
	l.primes = primesOf(l.primes[:0], l.members.Len())
	for i := range l.ones {
		if moves.At(x, i) == 0 {
			continue
		}
		l.ones[i]++
		row := l.both[i*(i-1)/2:][:i]
		for w := 0; 64*w < i; w++ {
			v, part := x[w], row[64*w:min(64*w+64, i)]
			for j := range part {
				part[j] += int(v & 1)
				v >>= 1
			}
		}
	}
}

// mix lets x take over each group of bits from the first member, in random order,
// that differs there, unless that loses. y is scratch.
func (l *level) mix(s *solver.Search, x, y []uint64, v float64, smallest bool) float64 {
	n := l.members.Len()
	if n < 2 {
		return v
	}
	if l.groups == nil || n-l.built > l.built/8 {
		l.build(s)
	}
	groups := l.groups
	if !smallest {
		l.shuffled = append(l.shuffled[:0], groups...)
		groups = l.shuffled
		s.Rand.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	}
	for _, g := range groups {
		if s.Over() {
			break
		}
		// A random order of the donors: steps of a random length that has no
		// common divisor with n, from a random start.
		at, step := s.Rand.IntN(n), 1
		for range 10 {
			if k := 1 + s.Rand.IntN(n-1); l.coprime(k) {
				step = k
				break
			}
		}
		if !l.differs(x, g.mask) {
			continue
		}
		donor := l.members.Row(at)
		for !differ(x, donor, g.mask) {
			if at += step; at >= n {
				at -= n
			}
			donor = l.members.Row(at)
		}
		for i, m := range g.mask {
			y[i] = x[i]&^m | donor[i]&m
		}
		if w := s.Value(y); w >= v {
			copy(x, y)
			v = w
		}
	}
	return v
}

// differ reports whether two solutions differ in some bits.
func differ(x, y, mask []uint64) bool {
	for i, m := range mask {
		if (x[i]^y[i])&m != 0 {
			return true
		}
	}
	return false
}

// differs reports whether any member differs from x in some bits.
func (l *level) differs(x, mask []uint64) bool {
	for i, m := range mask {
		if (x[i]&^l.all[i]|l.some[i]&^x[i])&m != 0 {
			return true
		}
	}
	return false
}

// A prime tells which numbers it divides, without a division: those whose product
// with its inverse modulo 2^64 is at most 2^64 over it.
type prime struct{ inverse, most uint64 }

// coprime reports whether k > 0 has no common divisor with the number of members.
func (l *level) coprime(k int) bool {
	if k&1 == 0 && l.members.Len()&1 == 0 {
		return false
	}
	for _, p := range l.primes {
		if uint64(k)*p.inverse <= p.most {
			return false
		}
	}
	return true
}

// primesOf appends the odd primes that divide n > 0.
func primesOf(to []prime, n int) []prime {
	add := func(p uint64) {
		inverse := p // right in three bits; each step of Newton's doubles them
		for range 5 {
			inverse *= 2 - p*inverse
		}
		to = append(to, prime{inverse, math.MaxUint64 / p})
	}
	n >>= bits.TrailingZeros(uint(n))
	for p := 3; p*p <= n; p += 2 {
		if n%p == 0 {
			add(uint64(p))
		}
		for n%p == 0 {
			n /= p
		}
	}
	if n > 1 {
		add(uint64(n))
	}
	return to
}

// build makes the groups: the nodes of the tree that average linkage makes of the
// bits, small ones first, in random order among equals. Pairs of bits that are
// always the same in the level are one group: the parts of a node whose distance is
// zero are left out.
func (l *level) build(s *solver.Search) {
	d, n := len(l.ones), l.members.Len()
	l.built = n
	w := problem.Stride(d)
	if l.distance == nil {
		l.distance, l.masks = make([]float64, d*d), make([]uint64, (2*d-1)*w)
	}
	l.measure()
	// A tree has 2d-1 nodes. The groups of a node are a list: its first and last
	// node, and each node's next, -1 for none.
	clear(l.masks)
	masks := l.masks
	take := func() (mask []uint64) {
		mask, masks = masks[:w:w], masks[w:]
		return mask
	}
	nodes, next := make([]group, d, 2*d-1), make([]int, d, 2*d-1)
	cluster, first, last := make([]int, d), make([]int, d), make([]int, d)
	for i := range nodes {
		nodes[i], next[i] = group{take(), 1}, -1
		moves.Flip(nodes[i].mask, i)
		cluster[i], first[i], last[i] = i, i, i
	}
	active := s.Rand.Perm(d) // ties are broken at random
	// Nearest-neighbour chains find the same tree in d^2 steps.
	var chain []int
	for len(active) > 1 {
		if len(chain) == 0 {
			chain = append(chain, active[0])
		}
		for {
			a := chain[len(chain)-1]
			row := l.distance[a*d:][:d]
			before, best, far := -1, -1, math.Inf(1)
			if len(chain) > 1 {
				before = chain[len(chain)-2]
				best, far = before, row[before]
			}
			for _, b := range active {
				if row[b] < far && b != a {
					best, far = b, row[b]
				}
			}
			if best == before {
				break
			}
			chain = append(chain, best)
		}
		a, b := chain[len(chain)-1], chain[len(chain)-2]
		chain = chain[:len(chain)-2]
		x, y := nodes[cluster[a]], nodes[cluster[b]]
		switch rowA := l.distance[a*d:]; {
		case rowA[b] == 0:
			first[a] = -1 // its parts always go together
		case first[a] < 0:
			first[a], last[a] = first[b], last[b]
		case first[b] >= 0:
			next[last[a]], last[a] = first[b], last[b]
		}
		l.join(active, a, b, x.size, y.size)
		whole := group{take(), x.size + y.size}
		for i := range whole.mask {
			whole.mask[i] = x.mask[i] | y.mask[i]
		}
		if len(active) > 2 { // not the whole
			if first[a] < 0 {
				first[a] = len(nodes)
			} else {
				next[last[a]] = len(nodes)
			}
			last[a] = len(nodes)
		}
		cluster[a] = len(nodes)
		nodes, next = append(nodes, whole), append(next, -1)
		at := slices.Index(active, b)
		active = slices.Delete(active, at, at+1)
	}
	l.sorted = l.sorted[:0]
	for at := first[active[0]]; at >= 0; at = next[at] {
		l.sorted = append(l.sorted, nodes[at])
	}
	s.Rand.Shuffle(len(l.sorted), func(i, j int) { l.sorted[i], l.sorted[j] = l.sorted[j], l.sorted[i] })
	l.sort(d)
}

// measure sets the distances of the bits: one minus their mutual information as a
// share of their common entropy.
func (l *level) measure() {
	d, n := len(l.ones), l.members.Len()
	part := make([]float64, n+1) // -p log p, never negative
	for c := 1; c <= n; c++ {
		p := float64(c) / float64(n)
		part[c] = -p * math.Log(p)
	}
	single := make([]float64, d)
	for i, c := range l.ones {
		single[i] = part[c] + part[n-c]
	}
	for i := range d {
		ones := l.ones[i]
		for j, c := range l.both[i*(i-1)/2:][:i] {
			common := part[c] + part[ones-c] + part[l.ones[j]-c] + part[n-ones-l.ones[j]+c]
			far := 0.0
			if common > 0 {
				far = 2 - (single[i]+single[j])/common
			}
			if far < 1e-12 {
				far = 0
			}
			l.distance[i*d+j], l.distance[j*d+i] = far, far
		}
	}
}

// join sets the distances of cluster a to those of its union with b, the means over
// their pairs of bits; na and nb are their sizes.
func (l *level) join(active []int, a, b, na, nb int) {
	d := len(l.ones)
	rowA, rowB := l.distance[a*d:][:d], l.distance[b*d:][:d]
	u, v := float64(na), float64(nb)
	for _, c := range active {
		if c != a && c != b {
			rowA[c] = (u*rowA[c] + v*rowB[c]) / (u + v)
			l.distance[c*d+a] = rowA[c]
		}
	}
}

// sort sets the groups to the sorted ones by size, equals in their order.
func (l *level) sort(d int) {
	l.groups = slices.Grow(l.groups[:0], len(l.sorted))[:len(l.sorted)]
	at := make([]int, d+1) // where the next group of a size goes
	for _, g := range l.sorted {
		at[g.size]++
	}
	sum := 0
	for i, n := range at {
		at[i] = sum
		sum += n
	}
	for _, g := range l.sorted {
		l.groups[at[g.size]] = g
		at[g.size]++
	}
}
