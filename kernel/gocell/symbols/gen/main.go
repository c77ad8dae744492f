// Gen writes what the kernel knows of the packages that a cell can import:
// their symbols (sym_*.go, compiled in and reached by reflection), their
// types (types.zip, what cells are checked against) and their
// documentation (docs.zip, what inspection shows). Run it with go generate in
// the folder above.
package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/constant"
	"go/doc"
	"go/format"
	"go/types"
	"log"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"dace.local/kernel/gocell/symbols/docs"
)

// patterns name the packages beside the standard library.
var patterns = []string{
	"dace.local/dacelib/...",
	"dace.local/kernel/display",
	"gonum.org/v1/gonum/...",
	"gonum.org/v1/plot/...",
	"gorgonia.org/gorgonia",
	"gorgonia.org/tensor",
}

// skip holds the packages that make no sense in a cell: machine-dependent
// remains, test harnesses, and what must not be reached around the kernel.
func skip(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == "internal" || part == "vendor" || part == "testdata" || part == "cmd" {
			return true
		}
	}
	switch p {
	case "unsafe", "embed", "plugin", "runtime/cgo", "runtime/race", "runtime/msan", "runtime/asan",
		"gonum.org/v1/gonum", "gonum.org/v1/plot/cmpimg", "C":
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

func main() {
	log.SetFlags(0)
	log.SetPrefix("symbols: ")
	out := flag.String("o", ".", "folder to write to")
	flag.Parse()
	start := time.Now()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps |
			packages.NeedExportFile | packages.NeedFiles | packages.NeedCompiledGoFiles,
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"),
	}, append([]string{"std"}, patterns...)...)
	if err != nil {
		log.Fatal(err)
	}
	var pkgs []*packages.Package
	for _, p := range loaded {
		if skip(p.PkgPath) || p.Name == "main" {
			continue
		}
		for _, e := range p.Errors {
			log.Fatalf("%s: %v", p.PkgPath, e)
		}
		if p.Types == nil || len(p.Types.Scope().Names()) == 0 {
			continue
		}
		pkgs = append(pkgs, p)
	}
	sort.Slice(pkgs, func(i, j int) bool { return pkgs[i].PkgPath < pkgs[j].PkgPath })
	log.Printf("%d packages loaded in %v", len(pkgs), time.Since(start).Round(time.Millisecond))

	old, _ := filepath.Glob(filepath.Join(*out, "sym_*.go"))
	keep := map[string]bool{}
	for _, p := range pkgs {
		src, err := symbolFile(p.Types)
		if err != nil {
			log.Fatalf("%s: %v", p.PkgPath, err)
		}
		name := filepath.Join(*out, "sym_"+mangle(p.PkgPath)+".go")
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
	writeTypes(filepath.Join(*out, "types.zip"), pkgs)
	writeDocs(filepath.Join(*out, "docs.zip"), pkgs)
	log.Printf("done in %v", time.Since(start).Round(time.Millisecond))
}

// write replaces a file unless it holds the same bytes already.
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
	// A file name must not end in what looks like a build constraint.
	return s + "_"
}

// symbolFile returns the Go source that registers a package's symbols.
func symbolFile(p *types.Package) ([]byte, error) {
	prefix := "_" + mangle(p.Path())
	imports := map[string]string{} // path -> name in this file
	qualify := func(q *types.Package) string {
		if n, ok := imports[q.Path()]; ok {
			return n
		}
		if n, ok := own[q.Path()]; ok {
			imports[q.Path()] = n
			return n
		}
		n := q.Name()
		for i := 2; slices.Contains(mapValues(imports), n) || reserved[n]; i++ {
			n = q.Name() + strconv.Itoa(i)
		}
		imports[q.Path()] = n
		return n
	}
	self := qualify(p)

	var vals, typs, wraps []string
	var decls strings.Builder
	scope := p.Scope()
	used := false
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		q := self + "." + name
		switch o := o.(type) {
		case *types.Const:
			v := "reflect.ValueOf(" + q + ")"
			if b, ok := o.Type().(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
				if lit := literal(o.Val()); lit != "" {
					v = "reflect.ValueOf(" + lit + ")"
				} else {
					used = true
				}
			} else {
				used = true
			}
			vals = append(vals, fmt.Sprintf("%q: %s,", name, v))
		case *types.Func:
			if o.Signature().TypeParams().Len() > 0 {
				continue
			}
			used = true
			vals = append(vals, fmt.Sprintf("%q: reflect.ValueOf(%s),", name, q))
		case *types.Var:
			used = true
			vals = append(vals, fmt.Sprintf("%q: reflect.ValueOf(&%s).Elem(),", name, q))
		case *types.TypeName:
			if generic(o.Type()) {
				continue
			}
			it, isInterface := o.Type().Underlying().(*types.Interface)
			if isInterface && !it.IsMethodSet() {
				continue
			}
			used = true
			typs = append(typs, fmt.Sprintf("%q: reflect.ValueOf((*%s)(nil)),", name, q))
			if isInterface && implementable(it) {
				wraps = append(wraps, fmt.Sprintf("%q: reflect.ValueOf((*%s%s)(nil)),", "_"+name, prefix, name))
				wrapper(&decls, prefix+name, name, it, qualify)
			}
		}
	}
	if !used {
		delete(imports, p.Path())
	}
	body := strings.Join(vals, "\n") + "\n" + strings.Join(typs, "\n") + "\n" + strings.Join(wraps, "\n")
	if strings.Contains(body, "constant.MakeFromLiteral(") {
		imports["go/constant"], imports["go/token"] = "constant", "token"
	}
	imports["reflect"] = "reflect"
	var b bytes.Buffer
	b.WriteString("// Code generated by gen; DO NOT EDIT.\n\n")
	if p.Path() == "syscall" {
		// Its symbols are another system's nowhere else.
		b.WriteString("//go:build linux && amd64\n\n")
	}
	b.WriteString("package symbols\n\nimport (\n")
	paths := make([]string, 0, len(imports))
	for q := range imports {
		paths = append(paths, q)
	}
	sort.Strings(paths)
	for _, q := range paths {
		fmt.Fprintf(&b, "%s %q\n", imports[q], q)
	}
	fmt.Fprintf(&b, ")\n\nfunc init() {\nregister(%q, %q, func() map[string]reflect.Value {\nreturn map[string]reflect.Value{\n%s\n}\n})\n}\n%s", p.Path(), p.Name(), body, decls.String())
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, b.Bytes())
	}
	return src, nil
}

// own holds the packages that the generated files themselves need, by the
// names that no other package may have there.
var own = map[string]string{"reflect": "reflect", "go/constant": "constant", "go/token": "token"}

// reserved names are taken by the generated files.
var reserved = map[string]bool{"reflect": true, "constant": true, "token": true, "register": true, "W": true, "init": true}

func mapValues(m map[string]string) []string {
	var v []string
	for _, s := range m {
		v = append(v, s)
	}
	return v
}

func generic(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0 || generic(types.Unalias(t))
	}
	return false
}

// implementable reports whether a type outside the package can have all the
// methods of the interface.
func implementable(t *types.Interface) bool {
	for m := range t.Methods() {
		if !m.Exported() {
			return false
		}
	}
	return true
}

// wrapper declares the struct through which yaegi hands an interpreted value
// to compiled code as an interface. The field names are yaegi's contract.
func wrapper(b *strings.Builder, typ, name string, it *types.Interface, qualify types.Qualifier) {
	fmt.Fprintf(b, "\n// %s hands an interpreted %s to compiled code.\ntype %s struct {\nIValue any\n", typ, name, typ)
	var methods strings.Builder
	for m := range it.Methods() {
		sig := m.Signature()
		var params, args []string
		for i := range sig.Params().Len() {
			v := sig.Params().At(i)
			a := "a" + strconv.Itoa(i)
			t := types.TypeString(v.Type(), qualify)
			if sig.Variadic() && i == sig.Params().Len()-1 {
				t = "..." + types.TypeString(v.Type().(*types.Slice).Elem(), qualify)
				args = append(args, a+"...")
			} else {
				args = append(args, a)
			}
			params = append(params, a+" "+t)
		}
		var results []string
		for v := range sig.Results().Variables() {
			results = append(results, types.TypeString(v.Type(), qualify))
		}
		res := ""
		if len(results) > 0 {
			res = "(" + strings.Join(results, ", ") + ")"
		}
		fmt.Fprintf(b, "W%s func(%s) %s\n", m.Name(), strings.Join(params, ", "), res)
		ret := ""
		if res != "" {
			ret = "return "
		}
		guard := ""
		if m.Name() == "String" && len(results) == 1 && results[0] == "string" {
			guard = "if W.WString == nil {\nreturn \"\"\n}\n"
		}
		fmt.Fprintf(&methods, "\nfunc (W %s) %s(%s) %s {\n%s%sW.W%s(%s)\n}\n", typ, m.Name(), strings.Join(params, ", "), res, guard, ret, m.Name(), strings.Join(args, ", "))
	}
	b.WriteString("}\n" + methods.String())
}

// literal returns the expression of an untyped constant as a constant.Value,
// or "" where the plain value does.
func literal(v constant.Value) string {
	var tok, s string
	switch v.Kind() {
	case constant.String:
		tok, s = "STRING", v.ExactString()
	case constant.Int:
		tok, s = "INT", v.ExactString()
	case constant.Float:
		x := constant.Val(v)
		f, ok := x.(*big.Float)
		if !ok {
			f = new(big.Float).SetPrec(512).SetRat(x.(*big.Rat))
		}
		tok, s = "FLOAT", f.Text('g', int(f.Prec()))
	default:
		return ""
	}
	return fmt.Sprintf("constant.MakeFromLiteral(%q, token.%s, 0)", s, tok)
}

// writeTypes writes a zip with the export data of each package, without
// positions: they would hold this machine's paths.
func writeTypes(name string, pkgs []*packages.Package) {
	writeZip(name, "types", pkgs, func(p *packages.Package) []byte {
		var b bytes.Buffer
		if err := gcexportdata.Write(&b, nil, p.Types); err != nil {
			log.Fatal(err)
		}
		return b.Bytes()
	})
}

// writeZip writes a zip with one entry a package, named by its path. A
// package without data has none.
func writeZip(name, what string, pkgs []*packages.Package, data func(*packages.Package) []byte) {
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	total := 0
	for _, p := range pkgs {
		b := data(p)
		if len(b) == 0 {
			continue
		}
		total += len(b)
		f, err := w.CreateHeader(&zip.FileHeader{Name: p.PkgPath, Method: zip.Deflate})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := f.Write(b); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	log.Printf("%s: %d bytes, %d compressed", what, total, z.Len())
	write(name, z.Bytes())
}

// writeDocs writes a zip with one JSON object a package: name -> text, where
// a name is "" (the package), "Name", "Type.Method" or "Type.Field".
func writeDocs(name string, pkgs []*packages.Package) {
	writeZip(name, "docs", pkgs, func(p *packages.Package) []byte {
		texts := packageDocs(p)
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

func packageDocs(p *packages.Package) map[string]string {
	fset, files := parseFiles(p.GoFiles)
	if len(files) == 0 {
		return nil
	}
	d, err := doc.NewFromFiles(fset, files, p.PkgPath)
	if err != nil {
		log.Fatal(err)
	}
	return docs.Of(d)
}
