// Package symbols holds what the kernel knows of the packages that cells can
// import: the standard library, gonum, gonum/plot, gorgonia, dacelib and
// display. All but this file is generated: `go generate` here after a change
// of dacelib's or display's public API, of a pinned module, or of Go.
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
	"reflect"
	"sort"
	"sync"

	"golang.org/x/tools/go/gcexportdata"
)

//go:embed types.zip
var typeData []byte

//go:embed docs.zip
var docData []byte

type entry struct {
	name string
	make func() map[string]reflect.Value
}

var table = map[string]entry{}

func register(path, name string, f func() map[string]reflect.Value) { table[path] = entry{name, f} }

// Paths returns the import paths of all packages, sorted.
func Paths() []string {
	paths := make([]string, 0, len(table))
	for p := range table {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	return paths
}

// Name returns the name of the package at an import path.
func Name(path string) (string, bool) {
	e, ok := table[path]
	return e.name, ok
}

// Lookup returns the symbols of a package in the form that yaegi takes: a
// constant, function or variable under its name, a type T as a nil *T, the
// wrapper of an interface I as "_I". The map is the caller's.
func Lookup(path string) (map[string]reflect.Value, bool) {
	e, ok := table[path]
	if !ok {
		return nil, false
	}
	return e.make(), true
}

// Types decodes types of packages, each when it is first asked for. It is a
// [types.Importer] and safe for use from several goroutines.
type Types struct {
	mu   sync.Mutex
	fset *token.FileSet
	zip  *zip.Reader
	pkgs map[string]*types.Package // also those known only in part
	full map[string]bool
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
	p, err := gcexportdata.Read(f, t.fset, t.pkgs, path)
	if err != nil {
		return nil, err
	}
	t.full[path] = true
	return p, nil
}

var docs struct {
	sync.Mutex
	zip *zip.Reader
	pkg map[string]map[string]string
}

// Doc returns the documentation of a name of a package: "" for the package
// itself, "Name", "Type.Method" or "Type.Field". It is "" where there is none.
func Doc(path, name string) string {
	docs.Lock()
	defer docs.Unlock()
	if docs.zip == nil {
		z, err := zip.NewReader(bytes.NewReader(docData), int64(len(docData)))
		if err != nil {
			return ""
		}
		docs.zip, docs.pkg = z, map[string]map[string]string{}
	}
	m, ok := docs.pkg[path]
	if !ok {
		m = map[string]string{}
		if f, err := docs.zip.Open(path); err == nil {
			if err := json.NewDecoder(f).Decode(&m); err != nil {
				m = map[string]string{}
			}
			f.Close()
		}
		docs.pkg[path] = m
	}
	return m[name]
}
