package compile

import (
	"go/ast"
	"go/types"
	"reflect"

	"dace.local/kernel/gocell/internal/code"
)

// builtin compiles a call of a built-in function that has a value.
//
// Long: one case for each function.
func (f *function) builtin(e *ast.CallExpr, name string) code.Val {
	switch name {
	case "len", "cap":
		return f.length(e.Args[0], name == "cap")
	case "append":
		return f.appendCall(e)
	case "copy":
		s := coreType(f.typ(e.Args[0])).(*types.Slice)
		return code.Copy(f.expr(e.Args[0]), f.expr(e.Args[1]), f.rt(s.Elem()))
	case "make":
		return f.makeCall(e)
	case "new":
		t := f.typ(e).(*types.Pointer).Elem()
		if tv := f.info.Types[e.Args[0]]; !tv.IsType() {
			return code.Fresh(f.rt(t), code.AnyInto(f.exprTo(e.Args[0], t), f.rt(t)))
		}
		return code.Fresh(f.rt(t), nil)
	case "complex":
		t := f.typ(e)
		part := types.Type(types.Typ[types.Float64])
		if f.kind(t) == code.C64 {
			part = types.Typ[types.Float32]
		}
		return code.Complex(f.partTo(e.Args[0], part), f.partTo(e.Args[1], part))
	case "real", "imag":
		return code.Part(f.expr(e.Args[0]), name == "imag")
	case "min", "max":
		t := f.typ(e)
		v := f.exprTo(e.Args[0], t)
		for _, a := range e.Args[1:] {
			v = code.Extreme(v, f.exprTo(a, t), name == "max")
		}
		return v
	case "Sizeof", "Alignof", "Offsetof":
		return code.Of(code.U64).Const(uint64(f.layoutOf(e.Args[0], name)))
	case "Add":
		return code.UnsafeAdd(f.exprTo(e.Args[0], types.Typ[types.UnsafePointer]), f.indexVal(e.Args[1]))
	case "Slice":
		elem := coreType(f.typ(e)).(*types.Slice).Elem()
		return code.UnsafeSlice(f.expr(e.Args[0]), f.indexVal(e.Args[1]), f.rt(elem))
	case "String":
		return code.UnsafeString(f.exprTo(e.Args[0], types.NewPointer(types.Typ[types.Byte])), f.indexVal(e.Args[1]))
	case "SliceData", "StringData":
		return code.DataOf(f.exprTo(e.Args[0], types.Default(f.typ(e.Args[0]))))
	case "recover":
		if f.thunk { // it recovers what the function may that defers it
			return code.NewVal(code.Ifc, code.Ex[code.Iface](code.RecoverDeferred))
		}
		return code.NewVal(code.Ifc, code.Ex[code.Iface](code.Recover))
	}
	f.refuse(e, "the built-in function %s cannot be compiled yet", name)
	return code.Val{}
}

// layoutOf returns the number that a function of package unsafe has for an operand
// whose type depends on type parameters.
func (f *function) layoutOf(e ast.Expr, name string) uintptr {
	switch name {
	case "Sizeof":
		return f.rt(f.typ(e)).Size()
	case "Alignof":
		return uintptr(f.rt(f.typ(e)).Align())
	}
	x := ast.Unparen(e).(*ast.SelectorExpr)
	r, off := f.rt(f.typ(x.X)), uintptr(0)
	if r.Kind() == reflect.Pointer {
		r = r.Elem()
	}
	for _, i := range f.selection(x).path {
		off += r.Field(i).Offset
		r = r.Field(i).Type
	}
	return off
}

func (f *function) partTo(e ast.Expr, part types.Type) code.Val {
	if tv := f.info.Types[e]; tv.Value != nil {
		return f.constant(tv.Value, part, e)
	}
	return f.expr(e)
}

func (f *function) length(e ast.Expr, capacity bool) code.Val {
	t := f.typ(e)
	u := coreType(t)
	if p, ok := u.(*types.Pointer); ok {
		if a, ok := coreType(p.Elem()).(*types.Array); ok {
			n := code.Of(code.I64).Const(a.Len())
			return code.Of(code.I64).Then(code.Discard(f.expr(e), f.rt(t), f.temp(t)), n)
		}
	}
	if a, ok := u.(*types.Array); ok {
		n := code.Of(code.I64).Const(a.Len())
		if f.info.Types[e].Addressable() {
			if f.calls(e) {
				return code.Of(code.I64).Then(code.Check(f.place(e)), n)
			}
			return n
		}
		return code.Of(code.I64).Then(code.Discard(f.expr(e), f.rt(t), f.temp(t)), n)
	}
	if capacity {
		return code.Cap(f.expr(e))
	}
	_, isMap := u.(*types.Map)
	return code.Len(f.expr(e), isMap)
}

func (f *function) appendCall(e *ast.CallExpr) code.Val {
	t := f.typ(e)
	elem := coreType(t).(*types.Slice).Elem()
	s := f.exprTo(e.Args[0], t)
	if e.Ellipsis.IsValid() {
		if f.info.Types[e.Args[1]].IsNil() {
			return s
		}
		return code.AppendSlice(s, f.expr(e.Args[1]), f.rt(elem))
	}
	var elems []code.Val
	for _, a := range e.Args[1:] {
		elems = append(elems, f.exprTo(a, elem))
	}
	if len(elems) == 0 {
		return s
	}
	if k := f.kind(elem); k != code.Agg && len(elems) == 1 {
		return code.Of(k).Append(s, elems[0])
	}
	return code.AppendAll(s, elems, f.rt(elem))
}

func (f *function) makeCall(e *ast.CallExpr) code.Val {
	t := f.typ(e)
	r := f.rt(t)
	var n, c code.Val
	if len(e.Args) > 1 {
		n = f.lengthVal(e.Args[1])
	}
	if len(e.Args) > 2 {
		c = f.lengthVal(e.Args[2])
	}
	switch coreType(t).(type) {
	case *types.Slice:
		return code.MakeSlice(r, n, c)
	case *types.Map:
		return code.MapTypeOf(r).Make(n)
	}
	return code.MakeChan(r, n)
}

// lengthVal compiles a length; one that no int can be is -1.
func (f *function) lengthVal(e ast.Expr) code.Val {
	if f.info.Types[e].Value == nil && f.kind(f.typ(e)) == code.U64 {
		return code.Length(f.expr(e))
	}
	return f.indexVal(e) // an expression is compiled once: the calls in it are its first code
}

// builtinStmt compiles a call of a built-in function as a statement.
func (f *function) builtinStmt(e *ast.CallExpr, name string) code.Do {
	switch name {
	case "panic":
		return code.Panic(f.exprTo(e.Args[0], types.NewInterfaceType(nil, nil)))
	case "print", "println":
		var vals []code.Val
		for _, a := range e.Args {
			t := types.Default(f.typ(a))
			if f.kind(t) == code.Agg {
				f.refuse(a, "illegal types for operand: %s\n\t%s", name, t)
			}
			vals = append(vals, f.exprTo(a, t))
		}
		return code.Print(vals, name == "println")
	case "delete":
		m := coreType(f.typ(e.Args[0])).(*types.Map)
		k := f.rt(m.Key())
		return code.MapTypeOf(f.rt(f.typ(e.Args[0]))).Delete(f.expr(e.Args[0]), code.AnyInto(f.exprTo(e.Args[1], m.Key()), k), f.add(k))
	case "clear":
		t := f.typ(e.Args[0])
		if s, ok := coreType(t).(*types.Slice); ok {
			return code.ClearSlice(f.expr(e.Args[0]), f.rt(s.Elem()))
		}
		return code.MapTypeOf(f.rt(t)).Clear(f.expr(e.Args[0]))
	case "close":
		return code.Close(f.expr(e.Args[0]))
	}
	t := f.typ(e)
	return code.Discard(f.builtin(e, name), f.rt(t), f.temp(t))
}
