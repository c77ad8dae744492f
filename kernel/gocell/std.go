package gocell

import (
	"cmp"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"database/sql"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"hash"
	"hash/maphash"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"unsafe"
	"weak"
)

// The compiled part of the prelude: what its text cannot say or would say too
// slowly, and instances of the standard library's generics for the commonest
// types.

// stdText declares stdFuncs for the type checker.
const stdText = `package std

func Sort(x any)
func Pull(seq func(yield func() bool)) (next func() bool, stop func())
func Hash(h, v any)
func SortFunc(x, cmp any)
func SortStableFunc(x, cmp any)
func Weak(ptr any) any
func Strong(w, ptr any) any
func AddCleanup(ptr, cleanup, arg any) any
func Scan(dest, src any) error
func DriverValue(v any) (any, error)
`

var stdFuncs = map[string]any{
	"Sort":           sortOrdered,
	"RangeError":     newRangeError,
	"SortFunc":       func(x, cmp any) { sort.Slice(x, lessBy(x, cmp)) },
	"SortStableFunc": func(x, cmp any) { sort.SliceStable(x, lessBy(x, cmp)) },
	"Hash":           func(h, v any) { maphash.WriteComparable(h.(*maphash.Hash), v) },
	"Pull": func(seq func(yield func() bool)) (func() bool, func()) {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			seq(func() bool { return yield(struct{}{}) })
		})
		return func() bool { _, ok := next(); return ok }, stop
	},
	"Weak":        weakPointer,
	"Strong":      strongPointer,
	"Scan":        convertAssign,
	"DriverValue": func(v any) (any, error) { return sql.Null[any]{V: v, Valid: true}.Value() },
}

// convertAssign is what sql.Rows scans with.
//
//go:linkname convertAssign database/sql.convertAssign
func convertAssign(dest, src any) error

// weakPointer returns a weak pointer to what a pointer of any type points to.
func weakPointer(ptr any) any {
	p := reflect.ValueOf(ptr)
	if p.IsNil() {
		return nil
	}
	return weak.Make((*byte)(p.UnsafePointer()))
}

// strongPointer returns a pointer, of the type of ptr, to what a weak pointer
// points to; nil where that is gone.
func strongPointer(w, ptr any) any {
	if w == nil {
		return nil
	}
	p := w.(weak.Pointer[byte]).Value()
	if p == nil {
		return nil
	}
	return reflect.NewAt(reflect.TypeOf(ptr).Elem(), unsafe.Pointer(p)).Interface()
}

// addCleanup is runtime.AddCleanup. A cleanup that panics must not end the
// kernel.
func (s *Session) addCleanup(ptr, cleanup, arg any) any {
	p, f := reflect.ValueOf(ptr), reflect.ValueOf(cleanup)
	if p.IsNil() {
		panic("runtime.AddCleanup: ptr is nil")
	}
	a := reflect.ValueOf(arg)
	if !a.IsValid() {
		a = reflect.Zero(f.Type().In(0))
	}
	if a.Kind() == reflect.Pointer && a.UnsafePointer() == p.UnsafePointer() {
		panic("runtime.AddCleanup: ptr is equal to arg, cleanup will never run")
	}
	return runtime.AddCleanup((*byte)(p.UnsafePointer()), func(a reflect.Value) {
		s.guarded(func() { f.Call([]reflect.Value{a}) })()
	}, a)
}

// stdTypes returns the package of stdFuncs as the type checker sees it.
var stdTypes = sync.OnceValue(func() *types.Package {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "std.go", stdText, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	conf := types.Config{Error: func(error) {}} // the functions have no bodies
	p, _ := conf.Check(stdPath, fset, []*ast.File{f}, nil)
	p.MarkComplete()
	return p
})

// sortOrdered sorts a slice of any ordered type.
func sortOrdered(x any) {
	v := reflect.ValueOf(x)
	if v.Len() == 0 {
		return
	}
	switch v.Type().Elem().Kind() {
	case reflect.Int:
		slices.Sort(elements[int](v))
	case reflect.Int8:
		slices.Sort(elements[int8](v))
	case reflect.Int16:
		slices.Sort(elements[int16](v))
	case reflect.Int32:
		slices.Sort(elements[int32](v))
	case reflect.Int64:
		slices.Sort(elements[int64](v))
	case reflect.Uint:
		slices.Sort(elements[uint](v))
	case reflect.Uint8:
		slices.Sort(elements[uint8](v))
	case reflect.Uint16:
		slices.Sort(elements[uint16](v))
	case reflect.Uint32:
		slices.Sort(elements[uint32](v))
	case reflect.Uint64:
		slices.Sort(elements[uint64](v))
	case reflect.Uintptr:
		slices.Sort(elements[uintptr](v))
	case reflect.Float32:
		slices.Sort(elements[float32](v))
	case reflect.Float64:
		slices.Sort(elements[float64](v))
	case reflect.String:
		slices.Sort(elements[string](v))
	default:
		panic(fmt.Sprintf("slices.Sort: %s is not a slice of an ordered type", v.Type()))
	}
}

// lessBy returns the order of the elements of the slice x by a function
// func(a, b E) int.
func lessBy(x, cmp any) func(i, j int) bool {
	v, f := reflect.ValueOf(x), reflect.ValueOf(cmp)
	args := make([]reflect.Value, 2)
	return func(i, j int) bool {
		args[0], args[1] = v.Index(i), v.Index(j)
		return f.Call(args)[0].Int() < 0
	}
}

// elements returns the elements of a slice whose element type has E's layout.
func elements[E any](v reflect.Value) []E {
	return unsafe.Slice((*E)(v.UnsafePointer()), v.Len())
}

// compiledName is the name of a compiled instance in the interpreter.
func compiledName(key string) string {
	return "I_" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(".[],/", r) {
			return '_'
		}
		return r
	}, key)
}

// compiled returns the name of the compiled instance of a function of the
// standard library.
func compiled(o types.Object, args []types.Type) (string, bool) {
	if o.Pkg() == nil || pathOf(o.Pkg()) == "main" {
		return "", false
	}
	for _, a := range args {
		if _, isAlias := a.(*types.Alias); isAlias {
			return "", false
		}
	}
	name := compiledName(o.Pkg().Path() + "." + o.Name() + "[" + typeList(args, nil) + "]")
	_, ok := compiledInstances()[name]
	return name, ok
}

// compiledInstances returns the compiled instances by name.
var compiledInstances = sync.OnceValue(func() map[string]reflect.Value {
	m := map[string]reflect.Value{}
	orderedInstances[int](m, "int")
	orderedInstances[float64](m, "float64")
	orderedInstances[string](m, "string")
	orderedInstances[byte](m, "byte", "uint8")
	orderedInstances[rune](m, "rune", "int32")
	orderedInstances[int64](m, "int64")
	orderedInstances[uint64](m, "uint64")
	orderedInstances[float32](m, "float32")
	comparableInstances[bool](m, "bool")
	mapInstances[string, int](m, "string", "int")
	mapInstances[string, float64](m, "string", "float64")
	mapInstances[string, string](m, "string", "string")
	mapInstances[string, bool](m, "string", "bool")
	mapInstances[int, int](m, "int", "int")
	mapInstances[int, string](m, "int", "string")
	mapInstances[int, float64](m, "int", "float64")
	mapInstances[int, bool](m, "int", "bool")
	for f, v := range map[string]any{
		"crypto/hkdf.Expand": hkdf.Expand[hash.Hash], "crypto/hkdf.Extract": hkdf.Extract[hash.Hash],
		"crypto/hkdf.Key": hkdf.Key[hash.Hash], "crypto/pbkdf2.Key": pbkdf2.Key[hash.Hash],
	} {
		m[compiledName(f+"[hash.Hash]")] = reflect.ValueOf(v)
	}
	return m
})

func orderedInstances[E cmp.Ordered](m map[string]reflect.Value, names ...string) {
	comparableInstances[E](m, names...)
	for _, e := range names {
		one := func(f string, v any) { m[compiledName(f+"["+e+"]")] = reflect.ValueOf(v) }
		two := func(f string, v any) { m[compiledName(f+"[[]"+e+","+e+"]")] = reflect.ValueOf(v) }
		one("cmp.Compare", cmp.Compare[E])
		one("cmp.Less", cmp.Less[E])
		two("slices.BinarySearch", slices.BinarySearch[[]E])
		two("slices.Compare", slices.Compare[[]E])
		two("slices.IsSorted", slices.IsSorted[[]E])
		two("slices.Max", slices.Max[[]E])
		two("slices.Min", slices.Min[[]E])
		two("slices.Sort", slices.Sort[[]E])
	}
}

func comparableInstances[E comparable](m map[string]reflect.Value, names ...string) {
	for _, e := range names {
		two := func(f string, v any) { m[compiledName(f+"[[]"+e+","+e+"]")] = reflect.ValueOf(v) }
		m[compiledName("cmp.Or["+e+"]")] = reflect.ValueOf(cmp.Or[E])
		two("slices.Clip", slices.Clip[[]E])
		two("slices.Clone", slices.Clone[[]E])
		two("slices.Compact", slices.Compact[[]E])
		two("slices.CompactFunc", slices.CompactFunc[[]E])
		two("slices.Concat", slices.Concat[[]E])
		two("slices.Contains", slices.Contains[[]E])
		two("slices.ContainsFunc", slices.ContainsFunc[[]E])
		two("slices.Delete", slices.Delete[[]E])
		two("slices.DeleteFunc", slices.DeleteFunc[[]E])
		two("slices.Equal", slices.Equal[[]E])
		two("slices.Grow", slices.Grow[[]E])
		two("slices.Index", slices.Index[[]E])
		two("slices.IndexFunc", slices.IndexFunc[[]E])
		two("slices.Insert", slices.Insert[[]E])
		two("slices.IsSortedFunc", slices.IsSortedFunc[[]E])
		two("slices.MaxFunc", slices.MaxFunc[[]E])
		two("slices.MinFunc", slices.MinFunc[[]E])
		two("slices.Repeat", slices.Repeat[[]E])
		two("slices.Replace", slices.Replace[[]E])
		two("slices.Reverse", slices.Reverse[[]E])
		two("slices.SortFunc", slices.SortFunc[[]E])
		two("slices.SortStableFunc", slices.SortStableFunc[[]E])
	}
}

func mapInstances[K, V comparable](m map[string]reflect.Value, k, v string) {
	t := "map[" + k + "]" + v
	one := func(f string, x any) { m[compiledName(f+"["+t+","+k+","+v+"]")] = reflect.ValueOf(x) }
	two := func(f string, x any) { m[compiledName(f+"["+t+","+t+","+k+","+v+"]")] = reflect.ValueOf(x) }
	one("maps.Clone", maps.Clone[map[K]V])
	one("maps.DeleteFunc", maps.DeleteFunc[map[K]V])
	two("maps.Copy", maps.Copy[map[K]V, map[K]V])
	two("maps.Equal", maps.Equal[map[K]V, map[K]V])
}
