// Package yaegi is an engine for cells of Go on the interpreter yaegi as its
// authors publish it: without the type checker, the rewrites and the compiled
// functions of package gocell. It is the second opinion where a cell's result is in
// doubt, and the peer in comparisons of speed. Start with [New].
//
// A cell is cut into declarations and statements (cells.go), which are compiled all
// before the first of them runs. The packages that cells can import are those of
// gocell's tables, and need no import. What yaegi lacks stays lacking: kernel/docs/yaegi.md
// lists it for users.
package yaegi

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/internal/pieces"
)

// A Session is one session of yaegi, an engine.Engine.
type Session struct {
	args    []string // os.Args in cells
	version string   // of the kernel
	in      *interp.Interpreter
	types   *symbols.Types
	closed  atomic.Bool
	last    atomic.Pointer[run] // that runs, or ran last

	ctx   reflect.Value     // the cells' variable ctx
	names map[string]string // of packages in cells -> import paths
	used  map[string]bool   // import paths that the interpreter knows
	idle  *interp.Program   // see runAll
	made  int               // variables that rewrites have made
	stdin func() *bufio.Reader

	mu      sync.Mutex // guards the fields below
	texts   map[int]string
	globals map[string]reflect.Type
	decls   map[string]string // functions, types and methods ("T.m") -> source
}

// mark begins the names that rewrites make up, and kernel is the package of functions
// that rewritten cells call.
const (
	mark   = "ˑ"
	kernel = mark + "kernel"
)

// New starts a session. Args is os.Args in cells, version the kernel's.
func New(args []string, version string) (*Session, error) {
	types, err := symbols.NewTypes()
	if err != nil {
		return nil, err
	}
	s := &Session{args: args, version: version, types: types, used: map[string]bool{}, names: map[string]string{}, decls: map[string]string{},
		texts: map[int]string{}, globals: map[string]reflect.Type{}}
	s.stdin = sync.OnceValue(func() *bufio.Reader { return bufio.NewReader(&input{s: s}) })
	s.in = interp.New(interp.Options{Args: args, Unrestricted: true, Stdin: strings.NewReader(""), Stdout: writer{s, stdout}, Stderr: writer{s, trace}})
	err = cmp.Or(s.in.Use(interp.Exports{kernel + "/./" + kernel: {
		"Show":   reflect.ValueOf(func(values ...any) { s.run().values = values }),
		"Idle":   reflect.ValueOf(func() { r := s.run(); r.idles <- true; <-r.idles; runtime.Goexit() }),
		"Must":   reflect.ValueOf(func(values ...any) { s.run().must(values) }),
		"Report": reflect.ValueOf(func(v any) { s.run().out.Stderr(fmt.Sprintln("panic in a goroutine:", panicValue(v))) }),
	}}), s.use("context", "context"))
	for _, text := range []string{"import " + kernel + ` "` + kernel + `"`, "var ctx context.Context"} {
		if err == nil {
			_, err = s.in.Eval(text)
		}
	}
	if err == nil {
		s.idle, err = s.in.Compile(kernel + ".Idle()")
	}
	if err != nil {
		return nil, fmt.Errorf("yaegi: %w", err)
	}
	s.ctx = s.in.Globals()["ctx"]
	return s, nil
}

// A run is a cell under way. It is the value of the cell's goroutines (see package
// goroutine).
type run struct {
	ctx    context.Context
	out    engine.Outputs
	values []any         // of the last expression
	stop   chan struct{} // closed when the cell is interrupted
	idles  chan bool     // closed to end the idle program, which has sent that it runs
	mu     sync.Mutex    // guards frames
	frames []string      // that a panic has passed: "In[1]/_.go:3:5: panic: main.f(...)"
}

// Outputs returns where package display shows something.
func (r *run) Outputs() engine.Outputs { return r.out }

// must panics with the error that is the last of some values, and makes the others
// those of the cell.
func (r *run) must(values []any) {
	n := len(values) - 1
	if err, ok := values[n].(error); ok {
		panic(failure{err})
	}
	r.values = values[:n]
}

// run returns the cell that this goroutine belongs to, the latest where that is not
// known.
func (s *Session) run() *run {
	if r, ok := goroutine.Value().(*run); ok {
		return r
	}
	return s.last.Load()
}

// A failure is the panic of must, an exit that which stands for the process's end.
type (
	failure struct{ error }
	exit    int
)

func (e exit) Error() string { return fmt.Sprintf("os.Exit(%d)", int(e)) }

// Info describes the language and the kernel to clients.
func (s *Session) Info() engine.Info {
	return engine.Info{
		Name: "go", Version: runtime.Version(), MimeType: "text/x-go", FileExtension: ".go",
		PygmentsLexer: "go", CodeMirrorMode: "go", Implementation: "dace-yaegi", ImplementationVer: cmp.Or(s.version, "devel"),
		Banner: "Go (dace, by yaegi alone): Go cells with dacelib. ?name documents a name.",
	}
}

// IsComplete reports whether code is a complete cell, or lacks lines.
func (s *Session) IsComplete(code string) engine.Completeness { return pieces.Completeness(code) }

// Close ends the session.
func (s *Session) Close() error { s.closed.Store(true); return nil }

// Execute runs a cell.
func (s *Session) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (res engine.Result, err error) {
	if s.closed.Load() {
		return res, newError("Closed", "the session has ended")
	}
	if name, ok := strings.CutPrefix(strings.TrimSpace(cell.Code), "?"); ok {
		doc, ok := s.Inspect(name, len(name), 0)
		if !ok {
			return res, newError("NameError", "nothing is known of "+name)
		}
		return engine.Result{Pages: []engine.Bundle{doc}}, nil
	}
	s.mu.Lock()
	s.texts[cell.Number] = cell.Code
	s.mu.Unlock()
	r := &run{ctx: ctx, out: out, stop: make(chan struct{}), idles: make(chan bool)}
	s.last.Store(r)
	list, err := pieces.Split(cell.Number, cell.Code)
	if err == nil {
		err = s.imports(list)
	}
	var programs []program
	for i, p := range list {
		if err == nil {
			var more []program
			more, err = s.compile(p, i == len(list)-1)
			programs = append(programs, more...)
		}
	}
	if err != nil {
		return res, s.compileError(err)
	}
	s.ctx.Set(reflect.ValueOf(&r.ctx).Elem())
	if at, err := s.runAll(programs, r); err != nil {
		return res, s.runtimeError(at, r, err)
	}
	globals := s.in.Globals()
	s.mu.Lock()
	for name, v := range globals {
		if v.IsValid() && !strings.HasPrefix(name, mark) {
			s.globals[name] = v.Type()
		}
	}
	s.mu.Unlock()
	if n := len(r.values); n > 1 { // of a call whose last result is an error
		if err, ok := r.values[n-1].(error); ok {
			return res, s.runtimeError(programs[len(programs)-1].at, r, interp.Panic{Value: failure{err}})
		}
	}
	return engine.Result{Value: display.Result(r.values, true)}, nil
}

// runAll runs the parts of a cell until one fails, or the cell is interrupted. What
// stops them is an idle program beside them that ExecuteWithContext runs: it would
// return before they have ended.
func (s *Session) runAll(programs []program, r *run) (at pieces.Place, err error) {
	stop, cancel := context.WithCancel(context.Background())
	defer cancel()
	idle, done := make(chan struct{}), make(chan struct{})
	go goroutine.With(r, func() { _, _ = s.in.ExecuteWithContext(stop, s.idle); close(idle) })
	<-r.idles
	go goroutine.With(r, func() {
		defer close(done)
		for _, p := range programs {
			if at = p.at; err == nil && r.ctx.Err() == nil {
				_, err = s.in.Execute(p.code)
			}
		}
	})
	select {
	case <-done:
	case <-r.ctx.Done():
		cancel()
		<-idle
		close(r.stop)
		select {
		case <-done:
		case <-time.After(700 * time.Millisecond): // in a compiled call
		}
	}
	close(r.idles)
	<-idle
	return at, cmp.Or(r.ctx.Err(), err)
}

// Evaluate computes an expression.
func (s *Session) Evaluate(ctx context.Context, expr string) (engine.Bundle, error) {
	if _, err := parser.ParseExpr(expr); err != nil {
		return engine.Bundle{}, s.compileError(err)
	}
	res, err := s.Execute(ctx, engine.Cell{Code: expr}, new(display.Capture).Outputs(nil))
	return res.Value, err
}

func newError(name, message string, traceback ...string) *engine.Error {
	return &engine.Error{Name: name, Message: message, Traceback: append(traceback, name+": "+message)}
}

// position matches a position at the start of a message.
var position = regexp.MustCompile(`^In\[(\d+)\]/_\.go:(\d+):\d+: `)

// quote returns the line of a cell that a message begins with, and the rest of it.
func (s *Session) quote(text string) (lines []string, rest string) {
	m := position.FindStringSubmatch(text)
	if m == nil {
		return nil, text
	}
	number, _ := strconv.Atoi(m[1])
	line, _ := strconv.Atoi(m[2])
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Split(s.texts[number], "\n")
	line = min(line, len(all)) // the end of a cell is a line of its own to the parser
	return []string{fmt.Sprintf("In[%d], line %d:", number, line), "    " + strings.TrimSpace(all[line-1])}, text[len(m[0]):]
}

// compileError returns the error of a cell that does not compile.
func (s *Session) compileError(err error) *engine.Error {
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
		err = list[0]
	}
	lines, message := s.quote(err.Error())
	message = strings.Replace(message, "constant definition loop", "yaegi does not find the type: write var x T = ... in place of x := ...", 1)
	return newError(engine.CompileError, message, lines...)
}

// runtimeError returns the error of a cell that has failed at a place while it ran.
func (s *Session) runtimeError(at pieces.Place, r *run, err error) *engine.Error {
	if r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()) {
		return newError(engine.Interrupted, "the cell was interrupted",
			"Function literals that were made before return zero values from now on: yaegi runs them only within the run that made them. Make them anew.")
	}
	name, text := engine.Panic, err.Error()
	if p := (interp.Panic{}); errors.As(err, &p) {
		v := panicValue(p.Value)
		text = fmt.Sprint(v)
		if _, ok := v.(failure); ok {
			name = "error"
		} else if _, ok := v.(exit); ok {
			name = "Exit"
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var trace []string
	for _, f := range append(r.frames, fmt.Sprintf("%s:%d:1: ", pieces.FileName(at.Cell), at.Line)) {
		if lines, _ := s.quote(f); lines != nil && !slices.Contains(trace, lines[0]) {
			trace = append(trace, lines...)
		}
	}
	return newError(name, text, trace...)
}

// panicValue takes a panic's value out of what the interpreter wraps it in.
func panicValue(v any) any {
	if rv, ok := v.(reflect.Value); ok && rv.IsValid() && rv.CanInterface() {
		return panicValue(rv.Interface())
	}
	if e, ok := v.(*reflect.ValueError); ok && e.Kind == reflect.Invalid {
		return "runtime error: invalid memory address or nil pointer dereference"
	}
	return v
}

// A writer writes for the cell that the goroutine which writes belongs to.
type writer struct {
	s     *Session
	write func(r *run, text string)
}

func (w writer) Write(b []byte) (int, error) {
	w.write(w.s.run(), string(b))
	return len(b), nil
}

func stdout(r *run, text string) { r.out.Stdout(text) }
func stderr(r *run, text string) { r.out.Stderr(text) }

// trace notes what the interpreter itself writes: the functions that a panic passes.
func trace(r *run, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, strings.TrimSpace(text))
}

// input is the standard input of cells: it asks the user, line by line.
type input struct {
	s    *Session
	rest string
}

func (in *input) Read(b []byte) (int, error) {
	if in.rest == "" {
		r := in.s.run()
		line, err := r.out.Input(r.ctx, "", false)
		if err != nil {
			return 0, err
		}
		in.rest = line + "\n"
	}
	n := copy(b, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}
