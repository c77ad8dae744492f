package compile

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A use is what happens to a local variable, which decides where it lives.
type use struct {
	in        ast.Node // the function that declares it
	captured  bool     // a function literal uses it
	addressed bool     // something has its address
	changed   bool     // it is assigned to after its declaration
}

// boxed reports whether the variable is a value of its own on the heap: others
// of the variables that function literals use are copied when the literal is
// evaluated.
func (u *use) boxed() bool { return u != nil && (u.addressed || u.captured && u.changed) }

// uses finds out what happens to the variables of a function.
func uses(info *types.Info, fn ast.Node) map[*types.Var]*use {
	e := &escape{info: info, vars: map[*types.Var]*use{}}
	e.within(fn, fn)
	return e.vars
}

type escape struct {
	info *types.Info
	vars map[*types.Var]*use
}

func (e *escape) of(v *types.Var) *use {
	u := e.vars[v]
	if u == nil {
		u = &use{}
		e.vars[v] = u
	}
	return u
}

// within walks a function, whose variables belong to fn.
func (e *escape) within(fn, n ast.Node) {
	results := func(t *ast.FuncType) {
		if t.Results == nil {
			return
		}
		for _, f := range t.Results.List {
			for _, id := range f.Names {
				if v, ok := e.info.Defs[id].(*types.Var); ok {
					e.of(v).changed = true
				}
			}
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		results(n.Type)
	case *ast.FuncLit:
		results(n.Type)
	}
	ast.Inspect(n, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			if x != n {
				e.within(x, x)
				return false
			}
		case *ast.Ident:
			e.ident(fn, x)
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				e.address(x.X)
			}
		case *ast.SliceExpr:
			if mayBeArray(e.info.TypeOf(x.X)) {
				e.address(x.X)
			}
		case *ast.SelectorExpr:
			e.method(x)
		case *ast.AssignStmt:
			for _, l := range x.Lhs {
				if id, ok := l.(*ast.Ident); !ok || x.Tok != token.DEFINE || e.info.Defs[id] == nil {
					e.change(l)
				}
			}
		case *ast.IncDecStmt:
			e.change(x.X)
		case *ast.RangeStmt:
			if x.Tok == token.ASSIGN {
				e.change(x.Key)
				e.change(x.Value)
			}
		case *ast.CaseClause:
			if o, ok := e.info.Implicits[x].(*types.Var); ok {
				e.of(o).in = fn
			}
		}
		return true
	})
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// mayBeArray reports whether a type is an array, or may be one in an instance.
func mayBeArray(t types.Type) bool {
	switch underlying(t).(type) {
	case *types.Array:
		return true
	case *types.Interface:
		_, ok := types.Unalias(t).(*types.TypeParam)
		return ok
	}
	return false
}

func (e *escape) ident(fn ast.Node, id *ast.Ident) {
	if v, ok := e.info.Defs[id].(*types.Var); ok && !v.IsField() {
		e.of(v).in = fn
	} else if v, ok := e.info.Uses[id].(*types.Var); ok && !v.IsField() {
		if u := e.of(v); u.in != fn {
			u.captured = true
		}
	}
}

// root returns the variable that an operand is or is a part of, or nil.
func (e *escape) root(x ast.Expr) *types.Var {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return e.root(x.X)
	case *ast.Ident:
		if v, ok := e.info.ObjectOf(x).(*types.Var); ok {
			return v
		}
	case *ast.SelectorExpr:
		if s := e.info.Selections[x]; s != nil && s.Kind() == types.FieldVal {
			// Through an embedded pointer it is another variable; to take the first for
			// the root costs only room.
			if _, ok := underlying(e.info.TypeOf(x.X)).(*types.Pointer); !ok {
				return e.root(x.X)
			}
		}
	case *ast.IndexExpr:
		if mayBeArray(e.info.TypeOf(x.X)) {
			return e.root(x.X)
		}
	}
	return nil
}

func (e *escape) address(x ast.Expr) {
	if v := e.root(x); v != nil {
		u := e.of(v)
		u.addressed, u.changed = true, true
	}
}

func (e *escape) change(x ast.Expr) {
	if x == nil {
		return
	}
	if v := e.root(x); v != nil {
		e.of(v).changed = true
	}
}

// method notes the address that a method with a pointer receiver takes.
func (e *escape) method(x *ast.SelectorExpr) {
	s := e.info.Selections[x]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	f := s.Obj().(*types.Func)
	if r := f.Signature().Recv(); r != nil {
		if _, ok := types.Unalias(r.Type()).(*types.Pointer); ok {
			if _, ok := underlying(e.info.TypeOf(x.X)).(*types.Pointer); !ok {
				e.address(x.X)
			}
		}
	}
}
