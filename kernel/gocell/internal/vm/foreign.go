package vm

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"dace.local/kernel/buildinfo"
)

// own are the prefixes of the names of functions whose goroutines report their panics:
// the kernel's, and those of compiled cells.
var own = []string{buildinfo.Path("kernel/"), buildinfo.Path("cells/")}

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

// foreign returns the name of the function that this goroutine was started with,
// and whether the panic under way, which leaves the outermost function of cells, would
// end the process: the goroutine is compiled code's, and no function further out
// recovers.
func foreign() (string, bool) {
	last := ""
	var buf [64]uintptr
	for skip := 3; ; skip += len(buf) {
		n := runtime.Callers(skip, buf[:])
		for frames := runtime.CallersFrames(buf[:n]); ; {
			f, more := frames.Next()
			switch {
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
	return last, !slices.ContainsFunc(own, func(p string) bool { return strings.HasPrefix(last, p) })
}
