package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/kernel/buildinfo"
)

// module is the beginning of the import paths of all our packages.
var module = buildinfo.Path("")

// A goPackage holds the fields of `go list -json` that the rules need.
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

// within reports whether a package is one of the roots or below one of them.
func within(pkg string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return pkg == root || strings.HasPrefix(pkg, root+"/")
	})
}

const (
	yaegi = "github.com/traefik/yaegi"
	zmq4  = "github.com/go-zeromq/zmq4"
	nats  = "github.com/nats-io"
	// gorgonia is all of gorgonia's modules.
	gorgonia = "gorgonia.org"
)

// never lists packages that the packages of from must not import, neither
// directly nor through others, and why.
var never = []struct {
	from, to []string
	why      string
}{
	{[]string{"dacelib"}, []string{"kernel", "install", yaegi, zmq4}, "the library is usable from any Go program and knows nothing of notebooks"},
	{[]string{"kernel/internal/jupyter/server"}, []string{"dacelib", "kernel/gocell", "kernel/display", yaegi}, "the server serves any engine; the language is the engine's business"},
	{[]string{"kernel/internal/jupyter/wire", "kernel/internal/jupyter/transport"}, []string{"dacelib", "kernel/engine", "kernel/gocell", "kernel/display", yaegi}, "messages and sockets know nothing of languages"},
	{[]string{"kernel/internal/jupyter/wire"}, []string{"kernel/internal/jupyter/transport", zmq4}, "messages are bytes, without sockets"},
	{[]string{"kernel/notebook", "kernel/engine"}, []string{"dacelib", "kernel/gocell", "kernel/internal/jupyter/server", "kernel/internal/jupyter/transport", yaegi, zmq4}, "notebooks run on any engine, without Jupyter"},
	{[]string{"kernel/internal/toolchain/module"}, []string{"dacelib", "kernel/gocell", "kernel/engine", yaegi}, "modules are fetched for whoever asks"},
	{[]string{"kernel/gocell"}, []string{"kernel/internal/jupyter/server", "kernel/internal/jupyter/transport", "kernel/internal/jupyter/wire", zmq4}, "the engine knows nothing of Jupyter"},
	{[]string{"kernel"}, []string{nats + "/nats-server"}, "the server of farms is a program of its own, which the command carries compressed"},
	{[]string{"notebooks"}, []string{"kernel", "install", yaegi, zmq4}, "programs beside the notebooks use the library alone, as anybody's do"},
	{[]string{"dacelib/brkga", "dacelib/smac", "dacelib/portfolio", "dacelib/construct", "dacelib/experiment", "dacelib/figure"}, []string{gorgonia}, "gorgonia requires twenty modules, for one setting of nir: dacelib/nir/graph registers it where it is wanted"},
	{[]string{"kernel"}, []string{"install"}, "install builds the kernel; what registers it with Jupyter is kernel/setup"},
}

// only lists packages that only the packages of from may import directly, and
// why.
var only = []struct {
	to, from []string
	why      string
}{
	{[]string{zmq4}, []string{"kernel/internal/jupyter/transport"}, "zmq4 is dormant and guarded in one place"},
	{[]string{yaegi}, []string{"kernel/yaegi"}, "yaegi is an engine of its own, a second opinion: the other one does not rest on it"},
	{[]string{gorgonia}, []string{"dacelib/nir/graph", "kernel/gocell/internal/std", "kernel/gocell/symbols"}, "the graph is one package; the others offer gorgonia to cells"},
	{[]string{nats}, []string{"dacelib/farm/natsfarm"}, "the engine of farms is behind one package"},
	{[]string{"dacelib"}, []string{"dacelib", "kernel/display", "kernel/gocell/symbols", "kernel/internal/cli", "install", "notebooks"}, "the kernel looks across to the library in three places only: values, symbols and verbs; install asks it for its version"},
}

// shared lists packages of the library that all others may import, the kernel's too.
// They import nothing else of ours.
var shared = []string{"dacelib/files"}

// order lists the library's packages in layers, the lowest first: no package
// imports one of a later row.
var order = [][]string{
	{"dacelib/internal", "dacelib/frame", "dacelib/files"},
	{"dacelib/run", "dacelib/problem", "dacelib/farm"},
	{"dacelib/smac", "dacelib/forest", "dacelib/nir", "dacelib/pgpe", "dacelib/stats", "dacelib/landscape"},
	{"dacelib/solver", "dacelib/brkga", "dacelib/smartest"},
	{"dacelib/portfolio"},
	{"dacelib/construct"},
	{"dacelib/experiment", "dacelib/figure", "dacelib/similarity"},
}

// wings lists the kernel's packages in layers, the lowest first: no package imports
// one of a later row.
var wings = [][]string{
	{"kernel/buildinfo", "kernel/docs", "kernel/procgroup", "kernel/internal/system", "kernel/internal/suggest"},
	{"kernel/engine", "kernel/internal/drawing", "kernel/internal/live"},
	{"kernel/internal/pieces"},
	{"kernel/notebook", "kernel/internal/jupyter", "kernel/setup/source", "kernel/setup/farmserver"},
	{"kernel/display", "kernel/shell", "kernel/widget", "kernel/foreign", "kernel/internal/site"},
	{"kernel/internal/toolchain", "kernel/internal/randomtest", "kernel/setup"},
	{"kernel/gocell"},
	{"kernel/yaegi"},
	{"kernel/internal/cli"},
	{"kernel"},
}

// rooms lists the packages of the cells' engine in layers, the lowest first: no
// package imports one of its own row or of a later one.
var rooms = [][]string{
	{"kernel/gocell/internal/cell"},
	{"kernel/gocell/internal/profile"},
	{"kernel/gocell/internal/check"},
	{"kernel/gocell/internal/vm", "kernel/gocell/internal/code"},
	{"kernel/gocell/internal/std", "kernel/gocell/internal/stdio", "kernel/gocell/internal/mirror"},
	{"kernel/gocell/internal/magic", "kernel/gocell/internal/compile"},
	{"kernel/gocell/internal/compiled", "kernel/gocell/internal/debug", "kernel/gocell/internal/program"},
	{"kernel/gocell"},
}

// room returns the index of a package's row in rooms, or -1.
func room(pkg string) int {
	return slices.IndexFunc(rooms, func(row []string) bool { return slices.Contains(row, pkg) })
}

// leaves are packages that every package of the cells' engine may import:
// run-time types, and the generated tables of the packages that cells may
// import.
var leaves = []string{"kernel/gocell/rtype", "kernel/gocell/symbols"}

// reaching lists the packages of the cells' engine that may import unsafe, and
// so access unexported parts of other packages. The generated tables need it
// only because they name the type unsafe.Pointer.
var reaching = append([]string{"kernel/gocell/internal/vm", "kernel/gocell/internal/std", "kernel/gocell/internal/code"}, leaves...)

// roomBreaches reports each violation of the engine's rules in a package.
func roomBreaches(p goPackage, breach func(from, to, why string)) {
	if !within(p.ImportPath, "kernel/gocell") {
		return
	}
	from := room(p.ImportPath)
	if from < 0 && !within(p.ImportPath, leaves...) {
		breach(p.ImportPath, "nothing", "it has no place among the rooms of the cells' engine")
	}
	for _, to := range p.Imports {
		if to == "unsafe" && !within(p.ImportPath, reaching...) {
			breach(p.ImportPath, to, "the engine reaches into others in "+strings.Join(reaching, ", ")+" only")
		}
		if at := room(to); at >= 0 && (at >= from || from < 0) {
			breach(p.ImportPath, to, "that room is not below it")
		}
	}
}

// row returns the index of the first row of a table that a package is within, or -1.
func row(table [][]string, pkg string) int {
	return slices.IndexFunc(table, func(roots []string) bool { return within(pkg, roots...) })
}

// breaches returns the violations of the rules in a list of packages.
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
				if within(d, rule.to...) && !within(d, shared...) {
					breach(p.ImportPath, d+" (perhaps by way of others)", rule.why)
				}
			}
		}
		for _, to := range p.Imports {
			if within(p.ImportPath, shared...) && within(to, "dacelib", "kernel", "install", "notebooks") && !within(to, shared...) {
				breach(p.ImportPath, to, "packages that all others may import have no others of ours below them")
			}
			for _, rule := range only {
				if within(to, rule.to...) && !within(p.ImportPath, rule.from...) && !within(to, shared...) {
					breach(p.ImportPath, to, rule.why)
				}
			}
			for _, table := range [][][]string{order, wings} {
				if from := row(table, p.ImportPath); from >= 0 && row(table, to) > from {
					breach(p.ImportPath, to, fmt.Sprintf("%s are below it", strings.Join(table[from], ", ")))
				}
			}
		}
		if p.ImportPath == "kernel/yaegi" && slices.Contains(p.Imports, "unsafe") {
			breach(p.ImportPath, "unsafe", "it uses yaegi by its public interface alone")
		}
		roomBreaches(p, breach)
		// The library's tests may import other packages of the library, but not
		// the kernel.
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

// TestBreaches checks that each kind of violation is found.
func TestBreaches(t *testing.T) {
	for _, p := range []goPackage{
		{ImportPath: "dacelib/nir", Deps: []string{"kernel/display"}},
		{ImportPath: "dacelib/nir", Deps: []string{zmq4 + "/internal"}},
		{ImportPath: "dacelib/nir", XTestImports: []string{"kernel/engine"}},
		{ImportPath: "kernel/internal/jupyter/server", Deps: []string{"dacelib/run"}},
		{ImportPath: "kernel/internal/cli", Imports: []string{zmq4}},
		{ImportPath: "kernel/notebook", Imports: []string{"dacelib/run"}},
		{ImportPath: "dacelib/files", Imports: []string{"dacelib/internal/exits"}},
		{ImportPath: "dacelib/farm", Imports: []string{nats + "/nats.go"}},
		{ImportPath: "kernel/internal/cli", Deps: []string{nats + "/nats-server/v2/server"}},
		{ImportPath: "dacelib/nir", Imports: []string{gorgonia + "/gorgonia"}},
		{ImportPath: "dacelib/construct", Deps: []string{gorgonia + "/tensor"}},
		{ImportPath: "kernel/display", Imports: []string{yaegi + "/interp"}},
		{ImportPath: "dacelib/problem/ccp", Imports: []string{"dacelib/brkga"}},
		{ImportPath: "dacelib/nir", Imports: []string{"dacelib/construct"}},
		{ImportPath: "kernel/gocell", Imports: []string{yaegi + "/interp"}},
		{ImportPath: "kernel/gocell/internal/compile", Imports: []string{"unsafe"}},
		{ImportPath: "kernel/yaegi", Imports: []string{"unsafe"}},
		{ImportPath: "kernel/gocell/internal/vm", Imports: []string{"kernel/gocell/internal/compile"}},
		{ImportPath: "kernel/gocell/internal/std", Imports: []string{"kernel/gocell/internal/stdio"}},
		{ImportPath: "kernel/gocell/rtype", Imports: []string{"kernel/gocell/internal/vm"}},
		{ImportPath: "kernel/internal/toolchain/native", Imports: []string{"kernel/gocell"}},
		{ImportPath: "kernel/internal/system/limits", Imports: []string{"kernel/engine"}},
		{ImportPath: "kernel/gocell/attic"},
		{ImportPath: "notebooks/results/generating", Deps: []string{"kernel/display"}},
	} {
		if got := breaches([]goPackage{p}); len(got) != 1 {
			t.Errorf("%+v: %d breaches found, want one: %v", p, len(got), got)
		}
	}
	if got := breaches([]goPackage{{ImportPath: "kernel/notebook", Imports: []string{"dacelib/files"}, Deps: []string{"dacelib/files"}}}); got != nil {
		t.Errorf("notebook may import files: %v", got)
	}
	if got := breaches([]goPackage{{ImportPath: "dacelib/construct", Imports: []string{"dacelib/brkga"}, Deps: []string{"dacelib/brkga", "dacelib/run"}}}); got != nil {
		t.Errorf("construct may import brkga: %v", got)
	}
}

// repositoryFiles returns the files of the repository, including those that are
// not committed yet, and without those that git ignores.
func repositoryFiles(t testing.TB) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("git cannot list the files of the repository: %v", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

// TestNoLargeFiles checks that no file of the repository is larger than the records of
// a construction: what is built does not belong into it.
func TestNoLargeFiles(t *testing.T) {
	for _, name := range repositoryFiles(t) {
		if info, err := os.Stat(filepath.Join("..", name)); err == nil && info.Size() > 4<<20 {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
}

// TestNoOldRand checks that our code does not import math/rand, whose
// generators cannot be split into streams. kernel/gocell/symbols may, to offer
// it to cells.
func TestNoOldRand(t *testing.T) {
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || within(name, "kernel/gocell/symbols") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.ImportsOnly)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and the deletion is not committed yet
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

// TestReachIns checks that the cells' engine uses unexported parts of other
// packages only through two places: the tables of vm/reach.go, whose own test
// checks that they are complete, and package rtype, which Hidden checks at the
// start of the process.
func TestReachIns(t *testing.T) {
	linked := 0
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !within(name, "kernel/gocell") ||
			within(name, "kernel/gocell/symbols", "kernel/gocell/rtype") || strings.Contains(name, "/testdata/") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("..", name), nil, parser.ParseComments)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and the deletion is not committed yet
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if name == "kernel/gocell/internal/vm/reach.go" {
			linked = len(file.Decls)
			continue
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:linkname ") {
					t.Errorf("%s: %s belongs into the table of vm/reach.go", fset.Position(c.Pos()), c.Text)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			_, constant := call.Args[0].(*ast.BasicLit)
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "FieldByName" && constant {
				t.Errorf("%s: a field that is read by its name belongs into the table of vm/reach.go, or is one for rtype.Hidden", fset.Position(n.Pos()))
			}
			return true
		})
	}
	if linked == 0 {
		t.Error("there is no kernel/gocell/internal/vm/reach.go")
	}
}

// TestFunctionLength limits the functions of the cells' engine to 80 lines. The
// comment of a longer one says why, in a line that begins with "Long:".
func TestFunctionLength(t *testing.T) {
	const most = 80
	functions := 0
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !within(name, "kernel/gocell") ||
			within(name, "kernel/gocell/symbols") || strings.Contains(name, "/testdata/") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("..", name), nil, parser.ParseComments)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions++
			lines := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1
			if lines > most && !strings.Contains("\n"+f.Doc.Text(), "\nLong:") {
				t.Errorf("%s: %s is %d lines long", fset.Position(f.Pos()), f.Name.Name, lines)
			}
		}
	}
	if functions < 500 {
		t.Errorf("the engine has %d functions only", functions)
	}
}

// farmless lists the structs of the library that have a field Workers and no
// Farm, and why.
var farmless = map[string]string{
	"dacelib/forest.Settings":     "trees take milliseconds, and their data as long to send",
	"dacelib/problem.Noise":       "repeats are part of one evaluation, which a farm's unit makes",
	"dacelib/similarity.Settings": "a few thousand solutions of each instance, once; landscape.Extract has a farm",
	"dacelib/problem.Program":     "programs at once on one machine; each worker of a farm has its own",
}

// TestFarmBesideWorkers checks that whatever runs on several goroutines runs on
// a farm, too: each exported struct of the library with a number of Workers has
// a Farm.
func TestFarmBesideWorkers(t *testing.T) {
	seen := map[string]bool{} // by struct: has it a Farm?
	inLibrary := func(name string) bool { return within(name, "dacelib") }
	parseFiles(t, inLibrary, func(name string, _ *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok || !spec.Name.IsExported() {
				return false
			}
			if workers, farm := farmFields(s); workers {
				seen[filepath.ToSlash(filepath.Dir(name))+"."+spec.Name.Name] = farm
			}
			return false
		})
	})
	if len(seen) < 8 {
		t.Errorf("only %d structs with Workers: %v", len(seen), seen)
	}
	for name, farm := range seen {
		if why := farmless[name]; !farm && why == "" {
			t.Errorf("%s has Workers and no Farm: add one, or the reason to farmless", name)
		} else if farm && why != "" {
			t.Errorf("%s has a Farm: delete its row in farmless", name)
		}
	}
}

// farmFields reports whether a struct has a number of Workers and a pool Farm.
func farmFields(s *ast.StructType) (workers, farm bool) {
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			number, ok := f.Type.(*ast.Ident)
			workers = workers || name.Name == "Workers" && ok && number.Name == "int"
			pool, ok := f.Type.(*ast.SelectorExpr)
			farm = farm || name.Name == "Farm" && ok && pool.Sel.Name == "Pool"
		}
	}
	return workers, farm
}

// TestNoMachinePaths checks that no file contains a path of a development
// machine.
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
				// Only at the beginning of a path is the name that of such a
				// folder.
				if at += i; at == 0 || bytes.IndexByte([]byte("\"'`( =:\t\n"), data[at-1]) >= 0 {
					t.Errorf("%s names %s at byte %d", name, data[at:min(len(data), at+40)], at)
					break
				}
			}
		}
	}
}

// TestModulePath checks that only import declarations and generated files name
// the module as go.mod does: it can move to a public home by a change of these.
func TestModulePath(t *testing.T) {
	path := strings.TrimSuffix(module, "/")
	written := func(name string) bool {
		return (!within(name, "kernel/gocell/symbols") || within(name, "kernel/gocell/symbols/gen", "kernel/gocell/symbols/docs")) &&
			name != "kernel/setup/place.go" // a key of a file's format
	}
	parseFiles(t, written, func(_ string, fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if n.Kind == token.STRING && (n.Value == `"`+path+`"` || strings.HasPrefix(n.Value, `"`+path+"/")) {
					t.Errorf("%s: %s: package kernel/buildinfo tells the module's path", fset.Position(n.Pos()), n.Value)
				}
			}
			return true
		})
	})
}

// parseFiles calls f for the Go files of the repository that are kept, but for
// tests and what lies in testdata.
func parseFiles(t *testing.T, keep func(name string) bool, f func(name string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") || !keep(name) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("..", name), nil, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		f(name, fset, file)
	}
}

// TestLockFile checks that the npm lock file does not name the host that the
// packages were downloaded from.
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
