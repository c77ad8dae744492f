package gocell

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/traefik/yaegi/interp"
)

// The interpreter keeps its package table and its run number to itself. Three
// things must be done there that its API does not offer: forgetting a name
// before it is declared anew (a type or method declared twice would silently
// keep its first meaning), putting the table back after a cell that does not
// compile, and keeping closures of an interrupted run alive.

// A symbolTable is the interpreter's table of package main, by reflection.
type symbolTable struct{ m reflect.Value }

// mainTable returns the table of package main; it exists once something was
// compiled.
func mainTable(in *interp.Interpreter) symbolTable {
	sc := reflect.ValueOf(in).Elem().FieldByName("scopes").MapIndex(reflect.ValueOf("main"))
	f := sc.Elem().FieldByName("sym")
	return symbolTable{reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()}
}

// snapshot copies the table.
func (t symbolTable) snapshot() map[string]reflect.Value {
	s := make(map[string]reflect.Value, t.m.Len())
	for it := t.m.MapRange(); it.Next(); {
		s[it.Key().String()] = it.Value()
	}
	return s
}

// restore puts a copy back.
func (t symbolTable) restore(s map[string]reflect.Value) {
	for _, k := range t.m.MapKeys() {
		if _, ok := s[k.String()]; !ok {
			t.m.SetMapIndex(k, reflect.Value{})
		}
	}
	for k, v := range s {
		t.m.SetMapIndex(reflect.ValueOf(k), v)
	}
}

// get returns a name's symbol, set puts it under a name, and forget removes a
// name; code compiled before keeps what it found.
func (t symbolTable) get(name string) reflect.Value {
	return t.m.MapIndex(reflect.ValueOf(name))
}

func (t symbolTable) set(name string, sym reflect.Value) {
	t.m.SetMapIndex(reflect.ValueOf(name), sym)
}

func (t symbolTable) forget(name string) {
	t.m.SetMapIndex(reflect.ValueOf(name), reflect.Value{})
}

// prune drops what the interpreter keeps of every compiled text for its
// debugger.
func prune(in *interp.Interpreter) {
	v := reflect.ValueOf(in).Elem()
	zero := func(f reflect.Value) { reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().SetZero() }
	zero(v.FieldByName("roots"))
	zero(v.FieldByName("universe").Elem().FieldByName("child"))
	zero(v.FieldByName("scopes").MapIndex(reflect.ValueOf("main")).Elem().FieldByName("child"))
}

// runID returns the interpreter's run number, its first field: a frame runs
// only while its own number equals it.
func runID(in *interp.Interpreter) *uint64 {
	return (*uint64)(unsafe.Pointer(in))
}

func loadRunID(in *interp.Interpreter) uint64     { return atomic.LoadUint64(runID(in)) }
func storeRunID(in *interp.Interpreter, n uint64) { atomic.StoreUint64(runID(in), n) }

// globals returns the interpreter's global variables.
func globals(in *interp.Interpreter) []reflect.Value {
	f := reflect.ValueOf(in).Elem().FieldByName("frame").Elem().FieldByName("data")
	return *(*[]reflect.Value)(unsafe.Pointer(f.UnsafeAddr()))
}

// globalPlace returns the place of a global variable among globals.
func globalPlace(in *interp.Interpreter, name string) (*reflect.Value, bool) {
	sym := mainTable(in).get(name)
	if !sym.IsValid() {
		return nil, false
	}
	i := int(sym.Elem().FieldByName("index").Int())
	if data := globals(in); i >= 0 && i < len(data) {
		return &data[i], true
	}
	return nil, false
}

// globalValue returns a global variable.
func globalValue(in *interp.Interpreter, name string) (reflect.Value, bool) {
	v, ok := globalPlace(in, name)
	if !ok {
		return reflect.Value{}, false
	}
	return *v, true
}

// moveGlobal makes one global variable the other of another type of the same
// layout: they are one memory, for the pointers to it.
func moveGlobal(in *interp.Interpreter, from, to string) {
	src, ok := globalValue(in, from)
	dst, ok2 := globalPlace(in, to)
	if !ok || !ok2 || src.Type().Size() != dst.Type().Size() {
		return
	}
	if !src.CanAddr() {
		dst.Set(src)
		return
	}
	*dst = reflect.NewAt(dst.Type(), src.Addr().UnsafePointer()).Elem()
}

// unwrap takes a value out of what the interpreter keeps a recovered panic in.
func unwrap(v reflect.Value) (inner reflect.Value, ok bool) {
	t := v.Type()
	if t.PkgPath() != "github.com/traefik/yaegi/interp" || t.Name() != "valueInterface" {
		return v, false
	}
	f := v.FieldByName("value")
	if !f.CanAddr() {
		// A copy can be addressed, and so its hidden field read.
		c := reflect.New(t).Elem()
		c.Set(v)
		f = c.FieldByName("value")
	}
	inner = *(*reflect.Value)(unsafe.Pointer(f.UnsafeAddr()))
	return inner, inner.IsValid()
}

// prepareRun readies the interpreter for a run that stop ends: the frames that
// run come to a halt and waits on channels are given up. (ExecuteWithContext
// does the same but returns before a stopped run has unwound, and writes its
// results while they are read.)
func prepareRun(in *interp.Interpreter) (stop func()) {
	v := reflect.ValueOf(in).Elem()
	mu := (*sync.RWMutex)(unsafe.Pointer(v.FieldByName("mutex").UnsafeAddr()))
	done := (*chan struct{})(unsafe.Pointer(v.FieldByName("done").UnsafeAddr()))
	cancelChan := (*bool)(unsafe.Pointer(v.FieldByName("cancelChan").UnsafeAddr()))
	c := make(chan struct{})
	mu.Lock()
	*done, *cancelChan = c, true
	mu.Unlock()
	return func() {
		atomic.AddUint64(runID(in), 1)
		close(c)
	}
}
