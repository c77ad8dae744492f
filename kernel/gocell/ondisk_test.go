package gocell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
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
	"fmt"

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

type turn complex128

func (t turn) String() string { return fmt.Sprint(imag(t)) + "i" }

// Wide is a turn.
const Wide turn = 0.5i
-- mymod/internal/secret/secret.go --
package secret

var One = 1.0

var Notes []string

func note(s string) int { Notes = append(Notes, s); return len(Notes) }

var First = note("variable")

func init() { note("init") }
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
	if !strings.Contains(files, "-- go.work --") {
		t.Setenv("GOWORK", "off") // whatever is above the folder of temporary files
	}
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
	c.is("stats.Far.String()", `= "3 km"`)
	c.is("stats.Far", "= 3 km")
	c.is("stats.Far, stats.Wide, stats.Far/2", "= 3 km, 0.5i, 1.5 km")
	c.is("time.Second", "= 1s")
	c.is("import (\"os\"; \"io/fs\")\nos.ModeDir | 0o755, fs.ModeDir", "= drwxr-xr-x, d---------")
	c.is("stats.Acc{}.String()", `= "the first"`)
	c.is("import \"example.com/mymod/internal/secret\"\nsecret.One, secret.Notes, secret.First", `= 1, []string{"variable", "init"}, 1`)
	c.is("import \"example.com/helper\"\nhelper.Name(\"x\")", `= "the x"`)
	c.is("import \"./stats\"\nstats.Mean(4)", "= 4")
	c.says("import \"example.com/mymod/nothing\"", "the module example.com/mymod has no package example.com/mymod/nothing: there is no folder")
	c.says("%get ../plain", "plain is used from ../plain: import \"plain\"")
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

	// An instance of a generic type keeps its type, and has the methods as they are now.
	pair := filepath.Join(root, "mymod/stats/pair.go")
	writeFile(t, pair, "package stats\n\ntype Pair[T any] struct{ A, B T }\n\nfunc (p Pair[T]) String() string { return \"a pair\" }\n")
	c.is("pair := stats.Pair[int]{1, 2}\npairs := []fmt.Stringer{pair, &stats.Pair[stats.Acc]{}, struct{ stats.Pair[int] }{pair}}\npairs[0].String()", `= "a pair"`)
	editFile(t, pair, "a pair", "two")
	c.is("pairs[0].String(), pairs[1].String(), pairs[2].String(), fmt.Sprint(pairs), pair.String()", `= "two", "two", "two", "[two two two]", "two"`)
	c.is("_, ok := pairs[0].(stats.Pair[int])\n_, ok2 := pairs[2].(struct{ stats.Pair[int] })\nok, ok2", "= true, true")

	// So does one of a cell's type that has it in a field, over edits and runs of the cell.
	const box = "type Box[T any] struct{ p stats.Pair[T] }"
	c.is(box+"\nboxes := []any{Box[int]{}, Box[stats.Acc]{}}\nfunc same() bool { _, a := boxes[0].(Box[int]); _, b := boxes[1].(Box[stats.Acc]); return a && b }\nsame()", "= true")
	for _, edit := range [][2]string{{"two", "three"}, {"three", "four"}, {"four", "five"}} {
		c.is(box, "")
		editFile(t, pair, edit[0], edit[1])
		c.is("same()", "= true")
	}

	// What does not compile: errors at file and line, the session as before.
	editFile(t, mean, "var a Acc\n", "var a Acc\n\tmissing()\n")
	c.says("twice(4)", "CompileError", "stats/mean.go:29:2", "undefined: missing", "missing()", "the cell has not run")
	c.is("1 + 1", "= 2")
	editFile(t, mean, "\tmissing()\n", "")
	c.is("twice(4)", "= 82")

	// What does not use a package that does not compile sees its own edits.
	editFile(t, mean, "var a Acc\n", "var a Acc\n\tmissing()\n")
	editFile(t, filepath.Join(root, "helper/helper.go"), `"a "`, `"one "`)
	c.is("import \"example.com/helper\"\nhelper.Name(\"x\")", `= "one x"`)
	c.says("twice(4)", "undefined: missing")
	editFile(t, mean, "\tmissing()\n", "")
	c.is("twice(4)", "= 82")
	c.is("fmt.Sprint(stats.Acc{})", `= "one second"`)

	// An import, a file and a package that come.
	editFile(t, mean, "import (\n", "import (\n\t\"math\"\n")
	editFile(t, mean, "+ 1", "+ math.Sqrt(4)")
	c.is("stats.Mean(4)", "= 42")
	writeFile(t, filepath.Join(root, "mymod/stats/more.go"), "package stats\n\nfunc Range(x ...float64) float64 { return x[len(x)-1] - x[0] }\n")
	c.is("stats.Range(1, 5)", "= 4")
	c.is("%%file fresh/fresh.go\nfunc Fresh() string { return \"fresh\" }", "Writing fresh/fresh.go, with the line package fresh before it\n")
	c.is("import \"example.com/mymod/fresh\"\nfresh.Fresh()", `= "fresh"`)

	// A type that changes: what is of the old one is named.
	editFile(t, mean, "	N   int\n", "	N   int\n	Max float64\n")
	c.says("stats.Acc{Max: 3}.Max", "acc, declared in cell 2, is no longer there: its type stats.Acc has changed (stats/mean.go:14); run the cell again", "= 3")
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
		text.WriteString("\nfunc G" + strings.Repeat("x", i) + "(a, b int) int {\n\tfor a > 0 {\n\t\ta, b = a-1, b+2\n\t}\n\treturn b\n}\n")
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

// TestFortyEdits edits a copy of gonum's package combin forty times, with a cell after
// each that must see the edit.
func TestFortyEdits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "gonum.org/v1/gonum").Output()
	if err != nil {
		t.Skip(err)
	}
	root := writeOnDisk(t, "-- go.mod --\nmodule example.com/combin\n\ngo 1.24\n", "")
	from := filepath.Join(strings.TrimSpace(string(out)), "stat/combin")
	for _, name := range []string{"combin.go", "doc.go"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(root, name), string(text))
	}
	file := filepath.Join(root, "combin.go")
	c := &cellSession{t: t, s: newSession(t)}
	c.is("import \"example.com/combin\"\nfunc wrap(n int) int { return combin.Binomial(n, 2) }\nwrap(5)", "= 10")
	c.is("gen := combin.NewCombinationGenerator(4, 2)\nvar boxed any = gen\ngen.Next()", "= true")
	const head = "func Binomial(n, k int) int {\n"
	now := head
	binomial := func(body string) {
		editFile(t, file, now, head+body)
		now = head + body
	}
	stage := filepath.Join(root, "stage.go")
	for i := range 8 {
		n := strconv.Itoa(10 + i)
		// In a function, called by itself and by one of a cell.
		binomial("\tif n == 1000 {\n\t\treturn " + n + "\n\t}\n")
		c.is("combin.Binomial(1000, 3)", "= "+n)
		binomial("\tif n == 1000 {\n\t\treturn 1" + n + "\n\t}\n")
		c.is("wrap(1000) + wrap(5)", "= "+strconv.Itoa(120+i))
		// Text of the same length, with the same time: as a clock that stands still.
		writeFile(t, stage, "package combin\n\nconst Stage = "+n+"\n\n// Staged says so.\nfunc (c *CombinationGenerator) Staged() int { return "+n+" }\n")
		if err := os.Chtimes(stage, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		c.is("combin.Stage", "= "+n)
		// What does not compile, and its repair.
		binomial("\tif n == 1000 {\n\t\treturn wrong" + n + "\n\t}\n")
		c.says("wrap(1000)", "combin.go:", "undefined: wrong"+n)
		binomial("\tif n == 1000 {\n\t\treturn 3" + n + "\n\t}\n")
		c.is("wrap(1000)", "= 3"+n)
	}
	// The type has got a method, which a variable has and a value in an interface has not.
	c.is("gen.Staged()", "= 17")
	c.is("_, same := boxed.(*combin.CombinationGenerator); same", "= false")
}

// TestElsewhere runs a notebook from the lines of %gomod freeze: with the commit of a
// module that is pushed, and with a folder.
func TestElsewhere(t *testing.T) {
	moduletest.Proxy(t)
	root := writeOnDisk(t, "-- mymod/go.mod --\nmodule example.test/team/mymod.git\n\ngo 1.22\n\nrequire example.test/units v0.2.0\n-- mymod/len/len.go --\npackage len\n\nimport \"example.test/units\"\n\nfunc Of(x float64) units.Length { return units.Length(x) }\n-- away/none --\n", "mymod")
	t.Setenv("HOME", root)
	for name, value := range map[string]string{"GOPRIVATE": "example.test/team", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url.file://" + root + "/bare.insteadOf",
		"GIT_CONFIG_VALUE_0": "https://example.test/team/mymod", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.test", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.test"} {
		t.Setenv(name, value)
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	const cell = "import \"example.test/team/mymod.git/len\"\nlen.Of(1500)"
	author := &cellSession{t: t, s: newSession(t)}
	author.is(cell, "= 1.5 km")
	freeze := func() (lines string) {
		out := &enginetest.Recorder{}
		r, err := author.s.Execute(t.Context(), engine.Cell{Number: 9, Code: "%gomod freeze"}, out)
		if err != nil || r.Next == nil {
			t.Fatal(err)
		}
		return r.Next.Text
	}
	if got := freeze(); got != "%get ." {
		t.Errorf("a folder without git freezes to %q", got)
	}
	git("init", "-q", "-b", "main", ".")
	git("add", "-A")
	git("commit", "-qm", "all")
	git("init", "-q", "--bare", root+"/bare.git")
	git("remote", "add", "origin", root+"/bare.git")
	git("push", "-q", "origin", "main")
	lines := freeze()
	if !strings.HasPrefix(lines, "%get example.test/team/mymod.git@") {
		t.Fatalf("a commit that is pushed freezes to %q", lines)
	}
	t.Chdir(filepath.Join(root, "away"))
	t.Setenv("GOMODCACHE", t.TempDir())
	colleague := &cellSession{t: t, s: newSession(t)}
	colleague.says(lines, "import \"example.test/team/mymod.git/len\"")
	colleague.is(cell, "= 1.5 km")
	t.Setenv("GIT_CONFIG_COUNT", "0")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GOPROXY", "off")
	colleague.says("%get example.test/nowhere@v1.0.0", "GOPROXY=off forbids to fetch it")
}

// TestWorkspace uses a go.work, and a vendor folder without its modules in the cache.
func TestWorkspace(t *testing.T) {
	moduletest.Proxy(t)
	root := writeOnDisk(t, `
-- go.work --
go 1.24

use (
	./a
	./b
)
-- a/go.mod --
module example.com/a

go 1.24

require example.com/b v1.0.0
-- a/a.go --
package a

import "example.com/b"

func A() string { return "a" + b.B() }
-- b/go.mod --
module example.com/b

go 1.24
-- b/b.go --
package b

func B() string { return "b" }
-- vendored/go.mod --
module example.com/vendored

go 1.24

require example.test/gone v1.0.0
-- vendored/v.go --
package vendored

import "example.test/gone/deep"

func V() string { return deep.Word }
-- vendored/vendor/modules.txt --
# example.test/gone v1.0.0
## explicit; go 1.20
example.test/gone/deep
-- vendored/vendor/example.test/gone/deep/deep.go --
package deep

const Word = "vendored"
`, "a")
	c := &cellSession{t: t, s: newSession(t)}
	c.is("import \"example.com/a\"\na.A()", `= "ab"`)
	editFile(t, filepath.Join(root, "b/b.go"), `"b"`, `"c"`)
	c.is("a.A()", `= "ac"`)
	t.Chdir(filepath.Join(root, "vendored"))
	c = &cellSession{t: t, s: newSession(t)}
	c.says("import \"example.com/vendored\"\nvendored.V()", "does not name the module example.com/vendored of this folder: !go work use . adds it")
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOPROXY", "off")
	c = &cellSession{t: t, s: newSession(t)}
	c.is("import \"example.com/vendored\"\nvendored.V()", `= "vendored"`)
}

// TestModuleTests runs a module's tests by the go command.
func TestModuleTests(t *testing.T) {
	writeOnDisk(t, "-- go.mod --\nmodule example.com/tested\n\ngo 1.24\n-- one/one.go --\npackage one\n\nfunc One() int { return 2 }\n-- one/one_test.go --\npackage one\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Errorf(\"One is %d\", One())\n\t}\n}\n\nfunc BenchmarkOne(b *testing.B) {\n\tfor b.Loop() {\n\t\tOne()\n\t}\n}\n", "")
	c := &cellSession{t: t, s: newSession(t)}
	c.says("%test ./...", "one/one_test.go:7: One is 2", "--- FAIL: TestOne")
	c.says("%bench -benchtime 1x One ./one", "BenchmarkOne")
}

// TestOtherVersions uses a module on disk that asks for another version of a module that
// is compiled into the kernel, and for a folder in its place: both versions are named.
func TestOtherVersions(t *testing.T) {
	moduletest.Proxy(t)
	real := versions
	versions = func() map[string]string { return map[string]string{"gonum.org/v1/gonum": "v0.16.0"} } // a test's build info has none
	t.Cleanup(func() { versions = real })
	root := writeOnDisk(t, "-- old/go.mod --\nmodule example.com/old\n\ngo 1.24\n\nrequire gonum.org/v1/gonum v0.1.0\n-- old/old.go --\npackage old\n\nimport \"gonum.org/v1/gonum/floats\"\n\nfunc Sum(x ...float64) float64 { return floats.Sum(x) }\n"+
		"-- folder/go.mod --\nmodule example.com/folder\n\ngo 1.24\n\nrequire gonum.org/v1/gonum v0.1.0\n\nreplace gonum.org/v1/gonum => ../gonum\n-- folder/folder.go --\npackage folder\n\nimport \"gonum.org/v1/gonum/floats\"\n\nfunc Sum(x ...float64) float64 { return floats.Sum(x) }\n"+
		"-- gonum/go.mod --\nmodule gonum.org/v1/gonum\n\ngo 1.24\n-- gonum/floats/floats.go --\npackage floats\n\nfunc Sum(s []float64) float64 { return -2 }\n", "old")
	c := &cellSession{t: t, s: newSession(t)}
	c.is("import \"example.com/old\"\nold.Sum(1, 2)", "stderr: gonum.org/v1/gonum is asked for as v0.1.0, and this kernel is built with v0.16.0, which interpreted cells use for both\n= 3")
	c.is("old.Sum(1)", "= 1") // said once
	t.Chdir(filepath.Join(root, "folder"))
	c = &cellSession{t: t, s: newSession(t)}
	c.is("import \"example.com/folder\"\nfolder.Sum(1, 2)", "stderr: gonum.org/v1/gonum is compiled into this kernel v0.16.0, and cells use that, not the folder "+root+"/gonum: under another module path (go mod edit -module, a copy) the folder could be imported beside it\n= 3")
}
