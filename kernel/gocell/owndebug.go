//go:build !release

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
	"dace.local/kernel/gocell/internal/lower"
	"dace.local/kernel/gocell/internal/vm"
)

// The debugger of a session whose cells its own machine runs.

// noteStops makes the statements of a cell stops, if a client debugs.
func (o *ownMachine) noteStops(s *Session, c *check.Checked) {
	if s.debugger.Attached() {
		for _, n := range c.Nodes() {
			o.stopsIn(s, c.Info, n)
		}
	}
}

// noteOnDisk notes declarations of packages on disk, in which a debugger may stop.
func (o *ownMachine) noteOnDisk(s *Session, decls []*check.FetchedDecl) {
	for _, d := range decls {
		if d.Owner.Module.Folder == "" {
			continue
		}
		for _, n := range d.Nodes {
			o.onDisk[n] = true
			if s.debugger.Attached() {
				o.stopsIn(s, d.Owner.Info, n)
			}
		}
	}
}

// stopsIn makes the statements below n stops. It reports whether some were none.
func (o *ownMachine) stopsIn(s *Session, info *types.Info, n ast.Node) (some bool) {
	if o.compiler.Stops == nil {
		o.compiler.Stops, o.stopVars = map[ast.Stmt]compile.Stop{}, map[int][]*types.Var{}
	}
	lower.NoteStops(s.machine.Files(), info, n, o.onDisk[n], func(stmt ast.Stmt, at lower.Stop) {
		if _, is := o.compiler.Stops[stmt]; is {
			return
		}
		some = true
		number := s.debugger.Add(at)
		o.stopVars[number] = at.Vars
		o.compiler.Stops[stmt] = compile.Stop{Flag: s.debugger.Flag(number), Stop: func(f *code.Frame) {
			s.debugger.Stop(number, o.stack(s, f, false))
		}}
	})
	return some
}

// attachedOwn makes the statements of all functions of the session stops.
func (s *Session) attachedOwn() {
	err := s.own.compiler.Again(func(d *ast.FuncDecl, info *types.Info) bool { return s.own.stopsIn(s, info, d) })
	if err != nil {
		panic("gocell: internal: a function cannot be compiled again: " + err.Error())
	}
}

// stack returns the calls under way in a goroutine that has stopped in a frame; one
// that panics counts as a call that this makes.
func (o *ownMachine) stack(s *Session, here *code.Frame, panics bool) *vm.Stack {
	frames := []*code.Frame{here}
	for _, st := range o.machine.Calls() {
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
		for _, v := range o.stopVars[stop] {
			list = append(list, o.compiler.Local(frames[min(i, len(frames)-1)], v))
		}
		return list
	})
}

// raised tells the debugger, if it wants to know, of a panic that has begun.
func (o *ownMachine) raised(s *Session, g *code.G, value any) {
	switch value.(type) {
	case vm.Exit, stopping:
		return
	}
	if s.debugger.Panics() && g.Top != nil {
		s.debugger.Panicked(value, o.stack(s, g.Top, true))
	}
}

// An ownWithin is code that is compiled as if it stood in a function.
type ownWithin struct {
	entry *code.Entry
	vars  map[int]*code.Var // that stand for the function's variables
}

// bind makes the code use the variables of a function's call.
func (w *ownWithin) bind(values []reflect.Value) {
	for i, v := range w.vars {
		if values[i].IsValid() && values[i].CanAddr() {
			v.P = values[i].Addr().UnsafePointer()
		}
	}
}

// withinOwn compiles code that has been checked against a program with variables made
// for those of a function.
func (s *Session) withinOwn(c *check.Checked, prog *check.Program, made []*types.Var) (*ownWithin, error) {
	w := &ownWithin{vars: map[int]*code.Var{}}
	for i, v := range made {
		if c.Uses(v) {
			w.vars[i] = s.own.compiler.Alias(v)
		}
	}
	e, err := s.own.compile(s, c, prog, false)
	w.entry = e
	return w, s.positioned(err)
}

// runWithinOwn runs the code.
func (s *Session) runWithinOwn(run *vm.Cell, w *within, release func()) error {
	release()
	run.Start()
	if g, err := s.own.run(s, run, w.checked.Source.Number, w.checked.Natives, w.own.entry); err != nil {
		return s.ownError(run, g, err, nil)
	}
	return nil
}
