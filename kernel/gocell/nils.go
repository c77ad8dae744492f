package gocell

import (
	"go/ast"
	"go/types"
)

// typedNils gives the nils of a node the interface types that they become: the
// interpreter cannot make them of an interface that it does not know from
// compiled code. Those among arguments see nilArguments; ft is the function
// around.
func (l *lowerer) typedNils(n ast.Node, ft *ast.FuncType) {
	info := l.c.info
	typed := func(x *ast.Expr, t types.Type) {
		if tv, ok := info.Types[*x]; !ok || !tv.IsNil() || t == nil || !hasMethods(t) {
			return
		}
		pos := (*x).Pos()
		*x = l.convert(*x, t, pos)
		info.Types[*x] = variableOf(t)
	}
	switch x := n.(type) {
	case *ast.AssignStmt:
		if len(x.Lhs) == len(x.Rhs) {
			for i := range x.Rhs {
				typed(&x.Rhs[i], info.TypeOf(x.Lhs[i]))
			}
		}
	case *ast.ValueSpec:
		if x.Type != nil {
			for i := range x.Values {
				typed(&x.Values[i], info.TypeOf(x.Type))
			}
		}
	case *ast.ReturnStmt:
		if ft == nil {
			return
		}
		if ts := l.resultsOf(ft); len(ts) == len(x.Results) {
			for i := range x.Results {
				typed(&x.Results[i], ts[i])
			}
		}
	case *ast.SendStmt:
		if c, ok := info.TypeOf(x.Chan).Underlying().(*types.Chan); ok {
			typed(&x.Value, c.Elem())
		}
	case *ast.IndexExpr:
		if t := info.TypeOf(x.X); t != nil {
			if m, ok := t.Underlying().(*types.Map); ok {
				if info.Types[x.Index].IsNil() && !types.IsInterface(m.Key()) {
					pos := x.Index.Pos()
					x.Index = l.convert(x.Index, m.Key(), pos)
					info.Types[x.Index] = variableOf(m.Key())
				}
				typed(&x.Index, m.Key())
			}
		}
	case *ast.CompositeLit:
		t := info.TypeOf(x)
		if t == nil {
			return
		}
		u := t.Underlying()
		if p, ok := u.(*types.Pointer); ok {
			u = p.Elem().Underlying()
		}
		for i, e := range x.Elts {
			value := &x.Elts[i]
			kv, keyed := e.(*ast.KeyValueExpr)
			if keyed {
				value = &kv.Value
			}
			switch u := u.(type) {
			case *types.Struct:
				f := i
				if keyed {
					for k := range u.NumFields() {
						if u.Field(k).Name() == kv.Key.(*ast.Ident).Name {
							f = k
						}
					}
				}
				typed(value, u.Field(f).Type())
			case *types.Map:
				typed(&kv.Key, u.Key())
				typed(value, u.Elem())
			case interface{ Elem() types.Type }:
				typed(value, u.Elem())
			}
		}
	}
}

// hasMethods reports whether t is an interface type with methods.
func hasMethods(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	return ok && i.NumMethods() > 0 && !types.Identical(t, types.Universe.Lookup("error").Type())
}
