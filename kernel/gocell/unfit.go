package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"runtime"
	"slices"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/compiled"
)

// What a session compiles by itself must mean the same as before, so that it
// leaves functions interpreted where the kernel does more for interpreted code:
// maps that goroutines share, channels, values in interfaces, printing.

// unfit returns what in a function would not mean the same when it is compiled,
// or "".
func (a *automatic) unfit(n *check.Native) (why string) {
	if n.Layout {
		why = a.unfitLayout(n)
	} else {
		why = unfitShared(n)
	}
	if why != "" {
		return why
	}
	if why := startsOthers(n); why != "" {
		return why
	}
	seen := map[types.Type]bool{}
	for _, tv := range n.Info.Types {
		check.WalkType(tv.Type, func(t types.Type) {
			if check.OtherLayout(t) {
				why = "it uses " + t.(*types.Named).Obj().Pkg().Name() + "." + t.(*types.Named).Obj().Name() + ", which the kernel replaces"
			}
		}, seen)
	}
	if why != "" {
		return why
	}
	replaced := a.replacedCalls(n)
	for id, o := range n.Info.Uses {
		if f, ok := o.(*types.Func); ok && !replaced[id] && a.s.library.Overridden(f) {
			return "it calls " + f.FullName() + ", which the kernel replaces"
		}
	}
	for _, d := range n.Decls {
		if f, ok := d.Decl.(*ast.FuncDecl); ok && f.Body != nil {
			if recovers(n.Info, f.Body) {
				return "it recovers the panics of what defers it"
			}
		}
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			if x != nil && why == "" {
				why = unfitNode(n, x)
			}
			return why == ""
		})
	}
	return why
}

// unfitShared returns why a function stays interpreted by what it shares, or "".
func unfitShared(n *check.Native) string {
	for _, v := range n.Vars {
		if holdsMap(v.Type()) {
			return "it shares the map " + v.Name()
		}
	}
	if f, ok := n.Package.Scope().Lookup(n.Unit.Names[0]).(*types.Func); ok {
		return unfitSignature(f.Signature())
	}
	return ""
}

// unfitSignature returns why functions with a signature stay interpreted, or "".
// Compiled code does not take the locks by which interpreted goroutines share a map,
// and a value in an interface may have another type descriptor there.
func unfitSignature(sig *types.Signature) (why string) {
	for v := range sig.Params().Variables() {
		if holdsMap(v.Type()) {
			return "the map " + v.Name() + " goes into it"
		}
	}
	check.WalkType(sig, func(t types.Type) {
		s, ok := t.(*types.Struct)
		switch {
		case types.IsInterface(t) && t != types.Universe.Lookup("error").Type():
			why = "values of interfaces go in or out of it"
		case ok && hasHidden(s):
			why = "its structs have fields that are not exported"
		}
	}, map[types.Type]bool{})
	return why
}

// errorMethods is what error consists of.
var errorMethods = types.Universe.Lookup("error").Type().Underlying()

// unfitLayout is unfitShared for a compiled cell with copies of types.
func (a *automatic) unfitLayout(n *check.Native) (why string) {
	sig := n.Entry.Signature()
	crossing := []*types.Var{}
	for v := range sig.Params().Variables() {
		crossing = append(crossing, v)
	}
	if r := sig.Recv(); r != nil {
		crossing = append(crossing, r)
	}
	for _, v := range n.Vars {
		crossing = append(crossing, v)
	}
	n.Guarded = slices.ContainsFunc(crossing, func(v *types.Var) bool { return holdsMap(v.Type()) })
	for _, d := range n.Decls {
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.FuncLit:
				n.Guarded = n.Guarded || captured(n.Info, x) != ""
			case *ast.GoStmt: // which is given a map, or what holds one
				n.Guarded = n.Guarded || slices.ContainsFunc(append(x.Call.Args, x.Call.Fun), func(e ast.Expr) bool {
					return holdsMap(n.Info.TypeOf(e)) || methodOf(n.Info, e)
				})
			}
			return true
		})
	}
	if n.Guarded {
		if why := a.s.compiled.Unguarded(n, holdsMap, a.s.library.Overridden); why != "" {
			return why
		}
	}
	for v := range sig.Results().Variables() {
		crossing = append(crossing, v)
	}
	interfaces := false
	for _, v := range crossing {
		walkWithin(v.Type(), func(t types.Type) {
			if m, ok := t.Underlying().(*types.Map); ok && !sameHash(m.Key()) && !n.Bound(t) {
				why = "keys of " + types.TypeString(t, check.ShortName) + " are hashed in another way"
			}
			interfaces = interfaces || types.IsInterface(t) && t != types.Universe.Lookup("error").Type() && t != errorMethods
		})
	}
	if !interfaces || why != "" {
		return why
	}
	uncertain := func(t types.Type) {
		if !types.IsInterface(t) && !oneDescriptor(t) && !n.Bound(t) {
			why = "values of interfaces go in or out of it"
		}
	}
	for _, d := range n.Decls {
		check.Conversions(n.Info, d.Decl, func(c check.Interfaced) { uncertain(c.From) })
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.TypeAssertExpr:
				if x.Type != nil {
					uncertain(n.Info.TypeOf(x.Type))
				}
			case *ast.CaseClause:
				for _, t := range x.List {
					if tv := n.Info.Types[t]; tv.IsType() {
						uncertain(tv.Type)
					}
				}
			}
			return true
		})
	}
	return why
}

// sameHash reports whether the hash of a map's key that the compiler makes is that of the
// run time for types that it has not made: structs are hashed as memory, or field by field.
func sameHash(key types.Type) bool {
	switch t := key.Underlying().(type) {
	case *types.Array:
		return sameHash(t.Elem())
	case *types.Struct: // without a name its descriptor does not say that it is memory
		return isMemory(key)
	}
	return true
}

var goSizes = types.SizesFor("gc", runtime.GOARCH)

// isMemory reports whether values of a type are equal if their memory is, and its
// descriptor says so.
func isMemory(t types.Type) bool {
	_, named := types.Unalias(t).(*types.Named)
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&(types.IsInteger|types.IsBoolean) != 0 || t.Kind() == types.UnsafePointer
	case *types.Pointer, *types.Chan:
		return true
	case *types.Array:
		return isMemory(t.Elem())
	case *types.Struct:
		size := int64(0)
		for f := range t.Fields() {
			if size += goSizes.Sizeof(f.Type()); f.Name() == "_" || !isMemory(f.Type()) {
				return false
			}
		}
		return named && size == goSizes.Sizeof(t) && size > 0
	}
	return false
}

// oneDescriptor reports whether a type has one descriptor for all: one with a name, or a
// pointer to it, that the library declares.
func oneDescriptor(t types.Type) bool {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	switch t := t.(type) {
	case *types.Basic:
		return true
	case *types.Named:
		return t.TypeArgs().Len() == 0 && !check.IsNative(t.Obj().Pkg())
	}
	return false
}

// replacedCalls returns the names of functions and methods of the library in whose place a
// compiled cell calls what cells have there.
func (a *automatic) replacedCalls(n *check.Native) map[*ast.Ident]bool {
	names := map[*ast.Ident]bool{}
	if !n.Layout {
		return names
	}
	for _, d := range n.Decls {
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.SelectorExpr:
				if id, ok := x.X.(*ast.Ident); ok {
					_, isPackage := n.Info.Uses[id].(*types.PkgName)
					f, isFunc := n.Info.Uses[x.Sel].(*types.Func)
					if isPackage && isFunc && f.Signature().TypeParams() == nil {
						names[x.Sel] = true
					}
				}
			case *ast.CallExpr:
				if _, ok := a.s.compiled.StandsIn(n.Info, x); ok {
					names[x.Fun.(*ast.SelectorExpr).Sel] = true
				}
			}
			return true
		})
	}
	return names
}

// startsOthers returns which function of a library a compiled function gives another one to
// that may call it in a goroutine of its own, or "": a panic would end the process there.
func startsOthers(n *check.Native) (why string) {
	for _, d := range n.Decls {
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			call, ok := x.(*ast.CallExpr)
			if !ok {
				return true
			}
			f := check.Called(n.Info, call)
			if f == nil || f.Pkg() == nil || f.Pkg() == n.Package || !compiled.MayStart(f) {
				return true
			}
			for _, a := range call.Args {
				if t := n.Info.TypeOf(a); t != nil && holdsFunc(t) {
					why = "it gives a function to " + f.FullName() + ", which may call it in a goroutine"
				}
			}
			return why == ""
		})
	}
	return why
}

// holdsFunc reports whether a value of a type is a function, or a struct with one.
func holdsFunc(t types.Type) bool {
	if check.IsSignature(t) {
		return true
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if check.IsSignature(f.Type()) {
				return true
			}
		}
	}
	return false
}

// hasHidden reports whether a struct type has fields that are not exported:
// without a name such a type is another one in each package.
func hasHidden(s *types.Struct) bool {
	for f := range s.Fields() {
		if !f.Exported() {
			return true
		}
	}
	return false
}

// unfitNode returns why functions with a piece of syntax stay interpreted, or "".
func unfitNode(n *check.Native, x ast.Node) string {
	info := n.Info
	if why := unfitWait(info, x); why != "" && !n.Layout {
		return why
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
		if v := info.Types[x]; fuses && x.Op == token.MUL && v.Value == nil && isFloat(v.Type) {
			return fused
		}
	case *ast.AssignStmt:
		if fuses && x.Tok == token.MUL_ASSIGN && isFloat(info.TypeOf(x.Lhs[0])) {
			return fused
		}
	case *ast.FuncLit:
		if name := captured(info, x); name != "" && !n.Guarded {
			return "a function in it shares the map " + name
		}
	case *ast.CallExpr:
		if isBuiltin(info, x, "print") || isBuiltin(info, x, "println") {
			return "it prints"
		}
	}
	return ""
}

// unfitWait returns why functions of packages with a piece of syntax stay interpreted that
// waits or starts goroutines, or "".
func unfitWait(info *types.Info, x ast.Node) string {
	const waits = "it uses channels: an interrupt could not end its waiting"
	switch x := x.(type) {
	case *ast.GoStmt:
		return "it starts goroutines"
	case *ast.SendStmt, *ast.SelectStmt:
		return waits
	case *ast.UnaryExpr:
		if x.Op == token.ARROW {
			return waits
		}
	case *ast.RangeStmt:
		if _, ok := info.TypeOf(x.X).Underlying().(*types.Chan); ok {
			return waits
		}
	}
	return ""
}

// methodOf reports whether an expression selects a method of a value that holds a map.
func methodOf(info *types.Info, e ast.Expr) bool {
	x, ok := ast.Unparen(e).(*ast.SelectorExpr)
	return ok && info.Selections[x] != nil && holdsMap(info.Selections[x].Recv())
}

// captured returns the name of a map that a function literal uses and does not
// declare, or "". Goroutines may call the function at the same time.
func captured(info *types.Info, lit *ast.FuncLit) (name string) {
	ast.Inspect(lit.Body, func(x ast.Node) bool {
		if id, ok := x.(*ast.Ident); ok && name == "" {
			v, ok := info.Uses[id].(*types.Var)
			if ok && !v.IsField() && holdsMap(v.Type()) && (v.Pos() < lit.Pos() || v.Pos() > lit.End()) {
				name = v.Name()
			}
		}
		return name == ""
	})
	return name
}

// recovers reports whether a function calls recover itself, not in a function
// literal.
func recovers(info *types.Info, body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = found || isBuiltin(info, x, "recover")
		}
		return !found
	})
	return found
}

// isBuiltin reports whether a call calls a predeclared function.
func isBuiltin(info *types.Info, call *ast.CallExpr, name string) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	b, ok := info.Uses[id].(*types.Builtin)
	return ok && b.Name() == name
}

// holdsMap reports whether a value of a type leads to a map.
func holdsMap(t types.Type) bool {
	found := false
	walkWithin(t, func(t types.Type) {
		_, isMap := t.Underlying().(*types.Map)
		found = found || isMap
	})
	return found
}

// walkWithin calls f for a type and those that values of it consist of, also where a
// compiled cell declares it.
func walkWithin(t types.Type, f func(types.Type)) {
	seen := map[types.Type]bool{}
	var visit func(t types.Type)
	visit = func(t types.Type) {
		f(t)
		if n, ok := t.(*types.Named); ok && check.IsNative(n.Obj().Pkg()) {
			check.WalkType(n.Underlying(), visit, seen)
		}
	}
	check.WalkType(t, visit, seen)
}

func isFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}

const fused = "its floating-point results could differ in the last bit"
