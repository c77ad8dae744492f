//go:build unix

package problem_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

// counted returns a problem that counts its evaluations.
func counted(name string, d int) (problem.Problem, *atomic.Int64) {
	n := new(atomic.Int64)
	return problem.FromFunc(name, d, func(x []bool) float64 {
		n.Add(1)
		if x[0] && d > 1 && x[1] {
			return math.Inf(-1)
		}
		return ones(x) / 3
	}), n
}

func keep(t *testing.T, p problem.Problem, path string) *problem.Kept {
	t.Helper()
	k, err := problem.Keep(p, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func TestKeepConformance(t *testing.T) {
	for _, d := range []int{1, 65} {
		p, _ := counted("thirds", d)
		problemtest.Run(t, keep(t, problem.Parallel(p, 3), filepath.Join(t.TempDir(), "values")), problemtest.Settings{})
	}
}

// TestKeep checks that a later process evaluates nothing twice, whatever the file's
// last line is, and that damaged lines are evaluated again.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "values")
	x := problem.Random(run.Rand(1, "keep"), 50, 20)
	values := func() []float64 {
		p, n := counted("thirds", 20)
		k := keep(t, p, path)
		before := k.Len()
		v := make([]float64, x.Len())
		if err := k.Evaluate(t.Context(), v, x); err != nil {
			t.Fatal(err)
		}
		if int(n.Load()) != 50-before || k.Len() != 50 {
			t.Errorf("%d evaluations, %d values before, %d after", n.Load(), before, k.Len())
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		return v
	}
	want := fmt.Sprint(values())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole); cut >= 0; cut -= 37 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(values()); got != want {
			t.Fatalf("cut at %d: %s, want %s", cut, got, want)
		}
		again, _ := os.ReadFile(path)
		if string(again) != string(whole) {
			t.Fatalf("cut at %d: the file differs", cut)
		}
	}
	damaged := strings.Replace(string(whole), " 3.", " 4.", 1)
	if damaged == string(whole) {
		t.Fatal("nothing was damaged")
	}
	if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(values()); got != want {
		t.Errorf("with a damaged line: %s, want %s", got, want)
	}
}

func TestKeepErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "values")
	p, _ := counted("a", 5)
	k := keep(t, p, path)
	fails := func(p problem.Problem, path, want string) {
		t.Helper()
		if _, err := problem.Keep(p, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	fails(p, path, "another process, or another Keep of this one, uses the file")
	k.Close()
	if err := k.Evaluate(t.Context(), make([]float64, 1), problem.NewSolutions(1, 5)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	other, _ := counted("b", 5)
	fails(other, path, "it holds values of a of dimension 5, not of b of dimension 5")
	longer, _ := counted("a", 6)
	fails(longer, path, "of dimension 5, not of a of dimension 6")
	foreign := filepath.Join(t.TempDir(), "notes.txt")
	for _, text := range []string{"my notes", "my notes\n"} {
		if err := os.WriteFile(foreign, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fails(p, foreign, "the file holds something else")
		if b, _ := os.ReadFile(foreign); string(b) != text {
			t.Errorf("the file became %q", b)
		}
	}
	fails(p, filepath.Join(foreign, "x"), "cannot be kept")
}

// TestKeepKilled checks that a killed process loses one evaluation a worker at most.
func TestKeepKilled(t *testing.T) {
	const d = 12
	if path := os.Getenv("DACE_TEST_KEEP"); path != "" {
		p := problem.FromFunc("slow", d, func(x []bool) float64 {
			fmt.Println("began")
			time.Sleep(5 * time.Millisecond)
			return ones(x)
		})
		k := keep(t, problem.Parallel(p, 2), path)
		_ = k.Evaluate(context.Background(), make([]float64, 1<<d), problem.Enumerate(d))
		return
	}
	path := filepath.Join(t.TempDir(), "values")
	self, _ := os.Executable()
	cmd := exec.Command(self, "-test.run=^TestKeepKilled$")
	cmd.Env = append(os.Environ(), "DACE_TEST_KEEP="+path)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(400 * time.Millisecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	began := strings.Count(out.String(), "began")
	p, _ := counted("slow", d)
	if kept := keep(t, p, path).Len(); began < 3 || kept < began-2 {
		t.Errorf("%d evaluations began, %d are kept", began, kept)
	}
}

// TestKeepFullDisk checks that a full disk is said, and loses nothing.
func TestKeepFullDisk(t *testing.T) {
	if path := os.Getenv("DACE_TEST_FULL"); path != "" {
		if err := limitFiles(400); err != nil {
			t.Fatal(err)
		}
		p, _ := counted("full", 20)
		k := keep(t, p, path)
		fmt.Println(k.Evaluate(context.Background(), make([]float64, 50), problem.Random(run.Rand(1, "keep"), 50, 20)))
		return
	}
	path := filepath.Join(t.TempDir(), "values")
	self, _ := os.Executable()
	cmd := exec.Command(self, "-test.run=^TestKeepFullDisk$")
	cmd.Env = append(os.Environ(), "DACE_TEST_FULL="+path)
	out, _ := cmd.CombinedOutput()
	p, _ := counted("full", 20)
	n := keep(t, p, path).Len()
	want := fmt.Sprintf("problem full: a value cannot be kept in %s: write %s: file too large; the %d values before it are there: make room, and start again", path, path, n)
	if n < 5 || !strings.Contains(string(out), want) {
		t.Errorf("%s\nwant %s", out, want)
	}
}

// limitFiles lets writes beyond a number of bytes in a file fail, as on a full
// disk.
func limitFiles(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes})
}

func FuzzKeep(f *testing.F) {
	f.Add([]byte("{\"dace_values\":1,\"problem\":\"thirds\",\"dim\":3}\n010 0.3333333333333333 c90dcf41\n"))
	f.Add([]byte("{\"dace_values\":1,\"problem\":\"thirds\",\"dim\":3}\n010 0.33"))
	f.Add([]byte("{\"dace_val"))
	path := filepath.Join(f.TempDir(), "values")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, _ := counted("thirds", 3)
		k, err := problem.Keep(p, path)
		if err != nil {
			return
		}
		if err := k.Evaluate(t.Context(), make([]float64, 8), problem.Enumerate(3)); err != nil {
			t.Fatal(err)
		}
		if k.Len() != 8 {
			t.Errorf("%d values", k.Len())
		}
		k.Close()
		again := keep(t, p, path)
		if again.Len() != 8 {
			t.Errorf("%d values were read", again.Len())
		}
		again.Close()
	})
}
