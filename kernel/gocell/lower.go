package gocell

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
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

	formatted map[*ast.CallExpr][]types.Type // types of arguments that a call formats
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

// typeString returns the text of a type where the names that it is made of are
// in scope.
func (l *lowerer) typeString(t types.Type) (string, error) {
	local, seen := map[*types.TypeName]bool{}, map[types.Type]bool{}
	localTypes(t, local, map[types.Type]bool{})
	for o := range local {
		seen[o.Type()] = true
	}
	if bad := inexpressible(t, seen); bad != "" {
		return "", fmt.Errorf("type %s cannot be written in a cell: %s is not exported", types.TypeString(t, shortName), bad)
	}
	return l.typeName(t), nil
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
	if p.Path() == "main" || isNative(p) {
		return ""
	}
	return p.Name()
}

// inexpressible returns the name in t that a declaration at package level
// cannot use, or "".
func inexpressible(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	tuple := func(tt *types.Tuple) string {
		for v := range tt.Variables() {
			if s := inexpressible(v.Type(), seen); s != "" {
				return s
			}
		}
		return ""
	}
	named := func(o *types.TypeName, args *types.TypeList) string {
		if o.Pkg() != nil {
			if !interpreted(o.Pkg()) && !o.Exported() && !ofNative(o) {
				return o.Pkg().Name() + "." + o.Name()
			}
			if interpreted(o.Pkg()) && !packageLevel(o) {
				return o.Name()
			}
		}
		for i := range args.Len() {
			if s := inexpressible(args.At(i), seen); s != "" {
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
		return inexpressible(t.Elem(), seen)
	case *types.Slice:
		return inexpressible(t.Elem(), seen)
	case *types.Array:
		return inexpressible(t.Elem(), seen)
	case *types.Chan:
		return inexpressible(t.Elem(), seen)
	case *types.Map:
		if s := inexpressible(t.Key(), seen); s != "" {
			return s
		}
		return inexpressible(t.Elem(), seen)
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
			if s := inexpressible(f.Type(), seen); s != "" {
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
		}
		return true
	})
}

// rt returns the expression of a function of the kernel.
func (l *lowerer) rt(name string, pos token.Pos) ast.Expr {
	return &ast.SelectorExpr{X: &ast.Ident{Name: rtAlias, NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}
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
		if s.Tok == token.DEFINE && !madeUp(s.Lhs[0]) {
			s.Tok = token.ASSIGN
			if list := l.spread(s); list != nil {
				return list
			}
		}
	case *ast.DeclStmt:
		g, ok := s.Decl.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || madeUp(g.Specs[0].(*ast.ValueSpec).Names[0]) {
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
			s.Rhs[i] = call(&ast.ParenExpr{Lparen: pos, X: l.typeExpr(tv.Type, pos), Rparen: pos}, pos, r)
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

func isCall(x ast.Expr) bool {
	_, ok := ast.Unparen(x).(*ast.CallExpr)
	return ok
}

// quiet reports whether the value of a last expression is not worth showing:
// the byte count and error of a call that prints or writes.
func (l *lowerer) quiet(x ast.Expr) bool {
	c, ok := ast.Unparen(x).(*ast.CallExpr)
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
	n = l.desugar(n)
	return astutil.Apply(n, func(c *astutil.Cursor) bool {
		if x, ok := c.Node().(*ast.CallExpr); ok {
			l.noteArguments(x)
		}
		if l.generic(c) {
			return false
		}
		switch x := c.Node().(type) {
		case *ast.GenDecl:
			if x.Tok == token.CONST {
				l.constants(x)
			}
		case *ast.SelectorExpr:
			// The selected name is no name of the cell.
			if id, ok := x.X.(*ast.Ident); ok {
				if p, ok := info.Uses[id].(*types.PkgName); ok {
					if made, ok := madeName(info.Uses[x.Sel]); ok {
						c.Replace(l.sameAs(x, x.Sel, made))
						return false
					}
					l.pkgs[p.Imported().Path()] = true
					x.X = &ast.Ident{Name: alias(p.Imported().Path()), NamePos: id.Pos()}
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
				return false
			}
			// A name that came by a dot import.
			if p := o.Pkg(); p != nil && !interpreted(p) && o.Parent() == p.Scope() && info.Uses[x] != nil {
				l.pkgs[p.Path()] = true
				c.Replace(&ast.SelectorExpr{X: &ast.Ident{Name: alias(p.Path()), NamePos: x.Pos()}, Sel: x})
				return false
			}
		}
		return true
	}, func(c *astutil.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.AssignStmt:
			l.nils(x)
			l.assignMany(c, x)
		case *ast.GoStmt:
			l.goStmt(c, x)
		case *ast.DeferStmt:
			l.deferStmt(c, x)
		case *ast.BinaryExpr, *ast.TypeAssertExpr:
			l.interfaces(c)
		case *ast.TypeSwitchStmt:
			l.typeSwitch(c, x)
		case *ast.StructType:
			hideFields(x)
		case *ast.SelectorExpr:
			l.methodValue(c, x)
		case *ast.CallExpr:
			l.variadic(x)
			l.arguments(x)
			l.interfaces(c)
			l.builtin(c, x)
		case *ast.CompositeLit:
			l.elements(x)
		}
		return true
	})
}

// The interpreter hands a cell's own type to compiled code as an interface
// where it assigns it or passes it as a plain argument, and forgets to among
// variadic arguments and in composite literals. There a call makes it pass as
// an argument first: func(v I) I { return v }(x).

// variadic converts the variadic interface arguments of compiled functions.
func (l *lowerer) variadic(x *ast.CallExpr) {
	if x.Ellipsis.IsValid() {
		return
	}
	sig, ok := coreSignature(l.c.info, x.Fun)
	if !ok || !sig.Variadic() {
		return
	}
	last := sig.Params().Len() - 1
	elem := sig.Params().At(last).Type().(*types.Slice).Elem()
	for i := last; i < len(x.Args); i++ {
		x.Args[i] = l.toInterface(x.Args[i], elem)
	}
}

// elements converts the elements of a composite literal.
func (l *lowerer) elements(x *ast.CompositeLit) {
	tv, ok := l.c.info.Types[x]
	if !ok {
		return
	}
	t := tv.Type.Underlying()
	if p, ok := t.(*types.Pointer); ok { // an elided &T
		t = p.Elem().Underlying()
	}
	for i, e := range x.Elts {
		kv, isKV := e.(*ast.KeyValueExpr)
		var to types.Type
		switch t := t.(type) {
		case *types.Struct:
			if isKV {
				if id, ok := kv.Key.(*ast.Ident); ok {
					if f, ok := l.c.info.Uses[id].(*types.Var); ok {
						to = f.Type()
					}
				}
			} else if i < t.NumFields() {
				to = t.Field(i).Type()
			}
		case *types.Slice:
			to = t.Elem()
		case *types.Array:
			to = t.Elem()
		case *types.Map:
			to = t.Elem()
		}
		if to == nil {
			continue
		}
		if isKV {
			kv.Value = l.toInterface(kv.Value, to)
		} else {
			x.Elts[i] = l.toInterface(e, to)
		}
	}
}

// toInterface converts x, of a cell's own type, to a compiled interface with
// methods; anything else is left as it is.
func (l *lowerer) toInterface(x ast.Expr, to types.Type) ast.Expr {
	n, ok := types.Unalias(to).(*types.Named)
	if !ok || interpreted(n.Obj().Pkg()) {
		return x
	}
	it, ok := n.Underlying().(*types.Interface)
	if !ok || it.NumMethods() == 0 {
		return x
	}
	tv, ok := l.c.info.Types[x]
	if !ok || !own(tv.Type) || types.IsInterface(tv.Type) {
		return x
	}
	pos := x.Pos()
	v := &ast.Ident{Name: mark + "v", NamePos: pos}
	return call(&ast.FuncLit{
		Type: &ast.FuncType{Func: pos,
			Params:  &ast.FieldList{Opening: pos, List: []*ast.Field{{Names: []*ast.Ident{v}, Type: l.typeExpr(to, pos)}}, Closing: pos},
			Results: &ast.FieldList{List: []*ast.Field{{Type: l.typeExpr(to, pos)}}}},
		Body: &ast.BlockStmt{Lbrace: pos, List: []ast.Stmt{&ast.ReturnStmt{Return: pos, Results: []ast.Expr{v}}}, Rbrace: pos}}, pos, x)
}

// deferStmt evaluates the arguments of a deferred call where defer stands: the
// interpreter would read variables at the end. Each gets a variable of its own.
func (l *lowerer) deferStmt(c *astutil.Cursor, d *ast.DeferStmt) {
	if c.Index() < 0 {
		return
	}
	pos := d.Pos()
	for i, a := range d.Call.Args {
		tv, ok := l.c.info.Types[a]
		if !ok || tv.Value != nil || !tv.IsValue() || tv.IsNil() {
			continue
		}
		t := l.tempName()
		c.InsertBefore(&ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{Name: t, NamePos: pos}}, TokPos: pos, Tok: token.DEFINE, Rhs: []ast.Expr{a}})
		d.Call.Args[i] = &ast.Ident{Name: t, NamePos: pos}
	}
}

// methodValue binds the receiver of a method value where it stands: the
// interpreter would read the variable when the function is called.
func (l *lowerer) methodValue(c *astutil.Cursor, x *ast.SelectorExpr) {
	s := l.c.info.Selections[x]
	if s == nil || s.Kind() != types.MethodVal || !own(s.Recv()) || types.IsInterface(s.Recv()) {
		return
	}
	if p, ok := c.Parent().(*ast.CallExpr); ok && p.Fun == x {
		return
	}
	if _, ok := c.Parent().(*ast.ParenExpr); ok {
		return
	}
	sig := s.Obj().(*types.Func).Signature()
	if _, byPointer := types.Unalias(sig.Recv().Type()).(*types.Pointer); byPointer {
		return
	}
	if inexpressible(s.Recv(), map[types.Type]bool{}) != "" {
		return
	}
	pos := x.Pos()
	r := &ast.Ident{Name: mark + "r", NamePos: pos}
	result := l.typeExpr(types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic()), pos)
	c.Replace(call(&ast.FuncLit{
		Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, Closing: pos, List: []*ast.Field{{Names: []*ast.Ident{r}, Type: l.typeExpr(s.Recv(), pos)}}},
			Results: &ast.FieldList{List: []*ast.Field{{Type: result}}}},
		Body: &ast.BlockStmt{Lbrace: pos, Rbrace: pos, List: []ast.Stmt{&ast.ReturnStmt{Return: pos, Results: []ast.Expr{
			&ast.SelectorExpr{X: r, Sel: x.Sel}}}}}}, pos, x.X))
}

// hideFields tells the encoders which fields of a struct are not exported: the
// interpreter exports them all.
func hideFields(x *ast.StructType) {
	for _, f := range x.Fields.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() || f.Names[0].Name == "_" {
			continue
		}
		tag := ""
		if f.Tag != nil {
			tag, _ = strconv.Unquote(f.Tag.Value)
		}
		f.Tag = &ast.BasicLit{ValuePos: f.Pos(), Kind: token.STRING, Value: quote(hiddenTag(tag))}
	}
}

// hiddenTag is the tag of a field that is not exported.
func hiddenTag(tag string) string { return strings.TrimSpace(`json:"-" xml:"-" ` + tag) }

// own reports whether t is a type that a cell or a fetched package declares, or a pointer to one.
func own(t types.Type) bool {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	switch t := t.(type) {
	case *types.Named:
		return interpreted(t.Obj().Pkg())
	case *types.Struct: // with embedded methods
		return true
	}
	return false
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
			if sel, ok := ast.Unparen(g.Call.Fun).(*ast.SelectorExpr); !ok || info.Selections[sel] != nil {
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
	case "recover":
		if _, ok := c.Parent().(ast.Expr); ok || c.Name() == "Rhs" || c.Name() == "Results" || c.Name() == "Values" || c.Name() == "Tag" {
			c.Replace(call(l.rt("Recovered", pos), pos, x))
		}
	case "clear":
		c.Replace(call(l.rt("Clear", pos), pos, x.Args...))
	case "min", "max":
		tv := l.c.info.Types[x]
		if tv.Value != nil {
			// A constant: its value, converted to its type.
			c.Replace(l.constant(tv, pos))
			return
		}
		c.Replace(l.minMax(b.Name(), tv.Type, x.Args, pos))
	}
}

// constant returns the expression of a constant value.
func (l *lowerer) constant(tv types.TypeAndValue, pos token.Pos) ast.Expr {
	text := tv.Value.ExactString()
	if strings.Contains(text, "/") { // a fraction of whole numbers
		text = "(" + strings.ReplaceAll(text, "/", ".0/") + ".0)"
	}
	x, err := parser.ParseExpr(text)
	if err != nil {
		l.refuse(pos, "internal: constant %s: %v", tv.Value, err)
		return ast.NewIdent("0")
	}
	clearPos(x, pos)
	if b, ok := tv.Type.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		return x
	}
	return call(&ast.ParenExpr{Lparen: pos, X: l.typeExpr(tv.Type, pos), Rparen: pos}, pos, x)
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
