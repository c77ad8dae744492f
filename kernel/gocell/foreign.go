package gocell

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// A library may call a cell's function in a goroutine of its own: an optimizer
// its objective, a command the writer of its output. A panic that leaves such
// a function would end the process. It ends the cell instead: the function
// returns zeros, the panic is the cell's error.

// A foreignPanic is a panic in a goroutine that compiled code has started.
type foreignPanic struct {
	value   any
	frames  []frame
	library string // the function that the goroutine runs
}

func (p *foreignPanic) Error() string { return panicText(p.value) }

// recovers lists the functions that recover what they call panics with; the
// goroutines of iter.Pull hand it on.
var recovers = []string{"net/http.(*conn).serve", "net/http.(*http2serverConn).runHandler", "fmt.(*pp).handleMethods", "text/template.safeCall", "iter.",
	"dace.local/dacelib/", "dace.local/kernel/gocell.(*Session).guarded"}

// runCfgName is the interpreter's function that runs the body of a function.
const runCfgName = "github.com/traefik/yaegi/interp.runCfg"

// foreign returns the function that the goroutine was started with if it is
// compiled code's, nothing in it recovers, and the function of a cell that
// panics is the outermost.
func foreign() (string, bool) {
	bodies, last := 0, ""
	var buf [64]uintptr
	for skip := 3; ; skip += len(buf) {
		n := runtime.Callers(skip, buf[:])
		for frames := runtime.CallersFrames(buf[:n]); ; {
			f, more := frames.Next()
			switch {
			case f.Function == runCfgName:
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
	ours := strings.HasPrefix(last, "github.com/traefik/yaegi/") || strings.HasPrefix(last, "dace.local/kernel/") || strings.HasPrefix(last, "testing.tRunner")
	return last, !ours
}

// contain keeps a panic that passes frame f from ending the process. What the
// function has deferred may still recover it: contain comes after that.
func (s *Session) contain(f unsafe.Pointer) {
	library, ok := foreign()
	if !ok {
		return
	}
	r := s.cell()
	list := (*[][]reflect.Value)(unsafe.Add(f, layout.deferred))
	*list = append(*list, []reflect.Value{reflect.ValueOf(func() {
		recovered := (*any)(unsafe.Add(f, layout.recovered))
		v := *recovered
		if v == nil {
			return
		}
		*recovered = nil
		r.mu.Lock()
		frames := r.frames
		r.frames = nil
		if r.at.IsValid() {
			frames = append(frames, frame{pos: s.fset.Position(r.at)})
		}
		r.mu.Unlock()
		if r.ctx.Err() != nil {
			s.goroutinePanicked(r, frames, v)
			return
		}
		r.cancel(&foreignPanic{v, frames, library})
		storeRunID(s.in, loadRunID(s.in)+1)
	})})
}

// foreignError is the error of a cell that a foreignPanic has ended.
func (s *Session) foreignError(p *foreignPanic) []string {
	if e, ok := p.value.(exit); ok {
		return []string{red + e.Error() + plain}
	}
	note := fmt.Sprintf("%sin a goroutine that %s runs%s", faint, p.library, plain)
	return append([]string{note}, s.panicLines(p.frames, p.value)...)
}

// patience is how long a cell that the kernel ends for a reason of its own has
// to unwind.
func patience(cause error) time.Duration {
	var p *foreignPanic
	if errors.As(cause, &p) {
		return grace
	}
	return 20 * time.Second // a deep stack takes a while
}
