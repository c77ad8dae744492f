package check

import (
	"go/types"
	"maps"
	"reflect"

	"dace.local/kernel/gocell/rtype"
)

// A session's package and its scope stay the same objects from cell to cell:
// unexported fields belong to the package, and go/types recognizes package-level
// objects by their scope. So the contents of the scope are replaced, for which
// go/types has no function.
var (
	scopeElems    = rtype.Hidden(reflect.TypeFor[types.Scope](), "elems", "map[string]types.Object")
	scopeChildren = rtype.Hidden(reflect.TypeFor[types.Scope](), "children", "[]*types.Scope")
)

// setScope empties the scope of a package. A variable of one function, by the scopes around
// it, no longer leads to all others of its cell.
func setScope(pkg *types.Package) {
	for i := range pkg.Scope().NumChildren() {
		scopeChildren(reflect.ValueOf(pkg.Scope().Child(i)).Elem()).SetZero()
	}
	scope := reflect.ValueOf(pkg.Scope()).Elem()
	scopeElems(scope).SetZero()
	scopeChildren(scope).SetZero()
}

// inScope calls check with additional objects in the scope of the package.
func (sp *FetchedPackage) inScope(extra []types.Object, check func()) {
	scope := reflect.ValueOf(sp.pkg.Scope()).Elem()
	elems, children := scopeElems(scope), scopeChildren(scope)
	oldElems, oldChildren := elems.Interface().(map[string]types.Object), reflect.ValueOf(children.Interface())
	now := maps.Clone(oldElems)
	if now == nil {
		now = map[string]types.Object{}
	}
	for _, o := range extra {
		delete(now, o.Name())
	}
	elems.Set(reflect.ValueOf(now))
	children.SetZero()
	defer func() {
		elems.Set(reflect.ValueOf(oldElems))
		children.Set(oldChildren)
	}()
	for _, o := range extra {
		sp.pkg.Scope().Insert(o)
	}
	check()
}
