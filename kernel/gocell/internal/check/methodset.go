package check

import (
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/symbols"
)

// IsOwn reports whether a cell declares t, or the type that t points to.
func IsOwn(t types.Type) bool {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	return ok && OfCells(n.Obj())
}

// OfCells reports whether a cell or a fetched package declares o, or the
// prelude does.
func OfCells(o types.Object) bool {
	if o.Pkg() == nil {
		return false
	}
	if Interpreted(o.Pkg()) {
		return true
	}
	lib := libraries()[o.Pkg().Path()]
	if lib == nil {
		return false
	}
	_, ok := lib.decls[o.Name()]
	return ok
}

// WalkType calls f for t and the types that it contains, and for the aliases by which
// they are named.
func WalkType(t types.Type, f func(types.Type), seen map[types.Type]bool) {
	if a, ok := t.(*types.Alias); ok {
		f(a)
		t = types.Unalias(a)
	}
	if t == nil || seen[t] {
		return
	}
	seen[t] = true
	f(t)
	tuple := func(tt *types.Tuple) {
		for v := range tt.Variables() {
			WalkType(v.Type(), f, seen)
		}
	}
	switch t := t.(type) {
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			WalkType(a, f, seen)
		}
		if OfCells(t.Obj()) {
			WalkType(t.Underlying(), f, seen)
		}
	case *types.Map:
		WalkType(t.Key(), f, seen)
		WalkType(t.Elem(), f, seen)
	case *types.Signature:
		tuple(t.Params())
		tuple(t.Results())
	case *types.Struct:
		for v := range t.Fields() {
			WalkType(v.Type(), f, seen)
		}
	case *types.Interface:
		for m := range t.Methods() {
			WalkType(m.Type(), f, seen)
		}
		for e := range t.EmbeddedTypes() {
			WalkType(e, f, seen)
		}
	case *types.Union:
		for term := range t.Terms() {
			WalkType(term.Type(), f, seen)
		}
	case interface{ Elem() types.Type }:
		WalkType(t.Elem(), f, seen)
	}
}

var compiledTypes sync.Map // *types.TypeName: reflect.Type

// CompiledType returns the descriptor of an unexported type of a compiled package
// if it is reachable from exported declarations, otherwise nil.
func CompiledType(o *types.TypeName) reflect.Type {
	if r, ok := compiledTypes.Load(o); ok {
		return r.(reflect.Type)
	}
	path := o.Pkg().Path()
	syms, _ := symbols.Lookup(path, nil)
	var queue []reflect.Type
	for _, name := range slices.Sorted(maps.Keys(syms)) {
		queue = append(queue, syms[name].Type())
	}
	for seen := map[reflect.Type]bool{}; len(queue) > 0; queue = queue[1:] {
		t := queue[0]
		if seen[t] || t.Name() != "" && t.PkgPath() != path {
			continue
		}
		seen[t] = true
		if t.Name() == o.Name() {
			compiledTypes.Store(o, t)
			return t
		}
		switch t.Kind() {
		case reflect.Map:
			queue = append(queue, t.Key(), t.Elem())
		case reflect.Array, reflect.Chan, reflect.Pointer, reflect.Slice:
			queue = append(queue, t.Elem())
		case reflect.Func:
			queue = slices.AppendSeq(slices.AppendSeq(queue, t.Ins()), t.Outs())
		case reflect.Struct:
			for f := range t.Fields() {
				queue = append(queue, f.Type)
			}
		}
		for m := range t.Methods() {
			queue = append(queue, m.Type)
		}
	}
	return nil
}

// RuntimeTypeName is the name of a type as package reflect has it.
func RuntimeTypeName(t *types.Named) string {
	s := t.Obj().Name()
	var l []string
	around := localArgs(t.Obj())
	for _, a := range around {
		l = append(l, goTypeIn(a, true))
	}
	for _, a := range append(ListOf(t.TypeArgs()), ownArgs(t.Obj())...) {
		l = append(l, goTypeIn(a, true))
	}
	switch n := len(around); {
	case len(l) == 0:
		return s
	case n == 0 || n == len(l):
		return s + "[" + strings.Join(l, ",") + "]"
	default:
		return s + "[" + strings.Join(l[:n], ",") + ";" + strings.Join(l[n:], ",") + "]"
	}
}

// MethodSets returns the methods of a type, and those of a pointer to it only.
func MethodSets(t types.Type) (value, pointer []*types.Selection) {
	if types.IsInterface(t) {
		return nil, nil
	}
	// Unexported methods of compiled packages are called through interfaces alone.
	skip := func(s *types.Selection) bool { return HiddenMethod(s.Obj()) && HiddenBy(s) == nil }
	byValue := types.NewMethodSet(t)
	for s := range byValue.Methods() {
		if !skip(s) {
			value = append(value, s)
		}
	}
	for s := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if !skip(s) && byValue.Lookup(s.Obj().Pkg(), s.Obj().Name()) == nil {
			pointer = append(pointer, s)
		}
	}
	return value, pointer
}

// HiddenMethod reports whether a method is an unexported one of a compiled package.
func HiddenMethod(o types.Object) bool {
	return !o.Exported() && !Interpreted(o.Pkg()) && !IsNative(o.Pkg())
}

// HiddenBy returns the interface through which such a method, which a struct has from an
// embedded field, is called: a struct with a testing.TB or a *testing.T in it is a
// testing.TB. It returns nil if there is none.
func HiddenBy(s *types.Selection) types.Type {
	path := s.Index()
	if len(path) < 2 {
		return nil
	}
	on := s.Recv()
	for _, i := range path[:len(path)-1] {
		if p, ok := types.Unalias(on).Underlying().(*types.Pointer); ok {
			on = p.Elem()
		}
		on = on.Underlying().(*types.Struct).Field(i).Type()
	}
	if types.IsInterface(on) {
		return on
	}
	return hiding(s.Obj().(*types.Func), func(it *types.Interface) bool {
		return types.Implements(on, it) || types.Implements(types.NewPointer(on), it)
	})
}

// hiding returns an exported interface type of the package of f that has the method f
// and for which ok holds.
func hiding(f *types.Func, ok func(it *types.Interface) bool) types.Type {
	scope := f.Pkg().Scope()
	for _, name := range scope.Names() {
		o, isType := scope.Lookup(name).(*types.TypeName)
		if !isType || !o.Exported() || IsGeneric(o) {
			continue
		}
		it, isInterface := o.Type().Underlying().(*types.Interface)
		if !isInterface {
			continue
		}
		for m := range it.Methods() {
			if m.Id() == f.Id() && types.Identical(m.Signature(), f.Signature()) && ok(it) {
				return o.Type()
			}
		}
	}
	return nil
}

// HiddenIn returns an interface of a compiled package that has the unexported method f,
// nil if there is none.
func HiddenIn(f *types.Func) types.Type {
	return hiding(f, func(*types.Interface) bool { return true })
}

// RuntimeName returns the name of a method in run-time types. An unexported one
// of a cell is exported for compiled cells, which are packages of their own.
func RuntimeName(f *types.Func) string {
	if !f.Exported() && (Interpreted(f.Pkg()) || IsNative(f.Pkg())) {
		return cell.ExportMark + f.Name()
	}
	return f.Name()
}
