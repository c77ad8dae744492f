package compile

import (
	"go/ast"
	"go/token"
	"go/types"

	"dace.local/kernel/gocell/internal/code"
)

// rangeStmt compiles a range loop. Each turn begins with the assignments to its
// variables.
//
// Long: one case for each kind of operand.
func (f *function) rangeStmt(s *ast.RangeStmt) code.Do {
	if f.shared && s.Tok == token.DEFINE {
		return f.sharedRange(s)
	}
	l := f.loop()
	t := types.Default(f.typ(s.X))
	if tv := f.info.Types[s.X]; tv.Value != nil && s.Key != nil {
		if k := f.keyType(s); k != nil && isInteger(t) {
			t = k
		}
	}
	switch u := coreType(t).(type) {
	case *types.Basic:
		if u.Info()&types.IsString != 0 {
			i, r := f.temp(types.Typ[types.Int]), f.temp(types.Typ[types.Int32])
			text := f.exprTo(s.X, t)
			enter := f.turn(s, part{types.Typ[types.Int], code.Slot(i)}, part{types.Typ[types.Int32], code.Slot(r)})
			return code.RangeString(text, i, r, enter, f.blockOf(s.Body.List), l)
		}
		return f.rangeInt(s, t, l)
	case *types.Slice:
		slice, i := f.temp(t), f.temp(types.Typ[types.Int])
		start := code.Of(code.Slc).Store(code.Slot(slice), f.expr(s.X))
		elem := code.Unchecked(slice, i, f.rt(u.Elem()).Size())
		enter := f.turn(s, part{types.Typ[types.Int], code.Slot(i)}, part{u.Elem(), elem})
		return code.Sequence(start, code.RangeSlice(slice, i, enter, f.blockOf(s.Body.List), l))
	case *types.Array:
		return f.rangeArray(s, u, f.arrayOf(s, t), l)
	case *types.Pointer:
		return f.rangeArray(s, coreType(u.Elem()).(*types.Array), code.Pointer(f.expr(s.X)), l)
	case *types.Map:
		k, e := f.temp(u.Key()), f.temp(u.Elem())
		m := f.expr(s.X)
		enter := f.turn(s, part{u.Key(), code.Slot(k)}, part{u.Elem(), code.Slot(e)})
		return code.RangeMap(f.rt(t), m, k, e, enter, f.blockOf(s.Body.List), l)
	case *types.Chan:
		to := f.temp(u.Elem())
		ch := f.expr(s.X)
		enter := f.turn(s, part{u.Elem(), code.Slot(to)})
		return code.RangeChan(f.rt(t), ch, to, enter, f.blockOf(s.Body.List), l)
	case *types.Signature:
		return f.rangeFunc(s, u, l)
	}
	f.refuse(s.X, "a loop over %s cannot be compiled yet", t)
	return nil
}

// sharedRange is a loop whose variables are declared before it.
func (f *function) sharedRange(s *ast.RangeStmt) code.Do {
	var all []code.Do
	for _, x := range []ast.Expr{s.Key, s.Value} {
		if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
			v := f.info.Defs[id].(*types.Var)
			f.uses[v].changed = true
			all = append(all, f.declareInit(v, f.sub(v.Type()), nil))
		}
	}
	again := *s
	again.Tok = token.ASSIGN
	return code.Block(linesOf(append(all, f.rangeStmt(&again))))
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// keyType returns the type of the loop's first variable.
func (f *function) keyType(s *ast.RangeStmt) types.Type {
	if id, ok := s.Key.(*ast.Ident); ok {
		if id.Name == "_" {
			return nil
		}
		if v, ok := f.info.Defs[id].(*types.Var); ok {
			return f.sub(v.Type())
		}
	}
	return f.typ(s.Key)
}

// A part is what a turn assigns to a variable.
type part struct {
	t  types.Type
	at code.Place
}

// turn compiles what begins each turn of a range loop.
func (f *function) turn(s *ast.RangeStmt, parts ...part) func(*code.Frame) {
	var all, stores []code.Do
	for i, x := range []ast.Expr{s.Key, s.Value} {
		if x == nil || i >= len(parts) {
			continue
		}
		g := f.targetOf(x, s.Tok == token.DEFINE)
		if g.blank {
			continue
		}
		if g.fresh == nil { // operands first, as in an assignment
			var before []code.Do
			g, before = f.fixed(g)
			all = append(all, before...)
		}
		stores = append(stores, f.set(g, f.assignable(f.load(parts[i].at, parts[i].t), parts[i].t, g.t)))
	}
	return code.Enter(append(all, stores...))
}

// rangeInt is a loop over an integer.
func (f *function) rangeInt(s *ast.RangeStmt, t types.Type, l code.Loop) code.Do {
	i := f.temp(types.Typ[types.Int64])
	n := f.exprTo(s.X, t)
	if n.K == code.U64 { // counts in the order of signed integers do not reach further
		n = code.Clamp(n)
	} else {
		n = code.Convert(code.I64, n)
	}
	val := code.Convert(f.kind(t), code.Of(code.I64).Load(code.Slot(i)))
	var all []code.Do
	if s.Key != nil {
		if id, ok := s.Key.(*ast.Ident); !ok || id.Name != "_" {
			if v, ok := f.info.Defs[identOf(s.Key)].(*types.Var); ok && s.Tok == token.DEFINE && !f.uses[v].boxed() && !f.uses[v].changed && f.kind(t) == code.I64 {
				f.vars[v] = &variable{t: f.sub(v.Type()), r: f.rt(f.sub(v.Type())), off: i} // the counter itself
			} else {
				all = append(all, f.assignVal(s.Key, val, t, s.Tok == token.DEFINE))
			}
		}
	}
	return code.RangeInt(n, i, code.Enter(all), f.blockOf(s.Body.List), l)
}

func identOf(e ast.Expr) *ast.Ident {
	id, _ := e.(*ast.Ident)
	return id
}

// arrayOf returns the address of the array that a loop goes over: of a copy if
// the loop has a variable for elements.
func (f *function) arrayOf(s *ast.RangeStmt, t types.Type) code.Ex[code.Address] {
	if s.Value == nil {
		if f.info.Types[s.X].Addressable() {
			if f.calls(s.X) {
				return f.place(s.X).Operand()
			}
			return f.place(s.X).Address()
		}
	}
	return code.Spill(code.AnyInto(f.expr(s.X), f.rt(t)), f.temp(t))
}

func (f *function) rangeArray(s *ast.RangeStmt, u *types.Array, addr code.Ex[code.Address], l code.Loop) code.Do {
	slice, i := f.temp(types.NewSlice(u.Elem())), f.temp(types.Typ[types.Int])
	elem := code.Unchecked(slice, i, f.rt(u.Elem()).Size())
	start := code.Pointed(slice, addr, int(u.Len()))
	enter := f.turn(s, part{types.Typ[types.Int], code.Slot(i)}, part{u.Elem(), elem})
	return code.Sequence(start, code.RangeSlice(slice, i, enter, f.blockOf(s.Body.List), l))
}

// rangeFunc is a loop over a function. Its body runs in this function's frame,
// when the function that it is given to calls it.
func (f *function) rangeFunc(s *ast.RangeStmt, sig *types.Signature, l code.Loop) code.Do {
	yield := coreType(sig.Params().At(0).Type()).(*types.Signature)
	var parts []part
	var offs []int32
	for v := range yield.Params().Variables() {
		off := f.temp(v.Type())
		offs = append(offs, off)
		parts = append(parts, part{v.Type(), code.Slot(off)})
	}
	fun := f.expr(s.X)
	enter := f.turn(s, parts...)
	body := f.blockOf(s.Body.List)
	ys := code.SignatureOf(f.c.functionType(nil, yield))
	fs := code.SignatureOf(f.c.functionType(nil, sig))
	return code.RangeFunc(f.c.Machine, fun, fs, ys, offs, enter, body, l)
}
