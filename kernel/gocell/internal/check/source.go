package check

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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/gocell/symbols/docs"
	"dace.local/kernel/internal/toolchain/module"
)

// Fetched packages are interpreted from source. The type checker sees them as
// packages; package compile compiles those of their declarations that cells use.

// A FetchedPackage is a fetched package.
type FetchedPackage struct {
	*module.Package
	Number int // in generated names
	pkg    *types.Package
	Info   *types.Info
	Parsed []*FetchedFile
	needs  []*FetchedPackage // fetched packages that it imports
	decls  map[string]Piece  // generic functions, and types
	meths  map[string][]Piece
	Why    string // why it cannot be interpreted, or ""
	Broken bool   // the Go compiler cannot build it either
	by     *Importer
	fset   *token.FileSet
	tried  bool           // read has run
	heads  *types.Package // its declarations, for compiled cells, if it cannot be interpreted

	ByObject map[types.Object]*FetchedDecl
	Inits    []*FetchedDecl // init functions, and initializers of blank variables

	texts func() map[string]string // its documentation

	listed *module.Package  // as the go command has listed it
	stamps map[string]stamp // of the files of a package on disk, once they are known
	folder []string         // its files of Go
	behind bool             // what would replace it does not compile
}

// A FetchedFile is a file of a fetched package.
type FetchedFile struct {
	name   string // in the file set
	text   string
	Syntax *ast.File
	owner  *FetchedPackage
}

var (
	sourceCount atomic.Int64
	sources     sync.Map // *types.Package -> *FetchedPackage, of all sessions
)

// FetchedOf returns the fetched package that p is, or nil.
func FetchedOf(p *types.Package) *FetchedPackage {
	if p == nil {
		return nil
	}
	sp, ok := sources.Load(p)
	if !ok {
		return nil
	}
	return sp.(*FetchedPackage)
}

// Interpreted reports whether package code runs what p declares: p is the
// session's package or a fetched one.
func Interpreted(p *types.Package) bool {
	return p != nil && (PathOf(p) == "main" || FetchedOf(p) != nil)
}

// GeneratedName returns the generated name of a package-level object of a fetched
// package, and whether o is one.
func GeneratedName(o types.Object) (string, bool) {
	if o == nil || o.Name() == "_" || strings.HasPrefix(o.Name(), cell.Mark) {
		return "", false
	}
	sp := FetchedOf(o.Pkg())
	if sp == nil || o.Parent() != o.Pkg().Scope() {
		return "", false
	}
	return sp.Made(o.Name()), true
}

func (sp *FetchedPackage) Made(name string) string {
	made := cell.Mark + "m" + strconv.Itoa(sp.Number) + "_" + name
	cell.Show(made, sp.Name+"."+name)
	return made
}

// Importer finds packages for the type checker: compiled into the kernel, or
// fetched.
type Importer struct {
	compiled *symbols.Types

	// Missing says more about an import path that names no package; it may return "".
	Missing func(path string) string
	// Folder returns the import path of a relative one, "" if there is none.
	Folder func(path string) string

	mu      sync.Mutex // guards fetched and indexes
	fetched map[string]*FetchedPackage
	indexes map[*types.Package]*packageIndex
}

func newImporter() (*Importer, error) {
	t, err := symbols.NewTypes()
	return &Importer{compiled: t, fetched: map[string]*FetchedPackage{}, indexes: map[*types.Package]*packageIndex{}}, err
}

// Import returns the package of an import path.
func (m *Importer) Import(path string) (*types.Package, error) {
	if of, names, ok := strings.Cut(path, cell.Mark); ok {
		return m.importOnly(of, names)
	}
	if sp := m.Source(path); sp != nil {
		sp.read()
		switch {
		case sp.Broken:
			return nil, fmt.Errorf("package %s cannot be built: %s", path, sp.Why)
		case sp.Why != "":
			return nil, fmt.Errorf("package %s cannot be interpreted: %s\n\t%s", path, sp.Why, InsteadCompile)
		case sp.hidden():
			return nil, fmt.Errorf("use of internal package %s not allowed", path)
		}
		return sp.pkg, nil
	}
	p, err := m.compiled.Import(path)
	if err != nil && m.Missing != nil {
		if why := m.Missing(path); why != "" {
			return nil, errors.New(why)
		}
	}
	if host, _, _ := strings.Cut(path, "/"); err != nil && strings.Contains(host, ".") && path != buildinfo.Module() && !strings.HasPrefix(path, buildinfo.Path("")) {
		return nil, fmt.Errorf("%w: %%get %s fetches it", err, path)
	}
	return p, err
}

// hidden reports whether cells may not import a package: it is internal, and not of
// the user's own module.
func (sp *FetchedPackage) hidden() bool {
	return !sp.Module.Own && slices.Contains(strings.Split(sp.ImportPath, "/"), "internal")
}

// Source returns the fetched package at an import path, or nil.
func (m *Importer) Source(path string) *FetchedPackage {
	if _, ok := symbols.Name(path); ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fetched[path]
}

// FileText returns the text of a file of a package on disk as it was parsed, and its
// path; "" for others.
func (m *Importer) FileText(file string) (text, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sp := range m.fetched {
		for _, sf := range sp.Parsed {
			if sf.name == file && sp.Module.Folder != "" {
				return sf.text, filepath.Join(sp.Dir, filepath.Base(filepath.Dir(file)))
			}
		}
	}
	return "", ""
}

// Text returns the text of a file of a fetched package; of one on disk as it is now.
func (m *Importer) Text(file string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sp := range m.fetched {
		if sp.Module.Folder != "" {
			name, ok := strings.CutPrefix(file, shownFolder(sp.Dir))
			name, isFile := strings.CutSuffix(name, "/"+cell.FileBase)
			if ok && isFile && !strings.Contains(name, "/") {
				if text, err := os.ReadFile(filepath.Join(sp.Dir, name)); err == nil {
					return string(text), true
				}
			}
			continue
		}
		for _, sf := range sp.Parsed {
			if sf.name == file {
				return sf.text, true
			}
		}
	}
	return "", false
}

// Named returns the import paths of usable fetched packages with a name, the
// shortest first; of all if the name is "".
func (m *Importer) Named(name string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var l []string
	for p, sp := range m.fetched {
		if (name == "" || sp.Name == name) && sp.Why == "" && !sp.hidden() && sp.Name != "main" {
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

// Add adds the packages of a fetch. An unchanged package stays; one in another
// version, or with a dependency in another version, replaces the older one for
// later cells. The packages of a module of ordinary size are read at once, so
// that %get can say what can be interpreted; those of a large one when they are
// imported.
func (m *Importer) Add(ctx context.Context, fset *token.FileSet, f *module.Fetch) error {
	ld := newLoader(m, fset, f)
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
	m.take(ld)
	return nil
}

// AddUnread is like Add, but reads no package: each is when it is imported.
func (m *Importer) AddUnread(fset *token.FileSet, f *module.Fetch) {
	ld := newLoader(m, fset, f)
	for path := range f.All {
		ld.load(path)
	}
	m.take(ld)
}

// take puts the packages of a loader in place of older ones.
func (m *Importer) take(ld *loader) {
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
			delete(m.fetched, path) // the new version may lack it
		}
	}
	for path, sp := range ld.done {
		if sp != nil {
			m.fetched[path] = sp
			if !sp.tried && sp.Module.Own {
				sp.follow()
			}
		}
	}
}

// A loader creates the packages of a fetch.
type loader struct {
	m    *Importer
	fset *token.FileSet
	f    *module.Fetch
	done map[string]*FetchedPackage // nil for a package compiled into the kernel
	anew map[string]bool            // packages that are made anew even if they look as before
}

func newLoader(m *Importer, fset *token.FileSet, f *module.Fetch) *loader {
	return &loader{m: m, fset: fset, f: f, done: map[string]*FetchedPackage{}, anew: map[string]bool{}}
}

func (ld *loader) load(path string) *FetchedPackage {
	if sp, ok := ld.done[path]; ok {
		return sp
	}
	ld.done[path] = nil
	p := ld.f.All[path]
	if _, ok := symbols.Name(path); ok || p == nil || p.Standard {
		return nil
	}
	sp := ld.make(p)
	if old := ld.m.Source(path); old != nil && !ld.anew[path] && old.Dir == sp.Dir && slices.Equal(old.Files, sp.Files) && slices.Equal(old.needs, sp.needs) {
		sp = old
	}
	ld.done[path] = sp
	return sp
}

func (ld *loader) make(p *module.Package) *FetchedPackage {
	sp := &FetchedPackage{Package: p, listed: p, by: ld.m, fset: ld.fset, pkg: types.NewPackage(p.ImportPath, p.Name),
		decls: map[string]Piece{}, meths: map[string][]Piece{}}
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
	sp.Number = int(sourceCount.Add(1)) // greater than those of its imports
	if p.Err != "" && p.Portable == nil {
		sp.Why, sp.Broken = p.Err, true
	}
	return sp
}

// read parses and checks a package, after its imports, and determines whether
// it can be interpreted.
func (sp *FetchedPackage) read() {
	if sp.tried {
		return
	}
	sp.tried = true
	if sp.Why != "" {
		return
	}
	sp.follow()
	sp.Parsed, sp.Why, sp.Broken = sp.parse(sp.Package)
	raw := func(p *module.Package) bool { return slices.Contains(p.Imports, "unsafe") }
	if sp.Portable != nil && (sp.Why != "" || raw(sp.Package) && !raw(sp.Portable)) {
		plain := *sp.Portable
		if files, why, _ := sp.parse(&plain); why == "" && sp.declaresAll(files) {
			sp.Package, sp.Parsed, sp.Why, sp.Broken = &plain, files, "", false
		}
	}
	for _, path := range sp.Imports {
		need := sp.Imported(path)
		if need == nil {
			continue
		}
		need.read()
		sp.Broken = sp.Broken || need.Broken
		if need.Why != "" && sp.Why == "" {
			sp.Why = fmt.Sprintf("it imports %s, which cannot be %s: %s", path, need.cannot(), need.Why)
		}
	}
	if sp.Why == "" {
		if sp.Why = sp.check(); sp.Why != "" {
			sp.Broken = true
		}
	}
	if sp.Why == "" {
		sources.Store(sp.pkg, sp)
		if err := sp.readDecls(); err != nil {
			sp.Why = err.Error()
		}
	}
}

// cannot returns what cannot be done with a package that has a Why.
func (sp *FetchedPackage) cannot() string {
	if sp.Broken {
		return "built"
	}
	return "interpreted"
}

// declaresAll reports whether another build of the package, given by its files,
// declares all exported names of the package's build with cgo. A package that
// needs cgo may have a build without it that only says so.
func (sp *FetchedPackage) declaresAll(files []*FetchedFile) bool {
	if !slices.ContainsFunc(sp.Foreign, func(name string) bool { return strings.HasSuffix(name, ".go") }) {
		return true
	}
	have := map[string]bool{}
	for _, f := range files {
		exportedNames(f.Syntax, have)
	}
	need := map[string]bool{}
	for _, name := range sp.goFiles() {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(sp.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		exportedNames(f, need)
	}
	for name := range need {
		if !have[name] {
			return false
		}
	}
	return true
}

// exportedNames adds the exported names that a file declares outside functions,
// methods as T.M.
func exportedNames(f *ast.File, names map[string]bool) {
	for _, d := range f.Decls {
		u := UnitsOf(Piece{}, d)
		for _, name := range u.Names {
			if u.Method != "" {
				name += "." + u.Method
			}
			if ast.IsExported(name) && (u.Method == "" || ast.IsExported(u.Method)) {
				names[name] = true
			}
		}
	}
}

// goFiles returns the names of the package's Go files, with those that use cgo.
func (sp *FetchedPackage) goFiles() []string {
	names := slices.Clone(sp.Files)
	for _, name := range sp.Foreign {
		if strings.HasSuffix(name, ".go") {
			names = append(names, name)
		}
	}
	return names
}

// Imported returns the fetched package of an import, or nil.
func (sp *FetchedPackage) Imported(path string) *FetchedPackage {
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

// parse parses the files of one build of the package. why is the first problem,
// or ""; broken reports that the Go compiler cannot build the files either.
func (sp *FetchedPackage) parse(p *module.Package) (list []*FetchedFile, why string, broken bool) {
	where := p.Module.Path + "@" + p.Module.Version + strings.TrimPrefix(p.ImportPath, p.Module.Path) + "/"
	if p.Module.Folder != "" {
		where = shownFolder(p.Dir)
	}
	name := func(file string) string { return where + file + "/" + cell.FileBase }
	files, problems := p.Parse(sp.fset, name)
	for _, problem := range problems {
		broken = broken || problem.Broken
	}
	if len(problems) > 0 {
		if p.Module.Folder != "" && problems[0].File != "" {
			problems[0].File = where + problems[0].File
		}
		return nil, problems[0].String(), broken
	}
	for _, f := range files {
		f.Syntax.GoVersion = languageVersion(p.LanguageVersion(f.Syntax))
		list = append(list, &FetchedFile{name: name(f.Name), text: string(f.Text), Syntax: f.Syntax, owner: sp})
	}
	return list, "", false
}

// check type-checks the parsed files; why is the first error, or "".
func (sp *FetchedPackage) check() (why string) {
	var syntax []*ast.File
	for _, sf := range sp.Parsed {
		syntax = append(syntax, sf.Syntax)
		sp.keepPieces(sp.fset, sf)
	}
	sp.Info = NewInfo()
	var first error
	var all []string // of a package on disk, whose author wants them all
	conf := &types.Config{Importer: sourceImporter{sp}, Sizes: types.SizesFor("gc", runtime.GOARCH), GoVersion: languageVersion(sp.LanguageVersion(nil)),
		Error: func(err error) {
			if first == nil {
				first = err
			}
			var te types.Error
			if errors.As(err, &te) && sp.Module.Folder != "" && len(all) < 10 {
				pos := sp.fset.Position(te.Pos)
				all = append(all, fmt.Sprintf("%s:%d:%d: %s", cell.Name(pos.Filename), pos.Line, pos.Column, te.Msg))
			}
		}}
	if err := types.NewChecker(conf, sp.fset, sp.pkg, sp.Info).Files(syntax); err != nil && first == nil {
		first = err
	}
	var te types.Error
	switch {
	case first == nil:
		return ""
	case len(all) > 0:
		return strings.Join(all, "\n\t")
	case errors.As(first, &te):
		pos := sp.fset.Position(te.Pos)
		return fmt.Sprintf("%s:%d: %s", filepath.Base(cell.Name(pos.Filename)), pos.Line, te.Msg)
	}
	return first.Error()
}

// languageVersion returns a version in the form of go/types. A file for a newer
// Go than this kernel's is checked too, and fails only if it uses what is new.
func languageVersion(v string) string {
	parts := strings.SplitN(strings.TrimPrefix(v, "go"), ".", 3)
	if len(parts) < 2 {
		return ""
	}
	return "go" + parts[0] + "." + parts[1]
}

// FileAt returns the file that a position is in.
func (sp *FetchedPackage) FileAt(pos token.Pos) *FetchedFile {
	for _, sf := range sp.Parsed {
		if sf.Syntax.FileStart <= pos && pos < sf.Syntax.FileEnd {
			return sf
		}
	}
	return sp.Parsed[0]
}

// keepPieces keeps the text of declarations that instances are made from.
func (sp *FetchedPackage) keepPieces(fset *token.FileSet, sf *FetchedFile) {
	base := fset.File(sf.Syntax.FileStart)
	cut := func(n ast.Node) Piece {
		from, to := base.Offset(n.Pos()), base.Offset(n.End())
		line, col := cell.LineCol(sf.text, from)
		return Piece{File: sf, Text: sf.text[from:to], Line: line, Column: col}
	}
	for _, d := range sf.Syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Recv != nil:
				n := ReceiverName(d)
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

// A sourceImporter finds the imports of a fetched package.
type sourceImporter struct{ sp *FetchedPackage }

func (i sourceImporter) Import(path string) (*types.Package, error) {
	if need := i.sp.Imported(path); need != nil {
		return need.pkg, nil
	}
	if path == "embed" {
		// Only the directive is supported; embed.FS needs the linker.
		p := types.NewPackage("embed", "embed")
		p.MarkComplete()
		return p, nil
	}
	return i.sp.by.compiled.Import(path)
}

// importDecl returns the imports of a file whose names are used.
func (sf *FetchedFile) importDecl(used map[string]bool) *ast.GenDecl {
	g := &ast.GenDecl{Tok: token.IMPORT}
	for _, is := range sf.Syntax.Imports {
		path, _ := strconv.Unquote(is.Path.Value)
		name := ""
		if o, ok := sf.owner.Info.Implicits[is].(*types.PkgName); ok {
			name = o.Name()
		} else if is.Name != nil {
			name = is.Name.Name
		}
		if name == "_" || name != "." && !used[name] {
			continue
		}
		g.Specs = append(g.Specs, &ast.ImportSpec{Name: ast.NewIdent(name), Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(path)}})
	}
	if len(g.Specs) == 0 {
		return nil
	}
	return g
}

// A fixedImporter returns packages that a fetched package has imported already.
type fixedImporter struct{ sp *FetchedPackage }

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

// packageDoc returns the documentation of a name of a package, compiled or
// fetched.
func packageDoc(p *types.Package, name string) string {
	if sp := FetchedOf(p); sp != nil {
		return sp.texts()[name]
	}
	return symbols.Doc(p.Path(), name)
}

// readDocs reads the documentation of a package from its source.
func (sp *FetchedPackage) readDocs() map[string]string {
	fset, files := sp.commented()
	d, err := doc.NewFromFiles(fset, files, sp.ImportPath)
	if err != nil {
		return nil
	}
	return docs.Of(d)
}

// embedded returns the contents of the file that a go:embed directive of a
// variable names, and whether there is such a directive.
func (sp *FetchedPackage) embedded(groups ...*ast.CommentGroup) (content string, ok bool, err error) {
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
