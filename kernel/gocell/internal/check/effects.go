package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// Effects is what a cell does to names of the session.
type Effects struct {
	Reads    map[string]bool // that it uses, also through functions of the session
	Declares map[string]bool // that it declares or defines
	Sets     map[string]bool // variables that it gives a value which does not depend on the one before
	Updates  map[string]bool // other variables that it may change
	// Same holds those of Declares that are declared by the same text as before.
	Same map[string]bool
}

func newEffects() *Effects {
	return &Effects{Reads: map[string]bool{}, Declares: map[string]bool{}, Sets: map[string]bool{}, Updates: map[string]bool{}, Same: map[string]bool{}}
}

// Effects returns what a checked cell does. before is the program
// before the cell.
func (c *Checked) Effects(before *Program) *Effects {
	e := newEffects()
	for _, v := range c.Vars {
		e.Declares[v.Name()] = true
	}
	text := func(name string) string { // of the declaration before
		for _, u := range before.Units {
			if u.Method == "" && u.native == nil && slices.Contains(u.Names, name) {
				return u.Text
			}
		}
		return ""
	}
	for _, d := range c.Decls {
		if !d.Own {
			continue
		}
		for _, n := range d.Unit.Names {
			e.Declares[n] = true
			if d.Unit.Method == "" && text(n) == d.Unit.Text {
				e.Same[n] = true
			}
		}
		if f, ok := d.Decl.(*ast.FuncDecl); ok && !isInit(f) {
			later := newEffects() // what it changes, it does when it is called
			later.use(c, f)
			maps.Copy(e.Reads, later.Reads)
			continue
		}
		e.use(c, d.Decl)
	}
	for _, n := range c.Natives {
		if n.own {
			for _, name := range n.Unit.Names {
				e.Declares[name] = true
			}
			for name := range n.Unit.deps {
				e.Reads[name] = true
			}
		}
	}
	e.use(c, c.Source.Body)
	c.Next.follow(e)
	for n := range e.Declares {
		delete(e.Sets, n)
		delete(e.Updates, n)
	}
	return e
}

// changesFirst are the predeclared functions that change what their first argument holds.
var changesFirst = map[string]bool{"clear": true, "copy": true, "delete": true}

// use adds what a declaration or the statements of a cell do themselves.
func (e *Effects) use(c *Checked, n ast.Node) {
	ofSession := func(id *ast.Ident) bool {
		o := c.Info.Uses[id]
		if _, isPkg := o.(*types.PkgName); o == nil || isPkg || id.Name == "ctx" {
			return false
		}
		return o.Pkg() == c.Next.Package && PackageLevel(o) || OfNative(o)
	}
	update := func(x ast.Expr) {
		if id := rootOf(x); id != nil && ofSession(id) {
			e.Updates[id.Name] = true
		}
	}
	set := map[*ast.Ident]bool{} // names on the left of =
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				return true
			}
			used := map[string]bool{}
			for _, x := range n.Rhs {
				mention(used, x)
			}
			for _, x := range n.Lhs {
				id, isName := x.(*ast.Ident)
				if isName && n.Tok == token.ASSIGN && ofSession(id) && !used[id.Name] {
					set[id], e.Sets[id.Name] = true, true
					continue
				}
				update(x)
			}
		case *ast.IncDecStmt:
			update(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				update(n.Key)
				if n.Value != nil {
					update(n.Value)
				}
			}
		case *ast.CallExpr:
			if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && changesFirst[id.Name] && c.Info.Types[n.Fun].IsBuiltin() {
				update(n.Args[0])
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				update(n.X)
			}
		case *ast.SelectorExpr:
			if s := c.Info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
				if f, ok := s.Obj().(*types.Func); ok && f.Signature().Recv() != nil {
					if _, pointer := f.Signature().Recv().Type().(*types.Pointer); pointer {
						update(n.X)
					}
				}
			}
		case *ast.Ident:
			if ofSession(n) && !set[n] {
				e.Reads[n.Name] = true
			}
		}
		return true
	})
}

// follow adds what the functions of the session do that the cell uses.
func (p *Program) follow(e *Effects) {
	if len(e.Reads) == 0 {
		return
	}
	units := map[string][]*Unit{}
	for _, u := range p.Units {
		for _, n := range u.Names {
			units[n] = append(units[n], u)
		}
	}
	var visit func(name string)
	seen := map[*Unit]bool{}
	visit = func(name string) {
		for _, u := range units[name] {
			if seen[u] {
				continue
			}
			seen[u] = true
			changes := u.changes()
			for n := range u.deps {
				switch alsoRead, changed := changes[n]; {
				case p.Names[n] == nil || n == "ctx":
				case changed && !alsoRead:
					e.Sets[n] = true
				default:
					if changed {
						e.Updates[n] = true
					}
					e.Reads[n] = true
					visit(n)
				}
			}
		}
	}
	for n := range e.Reads {
		visit(n)
	}
	for n := range e.Declares {
		delete(e.Reads, n)
	}
}

// changes returns the names that a function changes, by its text: true for those that it
// reads, too, or parts of them.
func (u *Unit) changes() map[string]bool {
	if u.changed != nil {
		return u.changed
	}
	u.changed = map[string]bool{}
	if u.native == nil {
		decls, _ := u.Parse(token.NewFileSet())
		set, read := map[*ast.Ident]bool{}, map[string]bool{}
		note := func(xs ...ast.Expr) {
			for _, x := range xs {
				if id := rootOf(x); x != nil && id != nil {
					u.changed[id.Name] = false
				}
			}
		}
		for _, d := range decls {
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok != token.DEFINE {
						note(n.Lhs...)
					}
					for _, x := range n.Lhs {
						if id, ok := x.(*ast.Ident); ok && n.Tok == token.ASSIGN {
							set[id] = true
						}
					}
				case *ast.IncDecStmt:
					note(n.X)
				case *ast.RangeStmt:
					if n.Tok == token.ASSIGN {
						note(n.Key, n.Value)
					}
				case *ast.CallExpr:
					if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && changesFirst[id.Name] && len(n.Args) > 0 {
						note(n.Args[0])
					}
				case *ast.UnaryExpr:
					if n.Op == token.AND {
						note(n.X)
					}
				case *ast.Ident:
					read[n.Name] = read[n.Name] || !set[n]
				}
				return true
			})
		}
		for name := range u.changed {
			u.changed[name] = read[name]
		}
	}
	return u.changed
}
