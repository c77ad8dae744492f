package gocell

import (
	"fmt"
	"go/types"
	"strings"
)

// goType returns the name of a type as package reflect writes it.
func goType(t types.Type) string { return goTypeIn(t, false) }

// goTypeIn returns the name of a type as package reflect writes it, also as an
// argument of a generic type: there with import paths, and local types with
// their numbers.
func goTypeIn(t types.Type, arg bool) string {
	tuple := func(tt *types.Tuple, variadic bool) string {
		var l []string
		for i := range tt.Len() {
			s := goTypeIn(tt.At(i).Type(), arg)
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
	qualified := func(o types.Object) string {
		if o.Exported() || o.Pkg() == nil {
			return o.Name()
		}
		return o.Pkg().Name() + "." + o.Name()
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
		p := t.Obj().Pkg()
		switch {
		case p == nil:
			return t.Obj().Name()
		case arg:
			return p.Path() + "." + typeName(t) + localNumber(t.Obj())
		}
		return p.Name() + "." + typeName(t)
	case *types.Pointer:
		return "*" + goTypeIn(t.Elem(), arg)
	case *types.Slice:
		return "[]" + goTypeIn(t.Elem(), arg)
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), goTypeIn(t.Elem(), arg))
	case *types.Map:
		return "map[" + goTypeIn(t.Key(), arg) + "]" + goTypeIn(t.Elem(), arg)
	case *types.Chan:
		elem := goTypeIn(t.Elem(), arg)
		if e, ok := types.Unalias(t.Elem()).(*types.Chan); ok && e.Dir() == types.RecvOnly && t.Dir() != types.SendOnly {
			elem = "(" + elem + ")"
		}
		return [...]string{"chan ", "chan<- ", "<-chan "}[t.Dir()] + elem
	case *types.Signature:
		return "func" + signature(t)
	case *types.Struct:
		if t.NumFields() == 0 {
			return "struct {}"
		}
		var l []string
		for i := range t.NumFields() {
			f := t.Field(i)
			s := goTypeIn(f.Type(), arg)
			switch {
			case f.Embedded() && arg && isInstance(f.Type()):
				s = f.Name() + " = " + s
			case f.Embedded():
			case arg:
				s = qualified(f) + " " + s
			default:
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
			l = append(l, qualified(m)+signature(m.Signature()))
		}
		return "interface { " + strings.Join(l, "; ") + " }"
	}
	return t.String()
}
