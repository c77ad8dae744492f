package gocell

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/scanner"
	"go/token"
	"go/types"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
)

// oversized returns an error for the variables and values of a checked cell
// that are larger than the memory: arrays, since everything else grows while
// the cell runs. A variable is allocated before the cell begins.
func (s *Session) oversized(c *check.Checked) error {
	e := &check.Error{}
	known := sizes{}
	refuse := func(pos token.Pos, t types.Type, what func() string) {
		var err *vm.SizeError
		if errors.As(s.machine.Lacks("", known.of(t)), &err) {
			err.What = what()
			e.List = append(e.List, &scanner.Error{Pos: s.machine.Files().Position(pos), Msg: err.Error()})
		}
	}
	qualify := types.RelativeTo(s.prog.Package)
	infos := []*types.Info{c.Info}
	for _, n := range c.Natives {
		infos = append(infos, n.Info)
	}
	for _, info := range infos {
		oversizedIn(info, refuse, qualify)
	}
	if len(e.List) == 0 {
		return nil
	}
	return e
}

// oversizedIn calls refuse with the types of the variables and values that some
// checked code has.
func oversizedIn(info *types.Info, refuse func(at token.Pos, t types.Type, what func() string), qualify types.Qualifier) {
	for id, o := range info.Defs {
		if v, ok := o.(*types.Var); ok && !v.IsField() {
			refuse(id.Pos(), v.Type(), func() string { return "the variable " + id.Name })
		}
	}
	for x, tv := range info.Types {
		switch x := x.(type) {
		case *ast.CompositeLit:
			t := tv.Type
			if s, ok := core(t).(*types.Slice); ok {
				t = types.NewArray(s.Elem(), lengthOf(info, x))
			}
			refuse(x.Pos(), t, func() string { return "a value of type " + types.TypeString(tv.Type, qualify) })
		case *ast.CallExpr:
			if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && len(x.Args) == 1 {
				if b, ok := info.Uses[id].(*types.Builtin); ok && b.Name() == "new" {
					if p, ok := tv.Type.Underlying().(*types.Pointer); ok {
						refuse(x.Pos(), p.Elem(), func() string { return "new(" + types.TypeString(p.Elem(), qualify) + ")" })
					}
				}
			}
		}
	}
	for id, inst := range info.Instances {
		for t := range inst.TypeArgs.Types() {
			refuse(id.Pos(), t, func() string { return "a value of type " + types.TypeString(t, qualify) })
		}
	}
}

// core returns the type that a composite literal of type t makes: in a literal with
// elements of type *T, {} stands for &T{}.
func core(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem().Underlying()
	}
	return t.Underlying()
}

// lengthOf returns the length of the slice that a literal makes: []int{5: 1} has
// six elements.
func lengthOf(info *types.Info, lit *ast.CompositeLit) int64 {
	length, next := int64(0), int64(0)
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if v := info.Types[kv.Key].Value; v != nil {
				next, _ = constant.Int64Val(constant.ToInt(v))
			}
		}
		next++
		length = max(length, next)
	}
	return length
}

// sizes holds the sizes of structs: a type may mention one very often.
type sizes map[*types.Struct]float64

// of returns about how many bytes a value of a type takes, as a number that
// cannot overflow. It is exact for arrays of numbers.
func (s sizes) of(t types.Type) float64 {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return float64(u.Len()) * s.of(u.Elem())
	case *types.Struct:
		n, ok := s[u]
		if !ok {
			for f := range u.Fields() {
				n += s.of(f.Type())
			}
			s[u] = n
		}
		return n
	case *types.Basic:
		switch u.Kind() {
		case types.Bool, types.Int8, types.Uint8:
			return 1
		case types.Int16, types.Uint16:
			return 2
		case types.Int32, types.Uint32, types.Float32:
			return 4
		case types.String, types.Complex128:
			return 16
		}
	case *types.Slice:
		return 24
	case *types.Interface:
		return 16
	}
	return 8
}
