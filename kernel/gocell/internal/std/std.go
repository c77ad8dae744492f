package std

import (
	"cmp"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"database/sql"
	"fmt"
	"hash"
	"hash/maphash"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"unsafe"
	"weak"

	"dace.local/kernel/gocell/internal/vm"
)

// This file is the compiled part of the prelude: functions that the prelude's
// text cannot express or that would run too slowly, and instances of the
// standard library's generics for the most common types.

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
	"Must":        vm.Must,
	"Scan":        vm.ConvertAssign,
	"DriverValue": func(v any) (any, error) { return sql.Null[any]{V: v, Valid: true}.Value() },
}

// weakPointer returns a weak pointer to the variable that ptr, a pointer of any
// type, points to.
func weakPointer(ptr any) any {
	p := reflect.ValueOf(ptr)
	if p.IsNil() {
		return nil
	}
	return weak.Make((*byte)(p.UnsafePointer()))
}

// strongPointer returns the pointer of the weak pointer w, with the type of
// ptr, or nil if the variable has been collected.
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

// addCleanup is runtime.AddCleanup, but recovers a panic of the cleanup, which
// must not end the kernel.
func (l *Library) addCleanup(ptr, cleanup, arg any) any {
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
		l.machine.Guarded(func() { f.Call([]reflect.Value{a}) })()
	}, a)
}

// sortOrdered sorts a slice whose elements have any ordered type.
func sortOrdered(x any) {
	v := reflect.ValueOf(x)
	if v.Len() == 0 {
		return
	}
	switch v.Type().Elem().Kind() {
	case reflect.Int:
		slices.Sort(vm.Elements[int](v))
	case reflect.Int8:
		slices.Sort(vm.Elements[int8](v))
	case reflect.Int16:
		slices.Sort(vm.Elements[int16](v))
	case reflect.Int32:
		slices.Sort(vm.Elements[int32](v))
	case reflect.Int64:
		slices.Sort(vm.Elements[int64](v))
	case reflect.Uint:
		slices.Sort(vm.Elements[uint](v))
	case reflect.Uint8:
		slices.Sort(vm.Elements[uint8](v))
	case reflect.Uint16:
		slices.Sort(vm.Elements[uint16](v))
	case reflect.Uint32:
		slices.Sort(vm.Elements[uint32](v))
	case reflect.Uint64:
		slices.Sort(vm.Elements[uint64](v))
	case reflect.Uintptr:
		slices.Sort(vm.Elements[uintptr](v))
	case reflect.Float32:
		slices.Sort(vm.Elements[float32](v))
	case reflect.Float64:
		slices.Sort(vm.Elements[float64](v))
	case reflect.String:
		slices.Sort(vm.Elements[string](v))
	default:
		panic(fmt.Sprintf("slices.Sort: %s is not a slice of an ordered type", v.Type()))
	}
}

// lessBy returns the order of the elements of slice x that cmp defines, a
// func(a, b E) int.
func lessBy(x, cmp any) func(i, j int) bool {
	v, f := reflect.ValueOf(x), reflect.ValueOf(cmp)
	args := make([]reflect.Value, 2)
	return func(i, j int) bool {
		args[0], args[1] = v.Index(i), v.Index(j)
		return f.Call(args)[0].Int() < 0
	}
}

// compiledName returns the name of a compiled instance.
func compiledName(key string) string {
	return "I_" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(".[],/", r) {
			return '_'
		}
		return r
	}, key)
}

// Instance returns the name of the compiled instance of a
// standard library function with a key like slices.Max[[]int,int]. ok reports
// whether there is one.
func Instance(key string) (name string, ok bool) {
	name = compiledName(key)
	return name, compiledInstances()[name].IsValid()
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
		two("slices.Contains", slices.Contains[[]E])
		two("slices.ContainsFunc", slices.ContainsFunc[[]E])
		two("slices.Delete", slices.Delete[[]E])
		two("slices.DeleteFunc", slices.DeleteFunc[[]E])
		two("slices.Equal", slices.Equal[[]E])
		two("slices.Index", slices.Index[[]E])
		two("slices.IndexFunc", slices.IndexFunc[[]E])
		two("slices.IsSortedFunc", slices.IsSortedFunc[[]E])
		two("slices.MaxFunc", slices.MaxFunc[[]E])
		two("slices.MinFunc", slices.MinFunc[[]E])
		two("slices.Reverse", slices.Reverse[[]E])
		two("slices.SortFunc", slices.SortFunc[[]E])
		two("slices.SortStableFunc", slices.SortStableFunc[[]E])
	}
}

func mapInstances[K, V comparable](m map[string]reflect.Value, k, v string) {
	t := "map[" + k + "]" + v
	one := func(f string, x any) { m[compiledName(f+"["+t+","+k+","+v+"]")] = reflect.ValueOf(x) }
	two := func(f string, x any) { m[compiledName(f+"["+t+","+t+","+k+","+v+"]")] = reflect.ValueOf(x) }
	one("maps.Clone", clonedMap[map[K]V])
	one("maps.DeleteFunc", deletedFrom[map[K]V])
	two("maps.Copy", copiedMap[map[K]V, map[K]V])
	two("maps.Equal", equalMaps[map[K]V, map[K]V])
}
