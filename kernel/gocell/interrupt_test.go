package gocell

import (
	"context"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

// TestInterrupt stops cells of every kind within a second; the session and its
// closures live on.
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
		{"blocking read", "r, _, _ := os.Pipe()\nr.Read(make([]byte, 1))", "background"},
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
			if d := time.Since(at); d > 2*time.Second {
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
