package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// A type of an interpreted cell is lifted, that is compiled with its methods,
// as soon as a compiled cell uses it, since a type must be the same in all
// cells. From then on its cell is treated as if it began with %%compile:
// interpreted declarations that use the type are compiled again for the
// interpreter, and variables take the new type. Types that use each other
// become one package.

// unlifted is the error of a compiled cell that uses interpreted types which
// can be lifted.
type unlifted struct{ names []string }

func (e *unlifted) Error() string { return strings.Join(e.names, ", ") + " are interpreted" }

// liftable returns the names that the unit of an interpreted type declares; nil
// if the type cannot be compiled.
func (p *Program) liftable(o *types.TypeName, live []*Unit, cell []Declared) []string {
	if p.cannotLift[o.Name()] != "" || IsGeneric(o) {
		return nil
	}
	if w := declarationOf(cell, o.Name()); w != nil {
		return w.unit.Names
	}
	if e := p.Names[o.Name()]; e == nil || e.Object != o {
		return nil // an older type of that name
	}
	for _, u := range live {
		if u.native == nil && u.Method == "" && slices.Contains(u.Names, o.Name()) {
			return u.Names
		}
	}
	return nil
}

// cellTypes returns the types of interpreted cells that t contains.
func cellTypes(t types.Type) []*types.TypeName {
	var list []*types.TypeName
	WalkType(t, func(t types.Type) {
		if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && PathOf(n.Obj().Pkg()) == "main" {
			list = append(list, n.Obj())
		}
	}, map[types.Type]bool{})
	return list
}

// lifts returns the units of lifted types, made of their interpreted units; own
// are those of the cell. Types that use each other become one unit.
func (p *Program) lifts(fset *token.FileSet, own []Declared, live []*Unit) ([]*Unit, error) {
	if len(p.lifted) == 0 {
		return nil, nil
	}
	g := &liftGraph{fset: fset, byName: map[string]*Unit{}, decls: map[*Unit]ast.Decl{}, nodes: map[*Unit]*liftNode{}}
	for _, d := range own {
		g.all = append(g.all, d.Unit)
	}
	for _, u := range live {
		if u.native == nil {
			g.all = append(g.all, u)
		}
	}
	for _, u := range g.all {
		if u.Method == "" {
			for _, n := range u.Names {
				g.byName[n] = u
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.lifted)) {
		if err := g.add(g.byName[name]); err != nil {
			return nil, err
		}
	}
	for _, n := range g.nodes {
		seen := map[*Unit]bool{}
		for _, u := range n.parts {
			if err := g.uses(n, u, seen); err != nil {
				return nil, err
			}
		}
	}
	return g.groups(), nil
}

// A liftGraph holds which lifted types use each other.
type liftGraph struct {
	fset   *token.FileSet
	all    []*Unit // interpreted
	byName map[string]*Unit
	decls  map[*Unit]ast.Decl
	nodes  map[*Unit]*liftNode // by the unit of the types
	order  []*Unit             // of the nodes
}

// A liftNode is a declaration of types with their methods.
type liftNode struct {
	parts []*Unit
	uses  map[*Unit]bool // other nodes
}

func (g *liftGraph) parse(u *Unit) (ast.Decl, error) {
	if g.decls[u] == nil {
		ds, err := u.Parse(g.fset)
		if err != nil || len(ds) != 1 {
			return nil, fmt.Errorf("internal: cannot parse %s again: %v", u, err)
		}
		g.decls[u] = ds[0]
	}
	return g.decls[u], nil
}

// add makes a node of a unit that declares types.
func (g *liftGraph) add(u *Unit) error {
	if u == nil || g.nodes[u] != nil {
		return nil
	}
	d, err := g.parse(u)
	if err != nil {
		return err
	}
	if d, ok := d.(*ast.GenDecl); !ok || d.Tok != token.TYPE {
		return nil
	}
	n := &liftNode{parts: []*Unit{u}, uses: map[*Unit]bool{}}
	for _, m := range g.all {
		if m.Method != "" && slices.Contains(u.Names, m.Names[0]) {
			n.parts = append(n.parts, m)
		}
	}
	g.nodes[u] = n
	g.order = append(g.order, u)
	return nil
}

// uses notes which nodes a unit uses, also through functions, which are copied
// into the compiled package.
func (g *liftGraph) uses(n *liftNode, u *Unit, seen map[*Unit]bool) error {
	if seen[u] {
		return nil
	}
	seen[u] = true
	d, err := g.parse(u)
	if err != nil {
		return err
	}
	ast.Inspect(d, func(x ast.Node) bool {
		id, ok := x.(*ast.Ident)
		if !ok || err != nil {
			return err == nil
		}
		switch w := g.byName[id.Name]; {
		case w == nil:
		case g.nodes[w] != nil:
			n.uses[w] = true
		default:
			err = g.uses(n, w, seen)
		}
		return true
	})
	return err
}

// reaches reports whether a node uses another, directly or through others.
func (g *liftGraph) reaches(from, to *Unit, seen map[*Unit]bool) bool {
	for w := range g.nodes[from].uses {
		if w == to {
			return true
		}
		if !seen[w] {
			seen[w] = true
			if g.reaches(w, to, seen) {
				return true
			}
		}
	}
	return false
}

// groups returns one unit for each set of nodes that use each other.
func (g *liftGraph) groups() (groups []*Unit) {
	in := map[*Unit]bool{}
	for _, u := range g.order {
		if in[u] {
			continue
		}
		group := &Unit{Piece: u.Piece}
		for _, w := range g.order {
			if w != u && !(g.reaches(u, w, map[*Unit]bool{}) && g.reaches(w, u, map[*Unit]bool{})) {
				continue
			}
			in[w] = true
			group.Names = append(group.Names, w.Names...)
			for _, m := range g.nodes[w].parts {
				group.parts = append(group.parts, m)
				group.native = append(group.native, m.Piece)
			}
		}
		groups = append(groups, group)
	}
	return groups
}

// liftNotes returns messages about types that are compiled from now on.
func (p *Program) liftNotes(before map[string]bool) []string {
	var notes []string
	for name := range p.lifted {
		if e := p.Names[name]; !before[name] && e != nil && OfNative(e.Object) {
			notes = append(notes, fmt.Sprintf("type %s, declared in cell %d, is compiled from now on, because a compiled cell uses it; interface values made before keep the interpreted type", name, e.Cell))
		}
	}
	slices.Sort(notes)
	return notes
}
