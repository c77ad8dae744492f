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

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell"
	"dace.local/kernel/internal/system/crash"
	"dace.local/kernel/internal/toolchain/native"
)

// slow is the notice that a cell prints if its build takes long.
const slow = "%%compile: the toolchain compiles the packages that the cell imports; it does so once\n"

// quick is a session whose outputs leave out the notice slow.
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

// run runs a cell and returns its whole output.
func run(ctx context.Context, s *gocell.Session, number int, code string) string {
	return strings.TrimSpace(enginetest.Show(ctx, quick{s}, engine.Cell{Number: number, Code: code}, &enginetest.Recorder{}))
}

// interrupting is a session whose cells are interrupted when they print.
type interrupting struct{ *gocell.Session }

func (q interrupting) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (engine.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return q.Session.Execute(ctx, cell, onStdout{notSlow{out}, cancel})
}

type onStdout struct {
	engine.Outputs
	then func()
}

func (o onStdout) Stdout(string) { o.then() }

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

// ready returns a loader with an empty cache. If nothing can be compiled on
// this machine, the test is skipped, or fails with DACE_REQUIRE_CLIENTS=1.
func ready(tb testing.TB) *native.Loader {
	tb.Helper()
	if testing.Short() {
		tb.Skip("builds plugins")
	}
	l := &native.Loader{Cache: tb.TempDir()}
	if err := l.Ready(); err != nil {
		if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	return l
}

// TestCompiledCells runs the cells of testdata/cells.txt.
func TestCompiledCells(t *testing.T) {
	loader := ready(t)
	enginetest.Cells(t, "testdata/cells.txt", func(t *testing.T) (engine.Engine, *enginetest.Recorder) {
		return quick{session(t, loader)}, &enginetest.Recorder{}
	})
}

// TestWithoutToolchain checks that the cell prints a notice and runs
// interpreted if there is no toolchain.
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
		if got := run(t.Context(), s, 3, "%%compile\nf() + 1"); !strings.HasSuffix(got, "= 4") {
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

// TestMain runs a cell in a process of its own for tests of what the cache
// keeps after a process has ended.
func TestMain(m *testing.M) {
	if file := os.Getenv("DACE_TEST_C"); file != "" {
		if _, _, err := crash.Keep(file); err != nil {
			panic(err)
		}
		s, err := gocell.New(gocell.Options{Compiler: &native.Loader{Cache: filepath.Dir(file)}, KeepStdio: true})
		if err != nil {
			panic(err)
		}
		for i, cell := range crashInC {
			os.Stdout.WriteString(run(context.Background(), s, i+1, cell))
		}
		os.Exit(0)
	}
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

// TestCache checks that a plugin is still there after a restart, is built again
// if it is damaged, and is not loaded by another build of the kernel.
func TestCache(t *testing.T) {
	ready(t)
	cache, noBuild := t.TempDir(), t.TempDir()
	// This go command fails each build.
	script := "#!/bin/sh\n[ \"$1\" = env ] && exec " + command(t, "go") + " \"$@\"\necho built; exit 1\n"
	if err := files.WriteProgram(filepath.Join(noBuild, "go"), []byte(script)); err != nil {
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

// TestEviction checks that plugins that were not used for long are removed from
// the cache, those of other kernels too, and that loaded ones stay.
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
		path := buildinfo.Path("cells/evict") + name
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
	a := load("a") // together they exceed MaxSize
	check(map[string]bool{a: true, old: false, used: true, left: false})
	inUse.Close()
	l.MaxSize, l.MaxAge = 1<<40, day
	recent := file("recent.so", day/2)
	b := load("b") // used.so is unlocked now and older than MaxAge
	check(map[string]bool{a: true, b: true, used: false, recent: true})
}

// TestInterrupt checks that compiled loops end with the cell, by themselves if
// they look at ctx, that a call of the library that does not end goes on in the
// background, and that the session stays usable.
func TestInterrupt(t *testing.T) {
	s := session(t, ready(t))
	if got := run(t.Context(), s, 1, `%%compile
import "sync/atomic"
var steps, deferred, polite, wanted atomic.Int64
func begun() { if wanted.Add(-1) == 0 { fmt.Println("begun") } }
func asking() { begun(); for ctx.Err() == nil { steps.Add(1) }; polite.Add(1) }
func spin() { defer deferred.Add(1); defer func() { recover() }(); begun(); for { steps.Add(1) } }
func inLiteral() { begun(); func() { for range 1 << 62 { steps.Add(1) } }() }
func inGoroutine() { go spin(); go func() { defer deferred.Add(1); begun(); for { steps.Add(1) } }(); spin() }
func fib(n int) int { if steps.Add(1); n == 100 { begun() }; if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func sorts() { begun(); l := make([]int, 1000); for { sort.Slice(l, func(i, j int) bool { steps.Add(1); return l[i] < l[j] }) } }
func sleeps() { begun(); time.Sleep(time.Hour) }`); got != "" {
		t.Fatal(got)
	}
	for i, c := range []struct{ code, want string }{
		{"wanted.Store(1); asking()", "the cell was interrupted"}, // in the loop, or after it
		{"wanted.Store(1); spin()", "the cell was interrupted at In[1]:6; what it did"},
		{"wanted.Store(1); inLiteral()", "the cell was interrupted at In[1]:7; what it did"},
		{"wanted.Store(3); inGoroutine()", "the cell was interrupted at In[1]:6; what it did"},
		{"wanted.Store(1); fib(100)", "the cell was interrupted at In[1]:9; what it did"},
		{"wanted.Store(1); sorts()", "the cell was interrupted at In[1]:10; what it did"},
		{"wanted.Store(1); sleeps()", "it goes on in the background"},
	} {
		got := enginetest.Show(t.Context(), interrupting{s}, engine.Cell{Number: 2 + i, Code: c.code}, &enginetest.Recorder{})
		if !strings.Contains(got, c.want) {
			t.Errorf("%s shows %s", c.code, got)
		}
	}
	const after = `for range 100 {
	if before := steps.Load(); deferred.Load() == 4 && before == func() int64 { time.Sleep(100 * time.Millisecond); return steps.Load() }() { break }
}
fmt.Println(deferred.Load(), polite.Load())`
	if got := run(t.Context(), s, 20, after); got != "4 1" {
		t.Errorf("deferred functions and polite ends: %s", got)
	}
}

// A lasting notes that its cell ends while goroutines of it go on.
type lasting struct {
	enginetest.Recorder
	lasts bool
}

func (l *lasting) Lasts() { l.lasts = true }

// TestLateOutput checks that what goroutines of compiled code print goes to the cell that
// has started them, which learns that they go on.
func TestLateOutput(t *testing.T) {
	s := session(t, ready(t))
	cell := func(number int, code string) *lasting {
		t.Helper()
		out := &lasting{}
		if _, err := s.Execute(t.Context(), engine.Cell{Number: number, Code: code}, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	cell(1, `%%compile
import "sync"
var step, done = make(chan bool), make(chan bool)
func say(what ...any) { <-step; fmt.Println(what...); fmt.Printf("%d\n", len(what)); done <- true }
func late() {
	go func() { <-step; fmt.Print("late "); done <- true }()
	for i := range 1 { go say("named", i) }
}
func over() { var wg sync.WaitGroup; wg.Add(1); go func() { wg.Done() }(); wg.Wait() }`)
	first := cell(2, "late()")
	if got := cell(3, "for range 2 { step <- true; <-done }\nfmt.Println(\"own\")").Text(enginetest.Stdout); got != "own\n" {
		t.Errorf("the running cell shows %q", got)
	}
	got := strings.Replace(first.Text(enginetest.Stdout), "late ", "", 1) // comes first, or last
	if !first.lasts || got != "named 0\n2\n" || len(got) == len(first.Text(enginetest.Stdout)) {
		t.Errorf("the first cell shows %q, and %t that it lasts", first.Text(enginetest.Stdout), first.lasts)
	}
}

// BenchmarkInterrupt measures the time from the interrupt of a compiled loop to
// the end of the cell.
func BenchmarkInterrupt(b *testing.B) {
	s := session(b, ready(b))
	run(b.Context(), s, 1, "%%compile\nfunc spin() { for { } }")
	took := time.Duration(0)
	for i := range b.N {
		ctx, cancel := context.WithCancel(b.Context())
		var start time.Time
		time.AfterFunc(20*time.Millisecond, func() { start = time.Now(); cancel() })
		run(ctx, s, 2+i, "spin()")
		took += time.Since(start)
		time.Sleep(1500 * time.Millisecond) // the flag is down again
	}
	b.ReportMetric(took.Seconds()*1e3/float64(b.N), "ms/interrupt")
}

// BenchmarkLoop sums a slice in a compiled cell: in a loop, which looks at the
// flag of interrupts at every turn, and without one.
func BenchmarkLoop(b *testing.B) {
	s := session(b, ready(b))
	if got := run(b.Context(), s, 1, `%%compile
func loop(x []int) (s int) { for _, v := range x { s += v }; return s }
func plain(x []int) (s int) { i := 0; again: if i < len(x) { s += x[i]; i++; goto again }; return s }
var x = make([]int, 1<<20)`); got != "" {
		b.Fatal(got)
	}
	for _, name := range []string{"loop", "plain"} {
		b.Run(name, func(b *testing.B) {
			if got := run(b.Context(), s, 2, "for range "+strconv.Itoa(b.N)+" { "+name+"(x) }"); got != "" {
				b.Fatal(got)
			}
		})
	}
}

// TestInterruptedBuild checks that an interrupted build leaves the session
// unchanged.
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

// TestFetched checks that a compiled cell can import modules that %get has
// fetched, also those that cannot be interpreted.
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
	publish(t, proxy, "example.com/format", "v1.0.0", map[string]string{
		"go.mod": "module example.com/format\n\ngo 1.22\n",
		"format.go": "// Package format needs cgo.\npackage format\n\n// static int size() { return 7; }\nimport \"C\"\n\n" +
			"import (\n\t\"errors\"\n\t\"image\"\n\t\"io\"\n)\n\nfunc init() {\n\timage.RegisterFormat(\"seven\", \"SEVEN\", nil, " +
			"func(io.Reader) (image.Config, error) { return image.Config{Width: int(C.size())}, nil })\n}\n\nvar Err = errors.New(\"seven\")\n",
	})
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "file://"+proxy+",file://"+filepath.Join(cache, "cache", "download"))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", strings.TrimSpace(flags+" -modcacherw"))
	s := session(t, ready(t))
	_ = run(t.Context(), s, 1, "%get example.com/fast@v1.2.0") // warns that it cannot be interpreted
	for i, c := range []struct{ code, want string }{
		{"import \"example.com/fast\"", "cannot be interpreted"},
		{"%%compile\nimport \"example.com/fast\"\nfunc size() int { return int(fast.Of(1)) + fast.Asm() }", ""},
		{"size()", "= 50"},
		{"%%compile\nimport \"example.com/fast\"\nfunc open() fast.Size { return fast.Of(1) }", "open is of type fast.Size"},
		{"%get example.com/format", "import \"example.com/format\" in a cell that begins with %%compile\n\t(it cannot be interpreted: format.go: cgo"},
		{"image.DecodeConfig(strings.NewReader(\"SEVEN\"))", "unknown format"},
		{"%%compile\nimport _ \"example.com/format\"", ""},
		{"c, _, _ := image.DecodeConfig(strings.NewReader(\"SEVEN\"))\nc.Width", "= 7"},
		{"%%compile\nimport \"example.com/format\"\nfunc message() string { return format.Err.Error() }\nmessage()", "= \"seven\""},
	} {
		if got := run(t.Context(), s, 2+i, c.code); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s\nshows %s\nwant in it %s", c.code, got, c.want)
		}
	}
}

// publish writes a version of a module to a file-system module proxy.
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

// objective is the source of a function that counts ones, as a cell would have
// it.
const objective = `func objective(x []bool) float64 {
	n := 0
	for _, bit := range x {
		if bit {
			n++
		}
	}
	return float64(n)
}`

// BenchmarkCell measures the cost of %%compile: for a new cell (290 to 1100 ms,
// by how busy the machine is), and for one that this session has loaded before
// (2 to 3 ms). A cell that an earlier session has built takes 30 ms.
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

// BenchmarkCall measures calls of a 30-bit objective: from dacelib, which also
// unpacks the solution (240 ns, interpreted 24 us), and from an interpreted
// loop, including the cost of the loop (1.2 us, interpreted 14 us). These
// numbers are from a machine with five times the load that it can take.
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

// BenchmarkFunc measures calls of the same objective by compiled code: the
// function in a cell and, as the lower limit, the same function in the program
// itself, also called through a function value. They take about the same time:
// 15.5 ns and 16.7 ns where this was written (medians of 7 on a shared
// machine), for 30 iterations of a loop of three instructions. GOAMD64=v3
// changes nothing, because the compiler does not vectorize the loop.
func BenchmarkFunc(b *testing.B) {
	path := buildinfo.Path("cells/bench")
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

// ones is the function of objective, compiled into this program.
func ones(x []bool) float64 {
	n := 0
	for _, bit := range x {
		if bit {
			n++
		}
	}
	return float64(n)
}

// TestNotices checks that what a loader has to say reaches the cell that runs,
// though the loader knows nothing of cells: it writes to os.Stderr.
func TestNotices(t *testing.T) {
	first := ready(t)
	builds, err := filepath.Glob(filepath.Join(first.Cache, "compiled", "*"))
	if err != nil || len(builds) != 1 {
		t.Fatal(builds, err)
	}
	if err := os.WriteFile(filepath.Join(builds[0], "old.so"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(first.Cache, 0o777); err != nil { // anybody could have written it
		t.Fatal(err)
	}
	s := session(t, &native.Loader{Cache: first.Cache})
	var out enginetest.Recorder
	if _, err := s.Execute(t.Context(), engine.Cell{Number: 1, Code: "%%compile\nfunc noticed() int { return 1 }"}, &out); err != nil {
		t.Fatal(err)
	}
	want := "%%compile: others could write to " + first.Cache + ": what was stored there is built again\n"
	if got := out.Text(enginetest.Stderr); !strings.Contains(got, want) {
		t.Errorf("the cell shows %q, want %q", got, want)
	}
}
