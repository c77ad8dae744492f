package debug

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"dace.local/kernel/gocell/internal/cell"
)

// A Stop is a place where a debugger may stop a cell: before a statement.
type Stop struct {
	Pos, End token.Pos // of the statement
	At       token.Position
	// Vars are the variables in scope, the outermost first. Of the variables around a
	// function literal only those that the literal uses are among them.
	Vars []*types.Var
}

// NoteStops calls stop for each statement of a declaration, or of a cell, before which a
// debugger may stop; a declaration that stands in no cell has stops if it is on disk.
func NoteStops(fset *token.FileSet, info *types.Info, n ast.Node, onDisk bool, stop func(s ast.Stmt, at Stop)) {
	if !onDisk && !stopsIn(fset, n) {
		return
	}
	k := &stopper{info: info, stop: func(s ast.Stmt, vars []*types.Var) {
		stop(s, Stop{Pos: s.Pos(), End: s.End(), At: fset.Position(s.Pos()), Vars: vars})
	}}
	k.node(n)
}

// stopsIn reports whether a declaration, or the statements of a cell, stand in a
// cell: the kernel's and those of packages do not.
func stopsIn(fset *token.FileSet, n ast.Node) bool {
	if b, ok := n.(*ast.BlockStmt); ok {
		if len(b.List) == 0 {
			return false
		}
		n = b.List[0]
	}
	number, ok := cell.Number(fset.Position(n.Pos()).Filename)
	return ok && number > 0
}

// StopPlaces returns where the first statement of each line begins, of those below
// some nodes, sorted.
func StopPlaces(fset *token.FileSet, nodes ...ast.Node) []token.Position {
	var places []token.Position
	k := &stopper{info: &types.Info{}, stop: func(s ast.Stmt, _ []*types.Var) {
		places = append(places, fset.Position(s.Pos()))
	}}
	for _, n := range nodes {
		k.node(n)
	}
	slices.SortFunc(places, func(a, b token.Position) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return slices.CompactFunc(places, func(a, b token.Position) bool { return a.Line == b.Line })
}

// A stopper walks over the statements of a function.
type stopper struct {
	info *types.Info
	stop func(s ast.Stmt, vars []*types.Var)
	vars []*types.Var // in scope
}

// node walks over a function, the statements of a cell, or what has function literals below.
func (k *stopper) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		k.fields(n.Recv)
		k.function(n.Type, n.Body)
	case *ast.BlockStmt:
		k.list(n.List)
	default:
		k.literals(n)
	}
}

// define adds the variables that identifiers declare to the scope.
func (k *stopper) define(xs ...ast.Expr) {
	for _, x := range xs {
		if id, ok := x.(*ast.Ident); ok {
			k.add(k.info.Defs[id])
		}
	}
}

func (k *stopper) add(o types.Object) {
	if v, ok := o.(*types.Var); ok && v.Name() != "_" && v.Name() != "" {
		k.vars = append(k.vars, v)
	}
}

func (k *stopper) fields(list *ast.FieldList) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			k.define(n)
		}
	}
}

// function walks over the body of a function.
func (k *stopper) function(t *ast.FuncType, body *ast.BlockStmt) {
	if body == nil {
		return
	}
	k.fields(t.Params)
	k.fields(t.Results)
	k.list(body.List)
}

// literals walks over the function literals below n that are in no other.
func (k *stopper) literals(n ast.Node) {
	if n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		used := map[types.Object]bool{}
		ast.Inspect(lit.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[k.info.Uses[id]] = true
			}
			return true
		})
		inner := &stopper{info: k.info, stop: k.stop}
		for _, v := range k.vars {
			if used[v] {
				inner.vars = append(inner.vars, v)
			}
		}
		inner.function(lit.Type, lit.Body)
		return false
	})
}

// list walks over the statements of a block.
func (k *stopper) list(list []ast.Stmt) {
	defer k.leave(len(k.vars))
	for _, s := range list {
		if stoppable(s) {
			k.stop(s, slices.Clone(k.vars))
		}
		k.statement(s)
	}
}

// leave takes the variables of a block that ends out of the scope.
func (k *stopper) leave(outer int) { k.vars = k.vars[:outer] }

// stoppable reports whether a debugger may stop before s.
func stoppable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.EmptyStmt, *ast.BlockStmt:
		return false
	case *ast.LabeledStmt:
		return stoppable(s.Stmt)
	case *ast.DeclStmt:
		g, ok := s.Decl.(*ast.GenDecl)
		return ok && g.Tok == token.VAR
	}
	return s.Pos().IsValid()
}

// statement walks over what is in a statement, and adds what it declares to the
// scope.
func (k *stopper) statement(s ast.Stmt) {
	switch s := s.(type) {
	case nil:
	case *ast.BlockStmt:
		k.list(s.List)
	case *ast.LabeledStmt:
		k.statement(s.Stmt)
	case *ast.IfStmt:
		defer k.leave(len(k.vars))
		k.statement(s.Init)
		k.literals(s.Cond)
		k.statement(s.Body)
		k.statement(s.Else)
	case *ast.ForStmt:
		defer k.leave(len(k.vars))
		k.statement(s.Init)
		if s.Cond != nil {
			k.literals(s.Cond)
		}
		k.statement(s.Post)
		k.statement(s.Body)
	case *ast.RangeStmt:
		defer k.leave(len(k.vars))
		k.literals(s.X)
		if s.Tok == token.DEFINE {
			k.define(s.Key, s.Value)
		}
		k.statement(s.Body)
	case *ast.SwitchStmt:
		defer k.leave(len(k.vars))
		k.statement(s.Init)
		if s.Tag != nil {
			k.literals(s.Tag)
		}
		k.clauses(s.Body)
	case *ast.TypeSwitchStmt:
		defer k.leave(len(k.vars))
		k.statement(s.Init)
		k.clauses(s.Body)
	case *ast.SelectStmt:
		k.clauses(s.Body)
	case *ast.AssignStmt:
		k.literals(s)
		if s.Tok == token.DEFINE {
			k.define(s.Lhs...)
		}
	case *ast.DeclStmt:
		k.literals(s)
		if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, sp := range g.Specs {
				for _, n := range sp.(*ast.ValueSpec).Names {
					k.define(n)
				}
			}
		}
	default:
		k.literals(s)
	}
}

// clauses walks over the clauses of a switch or select statement.
func (k *stopper) clauses(body *ast.BlockStmt) {
	for _, s := range body.List {
		outer := len(k.vars)
		switch s := s.(type) {
		case *ast.CaseClause:
			for _, x := range s.List {
				k.literals(x)
			}
			k.add(k.info.Implicits[s])
			k.list(s.Body)
		case *ast.CommClause:
			k.statement(s.Comm)
			k.list(s.Body)
		}
		k.leave(outer)
	}
}
