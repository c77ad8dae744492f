package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// The declarations of variables with which the statements of a cell begin are treated as
// those of a Go file: the variables are initialized in dependency order, and the cell's
// init functions run afterwards.

// A declaredVar is one spec of a var declaration.
type declaredVar struct {
	gen  *ast.GenDecl
	spec *ast.ValueSpec
}

// leadingVars returns the variables whose declarations a cell's statements begin with, and
// the number of these declarations.
func leadingVars(body *ast.BlockStmt) (vars []declaredVar, n int) {
	n = AfterVars(body.List)
	for _, s := range body.List[:n] {
		g := s.(*ast.DeclStmt).Decl.(*ast.GenDecl)
		for _, sp := range g.Specs {
			vars = append(vars, declaredVar{g, sp.(*ast.ValueSpec)})
		}
	}
	return vars, n
}

// statement returns a var statement of some of the variables.
func (v declaredVar) statement(names []*ast.Ident, values []ast.Expr) ast.Stmt {
	g, spec := *v.gen, *v.spec
	spec.Names, spec.Values = names, values
	g.Lparen, g.Rparen, g.Specs = token.NoPos, token.NoPos, []ast.Spec{&spec}
	return &ast.DeclStmt{Decl: &g}
}

// inInitOrder sorts the variables of the first n statements of a cell by initialization
// order; initializers is the checker's order for these declarations as a package.
func inInitOrder(body *ast.BlockStmt, vars []declaredVar, n int, initializers []*types.Initializer) {
	byPos := map[token.Pos]declaredVar{}
	var list []ast.Stmt
	values := 0
	for _, v := range vars {
		for _, n := range v.spec.Names {
			byPos[n.Pos()] = v
		}
		if len(v.spec.Values) == 0 {
			list = append(list, v.statement(v.spec.Names, nil))
		} else if len(v.spec.Values) == len(v.spec.Names) {
			values += len(v.spec.Values)
		} else {
			values++
		}
	}
	for _, in := range initializers {
		v, ok := byPos[in.Lhs[0].Pos()]
		if !ok {
			return
		}
		names := v.spec.Names
		if len(in.Lhs) == 1 {
			i := slices.IndexFunc(names, func(n *ast.Ident) bool { return n.Pos() == in.Lhs[0].Pos() })
			names = names[i : i+1]
		}
		list = append(list, v.statement(names, []ast.Expr{in.Rhs}))
		values--
	}
	if values == 0 { // otherwise not all can be ordered: keep the order of the source
		body.List = append(list, body.List[n:]...)
	}
}

// isInit reports whether f is an init function.
func isInit(f *ast.FuncDecl) bool { return f.Recv == nil && f.Name.Name == "init" }

// AfterVars returns the index in a cell's statements at which init functions
// are called: after the leading var declarations.
func AfterVars(list []ast.Stmt) int {
	for i, s := range list {
		if d, ok := s.(*ast.DeclStmt); !ok || d.Decl.(*ast.GenDecl).Tok != token.VAR {
			return i
		}
	}
	return len(list)
}
