package compiled

import (
	"go/ast"
	"go/types"
	"slices"

	"dace.local/kernel/gocell/internal/check"
)

// A callGraph records which functions of a compiled cell may call which others.
type callGraph struct {
	info  *types.Info
	calls map[*function]map[*function]bool
	// dynamic stands for calls whose target is not known: they may reach any
	// function literal, and any function that is used as a value.
	dynamic *function
	order   []*function
	byFunc  map[*types.Func]*function
	byName  map[string][]*function // name -> methods
}

// A function is a declared function of the cell, or a function literal.
type function struct{ body *ast.BlockStmt }

// recursive returns the bodies of the functions of a cell that may call
// themselves, directly or through others.
func recursive(n *check.Native) []*ast.BlockStmt {
	dynamic := &function{}
	c := &callGraph{info: n.Info, dynamic: dynamic, calls: map[*function]map[*function]bool{dynamic: {}},
		byFunc: map[*types.Func]*function{}, byName: map[string][]*function{}}
	for _, d := range n.Decls {
		if f, ok := d.Decl.(*ast.FuncDecl); ok && f.Body != nil {
			o, _ := n.Info.Defs[f.Name].(*types.Func)
			x := c.add(f.Body)
			c.byFunc[o] = x
			if f.Recv != nil {
				c.byName[f.Name.Name] = append(c.byName[f.Name.Name], x)
			}
		}
	}
	for _, f := range slices.Clone(c.order) {
		c.visit(f, f.body)
	}
	var bodies []*ast.BlockStmt
	for _, f := range c.order {
		if c.reaches(f, f, map[*function]bool{}) {
			bodies = append(bodies, f.body)
		}
	}
	return bodies
}

func (c *callGraph) add(body *ast.BlockStmt) *function {
	f := &function{body}
	c.calls[f] = map[*function]bool{}
	c.order = append(c.order, f)
	return f
}

// visit records the calls in x, a part of f.
func (c *callGraph) visit(f *function, x ast.Node) {
	called := map[*ast.Ident]bool{}
	ast.Inspect(x, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			inner := c.add(x.Body)
			c.calls[f][inner], c.calls[c.dynamic][inner] = true, true
			c.visit(inner, x.Body)
			return false
		case *ast.CallExpr:
			if id := calledIdent(x); id != nil {
				if _, ok := c.info.Uses[id].(*types.Func); ok {
					called[id] = true
					return true
				}
			}
			if tv := c.info.Types[x.Fun]; !tv.IsType() && !tv.IsBuiltin() {
				c.calls[f][c.dynamic] = true
			}
		case *ast.Ident:
			for _, to := range c.named(x) {
				c.calls[f][to] = true
				if !called[x] {
					c.calls[c.dynamic][to] = true
				}
			}
		}
		return true
	})
}

// calledIdent returns the identifier that names the called function, or nil if
// the call does not name one.
func calledIdent(x *ast.CallExpr) *ast.Ident {
	var id *ast.Ident
	switch f := ast.Unparen(x.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.IndexExpr:
		id, _ = f.X.(*ast.Ident)
	case *ast.IndexListExpr:
		id, _ = f.X.(*ast.Ident)
	}
	return id
}

// named returns the functions that an identifier may refer to: for a method of
// an interface, all methods of that name.
func (c *callGraph) named(id *ast.Ident) []*function {
	f, ok := c.info.Uses[id].(*types.Func)
	if !ok {
		return nil
	}
	f = f.Origin()
	if x := c.byFunc[f]; x != nil {
		return []*function{x}
	}
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return c.byName[f.Name()]
	}
	return nil
}

// reaches reports whether from calls to, directly or through others.
func (c *callGraph) reaches(from, to *function, seen map[*function]bool) bool {
	for f := range c.calls[from] {
		if f == to {
			return true
		}
		if !seen[f] {
			seen[f] = true
			if c.reaches(f, to, seen) {
				return true
			}
		}
	}
	return false
}
