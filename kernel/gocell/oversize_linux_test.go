package gocell

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/internal/system/limits"
)

// oversizedChild is set for the process that runs the cells of TestOversized.
const oversizedChild = "GOCELL_OVERSIZED"

// TestOversized runs the cells of testdata/oversized.txt, one a line, each of
// which allocates more memory than there is. They run in a process of their own
// with a limit of address space: none may end it, each must name what is too
// large and how much memory there is, and the session must live on.
func TestOversized(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceDetector {
		t.Skip("needs a limit of address space, and the detector takes terabytes of it")
	}
	inChild(t, oversized)
}

// TestRunaway runs cells that use up the memory step by step, each until it is
// stopped, in a process with a limit of address space.
func TestRunaway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	inChild(t, runaway)
}

// inChild runs the rest of a test in a process of its own.
func inChild(t *testing.T, rest func(t *testing.T), flags ...string) {
	if os.Getenv(oversizedChild) != "" {
		rest(t)
		return
	}
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^" + t.Name() + "$", "-test.v"}, flags...)...)
	cmd.Env = append(os.Environ(), oversizedChild+"=1")
	out, err := cmd.CombinedOutput()
	if len(out) > 20000 {
		out = append(out[:10000:10000], out[len(out)-10000:]...)
	}
	if err != nil || !strings.Contains(string(out), " cells ended") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// limitSpace sets the limit of address space to so many bytes more than are
// used. It reports false where it cannot.
func limitSpace(t *testing.T, more uint64) bool {
	if raceDetector {
		return false
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var pages int
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		t.Fatal(err)
	}
	limit := uint64(pages*os.Getpagesize()) + more
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	return true
}

// runToEnd runs a cell and returns its error's text.
func runToEnd(t *testing.T, s *Session, number int, code string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	fmt.Println(number, code) // the last one is what ended the process
	_, err := s.Execute(ctx, engine.Cell{Number: number, Code: code}, &enginetest.Recorder{})
	if e, ok := err.(*engine.Error); ok {
		return enginetest.Plain(e.Text())
	}
	return fmt.Sprint(err)
}

func oversized(t *testing.T) {
	limitSpace(t, 3<<30)
	f, err := os.Open("testdata/oversized.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := benchSession(t)
	execute(t, s, 1, "kept := 0\nvar dst []float64\ntype zeros struct{}\nfunc (zeros) Read(b []byte) (int, error) { return len(b), nil }")
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		code := strings.TrimSpace(lines.Text())
		if code == "" || strings.HasPrefix(code, "#") {
			continue
		}
		n++
		text := runToEnd(t, s, n+1, "kept++\n"+code)
		if !strings.Contains(text, "out of memory: ") || !strings.Contains(text, " are available") || !strings.Contains(text, fmt.Sprintf("In[%d]:", n+1)) {
			t.Errorf("%s\n%s", code, text)
		}
	}
	if got := strings.TrimSpace(runCell(s, n+2, "kept > 150", time.Minute)); got != "= true" {
		t.Errorf("the state after them: %s", got)
	}
	fmt.Println(n, "cells ended")
}

func runaway(t *testing.T) {
	s := benchSession(t)
	limited := limitSpace(t, 1<<29)
	if !limited {
		before := memoryInUse()
		s.machine.Memory = func() []limits.Limit {
			return []limits.Limit{{Name: "the test", Total: 1 << 29, Available: max(0, 1<<29-memoryInUse()+before)}}
		}
	}
	execute(t, s, 1, "kept := 41\ntype node struct { next *node; b [1000]byte }")
	list := []string{
		"var keep [][]byte\nfor { keep = append(keep, make([]byte, 1<<16)) }",
		"s := []int{1}\nfor { s = append(s, s...) }",
		"s := make([]float64, 1<<20)\nt := s\nfor { t = append(t, s...) }",
		"m := map[int][1024]byte{}\nfor i := 0; ; i++ { m[i] = [1024]byte{} }",
		"m := map[string]string{}\nfor i := 0; ; i++ { m[fmt.Sprint(i)] = strings.Repeat(\"x\", 10000) }",
		"s := \"x\"\nfor { s += s }",
		"s := \"xyz\"\nfor { s = s + s + \"y\" }",
		"var b strings.Builder\nb.WriteString(\"x\")\nfor { b.WriteString(b.String()) }",
		"b := bytes.NewBufferString(\"x\")\nfor { b.Write(b.Bytes()) }",
		"for { go func() { select {} }() }",
		"c := make(chan int)\nfor i := 0; ; i++ { go func() { c <- i }() }",
		"var l *node\nfor { l = &node{next: l} }",
		"s := []byte{1}\nfor { s = slices.Concat(s, s) }",
		"s := []int{1}\nfor { s = slices.Insert(s, 0, s...) }",
		"s := \"x\"\nfor { s = strings.Join([]string{s, s}, \"\") }",
	}
	if !limited { // the race detector is slow
		list = []string{list[0], list[1], list[5]}
	}
	for i, code := range list {
		text := runToEnd(t, s, i+2, "kept++\nfunc() {\n"+code+"\n}()")
		if !strings.Contains(text, "out of memory: ") && !strings.Contains(text, "is nearly used up") {
			t.Errorf("%s\n%s", code, text)
		}
	}
	if got, want := strings.TrimSpace(runCell(s, 100, "kept", time.Minute)), fmt.Sprint("= ", 41+len(list)); got != want {
		t.Errorf("the state after them: %s, want %s", got, want)
	}
	fmt.Println(len(list), "cells ended")
}

// BenchmarkGrow measures the steps that compare what they allocate with the
// memory, on small values.
func BenchmarkGrow(b *testing.B) {
	for name, code := range map[string]string{
		"append":  "s := make([]int, 0, 8)\nfor i := range 100000 {\n\ts = append(s[:0], i)\n}",
		"concat":  "x, y := \"a\", \"b\"\nz := \"\"\nfor range 100000 {\n\tz = x + y\n}\n_ = z",
		"convert": "x := \"abc\"\nn := 0\nfor range 100000 {\n\tn += len([]byte(x))\n}",
		"library": "x := \"ab\"\nfor range 100000 {\n\tx = strings.Repeat(\"x\", 2)\n}\n_ = x",
	} {
		b.Run(name, func(b *testing.B) {
			s := benchSession(b)
			for i := range b.N {
				execute(b, s, i+1, "func() {\n"+code+"\n}()")
			}
		})
	}
}
