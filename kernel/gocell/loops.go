package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// What the interpreter gets wrong of loops, of select and of the variables
// that function literals share is spelled out in simpler Go.

// sharedVars returns the local variables below n that outlive the statement
// which defines them: those that a function literal uses which does not
// declare them, and those whose address is taken.
func sharedVars(n ast.Node, info *types.Info) map[types.Object]bool {
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

// forLoop takes the init statement out of a loop, of which the interpreter
// runs it every time round or makes copies that the post statement does not
// see:
//
//	{ init; for cond; post { body } }
//
// and gives every round its own variables where they are shared:
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
// It returns nil where the loop has no init statement and a post statement that
// can stay.
func (l *lowerer) forLoop(x *ast.ForStmt) *ast.BlockStmt {
	m := maker{x.Pos()}
	post := l.simple(x.Post)
	if x.Init == nil && len(post) < 2 {
		return nil
	}
	var names []ast.Expr
	if a, ok := x.Init.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
		names = slices.Clone(a.Lhs)
	}
	list := l.simple(x.Init)
	var rounds, body []ast.Stmt
	for _, y := range names {
		id, ok := y.(*ast.Ident)
		if !ok || !l.shared[l.c.info.Defs[id]] || l.c.info.Defs[id] == nil {
			continue
		}
		p := l.tempName()
		list = append(list, m.define(p, &ast.UnaryExpr{OpPos: m.pos, Op: token.AND, X: m.id(id.Name)}))
		rounds = append(rounds, m.define(id.Name, &ast.StarExpr{Star: m.pos, X: m.id(p)}), m.set(p, &ast.UnaryExpr{OpPos: m.pos, Op: token.AND, X: m.id(id.Name)}))
	}
	x.Init = nil
	if len(rounds) > 0 || len(post) > 1 {
		body = rounds
		if x.Post != nil {
			first := l.tempName()
			list = append(list, m.define(first, m.id("true")))
			body = append(body, &ast.IfStmt{If: m.pos, Cond: m.id(first), Body: m.block(m.set(first, m.id("false"))), Else: m.block(post...)})
			x.Post = nil
		}
		if x.Cond != nil {
			body = append(body, m.when(&ast.UnaryExpr{OpPos: x.Cond.Pos(), Op: token.NOT, X: &ast.ParenExpr{Lparen: x.Cond.Pos(), X: x.Cond, Rparen: x.Cond.End()}},
				&ast.BranchStmt{TokPos: m.pos, Tok: token.BREAK}))
			x.Cond = nil
		}
		x.Body = &ast.BlockStmt{Lbrace: x.Body.Lbrace, List: append(body, x.Body), Rbrace: x.Body.Rbrace}
	}
	return m.block(append(list, x)...)
}

// simple returns the statements that stand for the init or post statement of
// another one, none for nil.
func (l *lowerer) simple(s ast.Stmt) []ast.Stmt {
	if s == nil {
		return nil
	}
	if a, ok := s.(*ast.AssignStmt); ok {
		if list := l.assignment(a, false); list != nil {
			return list
		}
	}
	return []ast.Stmt{s}
}

// selectStmt leaves to a select statement only what it is for; a switch runs
// the clause that was chosen. (The interpreter has no break in a select.) The
// operands are evaluated before it, each once, in their order:
//
//	{
//		c1 := ch1; c2 := ch2; var s S = x
//		var k int; var v V; var ok bool
//		select { case t, o := <-c1: k, v, ok = 0, t, o; case c2 <- s: k = 1; ... }
//		switch k { case 0: x, ok := v, ok; ...; case 1: ... }
//	}
func (l *lowerer) selectStmt(x *ast.SelectStmt) *ast.BlockStmt {
	if len(x.Body.List) == 0 {
		return nil
	}
	m := maker{x.Pos()}
	k := l.tempName()
	pre := []ast.Stmt{m.variable(k, m.id("int"))}
	choice := &ast.SwitchStmt{Switch: m.pos, Tag: m.id(k), Body: &ast.BlockStmt{Lbrace: x.Body.Lbrace, Rbrace: x.Body.Rbrace}}
	for i, s := range x.Body.List {
		cc := s.(*ast.CommClause)
		m := maker{cc.Pos()}
		body := cc.Body
		cc.Body = []ast.Stmt{m.set(k, m.num(i))}
		hold := func(y ast.Expr) ast.Expr {
			t := l.tempName()
			pre = append(pre, m.define(t, y))
			return m.id(t)
		}
		elem := func(ch ast.Expr) ast.Expr {
			return l.typeExpr(l.c.info.TypeOf(ch).Underlying().(*types.Chan).Elem(), m.pos)
		}
		switch c := cc.Comm.(type) {
		case *ast.SendStmt:
			t, te := l.tempName(), elem(c.Chan)
			c.Chan = hold(c.Chan)
			pre = append(pre, m.variable(t, te, c.Value))
			c.Value = m.id(t)
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
				lhs[i] = m.id(l.tempName())
				if isBlank(y) {
					continue
				}
				v := l.tempName()
				if i > 0 {
					te = m.id("bool")
				}
				pre = append(pre, m.variable(v, te))
				cc.Body = append(cc.Body, m.assign(token.ASSIGN, []ast.Expr{m.id(v)}, lhs[i]))
				tok := c.Tok
				list = append(list, m.assign(tok, []ast.Expr{y}, m.id(v)))
			}
			cc.Comm = &ast.AssignStmt{Lhs: lhs, TokPos: c.TokPos, Tok: token.DEFINE, Rhs: []ast.Expr{u}}
			body = append(list, body...)
		}
		choice.Body.List = append(choice.Body.List, &ast.CaseClause{Case: m.pos, List: []ast.Expr{m.num(i)}, Colon: m.pos, Body: body})
	}
	return m.block(append(pre, x, choice)...)
}

// fallsPast reports whether a switch has a default clause before others and a
// fallthrough: the interpreter puts the default last.
func fallsPast(x *ast.SwitchStmt) bool {
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

// inOrder rewrites such a switch without an init statement: one chooses the
// clause, another runs it.
func (l *lowerer) inOrder(x *ast.SwitchStmt) []ast.Stmt {
	m := maker{x.Pos()}
	k := l.tempName()
	run := &ast.SwitchStmt{Switch: m.pos, Tag: m.id(k), Body: &ast.BlockStmt{Lbrace: x.Body.Lbrace, Rbrace: x.Body.Rbrace}}
	for i, s := range x.Body.List {
		c := s.(*ast.CaseClause)
		run.Body.List = append(run.Body.List, &ast.CaseClause{Case: c.Case, List: []ast.Expr{m.num(i)}, Colon: c.Colon, Body: c.Body})
		c.Body = []ast.Stmt{m.set(k, m.num(i))}
	}
	return []ast.Stmt{m.variable(k, m.id("int")), x, run}
}

// comparesTypes reports whether a switch compares values of different types,
// interfaces with others or others with nil, which the interpreter cannot.
func (l *lowerer) comparesTypes(x *ast.SwitchStmt) bool {
	if x.Tag == nil {
		return false
	}
	t := types.Default(l.c.info.TypeOf(x.Tag))
	for _, s := range x.Body.List {
		for _, e := range s.(*ast.CaseClause).List {
			tv := l.c.info.Types[e]
			if tv.IsNil() && !types.IsInterface(t) || !tv.IsNil() && !types.Identical(t, types.Default(tv.Type)) {
				return true
			}
		}
	}
	return false
}

// withoutTag makes the cases of a switch conditions, and returns the statement
// that defines what they compare:
//
//	var t T = tag; switch { case t == a: ... }
func (l *lowerer) withoutTag(x *ast.SwitchStmt) ast.Stmt {
	m := maker{x.Tag.Pos()}
	t := types.Default(l.c.info.TypeOf(x.Tag))
	name := l.tempName()
	define := m.variable(name, l.typeExpr(t, m.pos), x.Tag)
	x.Tag = nil
	for _, s := range x.Body.List {
		c := s.(*ast.CaseClause)
		for i, e := range c.List {
			id := maker{e.Pos()}.id(name)
			l.c.info.Types[id] = variableOf(t)
			eq := &ast.BinaryExpr{X: id, OpPos: e.Pos(), Op: token.EQL, Y: e}
			l.c.info.Types[eq] = variableOf(types.Typ[types.Bool])
			l.sameType(eq)
			c.List[i] = eq
		}
	}
	return define
}

// anyOf joins the conditions of each case of a switch without a tag, of which
// the interpreter looks at the first only.
func (l *lowerer) anyOf(x *ast.SwitchStmt) {
	for _, s := range x.Body.List {
		c := s.(*ast.CaseClause)
		for len(c.List) > 1 {
			a, b := c.List[0], c.List[1]
			or := &ast.BinaryExpr{X: &ast.ParenExpr{Lparen: a.Pos(), X: a, Rparen: a.End()}, OpPos: b.Pos(), Op: token.LOR, Y: &ast.ParenExpr{Lparen: b.Pos(), X: b, Rparen: b.End()}}
			l.c.info.Types[or], l.c.info.Types[or.X] = variableOf(types.Universe.Lookup("bool").Type()), l.c.info.Types[a]
			l.leftOperand(or)
			c.List = append([]ast.Expr{or}, c.List[2:]...)
		}
	}
}

// shadows gives the body of a loop a block of its own where it defines a
// variable with the name of one of the loop's: to the interpreter it is the
// loop's.
func shadows(body *ast.BlockStmt, vars ...ast.Expr) {
	defined := definedBy(body)
	if slices.ContainsFunc(vars, func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		return ok && defined[id.Name]
	}) {
		body.List = []ast.Stmt{&ast.BlockStmt{Lbrace: body.Lbrace, List: body.List, Rbrace: body.Rbrace}}
	}
}

// rangeArray makes a loop over what a pointer to an array points to one over a
// slice of it, and has an array that such a pointer leads to apart.
func (l *lowerer) rangeArray(r *ast.RangeStmt) {
	if r.Value == nil || isBlank(r.Value) {
		return
	}
	info := l.c.info
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
