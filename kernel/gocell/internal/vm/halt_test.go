package vm

import (
	"go/token"
	"iter"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/internal/system/limits"
)

// What a cell has stopped ends at the next look, with its deferred calls; where it was is
// known of the cell's own goroutine, the first time.
func TestCheckHalt(t *testing.T) {
	if m := New(Hooks{}); m.Cell() == nil {
		m.CheckHalt() // outside of cells nothing is stopped
	}
	line := 7
	m := New(Hooks{CompiledUnderWay: func() []Frame { return []Frame{{Pos: token.Position{Filename: "cell", Line: line}}} }})
	c := m.NewCell(t.Context(), nil, nil)
	look := func(main bool) (ends bool) {
		ends = true
		done := make(chan struct{})
		go func() {
			defer close(done)
			goroutine.With(c, func() {
				if main {
					c.main = &mainRun{currentG(), nil, nil}
				}
				m.CheckHalt()
				ends = false
			})
		}()
		<-done
		return ends
	}
	if look(false) {
		t.Error("a cell that runs ends")
	}
	close(c.stop)
	c.main = &mainRun{1, nil, nil} // another goroutine
	if ends, at := look(false), c.StoppedAt(); !ends || at.IsValid() {
		t.Errorf("a goroutine beside the cell's own tells where it was: %v, and ends: %v", at, ends)
	}
	for range 2 {
		if ends, at := look(true), c.StoppedAt(); !ends || at.Line != 7 {
			t.Errorf("the cell's own goroutine ends: %v, at %v", ends, at)
		}
		line++
	}
}

// far calls foreign below n calls.
func far(n int) (library string, fatal bool) {
	if n > 0 {
		return far(n - 1)
	}
	return foreign()
}

func farRun(found chan<- string) {
	library, _ := far(200)
	found <- library
}

// The function that a goroutine began with, and one that recovers, are found below any
// number of calls.
func TestForeignDeep(t *testing.T) {
	found := make(chan string)
	go farRun(found)
	if got := <-found; !strings.HasSuffix(got, "/vm.farRun") {
		t.Errorf("the goroutine runs %q", got)
	}
	next, stop := iter.Pull(func(yield func(string) bool) {
		library, fatal := far(200)
		if fatal {
			library = "fatal in " + library
		}
		yield(library)
	})
	defer stop()
	if got, _ := next(); got != "" {
		t.Errorf("a panic in what iter.Pull calls, which passes it on, is that of %q", got)
	}
}

// The memory is looked at soon after a cell has begun, and then often where little is left.
func TestWatchMemory(t *testing.T) {
	own := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(own)
	for available, want := range map[int64]int{3 * memoryReserve: 32, 4*memoryReserve - 1: 32, 4 * memoryReserve: 3, 1 << 39: 2} {
		debug.SetMemoryLimit(math.MaxInt64)
		synctest.Test(t, func(t *testing.T) {
			m, looks := New(Hooks{}), 0
			m.Memory = func() []limits.Limit {
				looks++
				return []limits.Limit{{Name: "a machine", Total: 1 << 40, Available: available}}
			}
			done := make(chan struct{})
			go m.watchMemory(&Cell{cancel: func(err error) { t.Error(err) }}, done)
			time.Sleep(2*memoryInterval + time.Millisecond)
			// Once the collector's limit has been set by what is available.
			if synctest.Wait(); looks != want+1 {
				t.Errorf("%d bytes are available: %d looks in %v, want %d", available, looks, 2*memoryInterval, want+1)
			}
			if debug.SetMemoryLimit(-1) == math.MaxInt64 {
				t.Error("the collector has no limit")
			}
			close(done)
		})
	}
}

// Threads are scarce where fewer than 1000 are left, or than a quarter of all.
func TestFewThreads(t *testing.T) {
	for l, want := range map[limits.Limit]bool{
		{Total: 100_000, Available: 999}: true, {Total: 100_000, Available: 1000}: false,
		{Total: 400, Available: 99}: true, {Total: 400, Available: 100}: false,
	} {
		if got := fewThreads(l); got != want {
			t.Errorf("%d threads of %d are few: %v", l.Available, l.Total, got)
		}
	}
}

// A goroutine has the number of its span as its label.
func TestSpanLabel(t *testing.T) {
	s, ok := New(Hooks{}).StartSampling()
	if !ok {
		t.Fatal("another profile is under way")
	}
	var spans []*Span
	var labels []string
	for range 2 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			spans = append(spans, s.Begin(true, nil).span)
			labels = append(labels, goroutine.Label(SpanLabel))
		}()
		<-done
	}
	all := s.Stop()
	for i, label := range labels {
		if all[label] != spans[i] || len(all) != len(spans) {
			t.Errorf("of %d spans that of %q is %v, want %v", len(all), label, all[label], spans[i])
		}
	}
}
