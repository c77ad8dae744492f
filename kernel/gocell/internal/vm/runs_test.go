package vm

import (
	"errors"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/internal/system/limits"
)

// The assertion that a compiled x.(T) makes fails with the message of Go's run time,
// whose error has the fields that this package knows.
func TestKnownAssertion(t *testing.T) {
	if !knownAssertion {
		t.Error("runtime.TypeAssertionError is laid out in another way")
	}
}

// A cell that begins while the others are being stopped waits until all of them have
// ended, and is not stopped itself.
func TestStopRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Hooks{})
		var stopped []string
		cell := func(name string) *Cell {
			return &Cell{cancel: func(cause error) {
				if !errors.Is(cause, ErrConcurrent) {
					t.Errorf("%s is stopped by %v", name, cause)
				}
				stopped = append(stopped, name)
			}}
		}
		a, b, c := cell("a"), cell("b"), cell("c")
		if m.stopRuns(); m.stopped() {
			t.Error("nothing runs, and is being stopped")
		}
		m.begin(a)
		m.begin(b)
		m.stopRuns()
		m.stopRuns() // once is enough
		if len(stopped) != 2 || !m.stopped() {
			t.Errorf("%q are stopped, want a and b", stopped)
		}
		began := false
		go func() { m.begin(c); began = true }()
		for _, other := range []*Cell{a, b} {
			if synctest.Wait(); began {
				t.Error("a cell begins while others are being stopped")
			}
			m.end(other)
		}
		if synctest.Wait(); !began || m.stopped() || len(stopped) != 2 {
			t.Errorf("afterwards: the next has begun: %v, cells are being stopped: %v; stopped were %q", began, m.stopped(), stopped)
		}
	})
}

// The memory is looked at each time 8 MB have been allocated, not at each allocation.
func TestSpend(t *testing.T) {
	m, looks := New(Hooks{}), 0
	m.Memory = func() []limits.Limit {
		looks++
		return []limits.Limit{{Name: "a machine", Total: 1 << 40, Available: 1 << 39}}
	}
	for i := range 24 {
		m.spend(1 << 20)
		if looks != (i+1)/8 {
			t.Fatalf("after %d MB the memory has been looked at %d times", i+1, looks)
		}
	}
}

// Large allocations of a cell count towards the looks at the memory, and a larger one is
// compared with what is available. Of a limit on addresses none of the heap's are available.
func TestLacks(t *testing.T) {
	m, looks := New(Hooks{}), 0
	l := limits.Limit{Name: "a limit", Total: 1 << 40, Available: 1 << 32}
	m.Memory = func() []limits.Limit {
		looks++
		return []limits.Limit{l}
	}
	for range 8 {
		if err := m.Lacks("x", 1<<20); err != nil {
			t.Error(err)
		}
	}
	if looks != 1 {
		t.Errorf("8 allocations of 1 MB look at the memory %d times", looks)
	}
	// Of what is available, 512 MB are to be left.
	most := float64(1<<32 - 512<<20)
	for _, c := range []struct {
		bytes     float64
		addresses bool
		lacks     bool
	}{{most, false, false}, {most + 1, false, true}, {most, true, true}, {most / 2, true, false}} {
		if l.AddressSpace = c.addresses; (m.Lacks("x", c.bytes) != nil) != c.lacks {
			t.Errorf("%.0f bytes are lacking: %v; a limit on addresses: %v", c.bytes, !c.lacks, c.addresses)
		}
	}
}

// Where the memory is short, a cell is stopped at once if more than a quarter of it is in
// use here, and else only if it is short after a collection, too.
func TestBlame(t *testing.T) {
	m, stopped := New(Hooks{}), 0
	m.Memory = func() []limits.Limit { return []limits.Limit{{Name: "after it", Total: 1 << 40, Available: 1 << 39}} }
	c := &Cell{cancel: func(error) { stopped++ }}
	held := make([]byte, 64<<20) // makes the rest small
	runtime.GC()
	live := inUse()
	for _, times := range []float64{3.5, 4.5} {
		total := int64(times * float64(live))
		if got, want := m.blame(c, limits.Limit{Name: "before", Total: total}, live), times < 4; got != want || (stopped > 0) != want {
			t.Errorf("1/%v of the memory is in use: the cell is stopped: %v, %d times", times, got, stopped)
		}
		stopped = 0
	}
	runtime.KeepAlive(held)
}

// What a panic passes in a part of a cell with outputs of its own is the cell's to report.
func TestRedirect(t *testing.T) {
	m := New(Hooks{})
	c := m.NewCell(t.Context(), nil, nil)
	c.NoteFrames([]Frame{{Name: "outer"}})
	c.Redirect(nil, func() { m.Cell().NoteFrames([]Frame{{Name: "inner"}}) })
	if got := c.TakeFrames(); len(got) != 2 || got[0].Name != "outer" || got[1].Name != "inner" {
		t.Errorf("the frames are %v", got)
	}
}

// The maps that a call of a library uses are locked as long as it goes on.
func TestWithMaps(t *testing.T) {
	x := map[string]int{}
	lock := &stripes[stripeOf(reflect.ValueOf(x))]
	for _, write := range []bool{false, true} {
		WithMaps(write, func() {
			if lock.TryLock() {
				t.Errorf("write is %v: the map can be written", write)
				lock.Unlock()
			}
			ran := false
			WithoutMaps(func() {
				ran = true
				if !lock.TryLock() {
					t.Fatalf("write is %v: the map cannot be written in WithoutMaps", write)
				}
				lock.Unlock()
			})
			if !ran {
				t.Errorf("write is %v: WithoutMaps does not call its function", write)
			}
			if lock.TryRLock() == write {
				t.Errorf("write is %v after WithoutMaps: the map can be read: %v", write, write)
			}
			if !write {
				lock.RUnlock()
			}
		}, x)
		if !lock.TryLock() {
			t.Fatalf("write is %v: the map stays locked", write)
		}
		lock.Unlock()
	}
}

// The flag that compiled loops look at is up from shortly after a cell was stopped until a
// moment after it has ended, and is down again once all stopped cells have.
func TestHaltFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Hooks{})
		up := func(want bool, when string) {
			t.Helper()
			synctest.Wait()
			if flag := atomic.LoadUint32(m.Halting()); (flag != 0) != want {
				t.Errorf("%s the flag is %d", when, flag)
			}
		}
		first, second := make(chan struct{}), make(chan struct{})
		go m.halt(first)
		go m.halt(second)
		up(false, "at once")
		time.Sleep(courtesy)
		up(true, "after the courtesy")
		close(first)
		time.Sleep(linger)
		up(true, "while the second cell runs")
		close(second)
		up(true, "for the second cell's goroutines")
		time.Sleep(linger)
		up(false, "after both")
	})
}

// What a panic was called with is described as Go's crash reports do; a method of a cell
// that an assertion misses has the name that the cell gave it.
func TestPanicText(t *testing.T) {
	var missing any
	func() {
		defer func() { missing = recover() }()
		_ = any(1).(interface{ Close() })
	}()
	fields := *(*assertionFields)(unsafe.Pointer(missing.(*runtime.TypeAssertionError)))
	fields.missing = cell.ExportMark + "close"
	type named string
	type count int
	for _, c := range []struct {
		value any
		want  string
	}{
		{missing, "interface conversion: int is not interface { Close() }: missing method Close"},
		{(*runtime.TypeAssertionError)(unsafe.Pointer(&fields)), "interface conversion: int is not interface { Close() }: missing method close"},
		{errors.New("an error"), "an error"},
		{time.Second, "1s"},
		{"a text", "a text"},
		{named("a text"), `vm.named("a text")`},
		{count(7), "vm.count(7)"},
		{7, "7"},
		{nil, "<nil>"},
		{[]int{1}, "([]int) content"},
		{struct{ x int }{1}, "(struct { x int }) content"},
	} {
		if got := PanicText(c.value, func(any) string { return "content" }); got != c.want {
			t.Errorf("%#v: %q, want %q", c.value, got, c.want)
		}
	}
}

// Values of packages that share no objects have no lock, whatever their kind.
func TestNoLocks(t *testing.T) {
	for _, v := range []any{3, "a text", (*int)(nil), new(int), []any{1, new(string)}, map[string]int{}, func() {}, time.Now()} {
		if got := lockOf(nil, reflect.ValueOf(&v).Elem()); len(got) > 0 {
			t.Errorf("%T has the locks %v", v, got)
		}
	}
	if got := lockOf([]int{7}, reflect.Value{}); len(got) != 1 || got[0] != 7 {
		t.Errorf("no value adds to the locks: %v", got)
	}
}
