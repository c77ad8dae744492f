package vm

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"dace.local/kernel/buildinfo"
)

// kernelPath is the prefix of the names of the kernel's functions.
var kernelPath = buildinfo.Path("kernel/")

// A library may call a cell's function in a goroutine of its own: an optimizer
// its objective, a command the writer of its output. A panic that leaves such a
// function would end the process. Here it ends the cell: the function returns
// zeros, and the panic becomes the cell's error.

// A ForeignPanic is a panic in a goroutine that compiled code has started.
type ForeignPanic struct {
	Value   any
	Frames  []Frame
	Library string // the function that the goroutine runs
}

func (p *ForeignPanic) Error() string {
	return PanicText(p.Value, func(v any) string { return fmt.Sprintf("%+v", v) })
}

// recovers lists prefixes of the names of functions that recover panics of the functions
// that they call, or, as the goroutines of iter.Pull do, pass them on.
var recovers = []string{"net/http.(*conn).serve", "net/http.(*http2serverConn).runHandler", "fmt.(*pp).handleMethods", "text/template.safeCall", "iter.",
	buildinfo.Path("dacelib/"), functionName((*Machine).Guarded), buildinfo.Path("kernel/gocell/internal/std.(*Library).surviveTest")}

// runCfgName is the interpreter's function that runs the body of a function.
const runCfgName = yaegi + "/interp.runCfg"

// runBodyName is the function of this package that does so.
var runBodyName = functionName((*Machine).runBody)

// foreign returns the name of the function that this goroutine was started with,
// and whether the panic under way would end the process: the goroutine is
// compiled code's, the function of a cell that panics is its outermost, and no
// function further out recovers.
func foreign() (string, bool) {
	bodies, last := 0, ""
	var buf [64]uintptr
	for skip := 3; ; skip += len(buf) {
		n := runtime.Callers(skip, buf[:])
		for frames := runtime.CallersFrames(buf[:n]); ; {
			f, more := frames.Next()
			switch {
			case f.Function == runCfgName, f.Function == runBodyName:
				if bodies++; bodies > 1 {
					return "", false
				}
			case strings.HasPrefix(f.Function, "runtime."):
			default:
				for _, r := range recovers {
					if strings.HasPrefix(f.Function, r) {
						return "", false
					}
				}
				if f.Function != "" {
					last = f.Function
				}
			}
			if !more {
				break
			}
		}
		if n < len(buf) {
			break
		}
	}
	ours := strings.HasPrefix(last, yaegi+"/") || strings.HasPrefix(last, kernelPath)
	return last, !ours
}

// contain keeps a panic that leaves frame f from ending the process, where it
// would. It appends to the deferred calls of the frame, whose own run first and
// may still recover.
func (m *Machine) contain(f *runFrame) {
	if len(callsIn(f, currentG()).nodes) > 0 {
		return // a function of a cell is further out
	}
	library, ok := foreign()
	if !ok {
		return
	}
	c := m.Cell()
	f.deferred = append(f.deferred, []reflect.Value{reflect.ValueOf(func() {
		v := f.recovered
		if v == nil {
			return
		}
		f.recovered = nil
		at := c.At()
		frames := c.TakeFrames()
		if at.IsValid() {
			frames = append(frames, Frame{Pos: m.Files().Position(at)})
		}
		if c.ctx.Err() != nil {
			m.hooks.GoroutinePanicked(c, frames, v)
			return
		}
		c.cancel(&ForeignPanic{v, frames, library})
		m.stopRuns()
	})})
}
