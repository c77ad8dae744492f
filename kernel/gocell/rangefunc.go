package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
)

// Statements and expressions that the interpreter lacks or gets wrong are
// spelled out in those that it has: range over functions and channels, method
// expressions, new of a value.

// desugar rewrites them below n.
func (l *lowerer) desugar(n ast.Node) ast.Node {
	info := l.c.info
	funcs := []*ast.FuncType{nil} // around the node; nil for the statements of a cell
	inBlock := func(c *astutil.Cursor, b *ast.BlockStmt) {
		if b != nil {
			c.Replace(b)
			l.inside[b] = true
		}
	}
	recovers := map[*ast.FuncType]bool{}
	top := n
	defer func(shared map[types.Object]bool) { l.shared = shared }(l.shared)
	l.shared = sharedVars(n, info)
	return astutil.Apply(n, func(c *astutil.Cursor) bool {
		l.typedNils(c.Node(), funcs[len(funcs)-1])
		switch x := c.Node().(type) {
		case *ast.FuncDecl:
			l.nameBlanks(x.Type)
			funcs = append(funcs, x.Type)
		case *ast.FuncLit:
			l.nameBlanks(x.Type)
			funcs = append(funcs, x.Type)
		case *ast.RangeStmt:
			if x.Tok == token.DEFINE {
				shadows(x.Body, x.Key, x.Value)
			}
			l.rangeArray(x)
			if isBlank(x.Value) {
				x.Value = nil
			}
			if isBlank(x.Key) && x.Value == nil {
				x.Key, x.Tok = nil, token.ILLEGAL
			}
			l.rangePlaces(x)
		}
		return true
	}, func(c *astutil.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.FuncDecl:
			funcs = funcs[:len(funcs)-1]
			if x.Body != nil {
				l.zeroResults(x.Type, x.Body)
				l.begin(x.Body, recovers[x.Type])
			}
		case *ast.FuncLit:
			funcs = funcs[:len(funcs)-1]
			l.zeroResults(x.Type, x.Body)
			l.begin(x.Body, recovers[x.Type])
		case *ast.RangeStmt:
			tv, ok := info.Types[x.X]
			if !ok {
				break
			}
			if len(x.Body.List) == 0 {
				x.Body.List = []ast.Stmt{nothing(x.Body.Pos())}
			}
			switch t := tv.Type.Underlying().(type) {
			case *types.Signature:
				label := ""
				if p, ok := c.Parent().(*ast.LabeledStmt); ok {
					label = p.Label.Name
				}
				c.Replace(l.rangeFunc(x, t, label, funcs[len(funcs)-1]))
			case *types.Chan:
				inBlock(c, l.forLoop(l.rangeChan(x)))
			default:
				p, ok := t.(*types.Pointer)
				if star, deref := x.X.(*ast.StarExpr); deref {
					if _, isArray := t.(*types.Array); isArray {
						p, ok = info.TypeOf(star.X).Underlying().(*types.Pointer)
					}
				}
				if ok {
					if f := l.rangeLength(x, p); f != nil {
						b := l.forLoop(f)
						if hasCall(x.X) {
							b.List = append([]ast.Stmt{maker{x.Pos()}.define(l.tempName(), x.X)}, b.List...)
						}
						inBlock(c, b)
						break
					}
				}
				if b := l.rangeChans(x, t); b != nil {
					inBlock(c, b)
					break
				}
				if b, ok := t.(*types.Basic); ok && b.Info()&types.IsString != 0 && (tv.Value == nil || x.Tok == token.ASSIGN || x.Value == nil) {
					if x.Key != nil {
						inBlock(c, l.rangeString(x))
					}
					break
				}
				if b, ok := t.(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
					inBlock(c, l.forLoop(l.rangeInt(x, tv.Type)))
					break
				}
				l.blankRange(x)
				if x.Tok == token.ASSIGN {
					l.rangeAssign(x)
				}
			}
		case *ast.LabeledStmt:
			l.label(c, x)
		case *ast.ForStmt:
			if a, ok := x.Init.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
				shadows(x.Body, a.Lhs...)
			}
			// The interpreter loses its way in a loop with an empty body.
			if len(x.Body.List) == 0 {
				x.Body.List = []ast.Stmt{nothing(x.Body.Pos())}
			}
			inBlock(c, l.forLoop(x))
		case *ast.SelectStmt:
			inBlock(c, l.selectStmt(x))
		case *ast.ValueSpec:
			l.declared(x)
		case *ast.DeclStmt:
			if c.Parent() != top {
				l.blankVars(x.Decl.(*ast.GenDecl))
			}
		case *ast.AssignStmt:
			l.blanks(x)
			if c.Index() < 0 {
				l.assignment(x, true)
				break
			}
			if list := l.assignment(x, false); list != nil {
				for _, s := range slices.Backward(list[1:]) {
					c.InsertAfter(s)
				}
				c.Replace(list[0])
			}
		case *ast.ReturnStmt:
			if list := l.returned(x, funcs[len(funcs)-1]); list != nil {
				c.Replace(maker{x.Pos()}.block(append(list, x)...))
			}
		case *ast.DeferStmt:
			if s := l.spreadTuple(x.Call); s != nil && c.Index() >= 0 {
				c.InsertBefore(s)
			}
		case *ast.GoStmt:
			if s := l.spreadTuple(x.Call); s != nil {
				c.Replace(maker{x.Pos()}.block(s, x))
			}
		case *ast.IfStmt:
			if list := l.simple(x.Init); len(list) > 1 {
				x.Init = nil
				inBlock(c, maker{x.Pos()}.block(append(list, x)...))
			}
		case *ast.TypeSwitchStmt:
			if list := l.simple(x.Init); len(list) > 1 {
				x.Init = nil
				inBlock(c, maker{x.Pos()}.block(append(list, x)...))
			}
		case *ast.SwitchStmt:
			// After an init statement the interpreter leaves the tag out.
			list := l.simple(x.Init)
			x.Init = nil
			if l.comparesTypes(x) {
				list = append(list, l.withoutTag(x))
			}
			if x.Tag == nil {
				l.anyOf(x)
			}
			if fallsPast(x) {
				inBlock(c, maker{x.Pos()}.block(append(list, l.inOrder(x)...)...))
			} else if list != nil {
				inBlock(c, maker{x.Pos()}.block(append(list, x)...))
			}
		case *ast.BinaryExpr:
			l.sameType(x)
			l.leftOperand(x)
			if x.Op == token.EQL || x.Op == token.NEQ {
				l.toInterface(&x.X)
				l.toInterface(&x.Y)
			}
			// The type of a constant that is shifted.
			tv := info.Types[x]
			if left := info.Types[x.X]; (x.Op == token.SHL || x.Op == token.SHR) && tv.Value == nil && left.Value != nil && tv.Type != nil {
				x.X = l.convert(x.X, types.Default(tv.Type), x.X.Pos())
				info.Types[x.X] = variableOf(tv.Type)
			}
		case *ast.SelectorExpr:
			if s := info.Selections[x]; s != nil && s.Kind() == types.MethodExpr {
				c.Replace(l.methodExpr(x))
			} else if s != nil {
				l.toInterface(&x.X)
			}
		case *ast.IndexExpr:
			l.toInterface(&x.Index)
		case *ast.ParenExpr:
			// The tree says it; to the interpreter it is a step, see leftOperand.
			if info.Types[x.X].IsValue() {
				c.Replace(x.X)
			}
		case *ast.CallExpr:
			if l.isBuiltin(x.Fun) && ast.Unparen(x.Fun).(*ast.Ident).Name == "recover" {
				l.recovers(c, x, funcs[len(funcs)-1], recovers)
				break
			}
			if len(x.Args) != 1 {
				break
			}
			l.passTuple(c, x)
			id, ok := ast.Unparen(x.Fun).(*ast.Ident)
			if !ok {
				break
			}
			if b, ok := info.Uses[id].(*types.Builtin); ok && b.Name() == "new" && info.Types[x.Args[0]].IsValue() {
				c.Replace(l.newValue(x))
			}
		}
		return true
	})
}

// The small change of made-up code at one position.
type maker struct{ pos token.Pos }

func (m maker) id(name string) *ast.Ident { return &ast.Ident{Name: name, NamePos: m.pos} }
func (m maker) num(n int) ast.Expr {
	return &ast.BasicLit{ValuePos: m.pos, Kind: token.INT, Value: itoa(n)}
}

func (m maker) assign(tok token.Token, lhs []ast.Expr, rhs ...ast.Expr) ast.Stmt {
	return &ast.AssignStmt{Lhs: lhs, TokPos: m.pos, Tok: tok, Rhs: rhs}
}

func (m maker) set(name string, x ast.Expr) ast.Stmt {
	return m.assign(token.ASSIGN, []ast.Expr{m.id(name)}, x)
}

func (m maker) define(name string, x ast.Expr) ast.Stmt {
	return m.assign(token.DEFINE, []ast.Expr{m.id(name)}, x)
}

func (m maker) variable(name string, t ast.Expr, values ...ast.Expr) ast.Stmt {
	return &ast.DeclStmt{Decl: &ast.GenDecl{TokPos: m.pos, Tok: token.VAR, Specs: []ast.Spec{
		&ast.ValueSpec{Names: []*ast.Ident{m.id(name)}, Type: t, Values: values}}}}
}

func (m maker) block(list ...ast.Stmt) *ast.BlockStmt {
	return &ast.BlockStmt{Lbrace: m.pos, List: list, Rbrace: m.pos}
}

func (m maker) ret(xs ...ast.Expr) ast.Stmt { return &ast.ReturnStmt{Return: m.pos, Results: xs} }

func (m maker) compare(name string, op token.Token, n int) ast.Expr {
	return &ast.BinaryExpr{X: m.id(name), OpPos: m.pos, Op: op, Y: m.num(n)}
}

func (m maker) when(cond ast.Expr, list ...ast.Stmt) ast.Stmt {
	return &ast.IfStmt{If: m.pos, Cond: cond, Body: m.block(list...)}
}

func (m maker) funcLit(params, results []*ast.Field, list ...ast.Stmt) *ast.FuncLit {
	t := &ast.FuncType{Func: m.pos, Params: &ast.FieldList{Opening: m.pos, List: params, Closing: m.pos}}
	if len(results) > 0 {
		t.Results = &ast.FieldList{Opening: m.pos, List: results, Closing: m.pos}
	}
	return &ast.FuncLit{Type: t, Body: m.block(list...)}
}

func (m maker) field(name string, t ast.Expr) *ast.Field {
	f := &ast.Field{Type: t}
	if name != "" {
		f.Names = []*ast.Ident{m.id(name)}
	}
	return f
}

// rangeInt rewrites a loop over an integer:
// for i, n := T(0), T(x); i < n; i++ { v := i; body }, where v is i itself if
// the body leaves it alone.
func (l *lowerer) rangeInt(r *ast.RangeStmt, t types.Type) *ast.ForStmt {
	t = types.Default(t)
	m := maker{r.Pos()}
	conv := func(x ast.Expr) ast.Expr { return call(&ast.ParenExpr{X: l.typeExpr(t, m.pos)}, m.pos, x) }
	i, n := l.tempName(), l.tempName()
	body := []ast.Stmt{r.Body}
	if id, ok := r.Key.(*ast.Ident); ok && r.Tok == token.DEFINE && id.Name != "_" && !l.shared[l.c.info.Defs[id]] && !assigns(r.Body, l.c.info.Defs[id], l.c.info) {
		i = id.Name
	} else if r.Key != nil && !isBlank(r.Key) {
		body = []ast.Stmt{m.assign(r.Tok, []ast.Expr{r.Key}, m.id(i)), r.Body}
	}
	return &ast.ForStmt{For: m.pos,
		Init: m.assign(token.DEFINE, []ast.Expr{m.id(i), m.id(n)}, conv(m.num(0)), conv(r.X)),
		Cond: &ast.BinaryExpr{X: m.id(i), OpPos: m.pos, Op: token.LSS, Y: m.id(n)},
		Post: &ast.IncDecStmt{X: m.id(i), TokPos: m.pos, Tok: token.INC},
		Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: body, Rbrace: r.Body.Rbrace}}
}

// rangeLength rewrites a loop over the indices alone of an array that a pointer
// points to, which may be nil; whether the pointer is evaluated is left to the
// caller. It returns nil for others.
func (l *lowerer) rangeLength(r *ast.RangeStmt, t *types.Pointer) *ast.ForStmt {
	if r.Value != nil && !isBlank(r.Value) {
		return nil
	}
	n := *r
	n.X = maker{r.X.Pos()}.num(int(t.Elem().Underlying().(*types.Array).Len()))
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

// rangeAssign makes a loop that assigns to variables, which the interpreter
// takes for one that defines them, do so in its body.
func (l *lowerer) rangeAssign(r *ast.RangeStmt) {
	m := maker{r.Pos()}
	var list []ast.Stmt
	temp := func(x *ast.Expr) {
		if *x == nil {
			return
		}
		n := l.tempName()
		if !isBlank(*x) {
			list = append(list, m.assign(token.ASSIGN, []ast.Expr{*x}, m.id(n)))
		}
		*x = m.id(n)
	}
	temp(&r.Key)
	temp(&r.Value)
	r.Tok = token.DEFINE
	r.Body = &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: append(list, r.Body), Rbrace: r.Body.Rbrace}
}

// rangePlaces makes a loop define variables of its own and assign them where
// what it assigns to is found by what it assigns to: for i, x[i] = range y.
func (l *lowerer) rangePlaces(r *ast.RangeStmt) {
	m := maker{r.Pos()}
	a := &ast.AssignStmt{Lhs: []ast.Expr{r.Key, r.Value}, TokPos: m.pos, Tok: token.ASSIGN}
	if r.Tok != token.ASSIGN || r.Value == nil || !l.changesPlace(a) {
		return
	}
	k, v := m.id(l.tempName()), m.id(l.tempName())
	a.Rhs = []ast.Expr{k, v}
	r.Key, r.Value, r.Tok = k, v, token.DEFINE
	r.Body = &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: []ast.Stmt{a, r.Body}, Rbrace: r.Body.Rbrace}
}

// nothing returns a statement without effect: _ = 0.
func nothing(pos token.Pos) ast.Stmt {
	m := maker{pos}
	return m.assign(token.ASSIGN, []ast.Expr{m.id("_")}, m.num(0))
}

// rangeChan rewrites a loop over a channel:
// for c := ch; ; { v, ok := <-c; if !ok { break }; x := v; body }.
func (l *lowerer) rangeChan(r *ast.RangeStmt) *ast.ForStmt {
	m := maker{r.Pos()}
	ch, v, ok := l.tempName(), l.tempName(), l.tempName()
	body := []ast.Stmt{
		m.assign(token.DEFINE, []ast.Expr{m.id(v), m.id(ok)}, &ast.UnaryExpr{OpPos: m.pos, Op: token.ARROW, X: m.id(ch)}),
		m.when(&ast.UnaryExpr{OpPos: m.pos, Op: token.NOT, X: m.id(ok)}, &ast.BranchStmt{TokPos: m.pos, Tok: token.BREAK}),
	}
	if r.Key != nil && !isBlank(r.Key) {
		body = append(body, m.assign(r.Tok, []ast.Expr{r.Key}, m.id(v)))
	}
	body = append(body, r.Body)
	return &ast.ForStmt{For: m.pos, Init: m.define(ch, r.X), Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: body, Rbrace: r.Body.Rbrace}}
}

// rangeString rewrites a loop over a string, of which the interpreter counts
// wrong where it is no UTF-8:
//
//	{
//		is, rs := runes(s)
//		for j, r := range rs { i := is[j]; body }
//	}
func (l *lowerer) rangeString(r *ast.RangeStmt) *ast.BlockStmt {
	m := maker{r.Pos()}
	is, rs, j := l.tempName(), l.tempName(), l.tempName()
	var list []ast.Stmt
	if !isBlank(r.Key) {
		list = append(list, m.assign(r.Tok, []ast.Expr{r.Key}, &ast.IndexExpr{X: m.id(is), Lbrack: m.pos, Index: m.id(j), Rbrack: m.pos}))
	}
	if r.Value != nil && !isBlank(r.Value) {
		list = append(list, m.assign(r.Tok, []ast.Expr{r.Value}, &ast.IndexExpr{X: m.id(rs), Lbrack: m.pos, Index: m.id(j), Rbrack: m.pos}))
	}
	s := call(m.id("string"), m.pos, r.X)
	return m.block(
		m.assign(token.DEFINE, []ast.Expr{m.id(is), m.id(rs)}, call(l.rt("Runes", m.pos), m.pos, s)),
		&ast.RangeStmt{For: m.pos, Key: m.id(j), TokPos: m.pos, Tok: token.DEFINE, Range: m.pos, X: m.id(rs),
			Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: append(list, r.Body), Rbrace: r.Body.Rbrace}})
}

// runes returns the runes of a string and where they stand.
func runes(s string) (at []int, rs []rune) {
	for i, r := range s {
		at, rs = append(at, i), append(rs, r)
	}
	return at, rs
}

// rangeChans rewrites a loop over a slice, array or map whose values are
// channels, which the interpreter takes for a loop over a channel:
// { s := x; for k := range s { v := s[k]; body } }. It returns nil for others.
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
	m := maker{r.Pos()}
	s, k := l.tempName(), l.tempName()
	list := []ast.Stmt{m.assign(r.Tok, []ast.Expr{r.Value}, &ast.IndexExpr{X: m.id(s), Lbrack: m.pos, Index: m.id(k), Rbrack: m.pos})}
	if !isBlank(r.Key) {
		list = append(list, m.assign(r.Tok, []ast.Expr{r.Key}, m.id(k)))
	}
	return m.block(m.define(s, r.X), &ast.RangeStmt{For: m.pos, Key: m.id(k), TokPos: m.pos, Tok: token.DEFINE, Range: m.pos, X: m.id(s),
		Body: &ast.BlockStmt{Lbrace: r.Body.Lbrace, List: append(list, r.Body), Rbrace: r.Body.Rbrace}})
}

func isBlank(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "_"
}

// newValue rewrites new(x) of a value: func(v T) *T { return &v }(x).
func (l *lowerer) newValue(x *ast.CallExpr) ast.Expr {
	m := maker{x.Pos()}
	t := l.c.info.Types[x].Type.(*types.Pointer)
	v := mark + "v"
	return call(m.funcLit(
		[]*ast.Field{m.field(v, l.typeExpr(t.Elem(), m.pos))},
		[]*ast.Field{m.field("", l.typeExpr(t, m.pos))},
		m.ret(&ast.UnaryExpr{OpPos: m.pos, Op: token.AND, X: m.id(v)})), m.pos, x.Args[0])
}

// States of a loop over a function.
const (
	rangeReady  = iota
	rangeDone   // the body has returned false
	rangeExited // the loop is over
	rangeInBody // or out of it by a panic
	rangeLost   // a panic of the body was swallowed
)

// A rangeError is the panic of an iterator function that goes on when it must
// not.
type rangeError string

func (e rangeError) Error() string { return "runtime error: " + string(e) }
func (rangeError) RuntimeError()   {}

func newRangeError(state int) any {
	return rangeError("range function " + [...]string{
		rangeReady:  "misbehaved",
		rangeDone:   "continued iteration after function for loop body returned false",
		rangeExited: "continued iteration after whole loop exit",
		rangeInBody: "continued iteration after loop body panic",
		rangeLost:   "recovered a loop body panic and did not resume panicking",
	}[state])
}

// How a loop body was left, where not by the end of the loop; positive numbers
// are jumps.
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
	m := maker{r.Pos()}
	b := &rangeBody{l: l, m: m, label: label, state: l.tempName(), leave: l.tempName(), defers: l.tempName(), jumps: map[string]int{}}
	b.results(ft)
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
			first = append(first, m.assign(token.ASSIGN, []ast.Expr{x}, m.id(name)))
		}
		params = append(params, m.field(name, l.typeExpr(yield.Params().At(i).Type(), m.pos)))
	}
	wrong := func(state ast.Expr) ast.Stmt {
		return &ast.ExprStmt{X: call(m.id("panic"), m.pos, l.std("RangeError", m.pos, state))}
	}
	callback := []ast.Stmt{
		m.when(m.compare(b.state, token.NEQ, rangeReady), wrong(m.id(b.state))),
		m.set(b.state, m.num(rangeInBody)),
	}
	callback = append(callback, first...)
	callback = append(callback, r.Body, m.set(b.state, m.num(rangeReady)), m.ret(m.id("true")))
	f := m.funcLit(params, []*ast.Field{m.field("", m.id("bool"))}, callback...)

	list := []ast.Stmt{m.define(b.state, m.num(rangeReady)), m.define(b.leave, m.num(0))}
	list = append(list, b.vars()...)
	list = append(list,
		&ast.ExprStmt{X: call(r.X, m.pos, f)},
		m.when(m.compare(b.state, token.EQL, rangeInBody), wrong(m.num(rangeLost))),
		m.set(b.state, m.num(rangeExited)))
	list = append(list, b.after...)
	return &ast.BlockStmt{Lbrace: m.pos, List: list, Rbrace: r.End()}
}

// rangeBody rewrites what leaves the body of a loop over a function.
type rangeBody struct {
	l                    *lowerer
	m                    maker
	label                string // of the loop
	labels               map[string]bool
	state, leave, defers string
	resultTypes          []types.Type
	resultNames          []string
	hasReturn, hasBare   bool
	hasDefer             bool
	jumps                map[string]int
	after                []ast.Stmt // behind the call
}

// results notes the result types of the function around.
func (b *rangeBody) results(ft *ast.FuncType) {
	if ft == nil || ft.Results == nil {
		return
	}
	for _, f := range ft.Results.List {
		for range max(1, len(f.Names)) {
			b.resultTypes = append(b.resultTypes, b.l.c.info.TypeOf(f.Type))
			b.resultNames = append(b.resultNames, b.l.tempName())
		}
	}
}

// vars declares what the rewritten body uses.
func (b *rangeBody) vars() []ast.Stmt {
	m := b.m
	var list []ast.Stmt
	if b.hasReturn {
		for i, t := range b.resultTypes {
			list = append(list, m.variable(b.resultNames[i], b.l.typeExpr(t, m.pos)))
		}
	}
	if b.hasDefer {
		list = append(list, m.variable(b.defers, &ast.ArrayType{Lbrack: m.pos, Elt: m.funcLit(nil, nil).Type}),
			&ast.DeferStmt{Defer: m.pos, Call: call(m.funcLit(nil, nil, b.l.takesDeferral(m.pos),
				&ast.ExprStmt{X: call(b.l.rt("RunDeferred", m.pos), m.pos, m.id(deferralName), m.id(b.defers))}), m.pos)})
	}
	return list
}

// std returns a call of the compiled part of the prelude.
func (l *lowerer) std(name string, pos token.Pos, args ...ast.Expr) ast.Expr {
	l.pkgs[stdPath] = true
	return call(&ast.SelectorExpr{X: &ast.Ident{Name: alias(stdPath), NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}, pos, args...)
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

// exit leaves the body and the loop.
func (b *rangeBody) exit(leave int, list ...ast.Stmt) ast.Stmt {
	m := b.m
	if leave != 0 {
		list = append(list, m.set(b.leave, m.num(leave)))
	}
	return m.block(append(list, m.set(b.state, m.num(rangeDone)), m.ret(m.id("false")))...)
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
				c.Replace(m.block(m.set(b.state, m.num(rangeReady)), m.ret(m.id("true"))))
			case x.Tok == token.BREAK && (mine || name == "" && breaks == 0):
				c.Replace(b.exit(0))
			case name != "":
				c.Replace(b.exit(b.jump(x)))
			}
		}
		return true
	})
}

// jump returns the number of a jump out of the loop, which is done behind it.
func (b *rangeBody) jump(x *ast.BranchStmt) int {
	key := x.Tok.String() + " " + x.Label.Name
	n, ok := b.jumps[key]
	if !ok {
		n = leaveJump + len(b.jumps)
		b.jumps[key] = n
		b.after = append(b.after, b.m.when(b.m.compare(b.leave, token.EQL, n), x))
	}
	return n
}

func (b *rangeBody) returns(x *ast.ReturnStmt) ast.Stmt {
	m := b.m
	if len(x.Results) == 0 {
		if !b.hasBare {
			b.hasBare = true
			b.after = append(b.after, m.when(m.compare(b.leave, token.EQL, leaveBare), &ast.ReturnStmt{Return: x.Pos()}))
		}
		return b.exit(leaveBare)
	}
	var names, values []ast.Expr
	for _, n := range b.resultNames {
		names = append(names, m.id(n))
		values = append(values, m.id(n))
	}
	if !b.hasReturn {
		b.hasReturn = true
		b.after = append(b.after, m.when(m.compare(b.leave, token.EQL, leaveReturn), &ast.ReturnStmt{Return: x.Pos(), Results: values}))
	}
	if len(names) != len(x.Results) {
		return b.exit(leaveReturn, m.assign(token.ASSIGN, names, x.Results...))
	}
	// One by one: the interpreter has no a, b = x, nil.
	var list []ast.Stmt
	for i, n := range names {
		list = append(list, m.assign(token.ASSIGN, []ast.Expr{n}, x.Results[i]))
	}
	return b.exit(leaveReturn, list...)
}

// deferred keeps a deferred call, with its arguments, for the end of the
// function around.
func (b *rangeBody) deferred(x *ast.DeferStmt) ast.Stmt {
	m := maker{x.Pos()}
	b.hasDefer = true
	info := b.l.c.info
	var list []ast.Stmt
	hold := func(x ast.Expr, t types.Type) ast.Expr {
		name := b.l.tempName()
		var te ast.Expr
		if t != nil {
			te = b.l.typeExpr(t, m.pos)
		}
		list = append(list, m.variable(name, te, x))
		return m.id(name)
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
	list = append(list, m.set(b.defers, call(m.id("append"), m.pos, m.id(b.defers),
		m.funcLit(nil, nil, &ast.ExprStmt{X: call(b.l.rt("Forward", m.pos), m.pos)}, &ast.ExprStmt{X: &inner}))))
	return m.block(list...)
}
