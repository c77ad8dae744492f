package check

import "go/types"

// ShortName qualifies names in messages; the session's have no qualifier.
func ShortName(p *types.Package) string {
	if p.Path() == "main" {
		return ""
	}
	return p.Name()
}

// Inexpressible returns a name in t that a package-level declaration cannot
// use, or "".
func Inexpressible(t types.Type, seen map[types.Type]bool) string {
	return NotExported(t, seen, func(o *types.TypeName) bool { return CompiledType(o) != nil })
}

// NotExported returns the name of a type parameter in t, or of an unexported
// type of a compiled package that known does not accept, or "".
func NotExported(t types.Type, seen map[types.Type]bool, known func(*types.TypeName) bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	tuple := func(tt *types.Tuple) string {
		for v := range tt.Variables() {
			if s := NotExported(v.Type(), seen, known); s != "" {
				return s
			}
		}
		return ""
	}
	named := func(o *types.TypeName, args *types.TypeList) string {
		if o.Pkg() != nil {
			if !Interpreted(o.Pkg()) && !o.Exported() && !OfNative(o) && !known(o) {
				return o.Pkg().Name() + "." + o.Name()
			}
		}
		for i := range args.Len() {
			if s := NotExported(args.At(i), seen, known); s != "" {
				return s
			}
		}
		return ""
	}
	switch t := t.(type) {
	case *types.Named:
		return named(t.Obj(), t.TypeArgs())
	case *types.Alias:
		return named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return NotExported(t.Elem(), seen, known)
	case *types.Slice:
		return NotExported(t.Elem(), seen, known)
	case *types.Array:
		return NotExported(t.Elem(), seen, known)
	case *types.Chan:
		return NotExported(t.Elem(), seen, known)
	case *types.Map:
		if s := NotExported(t.Key(), seen, known); s != "" {
			return s
		}
		return NotExported(t.Elem(), seen, known)
	case *types.Signature:
		if s := tuple(t.Params()); s != "" {
			return s
		}
		return tuple(t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() && f.Pkg() != nil && !Interpreted(f.Pkg()) {
				return f.Pkg().Name() + "." + f.Name()
			}
			if s := NotExported(f.Type(), seen, known); s != "" {
				return s
			}
		}
	case *types.TypeParam:
		return t.Obj().Name()
	}
	return ""
}
