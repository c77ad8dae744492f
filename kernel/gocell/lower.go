package gocell

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// A checked cell is rewritten, from its types, into Go that the interpreter
// runs as the compiler would: one function for the statements, whose
// variables are the session's globals, beside the cell's declarations.

// mark starts every name that a rewrite makes up: a letter that no one types.
const mark = "ˑ"

// rtAlias is the name under which rewritten code reaches the kernel.
const rtAlias = mark + "rt"

// lowerer rewrites one cell.
type lowerer struct {
	fset    *token.FileSet
	c       *checked
	pkgs    map[string]bool // import paths that the rewritten code uses
	renamed map[types.Object]string
	ctx     types.Object // the predeclared context, until a cell defines its own
	errs    *checkError
	temp    int
	gen     *generics
	shared  map[types.Object]bool // see sharedVars

	bound     []methodOf        // methods declared with the cell
	receivers map[ast.Expr]bool // made-up receivers of method calls
	operands  map[*ast.TypeAssertExpr]ast.Expr
	switched  map[*ast.TypeSwitchStmt]types.Type // of the operand
	cases     map[*ast.CaseClause][]types.Type   // of a type switch

	conversions map[*ast.CallExpr][2]types.Type // from one type to another
	writtenOut  map[ast.Expr]*ast.CallExpr      // what calls were that passTuple has written out
	inside      map[*ast.BlockStmt]bool         // whose last statement a label belongs to
	results     [][]types.Type                  // of the functions around a node
	unsafe      map[*ast.CallExpr]unsafeCall
}

// methodOf names a method of a cell's type.
type methodOf struct {
	t      *types.Named
	method string
}

// alias is the name under which rewritten code imports a package.
func alias(ipath string) string {
	return mark + strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(ipath)
}

// refuse reports what cannot be run.
func (l *lowerer) refuse(pos token.Pos, format string, args ...any) {
	l.errs.list.Add(l.fset.Position(pos), fmt.Sprintf(format, args...))
}

// typeExpr returns the expression of a type, importing what it names.
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
	clearPos(x, pos)
	return x
}

// typeString returns the text of a type for the interpreter.
func (l *lowerer) typeString(t types.Type) (string, error) {
	if bad := inexpressible(t, map[types.Type]bool{}); bad != "" {
		return "", fmt.Errorf("type %s cannot be written in a cell: %s is not exported", types.TypeString(t, shortName), bad)
	}
	return l.typeName(t)
}

// globalType returns the expression of the type of a variable of the session.
func (l *lowerer) globalType(t types.Type, pos token.Pos) ast.Expr {
	if bad := inexpressible(t, map[types.Type]bool{}); bad != "" {
		l.refuse(pos, "a variable of the session cannot have type %s: %s cannot be named outside the place that declares it", types.TypeString(t, shortName), bad)
	}
	return l.typeExpr(t, pos)
}

// shortName qualifies names in messages: the session's own are bare.
func shortName(p *types.Package) string {
	if p.Path() == "main" {
		return ""
	}
	return p.Name()
}

// inexpressible returns the name in t that a declaration at package level
// cannot use, or "".
func inexpressible(t types.Type, seen map[types.Type]bool) string {
	return notExported(t, seen, func(o *types.TypeName) bool { return compiledType(o) != nil })
}

// notExported returns the name in t of a type parameter, or of what a compiled
// package does not export but for the types that known tells of; or "".
func notExported(t types.Type, seen map[types.Type]bool, known func(*types.TypeName) bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	tuple := func(tt *types.Tuple) string {
		for v := range tt.Variables() {
			if s := notExported(v.Type(), seen, known); s != "" {
				return s
			}
		}
		return ""
	}
	named := func(o *types.TypeName, args *types.TypeList) string {
		if o.Pkg() != nil {
			if !interpreted(o.Pkg()) && !o.Exported() && !ofNative(o) && !known(o) {
				return o.Pkg().Name() + "." + o.Name()
			}
		}
		for i := range args.Len() {
			if s := notExported(args.At(i), seen, known); s != "" {
				return s
			}
		}
		return ""
	}
	switch t := t.(type) {
	case *types.Named:
		return named(t.Obj(), t.TypeArgs())
	case *types.Alias:
		return named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return notExported(t.Elem(), seen, known)
	case *types.Slice:
		return notExported(t.Elem(), seen, known)
	case *types.Array:
		return notExported(t.Elem(), seen, known)
	case *types.Chan:
		return notExported(t.Elem(), seen, known)
	case *types.Map:
		if s := notExported(t.Key(), seen, known); s != "" {
			return s
		}
		return notExported(t.Elem(), seen, known)
	case *types.Signature:
		if s := tuple(t.Params()); s != "" {
			return s
		}
		return tuple(t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() && f.Pkg() != nil && !interpreted(f.Pkg()) {
				return f.Pkg().Name() + "." + f.Name()
			}
			if s := notExported(f.Type(), seen, known); s != "" {
				return s
			}
		}
	case *types.TypeParam:
		return t.Obj().Name()
	}
	return ""
}

// clearPos gives every node of a made-up expression the position of what it
// stands for.
func clearPos(n ast.Node, pos token.Pos) {
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

// rt returns the expression of a function of the kernel.
func (l *lowerer) rt(name string, pos token.Pos) ast.Expr {
	return &ast.SelectorExpr{X: &ast.Ident{Name: rtAlias, NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}
}

// convert returns a conversion.
func (l *lowerer) convert(x ast.Expr, t types.Type, pos token.Pos) ast.Expr {
	return call(&ast.ParenExpr{Lparen: pos, X: l.typeExpr(t, pos), Rparen: pos}, pos, x)
}

func call(f ast.Expr, pos token.Pos, args ...ast.Expr) *ast.CallExpr {
	return &ast.CallExpr{Fun: f, Lparen: pos, Args: args, Rparen: pos}
}

// statements rewrites the top level of the cell's statements: what they
// define are globals that stand declared already.
func (l *lowerer) statements(body *ast.BlockStmt) []ast.Stmt {
	var out []ast.Stmt
	for _, s := range body.List {
		out = append(out, l.topLevel(s, s == l.c.src.last)...)
	}
	return out
}

func (l *lowerer) topLevel(s ast.Stmt, last bool) []ast.Stmt {
	switch s := s.(type) {
	case *ast.LabeledStmt:
		list := l.topLevel(s.Stmt, false)
		if len(list) == 1 {
			s.Stmt = list[0]
		} else {
			s.Stmt = &ast.BlockStmt{Lbrace: s.Pos(), List: list, Rbrace: s.End()}
		}
		return []ast.Stmt{s}
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE && !slices.ContainsFunc(s.Lhs, madeUp) {
			s.Tok = token.ASSIGN
			if list := l.spread(s); list != nil {
				return list
			}
		}
	case *ast.DeclStmt:
		g, ok := s.Decl.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || len(g.Specs) == 0 || madeUp(g.Specs[0].(*ast.ValueSpec).Names[0]) {
			break
		}
		var list []ast.Stmt
		for _, sp := range g.Specs {
			v := sp.(*ast.ValueSpec)
			lhs := make([]ast.Expr, len(v.Names))
			for i, n := range v.Names {
				lhs[i] = n
			}
			if len(v.Values) > 0 {
				a := &ast.AssignStmt{Lhs: lhs, TokPos: v.Pos(), Tok: token.ASSIGN, Rhs: l.typed(v)}
				l.blanks(a)
				if many := l.spread(a); many != nil {
					list = append(list, many...)
				} else {
					list = append(list, a)
				}
				continue
			}
			for _, n := range v.Names {
				if n.Name == "_" {
					continue
				}
				// A variable declared again starts from zero again.
				list = append(list, &ast.AssignStmt{Lhs: []ast.Expr{n}, TokPos: n.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{
					&ast.StarExpr{Star: n.Pos(), X: call(&ast.Ident{Name: "new", NamePos: n.Pos()}, n.Pos(), v.Type)}}})
			}
		}
		return list
	case *ast.ExprStmt:
		if last && l.c.src.quiet && !isCall(s.X) {
			return []ast.Stmt{&ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{Name: "_", NamePos: s.Pos()}}, TokPos: s.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{s.X}}}
		}
		if !last || len(l.c.results) == 0 {
			break
		}
		if isCall(s.X) && len(l.c.results) == 1 && types.Identical(l.c.results[0], types.Universe.Lookup("error").Type()) {
			s.X = call(l.rt("ResultError", s.X.Pos()), s.X.Pos(), s.X)
			break
		}
		if l.quiet(s.X) {
			break
		}
		s.X = call(l.rt("Result", s.X.Pos()), s.X.Pos(), s.X)
	}
	return []ast.Stmt{s}
}

// nils gives the nils of an assignment of several values their types, without
// which the interpreter has no place to keep them.
func (l *lowerer) nils(s *ast.AssignStmt) {
	if len(s.Lhs) < 2 || len(s.Lhs) != len(s.Rhs) {
		return
	}
	for i, r := range s.Rhs {
		if tv, ok := l.c.info.Types[r]; !ok || !tv.IsNil() {
			continue
		}
		if tv, ok := l.c.info.Types[s.Lhs[i]]; ok && !types.IsInterface(tv.Type) {
			pos := r.Pos()
			s.Rhs[i] = l.convert(r, tv.Type, pos)
		}
	}
}

// madeUp reports whether a rewrite made the variable that a statement defines:
// it is the function's own, not the session's.
func madeUp(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, mark)
}

// typed returns the values of a var declaration; a blank one keeps its type
// through a conversion, the others have it from the global.
func (l *lowerer) typed(v *ast.ValueSpec) []ast.Expr {
	if v.Type == nil || len(v.Values) != len(v.Names) {
		return v.Values
	}
	out := make([]ast.Expr, len(v.Values))
	for i, x := range v.Values {
		out[i] = x
		if v.Names[i].Name == "_" {
			out[i] = call(&ast.ParenExpr{Lparen: x.Pos(), X: v.Type, Rparen: x.Pos()}, x.Pos(), x)
		}
	}
	return out
}

// plainName returns the name by which the interpreter knows what a cell calls
// name: another where Go predeclares that, for rewrites mean Go's by it.
func plainName(name string) string {
	if types.Universe.Lookup(name) == nil {
		return name
	}
	return name + mark
}

// plainNames gives what a cell declares such names.
func (l *lowerer) plainNames(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSwitchStmt); ok {
			if a, ok := s.Assign.(*ast.AssignStmt); ok { // no object, but one in every clause
				id := a.Lhs[0].(*ast.Ident)
				id.Name = plainName(id.Name)
			}
		}
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		o := l.c.info.Defs[id]
		if o == nil {
			o = l.c.info.Uses[id]
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
		if ok && o.Pkg() != nil && interpreted(o.Pkg()) {
			id.Name = plainName(id.Name)
		}
		return true
	})
}

func isCall(x ast.Expr) bool {
	_, ok := ast.Unparen(x).(*ast.CallExpr)
	return ok
}

// quiet reports whether the value of a last expression is not worth showing:
// the byte count and error of a call that prints or writes.
func (l *lowerer) quiet(x ast.Expr) bool {
	c, ok := ast.Unparen(x).(*ast.CallExpr)
	if was := l.writtenOut[c]; was != nil {
		c = was
	}
	if !ok || len(l.c.results) != 2 {
		return false
	}
	if b, ok := l.c.results[0].(*types.Basic); !ok || b.Kind() != types.Int && b.Kind() != types.Int64 {
		return false
	}
	if l.c.results[1].String() != "error" {
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

// expressions rewrites names and what the interpreter lacks, everywhere below n.
func (l *lowerer) expressions(n ast.Node) ast.Node {
	info := l.c.info
	l.plainNames(n)
	n = l.desugar(n)
	return astutil.Apply(n, func(c *astutil.Cursor) bool {
		if l.typeAt(c) || l.fold(c) || l.generic(c) {
			return false
		}
		switch x := c.Node().(type) {
		case *ast.GenDecl:
			if x.Tok == token.CONST {
				l.constants(x)
			}
		case *ast.DeclStmt:
			if g, ok := x.Decl.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				c.Replace(nothing(x.Pos()))
				return false
			}
		case *ast.EmptyStmt:
			// The interpreter loses its way after one in a clause.
			c.Replace(nothing(x.Pos()))
		case *ast.CallExpr:
			if l.noteUnsafe(c, x) {
				return false
			}
			l.printed(x)
			if !info.Types[x.Fun].IsType() {
				x.Fun = ast.Unparen(x.Fun)
			} else if len(x.Args) == 1 {
				l.conversions[x] = [2]types.Type{info.TypeOf(x.Args[0]), info.TypeOf(x.Fun)}
			}
		case *ast.FuncDecl:
			nameParameters(x.Type)
			l.results = append(l.results, l.resultsOf(x.Type))
		case *ast.FuncLit:
			nameParameters(x.Type)
			l.results = append(l.results, l.resultsOf(x.Type))
		case *ast.CompositeLit:
			l.composite(c, x)
		case *ast.TypeAssertExpr:
			l.operands[x] = x.X
		case *ast.TypeSwitchStmt:
			l.noteSwitch(x)
		case *ast.SwitchStmt:
			l.constantCases(x)
		case *ast.CaseClause:
			x.Body = labelsInBlock(x.Body)
		case *ast.CommClause:
			x.Body = labelsInBlock(x.Body)
		case *ast.IndexExpr:
			l.throughPointer(&x.X)
		case *ast.SliceExpr:
			l.throughPointer(&x.X)
		case *ast.SelectorExpr:
			// The selected name is no name of the cell.
			if id, ok := x.X.(*ast.Ident); ok {
				if p, ok := info.Uses[id].(*types.PkgName); ok {
					if made, ok := madeName(info.Uses[x.Sel]); ok {
						l.constantOf(c, l.sameAs(x, x.Sel, made))
						return false
					}
					l.pkgs[p.Imported().Path()] = true
					x.X = &ast.Ident{Name: alias(p.Imported().Path()), NamePos: id.Pos()}
					l.constantOf(c, x)
					return false
				}
			}
		case *ast.Ident:
			if c.Name() == "Sel" {
				return false
			}
			if _, ok := c.Parent().(*ast.KeyValueExpr); ok && c.Name() == "Key" {
				if v, ok := info.Uses[x].(*types.Var); ok && v.IsField() {
					return false
				}
			}
			o := info.Uses[x]
			if o == nil {
				o = info.Defs[x]
			}
			if o == nil {
				return false
			}
			if o == l.ctx {
				c.Replace(call(l.rt("Ctx", x.Pos()), x.Pos()))
				return false
			}
			if to, ok := l.renamed[o]; ok {
				c.Replace(&ast.Ident{Name: to, NamePos: x.Pos()})
				return false
			}
			if made, ok := madeName(o); ok {
				x.Name = made // the place stands for the object in info
				return true
			}
			// A name that came by a dot import.
			if p := o.Pkg(); p != nil && !interpreted(p) && o.Parent() == p.Scope() && info.Uses[x] != nil {
				l.pkgs[pathOf(p)] = true
				if v, ok := o.(*types.Var); ok && isNative(p) {
					c.Replace(l.nativeVar(v, x))
					return false
				}
				sel := &ast.SelectorExpr{X: &ast.Ident{Name: alias(pathOf(p)), NamePos: x.Pos()}, Sel: x}
				if tv, ok := info.Types[x]; ok {
					info.Types[sel] = tv
				}
				c.Replace(sel)
				return false
			}
		}
		return true
	}, func(c *astutil.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			l.results = l.results[:len(l.results)-1]
		case *ast.ReturnStmt:
			l.nilResults(x)
			l.builtinResults(x)
			l.operatorResults(x)
		case *ast.AssignStmt:
			l.nils(x)
			l.assignMany(c, x)
		case *ast.GoStmt:
			l.goStmt(c, x)
		case *ast.DeferStmt:
			l.deferStmt(c, x)
		case *ast.Ident:
			if y := l.functionValue(x, l.called(c)); y != x {
				c.Replace(y)
			}
		case *ast.SendStmt:
			l.send(x)
		case *ast.TypeAssertExpr:
			l.assertion(c, x)
		case *ast.TypeSwitchStmt:
			l.typeSwitch(c, x)
		case *ast.LabeledStmt:
			l.label(c, x)
		case *ast.SelectorExpr:
			l.methodValue(c, x)
		case *ast.CallExpr:
			if l.unsafeResult(c, x) {
				return true
			}
			if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && len(x.Args) == 1 {
				if f, ok := info.Uses[sel.Sel].(*types.Func); ok && f.FullName() == "(*sync.WaitGroup).Go" {
					x.Args[0] = call(l.rt("Guarded", x.Pos()), x.Pos(), x.Args[0])
				}
			}
			l.nilArguments(x)
			l.slicesAmong(c, x)
			l.methodCall(x)
			l.appended(x)
			l.spreadSlice(x)
			l.builtin(c, x)
			l.lettersOf(c, x)
		}
		if x, ok := c.Node().(ast.Expr); ok {
			l.constantOf(c, x)
		}
		l.namedBool(c)
		return true
	})
}

// typeAt replaces an expression of a type by one in which no type of a cell is
// written out.
func (l *lowerer) typeAt(c *astutil.Cursor) bool {
	x, ok := c.Node().(ast.Expr)
	if !ok || c.Name() == "Sel" {
		return false
	}
	tv, ok := l.c.info.Types[x]
	if !ok || !tv.IsType() {
		return false
	}
	switch x := x.(type) {
	case *ast.FuncType:
		switch c.Parent().(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		}
	case *ast.Ident:
		if _, ok := tv.Type.(*types.Basic); ok && l.c.info.Uses[x] != nil && l.c.info.Uses[x].Parent() == types.Universe {
			return false
		}
	case *ast.Ellipsis:
		return false
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
	return true
}

// label puts a label on the statement that a rewrite has wrapped in a block.
func (l *lowerer) label(c *astutil.Cursor, x *ast.LabeledStmt) {
	b, ok := x.Stmt.(*ast.BlockStmt)
	if !ok || !l.inside[b] {
		return
	}
	last := len(b.List) - 1
	x.Stmt = b.List[last]
	b.List[last] = x
	c.Replace(b)
	l.inside[b] = true
}

// appended makes the interpreter, which goes by types alone, tell the elements
// that append adds from a slice of them.
func (l *lowerer) appended(x *ast.CallExpr) {
	info := l.c.info
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
		// The interpreter writes the first before it reads the second, and spreads
		// what is of the slice's own type.
		l.indexed(x.Args[1:])
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

// spreadSlice passes a slice for variadic arguments as the type that the function
// declares.
func (l *lowerer) spreadSlice(x *ast.CallExpr) {
	if !x.Ellipsis.IsValid() || len(x.Args) == 0 {
		return
	}
	last := len(x.Args) - 1
	tv, ok := l.c.info.Types[x.Args[last]]
	if !ok || tv.Type == nil {
		return
	}
	n, ok := types.Unalias(tv.Type).(*types.Named)
	if !ok {
		return
	}
	if s, ok := n.Underlying().(*types.Slice); ok && !l.isBuiltin(x.Fun) {
		pos := x.Args[last].Pos()
		x.Args[last] = l.convert(x.Args[last], s, pos)
	}
}

func (l *lowerer) isBuiltin(f ast.Expr) bool {
	id, ok := ast.Unparen(f).(*ast.Ident)
	if !ok {
		return false
	}
	_, ok = l.c.info.Uses[id].(*types.Builtin)
	return ok
}

// composite writes out the type of a composite literal inside another, and the
// names of the fields of a struct.
func (l *lowerer) composite(c *astutil.Cursor, x *ast.CompositeLit) {
	tv, ok := l.c.info.Types[x]
	if !ok {
		return
	}
	t := tv.Type
	st := t.Underlying()
	if p, ok := st.(*types.Pointer); ok {
		st = p.Elem().Underlying()
	}
	if m, ok := st.(*types.Map); ok {
		l.sameKeys(x, m.Key())
	}
	if st, ok := st.(*types.Struct); ok {
		if len(x.Elts) == st.NumFields() {
			l.dropBlank(x, st)
		}
		for i, e := range x.Elts {
			if _, ok := e.(*ast.KeyValueExpr); !ok {
				x.Elts[i] = withKey(st.Field(i), e)
			}
		}
	}
	switch st.(type) {
	case *types.Slice, *types.Array:
		l.indexed(x.Elts)
	}
	if x.Type != nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		inner := *x
		l.c.info.Types[&inner] = variableOf(p.Elem())
		inner.Type = l.typeExpr(p.Elem(), x.Pos())
		c.Replace(&ast.UnaryExpr{OpPos: x.Pos(), Op: token.AND, X: &inner})
		return
	}
	x.Type = l.typeExpr(t, x.Pos())
}

// indexed gives the elements of a slice or an array their indices. Of one
// without the interpreter seeks the type before it compiles it, and finds none
// where it is part of an element of what compiled code knows.
func (l *lowerer) indexed(elts []ast.Expr) {
	i := 0
	for k, e := range elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			n, _ := constant.Int64Val(constant.ToInt(l.c.info.Types[kv.Key].Value))
			i = int(n)
		} else if tv := l.c.info.Types[e]; tv.Value == nil && !tv.IsNil() {
			m := maker{e.Pos()}
			elts[k] = &ast.KeyValueExpr{Key: m.num(i), Colon: m.pos, Value: e}
		}
		i++
	}
}

// withKey names the field of an element.
func withKey(f *types.Var, e ast.Expr) ast.Expr {
	return &ast.KeyValueExpr{Key: &ast.Ident{Name: f.Name(), NamePos: e.Pos()}, Colon: e.Pos(), Value: e}
}

// dropBlank leaves out the constants that are given to blank fields, which keep
// none.
func (l *lowerer) dropBlank(x *ast.CompositeLit, st *types.Struct) {
	var elts []ast.Expr
	for i, e := range x.Elts {
		if _, ok := e.(*ast.KeyValueExpr); ok {
			return
		}
		if st.Field(i).Name() != "_" || l.c.info.Types[e].Value == nil {
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

// functionValue returns a declared function that is not called as a value of
// its type: the interpreter passes the declaration itself on, which not every
// place can hold.
func (l *lowerer) functionValue(id *ast.Ident, called bool) ast.Expr {
	f, ok := l.c.info.Uses[id].(*types.Func)
	if called || !ok || !interpreted(f.Pkg()) || f.Signature().Recv() != nil || f.Signature().TypeParams().Len() > 0 {
		return id
	}
	return l.asValue(id, f.Signature())
}

func (l *lowerer) asValue(id *ast.Ident, t types.Type) ast.Expr {
	pos := id.Pos()
	return l.convert(id, t, pos)
}

// send gives the channel its type anew: of one that it has from a field or
// from compiled code the interpreter does not know what it carries.
func (l *lowerer) send(x *ast.SendStmt) {
	if tv, ok := l.c.info.Types[x.Chan]; ok && tv.Type != nil {
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
				ts = append(ts, l.c.info.Types[r.Type].Type)
			}
		}
	}
	return ts
}

// builtinResults keeps the interpreter from storing what a builtin gives, as one
// of several results, in the place of the first.
func (l *lowerer) builtinResults(x *ast.ReturnStmt) {
	if len(x.Results) < 2 {
		return
	}
	for i, r := range x.Results {
		c, ok := ast.Unparen(r).(*ast.CallExpr)
		if !ok || !l.isBuiltin(c.Fun) {
			continue
		}
		if tv, ok := l.c.info.Types[c]; ok && tv.IsValue() {
			pos := r.Pos()
			x.Results[i] = l.convert(r, types.Default(tv.Type), pos)
		}
	}
}

// wantedResults returns the types as which a statement returns its values, none
// where it returns those of a call.
func (l *lowerer) wantedResults(x *ast.ReturnStmt) []types.Type {
	if len(l.results) == 0 || len(l.results[len(l.results)-1]) != len(x.Results) {
		return nil
	}
	return l.results[len(l.results)-1]
}

// operatorResults gives what operators make of values, and a function returns as
// an interface, its type: the interpreter would have it stored there as it is.
func (l *lowerer) operatorResults(x *ast.ReturnStmt) {
	ts := l.wantedResults(x)
	for i, r := range x.Results[:len(ts)] {
		if ts[i] != nil && types.IsInterface(ts[i]) {
			x.Results[i] = l.ofOperator(r)
		}
	}
}

// nilResults gives the nils that a function returns as functions their types.
func (l *lowerer) nilResults(x *ast.ReturnStmt) {
	ts := l.wantedResults(x)
	for i, r := range x.Results[:len(ts)] {
		if tv, ok := l.c.info.Types[r]; !ok || !tv.IsNil() || ts[i] == nil || !own(ts[i]) {
			continue
		}
		if _, ok := ts[i].Underlying().(*types.Signature); ok {
			x.Results[i] = call(l.typeExpr(ts[i], r.Pos()), r.Pos(), r)
		}
	}
}

// calledName returns the name by which a function is called, its last part, or
// nil.
func calledName(f ast.Expr) *ast.Ident {
	switch f := ast.Unparen(f).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// compiledFunc reports whether a call calls a function of compiled code by its
// name.
func (l *lowerer) compiledFunc(f ast.Expr) bool {
	o, ok := l.c.info.Uses[calledName(f)].(*types.Func)
	return ok && o.Pkg() != nil && !interpreted(o.Pkg())
}

// slicesAmong makes slices that are single variadic arguments of interface type
// pass as such; the interpreter, which goes by types alone, would spread them.
func (l *lowerer) slicesAmong(c *astutil.Cursor, x *ast.CallExpr) {
	sig, ok := coreSignature(l.c.info, x.Fun)
	if !ok || !sig.Variadic() || l.c.info.Types[x.Fun].IsType() || l.isBuiltin(x.Fun) {
		return
	}
	last := sig.Params().Len() - 1
	list := sig.Params().At(last).Type().(*types.Slice)
	if x.Ellipsis.IsValid() {
		if a := x.Args[last]; l.c.info.Types[a].IsNil() {
			x.Args[last] = l.convert(a, list, a.Pos())
		}
		return
	}
	elem := list.Elem()
	if len(x.Args) == last && !l.compiledFunc(x.Fun) {
		switch c.Parent().(type) {
		case *ast.DeferStmt, *ast.GoStmt:
			return // the interpreter calls these its own way
		}
		if last == 1 {
			if _, many := l.c.info.Types[x.Args[0]].Type.(*types.Tuple); many {
				return
			}
		}
		// None at all is nil, not empty.
		pos := x.Rparen
		nothing := &ast.Ident{Name: "nil", NamePos: pos}
		x.Args = append(x.Args, l.convert(nothing, list, pos))
		x.Ellipsis = pos
		return
	}
	if !types.IsInterface(elem) {
		for i, a := range x.Args[last:] { // []T for T, as which it is declared
			if t := l.c.info.TypeOf(a); t != nil && types.Identical(t, list) {
				x.Args[last+i] = l.convert(a, elem, a.Pos())
			}
		}
		return
	}
	for i := last; i < len(x.Args); i++ {
		if tv, ok := l.c.info.Types[x.Args[i]]; ok && tv.Type != nil && !tv.IsNil() {
			if _, isSlice := tv.Type.Underlying().(*types.Slice); isSlice {
				x.Args[i] = l.asInterface(x.Args[i], elem)
			}
		}
	}
}

// nilArguments gives the nils that a function is passed for types of cells
// their types.
func (l *lowerer) nilArguments(x *ast.CallExpr) {
	sig, ok := coreSignature(l.c.info, x.Fun)
	if !ok || l.c.info.Types[x.Fun].IsType() {
		return
	}
	for i, a := range x.Args {
		tv, ok := l.c.info.Types[a]
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
		if t == nil || !own(t) && !hasMethods(t) {
			continue
		}
		if n, ok := types.Unalias(t).(*types.Named); ok && isNative(n.Obj().Pkg()) {
			// Nil of an interface the interpreter makes for the library's only.
			x.Args[i] = &ast.StarExpr{Star: a.Pos(), X: call(&ast.Ident{Name: "new", NamePos: a.Pos()}, a.Pos(), l.typeExpr(t, a.Pos()))}
			continue
		}
		if _, ok := types.Unalias(t).(*types.Pointer); !ok {
			x.Args[i] = call(l.typeExpr(t, a.Pos()), a.Pos(), a)
		}
	}
}

// nameParameters gives the parameters of a function names where they have none:
// the interpreter takes the places of the function's variables for theirs.
func nameParameters(f *ast.FuncType) {
	for i, p := range f.Params.List {
		if len(p.Names) == 0 {
			p.Names = []*ast.Ident{{Name: mark + "u" + itoa(i), NamePos: p.Pos()}}
		}
	}
}

// throughPointer writes (*p)[i] and (*p)[i:j] for p[i] and p[i:j] where p points
// to an array: of what compiled code knows the interpreter takes what p points
// to for an element.
func (l *lowerer) throughPointer(x *ast.Expr) {
	tv := l.c.info.Types[*x]
	if !tv.IsValue() {
		return
	}
	if p, ok := tv.Type.Underlying().(*types.Pointer); ok {
		pos := (*x).Pos()
		array := &ast.StarExpr{Star: pos, X: *x}
		tv.Type = p.Elem()
		l.c.info.Types[array] = tv
		*x = &ast.ParenExpr{Lparen: pos, X: array, Rparen: pos}
		l.c.info.Types[*x] = tv
	}
}

// labelsInBlock puts the statements of a case into a block where one has a label:
// the interpreter looks for labels in blocks alone.
func labelsInBlock(body []ast.Stmt) []ast.Stmt {
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

// constantCases gives a switch without an expression one where a case is a
// constant, which the interpreter would take to hold.
func (l *lowerer) constantCases(x *ast.SwitchStmt) {
	if x.Tag != nil {
		return
	}
	for _, s := range x.Body.List {
		for _, e := range s.(*ast.CaseClause).List {
			if l.c.info.Types[e].Value != nil {
				x.Tag = &ast.Ident{Name: "true", NamePos: x.Body.Lbrace}
				return
			}
		}
	}
}

// constantOf converts a constant of a cell's own type where the interpreter
// would take it for one of the basic type, and one that is returned and is
// greater than an int can be.
//
// What stands at c becomes x, or a conversion of it.
func (l *lowerer) constantOf(c *astutil.Cursor, x ast.Expr) {
	if x != c.Node() {
		defer func() { c.Replace(x) }()
	}
	tv, ok := l.c.info.Types[x]
	_, returned := c.Parent().(*ast.ReturnStmt)
	if !ok || tv.Value == nil || !own(tv.Type) && !(returned && huge(tv)) {
		return
	}
	switch p := c.Parent().(type) {
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
		if p.Fun == c.Node() || l.c.info.Types[p.Fun].IsType() {
			return
		}
	default:
		return
	}
	x = call(l.typeExpr(tv.Type, x.Pos()), x.Pos(), x)
	c.Replace(x)
}

// huge reports whether a constant is a whole number greater than an int64.
func huge(tv types.TypeAndValue) bool {
	if tv.Value.Kind() != constant.Int {
		return false
	}
	_, fits := constant.Int64Val(tv.Value)
	b, ok := tv.Type.Underlying().(*types.Basic)
	return !fits && ok && b.Info()&types.IsInteger != 0
}

// deferStmt evaluates the arguments of a deferred call where defer stands: the
// interpreter would read variables at the end. Each gets a variable of its own.
func (l *lowerer) deferStmt(c *astutil.Cursor, d *ast.DeferStmt) {
	if c.Index() < 0 {
		return
	}
	pos := d.Pos()
	for i, a := range d.Call.Args {
		if tv, ok := l.c.info.Types[a]; !l.receivers[a] && (!ok || tv.Value != nil || !tv.IsValue() || tv.IsNil()) {
			continue
		}
		t := l.tempName()
		c.InsertBefore(&ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{Name: t, NamePos: pos}}, TokPos: pos, Tok: token.DEFINE, Rhs: []ast.Expr{a}})
		d.Call.Args[i] = &ast.Ident{Name: t, NamePos: pos}
	}
}

// tempName returns a fresh name.
func (l *lowerer) tempName() string {
	l.temp++
	return mark + "t" + itoa(l.temp)
}

// goStmt makes a goroutine of a cell report a panic instead of taking the
// process down: the function and its arguments are evaluated where go stands,
// the call runs under a recovering frame.
func (l *lowerer) goStmt(c *astutil.Cursor, g *ast.GoStmt) {
	pos := g.Pos()
	var pre []ast.Stmt
	info := l.c.info
	hold := func(x ast.Expr, t types.Type) ast.Expr {
		name := l.tempName()
		spec := &ast.ValueSpec{Names: []*ast.Ident{{Name: name, NamePos: pos}}, Values: []ast.Expr{x}}
		if t != nil {
			if s, err := l.typeString(t); err == nil {
				if te, err := parser.ParseExpr(s); err == nil {
					clearPos(te, pos)
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
				// The interpreter has no value of a method of an interface.
				r := hold(sel.X, info.TypeOf(sel.X))
				pre = append(pre, l.nonNil(r, maker{pos}))
				inner.Fun = &ast.SelectorExpr{X: r, Sel: sel.Sel}
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
	r := l.tempName()
	guard := &ast.DeferStmt{Defer: pos, Call: call(&ast.FuncLit{
		Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, Closing: pos}},
		Body: &ast.BlockStmt{Lbrace: pos, Rbrace: pos, List: []ast.Stmt{
			&ast.IfStmt{If: pos,
				Init: &ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{Name: r, NamePos: pos}}, TokPos: pos, Tok: token.DEFINE,
					Rhs: []ast.Expr{call(&ast.Ident{Name: "recover", NamePos: pos}, pos)}},
				Cond: &ast.BinaryExpr{X: &ast.Ident{Name: r, NamePos: pos}, OpPos: pos, Op: token.NEQ, Y: &ast.Ident{Name: "nil", NamePos: pos}},
				Body: &ast.BlockStmt{Lbrace: pos, Rbrace: pos, List: []ast.Stmt{
					&ast.ExprStmt{X: call(l.rt("GoroutinePanic", pos), pos, &ast.Ident{Name: r, NamePos: pos})}}}}}}}, pos)}
	g.Call = call(&ast.FuncLit{
		Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, Closing: pos}},
		Body: &ast.BlockStmt{Lbrace: pos, Rbrace: g.End(), List: []ast.Stmt{guard, &ast.ExprStmt{X: &inner}}}}, pos)
	if len(pre) > 0 {
		c.Replace(&ast.BlockStmt{Lbrace: pos, List: append(pre, g), Rbrace: g.End()})
	}
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

// builtin rewrites calls of the builtins that the interpreter does not know.
func (l *lowerer) builtin(c *astutil.Cursor, x *ast.CallExpr) {
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok {
		return
	}
	b, ok := l.c.info.Uses[id].(*types.Builtin)
	if !ok {
		return
	}
	pos := x.Pos()
	switch b.Name() {
	case "make":
		t, ok := l.c.info.TypeOf(x).Underlying().(*types.Chan)
		if ok && t.Dir() != types.SendRecv {
			whole := l.c.info.TypeOf(x)
			x.Args[0] = l.typeExpr(types.NewChan(types.SendRecv, t.Elem()), pos)
			c.Replace(l.convert(x, whole, pos))
		}
	case "len", "cap":
		// Of an array its pointer knows, also where that is nil.
		t := l.c.info.TypeOf(x.Args[0])
		if t == nil {
			return
		}
		if p, ok := t.Underlying().(*types.Pointer); ok {
			m := maker{pos}
			n := int(p.Elem().Underlying().(*types.Array).Len())
			c.Replace(call(m.funcLit(nil, []*ast.Field{m.field("", m.id("int"))}, m.define(l.tempName(), x.Args[0]), m.ret(m.num(n))), pos))
		}
	case "clear":
		c.Replace(call(l.rt("Clear", pos), pos, x.Args...))
	case "min", "max":
		c.Replace(l.minMax(b.Name(), l.c.info.TypeOf(x), x.Args, pos))
	}
}

// minMax returns a function literal called at once:
// func(a, b T) T { m := a; if b < m || b != b { m = b }; return m }(a, b).
// For floats NaN wins, as the language says; the sign of zero follows the
// order of arguments.
func (l *lowerer) minMax(name string, t types.Type, args []ast.Expr, pos token.Pos) ast.Expr {
	te := func() ast.Expr { return l.typeExpr(t, pos) }
	id := func(s string) *ast.Ident { return &ast.Ident{Name: s, NamePos: pos} }
	op := token.LSS
	if name == "max" {
		op = token.GTR
	}
	var params []*ast.Field
	m := mark + "m"
	body := []ast.Stmt{}
	isFloat := false
	if b, ok := t.Underlying().(*types.Basic); ok {
		isFloat = b.Info()&types.IsFloat != 0
	}
	for i := range args {
		p := mark + "p" + itoa(i)
		params = append(params, &ast.Field{Names: []*ast.Ident{id(p)}, Type: te()})
		if i == 0 {
			body = append(body, &ast.AssignStmt{Lhs: []ast.Expr{id(m)}, TokPos: pos, Tok: token.DEFINE, Rhs: []ast.Expr{id(p)}})
			continue
		}
		var cond ast.Expr = &ast.BinaryExpr{X: id(p), OpPos: pos, Op: op, Y: id(m)}
		if isFloat {
			cond = &ast.BinaryExpr{X: cond, OpPos: pos, Op: token.LOR, Y: &ast.BinaryExpr{X: id(p), OpPos: pos, Op: token.NEQ, Y: id(p)}}
		}
		body = append(body, &ast.IfStmt{If: pos, Cond: cond, Body: &ast.BlockStmt{Lbrace: pos, Rbrace: pos, List: []ast.Stmt{
			&ast.AssignStmt{Lhs: []ast.Expr{id(m)}, TokPos: pos, Tok: token.ASSIGN, Rhs: []ast.Expr{id(p)}}}}})
	}
	body = append(body, &ast.ReturnStmt{Return: pos, Results: []ast.Expr{id(m)}})
	return call(&ast.FuncLit{
		Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, List: params, Closing: pos},
			Results: &ast.FieldList{List: []*ast.Field{{Type: te()}}}},
		Body: &ast.BlockStmt{Lbrace: pos, List: body, Rbrace: pos}}, pos, args...)
}
