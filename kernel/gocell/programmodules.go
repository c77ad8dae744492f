package gocell

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/internal/toolchain/module"
)

// programModules finds what a notebook imports that is not compiled into the kernel,
// for the program that is made of it: in modules on disk, as a session that starts in
// the notebook's folder, and in those that it fetches.
type programModules struct {
	ctx      context.Context
	store    module.Store
	dir      string // the notebook's
	used     bool   // the module that dir is in has been tried
	own      onDisk
	fset     *token.FileSet
	importer *check.Importer
}

func newProgramModules(ctx context.Context, dir string) (*programModules, error) {
	dir, err := filepath.Abs(dir)
	return &programModules{ctx: ctx, dir: dir}, err
}

// Begin implements program.Modules.
func (m *programModules) Begin(fset *token.FileSet, importer *check.Importer) {
	m.fset, m.importer = fset, importer
	importer.Folder = func(path string) string { return m.own.folderPath(filepath.Join(m.dir, path)) }
}

// Get implements program.Modules.
func (m *programModules) Get(spec string) error {
	path, _, _ := strings.Cut(spec, "@")
	if _, ok := symbols.Name(path); ok || compiledBelow(path) > 0 {
		return nil
	}
	var f *module.Fetch
	var err error
	switch own := m.own.moduleOf(path); {
	case own.Path != "":
		return nil
	case isFolder(spec):
		dir := spec
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(m.dir, dir)
		}
		f, err = m.store.GetFolder(m.ctx, dir, spec)
	default:
		f, err = m.store.Get(m.ctx, spec)
	}
	if err != nil {
		return err
	}
	m.own.modules = m.store.Own()
	m.importer.AddUnread(m.fset, f)
	return nil
}

// Find implements program.Modules.
func (m *programModules) Find(paths []string) (again bool) {
	if !m.used {
		m.used = true
		if root := module.Find(m.dir); root != "" && module.PathIn(root) != buildinfo.Module() {
			f, err := m.store.Use(m.ctx, root)
			if err == nil {
				m.own.modules = m.store.Own()
				m.importer.AddUnread(m.fset, f)
				return true
			}
		}
	}
	for _, path := range paths {
		if _, known := symbols.Name(path); known || m.importer.Source(path) != nil {
			continue
		}
		if f, err := m.store.Lookup(m.ctx, path); err == nil && f != nil && f.All[path] != nil {
			m.importer.AddUnread(m.fset, f)
			again = true
		}
	}
	return again
}

// Has implements program.Modules.
func (m *programModules) Has(file string) bool {
	if base := filepath.Base(file); filepath.Ext(file) != ".go" && base != "go.mod" && base != "go.work" {
		return false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.dir, file)
	}
	return module.Find(filepath.Dir(file)) != ""
}

// export makes a folder with the program and a go.mod a module that builds with what
// the program imports.
func (m *programModules) export(dir, name string, program []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), "", program, parser.ImportsOnly)
	if err != nil {
		return err
	}
	var imports []string
	for _, is := range file.Imports {
		imports = append(imports, check.ImportPath(is))
	}
	seen := map[*check.FetchedPackage]bool{}
	var packages []*module.Package
	var add func(sp *check.FetchedPackage)
	add = func(sp *check.FetchedPackage) {
		if sp == nil || seen[sp] {
			return
		}
		seen[sp] = true
		packages = append(packages, sp.Listed())
		for _, need := range sp.Needs() {
			add(need)
		}
	}
	parent := "" // of which internal packages are imported
	for _, path := range imports {
		add(m.importer.Source(path))
		elements := strings.Split(path, "/")
		if i := slices.Index(elements, "internal"); i > 0 && len(strings.Join(elements[:i], "/")) > len(parent) {
			parent = strings.Join(elements[:i], "/")
		}
	}
	if len(packages) == 0 {
		return nil
	}
	for _, path := range imports {
		if above, _, internal := strings.Cut(path, "/internal"); internal && !module.Holds(above, parent) {
			return errors.New("the notebook imports internal packages of " + above + " and of " + parent + ", and no module may import both")
		}
	}
	if parent != "" {
		name = parent + "/" + name
	}
	return m.store.Export(m.ctx, dir, name, packages)
}
