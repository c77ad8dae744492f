package main

import (
	"fmt"
	"go/types"
	"log"
	"os"

	"golang.org/x/tools/go/packages"
)

// load loads the packages that cells can import, and builtin. Those of this module
// are checked here, without the bodies of functions, and not compiled: so a change
// there costs seconds.
func load() []*packages.Package {
	const names = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports
	ours := list(names|packages.NeedDeps|packages.NeedModule, own...)
	c := &checker{ours: map[string]*packages.Package{}, others: map[string]*types.Package{}}
	needed := map[string]bool{}
	packages.Visit(ours, nil, func(p *packages.Package) {
		if p.Module == nil || !p.Module.Main {
			return
		}
		c.ours[p.PkgPath] = p
		for path, q := range p.Imports {
			if path != "unsafe" && (q.Module == nil || !q.Module.Main) {
				needed[q.PkgPath] = true
			}
		}
	})
	others := append([]string{"std", "builtin"}, patterns...)
	wanted := map[string]bool{}
	for _, p := range list(packages.NeedName, others...) {
		wanted[p.PkgPath] = true
	}
	for path := range needed {
		if !wanted[path] {
			others = append(others, path)
		}
	}
	loaded := list(names|packages.NeedTypes|packages.NeedDeps|packages.NeedExportFile, others...)
	packages.Visit(loaded, nil, func(p *packages.Package) { c.others[p.PkgPath] = p.Types })
	all := ours
	for _, p := range loaded {
		if wanted[p.PkgPath] {
			all = append(all, p)
		}
	}
	for _, p := range ours {
		if !skip(p.PkgPath) && p.Name != "main" {
			if _, err := c.Import(p.PkgPath); err != nil {
				log.Fatalf("%s: %v", p.PkgPath, err)
			}
		}
	}
	return all
}

// list loads packages as for linux/amd64.
func list(mode packages.LoadMode, patterns ...string) []*packages.Package {
	loaded, err := packages.Load(&packages.Config{
		Mode: mode,
		Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"),
	}, patterns...)
	if err != nil {
		log.Fatal(err)
	}
	return loaded
}

// A checker imports packages.
type checker struct {
	ours   map[string]*packages.Package // of this module; Types is set once it has been checked
	others map[string]*types.Package
}

// Import returns the types of a package.
func (c *checker) Import(path string) (*types.Package, error) {
	p, ok := c.ours[path]
	switch {
	case path == "unsafe":
		return types.Unsafe, nil
	case !ok && c.others[path] == nil:
		return nil, fmt.Errorf("there is no package %s", path)
	case !ok:
		return c.others[path], nil
	case p.Types != nil:
		return p.Types, nil
	}
	fset, files := parseFiles(p.CompiledGoFiles)
	conf := types.Config{Importer: c, IgnoreFuncBodies: true, Sizes: types.SizesFor("gc", "amd64")}
	t, err := conf.Check(path, fset, files, nil)
	if err != nil {
		return nil, err
	}
	p.Types = t
	return t, nil
}
