package solver

import (
	"math/bits"
	"slices"
)

// MemoryDefault returns the default of a parameter "memory", which makes a search
// remember values: 1 for runs of up to 20,000 evaluations, else 0. Looking a value
// up takes some tens of nanoseconds, and more where the table outgrows the caches.
func MemoryDefault(evaluations int) float64 {
	if evaluations <= 20_000 {
		return 1
	}
	return 0
}

// A memory is a hash table of packed solutions and their values, with open
// addressing, at most half full.
type memory struct {
	w     int // words of a solution
	n     int
	slots []slot
	words []uint64 // of the solutions, by slot, if w > 1
	shift int
	zero  bool // whether the solution whose hash is 0 is known; zeroValue is its value
	value float64
}

// A slot holds the hash of a solution, 0 if the slot is free. The hash of a
// solution of one word determines it.
type slot struct {
	hash  uint64
	value float64
}

// mostRemembered bounds the words of the solutions in a memory: 16 to 32 MB with
// slots.
const mostRemembered = 1 << 20

func newMemory(w int) *memory {
	m := &memory{w: w}
	m.resize(8)
	return m
}

func (m *memory) resize(log int) {
	old, words := m.slots, m.words
	m.slots, m.shift = make([]slot, 1<<log), 64-log
	if m.w > 1 {
		m.words = make([]uint64, m.w<<log)
	}
	for i, s := range old {
		if s.hash == 0 {
			continue
		}
		at := m.free(s.hash)
		m.slots[at] = s
		if m.w > 1 {
			copy(m.words[at*m.w:], words[i*m.w:(i+1)*m.w])
		}
	}
}

// free returns the first free slot for a hash.
func (m *memory) free(hash uint64) int {
	at := int(hash >> m.shift)
	for m.slots[at].hash != 0 {
		at = (at + 1) & (len(m.slots) - 1)
	}
	return at
}

func hashOf(x []uint64) uint64 {
	h := uint64(0x2545f4914f6cdd1d)
	for _, v := range x {
		h = (bits.RotateLeft64(h, 29) ^ v) * 0x9e3779b97f4a7c15
	}
	return h
}

// find returns the value of a solution if it is known, and its hash.
func (m *memory) find(x []uint64) (value float64, hash uint64, known bool) {
	h := hashOf(x)
	if h == 0 {
		return m.value, h, m.zero && m.w == 1
	}
	for at := int(h >> m.shift); m.slots[at].hash != 0; at = (at + 1) & (len(m.slots) - 1) {
		if m.slots[at].hash == h && (m.w == 1 || slices.Equal(m.words[at*m.w:(at+1)*m.w], x)) {
			return m.slots[at].value, h, true
		}
	}
	return 0, h, false
}

// add remembers the value of a solution that is not known, unless the memory is
// full.
func (m *memory) add(x []uint64, hash uint64, value float64) {
	if hash == 0 {
		m.zero, m.value = true, value
		m.n++
		return
	}
	if m.n*m.w >= mostRemembered {
		return
	}
	if m.n++; 2*m.n > len(m.slots) {
		m.resize(65 - m.shift)
	}
	at := m.free(hash)
	m.slots[at] = slot{hash, value}
	if m.w > 1 {
		copy(m.words[at*m.w:], x)
	}
}
