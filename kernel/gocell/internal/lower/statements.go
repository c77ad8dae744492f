package lower

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"unicode/utf8"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/syntax"
)

// fillEmpty inserts a statement into an empty body of a loop.
func fillEmpty(body *ast.BlockStmt) {
	if len(body.List) == 0 {
		body.List = []ast.Stmt{noop(body.Pos())}
	}
}

// rangeOver returns the underlying type of the operand of a range, nil if the
// checker knows none.
func (l *lowerer) rangeOver(x *ast.RangeStmt) types.Type {
	tv, ok := l.c.Info.Types[x.X]
	if !ok {
		return nil
	}
	return tv.Type.Underlying()
}

func (l *lowerer) rangeFuncStmt(c *astutil.Cursor, x *ast.RangeStmt) verdict {
	t, ok := l.rangeOver(x).(*types.Signature)
	if !ok {
		return goOn
	}
	label := ""
	if p, ok := c.Parent().(*ast.LabeledStmt); ok {
		label = p.Label.Name
	}
	c.Replace(l.rangeFunc(x, t, label, l.function().typ))
	return stop
}

func (l *lowerer) rangeChanStmt(x *ast.RangeStmt) *ast.BlockStmt {
	if _, ok := l.rangeOver(x).(*types.Chan); !ok {
		return nil
	}
	return l.splitFor(l.rangeChan(x))
}

func (l *lowerer) rangeLengthStmt(x *ast.RangeStmt) *ast.BlockStmt {
	t := l.rangeOver(x)
	p, ok := t.(*types.Pointer)
	if star, deref := x.X.(*ast.StarExpr); deref {
		if _, isArray := t.(*types.Array); isArray {
			p, ok = l.c.Info.TypeOf(star.X).Underlying().(*types.Pointer)
		}
	}
	if !ok {
		return nil
	}
	f := l.rangeLength(x, p)
	if f == nil {
		return nil
	}
	b := l.splitFor(f)
	if hasCall(x.X) {
		b.List = append([]ast.Stmt{syntax.At(x.Pos()).Define(l.tempName(), x.X)}, b.List...)
	}
	return b
}

func (l *lowerer) rangeChanElements(x *ast.RangeStmt) *ast.BlockStmt {
	t := l.rangeOver(x)
	if t == nil {
		return nil
	}
	return l.rangeChans(x, t)
}

func (l *lowerer) rangeStringStmt(c *astutil.Cursor, x *ast.RangeStmt) verdict {
	b, ok := l.rangeOver(x).(*types.Basic)
	if !ok || b.Info()&types.IsString == 0 || validString(l.c.Info.Types[x.X].Value) && x.Tok != token.ASSIGN && x.Value != nil {
		return goOn
	}
	if x.Key != nil {
		b := l.rangeString(x)
		c.Replace(b)
		l.enclosed[b] = true
	}
	return stop
}

// validString reports whether v is a constant string of valid UTF-8.
func validString(v constant.Value) bool {
	return v != nil && v.Kind() == constant.String && utf8.ValidString(constant.StringVal(v))
}

func (l *lowerer) rangeIntStmt(x *ast.RangeStmt) *ast.BlockStmt {
	if b, ok := l.rangeOver(x).(*types.Basic); !ok || b.Info()&types.IsInteger == 0 {
		return nil
	}
	return l.splitFor(l.rangeInt(x, l.c.Info.Types[x.X].Type))
}

// addToUintptr rewrites x++ and x-- of a uintptr to x += 1 and x -= 1; it returns nil
// for other types.
func (l *lowerer) addToUintptr(x *ast.IncDecStmt) ast.Node {
	if b, ok := l.c.Info.TypeOf(x.X).Underlying().(*types.Basic); !ok || b.Kind() != types.Uintptr {
		return nil
	}
	op := token.ADD_ASSIGN
	if x.Tok == token.DEC {
		op = token.SUB_ASSIGN
	}
	m := syntax.At(x.TokPos)
	return m.Assign(op, []ast.Expr{x.X}, m.Int(1))
}

func (l *lowerer) nameBlankRangeKey(x *ast.RangeStmt) {
	if l.rangeOver(x) != nil {
		l.nameBlankKey(x)
	}
}

func (l *lowerer) rangeAssignStmt(x *ast.RangeStmt) {
	if l.rangeOver(x) != nil && x.Tok == token.ASSIGN {
		l.defineRangeTemps(x)
	}
}

func (l *lowerer) holdResults(x *ast.ReturnStmt) ast.Node {
	if list := l.holdCrossed(x); list != nil {
		return syntax.At(x.Pos()).Block(append(list, x)...)
	}
	return nil
}

func (l *lowerer) deferTuple(c *astutil.Cursor, x *ast.DeferStmt) verdict {
	s := l.spreadTuple(x.Call)
	switch {
	case s == nil:
	case c.Index() >= 0:
		c.InsertBefore(s)
	default: // it has a label
		c.Replace(syntax.At(x.Pos()).Block(s, x))
		return stop
	}
	return goOn
}

func (l *lowerer) hoistIfInit(x *ast.IfStmt) {
	if list := l.rewriteSimple(x.Init); len(list) > 1 {
		x.Init, l.hoisted = nil, list
	}
}

func (l *lowerer) hoistTypeSwitchInit(x *ast.TypeSwitchStmt) {
	if list := l.rewriteSimple(x.Init); len(list) > 1 {
		x.Init, l.hoisted = nil, list
	}
}

func (l *lowerer) hoistSwitchInit(x *ast.SwitchStmt) {
	l.hoisted = l.rewriteSimple(x.Init)
	x.Init = nil
}

func (l *lowerer) orderDefault(c *astutil.Cursor, x *ast.SwitchStmt) verdict {
	if !fallsPastDefault(x) {
		defaultLast(x)
		return goOn
	}
	b := syntax.At(x.Pos()).Block(append(l.hoisted, l.chooseThenRun(x)...)...)
	l.hoisted = nil
	c.Replace(b)
	l.enclosed[b] = true
	return stop
}

func encloseHoisted[N ast.Stmt](l *lowerer, c *astutil.Cursor, x N) verdict {
	if l.hoisted == nil {
		return goOn
	}
	b := syntax.At(x.Pos()).Block(append(l.hoisted, x)...)
	l.hoisted = nil
	c.Replace(b)
	l.enclosed[b] = true
	return stop
}

func (l *lowerer) methodExprNode(x *ast.SelectorExpr) ast.Node {
	if s := l.c.Info.Selections[x]; s != nil && s.Kind() == types.MethodExpr {
		return l.methodExpr(x)
	}
	return nil
}

func (l *lowerer) boxCompared(x *ast.BinaryExpr) {
	if x.Op == token.EQL || x.Op == token.NEQ {
		l.boxConversion(&x.X)
		l.boxConversion(&x.Y)
	}
}

func (l *lowerer) boxSelected(x *ast.SelectorExpr) {
	if l.c.Info.Selections[x] != nil {
		l.boxConversion(&x.X)
	}
}

func (l *lowerer) boxIndex(x *ast.IndexExpr) { l.boxConversion(&x.Index) }

func (l *lowerer) shiftedConstant(x *ast.BinaryExpr) {
	info := l.c.Info
	tv := info.Types[x]
	if left := info.Types[x.X]; (x.Op == token.SHL || x.Op == token.SHR) && tv.Value == nil && left.Value != nil && tv.Type != nil {
		x.X = l.convert(x.X, types.Default(tv.Type), x.X.Pos())
		info.Types[x.X] = variableOf(tv.Type)
	}
}

func (l *lowerer) dropParens(x *ast.ParenExpr) ast.Node {
	if l.c.Info.Types[x.X].IsValue() {
		return x.X
	}
	return nil
}

func (l *lowerer) newOfValue(c *astutil.Cursor, x *ast.CallExpr) verdict {
	if len(x.Args) != 1 {
		return goOn
	}
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok {
		return goOn
	}
	if b, ok := l.c.Info.Uses[id].(*types.Builtin); ok && b.Name() == "new" && l.c.Info.Types[x.Args[0]].IsValue() {
		c.Replace(l.newOfCopy(x))
	}
	return goOn
}

// splitParallel splits a tuple assignment, see assignParallel.
func (l *lowerer) splitParallel(a *ast.AssignStmt, alone bool) []ast.Stmt {
	if !sets(a) || alone || len(a.Lhs) < 2 || len(a.Rhs) < 2 {
		return nil
	}
	return l.assignParallel(a)
}

func (l *lowerer) splitTuple(a *ast.AssignStmt, alone bool) []ast.Stmt {
	if !sets(a) || alone || len(a.Lhs) < 2 || len(a.Rhs) > 1 {
		return nil
	}
	return l.assignTuple(a)
}

func (l *lowerer) detachAssigned(a *ast.AssignStmt) {
	if sets(a) && len(a.Lhs) == 1 {
		l.detachSingle(a)
	}
}

// sets reports whether a statement is x = y or x := y, not x op= y.
func sets(a *ast.AssignStmt) bool { return a.Tok == token.ASSIGN || a.Tok == token.DEFINE }

// callBeforePlace evaluates a value with a call before the place that it is
// assigned to, if that may not exist, or is read as well.
func (l *lowerer) callBeforePlace(a *ast.AssignStmt, alone bool) []ast.Stmt {
	if a.Tok == token.DEFINE || alone || len(a.Lhs) != 1 || !l.hasEffect(a.Rhs[0]) {
		return nil
	}
	if _, plain := a.Lhs[0].(*ast.Ident); plain || sets(a) && !l.mayNotExist(a.Lhs[0]) {
		return nil
	}
	t := l.c.Info.TypeOf(a.Rhs[0])
	if t == nil {
		return nil
	}
	m := syntax.At(a.Pos())
	var list []ast.Stmt
	if hasCall(a.Lhs[0]) {
		list = l.holdOperands(a.Lhs, m)
	}
	value := m.Ident(l.tempName())
	list = append(list, m.Define(value.Name, a.Rhs[0]))
	l.c.Info.Types[value] = variableOf(t)
	a.Rhs[0] = value
	return append(list, a)
}

// mayNotExist reports whether a place is an element of a slice or array, or
// behind a pointer.
func (l *lowerer) mayNotExist(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.IndexExpr:
		if _, isMap := l.c.Info.TypeOf(x.X).Underlying().(*types.Map); isMap {
			return false // the interpreter calls first
		}
		return true
	case *ast.StarExpr:
		return true
	case *ast.SelectorExpr:
		s := l.c.Info.Selections[x]
		return s != nil && (s.Indirect() || l.mayNotExist(x.X))
	}
	return false
}

// hasEffect reports whether an expression receives from a channel or calls a
// function that may do more than to compute its result.
func (l *lowerer) hasEffect(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.CallExpr:
			if l.c.Info.Types[n.Fun].IsType() || l.isBuiltin(n.Fun) {
				return true
			}
			f, ok := l.c.Info.Uses[calledName(n.Fun)].(*types.Func)
			found = found || !ok || f.Pkg() == nil || !onlyComputes[f.Pkg().Path()]
		}
		return !found
	})
	return found
}

// onlyComputes holds packages whose functions have no effect but their results,
// by import path.
var onlyComputes = map[string]bool{"math": true, "math/bits": true, "math/cmplx": true, "strconv": true, "unicode": true, "unicode/utf8": true}

// assignment rewrites an assignment that is the init or post statement of
// another one. It returns the statements that replace it, or nil; then it may
// still have changed in place.
func (l *lowerer) assignment(a *ast.AssignStmt) []ast.Stmt {
	if list := l.callBeforePlace(a, false); list != nil {
		return list
	}
	l.detachAssigned(a)
	if list := l.splitParallel(a, false); list != nil {
		return list
	}
	return l.splitTuple(a, false)
}
