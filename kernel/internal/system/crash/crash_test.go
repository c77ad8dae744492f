package crash

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// ends are errors that end a Go process and cannot be recovered.
var ends = map[string]struct {
	end  func()
	want []string // parts of End.Words; none: Words must be empty
}{
	"stack overflow": {func() { debug.SetMaxStack(1 << 20); sink = make([]byte, deep(0)&1) }, []string{
		"runtime: goroutine stack exceeds ", "-byte limit\n", "fatal error: stack overflow\n", "crash.deep("}},
	"out of memory": {func() {
		limit := syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30}
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
			panic(err)
		}
		sink = make([]byte, 1<<40)
	}, []string{"runtime: out of memory: cannot allocate 1099511627776-byte block", "fatal error: out of memory\n", "crash.init"}},
	"maps": {func() {
		m := map[int]int{}
		for range 4 {
			go func() {
				for i := 0; ; i++ {
					m[i&1023] = i
				}
			}()
		}
		select {}
	}, []string{"fatal error: concurrent map writes\n", "crash.init"}},
	"fault":  {func() { _ = syscall.Kill(os.Getpid(), syscall.SIGABRT); await() }, []string{"SIGABRT: abort"}},
	"panic":  {func() { go panic("boom"); await() }, []string{"panic: boom"}},
	"killed": {func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); await() }, nil},
}

// await waits for the end of the process. Where "select {}" stands alone, the
// runtime finds that all goroutines are asleep, and if it does while a signal
// ends the process, each of the two waits for the other to print (Go 1.26).
func await() { time.Sleep(time.Hour) }

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

// TestMain runs the tests, or, if DACE_TEST_END is set, ends the process in the
// way that it names.
func TestMain(m *testing.M) {
	kind := os.Getenv("DACE_TEST_END")
	if kind == "" {
		os.Exit(m.Run())
	}
	note, _, err := Keep(os.Getenv("DACE_TEST_NOTE"))
	if err != nil {
		panic(err)
	}
	println("fatal error: this is only what a program prints")
	for range 1000 {
		println("and much of it", 1, true)
	}
	note.Doing("In[7], which has a long name")
	note.Doing("In[7]")
	if kind == "well" {
		note.Close()
		note.Doing("nothing")
		note.Close()
		os.Exit(0)
	}
	ends[kind].end()
}

func TestEnds(t *testing.T) {
	for kind, e := range ends {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "connection.json.crash")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), "DACE_TEST_END="+kind, "DACE_TEST_NOTE="+name)
			out, err := cmd.CombinedOutput()
			if ctx.Err() != nil {
				t.Fatalf("the process does not end; it has printed\n%.3000s", out)
			}
			if err == nil {
				t.Fatal("the process ended well")
			}
			if strings.Contains(string(out), "address space collisions for -race mode") {
				t.Skip("the race detector has an end of its own")
			}
			for _, w := range e.want {
				if !strings.Contains(string(out), strings.TrimSuffix(w, "\n")) {
					t.Errorf("standard error has no %q:\n%.3000s", w, out)
				}
			}
			last := read(name)
			if last == nil || last.Doing != "In[7]" || (last.Words == "") != (e.want == nil) {
				t.Fatalf("the note says %+v", last)
			}
			for _, w := range e.want {
				if !strings.Contains(last.Words, w) {
					t.Errorf("no %q in\n%s", w, last.Words)
				}
			}
			if n := strings.Count(last.Words, "\n"); n > 40 || strings.Contains(last.Words, "only what a program prints") {
				t.Errorf("%d lines:\n%s", n, last.Words)
			}
		})
	}
}

func TestEndedWell(t *testing.T) {
	name := filepath.Join(t.TempDir(), "connection.json.crash")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DACE_TEST_END=well", "DACE_TEST_NOTE="+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if last := read(name); last != nil {
		t.Errorf("the note says %+v", last)
	}
}

// TestPlanted checks that Keep neither follows nor reads a link, a pipe or a
// foreign file in the place of the note.
func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	name, victim := filepath.Join(dir, "connection.json.crash"), filepath.Join(dir, "victim")
	for _, plant := range []func() error{
		func() error { return os.Symlink(victim, name) },
		func() error { return os.Symlink(filepath.Join(dir, "none"), name) },
		func() error { return syscall.Mkfifo(name, 0o600) },
		func() error { return os.WriteFile(name, []byte(strings.Repeat("x", 5000)), 0o600) },
		func() error { return os.WriteFile(name, []byte(magic), 0o600) },
	} {
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		note, last, err := Keep(name)
		if err != nil || last != nil {
			t.Fatalf("%v, the note says %+v", err, last)
		}
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
			t.Errorf("the note is %v, %v", info.Mode(), err)
		}
		note.Doing("In[1]")
		note.Close()
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("the victim holds %q, %v", b, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "none")); err == nil {
			t.Error("what a link leads to was made")
		}
	}
	if err := os.MkdirAll(filepath.Join(name, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Keep(name); err == nil {
		t.Error("a folder has become a note")
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"gone.json.crash":    magic + "x",
		"old.json.crash":     fmt.Sprintf("%-16s", "In[12]") + "fatal error",
		"older.json.crash":   fmt.Sprintf("%-16s", ""),
		"there.json.crash":   magic,
		"there.json":         "{}",
		"foreign.json.crash": "what somebody else wrote",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sweep(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := "foreign.json.crash there.json there.json.crash"; strings.Join(got, " ") != want {
		t.Errorf("the folder holds %q, want %s", got, want)
	}
}

// BenchmarkHear measures the additional cost of copying 40 bytes that the
// runtime prints.
func BenchmarkHear(b *testing.B) {
	note, _, err := Keep(filepath.Join(b.TempDir(), "note"))
	if err != nil {
		b.Fatal(err)
	}
	defer note.Close()
	text := []byte(time.Now().String())
	for b.Loop() {
		hear(unsafe.Pointer(&text[0]), len(text))
	}
}
