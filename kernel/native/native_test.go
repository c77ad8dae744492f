package native_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell"
	"dace.local/kernel/native"
)

// screen keeps what cells show.
type screen struct {
	mu       sync.Mutex
	out, err strings.Builder
}

func (s *screen) Stdout(t string)               { s.mu.Lock(); s.out.WriteString(t); s.mu.Unlock() }
func (s *screen) Stderr(t string)               { s.mu.Lock(); s.err.WriteString(t); s.mu.Unlock() }
func (s *screen) Display(engine.Bundle, string) {}
func (s *screen) Update(engine.Bundle, string)  {}
func (s *screen) Clear(bool)                    {}
func (s *screen) Comm(engine.CommMessage) error { return nil }
func (s *screen) Input(context.Context, string, bool) (string, error) {
	return "", engine.ErrNoInput
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// run returns all that a cell shows: its output, what it wrote to standard
// error, its value, its error.
func run(ctx context.Context, s *gocell.Session, number int, code string) string {
	w := &screen{}
	res, err := s.Execute(ctx, engine.Cell{Number: number, Code: code}, w)
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.out.String()
	line := func(s string) {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += s
	}
	if e := strings.TrimSpace(strings.ReplaceAll(w.err.String(), "%%compile: the toolchain compiles the packages that the cell imports; it does so once\n", "")); e != "" {
		line("stderr: " + e)
	}
	if v, ok := res.Value.Data["text/plain"].(string); ok {
		line("= " + v)
	}
	var e *engine.Error
	if errors.As(err, &e) {
		line(e.Name + "\n" + e.Text())
	} else if err != nil {
		line("engine: " + err.Error())
	}
	return strings.TrimSpace(colour.ReplaceAllString(text, ""))
}

func session(tb testing.TB, c gocell.Compiler) *gocell.Session {
	tb.Helper()
	_, bench := tb.(*testing.B)
	s, err := gocell.New(gocell.Options{Compiler: c, KeepStdio: bench})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// ready returns a loader with an empty cache. Where nothing can be compiled
// the test is skipped, or fails where DACE_REQUIRE_CLIENTS=1.
func ready(tb testing.TB) *native.Loader {
	tb.Helper()
	l := &native.Loader{Cache: tb.TempDir()}
	if err := l.Ready(); err != nil {
		if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	return l
}

// cells lists cells and all that each shows; what begins with ~ need only be
// part of it.
var cells = []struct {
	name  string
	steps [][2]string
}{
	{"a function", [][2]string{
		{"%%compile\nfunc ones(x []bool) float64 {\n\tn := 0.0\n\tfor _, b := range x {\n\t\tif b {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}", ""},
		{"ones([]bool{true, false, true})", "= 2"},
	}},
	{"all kinds of names", [][2]string{
		{`%%compile
import "fmt"
type Point struct{ X, Y int }
type shape interface{ Area() float64 }
type Square struct{ Side float64 }
func (s Square) Area() float64 { return s.Side * s.Side }
func (p *Point) Move(dx int) { p.X += dx }
func (p Point) String() string { return fmt.Sprintf("<%d,%d>", p.X, p.Y) }
const (
	answer = 42
	Third  float64 = 1.0 / 3
)
type level int
const ( low level = iota; high )
var count, table = 7, map[string]int{"a": answer}
var total = sum(1, 2, 3)
func sum(xs ...int) (t int) { for _, x := range xs { t += x }; return }
func area(s shape) float64 { return s.Area() }
func bump() int { count++; return count }`, ""},
		{"p := Point{1, 2}\np.Move(3)\np", "= <4,2>"},
		{`fmt.Println(answer, Third > 0.3, low, high, count, table["a"], total, sum(4, 5))`, "42 true 0 1 7 42 6 9"},
		{"count = 10\ncount++\nbump()", "= 12"},
		{"count += 2; table[\"b\"] = 3; q := &count; *q++; fmt.Println(count, len(table)); bump()", "15 2\n= 16"},
		{"area(Square{3})", "= 9"},
		{"type circle struct{ r float64 }\nfunc (c circle) Area() float64 { return 3 * c.r * c.r }\narea(circle{2})", "= 12"},
		{"var s shape = Square{2}\n_, ok := s.(Square)\nfmt.Printf(\"%T %v %v\", s, s, ok)", "cell.Square {2} true"},
		{"[answer]int{1}[41] + len([high + 2]int{})", "= 3"},
	}},
	{"declarations only", [][2]string{
		{"%%compile\nfunc f() int { return 1 }\nf()\nx := 2", `~In[1]:3:1: a compiled cell holds declarations only`},
		{"%%compile x\nvar y int", "~%%compile takes no arguments"},
		{"x := 1\n%%compile", "~In[3]:2:1: expected"},
		{"// why\n%%compile\nvar y int", "~%%compile must be the first line"},
		{"%%compile\nfunc init() {}", "~a compiled cell has no init"},
		{"%%compile\n", ""},
	}},
	{"compile errors", [][2]string{
		{"%%compile\nfunc f() int {\n\treturn \"Größe\" + ü\n}", "CompileError\nIn[1]:3:21: undefined: ü\n    \treturn \"Größe\" + ü\n    \t                 ^"},
		{"%%compile\nfunc f() int {\n\treturn \"x\"\n}", "~In[2]:3:9: cannot use \"x\""},
		{"%%compile\nfunc f() int {\n\treturn 1 +\n}", "~In[3]:4:1: expected operand"},
		{"%%compile\nfunc g() { y := 1 }", "~In[4]:2:12: declared and not used: y"},
		{"%%compile\nimport \"os\"\nfunc stop() { os.Exit(1) }", "~In[5]:3:18: os.Exit would end the kernel"},
		{"f()", "~undefined: f"},
		// The checker lets this pass, the compiler does not.
		{"%%compile\nfunc big() int { var a [1 << 50]byte; return len(a) + int(a[3]) }", "~In[7]:2:"},
	}},
	{"redefinition", [][2]string{
		{"%%compile\nfunc f() int { return 1 }\nfunc twice() int { return 2 * f() }", ""},
		{"func g() int { return f() + 10 }\ng()", "= 11"},
		{"%%compile\nfunc f() int { return 2 }", ""},
		{"[]int{f(), twice(), g()}", "= []int{2, 4, 12}"},
		{"func f() int { return 3 }", ""}, // interpreted
		{"[]int{f(), twice(), g()}", "= []int{3, 6, 13}"},
		{"%%compile\nfunc f(x int) int { return x }", "stderr: g, declared in cell 2, no longer compiles: not enough arguments in call to f\n\thave ()\n\twant (int) (line 1)\ntwice, compiled in cell 1, no longer compiles: not enough arguments in call to f\n\thave ()\n\twant (int) (line 3)"},
		{"f(5)", "= 5"},
		{"twice()", "~undefined: twice"},
	}},
	{"a type again", [][2]string{
		{"%%compile\ntype P struct{ X int }\nfunc (p P) Get() int { return p.X }", ""},
		{"p := P{4}\nfunc get(p P) int { return p.Get() }\nget(p)", "= 4"},
		{"%%compile\ntype P struct{ X int }\nfunc (p P) Get() int { return -p.X }", ""},
		{"[]int{get(p), get(P{5}), p.Get()}", "= []int{-4, -5, -4}"},
		{"%%compile\ntype P struct{ X, Y int }\nfunc (p P) Get() int { return p.Y }", ""},
		{"get(P{5, 6})", "= 6"},
		{"func (p P) Other() {}", "~P is declared in a compiled cell (cell 5): its methods belong there"},
	}},
	{"earlier cells", [][2]string{
		{"func half(x int) int { return x / two }\nconst two = 2\ntype T struct{ n int }", ""},
		{"%%compile\ntype pair struct{ A, B int }\nvar seen []pair\nfunc swap(p pair) pair { seen = append(seen, p); return pair{p.B, p.A} }\nconst limit = 3", ""},
		{"%%compile\nfunc quarter(x int) int { return half(half(x)) }\nfunc twist(p pair) (pair, int) { q := swap(pair{p.A + limit, p.B}); return q, len(seen) }\nfunc forget() { seen = nil }", ""},
		{"quarter(40)", "= 10"},
		{"q, n := twist(pair{1, 2})\nfmt.Println(q, n, seen); forget(); len(seen)", "{2 4} 1 [{4 2}]\n= 0"},
		{"func half(x int) int { return 100 * x }", ""},
		{"quarter(1)", "= 10000"},
		{"%%compile\nfunc good(t T) int { return t.n }", "stderr: type T, declared in cell 1, is compiled from now on, for a compiled cell uses it; what interfaces hold of it already keeps the interpreted type"},
		{"good(T{8})", "= 8"},
	}},
	{"variables of the session", [][2]string{
		{"xs := []float64{1, 2, 3}\nn := 4\nvar anything any", ""},
		{"%%compile\nfunc sum() (s float64) { for _, x := range xs { s += x }; n++; return }\nfunc grow() { xs = append(xs, 10) }", ""},
		{"xs[0] = 5; fmt.Println(sum(), n); grow(); xs", "10 5\n= []float64{5, 2, 3, 10}"},
		{"n = 100; sum(); n", "= 101"},
		{"%%compile\nfunc no() any { return anything }", "~variable anything (cell 1) cannot be shared with compiled code, for it holds a value of type any"},
		{"xs := []int{1}", "stderr: sum, grow, compiled in cell 2, no longer compiles: invalid operation: s += x (mismatched types float64 and int) (line 2)"},
	}},
	{"variables keep their values", [][2]string{
		{"func step() int { return 1 }", ""},
		{"%%compile\nvar count = 100\nfunc tick() int { count += step(); return count }", ""},
		{"tick()", "= 101"},
		{"func step() int { return 10 }", ""}, // tick is built again
		{"tick()", "= 111"},
		{"%%compile\nvar count = 100\nfunc tick() int { count += step(); return count }", ""}, // run again
		{"tick()", "= 110"},
		{"count := 7", ""}, // from now on interpreted
		{"tick() + count", "= 34"},
	}},
	{"panics", [][2]string{
		{"%%compile\n\nfunc at(x []int, i int) int {\n\treturn x[i]\n}\ntype T struct{}\nfunc (t *T) Do(f func()) {\n\tf()\n}", ""},
		{"func g() int {\n\treturn at([]int{1}, 3)\n}\ng()", "panic\nIn[2]:4:1: in cell\n    g()\n    ^\nIn[2]:2:9: in g\n    \treturn at([]int{1}, 3)\n    \t       ^\nIn[1]:4:2: in at\n    \treturn x[i]\n    \t^\npanic: runtime error: index out of range [3] with length 1"},
		{"new(T).Do(func() { at(nil, 7) })", "~In[1]:8:2: in (*T).Do"},
		{"%%compile\nvar a = at(nil, 2)", "~panic: runtime error: index out of range [2] with length 0"},
		{"func() (v any) { defer func() { v = recover() }(); return at(nil, 1) }()", "~index out of range [1]"},
		{"%%compile\nimport \"sync\"\nvar wg sync.WaitGroup\nfunc inner(n int) { defer wg.Done(); at(nil, n) }\nfunc spawn() { wg.Add(2); go inner(9); go func() { defer wg.Done(); panic(\"zwölf\") }(); wg.Wait() }", ""},
		{"spawn(); time.Sleep(50 * time.Millisecond)", "~panic: zwölf"},
	}},
	{"output", [][2]string{
		{"%%compile\nimport (\n\t\"fmt\"\n\t\"os\"\n)\nfunc héllo(名 string) { fmt.Println(\"hé\", 名); fmt.Fprintln(os.Stderr, \"err\") }", ""},
		{"fmt.Print(\"a \"); héllo(\"世界\"); fmt.Println(\"z\")", "a hé 世界\nz\nstderr: err"},
	}},
	{"a problem for brkga", [][2]string{
		{`%%compile
type longest struct{ dim int }
func (l longest) Name() string { return "longest" }
func (l longest) Dim() int { return l.dim }
func (l longest) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	for i := range x.Len() {
		best, n := 0, 0
		for j := range l.dim {
			if !x.At(i, j) {
				n = 0
				continue
			}
			n++
			best = max(best, n)
		}
		dst[i] = float64(best)
	}
	return nil
}
func Longest(dim int) problem.Problem { return longest{dim} }
func objective(x []bool) float64 {
	if len(x) > 30 { panic("too long") }
	return float64(len(x))
}`, ""},
		{"r, err := brkga.Run(ctx, Longest(12), brkga.Settings{Evaluations: 3000, Seed: 1})\nfmt.Println(r.Value, err)", "12 <nil>"},
		{"r, err = brkga.Run(ctx, problem.FromFunc(\"o\", 30, objective), brkga.Settings{Evaluations: 300, Seed: 1})\nfmt.Println(r.Value, err)", "30 <nil>"},
		{"_, err = brkga.Run(ctx, problem.FromFunc(\"o\", 31, objective), brkga.Settings{Evaluations: 300, Seed: 1})\nerr", "~too long"},
		{"func mine() problem.Problem { return problem.Problem(longest{}) }\nmine().Name()", `= "longest"`},
	}},
	{"imports", [][2]string{
		{"%%compile\nimport (\n\tst \"gonum.org/v1/gonum/stat\"\n\t. \"math\"\n)\nfunc mean(x []float64) float64 { return Sqrt(st.Mean(x, nil)) }", ""},
		{"mean([]float64{3, 5})", "= 2"},
		{"%%compile\nimport \"example.com/none\"\nfunc f() {}", "~package example.com/none is not built into this kernel"},
	}},
	{"generics", [][2]string{
		{"%%compile\nfunc Map[T, U any](xs []T, f func(T) U) (out []U) { for _, x := range xs { out = append(out, f(x)) }; return }\nfunc squares(xs []int) []int { return Map(xs, func(x int) int { return x * x }) }", ""},
		{"squares([]int{1, 2, 3})", "= []int{1, 4, 9}"},
		{"Map([]int{1}, func(x int) string { return fmt.Sprint(x) })", `= []string{"1"}`},
		{"%%compile\nfunc strs(xs []int) []string { return Map(xs, func(x int) string { return fmt.Sprint(x) }) }", ""},
		{"strs([]int{1, 2})", `= []string{"1", "2"}`},
	}},
	{"side by side", [][2]string{
		{"%%compile\nfunc value(x []bool) (v float64) { for i, b := range x { if b { v += float64(i) } }; return }", ""},
		{"func slow(x []bool) (v float64) { for i, b := range x { if b { v += float64(i) } }; return }\nfast, same := problem.FromFunc(\"f\", 20, value), problem.FromFunc(\"f\", 20, slow)", ""},
		{`jobs, plain := []brkga.Job{}, []brkga.Job{}
for seed := range 8 {
	set := brkga.Settings{Evaluations: 200, Seed: uint64(seed)}
	jobs, plain = append(jobs, brkga.Job{Problem: fast, Settings: set}), append(plain, brkga.Job{Problem: same, Settings: set})
}
a, err1 := brkga.RunAll(ctx, jobs, 4)
b, err2 := brkga.RunAll(ctx, plain, 4)
equal := 0
for i := range a { if a[i].Value == b[i].Value { equal++ } }
fmt.Println(len(a), equal, err1, err2)`, "8 8 <nil> <nil>"},
		{`var wg sync.WaitGroup
sums := make([]float64, 16)
for i := range sums {
	wg.Add(1)
	go func() { defer wg.Done(); for range 200 { sums[i] += value([]bool{false, true}) } }()
}
wg.Wait()
sums[0] + sums[15]`, "= 400"},
	}},
	{"mutual use", [][2]string{
		{"%%compile\nfunc a(n int) int { return n }", ""},
		{"%%compile\nfunc b(n int) int { return a(n) }", ""},
		{"%%compile\nfunc a(n int) int { if n == 0 { return 0 }; return b(n - 1) }", "~use each other, in two compiled cells: they belong into one"},
		{"b(3)", "= 3"},
	}},
}

func TestCells(t *testing.T) {
	loader := ready(t)
	for _, c := range cells {
		t.Run(c.name, func(t *testing.T) {
			s := session(t, loader)
			for i, step := range c.steps {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				got := run(ctx, s, i+1, step[0])
				cancel()
				if part, ok := strings.CutPrefix(step[1], "~"); ok && strings.Contains(got, part) || got == step[1] {
					continue
				}
				t.Errorf("In[%d]:\n%s\nshows:\n%s\nwant:\n%s", i+1, step[0], got, step[1])
			}
		})
	}
}

// Without a toolchain the cell says so and runs interpreted.
func TestWithoutToolchain(t *testing.T) {
	ready(t)
	goOnly := t.TempDir()
	if err := os.Symlink(command(t, "go"), filepath.Join(goOnly, "go")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		compiler gocell.Compiler
		why      string
	}{
		{nil, "this program has no compiler for cells"},
		{&native.Loader{Env: []string{"PATH=" + t.TempDir()}}, "there is no go command on the PATH"},
		{&native.Loader{Env: []string{"PATH=" + goOnly}}, "there is no C compiler on the PATH (gcc), which links what the toolchain compiles"},
	} {
		s := session(t, c.compiler)
		if got, want := run(t.Context(), s, 1, "%%compile\nvar n = 2\nfunc f() int { return n + 1 }"), "stderr: %%compile: "+c.why+". The cell runs interpreted."; got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
		if got := run(t.Context(), s, 2, "f()"); got != "= 3" {
			t.Errorf("f() shows %q", got)
		}
		if got := run(t.Context(), s, 3, "%%compile\nprintln()"); !strings.Contains(got, "holds declarations only") {
			t.Errorf("a statement shows %q", got)
		}
	}
}

func command(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A process of its own runs a cell, for what outlives one.
func TestMain(m *testing.M) {
	if cache := os.Getenv("DACE_TEST_CACHE"); cache != "" {
		s, err := gocell.New(gocell.Options{Compiler: &native.Loader{Cache: cache}, KeepStdio: true})
		if err != nil {
			panic(err)
		}
		ctx := context.Background()
		os.Stdout.WriteString(run(ctx, s, 1, "%%compile\nfunc f() int { return 123 }") + run(ctx, s, 2, "f()"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What was built once is there after a restart, is built again where it is
// damaged, and is not taken for another's.
func TestCache(t *testing.T) {
	ready(t)
	cache, noBuild := t.TempDir(), t.TempDir()
	// A go command that does nothing but fail.
	if err := os.WriteFile(filepath.Join(noBuild, "go"), []byte("#!/bin/sh\necho built; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	child := func(path, want string) {
		t.Helper()
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "DACE_TEST_CACHE="+cache, "PATH="+path)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), want) {
			t.Fatalf("%v: %s\nwant %s", err, out, want)
		}
	}
	only := noBuild + string(filepath.ListSeparator) + path
	child(only, "undefined: f\n    f()\n    ^")
	child(path, "= 123")
	child(only, "= 123")
	files, _ := filepath.Glob(filepath.Join(cache, "compiled", "*", "*.so"))
	if len(files) != 1 {
		t.Fatalf("the cache holds %v", files)
	}
	if err := os.WriteFile(files[0], []byte("\x7fELF"), 0o644); err != nil {
		t.Fatal(err)
	}
	child(path, "= 123")
	child(only, "= 123")
}

// What nobody has used for long leaves the cache, also that of other kernels;
// what a process has loaded stays.
func TestEviction(t *testing.T) {
	l := ready(t)
	l.MaxSize = 1
	other := filepath.Join(l.Cache, "compiled", "other")
	if err := os.MkdirAll(filepath.Join(other, "build-7"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(name string, age time.Duration) string {
		name = filepath.Join(other, name)
		if filepath.Ext(name) != "" {
			if err := os.WriteFile(name, []byte("plugin"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(name, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	load := func(name string) string {
		path := "dace.local/cells/evict" + name
		if _, err := l.Load(t.Context(), path, map[string]string{path: "package cell\n\nvar Table = map[string]any{}\n"}, ""); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(l.Cache, "compiled", "*", "evict"+name+".so"))
		if len(files) != 1 {
			t.Fatalf("the cache holds %q of %s", files, name)
		}
		return files[0]
	}
	check := func(there map[string]bool) {
		t.Helper()
		for name, want := range there {
			if _, err := os.Stat(name); (err == nil) != want {
				t.Errorf("%s: %v, want there: %v", name, err, want)
			}
		}
	}
	day := 24 * time.Hour
	old, used, left := file("old.so", 2*day), file("used.so", 3*day), file("build-7", 2*day)
	inUse, err := os.Open(used)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(inUse.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	a := load("a") // too large together
	check(map[string]bool{a: true, old: false, used: true, left: false})
	inUse.Close()
	l.MaxSize, l.MaxAge = 1<<40, day
	recent := file("recent.so", day/2)
	b := load("b") // too old
	check(map[string]bool{a: true, b: true, used: false, recent: true})
}

// A compiled loop that looks at ctx ends with the cell; another goes on in the
// background, and the session is there.
func TestInterrupt(t *testing.T) {
	s := session(t, ready(t))
	if got := run(t.Context(), s, 1, "%%compile\nimport \"sync/atomic\"\nvar stop atomic.Bool\nvar steps atomic.Int64\n"+
		"func polite() error { for ctx.Err() == nil { steps.Add(1) }; return ctx.Err() }\nfunc spin() { for !stop.Load() { steps.Add(1) } }"); got != "" {
		t.Fatal(got)
	}
	for i, c := range []struct{ code, want string }{
		{"polite()", "the cell was interrupted; what it did"},
		{"spin()", "it goes on in the background"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		start := time.Now()
		got := run(ctx, s, 2+i, c.code)
		cancel()
		if !strings.Contains(got, c.want) {
			t.Errorf("%s shows %s", c.code, got)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s held the session for %v", c.code, d)
		}
	}
	if got := run(t.Context(), s, 4, "before := steps.Load(); time.Sleep(100 * time.Millisecond); fmt.Println(steps.Load() > before); stop.Store(true)"); got != "true" {
		t.Errorf("afterwards: %s", got)
	}
}

// A build that is interrupted leaves the session as it was.
func TestInterruptedBuild(t *testing.T) {
	s := session(t, ready(t))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got := run(ctx, s, 1, "%%compile\nfunc never() {}"); !strings.HasPrefix(got, engine.Interrupted) {
		t.Errorf("shows %s", got)
	}
	if got := run(t.Context(), s, 2, "never()"); !strings.Contains(got, "undefined: never") {
		t.Errorf("afterwards: %s", got)
	}
}

// A compiled cell imports what %get has fetched, also what no interpreter runs.
func TestFetched(t *testing.T) {
	ready(t)
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, flags, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	proxy := t.TempDir()
	publish(t, proxy, "example.com/fast", "v1.2.0", map[string]string{
		"go.mod":  "module example.com/fast\n\ngo 1.22\n",
		"fast.go": "package fast\n\nimport \"unsafe\"\n\ntype Size uintptr\n\nfunc Of(x int) Size { return Size(unsafe.Sizeof(x)) }\n\nfunc asm() int\n\nfunc Asm() int { return asm() }\n",
		"asm_" + runtime.GOARCH + ".s": "TEXT \u00b7asm(SB), 4, $0-8\n" + map[string]string{
			"amd64": "\tMOVQ $42, ret+0(FP)\n", "arm64": "\tMOVD $42, R0\n\tMOVD R0, ret+0(FP)\n"}[runtime.GOARCH] + "\tRET\n",
	})
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "file://"+proxy+",file://"+filepath.Join(cache, "cache", "download"))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", strings.TrimSpace(flags+" -modcacherw"))
	s := session(t, ready(t))
	_ = run(t.Context(), s, 1, "%get example.com/fast@v1.2.0") // says that it cannot be interpreted
	for i, c := range []struct{ code, want string }{
		{"import \"example.com/fast\"", "cannot be interpreted"},
		{"%%compile\nimport \"example.com/fast\"\nfunc size() int { return int(fast.Of(1)) + fast.Asm() }", ""},
		{"size()", "= 50"},
		{"%%compile\nimport \"example.com/fast\"\nfunc open() fast.Size { return fast.Of(1) }", "open is of type fast.Size"},
	} {
		if got := run(t.Context(), s, 2+i, c.code); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s\nshows %s\nwant in it %s", c.code, got, c.want)
		}
	}
}

// publish puts a version of a module where the go command looks for it.
func publish(t *testing.T, proxy, path, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(path + "@" + version + "/" + name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": []byte(`{"Version":"` + version + `"}`),
		version + ".mod": []byte(files["go.mod"]), version + ".zip": b.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLooking(t *testing.T) {
	s := session(t, ready(t))
	if got := run(t.Context(), s, 1, "%%compile\nfunc objective(x []bool) float64 { return 1 }\ntype Point struct{ X, y int }\nfunc (p Point) Norm() float64 { return 0 }"); got != "" {
		t.Fatal(got)
	}
	texts := func(code string) (out []string) {
		for _, m := range s.Complete(code, len(code)).Matches {
			out = append(out, m.Text+m.Signature)
		}
		return out
	}
	for _, c := range []struct{ code, want string }{
		{"obj", "objective(x []bool) float64"},
		{"%%co", "%%compile"},
		{"Point{}.", "Norm() float64 Xint yint"},
		{"%%compile\nfunc f() { obj", "objective(x []bool) float64"},
	} {
		if got := strings.Join(texts(c.code), " "); got != c.want {
			t.Errorf("%q completes to %q, want %q", c.code, got, c.want)
		}
	}
	doc, ok := s.Inspect("objective", 3, 0)
	if text, _ := doc.Data["text/plain"].(string); !ok || text != "func objective(x []bool) float64 { return 1 }" {
		t.Errorf("inspection says %q, %v", text, ok)
	}
	for code, want := range map[string]string{"%%compile": "incomplete", "%%compile\nfunc f() {}": "incomplete", "%%compile\nfunc f() {}\n": "complete"} {
		if got := s.IsComplete(code).Status; got != want {
			t.Errorf("%q is %s, want %s", code, got, want)
		}
	}
}

// objective counts ones, as a cell would.
const objective = `func objective(x []bool) float64 {
	n := 0
	for _, bit := range x {
		if bit {
			n++
		}
	}
	return float64(n)
}`

// BenchmarkCell is the cost of %%compile: a cell that was never seen (290 to
// 1100 ms, by how busy the machine is), and one that this session has loaded
// before (2 to 3 ms). A cell that an earlier session has built takes 30 ms.
func BenchmarkCell(b *testing.B) {
	for _, again := range []bool{false, true} {
		name := map[bool]string{false: "new", true: "again"}[again]
		b.Run(name, func(b *testing.B) {
			s := session(b, ready(b))
			run(b.Context(), s, 1, "%%compile\n"+objective)
			i := 0
			for b.Loop() {
				text := "%%compile\n" + objective
				if !again {
					text += "\nconst version = " + strconv.Itoa(i)
				}
				if got := run(b.Context(), s, 1, text); got != "" {
					b.Fatal(got)
				}
				i++
			}
		})
	}
}

// BenchmarkCall is a call of a 30-bit objective: by dacelib, which unpacks the
// solution too (240 ns, interpreted 24 us), and from an interpreted loop, whose
// own cost it is (1.2 us, interpreted 14 us); on a machine five times too busy.
func BenchmarkCall(b *testing.B) {
	for _, magic := range []string{"%%compile\n", ""} {
		name := map[bool]string{true: "interpreted", false: "compiled"}[magic == ""]
		s := session(b, ready(b))
		cell := func(code string) {
			if got := run(b.Context(), s, 1, code); got != "" {
				b.Fatal(got)
			}
		}
		cell(magic + objective)
		cell(`p := problem.FromFunc("p", 30, objective)
xs := problem.NewSolutions(1000, 30)
for i := range 1000 { for j := range 30 { xs.Set(i, j, (i >> (j % 10)) & 1 == 1) } }
dst, one := make([]float64, 1000), xs.Bools(777)
func times(n int) { for range n { objective(one) } }`)
		b.Run("dacelib/"+name, func(b *testing.B) {
			for b.Loop() {
				cell("for range 10 { p.Evaluate(ctx, dst, xs) }")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/solution")
		})
		b.Run("cell/"+name, func(b *testing.B) {
			for b.Loop() {
				cell("times(10000)")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/call")
		})
	}
}

// BenchmarkFunc is a call of the same objective by compiled code.
func BenchmarkFunc(b *testing.B) {
	const path = "dace.local/cells/bench"
	table, err := ready(b).Load(b.Context(), path, map[string]string{path: "package cell\n" + objective + "\nvar Table = map[string]any{\"f\": objective}\n"}, "")
	if err != nil {
		b.Fatal(err)
	}
	f := table["f"].(func([]bool) float64)
	x := make([]bool, 30)
	for i := range x {
		x[i] = i%10 != 0
	}
	for b.Loop() {
		f(x)
	}
}
