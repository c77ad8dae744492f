package check

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A View is a cell, complete or not, with what go/types finds in it. Completion
// and inspection use it.
type View struct {
	fset    *token.FileSet
	Source  *Source
	Info    *types.Info
	Package *types.Package
	files   []ast.Node // what was checked; first the function of the statements
}

// Look checks a cell as far as possible and drops all errors. It does not
// change the program. The caller holds the session's lock.
func (p *Program) Look(text string) (v *View) {
	fset := token.NewFileSet()
	src, _ := ParseCell(fset, 0, "", text)
	q := p.clone()
	v = &View{fset: fset, Source: src, Package: p.Package}
	var all []Declared
	own := map[string]bool{}
	i := 0
	for _, d := range src.File.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			_ = q.addImports(fset, g, q.Importer)
			continue
		}
		if i < len(src.decls) {
			u := UnitsOf(src.decls[i], d)
			// The checker takes no method of a compiled cell's type.
			if e := q.Names[u.Names[0]]; u.Method == "" || e == nil || !OfNative(e.Object) {
				all = append(all, Declared{Decl: d, Unit: u, Own: true})
			}
			if u.Method == "" {
				for _, n := range u.Names {
					own[n] = true
				}
			}
		}
		i++
	}
	q.unaliasReceivers(all)
	var heads []Declared
	var bodies []ast.Decl
	for _, d := range all {
		f, ok := d.Decl.(*ast.FuncDecl)
		// The checker knows the methods of earlier cells' types, and takes no
		// new ones.
		if !ok || d.Unit.Method == "" || own[d.Unit.Names[0]] {
			heads = append(heads, d)
		}
		switch {
		case !ok:
			v.files = append(v.files, d.Decl)
		case f.Body != nil:
			b := bodyFunc(f)
			bodies = append(bodies, b)
			v.files = append(v.files, b)
		}
	}
	k := newChecking(q, fset, all, src.Body)
	v.Info, k.hidden = k.info, own
	v.files = append([]ast.Node{k.cell}, v.files...)
	defer func() {
		// The checker may panic on an incomplete cell. What it has found is
		// kept.
		_ = recover()
	}()
	k.heads(nil, heads, own)
	k.statements()
	for _, o := range k.variables() {
		k.objects[o.Name()] = o
	}
	k.bodies(bodies)
	return v
}

// Find returns the nodes around a position, from the identifier outwards, or
// nil.
func (v *View) Find(line, col int) []ast.Node {
	var best []ast.Node
	for _, f := range v.files {
		var path []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			path = append(path, n)
			if id, ok := n.(*ast.Ident); ok && id.Pos().IsValid() {
				p := v.fset.Position(id.Pos())
				if p.Line == line && p.Column <= col && col <= p.Column+len(id.Name) && best == nil {
					for i := len(path) - 1; i >= 0; i-- {
						best = append(best, path[i])
					}
				}
			}
			return true
		})
		if best != nil {
			return best
		}
	}
	return nil
}

// Object returns the object that an identifier denotes.
func (v *View) Object(id *ast.Ident) types.Object {
	if o := v.Info.Uses[id]; o != nil {
		return o
	}
	return v.Info.Defs[id]
}
