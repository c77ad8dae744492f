package vm

import (
	"flag"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Graphs of gonum and gorgonia, and sets of flags, are maps without locks: two
// goroutines that use one end the process. A call of a cell that is given such an
// object holds a lock for it.

// objects are the locks of such objects: an object's is chosen by its address.
var objects [64]sync.RWMutex

// inObject holds the goroutines that hold such locks: what a library calls back
// does not wait for more.
var inObject sync.Map // uintptr, the goroutine -> nil

// sharing are the import paths below which types and functions are guarded.
var sharing = []string{"gonum.org/v1/gonum/graph", "gorgonia.org/gorgonia", "flag", "go/types", "crypto/x509"}

// isSharing reports whether a package is guarded, or the package of a function, given by
// its full name.
func isSharing(path string) bool {
	return slices.ContainsFunc(sharing, func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || rest[0] == '/' || rest[0] == '.')
	})
}

// MayShare reports whether a value of a type may be a guarded object.
func MayShare(t reflect.Type) bool {
	if t == nil {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer:
		return isSharing(t.Elem().PkgPath())
	case reflect.Slice:
		return MayShare(t.Elem())
	case reflect.Interface:
		return isSharing(t.PkgPath())
	}
	return false
}

// lockObjects makes the step of a call of compiled code hold the locks of the
// guarded objects among its receiver and arguments. Other steps are returned as
// they are.
func lockObjects(n node, run step) step {
	if k := n.parent().kind(); k == "deferStmt" || k == "goStmt" {
		return run
	}
	c := n.children()
	callee := c[0]
	name, function := "", false
	var values []func(unsafe.Pointer) reflect.Value
	if r := callee.rval(); r.IsValid() && r.Kind() == reflect.Func {
		name, function = SharingFunction(r)
	}
	if x := callee.children(); callee.kind() == "selectorExpr" && len(x) == 2 {
		if t := x[0].typ(); t.p != nil && !function && MayShare(t.reflected()) {
			values = append(values, genValue(x[0].p))
		}
		if name == "" {
			name = x[1].ident()
		}
	}
	for _, a := range c[1:] {
		if t := a.typ(); t.p != nil && (t.cat() != "nilT" && MayShare(t.reflected())) {
			values = append(values, genValue(a.p))
		}
	}
	flags := function && strings.HasPrefix(name, "flag.")
	if len(values) == 0 && !flags {
		return run
	}
	write := MayWrite(name, function)
	return func(f unsafe.Pointer) step {
		list := make([]reflect.Value, len(values), len(values)+1)
		for i, v := range values {
			list[i] = v(f)
		}
		if flags {
			list = append(list, reflect.ValueOf(flag.CommandLine))
		}
		defer LockObjects(list, write)()
		return run(f)
	}
}

// SharingFunction returns the full name of a function of a guarded package.
func SharingFunction(f reflect.Value) (name string, ok bool) {
	if f := runtime.FuncForPC(f.Pointer()); f != nil && isSharing(f.Name()) {
		return f.Name(), true
	}
	return "", false
}

// LockObjects locks the guarded objects among values for this goroutine, until the
// function that it returns is called.
func LockObjects(values []reflect.Value, write bool) (unlock func()) {
	var all []int
	for _, v := range values {
		all = lockOf(all, v)
	}
	g := currentG()
	if _, nested := inObject.Load(g); nested || len(all) == 0 {
		return func() {}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	inObject.Store(g, nil)
	for _, i := range all {
		if write {
			objects[i].Lock()
		} else {
			objects[i].RLock()
		}
	}
	return func() {
		for _, i := range all {
			if write {
				objects[i].Unlock()
			} else {
				objects[i].RUnlock()
			}
		}
		inObject.Delete(g)
	}
}

// MayWrite reports whether a function, by its full name, or a method, by its own,
// may write to the objects that it is given. Algorithms on graphs only read them.
func MayWrite(name string, function bool) bool {
	if function {
		return !strings.HasPrefix(name, "gonum.org/v1/gonum/graph/") || strings.Contains(name, "/gen.") || strings.Contains(name, ".Copy")
	}
	for _, reads := range []string{"From", "To", "Edge", "Edges", "Node", "Nodes", "Weight", "Lines", "Line", "HasEdge", "Between"} {
		if strings.HasPrefix(name, reads) {
			return false
		}
	}
	return true
}

// lockOf adds the index of a value's lock to a list, if the value is a guarded
// object.
func lockOf(all []int, v reflect.Value) []int {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return all
	}
	if v.Kind() == reflect.Slice {
		for i := range min(v.Len(), 4) {
			all = lockOf(all, v.Index(i))
		}
		return all
	}
	if v.Kind() != reflect.Pointer || v.IsNil() || !isSharing(v.Type().Elem().PkgPath()) {
		return all
	}
	p := v.Pointer()
	if e := v.Elem(); e.Kind() == reflect.Struct && e.Type().Name() == "Node" { // of gorgonia: a part of its graph
		for i := range e.NumField() {
			if g := e.Field(i); g.Kind() == reflect.Pointer && g.Type().Elem().Name() == "ExprGraph" && !g.IsNil() {
				p = g.Pointer()
			}
		}
	}
	return append(all, int((p>>5^p>>13)%uintptr(len(objects))))
}
