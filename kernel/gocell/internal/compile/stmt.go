package compile

import (
	"go/ast"
	"go/token"
	"go/types"

	"dace.local/kernel/gocell/internal/code"
)

// lines compiles statements.
func (f *function) lines(list []ast.Stmt) []code.Line {
	lines := make([]code.Line, 0, len(list))
	for _, s := range list {
		lines = append(lines, f.line(s))
	}
	return lines
}

func (f *function) line(s ast.Stmt) code.Line {
	l := code.Line{Do: f.stmt(s)}
	if !harmless(s) {
		l.Pos = int32(s.Pos())
	}
	return f.stopBefore(s, l)
}

// harmless reports whether a statement cannot fail or wait, and calls
// nothing.
func harmless(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		return plain(s.X)
	case *ast.BranchStmt, *ast.EmptyStmt:
		return true
	case *ast.ReturnStmt:
		for _, r := range s.Results {
			if !plain(r) {
				return false
			}
		}
		return true
	case *ast.AssignStmt:
		if s.Tok == token.QUO_ASSIGN || s.Tok == token.REM_ASSIGN || s.Tok == token.SHL_ASSIGN || s.Tok == token.SHR_ASSIGN {
			return false
		}
		for _, x := range append(s.Lhs[:len(s.Lhs):len(s.Lhs)], s.Rhs...) {
			if !plain(x) {
				return false
			}
		}
		return true
	}
	return false
}

func plain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return plain(e.X)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.ADD, token.SUB, token.MUL, token.LSS, token.GTR, token.LEQ, token.GEQ, token.AND, token.OR, token.XOR:
			return plain(e.X) && plain(e.Y)
		}
	}
	return false
}

// blockOf compiles the statements of a block.
func (f *function) blockOf(list []ast.Stmt) code.Do { return f.sequence(list, nil, f.lines(list)) }

// sequence joins the lines of statements, between which goto may jump, after
// those of start.
func (f *function) sequence(list []ast.Stmt, start, lines []code.Line) code.Do {
	targets := map[code.Ctl]int{}
	for i, s := range list {
		for {
			l, ok := s.(*ast.LabeledStmt)
			if !ok {
				break
			}
			targets[f.label(l.Label.Name, 2)] = len(start) + i
			s = l.Stmt
		}
	}
	all := append(start, lines...)
	if len(targets) > 0 && f.jumps() {
		return code.Labelled(all, targets)
	}
	return code.Block(all)
}

// jumps reports whether the function has a goto statement.
func (f *function) jumps() bool {
	if f.hasGoto == 0 {
		f.hasGoto = 1
		ast.Inspect(f.node, func(n ast.Node) bool {
			if b, ok := n.(*ast.BranchStmt); ok && b.Tok == token.GOTO {
				f.hasGoto = 2
			}
			return true
		})
	}
	return f.hasGoto == 2
}

// deferring reports whether the function has a defer statement.
func (f *function) deferring() bool {
	if f.hasDefer == 0 {
		f.hasDefer = 1
		ast.Inspect(f.node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return n == f.node
			case *ast.DeferStmt:
				f.hasDefer = 2
			}
			return true
		})
	}
	return f.hasDefer == 2
}

// label returns the control code of a label: 0 to break, 1 to continue, 2 to
// go to it.
func (f *function) label(name string, what int) code.Ctl {
	n, ok := f.labels[name]
	if !ok {
		n = len(f.labels)
		f.labels[name] = n
	}
	return code.FirstLabel + code.Ctl(3*n+what)
}

// loop returns the control codes of the label of the statement that is
// compiled.
func (f *function) loop() code.Loop {
	l := code.Loop{Break: code.Break, Continue: code.Continue}
	if f.own != "" {
		l.Break, l.Continue = f.label(f.own, 0), f.label(f.own, 1)
	}
	f.own = ""
	return l
}

// Long: one case for each statement.
func (f *function) stmt(s ast.Stmt) code.Do {
	own := f.own
	f.own = ""
	if first := f.orderlyStmt(s); first != nil {
		f.own = own
		return after(first, f.stmt(s))
	}
	switch s := s.(type) {
	case *ast.EmptyStmt:
		return code.Jump(code.Next)
	case *ast.BlockStmt:
		body := f.blockOf(s.List)
		if own != "" {
			return code.Breakable(body, f.label(own, 0))
		}
		return body
	case *ast.ExprStmt:
		return f.exprStmt(s.X)
	case *ast.AssignStmt:
		return f.assign(s)
	case *ast.IncDecStmt:
		return f.incDec(s)
	case *ast.DeclStmt:
		return f.declStmt(s.Decl.(*ast.GenDecl))
	case *ast.ReturnStmt:
		if f.deferring() {
			return code.ReturnAt(int32(s.Pos()), f.returnStmt(s))
		}
		return f.returnStmt(s)
	case *ast.IfStmt:
		return f.ifStmt(s)
	case *ast.ForStmt:
		f.own = own
		return f.forStmt(s)
	case *ast.RangeStmt:
		f.own = own
		return f.rangeStmt(s)
	case *ast.SwitchStmt:
		f.own = own
		return f.switchStmt(s)
	case *ast.TypeSwitchStmt:
		f.own = own
		return f.typeSwitch(s)
	case *ast.SelectStmt:
		f.own = own
		return f.selectStmt(s)
	case *ast.LabeledStmt:
		f.own = s.Label.Name
		return f.stmt(s.Stmt)
	case *ast.BranchStmt:
		return f.branch(s)
	case *ast.GoStmt:
		return code.Go(f.prepared(s.Call))
	case *ast.DeferStmt:
		f.defers = true
		return code.Defer(f.prepared(s.Call))
	case *ast.SendStmt:
		t := f.typ(s.Chan)
		elem := coreType(t).(*types.Chan).Elem()
		return code.Send(f.rt(t), f.expr(s.Chan), code.AnyInto(f.exprTo(s.Value, elem), f.rt(elem)), f.temp(elem))
	}
	f.refuse(s, "a statement of this form (%T) cannot be compiled yet", s)
	return nil
}

// operandsOf returns the operands of a statement, whose calls may have to be made
// first; always is where the statement itself evaluates in another order than
// the language.
func (f *function) operandsOf(s ast.Stmt) (always bool, list []ast.Expr) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return false, s.Rhs
		}
		for _, l := range s.Lhs {
			list = f.leftOperands(list, l)
			always = always || f.calls(l)
		}
		always = always && (len(s.Rhs) > 1 || f.info.Types[s.Rhs[0]].Value == nil)
		list = append(list, s.Rhs...)
	case *ast.ReturnStmt:
		list = s.Results
	case *ast.SendStmt:
		list = []ast.Expr{s.Chan, s.Value}
	}
	return always, list
}

// leftOperands appends the operands of the left side of an assignment, which is
// not read itself.
func (f *function) leftOperands(list []ast.Expr, l ast.Expr) []ast.Expr {
	switch l := ast.Unparen(l).(type) {
	case *ast.IndexExpr:
		return append(list, l.X, l.Index)
	case *ast.StarExpr:
		return append(list, l.X)
	case *ast.SelectorExpr:
		if f.info.Selections[l] != nil {
			return append(list, l.X)
		}
	}
	return list
}

func (f *function) exprStmt(e ast.Expr) code.Do {
	e = ast.Unparen(e)
	if c, ok := e.(*ast.CallExpr); ok {
		return f.callStmt(c)
	}
	t := f.typ(e)
	return code.Discard(f.expr(e), f.rt(t), f.temp(t))
}

func (f *function) branch(s *ast.BranchStmt) code.Do {
	switch s.Tok {
	case token.BREAK:
		if s.Label != nil {
			return code.Jump(f.label(s.Label.Name, 0))
		}
		return code.Jump(code.Break)
	case token.CONTINUE:
		if s.Label != nil {
			return code.Jump(f.label(s.Label.Name, 1))
		}
		return code.Jump(code.Continue)
	case token.GOTO:
		return code.Jump(f.label(s.Label.Name, 2))
	}
	return code.FallThrough
}

func (f *function) returnStmt(s *ast.ReturnStmt) code.Do {
	if len(s.Results) == 0 {
		return code.Jump(code.Return)
	}
	if len(s.Results) == 1 && len(f.results) > 1 {
		tuple := f.typ(s.Results[0]).(*types.Tuple)
		offs, call := f.tuple(s.Results[0], tuple)
		all := []code.Do{call}
		for i, r := range f.results {
			t := tuple.At(i).Type()
			all = append(all, f.store(r.place, f.assignable(f.load(code.Slot(offs[i]), t), t, r.t), r.t))
		}
		return code.ReturnAfter(all)
	}
	if len(s.Results) == 1 {
		r := f.results[0]
		v := f.exprTo(s.Results[0], r.t)
		if v.K == code.Agg && !f.named {
			return code.ReturnAfter([]code.Do{code.Init(r.place, code.AnyInto(v, r.r))})
		}
		return code.ReturnValue(f.store(r.place, v, r.t))
	}
	var all, stores []code.Do
	for i, x := range s.Results {
		r := f.results[i]
		v := f.exprTo(x, r.t)
		if v.IsConst() {
			stores = append(stores, f.store(r.place, v, r.t))
			continue
		}
		if !f.named {
			all = append(all, code.Init(r.place, code.AnyInto(v, r.r)))
			continue
		}
		tmp := f.add(r.r)
		all = append(all, code.Init(code.Slot(tmp), code.AnyInto(v, r.r)))
		stores = append(stores, f.store(r.place, f.load(code.Slot(tmp), r.t), r.t))
	}
	return code.ReturnAfter(append(all, stores...))
}

// condition compiles a condition; its place is noted if it can fail.
func (f *function) condition(e ast.Expr) code.Ex[bool] {
	first := f.orderly(false, e)
	cond := code.Condition(f.expr(e))
	if first != nil {
		return code.CondAfter(code.Block(linesOf(first)), cond)
	}
	return cond
}

func (f *function) ifStmt(s *ast.IfStmt) code.Do {
	var init code.Do
	if s.Init != nil {
		init = f.stmt(s.Init)
	}
	cond := f.condition(s.Cond)
	yes := f.blockOf(s.Body.List)
	var no code.Do
	if s.Else != nil {
		l := f.line(s.Else)
		no = l.Do
		if _, block := s.Else.(*ast.BlockStmt); !block {
			no = code.Block([]code.Line{l})
		}
	}
	do := code.If(cond, yes, no)
	if init != nil {
		return code.Sequence(init, do)
	}
	return do
}

func (f *function) forStmt(s *ast.ForStmt) code.Do {
	l := f.loop()
	var init, post code.Do
	var cond code.Ex[bool]
	var fresh []code.Do // copies of the loop's variables for the next turn
	if s.Init != nil {
		init = f.stmt(s.Init)
		if a, ok := s.Init.(*ast.AssignStmt); ok && a.Tok == token.DEFINE && !f.shared {
			for _, x := range a.Lhs {
				v, ok := f.info.Defs[x.(*ast.Ident)].(*types.Var)
				if !ok || f.vars[v] == nil || !f.vars[v].boxed {
					continue
				}
				x := f.vars[v]
				fresh = append(fresh, code.NewVar(x.off, x.r, code.AnyInto(code.InMemory(code.Box(x.off), x.r), x.r)))
			}
		}
	}
	if s.Cond != nil {
		cond = f.condition(s.Cond)
		if !plain(s.Cond) {
			cond = code.CondAt(int32(s.Cond.Pos()), cond)
		}
	}
	body := f.blockOf(s.Body.List)
	if s.Post != nil {
		post = code.Block([]code.Line{f.line(s.Post)})
	}
	if len(fresh) > 0 {
		all := fresh
		if post != nil {
			all = append(all, post)
		}
		enter := code.Enter(all)
		post = func(g *code.Frame) code.Ctl { enter(g); return code.Next }
	}
	do := code.For(cond, post, body, l)
	if init != nil {
		return code.Sequence(init, do)
	}
	return do
}

func (f *function) switchStmt(s *ast.SwitchStmt) code.Do {
	l := f.loop()
	var before []code.Do
	if s.Init != nil {
		before = append(before, f.stmt(s.Init))
	}
	var tag code.Val
	var tagT types.Type = types.Typ[types.Bool]
	if s.Tag != nil {
		tagT = types.Default(f.typ(s.Tag))
		before = append(before, f.orderly(false, s.Tag)...)
		off := f.temp(tagT)
		v := f.exprTo(s.Tag, tagT)
		if v.K == code.Agg {
			before = append(before, code.Init(code.Slot(off), code.AnyInto(v, f.rt(tagT))))
		} else {
			before = append(before, code.Of(v.K).Store(code.Slot(off), v))
		}
		tag = f.load(code.Slot(off), tagT)
	} else {
		tag = code.Of(code.Bool).Const(true)
	}
	var conds []code.Ex[bool]
	var body []int
	var consts []code.Val
	def, constant := -1, s.Tag != nil
	var bodies []code.Do
	for i, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if c.List == nil {
			def = i
		}
		for _, x := range c.List {
			cond, v := f.caseCond(x, s.Tag, tag, tagT)
			conds, body = append(conds, cond), append(body, i)
			constant = constant && v.IsConst()
			consts = append(consts, v)
		}
		bodies = append(bodies, f.blockOf(c.Body))
	}
	choose := code.Chain(conds, body, def)
	if constant && len(consts) > 3 {
		if look, ok := code.Lookup(tag, consts, body, def); ok {
			choose = look
		}
	}
	return code.Block(append(linesOf(before), code.Line{Do: code.Choose(choose, bodies, l.Break)}))
}

func linesOf(all []code.Do) []code.Line {
	var lines []code.Line
	for _, s := range all {
		lines = append(lines, code.Line{Do: s})
	}
	return lines
}

// caseCond compiles the condition of a case; the value is that of a case that
// is constant.
func (f *function) caseCond(x, tagExpr ast.Expr, tag code.Val, tagT types.Type) (code.Ex[bool], code.Val) {
	if tagExpr == nil {
		if xt := f.typ(x); types.IsInterface(xt) {
			empty := types.NewInterfaceType(nil, nil)
			yes := f.assignable(code.Of(code.Bool).Const(true), types.Typ[types.Bool], empty)
			return f.equalVals(yes, f.assignable(f.expr(x), xt, empty), empty, false), code.Val{}
		}
		return f.condition(x), code.Val{}
	}
	if f.info.Types[x].IsNil() {
		return code.IsNil(tag, false), code.Val{}
	}
	xt := types.Default(f.typ(x))
	switch {
	case types.IsInterface(tagT) && !types.IsInterface(xt), types.IsInterface(tagT) && types.IsInterface(xt):
		empty := types.NewInterfaceType(nil, nil)
		return f.equalVals(f.assignable(tag, tagT, empty), f.assignable(f.exprTo(x, xt), xt, empty), empty, false), code.Val{}
	case types.IsInterface(xt):
		empty := types.NewInterfaceType(nil, nil)
		return f.equalVals(f.assignable(tag, tagT, empty), f.assignable(f.expr(x), xt, empty), empty, false), code.Val{}
	}
	v := f.exprTo(x, tagT)
	c := v
	if !v.IsConst() {
		c = code.Val{}
	}
	return f.equalVals(tag, v, tagT, false), c
}

func (f *function) typeSwitch(s *ast.TypeSwitchStmt) code.Do {
	l := f.loop()
	var before []code.Do
	if s.Init != nil {
		before = append(before, f.stmt(s.Init))
	}
	var x ast.Expr
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = ast.Unparen(a.X).(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		x = ast.Unparen(a.Rhs[0]).(*ast.TypeAssertExpr).X
	}
	t := f.typ(x)
	off := f.temp(t)
	before = append(before, code.Of(code.Ifc).Store(code.Slot(off), f.expr(x)))
	v := f.load(code.Slot(off), t)
	var conds []code.Ex[bool]
	var body []int
	def := -1
	var bodies []code.Do
	for i, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if c.List == nil {
			def = i
		}
		var one types.Type
		for _, x := range c.List {
			if tv := f.info.Types[x]; tv.IsNil() {
				conds = append(conds, code.Holds(v, f.rt(t), nil))
			} else {
				one = f.sub(f.info.TypeOf(x))
				conds = append(conds, code.Holds(v, f.rt(t), f.rt(one)))
			}
			body = append(body, i)
		}
		var start []code.Line
		if o, ok := f.info.Implicits[c].(*types.Var); ok {
			val, vt := v, t
			if len(c.List) == 1 && one != nil {
				a := &code.Assertion{From: f.rt(t), To: f.rt(one), Pos: int32(x.Pos()), Missing: f.c.missing}
				vt = one
				if types.IsInterface(one) {
					val = a.Interface(v, 0)
				} else {
					val = a.Concrete(v, 0)
				}
			}
			start = append(start, code.Line{Do: f.declareVal(o, vt, val)})
		}
		bodies = append(bodies, f.sequence(c.Body, start, f.lines(c.Body)))
	}
	return code.Block(append(linesOf(before), code.Line{Do: code.Choose(code.Chain(conds, body, def), bodies, l.Break)}))
}

func (f *function) selectStmt(s *ast.SelectStmt) code.Do {
	l := f.loop()
	var cases []code.Comm
	var bodies []code.Do
	for _, c := range s.Body.List {
		c := c.(*ast.CommClause)
		comm, start := f.comm(c)
		cases = append(cases, comm)
		bodies = append(bodies, f.sequence(c.Body, linesOf(start), f.lines(c.Body)))
	}
	return code.Choose(code.Select(cases), bodies, l.Break)
}

// comm compiles a case of a select statement, and what begins its body.
func (f *function) comm(c *ast.CommClause) (code.Comm, []code.Do) {
	switch s := c.Comm.(type) {
	case nil:
		return code.Comm{Default: true}, nil
	case *ast.SendStmt:
		t := f.typ(s.Chan)
		elem := coreType(t).(*types.Chan).Elem()
		return code.Comm{Type: f.rt(t), Chan: f.expr(s.Chan), Send: code.AnyInto(f.exprTo(s.Value, elem), f.rt(elem)), Spare: f.temp(elem)}, nil
	case *ast.ExprStmt:
		x := ast.Unparen(s.X).(*ast.UnaryExpr)
		return code.Comm{Type: f.rt(f.typ(x.X)), Chan: f.expr(x.X)}, nil
	case *ast.AssignStmt:
		x := ast.Unparen(s.Rhs[0]).(*ast.UnaryExpr)
		t := f.typ(x.X)
		elem := coreType(t).(*types.Chan).Elem()
		comm := code.Comm{Type: f.rt(t), Chan: f.expr(x.X), To: f.temp(elem)}
		vals := []code.Val{f.load(code.Slot(comm.To), elem)}
		valTypes := []types.Type{elem}
		if len(s.Lhs) == 2 {
			comm.OkAt = f.temp(types.Typ[types.Bool])
			vals = append(vals, f.load(code.Slot(comm.OkAt), types.Typ[types.Bool]))
			valTypes = append(valTypes, types.Typ[types.Bool])
		}
		var start []code.Do
		for i, l := range s.Lhs {
			start = append(start, f.assignVal(l, vals[i], valTypes[i], s.Tok == token.DEFINE))
		}
		return comm, start
	}
	f.refuse(c, "this case of a select statement cannot be compiled yet")
	return code.Comm{}, nil
}
