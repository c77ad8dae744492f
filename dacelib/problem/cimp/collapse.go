package cimp

import (
	"cmp"
	"math/bits"
	"slices"
)

// A set is a set of candidates, numbered below maxCollapse.
type set struct{ lo, hi uint64 }

const (
	// maxCollapse is the largest dimension whose worlds are collapsed.
	maxCollapse = 128
	// maxTable is the largest number of candidates that may decide about one
	// node, maxLanes the largest number of assignments to candidates that are
	// tried in one world. A world that exceeds either is simulated instead.
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

// A sum is a polynomial in y = 1-x whose value is the number of adopters that
// are not seeds, summed over some worlds. A set T of candidates stands for the
// product of their y, which is 1 where x selects none of them, else 0; the
// polynomial is the sum of these products, each times its coefficient.
type sum struct {
	constant int64              // the coefficient of the empty set
	linear   [maxCollapse]int64 // of the sets of one candidate
	term     map[set]int64      // of the larger sets
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
// depends only on the candidates upstream of it, which are few, as spreads die
// out after some steps. Where the other item has no influence, the node adopts
// as soon as one of those candidates is a seed, which is one term. Where it has
// influence, the collapser simulates every assignment to those candidates, 64 at
// a time, and converts the resulting table into terms.
type collapser struct {
	sum    *sum
	lanes  lanes
	column []uint64
	item   []set  // per node: the candidates that decide whether it adopts the item
	other  []set  // per node: the candidates that decide whether it adopts the other item
	plain  []bool // per node: it adopts the item as soon as one of the candidates in item is a seed
	inside []bool // per node: it can be informed of the item by a neighbour
	own    []set  // per node: itself if it is a candidate, else empty
	groups []group
	at     map[set]int // from a set of candidates to the index of its group
}

// A group is the nodes that depend on the same candidates.
type group struct {
	set     set     // the candidates
	members []int32 // the members of set, ascending
	nodes   []int32
	table   []int32 // by assignment to members (bit i for member i): the number of nodes that adopt
}

func newCollapser(d int) *collapser {
	return &collapser{sum: newSum(), column: make([]uint64, d), at: map[set]int{}}
}

// add adds the adopters of a world to the sum and returns true. It adds nothing
// and returns false if the world exceeds maxTable or maxLanes.
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
			continue // it cannot adopt, or only as a seed, and seeds are counted elsewhere
		}
		if c.plain[v] { // adopts unless x selects none of the set: 1 minus the product
			c.sum.add(set{}, 1)
			c.sum.add(c.item[v], -1)
		}
		if own != (set{}) { // leave out the case in which the node itself is a seed
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

// depend finds the candidates that decide about each node: those upstream of it
// along edges that carry the item and, where the items interact, along edges that
// carry the other one. The sets grow along the edges until none changes.
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
			c.plain[k.node] = true // it adopts as a seed or not at all
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

// itemFree and otherFree report whether a node's adoption of one item does not
// depend on the other item: it adopts as soon as it is informed, or can never
// adopt the other item.
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

// tabulate fills the tables of the groups by simulation: each assignment of each
// group takes one of 64 lanes, and a full set of lanes is simulated at once.
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

// addTo adds the table to a sum. The table is indexed by x; the coefficients of
// the polynomial in y = 1-x are its Moebius transform.
func (g *group) addTo(s *sum) {
	t := g.table
	slices.Reverse(t) // x and y are complements: now the table is indexed by y
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

// A form is a sum stored for fast evaluation.
type form struct {
	// linear holds, for each byte of x and each value of this byte, its
	// contribution to the linear part; the entry of the first byte includes the
	// constant.
	linear [][256]int64
	terms  []term
	digits []digit
}

type term struct {
	in set
	c  int64
}

// A digit lists the terms whose coefficient has a certain binary digit, of
// value weight: a power of two, or minus a power of two for negative
// coefficients. To evaluate it, the terms that are 1 are counted, and the count
// is multiplied by weight.
type digit struct {
	weight int64
	pairs  [][2]int32 // the terms of two candidates
	more   [][]int32  // the terms of more candidates
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

// minSliced is the number of terms above which evaluating 64 solutions at once
// is faster than one by one.
const minSliced = 60

// linearAt returns the constant plus the linear part at x.
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

// at returns the value of the sum at x.
func (f *form) at(x set) int64 {
	v := f.linearAt(x)
	for i := range f.terms {
		t := &f.terms[i]
		hit := t.in.lo&x.lo | t.in.hi&x.hi
		v += t.c & (int64((hit|-hit)>>63) - 1) // all ones where hit is 0
	}
	return v
}

// slice adds the terms of two and more candidates to sums[i], for up to 64
// solutions i at once. The solutions are given transposed: bit i of y[j] is set
// if candidate j is not selected in solution i.
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
