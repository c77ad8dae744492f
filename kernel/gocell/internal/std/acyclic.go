package std

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"dace.local/kernel/gocell/internal/vm"
)

// For a value that contains itself, package fmt recurses until the stack is
// used up, which ends the process.

// acyclic returns the operands of a function of package fmt. It panics if one
// of them contains itself.
func acyclic(args []any) []any {
	for _, a := range args {
		switch a.(type) {
		case nil, string, int, float64, bool:
		default:
			if v := reflect.ValueOf(a); mayNest(v.Type()) {
				if v.Kind() == reflect.Pointer && !formats(v) {
					v = v.Elem()
				}
				descend(v, 0)
			}
		}
	}
	return args
}

// acyclicf is acyclic for a formatting function. A format with only %T and %p
// does not look into its operands.
func acyclicf(format string, args []any) []any {
	if strings.Count(format, "%") > strings.Count(format, "%T")+strings.Count(format, "%p") {
		acyclic(args)
	}
	return args
}

// maxNested is the depth at which a value is taken to contain itself.
const maxNested = 10000

func descend(v reflect.Value, depth int) {
	if depth > maxNested {
		panic(vm.RuntimeError("stack overflow: the value contains itself"))
	}
	if !v.IsValid() || formats(v) {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		descend(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if nests(v.Type().Elem(), nil) {
			for i := range v.Len() {
				descend(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			descend(it.Key(), depth+1)
			descend(it.Value(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			descend(v.Field(i), depth+1)
		}
	}
}

// formats reports whether a value formats itself, so that package fmt does not
// look into it.
func formats(v reflect.Value) bool {
	if v.Kind() == reflect.Interface || v.Type().NumMethod() == 0 || !v.CanInterface() {
		return false
	}
	switch v.Interface().(type) {
	case fmt.Formatter, fmt.Stringer, error:
		return true
	}
	return false
}

// nesting caches the result of nests for each type that was printed.
var nesting sync.Map // reflect.Type: bool

// mayNest reports whether a value of type t may contain itself in a way that
// package fmt follows. It follows a pointer only at the top.
func mayNest(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return nests(t, nil)
}

func nests(t reflect.Type, within []reflect.Type) (b bool) {
	if b, ok := nesting.Load(t); ok {
		return b.(bool)
	}
	for _, w := range within {
		if w == t {
			return true
		}
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Interface:
		b = true
	case reflect.Slice, reflect.Array:
		b = nests(t.Elem(), within)
	case reflect.Map:
		b = nests(t.Key(), within) || nests(t.Elem(), within)
	case reflect.Struct:
		for f := range t.Fields() {
			b = b || nests(f.Type, within)
		}
	}
	nesting.Store(t, b)
	return b
}
