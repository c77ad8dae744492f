package gocell

import (
	"context"
	"slices"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/internal/system/process"
	"dace.local/kernel/yaegi"
)

// constructs are the constructs of the language that BenchmarkConstructs compares.
// Each declares func bench(n int) int, which runs the construct n times.
var constructs = []struct{ name, code string }{
	{"if", `func bench(n int) int { s := 0; for i := 0; i < n; i++ { if i&1 == 0 { s++ } else { s-- } }; return s }`},
	{"switch", `func bench(n int) int { s := 0; for i := 0; i < n; i++ { switch i & 3 { case 0: s++; case 1: s += 2; default: s-- } }; return s }`},
	{"type switch", `func bench(n int) int { s := 0; v := []any{1, "a", 2.5}; for i := 0; i < n; i++ { switch x := v[i%3].(type) { case int: s += x; case string: s += len(x); default: s-- } }; return s }`},
	{"type assertion", `func bench(n int) int { s := 0; var v any = 3; for i := 0; i < n; i++ { if x, ok := v.(int); ok { s += x } }; return s }`},
	{"select", `func bench(n int) int { s := 0; a, b := make(chan int, 1), make(chan int, 1); for i := 0; i < n; i++ { a <- i; select { case v := <-a: s += v; case v := <-b: s -= v } }; return s }`},
	{"call", `func one(i int) int { return i & 1 }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { s += one(i) }; return s }`},
	{"two results", `func two(i int) (int, int) { return i, i + 1 }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { a, b := two(i); s += b - a }; return s }`},
	{"variadic call", `func sum(x ...int) int { return len(x) }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { s += sum(i, i, i) }; return s }`},
	{"method", `type P struct{ X, Y int }
func (p *P) Add(i int) { p.X += i }
func bench(n int) int { p := &P{1, 2}; for i := 0; i < n; i++ { p.Add(i) }; return p.X }`},
	{"interface call", `type Shape interface{ Area() int }
type Sq struct{ A int }
func (s Sq) Area() int { return s.A * s.A }
func bench(n int) int { var s Shape = Sq{3}; x := 0; for i := 0; i < n; i++ { x += s.Area() }; return x }`},
	{"generic call", `func Largest[T int | float64](a, b T) T { if a > b { return a }; return b }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { s += Largest[int](i, 5) }; return s }`},
	{"closure call", `func bench(n int) int { s := 0; f := func(i int) int { return s + i&1 }; for i := 0; i < n; i++ { s = f(i) }; return s }`},
	{"closure made", `func bench(n int) int { s := 0; for i := 0; i < n; i++ { f := func() int { return i }; s += f() }; return s }`},
	{"defer", `func deferring(s *int) { defer func() { *s++ }() }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { deferring(&s) }; return s }`},
	{"literal with defer", `func bench(n int) int { s := 0; for i := 0; i < n; i++ { func() { defer func() { s++ }(); s += i }() }; return s }`},
	{"recover", `func safe(i int) (r int) { defer func() { if recover() != nil { r = 1 } }(); if i&1 == 0 { panic("even") }; return 0 }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { s += safe(i) }; return s }`},
	{"field", `type P struct{ X, Y int }
func bench(n int) int { p := P{1, 2}; for i := 0; i < n; i++ { p.X += p.Y }; return p.X }`},
	{"struct literal", `type P struct{ X, Y int }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { p := P{i, 2}; s += p.X }; return s }`},
	{"slice element", `func bench(n int) int { x := make([]int, 64); for i := 0; i < n; i++ { x[i&63] += i }; return x[0] }`},
	{"append", `func bench(n int) int { var x []int; for i := 0; i < n; i++ { x = append(x, i) }; return len(x) }`},
	{"slice expression", `func bench(n int) int { x := make([]int, 64); s := 0; for i := 0; i < n; i++ { s += len(x[i&31:]) }; return s }`},
	{"map element", `func bench(n int) int { m := map[int]int{}; for i := 0; i < n; i++ { m[i&63] += i }; return m[0] }`},
	{"range slice", `func bench(n int) int { x := make([]int, n); s := 0; for i, v := range x { s += i + v }; return s }`},
	{"range map", `func bench(n int) int { m := map[int]int{}; for i := 0; i < 64; i++ { m[i] = i }; s := 0; for i := 0; i < n/64; i++ { for k, v := range m { s += k + v } }; return s }`},
	{"string building", `func bench(n int) int { s := ""; for i := 0; i < n; i++ { s += "x" }; return len(s) }`},
	{"channel", `func bench(n int) int { c := make(chan int, 1); s := 0; for i := 0; i < n; i++ { c <- i; s += <-c }; return s }`},
	{"goroutine", `func bench(n int) int { c := make(chan int); for i := 0; i < n; i++ { go func() { c <- i }() ; <-c }; return n }`},
	{"library call", `import "strings"
func bench(n int) int { s := 0; for i := 0; i < n; i++ { if strings.HasPrefix("abc", "ab") { s++ } }; return s }`},
	{"callback", `import "sort"
func bench(n int) int { s := 0; for i := 0; i < n/10; i++ { s += sort.Search(1000, func(k int) bool { return k >= 500 }) }; return s }`},
}

// yaegiSession starts a session of yaegi alone, the second opinion on what Go in a cell
// means.
func yaegiSession(tb testing.TB) *yaegi.Session {
	s, err := yaegi.New([]string{"dace"}, "")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Each construct has the same value in cells and in yaegi.
func TestConstructs(t *testing.T) {
	for _, c := range constructs {
		t.Run(c.name, func(t *testing.T) {
			if raceDetector && c.name == "goroutine" {
				t.Skip("yaegi has a data race of its own as it starts a goroutine by a literal")
			}
			s, err := New(Options{KeepStdio: true, KeepStdin: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var values []string
			for _, e := range []engine.Engine{s, yaegiSession(t)} {
				values = append(values, enginetest.Show(t.Context(), e, engine.Cell{Number: 1, Code: c.code + "\nbench(640)"}, new(enginetest.Recorder)))
			}
			if values[0] != values[1] {
				t.Errorf("cells: %s\nyaegi: %s", values[0], values[1])
			}
		})
	}
}

// BenchmarkConstructs compares constructs of the language in cells with the same
// in plain yaegi, by processor time, and min and max with an if.
//
//	go test ./kernel/gocell -run xxx -bench Constructs -benchtime 5x
func BenchmarkConstructs(b *testing.B) {
	const rounds = 20000
	const call = "bench(20000)"
	sessionTime := func(b *testing.B, code string) func() float64 {
		s := benchSession(b)
		execute(b, s, 1, code)
		execute(b, s, 2, call)
		return func() float64 {
			before := process.TotalTime()
			execute(b, s, 2, call)
			return (process.TotalTime() - before).Seconds()
		}
	}
	report := func(b *testing.B, name string, run, other func() float64) {
		var mine, others []float64
		for b.Loop() {
			mine, others = append(mine, run()), append(others, other())
		}
		b.ReportMetric(slices.Min(mine)*1e9/rounds, "cell-ns")
		b.ReportMetric(slices.Min(others)*1e9/rounds, name+"-ns")
		b.ReportMetric(slices.Min(mine)/slices.Min(others), "cell/"+name)
		b.ReportMetric(0, "ns/op")
	}
	for _, c := range constructs {
		b.Run(c.name, func(b *testing.B) {
			in := yaegiSession(b)
			run := func(code string) {
				if _, err := in.Execute(context.Background(), engine.Cell{Number: 1, Code: code}, new(enginetest.Recorder)); err != nil {
					b.Fatal(err)
				}
			}
			run(c.code)
			eval := func() float64 {
				before := process.TotalTime()
				run(call)
				return (process.TotalTime() - before).Seconds()
			}
			eval()
			report(b, "yaegi", sessionTime(b, c.code), eval)
		})
	}
	for name, code := range map[string]string{
		"min": `func bench(n int) int { s := 0; for i := 0; i < n; i++ { s += min(i, 5) }; return s }`,
		"max": `func bench(n int) int { s := 0.0; for i := 0; i < n; i++ { s = max(s, float64(i)) }; return int(s) }`,
	} {
		b.Run(name, func(b *testing.B) {
			report(b, "if", sessionTime(b, code), sessionTime(b, `func bench(n int) int { s := 0; for i := 0; i < n; i++ { if i < 5 { s += i } else { s += 5 } }; return s }`))
		})
	}
}
