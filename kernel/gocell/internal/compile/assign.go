package compile

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"

	"dace.local/kernel/gocell/internal/code"
)

// A target is what is assigned to: a place, an element of a map, the blank
// identifier, or a variable that is declared.
type target struct {
	t      types.Type
	place  code.Place
	blank  bool
	fresh  *types.Var
	m, key code.Val // of a map's element
	mt     types.Type
}

// targetOf compiles the left side of an assignment. With define an identifier
// that the checker has a definition for is declared.
func (f *function) targetOf(e ast.Expr, define bool) target {
	e = ast.Unparen(e)
	if id, ok := e.(*ast.Ident); ok {
		if id.Name == "_" {
			return target{blank: true}
		}
		if define {
			if v, ok := f.info.Defs[id].(*types.Var); ok {
				return target{t: f.sub(v.Type()), fresh: v}
			}
		}
	}
	t := f.typ(e)
	if x, ok := e.(*ast.IndexExpr); ok {
		if m, ok := coreType(f.typ(x.X)).(*types.Map); ok {
			return target{t: t, m: f.expr(x.X), key: f.exprTo(x.Index, m.Key()), mt: f.typ(x.X)}
		}
	}
	return target{t: t, place: f.place(e)}
}

// set stores a value in a target.
func (f *function) set(g target, v code.Val) code.Do {
	switch {
	case g.fresh != nil:
		return f.declareVal(g.fresh, g.t, v)
	case g.mt != nil:
		return f.setElement(g, v)
	}
	return f.store(g.place, v, g.t)
}

func (f *function) setElement(g target, v code.Val) code.Do {
	if v.K != code.Agg {
		if s, ok := code.MapSet(g.m, g.key, v); ok {
			return s
		}
	}
	m := coreType(g.mt).(*types.Map)
	k, el := f.rt(m.Key()), f.rt(m.Elem())
	return code.MapTypeOf(f.rt(g.mt)).Set(g.m, code.AnyInto(g.key, k), code.AnyInto(v, el), f.add(k), f.add(el))
}

// discard evaluates a value that is assigned to the blank identifier.
func (f *function) discard(e ast.Expr) code.Do {
	if f.info.Types[e].IsNil() {
		return code.Jump(code.Next)
	}
	t := types.Default(f.typ(e))
	return code.Discard(f.exprTo(e, t), f.rt(t), f.temp(t))
}

// assignOne compiles the assignment of an expression.
func (f *function) assignOne(g target, e ast.Expr) code.Do {
	if g.blank {
		return f.discard(e)
	}
	return f.set(g, f.exprTo(e, g.t))
}

// assignVal assigns a value of a type to the left side of an assignment.
func (f *function) assignVal(l ast.Expr, v code.Val, t types.Type, define bool) code.Do {
	g := f.targetOf(l, define)
	if g.blank {
		return code.Jump(code.Next)
	}
	return f.set(g, f.assignable(v, t, g.t))
}

// Long: the forms of assignment, one after the other.
func (f *function) assign(s *ast.AssignStmt) code.Do {
	define := s.Tok == token.DEFINE
	switch {
	case s.Tok != token.ASSIGN && !define:
		return f.update(s)
	case len(s.Lhs) == 1:
		if define {
			return f.assignOne(f.targetOf(s.Lhs[0], define), s.Rhs[0])
		}
		g := f.targetOf(s.Lhs[0], define)
		return f.assignOne(g, s.Rhs[0])
	case len(s.Rhs) == 1:
		return f.assignPair(s.Lhs, s.Rhs[0], define)
	}
	// Operands of the left side first, then the values, then the assignments.
	var all, stores []code.Do
	var targets []target
	for _, l := range s.Lhs {
		g := f.targetOf(l, define)
		if !g.blank && g.fresh == nil {
			var before []code.Do
			g, before = f.fixed(g)
			all = append(all, before...)
		}
		targets = append(targets, g)
	}
	for i, r := range s.Rhs {
		g := targets[i]
		if g.blank {
			all = append(all, f.discard(r))
			continue
		}
		v := f.exprTo(r, g.t)
		if v.IsConst() {
			stores = append(stores, f.set(g, v))
			continue
		}
		rt := f.rt(g.t)
		tmp := f.add(rt)
		all = append(all, code.Init(code.Slot(tmp), code.AnyInto(v, rt)))
		stores = append(stores, f.set(g, f.load(code.Slot(tmp), g.t)))
	}
	return code.Block(linesOf(append(all, stores...)))
}

// fixed evaluates the operands of a target now, for a later assignment.
func (f *function) fixed(g target) (target, []code.Do) {
	if g.mt != nil {
		m := coreType(g.mt).(*types.Map)
		at, key := f.temp(g.mt), f.temp(m.Key())
		before := []code.Do{code.Init(code.Slot(at), code.AnyInto(g.m, f.rt(g.mt))), code.Init(code.Slot(key), code.AnyInto(g.key, f.rt(m.Key())))}
		g.m, g.key = f.load(code.Slot(at), g.mt), f.load(code.Slot(key), m.Key())
		return g, before
	}
	place, before := g.place.Fixed(f.add)
	g.place = place
	return g, before
}

// assignPair assigns what one expression gives: the results of a call, or a
// value and whether it is there.
func (f *function) assignPair(lhs []ast.Expr, r ast.Expr, define bool) code.Do {
	r = ast.Unparen(r)
	var all []code.Do
	var vals []code.Val
	var valTypes []types.Type
	boolean := types.Type(types.Typ[types.Bool])
	if tuple, ok := f.typ(r).(*types.Tuple); ok {
		if _, isCall := r.(*ast.CallExpr); isCall {
			offs, call := f.tuple(r, tuple)
			all = append(all, call)
			for i, off := range offs {
				t := tuple.At(i).Type()
				vals, valTypes = append(vals, f.load(code.Slot(off), t)), append(valTypes, t)
			}
		} else {
			t := tuple.At(0).Type()
			ok := f.temp(boolean)
			v := f.commaOK(r, ok)
			tmp := f.temp(t)
			all = append(all, code.Init(code.Slot(tmp), code.AnyInto(v, f.rt(t))))
			vals = []code.Val{f.load(code.Slot(tmp), t), f.load(code.Slot(ok), boolean)}
			valTypes = []types.Type{t, boolean}
		}
	} else {
		f.refuse(r, "this assignment cannot be compiled yet")
	}
	var targets []target
	var before []code.Do
	for _, l := range lhs {
		g := f.targetOf(l, define)
		if !g.blank && g.fresh == nil {
			var b []code.Do
			g, b = f.fixed(g)
			before = append(before, b...)
		}
		targets = append(targets, g)
	}
	for i, g := range targets {
		if !g.blank {
			all = append(all, f.set(g, f.assignable(vals[i], valTypes[i], g.t)))
		}
	}
	return code.Block(linesOf(append(before, all...)))
}

// assignCall assigns the results of a call, or a value and whether it is there,
// to package-level variables.
func (f *function) assignCall(targets []target, r ast.Expr) code.Do {
	r = ast.Unparen(r)
	tuple := f.typ(r).(*types.Tuple)
	var all []code.Do
	var offs []int32
	if _, isCall := r.(*ast.CallExpr); isCall {
		var call code.Do
		offs, call = f.tuple(r, tuple)
		all = append(all, call)
	} else {
		t := tuple.At(0).Type()
		tmp, ok := f.temp(t), f.temp(types.Typ[types.Bool])
		all = append(all, code.Init(code.Slot(tmp), code.AnyInto(f.commaOK(r, ok), f.rt(t))))
		offs = []int32{tmp, ok}
	}
	for i, g := range targets {
		if !g.blank {
			t := tuple.At(i).Type()
			all = append(all, f.set(g, f.assignable(f.load(code.Slot(offs[i]), t), t, g.t)))
		}
	}
	return code.Block(linesOf(all))
}

// commaOK compiles the first value of v, ok = r.
func (f *function) commaOK(r ast.Expr, ok int32) code.Val {
	switch x := r.(type) {
	case *ast.IndexExpr:
		return f.mapIndex(x, coreType(f.typ(x.X)).(*types.Map), ok)
	case *ast.TypeAssertExpr:
		return f.assertion(x, ok)
	case *ast.UnaryExpr:
		t := f.typ(x.X)
		elem := coreType(t).(*types.Chan).Elem()
		to := f.temp(elem)
		return f.then(code.Receive(f.rt(t), f.expr(x.X), to, ok), code.Slot(to), elem)
	}
	f.refuse(r, "this assignment of two values cannot be compiled yet")
	return code.Val{}
}

// update compiles x op= y.
func (f *function) update(s *ast.AssignStmt) code.Do {
	op := s.Tok + (token.ADD - token.ADD_ASSIGN)
	return f.updateBy(s.Lhs[0], op, func(t types.Type) code.Val {
		if op != token.SHL && op != token.SHR {
			return f.exprTo(s.Rhs[0], t)
		}
		if tv := f.info.Types[s.Rhs[0]]; tv.Value != nil {
			return f.constant(constant.ToInt(tv.Value), types.Typ[types.Uint64], s.Rhs[0])
		}
		return code.Count(f.expr(s.Rhs[0]))
	})
}

func (f *function) incDec(s *ast.IncDecStmt) code.Do {
	op := token.ADD
	if s.Tok == token.DEC {
		op = token.SUB
	}
	return f.updateBy(s.X, op, func(t types.Type) code.Val { return f.constant(constant.MakeInt64(1), t, s.X) })
}

// updateBy compiles x op= y, where value compiles y.
func (f *function) updateBy(l ast.Expr, op token.Token, value func(t types.Type) code.Val) code.Do {
	g := f.targetOf(l, false)
	v := value(g.t)
	if g.mt == nil && op != token.SHL && op != token.SHR {
		return code.Update(op, g.place, v, int32(l.Pos()))
	}
	var before []code.Do
	g, before = f.fixed(g)
	var old code.Val
	if g.mt != nil {
		m := coreType(g.mt).(*types.Map)
		if kr := f.rt(m.Key()); types.IsInterface(m.Key()) || kr.Kind() == reflect.Struct || kr.Kind() == reflect.Array {
			before = append(before, code.MapTypeOf(f.rt(g.mt)).Hashes(g.m, code.AnyInto(g.key, kr), f.add(kr)))
		}
		old = f.elementOf(g, m)
	} else {
		old = f.load(g.place, g.t)
	}
	var result code.Val
	if op == token.SHL || op == token.SHR {
		result = code.Shift(op, old, v)
	} else {
		result = code.Binary(op, old, v, int32(l.Pos()))
	}
	return code.Block(linesOf(append(before, f.set(g, result))))
}

func (f *function) elementOf(g target, m *types.Map) code.Val {
	k := f.kind(m.Elem())
	if v, ok := code.MapGet(k, g.m, g.key, 0); ok {
		return v
	}
	kr := f.rt(m.Key())
	at := code.MapTypeOf(f.rt(g.mt)).At(g.m, code.AnyInto(g.key, kr), f.add(kr), f.temp(m.Elem()), 0)
	return code.InMemory(code.Memory(at), f.rt(m.Elem()))
}

func (f *function) declStmt(d *ast.GenDecl) code.Do {
	var all []code.Do
	if d.Tok == token.VAR {
		for _, s := range d.Specs {
			s := s.(*ast.ValueSpec)
			switch {
			case len(s.Values) == 0:
				for _, id := range s.Names {
					if v, ok := f.info.Defs[id].(*types.Var); ok && id.Name != "_" {
						all = append(all, f.declareInit(v, f.sub(v.Type()), nil))
					}
				}
			case len(s.Values) == len(s.Names):
				all = append(all, f.varSpec(s))
			default:
				lhs := make([]ast.Expr, len(s.Names))
				for i, id := range s.Names {
					lhs[i] = id
				}
				all = append(all, f.assignPair(lhs, s.Values[0], true))
			}
		}
	}
	return code.Block(linesOf(all))
}

// varSpec declares variables with a value each.
func (f *function) varSpec(s *ast.ValueSpec) code.Do {
	var all, stores []code.Do
	for i, id := range s.Names {
		v, _ := f.info.Defs[id].(*types.Var)
		if id.Name == "_" || v == nil {
			t := types.Type(nil)
			if s.Type != nil {
				t = f.sub(f.info.TypeOf(s.Type))
			}
			if t != nil {
				all = append(all, code.Discard(f.exprTo(s.Values[i], t), f.rt(t), f.temp(t)))
			} else {
				all = append(all, f.discard(s.Values[i]))
			}
			continue
		}
		t := f.sub(v.Type())
		val := f.exprTo(s.Values[i], t)
		if len(s.Names) == 1 {
			return f.declareVal(v, t, val)
		}
		r := f.rt(t)
		tmp := f.add(r)
		all = append(all, code.Init(code.Slot(tmp), code.AnyInto(val, r)))
		stores = append(stores, f.declareVal(v, t, f.load(code.Slot(tmp), t)))
	}
	return code.Block(linesOf(append(all, stores...)))
}
