package vm

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
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
