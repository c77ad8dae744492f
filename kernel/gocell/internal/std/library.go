package std

import (
	"context"
	"encoding/gob"
	"fmt"
	"go/types"
	"io"
	"reflect"
	"sync/atomic"
	"time"

	"dace.local/kernel/gocell/internal/vm"
)

// A Library is the standard library for the cells of a session.
type Library struct {
	machine *vm.Machine
	args    []string // os.Args
	signals cellSignals
	logs    logLocks

	addsSource atomic.Bool // cells have made handlers that log positions
}

// New returns the library for the cells of a machine. args is their os.Args.
func New(machine *vm.Machine, args []string) *Library {
	return &Library{machine: machine, args: args}
}

// Runtime returns the functions of this package that rewritten code calls.
func (l *Library) Runtime() map[string]reflect.Value {
	values := map[string]reflect.Value{"Print": reflect.ValueOf(l.print)}
	for method, f := range l.standIns() {
		values[standInName(method)] = reflect.ValueOf(f)
	}
	for method, f := range l.placedMethods() {
		values[placedName(method)] = reflect.ValueOf(f)
	}
	return values
}

// Symbols returns the compiled part of the prelude.
func (l *Library) Symbols() map[string]reflect.Value {
	values := map[string]reflect.Value{"AddCleanup": reflect.ValueOf(l.addCleanup)}
	for name, f := range stdFuncs {
		values[name] = reflect.ValueOf(f)
	}
	for name, f := range compiledInstances() {
		values[name] = f
	}
	return values
}

// SetArgs sets what follows the command's name in os.Args. It must not be called
// while cells run.
func (l *Library) SetArgs(args []string) { l.args = append(l.args[:1:1], args...) }

// Overridden reports whether cells have another function in the place of one of
// the library.
func (l *Library) Overridden(f *types.Func) bool {
	if f.Signature().Recv() != nil {
		return methodsStoodIn()[f.FullName()] != nil
	}
	if f.Pkg() == nil {
		return false
	}
	symbols := map[string]reflect.Value{}
	l.Override(f.Pkg().Path(), symbols)
	return symbols[f.Name()].IsValid()
}

// Override replaces the symbols of a package that must not act on the kernel's
// process: what allocates more memory than there is panics, printing goes to the
// cell's outputs, exiting ends the cell, and sleeping ends on an interrupt.
func (l *Library) Override(ipath string, symbols map[string]reflect.Value) {
	set := func(name string, f any) { symbols[name] = reflect.ValueOf(f) }
	l.overrideSized(ipath, set)
	l.overrideProcess(ipath, set)
	l.overrideCallers(ipath, set)
	overrideMaps(ipath, set)
	overrideEncoders(ipath, set)
	overrideStreams(ipath, set)
	overrideDeep(ipath, set)
	overrideAbsent(ipath, set)
	switch ipath {
	case "fmt":
		l.overrideFmt(set)
	case "os":
		symbols["Args"] = reflect.ValueOf(&l.args).Elem()
	case "log":
		l.overrideLog(set)
	case "log/slog":
		l.overrideSlog(set)
	case "encoding/gob":
		set("Register", func(v any) { register(v, "", gob.Register) })
		set("RegisterName", func(name string, v any) { register(v, name, func(v any) { gob.RegisterName(name, v) }) })
	case "context":
		set("AfterFunc", func(ctx context.Context, f func()) func() bool { return context.AfterFunc(ctx, l.machine.Guarded(f)) })
	case "time":
		set("AfterFunc", func(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, l.machine.Guarded(f)) })
		set("Sleep", l.sleep)
	}
}

// overrideFmt replaces the functions of package fmt that print by ones that
// print to the cell's outputs. They panic on a value that contains itself.
func (l *Library) overrideFmt(set func(name string, f any)) {
	out := l.machine.Stdout()
	line := func(w io.Writer, a []any) (int, error) { return printed(w, a, fmt.Appendln, fmt.Fprintln) }
	plain := func(w io.Writer, a []any) (int, error) { return printed(w, a, fmt.Append, fmt.Fprint) }
	set("Print", func(a ...any) (int, error) { return plain(out, a) })
	set("Println", func(a ...any) (int, error) { return line(out, a) })
	set("Printf", func(f string, a ...any) (int, error) { return printedf(out, f, a) })
	set("Fprint", func(w io.Writer, a ...any) (int, error) { return plain(w, a) })
	set("Fprintln", func(w io.Writer, a ...any) (int, error) { return line(w, a) })
	set("Fprintf", func(w io.Writer, f string, a ...any) (int, error) { return printedf(w, f, a) })
	sprint := formatted(func(a []any) string { return fmt.Sprint(a...) })
	sprintln := formatted(func(a []any) string { return fmt.Sprintln(a...) })
	set("Sprint", func(a ...any) string { return sprint(a) })
	set("Sprintln", func(a ...any) string { return sprintln(a) })
	set("Sprintf", formattedf(fmt.Sprintf))
	set("Append", func(b []byte, a ...any) []byte {
		return formatted(func(a []any) []byte { return fmt.Append(b, a...) })(a)
	})
	set("Appendln", func(b []byte, a ...any) []byte {
		return formatted(func(a []any) []byte { return fmt.Appendln(b, a...) })(a)
	})
	set("Appendf", func(b []byte, f string, a ...any) []byte {
		return formattedf(func(f string, a ...any) []byte { return fmt.Appendf(b, f, a...) })(f, a...)
	})
	set("Errorf", formattedf(fmt.Errorf))
}

// sleep is time.Sleep, but returns when the cell is interrupted.
func (l *Library) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	var stopped <-chan struct{}
	if c := l.machine.Cell(); c != nil {
		stopped = c.Stopped()
	}
	select {
	case <-t.C:
	case <-stopped:
	}
}
