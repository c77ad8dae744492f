// Package goroutine gives a goroutine a value that the goroutines it starts
// inherit, compiled and interpreted ones alike: the cell that an output or a
// wait belongs to is found by it, long after the cell has ended.
//
// It uses the label pointer that the runtime copies to every new goroutine
// for profiles (runtime/pprof). Code that sets profiler labels of its own
// loses the value.
package goroutine

import (
	"runtime"
	"sync"
	"unsafe"
)

// A holder is what the label pointer points to. It begins like a set of
// profiler labels, an empty one, so that a profile may read it.
type holder struct {
	labels []struct{ key, value string }
	value  any
}

// live holds the addresses of all holders, to tell them from real labels.
var live sync.Map // uintptr -> struct{}

//go:linkname getLabel runtime/pprof.runtime_getProfLabel
func getLabel() unsafe.Pointer

//go:linkname setLabel runtime/pprof.runtime_setProfLabel
func setLabel(unsafe.Pointer)

// With calls f with v as the value of this goroutine and of those that f
// starts.
func With(v any, f func()) {
	h := &holder{value: v}
	at := uintptr(unsafe.Pointer(h))
	live.Store(at, struct{}{})
	runtime.AddCleanup(h, func(at uintptr) { live.Delete(at) }, at)
	old := getLabel()
	setLabel(unsafe.Pointer(h))
	defer setLabel(old)
	f()
}

// Value returns the value of this goroutine, nil where it has none.
func Value() any {
	p := getLabel()
	if p == nil {
		return nil
	}
	if _, ok := live.Load(uintptr(p)); !ok {
		return nil
	}
	return (*holder)(p).value
}
