package gocell

import (
	"errors"
	"fmt"
	"go/types"
	"reflect"
	"slices"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/lower"
)

// Functions of packages that are not compiled into the kernel, fetched or on disk,
// become hot as those of cells do. The compiled one is put into the function's hook
// (lower/hook.go); a package that was edited has functions with empty hooks.

// know notes a function of a package, and returns the name by which the session counts
// its time: with its import path.
func (a *automatic) know(f *types.Func) (name string) {
	f = f.Origin()
	name = f.Pkg().Path() + "." + f.Name()
	if old := a.known[name]; old != f {
		a.known[name], a.spent[name] = f, 0
	}
	return name
}

// shown returns a function's name as messages have it.
func (h *hotFunc) shown() string {
	if h.fetched != nil {
		return h.fetched.Pkg().Name() + "." + h.fetched.Name()
	}
	return h.name
}

// reachedBy returns the name in automatic.reached by which a cell reaches a function.
func (h *hotFunc) reachedBy() string {
	if h.fetched != nil {
		return check.PackageKey(h.fetched.Pkg().Path())
	}
	return h.name
}

// current reports whether a function is of a package as it is now.
func (a *automatic) current(f *types.Func) bool {
	sp := check.FetchedOf(f.Pkg())
	return sp != nil && a.s.prog.Importer.Source(f.Pkg().Path()) == sp
}

// considerFetched queues a function of a package, or those that it calls if it cannot
// be compiled.
func (a *automatic) considerFetched(name string, f *types.Func, seen map[string]bool) {
	h := a.funcs[name]
	switch {
	case h != nil && h.fetched == f:
	case a.built >= mostBuilt:
		h = refused(name, "", fmt.Errorf("there are %d compiled functions already", mostBuilt))
		h.fetched = f
		a.funcs[name] = h
	default:
		a.built++
		h = &hotFunc{name: name, fetched: f}
		a.funcs[name] = h
		a.enqueue(h)
	}
	if h.refused() {
		a.considerUsed(h, nil, seen)
	}
}

// usesFetched returns the names of the functions of packages that a function uses.
func (a *automatic) usesFetched(h *hotFunc) (names []string) {
	list := h.uses
	if h.fetched != nil {
		list = check.FuncsOf(h.fetched)
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, f := range list {
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

// flat returns a function of a package as a compiled cell.
func (a *automatic) flat(h *hotFunc) (n *check.Native, err error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the kernel cannot check it: %v", r)
		}
	}()
	switch {
	case !a.current(h.fetched):
		return nil, errors.New("its package has been edited")
	case lower.Hooked(h.fetched) != "":
		return nil, errors.New(lower.Hooked(h.fetched))
	}
	if n, err = a.s.prog.Flat(a.s.machine.Files(), h.fetched); err != nil {
		return nil, firstMessage(err)
	}
	if why := a.unfit(n); why != "" {
		return nil, errors.New(why)
	}
	return n, nil
}

// installFetched has a function of a package call the compiled one.
func (a *automatic) installFetched(h *hotFunc) {
	a.s.mu.Lock()
	current := a.current(h.fetched)
	a.s.mu.Unlock()
	err := errors.New("its package has been edited")
	if current {
		var f reflect.Value
		if f, err = a.s.compiled.Install(h.native, h.native.Unit.Names[0], a.s.types.TypeOf); err == nil && !a.s.hook(h.fetched, f) {
			err = errors.New("no cell has called it")
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h.why, h.installed = err, err == nil
}

// revertFetched has a function of a package interpreted again. It reports whether the
// name is that of one.
func (a *automatic) revertFetched(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.funcs[name]
	if h == nil || h.fetched == nil {
		return false
	}
	a.s.hook(h.fetched, reflect.Value{})
	h.installed = false
	return true
}

// hook has a function of a package call another in its place, or be itself again for
// none. It reports false where no cell has called it.
func (s *Session) hook(f *types.Func, by reflect.Value) bool {
	if s.own != nil {
		return s.own.hook(f, by)
	}
	return s.machine.SetFunction(lower.HookName(f), by)
}
