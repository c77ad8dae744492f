package gocell

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/compiled"
	"dace.local/kernel/gocell/internal/debug"
	"dace.local/kernel/gocell/internal/mirror"
	"dace.local/kernel/gocell/internal/std"
	"dace.local/kernel/gocell/internal/stdio"
	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/internal/live"
	"dace.local/kernel/internal/toolchain/module"
	"dace.local/kernel/widget/model"
)

// A Compiler builds Go packages and loads them into this process.
type Compiler = compiled.Compiler

// Options configure a session. A kernel uses the zero value.
type Options struct {
	// Args is os.Args in cells; nil means only the name "dace".
	Args []string
	// Version is the kernel's version, which Info returns.
	Version string
	// KeepStdio leaves os.Stdout and os.Stderr of the process as they are:
	// output that compiled code writes there is not shown as the cell's.
	KeepStdio bool
	// KeepStdin leaves os.Stdin of the process as it is: reads of it return the
	// process's own input. Otherwise they ask the user, through
	// engine.Outputs.Input.
	KeepStdin bool
	// KeepOutputs keeps what cells show, for %output, and sends of a cell's text that
	// is longer than a megabyte the beginning and the end.
	KeepOutputs bool
	// Notebook is the notebook's file. Its widgets are shown as they were last to a page
	// that is loaded after the kernel has started again. "" means that it is not known.
	Notebook string
	// Kernel names the kernel, which starts again under its name, and Folder is that of
	// its notebook: for a Notebook that is not known.
	Kernel, Folder string
	// Compiler builds the cells that begin with %%compile. Without a compiler
	// those cells are interpreted.
	Compiler Compiler
	// Stale says below a cell's output which cells are stale by it.
	Stale bool
	// StartFile is the name of a file of Go that runs before the first cell, "" for
	// none; a file that does not exist is none.
	StartFile string
	// CompileAfter is the processor time after which the session compiles a
	// function by itself: a kernel's is HotAfter. Negative: at once, and cells
	// that name the function wait until it is built. 0: only after %compile auto
	// has been said, and then HotAfter.
	CompileAfter time.Duration
}

// A Session is one Go session: the declarations, variables and imports of its
// cells, and what runs them. It implements engine.Engine.
type Session struct {
	opts   Options
	closed atomic.Bool

	*known // read by completion while a cell runs, hence its mutex
	messages
	editor
	concurrent

	machine  *vm.Machine
	runner   *runner
	library  *std.Library
	unplaced func()        // places of panics are no longer the session's to tell
	types    *mirror.Types // maps the checker's types to reflect types
	compiled natives
	fetched
	widgets model.Session // widgets that the cells have shown

	errorVars errorVars // only Execute uses it
	calamity  syncValue[*calamity]
	stale     staleCells
	results   results  // of cells, for _ and Out; guarded by the turn to compile
	hooked    sync.Map // name -> hook, of functions that are called around cells

	shown   outputs     // of the cells, where they are kept
	formats atomic.Bool // cells are formatted when they have run
	begun   sync.Once   // StartFile has run
}

// natives holds the compiled cells.
type natives struct {
	*compiled.Set
	auto automatic
}

// known holds the declarations and the texts of the session's cells.
type known struct {
	mu    sync.Mutex     // guards prog, texts, ids, and the scope of prog's package
	prog  *check.Program // the names declared so far
	texts map[int]string // cell number -> text, to quote lines in messages
	ids   map[int]string // the notebook's ids of cells, where they are known
}

// fetched holds the packages that %get has fetched. Only Execute uses it.
type fetched struct {
	*known
	files     *token.FileSet
	compiling turn         // of concurrent
	ready     func() error // why cells cannot be compiled; nil if they can

	onDisk
	modules     module.Store
	auto        bool                           // modules that cells import are fetched
	linked      map[*check.FetchedDecl]bool    // declarations that have been compiled
	initialized map[*check.FetchedPackage]bool // packages whose init functions have run
}

var _ engine.Engine = (*Session)(nil)

// New starts a session.
func New(opts Options) (*Session, error) {
	if opts.Args == nil {
		opts.Args = []string{"dace"}
	}
	prog, err := check.NewProgram()
	if err != nil {
		return nil, err
	}
	s := &Session{opts: opts, known: &known{prog: prog, texts: map[int]string{}, ids: map[int]string{}}, errorVars: errorVars{}}
	s.concurrent = concurrent{keepStdin: opts.KeepStdin, keepStdio: opts.KeepStdio, compiling: make(turn, 1), calling: make(turn, 1)}
	s.debugger = debug.New(debugHost{s})
	s.widgets.Earlier = s.earlierWidgets
	if opts.KeepOutputs {
		live.SetPaged(true)
	}
	hooks := vm.Hooks{Callers: func() []vm.Caller { return s.runner.callers(s) },
		CompiledUnderWay: func() []vm.Frame { return s.compiled.FramesUnderWay() }, CompiledDefers: func() bool { return s.compiled.Defers() },
		FunctionOf:        func(f reflect.Value) (vm.Caller, bool) { return s.runner.functionOf(s, f) },
		CompiledCallers:   func() (inner, outer []vm.Caller) { return s.compiled.Callers() },
		GoroutinePanicked: s.goroutinePanicked, Traceback: s.traceback, Widgets: &s.widgets}
	if !opts.KeepStdio {
		hooks.Flush, hooks.Redirected = stdio.Output.Flush, stdio.Output.Redirected
	}
	s.machine = vm.New(hooks)
	s.concurrent.machine = s.machine
	s.messages = messages{s.known, s.machine.Files()}
	s.compiled.Set = &compiled.Set{Compiler: opts.Compiler, Machine: s.machine, Modules: s.fetched.modules.Dir, Source: prog.Importer.Source, Line: s.sourceLine}
	s.editor = editor{s.known, sync.OnceValue(s.newMagics), s.compiled.Declaration, s.keysOf}
	s.fetched = fetched{known: s.known, files: s.machine.Files(), compiling: s.concurrent.compiling, ready: s.compiled.Ready,
		linked: map[*check.FetchedDecl]bool{}, initialized: map[*check.FetchedPackage]bool{}}
	s.fetched.findRoot()
	prog.Importer.Missing, prog.Importer.Folder = s.fetched.missing, s.fetched.folderPath
	s.compiled.auto.init(s)
	s.library = std.New(s.machine, opts.Args)
	s.compiled.Placed, s.compiled.Library, s.compiled.Global = s.library.Placed, s.library.Override, s.global
	s.types = mirror.New(mirror.Hooks{Compiled: s.compiled.TypeOf, Instance: s.compiled.InstanceOf, Canonical: prog.Prelude.CanonicalOf,
		Textual: s.textual, Placed: s.library.Placed, PlacedIn: std.PlacedIn})
	s.compiled.TypeFor, s.compiled.Method = s.types.TypeOf, s.types.Compiled
	s.runner = newRunner(s)
	s.compiled.StandIn = func(m *types.Func) (reflect.Value, bool) { return s.runner.standIn(s, m) }
	s.compiled.Others = s.runner.machine.Others()
	s.unplaced = display.SetPlace(func(value any) string { return s.runner.placeOfPanic(s, value) })
	if !opts.KeepStdio {
		if err := stdio.Output.Start(); err != nil {
			return nil, fmt.Errorf("gocell: cannot capture the standard streams: %w", err)
		}
	}
	if !opts.KeepStdin {
		if err := stdio.Input.Start(); err != nil {
			return nil, fmt.Errorf("gocell: cannot take over the standard input: %w", err)
		}
	}
	return s, nil
}

// textual returns an instance of a generic type of the standard library as the prelude
// declares it, or nil.
func (s *Session) textual(t *types.Named) *types.Named {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prog.Prelude.Textual(t, s.prog)
}

// Info describes the language and the kernel to clients.
func (s *Session) Info() engine.Info {
	version := s.opts.Version
	if version == "" {
		version = "devel"
	}
	return engine.Info{
		Name: "go", Version: runtime.Version(), MimeType: "text/x-go", FileExtension: ".go",
		PygmentsLexer: "go", CodeMirrorMode: "go", Implementation: "dace", ImplementationVer: version,
		Banner: "Go (dace): Go cells with dacelib. ?name documents a name.",
		HelpLinks: []engine.HelpLink{
			{Text: "Go language", URL: "https://go.dev/ref/spec"},
			{Text: "Go standard library", URL: "https://pkg.go.dev/std"},
			{Text: "gonum/plot", URL: "https://pkg.go.dev/gonum.org/v1/plot"},
		},
		Concurrent: true,
		Beside:     s.beside,
	}
}

// Close ends the session and gives the process its standard streams back.
func (s *Session) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.keepWidgets()
	s.debugger.Detach()
	s.compiled.auto.stop()
	s.shown.close()
	s.prog.Importer.Forget()
	s.unplaced()
	select {
	case s.concurrent.compiling <- struct{}{}: // which uses the types; it stays taken
		s.types.Forget()
	default: // a cell that does not end
	}
	err := s.fetched.modules.Close()
	if !s.opts.KeepStdin {
		err = errors.Join(err, stdio.Input.Stop())
	}
	if !s.opts.KeepStdio {
		err = errors.Join(err, stdio.Output.Stop())
	}
	return err
}
