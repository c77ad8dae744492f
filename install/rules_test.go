package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path that all of our packages begin with.
const module = "dace.local/"

// A goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	Deps                               []string
}

// listPackages lists all packages of the module.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		for _, paths := range [][]string{p.Imports, p.TestImports, p.XTestImports, p.Deps} {
			for i := range paths {
				paths[i] = strings.TrimPrefix(paths[i], module)
			}
		}
		list = append(list, p)
	}
}

// within reports whether a package is one of the given or below it.
func within(pkg string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return pkg == root || strings.HasPrefix(pkg, root+"/")
	})
}

const (
	yaegi = "github.com/traefik/yaegi"
	zmq4  = "github.com/go-zeromq/zmq4"
)

// never lists what a package must not reach, by whatever way, and why.
var never = []struct {
	from, to []string
	why      string
}{
	{[]string{"dacelib"}, []string{"kernel", "install", yaegi, zmq4}, "the library is usable from any Go program and knows nothing of notebooks"},
	{[]string{"kernel/server"}, []string{"dacelib", "kernel/gocell", "kernel/display", yaegi}, "the server serves any engine; the language is the engine's business"},
	{[]string{"kernel/wire", "kernel/transport"}, []string{"dacelib", "kernel/engine", "kernel/gocell", "kernel/display", yaegi}, "messages and sockets know nothing of languages"},
	{[]string{"kernel/wire"}, []string{"kernel/transport", zmq4}, "messages are bytes, without sockets"},
	{[]string{"kernel/notebook", "kernel/engine"}, []string{"dacelib", "kernel/gocell", "kernel/server", "kernel/transport", yaegi, zmq4}, "notebooks run on any engine, without Jupyter"},
	{[]string{"kernel/module"}, []string{"dacelib", "kernel/gocell", "kernel/engine", yaegi}, "modules are fetched for whoever asks"},
	{[]string{"kernel/gocell"}, []string{"kernel/server", "kernel/transport", "kernel/wire", zmq4}, "the engine knows nothing of Jupyter"},
	{[]string{"kernel"}, []string{"install"}, "the kernel is installed, it does not install"},
}

// only lists packages that none but a few may import themselves, and why.
var only = []struct {
	to, from []string
	why      string
}{
	{[]string{zmq4}, []string{"kernel/transport"}, "zmq4 is dormant and guarded in one place"},
	{[]string{yaegi}, []string{"kernel/gocell"}, "the interpreter is behind one package"},
	{[]string{"dacelib"}, []string{"dacelib", "kernel/display", "kernel/gocell/symbols", "kernel/cli"}, "the kernel looks across to the library in three places only: values, symbols and the verb data"},
}

// order holds the library's packages from the ground up: none imports one of
// a later row.
var order = [][]string{
	{"dacelib/run", "dacelib/problem"},
	{"dacelib/brkga", "dacelib/smac", "dacelib/nir", "dacelib/forest", "dacelib/pgpe", "dacelib/smartest", "dacelib/stats", "dacelib/landscape"},
	{"dacelib/portfolio"},
	{"dacelib/construct"},
	{"dacelib/experiment", "dacelib/figure"},
}

// row is the place of a package in order, or -1.
func row(pkg string) int {
	return slices.IndexFunc(order, func(roots []string) bool { return within(pkg, roots...) })
}

// breaches lists what in the packages is against the rules.
func breaches(list []goPackage) []string {
	var found []string
	breach := func(from, to, why string) {
		found = append(found, fmt.Sprintf("%s imports %s: %s", from, to, why))
	}
	for _, p := range list {
		for _, rule := range never {
			if !within(p.ImportPath, rule.from...) {
				continue
			}
			for _, d := range p.Deps {
				if within(d, rule.to...) {
					breach(p.ImportPath, d+" (perhaps by way of others)", rule.why)
				}
			}
		}
		for _, to := range p.Imports {
			for _, rule := range only {
				if within(to, rule.to...) && !within(p.ImportPath, rule.from...) {
					breach(p.ImportPath, to, rule.why)
				}
			}
			if from := row(p.ImportPath); from >= 0 && row(to) > from {
				breach(p.ImportPath, to, fmt.Sprintf("%s are below it", strings.Join(order[from], ", ")))
			}
		}
		// Tests may go sideways, but not into the other wing.
		for _, to := range slices.Concat(p.TestImports, p.XTestImports) {
			if within(p.ImportPath, "dacelib") && within(to, "kernel", "install", yaegi, zmq4) {
				breach(p.ImportPath+"'s test", to, never[0].why)
			}
		}
	}
	return found
}

func TestImportRules(t *testing.T) {
	list := listPackages(t)
	if len(list) < 10 {
		t.Fatalf("go list names %d packages only", len(list))
	}
	for _, b := range breaches(list) {
		t.Error(b)
	}
}

// TestBreaches makes sure that the rules bite.
func TestBreaches(t *testing.T) {
	for _, p := range []goPackage{
		{ImportPath: "dacelib/nir", Deps: []string{"kernel/display"}},
		{ImportPath: "dacelib/nir", Deps: []string{zmq4 + "/internal"}},
		{ImportPath: "dacelib/nir", XTestImports: []string{"kernel/engine"}},
		{ImportPath: "kernel/server", Deps: []string{"dacelib/run"}},
		{ImportPath: "kernel/cli", Imports: []string{zmq4}},
		{ImportPath: "kernel/notebook", Imports: []string{"dacelib/run"}},
		{ImportPath: "kernel/display", Imports: []string{yaegi + "/interp"}},
		{ImportPath: "dacelib/problem/ccp", Imports: []string{"dacelib/brkga"}},
		{ImportPath: "dacelib/nir", Imports: []string{"dacelib/construct"}},
	} {
		if got := breaches([]goPackage{p}); len(got) != 1 {
			t.Errorf("%+v: %d breaches found, want one: %v", p, len(got), got)
		}
	}
	if got := breaches([]goPackage{{ImportPath: "dacelib/construct", Imports: []string{"dacelib/brkga"}, Deps: []string{"dacelib/brkga", "dacelib/run"}}}); got != nil {
		t.Errorf("construct may import brkga: %v", got)
	}
}

// repositoryFiles lists the files of the repository, those that are not
// committed yet among them, and those that are ignored not.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("git cannot list the files of the repository: %v", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

// TestNoOldRand holds our code against math/rand, which has no streams that
// can be split; kernel/gocell/symbols offers it to cells.
func TestNoOldRand(t *testing.T) {
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || within(name, "kernel/gocell/symbols") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.ImportsOnly)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and that not committed yet
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, imp := range file.Imports {
			if imp.Path.Value == `"math/rand"` {
				t.Errorf("%s imports math/rand: use math/rand/v2 with a stream of dacelib/run", name)
			}
		}
	}
}

// TestNoMachinePaths looks for paths of the machine that something was made on.
func TestNoMachinePaths(t *testing.T) {
	var paths [][]byte
	for _, dir := range []string{"work", "farm"} {
		paths = append(paths, []byte("/"+dir+"/"))
	}
	if home, err := os.UserHomeDir(); err == nil && strings.Count(home, "/") > 1 {
		paths = append(paths, []byte(home+"/"))
	}
	for _, name := range repositoryFiles(t) {
		data, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			continue // removed, a link, or a submodule's folder
		}
		for _, path := range paths {
			for at := 0; ; at++ {
				i := bytes.Index(data[at:], path)
				if i < 0 {
					break
				}
				// Elsewhere in a path the same name is some other folder's.
				if at += i; at == 0 || bytes.IndexByte([]byte("\"'`( =:\t\n"), data[at-1]) >= 0 {
					t.Errorf("%s names %s at byte %d", name, data[at:min(len(data), at+40)], at)
					break
				}
			}
		}
	}
}

// TestLockFile holds the npm packages against naming the host they came from.
func TestLockFile(t *testing.T) {
	data, err := os.ReadFile("jupyterlab/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Resolved  string
			Integrity string
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("%s: resolved from %s; record the lock file with omit-lockfile-registry-resolved=true", name, p.Resolved)
		}
		if name != "" && p.Integrity == "" {
			t.Errorf("%s has no checksum", name)
		}
	}
}
