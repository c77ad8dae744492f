// Gen writes the kernel's data about the packages that a cell can import: their
// symbols (std/, golang/, gonum/, gorgonia/ and dace/, compiled in and used through
// reflection), their types and constants (types.pack, for checking cells), their
// documentation (docs.pack, for inspection) and, for dacelib and display, their
// source (source.pack). Run it with go generate in the folder above.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/doc"
	"go/format"
	"go/token"
	"go/types"
	"go/version"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/symbols/api"
	"dace.local/kernel/gocell/symbols/docs"
	"dace.local/kernel/gocell/symbols/pack"
	"dace.local/kernel/gocell/symbols/table"
)

// own are the go list patterns of the packages of this module. (What a release
// carries for compiled cells are the imports of the tables that come of it.)
var own = []string{
	buildinfo.Path("dacelib/..."),
	buildinfo.Path("kernel/display"),
	buildinfo.Path("kernel/foreign/..."),
	buildinfo.Path("kernel/shell"),
	buildinfo.Path("kernel/widget"),
}

// patterns are those of other modules.
var patterns = []string{
	"gonum.org/v1/gonum/...",
	"gonum.org/v1/plot/...",
	"gorgonia.org/gorgonia",
	"gorgonia.org/tensor",
	// What many fetched modules import and cannot be interpreted, for its
	// assembly, or is slow where it is.
	"golang.org/x/sys/cpu",
	"golang.org/x/sys/unix",
	"golang.org/x/term",
	"golang.org/x/text/cases",
	"golang.org/x/text/encoding",
	"golang.org/x/text/encoding/charmap",
	"golang.org/x/text/encoding/unicode",
	"golang.org/x/text/language",
	"golang.org/x/text/message",
	"golang.org/x/text/number",
	"golang.org/x/text/runes",
	"golang.org/x/text/secure/bidirule",
	"golang.org/x/text/transform",
	"golang.org/x/text/unicode/bidi",
	"golang.org/x/text/unicode/norm",
	"golang.org/x/text/width",
}

// skip reports whether a package is left out because it makes no sense in a
// cell: machine-dependent code, test harnesses, and packages that would bypass
// the kernel.
func skip(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == "internal" || part == "vendor" || part == "testdata" || part == "cmd" {
			return true
		}
	}
	switch p {
	case "unsafe", "embed", "plugin", "runtime/cgo", "runtime/race", "runtime/msan", "runtime/asan",
		"gonum.org/v1/gonum", "gonum.org/v1/plot/cmpimg", "C",
		buildinfo.Path("dacelib/farm/farmtest"), // its units end workers
		buildinfo.Path("dacelib/files/disk"),    // for tests
		buildinfo.Path("dacelib/docs"):          // texts for the command
		return true
	}
	for _, prefix := range []string{"gonum.org/v1/plot/gob", "gonum.org/v1/gonum/blas/testblas",
		"gonum.org/v1/gonum/lapack/testlapack", "gonum.org/v1/gonum/graph/formats/cytoscapejs/testdata"} {
		if p == prefix || strings.HasPrefix(p, prefix+"/") {
			return true
		}
	}
	return false
}

// oldestGo returns an error unless this is the oldest Go that the module can be
// built with: tables with the names of a newer one would not compile there.
func oldestGo() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.GoVersion}}").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	if oldest := "go" + strings.TrimSpace(string(out)); version.Lang(oldest) != version.Lang(runtime.Version()) {
		return fmt.Errorf("the kernel is built with %s too, which has not all names of %s: set GOTOOLCHAIN=%s", version.Lang(oldest), runtime.Version(), oldest)
	}
	return nil
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("symbols: ")
	out := flag.String("o", ".", "folder to write to")
	flag.Parse()
	if err := oldestGo(); err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	loaded := load()
	var pkgs, documented []*packages.Package // with names; with documentation
	for _, p := range loaded {
		if skip(p.PkgPath) || p.Name == "main" {
			continue
		}
		documented = append(documented, p)
		if p.PkgPath == "builtin" { // it holds documentation, and does not compile
			continue
		}
		for _, e := range p.Errors {
			log.Fatalf("%s: %v", p.PkgPath, e)
		}
		if p.Types == nil || !slices.ContainsFunc(p.Types.Scope().Names(), token.IsExported) {
			continue
		}
		pkgs = append(pkgs, p)
	}
	for _, l := range [][]*packages.Package{pkgs, documented} {
		sort.Slice(l, func(i, j int) bool { return l[i].PkgPath < l[j].PkgPath })
	}
	log.Printf("%d packages loaded in %v", len(pkgs), time.Since(start).Round(time.Millisecond))

	for _, p := range pkgs {
		tables[p.PkgPath] = true
	}
	old, _ := filepath.Glob(filepath.Join(*out, "*", "sym_*.go"))
	keep := map[string]bool{}
	for _, p := range pkgs {
		src, err := symbolFile(p)
		if err != nil {
			log.Fatalf("%s: %v", p.PkgPath, err)
		}
		name := filepath.Join(*out, tableOf(p.PkgPath), "sym_"+mangle(p.PkgPath)+".go")
		keep[name] = true
		write(name, src)
	}
	for _, f := range old {
		if !keep[f] {
			if err := os.Remove(f); err != nil {
				log.Fatal(err)
			}
		}
	}
	writeSum(filepath.Join(*out, "dace", "sum.go"), pkgs)
	writeTypes(*out, pkgs)
	writeDocs(*out, documented)
	writeSource(filepath.Join(*out, "source.pack"), pkgs)
	log.Printf("done in %v", time.Since(start).Round(time.Millisecond))
}

// tableOf returns the name of the generated package that registers a package's
// symbols.
func tableOf(path string) string {
	if strings.HasPrefix(path, buildinfo.Path("")) {
		return "dace"
	}
	switch host, _, _ := strings.Cut(path, "/"); host {
	case "gonum.org":
		return "gonum"
	case "gorgonia.org":
		return "gorgonia"
	case "golang.org":
		return "golang"
	}
	return "std"
}

// write writes a file, unless it contains the same bytes already.
func write(name string, b []byte) {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, b) {
		return
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		log.Fatal(err)
	}
}

func mangle(path string) string {
	s := strings.NewReplacer("/", "_", "-", "_", ".", "_", "~", "_").Replace(path)
	// A file name must not end like a build constraint, such as _linux or
	// _test.
	return s + "_"
}

// tables are the packages that have symbols.
var tables = map[string]bool{}

// symbolFile returns the Go source that registers a package's symbols.
func symbolFile(pkg *packages.Package) ([]byte, error) {
	p := pkg.Types
	var fixed map[string]bool // read when the first constant asks
	variable := mangle(p.Path())
	self := p.Name()
	if self == "table" || self == "init" {
		self += "2"
	}
	var values, typs, vars strings.Builder
	scope := p.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		q := self + "." + name
		switch o := o.(type) {
		case *types.Const:
			if fixed == nil {
				fixed = constants(pkg)
			}
			if !inTypes(o, fixed) {
				fmt.Fprintf(&values, "{Name: %q, Value: %s},\n", name, q)
			}
		case *types.Func:
			if o.Signature().TypeParams().Len() == 0 {
				fmt.Fprintf(&values, "{Name: %q, Value: %s},\n", name, q)
			}
		case *types.Var:
			fmt.Fprintf(&vars, "{Name: %q, Value: &%s},\n", name, q)
		case *types.TypeName:
			it, isInterface := o.Type().Underlying().(*types.Interface)
			if !generic(o.Type()) && (!isInterface || it.IsMethodSet()) {
				fmt.Fprintf(&typs, "{Name: %q, Value: (*%s)(nil)},\n", name, q)
			}
		}
	}
	list := func(field, symbols string) string {
		if symbols == "" {
			return ""
		}
		return field + ": []table.Symbol{\n" + symbols + "},\n"
	}
	lists := list("Values", values.String()+typs.String()) + list("Vars", vars.String())
	var b bytes.Buffer
	b.WriteString("// Code generated by gen; DO NOT EDIT.\n\n")
	if table.LinuxOnly(p.Path()) {
		b.WriteString("//go:build linux && amd64\n\n")
	}
	fmt.Fprintf(&b, "package %s\n\nimport (\n", tableOf(p.Path()))
	if lists != "" {
		fmt.Fprintf(&b, "%s %q\n", self, p.Path())
	}
	fmt.Fprintf(&b, "%q\n)\n\nfunc init() { table.Register(&%s) }\n\n", tablePath, variable)
	fmt.Fprintf(&b, "var %s = table.Package{\nPath: %q,\nName: %q,\n", variable, p.Path(), p.Name())
	b.WriteString(lists + "}\n")
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, b.Bytes())
	}
	return src, nil
}

// tablePath is the import path of the package with which the tables register.
var tablePath = buildinfo.Path("kernel/gocell/symbols/table")

func generic(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0 || generic(types.Unalias(t))
	}
	return false
}

// writeSum writes the sum of what the packages of this module export.
func writeSum(name string, pkgs []*packages.Package) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		log.Fatalf("go list -m: %v", err)
	}
	var own []string
	for _, p := range pkgs {
		if strings.HasPrefix(p.PkgPath, buildinfo.Path("")) {
			own = append(own, p.PkgPath)
		}
	}
	sum, err := api.Sum(strings.TrimSpace(string(root)), own)
	if err != nil {
		log.Fatal(err)
	}
	write(name, fmt.Appendf(nil, "// Code generated by gen; DO NOT EDIT.\n\npackage dace\n\n// Sum is api.Sum of the packages that are registered here.\nconst Sum = %q\n", sum))
}

// writeTypes writes the export data of each package. It leaves out positions, which
// would contain the paths of the generating machine.
func writeTypes(dir string, pkgs []*packages.Package) {
	all := collect(pkgs, func(p *packages.Package) []byte {
		var b bytes.Buffer
		if err := gcexportdata.Write(&b, nil, p.Types); err != nil {
			log.Fatal(err)
		}
		return b.Bytes()
	})
	// Cells import many packages as they run: a block takes less than a millisecond.
	writeForSystems(dir, "types.pack", all, 128<<10)
}

// writeForSystems packs files, those of packages for linux/amd64 apart.
func writeForSystems(dir, name string, files []pack.File, block int) {
	everywhere, linux := []pack.File{}, []pack.File{}
	for _, f := range files {
		if table.LinuxOnly(f.Name) {
			linux = append(linux, f)
		} else {
			everywhere = append(everywhere, f)
		}
	}
	writePack(filepath.Join(dir, name), everywhere, block)
	writePack(filepath.Join(dir, "linux"+name), linux, block)
}

// collect returns what data has for each package, a file by its import path. A
// package without data has none.
func collect(pkgs []*packages.Package, data func(*packages.Package) []byte) []pack.File {
	var files []pack.File
	for _, p := range pkgs {
		if b := data(p); len(b) > 0 {
			files = append(files, pack.File{Name: p.PkgPath, Data: b})
		}
	}
	return files
}

func writePack(name string, files []pack.File, block int) {
	b, err := pack.Write(files, block)
	if err != nil {
		log.Fatal(err)
	}
	total := 0
	for _, f := range files {
		total += len(f.Data)
	}
	log.Printf("%s: %d bytes, %d compressed", filepath.Base(name), total, len(b))
	write(name, b)
}

// writeDocs writes a JSON object for each package, made by docs.Of. Package builtin
// and packages without exported names have one too.
func writeDocs(dir string, pkgs []*packages.Package) {
	writeForSystems(dir, "docs.pack", collectTexts(pkgs, func(p *packages.Package) map[string]string {
		fset, files := parseFiles(p.GoFiles)
		if len(files) == 0 {
			return nil
		}
		if p.PkgPath == "builtin" {
			return docs.Builtin(fset, files)
		}
		d, err := doc.NewFromFiles(fset, files, p.PkgPath)
		if err != nil {
			log.Fatal(err)
		}
		return docs.Of(d)
	}), 512<<10)
}

// writeSource writes a JSON object, made by docs.Source, for each package of this
// module. The kernel does not contain the source of others.
func writeSource(name string, pkgs []*packages.Package) {
	writePack(name, collectTexts(pkgs, func(p *packages.Package) map[string]string {
		if !strings.HasPrefix(p.PkgPath, buildinfo.Path("")) {
			return nil
		}
		return docs.Source(parseFiles(p.GoFiles))
	}), 512<<10)
}

func collectTexts(pkgs []*packages.Package, of func(*packages.Package) map[string]string) []pack.File {
	return collect(pkgs, func(p *packages.Package) []byte {
		texts := of(p)
		if len(texts) == 0 {
			return nil
		}
		b, err := json.Marshal(texts)
		if err != nil {
			log.Fatal(err)
		}
		return b
	})
}
