package std

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"dace.local/kernel/gocell/internal/vm"
)

// runtime.Callers reports positions in cells, not the kernel's.

// A program counter that cells see is pcBase + pcStep*n + pcStep/2, where n is
// the number of a place.
const (
	pcBase = 1 << 60
	pcStep = 16
)

// places numbers the places in cells for which a program counter was asked. It
// is bounded by the size of the cells' texts.
var places struct {
	sync.Mutex // guards list, number and funcs
	list       []vm.Caller
	number     map[vm.Caller]int
	funcs      map[vm.Caller]*runtime.Func
}

// funcOf returns a runtime.Func that represents the function of a place. It
// holds no data; the stand-ins of its methods look it up in functions.
func funcOf(c vm.Caller) *runtime.Func {
	places.Lock()
	defer places.Unlock()
	f, ok := places.funcs[c]
	if !ok {
		if places.funcs == nil {
			places.funcs = map[vm.Caller]*runtime.Func{}
		}
		f = (*runtime.Func)(unsafe.Pointer(new([64]byte)))
		places.funcs[c] = f
		functions.Store(f, c)
	}
	return f
}

func pcOf(c vm.Caller) uintptr {
	places.Lock()
	defer places.Unlock()
	i, ok := places.number[c]
	if !ok {
		if places.number == nil {
			places.number = map[vm.Caller]int{}
		}
		i = len(places.list)
		places.list = append(places.list, c)
		places.number[c] = i
	}
	return pcBase + uintptr(i)*pcStep + pcStep/2
}

// placeAt returns the place whose range of program counters contains pc.
func placeAt(pc uintptr) (vm.Caller, bool) {
	places.Lock()
	defer places.Unlock()
	if i := (pc - pcBase) / pcStep; pc >= pcBase && i < uintptr(len(places.list)) {
		return places.list[i], true
	}
	return vm.Caller{}, false
}

// overrideCallers replaces the functions of a package that return callers.
func (l *Library) overrideCallers(ipath string, set func(name string, f any)) {
	switch ipath {
	case "runtime":
		set("Caller", func(skip int) (uintptr, string, int, bool) {
			if list := l.machine.AllCallers(); skip >= 0 && skip < len(list) {
				return pcOf(list[skip]), list[skip].File, list[skip].Line, true
			}
			return 0, "", 0, false
		})
		set("Callers", func(skip int, pcs []uintptr) int {
			list := append([]vm.Caller{{Function: "runtime.Callers", File: "runtime/extern.go"}}, l.machine.AllCallers()...)
			n := 0
			for i, c := range list {
				if i >= skip && n < len(pcs) {
					pcs[n] = pcOf(c)
					n++
				}
			}
			return n
		})
		set("CallersFrames", func(pcs []uintptr) *runtime.Frames {
			if len(pcs) == 0 {
				return runtime.CallersFrames(nil)
			}
			if _, ok := placeAt(pcs[0]); !ok {
				return runtime.CallersFrames(pcs)
			}
			return newFrames(pcs)
		})
		set("FuncForPC", func(pc uintptr) *runtime.Func {
			c, ok := placeAt(pc)
			if !ok {
				return runtime.FuncForPC(pc)
			}
			return funcOf(c)
		})
		set("Stack", func(b []byte, all bool) int {
			if all {
				return runtime.Stack(b, true)
			}
			return copy(b, l.stack())
		})
	case "runtime/debug":
		set("Stack", l.stack)
		set("PrintStack", func() { os.Stderr.Write(l.stack()) })
	}
}

// callerMethods returns stand-ins for the methods of runtime.Func and
// runtime.Frames, and for those of reflect.Value that return a function's address.
func (l *Library) callerMethods() map[string]any {
	return map[string]any{
		"(reflect.Value).Pointer": func(v reflect.Value) uintptr {
			if c, ok := l.machine.FunctionOf(v); ok {
				return pcOf(c) // that of the code is one for all functions of a type
			}
			return v.Pointer()
		},
		"(reflect.Value).UnsafePointer": func(v reflect.Value) unsafe.Pointer {
			if c, ok := l.machine.FunctionOf(v); ok {
				return unsafe.Pointer(funcOf(c))
			}
			return v.UnsafePointer()
		},
		"(*runtime.Func).Name": func(f *runtime.Func) string {
			if c, ok := functions.Load(f); ok {
				return c.(vm.Caller).Function
			}
			return f.Name()
		},
		"(*runtime.Func).Entry": func(f *runtime.Func) uintptr {
			if c, ok := functions.Load(f); ok {
				return pcOf(c.(vm.Caller))
			}
			return f.Entry()
		},
		"(*runtime.Func).FileLine": func(f *runtime.Func, pc uintptr) (string, int) {
			if c, ok := placeAt(pc); ok {
				return c.File, c.Line
			}
			return f.FileLine(pc)
		},
		"(*runtime.Frames).Next": func(f *runtime.Frames) (runtime.Frame, bool) {
			x, ok := frames.Load(uintptr(unsafe.Pointer(f)))
			if !ok {
				return f.Next()
			}
			left := x.(*framesLeft)
			if len(left.pcs) == 0 {
				return runtime.Frame{}, false
			}
			pc := left.pcs[0]
			left.pcs = left.pcs[1:]
			c, _ := placeAt(pc)
			return runtime.Frame{PC: pc, Func: funcOf(c), Function: c.Function, File: c.File, Line: c.Line, Entry: pc}, len(left.pcs) > 0
		},
	}
}

// frames maps the address of a Frames that a cell has to what is left of it; an
// entry lives until the Frames is collected. functions maps each runtime.Func from
// funcOf to its place.
var (
	frames    sync.Map // uintptr -> *framesLeft
	functions sync.Map // *runtime.Func -> vm.Caller
)

// framesLeft holds the program counters that are left of the Frames at an
// address.
type framesLeft struct {
	at  uintptr
	pcs []uintptr
}

// newFrames returns a Frames of the given program counters, for the stand-in of
// its method Next.
func newFrames(pcs []uintptr) *runtime.Frames {
	f := new(runtime.Frames)
	left := &framesLeft{uintptr(unsafe.Pointer(f)), pcs}
	frames.Store(left.at, left)
	runtime.AddCleanup(f, (*framesLeft).forget, left)
	return f
}

// forget is called when the Frames has been collected. A later one may have the
// same address, and its entry by now.
func (l *framesLeft) forget() { frames.CompareAndDelete(l.at, l) }

// mostFrames is the number of frames of a deep stack that are shown at each
// end, as in Go.
const mostFrames = 50

// stack replaces debug.Stack: it returns the frames in cells.
func (l *Library) stack() []byte {
	var own [64]byte // "goroutine 1 [running]:"
	head, _, _ := strings.Cut(string(own[:runtime.Stack(own[:], false)]), "\n")
	b := []byte(head + "\n")
	list := l.machine.Callers()
	for i, c := range list {
		switch left := len(list) - 2*mostFrames; {
		case left > 0 && i == mostFrames:
			b = fmt.Appendf(b, "...%d frames elided...\n", left)
		case left > 0 && i > mostFrames && i < len(list)-mostFrames:
		default:
			b = fmt.Appendf(b, "%s(...)\n\t%s:%d\n", c.Function, c.File, c.Line)
		}
	}
	return b
}
