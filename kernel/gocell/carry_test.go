package gocell

import (
	"context"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
)

// valueOf runs a cell and returns the value of its last expression.
func valueOf(t *testing.T, s *Session, number int, text string) any {
	t.Helper()
	src, err := check.ParseCell(s.machine.Files(), number, "", text)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.texts[number] = text
	s.mu.Unlock()
	var value any
	if err := s.runWith(context.Background(), src, false, discard{}, func(values []any) { value = values[0] }); err != nil {
		t.Fatal(err)
	}
	return value
}

// carries are cells whose last expression is a list with a function, and what the
// function returns for true, false, true; or words of the refusal.
var carries = []struct{ name, cells, want, refused string }{
	{name: "a declared function", cells: "func f(x []bool) float64 { return float64(len(x)) }\n[]func([]bool) float64{f}", want: "3"},
	{name: "with others", cells: `import m "math"
const two = 2
type weights []float64
func (w weights) of(x []bool) (s float64) { for i, b := range x { if b { s += w[i] } }; return }
func twice(v float64) float64 { return two * m.Abs(v) }
func f(x []bool) float64 { return twice(weights{1, 2, 4}.of(x)) }
[]func([]bool) float64{f}`, want: "10"},
	{name: "a literal", cells: "[]func([]bool) float64{func(x []bool) float64 { return 7 }}", want: "7"},
	{name: "plain variables", cells: `type item struct{ w, v float64 }
var items = map[string][]item{"b": {{1, 2}}, "a": {{3, 4}, {5, 6}}}
var pointer = &item{8, 9}
---
scale := []int{2, 3}
---
[]func([]bool) float64{func(x []bool) float64 { return float64(scale[1])*(items["a"][1].v+items["b"][0].w) + pointer.v }}`, want: "30"},
	{name: "a variable set since", cells: "n := 1\nf := func(x []bool) float64 { return float64(n) }\n---\nn = 5\n[]func([]bool) float64{f}", want: "5"},
	{name: "a local of the same name", cells: "best := make(chan int)\n---\nfunc f(x []bool) float64 { best := 2.0; best++; return best }\n[]func([]bool) float64{f}", want: "3"},
	{name: "an import with a dot, and a name that it has, too", cells: "import . \"strings\"\nfunc low(s string) string { return ToLower(s) }\n---\nfunc Repeat(s string, n int) string { return s }\nfunc f(x []bool) float64 { return float64(len(low(\"A\") + Repeat(\"ab\", 9))) }\n[]func([]bool) float64{f}", want: "3"},
	{name: "a function variable", cells: "g := func(v int) int { return v }\n---\n[]func([]bool) float64{\n\tfunc(x []bool) float64 { return float64(g(1)) },\n}", refused: "In[2], line 2: it reads the variable g, which cannot travel because it holds a function"},
	{name: "a channel deeper", cells: "type t struct{ c chan int }\nvar v t\nfunc help() int { return cap(v.c) }\n---\nfunc f(x []bool) float64 { return float64(help()) }\n[]func([]bool) float64{f}", refused: "In[1], line 3: it reads the variable v"},
	{name: "sets", cells: "count := 0\n---\n[]func([]bool) float64{func(x []bool) float64 { count++; return 1 }}", refused: "In[2], line 1: it sets the variable count"},
	{name: "a variable around", cells: "fs := []func([]bool) float64{}\nfor i := range 2 {\n\tfs = append(fs, func(x []bool) float64 { return float64(i) })\n}\nfs", refused: "In[1], line 3: undefined: i"},
	{name: "that hides another", cells: "i := 9\n---\nfs := []func([]bool) float64{}\nfor i := range 2 {\n\tfs = append(fs, func(x []bool) float64 { return float64(i) })\n}\nfs", refused: "it uses i, a variable of the function or block around it"},
	{name: "a parameter around", cells: "k := 1\nfunc mk(k int) func([]bool) float64 { return func(x []bool) float64 { return float64(k) } }\n[]func([]bool) float64{mk(2)}", refused: "it uses k, a variable"},
	{name: "Go's own name, which a later cell declares", cells: "func f(x []bool) float64 { return float64(max(len(x), 2)) }\n---\nfunc max(a, b int) int { return -1 }\n[]func([]bool) float64{f}", want: "3"},
	{name: "and one that another function uses", cells: "func g(n int) int { return n }\nfunc f(x []bool) float64 { return float64(max(g(len(x)), 2)) }\n---\nfunc max(a, b int) int { return -1 }\nfunc g(n int) int { return max(n, 1) }\n[]func([]bool) float64{f}", refused: "In[1], line 2: this uses Go's own max"},
	{name: "of a library", cells: "import \"math\"\n[]func(float64) float64{math.Sqrt}", refused: "no function that a cell declares"},
}

// A function that cells have made does the same in another session, or is refused
// with what cannot travel and where.
func TestCarry(t *testing.T) {
	for _, c := range carries {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(Options{KeepStdio: true, KeepStdin: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			cells := strings.Split(c.cells, "\n---\n")
			for i, text := range cells[:len(cells)-1] {
				if _, err := s.Execute(context.Background(), engine.Cell{Number: i + 1, Code: text}, discard{}); err != nil {
					t.Fatal(err)
				}
			}
			var f any
			switch list := valueOf(t, s, len(cells), cells[len(cells)-1]).(type) {
			case []func([]bool) float64:
				f = list[0]
			case []func(float64) float64:
				f = list[0]
			}
			carried, err := s.Carry(f)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("%v, want %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkCarried(t, carried, c.want)
		})
	}
}

// checkCarried makes a function in another session and calls it there, also when
// no cell runs.
func checkCarried(t *testing.T, carried *Function, want string) {
	t.Helper()
	b, err := carried.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeFunction(b)
	if err != nil {
		t.Fatal(err)
	}
	m, err := back.Make(context.Background(), Options{}, `fmt.Sprint(`+back.Name+`([]bool{true, false, true}))`)
	if err != nil {
		t.Fatalf("%v\n%s", err, back.Text)
	}
	if m.Value != want || m.Path != "" || m.Why != "there is no compiler" {
		t.Errorf("%v, want %s\n%s", m, want, back.Text)
	}
	m, err = back.Make(context.Background(), Options{}, `[]func([]bool) float64{`+back.Name+`}`)
	if err != nil {
		t.Fatal(err)
	}
	f := m.Value.([]func([]bool) float64)[0]
	done := make(chan float64)
	for range 4 {
		go func() { done <- f([]bool{true, false, true}) }()
	}
	first := <-done
	for range 3 {
		if v := <-done; v != first {
			t.Errorf("%v and %v", v, first)
		}
	}
}

// Functions with arrays and structs, which reflect makes and calls, are found, too.
func TestCarryOfArrays(t *testing.T) {
	s, err := New(Options{KeepStdio: true, KeepStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list := valueOf(t, s, 1, "[]any{func(x [2]float64, at func(int)) float64 { return x[0] }}").([]any)
	if _, err := s.Carry(list[0]); err != nil {
		t.Error(err)
	}
}
