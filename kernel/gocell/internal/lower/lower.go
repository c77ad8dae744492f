package lower

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// A lowerer rewrites one checked cell.
type lowerer struct {
	fset     *token.FileSet
	c        *check.Checked
	pkgs     map[string]bool // import paths that the rewritten code uses
	renamed  map[types.Object]string
	ctx      types.Object // the predeclared context, until a cell defines its own
	errs     *check.Error
	temp     int
	env      Env
	state    *State
	queue    []*instance           // yet to be made
	instance *instance             // the one being made, nil for the cell itself
	captured map[types.Object]bool // see capturedVars

	methods   []methodOf        // methods that the cell declares, or that instances bring
	receivers map[ast.Expr]bool // receivers that became the first argument
	operands  map[*ast.TypeAssertExpr]ast.Expr
	switched  map[*ast.TypeSwitchStmt]types.Type // type of the operand
	cases     map[*ast.CaseClause][]types.Type   // of a type switch

	conversions map[*ast.CallExpr][2]types.Type // from one type to another
	expanded    map[ast.Expr]*ast.CallExpr      // the call that each call expanded by pass-tuple was
	enclosed    map[*ast.BlockStmt]bool         // blocks around a rewritten statement, their last; a label moves to it

	order     *order
	enclosing []*enclosing    // the functions around the node that the walk is at
	root      ast.Node        // where the walk began
	gotos     map[string]bool // labels of goto statements below root
	object    types.Object    // of the identifier that the walk is at, see keepMember
	hoisted   []ast.Stmt      // to stand before the statement that the walk leaves
	unsafe    map[*ast.CallExpr]unsafeCall
	hooks     map[*ast.FuncDecl]string // of functions of fetched packages
	onDisk    map[ast.Node]bool        // declarations of packages on disk, in which a debugger may stop
}

// methodOf names a method of a cell's type.
type methodOf struct {
	t      *types.Named
	method string
}

// refuse reports an error of the cell.
func (l *lowerer) refuse(pos token.Pos, format string, args ...any) {
	l.errs.List.Add(l.fset.Position(pos), fmt.Sprintf(format, args...))
}

// typeExpr returns the expression that names a type for the interpreter, and
// imports the packages that it mentions.
func (l *lowerer) typeExpr(t types.Type, pos token.Pos) ast.Expr {
	s, err := l.typeString(t)
	if err != nil {
		l.refuse(pos, "%v", err)
		return ast.NewIdent("int")
	}
	x, perr := parser.ParseExpr(s)
	if perr != nil {
		l.refuse(pos, "internal: type %s: %v", s, perr)
		return ast.NewIdent("int")
	}
	setPositions(x, pos)
	return x
}

// typeString returns the text that names a type for the interpreter.
func (l *lowerer) typeString(t types.Type) (string, error) {
	if bad := check.Inexpressible(t, map[types.Type]bool{}); bad != "" {
		return "", fmt.Errorf("type %s cannot be written in a cell: %s is not exported", types.TypeString(t, check.ShortName), bad)
	}
	return l.typeName(t)
}

// globalType is typeExpr for the type of a session variable, which a later cell
// must be able to name.
func (l *lowerer) globalType(t types.Type, pos token.Pos) ast.Expr {
	if bad := check.Inexpressible(t, map[types.Type]bool{}); bad != "" {
		l.refuse(pos, "a variable of the session cannot have type %s: %s can only be named where it is declared", types.TypeString(t, check.ShortName), bad)
	}
	return l.typeExpr(t, pos)
}

// setPositions sets the position of every node of a generated expression to
// that of the code that it replaces.
func setPositions(n ast.Node, pos token.Pos) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			n.NamePos = pos
		case *ast.BasicLit:
			n.ValuePos = pos
		case *ast.StarExpr:
			n.Star = pos
		case *ast.ArrayType:
			n.Lbrack = pos
		case *ast.MapType:
			n.Map = pos
		case *ast.FuncType:
			n.Func = pos
		case *ast.StructType:
			n.Struct = pos
		case *ast.InterfaceType:
			n.Interface = pos
		case *ast.ChanType:
			n.Begin = pos
			n.Arrow = token.NoPos
			if n.Dir != ast.SEND|ast.RECV {
				n.Arrow = pos
			}
		case *ast.Ellipsis:
			n.Ellipsis = pos
		case *ast.FieldList:
			n.Opening, n.Closing = pos, pos
		case *ast.CallExpr:
			n.Lparen, n.Rparen = pos, pos
		case *ast.ParenExpr:
			n.Lparen, n.Rparen = pos, pos
		case *ast.IndexExpr:
			n.Lbrack, n.Rbrack = pos, pos
		case *ast.IndexListExpr:
			n.Lbrack, n.Rbrack = pos, pos
		case *ast.UnaryExpr:
			n.OpPos = pos
		case *ast.BinaryExpr:
			n.OpPos = pos
		}
		return true
	})
}

// kernel returns the selector of a function of the kernel that rewritten code
// calls: ˑrt.Name.
func (l *lowerer) kernel(name string, pos token.Pos) ast.Expr {
	return &ast.SelectorExpr{X: &ast.Ident{Name: cell.Runtime, NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}
}

// convert returns the conversion T(x).
func (l *lowerer) convert(x ast.Expr, t types.Type, pos token.Pos) ast.Expr {
	return syntax.Call(&ast.ParenExpr{Lparen: pos, X: l.typeExpr(t, pos), Rparen: pos}, pos, x)
}

// topStatements rewrites the statements of a cell at its top level. The variables
// that they define are globals, declared beside the function of the statements.
func (l *lowerer) topStatements(body *ast.BlockStmt) []ast.Stmt {
	var out []ast.Stmt
	for _, s := range body.List {
		out = append(out, l.topLevel(s, s == l.c.Source.Last)...)
	}
	return out
}

func (l *lowerer) topLevel(s ast.Stmt, last bool) []ast.Stmt {
	if s, ok := s.(*ast.LabeledStmt); ok {
		list := l.topLevel(s.Stmt, false)
		if len(list) == 1 {
			s.Stmt = list[0]
		} else {
			s.Stmt = &ast.BlockStmt{Lbrace: s.Pos(), List: list, Rbrace: s.End()}
		}
		return []ast.Stmt{s}
	}
	for _, f := range l.order.top {
		if list, ok := f(l, s, last); ok {
			return list
		}
	}
	return []ast.Stmt{s}
}

// assignGlobals rewrites definitions of session variables to assignments.
func (l *lowerer) assignGlobals(s ast.Stmt, _ bool) (list []ast.Stmt, ok bool) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE || slices.ContainsFunc(s.Lhs, isGenerated) {
			return nil, false
		}
		s.Tok = token.ASSIGN
		if list := l.splitBoxed(s); list != nil {
			return list, true
		}
		return []ast.Stmt{s}, true
	case *ast.DeclStmt:
		g, ok := s.Decl.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || len(g.Specs) == 0 || isGenerated(g.Specs[0].(*ast.ValueSpec).Names[0]) {
			return nil, false
		}
		for _, sp := range g.Specs {
			list = append(list, l.assignDeclared(sp.(*ast.ValueSpec))...)
		}
		return list, true
	}
	return nil, false
}

// assignDeclared rewrites a var declaration of session variables to an
// assignment. One without values assigns zero: the cell may run a second time.
func (l *lowerer) assignDeclared(v *ast.ValueSpec) (list []ast.Stmt) {
	if len(v.Values) > 0 {
		lhs := make([]ast.Expr, len(v.Names))
		for i, n := range v.Names {
			lhs[i] = n
		}
		a := &ast.AssignStmt{Lhs: lhs, TokPos: v.Pos(), Tok: token.ASSIGN, Rhs: l.typedValues(v)}
		if len(v.Names) > 1 && len(v.Values) == 1 && receives(v.Values[0]) {
			return l.assignTuple(a)
		}
		list = l.holdDeclared(v, a)
		l.nameBlankTargets(a)
		if many := l.splitBoxed(a); many != nil {
			return append(list, many...)
		}
		return append(list, a)
	}
	for _, n := range v.Names {
		if n.Name == "_" {
			continue
		}
		list = append(list, &ast.AssignStmt{Lhs: []ast.Expr{n}, TokPos: n.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{
			&ast.StarExpr{Star: n.Pos(), X: syntax.Call(&ast.Ident{Name: "new", NamePos: n.Pos()}, n.Pos(), v.Type)}}})
	}
	return list
}

// holdDeclared evaluates several values of a var declaration, those of variables
// apart, into variables of their own, and returns these statements: the interpreter
// loses some where one of them is a call, a constant or nil. a is the assignment of
// the values.
func (l *lowerer) holdDeclared(v *ast.ValueSpec, a *ast.AssignStmt) (list []ast.Stmt) {
	if len(a.Rhs) < 2 {
		return nil
	}
	m := syntax.At(v.Pos())
	for i, x := range v.Values { // which typedValues has not converted
		if _, plain := x.(*ast.Ident); plain && !l.c.Info.Types[x].IsNil() && !isBlank(a.Lhs[i]) {
			continue
		}
		held := m.Ident(l.tempName())
		if v.Type != nil {
			list = append(list, m.Variable(held.Name, v.Type, x))
		} else {
			list = append(list, m.Define(held.Name, x))
		}
		l.c.Info.Types[held] = l.c.Info.Types[x]
		if l.c.Info.Types[x].IsNil() {
			l.c.Info.Types[held] = variableOf(l.objectOf(v.Names[i]).Type())
		}
		a.Rhs[i] = held
	}
	return list
}

// discardLast replaces a last expression whose value is not to be shown.
func (l *lowerer) discardLast(s ast.Stmt, last bool) ([]ast.Stmt, bool) {
	x, ok := s.(*ast.ExprStmt)
	if !ok || !last || !l.c.Source.Quiet {
		return nil, false
	}
	list := l.c.List()
	switch {
	case list == nil && !isCall(x.X):
		list = []ast.Expr{x.X}
	case list == nil:
		return nil, false
	}
	var blanks []ast.Expr
	for range list {
		blanks = append(blanks, &ast.Ident{Name: "_", NamePos: s.Pos()})
	}
	return []ast.Stmt{&ast.AssignStmt{Lhs: blanks, TokPos: s.Pos(), Tok: token.ASSIGN, Rhs: list}}, true
}

// showLast hands the value of a last expression to the kernel, which shows it,
// or ends the cell with the error that it is.
func (l *lowerer) showLast(s ast.Stmt, last bool) ([]ast.Stmt, bool) {
	x, ok := s.(*ast.ExprStmt)
	if !ok || !last || len(l.c.Results) == 0 {
		return nil, false
	}
	if call, ok := x.X.(*ast.CallExpr); ok && l.c.List() != nil {
		call.Fun = l.kernel("Result", call.Pos())
		return []ast.Stmt{x}, true
	}
	hidden := l.c.Source.Quiet || l.hidesResults(x.X)
	show := "Result"
	switch {
	case l.c.Fails && hidden:
		show = "Check"
	case l.c.Fails:
		show = "Checked"
	case hidden:
		return nil, false
	}
	x.X = syntax.Call(l.kernel(show, x.X.Pos()), x.X.Pos(), x.X)
	return []ast.Stmt{x}, true
}

// typeAssignedNils converts each nil of a tuple assignment to the type of its
// left side. The interpreter has no variable to keep an untyped nil in.
func (l *lowerer) typeAssignedNils(s *ast.AssignStmt) {
	if len(s.Lhs) < 2 || len(s.Lhs) != len(s.Rhs) {
		return
	}
	for i, r := range s.Rhs {
		if tv, ok := l.c.Info.Types[r]; !ok || !tv.IsNil() {
			continue
		}
		if tv, ok := l.c.Info.Types[s.Lhs[i]]; ok && !types.IsInterface(tv.Type) {
			pos := r.Pos()
			s.Rhs[i] = l.convert(r, tv.Type, pos)
		}
	}
}

// isGenerated reports whether x is a variable that a rewrite has generated. It is
// local to the function of the statements, not a variable of the session.
func isGenerated(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, cell.Mark)
}

// typedValues returns the values of a var declaration. One that is assigned to a
// blank is converted to the declared type; the others get it from the global.
func (l *lowerer) typedValues(v *ast.ValueSpec) []ast.Expr {
	if v.Type == nil || len(v.Values) != len(v.Names) {
		return v.Values
	}
	out := make([]ast.Expr, len(v.Values))
	for i, x := range v.Values {
		out[i] = x
		if v.Names[i].Name == "_" {
			out[i] = syntax.Call(&ast.ParenExpr{Lparen: x.Pos(), X: v.Type, Rparen: x.Pos()}, x.Pos(), x)
		}
	}
	return out
}

// manglePredeclared renames what a cell declares under the name of something
// predeclared, see plainName.
func (l *lowerer) manglePredeclared(n ast.Node) ast.Node {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSwitchStmt); ok {
			if a, ok := s.Assign.(*ast.AssignStmt); ok { // no object, but one in every clause
				id := a.Lhs[0].(*ast.Ident)
				id.Name = cell.Mangle(id.Name)
			}
		}
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		o := l.c.Info.Defs[id]
		if o == nil {
			o = l.c.Info.Uses[id]
		}
		switch o := o.(type) {
		case *types.Var:
			ok = !o.IsField()
		case *types.Func:
			ok = o.Signature().Recv() == nil
		case *types.Const:
			ok = o.Parent() != types.Universe
		default:
			ok = false
		}
		if ok && o.Pkg() != nil && check.Interpreted(o.Pkg()) {
			id.Name = cell.Mangle(id.Name)
		}
		return true
	})
	return n
}

func isCall(x ast.Expr) bool {
	_, ok := ast.Unparen(x).(*ast.CallExpr)
	return ok
}

// hidesResults reports whether the results of a last expression are not shown:
// the byte count and the error of a call that prints or writes.
func (l *lowerer) hidesResults(x ast.Expr) bool {
	c, ok := ast.Unparen(x).(*ast.CallExpr)
	if was := l.expanded[c]; was != nil {
		c = was
	}
	if !ok || len(l.c.Results) != 2 {
		return false
	}
	if b, ok := l.c.Results[0].(*types.Basic); !ok || b.Kind() != types.Int && b.Kind() != types.Int64 {
		return false
	}
	if l.c.Results[1].String() != "error" {
		return false
	}
	var id *ast.Ident
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.Ident:
		id = f
	default:
		return false
	}
	for _, p := range []string{"Print", "Fprint", "Write", "Copy", "Append"} {
		if strings.HasPrefix(id.Name, p) {
			return true
		}
	}
	return false
}

// nameType replaces a type expression by one that names cells' types as the
// interpreter knows them.
func (l *lowerer) nameType(c *astutil.Cursor) verdict {
	x, ok := c.Node().(ast.Expr)
	if !ok || c.Name() == "Sel" {
		return goOn
	}
	tv, ok := l.c.Info.Types[x]
	if !ok || !tv.IsType() {
		return goOn
	}
	switch x := x.(type) {
	case *ast.FuncType:
		switch c.Parent().(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return goOn
		}
	case *ast.Ident:
		if _, ok := tv.Type.(*types.Basic); ok && l.c.Info.Uses[x] != nil && l.c.Info.Uses[x].Parent() == types.Universe {
			return goOn
		}
	case *ast.Ellipsis:
		return goOn
	}
	t := l.typeExpr(tv.Type, x.Pos())
	if p, ok := c.Parent().(*ast.CallExpr); ok && p.Fun == x {
		switch t.(type) {
		case *ast.Ident, *ast.SelectorExpr:
		default:
			t = &ast.ParenExpr{Lparen: x.Pos(), X: t, Rparen: x.Pos()}
		}
	}
	c.Replace(t)
	return skip
}

// moveLabel moves a label into the block that a rewrite has put around its
// statement, to the block's last statement.
func (l *lowerer) moveLabel(c *astutil.Cursor, x *ast.LabeledStmt) verdict {
	b, ok := x.Stmt.(*ast.BlockStmt)
	if !ok || !l.enclosed[b] {
		return goOn
	}
	last := len(b.List) - 1
	if l.gotos[x.Label.Name] {
		// A goto means the whole block, break and continue the statement.
		inner := &ast.Ident{Name: x.Label.Name + cell.Mark, NamePos: x.Label.Pos()}
		renameBranches(b, x.Label.Name, inner.Name)
		b.List[last] = &ast.LabeledStmt{Label: inner, Colon: x.Colon, Stmt: b.List[last]}
		delete(l.enclosed, b)
		return goOn
	}
	x.Stmt = b.List[last]
	b.List[last] = x
	c.Replace(b)
	l.enclosed[b] = true
	return goOn
}

// renameBranches gives break and continue statements another label.
func renameBranches(n ast.Node, from, to string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if b, ok := n.(*ast.BranchStmt); ok && b.Tok != token.GOTO && b.Label != nil && b.Label.Name == from {
			b.Label = &ast.Ident{Name: to, NamePos: b.Label.Pos()}
		}
		_, isFunc := n.(*ast.FuncLit)
		return !isFunc
	})
}

// gotoLabels returns the labels of the goto statements below n.
func gotoLabels(n ast.Node) map[string]bool {
	labels := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if b, ok := n.(*ast.BranchStmt); ok && b.Tok == token.GOTO {
			labels[b.Label.Name] = true
		}
		return true
	})
	return labels
}

// gatherAppended rewrites append(s, x, y) to append(s, []T{x, y}...), and
// converts the second argument otherwise. The interpreter goes by types alone:
// a second argument of s's type is spread, whether there are dots or not.
func (l *lowerer) gatherAppended(x *ast.CallExpr) {
	info := l.c.Info
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok || len(x.Args) < 2 {
		return
	}
	if b, ok := info.Uses[id].(*types.Builtin); !ok || b.Name() != "append" {
		return
	}
	t := info.Types[x].Type
	tv, ok := info.Types[x.Args[1]]
	if !ok || t == nil {
		return
	}
	pos := x.Args[1].Pos()
	if list, ok := t.Underlying().(*types.Slice); ok && !x.Ellipsis.IsValid() && (len(x.Args) > 2 || tv.IsNil() || types.Identical(t, tv.Type)) {
		// The interpreter also writes x into s before it evaluates y.
		l.writeIndices(x.Args[1:])
		x.Args = []ast.Expr{x.Args[0], &ast.CompositeLit{Type: l.typeExpr(types.NewSlice(list.Elem()), pos), Lbrace: pos, Elts: x.Args[1:], Rbrace: x.Rparen}}
		x.Ellipsis = x.Rparen
		if !types.Identical(t, types.NewSlice(list.Elem())) {
			x.Args[1] = l.convert(x.Args[1], t, pos)
		}
		return
	}
	if tv.IsNil() {
		return
	}
	_, isSlice := tv.Type.Underlying().(*types.Slice)
	switch {
	case !isSlice:
	case x.Ellipsis.IsValid():
		if !types.Identical(t, tv.Type) {
			x.Args[1] = l.convert(x.Args[1], t, pos)
		}
	case types.IsInterface(t.Underlying().(*types.Slice).Elem()):
		x.Args[1] = l.convert(x.Args[1], t.Underlying().(*types.Slice).Elem(), pos)
	}
}

// unnameSpreadSlice converts s of f(s...) to the slice type of the parameter. The
// interpreter takes a slice of a named type for one argument, and one of a compiled
// package that a function of a cell is called with.
func (l *lowerer) unnameSpreadSlice(x *ast.CallExpr) {
	if !x.Ellipsis.IsValid() || len(x.Args) == 0 {
		return
	}
	last := len(x.Args) - 1
	tv, ok := l.c.Info.Types[x.Args[last]]
	if !ok || tv.Type == nil {
		return
	}
	if _, named := types.Unalias(tv.Type).(*types.Named); !named && l.compiledFunc(x.Fun) {
		return
	}
	if s, ok := tv.Type.Underlying().(*types.Slice); ok && !l.isBuiltin(x.Fun) {
		pos := x.Args[last].Pos()
		x.Args[last] = l.convert(x.Args[last], s, pos)
	}
}

func (l *lowerer) isBuiltin(f ast.Expr) bool {
	id, ok := ast.Unparen(f).(*ast.Ident)
	if !ok {
		return false
	}
	_, ok = l.c.Info.Uses[id].(*types.Builtin)
	return ok
}

// isDelete reports whether a call is of the builtin delete.
func (l *lowerer) isDelete(x *ast.CallExpr) bool {
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	return ok && l.c.Info.Uses[id] == types.Universe.Lookup("delete")
}

// hideEqualKeys applies hideRepeated to the literal of a map.
func (l *lowerer) hideEqualKeys(x *ast.CompositeLit) {
	if m, ok := l.literalOf(x).(*types.Map); ok {
		l.hideRepeated(x, m.Key())
	}
}

// keyFields names the fields of a struct in its literal.
func (l *lowerer) keyFields(x *ast.CompositeLit) {
	st, ok := l.literalOf(x).(*types.Struct)
	if !ok {
		return
	}
	if len(x.Elts) == st.NumFields() {
		l.dropBlankFields(x, st)
	}
	for i, e := range x.Elts {
		if _, ok := e.(*ast.KeyValueExpr); !ok {
			x.Elts[i] = withKey(st.Field(i), e)
		}
	}
}

// indexElements writes the indices of the elements of a slice or array.
func (l *lowerer) indexElements(x *ast.CompositeLit) {
	switch l.literalOf(x).(type) {
	case *types.Slice, *types.Array:
		l.writeIndices(x.Elts)
	}
}

// literalOf returns the underlying type of a composite literal, or of what it
// points to where &T is left out; nil where the checker does not know it.
func (l *lowerer) literalOf(x *ast.CompositeLit) types.Type {
	tv, ok := l.c.Info.Types[x]
	if !ok {
		return nil
	}
	u := tv.Type.Underlying()
	if p, ok := u.(*types.Pointer); ok {
		return p.Elem().Underlying()
	}
	return u
}

// writeElided writes the type, or &T, of a composite literal inside another.
func (l *lowerer) writeElided(c *astutil.Cursor, x *ast.CompositeLit) verdict {
	tv, ok := l.c.Info.Types[x]
	if !ok || x.Type != nil {
		return goOn
	}
	t := tv.Type
	if p, ok := t.Underlying().(*types.Pointer); ok {
		inner := *x
		l.c.Info.Types[&inner] = variableOf(p.Elem())
		inner.Type = l.typeExpr(p.Elem(), x.Pos())
		c.Replace(&ast.UnaryExpr{OpPos: x.Pos(), Op: token.AND, X: &inner})
		return goOn
	}
	x.Type = l.typeExpr(t, x.Pos())
	return goOn
}

// writeIndices writes the index of each element of a slice or array literal. The
// interpreter asks for the type of an element without an index before it
// compiles it, and finds none where the element contains a value of a compiled
// type.
func (l *lowerer) writeIndices(elts []ast.Expr) {
	i := 0
	for k, e := range elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			n, _ := constant.Int64Val(constant.ToInt(l.c.Info.Types[kv.Key].Value))
			i = int(n)
		} else if tv := l.c.Info.Types[e]; tv.Value == nil && !tv.IsNil() {
			m := syntax.At(e.Pos())
			elts[k] = &ast.KeyValueExpr{Key: m.Int(i), Colon: m.Pos, Value: e}
		}
		i++
	}
}

// withKey names the field of an element.
func withKey(f *types.Var, e ast.Expr) ast.Expr {
	return &ast.KeyValueExpr{Key: &ast.Ident{Name: f.Name(), NamePos: e.Pos()}, Colon: e.Pos(), Value: e}
}

// dropBlankFields drops constants that a literal gives to blank fields: a blank
// field has no name to write as a key.
func (l *lowerer) dropBlankFields(x *ast.CompositeLit, st *types.Struct) {
	var elts []ast.Expr
	for i, e := range x.Elts {
		if _, ok := e.(*ast.KeyValueExpr); ok {
			return
		}
		if st.Field(i).Name() != "_" || l.c.Info.Types[e].Value == nil {
			elts = append(elts, withKey(st.Field(i), e))
		}
	}
	x.Elts = elts
}

// called reports whether the node at c is what a call calls.
func (l *lowerer) called(c *astutil.Cursor) bool {
	_, ok := c.Parent().(*ast.CallExpr)
	return ok && c.Name() == "Fun"
}

// convertFunctionValue converts a declared function that is used as a value to
// its type. The interpreter passes on the node of the declaration, which an
// interface or a field of a compiled type cannot hold.
func (l *lowerer) convertFunctionValue(id *ast.Ident, called bool) ast.Expr {
	f, ok := l.c.Info.Uses[id].(*types.Func)
	if called || !ok || !check.Interpreted(f.Pkg()) || f.Signature().Recv() != nil || f.Signature().TypeParams().Len() > 0 {
		return id
	}
	return l.typeFunction(id, f.Signature())
}

func (l *lowerer) typeFunction(id *ast.Ident, t types.Type) ast.Expr {
	pos := id.Pos()
	return l.convert(id, t, pos)
}

// typeSentChannel converts the channel of a send statement to its own type. The
// interpreter does not know the element type of a channel that it reads from a
// field or from compiled code.
func (l *lowerer) typeSentChannel(x *ast.SendStmt) {
	if tv, ok := l.c.Info.Types[x.Chan]; ok && tv.Type != nil {
		pos := x.Chan.Pos()
		x.Chan = l.convert(x.Chan, tv.Type.Underlying(), pos)
	}
}

// resultsOf returns the types of a function's results.
func (l *lowerer) resultsOf(f *ast.FuncType) []types.Type {
	var ts []types.Type
	if f.Results != nil {
		for _, r := range f.Results.List {
			for range max(len(r.Names), 1) {
				ts = append(ts, l.c.Info.Types[r.Type].Type)
			}
		}
	}
	return ts
}

// typeBuiltinResults converts the value of a builtin that is one of several
// results. The interpreter stores it in the place of the first result.
func (l *lowerer) typeBuiltinResults(x *ast.ReturnStmt) {
	if len(x.Results) < 2 {
		return
	}
	for i, r := range x.Results {
		c, ok := ast.Unparen(r).(*ast.CallExpr)
		if !ok || !l.isBuiltin(c.Fun) {
			continue
		}
		if tv, ok := l.c.Info.Types[c]; ok && tv.IsValue() {
			pos := r.Pos()
			x.Results[i] = l.convert(r, types.Default(tv.Type), pos)
		}
	}
}

// resultTypes returns the result types of the enclosing function; none where
// the statement returns the results of a call.
func (l *lowerer) resultTypes(x *ast.ReturnStmt) []types.Type {
	ts := l.function().results
	if len(ts) != len(x.Results) {
		return nil
	}
	return ts
}

// typeOperatorResults converts operators' values that are returned as an
// interface to their own type. The interpreter would box them without one.
func (l *lowerer) typeOperatorResults(x *ast.ReturnStmt) {
	ts := l.resultTypes(x)
	for i, r := range x.Results[:len(ts)] {
		if ts[i] != nil && types.IsInterface(ts[i]) {
			x.Results[i] = l.typeOperator(r)
		}
	}
}

// typeNilResults converts nils that are returned as a function type of a cell.
func (l *lowerer) typeNilResults(x *ast.ReturnStmt) {
	ts := l.resultTypes(x)
	for i, r := range x.Results[:len(ts)] {
		if tv, ok := l.c.Info.Types[r]; !ok || !tv.IsNil() || ts[i] == nil || !check.IsOwn(ts[i]) {
			continue
		}
		if _, ok := ts[i].Underlying().(*types.Signature); ok {
			x.Results[i] = syntax.Call(l.typeExpr(ts[i], r.Pos()), r.Pos(), r)
		}
	}
}

// calledName returns the identifier by which a function is called, of pkg.F the
// last part, or nil.
func calledName(f ast.Expr) *ast.Ident {
	switch f := ast.Unparen(f).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// compiledFunc reports whether f names a function of a compiled package.
func (l *lowerer) compiledFunc(f ast.Expr) bool {
	o, ok := l.c.Info.Uses[calledName(f)].(*types.Func)
	return ok && o.Pkg() != nil && !check.Interpreted(o.Pkg())
}

// boxSliceArgs boxes slices that are passed as one variadic argument of
// interface type, unspread. The interpreter goes by types alone and would
// spread them.
func (l *lowerer) boxSliceArgs(c *astutil.Cursor, x *ast.CallExpr) {
	sig, ok := coreSignature(l.c.Info, x.Fun)
	if !ok || !sig.Variadic() || l.c.Info.Types[x.Fun].IsType() || l.isBuiltin(x.Fun) {
		return
	}
	last := sig.Params().Len() - 1
	list := sig.Params().At(last).Type().(*types.Slice)
	if x.Ellipsis.IsValid() {
		if a := x.Args[last]; l.c.Info.Types[a].IsNil() {
			x.Args[last] = l.convert(a, list, a.Pos())
		}
		return
	}
	elem := list.Elem()
	if len(x.Args) == last {
		if last == 1 {
			if _, many := l.c.Info.Types[x.Args[0]].Type.(*types.Tuple); many {
				return
			}
		}
		// Without variadic arguments the parameter is nil, not an empty slice.
		pos := x.Rparen
		nothing := &ast.Ident{Name: "nil", NamePos: pos}
		x.Args = append(x.Args, l.convert(nothing, list, pos))
		x.Ellipsis = pos
		return
	}
	if !types.IsInterface(elem) {
		for i, a := range x.Args[last:] { // a []T as one T, which is a slice type itself
			if t := l.c.Info.TypeOf(a); t != nil && types.Identical(t, list) {
				x.Args[last+i] = l.convert(a, elem, a.Pos())
			}
		}
		return
	}
	for i := last; i < len(x.Args); i++ {
		if tv, ok := l.c.Info.Types[x.Args[i]]; ok && tv.Type != nil && !tv.IsNil() {
			if _, isSlice := tv.Type.Underlying().(*types.Slice); isSlice {
				x.Args[i] = l.box(x.Args[i], elem)
			}
		}
	}
}

// typeNilArgs converts nil arguments to the type of their parameter, if a cell
// declares that type or it is an interface with methods.
func (l *lowerer) typeNilArgs(x *ast.CallExpr) {
	sig, ok := coreSignature(l.c.Info, x.Fun)
	if !ok || l.c.Info.Types[x.Fun].IsType() {
		return
	}
	for i, a := range x.Args {
		tv, ok := l.c.Info.Types[a]
		if !ok || !tv.IsNil() {
			continue
		}
		var t types.Type
		switch n := sig.Params().Len(); {
		case sig.Variadic() && i >= n-1:
			if x.Ellipsis.IsValid() {
				continue
			}
			t = sig.Params().At(n - 1).Type().(*types.Slice).Elem()
		case i < n:
			t = sig.Params().At(i).Type()
		}
		if t == nil || !check.IsOwn(t) && !hasMethods(t) {
			continue
		}
		if n, ok := types.Unalias(t).(*types.Named); ok && check.IsNative(n.Obj().Pkg()) {
			// The interpreter converts nil to interface types of the standard
			// library only: a new variable of the type holds nil too.
			x.Args[i] = &ast.StarExpr{Star: a.Pos(), X: syntax.Call(&ast.Ident{Name: "new", NamePos: a.Pos()}, a.Pos(), l.typeExpr(t, a.Pos()))}
			continue
		}
		if _, ok := types.Unalias(t).(*types.Pointer); !ok {
			x.Args[i] = syntax.Call(l.typeExpr(t, a.Pos()), a.Pos(), a)
		}
	}
}

// nameParams names unnamed parameters. The interpreter stores the
// function's first variables in their places.
func nameParams(f *ast.FuncType) {
	for i, p := range f.Params.List {
		if len(p.Names) == 0 {
			p.Names = []*ast.Ident{{Name: cell.Mark + "u" + strconv.Itoa(i), NamePos: p.Pos()}}
		}
	}
}

// derefArray rewrites p[i] and p[i:j] to (*p)[i] and (*p)[i:j] if p points
// to an array. The interpreter takes the array for an element, where p is of a
// compiled type.
func (l *lowerer) derefArray(x *ast.Expr) {
	tv := l.c.Info.Types[*x]
	if !tv.IsValue() {
		return
	}
	if p, ok := tv.Type.Underlying().(*types.Pointer); ok {
		pos := (*x).Pos()
		array := &ast.StarExpr{Star: pos, X: *x}
		tv.Type = p.Elem()
		l.c.Info.Types[array] = tv
		*x = &ast.ParenExpr{Lparen: pos, X: array, Rparen: pos}
		l.c.Info.Types[*x] = tv
	}
}

// encloseLabels puts the statements of a clause into a block if one has a
// label. The interpreter looks for labels in blocks only.
func encloseLabels(body []ast.Stmt) []ast.Stmt {
	if !slices.ContainsFunc(body, func(s ast.Stmt) bool { _, ok := s.(*ast.LabeledStmt); return ok }) {
		return body
	}
	inside, after := body, []ast.Stmt(nil)
	last := len(body) - 1
	if b, ok := body[last].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
		inside, after = body[:last], body[last:]
	}
	return append([]ast.Stmt{&ast.BlockStmt{Lbrace: body[0].Pos(), List: inside, Rbrace: inside[len(inside)-1].End()}}, after...)
}

// tagConstantCases adds the tag true to a switch without one if a case is
// constant. The interpreter takes a constant case to hold.
func (l *lowerer) tagConstantCases(x *ast.SwitchStmt) {
	if x.Tag != nil {
		return
	}
	for _, s := range x.Body.List {
		for _, e := range s.(*ast.CaseClause).List {
			if l.c.Info.Types[e].Value != nil {
				x.Tag = &ast.Ident{Name: "true", NamePos: x.Body.Lbrace}
				return
			}
		}
	}
}

// typeConstants calls convertConstant at any expression.
func (l *lowerer) typeConstants(c *astutil.Cursor) verdict {
	if x, ok := c.Node().(ast.Expr); ok {
		l.convertConstant(c, x)
	}
	return goOn
}

// convertConstant converts a constant to its type where the interpreter would
// give it a basic one: if a cell declares the type, if it is a string or a bool of a
// named type, if it is returned and exceeds an int64, or if it is a uintptr that a
// builtin takes.
//
// It replaces the cursor's node by x, or by the conversion of x.
func (l *lowerer) convertConstant(c *astutil.Cursor, x ast.Expr) {
	if x != c.Node() {
		defer func() { c.Replace(x) }()
	}
	tv, ok := l.c.Info.Types[x]
	_, returned := c.Parent().(*ast.ReturnStmt)
	call, _ := c.Parent().(*ast.CallExpr)
	key := call != nil && l.isBuiltin(call.Fun) && isUintptr(tv.Type)
	if !ok || tv.Value == nil || !check.IsOwn(tv.Type) && !isNamedText(tv.Type) && !(returned && exceedsInt64(tv)) && !key {
		return
	}
	switch p := c.Parent().(type) {
	case *ast.ValueSpec:
		if c.Name() != "Values" || !l.holdsInterface(p.Names[0]) {
			return
		}
	case *ast.AssignStmt:
		if c.Name() != "Rhs" || len(p.Lhs) != len(p.Rhs) || !l.holdsInterface(p.Lhs[c.Index()]) {
			return
		}
	case *ast.CompositeLit, *ast.ReturnStmt:
	case *ast.KeyValueExpr:
	case *ast.SendStmt:
		if c.Name() != "Value" {
			return
		}
	case *ast.IndexExpr:
		if c.Name() != "Index" {
			return
		}
	case *ast.CallExpr:
		if p.Fun == c.Node() || l.c.Info.Types[p.Fun].IsType() {
			return
		}
	default:
		return
	}
	x = syntax.Call(l.typeExpr(tv.Type, x.Pos()), x.Pos(), x)
	c.Replace(x)
}

// isNamedText reports whether a type is a named one of strings or bools.
func isNamedText(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	b, ok := n.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsString|types.IsBoolean) != 0
}

// holdsInterface reports whether a variable is known to be of an interface type.
func (l *lowerer) holdsInterface(x ast.Expr) bool {
	t := l.knownType(x)
	return t != nil && types.IsInterface(t)
}

func isUintptr(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Kind() == types.Uintptr
}

// exceedsInt64 reports whether a constant is an integer that exceeds an int64.
func exceedsInt64(tv types.TypeAndValue) bool {
	if tv.Value.Kind() != constant.Int {
		return false
	}
	_, fits := constant.Int64Val(tv.Value)
	b, ok := tv.Type.Underlying().(*types.Basic)
	return !fits && ok && b.Info()&types.IsInteger != 0
}

// holdDeferredArgs assigns the arguments of a deferred call to variables before
// the defer statement: the interpreter would read their operands when the call
// is made. A builtin, which it may call at once, is called in a function literal.
func (l *lowerer) holdDeferredArgs(c *astutil.Cursor, d *ast.DeferStmt) verdict {
	m := syntax.At(d.Pos())
	before := l.holdDeferredCallee(d.Call, m)
	for i, a := range d.Call.Args {
		if tv, ok := l.c.Info.Types[a]; !l.receivers[a] && (!ok || tv.Value != nil || !tv.IsValue() || tv.IsNil()) {
			continue
		}
		t := l.tempName()
		before = append(before, m.Define(t, a))
		d.Call.Args[i] = m.Ident(t)
	}
	if l.isBuiltin(d.Call.Fun) {
		d.Call = syntax.Call(m.FuncLit(nil, nil, &ast.ExprStmt{X: d.Call}), m.Pos)
	}
	if end := l.function().end; end.IsValid() && l.namesPlace(d.Call.Fun) {
		setPositions(d.Call.Fun, end)
	}
	if c.Index() < 0 && len(before) > 0 { // it has a label
		c.Replace(m.Block(append(before, d)...))
		return stop
	}
	for _, s := range before {
		c.InsertBefore(s)
	}
	return goOn
}

// holdDeferredCallee assigns the function of a deferred call, or the receiver of its
// method, to a variable, if it is not a declared one.
func (l *lowerer) holdDeferredCallee(x *ast.CallExpr, m syntax.Builder) []ast.Stmt {
	hold := func(f ast.Expr) []ast.Stmt {
		name := l.tempName()
		x.Fun = m.Ident(name)
		return []ast.Stmt{m.Define(name, f)}
	}
	switch f := ast.Unparen(x.Fun).(type) {
	case *ast.Ident:
		if _, isVar := l.c.Info.Uses[f].(*types.Var); isVar {
			return hold(f)
		}
	case *ast.IndexExpr:
		if tv, ok := l.c.Info.Types[f]; ok && tv.IsValue() {
			return hold(f)
		}
	case *ast.SelectorExpr:
		s := l.c.Info.Selections[f]
		if s == nil || s.Kind() != types.MethodVal {
			if s != nil && s.Kind() == types.FieldVal {
				return hold(f)
			}
			return nil
		}
		_, t := l.selectPath(&ast.Ident{}, s.Recv(), embedding(s))
		recv, r := f.X, m.Ident(l.tempName())
		f.X = r
		if types.IsInterface(t) {
			return []ast.Stmt{m.Variable(r.Name, l.typeExpr(t, m.Pos), recv), l.nonNil(r, m)}
		}
		byPointer := isPointer(s.Obj().(*types.Func).Signature().Recv().Type())
		return []ast.Stmt{m.Define(r.Name, l.receiver(recv, t, byPointer))}
	}
	return nil
}

// namesPlace reports whether a function may be one of the library that names the place
// of its call, such as t.Log.
func (l *lowerer) namesPlace(f ast.Expr) bool {
	sel, ok := f.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if id, ok := sel.X.(*ast.Ident); ok && id.Name == cell.Runtime {
		return strings.HasPrefix(sel.Sel.Name, "testing_") || strings.HasPrefix(sel.Sel.Name, "log_") || strings.HasPrefix(sel.Sel.Name, "Placed_")
	}
	fn, ok := l.c.Info.Uses[sel.Sel].(*types.Func)
	return ok && fn.Pkg() != nil && (fn.Pkg().Path() == "log" || fn.Pkg().Path() == "runtime")
}

// tempName returns a fresh name.
func (l *lowerer) tempName() string {
	l.temp++
	return cell.Mark + "t" + strconv.Itoa(l.temp)
}

// guardGoroutine has the kernel start the goroutine of a go statement, so that a
// panic is reported and does not end the process. The function and its arguments
// are evaluated before the goroutine starts.
func (l *lowerer) guardGoroutine(c *astutil.Cursor, g *ast.GoStmt) verdict {
	pos := g.Pos()
	var pre []ast.Stmt
	info := l.c.Info
	hold := func(x ast.Expr, t types.Type) ast.Expr {
		name := l.tempName()
		spec := &ast.ValueSpec{Names: []*ast.Ident{{Name: name, NamePos: pos}}, Values: []ast.Expr{x}}
		if t != nil {
			if s, err := l.typeString(t); err == nil {
				if te, err := parser.ParseExpr(s); err == nil {
					setPositions(te, pos)
					spec.Type = te
				}
			}
		}
		pre = append(pre, &ast.DeclStmt{Decl: &ast.GenDecl{TokPos: pos, Tok: token.VAR, Specs: []ast.Spec{spec}}})
		return &ast.Ident{Name: name, NamePos: pos}
	}
	inner := *g.Call
	isBuiltin := false
	if tv, ok := info.Types[g.Call.Fun]; ok && tv.IsBuiltin() {
		isBuiltin = true
	}
	_, literal := ast.Unparen(g.Call.Fun).(*ast.FuncLit)
	sig, _ := coreSignature(info, g.Call.Fun)
	if !isBuiltin && !literal {
		if id, ok := ast.Unparen(g.Call.Fun).(*ast.Ident); !ok || !isDeclaredFunc(info, id) {
			switch sel, ok := ast.Unparen(g.Call.Fun).(*ast.SelectorExpr); {
			case ok && info.Selections[sel] == nil: // of a package
			case ok && info.Selections[sel].Kind() == types.MethodVal && types.IsInterface(info.TypeOf(sel.X)):
				// The interpreter cannot store a method value of an interface
				// in a variable.
				r := hold(sel.X, info.TypeOf(sel.X))
				pre = append(pre, l.nonNil(r, syntax.At(pos)))
				inner.Fun = &ast.SelectorExpr{X: r, Sel: sel.Sel}
			case ok && info.Selections[sel].Kind() == types.MethodVal && !check.Interpreted(info.Selections[sel].Obj().Pkg()):
				// Of a variable that holds such a method value the
				// interpreter takes the type to have the receiver.
				pre = append(pre, l.holdDeferredCallee(&inner, syntax.At(pos))...)
			default:
				inner.Fun = hold(g.Call.Fun, nil)
			}
		}
	}
	inner.Args = make([]ast.Expr, len(g.Call.Args))
	for i, a := range g.Call.Args {
		var t types.Type
		if sig != nil {
			switch n := sig.Params().Len(); {
			case sig.Variadic() && i >= n-1 && !g.Call.Ellipsis.IsValid():
				t = sig.Params().At(n - 1).Type().(*types.Slice).Elem()
			case i < n:
				t = sig.Params().At(i).Type()
			}
		}
		if _, ok := a.(*ast.BasicLit); ok {
			inner.Args[i] = a
			continue
		}
		if tv, ok := info.Types[a]; ok && t == nil && tv.Type != nil && !tv.IsNil() {
			t = types.Default(tv.Type)
		}
		inner.Args[i] = hold(a, t)
	}
	body := &ast.FuncLit{
		Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, Closing: pos}},
		Body: &ast.BlockStmt{Lbrace: pos, Rbrace: g.End(), List: []ast.Stmt{&ast.ExprStmt{X: &inner}}}}
	if f, ok := ast.Unparen(g.Call.Fun).(*ast.FuncLit); ok && len(g.Call.Args) == 0 && f.Type.Results == nil && f.Type.Params.NumFields() == 0 {
		body = f
	}
	start := &ast.ExprStmt{X: syntax.Call(l.kernel("Go", pos), pos, body)}
	if len(pre) == 0 {
		c.Replace(start)
		return goOn
	}
	c.Replace(&ast.BlockStmt{Lbrace: pos, List: append(pre, start), Rbrace: g.End()})
	return goOn
}

func isDeclaredFunc(info *types.Info, id *ast.Ident) bool {
	_, ok := info.Uses[id].(*types.Func)
	return ok
}

// coreSignature returns the signature of a called expression.
func coreSignature(info *types.Info, f ast.Expr) (*types.Signature, bool) {
	tv, ok := info.Types[f]
	if !ok {
		return nil, false
	}
	s, ok := tv.Type.Underlying().(*types.Signature)
	return s, ok
}

// makeDirected makes a channel of one direction of one of both.
func (l *lowerer) makeDirected(x *ast.CallExpr) ast.Expr {
	whole := l.c.Info.TypeOf(x)
	t, ok := whole.Underlying().(*types.Chan)
	if !ok || t.Dir() == types.SendRecv {
		return nil
	}
	x.Args[0] = l.typeExpr(types.NewChan(types.SendRecv, t.Elem()), x.Pos())
	return l.convert(x, whole, x.Pos())
}

// countArray returns len or cap of an array that a pointer points to.
func (l *lowerer) countArray(x *ast.CallExpr) ast.Expr {
	t := l.c.Info.TypeOf(x.Args[0])
	if t == nil {
		return nil
	}
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return nil
	}
	m := syntax.At(x.Pos())
	n := int(p.Elem().Underlying().(*types.Array).Len())
	return syntax.Call(m.FuncLit(nil, []*ast.Field{m.Field("", m.Ident("int"))}, m.Define(l.tempName(), x.Args[0]), m.Return(m.Int(n))), m.Pos)
}

// minMax returns a function of the kernel called for two arguments at a time:
// max(a, b, c) is ˑrt.Max_int(ˑrt.Max_int(a, b), c). The arguments and the result
// are converted where the type is not a predeclared one.
func minMax(name string) func(*lowerer, *ast.CallExpr) ast.Expr {
	return func(l *lowerer, x *ast.CallExpr) ast.Expr {
		t, pos := l.c.Info.TypeOf(x), x.Pos()
		basic, ok := t.Underlying().(*types.Basic)
		if !ok {
			return nil
		}
		plain := types.Typ[basic.Kind()]
		named := !types.Identical(t, plain)
		args := slices.Clone(x.Args)
		if named {
			for i, a := range args {
				args[i] = l.convert(a, plain, pos)
			}
		}
		result := args[0]
		for _, a := range args[1:] {
			result = syntax.Call(l.kernel(name+"_"+plain.Name(), pos), pos, result, a)
		}
		if named || len(args) == 1 {
			return l.convert(result, t, pos)
		}
		return result
	}
}
