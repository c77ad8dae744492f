package gocell

import (
	"context"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestDebugEarlier stops in functions and methods of cells that ran before a client
// debugged.
func TestDebugEarlier(t *testing.T) {
	const earlier = `type T struct{ n int }
func (t T) Get() int {
	return t.n
}
type I interface{ Get() int }
func twice(n int) int {
	m := 2 * n
	return m
}
func of[E int | float64](x E) E {
	return x + 1
}
var i I = T{5}
i.Get() + twice(2) + of(1)`
	c := newDebugClient(t, earlier)
	c.breakAt(earlier, line(3), line(8), line(11))
	c.start(t.Context(), "i.Get() + twice(4) + of(7)")
	for _, want := range []struct{ stack, locals string }{
		{"T.Get:3 main:1", "t T = T{n: 5}"}, {"twice:8 main:1", "n int = 4; m int = 8"}, {"of[int]:11 main:1", "x E = 7"},
	} {
		c.wait("breakpoint")
		c.want("stack", c.stack(), want.stack)
		c.want("locals", c.locals(0), want.locals)
		c.go_("continue")
	}
	if err := c.ended(); err != nil {
		t.Error(err)
	}
}

// TestInterruptKinds interrupts loops of all kinds, and waits.
func TestInterruptKinds(t *testing.T) {
	s, err := New(Options{KeepStdio: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	number := 0
	for _, code := range []string{
		"for {}", "for i := 0; ; i++ {}", "for range 1 << 62 {}", "L: goto L", "for { func() { defer func() { recover() }(); for {} }() }",
		"func f(n int) int { if n == 0 { return 0 }; return f(n-1) + f(n-1) }\nf(100)", "select {}", "<-make(chan int)", "make(chan int) <- 1",
		"var mu sync.Mutex\nfor { mu.Lock(); mu.Unlock() }", "for { strings.ToUpper(\"a\") }", "for x := range func(yield func(int) bool) { for yield(1) {} } { _ = x }",
		"sort.Slice(make([]int, 9), func(i, j int) bool { for {}; return false })", "time.Sleep(time.Hour)", "c := make(chan int)\ngo func() { for { c <- 1 } }()\nfor range c {}",
	} {
		number++
		ctx, cancel := context.WithCancel(t.Context())
		var out enginetest.Recorder
		done := make(chan error, 1)
		go func() {
			_, err := s.Execute(ctx, engine.Cell{Number: number, Code: code}, &out)
			done <- err
		}()
		for begun := false; !begun; begun = s.running() {
			time.Sleep(time.Millisecond)
		}
		cancel()
		err := <-done
		if e, ok := err.(*engine.Error); !ok || e.Name != engine.Interrupted || !strings.HasSuffix(e.Message, "; what it did up to there is kept") && e.Message != "the cell was interrupted before it began" {
			t.Errorf("%s: %v", code, err)
		}
	}
}
