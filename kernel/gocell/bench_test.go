package gocell

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/traefik/yaegi/interp"
	"github.com/traefik/yaegi/stdlib"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
)

// loops are the loop bodies that BenchmarkLoops measures, in a session and in
// plain yaegi.
var loops = []struct{ name, decl, call string }{
	{"arithmetic", `func bench(n int) int { s := 0; for i := 0; i < n; i++ { s += i & 7 }; return s }`, "bench(100000)"},
	{"index", `func bench(n int) int { x := make([]int, 64); s := 0; for i := 0; i < n; i++ { x[i&63] = i; s += x[(i+1)&63] }; return s }`, "bench(100000)"},
	{"calls", `func one(i int) int { return i & 1 }
func bench(n int) int { s := 0; for i := 0; i < n; i++ { s += one(i) }; return s }`, "bench(100000)"},
	{"functions", `type F func(int) int
func bench(n int) int { s := 0; var f F = func(i int) int { return i & 1 }; for i := 0; i < n; i++ { s += f(i) }; return s }`, "bench(100000)"},
	{"methods", `type P struct{ X, Y int }
func (p *P) Add(i int) { p.X += i }
func bench(n int) int { p := &P{1, 2}; for i := 0; i < n; i++ { p.Add(i) }; return p.X }`, "bench(100000)"},
	{"interfaces", `type Shape interface{ Area() int }
type Sq struct{ A int }
func (s Sq) Area() int { return s.A * s.A }
func bench(n int) int { var s Shape = Sq{3}; x := 0; for i := 0; i < n; i++ { x += s.Area() }; return x }`, "bench(100000)"},
	{"fields", `type P struct{ X, Y int }
func bench(n int) int { p := &P{1, 2}; for i := 0; i < n; i++ { p.X += p.Y }; return p.X }`, "bench(100000)"},
}

func BenchmarkLoops(b *testing.B) {
	for _, l := range loops {
		b.Run(l.name+"/cell", func(b *testing.B) {
			s := benchSession(b)
			execute(b, s, 1, l.decl)
			for b.Loop() {
				execute(b, s, 2, l.call)
			}
		})
		b.Run(l.name+"/yaegi", func(b *testing.B) {
			in := interp.New(interp.Options{})
			if err := in.Use(stdlib.Symbols); err != nil {
				b.Fatal(err)
			}
			if _, err := in.Eval(l.decl); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := in.Eval(l.call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchSession(tb testing.TB) *Session {
	s, err := New(Options{KeepStdio: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func execute(tb testing.TB, s *Session, number int, code string) {
	if _, err := s.Execute(context.Background(), engine.Cell{Number: number, Code: code}, discard{}); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkCell runs an ordinary cell in a session that knows 200 names.
func BenchmarkCell(b *testing.B) {
	s := benchSession(b)
	for i := range 200 {
		execute(b, s, i+1, fmt.Sprintf("func f%d(x int) int { return x + %d }\nv%d := f%d(1)", i, i, i, i))
	}
	const cell = "total := 0\nfor i := range 10 {\n\ttotal += f3(i) + v7\n}\nmsg := fmt.Sprintf(\"%d\", total)\nstrings.ToUpper(msg)"
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			src, err := check.ParseCell(s.machine.Files(), 1000, "", cell)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.prog.Check(s.machine.Files(), src); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("execute", func(b *testing.B) {
		for b.Loop() {
			execute(b, s, 1000, cell)
		}
	})
	b.Run("lines=1000", func(b *testing.B) {
		var text strings.Builder
		for i := range 125 {
			fmt.Fprintf(&text, "func g%[1]d(list []float64, m map[string]int) (sum float64) {\n\tfor i, x := range list {\n\t\tif x > float64(m[fmt.Sprint(i)]) {\n\t\t\tsum += x * %[1]d\n\t\t}\n\t}\n\treturn math.Sqrt(sum)\n}\n", i)
		}
		for b.Loop() {
			execute(b, s, 1000, text.String())
		}
	})
}

// BenchmarkManyCells reports how much the heap grows with 10,000 cells.
func BenchmarkManyCells(b *testing.B) {
	for b.Loop() {
		s := benchSession(b)
		execute(b, s, 1, "func f(x int) int { return x + 1 }\nx := 1\nfmt.Sprint(x)")
		before := heapMB()
		start := time.Now()
		for i := range 10000 {
			execute(b, s, i+2, "y := f(x)\nx = y % 100\nfmt.Sprint(x)")
		}
		b.ReportMetric(heapMB()-before, "MB/10000cells")
		b.ReportMetric(float64(time.Since(start).Microseconds())/10000, "µs/cell")
		runtime.KeepAlive(s)
	}
}
