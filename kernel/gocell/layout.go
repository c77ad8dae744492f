package gocell

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"unicode"
	"unsafe"
)

// Package reflect cannot make a type that refers to itself. The interpreter
// helps itself with a placeholder which it patches, one type at a time, and
// goes wrong, to the death of the process, where several such types are made
// of one another. So their representation is made here, before it looks: each
// struct of a recursion first with placeholders that lie in memory as the
// fields do, then, when all structs are there, with the fields' own types.

// typeOf returns the interpreter's representation of one of its types.
//
//go:linkname typeOf github.com/traefik/yaegi/interp.(*itype).TypeOf
func typeOf(itype unsafe.Pointer) reflect.Type

// recursive returns the struct types declared among decls that refer to
// themselves, by the interpreter's names. It refuses types that do so without
// a struct between.
func (l *lowerer) recursive(decls []ast.Decl) map[string]*types.Named {
	s := l.gen.s
	structs := map[string]*types.Named{}
	for _, d := range decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, spec := range g.Specs {
			t := spec.(*ast.TypeSpec)
			n := l.declaredType(t)
			if n == nil || t.Assign.IsValid() {
				continue
			}
			if _, ok := n.Underlying().(*types.Struct); ok {
				structs[t.Name.Name] = n
			} else if refersBare(n, n.Underlying(), map[types.Type]bool{}) {
				l.refuse(t.Pos(), "type %s is made of itself with no struct between, which the interpreter cannot represent: put it into a struct", cleanMessage(t.Name.Name))
			}
		}
	}
	reach := map[string]map[string]bool{}
	for name, n := range structs {
		to := map[string]bool{}
		mentions(s, n.Underlying(), to, map[types.Type]bool{})
		reach[name] = to
	}
	out := map[string]*types.Named{}
	for name, n := range structs {
		seen := map[string]bool{}
		todo := slices.Collect(maps.Keys(reach[name]))
		for len(todo) > 0 {
			m := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[m] {
				continue
			}
			seen[m] = true
			todo = slices.AppendSeq(todo, maps.Keys(reach[m]))
		}
		if seen[name] {
			out[name] = n
		}
	}
	return out
}

// declaredType returns the type that a lowered declaration declares.
func (l *lowerer) declaredType(t *ast.TypeSpec) *types.Named {
	for _, in := range l.gen.s.generic.instances {
		if in.name == t.Name.Name {
			typ, _ := types.Instantiate(nil, in.obj.Type(), in.args, false)
			n, _ := typ.(*types.Named)
			return n
		}
	}
	if o, ok := l.c.info.Defs[t.Name].(*types.TypeName); ok {
		n, _ := o.Type().(*types.Named)
		return n
	}
	return nil
}

// parts calls f for the types that t is made of.
func parts(t types.Type, f func(types.Type)) {
	switch t := t.(type) {
	case *types.Alias:
		f(types.Unalias(t))
	case *types.Map:
		f(t.Key())
		f(t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			f(v.Type())
		}
		for v := range t.Results().Variables() {
			f(v.Type())
		}
	case *types.Struct:
		for v := range t.Fields() {
			f(v.Type())
		}
	case interface{ Elem() types.Type }:
		f(t.Elem())
	}
}

// mentions adds the names of the interpreted struct types that t refers to.
func mentions(s *Session, t types.Type, to map[string]bool, seen map[types.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if n, ok := t.(*types.Named); ok {
		if !interpreted(n.Obj().Pkg()) {
			return
		}
		if _, isStruct := n.Underlying().(*types.Struct); isStruct {
			to[s.instanceName(n)] = true
			return
		}
		mentions(s, n.Underlying(), to, seen)
		return
	}
	parts(t, func(p types.Type) { mentions(s, p, to, seen) })
}

// refersBare reports whether t refers to the type n otherwise than by way of a
// named struct or an interface.
func refersBare(n *types.Named, t types.Type, seen map[types.Type]bool) bool {
	if types.Identical(n, t) {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	if m, ok := t.(*types.Named); ok {
		if _, isStruct := m.Underlying().(*types.Struct); isStruct || !interpreted(m.Obj().Pkg()) {
			return false
		}
		return refersBare(n, m.Underlying(), seen)
	}
	found := false
	parts(t, func(p types.Type) { found = found || refersBare(n, p, seen) })
	return found
}

// layOut makes the representation of recursive struct types that the
// interpreter knows by name only so far.
func (s *Session) layOut(structs map[string]*types.Named) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the interpreter cannot represent the types of this cell: %v", r)
		}
	}()
	table := mainTable(s.in)
	type field struct {
		index int
		itype unsafe.Pointer
	}
	type layout struct {
		itype  reflect.Value
		rtype  reflect.Type
		later  []field
		fields []reflect.StructField
	}
	done := map[string]*layout{}
	hidden := func(v reflect.Value) reflect.Value {
		return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	var lay func(name string)
	// shape returns a type that lies in memory as t does, and whether it is
	// t's own representation.
	var shape func(t types.Type, it unsafe.Pointer) (reflect.Type, bool)
	shape = func(t types.Type, it unsafe.Pointer) (reflect.Type, bool) {
		t = types.Unalias(t)
		if n, ok := t.(*types.Named); ok {
			if name := s.instanceName(n); interpreted(n.Obj().Pkg()) && structs[name] != nil {
				lay(name)
				return done[name].rtype, true
			}
		}
		to := map[string]bool{}
		mentions(s, t, to, map[types.Type]bool{})
		recursive := false
		for name := range to {
			recursive = recursive || structs[name] != nil
		}
		if !recursive && it != nil {
			return typeOf(it), true
		}
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			return reflect.TypeFor[*int](), false
		case *types.Signature:
			return reflect.TypeFor[func()](), false
		case *types.Map:
			return reflect.TypeFor[map[int]int](), false
		case *types.Chan:
			return reflect.TypeFor[chan int](), false
		case *types.Slice:
			return reflect.TypeFor[[]int](), false
		case *types.Array:
			e, _ := shape(u.Elem(), nil)
			return reflect.ArrayOf(int(u.Len()), e), false
		case *types.Struct:
			var fs []reflect.StructField
			for i := range u.NumFields() {
				e, _ := shape(u.Field(i).Type(), nil)
				fs = append(fs, reflect.StructField{Name: "X" + itoa(i), Type: e})
			}
			return reflect.StructOf(fs), false
		case *types.Basic:
			for _, k := range basicShapes {
				if int(k.Size()) == int(types.SizesFor("gc", runtime.GOARCH).Sizeof(u)) && (k.Kind() == reflect.String) == (u.Info()&types.IsString != 0) {
					return k, false
				}
			}
		}
		panic("no shape for " + t.String())
	}
	lay = func(name string) {
		if done[name] != nil {
			return
		}
		sym := table.get(name)
		if !sym.IsValid() {
			panic("type " + cleanMessage(name) + " is missing")
		}
		it := sym.Elem().FieldByName("typ").Elem()
		st := structs[name].Underlying().(*types.Struct)
		fields := it.FieldByName("field")
		if fields.Len() != st.NumFields() {
			panic("type " + cleanMessage(name) + " has other fields")
		}
		l := &layout{itype: it}
		done[name] = l
		for i := range fields.Len() {
			f := fields.Index(i)
			ft := f.FieldByName("typ").UnsafePointer()
			t, own := shape(st.Field(i).Type(), ft)
			if !own {
				l.later = append(l.later, field{i, ft})
			}
			tag := f.FieldByName("tag").String()
			if i == 0 { // no two of these types are one
				tag += ` dace:` + quote(name)
			}
			fieldName := f.FieldByName("name").String()
			if !unicode.IsUpper([]rune(fieldName)[0]) {
				fieldName = "X" + fieldName
			}
			l.fields = append(l.fields, reflect.StructField{Name: fieldName, Type: t, Tag: reflect.StructTag(tag),
				Anonymous: fields.Len() == 1 && f.FieldByName("embed").Bool()})
		}
		l.rtype = reflect.StructOf(l.fields)
	}
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		lay(name)
	}
	for _, l := range done {
		hidden(l.itype.FieldByName("rtype")).Set(reflect.ValueOf(l.rtype))
	}
	for _, l := range done {
		for _, f := range l.later {
			setFieldType(l.rtype, f.index, typeOf(f.itype))
		}
	}
	return nil
}

// basicShapes are types of all sizes that plain values have.
var basicShapes = []reflect.Type{
	reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
	reflect.TypeFor[complex128](), reflect.TypeFor[string](),
}

// setFieldType changes the type of a field of a struct type that reflect has
// made, to one that lies in memory alike.
func setFieldType(t reflect.Type, i int, to reflect.Type) {
	if old := t.Field(i).Type; old.Size() != to.Size() || old.Align() != to.Align() {
		panic(fmt.Sprintf("field %s does not lie as %s", t.Field(i).Name, to))
	}
	type word = unsafe.Pointer
	fields := *(*[]struct{ name, typ, offset word })(unsafe.Add(typePointer(t), structFields))
	fields[i].typ = typePointer(to)
}

// typePointer returns the address of a type's description, which is the data
// of a reflect.Type.
func typePointer(t reflect.Type) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1]
}

// structFields is where the fields stand in the description of a struct type.
var structFields = func() uintptr {
	f, ok := reflect.ValueOf(reflect.TypeFor[struct{}]()).Type().Elem().FieldByName("t")
	if !ok {
		panic("gocell: reflect.rtype has no field t")
	}
	// A struct's description is that of any type, its package, its fields.
	return f.Type.Size() + unsafe.Sizeof(uintptr(0))
}()
