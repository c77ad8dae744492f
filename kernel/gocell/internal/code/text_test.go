package code

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// Strings that were joined keep their bytes, whichever of them is appended to, also when
// goroutines share the operation.
func TestJoin(t *testing.T) {
	j, g := new(joiner), &G{M: &Machine{}}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			made, want := []string{""}, []string{""}
			for i := range 3000 {
				k := len(made) - 1
				if r.IntN(20) == 0 {
					k = r.IntN(len(made))
				}
				more := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(12))
				made, want = append(made, j.join(g, made[k], more)), append(want, strings.Clone(want[k]+more))
				if i%500 == 0 {
					runtime.GC()
				}
			}
			for i := range made {
				if made[i] != want[i] {
					t.Errorf("string %d has changed", i)
					return
				}
			}
		})
	}
	all.Wait()
}

// A string that grows a byte at a time is copied now and then, not each time, whatever
// its length.
func TestJoinInPlace(t *testing.T) {
	g := &G{M: &Machine{}}
	for _, length := range []int{minJoined, 10 * minJoined, longJoined} {
		j, s := new(joiner), strings.Repeat("a", length)
		s = j.join(g, s, "b")
		s = j.join(g, s, "c")
		next := j.join(g, s, "d")
		if unsafe.StringData(next) != unsafe.StringData(s) {
			t.Errorf("%d bytes are copied to append one to those appended before", length)
		}
		if s[length:] != "bc" || next[length:] != "bcd" {
			t.Errorf("%d bytes and b, c, d end in %q", length, next[length:])
		}
	}
}

// BenchmarkJoin builds a string of 300,000 bytes, a byte a step.
func BenchmarkJoin(b *testing.B) {
	g := &G{M: &Machine{}}
	for b.Loop() {
		j, s := new(joiner), ""
		for range 300_000 {
			s = j.join(g, s, "x")
		}
		if len(s) != 300_000 {
			b.Fatal(len(s))
		}
	}
}

// Frames of other code stand in a panic's trace where the panic has come through them.
func TestNoteNative(t *testing.T) {
	g := &G{M: &Machine{Native: func(bool) any { return "other code" }}}
	inner, outer := &Frame{}, &Frame{}
	g.Trace, g.border, g.noted = []Step{{Frame: inner}, {Frame: outer}}, inner, "a panic"
	g.Note("a panic")
	if len(g.Trace) != 3 || g.Trace[0].Frame != inner || g.Trace[1].Native != "other code" || g.Trace[2].Frame != outer {
		t.Errorf("the trace is %+v", g.Trace)
	}
}
