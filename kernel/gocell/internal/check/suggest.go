package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/internal/suggest"
)

// hint returns what may help with an error: a name that may have been meant, or what has
// a type of before; or "".
func (k *checking) hint(e types.Error) string {
	if s := k.suggestion(e); s != "" {
		return "did you mean " + s + "?"
	}
	return k.outdated(e)
}

// suggestion returns the name that a person may have meant where the checker
// knows none, or "": of what is in scope, of a package, or of a type's fields
// and methods.
func (k *checking) suggestion(e types.Error) string {
	kind, name := kindOfError(e.Msg)
	switch {
	case kind == unknownMember:
		if t := k.typeAt(e.Pos); t != nil {
			return suggest.Nearest(name, members(t, k.p.Package))
		}
	case kind != undefinedName:
	case !strings.Contains(name, "."):
		return suggest.Nearest(name, k.inScope(e.Pos))
	default:
		pkg, name, _ := strings.Cut(name, ".")
		if p, err := k.p.Importer.Import(k.p.guess(pkg, nil)); err == nil {
			if s := suggest.Nearest(name, exported(p)); s != "" {
				return pkg + "." + s
			}
		}
	}
	return ""
}

// outdated says of an error which variable in the expression or declaration around it has
// a type of the session that is declared anew since, so that its name means another
// type: "cannot use t (variable of struct type T) as T value" says nothing else; or "".
func (k *checking) outdated(e types.Error) (why string) {
	if kind, _ := kindOfError(e.Msg); kind == undefinedName || kind == ofConstant {
		return ""
	}
	at := e.Pos
	inside := func(n ast.Node) bool { return n != nil && n.Pos() <= at && at < n.End() }
	var around ast.Node // the innermost statement or declaration
	find := func(n ast.Node) bool {
		switch n.(type) {
		case ast.Stmt, ast.Decl:
			if inside(n) {
				around = n
			}
		}
		return inside(n)
	}
	for _, d := range k.all {
		ast.Inspect(d.Decl, find)
	}
	ast.Inspect(k.body, find)
	if around == nil {
		return ""
	}
	ast.Inspect(around, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || why != "" {
			return why == ""
		}
		e := k.p.Names[id.Name]
		if v, ok := k.info.Uses[id].(*types.Var); ok && e != nil && e.Object == v {
			if t, how := k.replacedType(v.Type()); t != "" {
				why = fmt.Sprintf("%s, of cell %d, has the %s of before %s: make it anew, as by %[1]s := ...", id.Name, e.Cell, t, how)
			}
		}
		return true
	})
	return why
}

// replacedType returns the name of a type of the session within t that means another
// type by now, and what has made that: a cell that declares it, or what it uses.
func (k *checking) replacedType(t types.Type) (name, how string) {
	WalkType(t, func(t types.Type) {
		n, ok := t.(*types.Named)
		if !ok || n.Obj().Pkg() != k.p.Package || !PackageLevel(n.Obj()) {
			return
		}
		now, by := k.objects[n.Obj().Name()], "this cell"
		if e := k.p.Names[n.Obj().Name()]; now == nil && e != nil {
			now, by = e.Object, fmt.Sprint("cell ", e.Cell)
		}
		if now != nil && now != n.Obj() {
			name, how = n.Obj().Name(), by+" declared it again"
			if k.fset.Position(n.Obj().Pos()).Filename == k.fset.Position(now.Pos()).Filename {
				how = "what it uses was declared again"
			}
		}
	}, map[types.Type]bool{})
	return name, how
}

// inScope yields the names that an identifier at a position could be.
func (k *checking) inScope(at token.Pos) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range k.info.Scopes {
			if s.Contains(at) {
				for _, n := range s.Names() {
					if !yield(n) {
						return
					}
				}
			}
		}
		for _, names := range []iter.Seq[string]{
			maps.Keys(k.objects), maps.Keys(k.p.Names), maps.Keys(symbols.ByName()),
			func(yield func(string) bool) {
				for _, n := range types.Universe.Names() {
					if !strings.HasPrefix(n, cell.Mark) && !yield(n) {
						return
					}
				}
			},
		} {
			for n := range names {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// exported yields the names that a package exports.
func exported(p *types.Package) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, n := range p.Scope().Names() {
			if token.IsExported(n) && !yield(n) {
				return
			}
		}
	}
}

// typeAt returns the type of which the identifier at a position names a field or
// method: in x.f, or as a key in T{f: 1}.
func (k *checking) typeAt(at token.Pos) (t types.Type) {
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if n.Sel.Pos() == at {
				t = k.info.TypeOf(n.X)
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Pos() == at {
					t = k.info.TypeOf(n)
				}
			}
		}
		return t == nil
	}
	for _, d := range k.all {
		ast.Inspect(d.Decl, look)
	}
	ast.Inspect(k.body, look)
	return t
}

// members yields the names of a type's fields and methods that a cell can use,
// those of embedded fields too. A compiled cell is another package of the same path.
func members(t types.Type, from *types.Package) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[types.Type]bool{}
		var walk func(t types.Type) bool
		walk = func(t types.Type) bool {
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t = p.Elem()
			}
			if seen[t] {
				return true
			}
			seen[t] = true
			methods := types.NewMethodSet(types.NewPointer(t))
			if types.IsInterface(t) {
				methods = types.NewMethodSet(t)
			}
			for m := range methods.Methods() {
				if o := m.Obj(); (o.Exported() || o.Pkg().Path() == from.Path()) && !yield(o.Name()) {
					return false
				}
			}
			s, ok := t.Underlying().(*types.Struct)
			if !ok {
				return true
			}
			for f := range s.Fields() {
				if (f.Exported() || f.Pkg().Path() == from.Path()) && !yield(f.Name()) || f.Embedded() && !walk(f.Type()) {
					return false
				}
			}
			return true
		}
		walk(t)
	}
}
