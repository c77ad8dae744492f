package compile

import (
	"go/ast"
	"go/constant"
	"go/types"

	"dace.local/kernel/gocell/internal/code"
)

// composite compiles a composite literal of a type; &T{} has elided types, so
// that the type is given.
func (f *function) composite(e *ast.CompositeLit, t types.Type) code.Val {
	switch u := coreType(t).(type) {
	case *types.Pointer: // &T elided
		r := f.rt(u.Elem())
		return code.Fresh(r, code.AnyInto(f.composite(e, u.Elem()), r))
	case *types.Struct:
		return f.structLit(e, t, u)
	case *types.Array:
		pieces, n := f.elements(e, u.Elem())
		return code.NewVal(code.Agg, code.Composite(f.rt(t), pieces, n < int(u.Len()) || len(pieces) < n))
	case *types.Slice:
		pieces, n := f.elements(e, u.Elem())
		return code.SliceLiteral(f.rt(u.Elem()), n, pieces)
	case *types.Map:
		return f.mapLit(e, t, u)
	}
	f.refuse(e, "a literal of type %s cannot be compiled yet", t)
	return code.Val{}
}

// element compiles an element of a literal, whose own type may be left out.
func (f *function) element(e ast.Expr, t types.Type) code.Into {
	if l, ok := e.(*ast.CompositeLit); ok && l.Type == nil {
		return code.AnyInto(f.composite(l, t), f.rt(t))
	}
	return code.AnyInto(f.exprTo(e, t), f.rt(t))
}

func (f *function) structLit(e *ast.CompositeLit, t types.Type, u *types.Struct) code.Val {
	r := f.rt(t)
	var pieces []code.Piece
	for i, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			name := kv.Key.(*ast.Ident).Name
			for k := range u.NumFields() {
				if u.Field(k).Name() == name {
					i = k
				}
			}
			x = kv.Value
		}
		into := f.element(x, u.Field(i).Type())
		if u.Field(i).Name() == "_" { // it stays zero
			spare, field := f.temp(u.Field(i).Type()), into
			into = func(g *code.Frame, _ code.Address) { field(g, code.At(g, spare)) }
		}
		pieces = append(pieces, code.Piece{Off: r.Field(i).Offset, Into: into})
	}
	return code.NewVal(code.Agg, code.Composite(r, pieces, len(pieces) < u.NumFields() || blanks(u)))
}

// blanks reports whether a struct has fields without a name.
func blanks(u *types.Struct) bool {
	for f := range u.Fields() {
		if f.Name() == "_" {
			return true
		}
	}
	return false
}

// elements compiles the elements of an array or slice literal, and returns its
// length.
func (f *function) elements(e *ast.CompositeLit, t types.Type) ([]code.Piece, int) {
	size := f.rt(t).Size()
	var pieces []code.Piece
	next, most := 0, 0
	for _, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			i, _ := constant.Int64Val(constant.ToInt(f.info.Types[kv.Key].Value))
			next, x = int(i), kv.Value
		}
		pieces = append(pieces, code.Piece{Off: uintptr(next) * size, Into: f.element(x, t)})
		next++
		most = max(most, next)
	}
	return pieces, most
}

func (f *function) mapLit(e *ast.CompositeLit, t types.Type, u *types.Map) code.Val {
	var keys, elems []code.Into
	for _, x := range e.Elts {
		kv := x.(*ast.KeyValueExpr)
		keys = append(keys, f.element(kv.Key, u.Key()))
		elems = append(elems, f.element(kv.Value, u.Elem()))
	}
	var spare, other int32
	if len(keys) > 0 {
		spare, other = f.temp(u.Key()), f.temp(u.Elem())
	}
	return code.MapTypeOf(f.rt(t)).Literal(keys, elems, spare, other)
}
