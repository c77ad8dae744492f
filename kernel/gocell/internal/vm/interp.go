package vm

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
)

// The interpreter keeps its package table and its run number to itself. Three
// things must be done there that its API does not offer: forgetting a name
// before it is declared anew (a type or method declared twice would silently
// keep its first meaning), putting the table back after a cell that does not
// compile, and keeping closures of an interrupted run alive.

// Names is the interpreter's table of package main, by reflection.
type Names struct{ m reflect.Value }

// mainPackage is the name of the interpreter's package of cells.
var mainPackage = reflect.ValueOf("main")

// field returns a field of the interpreter that can be set.
func (m *Machine) field(offset uintptr, typ reflect.Type) reflect.Value {
	return reflect.NewAt(typ, unsafe.Add(unsafe.Pointer(m.in), offset)).Elem()
}

// mainScope returns the interpreter's scope of package main.
func (m *Machine) mainScope() unsafe.Pointer {
	scopes := m.field(layout.interpreter.scopes, reflect.MapOf(reflect.TypeFor[string](), scopePointer))
	return scopes.MapIndex(mainPackage).UnsafePointer()
}

var (
	scopePointer  = reflect.PointerTo(reached["interp.scope"])
	symbolPointer = reflect.PointerTo(reached["interp.symbol"])
)

// Names returns the table; it exists once something was compiled.
func (m *Machine) Names() Names {
	table := reflect.MapOf(reflect.TypeFor[string](), symbolPointer)
	return Names{reflect.NewAt(table, unsafe.Add(m.mainScope(), layout.scope.sym)).Elem()}
}

// Snapshot returns what puts the table back as it is now.
func (t Names) Snapshot() (restore func()) {
	old := make(map[string]reflect.Value, t.m.Len())
	for it := t.m.MapRange(); it.Next(); {
		old[it.Key().String()] = it.Value()
	}
	return func() {
		for _, k := range t.m.MapKeys() {
			if _, ok := old[k.String()]; !ok {
				t.m.SetMapIndex(k, reflect.Value{})
			}
		}
		for k, v := range old {
			t.m.SetMapIndex(reflect.ValueOf(k), v)
		}
	}
}

// Forget removes a name; code compiled before keeps what it found.
func (t Names) Forget(name string) {
	t.m.SetMapIndex(reflect.ValueOf(name), reflect.Value{})
}

// Rename puts what a name stands for, if it is known, under another.
func (t Names) Rename(name, as string) {
	if symbol := t.m.MapIndex(reflect.ValueOf(name)); symbol.IsValid() {
		t.m.SetMapIndex(reflect.ValueOf(as), symbol)
	}
	t.Forget(name)
}

// index returns the place of a global variable, -1 where there is none.
func (t Names) index(name string) int {
	symbol := t.m.MapIndex(reflect.ValueOf(name))
	if !symbol.IsValid() {
		return -1
	}
	return *at[int](symbol.UnsafePointer(), layout.symbol.index)
}

// Symbols returns the interpreter's own table of a package that Use has made
// known: what is added to it later is known too.
func (m *Machine) Symbols(path string) map[string]reflect.Value {
	return (*at[map[string]map[string]reflect.Value](unsafe.Pointer(m.in), layout.interpreter.binPkg))[path]
}

// Prune drops what the interpreter keeps of every compiled text for its
// debugger, and the function that has run. It must not be called while a program
// is compiled or begins.
func (m *Machine) Prune() {
	in := unsafe.Pointer(m.in)
	*at[[]unsafe.Pointer](in, layout.interpreter.roots) = nil
	*at[[]unsafe.Pointer](*at[unsafe.Pointer](in, layout.interpreter.universe), layout.scope.child) = nil
	*at[[]unsafe.Pointer](m.mainScope(), layout.scope.child) = nil
	m.Names().Forget("main")
}

// detach takes a program apart that has been made ready and begins to run: each
// of its declarations would keep the whole tree of its file alive, by way of its
// parent.
func (p *Program) detach() {
	root := *at[node](unsafe.Pointer(p.p), layout.program.root)
	for _, c := range root.children() {
		*at[node](c.p, layout.node.anc) = node{}
	}
	*at[[]node](root.p, layout.node.child) = nil
}

// runID returns the interpreter's run number: a frame runs only while its own
// number equals it.
func (m *Machine) runID() *atomic.Uint64 {
	return at[atomic.Uint64](unsafe.Pointer(m.in), layout.interpreter.id)
}

// globalPlace returns the place of a global variable in the interpreter.
func (m *Machine) globalPlace(name string) (*reflect.Value, bool) {
	i := m.Names().index(name)
	f := *at[*runFrame](unsafe.Pointer(m.in), layout.interpreter.frame)
	if i < 0 || i >= len(f.data) || !f.data[i].IsValid() {
		return nil, false
	}
	return &f.data[i], true
}

// Global returns a global variable.
func (m *Machine) Global(name string) (reflect.Value, bool) {
	if m.Own != nil {
		return m.Own.Global(name)
	}
	v, ok := m.globalPlace(name)
	if !ok {
		return reflect.Value{}, false
	}
	return *v, true
}

// SetFunction sets a global variable of function type, nil for no value, at once for
// goroutines that call it. It reports whether there is one of the function's type.
func (m *Machine) SetFunction(name string, f reflect.Value) bool {
	v, ok := m.Global(name)
	if !ok || !v.CanAddr() || v.Kind() != reflect.Func || f.IsValid() && f.Type() != v.Type() {
		return false
	}
	held := reflect.New(v.Type())
	if f.IsValid() {
		held.Elem().Set(f)
	}
	atomic.StorePointer((*unsafe.Pointer)(v.Addr().UnsafePointer()), *(*unsafe.Pointer)(held.UnsafePointer()))
	return true
}

// Value returns the value of a global variable as compiled code sees it.
func (m *Machine) Value(name string) (reflect.Value, bool) {
	v, ok := m.Global(name)
	if !ok || !v.IsValid() {
		return v, false
	}
	if inner, ok := unwrap(v); ok {
		v = inner
	}
	return v, true
}

// Drop gives up the value of a global variable, so that its memory can be freed.
// Code that still runs with it sees the zero value.
func (m *Machine) Drop(name string) {
	if m.Own != nil {
		m.Own.Drop(cell.Clean(name))
		return
	}
	if place, ok := m.globalPlace(name); ok && place.IsValid() {
		*place = reflect.New(place.Type()).Elem()
	}
}

// moveGlobal makes the global variable to share the memory of from, whose type has the
// same layout, so that pointers to it stay valid.
func (m *Machine) moveGlobal(from, to string) {
	src, ok := m.Global(from)
	dst, ok2 := m.globalPlace(to)
	if !ok || !ok2 || src.Type().Size() != dst.Type().Size() {
		return
	}
	if !src.CanAddr() {
		dst.Set(src)
		return
	}
	*dst = reflect.NewAt(dst.Type(), src.Addr().UnsafePointer()).Elem()
}

// unwrap returns the value in v if v is a valueInterface, in which the interpreter keeps
// a value with its node.
func unwrap(v reflect.Value) (inner reflect.Value, ok bool) {
	if v.Type() != valueInterfaceType {
		return v, false
	}
	c := reflect.New(valueInterfaceType) // a copy can be addressed
	c.Elem().Set(v)
	inner = *at[reflect.Value](c.UnsafePointer(), layout.valueInterface.value)
	return inner, inner.IsValid()
}
