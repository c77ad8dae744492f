package check

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/internal/toolchain/module"
)

// Packages on disk are followed while their author edits them. Before a cell is
// checked, Edited looks at their files; Rebuild makes those that were edited, and
// those that import them, anew, all or none. The program learns by Reloaded which
// packages were replaced: with the next cell it checks again what uses them, and
// its variables take the new types.

// A stamp tells whether a file has been written to.
type stamp struct {
	size, inode  int64
	mtime, ctime int64 // in ns
	read         time.Time
	text         string // of a Go file
}

// racy is how long after a file was read its times may miss another write to it: a
// clock of a file system ticks in milliseconds, some in seconds.
const racy = 2 * time.Second

func stampOf(file string) (s stamp, ok bool) {
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil {
		return s, false
	}
	return stamp{size: st.Size, inode: int64(st.Ino), mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), read: time.Now()}, true
}

// same reports whether a file is as it was, by its times where they can tell and
// else by its text.
func (s stamp) same(file string) bool {
	now, ok := stampOf(file)
	if !ok {
		return false
	}
	if now.size == s.size && now.inode == s.inode && now.mtime == s.mtime && now.ctime == s.ctime &&
		s.read.Sub(time.Unix(0, max(s.mtime, s.ctime))) > racy {
		return true
	}
	text, err := os.ReadFile(file)
	return err == nil && string(text) == s.text
}

// stampFiles returns the stamps of the files of a package on disk, by their names. It
// is called before the files are parsed: what is written in between is then seen as
// an edit.
func (sp *FetchedPackage) stampFiles() map[string]stamp {
	stamps := map[string]stamp{}
	for _, name := range slices.Concat(sp.listed.Files, sp.listed.Foreign, sp.listed.Headers, sp.listed.Embeds) {
		file := filepath.Join(sp.Dir, filepath.FromSlash(name))
		if s, ok := stampOf(file); ok {
			text, _ := os.ReadFile(file)
			s.text = string(text)
			stamps[name] = s
		}
	}
	return stamps
}

// follow notes the files of a package on disk as they are now.
func (sp *FetchedPackage) follow() {
	if sp.Module.Folder != "" {
		sp.stamps, sp.folder = sp.stampFiles(), sourceFiles(sp.Dir)
	}
}

// shownFolder returns what messages put before the name of a file in a folder: the
// way from the working folder if it leads down, else all of it.
func shownFolder(dir string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, dir); err == nil && !strings.HasPrefix(rel, "..") {
			if rel == "." {
				return ""
			}
			return filepath.ToSlash(rel) + "/"
		}
	}
	return filepath.ToSlash(dir) + "/"
}

// sourceFiles returns the names of the files of a package's folder that may be in
// its build.
func sourceFiles(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && name[0] != '.' && name[0] != '_' && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names
}

// Edited returns the packages on disk whose files are not as they were when they
// were listed or read, by import path. list says that the go command must list the
// packages again: files have come or gone, or an import or a build constraint has.
func (m *Importer) Edited() (paths []string, list bool) {
	m.mu.Lock()
	all := make([]*FetchedPackage, 0, len(m.fetched))
	for _, sp := range m.fetched {
		if sp.Module.Own || sp.tried && sp.Module.Folder != "" {
			all = append(all, sp)
		}
	}
	m.mu.Unlock()
	for _, sp := range all {
		edited := sp.behind
		if !slices.Equal(sp.folder, sourceFiles(sp.Dir)) {
			edited, list = true, true
		}
		for name, s := range sp.stamps {
			file := filepath.Join(sp.Dir, filepath.FromSlash(name))
			if s.same(file) {
				continue
			}
			edited = true
			text, err := os.ReadFile(file)
			list = list || err != nil || filepath.Ext(name) == ".go" && frame(string(text)) != frame(s.text)
		}
		if edited {
			paths = append(paths, sp.ImportPath)
		}
	}
	slices.Sort(paths)
	return paths, list
}

// frame returns what of a file decides which files and packages a build has: its
// package clause, imports and directives. What does not parse has its text.
func frame(text string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return text
	}
	parts := []string{f.Name.Name}
	for _, i := range f.Imports {
		parts = append(parts, i.Path.Value)
	}
	for _, g := range f.Comments {
		for _, c := range g.List {
			if constraint.IsGoBuild(c.Text) || constraint.IsPlusBuild(c.Text) {
				parts = append(parts, c.Text)
			}
		}
	}
	return strings.Join(append(parts, embedRE.FindAllString(text, -1)...), "\n")
}

var embedRE = regexp.MustCompile(`(?m)^//go:embed .*$`)

// A BrokenPackage is the error of a package on disk that does not compile as it is
// now.
type BrokenPackage struct{ Path, Why string }

func (b *BrokenPackage) Error() string {
	return fmt.Sprintf("package %s cannot be built: %s", b.Path, b.Why)
}

// Rebuild makes packages on disk anew, and those that import them. f is what the go
// command has listed again; nil if that is as before. It returns the packages that
// were replaced. A new package that does not compile, and those that import it, replace
// none: the error is then a *BrokenPackage, and broken are their paths.
func (m *Importer) Rebuild(fset *token.FileSet, f *module.Fetch, edited []string) (old []*FetchedPackage, broken []string, err error) {
	m.mu.Lock()
	before := map[string]*FetchedPackage{}
	known := &module.Fetch{All: map[string]*module.Package{}}
	for path, sp := range m.fetched {
		before[path], known.All[path] = sp, sp.listed
	}
	m.mu.Unlock()
	gone := map[string]bool{}
	if f != nil {
		for path, sp := range before {
			if sp.Module.Own && f.All[path] == nil {
				gone[path] = true
				delete(known.All, path)
			}
		}
		for path, p := range f.All {
			known.All[path] = p
		}
	}
	ld := newLoader(m, fset, known)
	for _, path := range edited {
		ld.anew[path] = true
	}
	var fresh []*FetchedPackage
	for path := range known.All {
		if sp := ld.load(path); sp != nil && sp != before[path] {
			fresh = append(fresh, sp)
		}
	}
	slices.SortFunc(fresh, func(a, b *FetchedPackage) int { return cmp.Compare(a.Number, b.Number) })
	for _, sp := range fresh {
		was := before[sp.ImportPath]
		if was == nil || !was.tried {
			continue
		}
		sp.read()
		if why := sp.Why; why != "" && (sp.Broken || was.Why == "") {
			broken = append(broken, sp.ImportPath)
			if path := sp.cause(); path != nil {
				err = cmp.Or(err, error(&BrokenPackage{path.ImportPath, path.Why}))
			} else {
				err = cmp.Or(err, error(&BrokenPackage{sp.ImportPath, why}))
			}
		}
	}
	for _, sp := range fresh { // those that import others come after them
		if before[sp.ImportPath] != nil && !slices.Contains(broken, sp.ImportPath) && slices.ContainsFunc(sp.needs, func(need *FetchedPackage) bool { return slices.Contains(broken, need.ImportPath) }) {
			broken = append(broken, sp.ImportPath)
		}
	}
	for _, path := range broken { // what they import may have changed without them
		before[path].behind = true
	}
	fresh = slices.DeleteFunc(fresh, func(sp *FetchedPackage) bool { return slices.Contains(broken, sp.ImportPath) })
	m.mu.Lock()
	defer m.mu.Unlock()
	for path := range gone {
		delete(m.fetched, path)
	}
	for _, sp := range fresh {
		if was := before[sp.ImportPath]; was != nil {
			old = append(old, was)
		}
		if !sp.tried {
			sp.follow()
		}
		m.fetched[sp.ImportPath] = sp
	}
	return old, broken, err
}

// cause returns the package that a package cannot be built because of, if it is not
// itself.
func (sp *FetchedPackage) cause() *FetchedPackage {
	for _, need := range sp.needs {
		if need.Why != "" {
			if deeper := need.cause(); deeper != nil {
				return deeper
			}
			return need
		}
	}
	return nil
}

// OnDisk returns the packages of modules on disk that a package imports, directly
// or by others, and itself; those that it imports come first.
func (sp *FetchedPackage) OnDisk() (list []*FetchedPackage) {
	seen := map[*FetchedPackage]bool{}
	var visit func(sp *FetchedPackage)
	visit = func(sp *FetchedPackage) {
		if seen[sp] {
			return
		}
		seen[sp] = true
		for _, need := range sp.needs {
			visit(need)
		}
		if sp.Module.Folder != "" {
			list = append(list, sp)
		}
	}
	visit(sp)
	return list
}

// Needs returns the fetched packages that a package imports.
func (sp *FetchedPackage) Needs() []*FetchedPackage { return sp.needs }

// Listed returns a package as the go command has listed it.
func (sp *FetchedPackage) Listed() *module.Package { return sp.listed }

// Build returns the names of the files of a package's build by the go command, with
// those that are not Go.
func (sp *FetchedPackage) Build() []string {
	return slices.Concat(sp.listed.Files, sp.listed.Foreign, sp.listed.Headers, sp.listed.Embeds)
}

// Packages returns the import paths of the fetched packages.
func (m *Importer) Packages() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var paths []string
	for path := range m.fetched {
		paths = append(paths, path)
	}
	return paths
}

// Lookup returns the object that a package declares by a name, or nil.
func (sp *FetchedPackage) Lookup(name string) types.Object { return sp.pkg.Scope().Lookup(name) }

// PackageKey is how a unit's dependencies name a package. No identifier is like it.
func PackageKey(path string) string { return "package " + path }

// Reloaded returns the program after packages have been replaced.
func (p *Program) Reloaded(old []*FetchedPackage) *Program {
	next := p.clone()
	next.reloaded = append(slices.Clip(p.reloaded), old...)
	return next
}

// Relinked returns the program after functions of packages have become others: what
// calls them is compiled again with the next cell.
func (p *Program) Relinked(paths []string) *Program {
	next := p.clone()
	next.relinked = append(slices.Clip(p.relinked), paths...)
	return next
}

// SameTypes maps the types of packages that were replaced to those of the packages
// that took their places, as far as these have the same shape; with methods also
// the same methods.
func (m *Importer) SameTypes(old []*FetchedPackage, methods bool) map[*types.TypeName]*types.Named {
	to := map[*types.TypeName]*types.Named{}
	for _, was := range old {
		now := m.Source(was.ImportPath)
		if now == nil || !now.tried {
			continue
		}
		for _, name := range was.pkg.Scope().Names() {
			a, okA := named(was.pkg.Scope().Lookup(name))
			b, okB := named(now.pkg.Scope().Lookup(name))
			if okA && okB && a != b && sameParams(a, b) {
				to[a.Obj()] = b
			}
		}
	}
	settle(to, methods)
	return to
}

// named returns the type that a type name declares.
func named(o types.Object) (*types.Named, bool) {
	tn, ok := o.(*types.TypeName)
	if !ok || tn.IsAlias() {
		return nil, false
	}
	n, ok := tn.Type().(*types.Named)
	return n, ok
}

func sameParams(a, b *types.Named) bool { return a.TypeParams().Len() == b.TypeParams().Len() }

// settle removes from a map of types those whose shape has changed, and those that
// contain them; with methods also those whose methods have changed.
func settle(to map[*types.TypeName]*types.Named, methods bool) {
	for again := true; again; {
		again = false
		for old, now := range to {
			was := old.Type().(*types.Named)
			var shape types.Type = now
			if params := was.TypeParams(); params.Len() > 0 {
				var args []types.Type
				for p := range params.TypeParams() {
					args = append(args, p)
				}
				shape, _ = types.Instantiate(nil, now, args, false)
			}
			if !sameShape(was.Underlying(), shape.Underlying(), to) || methods && !sameMethods(was, now, shape, to) {
				delete(to, old)
				again = true
			}
		}
	}
}

// sameMethods reports whether two types have methods of the same names, receivers
// and signatures; shape is the second with the parameters of the first.
func sameMethods(a, b *types.Named, shape types.Type, to map[*types.TypeName]*types.Named) bool {
	x, y := types.NewMethodSet(types.NewPointer(a)), types.NewMethodSet(types.NewPointer(shape))
	if x.Len() != y.Len() || types.NewMethodSet(a).Len() != types.NewMethodSet(shape).Len() {
		return false
	}
	for i := range x.Len() {
		f, g := x.At(i).Obj().(*types.Func), y.At(i).Obj().(*types.Func)
		if f.Name() != g.Name() || !sameShape(withoutReceiver(f), withoutReceiver(g), to) || !slices.Equal(x.At(i).Index(), y.At(i).Index()) {
			return false
		}
	}
	return true
}

func withoutReceiver(f *types.Func) *types.Signature {
	s := f.Signature()
	return types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
}

// Replace returns a type with the named types replaced that to maps, and whether
// there were any.
func Replace(t types.Type, to map[*types.TypeName]*types.Named) (types.Type, bool) {
	return replace(t, to)
}

// lost removes the variables of the session whose type is of a package that was
// replaced and has another shape there, unless the cell declares them itself. It
// returns a sentence about each, and adds their names to changed.
func (p *Program) lost(fset *token.FileSet, t redeclared, changed map[string]bool) (notes []string) {
	for _, path := range p.relinked {
		changed[PackageKey(path)] = true
	}
	if len(p.reloaded) == 0 {
		return nil
	}
	same := p.Importer.SameTypes(p.reloaded, false)
	old := map[*types.Package]*FetchedPackage{}
	for _, sp := range p.reloaded {
		old[sp.pkg] = sp
		changed[PackageKey(sp.ImportPath)] = true
	}
	for name, e := range p.Names {
		v, ok := e.Object.(*types.Var)
		if !ok || e.Cell == 0 {
			continue
		}
		var gone *types.Named
		WalkType(v.Type(), func(t types.Type) {
			if n, ok := t.(*types.Named); ok && old[n.Obj().Pkg()] != nil && same[n.Origin().Obj()] == nil {
				gone = cmp.Or(gone, n)
			}
		}, map[types.Type]bool{})
		if gone == nil {
			continue
		}
		why := fmt.Sprintf("%s, declared in cell %d, is no longer there: its type %s has changed (%s); run the cell again", name, e.Cell,
			types.TypeString(v.Type(), ShortName), p.declaredNow(fset, old[gone.Obj().Pkg()].ImportPath, gone.Obj().Name()))
		delete(p.Names, name)
		if changed[name] = true; !t.names[name] && !t.defined[name] {
			p.broken[name] = why
			notes = append(notes, why)
		}
	}
	slices.Sort(notes)
	return notes
}

// declaredNow returns where a package declares a name now.
func (p *Program) declaredNow(fset *token.FileSet, path, name string) string {
	if sp := p.Importer.Source(path); sp != nil && sp.pkg != nil {
		if o := sp.pkg.Scope().Lookup(name); o != nil {
			at := fset.Position(o.Pos())
			return fmt.Sprintf("%s:%d", cell.Name(at.Filename), at.Line)
		}
	}
	return path + " declares it no longer"
}

// Reaches reports whether a cell uses one of some packages, itself or by functions,
// types and variables of the session.
func (p *Program) Reaches(src *Source, paths []string) bool {
	seen := map[string]bool{}
	var next []string
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			next = append(next, n.Name)
		case *ast.ImportSpec:
			next = append(next, PackageKey(strings.Trim(n.Path.Value, "\"`")))
		}
		return true
	}
	for _, d := range src.Declarations() {
		ast.Inspect(d, visit)
	}
	if src.Body != nil {
		ast.Inspect(src.Body, visit)
	}
	for _, path := range p.dots {
		next = append(next, PackageKey(path))
	}
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[name] {
			continue
		}
		seen[name] = true
		if path, ok := strings.CutPrefix(name, PackageKey("")); ok {
			if slices.Contains(paths, path) {
				return true
			}
			continue
		}
		for _, u := range slices.Concat(p.Units, p.gone) {
			if slices.Contains(u.Names, name) {
				for n := range u.deps {
					next = append(next, n)
				}
			}
		}
		e := p.Names[name]
		switch {
		case e == nil:
			next = append(next, PackageKey(p.Imports[name]))
			if p.Imports[name] == "" {
				for _, path := range p.Importer.Named(name) {
					next = append(next, PackageKey(path))
				}
			}
		case e.Object.Type() != nil:
			WalkType(e.Object.Type(), func(t types.Type) {
				if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
					next = append(next, PackageKey(n.Obj().Pkg().Path()))
				}
			}, map[types.Type]bool{})
		}
	}
	return false
}
