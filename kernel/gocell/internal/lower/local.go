package lower

import (
	"go/ast"
	"go/types"
	"slices"

	"dace.local/kernel/gocell/internal/check"
)

// noteLocals notes the types that functions among the nodes declare; args are
// the type arguments of the instance that a node belongs to.
func (l *lowerer) noteLocals(args []types.Type, nodes ...ast.Node) {
	var specs []*ast.TypeSpec
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && !s.Assign.IsValid() {
				if o := l.c.Info.Defs[s.Name]; o != nil && o.Pkg() != nil && !check.PackageLevel(o) {
					specs = append(specs, s)
				}
			}
			return true
		})
	}
	slices.SortStableFunc(specs, func(a, b *ast.TypeSpec) int { return int(a.Pos() - b.Pos()) })
	numbers := l.state.locals
	for _, s := range specs {
		// An instance has the positions of its generic.
		at := l.fset.Position(s.Pos())
		at.Offset = 0
		if numbers[at] == 0 {
			numbers[at] = len(numbers) + 1
		}
		check.NoteLocal(l.c.Info.Defs[s.Name], numbers[at], args)
	}
}
