package cimp

import (
	"math"
	"slices"

	"dace.local/dacelib/run"
)

// These bits are the class of a node in a world: what its two thresholds allow,
// and what could happen to it. "Alone" is the case that the node has not
// adopted the other item, "with" the case that it has.
const (
	itemAlone uint8 = 1 << iota
	itemWith
	otherAlone
	otherWith
	canItem   // some solution may make it adopt the item, or it is a candidate
	canOther  // it may adopt the other item
	otherSeed // it has the other item from the start
)

// An outcome is the random part of one world: which edges are live, and which
// adoptions a node's thresholds allow.
type outcome interface {
	// live appends to to the nodes that u's live edges lead to.
	live(u int32, to []int32) []int32
	// class returns the four class bits that v's thresholds determine.
	class(v int32) uint8
}

// A chance is an outcome drawn on demand, by hashing. So a world is the same in
// whatever order it is explored, and only edges that are reached cost time.
type chance struct {
	g            *Graph
	edges, nodes uint64    // keys
	below        [4]uint64 // the adoption probabilities, times 2^32
}

func newChance(g *Graph, gaps GAPs, seed uint64, world int) *chance {
	c := &chance{g: g, edges: run.Seed(seed, "cimp edges", world), nodes: run.Seed(seed, "cimp nodes", world)}
	for i, q := range gaps.list() {
		c.below[i] = uint64(math.Round(q * (1 << 32)))
	}
	return c
}

const golden = 0x9e3779b97f4a7c15

// hash is a finaliser of 64 bits (the constant comes from searches by Pelle
// Evensen and others).
func hash(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

func (c *chance) live(u int32, to []int32) []int32 {
	a, b := c.g.start[u], c.g.start[u+1]
	head := c.g.head[a:b]
	key := c.edges + uint64(a)*golden
	for i, coin := range c.g.coin[a:b] {
		if uint32(hash(key)) <= coin {
			to = append(to, head[i])
		}
		key += golden
	}
	return to
}

func (c *chance) class(v int32) uint8 {
	h := hash(c.nodes + uint64(v)*golden)
	item, other := h&math.MaxUint32, h>>32
	var class uint8
	if item < c.below[0] {
		class |= itemAlone
	}
	if item < c.below[1] {
		class |= itemWith
	}
	if other < c.below[2] {
		class |= otherAlone
	}
	if other < c.below[3] {
		class |= otherWith
	}
	return class
}

// A world is the part of one outcome that can influence how many nodes adopt
// the item. It has its own node numbers, 0 to n-1.
type world struct {
	class []uint8
	start []int32 // the edges of u are start[u] to start[u+1]-1
	head  []int32
	cands []candidate
	seeds []int32 // the first adopters of the other item
}

// A candidate is a node with its index in the solution.
type candidate struct{ node, index int32 }

func (w *world) out(u int) []int32 { return w.head[w.start[u]:w.start[u+1]] }

func (w *world) clone() *world {
	return &world{slices.Clone(w.class), slices.Clone(w.start), slices.Clone(w.head), slices.Clone(w.cands), slices.Clone(w.seeds)}
}

// carriesItem and carriesOther report whether an edge may pass on the item or
// the other item.
func carriesItem(from, to uint8) bool { return from&canItem != 0 && receivesItem(to) }
func carriesOther(from, to uint8) bool {
	return from&to&canOther != 0 && to&otherSeed == 0
}

// receivesItem reports whether a node may adopt the item by diffusion; canItem
// alone does not tell, as candidates have it as possible seeds.
func receivesItem(c uint8) bool {
	return c&canItem != 0 && (c&itemAlone != 0 || c&itemWith != 0 && c&canOther != 0)
}

// A builder makes worlds. It reuses its memory: a world is valid until the next
// one is built.
type builder struct {
	local    []int32 // node of the graph -> 1 + its number here
	nodes    []int32 // the inverse: number here -> node of the graph
	class    []uint8
	told     []uint8 // canItem, canOther: the items of which a neighbour may inform the node
	from, to []int32 // the edges of u are edges[from[u]:to[u]]; to is -1 before they are drawn
	edges    []int32
	number   []int32 // the node's number in the world, -1 if it is dropped
	need     []bool
	stack    []int32
	w        world
}

func newBuilder(n int) *builder { return &builder{local: make([]int32, n)} }

func (b *builder) node(o outcome, v int32) int32 {
	if l := b.local[v]; l > 0 {
		return l - 1
	}
	b.nodes = append(b.nodes, v)
	b.class = append(b.class, o.class(v))
	b.told = append(b.told, 0)
	b.from = append(b.from, 0)
	b.to = append(b.to, -1)
	b.local[v] = int32(len(b.nodes))
	return int32(len(b.nodes)) - 1
}

// build returns the world of an outcome.
func (b *builder) build(o outcome, candidates, others []int32) *world {
	b.nodes, b.class, b.told, b.from, b.to = b.nodes[:0], b.class[:0], b.told[:0], b.from[:0], b.to[:0]
	b.edges = b.edges[:0]
	w := &b.w
	w.cands, w.seeds = w.cands[:0], w.seeds[:0]
	for i, v := range candidates {
		l := b.node(o, v)
		b.class[l] |= canItem
		w.cands = append(w.cands, candidate{l, int32(i)})
	}
	for _, v := range others {
		l := b.node(o, v)
		b.class[l] |= canOther | otherSeed
		w.seeds = append(w.seeds, l)
	}
	b.explore(o)
	for _, v := range b.nodes {
		b.local[v] = 0
	}
	b.trim()
	b.compact()
	return w
}

// explore follows each item through the nodes that may adopt it.
func (b *builder) explore(o outcome) {
	st := b.stack[:0]
	for u := range b.nodes {
		st = append(st, int32(u))
	}
	for len(st) > 0 {
		u := st[len(st)-1]
		st = st[:len(st)-1]
		if b.to[u] < 0 {
			b.from[u] = int32(len(b.edges))
			b.edges = o.live(b.nodes[u], b.edges)
			b.to[u] = int32(len(b.edges))
			row := b.edges[b.from[u]:]
			for i, v := range row {
				row[i] = b.node(o, v)
			}
		}
		for _, v := range b.edges[b.from[u]:b.to[u]] {
			c := b.class[v]
			b.told[v] |= b.class[u] & (canItem | canOther)
			for range 2 { // adopting one item may allow adopting the other
				if b.told[v]&canItem != 0 && (c&itemAlone != 0 || c&itemWith != 0 && c&canOther != 0) {
					c |= canItem
				}
				if b.told[v]&canOther != 0 && (c&otherAlone != 0 || c&otherWith != 0 && c&canItem != 0) {
					c |= canOther
				}
			}
			if c != b.class[v] {
				b.class[v] = c
				st = append(st, v)
			}
		}
	}
	b.stack = st
}

// trim removes the other item from all nodes where it cannot change who adopts
// the item. It is kept at nodes where it decides about the item, and upstream
// of them.
func (b *builder) trim() {
	n := len(b.nodes)
	b.need = slices.Grow(b.need[:0], n)[:n]
	for v, c := range b.class {
		b.need[v] = receivesItem(c) && c&canOther != 0 && c&(itemAlone|itemWith) != itemAlone|itemWith
	}
	for changed := true; changed; {
		changed = false
		for u := n - 1; u >= 0; u-- {
			if b.need[u] || b.class[u]&canOther == 0 {
				continue
			}
			for _, v := range b.edges[b.from[u]:max(b.from[u], b.to[u])] {
				if b.need[v] && carriesOther(b.class[u], b.class[v]) {
					b.need[u], changed = true, true
					break
				}
			}
		}
	}
	for v := range b.class {
		if !b.need[v] {
			b.class[v] &^= canOther | otherSeed
		}
	}
}

// compact renumbers the nodes that still have edges, into b.w.
func (b *builder) compact() {
	n := len(b.nodes)
	b.number = slices.Grow(b.number[:0], n)[:n]
	for u := range b.number {
		b.number[u] = -1
	}
	w := &b.w
	for u := range n {
		row := b.edges[b.from[u]:max(b.from[u], b.to[u])]
		kept := row[:0]
		for _, v := range row {
			if carriesItem(b.class[u], b.class[v]) || carriesOther(b.class[u], b.class[v]) {
				kept = append(kept, v)
				b.number[u], b.number[v] = 0, 0
			}
		}
		b.to[u] = b.from[u] + int32(len(kept))
	}
	w.class = w.class[:0]
	for u := range n {
		if b.number[u] == 0 {
			b.number[u] = int32(len(w.class))
			w.class = append(w.class, b.class[u])
		}
	}
	w.start, w.head = append(w.start[:0], 0), w.head[:0]
	for u := range n {
		if b.number[u] < 0 {
			continue
		}
		for _, v := range b.edges[b.from[u]:b.to[u]] {
			w.head = append(w.head, b.number[v])
		}
		w.start = append(w.start, int32(len(w.head)))
	}
	w.cands = slices.DeleteFunc(w.cands, func(c candidate) bool { return b.number[c.node] < 0 })
	for i, c := range w.cands {
		w.cands[i].node = b.number[c.node]
	}
	w.seeds = slices.DeleteFunc(w.seeds, func(v int32) bool { return b.number[v] < 0 || b.class[v]&otherSeed == 0 })
	for i, v := range w.seeds {
		w.seeds[i] = b.number[v]
	}
}
