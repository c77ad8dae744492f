package compile

import (
	"go/ast"
	"go/token"
	"go/types"

	"dace.local/kernel/gocell/internal/code"
)

// The language orders calls and receive operations, and leaves open when the
// operands beside them are read. Go's compiler makes the calls first, each into a
// temporary variable, and then reads: in x + f() the x is what f has left. && and
// || with calls in them are such a temporary, too.

// An item is a step of evaluating an expression that others may notice.
type item struct {
	e    ast.Expr
	call bool // else it reads what a call may change, or may panic
	// builtin is for what Go's compiler orders with calls: a call of a built-in
	// function, a slice expression, some type assertions.
	builtin bool
}

// orderly compiles the calls in expressions that are evaluated together, from
// left to right, if they have to be made before other parts are read. always is
// to do so wherever there is a call.
func (f *function) orderly(always bool, list ...ast.Expr) []code.Do {
	var items []item
	for _, e := range list {
		if e != nil {
			items = f.items(items, e)
		}
	}
	needed, read := always, false
	for _, i := range items {
		needed = needed || i.call && read
		read = read || !i.call
	}
	if !needed {
		return nil
	}
	var before []code.Do
	for _, i := range items {
		if !i.call && !i.builtin {
			continue
		}
		t := f.typ(i.e)
		if _, ok := t.(*types.Tuple); ok || t == nil {
			continue // the only operand, which is the whole statement
		}
		if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			t = types.Default(t)
		}
		v := f.expr(i.e)
		r := f.rt(t)
		tmp := f.add(r)
		before = append(before, code.Init(code.Slot(tmp), code.AnyInto(v, r)))
		f.hoisted[i.e] = f.load(code.Slot(tmp), t)
	}
	return before
}

// orderlyStmt is orderly for the operands of a statement.
func (f *function) orderlyStmt(s ast.Stmt) []code.Do {
	always, list := f.operandsOf(s)
	return f.orderly(always, list...)
}

// items appends the steps of evaluating e.
//
// Long: one case for each form of expression.
func (f *function) items(to []item, e ast.Expr) []item {
	if tv, ok := f.info.Types[e]; ok && (tv.Value != nil || tv.IsType() || tv.IsNil()) {
		return to
	}
	if _, ok := f.hoisted[e]; ok {
		return to
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.items(to, e.X)
	case *ast.Ident:
		if v, ok := f.info.Uses[e].(*types.Var); ok && !f.private(v) {
			to = append(to, item{e: e})
		}
	case *ast.SelectorExpr:
		s := f.info.Selections[e]
		if s == nil {
			return append(to, item{e: e})
		}
		to = f.items(to, e.X)
		if s.Kind() == types.MethodVal || s.Indirect() {
			to = append(to, item{e: e})
		}
	case *ast.IndexExpr:
		if f.info.Types[e.X].IsValue() {
			to = f.items(f.items(to, e.X), e.Index)
			to = append(to, item{e: e})
		}
	case *ast.SliceExpr:
		to = f.items(to, e.X)
		for _, b := range []ast.Expr{e.Low, e.High, e.Max} {
			if b != nil {
				to = f.items(to, b)
			}
		}
		to = append(to, item{e: e, builtin: true})
	case *ast.StarExpr:
		to = append(f.items(to, e.X), item{e: e})
	case *ast.TypeAssertExpr:
		to = append(f.items(to, e.X), item{e: e, builtin: f.copied(e)})
	case *ast.UnaryExpr:
		if e.Op == token.ARROW {
			return append(to, item{e: e, call: true})
		}
		if e.Op == token.AND {
			return f.addressed(to, ast.Unparen(e.X))
		}
		to = f.items(to, e.X)
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			if f.calls(e) {
				return append(to, item{e: e, call: true})
			}
		}
		to = f.items(f.items(to, e.X), e.Y)
		switch e.Op {
		case token.QUO, token.REM:
			to = append(to, item{e: e})
		case token.SHL, token.SHR:
			if b, ok := f.typ(e.Y).Underlying().(*types.Basic); ok && b.Info()&types.IsUnsigned == 0 && f.info.Types[e.Y].Value == nil {
				to = append(to, item{e: e}) // the count may be negative
			}
		}
	case *ast.CompositeLit:
		for _, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				if f.info.Types[kv.Key].IsValue() {
					to = f.items(to, kv.Key)
				}
				x = kv.Value
			}
			to = f.items(to, x)
		}
	case *ast.CallExpr:
		return f.callItems(to, e)
	}
	return to
}

// addressed appends the steps of taking an address: the variable itself is not
// read.
func (f *function) addressed(to []item, e ast.Expr) []item {
	if _, ok := e.(*ast.Ident); ok {
		return to
	}
	return f.items(to, e)
}

func (f *function) callItems(to []item, e *ast.CallExpr) []item {
	tv := f.info.Types[ast.Unparen(e.Fun)]
	switch {
	case tv.IsType():
		return f.items(to, e.Args[0])
	case tv.IsBuiltin():
		switch builtinName(ast.Unparen(e.Fun)) {
		case "len", "cap", "real", "imag", "complex", "new", "make", "String", "StringData", "Slice", "SliceData", "Add":
			for _, a := range e.Args {
				if !f.info.Types[a].IsType() {
					to = f.items(to, a)
				}
			}
			return append(to, item{e: e, builtin: true})
		}
	}
	return append(to, item{e: e, call: true})
}

// copied reports whether a type assertion gives a copy of what the interface points to,
// or an interface: Go's compiler makes that in the order of calls.
func (f *function) copied(e *ast.TypeAssertExpr) bool {
	return e.Type != nil && f.kind(f.sub(f.info.TypeOf(e.Type))) != code.Ptr
}

// calls reports whether evaluating an expression makes calls.
func (f *function) calls(e ast.Expr) bool {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		return f.calls(b.X) || f.calls(b.Y)
	}
	for _, i := range f.items(nil, e) {
		if i.call {
			return true
		}
	}
	return false
}

// private reports whether a variable is one that nothing but the statements of
// this function can change.
func (f *function) private(v *types.Var) bool {
	if x := f.find(v); x != nil {
		return !x.boxed
	}
	return false
}

// operands are the expressions that a call evaluates: what it calls, and the
// arguments.
func (f *function) operands(e *ast.CallExpr) []ast.Expr {
	list := e.Args
	switch x := stripIndex(ast.Unparen(e.Fun)).(type) {
	case *ast.SelectorExpr:
		if s := f.info.Selections[x]; s != nil && s.Kind() == types.MethodVal {
			m := s.Obj().(*types.Func).Signature().Recv().Type()
			if _, pointer := types.Unalias(m).(*types.Pointer); types.IsInterface(m) || s.Indirect() && (!pointer || len(s.Index()) > 1) {
				return append([]ast.Expr{x}, list...) // which may be nil
			}
			return append([]ast.Expr{x.X}, list...)
		} else if s == nil {
			return list
		}
	case *ast.Ident:
		if _, ok := f.info.Uses[x].(*types.Func); ok {
			return list
		}
	}
	return append([]ast.Expr{e.Fun}, list...)
}
