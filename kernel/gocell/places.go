package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// The interpreter lets a call, a receive or a composite literal write to where
// an assignment wants its value. It does so also where that is a place which a
// value cannot be written to as it is, and where other values are to be
// assigned beside it, which it then forgets. Such assignments are spelled out.

// direct reports whether the interpreter may write the value of an expression
// to its destination itself.
func direct(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.CallExpr, *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return x.Op == token.ARROW
	}
	return false
}

// receives reports whether x receives from a channel. The interpreter puts what
// comes in the place of the variable, which then takes no other value.
func receives(x ast.Expr) bool {
	u, ok := x.(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW
}

// assignment rewrites an assignment; the result is what takes its place, nil
// where it stays (but maybe changed). alone says that only one statement can
// stand here.
func (l *lowerer) assignment(a *ast.AssignStmt, alone bool) []ast.Stmt {
	if a.Tok != token.ASSIGN && a.Tok != token.DEFINE {
		if _, plain := a.Lhs[0].(*ast.Ident); alone || plain || !hasCall(a.Rhs[0]) {
			return nil
		}
		// The place is found before what is called may change by what.
		if pre := l.holdOperands(a.Lhs, maker{a.Pos()}); pre != nil {
			return append(pre, a)
		}
		return nil
	}
	switch {
	case len(a.Lhs) == 1:
		l.indirect(a)
	case alone:
	case len(a.Rhs) > 1:
		return l.parallel(a)
	default:
		return l.several(a)
	}
	return nil
}

// blanks gives the blank identifier a variable of its own wherever it takes all
// of several results: to the interpreter it is one variable, of the type of what
// it is assigned first.
func (l *lowerer) blanks(a *ast.AssignStmt) {
	if a.Tok == token.ASSIGN && len(a.Lhs) > len(a.Rhs) && !slices.ContainsFunc(a.Lhs, func(x ast.Expr) bool { return !isBlank(x) }) {
		a.Tok = token.DEFINE
		for i, x := range a.Lhs {
			a.Lhs[i] = &ast.Ident{Name: l.tempName(), NamePos: x.Pos()}
		}
	}
}

// blankVars does so for the variables of a declaration.
func (l *lowerer) blankVars(g *ast.GenDecl) {
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

// blankRange does so for a loop.
func (l *lowerer) blankRange(r *ast.RangeStmt) {
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

// indirect keeps the value of a single assignment from being written to its
// place by what makes it.
func (l *lowerer) indirect(a *ast.AssignStmt) {
	r := a.Rhs[0]
	if isBlank(a.Lhs[0]) {
		// All the blanks of a function are one place.
		switch r.(type) {
		case *ast.Ident, *ast.BasicLit, *ast.ParenExpr:
		default:
			a.Rhs[0] = l.apart(r)
		}
		return
	}
	if _, literal := r.(*ast.CompositeLit); literal || receives(r) {
		// Else the variable would not be the one that closures and pointers know,
		// or would be that of an earlier round of the loop.
		a.Rhs[0] = l.apart(r)
		return
	}
	t := l.c.info.Types[a.Lhs[0]].Type
	if t != nil && types.IsInterface(t) {
		r = l.ofOperator(r)
		a.Rhs[0] = r
	}
	if _, isCall := r.(*ast.CallExpr); isCall || a.Tok == token.DEFINE || !direct(r) {
		return
	}
	if _, plain := a.Lhs[0].(*ast.Ident); plain && t != nil && !types.IsInterface(t) {
		return
	}
	a.Rhs[0] = l.apart(r)
}

// ofOperator gives the value of an operator, which becomes an interface, its
// type: the interpreter would store it as it is.
func (l *lowerer) ofOperator(x ast.Expr) ast.Expr {
	switch op := ast.Unparen(x).(type) {
	case *ast.BinaryExpr:
	case *ast.UnaryExpr:
		if op.Op == token.AND || op.Op == token.ARROW {
			return x
		}
	default:
		return x
	}
	tv, ok := l.c.info.Types[x]
	if !ok || tv.Value != nil || tv.Type == nil || types.IsInterface(tv.Type) {
		return x
	}
	pos := x.Pos()
	y := l.convert(x, types.Default(tv.Type), pos)
	l.c.info.Types[y] = tv
	return y
}

// returned does so where a function returns what it receives. It returns the
// statements that evaluate the results where one is made of the named result
// that another one is written to.
func (l *lowerer) returned(x *ast.ReturnStmt, ft *ast.FuncType) (pre []ast.Stmt) {
	for i, r := range x.Results {
		if receives(r) {
			x.Results[i] = l.apart(r)
		}
	}
	if ft == nil || ft.Results == nil || len(x.Results) == 0 {
		return nil
	}
	place := map[types.Object]int{}
	var ts []types.Type
	for _, f := range ft.Results.List {
		for range max(len(f.Names), 1) {
			ts = append(ts, l.c.info.TypeOf(f.Type))
		}
		for i, n := range f.Names {
			place[l.c.info.Defs[n]] = len(ts) - len(f.Names) + i
		}
	}
	m := maker{x.Pos()}
	if tuple, ok := l.c.info.TypeOf(x.Results[0]).(*types.Tuple); ok {
		return l.converted(x, tuple, ts, m)
	}
	crossed := false
	for i, r := range x.Results {
		ast.Inspect(r, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if k, ok := place[l.c.info.Uses[id]]; ok && k != i {
					crossed = true
				}
			}
			return true
		})
	}
	if !crossed {
		return nil
	}
	for i, r := range x.Results {
		if tv := l.c.info.Types[r]; tv.Value != nil || tv.IsNil() {
			continue
		}
		id := m.id(l.tempName())
		pre = append(pre, m.variable(id.Name, l.typeExpr(ts[i], m.pos), r))
		l.c.info.Types[id] = variableOf(ts[i])
		x.Results[i] = id
	}
	return pre
}

// converted holds the results of a call that a function returns as other types.
func (l *lowerer) converted(x *ast.ReturnStmt, tuple *types.Tuple, ts []types.Type, m maker) []ast.Stmt {
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

// holdTuple returns the statement that defines variables of the several values
// of x, and the variables.
func (l *lowerer) holdTuple(x ast.Expr, tuple *types.Tuple, m maker) (hold ast.Stmt, vars []ast.Expr) {
	var names []ast.Expr
	for v := range tuple.Variables() {
		id := m.id(l.tempName())
		l.c.info.Types[id] = variableOf(v.Type())
		names, vars = append(names, m.id(id.Name)), append(vars, id)
	}
	return m.assign(token.DEFINE, names, x), vars
}

// spreadTuple evaluates the several values of the only argument of a call that
// runs later.
func (l *lowerer) spreadTuple(x *ast.CallExpr) ast.Stmt {
	if len(x.Args) != 1 {
		return nil
	}
	tuple, ok := l.c.info.Types[x.Args[0]].Type.(*types.Tuple)
	if !ok {
		return nil
	}
	var hold ast.Stmt
	hold, x.Args = l.holdTuple(x.Args[0], tuple, maker{x.Pos()})
	return hold
}

// apart returns an expression whose value the interpreter makes at a place of
// its own.
func (l *lowerer) apart(x ast.Expr) ast.Expr {
	p := &ast.ParenExpr{Lparen: x.Pos(), X: x, Rparen: x.End()}
	if tv, ok := l.c.info.Types[x]; ok {
		l.c.info.Types[p] = tv
	}
	return p
}

// declared keeps what makes the value of a variable of interface type from
// being written to the variable, which would then hold no other.
func (l *lowerer) declared(v *ast.ValueSpec) {
	if len(v.Values) == 0 && v.Type != nil {
		// The interpreter has no place for a blank one.
		for i, n := range v.Names {
			if isBlank(n) {
				v.Names[i] = &ast.Ident{Name: l.tempName(), NamePos: n.Pos()}
			}
		}
	}
	if len(v.Names) != len(v.Values) {
		return
	}
	iface := v.Type != nil && types.IsInterface(l.c.info.TypeOf(v.Type))
	for i, x := range v.Values {
		_, isCall := x.(*ast.CallExpr)
		_, literal := x.(*ast.CompositeLit)
		switch {
		case isBlank(v.Names[i]) || literal || receives(x) || iface && !isCall && direct(x):
			v.Values[i] = l.apart(x)
		case iface:
			v.Values[i] = l.ofOperator(x)
		}
	}
}

// holdOperands evaluates what the places of an assignment are found by, where
// the assignment may change that.
func (l *lowerer) holdOperands(lhs []ast.Expr, m maker) (pre []ast.Stmt) {
	hold := func(x *ast.Expr) {
		t := l.tempName()
		pre = append(pre, m.define(t, *x))
		id := m.id(t)
		if tv, ok := l.c.info.Types[*x]; ok {
			l.c.info.Types[id] = tv
		}
		*x = id
	}
	pointer := func(x ast.Expr) bool {
		switch l.c.info.TypeOf(x).Underlying().(type) {
		case *types.Pointer, *types.Slice, *types.Map:
			return true
		}
		return false
	}
	var place func(x ast.Expr)
	leads := func(x *ast.Expr) { // to a place
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
			if l.c.info.Selections[x] != nil {
				leads(&x.X)
			}
		case *ast.IndexExpr:
			mt, isMap := l.c.info.TypeOf(x.X).Underlying().(*types.Map)
			leads(&x.X)
			if tv := l.c.info.Types[x.Index]; tv.Value != nil {
				return
			}
			if !isMap {
				hold(&x.Index)
			} else if _, err := l.typeString(mt.Key()); err == nil {
				t := l.tempName()
				pre = append(pre, m.variable(t, l.typeExpr(mt.Key(), m.pos), x.Index))
				x.Index = m.id(t)
			}
		}
	}
	for _, x := range lhs {
		place(x)
	}
	return pre
}

// changesPlace reports whether an assignment gives a variable another value by
// which it finds another of its places: l, l.next = l.next, l.
func (l *lowerer) changesPlace(a *ast.AssignStmt) bool {
	assigned, changes := map[types.Object]bool{}, false
	for _, x := range a.Lhs {
		if id, ok := x.(*ast.Ident); ok {
			assigned[l.c.info.Uses[id]] = true
		}
	}
	for _, x := range a.Lhs {
		if _, ok := x.(*ast.Ident); ok {
			continue
		}
		ast.Inspect(x, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && l.c.info.Uses[id] != nil {
				changes = changes || assigned[l.c.info.Uses[id]]
			}
			return true
		})
	}
	return changes
}

// mayFail reports whether an assignment of several values may fail when some of
// them are assigned: at a place other than the first, where nothing that has
// been evaluated by then would have failed the same way. The interpreter would
// assign none.
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

// accesses returns what may fail when a value is read from an expression, or
// assigned to it: what pointers, indices and maps lead to.
func (l *lowerer) accesses(x ast.Expr, assigned bool) (list []string) {
	for {
		of := func(y ast.Expr) types.Type { return l.c.info.TypeOf(y).Underlying() }
		switch y := ast.Unparen(x).(type) {
		case *ast.StarExpr:
			return append(list, "*"+types.ExprString(y.X))
		case *ast.SelectorExpr:
			sel := l.c.info.Selections[y]
			if sel == nil || sel.Kind() != types.FieldVal {
				return list
			}
			if sel.Indirect() {
				list = append(list, "*"+types.ExprString(y.X))
				if len(sel.Index()) > 1 { // by embedded pointers
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
				if l.c.info.Types[y.Index].Value == nil {
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

// parallel assigns several values one after the other:
// a, b = x, y → t1 := x; t2 := y; a = t1; b = t2.
func (l *lowerer) parallel(a *ast.AssignStmt) []ast.Stmt {
	risky := a.Tok == token.ASSIGN && (l.changesPlace(a) || l.mayFail(a))
	for i, r := range a.Rhs {
		risky = risky || direct(r) || l.c.info.Types[r].IsNil() || isBlank(a.Lhs[i])
	}
	if !risky {
		return nil
	}
	m := maker{a.Pos()}
	var pre, set []ast.Stmt
	if a.Tok == token.ASSIGN {
		pre = l.holdOperands(a.Lhs, m)
	}
	for i, r := range a.Rhs {
		tv := l.c.info.Types[r]
		if tv.Value == nil && !tv.IsNil() && !isBlank(a.Lhs[i]) {
			t := l.tempName()
			pre = append(pre, m.define(t, r))
			id := m.id(t)
			l.c.info.Types[id] = tv
			r = id
		}
		tok := a.Tok
		if id, ok := a.Lhs[i].(*ast.Ident); ok && tok == token.DEFINE && l.c.info.Uses[id] != nil {
			tok = token.ASSIGN
		}
		one := &ast.AssignStmt{Lhs: []ast.Expr{a.Lhs[i]}, TokPos: m.pos, Tok: tok, Rhs: []ast.Expr{r}}
		if isBlank(a.Lhs[i]) {
			one.Tok = token.ASSIGN
			l.indirect(one)
			pre = append(pre, one)
			continue
		}
		set = append(set, one)
	}
	return append(pre, set...)
}

// placeType returns the type of what is assigned to, nil where it is new.
func (l *lowerer) placeType(x ast.Expr) types.Type {
	if id, ok := x.(*ast.Ident); ok && l.c.info.Uses[id] == nil {
		return nil
	}
	return l.c.info.TypeOf(x)
}

// several assigns the values of one expression: an element of a map by a
// statement of its own, which the interpreter forgets, likewise variables that
// are shared, see sharedVars. A failed assertion leaves the zero value.
//
//	m[k], b = x → t := k; t1, t2 := x; m[t] = t1; b = t2
func (l *lowerer) several(a *ast.AssignStmt) []ast.Stmt {
	m := maker{a.Pos()}
	apart := l.mayFail(a)
	values, _ := l.c.info.TypeOf(a.Rhs[0]).(*types.Tuple)
	for i, x := range a.Lhs {
		if t := l.placeType(x); t != nil && values != nil && !isBlank(x) {
			apart = apart || !types.Identical(t, values.At(i).Type()) // a conversion
		}
		if id, ok := x.(*ast.Ident); ok && a.Tok == token.DEFINE {
			apart = apart || l.c.info.Defs[id] != nil && l.shared[l.c.info.Defs[id]]
		} else if ix, ok := x.(*ast.IndexExpr); ok {
			_, isMap := l.c.info.TypeOf(ix.X).Underlying().(*types.Map)
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
				continue
			}
			tok := a.Tok
			if id, ok := x.(*ast.Ident); ok && tok == token.DEFINE && l.c.info.Uses[id] != nil {
				tok = token.ASSIGN
			}
			t := m.id(l.tempName())
			if values != nil {
				l.c.info.Types[t] = variableOf(values.At(i).Type())
			}
			a.Lhs[i] = m.id(t.Name)
			list = append(list, m.assign(tok, []ast.Expr{x}, t))
		}
		a.Tok = token.DEFINE
	}
	if len(list) == 1 {
		return nil
	}
	return list
}

// nameBlanks gives the blank parameters and results of a function names: to the
// interpreter all blanks of a function are one variable.
func (l *lowerer) nameBlanks(t *ast.FuncType) {
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

// zeroResults gives the named results of a function their zero values: the
// interpreter lets them begin as what stands where the caller wants them.
func (l *lowerer) zeroResults(ft *ast.FuncType, body *ast.BlockStmt) {
	if ft.Results == nil {
		return
	}
	m := maker{body.Lbrace}
	var list []ast.Stmt
	for _, f := range ft.Results.List {
		for _, n := range f.Names {
			o := l.c.info.Defs[n]
			if o == nil || n.Name == "_" {
				continue
			}
			var zero ast.Expr
			switch t := o.Type().Underlying().(type) {
			case *types.Basic:
				switch {
				case t.Info()&types.IsString != 0:
					zero = &ast.BasicLit{ValuePos: m.pos, Kind: token.STRING, Value: `""`}
				case t.Kind() == types.UnsafePointer:
					zero = m.id("nil")
				case t.Info()&types.IsBoolean != 0:
					zero = m.id("false")
				default:
					zero = m.num(0)
				}
			case *types.Struct, *types.Array:
				zero = &ast.StarExpr{Star: m.pos, X: call(m.id("new"), m.pos, l.typeExpr(o.Type(), m.pos))}
			default:
				zero = m.id("nil")
				if hasMethods(o.Type()) {
					zero = l.convert(zero, o.Type(), m.pos)
				}
			}
			list = append(list, m.set(n.Name, zero))
		}
	}
	body.List = append(list, body.List...)
}
