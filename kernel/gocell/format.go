package gocell

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/tools/go/types/typeutil"
)

// The interpreter's values carry no names: a cell's type is seen by package
// fmt as what it is made of, and its methods only where the whole value is
// wrapped. So a call of fmt or log whose argument may hold a cell's own type
// passes it together with the type that the checker knows, and the value
// formats itself by it, as fmt would.

// methodSet holds the methods by which a cell's types say how they are
// formatted, as functions of the receiver.
type methodSet struct {
	mu    sync.Mutex
	funcs map[[2]string]reflect.Value // by type and method
	types []types.Type
	index typeutil.Map // of types
}

// formatting methods, the ones that package fmt looks for.
var formatting = map[string]bool{"Format": true, "GoString": true, "Error": true, "String": true}

func (m *methodSet) add(typ, method string, f any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.funcs == nil {
		m.funcs = map[[2]string]reflect.Value{}
	}
	m.funcs[[2]string{typ, method}] = reflect.ValueOf(f)
}

func (m *methodSet) get(typ, method string) (reflect.Value, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.funcs[[2]string{typ, method}]
	return f, ok
}

// number returns the number of a type, under which typeOf finds it.
func (m *methodSet) number(t types.Type) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, ok := m.index.At(t).(int); ok {
		return i
	}
	m.types = append(m.types, t)
	m.index.Set(t, len(m.types)-1)
	return len(m.types) - 1
}

func (m *methodSet) typeOf(i int) types.Type {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.types[i]
}

// holdsOwn reports whether a value of type t may hold one of a cell's types.
func holdsOwn(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		o := t.Obj()
		return interpreted(o.Pkg()) || types.IsInterface(t)
	case *types.Pointer:
		return holdsOwn(t.Elem(), seen)
	case *types.Slice:
		return holdsOwn(t.Elem(), seen)
	case *types.Array:
		return holdsOwn(t.Elem(), seen)
	case *types.Map:
		return holdsOwn(t.Key(), seen) || holdsOwn(t.Elem(), seen)
	case *types.Chan:
		return holdsOwn(t.Elem(), seen)
	case *types.Struct:
		return true // its unexported fields have other names
	case *types.Interface:
		return true
	}
	return false
}

// noteArguments remembers the types of the arguments of a call that formats
// them, before they are rewritten.
func (l *lowerer) noteArguments(x *ast.CallExpr) {
	sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	f, ok := l.c.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != "fmt" && f.Pkg().Path() != "log" || !f.Signature().Variadic() || strings.Contains(f.Name(), "can") {
		return
	}
	from := f.Signature().Params().Len() - 1
	ts := make([]types.Type, len(x.Args))
	for i := from; i < len(x.Args); i++ {
		tv, ok := l.c.info.Types[x.Args[i]]
		if !ok || tv.IsNil() || tv.Type == nil {
			continue
		}
		t := types.Default(tv.Type)
		if _, isTuple := t.(*types.Tuple); isTuple {
			return
		}
		if x.Ellipsis.IsValid() {
			if s, ok := t.Underlying().(*types.Slice); ok && types.IsInterface(s.Elem()) && f.Name() != "Errorf" {
				ts[i] = t
			}
			continue
		}
		if !holdsOwn(t, map[types.Type]bool{}) || inexpressible(t, map[types.Type]bool{}) != "" {
			continue
		}
		if f.Name() == "Errorf" && types.Implements(t, errorInterface) {
			continue // may be wrapped
		}
		ts[i] = t
	}
	if l.formatted == nil {
		l.formatted = map[*ast.CallExpr][]types.Type{}
	}
	l.formatted[x] = ts
}

var errorInterface = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// arguments rewrites what noteArguments found: x becomes Arg(n, []T{x}).
func (l *lowerer) arguments(x *ast.CallExpr) {
	for i, t := range l.formatted[x] {
		if t == nil {
			continue
		}
		pos := x.Args[i].Pos()
		if x.Ellipsis.IsValid() {
			x.Args[i] = call(l.rt("Args", pos), pos, x.Args[i])
			continue
		}
		x.Args[i] = call(l.rt("Arg", pos), pos,
			&ast.BasicLit{ValuePos: pos, Kind: token.INT, Value: itoa(l.gen.s.methods.number(t))},
			&ast.CompositeLit{Type: &ast.ArrayType{Lbrack: pos, Elt: l.typeExpr(t, pos)}, Lbrace: pos, Elts: []ast.Expr{x.Args[i]}, Rbrace: pos})
	}
}

// formattingMethods returns the statements that tell the kernel the methods of
// the declarations by which values are formatted.
func (l *lowerer) formattingMethods(decls []declared, pos token.Pos) []ast.Stmt {
	id := func(s string) *ast.Ident { return &ast.Ident{Name: s, NamePos: pos} }
	var out []ast.Stmt
	for _, d := range decls {
		f, ok := d.decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !formatting[f.Name.Name] {
			continue
		}
		v := id(mark + "v")
		var recv ast.Expr = id(receiverName(f))
		if _, ok := ast.Unparen(f.Recv.List[0].Type).(*ast.StarExpr); ok {
			recv = &ast.StarExpr{Star: pos, X: recv}
		}
		params := []*ast.Field{{Names: []*ast.Ident{v}, Type: recv}}
		c := call(&ast.SelectorExpr{X: v, Sel: id(f.Name.Name)}, pos)
		ft := &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, Closing: pos}}
		var body ast.Stmt
		if f.Name.Name == "Format" {
			if f.Type.Params.NumFields() != 2 || f.Type.Results.NumFields() != 0 {
				continue
			}
			l.pkgs["fmt"] = true
			s, r := id(mark+"s"), id(mark+"r")
			params = append(params, &ast.Field{Names: []*ast.Ident{s}, Type: &ast.SelectorExpr{X: id(alias("fmt")), Sel: id("State")}},
				&ast.Field{Names: []*ast.Ident{r}, Type: id("rune")})
			c.Args = []ast.Expr{s, r}
			body = &ast.ExprStmt{X: c}
		} else {
			if f.Type.Params.NumFields() != 0 || f.Type.Results.NumFields() != 1 {
				continue
			}
			if r, ok := f.Type.Results.List[0].Type.(*ast.Ident); !ok || r.Name != "string" {
				continue
			}
			ft.Results = &ast.FieldList{List: []*ast.Field{{Type: id("string")}}}
			body = &ast.ReturnStmt{Return: pos, Results: []ast.Expr{c}}
		}
		ft.Params.List = params
		str := func(s string) ast.Expr { return &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: quote(s)} }
		out = append(out, &ast.ExprStmt{X: call(l.rt("Method", pos), pos, str(receiverName(f)), str(f.Name.Name),
			&ast.FuncLit{Type: ft, Body: &ast.BlockStmt{Lbrace: pos, List: []ast.Stmt{body}, Rbrace: pos}})})
	}
	return out
}

// An argument is a value with the type that the checker knows.
type argument struct {
	s *Session
	v reflect.Value
	t types.Type
}

// arg makes an argument of the only element of a slice.
func (s *Session) arg(i int, one any) any {
	return argument{s, reflect.ValueOf(one).Index(0), s.methods.typeOf(i)}
}

// args makes arguments of those elements that are of a cell's own types.
func (s *Session) args(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
		if rv := reflect.ValueOf(v); rv.Kind() == reflect.Struct {
			if inner, t := s.dynamic(rv); t != nil {
				out[i] = argument{s, inner, t}
			}
		}
	}
	return out
}

// dynamic returns what the interpreter keeps in an interface, with its type
// where that is one of the session.
func (s *Session) dynamic(v reflect.Value) (reflect.Value, types.Type) {
	inner, name, ok := unwrap(v)
	if !ok {
		return v, nil
	}
	stars := len(name) - len(strings.TrimLeft(name, "*"))
	s.mu.Lock()
	var o types.Object
	if e := s.prog.names[name[stars:]]; e != nil {
		o = e.obj
	} else {
		o = s.sourceTypes[name[stars:]]
	}
	s.mu.Unlock()
	if _, ok := o.(*types.TypeName); !ok {
		return inner, nil
	}
	t := o.Type()
	for range stars {
		t = types.NewPointer(t)
	}
	return inner, t
}

// The verbs that package fmt answers itself reach an argument under these.
const (
	verbType    = '\ue000'
	verbPointer = '\ue001'
)

// Format implements fmt.Formatter.
func (a argument) Format(st fmt.State, verb rune) {
	p := printer{s: a.s, st: st, verb: verb}
	switch verb {
	case verbType:
		t := a.t
		if types.IsInterface(t) {
			v, dt := a.v, types.Type(nil)
			for v.Kind() == reflect.Interface && !v.IsNil() {
				v = v.Elem()
			}
			if v.Kind() == reflect.Struct {
				v, dt = a.s.dynamic(v)
			}
			if dt == nil {
				if !v.IsValid() || v.Kind() == reflect.Interface {
					fmt.Fprint(st, "<nil>")
				} else {
					fmt.Fprint(st, v.Type())
				}
				return
			}
			t = dt
		}
		p.verb = 's'
		p.plain(goType(t))
	case verbPointer:
		p.verb = 'p'
		p.plain(a.v.Interface())
	default:
		p.value(a.v, a.t, 0)
	}
}

// printer formats values the way that package fmt does.
type printer struct {
	s    *Session
	st   fmt.State
	verb rune
}

func (p printer) plain(v any)    { fmt.Fprintf(p.st, fmt.FormatString(p.st, p.verb), v) }
func (p printer) text(s string)  { _, _ = p.st.Write([]byte(s)) }
func (p printer) goSyntax() bool { return p.verb == 'v' && p.st.Flag('#') }

func (p printer) value(v reflect.Value, t types.Type, depth int) {
	for v.IsValid() && v.Kind() == reflect.Interface {
		if v.IsNil() {
			v = reflect.Value{}
			break
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		p.null(t)
		return
	}
	if v.Kind() == reflect.Struct && v.NumField() > 0 {
		if inner, dt := p.s.dynamic(v); inner != v {
			if !inner.IsValid() {
				p.null(t)
				return
			}
			if dt == nil && v.CanInterface() && strings.ContainsRune("vsxXq", p.verb) && !p.goSyntax() {
				switch v.Interface().(type) {
				case error, fmt.Stringer, fmt.Formatter:
					p.plain(v.Interface())
					return
				}
			}
			p.value(inner, dt, depth)
			return
		}
	}
	if t == nil || types.IsInterface(t) {
		p.compiled(v, depth)
		return
	}
	if p.methods(v, t) {
		return
	}
	u := t.Underlying()
	switch v.Kind() {
	case reflect.Map:
		p.mapping(v, t, u, depth)
	case reflect.Struct:
		st, ok := u.(*types.Struct)
		if !ok || st.NumFields() != v.NumField() {
			p.plain(v.Interface())
			return
		}
		if p.goSyntax() {
			p.text(goType(t))
		}
		p.text("{")
		for i := range v.NumField() {
			p.separator(i)
			if p.goSyntax() || p.verb == 'v' && p.st.Flag('+') {
				p.text(st.Field(i).Name() + ":")
			}
			p.value(v.Field(i), st.Field(i).Type(), depth+1)
		}
		p.text("}")
	case reflect.Slice, reflect.Array:
		p.list(v, t, u, depth)
	case reflect.Pointer:
		p.pointer(v, t, u, depth)
	default:
		p.plain(v.Interface())
	}
}

// null formats a nil interface.
func (p printer) null(t types.Type) {
	switch {
	case p.goSyntax() && t != nil:
		p.text(goType(t) + "(nil)")
	case p.verb == 'v' || p.verb == 's':
		p.plain(nil)
	default:
		fmt.Fprintf(p.st, "%%!%c(<nil>)", p.verb)
	}
}

func (p printer) separator(i int) {
	switch {
	case i == 0:
	case p.goSyntax():
		p.text(", ")
	default:
		p.text(" ")
	}
}

// compiled formats a value that holds none of a cell's types.
func (p printer) compiled(v reflect.Value, depth int) {
	if depth > 0 && v.Kind() == reflect.Pointer && !p.goSyntax() {
		switch v.Interface().(type) {
		case error, fmt.Stringer, fmt.Formatter:
		default:
			p.plain(v.UnsafePointer())
			return
		}
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Interface {
		p.list(v, types.NewSlice(types.Universe.Lookup("any").Type()), types.NewSlice(types.Universe.Lookup("any").Type()), depth)
		return
	}
	p.plain(v.Interface())
}

func (p printer) list(v reflect.Value, t, u types.Type, depth int) {
	var elem types.Type
	switch u := u.(type) {
	case *types.Slice:
		elem = u.Elem()
	case *types.Array:
		elem = u.Elem()
	}
	if b, ok := elem.Underlying().(*types.Basic); ok && b.Kind() == types.Byte && strings.ContainsRune("sqxX", p.verb) {
		p.plain(v.Interface())
		return
	}
	open, end := "[", "]"
	if p.goSyntax() {
		if v.Kind() == reflect.Slice && v.IsNil() {
			p.text(goType(t) + "(nil)")
			return
		}
		open, end = goType(t)+"{", "}"
	}
	p.text(open)
	for i := range v.Len() {
		p.separator(i)
		p.value(v.Index(i), elem, depth+1)
	}
	p.text(end)
}

func (p printer) mapping(v reflect.Value, t, u types.Type, depth int) {
	m, ok := u.(*types.Map)
	if !ok {
		p.plain(v.Interface())
		return
	}
	open, end := "map[", "]"
	if p.goSyntax() {
		if v.IsNil() {
			p.text(goType(t) + "(nil)")
			return
		}
		open, end = goType(t)+"{", "}"
	}
	p.text(open)
	keys := v.MapKeys()
	slices.SortStableFunc(keys, compareKeys)
	for i, k := range keys {
		p.separator(i)
		p.value(k, m.Key(), depth+1)
		p.text(":")
		p.value(v.MapIndex(k), m.Elem(), depth+1)
	}
	p.text(end)
}

// compareKeys orders keys as fmt does.
func compareKeys(a, b reflect.Value) int {
	for a.Kind() == reflect.Interface && !a.IsNil() {
		a = a.Elem()
	}
	for b.Kind() == reflect.Interface && !b.IsNil() {
		b = b.Elem()
	}
	if a.Kind() != b.Kind() {
		return cmp.Compare(a.Kind(), b.Kind())
	}
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if c := compareKeys(a.Field(i), b.Field(i)); c != 0 {
				return c
			}
		}
	case a.Kind() == reflect.Array:
		for i := range a.Len() {
			if c := compareKeys(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
	case a.Kind() == reflect.Bool && a.Bool() != b.Bool():
		if b.Bool() {
			return -1
		}
		return 1
	case a.Kind() == reflect.Pointer:
		return cmp.Compare(a.Pointer(), b.Pointer())
	}
	return 0
}

func (p printer) pointer(v reflect.Value, t, u types.Type, depth int) {
	pt, ok := u.(*types.Pointer)
	if ok && depth == 0 && !v.IsNil() {
		switch v.Elem().Kind() {
		case reflect.Array, reflect.Slice, reflect.Struct, reflect.Map:
			p.text("&")
			p.value(v.Elem(), pt.Elem(), depth+1)
			return
		}
	}
	switch {
	case p.goSyntax() && v.IsNil():
		p.text("(" + goType(t) + ")(nil)")
	case p.goSyntax():
		fmt.Fprintf(p.st, "(%s)(%#x)", goType(t), v.Pointer())
	case v.IsNil() && p.verb == 'v':
		p.text("<nil>")
	default:
		p.plain(v.UnsafePointer())
	}
}

// methods formats a value by a method of its type; it reports whether it did.
func (p printer) methods(v reflect.Value, t types.Type) bool {
	var names []string
	switch {
	case p.goSyntax():
		names = []string{"Format", "GoString"}
	case strings.ContainsRune("vsxXq", p.verb):
		names = []string{"Format", "Error", "String"}
	default:
		names = []string{"Format"}
	}
	for _, n := range names {
		f, ok := p.s.method(v, t, n)
		if !ok {
			continue
		}
		p.call(f, n, v)
		return true
	}
	return false
}

// method returns a formatting method of a value, its receiver bound.
func (s *Session) method(v reflect.Value, t types.Type, name string) (func([]reflect.Value) []reflect.Value, bool) {
	if _, ok := types.Unalias(t).(*types.Named); !ok {
		if _, ok := types.Unalias(t).(*types.Pointer); !ok {
			if _, ok := types.Unalias(t).(*types.Struct); !ok {
				return nil, false
			}
		}
	}
	obj, path, _ := types.LookupFieldOrMethod(t, false, s.prog.pkg, name)
	m, ok := obj.(*types.Func)
	if !ok || !formattingSignature(m) {
		return nil, false
	}
	// LookupFieldOrMethod finds what is promoted; walk there.
	for _, i := range path[:len(path)-1] {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil, false
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || i >= v.NumField() {
			return nil, false
		}
		v = v.Field(i)
	}
	rt := types.Unalias(m.Signature().Recv().Type())
	pt, byPointer := rt.(*types.Pointer)
	if byPointer {
		rt = types.Unalias(pt.Elem())
	}
	n, ok := rt.(*types.Named)
	if !ok {
		return nil, false
	}
	if !interpreted(n.Obj().Pkg()) || types.IsInterface(n) {
		if v.IsValid() && v.CanInterface() {
			if f := v.MethodByName(name); f.IsValid() {
				return f.Call, true
			}
		}
		return nil, false
	}
	f, ok := s.methods.get(s.instanceName(n), name)
	if !ok {
		return nil, false
	}
	switch {
	case byPointer && v.Kind() != reflect.Pointer:
		if !v.CanAddr() {
			return nil, false
		}
		v = v.Addr()
	case !byPointer && v.Kind() == reflect.Pointer && f.Type().In(0).Kind() != reflect.Pointer:
		if v.IsNil() {
			return func([]reflect.Value) []reflect.Value { panic(nilReceiver{}) }, true
		}
		v = v.Elem()
	}
	if v.Type() != f.Type().In(0) {
		if !v.CanConvert(f.Type().In(0)) {
			return nil, false
		}
		v = v.Convert(f.Type().In(0))
	}
	return func(in []reflect.Value) []reflect.Value { return f.Call(append([]reflect.Value{v}, in...)) }, true
}

type nilReceiver struct{}

// text returns what the method Error or String of a cell's type says.
func (s *Session) text(v reflect.Value, t types.Type) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	for _, n := range []string{"Error", "String"} {
		if f, ok := s.method(v, t, n); ok {
			return f(nil)[0].String(), true
		}
	}
	return "", false
}

// formattingSignature reports whether a method is the one that fmt means.
func formattingSignature(m *types.Func) bool {
	sig := m.Signature()
	if m.Name() == "Format" {
		return sig.Params().Len() == 2 && sig.Results().Len() == 0 && sig.Params().At(0).Type().String() == "fmt.State"
	}
	return sig.Params().Len() == 0 && sig.Results().Len() == 1 && types.Identical(sig.Results().At(0).Type(), types.Typ[types.String])
}

// call calls a formatting method and formats what it returns; a panic of it is
// part of the text, as in fmt.
func (p printer) call(f func([]reflect.Value) []reflect.Value, name string, v reflect.Value) {
	defer func() {
		r := recover()
		switch r.(type) {
		case nil:
			return
		case exit:
			panic(r)
		}
		if v.Kind() == reflect.Pointer && v.IsNil() {
			p.text("<nil>")
			return
		}
		fmt.Fprintf(p.st, "%%!%c(PANIC=%s method: %s)", p.verb, name, panicText(r))
	}()
	if name == "Format" {
		f([]reflect.Value{reflect.ValueOf(p.st), reflect.ValueOf(p.verb)})
		return
	}
	s := f(nil)[0].String()
	if name == "GoString" {
		p.text(s)
		return
	}
	p.plain(s)
}

// instanceName returns the name of a cell's type in the interpreter.
func (s *Session) instanceName(n *types.Named) string {
	if n.TypeArgs().Len() == 0 {
		if made, ok := madeName(n.Obj()); ok {
			return made
		}
		return n.Obj().Name()
	}
	args := listOf(n.TypeArgs())
	for _, in := range s.generic.instances {
		if in.obj == n.Origin().Obj() && slices.EqualFunc(in.args, args, types.Identical) {
			return in.name
		}
	}
	return ""
}

// goType returns the name of a type as package reflect writes it.
func goType(t types.Type) string {
	tuple := func(tt *types.Tuple, variadic bool) string {
		var l []string
		for i := range tt.Len() {
			s := goType(tt.At(i).Type())
			if variadic && i == tt.Len()-1 {
				s = "..." + strings.TrimPrefix(s, "[]")
			}
			l = append(l, s)
		}
		return strings.Join(l, ", ")
	}
	signature := func(s *types.Signature) string {
		r := tuple(s.Results(), false)
		if s.Results().Len() > 1 {
			r = "(" + r + ")"
		}
		if r != "" {
			r = " " + r
		}
		return "(" + tuple(s.Params(), s.Variadic()) + ")" + r
	}
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		switch t.Kind() {
		case types.Byte:
			return "uint8"
		case types.Rune:
			return "int32"
		case types.UnsafePointer:
			return "unsafe.Pointer"
		}
		return types.Default(t).String()
	case *types.Named:
		if t.Obj().Pkg() == nil {
			return t.Obj().Name()
		}
		name := t.Obj().Pkg().Name() + "." + t.Obj().Name()
		if t.TypeArgs().Len() > 0 {
			var l []string
			for a := range t.TypeArgs().Types() {
				l = append(l, goType(a))
			}
			name += "[" + strings.Join(l, ",") + "]"
		}
		return name
	case *types.Pointer:
		return "*" + goType(t.Elem())
	case *types.Slice:
		return "[]" + goType(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), goType(t.Elem()))
	case *types.Map:
		return "map[" + goType(t.Key()) + "]" + goType(t.Elem())
	case *types.Chan:
		return [...]string{"chan ", "chan<- ", "<-chan "}[t.Dir()] + goType(t.Elem())
	case *types.Signature:
		return "func" + signature(t)
	case *types.Struct:
		if t.NumFields() == 0 {
			return "struct {}"
		}
		var l []string
		for i := range t.NumFields() {
			f := t.Field(i)
			s := goType(f.Type())
			if !f.Embedded() {
				s = f.Name() + " " + s
			}
			if tag := t.Tag(i); tag != "" {
				s += " " + quote(tag)
			}
			l = append(l, s)
		}
		return "struct { " + strings.Join(l, "; ") + " }"
	case *types.Interface:
		if t.NumMethods() == 0 {
			return "interface {}"
		}
		var l []string
		for m := range t.Methods() {
			l = append(l, m.Name()+signature(m.Signature()))
		}
		return "interface { " + strings.Join(l, "; ") + " }"
	}
	return t.String()
}

// ownVerbs rewrites %T and %p where they format an argument: package fmt would
// answer them for the argument itself.
func ownVerbs(format string, args []any) string {
	if !slices.ContainsFunc(args, func(a any) bool { _, ok := a.(argument); return ok }) {
		return format
	}
	var b strings.Builder
	arg := 0
	for i := 0; i < len(format); {
		c := format[i]
		b.WriteByte(c)
		i++
		if c != '%' {
			continue
		}
		for i < len(format) {
			r, n := utf8.DecodeRuneInString(format[i:])
			i += n
			if strings.ContainsRune("+-# 0123456789.", r) {
				b.WriteRune(r)
				continue
			}
			if r == '*' {
				arg++
				b.WriteRune(r)
				continue
			}
			if r == '[' {
				k := 0
				b.WriteRune(r)
				for i < len(format) && format[i] != ']' {
					if d := format[i]; '0' <= d && d <= '9' {
						k = k*10 + int(d-'0')
					}
					b.WriteByte(format[i])
					i++
				}
				arg = k - 1
				if i < len(format) {
					b.WriteByte(']')
					i++
				}
				continue
			}
			if r != '%' {
				if arg >= 0 && arg < len(args) {
					if _, ok := args[arg].(argument); ok {
						switch r {
						case 'T':
							r = verbType
						case 'p':
							r = verbPointer
						}
					}
				}
				arg++
			}
			b.WriteRune(r)
			break
		}
	}
	return b.String()
}
