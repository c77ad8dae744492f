package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"dace.local/kernel/gocell/internal/syntax"
)

// The interpreter lets a call, a receive or a composite literal store its value
// straight into the destination of an assignment. That is wrong if the
// destination needs a conversion, is shared with a closure or pointer, or is
// one of several. Such assignments are split, or the value is put in
// parentheses, which gives it a place of its own.

// storesInPlace reports whether the interpreter may store the value of x
// straight into its destination.
func storesInPlace(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.CallExpr, *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return x.Op == token.ARROW
	}
	return false
}

// receives reports whether x receives from a channel. The interpreter replaces
// the variable that it receives into, whose closures and pointers then keep the
// old one.
func receives(x ast.Expr) bool {
	u, ok := x.(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW
}

// nameBlankTargets replaces the blanks on the left side by new variables if all
// results of a call are discarded. The interpreter keeps one variable for all
// blanks, with the type of its first value.
func (l *lowerer) nameBlankTargets(a *ast.AssignStmt) {
	if a.Tok == token.ASSIGN && len(a.Lhs) > len(a.Rhs) && !slices.ContainsFunc(a.Lhs, func(x ast.Expr) bool { return !isBlank(x) }) {
		a.Tok = token.DEFINE
		for i, x := range a.Lhs {
			a.Lhs[i] = &ast.Ident{Name: l.tempName(), NamePos: x.Pos()}
		}
	}
}

// nameBlankVars replaces blanks in a var declaration with several results by new
// variables.
func (l *lowerer) nameBlankVars(g *ast.GenDecl) {
	for _, s := range g.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && g.Tok == token.VAR && len(v.Names) > len(v.Values) {
			for i, n := range v.Names {
				if isBlank(n) {
					v.Names[i] = &ast.Ident{Name: l.tempName(), NamePos: n.Pos()}
				}
			}
		}
	}
}

// nameBlankKey drops blank loop variables, or replaces a blank key beside a value
// by a new variable.
func (l *lowerer) nameBlankKey(r *ast.RangeStmt) {
	if r.Value != nil && isBlank(r.Value) {
		r.Value = nil
	}
	switch {
	case r.Key == nil || !isBlank(r.Key):
	case r.Value == nil:
		r.Key, r.Tok = nil, token.ILLEGAL
	case r.Tok == token.DEFINE:
		r.Key = &ast.Ident{Name: l.tempName(), NamePos: r.Key.Pos()}
	}
}

// detachSingle detaches the value of an assignment to one variable if the
// interpreter would store it there in the wrong form.
func (l *lowerer) detachSingle(a *ast.AssignStmt) {
	r := a.Rhs[0]
	if isBlank(a.Lhs[0]) {
		// The interpreter keeps one variable for all blanks of a function.
		switch r.(type) {
		case *ast.Ident, *ast.BasicLit, *ast.ParenExpr:
		default:
			a.Rhs[0] = l.detach(r)
		}
		return
	}
	if _, literal := r.(*ast.CompositeLit); literal || receives(r) {
		// Otherwise the variable would be replaced, and closures and pointers
		// keep the old one, or that of an earlier round of the loop.
		a.Rhs[0] = l.detach(r)
		return
	}
	t := l.c.Info.Types[a.Lhs[0]].Type
	if t != nil && types.IsInterface(t) {
		r = l.typeOperator(r)
		a.Rhs[0] = r
	}
	_, isCall := r.(*ast.CallExpr)
	if isCall && (a.Tok == token.ASSIGN || l.function().typ == nil) && l.isFunc(r) {
		a.Rhs[0] = l.detach(r) // a compiled function's result would replace the variable
		return
	}
	if isCall || a.Tok == token.DEFINE || !storesInPlace(r) {
		return
	}
	if _, plain := a.Lhs[0].(*ast.Ident); plain && t != nil && !types.IsInterface(t) {
		return
	}
	a.Rhs[0] = l.detach(r)
}

// isFunc reports whether an expression's value is a function.
func (l *lowerer) isFunc(x ast.Expr) bool {
	t := l.c.Info.TypeOf(x)
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// typeOperator converts the value of an operator to its own type before it is
// boxed. The interpreter would box it without one.
func (l *lowerer) typeOperator(x ast.Expr) ast.Expr {
	switch op := ast.Unparen(x).(type) {
	case *ast.BinaryExpr:
	case *ast.UnaryExpr:
		if op.Op == token.AND || op.Op == token.ARROW {
			return x
		}
	default:
		return x
	}
	tv, ok := l.c.Info.Types[x]
	if !ok || tv.Value != nil || tv.Type == nil || types.IsInterface(tv.Type) {
		return x
	}
	pos := x.Pos()
	y := l.convert(x, types.Default(tv.Type), pos)
	l.c.Info.Types[y] = tv
	return y
}

// holdCrossed detaches received values that are returned. It returns the
// statements that evaluate the results first if a result reads a named result
// that another one sets, or a deferred call can see one that is set when the
// evaluation of the next one panics.
func (l *lowerer) holdCrossed(x *ast.ReturnStmt) (pre []ast.Stmt) {
	f := l.function()
	ft := f.typ
	for i, r := range x.Results {
		if receives(r) {
			x.Results[i] = l.detach(r)
		}
	}
	if ft == nil || ft.Results == nil || len(x.Results) == 0 {
		return nil
	}
	place := map[types.Object]int{}
	var ts []types.Type
	for _, f := range ft.Results.List {
		for range max(len(f.Names), 1) {
			ts = append(ts, l.c.Info.TypeOf(f.Type))
		}
		for i, n := range f.Names {
			place[l.c.Info.Defs[n]] = len(ts) - len(f.Names) + i
		}
	}
	m := syntax.At(x.Pos())
	if tuple, ok := l.c.Info.TypeOf(x.Results[0]).(*types.Tuple); ok {
		return l.holdConverted(x, tuple, ts, m)
	}
	crossed := false
	for i, r := range x.Results {
		ast.Inspect(r, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if k, ok := place[l.c.Info.Uses[id]]; ok && k != i {
					crossed = true
				}
			}
			return true
		})
	}
	if !crossed && !(f.defers && len(place) > 0 && l.panicsBetween(x.Results)) {
		return nil
	}
	for i, r := range x.Results {
		if tv := l.c.Info.Types[r]; tv.Value != nil || tv.IsNil() {
			continue
		}
		id := m.Ident(l.tempName())
		pre = append(pre, m.Variable(id.Name, l.typeExpr(ts[i], m.Pos), r))
		l.c.Info.Types[id] = variableOf(ts[i])
		x.Results[i] = id
	}
	return pre
}

// panicsBetween reports whether an expression may panic when the interpreter has
// stored the value of one before it.
func (l *lowerer) panicsBetween(list []ast.Expr) bool {
	stored := false
	for _, x := range list {
		if stored && mayPanic(x) {
			return true
		}
		switch ast.Unparen(x).(type) {
		case *ast.Ident, *ast.CompositeLit, *ast.FuncLit:
		default:
			stored = stored || l.c.Info.Types[x].Value == nil
		}
	}
	return false
}

// mayPanic reports whether the evaluation of an expression may panic.
func mayPanic(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.SelectorExpr, *ast.TypeAssertExpr:
			found = true
		case *ast.BinaryExpr:
			found = found || n.Op == token.QUO || n.Op == token.REM || n.Op == token.SHL || n.Op == token.SHR || n.Op == token.EQL || n.Op == token.NEQ
		}
		return !found
	})
	return found
}

// holdConverted assigns the results of a call to variables if a function returns
// them as other types.
func (l *lowerer) holdConverted(x *ast.ReturnStmt, tuple *types.Tuple, ts []types.Type, m syntax.Builder) []ast.Stmt {
	same := true
	for i, want := range ts {
		same = same && types.Identical(tuple.At(i).Type(), want)
	}
	if same {
		return nil
	}
	var hold ast.Stmt
	hold, x.Results = l.holdTuple(x.Results[0], tuple, m)
	return []ast.Stmt{hold}
}

// holdTuple returns the statement that assigns the results of x to new
// variables, and the variables.
func (l *lowerer) holdTuple(x ast.Expr, tuple *types.Tuple, m syntax.Builder) (hold ast.Stmt, vars []ast.Expr) {
	var names []ast.Expr
	for v := range tuple.Variables() {
		id := m.Ident(l.tempName())
		l.c.Info.Types[id] = variableOf(v.Type())
		names, vars = append(names, m.Ident(id.Name)), append(vars, id)
	}
	return m.Assign(token.DEFINE, names, x), vars
}

// spreadTuple returns the statement that evaluates the arguments of a go or
// defer call, if these are the results of one call.
func (l *lowerer) spreadTuple(x *ast.CallExpr) ast.Stmt {
	if len(x.Args) != 1 {
		return nil
	}
	tuple, ok := l.c.Info.Types[x.Args[0]].Type.(*types.Tuple)
	if !ok {
		return nil
	}
	var hold ast.Stmt
	hold, x.Args = l.holdTuple(x.Args[0], tuple, syntax.At(x.Pos()))
	return hold
}

// detach puts x in parentheses: the interpreter then stores its value in a place
// of its own first.
func (l *lowerer) detach(x ast.Expr) ast.Expr {
	p := &ast.ParenExpr{Lparen: x.Pos(), X: x, Rparen: x.End()}
	if tv, ok := l.c.Info.Types[x]; ok {
		l.c.Info.Types[p] = tv
	}
	return p
}

// detachDeclared detaches or converts the values of a var declaration that the
// interpreter would store in the variables in the wrong form.
func (l *lowerer) detachDeclared(v *ast.ValueSpec) {
	if len(v.Values) == 0 && v.Type != nil {
		// The interpreter allocates no variable for a blank without a value.
		for i, n := range v.Names {
			if isBlank(n) {
				v.Names[i] = &ast.Ident{Name: l.tempName(), NamePos: n.Pos()}
			}
		}
	}
	if len(v.Names) != len(v.Values) {
		return
	}
	iface := v.Type != nil && types.IsInterface(l.c.Info.TypeOf(v.Type))
	for i, x := range v.Values {
		_, isCall := x.(*ast.CallExpr)
		_, literal := x.(*ast.CompositeLit)
		switch {
		case isBlank(v.Names[i]) || literal || isCall && l.isFunc(x) || receives(x) || iface && !isCall && storesInPlace(x):
			v.Values[i] = l.detach(x)
		case iface:
			v.Values[i] = l.typeOperator(x)
		}
	}
}

// holdOperands assigns the operands of the left side (pointers, slices, maps
// and indices) to variables, and returns these statements.
func (l *lowerer) holdOperands(lhs []ast.Expr, m syntax.Builder) (pre []ast.Stmt) {
	hold := func(x *ast.Expr) {
		t := l.tempName()
		pre = append(pre, m.Define(t, *x))
		id := m.Ident(t)
		if tv, ok := l.c.Info.Types[*x]; ok {
			l.c.Info.Types[id] = tv
		}
		*x = id
	}
	pointer := func(x ast.Expr) bool {
		switch l.c.Info.TypeOf(x).Underlying().(type) {
		case *types.Pointer, *types.Slice, *types.Map:
			return true
		}
		return false
	}
	var place func(x ast.Expr)
	leads := func(x *ast.Expr) { // the operand by which a place is found
		if pointer(*x) {
			hold(x)
		} else {
			place(*x)
		}
	}
	place = func(x ast.Expr) {
		switch x := x.(type) {
		case *ast.ParenExpr:
			place(x.X)
		case *ast.StarExpr:
			hold(&x.X)
		case *ast.SelectorExpr:
			if l.c.Info.Selections[x] != nil {
				leads(&x.X)
			}
		case *ast.IndexExpr:
			mt, isMap := l.c.Info.TypeOf(x.X).Underlying().(*types.Map)
			leads(&x.X)
			if tv := l.c.Info.Types[x.Index]; tv.Value != nil {
				return
			}
			if !isMap {
				hold(&x.Index)
			} else if _, err := l.typeString(mt.Key()); err == nil {
				t := l.tempName()
				pre = append(pre, m.Variable(t, l.typeExpr(mt.Key(), m.Pos), x.Index))
				x.Index = m.Ident(t)
			}
		}
	}
	for _, x := range lhs {
		place(x)
	}
	return pre
}

// changesPlace reports whether an assignment changes a variable that is an
// operand of another destination: l, l.next = l.next, l.
func (l *lowerer) changesPlace(a *ast.AssignStmt) bool {
	assigned, changes := map[types.Object]bool{}, false
	for _, x := range a.Lhs {
		if id, ok := x.(*ast.Ident); ok {
			assigned[l.c.Info.Uses[id]] = true
		}
	}
	for _, x := range a.Lhs {
		if _, ok := x.(*ast.Ident); ok {
			continue
		}
		ast.Inspect(x, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && l.c.Info.Uses[id] != nil {
				changes = changes || assigned[l.c.Info.Uses[id]]
			}
			return true
		})
	}
	return changes
}

// mayFail reports whether a tuple assignment may panic after its first
// destination is assigned, at a destination that nothing evaluated before would
// have panicked at. The interpreter would assign none.
func (l *lowerer) mayFail(a *ast.AssignStmt) bool {
	if a.Tok != token.ASSIGN {
		return false
	}
	done := map[string]bool{}
	for _, r := range a.Rhs {
		for _, s := range l.accesses(r, false) {
			done[s] = true
		}
	}
	for i, x := range a.Lhs {
		for _, s := range l.accesses(x, true) {
			if i > 0 && (!done[s] || hasCall(x)) {
				return true
			}
			done[s] = true
		}
	}
	return false
}

// accesses returns the dereferences and index operations in x that may panic
// when x is read, or assigned to.
func (l *lowerer) accesses(x ast.Expr, assigned bool) (list []string) {
	for {
		of := func(y ast.Expr) types.Type { return l.c.Info.TypeOf(y).Underlying() }
		switch y := ast.Unparen(x).(type) {
		case *ast.StarExpr:
			return append(list, "*"+types.ExprString(y.X))
		case *ast.SelectorExpr:
			sel := l.c.Info.Selections[y]
			if sel == nil || sel.Kind() != types.FieldVal {
				return list
			}
			if sel.Indirect() {
				list = append(list, "*"+types.ExprString(y.X))
				if len(sel.Index()) > 1 { // through embedded pointers
					list = append(list, types.ExprString(y))
				}
			}
			x = y.X
		case *ast.IndexExpr:
			switch of(y.X).(type) {
			case *types.Map:
				if assigned {
					list = append(list, types.ExprString(y.X))
				}
				return list
			case *types.Array:
				if l.c.Info.Types[y.Index].Value == nil {
					list = append(list, types.ExprString(y))
				}
			default:
				return append(list, types.ExprString(y))
			}
			x, assigned = y.X, false
		default:
			return list
		}
	}
}

// assignParallel splits a tuple assignment:
func (l *lowerer) assignParallel(a *ast.AssignStmt) []ast.Stmt {
	risky := a.Tok == token.ASSIGN && (l.changesPlace(a) || l.mayFail(a))
	for i, r := range a.Rhs {
		if id, ok := a.Lhs[i].(*ast.Ident); ok && a.Tok == token.DEFINE {
			risky = risky || l.c.Info.Uses[id] != nil // z, v := w, z changes z first
		}
		risky = risky || storesInPlace(r) || l.c.Info.Types[r].IsNil() || isBlank(a.Lhs[i])
	}
	if !risky {
		return nil
	}
	m := syntax.At(a.Pos())
	var pre, set []ast.Stmt
	if a.Tok == token.ASSIGN {
		pre = l.holdOperands(a.Lhs, m)
	}
	for i, r := range a.Rhs {
		tv := l.c.Info.Types[r]
		if tv.Value == nil && !tv.IsNil() && !isBlank(a.Lhs[i]) {
			t := l.tempName()
			pre = append(pre, m.Define(t, r))
			id := m.Ident(t)
			l.c.Info.Types[id] = tv
			r = id
		}
		tok := a.Tok
		if id, ok := a.Lhs[i].(*ast.Ident); ok && tok == token.DEFINE && l.c.Info.Uses[id] != nil {
			tok = token.ASSIGN
		}
		one := &ast.AssignStmt{Lhs: []ast.Expr{a.Lhs[i]}, TokPos: m.Pos, Tok: tok, Rhs: []ast.Expr{r}}
		if isBlank(a.Lhs[i]) {
			one.Tok = token.ASSIGN
			l.detachSingle(one)
			pre = append(pre, one)
			continue
		}
		set = append(set, one)
	}
	return append(pre, set...)
}

// placeType returns the type of a destination, nil if the statement defines it.
func (l *lowerer) placeType(x ast.Expr) types.Type {
	if id, ok := x.(*ast.Ident); ok && l.c.Info.Uses[id] == nil {
		return nil
	}
	return l.c.Info.TypeOf(x)
}

// assignTuple splits the assignment of one call's results, if a destination is an
// element of a map, a shared variable (see capturedVars) or of another type. The
// interpreter skips map elements, and panics where what it receives is for
// variables of the session. A failed assertion leaves the zero value.
//
//	m[k], b = x → t := k; t1, t2 := x; m[t] = t1; b = t2
func (l *lowerer) assignTuple(a *ast.AssignStmt) []ast.Stmt {
	m := syntax.At(a.Pos())
	apart := l.mayFail(a) || receives(a.Rhs[0]) && (a.Tok == token.ASSIGN || l.function().typ == nil)
	values, _ := l.c.Info.TypeOf(a.Rhs[0]).(*types.Tuple)
	for i, x := range a.Lhs {
		if t := l.placeType(x); t != nil && values != nil && !isBlank(x) {
			apart = apart || !types.Identical(t, values.At(i).Type()) // a conversion
		}
		if id, ok := x.(*ast.Ident); ok && a.Tok == token.DEFINE {
			apart = apart || l.c.Info.Defs[id] != nil && l.captured[l.c.Info.Defs[id]]
		} else if ix, ok := x.(*ast.IndexExpr); ok {
			_, isMap := l.c.Info.TypeOf(ix.X).Underlying().(*types.Map)
			apart = apart || isMap
		}
	}
	list := []ast.Stmt{a}
	if apart {
		if a.Tok == token.ASSIGN {
			list = append(l.holdOperands(a.Lhs, m), a)
		}
		for i, x := range a.Lhs {
			if isBlank(x) {
				a.Lhs[i] = m.Ident(l.tempName()) // the interpreter keeps one variable for all blanks
				continue
			}
			tok := a.Tok
			if id, ok := x.(*ast.Ident); ok && tok == token.DEFINE && l.c.Info.Uses[id] != nil {
				tok = token.ASSIGN
			}
			t := m.Ident(l.tempName())
			if values != nil {
				l.c.Info.Types[t] = variableOf(values.At(i).Type())
			}
			a.Lhs[i] = m.Ident(t.Name)
			list = append(list, m.Assign(tok, []ast.Expr{x}, t))
		}
		a.Tok = token.DEFINE
	}
	if len(list) == 1 {
		return nil
	}
	return list
}

// nameBlankParams names blank parameters and results. The interpreter keeps one
// variable for all blanks of a function.
func (l *lowerer) nameBlankParams(t *ast.FuncType) {
	for _, list := range []*ast.FieldList{t.Params, t.Results} {
		if list == nil {
			continue
		}
		for _, f := range list.List {
			for _, n := range f.Names {
				if n.Name == "_" {
					n.Name = l.tempName()
				}
			}
		}
	}
}

// zeroResults assigns zero to the named results at the start of a function. The
// interpreter starts with the values in the caller's destination.
func (l *lowerer) zeroResults(ft *ast.FuncType, body *ast.BlockStmt) {
	if ft.Results == nil {
		return
	}
	m := syntax.At(body.Lbrace)
	var list []ast.Stmt
	for _, f := range ft.Results.List {
		for _, n := range f.Names {
			o := l.c.Info.Defs[n]
			if o == nil || n.Name == "_" {
				continue
			}
			var zero ast.Expr
			switch t := o.Type().Underlying().(type) {
			case *types.Basic:
				switch {
				case t.Info()&types.IsString != 0:
					zero = &ast.BasicLit{ValuePos: m.Pos, Kind: token.STRING, Value: `""`}
				case t.Kind() == types.UnsafePointer:
					zero = m.Ident("nil")
				case t.Info()&types.IsBoolean != 0:
					zero = m.Ident("false")
				default:
					zero = m.Int(0)
				}
			case *types.Struct, *types.Array:
				zero = &ast.StarExpr{Star: m.Pos, X: syntax.Call(m.Ident("new"), m.Pos, l.typeExpr(o.Type(), m.Pos))}
			default:
				zero = m.Ident("nil")
				if hasMethods(o.Type()) {
					zero = l.convert(zero, o.Type(), m.Pos)
				}
			}
			list = append(list, m.Set(n.Name, zero))
		}
	}
	body.List = append(list, body.List...)
}
