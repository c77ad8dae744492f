package lower

import (
	"go/ast"
	"go/types"
)

// The interpreter cannot make a nil of an interface type that it does not know
// from compiled code. The functions below convert each nil to the type that it
// becomes; for arguments of calls see typeNilArgs.

// typeInterfaceNil converts *x to the interface type t if it is nil and t has
// methods.
func (l *lowerer) typeInterfaceNil(x *ast.Expr, t types.Type) {
	if tv, ok := l.c.Info.Types[*x]; !ok || !tv.IsNil() || t == nil || !hasMethods(t) {
		return
	}
	l.typeNil(x, t)
}

func (l *lowerer) typeNil(x *ast.Expr, t types.Type) {
	pos := (*x).Pos()
	*x = l.convert(*x, t, pos)
	l.c.Info.Types[*x] = variableOf(t)
}

// nilsAssigned is for x = nil.
func (l *lowerer) nilsAssigned(x *ast.AssignStmt) {
	if len(x.Lhs) == len(x.Rhs) {
		for i := range x.Rhs {
			l.typeInterfaceNil(&x.Rhs[i], l.c.Info.TypeOf(x.Lhs[i]))
		}
	}
}

// nilsDeclared is for var x T = nil.
func (l *lowerer) nilsDeclared(x *ast.ValueSpec) {
	if x.Type != nil {
		for i := range x.Values {
			l.typeInterfaceNil(&x.Values[i], l.c.Info.TypeOf(x.Type))
		}
	}
}

// nilsReturned is for return nil.
func (l *lowerer) nilsReturned(x *ast.ReturnStmt) {
	if ts := l.function().results; len(ts) == len(x.Results) {
		for i := range x.Results {
			l.typeInterfaceNil(&x.Results[i], ts[i])
		}
	}
}

// nilSent is for ch <- nil.
func (l *lowerer) nilSent(x *ast.SendStmt) {
	if c, ok := l.c.Info.TypeOf(x.Chan).Underlying().(*types.Chan); ok {
		l.typeInterfaceNil(&x.Value, c.Elem())
	}
}

// nilKey is for m[nil], whose key may be of any type that has a nil.
func (l *lowerer) nilKey(x *ast.IndexExpr) {
	t := l.c.Info.TypeOf(x.X)
	if t == nil {
		return
	}
	m, ok := t.Underlying().(*types.Map)
	if !ok {
		return
	}
	if l.c.Info.Types[x.Index].IsNil() && !types.IsInterface(m.Key()) {
		l.typeNil(&x.Index, m.Key())
	}
	l.typeInterfaceNil(&x.Index, m.Key())
}

// nilElements is for T{nil}.
func (l *lowerer) nilElements(x *ast.CompositeLit) {
	t := l.c.Info.TypeOf(x)
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
			l.typeInterfaceNil(value, u.Field(f).Type())
		case *types.Map:
			l.typeInterfaceNil(&kv.Key, u.Key())
			l.typeInterfaceNil(value, u.Elem())
		case interface{ Elem() types.Type }:
			l.typeInterfaceNil(value, u.Elem())
		}
	}
}

// hasMethods reports whether t is an interface type with methods.
func hasMethods(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	return ok && i.NumMethods() > 0 && !types.Identical(t, types.Universe.Lookup("error").Type())
}
