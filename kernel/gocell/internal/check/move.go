package check

import "go/types"

// moveVars finds variables of the session whose type contains a type that the
// cell declares again with the same shape, and gives them the new type: running
// a cell again, or adding a method, keeps earlier values usable. (Interface
// values keep the methods they were made with.) It reports whether there are
// any.
func (p *Program) moveVars(c *Checked, objects map[string]types.Object) bool {
	to := p.Importer.SameTypes(p.reloaded, false)
	for n := range c.Redeclared {
		if e := p.Names[n]; e != nil {
			old, okA := named(e.Object)
			now, okB := named(objects[n])
			if okA && okB && now != old && sameParams(old, now) {
				to[old.Obj()] = now
			}
		}
	}
	if len(to) == 0 {
		return false
	}
	// A type whose shape has changed is a different type, and so are those that
	// contain it.
	settle(to, false)
	for n, e := range p.Names {
		v, ok := e.Object.(*types.Var)
		if !ok || e.Cell == 0 || OfNative(v) || c.Redeclared[n] {
			continue // it is built again with its cell, or declared anew
		}
		if t, changed := replace(v.Type(), to); changed && satisfied(t) {
			c.Moved[n] = types.NewVar(v.Pos(), p.Package, n, t)
		}
	}
	return len(c.Moved) > 0
}

// satisfied reports whether the type arguments in t still satisfy their constraints.
func satisfied(t types.Type) bool {
	ok := true
	WalkType(t, func(t types.Type) {
		if n, named := t.(*types.Named); named && n.TypeArgs().Len() > 0 {
			_, err := types.Instantiate(nil, n.Origin(), ListOf(n.TypeArgs()), true)
			ok = ok && err == nil
		}
	}, map[types.Type]bool{})
	return ok
}

// sameShape reports whether b equals a after the replacements in to.
func sameShape(a, b types.Type, to map[*types.TypeName]*types.Named) bool {
	r, _ := replace(a, to)
	return types.Identical(r, b)
}

// replace returns t with the named types replaced that to maps, and whether
// there were any.
func replace(t types.Type, to map[*types.TypeName]*types.Named) (types.Type, bool) {
	switch t := t.(type) {
	case *types.Named:
		n, ok := to[t.Obj()]
		if t.TypeArgs().Len() == 0 {
			if ok {
				return n, true
			}
			break
		}
		if !ok {
			n = t.Origin()
		}
		args := ListOf(t.TypeArgs())
		for i, a := range args {
			r, changed := replace(a, to)
			args[i], ok = r, ok || changed
		}
		if ok {
			if r, err := types.Instantiate(nil, n, args, false); err == nil {
				return r, true
			}
		}
	case *types.Alias:
		if r, ok := replace(types.Unalias(t), to); ok {
			return r, true
		}
	case *types.Pointer:
		if e, ok := replace(t.Elem(), to); ok {
			return types.NewPointer(e), true
		}
	case *types.Slice:
		if e, ok := replace(t.Elem(), to); ok {
			return types.NewSlice(e), true
		}
	case *types.Array:
		if e, ok := replace(t.Elem(), to); ok {
			return types.NewArray(e, t.Len()), true
		}
	case *types.Chan:
		if e, ok := replace(t.Elem(), to); ok {
			return types.NewChan(t.Dir(), e), true
		}
	case *types.Map:
		k, ok1 := replace(t.Key(), to)
		e, ok2 := replace(t.Elem(), to)
		if ok1 || ok2 {
			return types.NewMap(k, e), true
		}
	case *types.Signature:
		ps, ok1 := replaceTuple(t.Params(), to)
		rs, ok2 := replaceTuple(t.Results(), to)
		if ok1 || ok2 {
			return types.NewSignatureType(nil, nil, nil, ps, rs, t.Variadic()), true
		}
	case *types.Struct:
		any := false
		fields := make([]*types.Var, t.NumFields())
		tags := make([]string, t.NumFields())
		for i := range fields {
			f := t.Field(i)
			ft, ok := replace(f.Type(), to)
			fields[i], tags[i] = f, t.Tag(i)
			if ok {
				any = true
				fields[i] = types.NewField(f.Pos(), f.Pkg(), f.Name(), ft, f.Embedded())
			}
		}
		if any {
			return types.NewStruct(fields, tags), true
		}
	case *types.Interface:
		return replaceInterface(t, to)
	}
	return t, false
}

func replaceInterface(t *types.Interface, to map[*types.TypeName]*types.Named) (types.Type, bool) {
	any := false
	var methods []*types.Func
	for f := range t.ExplicitMethods() {
		s, ok := replace(f.Signature(), to)
		if ok {
			any = true
			f = types.NewFunc(f.Pos(), f.Pkg(), f.Name(), s.(*types.Signature))
		}
		methods = append(methods, f)
	}
	var embedded []types.Type
	for e := range t.EmbeddedTypes() {
		e, ok := replace(e, to)
		any = any || ok
		embedded = append(embedded, e)
	}
	if !any {
		return t, false
	}
	return types.NewInterfaceType(methods, embedded).Complete(), true
}

func replaceTuple(t *types.Tuple, to map[*types.TypeName]*types.Named) (*types.Tuple, bool) {
	any := false
	var vars []*types.Var
	for v := range t.Variables() {
		vt, ok := replace(v.Type(), to)
		if ok {
			any = true
			v = types.NewParam(v.Pos(), v.Pkg(), v.Name(), vt)
		}
		vars = append(vars, v)
	}
	if !any {
		return t, false
	}
	return types.NewTuple(vars...), true
}
