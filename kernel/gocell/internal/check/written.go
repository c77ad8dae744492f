package check

import (
	"go/ast"
	"go/token"
	"strconv"
)

// Constants and types are checked before the statements of a cell, and may need the
// type of a variable that these define: const n = len(table). It is known there if it
// is written.

// A writtenVar is a variable whose type is written in the cell.
type writtenVar struct {
	name *ast.Ident
	typ  ast.Expr
}

// writtenVars returns those that the statements of a cell define once.
func writtenVars(body *ast.BlockStmt) (vars []writtenVar) {
	times := map[string]int{}
	define := func(names []ast.Expr, typ ast.Expr, values []ast.Expr) {
		for i, n := range names {
			id, ok := n.(*ast.Ident)
			if !ok || id.Name == "_" {
				continue
			}
			times[id.Name]++
			t := typ
			if t == nil && len(names) == len(values) {
				t = writtenType(values[i])
			}
			if t != nil {
				vars = append(vars, writtenVar{id, t})
			}
		}
	}
	for _, s := range body.List {
		switch s := s.(type) {
		case *ast.DeclStmt:
			if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, spec := range g.Specs {
					v := spec.(*ast.ValueSpec)
					names := make([]ast.Expr, len(v.Names))
					for i, n := range v.Names {
						names[i] = n
					}
					define(names, v.Type, v.Values)
				}
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				define(s.Lhs, nil, s.Rhs)
			}
		}
	}
	once := vars[:0]
	for _, v := range vars {
		if times[v.name.Name] == 1 {
			once = append(once, v)
		}
	}
	return once
}

// writtenType returns the type of a value if it is one of a composite literal, of a
// pointer to one or of a conversion to an array, and nil otherwise.
func writtenType(x ast.Expr) ast.Expr {
	switch x := ast.Unparen(x).(type) {
	case *ast.UnaryExpr:
		if t := writtenType(x.X); t != nil && x.Op == token.AND {
			return &ast.StarExpr{Star: x.Pos(), X: t}
		}
	case *ast.CallExpr:
		if a, ok := ast.Unparen(x.Fun).(*ast.ArrayType); ok && a.Len != nil {
			return a
		}
	case *ast.CompositeLit:
		a, ok := x.Type.(*ast.ArrayType)
		if !ok {
			return x.Type
		}
		if _, counted := a.Len.(*ast.Ellipsis); !counted {
			return a
		}
		n, longest := 0, 0
		for _, e := range x.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				key, ok := kv.Key.(*ast.BasicLit)
				if !ok {
					return nil
				}
				at, err := strconv.ParseInt(key.Value, 0, 0)
				if err != nil {
					return nil
				}
				n = int(at)
			}
			n++
			longest = max(longest, n)
		}
		return &ast.ArrayType{Lbrack: a.Lbrack, Len: &ast.BasicLit{ValuePos: a.Lbrack, Kind: token.INT, Value: strconv.Itoa(longest)}, Elt: a.Elt}
	}
	return nil
}
