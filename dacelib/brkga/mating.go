package brkga

import (
	"math/bits"
	"math/rand/v2"
)

// rounds is the maximal number of matings made to replace children that are
// duplicates, as in pymoo.
const rounds = 100

// mating appends children to next until it has limit individuals or all rounds
// are used up.
func (s *search) mating(limit int) {
	c, n := s.settings.Config, &s.next
	if c.Bias == 1 || s.d == 1 {
		return // every child is a clone of a parent
	}
	s.seen.reset(len(s.order) + c.Offspring)
	s.addAll()
	missing, tried := c.Offspring, false
	for round := 0; round < rounds && missing > 0; round++ {
		before := n.n
		s.pair(missing)
		s.children(limit, false)
		if s.settings.Children == TwoChildren {
			s.children(limit, true)
		}
		if n.n == limit {
			return
		}
		missing -= n.n - before
		if n.n == before && !tried {
			if tried = true; s.exhausted() {
				return
			}
		}
	}
}

// parents returns the elites and their mates: the non-elites or, if there are
// none, the elites again.
func (s *search) parents() (elites, others []int32) {
	elites, others = s.order[:s.elites], s.order[s.elites:]
	if len(others) == 0 {
		others = elites
	}
	return elites, others
}

// pair draws parents and masks for the matings that produce the given number of
// children.
func (s *search) pair(children int) {
	if s.settings.Children == TwoChildren {
		children = (children + 1) / 2
	}
	elites, others := s.parents()
	s.mates = resized(s.mates, children)
	for k := range s.mates {
		// One random number gives two draws: the remainder of the first is
		// uniform again.
		e, rest := bits.Mul64(s.rng.Uint64(), uint64(len(elites)))
		o, _ := bits.Mul64(rest, uint64(len(others)))
		s.mates[k] = mate{elites[e], others[o]}
	}
	// The masks are slices of one string of random bits.
	words := (children*s.d+63)/64 + 1
	s.stream, s.masks = resized(s.stream, words), resized(s.masks, children*s.w)
	for k := range s.stream {
		s.stream[k] = bernoulli(s.rng, s.settings.Config.Bias)
	}
	if s.w == 1 {
		for k := range s.masks {
			at := k * s.d
			two := s.stream[at>>6:][:2]
			m := (two[0]>>(at&63) | two[1]<<1<<(^at&63)) & s.last
			if m == 0 {
				m = 1 << s.rng.IntN(s.d)
			}
			s.masks[k] = m
		}
		return
	}
	for k := range children {
		mask, some := s.masks[k*s.w:][:s.w], uint64(0)
		at := k * s.d
		for j := range mask {
			two := s.stream[at>>6:][:2]
			m := two[0]>>(at&63) | two[1]<<1<<(^at&63)
			if j == s.w-1 {
				m &= s.last
			}
			mask[j] = m
			some |= m
			at += 64
		}
		if some == 0 {
			// At least one key comes from the parent of the mask.
			g := s.rng.IntN(s.d)
			mask[g>>6] |= 1 << (g & 63)
		}
	}
}

// children makes a child of each pair, until next has limit individuals, and
// appends it to next unless its keys are known. The child has the elite's keys
// where the pair's mask is 1 and the mate's where it is 0 or, if swapped, the
// other way round.
func (s *search) children(limit int, swapped bool) {
	if s.w == 1 {
		s.narrowChildren(limit, swapped)
		return
	}
	n := &s.next
	for k, m := range s.mates {
		if n.n == limit {
			return
		}
		if swapped {
			m.elite, m.other = m.other, m.elite
		}
		s.cross(m.elite, m.other, s.masks[k*s.w:(k+1)*s.w])
		if s.addKeys(n, n.n) {
			n.n++
		}
	}
}

// narrowChildren is children for solutions of one word.
func (s *search) narrowChildren(limit int, swapped bool) {
	p, n, size := &s.cur, &s.next, s.size
	odd, ids := s.odd[0], s.odd[1:][:s.used]
	slots, shift := s.seen.slots, s.seen.shift
	flip := uint64(0)
	if swapped {
		flip = s.last
	}
	for k, pair := range s.mates {
		c := n.n
		if c == limit {
			return
		}
		i, j, m := int(pair.elite), int(pair.other), s.masks[k]^flip
		y := p.bits[j]
		v := y ^ (p.bits[i]^y)&m
		h := v * odd
		n.bits[c] = v
		m *= s.copies
		ys := p.ids[j*size:][:len(ids)]
		xs, zs := p.ids[i*size:][:len(ys)], n.ids[c*size:][:len(ys)]
		for l, u := range ys {
			u ^= (xs[l] ^ u) & m
			zs[l] = u
			h += u * ids[l]
		}
		n.hash[c] = h
		at := h >> (shift & 63)
		for slots[at] != 0 && !s.sameKeys(slots[at], c) {
			at = (at + 1) & uint64(len(slots)-1)
		}
		if slots[at] == 0 {
			slots[at] = int32(c + 1)
			n.n++
		}
	}
}

// sameKeys reports whether individual i of next has the keys of the individual
// for which a slot of the table stands.
func (s *search) sameKeys(slot int32, i int) bool {
	q, j := &s.next, int(slot)-1
	if slot < 0 {
		q, j = &s.cur, int(-slot)-1
	}
	return q.hash[j] == s.next.hash[i] && s.equalKeys(&s.next, i, q, j)
}

// cross writes a child of a and b to next, behind the last individual, without
// counting it, with its hash (that of hashOf).
func (s *search) cross(a, b int32, mask []uint64) {
	p, n, w := &s.cur, &s.next, s.w
	i, j := int(a), int(b)
	h := uint64(0)
	x, y, z := p.bits[i*w:][:w], p.bits[j*w:][:w], n.bits[n.n*w:][:w]
	for l, m := range mask[:w] {
		v := y[l] ^ (x[l]^y[l])&m
		z[l] = v
		h += v * s.odd[l]
	}
	size := s.size
	x, y, z = p.ids[i*size:][:s.used], p.ids[j*size:][:s.used], n.ids[n.n*size:][:s.used]
	odd := s.odd[w:][:s.used]
	if w == 1 {
		m := mask[0] * s.copies
		for l, v := range y {
			v ^= (x[l] ^ v) & m
			z[l] = v
			h += v * odd[l]
		}
	} else {
		for at := 0; at < s.used; at += w {
			for l, m := range mask {
				v := y[at+l]
				v ^= (x[at+l] ^ v) & m
				z[at+l] = v
				h += v * odd[at+l]
			}
		}
	}
	n.hash[n.n] = h
}

// enough bounds the number of children that exhausted tries.
const enough = 4096

// exhausted reports whether the keys of every possible child are known, so that
// further rounds cannot succeed. It tries all children, and returns false if
// there are more than enough.
func (s *search) exhausted() bool {
	elites, others := s.parents()
	if len(elites)*len(others) > enough {
		return false
	}
	children := 0
	for _, e := range elites {
		for _, o := range others {
			s.differ(int(e), int(o))
			if children += 1 << len(s.genes); children > enough {
				return false
			}
			for set := range 1 << len(s.genes) {
				clear(s.mask)
				for k, g := range s.genes {
					s.mask[g>>6] |= uint64(set>>k&1) << (g & 63)
				}
				s.cross(e, o, s.mask)
				if !s.knownKeys(&s.next, s.next.n) {
					return false
				}
			}
		}
	}
	return true
}

// differ lists the genes in which the keys of individuals i and j of cur
// differ, up to 16 of them.
func (s *search) differ(i, j int) {
	s.genes = s.genes[:0]
	size := s.size
	for l := range s.w {
		v := s.cur.bits[i*s.w+l] ^ s.cur.bits[j*s.w+l]
		for at := l; at < s.used; at += s.w {
			u := s.cur.ids[i*size+at] ^ s.cur.ids[j*size+at]
			for k := range s.shared {
				v |= u >> (k * s.d)
			}
		}
		if l == s.w-1 {
			v &= s.last
		}
		for ; v != 0 && len(s.genes) < 16; v &= v - 1 {
			s.genes = append(s.genes, l*64+bits.TrailingZeros64(v))
		}
	}
}

// bernoulli returns a word whose bits are 1 with probability p < 1. It
// compares p with 64 uniform numbers, one binary digit of each at a time,
// until every comparison is decided: about seven digits.
func bernoulli(rng *rand.Rand, p float64) uint64 {
	var less uint64
	open := ^uint64(0)
	for t := uint64(p * (1 << 64)); t != 0 && open != 0; t <<= 1 {
		r := rng.Uint64()
		if t>>63 == 1 {
			less |= open &^ r
			open &= r
		} else {
			open &^= r
		}
	}
	return less
}
