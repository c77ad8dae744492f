// Package goroutine attaches a value to a goroutine. The goroutines that it
// starts inherit the value, in compiled and in interpreted code. The kernel
// finds by it to which cell an output or a wait belongs, also after the cell has
// ended.
//
// It uses the label pointer that the runtime copies to every new goroutine
// for profiles (runtime/pprof). Code that sets profiler labels of its own
// loses the value.
package goroutine

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/buildinfo"
)

// A holder is the target of the label pointer. It begins with the layout of an
// empty set of profiler labels, so that a profile can read it.
type holder struct {
	labels []label
	value  any
}

type label = struct{ key, value string }

func init() {
	if err := checkLabels(reflect.TypeFor[pprof.LabelSet]()); err != nil {
		buildinfo.Refuse(err)
	}
}

// checkLabels returns an error where a set of profiler labels is laid out in
// another way than at the beginning of a holder.
func checkLabels(set reflect.Type) error {
	ours := reflect.TypeFor[holder]().Field(0).Type
	if set.Kind() == reflect.Struct && set.NumField() == 1 {
		if list := set.Field(0).Type; list.Kind() == reflect.Slice && list.Elem().Kind() == reflect.Struct && list.Elem().Size() == ours.Elem().Size() {
			return nil
		}
	}
	return fmt.Errorf("a set of profiler labels is not a list of pairs of strings: %s", set)
}

// live holds the addresses of all holders, to distinguish them from profiler
// labels.
var live sync.Map // uintptr -> struct{}

//go:linkname getLabel runtime/pprof.runtime_getProfLabel
func getLabel() unsafe.Pointer

//go:linkname setLabel runtime/pprof.runtime_setProfLabel
func setLabel(unsafe.Pointer)

// newHolder returns a holder that Value knows.
func newHolder(v any, labels ...label) *holder {
	h := &holder{labels, v}
	at := uintptr(unsafe.Pointer(h))
	live.Store(at, struct{}{})
	runtime.AddCleanup(h, func(at uintptr) { live.Delete(at) }, at)
	return h
}

// With calls f. During the call v is the value of this goroutine, and of the
// goroutines that f starts.
func With(v any, f func()) {
	h := newHolder(v)
	old := getLabel()
	setLabel(unsafe.Pointer(h))
	defer setLabel(old)
	f()
}

// current returns the holder of this goroutine, nil if it has none.
func current() *holder {
	p := getLabel()
	if p == nil {
		return nil
	}
	if _, ok := live.Load(uintptr(p)); !ok {
		return nil
	}
	return (*holder)(p)
}

// Value returns the value of this goroutine, or nil if it has none.
func Value() any {
	if h := current(); h != nil {
		return h.value
	}
	return nil
}

// SetLabel gives this goroutine a label for profilers, in place of the one that it
// has, until the innermost With ends. Goroutines that it starts inherit it.
func SetLabel(key, value string) {
	setLabel(unsafe.Pointer(newHolder(Value(), label{key, value})))
}

// WithLabel calls f with SetLabel.
func WithLabel(key, value string, f func()) {
	old := getLabel()
	defer setLabel(old)
	SetLabel(key, value)
	f()
}

// Label returns the value of this goroutine's label for profilers, "" if it has none.
func Label(key string) string {
	if h := current(); h != nil {
		for _, l := range h.labels {
			if l.key == key {
				return l.value
			}
		}
	}
	return ""
}

// fallback holds the value of SetDefault.
var fallback atomic.Value // of defaultValue

type defaultValue struct{ v any }

// SetDefault sets the value that ValueOrDefault returns in goroutines without one.
func SetDefault(v any) { fallback.Store(defaultValue{v}) }

// ValueOrDefault returns the value of this goroutine, or, if it has none, that of
// SetDefault: a goroutine of a library or of a timer need not have been started by one
// of a cell.
func ValueOrDefault() any {
	if v := Value(); v != nil {
		return v
	}
	d, _ := fallback.Load().(defaultValue)
	return d.v
}
