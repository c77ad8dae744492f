package compiled

import (
	"cmp"
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/std"
	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/gocell/rtype"
)

// A cell that begins with %%compile is a package of its own, which a Compiler
// builds and loads. Its names belong to the session like any others: to the
// checker all cells are one package, so other cells can use names that are not
// exported. The build includes the declarations of earlier cells that the
// cell uses: compiled cells are imported, functions and constants of
// interpreted cells are copied, plain variables are shared, and types are
// compiled from then on (lift.go). When one of these changes, the cell is built
// again.
//
// Interpreted cells call functions and methods of compiled cells as they call
// those of the library. They instantiate generic functions from the text,
// interpreted. Of generic types they can use the instances that compiled cells
// mention.
//
// Limitation: an unnamed type may have two descriptors. If neither the kernel
// nor an earlier compiled cell has the type (a map[string][3]int), interpreted
// code may make it first, and the plugin once more. Calls of the cell's
// functions convert between the two, and the types of methods are unified
// (rtype.Meet). But an interface that holds a value of the first type does not
// assert to the second, and setting a field of function type, or an argument of
// a method, of such a type panics.

// A Compiler builds Go packages and loads them into this process.
type Compiler interface {
	// Ready returns nil if cells can be compiled, else an error that tells the
	// user why not.
	Ready() error
	// Load builds a package and loads it. sources maps import paths to the text
	// of the package and of the packages of compiled cells that it imports.
	// modules is the folder of a module whose requirements the package may
	// import too, or "". Load returns the package's variable Xˑˑ (no cell has
	// that name). A path always stands for the same text, so it is built once.
	// If the package is not stored and cannot be built here, the error is an
	// [Unavailable].
	Load(ctx context.Context, path string, sources map[string]string, modules string) (table map[string]any, err error)
}

// A merger is a Compiler that builds many packages as one: Alone returns the name
// that a function would have in a package of its own.
type merger interface{ Alone(function string) string }

// An Unavailable error says that the machine, not the cell, is why it was not
// compiled.
type Unavailable interface {
	error
	Unavailable()
}

// A Set holds the compiled cells of a session.
type Set struct {
	// Compiler builds the cells; nil if there is no compiler.
	Compiler Compiler
	// Machine runs the cells that use them.
	Machine *vm.Machine
	// Global returns a variable of the session, or of a fetched package by its name in
	// Native.Globals.
	Global func(name string) (reflect.Value, bool)
	// Modules returns the folder of the module that requires the fetched
	// modules.
	Modules func() string
	// Source returns the fetched package at an import path, or nil.
	Source func(path string) *check.FetchedPackage
	// Line returns the text of the line that a position in a cell is in.
	Line func(p token.Position) (string, bool)
	// Placed returns a value with the methods of x as cells have them, such as those
	// of a test, which log places in cells.
	Placed func(x any, method string) any
	// Library sets the functions of a package that cells have in the place of its own.
	Library func(path string, symbols map[string]reflect.Value)
	// StandIn returns the function that cells call for a method of the library, with its
	// receiver as first parameter.
	StandIn func(m *types.Func) (reflect.Value, bool)
	// Others counts the goroutines that run cells beside the first.
	Others *atomic.Int32

	// TypeFor returns the type of the session for one of the checker, and Method has a
	// method of one, by its name, called by a function of a pointer to the receiver.
	TypeFor func(types.Type) (reflect.Type, error)
	Method  func(t types.Type, name string, f reflect.Value)

	mu    sync.Mutex               // guards cells
	cells map[string]*check.Native // by the checker's import path
}

// Install makes a compiled cell that Prepare has loaded one of the session's, sets its
// variables, and returns what it declares by a name, as a value of a type.
func (s *Set) Install(n *check.Native, name string, typeOf func(types.Type) (reflect.Type, error)) (reflect.Value, error) {
	if err := show(n); err != nil {
		return reflect.Value{}, err
	}
	s.add(n)
	s.Start(check.PathOf(n.Package))
	return Symbols(n, typeOf)[name], nil
}

// Link makes a compiled cell with copies of types that Bind has bound one of the
// session's, sets its variables, and returns the function that it was built for.
func (s *Set) Link(n *check.Native) reflect.Value {
	s.mu.Lock()
	maps.DeleteFunc(s.cells, func(_ string, old *check.Native) bool { return old.Layout && old.Path == n.Path })
	s.mu.Unlock()
	s.add(n)
	s.Start(check.PathOf(n.Package))
	s.bindMethods(n)
	return reflect.ValueOf(n.Table[EntryKey])
}

// At returns the compiled cell at an import path of the checker, or nil.
func (s *Set) At(path string) *check.Native {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells[path]
}

func (s *Set) add(n *check.Native) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cells == nil {
		s.cells = map[string]*check.Native{}
	}
	s.cells[check.PathOf(n.Package)] = n
}

// TypeOf returns the compiled type for a type name that a compiled cell
// declares, or nil.
func (s *Set) TypeOf(o *types.TypeName) reflect.Type {
	n := s.At(check.PathOf(o.Pkg()))
	if n == nil || n.Table[o.Name()] == nil {
		return nil
	}
	return reflect.TypeOf(n.Table[o.Name()]).Elem()
}

// InstanceOf returns the compiled type for an instance of a generic type that a
// compiled cell declares, or nil if no compiled cell has the instance.
func (s *Set) InstanceOf(t *types.Named) reflect.Type {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.cells {
		for i, x := range n.Instances {
			if types.Identical(x, t) {
				return reflect.TypeOf(n.Table[check.InstanceKey(i)]).Elem()
			}
		}
	}
	return nil
}

// Ready returns nil if cells can be compiled, else an error that tells the user
// why not.
func (s *Set) Ready() error {
	if s.Compiler == nil {
		return noCompiler{}
	}
	return s.Compiler.Ready()
}

// noCompiler is the error of a session without a compiler.
type noCompiler struct{}

func (noCompiler) Error() string { return "this program has no compiler for cells" }
func (noCompiler) Unavailable()  {}

// Build builds and loads compiled cells.
func (s *Set) Build(ctx context.Context, cells []*check.Native, out engine.Outputs) error {
	if len(cells) == 0 {
		return nil
	}
	if s.Compiler == nil {
		return noCompiler{}
	}
	// Compiling the libraries that a cell imports takes long, but is done only
	// once.
	slow := time.AfterFunc(4*time.Second, func() {
		out.Stderr("%%compile: the toolchain compiles the packages that the cell imports; it does so once\n")
	})
	defer slow.Stop()
	for _, n := range cells {
		if err := s.Prepare(ctx, n); err != nil {
			return err
		}
		if err := show(n); err != nil {
			return err
		}
		s.add(n)
	}
	return nil
}

// Generate sets the text of a compiled cell, and the path under which it is
// built.
func (s *Set) Generate(n *check.Native) error {
	for number := 0; ; number++ {
		g := &generator{set: s, n: n, number: number, fset: s.Machine.Files(), imports: map[string]string{}, held: map[held]bool{}, cells: map[*check.Native]string{}, musts: map[int]bool{}, joins: map[int]bool{}, summed: map[ast.Expr]bool{},
			asks: map[*ast.Ident]bool{}, asking: map[string]map[string]string{}}
		if err := g.generate(); err != nil || free(n) {
			return err
		}
	}
}

// Prepare builds a compiled cell and loads its plugin. A later Build of the same
// text is done at once.
func (s *Set) Prepare(ctx context.Context, n *check.Native) error {
	if err := s.Generate(n); err != nil {
		return err
	}
	modules := ""
	if n.Fetched {
		modules = s.Modules()
	}
	table, err := s.Compiler.Load(ctx, n.Path, n.Sources, modules)
	if err != nil {
		return buildError(n, err)
	}
	n.Table = table
	return nil
}

// show adapts the types of a loaded cell for other cells and for printing:
// it restores the names of fields that are not exported, and registers the types
// of methods, so that the session's types use the same descriptors (rtype.Meet).
func show(n *check.Native) error {
	err := rtype.RenameLoaded("main", func(field string) string { return strings.TrimPrefix(field, cell.ExportMark) },
		func(text string) string {
			return strings.ReplaceAll(builtRE.ReplaceAllString(text, "${1}main."), cell.ExportMark, "")
		})
	for _, name := range n.Package.Scope().Names() {
		if t, ok := n.Package.Scope().Lookup(name).Type().(*types.Named); ok && t.TypeParams().Len() > 0 {
			std.DeclareGeneric(n.Path+"."+name, t)
		}
	}
	show := func(t reflect.Type) {
		if t.Kind() == reflect.Interface {
			for m := range t.Methods() {
				rtype.Meet(m.Type)
			}
			return
		}
		p := reflect.New(t)
		for i := range p.NumMethod() {
			rtype.Meet(p.Method(i).Type())
		}
	}
	for _, name := range n.Package.Scope().Names() {
		v, ok := n.Table[name]
		if _, isType := n.Package.Scope().Lookup(name).(*types.TypeName); !ok || !isType {
			continue
		}
		show(reflect.TypeOf(v).Elem())
	}
	for i := range n.Instances {
		show(reflect.TypeOf(n.Table[check.InstanceKey(i)]).Elem())
	}
	return err
}

// builtRE matches the package of a compiled cell in the text of a type: its name, or,
// in type arguments, its path.
var builtRE = regexp.MustCompile(`(^|[^\w./"])(?:cell|` + regexp.QuoteMeta(check.NativePath) + `\w+)\.`)

// cLineRE matches an error of the C compiler in the text before import "C".
var cLineRE = regexp.MustCompile(`^\S*/cell\.go:(\d+):(\d+): (?:fatal )?error: (.*)$`)

// buildError converts the toolchain's output to messages with positions in the
// cell.
func buildError(n *check.Native, err error) error {
	ce := &check.Error{}
	for line := range strings.Lines(err.Error()) {
		if m := nativeLineRE.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if p, ok := placeIn(n, m[1], m[2], m[3]); ok {
				ce.List.Add(p, m[4])
			}
		} else if m := cLineRE.FindStringSubmatch(strings.TrimSpace(line)); m != nil && n.C != nil {
			p := token.Position{Filename: cell.FileName(n.C.Cell)}
			p.Line, _ = strconv.Atoi(m[1])
			p.Column, _ = strconv.Atoi(m[2])
			ce.List.Add(p, m[3])
		}
	}
	if len(ce.List) > 0 {
		return ce
	}
	return err
}

// exports returns the names of a compiled cell with their values, in the form
// that package compile takes.
func exports(n *check.Native) map[string]reflect.Value {
	m := map[string]reflect.Value{}
	for _, name := range n.Package.Scope().Names() {
		o := n.Package.Scope().Lookup(name)
		v, ok := n.Table[name]
		switch o := o.(type) {
		case *types.Const:
			if b, isBasic := o.Type().(*types.Basic); isBasic && b.Info()&types.IsUntyped != 0 {
				m[name] = reflect.ValueOf(o.Val())
			} else if ok {
				m[name] = reflect.ValueOf(v)
			}
		case *types.Var:
			if ok {
				m[name] = reflect.ValueOf(v).Elem()
				m[cell.PointerMark+name] = reflect.ValueOf(v)
			}
		default:
			if ok {
				m[name] = reflect.ValueOf(v)
			}
		}
	}
	return m
}

// Symbols is like exports, but its values have the session's types: a plugin
// may bring a second descriptor of a type that the session has already.
func Symbols(n *check.Native, typeOf func(types.Type) (reflect.Type, error)) map[string]reflect.Value {
	m := exports(n)
	for _, name := range n.Package.Scope().Names() {
		o, v := n.Package.Scope().Lookup(name), m[name]
		_, isVar := o.(*types.Var)
		if _, isFunc := o.(*types.Func); !v.IsValid() || !isVar && !isFunc {
			continue
		}
		t, err := typeOf(o.Type())
		if err != nil || t == v.Type() || !rtype.Same(t, v.Type()) {
			continue
		}
		if !isVar {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			v = p.Elem()
		}
		p := reflect.NewAt(t, v.Addr().UnsafePointer())
		m[name] = p.Elem()
		if isVar {
			m[cell.PointerMark+name] = p
		}
	}
	return m
}

// Start initializes a compiled cell that has been loaded: it passes it the
// session's variables and sets the cell's own. It runs as part of the cell.
func (s *Set) Start(ipath string) {
	n := s.At(ipath)
	old := s.At(n.Before)
	if p, ok := n.Table[cell.Mark+"ctx"].(*func() context.Context); ok {
		*p = s.Machine.Context
	}
	if p, ok := n.Table[cell.Mark+"recover"].(*func()); ok {
		*p = func() {
			if v := recover(); v != nil {
				s.Machine.Report(append(s.Machine.Cell().TakeFrames(), s.Frames()...), v)
			}
			s.Machine.CompiledGoroutine(-1)
			s.Others.Add(-1)
		}
	}
	if p, ok := n.Table[cell.Mark+"started"].(*func()); ok {
		*p = func() {
			s.Machine.CompiledGoroutine(1)
			s.Others.Add(1)
		}
	}
	if p, ok := n.Table[cell.Mark+"recovered"].(*func(any) any); ok {
		*p = vm.Recovered
	}
	if p, ok := n.Table[cell.Mark+"here"].(*func() uintptr); ok {
		*p = vm.Goroutine
	}
	if p, ok := n.Table[cell.Mark+"stack"].(*func()); ok {
		*p = s.Machine.CheckStack
	}
	if p, ok := n.Table[cell.Mark+"fail"].(*func(error)); ok {
		*p = vm.Must
	}
	if p, ok := n.Table[cell.Mark+"halting"].(**uint32); ok {
		*p = s.Machine.Halting()
	}
	if p, ok := n.Table[cell.Mark+"need"].(*func(string, float64, float64)); ok {
		*p = s.Machine.NeedMake
	}
	if p, ok := n.Table[cell.Mark+"grow"].(*func(string, float64)); ok {
		*p = s.Machine.Need
	}
	if p, ok := n.Table[cell.Mark+"others"].(**atomic.Int32); ok {
		*p = s.Others
		reflect.ValueOf(n.Table[cell.Mark+"lockMap"]).Elem().Set(reflect.ValueOf(vm.LockMap))
		reflect.ValueOf(n.Table[cell.Mark+"unlockMap"]).Elem().Set(reflect.ValueOf(vm.UnlockMap))
	}
	if p, ok := n.Table[cell.Mark+"done"].(*func() <-chan struct{}); ok {
		*p = s.Machine.Done
	}
	setNilReceiver(n)
	s.setPlaces(n)
	if p, ok := n.Table[cell.Mark+"halt"].(*func()); ok {
		*p = s.Machine.CheckHalt
	}
	for name := range n.Vars {
		if v, ok := s.Global(cmp.Or(n.Globals[name], name)); ok && v.CanAddr() {
			// A variable of this cell that is the session's now begins with its value:
			// total := step(), where step uses total.
			if old != nil {
				if was := reflect.ValueOf(old.Table[name]); was.IsValid() && was.Type() == reflect.PointerTo(v.Type()) {
					v.Set(was.Elem())
				}
			}
			dst := reflect.ValueOf(n.Table[cell.Mark+"v "+name]).Elem()
			if dst.Type().Elem() == v.Type() {
				dst.Set(v.Addr())
			} else {
				dst.Set(reflect.NewAt(dst.Type().Elem(), v.Addr().UnsafePointer()))
			}
		}
	}
	if old != nil && follow(n, old) {
		return
	}
	if f, ok := n.Table[cell.Mark+"init"].(func()); ok {
		f()
	}
}

// follow copies the values of the variables from an older version of the same
// cell. It reports whether the older version has all of them, with the same
// types; else it copies none.
func follow(n, old *check.Native) bool {
	if old.Path == n.Path {
		return true
	}
	type move struct{ to, from reflect.Value }
	var moves []move
	for _, name := range n.Package.Scope().Names() {
		if _, ok := n.Package.Scope().Lookup(name).(*types.Var); !ok {
			continue
		}
		to, from := reflect.ValueOf(n.Table[name]), reflect.ValueOf(old.Table[name])
		if !from.IsValid() || to.Type() != from.Type() {
			return false
		}
		moves = append(moves, move{to.Elem(), from.Elem()})
	}
	for _, m := range moves {
		m.to.Set(m.from)
	}
	return true
}

// Declaration returns the source with which a compiled cell declares a name.
func (s *Set) Declaration(o types.Object) string {
	n := s.At(check.PathOf(o.Pkg()))
	if n == nil || !check.OfNative(o) {
		return ""
	}
	var parts []string
	for _, d := range n.Decls {
		u := check.UnitsOf(d.Piece, d.Decl)
		if slices.Contains(u.Names, o.Name()) {
			parts = append(parts, d.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// mostFrames is how many frames of a panic in a compiled cell are kept.
const mostFrames = 250

// Frames returns the frames of compiled cells on the stack of a goroutine that
// panics, innermost first.
func (s *Set) Frames() []vm.Frame { return s.frames(false) }

// FramesUnderWay returns those of a goroutine that does not panic.
func (s *Set) FramesUnderWay() []vm.Frame { return s.frames(true) }

// frames returns the frames of compiled cells on the stack of this goroutine: those that
// are below the panic, unless all are wanted.
func (s *Set) frames(all bool) []vm.Frame {
	if s.empty() {
		return nil
	}
	var out []vm.Frame
	panicking := all
	onStack(func(f runtime.Frame) bool {
		panicking = panicking || f.Function == "runtime.gopanic"
		if path, name, ok := s.compiledName(f.Function); ok && panicking {
			if p, ok := s.position(path, f.File, f.Line); ok {
				out = append(out, vm.Frame{Pos: p, Name: frameName(name)})
			}
		}
		// The panic passes the frames further out later.
		return len(out) < mostFrames && !(panicking && vm.IsCode(f.Function))
	})
	return out
}

// FramesAround returns the frames of compiled cells that a panic has passed on, which
// comes out of a function of cells that they have called.
func (s *Set) FramesAround() (out []vm.Frame) {
	if s.empty() {
		return nil
	}
	inner, left := false, false // in the function that was called, and out of it
	onStack(func(f runtime.Frame) bool {
		own := vm.IsCode(f.Function)
		inner = inner || f.Function == vm.CalledByLibrary
		left = left || inner && !own
		if path, name, ok := s.compiledName(f.Function); ok && left {
			if p, ok := s.position(path, f.File, f.Line); ok {
				out = append(out, vm.Frame{Pos: p, Name: frameName(name)})
			}
		}
		return len(out) < mostFrames && !(left && own)
	})
	return out
}

// onStack calls f for the functions on the stack of this goroutine, the innermost
// first, until it returns false.
func onStack(f func(runtime.Frame) bool) {
	pcs := make([]uintptr, 256)
	n := runtime.Callers(3, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 2*len(pcs))
		n = runtime.Callers(3, pcs)
	}
	fs := runtime.CallersFrames(pcs[:n])
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = fs.Next(); !f(frame) {
			return
		}
	}
}

// Defers reports whether a compiled cell that has defer statements is on the stack
// of this goroutine.
func (s *Set) Defers() (found bool) {
	if s.empty() {
		return false
	}
	onStack(func(f runtime.Frame) bool {
		path, _, ok := s.compiledName(f.Function)
		found = ok && s.defers(path)
		return !found
	})
	return found
}

// Callers returns the calls under way in compiled cells in this goroutine, the
// innermost first: those inside the innermost interpreted function, and the others.
func (s *Set) Callers() (inner, outer []vm.Caller) {
	if s.empty() {
		return nil, nil
	}
	list := &inner
	onStack(func(f runtime.Frame) bool {
		if path, name, ok := s.compiledName(f.Function); ok {
			if p, ok := s.position(path, f.File, f.Line); ok {
				*list = append(*list, vm.Caller{Function: "main." + frameName(name), File: cell.Name(p.Filename), Line: p.Line})
			}
		} else if vm.IsCode(f.Function) {
			list = &outer
		}
		return true
	})
	return inner, outer
}

// Frame returns the line of a compiled cell that a function on a stack stands for; ok is
// false for other functions. The line is not valid for what has none.
func (s *Set) Frame(function, file string, line int) (f vm.Frame, ok bool) {
	path, name, ok := s.compiledName(function)
	if !ok || s.empty() {
		return f, false
	}
	f.Name = frameName(name)
	f.Pos, _ = s.position(path, file, line)
	return f, true
}

// compiledName returns the path of the compiled cell that a function on the stack
// belongs to, and its name there.
func (s *Set) compiledName(function string) (path, name string, ok bool) {
	if m, merges := s.Compiler.(merger); merges {
		function = m.Alone(function)
	}
	rest, ok := strings.CutPrefix(function, check.NativePath)
	path, name, _ = strings.Cut(rest, ".")
	return check.NativePath + path, name, ok
}

// defers reports whether the compiled cell at a path has defer statements.
func (s *Set) defers(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.cells {
		if n.Path == path {
			return n.Defers
		}
	}
	return false
}

// initRE matches the name of a function that generate made of an init function
// or of the initializers of variables.
var initRE = regexp.MustCompile("^" + cell.Mark + `init(\d*)`)

// frameName returns the name that the user knows for a function of a compiled
// cell.
func frameName(name string) string {
	m := initRE.FindStringSubmatch(name)
	switch {
	case name == check.LoopName || strings.HasPrefix(name, check.LoopName+"."):
		return "" // of a cell's statements
	case m == nil:
		return cell.Clean(name)
	case m[1] == "":
		return "cell" + name[len(m[0]):]
	}
	return "init" + name[len(m[0]):]
}

// position returns the position in a cell for a line of a compiled package: the
// first word of the line.
func (s *Set) position(path, file string, line int) (p token.Position, ok bool) {
	s.mu.Lock()
	last := int64(-1)
	for ipath, n := range s.cells {
		// Several cells may have the same text; take the latest.
		number, _ := strconv.ParseInt(strings.TrimPrefix(ipath, cell.CellsPath), 10, 64)
		if n.Path == path && number > last {
			if p, ok = placeIn(n, file, strconv.Itoa(line), "1"); ok {
				last = number
			}
		}
	}
	s.mu.Unlock()
	if text, known := s.Line(p); known {
		p.Column = 1 + len(text) - len(strings.TrimLeft(text, " \t"))
	}
	return p, ok
}

func (s *Set) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.cells) == 0
}
