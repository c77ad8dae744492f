package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/compile"
	"dace.local/kernel/gocell/internal/debug"
	"dace.local/kernel/gocell/internal/vm"
)

// noteStops makes the statements of a cell stops, if a client debugs.
func (r *runner) noteStops(s *Session, c *check.Checked) {
	if s.debugger.Attached() {
		for _, n := range c.Nodes() {
			r.stopsIn(s, c.Info, n)
		}
	}
}

// noteOnDisk notes declarations of packages on disk, in which a debugger may stop.
func (r *runner) noteOnDisk(s *Session, decls []*check.FetchedDecl) {
	for _, d := range decls {
		if d.Owner.Module.Folder == "" {
			continue
		}
		for _, n := range d.Nodes {
			r.onDisk[n] = true
			if s.debugger.Attached() {
				r.stopsIn(s, d.Owner.Info, n)
			}
		}
	}
}

// stopsIn makes the statements below n stops. It reports whether some were none.
func (r *runner) stopsIn(s *Session, info *types.Info, n ast.Node) (some bool) {
	if r.compiler.Stops == nil {
		r.compiler.Stops, r.stopVars = map[ast.Stmt]compile.Stop{}, map[int][]*types.Var{}
	}
	debug.NoteStops(s.machine.Files(), info, n, r.onDisk[n], func(stmt ast.Stmt, at debug.Stop) {
		if _, is := r.compiler.Stops[stmt]; is {
			return
		}
		some = true
		number := s.debugger.Add(at)
		r.stopVars[number] = at.Vars
		r.compiler.Stops[stmt] = compile.Stop{Flag: s.debugger.Flag(number), Stop: func(f *code.Frame) {
			s.debugger.Stop(number, r.stack(s, f, false))
		}}
	})
	return some
}

// attached makes the statements of all functions of the session stops.
func (s *Session) attached() {
	err := s.runner.compiler.Again(func(d *ast.FuncDecl, info *types.Info) bool { return s.runner.stopsIn(s, info, d) })
	if err != nil {
		panic("gocell: internal: a function cannot be compiled again: " + err.Error())
	}
}

// stack returns the calls under way in a goroutine that has stopped in a frame; one
// that panics counts as a call that this makes.
func (r *runner) stack(s *Session, here *code.Frame, panics bool) *vm.Stack {
	frames := []*code.Frame{here}
	for _, st := range r.machine.Calls() {
		if st.Frame != here && st.Frame != nil && token.Pos(st.Pos).IsValid() {
			frames = append(frames, st.Frame)
		}
	}
	slices.Reverse(frames) // the outermost first
	var calls []vm.StackCall
	name := func(f *code.Frame) string { return strings.TrimPrefix(f.Fn.Name, "main.") }
	callers := frames[:len(frames)-1]
	if panics {
		callers = frames
	}
	for _, f := range callers {
		calls = append(calls, vm.StackCall{Pos: token.Pos(f.Pos), Function: name(f)})
	}
	return s.machine.NewStack(calls, name(here), func(i, stop int) (list []reflect.Value) {
		for _, v := range r.stopVars[stop] {
			list = append(list, r.compiler.Local(frames[min(i, len(frames)-1)], v))
		}
		return list
	})
}

// raised tells the debugger, if it wants to know, of a panic that has begun.
func (r *runner) raised(s *Session, g *code.G, value any) {
	switch value.(type) {
	case vm.Exit, stopping:
		return
	}
	if s.debugger.Panics() && g.Top != nil {
		s.debugger.Panicked(value, r.stack(s, g.Top, true))
	}
}
