package vm

import (
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"maps"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/widget/model"
)

// A Machine is an interpreter and the cells that it runs.
type Machine struct {
	// Memory returns the limits on memory: those of the machine, of the control
	// groups and of the process. Tests have others.
	Memory func() []limits.Limit
	// Asserted holds the types that cells ask for by number.
	Asserted Types
	// Own runs the cells in the interpreter's place; nil where that does.
	Own Own

	spent    atomic.Int64 // bytes that cells have allocated since the memory was read last
	pacing   sync.Once    // sets ownLimit
	ownLimit int64        // the collector's memory limit as the process began

	left sync.Map // *Cell -> time.Time: cells that were given up, and when

	hooks   Hooks
	in      *interp.Interpreter
	last    atomic.Pointer[Cell] // that runs, or ran last
	methods sync.Map             // methodKey: *Method
	stops   sync.Map             // int: *stopAt
	runs    runs
	tick    atomic.Uint32 // the clock of profiles
	made    int           // global variables that makeGlobals has made
	halting uint32        // cells that are to stop; accessed atomically
	tracing uint32        // 1 while calls note their frames; accessed atomically
}

// An Own is another machine, which answers for what it runs.
type Own interface {
	// Callers is what [Machine.Callers] returns.
	Callers() []Caller
	// Origin is what [Machine.Origin] returns.
	Origin(f reflect.Value) (name string, at token.Position, ok bool)
	// Global is what [Machine.Global] returns.
	Global(name string) (reflect.Value, bool)
	// Drop gives up the value of a global variable.
	Drop(name string)
}

// Hooks are what a Machine asks of those who use it. Those that are nil are not
// called.
type Hooks struct {
	// Args is os.Args as the interpreter has it.
	Args []string
	// Flush is called before something is written to a cell's outputs: what the
	// cell wrote to the process's streams goes first.
	Flush func()
	// Redirected returns the file that a cell has made its standard output, or
	// nil.
	Redirected func() *os.File
	// CompiledFrames returns the frames of compiled cells on the stack of this
	// goroutine, which panics, the innermost first, up to the border (see
	// IsBorder).
	CompiledFrames func() []Frame
	// CompiledUnderWay returns those of a goroutine that does not panic.
	CompiledUnderWay func() []Frame
	// CompiledCallers returns the calls under way in compiled cells in this
	// goroutine, the innermost first: those inside the innermost interpreted
	// function, and the others.
	CompiledCallers func() (inner, outer []Caller)
	// CompiledDefers reports whether functions of compiled cells that defer calls
	// are under way in this goroutine.
	CompiledDefers func() bool
	// Widgets are those that the cells have shown.
	Widgets *model.Session
	// Stops is the debugger.
	Stops Stops
	// GoroutinePanicked reports a panic that has ended a goroutine of a cell.
	GoroutinePanicked func(c *Cell, frames []Frame, value any)
	// Traceback returns the text of a panic and of the frames that it passed.
	Traceback func(frames []Frame, value any) string
}

// New returns a Machine that knows no packages yet.
func New(hooks Hooks) *Machine {
	m := &Machine{hooks: hooks, Memory: memory}
	m.runs.over, m.runs.cells = sync.NewCond(&m.runs.mu), map[*Cell]bool{}
	m.in = interp.New(interp.Options{
		// Cells read os.Stdin itself.
		Stdin: strings.NewReader(""), Stdout: m.Stdout(), Stderr: traceWriter{m},
		Args: hooks.Args, Unrestricted: true,
	})
	return m
}

// Clock returns a counter that moves while a profile is taken.
func (m *Machine) Clock() *atomic.Uint32 { return &m.tick }

// Files returns the file set that all positions belong to.
func (m *Machine) Files() *token.FileSet { return m.in.FileSet() }

// Use makes a package known to the interpreter: path is its import path, a slash
// and its name. The interpreter's compiler may panic on odd symbols.
func (m *Machine) Use(path string, symbols map[string]reflect.Value) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gocell: %v", r)
		}
	}()
	return m.in.Use(interp.Exports{path: symbols})
}

// Import imports a package under a name, for all files.
func (m *Machine) Import(name, path string) error {
	_, err := m.in.Eval("import " + name + ` "` + path + `"`)
	return err
}

// A Program is a compiled file that has not run.
type Program struct{ p *interp.Program }

// Compile compiles a file whose functions take the place of others of their
// names.
func (m *Machine) Compile(file *ast.File) (*Program, error) {
	names := m.Names()
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			names.Forget(f.Name.Name)
		}
	}
	p, err := m.in.CompileAST(file)
	if err != nil {
		return nil, err
	}
	m.guardProgram(p)
	return &Program{p}, nil
}

// Runtime returns the functions of this package that rewritten code calls.
func (m *Machine) Runtime() map[string]reflect.Value {
	all := map[string]any{
		"Result":      func(values ...any) { m.Cell().last(values, nil) },
		"Checked":     func(values ...any) { m.Cell().last(checked(values)) },
		"Check":       func(values ...any) { _, err := checked(values); m.Cell().last(nil, err) },
		"Started":     m.detach,
		"Ctx":         m.Context,
		"Go":          m.start,
		"Move":        func(name string) { m.moveGlobal(cell.Mark+"old"+name, cell.Mangle(name)) },
		"Guarded":     m.Guarded,
		"Runes":       runes,
		"Text":        textOf,
		"Deferred":    deferred,
		"Forward":     forward,
		"Recover":     recoverIn,
		"RunDeferred": deferredBy,
		"Clear":       clearIn,
		"Must":        Must,
		"At":          func(int, ...any) {}, // see stops.go
		"NonNil": func(x any) {
			if x == nil {
				panic(NilDereference)
			}
		},
	}
	values := map[string]reflect.Value{}
	for name, f := range all {
		values[name] = reflect.ValueOf(f)
	}
	m.Asserted.runtime(values)
	maps.Copy(values, minMax)
	return values
}

// checked divides the values of a last expression into those to show and the
// error that is the last of them; nil if that is none.
func checked(values []any) ([]any, error) {
	last := len(values) - 1
	if err, ok := values[last].(error); ok {
		return nil, err
	}
	return values[:last], nil
}

// Stdout returns the standard output of the cell that the goroutine which
// writes belongs to.
func (m *Machine) Stdout() io.Writer { return stdout{m} }

type stdout struct{ m *Machine }

func (w stdout) Write(b []byte) (int, error) {
	c := w.m.Cell()
	if c == nil {
		return os.Stdout.Write(b)
	}
	if redirected := w.m.hooks.Redirected; redirected != nil {
		if f := redirected(); f != nil {
			return f.Write(b)
		}
	}
	c.Outputs().Stdout(string(b))
	return len(b), nil
}

// Stderr returns the standard error of the cell that the goroutine which writes
// belongs to.
func (m *Machine) Stderr() io.Writer { return stderr{m} }

type stderr struct{ m *Machine }

func (w stderr) Write(b []byte) (int, error) {
	c := w.m.Cell()
	if c == nil {
		return os.Stderr.Write(b)
	}
	c.Outputs().Stderr(string(b))
	return len(b), nil
}

// Guarded returns f for compiled code that runs it in a goroutine of its own,
// where a panic would end the process. foreign knows it by its name.
//
//go:noinline
func (m *Machine) Guarded(f func()) func() {
	return func() {
		defer func() {
			if v := recover(); v != nil {
				m.goroutinePanic(v)
			}
		}()
		f()
	}
}

// detach is called as the cell's own code begins: what the interpreter does to its
// tables is over, and no goroutine of the cell runs yet.
func (m *Machine) detach() {
	c := m.Cell()
	if c.program != nil {
		c.program.detach()
		c.program = nil
	}
	if c.begins != nil {
		c.begins()
	}
	close(c.started)
}

// goroutinePanic reports a panic of a goroutine that a cell started.
func (m *Machine) goroutinePanic(v any) {
	c := m.Cell()
	m.hooks.GoroutinePanicked(c, c.TakeFrames(), v)
}

// Traceback returns the text of a panic that compiled code has recovered, and of
// the frames that it passed.
func (m *Machine) Traceback(v any) string { return m.hooks.Traceback(m.Cell().TakeFrames(), v) }

// Contain makes a panic that leaves the outermost function of cells in this goroutine
// the error of the cell, if it would end the process; nil is no panic of its own.
// Functions defer the call.
func (m *Machine) Contain(frames []Frame, value any) bool {
	library, ok := foreign()
	if !ok {
		return false
	}
	c := m.Cell()
	if value == nil {
		return true
	}
	if c.ctx.Err() != nil {
		m.hooks.GoroutinePanicked(c, frames, value)
		return true
	}
	c.cancel(&ForeignPanic{value, frames, library})
	m.stopRuns()
	return true
}

// Report reports a panic that ends a goroutine of the cell that this goroutine
// belongs to.
func (m *Machine) Report(frames []Frame, value any) {
	m.hooks.GoroutinePanicked(m.Cell(), frames, value)
}
