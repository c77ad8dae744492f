package gocell

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Package fmt follows a value that contains itself until the stack is used up,
// which ends the process.

// finite returns the operands of a function of package fmt, and panics where
// one of them contains itself.
func finite(args []any) []any {
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

// finitef is finite for a format, which may not look into its operands.
func finitef(format string, args []any) []any {
	if strings.Count(format, "%") > strings.Count(format, "%T")+strings.Count(format, "%p") {
		finite(args)
	}
	return args
}

// maxNested is how deep values may lie in one another.
const maxNested = 10000

func descend(v reflect.Value, depth int) {
	if depth > maxNested {
		panic(goError("stack overflow: the value contains itself"))
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

// formats reports whether a value formats itself.
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

var nesting sync.Map // reflect.Type: bool

// mayNest reports whether a value of type t may contain itself in ways that
// package fmt follows: through pointers only at the top.
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
