package cimp

// A lanes runs a world for 64 solutions at once, one in each bit of a word.
type lanes struct {
	state                            []laneState
	item, other, nextItem, nextOther []int32 // nodes informed at this level and at the next one
}

// A laneState is a node's state in the 64 lanes: one bit set per item for the
// lanes in which the node has adopted it, has been informed of it without
// adopting it, and is informed of it at this level and at the next. It fills
// one cache line.
type laneState struct {
	item, noItem, other, noOther uint64
	newItem, nextItem            uint64
	newOther, nextOther          uint64
}

// run lets the items spread; column[i] holds the lanes in which candidate i is
// a seed. The final states stay in l.state. Adoptions of the item, except by
// seeds, are counted in count, which may be nil.
//
// The levels are synchronous; within one, all nodes informed of the item come
// before those informed of the other. The order among nodes does not matter:
// each changes only itself and the next level.
func (l *lanes) run(w *world, column []uint64, count *counter) {
	n := len(w.class)
	if cap(l.state) < n {
		l.state = make([]laneState, 2*n)
	}
	st := l.state[:n]
	clear(st)
	for _, c := range w.cands {
		st[c.node].item = column[c.index]
	}
	for _, v := range w.seeds {
		st[v].other = ^uint64(0)
	}
	l.nextItem, l.nextOther = l.nextItem[:0], l.nextOther[:0]
	for _, c := range w.cands {
		if in := st[c.node].item; in != 0 {
			l.tellItem(w, c.node, in)
		}
	}
	for _, v := range w.seeds {
		l.tellOther(w, v, ^uint64(0))
	}
	for len(l.nextItem)+len(l.nextOther) > 0 {
		l.item, l.nextItem = l.nextItem, l.item[:0]
		l.other, l.nextOther = l.nextOther, l.other[:0]
		for _, v := range l.item {
			st[v].newItem, st[v].nextItem = st[v].nextItem, 0
		}
		for _, v := range l.other {
			st[v].newOther, st[v].nextOther = st[v].nextOther, 0
		}
		for _, v := range l.item {
			s := &st[v]
			in := s.newItem &^ (s.item | s.noItem)
			if in == 0 {
				continue
			}
			c := w.class[v]
			adopt := in & (all(c&itemAlone)&^s.other | all(c&itemWith)&s.other)
			again := adopt & s.noOther &^ s.other & all(c&otherWith) // was suspended, reconsiders now
			s.item |= adopt
			s.noItem |= in &^ adopt
			s.other |= again
			if adopt != 0 {
				if count != nil {
					count.add(adopt)
				}
				l.tellItem(w, v, adopt)
			}
			if again != 0 {
				l.tellOther(w, v, again)
			}
		}
		for _, v := range l.other {
			s := &st[v]
			in := s.newOther &^ (s.other | s.noOther)
			if in == 0 {
				continue
			}
			c := w.class[v]
			adopt := in & (all(c&otherAlone)&^s.item | all(c&otherWith)&s.item)
			again := adopt & s.noItem &^ s.item & all(c&itemWith)
			s.other |= adopt
			s.noOther |= in &^ adopt
			s.item |= again
			if adopt != 0 {
				l.tellOther(w, v, adopt)
			}
			if again != 0 {
				if count != nil {
					count.add(again)
				}
				l.tellItem(w, v, again)
			}
		}
	}
}

// all returns 64 ones if the given bit of class c is set, else 0.
func all(bit uint8) uint64 {
	if bit != 0 {
		return ^uint64(0)
	}
	return 0
}

func (l *lanes) tellItem(w *world, u int32, in uint64) {
	for _, v := range w.head[w.start[u]:w.start[u+1]] {
		s := &l.state[v]
		if s.nextItem == 0 {
			l.nextItem = append(l.nextItem, v)
		}
		s.nextItem |= in
	}
}

func (l *lanes) tellOther(w *world, u int32, in uint64) {
	for _, v := range w.head[w.start[u]:w.start[u+1]] {
		s := &l.state[v]
		if s.nextOther == 0 {
			l.nextOther = append(l.nextOther, v)
		}
		s.nextOther |= in
	}
}

// A counter counts, for each of 64 lanes, the added words in which the lane's
// bit is set. The 64 counts are in binary, with digit j of all of them in plane
// j. Eight words are summed by carry-save adders before they are added to the
// planes.
type counter struct {
	plane [48]uint64
	wait  [8]uint64
	n     int
}

func (c *counter) add(w uint64) {
	c.wait[c.n] = w
	if c.n++; c.n == 8 {
		c.add8()
	}
}

// fullAdd adds three bits in each lane.
func fullAdd(a, b, c uint64) (sum, carry uint64) {
	u := a ^ b
	return u ^ c, a&b | u&c
}

// add8 adds the eight words in wait to the planes.
func (c *counter) add8() {
	w, p := &c.wait, &c.plane
	ones, a := fullAdd(p[0], w[0], w[1])
	ones, b := fullAdd(ones, w[2], w[3])
	ones, d := fullAdd(ones, w[4], w[5])
	ones, e := fullAdd(ones, w[6], w[7])
	twos, f := fullAdd(p[1], a, b)
	twos, g := fullAdd(twos, d, e)
	fours, carry := fullAdd(p[2], f, g)
	p[0], p[1], p[2] = ones, twos, fours
	for j := 3; carry != 0; j++ {
		p[j], carry = p[j]^carry, p[j]&carry
	}
	c.n = 0
}

// addTo adds the counts, times weight, to sums (one entry per lane) and resets
// the counter to zero.
func (c *counter) addTo(sums []int64, weight int64) {
	clear(c.wait[c.n:])
	c.add8()
	for j := range c.plane {
		p := c.plane[j]
		if p == 0 {
			continue
		}
		c.plane[j] = 0
		at := weight << j
		for i := range sums {
			sums[i] += at & -int64(p>>(i&63)&1)
		}
	}
}

// transpose transposes a 64 x 64 bit matrix: bit j of a[i] becomes bit i of
// a[j].
func transpose(a *[64]uint64) {
	mask := uint64(1<<32 - 1)
	for j := 32; j != 0; j >>= 1 {
		for k := 0; k < 64; k = (k + j + 1) &^ j {
			t := (a[k]>>j ^ a[k+j]) & mask
			a[k] ^= t << j
			a[k+j] ^= t
		}
		mask ^= mask << (j >> 1)
	}
}
