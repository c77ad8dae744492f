package compile

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/rtype"
)

// expr compiles an expression; its value has the expression's type.
func (f *function) expr(e ast.Expr) code.Val {
	if v, ok := f.hoisted[e]; ok {
		return v
	}
	f.depth++
	f.deepest = max(f.deepest, f.depth)
	defer func() { f.depth-- }()
	if tv, ok := f.info.Types[e]; ok {
		if tv.Value != nil {
			return f.constant(tv.Value, f.sub(tv.Type), e)
		}
		if tv.IsNil() {
			return f.zeroVal(f.typ(e))
		}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.expr(e.X)
	case *ast.Ident:
		return f.ident(e)
	case *ast.FuncLit:
		return f.funcLit(e)
	case *ast.CompositeLit:
		return f.composite(e, f.typ(e))
	case *ast.SelectorExpr:
		return f.selector(e)
	case *ast.IndexExpr:
		return f.index(e)
	case *ast.IndexListExpr:
		return f.funcValue(e.X, e)
	case *ast.SliceExpr:
		return f.sliceExpr(e)
	case *ast.TypeAssertExpr:
		return f.assertion(e, 0)
	case *ast.CallExpr:
		return f.callExpr(e)
	case *ast.StarExpr:
		return f.load(f.place(e), f.typ(e))
	case *ast.UnaryExpr:
		return f.unary(e)
	case *ast.BinaryExpr:
		return f.binary(e)
	}
	f.refuse(e, "an expression of this form (%T) cannot be compiled yet", e)
	return code.Val{}
}

// exprTo compiles an expression and converts it to a type that it can be
// assigned to.
func (f *function) exprTo(e ast.Expr, to types.Type) code.Val {
	if tv, ok := f.info.Types[e]; ok && tv.IsNil() {
		return f.zeroVal(to)
	}
	t := f.typ(e)
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		if tv := f.info.Types[e]; tv.Value != nil && !types.IsInterface(to) {
			return f.constant(tv.Value, to, e)
		}
		t = types.Default(t)
	}
	return f.assignable(f.expr(e), t, to)
}

// assignable converts a value to a type that it can be assigned to.
func (f *function) assignable(v code.Val, from, to types.Type) code.Val {
	if !types.IsInterface(to) {
		return v
	}
	if types.IsInterface(from) {
		if types.Identical(from.Underlying(), to.Underlying()) {
			return v
		}
		return code.Widen(v, f.rt(from), f.rt(to))
	}
	return code.ToInterface(v, f.rt(from), f.rt(to))
}

func (f *function) zeroVal(t types.Type) code.Val {
	if k := f.kind(t); k != code.Agg {
		return code.Of(k).Zero()
	}
	return code.NewVal(code.Agg, code.Composite(f.rt(t), nil, true))
}

// constant returns a constant of a type.
func (f *function) constant(v constant.Value, t types.Type, n ast.Node) code.Val {
	if types.IsInterface(t) {
		var d types.Type
		switch v.Kind() {
		case constant.Bool:
			d = types.Typ[types.Bool]
		case constant.String:
			d = types.Typ[types.String]
		case constant.Int:
			d = types.Typ[types.Int]
		case constant.Float:
			d = types.Typ[types.Float64]
		default:
			d = types.Typ[types.Complex128]
		}
		return f.assignable(f.constant(v, d, n), d, t)
	}
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(t)
	}
	k := f.kind(t)
	c := code.Of(k).Const
	switch {
	case k == code.Bool:
		return c(constant.BoolVal(v))
	case k == code.Str:
		if v.Kind() == constant.Int { // string(65)
			i, _ := constant.Int64Val(v)
			return c(string(rune(i)))
		}
		return c(constant.StringVal(v))
	case k.IsInteger():
		return integerConst(k, v)
	case k == code.F32:
		x, _ := constant.Float32Val(constant.ToFloat(v))
		return c(x)
	case k == code.F64:
		x, _ := constant.Float64Val(constant.ToFloat(v))
		return c(x)
	case k == code.C64:
		re, _ := constant.Float32Val(constant.Real(constant.ToComplex(v)))
		im, _ := constant.Float32Val(constant.Imag(constant.ToComplex(v)))
		return c(complex(re, im))
	case k == code.C128:
		re, _ := constant.Float64Val(constant.Real(constant.ToComplex(v)))
		im, _ := constant.Float64Val(constant.Imag(constant.ToComplex(v)))
		return c(complex(re, im))
	}
	f.refuse(n, "a constant of type %s cannot be compiled yet", t)
	return code.Val{}
}

func integerConst(k code.Kind, v constant.Value) code.Val {
	v = constant.ToInt(v)
	i, _ := constant.Int64Val(v)
	u, _ := constant.Uint64Val(v)
	if i < 0 {
		u = uint64(i)
	}
	c := code.Of(k).Const
	switch k {
	case code.I8:
		return c(int8(i))
	case code.I16:
		return c(int16(i))
	case code.I32:
		return c(int32(i))
	case code.I64:
		return c(i)
	case code.U8:
		return c(uint8(u))
	case code.U16:
		return c(uint16(u))
	case code.U32:
		return c(uint32(u))
	}
	return c(u)
}

func (f *function) ident(e *ast.Ident) code.Val {
	switch o := f.info.ObjectOf(e).(type) {
	case *types.Var:
		return f.load(f.variable(o, e), f.sub(o.Type()))
	case *types.Func:
		return f.funcValue(e, e)
	case *types.Nil:
		return f.zeroVal(f.typ(e))
	}
	f.refuse(e, "the name %s cannot be compiled here yet", e.Name)
	return code.Val{}
}

// place returns the place of an operand that has an address.
func (f *function) place(e ast.Expr) code.Place {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.place(e.X)
	case *ast.Ident:
		if v, ok := f.info.ObjectOf(e).(*types.Var); ok {
			return f.variable(v, e)
		}
	case *ast.StarExpr:
		return code.Deref(f.expr(e.X), int32(e.Pos()))
	case *ast.SelectorExpr:
		if v, ok := f.info.Uses[e.Sel].(*types.Var); ok && !v.IsField() {
			return f.global(v, e)
		}
		p, _ := f.field(e)
		return p
	case *ast.IndexExpr:
		t := f.typ(e.X)
		switch u := coreType(t).(type) {
		case *types.Slice:
			return code.Element(f.expr(e.X), f.indexVal(e.Index), f.rt(u.Elem()).Size(), int32(e.Pos()))
		case *types.Array:
			return code.Item(f.memory(e.X), f.indexVal(e.Index), f.rt(u.Elem()).Size(), int(u.Len()), int32(e.Pos()))
		case *types.Pointer:
			a := coreType(u.Elem()).(*types.Array)
			return code.Item(code.Deref(f.expr(e.X), int32(e.Pos())), f.indexVal(e.Index), f.rt(a.Elem()).Size(), int(a.Len()), int32(e.Pos()))
		}
	}
	return f.memory(e)
}

func coreType(t types.Type) types.Type { return t.Underlying() }

// memory returns a place where the value of an expression lies: its own if it
// has an address, else a temporary copy.
func (f *function) memory(e ast.Expr) code.Place {
	if f.info.Types[e].Addressable() {
		return f.place(e)
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return f.memory(x.X)
	case *ast.SelectorExpr:
		if s := f.info.Selections[x]; s != nil && s.Kind() == types.FieldVal {
			p, _ := f.field(x)
			return p
		}
	}
	v, t := f.expr(e), f.typ(e)
	return f.placed(v, t)
}

// placed returns a place where a value lies.
func (f *function) placed(v code.Val, t types.Type) code.Place {
	if v.K == code.Agg && v.Addr != nil {
		return code.Memory(v.Addr)
	}
	return code.Memory(code.Spill(code.AnyInto(v, f.rt(t)), f.temp(t)))
}

// selection is what a selector selects, with the type arguments of the
// instance.
type selection struct {
	obj      types.Object
	path     []int
	indirect bool
}

func (f *function) selection(e *ast.SelectorExpr) selection {
	s := f.info.Selections[e]
	t := f.sub(s.Recv())
	if f.subst == nil {
		return selection{s.Obj(), s.Index(), s.Indirect()}
	}
	obj, path, indirect := types.LookupFieldOrMethod(t, true, s.Obj().Pkg(), s.Obj().Name())
	if obj == nil {
		f.refuse(e, "internal: %s has no %s", t, s.Obj().Name())
	}
	return selection{obj, path, indirect}
}

// field returns the place of a field, and its type.
func (f *function) field(e *ast.SelectorExpr) (code.Place, types.Type) {
	s := f.selection(e)
	return f.walk(e.X, s.path)
}

// walk follows a path of fields from an operand.
func (f *function) walk(x ast.Expr, path []int) (code.Place, types.Type) {
	t := f.typ(x)
	var p code.Place
	if ptr, ok := coreType(t).(*types.Pointer); ok {
		p, t = code.Deref(f.expr(x), int32(x.Pos())), ptr.Elem()
	} else {
		p = f.memory(x)
	}
	return f.follow(p, t, path, x.Pos())
}

// follow follows a path of fields from a struct at a place.
func (f *function) follow(p code.Place, t types.Type, path []int, pos token.Pos) (code.Place, types.Type) {
	for n, i := range path {
		if n > 0 {
			if ptr, ok := coreType(t).(*types.Pointer); ok {
				p, t = code.Deref(code.Of(code.Ptr).Load(p), placeOr(pos)), ptr.Elem()
			}
		}
		st := coreType(t).(*types.Struct)
		p = p.Field(f.rt(t).Field(i).Offset)
		t = st.Field(i).Type()
	}
	return p, t
}

// placeOr returns a position as a number that is not 0: -1 where it is not known.
func placeOr(pos token.Pos) int32 {
	if pos.IsValid() {
		return int32(pos)
	}
	return -1
}

func (f *function) selector(e *ast.SelectorExpr) code.Val {
	s := f.info.Selections[e]
	if s == nil { // of a package
		switch o := f.info.Uses[e.Sel].(type) {
		case *types.Var:
			return f.load(f.global(o, e), f.sub(o.Type()))
		case *types.Func:
			return f.funcValue(e, e)
		}
		f.refuse(e, "%s cannot be compiled here yet", e.Sel.Name)
	}
	switch s.Kind() {
	case types.FieldVal:
		p, t := f.field(e)
		return f.load(p, t)
	case types.MethodVal:
		return f.methodValue(e)
	}
	return f.methodExpr(e)
}

// indexVal compiles an index or a length.
func (f *function) indexVal(e ast.Expr) code.Val {
	if tv := f.info.Types[e]; tv.Value != nil {
		return f.constant(constant.ToInt(tv.Value), types.Typ[types.Int], e)
	}
	return code.Index(f.expr(e))
}

func (f *function) index(e *ast.IndexExpr) code.Val {
	if tv := f.info.Types[e.X]; tv.IsValue() {
		if _, ok := tv.Type.Underlying().(*types.Signature); ok {
			return f.funcValue(e.X, e)
		}
	}
	switch u := coreType(f.typ(e.X)).(type) {
	case *types.Map:
		return f.mapIndex(e, u, 0)
	case *types.Basic:
		return code.ByteOf(f.expr(e.X), f.indexVal(e.Index), int32(e.Pos()))
	}
	return f.load(f.place(e), f.typ(e))
}

// mapIndex is an element of a map; where okAt is not 0 it says whether there is
// one.
func (f *function) mapIndex(e *ast.IndexExpr, u *types.Map, okAt int32) code.Val {
	m, key := f.expr(e.X), f.exprTo(e.Index, u.Key())
	k := f.kind(u.Elem())
	if k != code.Agg {
		if v, ok := code.MapGet(k, m, key, okAt); ok {
			return v
		}
	}
	kr := f.rt(u.Key())
	at := code.MapTypeOf(f.rt(f.typ(e.X))).At(m, code.AnyInto(key, kr), f.add(kr), f.temp(u.Elem()), okAt)
	return code.InMemory(code.Memory(at), f.rt(u.Elem()))
}

func (f *function) sliceExpr(e *ast.SliceExpr) code.Val {
	var bounds [3]code.Val
	pos := int32(e.Pos())
	for i, b := range []ast.Expr{e.Low, e.High, e.Max} {
		if b != nil {
			bounds[i] = f.indexVal(b)
		}
	}
	switch u := coreType(f.typ(e.X)).(type) {
	case *types.Basic:
		return code.SliceString(f.expr(e.X), bounds[0], bounds[1], pos)
	case *types.Slice:
		return code.SliceOf(f.expr(e.X), bounds[0], bounds[1], bounds[2], f.rt(u.Elem()).Size(), pos)
	case *types.Array:
		return code.SliceArray(f.place(e.X).Address(), int(u.Len()), bounds[0], bounds[1], bounds[2], f.rt(u.Elem()).Size(), pos)
	case *types.Pointer:
		a := coreType(u.Elem()).(*types.Array)
		return code.SliceArray(code.Pointer(f.expr(e.X)), int(a.Len()), bounds[0], bounds[1], bounds[2], f.rt(a.Elem()).Size(), pos)
	}
	f.refuse(e, "a slice of %s cannot be compiled yet", f.typ(e.X))
	return code.Val{}
}

// assertion is a type assertion; where okAt is not 0 it says there whether it
// holds.
func (f *function) assertion(e *ast.TypeAssertExpr, okAt int32) code.Val {
	t := f.sub(f.info.TypeOf(e.Type))
	a := &code.Assertion{From: f.rt(f.typ(e.X)), To: f.rt(t), Pos: int32(e.Lparen), Missing: f.c.missing}
	if types.IsInterface(t) {
		return a.Interface(f.expr(e.X), okAt)
	}
	return a.Concrete(f.expr(e.X), okAt)
}

// missing returns the name of a method that a type lacks for an interface.
func (c *Compiler) missing(t, i reflect.Type) string {
	for m := range i.Methods() {
		x, ok := t.MethodByName(m.Name)
		if !ok || x.Type.NumIn() != m.Type.NumIn()+1 || x.Type.NumOut() != m.Type.NumOut() {
			return strings.TrimPrefix(m.Name, cell.ExportMark)
		}
		for k := range m.Type.NumIn() {
			if x.Type.In(k+1) != m.Type.In(k) {
				return strings.TrimPrefix(m.Name, cell.ExportMark)
			}
		}
		for k := range m.Type.NumOut() {
			if x.Type.Out(k) != m.Type.Out(k) {
				return strings.TrimPrefix(m.Name, cell.ExportMark)
			}
		}
	}
	return ""
}

func (f *function) unary(e *ast.UnaryExpr) code.Val {
	switch e.Op {
	case token.AND:
		x := ast.Unparen(e.X)
		if l, ok := x.(*ast.CompositeLit); ok {
			t := f.typ(l)
			return code.Fresh(f.rt(t), code.AnyInto(f.composite(l, t), f.rt(t)))
		}
		p := f.place(x)
		if p.InFrame() {
			f.refuse(e, "internal: the address of a variable that is not boxed")
		}
		addr := p.Address()
		if f.derefs(x) {
			addr = p.Operand()
		}
		return code.NewVal(code.Ptr, addr)
	case token.NOT:
		return code.NewVal(code.Bool, code.Not(code.Condition(f.expr(e.X))))
	case token.ARROW:
		t := f.typ(e.X)
		elem := coreType(t).(*types.Chan).Elem()
		to := f.temp(elem)
		return f.then(code.Receive(f.rt(t), f.expr(e.X), to, 0), code.Slot(to), elem)
	}
	return code.Unary(e.Op, f.expr(e.X))
}

// derefs reports whether the operand of & goes through a pointer to a part of
// what it points to.
func (f *function) derefs(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr, *ast.StarExpr:
		return true
	case *ast.IndexExpr:
		_, pointer := coreType(f.typ(e.X)).(*types.Pointer)
		return pointer || f.derefs(e.X)
	}
	return false
}

// then is the value at a place after a statement.
func (f *function) then(s code.Do, p code.Place, t types.Type) code.Val {
	if k := f.kind(t); k != code.Agg {
		return code.Of(k).Then(s, code.Of(k).Load(p))
	}
	return code.Val{K: code.Agg, Addr: code.After(s, p.Address())}
}

func (f *function) binary(e *ast.BinaryExpr) code.Val {
	switch e.Op {
	case token.LAND:
		return code.NewVal(code.Bool, code.And(code.Condition(f.expr(e.X)), code.Condition(f.expr(e.Y))))
	case token.LOR:
		return code.NewVal(code.Bool, code.Or(code.Condition(f.expr(e.X)), code.Condition(f.expr(e.Y))))
	case token.SHL, token.SHR:
		var count code.Val
		if tv := f.info.Types[e.Y]; tv.Value != nil {
			count = f.constant(constant.ToInt(tv.Value), types.Typ[types.Uint64], e.Y)
		} else {
			count = code.Count(f.expr(e.Y))
		}
		t := f.typ(e)
		return code.Shift(e.Op, f.exprTo(e.X, t), count)
	case token.EQL, token.NEQ:
		return f.equality(e)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		t := f.operandType(e.X, e.Y)
		return code.NewVal(code.Bool, code.Compare(e.Op, f.exprTo(e.X, t), f.exprTo(e.Y, t)))
	}
	t := f.typ(e)
	return code.Binary(e.Op, f.exprTo(e.X, t), f.exprTo(e.Y, t), int32(e.Pos()))
}

// operandType is the type in which two operands are compared.
func (f *function) operandType(x, y ast.Expr) types.Type {
	t, u := f.typ(x), f.typ(y)
	if f.info.Types[x].IsNil() {
		return u
	}
	if f.info.Types[y].IsNil() {
		return t
	}
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		if c, ok := u.(*types.Basic); ok && c.Info()&types.IsUntyped != 0 {
			return types.Default(t)
		}
		return u
	}
	if types.IsInterface(u) && !types.IsInterface(t) {
		return u
	}
	if types.IsInterface(t) && types.IsInterface(u) && !types.Identical(t, u) {
		return types.NewInterfaceType(nil, nil)
	}
	return t
}

func (f *function) equality(e *ast.BinaryExpr) code.Val {
	t := f.operandType(e.X, e.Y)
	not := e.Op == token.NEQ
	if nilX, nilY := f.info.Types[e.X].IsNil(), f.info.Types[e.Y].IsNil(); nilX || nilY {
		x := e.X
		if nilX {
			x = e.Y
		}
		return code.NewVal(code.Bool, code.IsNil(f.expr(x), not))
	}
	if types.IsInterface(t) && f.hasMethods(t) {
		// Interfaces are compared as any, without itabs.
		t = types.NewInterfaceType(nil, nil)
	}
	return code.NewVal(code.Bool, f.equalVals(f.exprTo(e.X, t), f.exprTo(e.Y, t), t, not))
}

func (f *function) hasMethods(t types.Type) bool { return code.HasMethods(f.rt(t)) }

func (f *function) equalVals(l, r code.Val, t types.Type, not bool) code.Ex[bool] {
	if l.K != code.Agg {
		return code.Of(l.K).Equal(l, r, not)
	}
	rt := f.rt(t)
	return code.EqualAgg(l, r, rt, f.add(rt), f.add(rt), not)
}

// convert is a conversion of an expression to a type.
func (f *function) convert(e ast.Expr, to types.Type) code.Val {
	from := f.typ(e)
	if tv := f.info.Types[e]; tv.IsNil() {
		return f.zeroVal(to)
	} else if tv.Value != nil && !types.IsInterface(to) {
		// Of a constant whose conversion is no constant: to a type parameter or a
		// slice, or out of the range of constants.
		if b, ok := to.Underlying().(*types.Basic); ok && b.Info()&types.IsConstType != 0 {
			isText := b.Info()&types.IsString != 0
			if b.Info()&types.IsComplex != 0 {
				return f.constant(tv.Value, to, e)
			}
			if (tv.Value.Kind() == constant.String) == isText || isText && tv.Value.Kind() == constant.Int {
				if fb, ok := from.Underlying().(*types.Basic); ok && (fb.Info()&types.IsUntyped != 0 || types.Identical(from.Underlying(), b)) {
					return f.constant(tv.Value, to, e)
				}
			}
		}
	}
	if b, ok := from.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		from = types.Default(from)
	}
	v := f.exprTo(e, from)
	if types.IsInterface(to) {
		return f.assignable(v, from, to)
	}
	fr, tr := f.rt(from), f.rt(to)
	fk, tk := code.KindOf(fr), code.KindOf(tr)
	switch {
	case tk == code.Str && fk != code.Str, fk == code.Str && tk == code.Slc:
		return code.Text(tr, fr, v)
	case tk == code.Ptr && fk == code.Slc: // a pointer to an array
		return code.NewVal(code.Ptr, code.SliceToArray(v, tr.Elem().Len(), false))
	case tk == code.Agg && fk == code.Slc:
		return code.InMemory(code.Memory(code.SliceToArray(v, tr.Len(), true)), tr)
	case fk == code.Ptr && tk == code.U64, fk == code.U64 && tk == code.Ptr:
		return code.SameBits(v, f.temp(types.Typ[types.UnsafePointer]))
	case fk != tk:
		return code.Convert(tk, v)
	}
	return v
}

// funcLit compiles a function literal.
func (f *function) funcLit(e *ast.FuncLit) code.Val {
	sig := f.typ(e).(*types.Signature)
	in := f.inner(f.name+".func1", e)
	in.outer, in.shared = f, f.shared
	t := f.c.functionType(nil, sig)
	start := in.parameters(e.Type.Params.List, t, false, nil)
	start = append(start, in.resultVars(e.Type.Results, sig)...)
	in.compileBody(e.Body, start)
	s := code.SignatureOf(t)
	return f.closure(in, &code.Entry{Fn: in.finish(s)}, s)
}

// closure makes the function value of a literal from the variables that it
// uses.
func (f *function) closure(in *function, e *code.Entry, s *code.Signature) code.Val {
	if in.block == nil {
		return code.NewClosure(s, e, nil, nil, nil)
	}
	var env []code.Into
	var offs []int32
	for _, x := range in.env {
		p := f.variable(x.v, in.node)
		if x.boxed {
			env = append(env, code.AnyInto(code.NewVal(code.Ptr, p.Address()), rtype.UnsafePointer))
		} else {
			env = append(env, code.AnyInto(code.InMemory(p, x.t), x.t))
		}
		offs = append(offs, x.off)
	}
	return code.NewClosure(s, e, in.block.Block(), env, offs)
}
