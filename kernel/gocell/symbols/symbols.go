// Package symbols provides the symbols, types and documentation of the packages
// that cells can import: the standard library, gonum, gonum/plot, gorgonia,
// dacelib, display, and parts of golang.org/x that fetched modules often need.
// The symbol tables are generated packages of their own: std, golang, gonum
// (with plot), gorgonia, and dace for the packages of this module. So a change
// of dacelib recompiles its own table and not the others. Package all registers
// them, for the command: only what it imports links what cells can import. Run `go
// generate` here after a change of dacelib's or display's public API, of a pinned
// module, or of Go.
package symbols

//go:generate go run ./gen

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/gcexportdata"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/symbols/pack"
	"dace.local/kernel/gocell/symbols/table"
)

//go:embed types.pack
var typeData []byte

//go:embed docs.pack
var docData []byte

//go:embed source.pack
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

// ByName maps names of packages to their import paths, the preferred one first: the
// standard library is preferred, then this module, then the shortest path.
var ByName = sync.OnceValue(func() map[string][]string {
	t := map[string][]string{}
	for _, p := range Paths() {
		n, _ := Name(p)
		t[n] = append(t[n], p)
	}
	rank := func(p string) int {
		first, _, _ := strings.Cut(p, "/")
		switch {
		case p == "math/rand/v2", p == "text/template":
			return 0
		case !strings.Contains(first, "."):
			return 1
		case strings.HasPrefix(p, buildinfo.Path("")):
			return 2
		}
		return 3 + strings.Count(p, "/")
	}
	for _, l := range t {
		slices.SortStableFunc(l, func(a, b string) int { return cmp.Or(rank(a)-rank(b), len(a)-len(b)) })
	}
	return t
})

// Lookup returns the symbols of a package in the form that yaegi takes: a
// function or variable under its name and a type T as a nil *T. p are its types,
// for the constants; without them it returns no constants. The wrappers of
// interfaces ("_I") that yaegi otherwise needs are not there: types of cells are
// types of Go with methods, and go into interfaces as they are. The caller may
// modify the map.
func Lookup(path string, p *types.Package) (map[string]reflect.Value, bool) {
	t, ok := table.Packages[path]
	if !ok {
		return nil, false
	}
	symbols := t.Symbols()
	if p == nil {
		return symbols, true
	}
	for _, name := range p.Scope().Names() {
		if c, ok := p.Scope().Lookup(name).(*types.Const); ok && c.Exported() && !symbols[name].IsValid() {
			symbols[name] = value(c)
		}
	}
	return symbols, true
}

// basic are the types of constants.
var basic = map[types.BasicKind]reflect.Type{
	types.Bool: reflect.TypeFor[bool](), types.UntypedBool: reflect.TypeFor[bool](), types.String: reflect.TypeFor[string](),
	types.Int: reflect.TypeFor[int](), types.Int8: reflect.TypeFor[int8](), types.Int16: reflect.TypeFor[int16](),
	types.Int32: reflect.TypeFor[int32](), types.Int64: reflect.TypeFor[int64](), types.Uint: reflect.TypeFor[uint](),
	types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](), types.Uint32: reflect.TypeFor[uint32](),
	types.Uint64: reflect.TypeFor[uint64](), types.Uintptr: reflect.TypeFor[uintptr](), types.Float32: reflect.TypeFor[float32](),
	types.Float64: reflect.TypeFor[float64](), types.Complex64: reflect.TypeFor[complex64](), types.Complex128: reflect.TypeFor[complex128](),
}

// value returns a constant as yaegi takes it: an untyped number or string as a
// constant.Value, others as they are. The tables have those whose type they
// cannot name.
func value(c *types.Const) reflect.Value {
	var typ reflect.Type
	switch t := types.Unalias(c.Type()).(type) {
	case *types.Basic:
		if t.Info()&types.IsUntyped != 0 && t.Kind() != types.UntypedBool {
			return reflect.ValueOf(c.Val())
		}
		typ = basic[t.Kind()]
	case *types.Named:
		typ = table.Packages[t.Obj().Pkg().Path()].Type(t.Obj().Name())
	}
	v := reflect.New(typ).Elem()
	switch x := c.Val(); {
	case v.Kind() == reflect.Bool:
		v.SetBool(constant.BoolVal(x))
	case v.Kind() == reflect.String:
		v.SetString(constant.StringVal(x))
	case v.CanInt():
		n, _ := constant.Int64Val(constant.ToInt(x))
		v.SetInt(n)
	case v.CanUint():
		n, _ := constant.Uint64Val(constant.ToInt(x))
		v.SetUint(n)
	case v.CanFloat():
		f, _ := constant.Float64Val(x)
		v.SetFloat(f)
	case v.CanComplex():
		re, _ := constant.Float64Val(constant.Real(x))
		im, _ := constant.Float64Val(constant.Imag(x))
		v.SetComplex(complex(re, im))
	}
	return reflect.ValueOf(v.Interface()) // not a variable
}

// Types imports packages from their encoded types, and decodes each when it is
// first imported. It is a [types.Importer] and safe for concurrent use.
type Types struct {
	mu    sync.Mutex // guards the contents of fset, files, pkgs and full
	fset  *token.FileSet
	files *pack.Files
	pkgs  map[string]*types.Package // includes packages of which only some types are known
	full  map[string]bool           // packages that have been read completely
}

// NewTypes returns an importer that knows the packages of [Paths].
func NewTypes() (*Types, error) {
	files, err := pack.New(typeData, linuxTypes)
	if err != nil {
		return nil, err
	}
	return &Types{fset: token.NewFileSet(), files: files,
		pkgs: map[string]*types.Package{"unsafe": types.Unsafe}, full: map[string]bool{"unsafe": true}}, nil
}

// Import returns the package at an import path.
func (t *Types) Import(path string) (*types.Package, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full[path] {
		return t.pkgs[path], nil
	}
	if _, ok := table.Packages[path]; !ok && table.LinuxOnly(path) {
		return nil, fmt.Errorf("package %s is built into kernels for linux/amd64 only, and this one is for %s/%s: package os has most of what is the same everywhere", path, runtime.GOOS, runtime.GOARCH)
	}
	data, err := t.files.Read(path)
	if err != nil {
		return nil, fmt.Errorf("package %s is not built into this kernel", path)
	}
	p, err := gcexportdata.Read(bytes.NewReader(data), t.fset, t.pkgs, path)
	if err != nil {
		return nil, err
	}
	t.full[path] = true
	return p, nil
}

// texts holds texts by package and name. A package's texts are read when the
// first of them is asked for.
type texts struct {
	open func() (*pack.Files, error) // with a JSON object for each package

	mu  sync.Mutex // guards pkg and the files
	pkg map[string]map[string]string
}

func newTexts(data ...[]byte) *texts {
	return &texts{open: sync.OnceValues(func() (*pack.Files, error) { return pack.New(data...) }), pkg: map[string]map[string]string{}}
}

func (t *texts) of(path, name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.pkg[path]
	if !ok {
		if files, err := t.open(); err == nil {
			if data, err := files.Read(path); err != nil || json.Unmarshal(data, &m) != nil {
				m = nil
			}
		}
		t.pkg[path] = m
	}
	return m[name]
}

var documentation, source = newTexts(docData, linuxDocs), newTexts(sourceData)

// Doc returns the documentation of a name of a package, or "" if there is none.
// The name is "" for the package itself, "Name", "Type.Method" or "Type.Field".
// Under "Type.Field default" is the meaning of a setting's zero value.
func Doc(path, name string) string { return documentation.of(path, name) }

// Source returns the source of a function, type ("Name") or method
// ("Type.Method") of dacelib or display, or "" for other names.
func Source(path, name string) string { return source.of(path, name) }
