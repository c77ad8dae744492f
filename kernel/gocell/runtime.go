package gocell

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
)

// runtime returns the functions that rewritten code calls.
func (s *Session) runtime() map[string]reflect.Value {
	result := valueOf(func(vs ...any) { s.setResult(vs) })
	m := map[string]reflect.Value{
		"Result":         result,
		"Ctx":            valueOf(func() context.Context { return s.context() }),
		"Running":        valueOf(func() func() { return s.running() }),
		"GoroutinePanic": valueOf(func(v any) { s.goroutinePanic(v) }),
		"Move":           valueOf(func(name string) { moveGlobal(s.in, mark+"old"+name, name) }),
		"Clear":          valueOf(func(v any) { reflect.ValueOf(v).Clear() }),
	}
	_ = s.use(interp.Exports{".": {"MapTypes": valueOf(map[reflect.Value][]reflect.Type{result: shown})}})
	return m
}

// formatted lists the interfaces that functions which format values look for
// beyond what their signature says, the most telling first.
var formatted = []reflect.Type{
	reflect.TypeFor[error](),
	reflect.TypeFor[fmt.Formatter](),
	reflect.TypeFor[fmt.Stringer](),
}

// shown lists the interfaces that display looks for.
var shown = append([]reflect.Type{
	reflect.TypeFor[display.MimeBundler](), reflect.TypeFor[display.HTMLer](), reflect.TypeFor[display.Markdowner](),
	reflect.TypeFor[display.SVGer](), reflect.TypeFor[display.PNGer](),
}, formatted...)

// mapTypes tells the interpreter which functions of a package look for other
// interfaces in their arguments than they declare.
func (s *Session) mapTypes(ipath string, syms map[string]reflect.Value) error {
	m := map[reflect.Value][]reflect.Type{}
	add := func(types []reflect.Type, names ...string) {
		for _, n := range names {
			if v, ok := syms[n]; ok {
				m[v] = types
			}
		}
	}
	switch ipath {
	case "fmt":
		add(formatted, "Errorf", "Fprint", "Fprintf", "Fprintln", "Print", "Printf", "Println",
			"Sprint", "Sprintf", "Sprintln", "Append", "Appendf", "Appendln")
		add([]reflect.Type{reflect.TypeFor[fmt.Scanner]()}, "Scan", "Scanf", "Scanln",
			"Fscan", "Fscanf", "Fscanln", "Sscan", "Sscanf", "Sscanln")
	case "log":
		add(formatted, "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Print", "Printf", "Println")
	case "encoding/json":
		add([]reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()}, "Marshal", "MarshalIndent")
		add([]reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}, "Unmarshal")
	case "dace.local/kernel/display":
		add(shown, "Show")
	}
	if len(m) == 0 {
		return nil
	}
	return s.use(interp.Exports{".": {"MapTypes": valueOf(m)}})
}

// exit is the panic value that stands for the end of the process.
type exit struct{ code int }

func (e exit) Error() string { return fmt.Sprintf("os.Exit(%d)", e.code) }

// override replaces what must not act on the kernel's process: printing goes
// to the cell's outputs, reading asks the client, the end of the process ends
// the cell, sleep wakes on an interrupt.
func (s *Session) override(ipath string, m map[string]reflect.Value) {
	out := streamWriter{s, false}
	set := func(name string, f any) { m[name] = valueOf(f) }
	switch ipath {
	case "fmt":
		set("Print", func(a ...any) (int, error) { return fmt.Fprint(out, a...) })
		set("Printf", func(f string, a ...any) (int, error) { return fmt.Fprintf(out, f, a...) })
		set("Println", func(a ...any) (int, error) { return fmt.Fprintln(out, a...) })
		set("Scan", func(a ...any) (int, error) { return fmt.Fscan(s.stdin, a...) })
		set("Scanf", func(f string, a ...any) (int, error) { return fmt.Fscanf(s.stdin, f, a...) })
		set("Scanln", func(a ...any) (int, error) { return fmt.Fscanln(s.stdin, a...) })
	case "os":
		m["Args"] = valueOf(&s.opts.Args).Elem()
		set("Exit", func(code int) { panic(exit{code}) })
	case "syscall":
		set("Exit", func(code int) { panic(exit{code}) })
	case "log":
		fatal := func(text string) {
			_ = log.Output(3, text)
			panic(exit{1})
		}
		set("Fatal", func(a ...any) { fatal(fmt.Sprint(a...)) })
		set("Fatalf", func(f string, a ...any) { fatal(fmt.Sprintf(f, a...)) })
		set("Fatalln", func(a ...any) { fatal(fmt.Sprintln(a...)) })
	case "time":
		set("Sleep", func(d time.Duration) {
			t := time.NewTimer(d)
			defer t.Stop()
			s.run.Lock()
			stop := s.run.stop
			s.run.Unlock()
			select {
			case <-t.C:
			case <-stop:
			}
		})
	}
}

// context returns the context of the cell that runs.
func (s *Session) context() context.Context {
	s.run.Lock()
	defer s.run.Unlock()
	if s.run.ctx == nil {
		return context.Background()
	}
	return s.run.ctx
}

// running is called as a cell's function starts; what it returns as it ends.
func (s *Session) running() func() {
	s.run.Lock()
	ended := s.run.ended
	s.run.Unlock()
	return func() { close(ended) }
}

// setResult keeps the value of a cell's last expression.
func (s *Session) setResult(vs []any) {
	s.run.Lock()
	ts := s.run.types
	s.run.Unlock()
	b := display.Result(vs, ts)
	s.run.Lock()
	s.run.result = b
	s.run.Unlock()
}

// goroutinePanic reports a panic of a goroutine that a cell started.
func (s *Session) goroutinePanic(v any) {
	s.run.Lock()
	out := s.run.out
	s.run.Unlock()
	text := "panic in a goroutine: " + panicText(v) + "\n"
	if e, ok := v.(exit); ok {
		text = e.Error() + " in a goroutine: the goroutine has ended\n"
	}
	if out == nil {
		_, _ = io.WriteString(os.Stderr, text)
		return
	}
	out.Stderr(text)
}

// traceWriter receives the interpreter's notes of the frames that a panic
// passes, innermost first: "In[3]/_.go:4:8: panic: main.f(...)".
type traceWriter struct{ s *Session }

func (w traceWriter) Write(b []byte) (int, error) {
	w.s.run.Lock()
	defer w.s.run.Unlock()
	for line := range strings.Lines(string(b)) {
		if f, ok := parseFrame(strings.TrimSuffix(line, "\n")); ok {
			if len(w.s.run.frames) < 1000 {
				w.s.run.frames = append(w.s.run.frames, f)
			}
			continue
		}
		if w.s.run.out != nil {
			w.s.run.out.Stderr(line)
		}
	}
	return len(b), nil
}

var _ engine.Engine = (*Session)(nil)
