package compile

import (
	"go/ast"
	"go/types"
	"reflect"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
)

// Fetched compiles declarations of fetched packages. run initializes the variables
// among them, and the packages of initialize.
func (c *Compiler) Fetched(decls []*check.FetchedDecl, packages []*check.FetchedPackage, initialize map[*check.FetchedPackage]bool) (run []*code.Entry, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.refused(&err)
	for _, d := range decls {
		c.declare(d)
	}
	for _, p := range packages {
		for _, d := range check.InitOrder(p, decls, initialize[p]) {
			switch {
			case d.Init != nil:
				run = append(run, c.initializer(d.Init, p.Info, d.Owner.FileAt(d.Init.Rhs.Pos()).SharesLoopVars()))
			case d.File:
				c.embed(d)
			default:
				c.declare(d)
				run = append(run, c.entry(p.Info.Defs[d.Nodes[0].(*ast.FuncDecl).Name].(*types.Func)))
			}
		}
	}
	for _, d := range decls {
		for _, o := range d.Objects {
			if f, ok := o.(*types.Func); ok && f.Signature().TypeParams() == nil && f.Signature().RecvTypeParams() == nil && c.declaration(f) != nil {
				c.entry(f) // so that what cannot be compiled is refused
			}
		}
	}
	c.finish()
	return run, nil
}

// Hook has a function call another in its place, or be itself again for none. It
// reports false where nothing that has been compiled uses the function.
func (c *Compiler) Hook(f *types.Func, by reflect.Value) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.declaration(f)
	if d == nil || d.entry == nil || d.entry.Fn == nil {
		return false
	}
	e := d.entry
	own := c.hooked[e]
	switch {
	case by.IsValid():
		if own == nil {
			c.hooked[e] = e.Fn
		}
		e.Fn = e.Fn.Sig.Calling(c.Machine, by)
	case own != nil:
		e.Fn = own
		delete(c.hooked, e)
	}
	c.follow()
	return true
}

// FuncsOf returns the functions and methods with known syntax that the declaration of
// one uses.
func (c *Compiler) FuncsOf(f *types.Func) (list []*types.Func) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.declaration(f)
	if d == nil {
		return nil
	}
	ast.Inspect(d.syntax, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if g, ok := d.info.Uses[id].(*types.Func); ok && g.Origin() != f && c.declaration(g.Origin()) != nil {
				list = append(list, g.Origin())
			}
		}
		return true
	})
	return list
}

// FetchedVar returns the variable of a fetched package by its generated name, nil if
// there is none.
func (c *Compiler) FetchedVar(made string) *types.Var {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[made]
}

// declare makes the functions and variables of a declaration known.
func (c *Compiler) declare(d *check.FetchedDecl) {
	for _, o := range d.Objects {
		if made, ok := check.GeneratedName(o); ok {
			if v, ok := o.(*types.Var); ok {
				c.made[made] = v
			}
		}
	}
	info := d.Owner.Info
	for _, n := range d.Nodes {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			continue
		}
		c.noteLocals(f, info)
		c.decls[info.Defs[f.Name].(*types.Func)] = &declaration{syntax: f, info: info, shared: d.Owner.FileAt(f.Pos()).SharesLoopVars()}
	}
}

// embed stores the contents of a file in a variable.
func (c *Compiler) embed(d *check.FetchedDecl) {
	v := d.Objects[0].(*types.Var)
	r := c.runtime(v.Type(), v.Pos())
	reflect.NewAt(r, c.variable(v).P).Elem().Set(reflect.ValueOf(d.Embed).Convert(r))
}
