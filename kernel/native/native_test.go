package native_test

import (
	"archive/zip"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell"
	"dace.local/kernel/native"
)

// slow is what a cell says that takes long to build.
const slow = "%%compile: the toolchain compiles the packages that the cell imports; it does so once\n"

// quick is a session that does not say so.
type quick struct{ *gocell.Session }

func (q quick) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (engine.Result, error) {
	return q.Session.Execute(ctx, cell, notSlow{out})
}

type notSlow struct{ engine.Outputs }

func (o notSlow) Stderr(text string) {
	if text != slow {
		o.Outputs.Stderr(text)
	}
}

// run returns all that a cell shows.
func run(ctx context.Context, s *gocell.Session, number int, code string) string {
	return strings.TrimSpace(enginetest.Show(ctx, quick{s}, engine.Cell{Number: number, Code: code}, &enginetest.Recorder{}))
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

// TestCells runs the cells of testdata/cells.txt.
func TestCells(t *testing.T) {
	loader := ready(t)
	enginetest.Cells(t, "testdata/cells.txt", func(t *testing.T) (engine.Engine, *enginetest.Recorder) {
		return quick{session(t, loader)}, &enginetest.Recorder{}
	})
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
		if _, err := l.Load(t.Context(), path, map[string]string{path: "package cell\n\nvar Xˑˑ = map[string]any{}\n"}, ""); err != nil {
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
	if text, _ := doc.Data["text/plain"].(string); !ok || text != "func objective(x []bool) float64" {
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

// BenchmarkFunc is a call of the same objective by compiled code: that of a
// cell, and beside it the limit, the same function in the program itself, called
// as a value too. They are alike: 15.5 ns and 16.7 ns where this was written
// (medians of 7 on a machine that others use), which are 30 rounds of a loop of
// three instructions. GOAMD64=v3 changes nothing: the compiler makes no vector
// code.
func BenchmarkFunc(b *testing.B) {
	const path = "dace.local/cells/bench"
	table, err := ready(b).Load(b.Context(), path, map[string]string{path: "package cell\n" + objective + "\nvar Xˑˑ = map[string]any{\"f\": objective}\n"}, "")
	if err != nil {
		b.Fatal(err)
	}
	x := make([]bool, 30)
	for i := range x {
		x[i] = i%10 != 0
	}
	for name, f := range map[string]func([]bool) float64{"cell": table["f"].(func([]bool) float64), "program": ones} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(x)
			}
		})
	}
}

// ones is objective in this program.
func ones(x []bool) float64 {
	n := 0
	for _, bit := range x {
		if bit {
			n++
		}
	}
	return float64(n)
}
