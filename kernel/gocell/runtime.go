package gocell

import (
	"context"
	"encoding/gob"
	"fmt"
	"go/token"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"syscall"
	"time"

	"dace.local/kernel/display"
)

// runtime returns the functions that rewritten code calls.
func (s *Session) runtime() map[string]reflect.Value {
	result := reflect.ValueOf(func(vs ...any) { s.setResult(vs) })
	m := map[string]reflect.Value{
		"Result":  result,
		"Started": reflect.ValueOf(func() { close(s.cell().started) }),
		"ResultError": reflect.ValueOf(func(err error) {
			if err != nil {
				s.setResult([]any{err})
			}
		}),
		"Ctx":            reflect.ValueOf(func() context.Context { return s.context() }),
		"GoroutinePanic": reflect.ValueOf(func(v any) { s.goroutinePanic(v) }),
		"Move":           reflect.ValueOf(func(name string) { moveGlobal(s.in, mark+"old"+name, plainName(name)) }),
		"Method":         reflect.ValueOf(func(i int, f any) { s.mirror.bind(i, f) }),
		"As":             reflect.ValueOf(s.asserted.as),
		"AsOK":           reflect.ValueOf(s.asserted.asOK),
		"Which":          reflect.ValueOf(s.asserted.which),
		"Guarded":        reflect.ValueOf(s.guarded),
		"Runes":          reflect.ValueOf(runes),
		"Text":           reflect.ValueOf(textOf),
		"Letters":        reflect.ValueOf(s.asserted.letters),
		"Deferred":       reflect.ValueOf(deferred),
		"Forward":        reflect.ValueOf(forward),
		"Recover":        reflect.ValueOf(recoverIn),
		"RunDeferred":    reflect.ValueOf(deferredBy),
		"StartNative":    reflect.ValueOf(s.startNative),
		"NonNil": reflect.ValueOf(func(x any) {
			if x == nil {
				panic(nilDereference)
			}
		}),
		"Clear": reflect.ValueOf(clearIn),
		"Print": reflect.ValueOf(s.print),
	}
	maps.Copy(m, s.asserted.unsafeFuncs())
	for method, f := range s.standIns() {
		m[standInName(method)] = reflect.ValueOf(f)
	}
	return m
}

// exit is the panic value that stands for the end of the process, by os.Exit or
// by a signal.
type exit struct {
	code   int
	signal syscall.Signal
}

func (e exit) Error() string {
	if e.signal != 0 {
		return "signal: " + e.signal.String()
	}
	return fmt.Sprintf("os.Exit(%d)", e.code)
}

// override replaces what must not act on the kernel's process: printing goes
// to the cell's outputs, the end of the process ends the cell, sleep wakes on
// an interrupt.
func (s *Session) override(ipath string, m map[string]reflect.Value) {
	out := streamWriter{s}
	set := func(name string, f any) { m[name] = reflect.ValueOf(f) }
	s.overrideProcess(ipath, set)
	s.overrideCallers(ipath, set)
	switch ipath {
	case "fmt":
		set("Print", func(a ...any) (int, error) { return fmt.Fprint(out, finite(a)...) })
		set("Println", func(a ...any) (int, error) { return fmt.Fprintln(out, finite(a)...) })
		set("Printf", func(f string, a ...any) (int, error) { return fmt.Fprintf(out, f, finitef(f, a)...) })
		set("Fprint", func(w io.Writer, a ...any) (int, error) { return fmt.Fprint(w, finite(a)...) })
		set("Fprintln", func(w io.Writer, a ...any) (int, error) { return fmt.Fprintln(w, finite(a)...) })
		set("Fprintf", func(w io.Writer, f string, a ...any) (int, error) { return fmt.Fprintf(w, f, finitef(f, a)...) })
		set("Sprint", func(a ...any) string { return fmt.Sprint(finite(a)...) })
		set("Sprintln", func(a ...any) string { return fmt.Sprintln(finite(a)...) })
		set("Sprintf", func(f string, a ...any) string { return fmt.Sprintf(f, finitef(f, a)...) })
		set("Append", func(b []byte, a ...any) []byte { return fmt.Append(b, finite(a)...) })
		set("Appendln", func(b []byte, a ...any) []byte { return fmt.Appendln(b, finite(a)...) })
		set("Appendf", func(b []byte, f string, a ...any) []byte { return fmt.Appendf(b, f, finitef(f, a)...) })
		set("Errorf", func(f string, a ...any) error { return fmt.Errorf(f, finitef(f, a)...) })
	case "os":
		m["Args"] = reflect.ValueOf(&s.opts.Args).Elem()
	case "log":
		s.overrideLog(set)
	case "log/slog":
		set("NewTextHandler", func(w io.Writer, o *slog.HandlerOptions) *slog.TextHandler {
			return slog.NewTextHandler(w, s.placed(o))
		})
		set("NewJSONHandler", func(w io.Writer, o *slog.HandlerOptions) *slog.JSONHandler {
			return slog.NewJSONHandler(w, s.placed(o))
		})
	case "encoding/gob":
		set("Register", func(v any) { register(v, "", gob.Register) })
		set("RegisterName", func(name string, v any) { register(v, name, func(v any) { gob.RegisterName(name, v) }) })
	case "context":
		set("AfterFunc", func(ctx context.Context, f func()) func() bool { return context.AfterFunc(ctx, s.guarded(f)) })
	case "time":
		set("AfterFunc", func(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, s.guarded(f)) })
		set("Sleep", func(d time.Duration) {
			t := time.NewTimer(d)
			defer t.Stop()
			var stop chan struct{}
			if r := s.cell(); r != nil {
				stop = r.stop
			}
			select {
			case <-t.C:
			case <-stop:
			}
		})
	}
}

// recovered returns what recover gave, out of what the interpreter adds.
func recovered(v any) any {
	for {
		rv := reflect.ValueOf(v)
		if rv.Kind() != reflect.Struct {
			return v
		}
		inner, ok := unwrap(rv)
		if !ok || !inner.CanInterface() {
			return v
		}
		v = inner.Interface()
	}
}

// context returns the context of the cell that runs.
func (s *Session) context() context.Context {
	if r := s.cell(); r != nil {
		return r.ctx
	}
	return context.Background()
}

// setResult keeps the value of a cell's last expression.
func (s *Session) setResult(vs []any) {
	r := s.cell()
	b := display.Result(vs, r.errorLast)
	r.mu.Lock()
	r.result = b
	r.mu.Unlock()
}

// guarded returns f for compiled code that runs it in a goroutine of its own,
// where a panic would end the process.
func (s *Session) guarded(f func()) func() {
	return func() {
		defer func() {
			if v := recover(); v != nil {
				s.goroutinePanic(v)
			}
		}()
		f()
	}
}

// goroutinePanic reports a panic of a goroutine that a cell started.
func (s *Session) goroutinePanic(v any) {
	r := s.cell()
	r.mu.Lock()
	frames := r.frames
	r.frames = nil
	r.mu.Unlock()
	s.goroutinePanicked(r, frames, v)
}

func (s *Session) goroutinePanicked(r *running, frames []frame, v any) {
	if e, ok := v.(exit); ok {
		r.out.Stderr(e.Error() + " in a goroutine: the goroutine has ended\n")
		return
	}
	text := strings.Join(s.panicLines(frames, v), "\n")
	r.out.Stderr("a goroutine has ended in a panic\n" + text + "\n")
}

// traceWriter receives the interpreter's notes of the frames that a panic
// passes, innermost first: "In[3]/_.go:4:8: panic: main.f(...)".
type traceWriter struct{ s *Session }

func (w traceWriter) Write(b []byte) (int, error) {
	r := w.s.cell()
	if r == nil {
		return len(b), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		if f, ok := parseFrame(strings.TrimSuffix(line, "\n")); !ok {
			r.out.Stderr(line)
		} else if len(r.frames) < maxFrames && f.pos.Filename != fileName(0) { // the prelude's
			// The interpreter knows where the function begins, the guards
			// know where the panic came by.
			if r.at.IsValid() {
				f.pos = w.s.fset.Position(r.at)
			}
			r.frames = append(r.frames, f)
			r.at, r.left = token.NoPos, true
		}
	}
	return len(b), nil
}

// maxFrames is how many frames of a panic are kept.
const maxFrames = 1000
