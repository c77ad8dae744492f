package check

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/kernel/internal/toolchain/module"
)

// What a declaration cannot name is found wherever a type has it.
func TestInexpressible(t *testing.T) {
	x := types.NewPackage("example.org/x", "x")
	named := func(name string) *types.Named {
		o := types.NewTypeName(token.NoPos, x, name, nil)
		x.Scope().Insert(o)
		return types.NewNamed(o, types.Typ[types.Int], nil)
	}
	named("T")
	named("hidden")
	alias := types.NewTypeName(token.NoPos, x, "aliased", nil)
	types.NewAlias(alias, types.Typ[types.Int])
	x.Scope().Insert(alias)
	f := types.NewField(token.NoPos, x, "f", types.Typ[types.Int], false)
	hidden, open := x.Scope().Lookup("hidden").Type(), x.Scope().Lookup("T").Type()
	param := types.NewTypeParam(types.NewTypeName(token.NoPos, x, "P", nil), types.NewInterfaceType(nil, nil))
	tuple := func(list ...types.Type) *types.Tuple {
		var vars []*types.Var
		for _, t := range list {
			vars = append(vars, types.NewParam(token.NoPos, x, "", t))
		}
		return types.NewTuple(vars...)
	}
	str := func(fields ...*types.Var) types.Type { return types.NewStruct(fields, nil) }
	shown := func(t types.Type) *types.Var { return types.NewField(token.NoPos, x, "F", t, false) }
	other := types.NewField(token.NoPos, x, "G", hidden, false)
	loop := types.NewNamed(types.NewTypeName(token.NoPos, x, "Loop", nil), nil, nil)
	loop.SetUnderlying(types.NewPointer(loop))
	for _, c := range []struct {
		t    types.Type
		want string
	}{
		{types.Typ[types.Int], ""}, {open, ""}, {hidden, "x.hidden"}, {alias.Type(), "x.aliased"}, {param, "P"}, {loop, ""},
		{types.NewPointer(hidden), "x.hidden"}, {types.NewSlice(hidden), "x.hidden"}, {types.NewArray(hidden, 2), "x.hidden"}, {types.NewChan(types.SendRecv, hidden), "x.hidden"},
		{types.NewMap(hidden, open), "x.hidden"}, {types.NewMap(open, hidden), "x.hidden"}, {types.NewMap(open, open), ""},
		{types.NewSignatureType(nil, nil, nil, tuple(open, hidden), tuple(open), false), "x.hidden"},
		{types.NewSignatureType(nil, nil, nil, tuple(open), tuple(open, param), false), "P"},
		{types.NewSignatureType(nil, nil, nil, tuple(open), nil, false), ""},
		{str(shown(open), other), "x.hidden"}, {str(shown(open)), ""}, {str(f), "x.f"}, {types.Universe.Lookup("error").Type(), ""},
	} {
		if got := Inexpressible(c.t, map[types.Type]bool{}); got != c.want {
			t.Errorf("in %v is %q, want %q", c.t, got, c.want)
		}
	}
	known := func(o *types.TypeName) bool { return o.Name() == "hidden" }
	if got := NotExported(types.NewSlice(hidden), map[types.Type]bool{}, known); got != "" {
		t.Errorf("a type that is known is %q", got)
	}
}

// What holds functions, interfaces, or types of cells is not shared with compiled code.
func TestNotShareable(t *testing.T) {
	p, err := checked(t, token.NewFileSet(), "type T struct{ n int }\ntype G[X any] struct{ x X }\nvar v struct {\n"+`
		A int; B T; C *T; D []T; E [2]T; F chan T; G map[T]int; H map[int]T; I func(); J any; K error; L struct{ T T }; M time.Time; N *time.Time; O atomic.Pointer[int]; P G[int]; Q []map[string]*bytes.Buffer
	}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"B": "the interpreted type T", "C": "the interpreted type T", "D": "the interpreted type T", "E": "the interpreted type T", "F": "the interpreted type T", "G": "the interpreted type T",
		"H": "the interpreted type T", "I": "a function", "J": "a value of type any", "L": "a value of type struct{T T}", "O": "the instance atomic.Pointer[int]", "P": "the interpreted type G"}
	for f := range p.Lookup("v").Type().Underlying().(*types.Struct).Fields() {
		if got := notShareable(f.Type(), map[types.Type]bool{}); got != want[f.Name()] {
			t.Errorf("%s %v: %q, want %q", f.Name(), f.Type(), got, want[f.Name()])
		}
	}
}

// Code in a function sees its variables in place of the session's of the same names, which
// are there again outside of it.
func TestWithinFunction(t *testing.T) {
	fset := token.NewFileSet()
	p, err := checked(t, fset, "x, y := 1, 2", "func f() int { return x }")
	if err != nil {
		t.Fatal(err)
	}
	v := func(name string) *types.Var { return types.NewVar(1, nil, name, types.Typ[types.String]) }
	vars := []*types.Var{v("x"), v("z")}
	within, made := p.Within(vars)
	cell := func(p *Program, text string) *Checked {
		src, err := ParseCell(fset, 9, "", text)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Check(fset, src)
		if err != nil {
			t.Fatal(text, err)
		}
		return c
	}
	c := cell(within, "x + z, y")
	if c.Results[0].String() != "string" || c.Results[1].String() != "int" || !c.Uses(made[0]) || !c.Uses(made[1]) || c.Uses(vars[0]) {
		t.Errorf("%v", c.Results)
	}
	c = cell(within, "w := z\nx := 2.5")
	if c.Uses(made[0]) || !c.Uses(made[1]) {
		t.Error("the cell uses x, or not z")
	}
	out := c.Outside(p, vars)
	for name, want := range map[string]string{"x": "float64", "y": "int", "w": "string"} {
		if o := out.Lookup(name); o == nil || o.Type().String() != want {
			t.Errorf("outside %s is %v, want %s", name, o, want)
		}
	}
	if out = cell(within, "w := z").Outside(p, vars); out.Lookup("z") != nil || out.Lookup("x") != p.Lookup("x") {
		t.Errorf("outside z is %v, x %v", out.Lookup("z"), out.Lookup("x"))
	}
	if p.Lookup("x").Type().String() != "int" || p.Lookup("none") != nil {
		t.Error("the session has changed")
	}
}

// Packages of the module cache are read where their module is not large, and known by their
// names, texts and versions; a build for other machines stands in for one that cannot be
// interpreted.
func TestFetchedPackages(t *testing.T) {
	dir := t.TempDir()
	write := func(folder string, files ...string) {
		for i := 0; i < len(files); i += 2 {
			name := filepath.Join(dir, folder, files[i])
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("a", "a.go", "package a\n\nimport \"example.org/vendored\"\n\nfunc F() int { return b.G() }\n", "a.s", "")
	write("b", "b.go", "package b\n\nfunc G() int { return 1 }\n")
	write("p", "fast.go", "package p\n\nfunc F() int\nfunc M() int { return 1 }\n", "slow.go", "package p\n\nfunc F() int { return 2 }\nfunc M() int { return 1 }\n", "less.go", "package p\n\nfunc F() int { return 2 }\n",
		"cgo.go", "package p\n\nimport \"C\"\n\nfunc M() int { return 1 }\n\ntype T int\n\nfunc (T) X() {}\n")
	all := map[string]*module.Package{}
	add := func(path, folder, version string, change func(p *module.Package)) {
		p := &module.Package{ImportPath: path, Name: filepath.Base(folder), Dir: filepath.Join(dir, folder), Module: module.Module{Path: "example.org/" + folder, Version: version, GoVersion: "1.26"}}
		change(p)
		all[path] = p
	}
	b := func(p *module.Package) { p.Files = []string{"b.go"} }
	add("example.org/a", "a", "v1.0.0", func(p *module.Package) {
		p.Files, p.Imports, p.ImportMap = []string{"a.go"}, []string{"example.org/vendored"}, map[string]string{"example.org/vendored": "example.org/b"}
	})
	add("example.org/b", "b", "v1.1.0", b)
	add("example.org/b/longer", "b", "v1.1.0", b)
	add("example.org/foreign", "a", "v1.0.0", func(p *module.Package) { p.Files, p.Foreign = []string{"a.go"}, []string{"a.s"} })
	add("example.org/fails", "a", "v1.0.0", func(p *module.Package) { p.Err = "no build" })
	add("example.org/x/internal/b", "b", "v1.1.0", b)
	for name, files := range map[string][]string{"slow": {"slow.go"}, "less": {"less.go"}} {
		add("example.org/"+name, "p", "v1.0.0", func(p *module.Package) {
			p.Files, p.Foreign = []string{"slow.go"}, []string{"cgo.go"}
			p.Portable = &module.Package{ImportPath: p.ImportPath, Name: "p", Dir: p.Dir, Module: p.Module, Files: files}
		})
	}
	add("example.org/unsafe", "p", "v1.0.0", func(p *module.Package) {
		p.Files, p.Imports = []string{"slow.go"}, []string{"unsafe"}
		p.Portable = &module.Package{ImportPath: p.ImportPath, Name: "p", Dir: p.Dir, Module: p.Module, Files: []string{"less.go"}}
	})
	program, err := NewProgram()
	if err != nil {
		t.Fatal(err)
	}
	m := program.Importer
	var list []*module.Package
	for _, p := range all {
		list = append(list, p)
	}
	fset := token.NewFileSet()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Add(ended, fset, &module.Fetch{All: all, Packages: list}); err != context.Canceled || len(m.Packages()) != 0 {
		t.Errorf("after an interrupt: %v, %d packages", err, len(m.Packages()))
	}
	if err := m.Add(t.Context(), fset, &module.Fetch{All: all, Packages: list}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"example.org/a": "", "example.org/b": "", "example.org/foreign": "cannot be interpreted: a.s: assembly cannot be interpreted", "example.org/fails": "cannot be built: no build",
		"example.org/slow": "cgo cannot be interpreted", "example.org/unsafe": "", "example.org/x/internal/b": "use of internal package", "missing": "not built into", "example.org/none": "%get example.org/none fetches it",
	} {
		if _, err := m.Import(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if got := m.Named("b"); !slices.Equal(got, []string{"example.org/b", "example.org/b/longer"}) {
		t.Errorf("named b are %q", got)
	}
	if got := m.Named(""); len(got) < 3 || got[0] != "example.org/a" || got[1] != "example.org/b" || slices.Contains(got, "example.org/fails") || slices.Contains(got, "example.org/x/internal/b") {
		t.Errorf("usable are %q", got)
	}
	sp := m.Source("example.org/b")
	text, ok := m.Text(sp.Parsed[0].name)
	if _, other := m.Text("none"); !ok || other || !strings.HasPrefix(text, "package b\n") {
		t.Errorf("the text is %q", text)
	}
	if text, path := m.FileText(sp.Parsed[0].name); text != "" || path != "" {
		t.Errorf("a file of the cache is %s on disk", path)
	}
	if got := []string{m.Version("example.org/b"), m.Version("example.org/none")}; got[0] != "v1.1.0" || got[1] != "" {
		t.Errorf("versions %q", got)
	}
	if a := m.Source("example.org/a"); a.Imported("example.org/vendored") != sp || a.Imported("fmt") != nil || a.FileAt(a.Parsed[0].Syntax.Pos()) != a.Parsed[0] || len(a.OnDisk()) != 0 {
		t.Error("the import is another")
	}
	// Another version takes the place of the packages of its module that it has, and of those
	// that it has no longer.
	sooner := m.Source("example.org/b")
	all = map[string]*module.Package{}
	write("b2", "b.go", "package b\n\nfunc G() int { return 2 }\n")
	add("example.org/b", "b2", "v1.2.0", func(p *module.Package) { b(p); p.Module.Path = "example.org/b" })
	m.AddUnread(fset, &module.Fetch{All: all})
	if m.Source("example.org/b") == sooner || m.Source("example.org/b/longer") != nil || m.Source("example.org/a") == nil || m.Version("example.org/b") != "v1.2.0" {
		t.Error("the older version is there")
	}
	if FetchedOf(sooner.pkg) != sooner || !Interpreted(sooner.pkg) || FetchedOf(nil) != nil {
		t.Error("a package that cells have is forgotten")
	}
	name, ok := GeneratedName(sooner.Lookup("G"))
	if _, none := GeneratedName(nil); !ok || none || name != sooner.Made("G") {
		t.Errorf("G is generated as %q", name)
	}
	m.Forget()
	if FetchedOf(sooner.pkg) != nil {
		t.Error("a package of a session that has ended is known")
	}
}

// A file of a package on disk is the text that was read, and on disk the one that is there.
func TestTextOnDisk(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.go")
	if err := os.WriteFile(name, []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := NewProgram()
	if err != nil {
		t.Fatal(err)
	}
	p.Importer.AddUnread(token.NewFileSet(), &module.Fetch{All: map[string]*module.Package{
		"example.org/a": {ImportPath: "example.org/a", Name: "a", Dir: dir, Files: []string{"a.go"}, Module: module.Module{Path: "example.org/a", Folder: dir, Own: true}},
	}})
	if _, err := p.Importer.Import("example.org/a"); err != nil {
		t.Fatal(err)
	}
	file := p.Importer.Source("example.org/a").Parsed[0].name
	if err := os.WriteFile(name, []byte("package edited\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read, path := p.Importer.FileText(file)
	now, ok := p.Importer.Text(file)
	if _, none := p.Importer.Text(strings.Replace(file, "a.go", "b.go", 1)); read != "package a\n" || path != name || now != "package edited\n" || !ok || none {
		t.Errorf("read %q of %s, now %q", read, path, now)
	}
	if sp := p.Importer.Source("example.org/a"); len(sp.OnDisk()) != 1 || sp.Listed().Dir != dir || !slices.Equal(sp.Build(), []string{"a.go"}) || len(sp.Needs()) != 0 {
		t.Error("the package is not on disk")
	}
}

// Called names the function of a call, through parentheses and type arguments.
func TestCalled(t *testing.T) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "a.go", `package a
func f(int) {}
func g[T any](T) {}
func h[T, U any](T, U) {}
type T struct{ F func() }
func (T) M() {}
func main() { f(1); (f)(1); g(1); g[int](1); (h[int, string])(1, "a"); T{}.M(); T.M(T{}); T{}.F(); func() {}(); _ = int(1) }
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := NewInfo()
	if _, err := new(types.Config).Check("a", fset, []*ast.File{f}, info); err != nil {
		t.Fatal(err)
	}
	var got []string
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			name := "none"
			if f := Called(info, c); f != nil {
				name = f.Name()
			}
			got = append(got, name)
		}
		return true
	})
	if want := []string{"f", "f", "g", "g", "h", "M", "M", "none", "none", "none"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
