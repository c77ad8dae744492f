package gocell

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"dace.local/kernel/internal/toolchain/module/moduletest"
)

// onDiskFiles are modules on disk: one beside the other, a workspace, a module with a
// vendor folder.
const onDiskFiles = `
-- mymod/go.mod --
module example.com/mymod

go 1.24

require (
	example.com/helper v0.0.0
	example.test/units v0.2.0
)

replace example.com/helper => ../helper
-- mymod/stats/mean.go --
// Package stats sums up numbers.
package stats

import (
	"example.com/helper"
	"example.com/mymod/internal/secret"
	"example.test/units"
)

// An Acc collects numbers.
type Acc struct {
	N   int
	Sum float64
}

// Add adds a number.
func (a *Acc) Add(x float64) { a.N++; a.Sum += x }

// Mean is their mean.
func (a Acc) Mean() float64 { return a.Sum / float64(a.N) }

func (a Acc) String() string { return helper.Name("first") }

// Mean returns the mean of numbers.
func Mean(x ...float64) float64 {
	var a Acc
	for _, v := range x {
		a.Add(v)
	}
	return a.Mean() * secret.One
}

// Far is a length.
const Far = 3 * units.Kilometre
-- mymod/internal/secret/secret.go --
package secret

var One = 1.0
-- helper/go.mod --
module example.com/helper

go 1.24
-- helper/helper.go --
package helper

func Name(s string) string { return "the " + s }
-- plain/go.mod --
module plain

go 1.24
-- plain/plain.go --
package plain

func Two() int { return 2 }
`

// onDisk writes files into a new folder, in which the test works from then on.
func writeOnDisk(t testing.TB, files, dir string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, f := range txtar.Parse([]byte(files)).Files {
		writeFile(t, filepath.Join(root, f.Name), string(f.Data))
	}
	if tt, ok := t.(*testing.T); ok {
		tt.Chdir(filepath.Join(root, dir))
	}
	return root
}

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// editFile replaces text in a file.
func editFile(t testing.TB, name, old, text string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s has no %q", name, old)
	}
	writeFile(t, name, strings.Replace(string(b), old, text, 1))
}

// A cellSession runs cells, which are numbered.
type cellSession struct {
	t testing.TB
	s *Session
	n int
}

func (c *cellSession) is(code, want string) {
	c.t.Helper()
	c.n++
	if got := runCell(c.s, c.n, code, time.Minute); got != want {
		c.t.Errorf("cell %d: %s\nshows %s\nwant  %s", c.n, code, got, want)
	}
}

func (c *cellSession) says(code string, want ...string) {
	c.t.Helper()
	c.n++
	got := runCell(c.s, c.n, code, time.Minute)
	for _, w := range want {
		if !strings.Contains(got, w) {
			c.t.Errorf("cell %d: %s\nshows %s\nwant in it %s", c.n, code, got, w)
		}
	}
}

func TestOnDisk(t *testing.T) {
	moduletest.Proxy(t)
	writeOnDisk(t, onDiskFiles, "mymod")
	c := &cellSession{t: t, s: newSession(t)}
	c.is("1 + 1", "= 2")
	c.is("import \"example.com/mymod/stats\"\nstats.Mean(1, 2, 6)", "= 3")
	c.is("stats.Far", "= 3 km")
	c.is("stats.Acc{}.String()", `= "the first"`)
	c.is("import \"example.com/mymod/internal/secret\"\nsecret.One", "= 1")
	c.is("import \"example.com/helper\"\nhelper.Name(\"x\")", `= "the x"`)
	c.is("import \"./stats\"\nstats.Mean(4)", "= 4")
	c.says("import \"example.com/mymod/nothing\"", "the module example.com/mymod has no package example.com/mymod/nothing: there is no folder")
	c.says("%get ../plain", "plain (", `import "plain"`)
	c.is("plain.Two()", "= 2")
}

func TestReload(t *testing.T) {
	moduletest.Proxy(t)
	root := writeOnDisk(t, onDiskFiles, "mymod")
	mean := filepath.Join(root, "mymod/stats/mean.go")
	c := &cellSession{t: t, s: newSession(t)}
	c.is("import \"example.com/mymod/stats\"\nstats.Mean(1, 2, 6)", "= 3")
	c.is("acc := stats.Acc{N: 2, Sum: 5}\nvar boxed any = acc\nfunc twice(x float64) float64 { return 2 * stats.Mean(x) }\ntwice(4)", "= 8")

	// The body of a function, also in a package that others import.
	editFile(t, mean, "return a.Mean() * secret.One", "return a.Mean() * secret.One + 1")
	c.is("twice(4)", "= 10")
	editFile(t, filepath.Join(root, "mymod/internal/secret/secret.go"), "1.0", "10.0")
	c.is("stats.Mean(4)", "= 41")
	editFile(t, filepath.Join(root, "helper/helper.go"), `"the "`, `"a "`)
	c.is("fmt.Sprint(boxed, acc)", `= "a first a first"`)
	editFile(t, mean, `helper.Name("first")`, `helper.Name("second")`)
	c.is("fmt.Sprint(boxed, acc)", `= "a second a second"`)
	c.is("b, ok := boxed.(stats.Acc); fmt.Sprint(b.N, ok, acc.Mean())", `= "2 true 2.5"`)

	// What does not compile: errors at file and line, the session as before.
	editFile(t, mean, "var a Acc\n", "var a Acc\n\tmissing()\n")
	c.says("twice(4)", "CompileError", "stats/mean.go:31:2", "undefined: missing", "missing()", "the cell has not run")
	c.is("1 + 1", "= 2")
	editFile(t, mean, "\tmissing()\n", "")
	c.is("twice(4)", "= 82")

	// An import, a file and a package that come.
	editFile(t, mean, "import (\n", "import (\n\t\"math\"\n")
	editFile(t, mean, "+ 1", "+ math.Sqrt(4)")
	c.is("stats.Mean(4)", "= 42")
	writeFile(t, filepath.Join(root, "mymod/stats/more.go"), "package stats\n\nfunc Range(x ...float64) float64 { return x[len(x)-1] - x[0] }\n")
	c.is("stats.Range(1, 5)", "= 4")
	c.is("%%file fresh/fresh.go\nfunc Fresh() string { return \"fresh\" }", "Writing fresh/fresh.go, with the line package fresh before it")
	c.is("import \"example.com/mymod/fresh\"\nfresh.Fresh()", `= "fresh"`)

	// A type that changes: what is of the old one is named.
	editFile(t, mean, "	N   int\n", "	N   int\n	Max float64\n")
	c.says("stats.Acc{Max: 3}.Max", "acc, declared in cell 2, is no longer there: its type stats.Acc has changed (stats/mean.go:12); run the cell again", "= 3")
	c.says("acc.N", "undefined: acc", "its type stats.Acc has changed")
	c.is("acc := stats.Acc{N: 1, Sum: 2}\nacc.Mean()", "= 2")

	// Switched off and on.
	c.is("%autoreload off", "")
	editFile(t, mean, "math.Sqrt(4)", "math.Sqrt(9)")
	c.is("stats.Mean(4)", "= 42")
	c.is("%autoreload on\n", "")
	c.is("stats.Mean(4)", "= 43")
}

// BenchmarkReload edits a package of 1,000 lines and runs a cell that uses it.
func BenchmarkReload(b *testing.B) {
	var text strings.Builder
	text.WriteString("package big\n\nfunc F() int { return 0 }\n")
	for i := range 200 {
		text.WriteString("\nfunc F" + strings.Repeat("x", i) + "(a, b int) int {\n\tfor a > 0 {\n\t\ta, b = a-1, b+2\n\t}\n\treturn b\n}\n")
	}
	root := writeOnDisk(b, "-- go.mod --\nmodule example.com/big\n\ngo 1.24\n", "")
	s, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	writeFile(b, filepath.Join(root, "big.go"), text.String())
	if got := runCell(s, 1, "%get "+root+"\nimport \"example.com/big\"\nbig.F()", time.Minute); !strings.Contains(got, "= 0") {
		b.Fatal(got)
	}
	n := 0
	for b.Loop() {
		n++
		writeFile(b, filepath.Join(root, "big.go"), strings.Replace(text.String(), "return 0", "return "+strconv.Itoa(n), 1))
		if got := runCell(s, 1+n, "big.F()", time.Minute); got != "= "+strconv.Itoa(n) {
			b.Fatal(got)
		}
	}
}
