//go:build unix

package problem_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

// The test binary is a program that answers, by the variable DACE_TEST_PROGRAM.
func TestMain(m *testing.M) {
	if kind := os.Getenv("DACE_TEST_PROGRAM"); kind != "" {
		answer(kind)
		return
	}
	os.Exit(m.Run())
}

// answer is the program of a kind; every line is answered with its number of ones.
func answer(kind string) {
	buf := make([]byte, 0, 1<<16)
	room := make([]byte, 1)
	asked := 0
	for {
		n, err := os.Stdin.Read(room)
		if err != nil || n == 0 {
			return
		}
		if room[0] != '\n' {
			buf = append(buf, room[0])
			continue
		}
		asked++
		ones := strings.Count(string(buf), "1")
		x := string(buf)
		buf = buf[:0]
		switch kind {
		case "crash once in five":
			if asked == 5 {
				fmt.Fprintln(os.Stderr, "out of luck")
				os.Exit(3)
			}
		case "crash":
			if ones == 3 {
				fmt.Fprintln(os.Stderr, "Traceback: three ones")
				os.Exit(3)
			}
		case "hang":
			if ones == 3 {
				time.Sleep(time.Hour)
			}
		case "words":
			fmt.Println("the value is", ones)
			continue
		case "two":
			fmt.Printf("%d\n%d\n", ones, ones)
			continue
		case "nan":
			fmt.Println("nan")
			continue
		case "empty": // for an odd number of ones
			if ones%2 == 1 {
				fmt.Println()
				continue
			}
		case "before": // and behind
			fmt.Printf("\n%d\n\n", ones)
			continue
		case "behind": // in two writes
			fmt.Println(ones)
			time.Sleep(time.Millisecond)
			fmt.Println()
			continue
		case "late":
			fmt.Println(ones)
			time.Sleep(20 * time.Millisecond)
			fmt.Println("and more")
			continue
		case "one":
			fmt.Print(ones)
			return
		case "pid":
			fmt.Println(os.Getpid())
			continue
		case "sum": // of the ones and the seed
			bits, seed, _ := strings.Cut(x, " ")
			n, err := strconv.ParseInt(seed, 10, 64)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(strings.Count(bits, "1") + int(n%100))
			continue
		case "constrained":
			fmt.Println(ones, ones-2)
			continue
		case "inf":
			if x[0] == '1' {
				fmt.Println("-inf")
				continue
			}
		case "child": // leaves a process that holds its output open
			c := exec.Command("sleep", "1000")
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			_ = c.Start()
			fmt.Fprintln(os.Stderr, c.Process.Pid)
			time.Sleep(time.Hour)
		}
		fmt.Println(ones)
	}
}

func program(t *testing.T, kind string, d int, p problem.Program) problem.Problem {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.Args, p.Env = []string{self}, append(p.Env, "DACE_TEST_PROGRAM="+kind, "GORACE=atexit_sleep_ms=0")
	q := p.Problem(kind, d)
	t.Cleanup(func() { problem.Release(q) })
	return q
}

func TestCommandConformance(t *testing.T) {
	for _, d := range []int{1, 65, 5000} {
		problemtest.Run(t, program(t, "ones", d, problem.Program{}), problemtest.Settings{Solutions: 8})
	}
}

func TestCommandValues(t *testing.T) {
	x := problem.Random(run.Rand(1, "command"), 23, 10)
	for _, kind := range []string{"ones", "crash once in five", "one", "inf", "before", "behind"} {
		for _, workers := range []int{1, 3} {
			p := program(t, kind, 10, problem.Program{Workers: workers})
			got := make([]float64, x.Len())
			if err := p.Evaluate(t.Context(), got, x); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			for i, v := range got {
				want := float64(x.Ones(i))
				if kind == "inf" && x.At(i, 0) {
					want = math.Inf(-1)
				}
				if v != want {
					t.Errorf("%s: %v of %v, want %v", kind, v, x.Slice(i, i+1), want)
				}
			}
		}
	}
}

// TestCommandAnswers checks programs that take seeds or answer with a violation.
func TestCommandAnswers(t *testing.T) {
	x := problem.Pack([]bool{true, true, false}, []bool{true, true, true}, []bool{false, false, false})
	v := make([]float64, 3)
	p := program(t, "constrained", 3, problem.Program{Constrained: true, Worst: -5})
	if err := p.Evaluate(t.Context(), v, x); err != nil || fmt.Sprint(v) != "[2 -6 0]" {
		t.Errorf("%v, %v", v, err)
	}
	p = program(t, "constrained", 3, problem.Program{Constrained: true, Worst: 1})
	if err := p.Evaluate(t.Context(), v, x); err == nil || !strings.Contains(err.Error(), "gave the feasible value 0, below Worst, 1") {
		t.Error(err)
	}
	p = program(t, "constrained", 3, problem.Program{Workers: 1}) // the first solution's error is the first
	if err := p.Evaluate(t.Context(), v, x); err == nil || !strings.Contains(err.Error(), `wrote "2 0" where a value is expected`) {
		t.Error(err)
	}
	p = program(t, "sum", 3, problem.Program{Seeds: true})
	if err := p.Evaluate(t.Context(), v, x); err != nil || fmt.Sprint(v) != "[2 3 0]" {
		t.Errorf("with the seed 0: %v, %v", v, err)
	}
	if err := p.(problem.Seeded).EvaluateSeeded(t.Context(), v, x, []uint64{2, 4, 1<<64 - 1}); err != nil || fmt.Sprint(v) != "[3 5 7]" {
		t.Errorf("%v, %v", v, err) // 2^63 - 1 ends with 07
	}
	q := problem.Noisy(p, problem.Noise{Repeats: 3})
	if err := q.Evaluate(t.Context(), v, x); err != nil || math.Abs(v[1]-v[0]-1) > 1e-9 {
		t.Errorf("with common random numbers %v, %v", v, err)
	}
}

func TestCommandErrors(t *testing.T) {
	three := []bool{true, true, true, false}
	for _, c := range []struct {
		kind string
		p    problem.Program
		want string
	}{
		{"crash", problem.Program{}, "1110: PROGRAM ended without a value (exit status 3), and so it did when it was started again; the end of its standard error:\n\tTraceback: three ones"},
		{"hang", problem.Program{Timeout: 50 * time.Millisecond}, "PROGRAM gave no value within 50ms: it took too long"},
		{"words", problem.Program{}, `PROGRAM wrote "the value is 3" where a value is expected`},
		{"two", problem.Program{}, `PROGRAM wrote "3" and more`},
		{"nan", problem.Program{}, "PROGRAM gave NaN"},
		{"empty", problem.Program{}, "1110: PROGRAM wrote an empty line where a value is expected"},
	} {
		p := program(t, c.kind, 4, c.p)
		_, err := problem.Value(t.Context(), p, three)
		self, _ := os.Executable()
		if want := strings.ReplaceAll(c.want, "PROGRAM", self); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", c.kind, err, want)
		}
	}
	for _, kind := range []string{"crash", "hang"} {
		p := program(t, kind, 4, problem.Program{Timeout: 200 * time.Millisecond, Infeasible: true})
		if v, err := problem.Value(t.Context(), p, three); err != nil || !math.IsInf(v, -1) {
			t.Errorf("%s: %v, %v, want -Inf", kind, v, err)
		}
	}
	_, err := problem.Value(t.Context(), problem.Command("p", 3, "no-such-program-as-this"), three[:3])
	if err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("no program: %v", err)
	}
	// An empty line is no answer behind values, either.
	q := program(t, "empty", 4, problem.Program{Workers: 1})
	if v, err := problem.Value(t.Context(), q, []bool{true, true, false, false}); err != nil || v != 2 {
		t.Error(v, err)
	}
	if _, err := problem.Value(t.Context(), q, three); err == nil || !strings.Contains(err.Error(), "wrote an empty line") {
		t.Errorf("an empty line behind values: %v", err)
	}
	// A line too many is seen with the next solution at the latest.
	p := program(t, "late", 4, problem.Program{Workers: 1})
	if _, err := problem.Value(t.Context(), p, three); err != nil {
		t.Error(err)
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := problem.Value(t.Context(), p, three); err == nil || !strings.Contains(err.Error(), `wrote "and more" without being asked`) {
		t.Errorf("a late line: %v", err)
	}
}

// TestCommandKept checks that a program is kept for later batches, and ended by
// Release.
func TestCommandKept(t *testing.T) {
	p := program(t, "pid", 3, problem.Program{Workers: 1})
	pids := map[float64]bool{}
	for range 5 {
		v, err := problem.Value(t.Context(), p, []bool{true, false, true})
		if err != nil {
			t.Fatal(err)
		}
		pids[v] = true
	}
	if len(pids) != 1 {
		t.Fatalf("processes %v, want one", pids)
	}
	problem.Release(p)
	for pid := range pids {
		gone(t, int(pid))
	}
}

// gone waits until there is no process.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(b), ") Z ") {
			return // its parent, a container's first process, has not waited for it
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d runs on", pid)
}

// TestCommandInterrupt checks that an interrupt and a time-out end a program with
// what it has started.
func TestCommandInterrupt(t *testing.T) {
	for _, timeout := range []time.Duration{0, 300 * time.Millisecond} {
		p := program(t, "child", 2, problem.Program{Workers: 1, Timeout: timeout})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if timeout > 0 {
			ctx = t.Context()
		}
		begun := time.Now()
		_, err := problem.Value(ctx, p, []bool{true, true})
		cancel()
		if timeout == 0 && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an interrupt: %v", err)
		}
		if d := time.Since(begun); d > 5*time.Minute { // the program's child sleeps for longer
			t.Errorf("it ended after %v", d)
		}
		if timeout > 0 {
			_, last, _ := strings.Cut(err.Error(), "standard error:\n\t")
			pid, err := strconv.Atoi(last)
			if err != nil {
				t.Fatalf("no process in %q", last)
			}
			gone(t, pid)
		}
	}
}

// TestCommandKilled checks that programs end with this process, however it ends.
func TestCommandKilled(t *testing.T) {
	if os.Getenv("DACE_TEST_PARENT") != "" {
		p := problem.Command("child", 2, "/bin/sh", "-c", "echo $$ >"+os.Getenv("DACE_TEST_PARENT")+"; sleep 1000")
		_, _ = problem.Value(t.Context(), p, []bool{true, true})
		return
	}
	file := filepath.Join(t.TempDir(), "pid")
	self, _ := os.Executable()
	parent := exec.Command(self, "-test.run=^TestCommandKilled$")
	parent.Env = append(os.Environ(), "DACE_TEST_PARENT="+file)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for range 500 {
		b, _ := os.ReadFile(file)
		if pid, _ = strconv.Atoi(strings.TrimSpace(string(b))); pid > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if pid == 0 {
		t.Fatal("the program was not started")
	}
	time.Sleep(50 * time.Millisecond) // KillWithParent is called after the start
	_ = parent.Process.Kill()
	_ = parent.Wait()
	gone(t, pid)
}

// TestCommandExamples runs the programs of Command's documentation.
func TestCommandExamples(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	source, err := os.ReadFile("command.go")
	if err != nil {
		t.Fatal(err)
	}
	example := func(after string) string {
		_, text, ok := strings.Cut(string(source), "// "+after+":\n//\n")
		if !ok {
			t.Fatalf("no example %q", after)
		}
		var b strings.Builder
		for line := range strings.Lines(text) {
			line, ok := strings.CutPrefix(line, "//\t")
			if !ok {
				break
			}
			b.WriteString(line)
		}
		return b.String()
	}
	for _, c := range []struct {
		needs, what string
		argv        func() []string
	}{
		{"python3", "In Python", func() []string { return []string{"python3", write("ones.py", example("In Python"))} }},
		{"sh", "In a shell", func() []string { return []string{"sh", write("ones.sh", example("In a shell"))} }},
		{"cc", "In C", func() []string {
			c := write("ones.c", "#include <stdio.h>\nint main(void) {\n"+example("In C")+"return 0; }\n")
			to := filepath.Join(dir, "ones")
			if out, err := exec.Command("cc", "-o", to, c).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return []string{to}
		}},
	} {
		t.Run(c.needs, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skip(c.needs, "is not here")
			}
			p := problem.Command("ones", 70, c.argv()...)
			defer problem.Release(p)
			x := problem.Random(run.Rand(2, "command"), 6, 70)
			got := make([]float64, x.Len())
			if err := p.Evaluate(t.Context(), got, x); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if v != float64(x.Ones(i)) {
					t.Errorf("%v of %v", v, x.Slice(i, i+1))
				}
			}
		})
	}
}

func TestFromContext(t *testing.T) {
	calls := atomic.Int64{}
	mine := errors.New("the licence server is down")
	p := problem.FromContext("mine", 4, func(ctx context.Context, x []bool) (float64, error) {
		calls.Add(1)
		switch ones(x) {
		case 3:
			return 0, mine
		case 2:
			<-ctx.Done()
			return 0, fmt.Errorf("cut off: %w", ctx.Err())
		}
		return ones(x), nil
	})
	if _, err := problem.Value(t.Context(), p, []bool{true, true, true, false}); !errors.Is(err, mine) || !strings.Contains(err.Error(), "problem mine: solution 1 of 1, 1110: the licence server is down") {
		t.Errorf("an error: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := problem.Value(ctx, p, []bool{true, true, false, false}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an interrupt: %v", err)
	}
	if v, err := problem.Value(t.Context(), p, []bool{true, false, false, false}); v != 1 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	problemtest.Run(t, problem.FromContext("ones", 9, func(_ context.Context, x []bool) (float64, error) { return ones(x), nil }), problemtest.Settings{})
}

// BenchmarkCommand measures one solution, asked of one program.
func BenchmarkCommand(b *testing.B) {
	self, _ := os.Executable()
	p := problem.Program{Args: []string{self}, Env: []string{"DACE_TEST_PROGRAM=ones"}, Workers: 1}.Problem("ones", 40)
	defer problem.Release(p)
	x := problem.Random(run.Rand(2, "command"), 1, 40)
	dst := make([]float64, 1)
	for b.Loop() {
		if err := p.Evaluate(b.Context(), dst, x); err != nil {
			b.Fatal(err)
		}
	}
}
