package std

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sort"
	"sync/atomic"

	"dace.local/kernel/gocell/internal/vm"
)

// Libraries that follow a value into its depth recurse: at some millions of levels
// the stack has a gigabyte, which ends the process. Here such a value is an error,
// or a panic where the function returns none.

// mostLevels is how deep a value may be nested for a library that recurses.
const mostLevels = 250_000

// errDeep is the error of a value that is nested deeper.
var errDeep = fmt.Errorf("the value is nested more than %d levels deep: the stack would overflow", mostLevels)

// bounded panics if one of the values is nested too deep.
func bounded(values ...any) {
	for _, v := range values {
		if tooDeep(v) {
			panic(vm.RuntimeError("stack overflow: " + errDeep.Error()))
		}
	}
}

// tooDeep reports whether a value is nested deeper than mostLevels, by pointers,
// interfaces, slices and maps.
func tooDeep(x any) bool {
	switch x.(type) {
	case nil, string, int, float64, bool, []byte, []int, []float64, []string:
		return false
	}
	v := reflect.ValueOf(x)
	return mayCycle(v.Type()) && (&depthWalk{seen: map[reference]bool{}}).visit(v, 0)
}

// A depthWalk looks for a path of references into a value that is too long. It follows
// each reference once: package std finds values that contain themselves in cycles.go.
type depthWalk struct {
	seen map[reference]bool
	of   []string // packages whose structs alone are followed, and no maps; nil: all
}

// visit reports whether v, at this level, leads too deep. It visits the last part of v
// in a loop, without recursion: a long list mostly continues there.
func (w *depthWalk) visit(v reflect.Value, level int) bool {
	for {
		if level > mostLevels {
			return true
		}
		if !v.IsValid() || !mayCycle(v.Type()) {
			return false
		}
		var parts []reflect.Value
		switch k := v.Kind(); k {
		case reflect.Pointer, reflect.Map, reflect.Slice:
			if v.IsNil() {
				return false
			}
			r := reference{v.Pointer(), 0, v.Type()}
			if k == reflect.Slice {
				r.len = v.Len()
			}
			if w.seen[r] || w.of != nil && k == reflect.Map {
				return false
			}
			w.seen[r] = true
		}
		level++
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			v = v.Elem()
			continue
		case reflect.Struct:
			if w.of != nil && !slices.Contains(w.of, v.Type().PkgPath()) {
				return false
			}
			for i := range v.NumField() {
				if f := v.Field(i); mayCycle(f.Type()) {
					parts = append(parts, f)
				}
			}
			level--
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				if e := v.Index(i); i < v.Len()-1 {
					if w.visit(e, level) {
						return true
					}
				} else {
					parts = append(parts, e)
				}
			}
		case reflect.Map:
			for it := v.MapRange(); it.Next(); {
				if w.visit(it.Key(), level) || w.visit(it.Value(), level) {
					return true
				}
			}
		}
		if len(parts) == 0 {
			return false
		}
		last := len(parts) - 1
		for _, p := range parts[:last] {
			if w.visit(p, level) {
				return true
			}
		}
		v = parts[last]
	}
}

// encodedJSON returns what encode does, or an error if the value is too deep.
func encodedJSON(v any, encode func() ([]byte, error)) ([]byte, error) {
	r := reading(func() bytesAndError {
		if tooDeep(v) {
			return bytesAndError{err: errDeep}
		}
		b, err := encode()
		return bytesAndError{b, err}
	}, v)
	return r.b, r.err
}

// overrideDeep replaces the functions of a package that recurse into errors,
// contexts, readers and the like, which wrap one another.
func overrideDeep(ipath string, set func(name string, f any)) {
	switch ipath {
	case "encoding/json":
		set("Marshal", func(v any) ([]byte, error) { return encodedJSON(v, func() ([]byte, error) { return json.Marshal(v) }) })
		set("MarshalIndent", func(v any, prefix, indent string) ([]byte, error) {
			return encodedJSON(v, func() ([]byte, error) { return json.MarshalIndent(v, prefix, indent) })
		})
	case "reflect":
		set("DeepEqual", func(x, y any) bool {
			return reading(func() bool { bounded(x, y); return reflect.DeepEqual(x, y) }, x, y)
		})
	case "errors":
		set("Is", func(err, target error) bool { wrapsMany(err); return errors.Is(err, target) })
		set("As", func(err error, target any) bool { wrapsMany(err); return errors.As(err, target) })
		set("Join", func(errs ...error) error {
			for _, err := range errs {
				nested.wrap(err)
			}
			return errors.Join(errs...)
		})
	case "context":
		set("WithValue", func(parent context.Context, key, value any) context.Context {
			nested.wrap(parent)
			return context.WithValue(parent, key, value)
		})
		set("WithCancel", func(parent context.Context) (context.Context, context.CancelFunc) {
			nested.wrap(parent)
			return context.WithCancel(parent)
		})
	case "io":
		set("LimitReader", func(r io.Reader, n int64) io.Reader { nested.wrap(r); return io.LimitReader(r, n) })
		set("TeeReader", func(r io.Reader, w io.Writer) io.Reader { nested.wrap(r); nested.wrap(w); return io.TeeReader(r, w) })
		set("MultiReader", func(r ...io.Reader) io.Reader {
			for _, r := range r {
				nested.wrap(r)
			}
			return io.MultiReader(r...)
		})
		set("MultiWriter", func(w ...io.Writer) io.Writer {
			for _, w := range w {
				nested.wrap(w)
			}
			return io.MultiWriter(w...)
		})
	case "sort":
		set("Reverse", func(data sort.Interface) sort.Interface { nested.wrap(data); return sort.Reverse(data) })
	}
}

// wraps counts the calls that wrap a value in another. At one call in eachWrap the
// value's depth is checked, so that a chain of wraps costs little and cannot grow long.
type wraps struct{ calls atomic.Int64 }

var nested wraps

// eachWrap is the number of calls for which the depth is checked once.
const eachWrap = 1024

// wrap panics if a value that is to be wrapped is nested too deep already.
func (w *wraps) wrap(v any) {
	if w.calls.Add(1)%eachWrap == 0 && v != nil {
		wrappers := []string{"bufio", "context", "errors", "fmt", "io", "sort"}
		if (&depthWalk{seen: map[reference]bool{}, of: wrappers}).visit(reflect.ValueOf(v), 0) {
			panic(vm.RuntimeError("stack overflow: " + errDeep.Error()))
		}
	}
}

// wrapsMany panics if an error that wraps several is nested too deep.
func wrapsMany(err error) {
	if _, ok := err.(interface{ Unwrap() []error }); ok {
		bounded(err)
	}
}
