package std

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/mail"
	"net/textproto"
	"net/url"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"dace.local/kernel/gocell/internal/vm"
)

// Two goroutines that use one map at the same time end a Go process. The steps of
// cells lock the maps that they use; the functions here lock those that a library
// uses for them. None of them waits for another goroutine while it holds a lock (see
// streams.go).

// reading returns f's result, called while no goroutine of a cell writes to the
// maps of the values.
func reading[R any](f func() R, values ...any) (r R) {
	vm.WithMaps(false, func() { r = f() }, values...)
	return r
}

// writing is reading for functions that write to the maps.
func writing[R any](f func() R, values ...any) (r R) {
	vm.WithMaps(true, func() { r = f() }, values...)
	return r
}

// change calls f, which writes to the maps of the values.
func change(f func(), values ...any) { vm.WithMaps(true, f, values...) }

type bytesAndError struct {
	b   []byte
	err error
}

// overrideMaps replaces the functions of a package that use the maps of their
// arguments.
func overrideMaps(ipath string, set func(name string, f any)) {
	switch ipath {
	case "encoding/json":
		set("Unmarshal", func(data []byte, v any) error {
			return writing(func() error { return json.Unmarshal(data, v) }, v)
		})
	}
}

// mapMethods returns stand-ins for methods that use maps.
func mapMethods() map[string]any {
	all := map[string]any{
		"(reflect.Value).SetMapIndex": func(m, key, elem reflect.Value) {
			change(func() { m.SetMapIndex(key, elem) }, ofMap(m))
		},
		"(reflect.Value).MapIndex": func(m, key reflect.Value) reflect.Value {
			return reading(func() reflect.Value { return m.MapIndex(key) }, ofMap(m))
		},
		"(reflect.Value).MapKeys": func(m reflect.Value) []reflect.Value { return reading(m.MapKeys, ofMap(m)) },
		"(reflect.Value).Clear":   func(m reflect.Value) { change(m.Clear, ofMap(m)) },
		"(reflect.Value).MapRange": func(m reflect.Value) *reflect.MapIter {
			it := m.MapRange()
			x := &iterated{uintptr(unsafe.Pointer(it)), ofMap(m)}
			iterators.Store(x.at, x)
			// A later MapIter may have the same address.
			runtime.AddCleanup(it, func(x *iterated) { iterators.CompareAndDelete(x.at, x) }, x)
			return it
		},
		"(*reflect.MapIter).Next": func(it *reflect.MapIter) bool {
			if x, ok := iterators.Load(uintptr(unsafe.Pointer(it))); ok {
				return reading(it.Next, x.(*iterated).m)
			}
			return it.Next()
		},
		"(net/http.Header).Clone": func(h http.Header) http.Header { return reading(h.Clone, map[string][]string(h)) },
		"(net/url.Values).Encode": func(v url.Values) string { return reading(v.Encode, map[string][]string(v)) },
		"(net/url.Values).Has": func(v url.Values, key string) bool {
			return reading(func() bool { return v.Has(key) }, map[string][]string(v))
		},
		"(net/mail.Header).Get": func(h mail.Header, key string) string {
			return reading(func() string { return h.Get(key) }, map[string][]string(h))
		},
		"(net/textproto.MIMEHeader).Values": func(h textproto.MIMEHeader, key string) []string {
			return reading(func() []string { return h.Values(key) }, map[string][]string(h))
		},
		"(net/http.Header).Values": func(h http.Header, key string) []string {
			return reading(func() []string { return h.Values(key) }, map[string][]string(h))
		},
	}
	headerMethods[http.Header](all, "(net/http.Header)")
	headerMethods[url.Values](all, "(net/url.Values)")
	headerMethods[textproto.MIMEHeader](all, "(net/textproto.MIMEHeader)")
	return all
}

// headerMethods puts stand-ins for the methods that http.Header, url.Values and
// MIMEHeader have in common into a table.
func headerMethods[H interface {
	~map[string][]string
	Add(key, value string)
	Set(key, value string)
	Del(key string)
	Get(key string) string
}](all map[string]any, name string) {
	all[name+".Add"] = func(h H, key, value string) { change(func() { h.Add(key, value) }, map[string][]string(h)) }
	all[name+".Set"] = func(h H, key, value string) { change(func() { h.Set(key, value) }, map[string][]string(h)) }
	all[name+".Del"] = func(h H, key string) { change(func() { h.Del(key) }, map[string][]string(h)) }
	all[name+".Get"] = func(h H, key string) string {
		return reading(func() string { return h.Get(key) }, map[string][]string(h))
	}
}

// iterators maps the address of a MapIter of a cell to its map, until it is
// collected.
var iterators sync.Map // uintptr -> *iterated

// An iterated is the map of the MapIter at an address.
type iterated struct {
	at uintptr
	m  any
}

// ofMap returns the map that a reflect.Value is, nil if it is none.
func ofMap(v reflect.Value) any {
	if v.Kind() != reflect.Map || v.IsNil() {
		return nil
	}
	// A map of another type, with the same address: its lock is the same.
	p := v.UnsafePointer()
	return *(*map[int]int)(unsafe.Pointer(&p))
}

// shares reports whether some of the values consist of maps.
func shares(values []any) bool {
	for _, v := range values {
		switch v.(type) {
		case nil, string, int, float64, bool:
		default:
			if vm.MayHoldMaps(reflect.TypeOf(v)) {
				return true
			}
		}
	}
	return false
}

// formatted returns a function that formats operands with f, which is given them
// after it is known that none contains itself.
func formatted[R any](f func(a []any) R) func(a []any) R {
	return func(a []any) R {
		if !shares(a) {
			return f(acyclic(a))
		}
		return reading(func() R { return f(acyclic(a)) }, a...)
	}
}

// printed writes operands as f formats them. While it writes it holds no lock.
func printed(w io.Writer, a []any, format func(b []byte, a ...any) []byte, print func(w io.Writer, a ...any) (int, error)) (int, error) {
	if !shares(a) {
		return print(w, acyclic(a)...)
	}
	return w.Write(reading(func() []byte { return format(nil, acyclic(a)...) }, a...))
}

// printedf is printed with a format.
func printedf(w io.Writer, format string, a []any) (int, error) {
	if !shares(a) {
		return fmt.Fprintf(w, format, acyclicf(format, a)...)
	}
	return w.Write(reading(func() []byte { return fmt.Appendf(nil, format, acyclicf(format, a)...) }, a...))
}

// formattedf is formatted with a format.
func formattedf[R any](f func(format string, a ...any) R) func(format string, a ...any) R {
	return func(format string, a ...any) R {
		if !shares(a) {
			return f(format, acyclicf(format, a)...)
		}
		return reading(func() R { return f(format, acyclicf(format, a)...) }, a...)
	}
}

// The instances of package maps for common types.

func clonedMap[M ~map[K]V, K comparable, V any](m M) M {
	return reading(func() M { return maps.Clone(m) }, m)
}

func copiedMap[M1 ~map[K]V, M2 ~map[K]V, K comparable, V any](dst M1, src M2) {
	change(func() { maps.Copy(dst, src) }, dst, src)
}

func equalMaps[M1, M2 ~map[K]V, K, V comparable](x M1, y M2) bool {
	return reading(func() bool { return maps.Equal(x, y) }, x, y)
}

func deletedFrom[M ~map[K]V, K comparable, V any](m M, del func(K, V) bool) {
	change(func() { maps.DeleteFunc(m, del) }, m)
}
