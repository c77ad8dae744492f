package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// A function of a fetched package that may come to be compiled begins with a look at a
// variable, its hook: where that holds the compiled function, this is called. So all
// callers have it at once, also those that took the function as a value before; and one
// that is built anew begins with an empty hook.

// HookName returns the name of the interpreter's variable that is a function's hook.
func HookName(f *types.Func) string {
	made, _ := check.GeneratedName(f)
	return cell.Mark + "h" + made
}

// Hooked returns why a function of a fetched package has no hook, "" if it has one.
func Hooked(f *types.Func) (why string) {
	sp := check.FetchedOf(f.Pkg())
	d := sp.ByObject[f]
	if d == nil || f.Signature().Recv() != nil {
		return "it is no ordinary function"
	}
	decl := d.Nodes[0].(*ast.FuncDecl)
	switch {
	case f.Signature().TypeParams().Len() > 0:
		return "it is generic"
	case !hookable(f):
		return "a type of its package goes in or out of it"
	case sp.FileAt(decl.Pos()).SharesLoopVars():
		return "its file is for Go before 1.22, whose loops share their variables"
	case !runsLong(sp.Info, decl.Body):
		return "it is short: it has no loop, and calls no function of a package"
	}
	for _, p := range decl.Type.Params.List {
		if len(p.Names) == 0 {
			return "a parameter of it has no name"
		}
	}
	return ""
}

// addHook gives a declaration of a fetched package a hook if compiling it may pay, and
// returns the declaration of the hook.
func (l *lowerer) addHook(d *check.FetchedDecl, f *ast.FuncDecl) (global ast.Decl) {
	o, ok := d.Objects[0].(*types.Func)
	if !ok || Hooked(o) != "" {
		return nil
	}
	l.hooks[f] = HookName(o)
	return &ast.GenDecl{TokPos: f.Pos(), Tok: token.VAR, Specs: []ast.Spec{
		&ast.ValueSpec{Names: []*ast.Ident{{Name: HookName(o), NamePos: f.Pos()}}, Type: l.globalType(o.Type(), f.Pos())}}}
}

// hookable reports whether a compiled function of a signature may stand for an
// interpreted one: types of fetched packages are others there.
func hookable(f *types.Func) bool {
	ok := true
	check.WalkType(f.Type(), func(t types.Type) {
		if n, isNamed := t.(*types.Named); isNamed {
			ok = ok && !check.Interpreted(n.Obj().Pkg())
		}
	}, map[types.Type]bool{})
	return ok
}

// runsLong reports whether a function has a loop, or calls one of a fetched package.
func runsLong(info *types.Info, body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			found = true
		case *ast.Ident:
			f, ok := info.Uses[n].(*types.Func)
			found = found || ok && check.FetchedOf(f.Pkg()) != nil
		}
		return !found
	})
	return found
}

// callHook puts the look at the hook into a function that has been lowered.
func (l *lowerer) callHook(f *ast.FuncDecl, hook string) {
	m := syntax.At(token.NoPos) // errors are those of the compiled function
	call := syntax.Call(m.Ident(hook), m.Pos)
	for _, p := range f.Type.Params.List {
		for _, name := range p.Names {
			call.Args = append(call.Args, m.Ident(name.Name))
		}
		if _, ok := p.Type.(*ast.Ellipsis); ok {
			call.Ellipsis = f.Body.Lbrace
		}
	}
	list := []ast.Stmt{m.Return(call)}
	if f.Type.Results.NumFields() == 0 {
		list = []ast.Stmt{&ast.ExprStmt{X: call}, m.Return()}
	}
	set := &ast.BinaryExpr{X: m.Ident(hook), OpPos: m.Pos, Op: token.NEQ, Y: m.Ident("nil")}
	f.Body.List = append([]ast.Stmt{m.If(set, list...)}, f.Body.List...)
}
