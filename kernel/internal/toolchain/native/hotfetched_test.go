package native_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell"
)

// TestHotPackages checks that functions of a module on disk become hot, share the
// package's variables with what is interpreted, and that an edit drops them.
func TestHotPackages(t *testing.T) {
	l := ready(t)
	root := onDisk(t, `
-- go.mod --
module example.com/hot

go 1.24
-- stats/stats.go --
package stats

import (
	"errors"
	str "strings"

	"example.com/hot/internal/inner"
)

var Count int

var ErrNegative = errors.New("negative")

const scale = 3

const (
	zero = iota
	one
)

func Inc() int { Count++; return Count }

func Sum(n int) (s int) {
	for i := range n {
		s += i * scale * inner.Factor() * one
	}
	Inc()
	return s
}

func Root(x float64, more ...int) (float64, error) {
	if x < 0 {
		return 0, ErrNegative
	}
	y := x
	for range 50 + len(more) {
		y = (y + x/y) / 2
	}
	return y, nil
}

func Words(s string) (n int) {
	for range str.Fields(s) {
		n++
	}
	return n
}

func At(xs []int, i int) (n int) {
	for range 1 {
		n += xs[i]
	}
	return n
}

func Spin(n int) {
	for range n {
	}
}

type Acc struct{ n int }

func Make(n int) (a Acc) {
	for range n {
		a.n += twice(n)
	}
	return a
}

func twice(n int) int {
	for range 1 {
		n *= 2
	}
	return n
}
-- internal/inner/inner.go --
package inner

var factor = 1

func Factor() int { return factor }

func Set(n int) { factor = n }
`, "")
	s, err := gocell.New(gocell.Options{Compiler: l, CompileAfter: -1}) // at once, and cells wait
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	n := 0
	cell := func(code string) string {
		n++
		return run(t.Context(), s, n, code)
	}
	is := func(code, want string) {
		t.Helper()
		if got := cell(code); got != want {
			t.Errorf("cell %d: %s\nshows %s\nwant  %s", n, code, got, want)
		}
	}
	state := func(function, want string) {
		t.Helper()
		for line := range strings.Lines(cell("%compile list")) {
			name, is, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name == function {
				if is = strings.TrimSpace(is); !strings.HasPrefix(is, want) {
					t.Errorf("%s is said to be %s, want %s", function, is, want)
				}
				return
			}
		}
		t.Errorf("%s is in no list", function)
	}
	edit := func(name, old, now string) {
		t.Helper()
		file := filepath.Join(root, name)
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatalf("%s has no %q (%v)", name, old, err)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	is("import \"example.com/hot/stats\"\nf := stats.Sum\nstats.Sum(10)", "= 135")
	is("stats.Sum(10)", "= 135")
	state("stats.Sum", "compiled")
	is("func wrap(n int) (s int) { for i := range n { s += stats.Sum(i) }; return s }\nwrap(10), f(10), stats.Count", "= 360, 135, 13")
	is("wrap(10), f(10), stats.Count", "= 360, 135, 24")
	state("wrap", "interpreted: it uses stats")

	// Errors, variadics, imports by another name, panics in the package's file.
	is("stats.Root(4)", "= 2")
	is("_, err := stats.Root(-1, 1, 2)\nerr == stats.ErrNegative", "= true")
	is("_, err = stats.Root(-1, []int{3}...)\nerr == stats.ErrNegative", "= true")
	state("stats.Root", "compiled")
	is("stats.Words(\"a b c\")", "= 3")
	is("stats.Words(\"a b c\")", "= 3")
	is("stats.At([]int{7}, 0)", "= 7")
	if got := cell("stats.At([]int{7}, 3)"); !strings.Contains(got, "stats/stats.go:51:3: in stats.At") || strings.Count(got, "in stats.At") != 1 || !strings.Contains(got, "n += xs[i]") {
		t.Errorf("a panic shows %s", got)
	}
	state("stats.At", "compiled")
	is("fmt.Sprint(stats.Make(2))", `= "{8}"`)
	is("fmt.Sprint(stats.Make(2))", `= "{8}"`)
	is("fmt.Sprint(stats.Make(2))", `= "{8}"`) // waits for what Make calls
	state("stats.Make", "interpreted: a type of its package goes in or out of it")
	state("stats.twice", "compiled")

	// An interrupt ends what is compiled.
	is("stats.Spin(10)", "")
	is("stats.Spin(10)", "")
	state("stats.Spin", "compiled")
	n++
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Execute(ctx, engine.Cell{Number: n, Code: "stats.Spin(1<<62)"}, &enginetest.Recorder{}); err == nil || !strings.Contains(err.Error(), "interrupted") || strings.Contains(err.Error(), "cannot be stopped") {
		t.Errorf("an interrupt: %v", err)
	}

	// Edits, of the package and of one that it imports, begin its variables anew.
	edit("stats/stats.go", "scale = 3", "scale = 5")
	is("stats.Sum(10), wrap(10), stats.Count", "= 225, 600, 11")
	is("stats.Sum(10), wrap(10), stats.Count", "= 225, 600, 22")
	state("stats.Sum", "compiled")
	edit("internal/inner/inner.go", "factor = 1", "factor = 2")
	is("stats.Sum(10), wrap(10), stats.Count", "= 450, 1200, 11")
	is("stats.Sum(10), wrap(10), stats.Count", "= 450, 1200, 22")
	state("stats.Sum", "compiled")
	is("import \"example.com/hot/internal/inner\"\ninner.Set(1)\nstats.Sum(10), wrap(10), stats.Count", "= 225, 600, 33")
	edit("stats/stats.go", "scale = 5", "scale = nothing")
	if got := cell("stats.Sum(10)"); !strings.Contains(got, "undefined: nothing") {
		t.Errorf("a package that does not compile: %s", got)
	}
	edit("stats/stats.go", "scale = nothing", "scale = 3")
	is("stats.Sum(10), stats.Count", "= 135, 1")
	is("stats.Sum(10), stats.Count", "= 135, 2")
	state("stats.Sum", "compiled")
	is("%compile off", "")
	is("stats.Sum(10), stats.Count", "= 135, 3")
	state("stats.Sum", "built, and interpreted while %compile is off")
	is("%compile auto", "")
	is("stats.Sum(10), stats.Count", "= 135, 4")
	state("stats.Sum", "compiled")
}
