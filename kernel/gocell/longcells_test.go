package gocell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/internal/system/process"
)

// BenchmarkLongCell measures the processor time from the text of a cell of about 1,000 lines
// to its first statement, which ends it: in a new session, and in one that has run the cell
// before. The cells are code that is in the repository for other ends: programs of
// testdata/programs, a package of dacelib, and cells of notebooks.
func BenchmarkLongCell(b *testing.B) {
	limits.Pace() // as the kernel has it
	for _, c := range []struct {
		name string
		text func() string
	}{
		{"programs", func() string { return joined(b, programTexts(b)) }}, {"package", func() string { return packageText(b, "similarity") }},
		{"notebooks", func() string { return joined(b, notebookTexts(b)) }},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkLong(b, c.text()) })
	}
}

func benchmarkLong(b *testing.B, text string) {
	if i := strings.Index(text, firstStatement); i >= 0 {
		text = text[:i] + "panic(\"here\")\n" + text[i+len(firstStatement):]
	} else {
		text += "\npanic(\"here\")\n"
	}
	lines := float64(strings.Count(text, "\n"))
	for _, name := range []string{"first", "again"} {
		b.Run(name, func(b *testing.B) {
			s := benchSession(b)
			var used, allocated float64
			for b.Loop() {
				if name == "first" {
					s = benchSession(b)
					execute(b, s, 1, "x := 1")
					runtime.GC()
				} else {
					stopAtFirst(b, s, text)
				}
				var m, n runtime.MemStats
				runtime.ReadMemStats(&m)
				before := process.TotalTime()
				stopAtFirst(b, s, text)
				used += (process.TotalTime() - before).Seconds()
				runtime.ReadMemStats(&n)
				allocated += float64(n.TotalAlloc - m.TotalAlloc)
			}
			b.ReportMetric(used*1000/float64(b.N), "cpu-ms")
			b.ReportMetric(allocated/float64(b.N)/1e6, "MB")
			b.ReportMetric(lines, "lines")
		})
	}
}

// firstStatement stands in joined texts where their statements begin.
const firstStatement = "// first statement\n"

// stopAtFirst runs a cell that ends with its first statement.
func stopAtFirst(b *testing.B, s *Session, text string) {
	_, err := s.Execute(context.Background(), engine.Cell{Number: 2, Code: text}, discard{})
	var e *engine.Error
	if !errors.As(err, &e) || e.Name != engine.Panic {
		b.Fatal(err)
	}
}

// joined joins texts of Go to a cell of about 1,000 lines, but for those that do not check
// below the others: they declare a name again, or use one that is left out.
func joined(b *testing.B, texts []string) (cell string) {
	s := benchSession(b)
	for _, text := range texts {
		shown := strings.LastIndexByte(text, '\n') + 1 // perhaps an expression, which only the last statement may be
		for _, text := range []string{text, text[:shown] + "_ = " + text[shown:]} {
			more := cell + text + "\n"
			src, err := check.ParseCell(s.machine.Files(), 1, "", more+"panic(0)")
			if err == nil {
				_, err = s.prog.Check(s.machine.Files(), src)
			}
			if err == nil {
				cell = more
				break
			}
		}
		if strings.Count(cell, "\n") >= 1000 {
			break
		}
	}
	return cell
}

func readText(b *testing.B, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func glob(b *testing.B, pattern ...string) []string {
	files, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(files) == 0 {
		b.Fatal(pattern, err)
	}
	return files
}

// programTexts returns the programs of testdata, whose functions main have other names.
func programTexts(b *testing.B) (texts []string) {
	for i, file := range glob(b, "testdata", "programs", "*.go") {
		text := strings.Replace(readText(b, file), "package main\n", "\n", 1)
		texts = append(texts, strings.Replace(text, "\nfunc main() {", fmt.Sprintf("\nfunc main%d() {", i), 1))
	}
	return texts
}

func packageText(b *testing.B, name string) (all string) {
	for _, file := range glob(b, "..", "..", "dacelib", name, "*.go") {
		if !strings.HasSuffix(file, "_test.go") {
			text := readText(b, file)
			i := strings.Index(text, "package "+name+"\n")
			all += text[:i] + text[i+len("package "+name):]
		}
	}
	return all
}

func notebookTexts(b *testing.B) (texts []string) {
	texts = []string{firstStatement}
	for _, file := range glob(b, "..", "..", "notebooks", "*.ipynb") {
		var n struct {
			Cells []struct {
				Kind   string   `json:"cell_type"`
				Source []string `json:"source"`
			} `json:"cells"`
		}
		if err := json.Unmarshal([]byte(readText(b, file)), &n); err != nil {
			b.Fatal(err)
		}
		for _, c := range n.Cells {
			if c.Kind == "code" {
				texts = append(texts, strings.Join(c.Source, ""))
			}
		}
	}
	return texts
}

// A cell leaves little of itself behind, however often it runs: a session lasts for days. Its
// syntax and code alone have 50 to 600 kB. A type stays: values may be of it.
func TestCellsForgotten(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const runs = 60
	repeated := func(text string) string {
		var b strings.Builder
		for i := range 15 {
			b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)) + "\n")
		}
		return b.String()
	}
	const function = "func f#(a int, b []int) (int, string) {\n\ts := 0\n\tfor i, x := range b {\n\t\ts += a * x + i\n\t}\n\treturn s, fmt.Sprint(s)\n}\n"
	for name, c := range map[string]struct {
		cell string
		most int // bytes that a run may keep
	}{
		"statements":            {repeated("x = x*3 + 1\nif x > 1e6 { x = x % 1000 }\nl = append(l[:0], x, x+1, x+2)\nfmt.Sprint(l, x)"), 15_000},
		"functions":             {repeated(function), 30_000},
		"calls":                 {repeated(function) + repeated("_, _ = f#(2, l)"), 30_000},
		"used by others":        {"func used(x int) int { return x }", 30_000},
		"generic functions":     {repeated("func g#[T any](x T, l []T) []T {\n\tfor _, y := range l {\n\t\tif fmt.Sprint(x) == fmt.Sprint(y) {\n\t\t\treturn nil\n\t\t}\n\t}\n\treturn append(l, x)\n}\ng#(1, l)"), 40_000},
		"methods":               {repeated("type T# struct{ a, b int }\nfunc (t T#) Sum(c int) int { return t.a + t.b + c }\nfunc (t *T#) Add(c int) { t.a += c }\nfunc (t T#) String() string { return fmt.Sprint(t.a) }\n_ = fmt.Sprint(T#{1, 2})"), 150_000},
		"a method that changes": {repeated(function) + "type T struct{ a int }\nfunc (t T) Sum(c int) int { return t.a + RUN }\nfunc (t *T) Add(c int) { t.a += c }\nT{}", 60_000},
		"generic types":         {repeated("type G#[X any] struct{ a X }\nfunc (g G#[X]) String() string { return fmt.Sprint(g.a) }\nfunc (g *G#[X]) Set(a X) { g.a = a }\n_ = fmt.Sprint(G#[int]{1}, &G#[string]{`a`})"), 250_000},
		"embedding structs":     {"type E struct{ a int }\nfunc (e E) Get() int { return e.a }\n" + repeated("_ = fmt.Sprint(struct{ E; m# int }{E{1}, 2})"), 100_000},
		"variables":             {repeated("var v# = x + #\nw# := []int{x, #}"), 10_000},
		"variables of changed":  {repeated("v# := [RUN]int{}"), 20_000},
		"function literals":     {repeated("h# := func(a int) int { return a + x }\nh#(2)"), 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			execute(t, s, 1, "x := 1\nl := []int{x}")
			execute(t, s, 2, "func used(x int) int { return x }\n"+repeated("func user#(a int) int {\n\ts := 0\n\tfor i := range a {\n\t\ts += used(a * x + i)\n\t}\n\treturn s\n}"))
			live := func() int {
				for range 3 { // a cell drops what the collector has found unused
					runtime.GC()
					execute(t, s, 1, "x = 1")
				}
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			var before int
			for i := range 10 + runs {
				if i == 10 {
					before = live()
				}
				execute(t, s, 3+i, strings.ReplaceAll(c.cell, "RUN", fmt.Sprint(i+1)))
			}
			if each := (live() - before) / runs; each > c.most {
				t.Errorf("a run keeps %d bytes, want at most %d", each, c.most)
			}
		})
	}
}

// A session that has ended leaves its types, which live as long as the process, and not its
// variables: not a MB here.
func TestSessionsForgotten(t *testing.T) {
	const sessions, most = 8, 200_000
	for name, cell := range map[string]string{
		"methods":       "type T struct{ a int }\nfunc (t T) String() string { return fmt.Sprint(t.a) }\nx := T{1}",
		"generic types": "type T[X any] struct{ a X }\nfunc (t T[X]) String() string { return fmt.Sprint(t.a) }\nx := T[int]{1}",
		"promoted":      "type T struct{ sync.Mutex; error }\nx := &T{error: io.EOF}",
		"unnamed":       "x := struct{ fmt.Stringer }{big.NewInt(1)}",
	} {
		t.Run(name, func(t *testing.T) {
			live := func() int {
				runtime.GC()
				runtime.GC() // what a finalizer kept
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			var last any
			var before int
			for i := range 1 + sessions {
				if i == 1 {
					before = live()
				}
				s, err := New(Options{})
				if err != nil {
					t.Fatal(err)
				}
				execute(t, s, 1, cell+"\ndata := make([]byte, 1e6)\n_ = fmt.Sprint(x)")
				last = valueOf(t, s, 2, "x")
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if each := (live() - before) / sessions; each > most {
				t.Errorf("an ended session keeps %d bytes, want at most %d", each, most)
			}
			if got := fmt.Sprint(last); strings.HasSuffix(cell, "{1}") && !strings.Contains(got, "its session has ended") {
				t.Errorf("a method of an ended session: %s", got)
			}
		})
	}
}
