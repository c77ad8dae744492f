package gocell

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"unsafe"

	"github.com/traefik/yaegi/interp"
	"golang.org/x/tools/go/ast/astutil"
)

// A cell's error reaches compiled code as a wrapper that holds its value and
// its methods. The interpreter's own knows the method Error only, and cannot
// be compared. The wrappers here have the methods that package errors looks
// for, and two which the rewrite gives every error type: one returns the value
// (the interpreter keeps the last field of a struct instead), one its type's
// name.
const (
	selfMethod = mark + "self"
	nameMethod = mark + "name"
)

type (
	wrapError struct {
		IValue any
		WError func() string
		Wˑself func() any
		Wˑname func() string
	}
	wrapIs struct {
		IValue any
		WError func() string
		Wˑself func() any
		Wˑname func() string
		WIs    func(error) bool
	}
	wrapAs struct {
		IValue any
		WError func() string
		Wˑself func() any
		Wˑname func() string
		WAs    func(any) bool
	}
	wrapUnwrap struct {
		IValue  any
		WError  func() string
		Wˑself  func() any
		Wˑname  func() string
		WUnwrap any // func() error or func() []error
	}
	wrapUnwrapIs struct {
		IValue  any
		WError  func() string
		Wˑself  func() any
		Wˑname  func() string
		WUnwrap any
		WIs     func(error) bool
	}
	wrapUnwrapAs struct {
		IValue  any
		WError  func() string
		Wˑself  func() any
		Wˑname  func() string
		WUnwrap any
		WAs     func(any) bool
	}
)

func (w wrapError) Error() string      { return w.WError() }
func (w wrapIs) Error() string         { return w.WError() }
func (w wrapAs) Error() string         { return w.WError() }
func (w wrapUnwrap) Error() string     { return w.WError() }
func (w wrapUnwrapIs) Error() string   { return w.WError() }
func (w wrapUnwrapAs) Error() string   { return w.WError() }
func (w wrapIs) Is(e error) bool       { return w.WIs(e) }
func (w wrapUnwrapIs) Is(e error) bool { return w.WIs(e) }
func (w wrapAs) As(t any) bool         { return w.WAs(t) }
func (w wrapUnwrapAs) As(t any) bool   { return w.WAs(t) }
func (w wrapUnwrap) Unwrap() error     { return unwrapBy(w.WUnwrap) }
func (w wrapUnwrapIs) Unwrap() error   { return unwrapBy(w.WUnwrap) }
func (w wrapUnwrapAs) Unwrap() error   { return unwrapBy(w.WUnwrap) }

func unwrapBy(f any) error {
	v := reflect.ValueOf(f)
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Func || v.IsNil() || v.Type().NumIn() != 0 || v.Type().NumOut() != 1 {
		return nil
	}
	switch e := v.Call(nil)[0].Interface().(type) {
	case error:
		return e
	case []error:
		return errors.Join(e...)
	}
	return nil
}

// useErrors gives the interpreter the wrappers, the most telling first.
func (s *Session) useErrors() error {
	exports := reflect.ValueOf(s.in).Elem().FieldByName("binPkg")
	table := *(*interp.Exports)(unsafe.Pointer(exports.UnsafeAddr()))
	return s.use(interp.Exports{".": {"MapTypes": reflect.ValueOf(map[reflect.Value][]reflect.Type{
		table[""]["_error"]: {
			reflect.TypeFor[wrapUnwrapIs](), reflect.TypeFor[wrapUnwrapAs](), reflect.TypeFor[wrapUnwrap](),
			reflect.TypeFor[wrapIs](), reflect.TypeFor[wrapAs](), reflect.TypeFor[wrapError](),
		}})}})
}

// selfMethods returns these methods for the error types among the declarations.
func selfMethods(decls []declared) []declared {
	var out []declared
	for _, d := range decls {
		f, ok := d.decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "Error" || f.Type.Params.NumFields() != 0 || f.Type.Results.NumFields() != 1 {
			continue
		}
		pos := f.Name.Pos()
		id := func(s string) *ast.Ident { return &ast.Ident{Name: s, NamePos: pos} }
		method := func(name string, result, x ast.Expr) {
			var recv ast.Expr = id(receiverName(f))
			if _, ok := ast.Unparen(f.Recv.List[0].Type).(*ast.StarExpr); ok {
				recv = &ast.StarExpr{Star: pos, X: recv}
			}
			out = append(out, declared{unit: d.unit, decl: &ast.FuncDecl{
				Recv: &ast.FieldList{Opening: pos, Closing: pos, List: []*ast.Field{{Names: []*ast.Ident{id(mark + "v")}, Type: recv}}},
				Name: id(name),
				Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, Closing: pos}, Results: &ast.FieldList{List: []*ast.Field{{Type: result}}}},
				Body: &ast.BlockStmt{Lbrace: pos, Rbrace: pos, List: []ast.Stmt{&ast.ReturnStmt{Return: pos, Results: []ast.Expr{x}}}}}})
		}
		method(selfMethod, &ast.InterfaceType{Interface: pos, Methods: &ast.FieldList{Opening: pos, Closing: pos}}, id(mark+"v"))
		method(nameMethod, id("string"), &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: quote(receiverName(f))})
	}
	return out
}

// bare returns the value that an interface holds, out of its wrappers, and the
// name of its type where that is a cell's and known.
func bare(x any) (v reflect.Value, name string) {
	v = reflect.ValueOf(x)
	for v.Kind() == reflect.Struct {
		inner, n, ok := unwrap(v)
		if !ok {
			break
		}
		v, name = inner, n
		if !v.IsValid() {
			break
		}
	}
	return v, name
}

// strip takes a cell's error out of its wrapper.
func strip(x any) any {
	if v := reflect.ValueOf(x); v.Kind() == reflect.Struct && v.NumField() > 0 && v.Type().Field(0).Name == "IValue" {
		if inner, _, ok := unwrap(v); ok && inner.CanInterface() {
			return inner.Interface()
		}
	}
	return x
}

// equal compares two interfaces as Go does.
func equal(a, b any) bool {
	va, na := bare(a)
	vb, nb := bare(b)
	if !va.IsValid() || !vb.IsValid() {
		return va.IsValid() == vb.IsValid()
	}
	return (na == "" || nb == "" || na == nb) && same(va, vb)
}

// same compares two values as Go does, what the interpreter keeps in
// interfaces too.
func same(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equal(a.Interface(), b.Interface())
	case reflect.Struct:
		if !a.CanInterface() {
			break
		}
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.Name != "_" && f.IsExported() && !same(a.Field(i), b.Field(i)) {
				return false
			} else if !f.IsExported() {
				return a.Equal(b)
			}
		}
		return true
	}
	if !a.Comparable() {
		panic(goError("comparing uncomparable type " + a.Type().String()))
	}
	return a.Equal(b)
}

// errorIs is errors.Is for errors of cells too.
func errorIs(err, target error) bool {
	if err == nil || target == nil {
		return err == target
	}
	return walk(err, func(e error) bool {
		if comparableEqual(e, target) {
			return true
		}
		x, ok := e.(interface{ Is(error) bool })
		return ok && x.Is(target)
	})
}

// comparableEqual compares two errors; those that cannot be compared differ.
func comparableEqual(a, b error) (eq bool) {
	defer func() {
		if r := recover(); r != nil {
			eq = false
		}
	}()
	return equal(a, b)
}

// walk visits an error and what it wraps until found says so.
func walk(err error, found func(error) bool) bool {
	for err != nil {
		if found(err) {
			return true
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range x.Unwrap() {
				if walk(e, found) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

// errorAs is errors.As with the type of the target as the checker knows it.
func (s *Session) errorAs(err error, target any, i int) bool {
	rv := reflect.ValueOf(target)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		panic("errors: target must be a non-nil pointer")
	}
	rv = rv.Elem()
	return walk(err, func(e error) bool {
		if s.hasType(e, i) {
			v, _ := bare(e)
			if v.Type().AssignableTo(rv.Type()) {
				rv.Set(v)
				return true
			}
		}
		x, ok := e.(interface{ As(any) bool })
		return ok && x.As(target)
	})
}

// hasType reports whether an interface holds a value of a cell's type.
func (s *Session) hasType(x any, i int) bool {
	v, name := bare(x)
	if !v.IsValid() {
		return false
	}
	t := s.methods.typeOf(i)
	stars := ""
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t, stars = p.Elem(), "*"
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	if (stars != "") != (v.Kind() == reflect.Pointer) {
		return false
	}
	return name == stars+s.instanceName(n)
}

// interfaces rewrites comparisons of interfaces, and errors.As to a cell's type.
func (l *lowerer) interfaces(c *astutil.Cursor) {
	info := l.c.info
	switch x := c.Node().(type) {
	case *ast.BinaryExpr:
		if x.Op != token.EQL && x.Op != token.NEQ {
			return
		}
		any := false
		for _, y := range []ast.Expr{x.X, x.Y} {
			tv, ok := info.Types[y]
			if !ok || tv.IsNil() || tv.Type == nil || !types.IsInterface(tv.Type) && !own(tv.Type) {
				return
			}
			any = any || types.IsInterface(tv.Type)
		}
		if !any {
			return
		}
		var eq ast.Expr = call(l.rt("Equal", x.Pos()), x.Pos(), x.X, x.Y)
		if x.Op == token.NEQ {
			eq = &ast.UnaryExpr{OpPos: x.Pos(), Op: token.NOT, X: eq}
		}
		c.Replace(eq)
	case *ast.TypeAssertExpr:
		if x.Type == nil {
			return
		}
		from, ok := info.Types[x.X]
		to, ok2 := info.Types[x.Type]
		if ok && ok2 && own(to.Type) && !types.IsInterface(to.Type) && types.IsInterface(from.Type) && !own(from.Type) {
			x.X = call(l.rt("Strip", x.Pos()), x.Pos(), x.X)
		} else if ok && ok2 && emptyInterface(from.Type) && types.IsInterface(to.Type) && !emptyInterface(to.Type) && (own(to.Type) || unnamed(to.Type)) {
			// The interpreter takes this from compiled code only.
			x.X = call(l.rt("Any", x.Pos()), x.Pos(), x.X)
		}
	case *ast.CallExpr:
		if id, ok := x.Fun.(*ast.Ident); ok && len(x.Args) == 1 {
			b, ok := info.Uses[id].(*types.Builtin)
			tv, ok2 := info.Types[x.Args[0]]
			if ok && ok2 && b.Name() == "panic" && own(tv.Type) && types.Implements(tv.Type, errorInterface) {
				x.Args[0] = l.toInterface(x.Args[0], types.Universe.Lookup("error").Type())
			}
			return
		}
		sel, ok := x.Fun.(*ast.SelectorExpr)
		if !ok || len(x.Args) != 2 {
			return
		}
		f, ok := info.Uses[sel.Sel].(*types.Func)
		if !ok || f.FullName() != "errors.As" {
			return
		}
		tv, ok := info.Types[x.Args[1]]
		if !ok {
			return
		}
		p, ok := tv.Type.Underlying().(*types.Pointer)
		if !ok || !own(p.Elem()) || types.IsInterface(p.Elem()) {
			return
		}
		x.Fun = l.rt("ErrorAs", x.Pos())
		x.Args = append(x.Args, &ast.BasicLit{ValuePos: x.Pos(), Kind: token.INT, Value: itoa(l.gen.s.methods.number(p.Elem()))})
	}
}

// unnamed reports whether a type has no name.
func unnamed(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Named)
	return !ok
}

// emptyInterface reports whether t is an interface without methods.
func emptyInterface(t types.Type) bool {
	it, ok := t.Underlying().(*types.Interface)
	return ok && it.Empty()
}

// typeSwitch rewrites a type switch on a compiled interface that asks for
// cells' types: the interpreter knows those only by what they are made of. It
// becomes a switch over conditions.
func (l *lowerer) typeSwitch(c *astutil.Cursor, x *ast.TypeSwitchStmt) {
	info := l.c.info
	var operand ast.Expr
	name := ""
	switch a := x.Assign.(type) {
	case *ast.ExprStmt:
		operand = a.X.(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		operand = a.Rhs[0].(*ast.TypeAssertExpr).X
		name = a.Lhs[0].(*ast.Ident).Name
	}
	tv, ok := info.Types[operand]
	if !ok {
		return
	}
	it, ok := tv.Type.Underlying().(*types.Interface)
	if !ok || own(tv.Type) {
		return
	}
	any := false
	for _, s := range x.Body.List {
		for _, e := range s.(*ast.CaseClause).List {
			tv, ok := info.Types[e]
			if !ok || tv.Type == nil || tv.IsNil() {
				continue
			}
			// What the interpreter gets right is left to it: concrete types
			// asked of an any.
			if i, ok := tv.Type.Underlying().(*types.Interface); ok {
				any = any || !own(tv.Type) && !i.Empty()
			} else if it.NumMethods() > 0 {
				any = any || own(tv.Type)
			}
		}
	}
	if !any || c.Index() < 0 || x.Init != nil {
		return
	}
	pos := x.Pos()
	id := func(s string) *ast.Ident { return &ast.Ident{Name: s, NamePos: pos} }
	held := l.tempName()
	body := &ast.BlockStmt{Lbrace: x.Body.Lbrace, Rbrace: x.Body.Rbrace}
	for _, s := range x.Body.List {
		cc := s.(*ast.CaseClause)
		out := &ast.CaseClause{Case: cc.Case, Colon: cc.Colon}
		for _, e := range cc.List {
			tv := info.Types[e]
			switch {
			case tv.IsNil():
				out.List = append(out.List, &ast.BinaryExpr{X: id(held), OpPos: pos, Op: token.EQL, Y: id("nil")})
			case own(tv.Type) && !types.IsInterface(tv.Type) && it.NumMethods() > 0:
				out.List = append(out.List, call(l.rt("HasType", pos), pos, id(held), &ast.BasicLit{ValuePos: pos, Kind: token.INT, Value: itoa(l.gen.s.methods.number(tv.Type))}))
			default:
				okName := l.tempName()
				var x ast.Expr = id(held)
				if own(tv.Type) && !types.IsInterface(tv.Type) {
					x = call(l.rt("Strip", pos), pos, x)
				} else if it.Empty() && types.IsInterface(tv.Type) && (own(tv.Type) || unnamed(tv.Type)) {
					x = call(l.rt("Any", pos), pos, x)
				}
				out.List = append(out.List, call(&ast.FuncLit{
					Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, Closing: pos}, Results: &ast.FieldList{List: []*ast.Field{{Type: id("bool")}}}},
					Body: &ast.BlockStmt{Lbrace: pos, Rbrace: pos, List: []ast.Stmt{
						&ast.AssignStmt{Lhs: []ast.Expr{id("_"), id(okName)}, TokPos: pos, Tok: token.DEFINE, Rhs: []ast.Expr{&ast.TypeAssertExpr{X: x, Lparen: pos, Type: e, Rparen: pos}}},
						&ast.ReturnStmt{Return: pos, Results: []ast.Expr{id(okName)}}}}}, pos))
			}
		}
		if name != "" && name != "_" {
			lhs, v := []ast.Expr{id(name)}, ast.Expr(id(held))
			if len(cc.List) == 1 && !info.Types[cc.List[0]].IsNil() {
				lhs, v = append(lhs, id("_")), &ast.TypeAssertExpr{X: v, Lparen: pos, Type: cc.List[0], Rparen: pos}
				if t := info.Types[cc.List[0]].Type; own(t) && !types.IsInterface(t) {
					v.(*ast.TypeAssertExpr).X = call(l.rt("Strip", pos), pos, id(held))
				} else if it.Empty() && types.IsInterface(t) && (own(t) || unnamed(t)) {
					v.(*ast.TypeAssertExpr).X = call(l.rt("Any", pos), pos, id(held))
				}
			}
			out.Body = append(out.Body, &ast.AssignStmt{Lhs: lhs, TokPos: pos, Tok: token.DEFINE, Rhs: []ast.Expr{v}},
				&ast.AssignStmt{Lhs: []ast.Expr{id("_")}, TokPos: pos, Tok: token.ASSIGN, Rhs: []ast.Expr{id(name)}})
		}
		out.Body = append(out.Body, cc.Body...)
		body.List = append(body.List, out)
	}
	c.InsertBefore(&ast.DeclStmt{Decl: &ast.GenDecl{TokPos: pos, Tok: token.VAR, Specs: []ast.Spec{
		&ast.ValueSpec{Names: []*ast.Ident{id(held)}, Type: l.typeExpr(tv.Type, pos), Values: []ast.Expr{operand}}}}})
	c.Replace(&ast.SwitchStmt{Switch: pos, Body: body})
}
