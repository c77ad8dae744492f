package vm

import (
	"errors"
	"fmt"
	"go/token"
	"net/http"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/internal/cell"
)

// A Frame is a function that a panic passed.
type Frame struct {
	Pos  token.Position
	Name string
}

// maxFrames is how many frames of a panic are kept.
const maxFrames = 1000

// parseFrame parses "In[3]/_.go:4:8: panic: main.f(...)".
func parseFrame(line string) (Frame, bool) {
	at, name, ok := strings.Cut(line, ": panic: ")
	name, ok2 := strings.CutSuffix(name, "(...)")
	i := strings.LastIndexByte(at, ':')
	if !ok || !ok2 || i < 0 {
		return Frame{}, false
	}
	j := strings.LastIndexByte(at[:i], ':')
	if j < 0 || !strings.HasSuffix(at[:j], "/"+cell.FileBase) {
		return Frame{}, false
	}
	l, err := strconv.Atoi(at[j+1 : i])
	c, err2 := strconv.Atoi(at[i+1:])
	if err != nil || err2 != nil {
		return Frame{}, false
	}
	return Frame{token.Position{Filename: at[:j], Line: l, Column: c}, strings.TrimPrefix(name, "main.")}, true
}

// traceWriter receives the interpreter's notes of the frames that a panic
// passes, innermost first: "In[3]/_.go:4:8: panic: main.f(...)".
type traceWriter struct{ m *Machine }

func (w traceWriter) Write(b []byte) (int, error) {
	c := w.m.Cell()
	if c == nil {
		return len(b), nil
	}
	for line := range strings.Lines(string(b)) {
		f, ok := parseFrame(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "-: panic: "): // a function that a rewrite has made
		case !ok:
			c.Outputs().Stderr(line)
		case f.Pos.Filename != cell.FileName(0): // the prelude's
			w.m.leave(c, f)
		}
	}
	return len(b), nil
}

// leaveBody notes that a panic leaves a function whose body runBody ran.
func (m *Machine) leaveBody(fn *function, v any) {
	c := m.Cell()
	if err, ok := v.(error); c == nil || ok && err.Error() == http.ErrAbortHandler.Error() {
		return // net/http is silent about it, and so is the interpreter
	}
	if pos := m.Files().Position(fn.start.pos()); pos.Filename != cell.FileName(0) {
		m.leave(c, Frame{pos, strings.TrimPrefix(panicFunc(fn.start.scope()), "main.")})
	}
}

// leave notes that a panic leaves a function.
func (m *Machine) leave(c *Cell, f Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.frames) >= maxFrames {
		return
	}
	// The interpreter knows where the function begins, the guards know where
	// the panic left it.
	if c.at.IsValid() {
		f.Pos = m.Files().Position(c.at)
	}
	c.frames = append(c.frames, f)
	c.at, c.left = token.NoPos, true
}

// Panicked returns the value of the panic that err, an error of Run, stands for; ok is
// false for other errors.
func Panicked(err error) (value any, ok bool) {
	var p interp.Panic
	if !errors.As(err, &p) {
		return nil, false
	}
	return p.Value, true
}

// Exit is the panic value that stands for the end of the process, by os.Exit or
// by a signal.
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Ending returns the value to panic with for the end of the process. Go runs no deferred
// calls then, and the interpreter makes none for such a panic. A compiled cell would run
// its own: if there are any on the stack, Ending ends the cell and does not return, and
// the goroutine stays blocked with all that its stack refers to.
func Ending(e Exit) Exit {
	c, ok := goroutine.Value().(*Cell)
	if !ok || c.main == nil || c.main.g != currentG() || !c.main.defers() {
		return e
	}
	if _, locked := holding.Load(currentG()); locked {
		return e // of maps, which the panic unlocks
	}
	c.main.end(interp.Panic{Value: e})
	select {}
}

func (e Exit) Error() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("os.Exit(%d)", e.Code)
}

// recovered returns the value that code panicked with, without the wrappers that the
// interpreter adds.
func recovered(v any) any {
	for {
		rv := reflect.ValueOf(v)
		if rv.Kind() != reflect.Struct {
			return Recovered(v)
		}
		inner, ok := unwrap(rv)
		if !ok || !inner.CanInterface() {
			return v
		}
		v = inner.Interface()
	}
}

// Recovered returns the value that compiled code recovered: a failed assertion, in
// another error, names a method that is missing as cells do.
func Recovered(v any) any {
	err, ok := v.(*runtime.TypeAssertionError)
	if !ok || !knownAssertion {
		return v
	}
	fields := *(*assertionFields)(unsafe.Pointer(err))
	if fields.missing = strings.TrimPrefix(fields.missing, cell.ExportMark); fields.missing == (*assertionFields)(unsafe.Pointer(err)).missing {
		return v
	}
	return (*runtime.TypeAssertionError)(unsafe.Pointer(&fields))
}

// PanicText describes a recovered value as a crash report of Go does. Of a composite
// value, where that has addresses only, it shows the content, by format.
func PanicText(v any, format func(any) string) string {
	v = recovered(v)
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array, reflect.Func, reflect.Chan:
		return fmt.Sprintf("(%T) %s", v, format(v))
	case reflect.String:
		return fmt.Sprintf("%T(%q)", v, v)
	}
	if rv.IsValid() && rv.Type().PkgPath() != "" {
		return fmt.Sprintf("%T(%v)", v, v)
	}
	return fmt.Sprint(v)
}
