package gocell

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/profile"
	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/internal/system/process"
)

// profiled runs cells, the last of which takes a profile, and returns how much of the
// time of all lines that its table names is each line's, own and total, in percent. The
// garbage collector's part depends on what else the machine does, and is left out.
func profiled(t *testing.T, cells ...string) (own, total map[string]int) {
	t.Helper()
	s, err := New(Options{KeepStdio: true, KeepStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var shown string
	for i, code := range cells {
		shown = enginetest.Show(t.Context(), s, engine.Cell{Number: i + 1, Code: code}, new(enginetest.Recorder))
	}
	t.Log(shown)
	own, total = map[string]int{}, map[string]int{}
	all := 0
	for _, m := range regexp.MustCompile(`(?m)^ +(\d+) ms +\d+ % +(\d+) ms +\d+ %  (In\[\d+\]:\d+)  `).FindAllStringSubmatch(shown, -1) {
		own[m[3]], _ = strconv.Atoi(m[1])
		total[m[3]], _ = strconv.Atoi(m[2])
		all += own[m[3]]
	}
	for line := range own {
		own[line], total[line] = 100*own[line]/max(all, 1), 100*total[line]/max(all, 1)
	}
	return own, total
}

// A profile names the lines that use the processor: of a loop, of a function that
// an earlier cell has declared, of a library's call the line that calls, of goroutines
// their own lines below that which starts them. Who waits uses none.
func TestProfile(t *testing.T) {
	steps, megabytes := 8_000_000, 10
	if raceDetector { // as many samples, so that chance does not decide
		steps, megabytes = 1_500_000, 40
	}
	own, total := profiled(t, `func slow(n int) (s int) {
	for i := 0; i < n; i++ {
		s += i % 7
	}
	return s
}
func careful(n int) int {
	defer func() {}()
	return slow(n)
}`, fmt.Sprintf(`%%%%prun
x := careful(%[1]d)
time.Sleep(100 * time.Millisecond)
y := strings.Count(strings.Repeat("ab", %[2]d<<20), "ab")
done := make(chan int)
go func() {
	done <- slow(%[1]d)
}()
z := <-done`, steps, megabytes))
	if loop := own["In[1]:2"] + own["In[1]:3"]; loop < 30 {
		t.Errorf("the loop has %d %%", loop)
	}
	if own["In[2]:4"] < 5 {
		t.Errorf("the library's call has %d %%", own["In[2]:4"])
	}
	if got := own["In[2]:3"] + own["In[2]:9"]; got > 10 {
		t.Errorf("waiting has %d %%", got)
	}
	for _, line := range []string{"In[2]:2", "In[2]:6"} {
		if total[line] < 10 || own[line] > 10 {
			t.Errorf("%s has %d %% by itself and %d %% in all", line, own[line], total[line])
		}
	}
	if total["In[1]:9"] < 10 {
		t.Errorf("the call in a function with a deferred call has %d %%", total["In[1]:9"])
	}
}

// Functions of cells that a library calls, in goroutines of its own, have their time
// below the line that calls the library.
func TestProfileCallbacks(t *testing.T) {
	own, total := profiled(t, `%%prun
leading := problem.FromFunc("leading ones", 30, func(x []bool) float64 {
	n := 0.0
	for k := range 100 {
		n += float64(k)
	}
	return n
})
r := must(brkga.Run(ctx, leading, brkga.Settings{Seed: 1, Evaluations: 50000}))`)
	if in := own["In[1]:3"] + own["In[1]:4"] + own["In[1]:5"] + own["In[1]:7"]; in < 50 {
		t.Errorf("the objective has %d %%", in)
	}
	if total["In[1]:9"] < 80 {
		t.Errorf("the search has %d %%", total["In[1]:9"])
	}
}

// What is shown is a table and a flame graph, and a file that go tool pprof reads.
func TestProfileFile(t *testing.T) {
	s, err := New(Options{KeepStdio: true, KeepStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file := filepath.Join(t.TempDir(), "cpu.pb.gz")
	out := new(enginetest.Recorder)
	shown := enginetest.Show(t.Context(), s, engine.Cell{Number: 1, Code: "%%prun -o " + file + " -n 1\nimport \"time\"\ns := 0\nfor start := time.Now(); time.Since(start) < time.Second/2; {\n\ts = 0\n\tfor i := range 2000 {\n\t\ts += i\n\t}\n}\ns"}, out)
	if !strings.Contains(shown, "go tool pprof -http : "+file) || !strings.Contains(shown, "= 1999000") {
		t.Errorf("%s", shown)
	}
	var page string
	for _, e := range out.Events() {
		if h, ok := e.Bundle.Data["text/html"].(string); ok {
			page = h
		}
	}
	for _, want := range []string{"flame graph", "background:#", "color:#1a1a1a", "In[1]:", "<table"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := profile.Decode(text)
	// What runs may be a function of the run time that the cell calls.
	ofCell := func(s profile.RawSample) bool {
		return len(s.Stack) > 0 && s.Stack[len(s.Stack)-1].File == "In[1]" && s.Nanos >= profile.Period
	}
	if err != nil || !slices.ContainsFunc(samples, ofCell) {
		t.Errorf("%+v, %v", samples, err)
	}
	for code, want := range map[string]string{
		"%prun":              "%prun wants a statement",
		"%prun -n 0 f()":     "-n wants a number",
		"%prun -x f()":       "flag provided but not defined",
		"%%prun rest\n1":     "unexpected argument rest",
		"%prun nobody()":     "undefined: nobody",
		"%prun panic(\"x\")": "panic: x",
	} {
		if got := enginetest.Show(t.Context(), s, engine.Cell{Number: 2, Code: code}, new(enginetest.Recorder)); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, want %q", code, got, want)
		}
	}
}

// A span ends with the last of many lines; samples in compiled functions say themselves
// which line ran.
func TestJoin(t *testing.T) {
	at := func(line int, callee string) []vm.Place {
		return []vm.Place{{Function: "main", File: cell.FileName(1), Line: line, Callee: callee}}
	}
	spans := map[string]*vm.Span{"0": {At: at(3, "fast")}, "1": {At: at(4, "")}, "2": {At: at(5, "Run"), Inner: [][]vm.Place{{{Function: "f", File: cell.FileName(1), Line: 9}}}}, "3": {}}
	j := joiner{spans: spans, first: []profile.Frame{{File: "In[1]", Line: 1}}, frame: func(function, _ string, line int) (f vm.Frame, ok bool) {
		f.Pos.Filename, f.Pos.Line, f.Name = cell.FileName(2), line, "fast"
		return f, function == "cells.fast"
	}}
	sample := func(span string, nanos int64, stack ...string) profile.RawSample {
		r := profile.RawSample{Nanos: nanos, Labels: map[string]string{vm.SpanLabel: span}}
		for _, name := range stack {
			r.Stack = append(r.Stack, profile.Frame{Function: name, Line: 7})
		}
		return r
	}
	const steps = "dace.local/kernel/gocell/internal/code.(*G).call"
	times := map[string]int64{}
	for _, s := range j.join([]profile.RawSample{
		sample("0", 10*profile.Period, "cells.fast", "reflect.Value.call", steps),
		sample("1", profile.Period, "cells.fast", "reflect.Value.call", steps), // in fast, though line 4 came last
		sample("1", 2*profile.Period, "runtime.mallocgc", steps),
		sample("2", 5*profile.Period, "sort.Ints", "dace.local/dacelib/brkga.worker", "runtime.goexit"),
		sample("3", profile.Period, steps),
		sample("none", profile.Period, "runtime.gcDrain", "runtime.gcBgMarkWorker"),
		sample("none", profile.Period, "syscall.Syscall", "main.main"),
	}) {
		var text []string
		for _, f := range s.Stack {
			text = append(text, f.Function+" "+f.File+":"+strconv.Itoa(f.Line))
		}
		times[strings.Join(text, ", ")] += s.Nanos / profile.Period
	}
	want := map[string]int64{
		"main In[1]:3, fast In[2]:7": 11, "main In[1]:4": 2, "main In[1]:5, f In[1]:9": 1,
		"main In[1]:5, dace.local/dacelib/brkga.worker :7, sort.Ints :7": 4, " In[1]:1": 1, "": 1,
	}
	if len(times) != len(want) {
		t.Errorf("%v", times)
	}
	for stack, n := range want {
		if times[stack] != n {
			t.Errorf("%q has %d samples, want %d: %v", stack, times[stack], n, times)
		}
	}
}

// BenchmarkProfile measures what a profile costs, by processor time.
//
//	go test ./kernel/gocell -run xxx -bench Profile -benchtime 5x
func BenchmarkProfile(b *testing.B) {
	for name, code := range map[string][2]string{
		"calls":    {"func fib(n int) int {\n\tif n < 2 {\n\t\treturn n\n\t}\n\treturn fib(n-1) + fib(n-2)\n}", "fib(29)"},
		"loop":     {"func sum(n int) (s int) {\n\tfor i := 0; i < n; i++ {\n\t\ts += i % 7\n\t}\n\treturn s\n}", "sum(15000000)"},
		"callback": {"func search(n int) (s int) {\n\tfor range n {\n\t\ts += sort.Search(1000, func(k int) bool { return k >= 500 })\n\t}\n\treturn s\n}", "search(150000)"},
		"defer":    {"func one() (n int) {\n\tdefer func() { n++ }()\n\treturn n\n}\nfunc many(n int) (s int) {\n\tfor range n {\n\t\ts += one()\n\t}\n\treturn s\n}", "many(200000)"},
		"go":       {"func gos(n int) (s int) {\n\tc := make(chan int)\n\tfor i := range n {\n\t\tgo func() { c <- i }()\n\t\ts += <-c\n\t}\n\treturn s\n}", "gos(100000)"},
	} {
		b.Run(name, func(b *testing.B) {
			s := benchSession(b)
			execute(b, s, 1, code[0])
			var plain, sampled []float64
			measure := func(code string) float64 {
				before := process.TotalTime()
				execute(b, s, 2, code)
				return (process.TotalTime() - before).Seconds()
			}
			measure(code[1])
			for b.Loop() {
				plain, sampled = append(plain, measure(code[1])), append(sampled, measure("%prun "+code[1]))
			}
			b.ReportMetric(slices.Min(plain)*1000, "plain-ms")
			b.ReportMetric(slices.Min(sampled)*1000, "profiled-ms")
			b.ReportMetric(slices.Min(sampled)/slices.Min(plain), "profiled/plain")
			b.ReportMetric(0, "ns/op")
		})
	}
}
