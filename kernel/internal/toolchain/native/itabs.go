package native

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/buildinfo"
)

// A value of an interface type with methods begins with a pointer to the table of
// its methods (runtime.itab). There is one for each pair of an interface and a type,
// and compiled code compares the pointers: x.(T), a type switch and x == y do. The run
// time makes a table when a conversion first wants one; a plugin that is loaded later
// brings its own for the same pair, and by that its code would not know the values
// that have the first. So a plugin's references to its tables are set to those that
// the run time uses.

// A plugin that was built with copies of types (Loader.Bind) refers to those as well, by
// their descriptors and tables. Its references are set to the types that it copied, so that
// its values are of these.

// An image is a plugin in memory, as far as its references can be set.
type image struct {
	types, tables []uintptr // where it refers to descriptors of types, and to tables of methods
	fixed         []byte    // what is only read after it has been loaded
	spans         [][2]uintptr
}

// images holds the plugins of this process by the import path. A cell that uses one does
// not wait for the build of another, which the mutex of loaded guards.
var images = struct {
	sync.Mutex // guards the following
	of         map[string]*image
	spans      [][2]uintptr // the parts of memory of the plugins; the types of the program all code has
}{of: map[string]*image{}}

// keep notes the plugin of an import path.
func (im *image) keep(path string) {
	images.Lock()
	defer images.Unlock()
	images.of[path] = im
	if im != nil {
		images.spans = append(images.spans, im.spans...)
	}
}

// inPlugin reports whether a plugin has what lies at an address. The caller holds the mutex
// of images.
func inPlugin(p unsafe.Pointer) bool {
	return slices.ContainsFunc(images.spans, func(s [2]uintptr) bool { return s[0] <= uintptr(p) && uintptr(p) < s[1] })
}

// Binds reports whether Bind has an effect on this system.
func (l *Loader) Binds() bool { return unifies }

// Bind has the package that was loaded from a path use other types in the place of those
// that it declares: they have the same layouts and the same methods. It is for packages
// none of whose functions has run.
func (l *Loader) Bind(path string, to map[reflect.Type]reflect.Type) error {
	images.Lock()
	defer images.Unlock()
	im := images.of[path]
	if im == nil {
		return errors.New("the references of its plugin are not known")
	}
	for from, t := range to {
		if from.Size() != t.Size() || from.Kind() != t.Kind() {
			return fmt.Errorf("%s has another layout there", t)
		}
	}
	return im.bind(substitution(to))
}

// A substitution replaces types by others.
type substitution map[reflect.Type]reflect.Type

// of returns a type with those that it consists of replaced. Structs with fields that are
// not exported, and interfaces with methods, stay as they are unless they have a name.
func (s substitution) of(t reflect.Type) reflect.Type {
	if u, ok := s[t]; ok || t.Name() != "" {
		return cmp.Or(u, t)
	}
	list := func(n int, at func(int) reflect.Type) (l []reflect.Type) {
		for i := range n {
			l = append(l, s.of(at(i)))
		}
		return l
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(s.of(t.Elem()))
	case reflect.Slice:
		return reflect.SliceOf(s.of(t.Elem()))
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), s.of(t.Elem()))
	case reflect.Chan:
		return reflect.ChanOf(t.ChanDir(), s.of(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(s.of(t.Key()), s.of(t.Elem()))
	case reflect.Func:
		return reflect.FuncOf(list(t.NumIn(), t.In), list(t.NumOut(), t.Out), t.IsVariadic())
	case reflect.Struct:
		fields := make([]reflect.StructField, t.NumField())
		for i := range fields {
			fields[i] = t.Field(i)
			if !token.IsExported(fields[i].Name) || fields[i].Anonymous {
				return t
			}
			fields[i].Type = s.of(fields[i].Type)
		}
		return reflect.StructOf(fields)
	}
	return t
}

// bind sets the references to types and to tables of their methods.
func (im *image) bind(s substitution) error {
	values := map[uintptr]unsafe.Pointer{}
	for _, at := range im.types {
		d := *reference(at)
		if !inPlugin(d) {
			continue
		}
		t := typeAt(d)
		if u := s.of(t); u != t {
			values[at] = descriptorOf(u)
		}
	}
	for _, at := range im.tables {
		if !inPlugin(*reference(at)) {
			continue
		}
		x := (*itab)(*reference(at))
		i, t := typeAt(x.inter), typeAt(x.typ)
		j, u := s.of(i), s.of(t)
		if i == j && t == u {
			continue
		}
		if !u.Implements(j) || i.NumMethod() != j.NumMethod() {
			return fmt.Errorf("%s is no %s there", u, j)
		}
		for k := range i.NumMethod() {
			if i.Method(k).Name != j.Method(k).Name {
				return fmt.Errorf("%s has its methods in another order there", j)
			}
		}
		values[at] = unsafe.Pointer(table(j, u))
	}
	return im.set(values)
}

// reference returns the reference of a plugin at an address. A plugin's memory is none that
// the run time allocated, which the checks of pointers under the race detector take for a
// mistake.
//
//go:nocheckptr
func reference(at uintptr) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(nil), at))
}

// An itab is how a table begins.
type itab struct {
	inter, typ unsafe.Pointer
	hash       uint32 // the type's; 0 in tables that the run time has made
}

// used returns the table that the run time uses for the interface and the type of x,
// with the hash, by which type switches look first.
func (x *itab) used() *itab {
	y := table(typeAt(x.inter), typeAt(x.typ))
	if y != x {
		atomic.StoreUint32(&y.hash, x.hash)
	}
	return y
}

// table returns the table that the run time uses for an interface and a type.
func table(inter, typ reflect.Type) *itab {
	v := reflect.New(inter).Elem()
	v.Set(reflect.Zero(typ))
	return *(**itab)(v.Addr().UnsafePointer())
}

// descriptorOf is the reverse of typeAt.
func descriptorOf(t reflect.Type) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1] }

// typeAt returns the type with a descriptor.
func typeAt(descriptor unsafe.Pointer) reflect.Type {
	return reflect.TypeOf(*(*any)(unsafe.Pointer(&[2]unsafe.Pointer{descriptor, nil})))
}

func init() {
	var e error = buildError
	x := *(**itab)(unsafe.Pointer(&e))
	const typeHash = 2 * unsafe.Sizeof(uintptr(0)) // where a descriptor has it
	if t := reflect.TypeFor[error](); typeAt(x.inter) != t || typeAt(x.typ) != reflect.TypeOf(e) || x.hash != *(*uint32)(unsafe.Add(x.typ, typeHash)) {
		buildinfo.Refuse(fmt.Errorf("the table of the methods of %T does not begin with an interface, a type and its hash", e))
	}
}

// buildError is for the check above.
var buildError = new(BuildError)
