package gocell

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/system/limits"
)

// TestInterrupt interrupts cells of every kind. Each must stop, and the session and its
// closures must live on.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"loop", "for {\n}", "interrupted at In[2]:1;"},
		{"line of a loop", "for i := 0; ; i++ {\n\tn = i }", "interrupted at In[2]:"},
		{"function", "func spin() {\n\tn++\n\tfor { n++ }\n}\n\nspin()", "interrupted at In[2]:3;"},
		{"closure", "f := func() {\n\tfor { n++ }\n}\nf()", "interrupted at In[2]:2;"},
		{"deferring function", "func spin() {\n\tdefer func() {}()\n\tfor { n++ }\n}\n\nspin()", "interrupted at In[2]:3;"},
		{"loop with calls", "for i := 0; ; i++ {\n\tn = add(i)\n}", "interrupted"},
		{"sleep", "n++\ntime.Sleep(time.Hour)", "interrupted at In[2]:2;"},
		{"channel", "n++\n<-make(chan int)\nn++", "interrupted at In[2]:2;"},
		{"send", "make(chan int) <- 1", "interrupted"},
		{"select", "select {}", "interrupted"},
		{"select of two", "select {\ncase <-make(chan int):\ncase <-make(chan bool):\n}", "interrupted"},
		{"range over a channel", "for range make(chan int) {\n}", "interrupted"},
		{"recursion", "var f func(int) int\nf = func(n int) int { if n == 0 { return 0 }; return f(n-1) + f(n-1) }\nf(60)", "interrupted"},
		{"mutex", "var mu sync.Mutex\nmu.Lock()\nmu.Lock()", "interrupted at In[2]:3, inside a compiled call"},
		{"wait group", "var wg sync.WaitGroup\nwg.Add(1)\nfunc wait() {\n\twg.Wait()\n}\n\nwait()", "interrupted at In[2]:4, inside a compiled call"},
		{"blocking read", "r, w, _ := os.Pipe()\nr.Read(make([]byte, 1))", "interrupted at In[2]:2, inside a compiled call"},
		{"call in a callback", "r, w, _ := os.Pipe()\nsync.OnceFunc(func() {\n\tr.Read(make([]byte, 1))\n})()", "interrupted at In[2]:3, inside a compiled call"},
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
			for wait := 100 * time.Millisecond; ; wait *= 2 {
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				_, err = s.Execute(ctx, engine.Cell{Number: 2, Code: c.code}, discard{})
				cancel()
				// On a busy machine it may come before the cell is where it stays.
				if wait > time.Minute || err == nil || strings.Contains(err.Error(), c.want) {
					break
				}
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

// onOutput calls then when its cell prints.
type onOutput struct {
	discard
	then func()
}

func (o onOutput) Stdout(string) { o.then() }

// TestBackground counts a cell that is left in a compiled call, until it returns.
func TestBackground(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	execute(t, s, 1, "r, w, _ := os.Pipe()\nw.WriteString(`read`)")
	says := func(number int, want string) bool {
		got := runCell(s, number, "%background", time.Minute)
		return strings.Contains(got, " goroutines, ") && strings.Contains(got, want)
	}
	if !says(2, "no interrupted cell") {
		t.Error("before")
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = s.Execute(ctx, engine.Cell{Number: 3, Code: "io.Copy(os.Stdout, r)"}, onOutput{then: cancel})
	if !says(4, "1 interrupted cell is in a compiled call still, since ") {
		t.Error("while it reads")
	}
	execute(t, s, 5, "w.Close()")
	for end := time.Now().Add(time.Minute); !says(6, "no interrupted cell"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("after it")
		}
	}
}

// TestInterruptDrawing interrupts cells that draw a million points: as a value,
// and to a file. What has begun is drawn to its end, for a minute of a processor, and
// would slow the tests after it down.
func TestInterruptDrawing(t *testing.T) {
	if !byItself(t) {
		return
	}
	s := benchSession(t)
	execute(t, s, 1, `xy := make(plotter.XYs, 1000000)
for i := range 1000 { xy[i*999].X, xy[i*999].Y = float64(i), float64(i % 7) }
line, _ := plotter.NewLine(xy)
dots, _ := plotter.NewScatter(xy)
lines, scatter := plot.New(), plot.New()
lines.Add(line, line, line)
scatter.Add(dots, dots)`)
	for i, code := range []string{"lines", "scatter", `lines.Save(300, 200, "/nosuch/x.png")`, `scatter.WriterTo(300, 200, "svg")`} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := s.Execute(ctx, engine.Cell{Number: i + 2, Code: code}, discard{})
		cancel()
		if err == nil || !strings.Contains(err.Error(), engine.Interrupted) || strings.Contains(err.Error(), "background") {
			t.Errorf("%s: got %v, want interrupted", code, err)
		}
	}
}

// TestRunawayAllocation checks that a cell stops when memory runs out. The
// session is told that the machine has 1 GiB in total.
func TestRunawayAllocation(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := benchSession(t)
	const total = 1 << 30
	start := memoryInUse()
	s.machine.Memory = func() []limits.Limit {
		return []limits.Limit{{Name: "the test", Total: total, Available: total - 3*(memoryInUse()-start)}}
	}
	execute(t, s, 1, "n := 3\nvar keep [][]byte")
	got := runCell(s, 2, "for {\n\tkeep = append(keep, make([]byte, 1<<20))\n}", time.Minute)
	if !strings.Contains(got, "the memory of the test") {
		t.Errorf("got %s", got)
	}
	if got := strings.TrimSpace(runCell(s, 3, "keep = nil\nn", time.Minute)); got != "= 3" {
		t.Errorf("after it: %s", got)
	}
}

// TestManyCells runs many cells and checks that the heap does not grow: cells
// that have run must leave nothing behind.
func TestManyCells(t *testing.T) {
	if !byItself(t) {
		return
	}
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

// byItself reports whether this process runs nothing but the test. If not, it runs
// the test in a process of its own: what goroutines of earlier tests allocate
// would count as the test's, and what it leaves running ends with it.
func byItself(t *testing.T) bool {
	const child = "GOCELL_ALONE"
	if os.Getenv(child) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// memoryInUse returns the bytes of the heap's objects and the goroutines' stacks.
func memoryInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func heapMB() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
