package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"sync"
)

// A type declared in a function is a different type in each instance of the
// function. As in the compiler, its name contains the type arguments of the
// instance and, where it is a type argument itself, its number among the local
// types of the package.

// A localType is what the name of a local type contains beside the identifier.
type localType struct {
	number int
	args   []types.Type // type arguments of the enclosing function's instance
	own    []types.Type // of an instance of a generic local type that is a type of its own
}

// localTypes maps *types.TypeName to localType. It holds one entry for each local
// type that cells have declared, as long as the process lives.
var localTypes sync.Map

// NoteLocal notes the number of a local type among those of the package, and the
// type arguments of the instance that encloses it.
func NoteLocal(o types.Object, number int, args []types.Type) {
	localTypes.Store(o, localType{number, args, nil})
}

// NoteLocalInstance is NoteLocal for a type that stands for an instance of a generic
// local type, with the type arguments own.
func NoteLocalInstance(o types.Object, number int, args, own []types.Type) {
	localTypes.Store(o, localType{number, args, own})
}

// localArgs returns the type arguments of the instance that encloses a local
// type.
func localArgs(o *types.TypeName) []types.Type {
	if t, ok := localTypes.Load(o); ok {
		return t.(localType).args
	}
	return nil
}

// ownArgs returns the type arguments of the instance of a generic local type that a
// type stands for.
func ownArgs(o *types.TypeName) []types.Type {
	if t, ok := localTypes.Load(o); ok {
		return t.(localType).own
	}
	return nil
}

// localNumber returns the suffix of a local type's name as a type argument.
func localNumber(o *types.TypeName) string {
	if t, ok := localTypes.Load(o); ok {
		return "·" + strconv.Itoa(t.(localType).number)
	}
	return ""
}

// isInstance reports whether t is an instance of a generic type or a pointer to
// one.
func isInstance(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.TypeArgs().Len() > 0
}

// Types returns the named types that are declared with a cell, also generic ones.
func (c *Checked) Types() (list []*types.Named) {
	for _, d := range c.Decls {
		g, ok := d.Decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			o, ok := c.Info.Defs[s.(*ast.TypeSpec).Name].(*types.TypeName)
			if !ok || o.IsAlias() {
				continue
			}
			if t, ok := o.Type().(*types.Named); ok {
				list = append(list, t)
			}
		}
	}
	return list
}

// LocalTypes returns the types that the functions of a cell declare, in the order of their
// declarations, by what their function is called.
func (c *Checked) LocalTypes() map[string][]*types.Named {
	all := map[string][]*types.Named{}
	for _, d := range c.Decls {
		if _, ok := d.Decl.(*ast.FuncDecl); !ok {
			continue
		}
		list := []*types.Named{}
		ast.Inspect(d.Decl, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if o := c.Info.Defs[s.Name]; o != nil {
					if t, ok := named(o); ok {
						list = append(list, t)
					}
				}
			}
			return true
		})
		all[d.Unit.String()] = list
	}
	return all
}

// Nodes returns the declarations and statements of a cell.
func (c *Checked) Nodes() []ast.Node {
	list := []ast.Node{c.Source.Body}
	for _, d := range c.Decls {
		list = append(list, d.Decl)
	}
	return list
}
