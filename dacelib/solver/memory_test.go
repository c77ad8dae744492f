package solver

import (
	"math/bits"
	"strings"
	"testing"
)

// A memory is a map from solutions to values, in a table of at least 256 slots that is at
// most half full, and not so large that half as many slots would do.
func TestMemory(t *testing.T) {
	for _, w := range []int{1, 2, 5} {
		m, want := newMemory(w), map[[2]uint64]float64{}
		x := make([]uint64, w)
		for i := range uint64(3000) {
			x[0], x[w-1] = i%7<<50, i*i%2011 // the first words alone tell few solutions apart
			key := [2]uint64{x[0], x[w-1]}
			value, hash, known := m.find(x)
			if v, ok := want[key]; ok != known || v != value {
				t.Fatalf("%d words, solution %d: %v, known %v; want %v, %v", w, i, value, known, v, ok)
			}
			if known {
				continue
			}
			want[key] = float64(i)
			m.add(x, hash, want[key])
			slots := 256
			for slots < 2*len(want) {
				slots *= 2
			}
			if m.n != len(want) || len(m.slots) != slots || w > 1 && len(m.words) != w*slots {
				t.Fatalf("%d words: %d solutions in %d slots with %d words; want %d in %d", w, m.n, len(m.slots), len(m.words), len(want), slots)
			}
		}
	}
}

// The one solution of a word whose hash is 0, as that of a free slot, is remembered. Of
// solutions of several words any may have that hash: these are not.
func TestMemoryZeroHash(t *testing.T) {
	// The hash begins with this number, and a word undoes it.
	undo := bits.RotateLeft64(0x2545f4914f6cdd1d, 29)
	m := newMemory(1)
	for i, value := range []float64{3, 4} {
		for _, x := range []uint64{undo, undo + 1} {
			v, hash, known := m.find([]uint64{x})
			if (hash == 0) != (x == undo) || known != (i > 0) || known && v != 3 {
				t.Errorf("%x: %v, hash %x, known %v", x, v, hash, known)
			}
			if !known {
				m.add([]uint64{x}, hash, value)
			}
		}
	}
	if m.n != 2 {
		t.Errorf("%d solutions, want 2", m.n)
	}
	m = newMemory(2)
	x := []uint64{undo, 0}
	_, hash, _ := m.find(x)
	m.add(x, hash, 5)
	if _, _, known := m.find(x); hash != 0 || known {
		t.Errorf("hash %x, known %v", hash, known)
	}
}

// A memory takes no more than a million words, and finds what it has.
func TestMemoryFull(t *testing.T) {
	w := mostRemembered / 8
	m := newMemory(w)
	x := make([]uint64, w)
	for i := range 10 {
		x[w-1] = uint64(i)
		_, hash, _ := m.find(x)
		m.add(x, hash, float64(i))
	}
	for i := range 10 {
		x[w-1] = uint64(i)
		if v, _, known := m.find(x); known != (i < 8) || known && v != float64(i) {
			t.Errorf("solution %d: %v, known %v; the memory is for 8", i, v, known)
		}
	}
}

// edits is the least number of letters added, left out or changed that make a into b, by
// its definition.
func edits(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	n := edits(a[1:], b[1:])
	if !strings.EqualFold(a[:1], b[:1]) {
		n++
	}
	return min(n, edits(a[1:], b)+1, edits(a, b[1:])+1)
}

// What is meant is the first of the names that are nearest, if that is about a third of the
// letters away, or one of them.
func TestMeant(t *testing.T) {
	names := []string{"ea", "ib", "tabu", "eda", "anneal", "link", "linkag"}
	for _, unknown := range []string{"", "e", "x", "xy", "eA", "ia", "tab", "tabs", "Tuba", "edas", "edaxx", "anal", "annealing", "nneal", "linka", "kin", "xxnneal", "abcdefgh", "tabuxx", "xtabux"} {
		best, least := "", max(1, (len(unknown)+1)/3)+1
		for _, n := range names {
			if k := edits(unknown, n); k < least {
				best, least = " (did you mean "+n+"?)", k
			}
		}
		if got := meant(unknown, names); got != best {
			t.Errorf("%q:%s, want%s", unknown, got, best)
		}
	}
}

// A program without solvers is told how it comes by some.
func TestLookupNone(t *testing.T) {
	registry.Lock()
	by := registry.by
	registry.by = nil
	registry.Unlock()
	_, err := Lookup("anneal")
	registry.Lock()
	registry.by = by
	registry.Unlock()
	if err == nil || !strings.Contains(err.Error(), "none is registered: import dace.local/dacelib/solver/all") {
		t.Error(err)
	}
	if s, err := Lookup("anneal"); err != nil || s.Name() != "anneal" {
		t.Error(s, err)
	}
}
