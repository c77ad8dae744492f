package compiled

import (
	"bytes"
	"errors"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/rtype"
)

// What a session compiles by itself has copies of the types of cells. A compiler that can
// binds them: the plugin then refers to the session's types, so that its values in
// interfaces are what those of other cells are. Where an interface calls a method of such a
// type, also from other code, the compiled method takes the place of the other.

// A binder is a Compiler that has a loaded package use other types in the place of its own,
// for good.
type binder interface {
	Binds() bool
	Bind(path string, types map[reflect.Type]reflect.Type) error
}

// Binds reports whether types of compiled cells can be bound.
func (s *Set) Binds() bool {
	b, ok := s.Compiler.(binder)
	return ok && b.Binds()
}

// bound are the types that packages of this process have been bound to, in the order of
// their copies. A text whose types are others in another session, or have been declared
// again, is another package: a number in it makes it one.
var bound = struct {
	sync.Mutex // guards of
	of         map[string][]reflect.Type
}{of: map[string][]reflect.Type{}}

// free reports whether the package of a compiled cell is bound to its types, or to none.
func free(n *check.Native) bool {
	bound.Lock()
	defer bound.Unlock()
	was, ok := bound.of[n.Path]
	return !ok || slices.Equal(was, targets(n))
}

func targets(n *check.Native) (list []reflect.Type) {
	for _, c := range n.Copies {
		list = append(list, c.As)
	}
	return list
}

// Aim finds the types that a compiled cell is to be bound to. The caller has the turn to
// compile.
func (s *Set) Aim(n *check.Native) (err error) {
	for i := range n.Copies {
		if n.Copies[i].As, err = s.TypeFor(n.Copies[i].Of); err != nil {
			return err
		}
	}
	return nil
}

// Bind binds the types of a compiled cell that Prepare has loaded.
func (s *Set) Bind(n *check.Native) error {
	if len(n.Copies) == 0 {
		return nil
	}
	to := map[reflect.Type]reflect.Type{}
	for i, c := range n.Copies {
		to[reflect.TypeOf(n.Table[copyKey(i)]).Elem()] = c.As
	}
	bound.Lock()
	defer bound.Unlock()
	if was, ok := bound.of[n.Path]; ok {
		if !slices.Equal(was, targets(n)) {
			return errors.New("its types have changed since it was built")
		}
		return nil
	}
	if err := s.Compiler.(binder).Bind(n.Path, to); err != nil {
		return err
	}
	// How a plugin refers to types is the toolchain's own business.
	for i, x := range n.Table[cell.Mark+"values"].(func() []any)() {
		if c := n.Copies[i]; !types.IsInterface(c.Of) && reflect.TypeOf(x) != c.As {
			return fmt.Errorf("it cannot have the type %s of a cell", c.As)
		}
	}
	bound.of[n.Path] = targets(n)
	return nil
}

// bindMethods has the methods of the types that a compiled cell is bound to called in it.
func (s *Set) bindMethods(n *check.Native) {
	for i, m := range n.Methods {
		if f := reflect.ValueOf(n.Table[methodKey(i)]); f.IsValid() {
			s.Method(n.Copies[m.Copy].Of, m.Func.Name(), f)
		}
	}
}

func copyKey(i int) string   { return cell.Mark + "copy " + strconv.Itoa(i) }
func methodKey(i int) string { return cell.Mark + "method " + strconv.Itoa(i) }

// declareCopies writes the copies, and their methods as functions of a pointer to the
// receiver.
func (g *generator) declareCopies(body, table *bytes.Buffer) {
	var values []string
	for i, c := range g.n.Copies {
		text := g.typeText(c.Type)
		fmt.Fprintf(table, "\t%q: (*%s)(nil),\n", copyKey(i), text)
		values = append(values, "*new("+text+")")
	}
	if len(values) > 0 {
		fmt.Fprintf(body, "func %svalues() []any { return []any{%s} }\n", cell.Mark, strings.Join(values, ", "))
		fmt.Fprintf(table, "\t%q: %[1]s,\n", cell.Mark+"values")
	}
	nils := false
	for i, m := range g.n.Methods {
		t := g.n.Copies[m.Copy].Type
		name := m.Func.Name()
		if hidden, ok := g.hidden(m.Func); ok {
			name = hidden
		}
		if _, byPointer := types.Unalias(m.Func.Signature().Recv().Type()).(*types.Pointer); byPointer {
			fmt.Fprintf(table, "\t%q: (*%s).%s,\n", methodKey(i), g.typeText(t), name)
			continue
		}
		nils = true
		sig := m.Func.Signature()
		var params, args []string
		for k := range sig.Params().Len() {
			text, dots := g.typeText(sig.Params().At(k).Type()), ""
			if sig.Variadic() && k == sig.Params().Len()-1 {
				text, dots = "..."+strings.TrimPrefix(text, "[]"), "..."
			}
			params = append(params, fmt.Sprintf("p%d %s", k, text))
			args = append(args, fmt.Sprintf("p%d%s", k, dots))
		}
		call := fmt.Sprintf("r.%s(%s)", name, strings.Join(args, ", "))
		if sig.Results().Len() > 0 {
			call = "return " + call
		}
		fmt.Fprintf(body, "func %[1]smethod%[2]d(%[3]s) %[4]s{ if r == nil { %[1]snilReceiver(%[5]q, %[6]q) }; %[7]s }\n", cell.Mark, i,
			strings.Join(append([]string{"r *" + g.typeText(t)}, params...), ", "), g.results(sig),
			"main."+types.TypeString(t, func(*types.Package) string { return "" }), m.Func.Name(), call)
		fmt.Fprintf(table, "\t%q: %smethod%d,\n", methodKey(i), cell.Mark, i)
	}
	if nils {
		fmt.Fprintf(body, "var %snilReceiver func(typ, method string)\n", cell.Mark)
		fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"nilReceiver")
	}
}

// setNilReceiver passes a compiled cell what its methods panic with.
func setNilReceiver(n *check.Native) {
	if p, ok := n.Table[cell.Mark+"nilReceiver"].(*func(typ, method string)); ok {
		*p = func(typ, method string) { panic(rtype.NilReceiver(typ, method)) }
	}
}
