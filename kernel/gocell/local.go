package gocell

import (
	"go/ast"
	"go/types"
	"slices"
	"sync"
)

// A type that a function declares is another one in every instance of the
// function. As the compiler does, its name tells the instance and, among the
// arguments of a generic type, its number among those of the package.

// A localType is what a local type's name tells beside its own.
type localType struct {
	number int
	args   []types.Type // of the instance of the function around
}

var localTypes sync.Map // *types.TypeName: localType

// localArgs returns the type arguments of the function around a local type.
func localArgs(o *types.TypeName) []types.Type {
	if t, ok := localTypes.Load(o); ok {
		return t.(localType).args
	}
	return nil
}

// localNumber returns the suffix of a local type's name as a type argument.
func localNumber(o *types.TypeName) string {
	if t, ok := localTypes.Load(o); ok {
		return "·" + itoa(t.(localType).number)
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

// nodes returns what a cell compiles.
func (c *checked) nodes() []ast.Node {
	list := []ast.Node{c.src.body}
	for _, d := range c.decls {
		list = append(list, d.decl)
	}
	return list
}

// noteLocals notes the types that functions among the nodes declare; args are
// those of the instance that a node is.
func (l *lowerer) noteLocals(args []types.Type, nodes ...ast.Node) {
	var specs []*ast.TypeSpec
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && !s.Assign.IsValid() {
				if o := l.c.info.Defs[s.Name]; o != nil && o.Pkg() != nil && !packageLevel(o) {
					specs = append(specs, s)
				}
			}
			return true
		})
	}
	slices.SortStableFunc(specs, func(a, b *ast.TypeSpec) int { return int(a.Pos() - b.Pos()) })
	numbers := l.gen.s.generic.locals
	for _, s := range specs {
		// An instance's text stands where the generic's does.
		at := l.fset.Position(s.Pos())
		at.Offset = 0
		if numbers[at] == 0 {
			numbers[at] = len(numbers) + 1
		}
		localTypes.Store(l.c.info.Defs[s.Name], localType{numbers[at], args})
	}
}
