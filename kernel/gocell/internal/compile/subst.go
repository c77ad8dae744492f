package compile

import (
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// A substitution replaces type parameters by the type arguments of an
// instance.
type substitution struct {
	params map[*types.TypeParam]types.Type
	local  map[*types.TypeName][]localType // types declared in the instance's body
	seen   typeutil.Map

	// declared is told of a local type of the instance, with the type arguments of a
	// generic one.
	declared func(o, from *types.TypeName, args []types.Type)
}

// A localType is what a type that a generic function declares is in an instance; if it
// is generic itself, for type arguments.
type localType struct {
	args []types.Type
	t    *types.Named
}

func substitutionOf(params *types.TypeParamList, args []types.Type, outer *substitution) *substitution {
	s := &substitution{params: map[*types.TypeParam]types.Type{}, local: map[*types.TypeName][]localType{}}
	if outer != nil {
		for p, a := range outer.params {
			s.params[p] = a
		}
	}
	for i := range params.Len() {
		s.params[params.At(i)] = args[i]
	}
	return s
}

// of returns a type with type arguments in the place of type parameters.
func (s *substitution) of(t types.Type) types.Type {
	if s == nil || t == nil {
		return t
	}
	if r, ok := s.seen.At(t).(types.Type); ok {
		return r
	}
	r := s.replaced(t)
	s.seen.Set(t, r)
	return r
}

func (s *substitution) replaced(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.TypeParam:
		if a, ok := s.params[t]; ok {
			return a
		}
	case *types.Alias:
		return s.of(types.Unalias(t))
	case *types.Named:
		return s.named(t)
	case *types.Pointer:
		if e := s.of(t.Elem()); e != t.Elem() {
			return types.NewPointer(e)
		}
	case *types.Slice:
		if e := s.of(t.Elem()); e != t.Elem() {
			return types.NewSlice(e)
		}
	case *types.Array:
		if e := s.of(t.Elem()); e != t.Elem() {
			return types.NewArray(e, t.Len())
		}
	case *types.Map:
		k, e := s.of(t.Key()), s.of(t.Elem())
		if k != t.Key() || e != t.Elem() {
			return types.NewMap(k, e)
		}
	case *types.Chan:
		if e := s.of(t.Elem()); e != t.Elem() {
			return types.NewChan(t.Dir(), e)
		}
	case *types.Tuple:
		return s.tuple(t)
	case *types.Signature:
		p, r := s.tuple(t.Params()), s.tuple(t.Results())
		if p != t.Params() || r != t.Results() {
			return types.NewSignatureType(nil, nil, nil, p, r, t.Variadic())
		}
	case *types.Struct:
		return s.structure(t)
	case *types.Interface:
		return s.interfaceType(t)
	}
	return t
}

func (s *substitution) tuple(t *types.Tuple) *types.Tuple {
	var vars []*types.Var
	changed := false
	for v := range t.Variables() {
		n := s.of(v.Type())
		if n != v.Type() {
			changed = true
			v = types.NewParam(v.Pos(), v.Pkg(), v.Name(), n)
		}
		vars = append(vars, v)
	}
	if !changed {
		return t
	}
	return types.NewTuple(vars...)
}

func (s *substitution) structure(t *types.Struct) types.Type {
	var fields []*types.Var
	var tags []string
	changed := false
	for i := range t.NumFields() {
		f := t.Field(i)
		n := s.of(f.Type())
		if n != f.Type() {
			changed = true
			f = types.NewField(f.Pos(), f.Pkg(), f.Name(), n, f.Embedded())
		}
		fields, tags = append(fields, f), append(tags, t.Tag(i))
	}
	if !changed {
		return t
	}
	return types.NewStruct(fields, tags)
}

func (s *substitution) interfaceType(t *types.Interface) types.Type {
	var methods []*types.Func
	changed := false
	for m := range t.ExplicitMethods() {
		sig := s.of(m.Type()).(*types.Signature)
		if sig != m.Type() {
			changed = true
			m = types.NewFunc(m.Pos(), m.Pkg(), m.Name(), sig)
		}
		methods = append(methods, m)
	}
	var embedded []types.Type
	for e := range t.EmbeddedTypes() {
		n := s.of(e)
		changed = changed || n != e
		embedded = append(embedded, n)
	}
	if !changed {
		return t
	}
	return types.NewInterfaceType(methods, embedded).Complete()
}

func (s *substitution) named(t *types.Named) types.Type {
	if n := t.TypeArgs().Len(); n > 0 {
		args, changed := make([]types.Type, n), false
		for i := range n {
			args[i] = s.of(t.TypeArgs().At(i))
			changed = changed || args[i] != t.TypeArgs().At(i)
		}
		if o := t.Obj(); o.Pkg() != nil && o.Parent() != o.Pkg().Scope() && s.mentions(t.Origin()) {
			return s.localInstance(t.Origin(), args)
		}
		if !changed {
			return t
		}
		i, err := types.Instantiate(nil, t.Origin(), args, false)
		if err != nil {
			return t
		}
		return i
	}
	// A type that is declared in the body of an instance is another type in each.
	o := t.Obj()
	if o.Parent() == nil || o.Pkg() == nil || o.Parent() == o.Pkg().Scope() || !s.mentions(t) {
		return t
	}
	return s.localInstance(t, nil)
}

// localInstance returns what a type that the function declares is in the instance, for
// type arguments if it is generic itself.
func (s *substitution) localInstance(t *types.Named, args []types.Type) *types.Named {
	o := t.Obj()
	for _, l := range s.local[o] {
		if identicalLists(l.args, args) {
			return l.t
		}
	}
	n := types.NewNamed(types.NewTypeName(o.Pos(), o.Pkg(), o.Name(), nil), nil, nil)
	s.local[o] = append(s.local[o], localType{args, n})
	s.declared(n.Obj(), o, args)
	in := s
	if len(args) > 0 {
		in = substitutionOf(t.TypeParams(), args, s)
		in.local, in.declared = s.local, s.declared
	}
	n.SetUnderlying(in.of(t.Underlying()))
	return n
}

// mentions reports whether a local type is declared where a type parameter of
// the substitution is in scope.
func (s *substitution) mentions(t *types.Named) bool {
	for scope := t.Obj().Parent(); scope != nil; scope = scope.Parent() {
		for p := range s.params {
			if scope.Lookup(p.Obj().Name()) == p.Obj() {
				return true
			}
		}
	}
	return false
}
