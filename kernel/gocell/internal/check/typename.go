package check

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// TypeText returns the name of a type as package reflect writes it.
func TypeText(t types.Type) string { return goTypeIn(t, false) }

// goTypeIn returns the name of a type as package reflect writes it. As an
// argument of a generic type, names have import paths, and local types their
// numbers.
func goTypeIn(t types.Type, arg bool) string {
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
			return p.Path() + "." + RuntimeTypeName(t) + localNumber(t.Obj())
		}
		return p.Name() + "." + RuntimeTypeName(t)
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
		return "func" + signatureName(t, arg)
	case *types.Struct:
		if t.NumFields() == 0 {
			return "struct {}"
		}
		return structName(t, arg)
	case *types.Interface:
		if t.NumMethods() == 0 {
			return "interface {}"
		}
		var l []string
		for m := range t.Methods() {
			l = append(l, qualified(m)+signatureName(m.Signature(), arg))
		}
		return "interface { " + strings.Join(l, "; ") + " }"
	}
	return t.String()
}

// signatureName returns parameters and results as package reflect writes them.
func signatureName(s *types.Signature, arg bool) string {
	r := tupleName(s.Results(), false, arg)
	if s.Results().Len() > 1 {
		r = "(" + r + ")"
	}
	if r != "" {
		r = " " + r
	}
	return "(" + tupleName(s.Params(), s.Variadic(), arg) + ")" + r
}

func tupleName(tt *types.Tuple, variadic, arg bool) string {
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

// structName returns a struct type, which has fields, as package reflect writes
// it.
func structName(t *types.Struct, arg bool) string {
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
			s += " " + strconv.Quote(tag)
		}
		l = append(l, s)
	}
	return "struct { " + strings.Join(l, "; ") + " }"
}

// qualified returns the name of a field or method, with its package where it is
// not exported.
func qualified(o types.Object) string {
	if o.Exported() || o.Pkg() == nil {
		return o.Name()
	}
	return o.Pkg().Name() + "." + o.Name()
}
