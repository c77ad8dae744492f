//go:build !release

package gocell

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"slices"
	"strings"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/compile"
	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/gocell/symbols"
)

// ownMachine runs cells without the interpreter. Only Execute uses it.
type ownMachine struct {
	compiler *compile.Compiler
	machine  *code.Machine
	tables   map[string]map[string]reflect.Value
	stopped  <-chan struct{} // of the cell that runs
	trace    []code.Step     // of the panic that has ended it
}

// A stopping is the panic that ends a goroutine of a cell that is to stop.
type stopping struct{}

func (stopping) Error() string { return "the cell was stopped" }

// newOwnMachine returns the machine of a session, nil if the interpreter runs
// its cells.
func newOwnMachine(s *Session) *ownMachine {
	if os.Getenv(MachineVariable) != "compile" {
		return nil
	}
	o := &ownMachine{machine: &code.Machine{}, tables: map[string]map[string]reflect.Value{}}
	o.machine.Stopped = func(*code.G) { panic(stopping{}) }
	o.machine.Done = func() <-chan struct{} { return o.stopped }
	o.machine.Ends = func(value any) bool { _, ok := value.(vm.Exit); return ok }
	o.machine.Need = s.machine.Need
	o.machine.Print = func(text string) { fmt.Fprint(s.machine.Stderr(), text) }
	o.machine.Panicked = func(g *code.G, value any) {
		if _, ok := value.(stopping); !ok {
			s.machine.Report(o.frames(s, g.Trace), value)
		}
	}
	o.compiler = compile.New(o.machine, s.machine.Files(), compile.Host{
		Type: s.types.TypeOf, Symbol: func(path, name string) (reflect.Value, bool) { return o.symbol(s, path, name) },
		Bind: func(t *types.Named, method string, fn reflect.Value) {
			s.types.Bind(s.types.MethodNumber(t, method), fn.Interface())
		},
		MethodName: check.RuntimeName,
		MethodsOf:  func(o types.Object) []string { return s.prog.MethodsOf(o) },
		Instance: func(o types.Object, method string, args []types.Type) (*ast.FuncDecl, *types.Info, bool) {
			return s.prog.Instance(s.machine.Files(), o, method, args)
		},
	})
	return o
}

// symbol returns what cells have under a name of a compiled package.
func (o *ownMachine) symbol(s *Session, path, name string) (reflect.Value, bool) {
	t, ok := o.tables[path]
	if !ok {
		p, _ := s.prog.Importer.Import(path)
		if t, ok = symbols.Lookup(path, p); ok {
			s.packages.library.Override(path, t)
		}
		if path == check.StdPath {
			t = s.packages.library.Symbols()
		}
		o.tables[path] = t
	}
	v, ok := t[name]
	return v, ok
}

// frames returns the frames of a panic, the innermost first.
func (o *ownMachine) frames(s *Session, trace []code.Step) []vm.Frame {
	var frames []vm.Frame
	for _, st := range trace {
		if p := token.Pos(st.Pos); p.IsValid() {
			frames = append(frames, vm.Frame{Pos: s.machine.Files().Position(p), Name: strings.TrimPrefix(st.Fn.Name, "main.")})
		}
	}
	return frames
}

// compile compiles a checked cell.
func (o *ownMachine) compile(s *Session, c *check.Checked, isProgram bool) (e *code.Entry, err error) {
	defer compilerPanic(&err)
	s.types.Adopt(c)
	x := &compile.Cell{Info: c.Info, Body: c.Source.Body.List, Vars: map[*types.Var]*types.Var{}, Same: map[*types.Var]*types.Var{},
		Moved: map[*types.Var]*types.Var{}}
	for _, d := range c.Decls {
		f, ok := d.Decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		x.Decls = append(x.Decls, f)
		if d.Own && f.Recv == nil && f.Name.Name == "main" && isProgram {
			x.Main, _ = c.Info.Defs[f.Name].(*types.Func)
		}
		if f.Recv == nil && f.Name.Name == "init" {
			o, ok := c.Info.Defs[f.Name].(*types.Func)
			if !ok {
				return nil, &compile.Error{Pos: f.Pos(), Msg: "this func init cannot be compiled yet"}
			}
			x.Init = append(x.Init, o)
		}
	}
	x.InitAt = check.AfterVars(x.Body)
	for n, v := range c.Moved {
		if old := s.prog.Names[n]; old != nil {
			if was, ok := old.Object.(*types.Var); ok {
				x.Moved[v] = was
			}
		}
	}
	o.variables(s, c, x)
	if e := c.Next.Names["ctx"]; e != nil && e.Cell == 0 {
		if v, ok := e.Object.(*types.Var); ok {
			ctx := s.machine.Context()
			o.compiler.Variable(v).Set(reflect.ValueOf(&ctx).Elem())
		}
	}
	if c.List() != nil && c.Source.Quiet {
		x.Last, x.List, x.Show = c.Source.Last, c.List(), func([]any) {}
	} else if show := showing(c); show != "" {
		f := s.machine.Runtime()[show].Interface().(func(...any))
		x.Last, x.Show = c.Source.Last, func(values []any) { f(values...) }
		x.List = c.List()
	}
	return o.compiler.Cell(x)
}

// variables tells which variables of the statements are the session's.
func (o *ownMachine) variables(s *Session, c *check.Checked, x *compile.Cell) {
	at := map[token.Pos]*types.Var{}
	for _, v := range c.Vars {
		at[v.Pos()] = v
		if old := s.prog.Names[v.Name()]; old != nil && old.Cell != 0 && old.Cell != check.OfFunction && !c.Redeclared[v.Name()] {
			if was, ok := old.Object.(*types.Var); ok && types.Identical(was.Type(), v.Type()) {
				x.Same[v] = was
			}
		}
	}
	for _, def := range c.Info.Defs {
		if local, ok := def.(*types.Var); ok && !local.IsField() {
			if v := at[local.Pos()]; v != nil && v.Name() == local.Name() {
				x.Vars[local] = v
			}
		}
	}
}

// showing returns the name of the function of the machine that gets the values of
// a cell's last expression, or "".
func showing(c *check.Checked) string {
	x, ok := c.Source.Last.(*ast.ExprStmt)
	if !ok || len(c.Results) == 0 {
		return ""
	}
	if c.List() != nil {
		return "Result"
	}
	hidden := c.Source.Quiet || writes(c, x.X)
	switch {
	case c.Fails && hidden:
		return "Check"
	case c.Fails:
		return "Checked"
	case hidden:
		return ""
	}
	return "Result"
}

// writes reports whether an expression is a call that writes, whose count and
// error are not shown.
func writes(c *check.Checked, x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok || len(c.Results) != 2 || c.Results[1].String() != "error" {
		return false
	}
	if b, ok := c.Results[0].(*types.Basic); !ok || b.Kind() != types.Int && b.Kind() != types.Int64 {
		return false
	}
	name := ""
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	return slices.ContainsFunc([]string{"Print", "Fprint", "Write", "Copy", "Append"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// run runs the code of a cell, watched for interrupts and memory.
func (o *ownMachine) run(s *Session, cell *vm.Cell, e *code.Entry) error {
	o.stopped, o.trace = cell.Stopped(), nil
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-cell.Stopped():
			o.machine.Stop.Store(1)
			<-over
		case <-over:
		}
	}()
	err := s.runWatched(cell, func() error {
		return s.machine.Call(cell, func() {
			o.machine.CallNoting(e, func(trace []code.Step) { o.trace = trace })
		})
	})
	close(over)
	<-ended
	o.machine.Stop.Store(0)
	return err
}

// runOwn compiles and runs a checked cell. It calls release when it has compiled;
// failed returns the error that the last expression is.
func (s *Session) runOwn(run *vm.Cell, c *check.Checked, isProgram bool, release func(), failed func() error) error {
	undo := s.keepNames()
	e, err := s.own.compile(s, c, isProgram)
	if err != nil {
		undo()
		refusal, ok := err.(*compile.Error)
		if !ok {
			return s.compileError(c.Source.Number, err)
		}
		positioned := &check.Error{}
		positioned.List.Add(s.machine.Files().Position(refusal.Pos), refusal.Msg)
		return s.compileError(c.Source.Number, positioned)
	}
	s.mu.Lock()
	s.prog = c.Next
	s.mu.Unlock()
	release()
	err = s.own.run(s, run, e)
	if err == nil {
		if e := failed(); e != nil {
			return s.failure([]vm.Frame{{Pos: s.machine.Files().Position(c.Source.Last.Pos())}}, vm.Failure{Err: e})
		}
		return nil
	}
	value, ok := vm.Panicked(err)
	if !ok {
		return s.runtimeError(run, err)
	}
	switch v := value.(type) {
	case vm.Exit:
		return s.runtimeError(run, err)
	case vm.Failure:
		return s.failure(s.own.frames(s, s.own.trace), v)
	case *code.StackOverflow:
		return s.overflowError(run, s.own.frames(s, s.own.trace), vm.ErrStackOverflow)
	}
	return &engine.Error{Name: engine.Panic, Message: vm.PanicText(value, display.Format), Traceback: s.panicLines(s.own.frames(s, s.own.trace), value)}
}
