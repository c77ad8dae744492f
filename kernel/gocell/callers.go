package gocell

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// Who asks the run time for its callers is told those in cells, not the
// interpreter. A call notes in its frame where it is (guardCall), which is all
// that this costs; which frames there are stands in the stack's own trace: a
// line for each loop that runs a function, whose arguments are the function's
// first node and the frame.
//
// The trace of a deep stack leaves out its middle.

var loopLine = regexp.MustCompile(`/interp\.runCfg\(0x([0-9a-f]+), 0x([0-9a-f]+),`)

// A caller is a call under way in a cell.
type caller struct {
	function string
	file     string
	line     int
}

// callers returns the calls under way, the innermost first: that of the
// compiled function which asks.
func (s *Session) callers() []caller {
	var list []caller
	for line := range strings.Lines(string(stackText())) {
		m := loopLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		// Both are in use further up this stack, so they are there.
		at := (*runFrame)(addressed(hexAddress(m[2]))).debug
		if at == nil {
			continue
		}
		p := s.fset.Position(node{at}.pos())
		if !p.IsValid() || p.Filename == fileName(0) {
			continue // made up, or the prelude's
		}
		list = append(list, caller{functionOf(node{addressed(hexAddress(m[1]))}), cellName(p.Filename), p.Line})
	}
	return list
}

// stackText returns the trace of the goroutine's stack.
func stackText() []byte {
	for b := make([]byte, 16<<10); ; b = make([]byte, 2*len(b)) {
		if n := runtime.Stack(b, false); n < len(b) {
			return b[:n]
		}
	}
}

func hexAddress(s string) uintptr {
	n, _ := strconv.ParseUint(s, 16, 64)
	return uintptr(n)
}

func addressed(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// functionOf returns the name of the function whose first node n is.
func functionOf(n node) string {
	literal := ""
	if n.kind() == "funcLit" {
		n = n.parent() // the function begins by making another
	}
	for ; n.p != nil; n = n.parent() {
		switch n.kind() {
		case "funcLit":
			literal = ".func1" + literal
		case "funcDecl":
			name := n.children()[1].ident()
			shown := cleanMessage(name)
			if !strings.HasPrefix(name, mark+"m") || name == mark+"main" {
				shown = "main." + shown
			}
			return shown + literal
		}
	}
	return "main.init" + literal
}

// A program counter that cells are given is the number of a place.
const (
	pcBase = 1 << 60
	pcStep = 16
)

var places struct {
	sync.Mutex
	list   []caller
	number map[caller]int
	funcs  map[caller]*runtime.Func
}

// fn returns what stands for the function of a place; only its stand-ins know
// it.
func (c caller) fn() *runtime.Func {
	places.Lock()
	defer places.Unlock()
	f, ok := places.funcs[c]
	if !ok {
		if places.funcs == nil {
			places.funcs = map[caller]*runtime.Func{}
		}
		f = (*runtime.Func)(unsafe.Pointer(new([64]byte)))
		places.funcs[c] = f
		functions.Store(f, c)
	}
	return f
}

func (c caller) pc() uintptr {
	places.Lock()
	defer places.Unlock()
	i, ok := places.number[c]
	if !ok {
		if places.number == nil {
			places.number = map[caller]int{}
		}
		i = len(places.list)
		places.list = append(places.list, c)
		places.number[c] = i
	}
	return pcBase + uintptr(i)*pcStep + pcStep/2
}

// placeAt returns the place of a program counter, or near it.
func placeAt(pc uintptr) (caller, bool) {
	places.Lock()
	defer places.Unlock()
	if i := (pc - pcBase) / pcStep; pc >= pcBase && i < uintptr(len(places.list)) {
		return places.list[i], true
	}
	return caller{}, false
}

// overrideCallers replaces what tells of callers.
func (s *Session) overrideCallers(ipath string, set func(name string, f any)) {
	switch ipath {
	case "runtime":
		set("Caller", func(skip int) (uintptr, string, int, bool) {
			if list := s.callers(); skip >= 0 && skip < len(list) {
				return list[skip].pc(), list[skip].file, list[skip].line, true
			}
			return 0, "", 0, false
		})
		set("Callers", func(skip int, pcs []uintptr) int {
			list := append([]caller{{"runtime.Callers", "runtime/extern.go", 0}}, s.callers()...)
			n := 0
			for i, c := range list {
				if i >= skip && n < len(pcs) {
					pcs[n] = c.pc()
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
			f := new(runtime.Frames)
			frames.Store(f, &pcs)
			return f
		})
		set("FuncForPC", func(pc uintptr) *runtime.Func {
			c, ok := placeAt(pc)
			if !ok {
				return runtime.FuncForPC(pc)
			}
			return c.fn()
		})
		set("Stack", func(b []byte, all bool) int {
			if all {
				return runtime.Stack(b, true)
			}
			return copy(b, s.stack())
		})
	case "runtime/debug":
		set("Stack", s.stack)
		set("PrintStack", func() { os.Stderr.Write(s.stack()) })
	}
}

// callerMethods returns stand-ins for the methods of what overrideCallers gives.
func (s *Session) callerMethods() map[string]any {
	return map[string]any{
		"(*runtime.Func).Name": func(f *runtime.Func) string {
			if c, ok := functions.Load(f); ok {
				return c.(caller).function
			}
			return f.Name()
		},
		"(*runtime.Func).Entry": func(f *runtime.Func) uintptr {
			if c, ok := functions.Load(f); ok {
				return c.(caller).pc()
			}
			return f.Entry()
		},
		"(*runtime.Func).FileLine": func(f *runtime.Func, pc uintptr) (string, int) {
			if c, ok := placeAt(pc); ok {
				return c.file, c.line
			}
			return f.FileLine(pc)
		},
		"(*runtime.Frames).Next": func(f *runtime.Frames) (runtime.Frame, bool) {
			left, ok := frames.Load(f)
			if !ok {
				return f.Next()
			}
			pcs := left.(*[]uintptr)
			pc := (*pcs)[0]
			*pcs = (*pcs)[1:]
			if len(*pcs) == 0 {
				frames.Delete(f)
			}
			c, _ := placeAt(pc)
			return runtime.Frame{PC: pc, Func: c.fn(), Function: c.function, File: c.file, Line: c.line, Entry: pc}, len(*pcs) > 0
		},
	}
}

var (
	frames    sync.Map // *runtime.Frames -> *[]uintptr, what is left of them
	functions sync.Map // *runtime.Func -> caller
)

// stack is debug.Stack for cells.
func (s *Session) stack() []byte {
	head, _, _ := strings.Cut(string(stackText()), "\n")
	b := []byte(head + "\n")
	for _, c := range s.callers() {
		b = fmt.Appendf(b, "%s(...)\n\t%s:%d\n", c.function, c.file, c.line)
	}
	return b
}
