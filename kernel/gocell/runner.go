package gocell

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/compile"
	"dace.local/kernel/gocell/internal/compiled"
	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/gocell/internal/std"
	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/gocell/symbols"
)

// A runner compiles the cells of a session to code, and runs it. Only Execute uses it.
type runner struct {
	compiler *compile.Compiler
	machine  *code.Machine
	tables   map[string]map[string]reflect.Value
	onDisk   map[ast.Node]bool        // declarations of packages on disk
	stopVars map[int][]*types.Var     // the variables in scope at the debugger's stops
	standIns map[string]reflect.Value // functions that replace methods of the library, by name
}

// A stopping is the panic that ends a goroutine of a cell that is to stop.
type stopping struct{}

func (stopping) Error() string { return "the cell was stopped" }

// origin returns where in the cells a function value was declared: the name of a
// declared function, "" for a function literal, and the place of the declaration or the
// literal. ok is false for other functions, and for methods.
func (s *Session) origin(f reflect.Value) (name string, at token.Position, ok bool) {
	fn := code.FunctionOf(f)
	if fn == nil {
		return "", token.Position{}, false
	}
	name, pos, ok := compile.Origin(fn)
	return name, s.machine.Files().Position(pos), ok
}

// named returns the session's variable of a name, nil if it is none. The caller does
// not hold known.mu.
func (s *Session) named(name string) *types.Var {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.prog.Names[name]; n != nil {
		v, _ := n.Object.(*types.Var)
		return v
	}
	return nil
}

// global returns the value of a variable of the session, or of a fetched package by the
// name that compiled cells have for it; it can be set.
func (s *Session) global(name string) (v reflect.Value, ok bool) {
	o := s.runner.compiler.FetchedVar(name)
	if o == nil {
		o = s.named(name)
	}
	if o == nil {
		return v, false
	}
	return s.runner.compiler.Value(o)
}

// newRunner returns the runner of a session.
func newRunner(s *Session) *runner {
	r := &runner{machine: &code.Machine{}, tables: map[string]map[string]reflect.Value{}, onDisk: map[ast.Node]bool{}, standIns: s.library.Runtime()}
	r.machine.Raised = func(g *code.G, value any) { r.raised(s, g, value) }
	r.machine.Native = func(around bool) any {
		list := s.compiled.Frames
		if around {
			list = s.compiled.FramesAround
		}
		if frames := list(); frames != nil {
			return frames
		}
		return nil
	}
	r.machine.Here, r.machine.Lock, r.machine.Unlock = vm.GoroutineStack, vm.LockMap, vm.UnlockMap
	r.machine.Objects, r.machine.Start = vm.LockObjects, s.machine.Go
	r.machine.Stopped = func(*code.G) { panic(stopping{}) }
	r.machine.Latest = func() *code.Group { return groupOf(s.machine.Cell()) }
	r.machine.Foreign = func(g *code.G, value any) bool { return r.foreign(s, g, value) }
	r.machine.Recovered = vm.Recovered
	r.machine.Ends = func(value any) bool {
		switch value.(type) {
		case vm.Exit, *code.StackOverflow: // nothing recovers them
			return true
		}
		return false
	}
	r.machine.Clock = s.machine.Clock()
	r.machine.Need = s.machine.Need
	r.machine.Print = func(text string) { fmt.Fprint(s.machine.Stderr(), text) }
	r.machine.Panicked = func(g *code.G, value any) {
		if _, ok := value.(stopping); !ok {
			r.panicked(s, g, value)
			s.machine.Report(r.frames(s, g), value)
		}
	}
	r.compiler = compile.New(r.machine, s.machine.Files(), compile.Host{
		Type: s.types.TypeOf, Instances: s.types.Instances, Symbol: func(path, name string) (reflect.Value, bool) { return r.symbol(s, path, name) },
		Bind: s.types.Bind,
		Compiled: func(f types.Object, args []types.Type) (reflect.Value, bool) {
			name, ok := std.Instance(f.Pkg().Path() + "." + f.Name() + "[" + check.TypeList(args, nil) + "]")
			if !ok {
				return reflect.Value{}, false
			}
			return r.symbol(s, check.StdPath, name)
		},
		StandInOf: func(t reflect.Type, method string) (reflect.Value, bool) {
			name := std.StandInOf(t, method)
			return r.standIns[name], name != ""
		},
		Shares: shares, MethodName: check.RuntimeName, StandIn: func(m *types.Func) (reflect.Value, bool) { return r.standIn(s, m) },
		MethodsOf: func(o types.Object) []string { return s.prog.MethodsOf(o) },
		Instance:  instances(s, s.prog),
	})
	return r
}

// instances finds the instances of generic functions, with the text that prog has of them.
func instances(s *Session, prog *check.Program) compile.InstanceFunc {
	return func(o types.Object, method string, args []types.Type) (*ast.FuncDecl, *types.Info, bool) {
		return prog.Instance(s.machine.Files(), o, method, args)
	}
}

// shares says which arguments of a call may be objects of libraries that are maps
// without locks; see vm.LockObjects.
func shares(fn reflect.Value, method string, args []reflect.Type) (objects []bool, fixed []reflect.Value, write bool) {
	name, function := method, false
	if fn.IsValid() {
		name, function = vm.SharingFunction(fn)
	}
	if function && strings.HasPrefix(name, "flag.") {
		fixed = append(fixed, reflect.ValueOf(flag.CommandLine))
	}
	for i, t := range args {
		if vm.MayShare(t) {
			if objects == nil {
				objects = make([]bool, len(args))
			}
			objects[i] = true
		}
	}
	return objects, fixed, vm.MayWrite(name, function)
}

// symbol returns what cells have under a name of a compiled package.
func (r *runner) symbol(s *Session, path, name string) (reflect.Value, bool) {
	if path == check.MustPath && name == check.MustName(0) {
		return reflect.ValueOf(vm.Must), true
	}
	t, ok := r.tables[path]
	if n := s.compiled.At(path); n != nil && !ok {
		t, ok = compiled.Symbols(n, s.types.TypeOf), true
		r.tables[path] = t
	}
	if !ok {
		p, _ := s.prog.Importer.Import(path)
		if t, ok = symbols.Lookup(path, p); ok {
			s.library.Override(path, t)
		}
		if path == check.StdPath {
			t = s.library.Symbols()
		}
		r.tables[path] = t
	}
	v, ok := t[name]
	return v, ok
}

// groupOf returns the goroutines of a cell, which may be nil.
func groupOf(c *vm.Cell) *code.Group {
	if c != nil {
		if g, ok := c.Kept().(*code.Group); ok {
			return g
		}
	}
	return &code.Group{}
}

// standIn returns the function that replaces a method of the library.
func (r *runner) standIn(s *Session, m *types.Func) (reflect.Value, bool) {
	if m.FullName() == "(*sync.WaitGroup).Go" {
		return reflect.ValueOf(func(wg *sync.WaitGroup, f func()) {
			others, f, done := r.machine.Others(), s.machine.Guarded(f), s.machine.Guarded(wg.Done)
			wg.Add(1)
			others.Add(1)
			go func() {
				defer others.Add(-1)
				defer done() // which panics where f has called Done, too
				f()
			}()
		}), true
	}
	name := std.StandIn(m)
	if name == "" {
		return reflect.Value{}, false
	}
	return r.standIns[name], true
}

// foreign is told of a panic in a goroutine that a library has started.
func (r *runner) foreign(s *Session, g *code.G, value any) bool {
	frames := r.frames(s, g)
	if len(frames) > 0 {
		frames[len(frames)-1].Name = "" // which the note about the goroutine stands for
	}
	if _, ok := value.(stopping); ok {
		return s.machine.Contain(nil, nil)
	}
	if s.machine.Contain(frames, value) {
		g.Group.Stop.Store(1) // the cell has failed
		return true
	}
	s.machine.Cell().NoteFrames(r.frames(s, g))
	return false
}

// frames returns the frames of a panic, the innermost first.
func (r *runner) frames(s *Session, g *code.G) []vm.Frame { return r.tracedFrames(s, g.Trace) }

func (r *runner) tracedFrames(s *Session, trace []code.Step) []vm.Frame {
	var frames []vm.Frame
	loop := false // the frame before is of a loop of statements, compiled apart
	for _, st := range trace {
		if native, ok := st.Native.([]vm.Frame); ok {
			frames = append(frames, native...)
			loop = len(native) > 0 && native[len(native)-1].Name == ""
			continue
		}
		if loop {
			loop = false
			continue
		}
		p := s.machine.Files().Position(token.Pos(st.Pos))
		if p.IsValid() && p.Filename != cell.FileName(0) {
			frames = append(frames, vm.Frame{Pos: p, Name: shownFunction(st.Fn)})
		}
	}
	return frames
}

// placeOfPanic returns where the panic with a value came from that a library has just
// recovered in this goroutine, or "".
func (r *runner) placeOfPanic(s *Session, value any) string {
	var frames []vm.Frame
	if g := r.machine.Noted(value); g != nil {
		frames = r.frames(s, g)
	} else if frames = s.compiled.Frames(); len(frames) == 0 {
		if c := s.machine.Cell(); c != nil { // of a goroutine that the library has started
			frames = c.TakeFrames()
		}
	}
	if len(frames) == 0 {
		return ""
	}
	p := frames[0].Pos
	at := fmt.Sprintf("%s:%d", cell.Name(p.Filename), p.Line)
	if p.Column > 0 {
		at += fmt.Sprintf(":%d", p.Column)
	}
	if frames[0].Name != "" {
		at += " in " + frames[0].Name
	}
	return at
}

// shownFunction returns the name of a function as tracebacks show it.
func shownFunction(fn *code.Func) string {
	return strings.ReplaceAll(strings.TrimPrefix(fn.Name, "main."), ".func1", ".func")
}

// callers returns the calls under way in this goroutine, the innermost first.
func (r *runner) callers(s *Session) (list []vm.Caller) {
	for _, st := range r.machine.Calls() {
		p := s.machine.Files().Position(token.Pos(st.Pos))
		if p.IsValid() && p.Filename != cell.FileName(0) {
			list = append(list, vm.Caller{Function: runtimeName(st.Fn), File: cell.Name(p.Filename), Line: p.Line, Start: compile.Start(st)})
		}
	}
	return list
}

// runtimeName returns the name of a function as Go's run time writes it.
func runtimeName(fn *code.Func) string {
	name := fn.Name
	if i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); i >= 0 && j > i {
		name = name[:i] + "[...]" + name[j+1:]
	}
	return name
}

// functionOf describes a function that cells have made, interpreted or compiled.
func (r *runner) functionOf(s *Session, f reflect.Value) (c vm.Caller, ok bool) {
	if fn := code.FunctionOf(f); fn != nil {
		at, literal, ok := compile.Declared(fn)
		if !ok { // a method as a value
			return vm.Caller{Function: runtimeName(fn), File: "<autogenerated>", Line: 1}, true
		}
		p := s.machine.Files().Position(at)
		c = vm.Caller{Function: runtimeName(fn), File: cell.Name(p.Filename), Line: p.Line}
		if literal { // several may stand in a line
			c.Start = at
		}
		return c, true
	}
	fn := runtime.FuncForPC(f.Pointer())
	if fn == nil {
		return c, false
	}
	file, line := fn.FileLine(f.Pointer())
	frame, ok := s.compiled.Frame(fn.Name(), file, line)
	return vm.Caller{Function: "main." + frame.Name, File: cell.Name(frame.Pos.Filename), Line: frame.Pos.Line}, ok
}

// compile compiles a cell that has been checked against a program.
func (r *runner) compile(s *Session, c *check.Checked, prog *check.Program, isProgram bool) (e *code.Entry, err error) {
	defer compilerPanic(&err)
	declared := append(slices.Clip(s.fetched.onDisk.followed), s.types.Adopt(c)...)
	r.noteStops(s, c)
	x := &compile.Cell{Info: c.Info, Types: declared, Body: c.Source.Body.List, Instead: s.compiled.auto.compiledLoops(c), Vars: map[*types.Var]*types.Var{}, Before: map[*types.Var]*types.Var{},
		Moved: map[*types.Var]*types.Var{}, Instance: instances(s, c.Next)}
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
		if old := prog.Names[n]; old != nil {
			if was, ok := old.Object.(*types.Var); ok {
				x.Moved[v] = was
			}
		}
	}
	r.variables(c, prog, x)
	for _, v := range c.Source.Recalled {
		r.compiler.Variable(v)
	}
	if e := prog.Names["ctx"]; e != nil && e.Cell == 0 { // also for a cell that declares its own of it
		if v, ok := e.Object.(*types.Var); ok {
			ctx := s.machine.Context()
			r.compiler.Variable(v).Set(reflect.ValueOf(&ctx).Elem())
		}
	}
	if c.List() != nil && c.Source.Quiet {
		x.Last, x.List, x.Show = c.Source.Last, c.List(), func([]any) {}
	} else if show := s.showing(c); show != nil {
		x.Last, x.Show, x.List = c.Source.Last, show, c.List()
	}
	return r.compiler.Cell(x)
}

// variables tells which variables of the statements are the session's.
func (r *runner) variables(c *check.Checked, prog *check.Program, x *compile.Cell) {
	at := map[token.Pos]*types.Var{}
	for _, v := range c.Vars {
		at[v.Pos()] = v
		if old := prog.Names[v.Name()]; old != nil && old.Cell != 0 && old.Cell != check.OfFunction && !c.Redeclared[v.Name()] {
			if was, ok := old.Object.(*types.Var); ok {
				x.Before[v] = was
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

// showing returns what shows the values of a cell's last expression, nil where nothing
// does.
func (s *Session) showing(c *check.Checked) func(values []any) {
	x, ok := c.Source.Last.(*ast.ExprStmt)
	if !ok || len(c.Results) == 0 {
		return nil
	}
	hidden := c.List() == nil && (c.Source.Quiet || writes(c, x.X))
	fails := c.List() == nil && c.Fails
	if hidden && !fails {
		return nil
	}
	return func(values []any) { s.machine.Show(values, fails, hidden) }
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

// run runs code of a cell, after compiled cells have been started, watched for interrupts and memory. g is the
// goroutine of the panic that has ended it, nil if there was none.
func (r *runner) run(s *Session, run *vm.Cell, number int, natives []*check.Native, entries ...*code.Entry) (g *code.G, err error) {
	group := &code.Group{Done: run.Stopped()}
	run.Keep(group)
	run.OnStop(func() { group.Stop.Store(1) })
	var noted syncValue[*code.G]
	err = s.runWatched(run, func() error {
		return s.machine.Run(run, func() {
			r.start(s, run, number, natives)
			for _, e := range entries {
				r.machine.CallNoting(e, group, noted.set)
			}
		})
	})
	if errors.Is(err, vm.ErrAbandoned) {
		for _, pos := range group.Within() {
			if p := s.machine.Files().Position(token.Pos(pos)); p.IsValid() && p.Filename != cell.FileName(0) {
				run.StoppedHere(p)
			}
		}
	}
	return noted.get(), err
}

// runCell compiles and runs a checked cell. It calls release when it has compiled;
// failed returns the error that the last expression is, vars are the variables to look
// at when the cell panics.
func (s *Session) runCell(run *vm.Cell, c *check.Checked, isProgram bool, release func(), vars []string, failed func() error) error {
	undo := s.types.Snapshot()
	e, err := s.runner.compile(s, c, s.prog, isProgram)
	if err != nil {
		undo()
		return s.compileError(c.Source.Number, s.positioned(err))
	}
	s.fetched.onDisk.followed = nil
	s.mu.Lock()
	s.prog = c.Next
	s.mu.Unlock()
	s.recall(c.Source.Recalled)
	release()
	over := s.compiled.auto.watch(c)
	stop := magic.Start(run.Context())
	g, err := s.runner.run(s, run, c.Source.Number, c.Natives, e)
	stop()
	over()
	if err == nil {
		if e := failed(); e != nil {
			if err := run.Context().Err(); err != nil && errors.Is(e, err) {
				return s.runtimeError(run, err) // the cell returned because it was interrupted
			}
			return s.failure([]vm.Frame{{Pos: s.machine.Files().Position(c.Source.Last.Pos())}}, vm.Failure{Err: e})
		}
		return nil
	}
	if value, ok := vm.Panicked(err); ok && g != nil {
		s.runner.panicked(s, g, value)
	}
	return s.cellError(run, g, err, vars)
}

// start initializes compiled cells, for the cell of a number.
func (r *runner) start(s *Session, run *vm.Cell, number int, natives []*check.Native) {
	started := false
	defer func() {
		if !started {
			at := token.Position{Filename: cell.FileName(number), Line: 1, Column: 1}
			run.NoteFrames(append(s.compiled.Frames(), vm.Frame{Pos: at}))
		}
	}()
	for _, n := range natives {
		s.compiled.Start(check.PathOf(n.Package))
	}
	started = true
}

// linker compiles declarations of fetched packages, and returns what initializes them.
func (s *Session) linker(k *linkage) (func(*vm.Cell) *engine.Error, error) {
	decls, packages := k.sorted()
	s.runner.noteOnDisk(s, decls)
	entries, err := s.runner.fetched(decls, packages, k.packages)
	return func(run *vm.Cell) *engine.Error {
		if g, err := s.runner.run(s, run, 0, nil, entries...); err != nil {
			return s.cellError(run, g, err, nil)
		}
		return nil
	}, s.positioned(err)
}

// positioned returns what the compiler refuses as an error at a place of
// a cell, and other errors as they are.
func (s *Session) positioned(err error) error {
	refusal, ok := err.(*compile.Error)
	if !ok {
		return err
	}
	e := &check.Error{}
	e.List.Add(s.machine.Files().Position(refusal.Pos), refusal.Msg)
	return e
}

func (r *runner) fetched(decls []*check.FetchedDecl, packages []*check.FetchedPackage, initialize map[*check.FetchedPackage]bool) (run []*code.Entry, err error) {
	defer compilerPanic(&err)
	return r.compiler.Fetched(decls, packages, initialize)
}

// cellError returns the error of a cell that has failed with err, in goroutine g where
// that is a panic.
func (s *Session) cellError(run *vm.Cell, g *code.G, err error, vars []string) *engine.Error {
	value, ok := vm.Panicked(err)
	if g == nil {
		return s.runtimeError(run, err)
	}
	frames := s.runner.frames(s, g)
	if !ok {
		for _, f := range frames {
			run.StoppedHere(f.Pos)
		}
		run.NoteFrames(frames)
		return s.runtimeError(run, err)
	}
	switch v := value.(type) {
	case vm.Exit:
		return s.runtimeError(run, err)
	case vm.Failure:
		return s.failure(frames, v)
	case *code.StackOverflow:
		return s.overflowError(frames, vm.ErrStackOverflow)
	}
	x := &engine.Error{Name: engine.Panic, Message: vm.PanicText(value, display.Format), Traceback: s.panicLines(frames, value)}
	for _, p := range g.Replaced {
		x.Traceback = slices.Insert(x.Traceback, len(x.Traceback)-1, s.replaced(s.runner.tracedFrames(s, p.Trace), p))
	}
	x.Traceback = append(x.Traceback, s.errorVars.unseen(s.runner.unseen(s, g.Trace), s.errorIn, vars, x.Message)...)
	return x
}

// unseen returns the variables of type error that are not nil of the functions that
// a panic has left; of recursive calls the innermost counts.
func (r *runner) unseen(s *Session, trace []code.Step) (list []vm.ErrorVar) {
	seen := map[token.Pos]bool{}
	for _, st := range trace {
		for _, v := range compile.ErrorVars(st) {
			if !seen[v.Set] {
				seen[v.Set] = true
				list = append(list, vm.ErrorVar{Name: v.Name, At: s.machine.Files().Position(v.Set), Err: v.Err})
			}
		}
	}
	return list
}
