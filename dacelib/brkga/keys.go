package brkga

import (
	"math/bits"
	"slices"
)

// hashOf hashes the keys of individual i. Words that are zero do not change the
// hash.
func (s *search) hashOf(p *population, i int) uint64 {
	var h uint64
	for j, v := range p.bits[i*s.w : (i+1)*s.w] {
		h += v * s.odd[j]
	}
	m := s.size
	odd := s.odd[s.w:]
	for j, v := range p.ids[i*m : i*m+s.used] {
		h += v * odd[j]
	}
	return h
}

// A table is a hash set of individuals with open addressing, at most a quarter full.
// A slot i+1 stands for individual i of next, -i-1 for individual i of cur.
type table struct {
	slots []int32
	shift int
}

// reset empties the table and makes room for n individuals.
func (t *table) reset(n int) {
	k := max(bits.Len(uint(n))+2, 4)
	if 1<<k > cap(t.slots) {
		t.slots = make([]int32, 1<<k)
	} else {
		t.slots = t.slots[:1<<k]
		clear(t.slots)
	}
	t.shift = 64 - k
}

// addKeys adds individual i of p, which is &s.cur or &s.next, to the table and
// reports whether its keys are new.
func (s *search) addKeys(p *population, i int) bool {
	k, found := s.find(p, i)
	if found {
		return false
	}
	s.seen.slots[k] = int32(i + 1)
	if p == &s.cur {
		s.seen.slots[k] = int32(-i - 1)
	}
	return true
}

// addAll adds the individuals of order to the table. It compares no keys: those
// of a generation are distinct nearly always, and equal ones do no harm.
func (s *search) addAll() {
	t := &s.seen
	for _, i := range s.order {
		k := s.cur.hash[i] >> t.shift
		for t.slots[k] != 0 {
			k = (k + 1) & uint64(len(t.slots)-1)
		}
		t.slots[k] = -i - 1
	}
}

// knownKeys reports whether the keys of individual i of p are in the table.
func (s *search) knownKeys(p *population, i int) bool {
	_, found := s.find(p, i)
	return found
}

// find returns the slot of the keys of individual i of p or, if they are not in
// the table, the free slot where they belong.
func (s *search) find(p *population, i int) (slot uint64, found bool) {
	h := p.hash[i]
	t := &s.seen
	for k := h >> t.shift; ; k = (k + 1) & uint64(len(t.slots)-1) {
		at := t.slots[k]
		if at == 0 {
			return k, false
		}
		q, j := &s.next, int(at)-1
		if at < 0 {
			q, j = &s.cur, int(-at)-1
		}
		if q.hash[j] == h && s.equalKeys(p, i, q, j) {
			return k, true
		}
	}
}

func (s *search) equalKeys(p *population, i int, q *population, j int) bool {
	m := s.size
	return slices.Equal(p.bits[i*s.w:(i+1)*s.w], q.bits[j*s.w:(j+1)*s.w]) &&
		slices.Equal(p.ids[i*m:i*m+s.used], q.ids[j*m:j*m+s.used])
}

// known reports whether individual i of cur is, by the rule of the settings, a
// duplicate of an individual passed in an earlier call; if it is not, it joins
// the table.
func (s *search) known(i int) bool {
	p, t, rule := &s.cur, &s.seen, s.settings.DuplicateRule
	v := p.value[i]
	h := descending(v) * s.odd[0]
	if rule == ByEverySolution {
		h = 0
		for j, b := range p.bits[i*s.w : (i+1)*s.w] {
			h += b * s.odd[j]
		}
	}
	for k := h >> t.shift; ; k = (k + 1) & uint64(len(t.slots)-1) {
		at := int(t.slots[k]) - 1
		if at < 0 {
			t.slots[k] = int32(i + 1)
			return false
		}
		switch rule {
		case ByEverySolution: // equal bits have equal values
			if s.equalBits(at, i) {
				return true
			}
		case ByValue:
			if p.value[at] == v {
				return true
			}
		default: // only the first individual of a value is in the table
			if p.value[at] == v {
				return s.equalBits(at, i)
			}
		}
	}
}

// equalBits compares the decoded bits of individuals i and j of cur.
func (s *search) equalBits(i, j int) bool {
	return slices.Equal(s.cur.bits[i*s.w:(i+1)*s.w], s.cur.bits[j*s.w:(j+1)*s.w])
}
