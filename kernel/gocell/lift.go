package gocell

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// A type that an interpreted cell declares is compiled, with its methods, as
// soon as a compiled cell uses it: a type is one type to all cells. It is as if
// its own cell began with %%compile from then on: what interpreted cells make of
// it is compiled again for the interpreter, variables take the new type.
// Types that use each other become one package.

// unlifted is the error of a compiled cell that uses types which are
// interpreted and may be compiled.
type unlifted struct{ names []string }

func (e *unlifted) Error() string { return strings.Join(e.names, ", ") + " are interpreted" }

// liftable returns the names that the unit of an interpreted type declares, nil
// where the type cannot be compiled.
func (p *program) liftable(o *types.TypeName, live []*unit, cell []declared) []string {
	if p.cannotLift[o.Name()] != "" || isGeneric(o) {
		return nil
	}
	if w := declares(cell, o.Name()); w != nil {
		return w.unit.names
	}
	if e := p.names[o.Name()]; e == nil || e.obj != o {
		return nil // an older one of the name
	}
	for _, u := range live {
		if u.native == nil && u.meth == "" && slices.Contains(u.names, o.Name()) {
			return u.names
		}
	}
	return nil
}

// cellTypes returns the types of interpreted cells that t is made of.
func cellTypes(t types.Type) []*types.TypeName {
	var list []*types.TypeName
	walkType(t, func(t types.Type) {
		if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && pathOf(n.Obj().Pkg()) == "main" {
			list = append(list, n.Obj())
		}
	}, map[types.Type]bool{})
	return list
}

// lifts returns the units of the types that are compiled for compiled cells,
// made of their interpreted units: own are those of the cell.
func (p *program) lifts(fset *token.FileSet, own []declared, live []*unit) ([]*unit, error) {
	if len(p.lifted) == 0 {
		return nil, nil
	}
	all := make([]*unit, 0, len(own)+len(live))
	for _, d := range own {
		all = append(all, d.unit)
	}
	for _, u := range live {
		if u.native == nil {
			all = append(all, u)
		}
	}
	byName := map[string]*unit{}
	for _, u := range all {
		if u.meth == "" {
			for _, n := range u.names {
				byName[n] = u
			}
		}
	}
	decls := map[*unit]ast.Decl{}
	parse := func(u *unit) (ast.Decl, error) {
		if decls[u] == nil {
			ds, err := u.parse(fset)
			if err != nil || len(ds) != 1 {
				return nil, fmt.Errorf("internal: cannot parse %s again: %v", u, err)
			}
			decls[u] = ds[0]
		}
		return decls[u], nil
	}
	// A node is a declaration of types with their methods.
	type node struct {
		parts []*unit
		uses  map[*unit]bool // other nodes, by the unit of their types
	}
	nodes := map[*unit]*node{}
	var order []*unit
	for _, name := range slices.Sorted(maps.Keys(p.lifted)) {
		u := byName[name]
		if u == nil || nodes[u] != nil {
			continue
		}
		d, err := parse(u)
		if err != nil {
			return nil, err
		}
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.TYPE {
			continue
		}
		n := &node{parts: []*unit{u}, uses: map[*unit]bool{}}
		for _, m := range all {
			if m.meth != "" && slices.Contains(u.names, m.names[0]) {
				n.parts = append(n.parts, m)
			}
		}
		nodes[u] = n
		order = append(order, u)
	}
	// What a node uses, also through functions, which go with it as copies.
	for _, n := range nodes {
		seen := map[*unit]bool{}
		var visit func(u *unit) error
		visit = func(u *unit) error {
			if seen[u] {
				return nil
			}
			seen[u] = true
			d, err := parse(u)
			if err != nil {
				return err
			}
			ast.Inspect(d, func(x ast.Node) bool {
				id, ok := x.(*ast.Ident)
				if !ok || err != nil {
					return err == nil
				}
				switch w := byName[id.Name]; {
				case w == nil:
				case nodes[w] != nil:
					n.uses[w] = true
				default:
					err = visit(w)
				}
				return true
			})
			return err
		}
		for _, u := range n.parts {
			if err := visit(u); err != nil {
				return nil, err
			}
		}
	}
	reaches := func(from, to *unit) bool {
		seen := map[*unit]bool{}
		var visit func(u *unit) bool
		visit = func(u *unit) bool {
			for w := range nodes[u].uses {
				if w == to {
					return true
				}
				if !seen[w] {
					seen[w] = true
					if visit(w) {
						return true
					}
				}
			}
			return false
		}
		return visit(from)
	}
	var groups []*unit
	in := map[*unit]bool{}
	for _, u := range order {
		if in[u] {
			continue
		}
		g := &unit{piece: u.piece}
		for _, w := range order {
			if w != u && !(reaches(u, w) && reaches(w, u)) {
				continue
			}
			in[w] = true
			g.names = append(g.names, w.names...)
			for _, m := range nodes[w].parts {
				g.parts = append(g.parts, m)
				g.native = append(g.native, m.piece)
			}
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// liftNotes tells of types that are compiled from now on.
func (p *program) liftNotes(before map[string]bool) []string {
	var notes []string
	for name := range p.lifted {
		if e := p.names[name]; !before[name] && e != nil && ofNative(e.obj) {
			notes = append(notes, fmt.Sprintf("type %s, declared in cell %d, is compiled from now on, for a compiled cell uses it; what interfaces hold of it already keeps the interpreted type", name, e.cell))
		}
	}
	slices.Sort(notes)
	return notes
}

// varObjects returns variables as objects.
func varObjects(vars map[string]*types.Var) map[string]types.Object {
	m := map[string]types.Object{}
	for n, v := range vars {
		m[n] = v
	}
	return m
}
