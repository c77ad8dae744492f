package gocell

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

// TestInterrupt stops cells of every kind, within a second but for a busy
// machine; the session and its closures live on.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"loop", "for {\n}", "interrupted"},
		{"loop with calls", "for i := 0; ; i++ {\n\tn = add(i)\n}", "interrupted"},
		{"sleep", "time.Sleep(time.Hour)", "interrupted"},
		{"channel", "<-make(chan int)", "interrupted"},
		{"send", "make(chan int) <- 1", "interrupted"},
		{"select", "select {}", "interrupted"},
		{"select of two", "select {\ncase <-make(chan int):\ncase <-make(chan bool):\n}", "interrupted"},
		{"range over a channel", "for range make(chan int) {\n}", "interrupted"},
		{"recursion", "var f func(int) int\nf = func(n int) int { if n == 0 { return 0 }; return f(n-1) + f(n-1) }\nf(60)", "interrupted"},
		{"mutex", "var mu sync.Mutex\nmu.Lock()\nmu.Lock()", "background"},
		{"wait group", "var wg sync.WaitGroup\nwg.Add(1)\nwg.Wait()", "background"},
		{"blocking read", "r, w, _ := os.Pipe()\nr.Read(make([]byte, 1))", "background"},
		{"context", "<-ctx.Done()\nn = 5", "interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(Options{KeepStdio: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			execute(t, s, 1, "n := 3\nadd := func(i int) int { return n + i }")
			ctx, cancel := context.WithCancel(context.Background())
			var at time.Time
			go func() {
				time.Sleep(100 * time.Millisecond)
				at = time.Now()
				cancel()
			}()
			_, err = s.Execute(ctx, engine.Cell{Number: 2, Code: c.code}, discard{})
			if d := time.Since(at); d > 10*time.Second {
				t.Errorf("stopped after %v", d)
			}
			if err == nil || !strings.Contains(err.Error(), engine.Interrupted) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			execute(t, s, 3, "n = 4")
			if got := strings.TrimSpace(runCell(s, 4, "add(1)", time.Minute)); got != "= 5" {
				t.Errorf("a closure made before: %s", got)
			}
		})
	}
}

// TestRunawayAllocation stops a cell when memory runs out, here of a machine
// that seems to have little.
func TestRunawayAllocation(t *testing.T) {
	s := benchSession(t)
	const total = 1 << 30
	start := heapMB()
	s.memory = func() (int64, int64) { return total - 3*int64(heapMB()-start)<<20, total }
	execute(t, s, 1, "n := 3\nvar keep [][]byte")
	got := runCell(s, 2, "for {\n\tkeep = append(keep, make([]byte, 1<<20))\n}", time.Minute)
	if !strings.Contains(got, "memory is nearly used up") {
		t.Errorf("got %s", got)
	}
	if got := strings.TrimSpace(runCell(s, 3, "keep = nil\nn", time.Minute)); got != "= 3" {
		t.Errorf("after it: %s", got)
	}
}

// TestManyCells runs many cells: what has run leaves nothing behind.
func TestManyCells(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, "func f(x int) int { return x + 1 }\nx := 1\nfmt.Sprint(x)")
	before := heapMB()
	const cells = 1000
	for i := range cells {
		execute(t, s, i+2, "y := f(x)\nx = y % 100\nfmt.Sprint(x)")
	}
	if grown := heapMB() - before; grown > 50.0*cells/10000 {
		t.Errorf("%d cells grew the heap by %.1f MB", cells, grown)
	}
	runtime.KeepAlive(s)
}

func heapMB() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
