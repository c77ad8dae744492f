package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/std"
	"dace.local/kernel/gocell/internal/syntax"
)

// rangeInt rewrites a loop over an integer:
// for i, n := T(0), T(x); i < n; i++ { v := i; body }, where v is i itself if
// the body leaves it alone.
func (l *lowerer) rangeInt(r *ast.RangeStmt, t types.Type) *ast.ForStmt {
	t = types.Default(t)
	m := syntax.At(r.Pos())
	conv := func(x ast.Expr) ast.Expr { return syntax.Call(&ast.ParenExpr{X: l.typeExpr(t, m.Pos)}, m.Pos, x) }
	i, n := l.tempName(), l.tempName()
	body := []ast.Stmt{r.Body}
	if id, ok := r.Key.(*ast.Ident); ok && r.Tok == token.DEFINE && id.Name != "_" && !l.captured[l.c.Info.Defs[id]] && !assigns(r.Body, l.c.Info.Defs[id], l.c.Info) {
		i = id.Name
	} else if r.Key != nil && !isBlank(r.Key) {
		body = []ast.Stmt{m.Assign(r.Tok, []ast.Expr{r.Key}, m.Ident(i)), r.Body}
	}
	count := &ast.IncDecStmt{X: m.Ident(i), TokPos: m.Pos, Tok: token.INC}
	l.c.Info.Types[count.X] = variableOf(t)
	var post ast.Stmt = count
	if add := l.addToUintptr(count); add != nil {
		post = add.(ast.Stmt)
	}
	return &ast.ForStmt{For: m.Pos,
		Init: m.Assign(token.DEFINE, []ast.Expr{m.Ident(i), m.Ident(n)}, conv(m.Int(0)), conv(r.X)),
		Cond: &ast.BinaryExpr{X: m.Ident(i), OpPos: m.Pos, Op: token.LSS, Y: m.Ident(n)},
		Post: post,
		Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: body, Rbrace: r.Body.Rbrace}}
}

// rangeLength rewrites a range over a pointer to an array without values to a
// range over its length. The pointer may be nil; the caller evaluates it. It
// returns nil for loops with values.
func (l *lowerer) rangeLength(r *ast.RangeStmt, t *types.Pointer) *ast.ForStmt {
	if r.Value != nil && !isBlank(r.Value) {
		return nil
	}
	n := *r
	n.X = syntax.At(r.X.Pos()).Int(int(t.Elem().Underlying().(*types.Array).Len()))
	return l.rangeInt(&n, types.Typ[types.Int])
}

// assigns reports whether a statement gives a variable another value.
func assigns(s ast.Stmt, v types.Object, info *types.Info) bool {
	found := false
	is := func(xs ...ast.Expr) {
		for _, x := range xs {
			if id, ok := ast.Unparen(x).(*ast.Ident); ok && info.Uses[id] == v {
				found = true
			}
		}
	}
	ast.Inspect(s, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			is(x.Lhs...)
		case *ast.IncDecStmt:
			is(x.X)
		case *ast.RangeStmt:
			is(x.Key, x.Value)
		}
		return !found
	})
	return found
}

// defineRangeTemps rewrites a loop that assigns to variables to one that defines
// temporary variables and assigns them in its body. The interpreter takes = for
// :=.
func (l *lowerer) defineRangeTemps(r *ast.RangeStmt) {
	m := syntax.At(r.Pos())
	var list []ast.Stmt
	temp := func(x *ast.Expr) {
		if *x == nil {
			return
		}
		n := l.tempName()
		if !isBlank(*x) {
			list = append(list, m.Assign(token.ASSIGN, []ast.Expr{*x}, m.Ident(n)))
		}
		*x = m.Ident(n)
	}
	temp(&r.Key)
	temp(&r.Value)
	r.Tok = token.DEFINE
	r.Body = &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: append(list, r.Body), Rbrace: r.Body.Rbrace}
}

// assignRangePlaces rewrites a loop to one that defines temporary variables if
// one loop variable is an operand of the other: for i, x[i] = range y.
func (l *lowerer) assignRangePlaces(r *ast.RangeStmt) {
	m := syntax.At(r.Pos())
	a := &ast.AssignStmt{Lhs: []ast.Expr{r.Key, r.Value}, TokPos: m.Pos, Tok: token.ASSIGN}
	if r.Tok != token.ASSIGN || r.Value == nil || !l.changesPlace(a) {
		return
	}
	k, v := m.Ident(l.tempName()), m.Ident(l.tempName())
	a.Rhs = []ast.Expr{k, v}
	r.Key, r.Value, r.Tok = k, v, token.DEFINE
	r.Body = &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: []ast.Stmt{a, r.Body}, Rbrace: r.Body.Rbrace}
}

// noop returns a statement without effect: _ = 0.
func noop(pos token.Pos) ast.Stmt {
	m := syntax.At(pos)
	return m.Assign(token.ASSIGN, []ast.Expr{m.Ident("_")}, m.Int(0))
}

// rangeChan rewrites a loop over a channel:
// for c := ch; ; { v, ok := <-c; if !ok { break }; x := v; body }.
func (l *lowerer) rangeChan(r *ast.RangeStmt) *ast.ForStmt {
	m := syntax.At(r.Pos())
	ch, v, ok := l.tempName(), l.tempName(), l.tempName()
	body := []ast.Stmt{
		m.Assign(token.DEFINE, []ast.Expr{m.Ident(v), m.Ident(ok)}, &ast.UnaryExpr{OpPos: m.Pos, Op: token.ARROW, X: m.Ident(ch)}),
		m.If(&ast.UnaryExpr{OpPos: m.Pos, Op: token.NOT, X: m.Ident(ok)}, &ast.BranchStmt{TokPos: m.Pos, Tok: token.BREAK}),
	}
	if r.Key != nil && !isBlank(r.Key) {
		body = append(body, m.Assign(r.Tok, []ast.Expr{r.Key}, m.Ident(v)))
	}
	body = append(body, r.Body)
	return &ast.ForStmt{For: m.Pos, Init: m.Define(ch, r.X), Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: body, Rbrace: r.Body.Rbrace}}
}

// rangeString rewrites a range over a string. The interpreter counts wrong in
// invalid UTF-8:
//
//	{
//		is, rs := runes(s)
//		for j, r := range rs { i := is[j]; body }
//	}
func (l *lowerer) rangeString(r *ast.RangeStmt) *ast.BlockStmt {
	m := syntax.At(r.Pos())
	is, rs, j := l.tempName(), l.tempName(), l.tempName()
	var list []ast.Stmt
	if !isBlank(r.Key) {
		list = append(list, m.Assign(r.Tok, []ast.Expr{r.Key}, &ast.IndexExpr{X: m.Ident(is), Lbrack: m.Pos, Index: m.Ident(j), Rbrack: m.Pos}))
	}
	if r.Value != nil && !isBlank(r.Value) {
		list = append(list, m.Assign(r.Tok, []ast.Expr{r.Value}, &ast.IndexExpr{X: m.Ident(rs), Lbrack: m.Pos, Index: m.Ident(j), Rbrack: m.Pos}))
	}
	s := syntax.Call(m.Ident("string"), m.Pos, r.X)
	return m.Block(
		m.Assign(token.DEFINE, []ast.Expr{m.Ident(is), m.Ident(rs)}, syntax.Call(l.kernel("Runes", m.Pos), m.Pos, s)),
		&ast.RangeStmt{For: m.Pos, Key: m.Ident(j), TokPos: m.Pos, Tok: token.DEFINE, Range: m.Pos, X: m.Ident(rs),
			Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: append(list, r.Body), Rbrace: r.Body.Rbrace}})
}

// rangeChans rewrites a range over a slice, array or map of channels, which the
// interpreter takes for a range over a channel:
func (l *lowerer) rangeChans(r *ast.RangeStmt, t types.Type) *ast.BlockStmt {
	if r.Value == nil || isBlank(r.Value) {
		return nil
	}
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	c, ok := t.(interface{ Elem() types.Type })
	if !ok {
		return nil
	}
	if _, ok := c.Elem().Underlying().(*types.Chan); !ok {
		return nil
	}
	m := syntax.At(r.Pos())
	s, k := l.tempName(), l.tempName()
	list := []ast.Stmt{m.Assign(r.Tok, []ast.Expr{r.Value}, &ast.IndexExpr{X: m.Ident(s), Lbrack: m.Pos, Index: m.Ident(k), Rbrack: m.Pos})}
	if !isBlank(r.Key) {
		list = append(list, m.Assign(r.Tok, []ast.Expr{r.Key}, m.Ident(k)))
	}
	return m.Block(m.Define(s, r.X), &ast.RangeStmt{For: m.Pos, Key: m.Ident(k), TokPos: m.Pos, Tok: token.DEFINE, Range: m.Pos, X: m.Ident(s),
		Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: append(list, r.Body), Rbrace: r.Body.Rbrace}})
}

func isBlank(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "_"
}

// newOfCopy rewrites new(x) of a value: func(v T) *T { return &v }(x).
func (l *lowerer) newOfCopy(x *ast.CallExpr) ast.Expr {
	m := syntax.At(x.Pos())
	t := l.c.Info.Types[x].Type.(*types.Pointer)
	v := cell.Mark + "v"
	return syntax.Call(m.FuncLit(
		[]*ast.Field{m.Field(v, l.typeExpr(t.Elem(), m.Pos))},
		[]*ast.Field{m.Field("", l.typeExpr(t, m.Pos))},
		m.Return(&ast.UnaryExpr{OpPos: m.Pos, Op: token.AND, X: m.Ident(v)})), m.Pos, x.Args[0])
}

// How a loop body was left other than by its end. Greater numbers are jumps.
const (
	leaveReturn = 1 + iota // with values
	leaveBare              // return alone
	leaveJump
)

// rangeFunc rewrites a loop over an iterator function into a call of it:
//
//	{
//		state, leave := ready, 0
//		var r0 T            // a result of the function around
//		var defers []func(any) // of the body
//		defer func() { for _, d := range defers { defer d(nil) } }()
//		f(func(k K, v V) bool {
//			if state != ready { panic(...) }
//			state = inBody
//			{ body }
//			state = ready
//			return true
//		})
//		if state == inBody { panic(...) }
//		state = exited
//		if leave == leaveReturn { return r0 }
//		...
//	}
//
// Inner loops are rewritten before outer ones, so that what an inner one
// leaves behind its call is a statement of the outer one's body.
func (l *lowerer) rangeFunc(r *ast.RangeStmt, sig *types.Signature, label string, ft *ast.FuncType) ast.Stmt {
	m := syntax.At(r.Pos())
	b := &rangeBody{l: l, m: m, label: label, state: l.tempName(), leave: l.tempName(), defers: l.tempName(), jumps: map[string]int{}}
	b.results(ft)
	b.nameable = b.seesNamed(r.Pos())
	b.labels = labelsIn(r.Body)
	b.rewrite(r.Body)

	yield := sig.Params().At(0).Type().Underlying().(*types.Signature)
	var params []*ast.Field
	var first []ast.Stmt
	for i, x := range []ast.Expr{r.Key, r.Value} {
		if i >= yield.Params().Len() {
			break
		}
		name := l.tempName()
		switch id, isID := x.(*ast.Ident); {
		case x == nil || isBlank(x):
		case r.Tok == token.DEFINE && isID:
			name = id.Name
		default:
			first = append(first, m.Assign(token.ASSIGN, []ast.Expr{x}, m.Ident(name)))
		}
		params = append(params, m.Field(name, l.typeExpr(yield.Params().At(i).Type(), m.Pos)))
	}
	wrong := func(state ast.Expr) ast.Stmt {
		return &ast.ExprStmt{X: syntax.Call(m.Ident("panic"), m.Pos, l.std("RangeError", m.Pos, state))}
	}
	callback := []ast.Stmt{
		m.If(m.Compare(b.state, token.NEQ, std.RangeReady), wrong(m.Ident(b.state))),
		m.Set(b.state, m.Int(std.RangeInBody)),
	}
	callback = append(callback, first...)
	callback = append(callback, r.Body, m.Set(b.state, m.Int(std.RangeReady)), m.Return(m.Ident("true")))
	f := m.FuncLit(params, []*ast.Field{m.Field("", m.Ident("bool"))}, callback...)

	list := []ast.Stmt{m.Define(b.state, m.Int(std.RangeReady)), m.Define(b.leave, m.Int(0))}
	list = append(list, b.vars()...)
	list = append(list,
		&ast.ExprStmt{X: syntax.Call(r.X, m.Pos, f)},
		m.If(m.Compare(b.state, token.EQL, std.RangeInBody), wrong(m.Int(std.RangeLost))),
		m.Set(b.state, m.Int(std.RangeExited)))
	list = append(list, b.after...)
	return &ast.BlockStmt{Lbrace: m.Pos, List: list, Rbrace: r.End()}
}

// A rangeBody rewrites the statements that leave the body of a range over a
// function: return, break, continue, goto and defer.
type rangeBody struct {
	l                    *lowerer
	m                    syntax.Builder
	label                string // of the loop
	labels               map[string]bool
	state, leave, defers string
	resultTypes          []types.Type
	resultNames          []string
	named                []*ast.Ident // the results of the enclosing function, if all have names
	nameable             bool         // the loop sees them
	set                  string       // a function that sets them, where the body does not see them
	hasTemps             bool
	hasReturn, hasBare   bool
	hasDefer             bool
	jumps                map[string]int
	after                []ast.Stmt // after the call of the iterator function
}

// results notes the result types of the enclosing function.
func (b *rangeBody) results(ft *ast.FuncType) {
	if ft == nil || ft.Results == nil {
		return
	}
	for _, f := range ft.Results.List {
		for _, id := range f.Names {
			if isBlank(id) {
				id.Name = b.l.tempName()
			}
			b.named = append(b.named, id)
		}
		for range max(1, len(f.Names)) {
			b.resultTypes = append(b.resultTypes, b.l.c.Info.TypeOf(f.Type))
			b.resultNames = append(b.resultNames, b.l.tempName())
		}
	}
}

// vars returns the declarations of the variables that the rewritten body uses.
func (b *rangeBody) vars() []ast.Stmt {
	m := b.m
	var list []ast.Stmt
	if b.hasTemps {
		for i, t := range b.resultTypes {
			list = append(list, m.Variable(b.resultNames[i], b.l.typeExpr(t, m.Pos)))
		}
	}
	if b.set != "" {
		list = append(list, m.Define(b.set, m.FuncLit(nil, nil, b.setNamed()...)))
	}
	if b.hasDefer {
		list = append(list, m.Variable(b.defers, &ast.ArrayType{Lbrack: m.Pos, Elt: m.FuncLit(nil, nil).Type}),
			&ast.DeferStmt{Defer: m.Pos, Call: syntax.Call(m.FuncLit(nil, nil, b.l.takesDeferral(m.Pos),
				&ast.ExprStmt{X: syntax.Call(b.l.kernel("RunDeferred", m.Pos), m.Pos, m.Ident(deferralName), m.Ident(b.defers))}), m.Pos)})
	}
	return list
}

// std returns a call of the compiled part of the prelude.
func (l *lowerer) std(name string, pos token.Pos, args ...ast.Expr) ast.Expr {
	l.pkgs[check.StdPath] = true
	return syntax.Call(&ast.SelectorExpr{X: &ast.Ident{Name: cell.Alias(check.StdPath), NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}, pos, args...)
}

func labelsIn(body ast.Node) map[string]bool {
	labels := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.LabeledStmt:
			labels[n.Label.Name] = true
		}
		return true
	})
	return labels
}

// exit returns the statements that leave the body and end the loop.
func (b *rangeBody) exit(leave int, list ...ast.Stmt) ast.Stmt {
	m := b.m
	if leave != 0 {
		list = append(list, m.Set(b.leave, m.Int(leave)))
	}
	return m.Block(append(list, m.Set(b.state, m.Int(std.RangeDone)), m.Return(m.Ident("false")))...)
}

func (b *rangeBody) rewrite(body *ast.BlockStmt) {
	m := b.m
	loops, breaks := 0, 0 // of the body around the statement
	count := func(n ast.Node, d int) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			loops += d
			breaks += d
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			breaks += d
		}
	}
	astutil.Apply(body, func(c *astutil.Cursor) bool {
		if _, ok := c.Node().(*ast.FuncLit); ok {
			return false
		}
		count(c.Node(), 1)
		return true
	}, func(c *astutil.Cursor) bool {
		count(c.Node(), -1)
		switch x := c.Node().(type) {
		case *ast.ReturnStmt:
			c.Replace(b.returns(x))
		case *ast.DeferStmt:
			c.Replace(b.deferred(x))
		case *ast.BranchStmt:
			name := ""
			if x.Label != nil {
				name = x.Label.Name
			}
			mine := name == b.label && name != ""
			switch {
			case x.Tok == token.FALLTHROUGH:
			case name != "" && b.labels[name]:
			case x.Tok == token.CONTINUE && (mine || name == "" && loops == 0):
				c.Replace(m.Block(m.Set(b.state, m.Int(std.RangeReady)), m.Return(m.Ident("true"))))
			case x.Tok == token.BREAK && (mine || name == "" && breaks == 0):
				c.Replace(b.exit(0))
			case name != "":
				c.Replace(b.exit(b.jump(x)))
			}
		}
		return true
	})
}

// jump returns the number of a jump out of the loop; the jump itself follows
// the call of the iterator function.
func (b *rangeBody) jump(x *ast.BranchStmt) int {
	key := x.Tok.String() + " " + x.Label.Name
	n, ok := b.jumps[key]
	if !ok {
		n = leaveJump + len(b.jumps)
		b.jumps[key] = n
		b.after = append(b.after, b.m.If(b.m.Compare(b.leave, token.EQL, n), x))
	}
	return n
}

func (b *rangeBody) returns(x *ast.ReturnStmt) ast.Stmt {
	m := b.m
	if len(x.Results) == 0 {
		if !b.hasBare {
			b.hasBare = true
			b.after = append(b.after, m.If(m.Compare(b.leave, token.EQL, leaveBare), &ast.ReturnStmt{Return: x.Pos()}))
		}
		return b.exit(leaveBare)
	}
	b.hasTemps = true
	var names, values []ast.Expr
	for _, n := range b.resultNames {
		names = append(names, m.Ident(n))
		values = append(values, m.Ident(n))
	}
	if !b.hasReturn && !b.nameable {
		b.hasReturn = true
		b.after = append(b.after, m.If(m.Compare(b.leave, token.EQL, leaveReturn), &ast.ReturnStmt{Return: x.Pos(), Results: values}))
	}
	var list []ast.Stmt
	if len(names) == len(x.Results) {
		// One by one: the interpreter cannot assign nil in a tuple assignment.
		for i, n := range names {
			list = append(list, m.Assign(token.ASSIGN, []ast.Expr{n}, x.Results[i]))
		}
	} else {
		list = append(list, m.Assign(token.ASSIGN, names, x.Results...))
	}
	if !b.nameable {
		return b.exit(leaveReturn, list...)
	}
	// The results have their values while the iterator function ends, which may change
	// them.
	if b.seesNamed(x.Pos()) {
		list = append(list, b.setNamed()...)
	} else {
		if b.set == "" {
			b.set = b.l.tempName()
		}
		list = append(list, &ast.ExprStmt{X: syntax.Call(m.Ident(b.set), m.Pos)})
	}
	return m.Block(append(list, b.returns(&ast.ReturnStmt{Return: x.Pos()}))...)
}

// setNamed returns the statements that give the named results their values.
func (b *rangeBody) setNamed() (list []ast.Stmt) {
	for i, id := range b.named {
		list = append(list, b.m.Set(id.Name, b.m.Ident(b.resultNames[i])))
	}
	return list
}

// seesNamed reports whether all results of the enclosing function have names, and these
// mean the results at a position.
func (b *rangeBody) seesNamed(pos token.Pos) bool {
	for _, id := range b.named {
		o := b.l.c.Info.Defs[id]
		if o == nil {
			return false
		}
		if o.Name() == "_" {
			continue
		}
		if o.Parent() == nil {
			return false
		}
		inner := o.Parent().Innermost(pos)
		if inner == nil {
			return false
		}
		if _, found := inner.LookupParent(o.Name(), pos); found != o {
			return false
		}
	}
	return len(b.named) > 0 && len(b.named) == len(b.resultNames)
}

// deferred rewrites a defer statement to one that appends the call, with
// evaluated arguments, to the list that the enclosing function runs at its end.
func (b *rangeBody) deferred(x *ast.DeferStmt) ast.Stmt {
	m := syntax.At(x.Pos())
	b.hasDefer = true
	info := b.l.c.Info
	var list []ast.Stmt
	hold := func(x ast.Expr, t types.Type) ast.Expr {
		name := b.l.tempName()
		var te ast.Expr
		if t != nil {
			te = b.l.typeExpr(t, m.Pos)
		}
		list = append(list, m.Variable(name, te, x))
		return m.Ident(name)
	}
	inner := *x.Call
	sig, _ := coreSignature(info, x.Call.Fun)
	switch f := ast.Unparen(x.Call.Fun).(type) {
	case *ast.FuncLit:
	case *ast.Ident:
		if _, isVar := info.Uses[f].(*types.Var); isVar {
			inner.Fun = hold(f, nil)
		}
	case *ast.SelectorExpr:
		if info.Selections[f] != nil {
			inner.Fun = hold(f, nil)
		}
	default:
		if sig != nil && !info.Types[x.Call.Fun].IsBuiltin() {
			inner.Fun = hold(f, nil)
		}
	}
	inner.Args = make([]ast.Expr, len(x.Call.Args))
	for i, a := range x.Call.Args {
		var t types.Type
		if tv, ok := info.Types[a]; ok {
			if tv.IsType() || tv.Value != nil {
				inner.Args[i] = a
				continue
			}
			t = types.Default(tv.Type)
			if tv.IsNil() {
				inner.Args[i] = a
				continue
			}
		}
		if sig != nil && !sig.Variadic() && i < sig.Params().Len() {
			t = sig.Params().At(i).Type()
		}
		inner.Args[i] = hold(a, t)
	}
	list = append(list, m.Set(b.defers, syntax.Call(m.Ident("append"), m.Pos, m.Ident(b.defers),
		m.FuncLit(nil, nil, &ast.ExprStmt{X: syntax.Call(b.l.kernel("Forward", m.Pos), m.Pos)}, &ast.ExprStmt{X: &inner}))))
	return m.Block(list...)
}
