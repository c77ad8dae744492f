package lower

import "go/ast"

// identFor returns an identifier that replaces a selector, with the selector's
// type and object.
func (l *lowerer) identFor(x *ast.SelectorExpr, sel *ast.Ident, name string) *ast.Ident {
	id := &ast.Ident{Name: name, NamePos: x.Pos()}
	info := l.c.Info
	if tv, ok := info.Types[x]; ok {
		info.Types[id] = tv
	}
	if o := info.Uses[sel]; o != nil {
		info.Uses[id] = o
	}
	return id
}
