package gocell

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/internal/compiled"
	"dace.local/kernel/internal/randomtest"
	"dace.local/kernel/internal/toolchain/native"
)

// The functions of randomtest.Grid must do in cells what they do in Go, interpreted
// and compiled:
//
//	go test ./kernel/gocell -run TestGrid -timeout 3h -grid.functions 0
var (
	gridSeed      = flag.Uint64("grid.seed", 1, "seed that draws the functions of the grid")
	gridFunctions = flag.Int("grid.functions", 500, "number of functions of the grid; 0 is all of them")
	gridBuilt     = flag.Int("grid.built", 2000, "number of functions in a compiled cell")
	gridOnly      = flag.String("grid.only", "", "run those functions only whose text or description matches")
)

// compiledHead begins a cell that is compiled.
const compiledHead = "%%compile\n"

// gridBatch is how many functions a cell declares.
const gridBatch = 50

func TestGrid(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceDetector {
		t.Skip("the detector's memory and time are others")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("wants the go command")
	}
	start := time.Now()
	cases, err := randomtest.Grid(*gridFunctions, *gridSeed)
	if err != nil {
		t.Fatal(err)
	}
	if *gridOnly != "" {
		only := regexp.MustCompile(*gridOnly)
		cases = slices.DeleteFunc(cases, func(c randomtest.GridCase) bool { return !only.MatchString(c.String() + "\n" + c.Declare) })
	}
	t.Logf("%d functions, written in %v", len(cases), time.Since(start).Round(time.Second))
	start = time.Now()
	want := gridInGo(t, goTool, cases)
	t.Logf("in Go after %v", time.Since(start).Round(time.Second))
	compare := func(t *testing.T, way string, got map[string]string) {
		differ := 0
		for _, c := range cases {
			if way == "compiled" && !inCompiled(c) {
				continue
			}
			keys := []string{strconv.Itoa(c.Number)}
			if way == "interpreted" && c.Cells != nil {
				keys = nil
				for i := range c.Cells {
					keys = append(keys, fmt.Sprintf("%d.%d", c.Number, i))
				}
			}
			for _, k := range keys {
				if got[k] != want[k] {
					if differ++; differ <= 40 || *gridFunctions == 0 {
						t.Errorf("%s, %s\n%s%s\n%s\n  %s\nin Go\n  %s", c, way, c.Declare, c.Call, way, got[k], want[k])
					}
					break
				}
			}
		}
		t.Logf("%s: %d of %d functions differ", way, differ, len(cases))
	}
	t.Run("interpreted", func(t *testing.T) {
		start := time.Now()
		compare(t, "interpreted", gridInterpreted(t, cases))
		t.Logf("after %v", time.Since(start).Round(time.Second))
	})
	t.Run("compiled", func(t *testing.T) {
		loader := &native.Loader{Cache: t.TempDir()}
		if err := loader.Ready(); err != nil {
			t.Skip(err)
		}
		start := time.Now()
		compare(t, "compiled", gridCompiled(t, loader, cases))
		t.Logf("after %v", time.Since(start).Round(time.Second))
	})
}

var nilReceiverRE = regexp.MustCompile(`value method \S+ called using nil \*\S+ pointer`)

// gridLines adds the lines that functions of the grid print, by their numbers.
// Types of compiled cells are of package cell, not main. How a nil pointer as receiver
// is reported depends on what Go inlines.
func gridLines(lines map[string]string, text string) {
	text = strings.ReplaceAll(text, "cell.", "main.")
	text = nilReceiverRE.ReplaceAllString(text, "runtime error: invalid memory address or nil pointer dereference")
	for line := range strings.Lines(text) {
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		lines[number] = strings.TrimSpace(rest)
	}
}

// gridInGo runs all cases in one program.
func gridInGo(t *testing.T, goTool string, cases []randomtest.GridCase) map[string]string {
	dir := t.TempDir()
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	imports := `import ("errors"; "fmt"; "strings"; "time")
var _, _, _, _ = errors.New, fmt.Sprint, strings.ToUpper, time.Second
`
	file("go.mod", "module grid\n\ngo 1.26\n")
	file("helpers.go", "package main\n"+randomtest.GridHelpers+`
func inCell(key string, f func()) {
	defer func() {
		if e := recover(); e != nil {
			fmt.Println(key, raised(e))
		}
	}()
	f()
}
`)
	var runs strings.Builder
	for first := 0; first < len(cases); first += 1000 {
		var b strings.Builder
		fmt.Fprintf(&b, "package main\n%sfunc run%d() {\n", imports, first)
		batch := cases[first:min(first+1000, len(cases))]
		for _, c := range batch {
			b.WriteString(c.Call + "\n")
			for i, text := range c.Cells {
				fmt.Fprintf(&b, "inCell(\"%d.%d\", func() {\n%s\n_, _ = x, y\n})\n", c.Number, i, text)
			}
		}
		b.WriteString("}\n")
		for _, c := range batch {
			b.WriteString(c.Declare)
		}
		file(fmt.Sprintf("grid%d.go", first), b.String())
		fmt.Fprintf(&runs, "run%d()\n", first)
	}
	file("main.go", "package main\nfunc main() {\n"+runs.String()+"}\n")
	cmd := exec.CommandContext(t.Context(), goTool, "run", "-gcflags=-N -l -e", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "CGO_ENABLED=0")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run: %v\n%.4000s", err, &errs)
	}
	lines := map[string]string{}
	gridLines(lines, string(out))
	return lines
}

// gridSession starts a session with the grid's helpers, in a cell that begins with
// head, and returns a function that runs a cell there.
func gridSession(t *testing.T, compiler compiled.Compiler, head string) func(code string) (string, *engine.Error) {
	s, err := New(Options{KeepStdio: true, KeepStdin: true, Compiler: compiler})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	number := 0
	run := func(code string) (string, *engine.Error) {
		number++
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		w := &enginetest.Recorder{}
		_, err := s.Execute(ctx, engine.Cell{Number: number, Code: code}, w)
		var e *engine.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		return w.Text(enginetest.Stdout), e
	}
	if _, e := run(head + randomtest.GridHelpers); e != nil {
		t.Fatal(enginetest.Plain(e.Text()))
	}
	return run
}

func failure(e *engine.Error) string { return e.Name + ": " + enginetest.Plain(e.Text()) }

// gridInterpreted runs the cases interpreted: many declarations in a cell, those of
// the context cell as cells of their own.
func gridInterpreted(t *testing.T, cases []randomtest.GridCase) map[string]string {
	lines := map[string]string{}
	var run func(code string) (string, *engine.Error)
	for first := 0; first < len(cases); first += gridBatch {
		if first%10000 == 0 {
			run = gridSession(t, nil, "")
		}
		gridTogether(t, lines, cases[first:min(first+gridBatch, len(cases))], "", func(c randomtest.GridCase) bool { return c.Cells == nil }, run)
		for _, c := range cases[first:min(first+gridBatch, len(cases))] {
			for i, text := range c.Cells {
				out, e := run(text)
				gridLines(lines, out)
				if e != nil {
					lines[fmt.Sprintf("%d.%d", c.Number, i)] = gridPanic(e)
				}
			}
		}
	}
	return lines
}

// gridPanic returns how a cell failed, as the grid's functions say it.
func gridPanic(e *engine.Error) string {
	if e.Name == engine.Panic {
		lines := map[string]string{}
		gridLines(lines, "0 panic: "+strings.ReplaceAll(enginetest.Plain(e.Message), "\n", " "))
		return lines["0"]
	}
	return failure(e)
}

// gridTogether declares cases in one cell and calls them in the next one. Where that
// fails, it does so with each half of them.
func gridTogether(t *testing.T, lines map[string]string, cases []randomtest.GridCase, head string, wanted func(randomtest.GridCase) bool, run func(code string) (string, *engine.Error)) {
	var declare, call strings.Builder
	n, last := 0, randomtest.GridCase{}
	for _, c := range cases {
		if wanted(c) {
			declare.WriteString(c.Declare)
			call.WriteString(c.Call + "\n")
			n, last = n+1, c
		}
	}
	if n == 0 {
		return
	}
	_, e := run(head + declare.String())
	if e == nil {
		var out string
		if out, e = run(call.String()); e == nil {
			gridLines(lines, out)
			return
		}
	}
	if n == 1 {
		lines[strconv.Itoa(last.Number)] = failure(e)
		return
	}
	if n > gridBatch {
		t.Logf("%d functions together: %.2000s", n, failure(e))
	}
	half := len(cases) / 2
	gridTogether(t, lines, cases[:half], head, wanted, run)
	gridTogether(t, lines, cases[half:], head, wanted, run)
}

// gridCompiled runs the functions compiled. An instance of a generic one runs
// interpreted, and a type without a name may then have two descriptors, which is a
// limit of compiled cells: these are left out.
func gridCompiled(t *testing.T, loader *native.Loader, cases []randomtest.GridCase) map[string]string {
	lines := map[string]string{}
	run := gridSession(t, loader, compiledHead)
	instances := map[string]bool{}
	for _, c := range cases { // which a generic function may want that runs interpreted
		instances["var _ Box["+c.Type+"]\n"] = true
	}
	if _, e := run(compiledHead + strings.Join(slices.Collect(maps.Keys(instances)), "")); e != nil {
		t.Fatal(failure(e))
	}
	for first := 0; first < len(cases); first += *gridBuilt {
		gridTogether(t, lines, cases[first:min(first+*gridBuilt, len(cases))], compiledHead, inCompiled, run)
	}
	return lines
}

func inCompiled(c randomtest.GridCase) bool {
	return c.Context != "generic function" || !strings.HasPrefix(c.Type, "struct{")
}
