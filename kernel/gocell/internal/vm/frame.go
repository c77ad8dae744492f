package vm

import (
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/rtype"
)

// A Frame is a function that a panic passed.
type Frame struct {
	Pos  token.Position
	Name string
}

// A panicked is the error of a cell that has panicked.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprint(p.value) }

// Panicked returns the value of the panic that err, an error of Run, stands for; ok is
// false for other errors.
func Panicked(err error) (value any, ok bool) {
	var p *panicked
	if !errors.As(err, &p) {
		return nil, false
	}
	return p.value, true
}

// Exit is the panic value that stands for the end of the process, by os.Exit or
// by a signal.
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Ending returns the value to panic with for the end of the process. Go runs no deferred
// calls then, and package code makes none for such a panic. A compiled cell would run
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
	c.main.end(&panicked{e})
	select {}
}

func (e Exit) Error() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("os.Exit(%d)", e.Code)
}

// compiledMethod begins the run time's error of a nil receiver of a compiled cell's method:
// "value method dace.local/.../c01ab.T.M called using nil *T pointer".
var compiledMethod = "value method " + buildinfo.Path(cell.CellsPath)

// Recovered returns the value that compiled code recovered: a failed assertion, in
// another error, names a method that is missing as cells do, and a nil receiver its type.
func Recovered(v any) any {
	if err, ok := v.(runtime.Error); ok {
		if rest, ok := strings.CutPrefix(err.Error(), compiledMethod); ok {
			_, name, _ := strings.Cut(rest, ".")
			name, _, _ = strings.Cut(strings.ReplaceAll(name, cell.ExportMark, ""), " ")
			dot := strings.LastIndexByte(name, '.')
			return rtype.NilReceiver("main."+name[:dot], name[dot+1:])
		}
	}
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
	v = Recovered(v)
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
