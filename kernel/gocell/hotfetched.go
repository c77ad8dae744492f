package gocell

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"reflect"
	"slices"

	"dace.local/kernel/gocell/internal/check"
)

// Functions of packages that are not compiled into the kernel, fetched or on disk,
// become hot as those of cells do. The compiled one is put into the function's hook
// (Compiler.Hook of package compile); a package that was edited has functions with empty
// hooks. So do functions and methods of cells: they are compiled with copies of the types
// that they use (check/layout.go), and one that is declared again, or uses what is, is
// another function without a hook.

// know notes a function that can be hooked, and returns the name by which the session
// counts its time: of a package's with its import path, of a method with its type.
func (a *automatic) know(f *types.Func) (name string) {
	f = f.Origin()
	switch t := receiver(f); {
	case check.FetchedOf(f.Pkg()) != nil:
		name = f.Pkg().Path() + "." + f.Name()
	case t != nil:
		name = t.Name() + "." + f.Name()
	default:
		name = f.Name()
	}
	if old := a.known[name]; old != f {
		a.known[name], a.spent[name] = f, 0
	}
	return name
}

// receiver returns the type that a method is declared on, nil for a function.
func receiver(f *types.Func) *types.TypeName {
	r := f.Signature().Recv()
	if r == nil {
		return nil
	}
	t := types.Unalias(r.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// ofPackage reports whether a function is of a package that is not compiled into the
// kernel.
func (h *hotFunc) ofPackage() bool { return h.fn != nil && check.FetchedOf(h.fn.Pkg()) != nil }

// shown returns a function's name as messages have it.
func (h *hotFunc) shown() string {
	if h.loop != nil {
		return fmt.Sprintf("loop[%d:%d]", h.loop.Cell, h.loop.Line)
	}
	if h.ofPackage() {
		return h.fn.Pkg().Name() + "." + h.fn.Name()
	}
	return h.name
}

// reachedBy returns the name in automatic.reached by which a cell reaches a function.
func (h *hotFunc) reachedBy() string {
	switch {
	case h.ofPackage():
		return check.PackageKey(h.fn.Pkg().Path())
	case h.fn != nil:
		return h.fn.Name()
	}
	return h.name
}

// current reports whether a function is that of its package, or of the session, as it is
// now. The caller holds Session.mu.
func (a *automatic) current(f *types.Func) bool {
	if f.Pkg() == a.s.prog.Package {
		o := a.s.prog.Lookup(f.Name())
		if t := receiver(f); t != nil {
			if o = nil; a.s.prog.Lookup(t.Name()) == t {
				o, _, _ = types.LookupFieldOrMethod(t.Type(), true, t.Pkg(), f.Name())
			}
		}
		return o == f
	}
	sp := check.FetchedOf(f.Pkg())
	return sp != nil && a.s.prog.Importer.Source(f.Pkg().Path()) == sp
}

// considerHooked queues a function that can be hooked, or those that it calls if it cannot
// be compiled.
func (a *automatic) considerHooked(name string, f *types.Func, seen map[string]bool) {
	h := a.funcs[name]
	switch {
	case h != nil && h.fn == f:
	case a.built >= mostBuilt:
		h = refused(name, fmt.Errorf("there are %d compiled functions already", mostBuilt))
		h.fn = f
		a.funcs[name] = h
	default:
		a.built++
		h = &hotFunc{name: name, fn: f}
		a.funcs[name] = h
		a.enqueue(h)
	}
	if h.refused() {
		a.considerUsed(h, seen)
	}
}

// usesHooked returns the names of the functions that a function uses and that can be
// hooked.
func (a *automatic) usesHooked(h *hotFunc) (names []string) {
	list := h.uses
	switch {
	case h.ofPackage():
		list = check.FuncsOf(h.fn)
	case h.fn != nil:
		list = a.s.runner.compiler.FuncsOf(h.fn)
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, f := range list {
		if f.Pkg() == a.s.prog.Package {
			if a.current(f) {
				names = append(names, a.know(f))
			}
			continue
		}
		sp := a.s.prog.Importer.Source(f.Pkg().Path())
		if sp == nil {
			continue
		}
		if now, ok := sp.Lookup(f.Name()).(*types.Func); ok && check.FetchedOf(now.Pkg()) != nil { // as it is now
			names = append(names, a.know(now))
		}
	}
	return names
}

// usesPackages returns why a function of cells that uses a package which is not
// compiled into the kernel stays interpreted, or "": a compiled cell has such a package
// with variables and types of its own, and an interrupt cannot end what runs in it.
func (h *hotFunc) usesPackages(n *check.Native) (why string) {
	for _, o := range n.Info.Uses {
		if !check.IsFetched(o.Pkg()) {
			continue
		}
		if f, ok := o.(*types.Func); ok && f.Signature().Recv() == nil && check.FetchedOf(f.Pkg()) != nil && !slices.Contains(h.uses, f) {
			h.uses = append(h.uses, f)
		}
		if _, ok := o.(*types.Const); !ok || check.IsFetched(typePackage(o.Type())) {
			why = max(why, "it uses "+o.Pkg().Name()+", whose functions are compiled by themselves")
		}
	}
	return why
}

// typePackage returns the package that declares a named type, else nil.
func typePackage(t types.Type) *types.Package {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Pkg()
	}
	return nil
}

// native returns a function that can be hooked, or a loop, as a compiled cell.
func (a *automatic) native(h *hotFunc) (n *check.Native, err error) {
	a.mu.Lock()
	literals := maps.Clone(a.literals)
	a.mu.Unlock()
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the kernel cannot check it: %v", r)
		}
	}()
	if h.loop != nil || !h.ofPackage() {
		return a.layout(h, literals)
	}
	switch {
	case !a.current(h.fn):
		return nil, errors.New("its package has been edited")
	case hooked(h.fn) != "":
		return nil, errors.New(hooked(h.fn))
	}
	if n, err = a.s.prog.Flat(a.s.machine.Files(), h.fn); err != nil {
		return nil, firstMessage(err)
	}
	if why := a.unfit(n); why != "" {
		return nil, errors.New(why)
	}
	return n, nil
}

// installHooked has a function call the compiled one.
func (a *automatic) installHooked(h *hotFunc) {
	a.s.mu.Lock()
	current := a.current(h.fn)
	a.s.mu.Unlock()
	err := errors.New("it has been declared again")
	if h.ofPackage() {
		err = errors.New("its package has been edited")
	}
	if current {
		var f reflect.Value
		if h.native.Layout {
			if err = a.s.compiled.Bind(h.native); err == nil && !a.s.hook(h.fn, a.s.compiled.Link(h.native)) {
				err = errors.New("no cell has called it")
			}
		} else if f, err = a.s.compiled.Install(h.native, h.native.Unit.Names[0], a.s.types.TypeOf); err == nil && !a.s.hook(h.fn, f) {
			err = errors.New("no cell has called it")
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h.why, h.installed = err, err == nil
}

// hooked returns the functions that call compiled ones.
func (a *automatic) hooked() map[types.Object]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := map[types.Object]bool{}
	for _, h := range a.funcs {
		if h.fn != nil && h.installed {
			m[h.fn] = true
		}
	}
	return m
}

// hook has a function of a package call another in its place, or be itself again for
// none. It reports false where no cell has called it.
func (s *Session) hook(f *types.Func, by reflect.Value) bool {
	return s.runner.compiler.Hook(f, by)
}

// hooked returns why a function of a fetched package has no hook, "" if it has one.
func hooked(f *types.Func) (why string) {
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
