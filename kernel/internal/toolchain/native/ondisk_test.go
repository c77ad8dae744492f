package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dace.local/kernel/internal/system/crash"
	"dace.local/kernel/internal/toolchain/module/moduletest"
	"dace.local/kernel/internal/toolchain/native"
)

// onDisk writes files into a new folder, and works there.
func onDisk(t *testing.T, files, dir string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, f := range txtar.Parse([]byte(files)).Files {
		name := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, dir))
	return root
}

// TestOnDisk compiles cells that import packages of a module on disk, which is edited
// meanwhile.
func TestOnDisk(t *testing.T) {
	l := ready(t)
	root := onDisk(t, `
-- mymod/go.mod --
module example.com/mymod

go 1.24
-- mymod/stats/stats.go --
package stats

import (
	_ "embed"

	"example.com/mymod/internal/inner"
)

//go:embed word.txt
var word string

func Twice(x float64) float64 { return inner.Factor * x }

func Word() string { return word }
-- mymod/stats/word.txt --
embedded
-- mymod/tree/tree.go --
package tree

import "embed"

//go:embed *.txt
var files embed.FS

func Read(name string) string {
	b, _ := files.ReadFile(name)
	return string(b)
}
-- mymod/stats/tagged.go --
//go:build special

package stats

const Special = 4
-- mymod/tree/a.txt --
of a tree
-- mymod/internal/inner/inner.go --
package inner

const Factor = 2
`, "mymod")
	t.Setenv("GOFLAGS", "-tags=special")
	s := session(t, l)
	cell := 0
	is := func(code, want string) {
		t.Helper()
		cell++
		if got := run(t.Context(), s, cell, code); got != want {
			t.Errorf("cell %d: %s\nshows %s\nwant  %s", cell, code, got, want)
		}
	}
	const compiled = "%%compile\nimport (\n\t\"example.com/mymod/stats\"\n\t\"example.com/mymod/internal/inner\"\n)\nfunc both(x float64) float64 { return stats.Twice(x) + inner.Factor + stats.Special - 4 }\nfunc word() string { return strings.TrimSpace(stats.Word()) }"
	is(compiled, "")
	is("fmt.Sprintf(\"%v %v\", both(3), word())", `= "8 embedded"`)
	inner := filepath.Join(root, "mymod/internal/inner/inner.go")
	if err := os.WriteFile(inner, []byte("package inner\n\nconst Factor = 5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	is("%%compile\nimport \"example.com/mymod/tree\"\nfunc read() string { return strings.TrimSpace(tree.Read(\"a.txt\")) }\nread()", `= "of a tree"`)
	cell++
	if got := run(t.Context(), s, cell, "import \"example.com/mymod/tree\""); !strings.Contains(got, "tree/tree.go:6: embed.FS cannot be interpreted") || !strings.Contains(got, "%%compile") {
		t.Errorf("embed.FS in an interpreted cell: %s", got)
	}
	is("both(3)", "= 20") // built again, because of what it imports
	if err := os.WriteFile(inner, []byte("package inner\n\nconst Factor = \"no\"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cell++
	if got := run(t.Context(), s, cell, "both(3)"); !strings.Contains(got, "stats/stats.go:12:") {
		t.Errorf("a package that does not compile: %s", got)
	}
}

// TestReplaced compiles a cell with a fetched module whose go.mod the user has made
// replace another.
func TestReplaced(t *testing.T) {
	l := ready(t)
	moduletest.Proxy(t)
	root := onDisk(t, "-- mymod/go.mod --\nmodule example.com/mymod\n\ngo 1.24\n-- mymod/mymod.go --\npackage mymod\n\nfunc One() int { return 1 }\n", "")
	s := session(t, l)
	for i, code := range []string{"%gomod go mod edit -replace example.com/mymod=" + root + "/mymod", "%get example.com/mymod"} {
		if got := run(t.Context(), s, i+1, code); strings.Contains(got, "Error") {
			t.Fatal(got)
		}
	}
	if got := run(t.Context(), s, 3, "%%compile\nimport \"example.com/mymod\"\nfunc one() int { return mymod.One() }\none()"); got != "= 1" {
		t.Errorf("shows %s", got)
	}
}

// TestC compiles cells with a text in C.
func TestC(t *testing.T) {
	l := ready(t)
	onDisk(t, "-- add.h --\nstatic int add(int a, int b) { return a + b; }\n", "")
	s := session(t, l)
	cell := 0
	is := func(code, want string) {
		t.Helper()
		cell++
		if got := run(t.Context(), s, cell, code); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("cell %d: %s\nshows %s\nwant  %s", cell, code, got, want)
		}
	}
	const cgo = `%%compile
import "unsafe"

// #cgo LDFLAGS: -lm
// #include <math.h>
// #include <stdlib.h>
// #include <string.h>
// #include "add.h"
// typedef int (*compare)(const void *, const void *);
// int ascending(void *, void *);
// static void order(double *x, int n) { qsort(x, n, sizeof *x, (compare)ascending); }
// int factor(void) { return 3; }
import "C"

//export ascending
func ascending(a, b unsafe.Pointer) C.int {
	switch x, y := *(*float64)(a), *(*float64)(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func root(x float64) float64 { return float64(C.sqrt(C.double(x))) }

func add(a, b int) int { return int(C.factor()) * int(C.add(C.int(a), C.int(b))) }

func length(s string) int {
	c := C.CString(s)
	defer C.free(unsafe.Pointer(c))
	return int(C.strlen(c))
}

func sorted(x []float64) []float64 {
	if len(x) > 0 {
		C.order((*C.double)(&x[0]), C.int(len(x)))
	}
	return x
}`
	cgo2 := strings.Replace(cgo, "// int factor(void) { return 3; }\n", "// static int factor(void) { return 3; }\n", 1)
	is(cgo2, "")
	is("fmt.Sprint(root(2.25), add(2, 3), length(\"four\"), sorted([]float64{3, 1, 2}))", `= "1.5 15 4 [1 2 3]"`)
	is("%%compile\n// int five(void) { return 5; }\nimport \"C\"\nfunc number() int { return int(C.five()) }\nnumber()", "= 5")
	is("%%compile\n// int five(void) { return 6; }\nimport \"C\"\nfunc number() int { return int(C.five()) }\nnumber()", "= 6")
	is("%%compile\n// int five(void) { return nothing; }\nimport \"C\"\nfunc number() int { return int(C.five()) }", "In[5]:2:")
	is("%%compile\nimport \"C\"\nfunc bad() int { return int(C.nowhere()) }", "could not determine what C.nowhere refers to")
	is("%%compile\nimport \"C\"\nvar n = C.int(3)", "n is of a type of C, which other cells cannot know")
	is("import \"C\"", "C can be imported in a cell that begins with %%compile only")
}

// crashInC are cells the last of which ends the process.
var crashInC = []string{"%%compile\n// static int deref(int *p) { return *p; }\nimport \"C\"\n\nfunc read() int {\n\treturn int(C.deref(nil))\n}", "read()"}

// TestCrashInC checks that the words of a process that C has ended name the function of
// C, and the place in a cell that calls it.
func TestCrashInC(t *testing.T) {
	ready(t)
	file := filepath.Join(t.TempDir(), "connection.json.crash")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "DACE_TEST_C="+file)
	if out, err := child.CombinedOutput(); err == nil {
		t.Fatalf("the process lives: %s", out)
	}
	note, end, err := crash.Keep(file)
	if err != nil || end == nil {
		t.Fatal(end, err)
	}
	defer note.Close()
	for _, want := range []string{"SIGSEGV: ", "signal arrived during cgo execution", "._Cfunc_deref(", ".read(", "c0.go:6"} {
		if !strings.Contains(end.Words, want) {
			t.Errorf("no %q in %s", want, end.Words)
		}
	}
}

// TestPkgConfig compiles cells with the flags of a library that pkg-config knows by the
// session's environment, and with headers and their include paths in the folder.
func TestPkgConfig(t *testing.T) {
	if _, err := exec.LookPath("pkg-config"); err != nil {
		t.Skip(err)
	}
	l := ready(t)
	root := onDisk(t, "-- pc/seven.pc --\nName: seven\nDescription: a number\nVersion: 1.0\nCflags: -DSEVEN=7\nLibs: -lm\n-- include/eight.h --\n#define EIGHT 8\n", "")
	t.Setenv("PKG_CONFIG_PATH", "") // is restored
	edit := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := session(t, l)
	const code = "%%compile\n// #cgo pkg-config: seven\n// #cgo CFLAGS: -I${SRCDIR}/include\n// #include <math.h>\n// #include \"eight.h\"\n// static double root(void) { return sqrt(SEVEN + EIGHT + 1); }\nimport \"C\"\nfunc sum() float64 { return float64(C.root()) }\nsum()"
	if got := run(t.Context(), s, 1, "%env PKG_CONFIG_PATH="+filepath.Join(root, "pc")+"\n1"); !strings.HasSuffix(got, "= 1") {
		t.Errorf("shows %s", got)
	}
	if got := run(t.Context(), s, 1, code); got != "= 4" {
		t.Errorf("shows %s", got)
	}
	edit("include/eight.h", "#define EIGHT 1\n") // an edit is seen
	if got := run(t.Context(), s, 2, code); got != "= 3" {
		t.Errorf("after an edit of a header, shows %s", got)
	}
	if got := run(t.Context(), s, 3, "%%compile\n// #cgo pkg-config: nothing-here\nimport \"C\"\nvar x = 1"); !strings.Contains(got, "nothing-here") || !strings.Contains(got, "PKG_CONFIG_PATH") {
		t.Errorf("a library that pkg-config does not know: %s", got)
	}
}

// TestWithoutC checks what a cell with import "C" says where there is no C compiler.
func TestWithoutC(t *testing.T) {
	goOnly := t.TempDir()
	if err := os.Symlink(command(t, "go"), filepath.Join(goOnly, "go")); err != nil {
		t.Fatal(err)
	}
	ready(t)
	s := session(t, &native.Loader{Env: []string{"PATH=" + goOnly}})
	const want = "import \"C\" cannot be used here: there is no C compiler on the PATH (gcc), which links what the toolchain compiles"
	if got := run(t.Context(), s, 1, "%%compile\n// int one(void) { return 1; }\nimport \"C\"\nfunc one() int { return int(C.one()) }"); !strings.Contains(got, want) {
		t.Errorf("shows %s\nwant %s", got, want)
	}
	if got := run(t.Context(), s, 2, "1 + 1"); got != "= 2" {
		t.Errorf("the session: %s", got)
	}
}
