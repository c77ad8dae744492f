package main

import (
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"path/filepath"

	"golang.org/x/tools/go/packages"

	"dace.local/kernel/gocell/symbols/table"
)

// inTypes reports whether the kernel can make a constant from the types, so that
// the tables need not have it: it has the same value on all systems, and the
// tables its type. fixed holds the package's constants with one value on all systems.
func inTypes(c *types.Const, fixed map[string]bool) bool {
	switch t := types.Unalias(c.Type()).(type) {
	case *types.Basic:
		return t.Info()&types.IsUntyped != 0 || fixed[c.Name()]
	case *types.Named:
		home := t.Obj().Pkg().Path()
		return fixed[c.Name()] && t.Obj().Exported() && !t.Obj().IsAlias() && tables[home] &&
			(!table.LinuxOnly(home) || table.LinuxOnly(c.Pkg().Path()))
	}
	return false
}

// systems are those for which the kernel is built, beside linux/amd64.
var systems = [][2]string{{"linux", "arm64"}, {"darwin", "arm64"}, {"darwin", "amd64"}}

// constants returns the constants of a package that have the same value on all
// systems: they are in files for all of them, and made of literals and of such
// constants of the package. Others may be so too.
func constants(p *packages.Package) map[string]bool {
	type definition struct {
		value  ast.Expr
		common bool
	}
	all := map[string]definition{}
	_, files := parseFiles(p.GoFiles)
	for i, f := range files {
		common := true
		for _, s := range systems {
			c := build.Default
			c.GOOS, c.GOARCH, c.CgoEnabled = s[0], s[1], false
			dir, name := filepath.Split(p.GoFiles[i])
			ok, err := c.MatchFile(dir, name)
			common = common && ok && err == nil
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			var values []ast.Expr // of the last line that has some
			for _, s := range g.Specs {
				s := s.(*ast.ValueSpec)
				if len(s.Values) > 0 {
					values = s.Values
				}
				for i, n := range s.Names {
					all[n.Name] = definition{values[i], common || table.LinuxOnly(p.PkgPath)}
				}
			}
		}
	}
	fixed := map[string]bool{}
	var isFixed func(name string) bool
	isFixed = func(name string) bool {
		if known, ok := fixed[name]; ok {
			return known
		}
		d, ok := all[name]
		if !ok { // a type, a function of Go, iota
			return types.Universe.Lookup(name) != nil || p.Types.Scope().Lookup(name) != nil
		}
		is := d.common
		fixed[name] = is
		ast.Inspect(d.value, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				is = is && table.LinuxOnly(p.PkgPath)
				return false
			case *ast.Ident:
				is = is && isFixed(n.Name)
			}
			return true
		})
		fixed[name] = is
		return is
	}
	for name := range all {
		isFixed(name)
	}
	return fixed
}
