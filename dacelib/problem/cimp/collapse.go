package cimp

import (
	"cmp"
	"math/bits"
	"slices"
)

// A set is a set of candidates, of which there are at most maxCollapse.
type set struct{ lo, hi uint64 }

const (
	// maxCollapse is the largest dimension whose worlds are collapsed.
	maxCollapse = 128
	// maxTable and maxLanes bound the work on one world: the candidates that
	// a node may depend on, and the assignments to try in all. A world beyond
	// them is left to be simulated.
	maxTable = 12
	maxLanes = 1 << 15
)

func single(i int32) set {
	if i < 64 {
		return set{lo: 1 << i}
	}
	return set{hi: 1 << (i - 64)}
}

func (s set) or(t set) set { return set{s.lo | t.lo, s.hi | t.hi} }
func (s set) size() int    { return bits.OnesCount64(s.lo) + bits.OnesCount64(s.hi) }

// members returns the elements, ascending.
func (s set) members() []int32 {
	m := make([]int32, 0, s.size())
	for w := s.lo; w != 0; w &= w - 1 {
		m = append(m, int32(bits.TrailingZeros64(w)))
	}
	for w := s.hi; w != 0; w &= w - 1 {
		m = append(m, 64+int32(bits.TrailingZeros64(w)))
	}
	return m
}

// A sum is the number of adopters beyond the seeds, over some worlds, as a
// polynomial in y = 1-x: the sum over T of term[T] where x and T are disjoint.
type sum struct {
	constant int64
	linear   [maxCollapse]int64
	term     map[set]int64 // of two and more
}

func newSum() *sum { return &sum{term: map[set]int64{}} }

func (s *sum) add(t set, c int64) {
	switch t.size() {
	case 0:
		s.constant += c
	case 1:
		if t.lo != 0 {
			s.linear[bits.TrailingZeros64(t.lo)] += c
		} else {
			s.linear[64+bits.TrailingZeros64(t.hi)] += c
		}
	default:
		if c += s.term[t]; c == 0 {
			delete(s.term, t)
		} else {
			s.term[t] = c
		}
	}
}

func (s *sum) addAll(t *sum) {
	s.constant += t.constant
	for i, c := range t.linear {
		s.linear[i] += c
	}
	for t, c := range t.term {
		s.add(t, c)
	}
}

// A collapser turns worlds into terms of a sum. Whether a node adopts the item
// depends on the candidates upstream of it alone, and these are few: their
// spreads die out soon. Where the other item has no say, the node adopts as
// soon as one of them is a seed: one term. Elsewhere all assignments are tried,
// 64 at once, and the table is turned into terms.
type collapser struct {
	sum    *sum
	lanes  lanes
	column []uint64
	item   []set // the candidates that decide about a node's adoption of the item
	other  []set // and of the other
	plain  []bool
	inside []bool // the item may come from a neighbour
	own    []set  // of a candidate: itself
	groups []group
	at     map[set]int // the group of a set
}

// A group is the nodes that depend on the same candidates.
type group struct {
	set     set
	members []int32
	nodes   []int32
	table   []int32 // adopters by assignment
}

func newCollapser(d int) *collapser {
	return &collapser{sum: newSum(), column: make([]uint64, d), at: map[set]int{}}
}

// add adds the adopters of a world to the sum, or reports that it is beyond
// the bounds and adds nothing.
func (c *collapser) add(w *world) bool {
	c.depend(w)
	c.groups = c.groups[:0]
	clear(c.at)
	for v, class := range w.class {
		if class&canItem == 0 || c.plain[v] || c.item[v] == c.own[v] {
			continue
		}
		at, ok := c.at[c.item[v]]
		if !ok {
			at = len(c.groups)
			c.at[c.item[v]] = at
			c.groups = append(c.groups, group{set: c.item[v]})
		}
		c.groups[at].nodes = append(c.groups[at].nodes, int32(v))
	}
	work := 0
	for _, g := range c.groups {
		if g.set.size() > maxTable {
			return false
		}
		work += 1 << g.set.size()
	}
	if work > maxLanes {
		return false
	}
	for v, class := range w.class {
		own := c.own[v]
		if class&canItem == 0 || c.item[v] == own {
			continue // not reached, or a seed or nothing: seeds are counted apart
		}
		if c.plain[v] { // 1 - [x and S are disjoint]
			c.sum.add(set{}, 1)
			c.sum.add(c.item[v], -1)
		}
		if own != (set{}) { // less itself as a seed
			c.sum.add(set{}, -1)
			c.sum.add(own, 1)
		}
	}
	if len(c.groups) > 0 {
		c.tabulate(w)
		for i := range c.groups {
			c.groups[i].addTo(c.sum)
		}
	}
	return true
}

// depend finds which candidates decide about which nodes: those upstream by
// edges of the item, and of the other where it has a say.
func (c *collapser) depend(w *world) {
	n := len(w.class)
	c.item, c.other, c.own = zeroed(c.item, n), zeroed(c.other, n), zeroed(c.own, n)
	c.plain, c.inside = zeroed(c.plain, n), zeroed(c.inside, n)
	for _, v := range w.head {
		c.inside[v] = receivesItem(w.class[v])
	}
	for v, class := range w.class {
		c.plain[v] = itemFree(class)
	}
	for _, k := range w.cands {
		c.own[k.node] = single(k.index)
		c.item[k.node] = c.own[k.node]
		if !c.inside[k.node] {
			c.plain[k.node] = true // a seed or nothing
		}
	}
	for changed := true; changed; {
		changed = false
		grow := func(s *set, t set) {
			if t = s.or(t); t != *s {
				*s, changed = t, true
			}
		}
		for v, class := range w.class {
			if receivesItem(class) && !itemFree(class) {
				grow(&c.item[v], c.other[v])
			}
			if class&canOther != 0 && !otherFree(class) && class&otherSeed == 0 {
				grow(&c.other[v], c.item[v])
			}
			for _, t := range w.out(v) {
				if carriesItem(class, w.class[t]) {
					grow(&c.item[t], c.item[v])
					if !c.plain[v] && c.plain[t] {
						c.plain[t], changed = false, true
					}
				}
				if carriesOther(class, w.class[t]) {
					grow(&c.other[t], c.other[v])
				}
			}
		}
	}
}

// itemFree and otherFree report whether a node adopts an item as soon as it is
// informed, whatever it thinks of the other one.
func itemFree(c uint8) bool {
	return c&(itemAlone|itemWith) == itemAlone|itemWith || c&canOther == 0
}
func otherFree(c uint8) bool {
	return c&(otherAlone|otherWith) == otherAlone|otherWith || c&canItem == 0
}

func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// tabulate fills the tables of the groups: every assignment of each in a lane
// of its own.
func (c *collapser) tabulate(w *world) {
	type lane struct{ group, assignment int32 }
	var (
		in [64]lane
		n  int
	)
	flush := func() {
		c.lanes.run(w, c.column, nil)
		for i, l := range in[:n] {
			g := &c.groups[l.group]
			for _, v := range g.nodes {
				g.table[l.assignment] += int32(c.lanes.state[v].item >> i & 1)
			}
		}
		clear(c.column)
		n = 0
	}
	for k := range c.groups {
		g := &c.groups[k]
		g.members = g.set.members()
		g.table = make([]int32, 1<<len(g.members))
		for a := int32(1); int(a) < len(g.table); a++ {
			in[n] = lane{int32(k), a}
			for i, m := range g.members {
				c.column[m] |= uint64(a>>i&1) << n
			}
			if n++; n == 64 {
				flush()
			}
		}
	}
	if n > 0 {
		flush()
	}
}

// addTo adds the table, which is by x, as terms in y = 1-x: its Moebius
// transform.
func (g *group) addTo(s *sum) {
	t := g.table
	slices.Reverse(t) // now by y
	for bit := 1; bit < len(t); bit <<= 1 {
		for y := range t {
			if y&bit != 0 {
				t[y] -= t[y^bit]
			}
		}
	}
	for y, c := range t {
		if c == 0 {
			continue
		}
		var in set
		for i, m := range g.members {
			if y>>i&1 != 0 {
				in = in.or(single(m))
			}
		}
		s.add(in, int64(c))
	}
}

// A form is a sum made ready for evaluation.
type form struct {
	// linear holds the constant and linear part for each byte of x; the
	// constant is in that of the first.
	linear [][256]int64
	terms  []term
	digits []digit
}

type term struct {
	in set
	c  int64
}

// A digit is the terms whose coefficient has one binary digit: weight is a
// power of two, negative for negative coefficients.
type digit struct {
	weight int64
	pairs  [][2]int32
	more   [][]int32
}

func newForm(s *sum, d int) *form {
	f := &form{linear: make([][256]int64, (d+7)/8)}
	for b := range f.linear {
		for v := range 256 {
			for k := range 8 {
				if i := b*8 + k; i < d && v>>k&1 == 0 {
					f.linear[b][v] += s.linear[i]
				}
			}
			if b == 0 {
				f.linear[b][v] += s.constant
			}
		}
	}
	for in, c := range s.term {
		f.terms = append(f.terms, term{in, c})
	}
	slices.SortFunc(f.terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(a.in.hi, b.in.hi), cmp.Compare(a.in.lo, b.in.lo))
	})
	if len(f.terms) < minSliced {
		return f
	}
	at := map[int64]int{}
	for _, t := range f.terms {
		sign, c := int64(1), t.c
		if c < 0 {
			sign, c = -1, -c
		}
		members := t.in.members()
		for ; c != 0; c &= c - 1 {
			weight := sign * (c & -c)
			k, ok := at[weight]
			if !ok {
				k = len(f.digits)
				at[weight] = k
				f.digits = append(f.digits, digit{weight: weight})
			}
			if g := &f.digits[k]; len(members) == 2 {
				g.pairs = append(g.pairs, [2]int32{members[0], members[1]})
			} else {
				g.more = append(g.more, members)
			}
		}
	}
	return f
}

// minSliced is the number of terms from which evaluating 64 solutions at once
// is faster than one by one.
const minSliced = 60

// linearAt returns the constant and linear part at x.
func (f *form) linearAt(x set) int64 {
	v := int64(0)
	w := x.lo
	for b := range f.linear {
		if b == 8 {
			w = x.hi
		}
		v += f.linear[b][uint8(w)]
		w >>= 8
	}
	return v
}

// at returns the sum at x.
func (f *form) at(x set) int64 {
	v := f.linearAt(x)
	for i := range f.terms {
		t := &f.terms[i]
		hit := t.in.lo&x.lo | t.in.hi&x.hi
		v += t.c & (int64((hit|-hit)>>63) - 1) // all ones where hit is 0
	}
	return v
}

// slice adds the terms of two and more to sums[i] for solution i of up to 64,
// whose bits are given by candidate: bit i of y[j] is set where x_j is 0.
func (f *form) slice(sums []int64, y []uint64) {
	var n counter
	for k := range f.digits {
		g := &f.digits[k]
		pairs := g.pairs
		for ; len(pairs) >= 8; pairs = pairs[8:] {
			for i, p := range pairs[:8] {
				n.wait[i] = y[p[0]] & y[p[1]]
			}
			n.add8()
		}
		for _, p := range pairs {
			n.add(y[p[0]] & y[p[1]])
		}
		for _, members := range g.more {
			all := y[members[0]]
			for _, m := range members[1:] {
				all &= y[m]
			}
			n.add(all)
		}
		n.addTo(sums, g.weight)
	}
}
