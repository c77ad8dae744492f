// Package symbols provides the symbols, types and documentation of the packages
// that cells can import: the standard library, gonum, gonum/plot, gorgonia,
// dacelib, display, and parts of golang.org/x that fetched modules often need.
// The symbol tables are generated packages of their own: std, golang, gonum
// (with plot), gorgonia, and dace for the packages of this module. So a change
// of dacelib recompiles its own table and not the others. Run `go generate` here
// after a change of dacelib's or display's public API, of a pinned module, or of
// Go.
package symbols

//go:generate go run ./gen

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/tools/go/gcexportdata"

	"dace.local/kernel/display"
	_ "dace.local/kernel/gocell/symbols/dace"
	_ "dace.local/kernel/gocell/symbols/golang"
	_ "dace.local/kernel/gocell/symbols/gonum"
	_ "dace.local/kernel/gocell/symbols/gorgonia"
	_ "dace.local/kernel/gocell/symbols/std"
	"dace.local/kernel/gocell/symbols/table"
)

//go:embed types.zip
var typeData []byte

//go:embed docs.zip
var docData []byte

//go:embed source.zip
var sourceData []byte

// Paths returns the import paths of all packages, sorted.
func Paths() []string {
	return slices.Sorted(maps.Keys(table.Packages))
}

// Name returns the name of the package at an import path.
func Name(path string) (string, bool) {
	p, ok := table.Packages[path]
	if !ok {
		return "", false
	}
	return p.Name, true
}

// Lookup returns the symbols of a package in the form that yaegi takes: a
// constant, function or variable under its name and a type T as a nil *T. The
// wrappers of interfaces ("_I") that yaegi otherwise needs are not there: types
// of cells are types of Go with methods, and go into interfaces as they are.
// The caller may modify the map.
func Lookup(path string) (map[string]reflect.Value, bool) {
	p, ok := table.Packages[path]
	if !ok {
		return nil, false
	}
	return p.Symbols(), true
}

// Types imports packages from their encoded types, and decodes each when it is
// first imported. It is a [types.Importer] and safe for concurrent use.
type Types struct {
	mu   sync.Mutex // guards the contents of fset, pkgs and full
	fset *token.FileSet
	zip  *zip.Reader
	pkgs map[string]*types.Package // includes packages of which only some types are known
	full map[string]bool           // packages that have been read completely
}

// NewTypes returns an importer that knows the packages of [Paths].
func NewTypes() (*Types, error) {
	z, err := zip.NewReader(bytes.NewReader(typeData), int64(len(typeData)))
	if err != nil {
		return nil, err
	}
	return &Types{fset: token.NewFileSet(), zip: z,
		pkgs: map[string]*types.Package{"unsafe": types.Unsafe}, full: map[string]bool{"unsafe": true}}, nil
}

// Import returns the package at an import path.
func (t *Types) Import(path string) (*types.Package, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full[path] {
		return t.pkgs[path], nil
	}
	f, err := t.zip.Open(path)
	if err != nil {
		return nil, fmt.Errorf("package %s is not built into this kernel", path)
	}
	defer f.Close()
	if _, ok := table.Packages[path]; !ok {
		return nil, fmt.Errorf("package %s is built into kernels for linux/amd64 only, and this one is for %s/%s: package os has most of what is the same everywhere", path, runtime.GOOS, runtime.GOARCH)
	}
	p, err := gcexportdata.Read(f, t.fset, t.pkgs, path)
	if err != nil {
		return nil, err
	}
	t.full[path] = true
	return p, nil
}

// texts holds texts by package and name. A package's texts are read when the
// first of them is asked for.
type texts struct {
	data []byte // a zip file with a JSON object for each package

	mu  sync.Mutex // guards zip and pkg
	zip *zip.Reader
	pkg map[string]map[string]string
}

func (t *texts) of(path, name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.zip == nil {
		z, err := zip.NewReader(bytes.NewReader(t.data), int64(len(t.data)))
		if err != nil {
			return ""
		}
		t.zip, t.pkg = z, map[string]map[string]string{}
	}
	m, ok := t.pkg[path]
	if !ok {
		m = map[string]string{}
		if f, err := t.zip.Open(path); err == nil {
			if err := json.NewDecoder(f).Decode(&m); err != nil {
				m = map[string]string{}
			}
			f.Close()
		}
		t.pkg[path] = m
	}
	return m[name]
}

var documentation, source = texts{data: docData}, texts{data: sourceData}

// Doc returns the documentation of a name of a package, or "" if there is none.
// The name is "" for the package itself, "Name", "Type.Method" or "Type.Field".
// Under "Type.Field default" is the meaning of a setting's zero value.
func Doc(path, name string) string { return documentation.of(path, name) }

// Source returns the source of a function, type ("Name") or method
// ("Type.Method") of dacelib or display, or "" for other names.
func Source(path, name string) string { return source.of(path, name) }

// Package display shows the defaults of settings beside their values.
func init() { display.SetFieldDocs(Doc) }
