// Package gocell is the Go of cells: an [engine.Engine] on the yaegi
// interpreter. A cell is split into declarations and statements, checked by
// go/types against the session, rewritten into Go that the interpreter runs
// as the compiler would, and run.
//
// Start with [New]. It is the only importer of yaegi.
package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/module"
)

// Options configure a session. The zero value is that of a kernel.
type Options struct {
	// Args is os.Args as cells see it; nil means just the name "dace".
	Args []string
	// Version of the kernel, for Info.
	Version string
	// KeepStdio leaves the process's standard streams alone: what compiled
	// code writes there is not shown as the cell's output.
	KeepStdio bool
	// KeepStdin leaves the process's standard input alone: who reads it
	// reads what the process was given. Without it the outputs' Input is
	// asked.
	KeepStdin bool
	// Compiler builds the cells that begin with %%compile; without one they
	// run interpreted.
	Compiler Compiler
}

// A Session is one Go session.
type Session struct {
	opts Options
	in   *interp.Interpreter
	fset *token.FileSet

	mu   sync.Mutex // guards prog and cells, which completion reads while a cell runs
	prog *program

	loaded   map[string]bool // packages known to the interpreter
	imported map[string]bool // packages imported in its package main
	// recovering holds the names of methods that recover.
	recovering map[string]bool
	declared   sync.Map // methodKey: *method
	generic    genericState

	modules     module.Store            // what %get has fetched
	linked      map[*sourceDecl]bool    // declarations of fetched packages that the interpreter has
	initialized map[*sourcePackage]bool // packages whose init functions have run

	mirror   *mirror // the types that cells declare
	asserted asserted
	memory   func() (available, total int64) // bytes
	cur      atomic.Pointer[running]         // the cell that runs, or ran last
	signals  cellSignals
	closed   atomic.Bool
	cellSrc  map[int]string     // text by cell number, for messages
	natives  map[string]*native // compiled cells by the checker's path; guarded by mu
}

var _ engine.Engine = (*Session)(nil)

// New starts a session.
func New(opts Options) (*Session, error) {
	if opts.Args == nil {
		opts.Args = []string{"dace"}
	}
	s := &Session{opts: opts, memory: memory, loaded: map[string]bool{}, imported: map[string]bool{}, recovering: map[string]bool{}, cellSrc: map[int]string{},
		linked: map[*sourceDecl]bool{}, initialized: map[*sourcePackage]bool{}, natives: map[string]*native{}}
	imp, err := newImporter()
	if err != nil {
		return nil, err
	}
	s.in = interp.New(interp.Options{
		// Cells read os.Stdin itself.
		Stdin: strings.NewReader(""), Stdout: streamWriter{s}, Stderr: traceWriter{s},
		Args: opts.Args, Unrestricted: true,
	})
	s.fset = s.in.FileSet()
	main := types.NewPackage("main", "main")
	s.prog = &program{imp: imp, pkg: main, names: map[string]*entity{}, imports: map[string]string{}, broken: map[string]string{}}
	if err := s.use(interp.Exports{"gocell/" + rtAlias: s.runtime()}); err != nil {
		return nil, err
	}
	if _, err := s.in.Eval("import " + rtAlias + ` "gocell"`); err != nil {
		return nil, fmt.Errorf("gocell: %w", err)
	}
	if err := s.useStd(); err != nil {
		return nil, err
	}
	if s.mirror, err = newMirror(s); err != nil {
		return nil, err
	}
	cp, err := imp.Import("context")
	if err != nil {
		return nil, err
	}
	ctxVar := types.NewVar(token.NoPos, main, "ctx", cp.Scope().Lookup("Context").Type())
	s.prog.names["ctx"] = &entity{name: "ctx", obj: ctxVar}
	if !opts.KeepStdio {
		if err := stdio.start(); err != nil {
			return nil, fmt.Errorf("gocell: cannot capture the standard streams: %w", err)
		}
	}
	if !opts.KeepStdin {
		if err := stdin.start(); err != nil {
			return nil, fmt.Errorf("gocell: cannot take over the standard input: %w", err)
		}
	}
	return s, nil
}

// use gives symbols to the interpreter; its compiler may panic on odd ones.
func (s *Session) use(e interp.Exports) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gocell: %v", r)
		}
	}()
	return s.in.Use(e)
}

// Info describes the language.
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
	}
}

// Close ends the session.
func (s *Session) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.prog.imp.forget()
	err := s.modules.Close()
	if !s.opts.KeepStdin {
		err = errors.Join(err, stdin.stop())
	}
	if !s.opts.KeepStdio {
		err = errors.Join(err, stdio.stop())
	}
	return err
}

// load makes a package, and those that its types come from, known to the
// interpreter.
func (s *Session) load(ipath string) error {
	if s.loaded[ipath] {
		return nil
	}
	s.loaded[ipath] = true
	if strings.HasPrefix(ipath, cellsPath) {
		return s.loadNative(ipath)
	}
	syms, ok := symbols.Lookup(ipath)
	if !ok {
		return nil // unsafe, or known only by its types
	}
	s.override(ipath, syms)
	name, _ := symbols.Name(ipath)
	// The odd path keeps yaegi from treating fmt specially: that would
	// compile sources and undo the overrides.
	key := ipath + "/" + name
	if ipath == "fmt" {
		key = "fmt/./fmt"
	}
	if err := s.use(interp.Exports{key: syms}); err != nil {
		return err
	}
	p, err := s.prog.imp.Import(ipath)
	if err != nil {
		return nil
	}
	for _, q := range p.Imports() {
		if err := s.load(pathOf(q)); err != nil {
			return err
		}
	}
	return nil
}

// Execute runs a cell.
func (s *Session) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (res engine.Result, err error) {
	if s.closed.Load() {
		return res, &engine.Error{Name: "Closed", Message: "the session has ended", Traceback: []string{"the session has ended"}}
	}
	cell.Code = strings.TrimPrefix(cell.Code, "\ufeff") // as at the start of a file
	text := cell.Code
	if pages, err := s.help(text); pages != nil || err != nil {
		return engine.Result{Pages: pages}, err
	}
	number := cell.Number
	s.mu.Lock()
	s.cellSrc[number] = text
	s.mu.Unlock()
	cell, res, done, err := s.withMagics(ctx, cell, out)
	if done {
		return res, err
	}
	text, isProgram := blankPackageClause(cell.Code)

	src, perr := parseCell(s.fset, number, cell.ID, text)
	if perr != nil {
		return res, s.compileError(number, perr)
	}
	return s.run(ctx, src, isProgram, out)
}

// run checks, compiles and runs a parsed cell.
func (s *Session) run(ctx context.Context, src *source, isProgram bool, out engine.Outputs) (res engine.Result, err error) {
	number := src.number
	c, cerr := s.checkCell(src)
	if cerr != nil {
		return res, s.compileError(number, cerr)
	}
	for _, n := range c.notes {
		out.Stderr(n + "\n")
	}

	if err := s.link(ctx, c, out); err != nil {
		return res, err
	}
	r := s.newRunning(ctx, out, c.results)
	defer r.cancel(nil)

	if err := s.build(r.ctx, c, out); err != nil {
		if r.ctx.Err() != nil {
			return res, s.runtimeError(r, r.ctx.Err())
		}
		return res, s.compileError(number, err)
	}
	program, undo, err := s.compile(c, isProgram)
	if err != nil {
		undo()
		return res, s.compileError(number, err)
	}
	s.mu.Lock()
	s.prog = c.next
	s.mu.Unlock()
	if err := s.runWatched(r, program); err != nil {
		return res, s.runtimeError(r, err)
	}
	r.mu.Lock()
	res.Value = r.result
	r.mu.Unlock()
	return res, nil
}

// checkCell checks a cell against the session. An error of the checker itself
// must not end the kernel.
func (s *Session) checkCell(src *source) (c *checked, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("the kernel cannot check this cell: %v", r)
		}
	}()
	return s.prog.check(s.fset, src)
}

// newRunning makes the cell, or what runs for it, the one under way.
func (s *Session) newRunning(ctx context.Context, out engine.Outputs, results []types.Type) *running {
	own, cancel := context.WithCancelCause(ctx)
	r := &running{session: s, asked: ctx, started: make(chan struct{}), ctx: own, cancel: cancel, out: out, errorLast: errorLast(results), stop: make(chan struct{})}
	s.cur.Store(r)
	if !s.opts.KeepStdio {
		stdio.use(out)
	}
	display.SetOutputs(out)
	return r
}

// runWatched runs a compiled program under the eyes of watchMemory, and of who
// answers its questions.
func (s *Session) runWatched(r *running, program *interp.Program) error {
	if !s.opts.KeepStdin {
		if err := stdin.renew(); err != nil {
			return err
		}
	}
	over := make(chan struct{})
	go s.watchMemory(r, over)
	var asking sync.WaitGroup
	if !s.opts.KeepStdin {
		asking.Go(func() { stdin.serve(r, over) })
	}
	err := s.runProgram(r, program)
	close(over)
	asking.Wait()
	prune(s.in)
	mainTable(s.in).forget("main")
	if !s.opts.KeepStdio {
		stdio.drain()
	}
	return err
}

// compile rewrites a checked cell and gives it to the interpreter. undo puts
// the interpreter's names back.
func (s *Session) compile(c *checked, isProgram bool) (prog *interp.Program, undo func(), err error) {
	table := mainTable(s.in)
	undo = s.keepNames()
	defer compilerPanic(&err)
	l := s.newLowerer(c)
	l.noteLocals(nil, c.nodes()...)

	// What a definition replaces is still read on its right side:
	// x := strconv.Itoa(x).
	var fresh []*types.Var
	for _, v := range c.vars {
		if old := s.prog.names[v.Name()]; old != nil {
			o, isVar := old.obj.(*types.Var)
			if isVar && old.cell != 0 && types.Identical(o.Type(), v.Type()) && !c.redeclared[v.Name()] && !ofNative(o) {
				continue // the same variable: it keeps its place
			}
			if !ofNative(old.obj) {
				l.renamed[old.obj] = mark + "old" + v.Name()
			}
		}
		fresh = append(fresh, v)
	}
	for _, n := range slices.Sorted(maps.Keys(c.moved)) {
		fresh = append(fresh, c.moved[n])
	}
	var mainPos token.Pos
	for _, d := range c.decls {
		if f, ok := d.decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "main" {
			f.Name = &ast.Ident{Name: mark + "main", NamePos: f.Name.Pos()}
			mainPos = f.Name.Pos()
		}
	}
	if e := c.next.names["main"]; e != nil {
		l.renamed[e.obj] = mark + "main"
	}
	// The predeclared ctx is that of the cell which runs.
	if e := s.prog.names["ctx"]; e != nil && e.cell == 0 {
		l.ctx = e.obj
	}

	file := &ast.File{Name: ast.NewIdent("main"), Package: s.anchor(c.src)}
	s.mirror.adopt(c)
	at := afterVars(c.src.body.List)
	c.src.body.List = slices.Insert(c.src.body.List, at, initFuncs(c.decls)...)
	l.declarations()
	body := l.expressions(c.src.body).(*ast.BlockStmt)
	stmts := l.statements(body)
	if isProgram && slices.ContainsFunc(c.decls, func(d declared) bool { return d.own && d.unit.meth == "" && slices.Contains(d.unit.names, "main") }) {
		stmts = append(stmts, &ast.ExprStmt{X: call(&ast.Ident{Name: mark + "main", NamePos: mainPos}, mainPos)})
	}
	var globals []ast.Decl
	for _, v := range fresh {
		t := l.globalType(v.Type(), v.Pos())
		if hasFields(t) {
			// In a variable's type the interpreter takes the names of fields for
			// those of variables.
			name := &ast.Ident{Name: mark + "type" + itoa(int(instanceCount.Add(1))), NamePos: v.Pos()}
			c.decls = append(c.decls, declared{unit: &unit{}, decl: &ast.GenDecl{TokPos: v.Pos(), Tok: token.TYPE, Specs: []ast.Spec{
				&ast.TypeSpec{Name: name, Assign: v.Pos(), Type: t}}}})
			t = &ast.Ident{Name: name.Name, NamePos: v.Pos()}
		}
		globals = append(globals, &ast.GenDecl{TokPos: v.Pos(), Tok: token.VAR, Specs: []ast.Spec{
			&ast.ValueSpec{Names: []*ast.Ident{{Name: plainName(v.Name()), NamePos: v.Pos()}}, Type: t}}})
	}
	if err := l.assemble(file, globals, stmts, body); err != nil {
		return nil, undo, err
	}

	for _, v := range fresh {
		name := plainName(v.Name())
		if sym := table.get(name); sym.IsValid() {
			table.set(mark+"old"+v.Name(), sym)
		}
		table.forget(name)
	}
	for n := range c.redeclared {
		table.forget(plainName(n))
	}
	prog, err = l.compileFile(file)
	return prog, undo, err
}

// keepNames returns what puts the interpreter's names back as they are now.
func (s *Session) keepNames() (undo func()) {
	table := mainTable(s.in)
	snap := table.snapshot()
	imported := maps.Clone(s.imported)
	instances := slices.Clip(s.generic.instances)
	s.mirror.journal = nil
	return func() {
		table.restore(snap)
		s.generic.instances = instances
		s.imported = imported
		s.mirror.undo()
	}
}

func (s *Session) newLowerer(c *checked) *lowerer {
	return &lowerer{fset: s.fset, c: c, pkgs: map[string]bool{}, renamed: map[types.Object]string{}, errs: &checkError{}, gen: s.newGenerics(),
		receivers: map[ast.Expr]bool{}, operands: map[*ast.TypeAssertExpr]ast.Expr{},
		switched: map[*ast.TypeSwitchStmt]types.Type{}, cases: map[*ast.CaseClause][]types.Type{}, conversions: map[*ast.CallExpr][2]types.Type{},
		inside: map[*ast.BlockStmt]bool{}, writtenOut: map[ast.Expr]*ast.CallExpr{}}
}

// assemble puts lowered declarations, with all that they need, and statements
// into the file that the interpreter compiles.
func (l *lowerer) assemble(file *ast.File, globals []ast.Decl, stmts []ast.Stmt, body *ast.BlockStmt) error {
	s, c, pos := l.gen.s, l.c, file.Package
	c.decls = append(c.decls, l.instantiate()...)
	for i := len(c.natives) - 1; i >= 0; i-- {
		ipath := pathOf(c.natives[i].pkg)
		l.pkgs[ipath] = true
		stmts = append([]ast.Stmt{&ast.ExprStmt{X: call(l.rt("StartNative", pos), pos, &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: quote(ipath)})}}, stmts...)
	}
	for n := range c.moved { // before compiled code sees it
		stmts = append([]ast.Stmt{&ast.ExprStmt{X: call(l.rt("Move", pos), pos, &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: quote(n)})}}, stmts...)
	}
	stmts = append(l.bindMethods(pos), stmts...)
	stmts = append([]ast.Stmt{&ast.ExprStmt{X: call(l.rt("Started", pos), pos)}}, stmts...)
	if err := s.mirror.finish(); err != nil {
		return err
	}
	if len(l.errs.list) > 0 {
		return l.errs
	}
	imports := &ast.GenDecl{TokPos: file.Package, Tok: token.IMPORT}
	for _, p := range slices.Sorted(maps.Keys(l.pkgs)) {
		if err := s.load(p); err != nil {
			return err
		}
		if s.imported[p] {
			continue
		}
		s.imported[p] = true
		imports.Specs = append(imports.Specs, &ast.ImportSpec{
			Name: &ast.Ident{Name: alias(p), NamePos: file.Package},
			Path: &ast.BasicLit{ValuePos: file.Package, Kind: token.STRING, Value: quote(p)}})
	}
	if len(imports.Specs) > 0 {
		file.Decls = append(file.Decls, imports)
	}
	for _, d := range c.decls {
		if _, ok := d.decl.(*ast.GenDecl); ok {
			file.Decls = append(file.Decls, d.decl)
		}
	}
	file.Decls = append(file.Decls, globals...)
	for _, d := range c.decls {
		if _, ok := d.decl.(*ast.FuncDecl); ok {
			file.Decls = append(file.Decls, d.decl)
		}
	}
	file.Decls = append(file.Decls, &ast.FuncDecl{
		Name: &ast.Ident{Name: "main", NamePos: file.Package},
		Type: &ast.FuncType{Func: file.Package, Params: &ast.FieldList{Opening: file.Package, Closing: file.Package}},
		Body: &ast.BlockStmt{Lbrace: body.Lbrace, List: stmts, Rbrace: body.Rbrace}})
	return nil
}

// compilerPanic makes a panic of the lowering, or of the interpreter's compiler,
// an error.
func compilerPanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the interpreter cannot compile it: %v", r)
	}
}

// compileFile gives a file to the interpreter; its compiler may panic.
func (l *lowerer) compileFile(file *ast.File) (prog *interp.Program, err error) {
	s := l.gen.s
	table := mainTable(s.in)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			table.forget(f.Name.Name)
		}
	}
	prog, err = s.in.CompileAST(file)
	if err == nil {
		s.guardProgram(prog)
	}
	return prog, err
}

// hasFields reports whether a type is written with names of fields.
func hasFields(t ast.Expr) bool {
	found := false
	ast.Inspect(t, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			found = found || s.Fields.NumFields() > 0
		}
		return !found
	})
	return found
}

// anchor returns a position in the cell, for nodes that stand nowhere.
func (s *Session) anchor(src *source) token.Pos {
	f := s.fset.AddFile(fileName(src.number), -1, 1)
	return f.Pos(0)
}

// blankPackageClause blanks a leading package clause, so that a program can be
// pasted into a cell; its main then runs.
func blankPackageClause(text string) (string, bool) {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var sc scanner.Scanner
	sc.Init(f, []byte(text), func(token.Position, string) {}, 0)
	pos, tok, _ := sc.Scan()
	if tok != token.PACKAGE {
		return text, false
	}
	p2, tok2, lit := sc.Scan()
	if tok2 != token.IDENT || lit != "main" {
		return text, false
	}
	from, to := f.Offset(pos), f.Offset(p2)+len(lit)
	return text[:from] + strings.Repeat(" ", to-from) + text[to:], true
}

// grace is how long an interrupted cell has to unwind before it is left to
// itself.
const grace = 700 * time.Millisecond

// errAbandoned says that an interrupted cell is still in compiled code.
var errAbandoned = errors.New("abandoned")

// running is a cell under way. It is the value of the cell's goroutines (see
// package goroutine), also of those that outlive it.
type running struct {
	session   *Session
	asked     context.Context // that Execute was given; ctx is its child
	started   chan struct{}   // closed as the cell's own code begins
	ctx       context.Context
	cancel    context.CancelCauseFunc
	out       engine.Outputs
	errorLast bool          // whether the last of several results is an error
	stop      chan struct{} // closed when the cell is interrupted

	mu     sync.Mutex
	result engine.Bundle
	frames []frame   // that a panic passed, innermost first
	at     token.Pos // where the panic came by last
	left   bool      // whether it left a function since
}

// Outputs returns where the cell's outputs go, after what it wrote to the
// process's streams.
func (r *running) Outputs() engine.Outputs {
	stdio.flush()
	return r.out
}

// errorLast reports whether the last of several results is an error.
func errorLast(ts []types.Type) bool {
	return len(ts) > 1 && types.Identical(ts[len(ts)-1], types.Universe.Lookup("error").Type())
}

// cell returns the cell that this goroutine belongs to, the latest where that
// is not known; nil before the first.
func (s *Session) cell() *running {
	if r, ok := goroutine.Value().(*running); ok {
		return r
	}
	return s.cur.Load()
}

// runProgram runs a compiled cell until it ends or its context does.
func (s *Session) runProgram(r *running, p *interp.Program) error {
	id := loadRunID(s.in)
	stop := prepareRun(s.in)
	done := make(chan error, 1)
	go goroutine.With(r, func() {
		err := errors.New("runtime.Goexit has ended the cell; the session lives on")
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("internal: %v", v)
			}
			done <- err
		}()
		_, err = s.in.Execute(p)
	})
	select {
	case err := <-done:
		if p := (*foreignPanic)(nil); !errors.As(context.Cause(r.ctx), &p) {
			return err
		}
		done <- err // the cell ended as soon as it was told to
	case <-r.ctx.Done():
	}
	stop()
	close(r.stop)
	err, wait := r.asked.Err(), grace
	if err == nil {
		err = context.Cause(r.ctx) // the kernel's own reason
		wait = patience(err)
	}
	// The session's closures run only under the run number that they were
	// made in: it is put back when the cell has unwound, or is given up.
	defer storeRunID(s.in, id)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-done:
		return err
	case <-t.C:
		<-r.started // what the interpreter does to its tables is behind it
		if p := (*foreignPanic)(nil); errors.As(err, &p) {
			return err
		}
		return errAbandoned
	}
}

// streamWriter writes to the standard output of the cell that the goroutine
// belongs to.
type streamWriter struct{ s *Session }

func (w streamWriter) Write(b []byte) (int, error) {
	r := w.s.cell()
	if r == nil {
		return os.Stdout.Write(b)
	}
	if !w.s.opts.KeepStdio {
		if f := stdio.redirected(); f != nil {
			return f.Write(b)
		}
		stdio.flush()
	}
	r.out.Stdout(string(b))
	return len(b), nil
}
