package gocell

import (
	"go/ast"
	"go/token"
	"go/types"

	"dace.local/kernel/gocell/internal/check"
)

// What a session compiles by itself must mean the same as before, so that it
// leaves functions interpreted where the kernel does more for interpreted code:
// maps that goroutines share, channels, values in interfaces, printing.

// unfit returns what in a function would not mean the same when it is compiled,
// or "".
func (a *automatic) unfit(n *check.Native) (why string) {
	for _, v := range n.Vars {
		if holdsMap(v.Type()) {
			return "it shares the map " + v.Name()
		}
	}
	if f, ok := n.Package.Scope().Lookup(n.Unit.Names[0]).(*types.Func); ok {
		if why := unfitSignature(f.Signature()); why != "" {
			return why
		}
	}
	for _, o := range n.Info.Uses {
		if f, ok := o.(*types.Func); ok && a.s.packages.library.Overridden(f) {
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
				why = unfitNode(n.Info, x)
			}
			return why == ""
		})
	}
	return why
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
func unfitNode(info *types.Info, x ast.Node) string {
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
	case *ast.BinaryExpr:
		if v := info.Types[x]; fuses && x.Op == token.MUL && v.Value == nil && isFloat(v.Type) {
			return fused
		}
	case *ast.AssignStmt:
		if fuses && x.Tok == token.MUL_ASSIGN && isFloat(info.TypeOf(x.Lhs[0])) {
			return fused
		}
	case *ast.FuncLit:
		if name := captured(info, x); name != "" {
			return "a function in it shares the map " + name
		}
	case *ast.CallExpr:
		if isBuiltin(info, x, "print") || isBuiltin(info, x, "println") {
			return "it prints"
		}
	}
	return ""
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
	check.WalkType(t, func(t types.Type) {
		_, isMap := t.Underlying().(*types.Map)
		found = found || isMap
	}, map[types.Type]bool{})
	return found
}

func isFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}

const fused = "its floating-point results could differ in the last bit"
