package cli

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/echo"
	"dace.local/kernel/internal/system/crash"
)

// words collects the text that an engine writes.
type words struct {
	engine.Outputs
	text strings.Builder
}

func (w *words) Stdout(s string) { w.text.WriteString(s) }
func (w *words) Stderr(s string) { w.text.WriteString(s) }

// fatal is an engine whose cells end the process in ways that recover cannot
// stop.
type fatal struct{ engine.Engine }

func (fatal) Execute(_ context.Context, cell engine.Cell, _ engine.Outputs) (engine.Result, error) {
	switch cell.Code {
	case "map":
		m := map[int]int{}
		for range 4 {
			go func() {
				for i := 0; ; i++ {
					m[i&1023] = i
				}
			}()
		}
	case "memory":
		limit := syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30}
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
			panic(err)
		}
		sink = make([]byte, 1<<40)
	case "stack":
		debug.SetMaxStack(1 << 20)
		sink = make([]byte, deep(0)&1)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang up":
		_ = syscall.Kill(os.Getpid(), syscall.SIGHUP)
	case "abort":
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
	case "panic":
		go panic("boom")
	case "fault":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
	}
	select {}
}

var sink []byte

// deep recurses until the stack overflows.
//
//go:noinline
func deep(n int) int {
	if n < 0 {
		return 0
	}
	return deep(n+1) + 1
}

// TestMain runs a crashing kernel instead of the tests if the environment asks
// for it.
func TestMain(m *testing.M) {
	if file := os.Getenv("DACE_TEST_CRASH"); file != "" {
		eng, _ := keepCrash(file, fatal{echo.New()})
		_, _ = eng.Execute(context.Background(), engine.Cell{Number: 7, Code: os.Getenv("DACE_TEST_CELL")}, nil)
	}
	os.Exit(m.Run())
}

// The first cell of the next kernel says, once, how a crashed kernel ended.
func TestCrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "connection.json")
	run := func(number int) string {
		t.Helper()
		eng, over := keepCrash(file, echo.New())
		defer over()
		w := &words{}
		for _, silent := range []bool{true, false} {
			if _, err := eng.Execute(context.Background(), engine.Cell{Number: number, Code: "1", Silent: silent}, w); err != nil {
				t.Fatal(err)
			}
		}
		first := w.text.String()
		w.text.Reset()
		if _, err := eng.Execute(context.Background(), engine.Cell{Number: number, Code: "1"}, w); err != nil {
			t.Fatal(err)
		}
		if w.text.Len() > 0 {
			t.Errorf("said twice: %s", w.text.String())
		}
		return first
	}
	if got := run(1); got != "" {
		t.Errorf("a first kernel says: %s", got)
	}
	// A child of a process that handles a signal does not ignore it, not even under nohup.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, c := range []struct {
		cell string
		want []string
	}{
		{"map", []string{"Two goroutines used one map at a time", "fatal error: concurrent map writes\n"}},
		{"memory", []string{"The kernel ran out of memory", "runtime: out of memory: cannot allocate 1099511627776-byte block"}},
		{"stack", []string{"The kernel's stack was full", "runtime: goroutine stack exceeds 1048576-byte limit\n", "cli.deep("}},
		{"kill", []string{"The kernel was ended", "SIGKILL"}},
		{"hang up", []string{"The kernel was ended", "SIGHUP"}},
		{"abort", []string{"it could start no more threads", "SIGABRT"}},
		{"panic", []string{"A goroutine of compiled code panicked", "panic: boom"}},
		{"fault", []string{"The kernel", "SIGSEGV"}},
	} {
		kernel := exec.Command(os.Args[0])
		kernel.Env = append(os.Environ(), "DACE_TEST_CRASH="+file, "DACE_TEST_CELL="+c.cell)
		out, err := kernel.CombinedOutput()
		if err == nil {
			t.Fatalf("%s: the kernel lives", c.cell)
		}
		if strings.Contains(string(out), "address space collisions for -race mode") {
			c.want = nil // the race detector ends the process in its own way
		}
		got := run(1)
		for _, want := range append(c.want, " while In[7] ran", "run the cells again.\n") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in:\n%s", c.cell, want, got)
			}
		}
	}
	if got := run(1); got != "" {
		t.Errorf("after an orderly end: %s", got)
	}
	if _, err := os.Stat(file + ".crash"); !os.IsNotExist(err) {
		t.Errorf("the note is left: %v", err)
	}
}

func TestLastEnd(t *testing.T) {
	for _, c := range []struct {
		end   crash.End
		kills int64
		want  string
	}{
		{crash.End{}, 3, ""}, // no cell was running, so there is nothing to report
		{crash.End{Doing: "In[2] kills=3"}, 4, "The kernel was killed while In[2] ran: the memory was used up ("},
		{crash.End{Doing: "In[2] kills=3"}, 3, "The kernel was ended while In[2] ran by a signal from outside (SIGKILL, SIGTERM or SIGHUP), or its connections were closed; the system has not killed it"},
		{crash.End{Doing: "In[2] kills=-1"}, -1, "The kernel was ended while In[2] ran by a signal (SIGKILL, SIGTERM or SIGHUP), or its connections were closed. Where memory is short"},
		{crash.End{Doing: "In[2] kills=3", Words: "runtime: program exceeds 10000-thread limit\nfatal error: thread exhaustion\n\nx"}, 3, "More than 10,000 goroutines were in system calls that block"},
		{crash.End{Doing: "In[5] kills=3 C=In[4]", Words: "SIGSEGV: segmentation violation\nPC=0x7f1b14e15c12 m=0 sigcode=1 addr=0x0\nsignal arrived during cgo execution\n\ngoroutine 13 gp=0x11 m=0 mp=0x51 [syscall]:\nruntime.cgocall(0x7f, 0x11)\n\t/go/src/runtime/cgocall.go:167 +0x56\ndace.local/cells/cc656e693ea0c80069f1d._Cfunc_deref(0x0)\n\t_cgo_gotypes.go:48 +0x49\ndace.local/cells/cc656e693ea0c80069f1d.read()\n\tc0.go:6 +0x1b"}, 3,
			"The C function deref, which read calls in line 6 of its cell (C was in In[4]), failed (SIGSEGV: segmentation violation) and ended the kernel while In[5] ran."},
		{crash.End{Words: "fatal error: x\n\nmain.f() // out of memory"}, 0, "The kernel has ended. What the session declared is gone, run the cells again.\nIts last words:\n    fatal error: x\n"},
	} {
		if got := lastEnd(c.end, c.kills); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: %s, want %s", c.end, got, c.want)
		}
	}
}
