package gocell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/debug"
)

var _ engine.Debugger = (*Session)(nil)

// Debug answers a request of the Debug Adapter Protocol.
func (s *Session) Debug(ctx context.Context, command string, arguments json.RawMessage) (any, error) {
	body, err := s.debugger.Handle(ctx, command, arguments)
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		err = errors.New(e.Error())
	}
	return body, err
}

// DebugEvents sets where the debugger's events go.
func (s *Session) DebugEvents(send func(event string, body any)) { s.debugger.Events(send) }

// debugHost implements the interface through which package debug uses the
// session.
type debugHost struct{ s *Session }

func (h debugHost) Text(name string) (text, path string) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if number, ok := cell.Number(name); ok {
		return h.s.texts[number], ""
	}
	text, path = h.s.prog.Importer.FileText(name)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return text, path
}

func (h debugHost) File(path string) (text string, ok bool) {
	if !filepath.IsAbs(path) || filepath.Ext(path) != ".go" {
		return "", false
	}
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	folders := []string{}
	if !h.s.onDisk.used && h.s.onDisk.root != "" {
		folders = append(folders, filepath.Dir(h.s.onDisk.root))
	}
	for _, m := range h.s.onDisk.modules {
		folders = append(folders, m.Folder)
	}
	for _, dir := range folders {
		dir, err := filepath.EvalSymlinks(dir)
		if rel, errRel := filepath.Rel(dir, path); err == nil && errRel == nil && filepath.IsLocal(rel) {
			text, err := os.ReadFile(path)
			return string(text), err == nil
		}
	}
	return "", false
}

func (h debugHost) Attached() { h.s.attached() }

func (h debugHost) TypeName(t types.Type) string { return types.TypeString(t, check.ShortName) }

// Places parses a text as Execute would.
func (h debugHost) Places(text string) []debug.Place {
	fset := token.NewFileSet()
	var nodes []ast.Node
	steps, err := h.s.magics().Split(text, h.s.isName)
	if err != nil {
		return nil
	}
	for _, step := range steps {
		if step.Use != nil {
			continue
		}
		src, err := check.ParseCell(fset, 1, "", step.Go)
		if err != nil {
			return nil
		}
		for _, d := range src.File.Decls {
			nodes = append(nodes, d)
		}
		nodes = append(nodes, src.Body)
	}
	var list []debug.Place
	for _, p := range debug.StopPlaces(fset, nodes...) {
		list = append(list, debug.Place{Line: p.Line, Column: p.Column})
	}
	return list
}

// Globals returns the session's variables.
func (h debugHost) Globals(ctx context.Context, stopped bool) []debug.Global {
	var list []debug.Global
	for _, d := range host(h).Declared() {
		if d.Kind == "variable" {
			list = append(list, debug.Global{Name: d.Name, Type: d.Type, Why: aCellRuns})
		}
	}
	release, idle := h.s.idle(ctx)
	defer release()
	if !idle && !stopped {
		return list
	}
	for i := range list {
		g := &list[i]
		g.Value, _ = h.s.global(g.Name)
		g.Why = inCompiledCell
	}
	return list
}

// A within is code that is compiled as if it stood in a function.
type within struct {
	checked *check.Checked
	entry   *code.Entry
	vars    map[int]*code.Var // that stand for the function's variables, by their place
}

// compileWithin compiles code that uses variables of a function besides the session's.
// The caller has the turn to compile. Unless keep is set, the names that the code
// declares are removed again.
func (s *Session) compileWithin(text string, vars []*types.Var, keep bool) (w *within, err error) {
	src, err := check.ParseCell(s.machine.Files(), cell.NewFile("expression"), "", text)
	if err != nil {
		return nil, err
	}
	w = &within{vars: map[int]*code.Var{}}
	s.mu.Lock()
	before, made := s.prog.Within(vars)
	s.mu.Unlock()
	if w.checked, err = s.checkWithin(before, src); err != nil {
		return nil, err
	}
	undo := s.types.Snapshot()
	defer func() {
		if !keep || err != nil {
			undo()
		}
	}()
	defer compilerPanic(&err)
	for i, v := range made {
		if w.checked.Uses(v) {
			w.vars[i] = s.runner.compiler.Alias(v)
		}
	}
	w.entry, err = s.runner.compile(s, w.checked, before, false)
	return w, s.positioned(err)
}

func (s *Session) checkWithin(p *check.Program, src *check.Source) (c *check.Checked, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("the kernel cannot check this: %v", r)
		}
	}()
	return p.Check(s.machine.Files(), src)
}

// bind makes the code use the variables of a function's call.
func (w *within) bind(values []reflect.Value) {
	for i, v := range w.vars {
		if values[i].IsValid() && values[i].CanAddr() {
			v.P = values[i].Addr().UnsafePointer()
		}
	}
}

// runWithin runs code that compileWithin has compiled, and returns the values of
// its last expression. The caller has the turn to compile; runWithin calls release
// once the code begins.
func (s *Session) runWithin(ctx context.Context, w *within, values []reflect.Value, out engine.Outputs, release func()) ([]any, error) {
	if out == nil {
		out = discard{}
	}
	if err := s.link(ctx, w.checked, out); err != nil {
		return nil, err
	}
	var result syncValue[[]any]
	var failure syncValue[error]
	run := s.start(ctx, out, func(values []any, failed error) {
		result.set(values)
		failure.set(failed)
	})
	defer s.finish(run)
	s.debugger.Begin(run)
	w.bind(values)
	release()
	if g, err := s.runner.run(s, run, w.checked.Source.Number, w.checked.Natives, w.entry); err != nil {
		return nil, s.cellError(run, g, err, nil)
	}
	return result.get(), failure.get()
}

// codeWithin compiles code as compileWithin does, with its errors as messages.
func (s *Session) codeWithin(text string, vars []*types.Var, keep bool) (*within, error) {
	w, err := s.compileWithin(text, vars, keep)
	if err != nil {
		return nil, errors.New(s.compileError(0, err).Message)
	}
	return w, nil
}

// Run runs code among the variables of a function.
func (h debugHost) Run(ctx context.Context, code string, in debug.Scope, out engine.Outputs) (any, string, error) {
	s := h.s
	release, err := s.concurrent.compiling.take(ctx)
	if err != nil {
		return nil, "", errors.New("it was interrupted before it began")
	}
	defer release()
	w, err := s.codeWithin(code, in.Vars, false)
	if err != nil {
		return nil, "", err
	}
	values, err := s.runWithin(ctx, w, in.Values, out, release)
	if err != nil || len(values) == 0 {
		return nil, "", err
	}
	if len(values) > 1 {
		return values, "", nil
	}
	typ := ""
	if list := w.checked.Results; len(list) == 1 {
		typ = h.TypeName(list[0])
	}
	return values[0], typ, nil
}

// Condition compiles an expression of type bool.
func (h debugHost) Condition(ctx context.Context, expr string, vars []*types.Var) (func([]reflect.Value) bool, error) {
	s := h.s
	release, err := s.concurrent.compiling.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	w, err := s.codeWithin("func() bool { return "+expr+" }", vars, false)
	if err != nil {
		return nil, err
	}
	values, err := s.runWithin(ctx, w, make([]reflect.Value, len(vars)), nil, release)
	if err != nil {
		return nil, err
	}
	holds, ok := values[0].(func() bool)
	if !ok {
		return nil, fmt.Errorf("%s is no condition", expr)
	}
	var mu sync.Mutex // the variables of w are one set
	return func(values []reflect.Value) bool {
		mu.Lock()
		defer mu.Unlock()
		w.bind(values)
		return holds()
	}, nil
}

// Define gives the session a variable with the value that a function's has.
func (h debugHost) Define(ctx context.Context, name, as string, in debug.Scope) error {
	s := h.s
	if !slices.ContainsFunc(in.Vars, func(v *types.Var) bool { return v.Name() == name }) {
		return fmt.Errorf("there is no variable %s here", name)
	}
	release, err := s.concurrent.compiling.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	w, err := s.codeWithin(strings.TrimSpace(as)+" := "+name, in.Vars, true)
	if err != nil {
		return err
	}
	if _, err := s.runWithin(ctx, w, in.Values, nil, release); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prog = w.checked.Outside(s.prog, in.Vars)
	return nil
}
