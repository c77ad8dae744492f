package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/gocell/symbols/docs"
	"dace.local/kernel/module"
)

// Packages that were fetched run from their source. The type checker knows
// them as the packages that they are. The interpreter knows one package only:
// what they declare is lowered like a cell's declarations, under made-up names,
// into its package main (link.go). So an instance of a generic may use what its
// package keeps to itself, and the interpreter's own ways with packages are
// never asked.

// A sourcePackage is a fetched package.
type sourcePackage struct {
	*module.Package
	number int // in its made-up names
	pkg    *types.Package
	info   *types.Info
	files  []*sourceFile
	needs  []*sourcePackage // what it imports and the interpreter runs too
	decls  map[string]piece // generic functions, and types
	meths  map[string][]piece
	why    string // it cannot be interpreted; "" where it can, as far as known
	by     *importer
	fset   *token.FileSet
	tried  bool           // it was read
	heads  *types.Package // for compiled cells, where it cannot be interpreted

	byObject map[types.Object]*sourceDecl
	inits    []*sourceDecl // init functions, and initializers of blank variables

	texts func() map[string]string // its documentation
}

// A sourceFile is a file of a fetched package.
type sourceFile struct {
	name   string // as the file set has it
	text   string
	syntax *ast.File
	owner  *sourcePackage
}

var (
	sourceCount atomic.Int64
	sources     sync.Map // *types.Package -> *sourcePackage, of all sessions
)

// sourceOf returns the fetched package that p is, or nil.
func sourceOf(p *types.Package) *sourcePackage {
	if p == nil {
		return nil
	}
	sp, ok := sources.Load(p)
	if !ok {
		return nil
	}
	return sp.(*sourcePackage)
}

// interpreted reports whether what p declares is run by the interpreter: the
// session's own package and the fetched ones.
func interpreted(p *types.Package) bool {
	return p != nil && (pathOf(p) == "main" || sourceOf(p) != nil)
}

// madeName returns the name under which the interpreter knows what a fetched
// package declares, and whether o is that.
func madeName(o types.Object) (string, bool) {
	if o == nil || o.Name() == "_" || strings.HasPrefix(o.Name(), mark) {
		return "", false
	}
	sp := sourceOf(o.Pkg())
	if sp == nil || o.Parent() != o.Pkg().Scope() {
		return "", false
	}
	return sp.made(o.Name()), true
}

func (sp *sourcePackage) made(name string) string {
	made := mark + "m" + itoa(sp.number) + "_" + name
	if _, known := instanceNames.Load(made); !known {
		instanceNames.Store(made, sp.Name+"."+name)
	}
	return made
}

// importer finds packages for the type checker: those compiled into the kernel
// first, then the fetched ones.
type importer struct {
	compiled *symbols.Types

	mu      sync.Mutex
	fetched map[string]*sourcePackage
}

func newImporter() (*importer, error) {
	t, err := symbols.NewTypes()
	return &importer{compiled: t, fetched: map[string]*sourcePackage{}}, err
}

// Import returns the package that a cell means by an import path.
func (m *importer) Import(path string) (*types.Package, error) {
	if sp := m.source(path); sp != nil {
		sp.read()
		switch {
		case sp.why != "":
			return nil, fmt.Errorf("package %s cannot be interpreted: %s\n\t%s", path, sp.why, insteadCompile)
		case slices.Contains(strings.Split(path, "/"), "internal"):
			return nil, fmt.Errorf("use of internal package %s not allowed", path)
		}
		return sp.pkg, nil
	}
	p, err := m.compiled.Import(path)
	if host, _, _ := strings.Cut(path, "/"); err != nil && strings.Contains(host, ".") && host != "dace.local" {
		return nil, fmt.Errorf("%w: %%get %s fetches it", err, path)
	}
	return p, err
}

// source returns the fetched package at an import path, or nil.
func (m *importer) source(path string) *sourcePackage {
	if _, ok := symbols.Name(path); ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fetched[path]
}

// text returns the text of a file of a fetched package.
func (m *importer) text(file string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sp := range m.fetched {
		for _, sf := range sp.files {
			if sf.name == file {
				return sf.text, true
			}
		}
	}
	return "", false
}

// named returns the import paths of the fetched packages of a name that can be
// used, the shortest first; of any name where it is "".
func (m *importer) named(name string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var l []string
	for p, sp := range m.fetched {
		if (name == "" || sp.Name == name) && sp.why == "" && !slices.Contains(strings.Split(p, "/"), "internal") {
			l = append(l, p)
		}
	}
	slices.SortFunc(l, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return l
}

// add takes the packages of a fetch over. What is the same as before stays; a
// package in another version, or that needs one, replaces the older for the
// cells to come. A module of ordinary size is read at once, so that it is known
// what can be interpreted; the packages of a large one when they are imported.
func (m *importer) add(ctx context.Context, fset *token.FileSet, f *module.Fetch) error {
	ld := &loader{m: m, fset: fset, f: f, done: map[string]*sourcePackage{}}
	size := int64(0)
	for _, p := range f.Packages {
		ld.load(p.ImportPath)
		size += p.Size()
	}
	const large = 2 << 20 // bytes
	for _, p := range f.Packages {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if sp := ld.done[p.ImportPath]; sp != nil && (size < large || p.ImportPath == f.Path) {
			sp.read()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := map[string]string{}
	for _, sp := range ld.done {
		if sp != nil {
			versions[sp.Module.Path] = sp.Module.Version
		}
	}
	for path, old := range m.fetched {
		if v := versions[old.Module.Path]; v != "" && v != old.Module.Version {
			delete(m.fetched, path) // the version taken now may not have it
		}
	}
	for path, sp := range ld.done {
		if sp != nil {
			m.fetched[path] = sp
		}
	}
	return nil
}

// loader makes the packages of a fetch.
type loader struct {
	m    *importer
	fset *token.FileSet
	f    *module.Fetch
	done map[string]*sourcePackage // nil for one that is compiled in
}

func (ld *loader) load(path string) *sourcePackage {
	if sp, ok := ld.done[path]; ok {
		return sp
	}
	ld.done[path] = nil
	p := ld.f.All[path]
	if _, ok := symbols.Name(path); ok || p == nil || p.Standard {
		return nil
	}
	sp := ld.make(p)
	if old := ld.m.source(path); old != nil && old.Dir == sp.Dir && slices.Equal(old.Files, sp.Files) && slices.Equal(old.needs, sp.needs) {
		sp = old
	}
	ld.done[path] = sp
	return sp
}

func (ld *loader) make(p *module.Package) *sourcePackage {
	sp := &sourcePackage{Package: p, by: ld.m, fset: ld.fset, pkg: types.NewPackage(p.ImportPath, p.Name),
		decls: map[string]piece{}, meths: map[string][]piece{}}
	sp.texts = sync.OnceValue(sp.readDocs)
	imports := p.Imports
	if p.Portable != nil {
		imports = append(slices.Clip(imports), p.Portable.Imports...)
	}
	for _, path := range imports {
		if to, ok := p.ImportMap[path]; ok {
			path = to
		}
		if need := ld.load(path); need != nil && !slices.Contains(sp.needs, need) {
			sp.needs = append(sp.needs, need)
		}
	}
	sp.number = int(sourceCount.Add(1)) // greater than those of its needs
	if p.Err != "" && p.Portable == nil {
		sp.why = p.Err
	}
	return sp
}

// read parses and checks a package, what it needs first, and finds out whether
// it can be interpreted.
func (sp *sourcePackage) read() {
	if sp.tried {
		return
	}
	sp.tried = true
	if sp.why != "" {
		return
	}
	sp.files, sp.why = sp.parse(sp.Package)
	raw := func(p *module.Package) bool { return slices.Contains(p.Imports, "unsafe") }
	if sp.Portable != nil && (sp.why != "" || raw(sp.Package) && !raw(sp.Portable)) {
		plain := *sp.Portable
		if files, why := sp.parse(&plain); why == "" {
			sp.Package, sp.files, sp.why = &plain, files, ""
		}
	}
	for _, path := range sp.Imports {
		if need := sp.imported(path); need != nil && sp.why == "" {
			if need.read(); need.why != "" {
				sp.why = fmt.Sprintf("it needs %s, and that cannot be: %s", path, need.why)
			}
		}
	}
	if sp.why == "" {
		sp.why = sp.check()
	}
	if sp.why == "" {
		sources.Store(sp.pkg, sp)
		if err := sp.readDecls(); err != nil {
			sp.why = err.Error()
		}
	}
}

// imported returns the fetched package that an import means, or nil.
func (sp *sourcePackage) imported(path string) *sourcePackage {
	if to, ok := sp.ImportMap[path]; ok {
		path = to
	}
	for _, need := range sp.needs {
		if need.ImportPath == path {
			return need
		}
	}
	return nil
}

// parse parses the files of one build of the package; why says what is wrong
// with them.
func (sp *sourcePackage) parse(p *module.Package) (list []*sourceFile, why string) {
	where := p.Module.Path + "@" + p.Module.Version + strings.TrimPrefix(p.ImportPath, p.Module.Path) + "/"
	name := func(file string) string { return where + file + "/" + cellBase }
	files, problems := p.Parse(sp.fset, name)
	if len(problems) > 0 {
		return nil, problems[0].String()
	}
	for _, f := range files {
		f.Syntax.GoVersion = languageVersion(p.LanguageVersion(f.Syntax))
		list = append(list, &sourceFile{name: name(f.Name), text: string(f.Text), syntax: f.Syntax, owner: sp})
	}
	return list, ""
}

// check type-checks the parsed files; why says what is wrong with them.
func (sp *sourcePackage) check() (why string) {
	var syntax []*ast.File
	for _, sf := range sp.files {
		syntax = append(syntax, sf.syntax)
		sp.keepPieces(sp.fset, sf)
	}
	sp.info = newInfo()
	var first error
	conf := &types.Config{Importer: sourceImporter{sp}, Sizes: types.SizesFor("gc", runtime.GOARCH), GoVersion: languageVersion(sp.LanguageVersion(nil)),
		Error: func(err error) {
			if first == nil {
				first = err
			}
		}}
	if err := types.NewChecker(conf, sp.fset, sp.pkg, sp.info).Files(syntax); err != nil && first == nil {
		first = err
	}
	var te types.Error
	switch {
	case first == nil:
		return ""
	case errors.As(first, &te):
		pos := sp.fset.Position(te.Pos)
		return fmt.Sprintf("%s:%d: %s", filepath.Base(cellName(pos.Filename)), pos.Line, te.Msg)
	}
	return first.Error()
}

// languageVersion returns a version that go/types takes as it is meant, but
// never one newer than this kernel's: what such a file uses is seen anyway.
func languageVersion(v string) string {
	parts := strings.SplitN(strings.TrimPrefix(v, "go"), ".", 3)
	if len(parts) < 2 {
		return ""
	}
	return "go" + parts[0] + "." + parts[1]
}

// fileAt returns the file that a position is in.
func (sp *sourcePackage) fileAt(pos token.Pos) *sourceFile {
	for _, sf := range sp.files {
		if sf.syntax.FileStart <= pos && pos < sf.syntax.FileEnd {
			return sf
		}
	}
	return sp.files[0]
}

// keepPieces keeps the text of the declarations of which instances may be
// made.
func (sp *sourcePackage) keepPieces(fset *token.FileSet, sf *sourceFile) {
	base := fset.File(sf.syntax.FileStart)
	cut := func(n ast.Node) piece {
		from, to := base.Offset(n.Pos()), base.Offset(n.End())
		line, col := lineCol(sf.text, from)
		return piece{file: sf, text: sf.text[from:to], line: line, col: col}
	}
	for _, d := range sf.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Recv != nil:
				n := receiverName(d)
				sp.meths[n] = append(sp.meths[n], cut(d))
			case d.Type.TypeParams != nil:
				sp.decls[d.Name.Name] = cut(d)
			}
		case *ast.GenDecl:
			if d.Tok != token.TYPE {
				continue
			}
			pc := cut(d)
			for _, s := range d.Specs {
				sp.decls[s.(*ast.TypeSpec).Name.Name] = pc
			}
		}
	}
}

// sourceImporter finds what a fetched package imports.
type sourceImporter struct{ sp *sourcePackage }

func (i sourceImporter) Import(path string) (*types.Package, error) {
	if need := i.sp.imported(path); need != nil {
		return need.pkg, nil
	}
	if path == "embed" {
		// For the directive alone; embed.FS is a matter of the linker.
		p := types.NewPackage("embed", "embed")
		p.MarkComplete()
		return p, nil
	}
	return i.sp.by.compiled.Import(path)
}

// importDecl returns the imports of the file that a piece stands in, as far as
// its names are used.
func (sf *sourceFile) importDecl(used map[string]bool) *ast.GenDecl {
	g := &ast.GenDecl{Tok: token.IMPORT}
	for _, is := range sf.syntax.Imports {
		path, _ := strconv.Unquote(is.Path.Value)
		name := ""
		if o, ok := sf.owner.info.Implicits[is].(*types.PkgName); ok {
			name = o.Name()
		} else if is.Name != nil {
			name = is.Name.Name
		}
		if name == "_" || name != "." && !used[name] {
			continue
		}
		g.Specs = append(g.Specs, &ast.ImportSpec{Name: ast.NewIdent(name), Path: &ast.BasicLit{Kind: token.STRING, Value: quote(path)}})
	}
	if len(g.Specs) == 0 {
		return nil
	}
	return g
}

// inScope runs check while the scope of the package holds, beside what the
// package declares, other objects under some names.
func (sp *sourcePackage) inScope(extra []types.Object, check func()) {
	type table = map[string]types.Object
	v := reflect.ValueOf(sp.pkg.Scope()).Elem()
	field := func(name string) reflect.Value {
		f := v.FieldByName(name)
		return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	}
	elems, children := field("elems"), field("children")
	oldElems, oldChildren := elems.Interface().(table), reflect.ValueOf(children.Interface())
	now := make(table, len(oldElems)+len(extra))
	for n, o := range oldElems {
		now[n] = o
	}
	for _, o := range extra {
		delete(now, o.Name())
	}
	elems.Set(reflect.ValueOf(now))
	children.SetZero()
	defer func() {
		elems.Set(reflect.ValueOf(oldElems))
		children.Set(oldChildren)
	}()
	for _, o := range extra {
		sp.pkg.Scope().Insert(o)
	}
	check()
}

// fixedImporter hands out the packages that a file of a fetched package has
// imported already.
type fixedImporter struct{ sp *sourcePackage }

func (i fixedImporter) Import(path string) (*types.Package, error) {
	if to, ok := i.sp.ImportMap[path]; ok {
		path = to
	}
	for _, p := range i.sp.pkg.Imports() {
		if p.Path() == path {
			return p, nil
		}
	}
	return nil, fmt.Errorf("package %s is not imported by %s", path, i.sp.ImportPath)
}

// packageDoc returns the documentation of a name of a package, compiled or fetched.
func packageDoc(p *types.Package, name string) string {
	if sp := sourceOf(p); sp != nil {
		return sp.texts()[name]
	}
	return symbols.Doc(p.Path(), name)
}

// readDocs reads the documentation of a package from its source.
func (sp *sourcePackage) readDocs() map[string]string {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, sf := range sp.files {
		if f, err := parser.ParseFile(fset, sf.name, sf.text, parser.ParseComments); err == nil {
			files = append(files, f)
		}
	}
	d, err := doc.NewFromFiles(fset, files, sp.ImportPath)
	if err != nil {
		return nil
	}
	return docs.Of(d)
}

// embedded returns the contents of the file that a go:embed directive above a
// variable names, and whether there is one.
func (sp *sourcePackage) embedded(groups ...*ast.CommentGroup) (content string, ok bool, err error) {
	for _, g := range groups {
		if g == nil {
			continue
		}
		for _, c := range g.List {
			name, found := strings.CutPrefix(c.Text, "//go:embed ")
			if !found {
				continue
			}
			name = strings.TrimSpace(name)
			if u, err := strconv.Unquote(name); err == nil {
				name = u
			}
			b, err := os.ReadFile(filepath.Join(sp.Dir, filepath.FromSlash(name)))
			return string(b), true, err
		}
	}
	return "", false, nil
}

// recheckSource is recheck for a declaration of a fetched package.
func (l *lowerer) recheckSource(d ast.Decl, params []string, args []types.Type, file *sourceFile) (ok bool) {
	ok = true
	s, sp := l.gen.s, file.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	var extra []types.Object
	for i, n := range params {
		if n != "_" && i < len(args) {
			o := types.NewTypeName(token.NoPos, sp.pkg, n, args[i])
			l.gen.args[o] = args[i]
			extra = append(extra, o)
		}
	}
	used := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	f := &ast.File{Name: ast.NewIdent(sp.Name)}
	if imports := file.importDecl(used); imports != nil {
		f.Decls = append(f.Decls, imports)
	}
	f.Decls = append(f.Decls, d)
	conf := &types.Config{Importer: fixedImporter{sp}, Error: func(err error) { ok = ok && !ofConstants(err) }}
	sp.inScope(extra, func() {
		_ = types.NewChecker(conf, l.fset, sp.pkg, l.c.info).Files([]*ast.File{f})
	})
	return ok
}

// sameAs returns a name that stands for a selector in what the checker knows.
func (l *lowerer) sameAs(x *ast.SelectorExpr, sel *ast.Ident, name string) *ast.Ident {
	id := &ast.Ident{Name: name, NamePos: x.Pos()}
	info := l.c.info
	if tv, ok := info.Types[x]; ok {
		info.Types[id] = tv
	}
	if o := info.Uses[sel]; o != nil {
		info.Uses[id] = o
	}
	return id
}
