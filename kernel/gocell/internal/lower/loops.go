package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// Loops, select statements and the variables that closures share are rewritten
// to simpler statements, which the interpreter gets right.

// capturedVars returns the local variables below n that a closure uses or whose
// address is taken: they may outlive the round of a loop that defines them.
func capturedVars(n ast.Node, info *types.Info) map[types.Object]bool {
	shared := map[types.Object]bool{}
	root := func(x ast.Expr) {
		for {
			switch y := ast.Unparen(x).(type) {
			case *ast.SelectorExpr:
				x = y.X
			case *ast.IndexExpr:
				x = y.X
			case *ast.Ident:
				if o := info.Uses[y]; o != nil {
					shared[o] = true
				}
				return
			default:
				return
			}
		}
	}
	var lits []*ast.FuncLit
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncLit:
			lits = append(lits, x)
			ast.Inspect(x.Body, visit)
			lits = lits[:len(lits)-1]
			return false
		case *ast.Ident:
			if v, ok := info.Uses[x].(*types.Var); ok && len(lits) > 0 && !v.IsField() {
				if l := lits[len(lits)-1]; v.Pos() < l.Pos() || v.Pos() >= l.End() {
					shared[v] = true
				}
			}
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				root(x.X)
			}
		case *ast.SliceExpr:
			root(x.X)
		case *ast.SelectorExpr:
			if s := info.Selections[x]; s != nil && s.Kind() == types.MethodVal {
				root(x.X)
			}
		}
		return true
	}
	ast.Inspect(n, visit)
	return shared
}

// splitFor moves the init statement of a loop in front of it. The interpreter
// executes it in each round, or copies its variables so that the post statement
// changes the old ones:
//
//	{ init; for cond; post { body } }
//
// If closures or pointers share the variables, each round gets its own:
//
//	{
//		i := 0
//		p, first := &i, true
//		for {
//			i := *p
//			p = &i
//			if first { first = false } else { post }
//			if !cond { break }
//			body
//		}
//	}
//
// It returns nil if the loop has no init statement and the post statement stays
// one statement.
func (l *lowerer) splitFor(x *ast.ForStmt) *ast.BlockStmt {
	m := syntax.At(x.Pos())
	post := l.rewriteSimple(x.Post)
	if x.Init == nil && len(post) < 2 {
		return nil
	}
	var names []ast.Expr
	if a, ok := x.Init.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
		names = slices.Clone(a.Lhs)
	}
	list := l.rewriteSimple(x.Init)
	var rounds, body []ast.Stmt
	for _, y := range names {
		id, ok := y.(*ast.Ident)
		if !ok || !l.captured[l.c.Info.Defs[id]] || l.c.Info.Defs[id] == nil {
			continue
		}
		p := l.tempName()
		list = append(list, m.Define(p, &ast.UnaryExpr{OpPos: m.Pos, Op: token.AND, X: m.Ident(id.Name)}))
		rounds = append(rounds, m.Define(id.Name, &ast.StarExpr{Star: m.Pos, X: m.Ident(p)}), m.Set(p, &ast.UnaryExpr{OpPos: m.Pos, Op: token.AND, X: m.Ident(id.Name)}))
	}
	x.Init = nil
	if len(rounds) > 0 || len(post) > 1 {
		body = rounds
		if x.Post != nil {
			first := l.tempName()
			list = append(list, m.Define(first, m.Ident("true")))
			body = append(body, &ast.IfStmt{If: m.Pos, Cond: m.Ident(first), Body: m.Block(m.Set(first, m.Ident("false"))), Else: m.Block(post...)})
			x.Post = nil
		}
		if x.Cond != nil {
			body = append(body, m.If(&ast.UnaryExpr{OpPos: x.Cond.Pos(), Op: token.NOT, X: &ast.ParenExpr{Lparen: x.Cond.Pos(), X: x.Cond, Rparen: x.Cond.End()}},
				&ast.BranchStmt{TokPos: m.Pos, Tok: token.BREAK}))
			x.Cond = nil
		}
		x.Body = &ast.BlockStmt{Lbrace: x.Body.Lbrace, List: append(body, x.Body), Rbrace: x.Body.Rbrace}
	}
	return m.Block(append(list, x)...)
}

// rewriteSimple returns the statements that an init or post statement is
// rewritten to, none for nil.
func (l *lowerer) rewriteSimple(s ast.Stmt) []ast.Stmt {
	if s == nil {
		return nil
	}
	if a, ok := s.(*ast.AssignStmt); ok {
		if list := l.assignment(a); list != nil {
			return list
		}
	}
	return []ast.Stmt{s}
}

// splitSelect splits a select statement: the select chooses a clause, and a
// switch executes it. The interpreter has no break in a select. Operands are
// evaluated before the select, each once, in order:
//
//	{
//		c1 := ch1; c2 := ch2; var s S = x
//		var k int; var v V; var ok bool
//		select { case t, o := <-c1: k, v, ok = 0, t, o; case c2 <- s: k = 1; ... }
//		switch k { case 0: x, ok := v, ok; ...; case 1: ... }
//	}
func (l *lowerer) splitSelect(x *ast.SelectStmt) *ast.BlockStmt {
	if len(x.Body.List) == 0 {
		return nil
	}
	m := syntax.At(x.Pos())
	k := l.tempName()
	pre := []ast.Stmt{m.Variable(k, m.Ident("int"))}
	choice := &ast.SwitchStmt{Switch: m.Pos, Tag: m.Ident(k), Body: &ast.BlockStmt{Lbrace: x.Body.Lbrace, Rbrace: x.Body.Rbrace}}
	calls := slices.ContainsFunc(x.Body.List, operandCalls)
	for i, s := range x.Body.List {
		cc := s.(*ast.CommClause)
		m := syntax.At(cc.Pos())
		body := cc.Body
		cc.Body = nil
		hold := func(y ast.Expr) ast.Expr {
			if id, ok := ast.Unparen(y).(*ast.Ident); ok && !calls {
				return id // no operand changes it
			}
			t := l.tempName()
			pre = append(pre, m.Define(t, y))
			return m.Ident(t)
		}
		elem := func(ch ast.Expr) ast.Expr {
			return l.typeExpr(l.c.Info.TypeOf(ch).Underlying().(*types.Chan).Elem(), m.Pos)
		}
		switch c := cc.Comm.(type) {
		case *ast.SendStmt:
			t, te := l.tempName(), elem(c.Chan)
			c.Chan = hold(c.Chan)
			pre = append(pre, m.Variable(t, te, c.Value))
			c.Value = m.Ident(t)
		case *ast.ExprStmt:
			u := ast.Unparen(c.X).(*ast.UnaryExpr)
			u.X = hold(u.X)
			c.X = u
		case *ast.AssignStmt:
			u := ast.Unparen(c.Rhs[0]).(*ast.UnaryExpr)
			te := elem(u.X)
			u.X = hold(u.X)
			var list []ast.Stmt
			lhs := make([]ast.Expr, len(c.Lhs))
			for i, y := range c.Lhs {
				lhs[i] = m.Ident(l.tempName())
				if isBlank(y) {
					continue
				}
				v := l.tempName()
				if i > 0 {
					te = m.Ident("bool")
				}
				pre = append(pre, m.Variable(v, te))
				cc.Body = append(cc.Body, m.Assign(token.ASSIGN, []ast.Expr{m.Ident(v)}, lhs[i]))
				tok := c.Tok
				list = append(list, m.Assign(tok, []ast.Expr{y}, m.Ident(v)))
			}
			cc.Comm = &ast.AssignStmt{Lhs: lhs, TokPos: c.TokPos, Tok: token.DEFINE, Rhs: []ast.Expr{u}}
			body = append(list, body...)
		}
		if i > 0 || cc.Body == nil { // k is 0 already
			cc.Body = append(cc.Body, m.Set(k, m.Int(i)))
		}
		choice.Body.List = append(choice.Body.List, &ast.CaseClause{Case: m.Pos, List: []ast.Expr{m.Int(i)}, Colon: m.Pos, Body: body})
	}
	return m.Block(append(pre, x, choice)...)
}

// operandCalls reports whether an operand of a clause of a select, which is
// evaluated before the choice, calls a function or receives.
func operandCalls(clause ast.Stmt) bool {
	switch c := clause.(*ast.CommClause).Comm.(type) {
	case *ast.SendStmt:
		return hasCall(c.Chan) || hasCall(c.Value)
	case *ast.ExprStmt:
		return hasCall(ast.Unparen(c.X).(*ast.UnaryExpr).X)
	case *ast.AssignStmt:
		return hasCall(ast.Unparen(c.Rhs[0]).(*ast.UnaryExpr).X)
	}
	return false
}

// fallsPastDefault reports whether a switch has a default clause before other
// clauses, and a fallthrough. The interpreter moves default to the end.
func fallsPastDefault(x *ast.SwitchStmt) bool {
	past, falls := false, false
	for i, s := range x.Body.List {
		c := s.(*ast.CaseClause)
		past = past || c.List == nil && i < len(x.Body.List)-1
		if n := len(c.Body); n > 0 {
			b, ok := c.Body[n-1].(*ast.BranchStmt)
			falls = falls || ok && b.Tok == token.FALLTHROUGH
		}
	}
	return past && falls
}

// defaultLast moves the default clause of a switch behind the others, into none of
// which it falls through. The interpreter exchanges it with the last one, which is
// then asked before those between.
func defaultLast(x *ast.SwitchStmt) {
	list := x.Body.List
	for i, s := range list {
		if s.(*ast.CaseClause).List == nil {
			copy(list[i:], list[i+1:])
			list[len(list)-1] = s
			return
		}
	}
}

// chooseThenRun splits a switch without an init statement: one switch chooses the
// clause, a second one executes it.
func (l *lowerer) chooseThenRun(x *ast.SwitchStmt) []ast.Stmt {
	m := syntax.At(x.Pos())
	k := l.tempName()
	run := &ast.SwitchStmt{Switch: m.Pos, Tag: m.Ident(k), Body: &ast.BlockStmt{Lbrace: x.Body.Lbrace, Rbrace: x.Body.Rbrace}}
	for i, s := range x.Body.List {
		c := s.(*ast.CaseClause)
		run.Body.List = append(run.Body.List, &ast.CaseClause{Case: c.Case, List: []ast.Expr{m.Int(i)}, Colon: c.Colon, Body: c.Body})
		c.Body = []ast.Stmt{m.Set(k, m.Int(i))}
	}
	defaultLast(x)
	return []ast.Stmt{m.Variable(k, m.Ident("int")), x, run}
}

// comparesOtherwise reports whether the tag of a switch is an interface, or a number
// whose constants the interpreter takes for float64s, whether it and a case differ in
// type, a case is nil, or an expression after the first of a case must be evaluated.
// The interpreter compares values of one type only, and evaluates only the first
// expression of a case.
func (l *lowerer) comparesOtherwise(x *ast.SwitchStmt) bool {
	if x.Tag == nil {
		return false
	}
	t := types.Default(l.c.Info.TypeOf(x.Tag))
	if b, ok := t.Underlying().(*types.Basic); types.IsInterface(t) || ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 {
		return true
	}
	for _, s := range x.Body.List {
		for i, e := range s.(*ast.CaseClause).List {
			tv := l.c.Info.Types[e]
			if i > 0 && tv.Value == nil || tv.IsNil() || !types.Identical(t, types.Default(tv.Type)) {
				return true
			}
		}
	}
	return false
}

// untag rewrites the cases of a switch to conditions, and returns the
// statement that defines the variable which holds the tag:
//
//	var t T = tag; switch { case t == a: ... }
func (l *lowerer) untag(x *ast.SwitchStmt) ast.Stmt {
	m := syntax.At(x.Tag.Pos())
	t := types.Default(l.c.Info.TypeOf(x.Tag))
	name := l.tempName()
	define := m.Variable(name, l.typeExpr(t, m.Pos), x.Tag)
	x.Tag = nil
	for _, s := range x.Body.List {
		c := s.(*ast.CaseClause)
		for i, e := range c.List {
			id := syntax.At(e.Pos()).Ident(name)
			l.c.Info.Types[id] = variableOf(t)
			eq := &ast.BinaryExpr{X: id, OpPos: e.Pos(), Op: token.EQL, Y: e}
			l.c.Info.Types[eq] = variableOf(types.Typ[types.Bool])
			l.unifyTypes(eq)
			c.List[i] = eq
		}
	}
	return define
}

// joinConditions joins the conditions of a case by ||, in a switch without a
// tag. The interpreter looks at the first only.
func (l *lowerer) joinConditions(x *ast.SwitchStmt) {
	for _, s := range x.Body.List {
		c := s.(*ast.CaseClause)
		for len(c.List) > 1 {
			a, b := c.List[0], c.List[1]
			or := &ast.BinaryExpr{X: &ast.ParenExpr{Lparen: a.Pos(), X: a, Rparen: a.End()}, OpPos: b.Pos(), Op: token.LOR, Y: &ast.ParenExpr{Lparen: b.Pos(), X: b, Rparen: b.End()}}
			l.c.Info.Types[or], l.c.Info.Types[or.X] = variableOf(types.Universe.Lookup("bool").Type()), l.c.Info.Types[a]
			l.callLeftOperand(or)
			c.List = append([]ast.Expr{or}, c.List[2:]...)
		}
	}
}

// encloseShadowing puts the body of a loop into a block of its own if it
// defines a variable with the name of a loop variable. The interpreter takes
// them for one.
func encloseShadowing(body *ast.BlockStmt, vars ...ast.Expr) {
	defined := check.DefinedBy(body)
	if slices.ContainsFunc(vars, func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		return ok && defined[id.Name]
	}) {
		body.List = []ast.Stmt{&ast.BlockStmt{Lbrace: body.Lbrace, List: body.List, Rbrace: body.Rbrace}}
	}
}

// sliceRangeArray rewrites a range over a pointer to an array, with values, to a
// range over a slice of the array. The interpreter would copy the array.
func (l *lowerer) sliceRangeArray(r *ast.RangeStmt) {
	if r.Value == nil || isBlank(r.Value) {
		return
	}
	info := l.c.Info
	pointed := func(x ast.Expr) *types.Array {
		p, ok := info.TypeOf(x).Underlying().(*types.Pointer)
		if !ok {
			return nil
		}
		a, _ := p.Elem().Underlying().(*types.Array)
		return a
	}
	t := info.TypeOf(r.X)
	if t == nil {
		return
	}
	if a := pointed(r.X); a != nil {
		pos := r.X.Pos()
		var array ast.Expr = &ast.StarExpr{Star: pos, X: r.X}
		if u, ok := ast.Unparen(r.X).(*ast.UnaryExpr); ok {
			array = u.X // &array
		}
		s := &ast.SliceExpr{X: &ast.ParenExpr{Lparen: pos, X: array, Rparen: pos}, Lbrack: pos, Rbrack: pos}
		info.Types[s.X] = variableOf(a)
		info.Types[array] = variableOf(a)
		r.X = s
		info.Types[s] = variableOf(types.NewSlice(a.Elem()))
	}
}
