package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/magic"
)

// newMagics returns all magics: those of package magic, and those that need more of
// a session than a magic.Host.
func (s *Session) newMagics() *magic.Set {
	words := func(run func(ctx context.Context, args []string, out engine.Outputs) error) func(*magic.Call) (engine.Result, error) {
		return func(c *magic.Call) (engine.Result, error) {
			args, err := c.Words()
			if err != nil {
				return engine.Result{}, err
			}
			return engine.Result{}, run(c.Ctx, args, c.Out)
		}
	}
	set := magic.NewSet(host{s}.functions, append(s.gonbMagics(),
		magic.Magic{Name: "%rerun", Usage: "%rerun [stale|RANGE...]", Short: "runs cells of the session again: the last one, or those of numbers", Doc: aboutRerun, Run: s.rerun},
		magic.Magic{Name: "%stale", Usage: "%stale", Short: "lists the cells whose output does not follow from what is declared now", Doc: aboutStale, Run: words(s.listStale)},
		magic.Magic{Name: "%store", Usage: "%store [-r|-d|-z] [NAME...]", Short: "keeps variables and functions for later sessions; -r brings them back", Doc: aboutStore,
			Run: func(c *magic.Call) (engine.Result, error) { return engine.Result{}, s.store(c) }},
		magic.Magic{Name: "%debug", Usage: "%debug [NUMBER] [GO]", Short: "shows the variables of the functions that the last panic has left", Doc: aboutDebug, Args: magic.Go, Run: s.postMortem},
		magic.Magic{Name: "%fmt", Usage: "%fmt [on|off]", Short: "formats the cell as gofmt does, and runs the rest of it", Doc: aboutFormat, Run: s.format},
		magic.Magic{Name: "%output", Usage: "%output [-f FILE] [CELL] [FROM-TO]", Short: "shows again what a cell has shown, and goes on while it runs", Doc: aboutOutput,
			Run: func(c *magic.Call) (engine.Result, error) { return engine.Result{}, s.output(c.Ctx, c) }},
		magic.Magic{Name: "%get", Usage: "%get MODULE[@VERSION]|FOLDER", Short: "fetches a Go module, or adds one on disk, whose packages cells can then import", Doc: aboutGet, Run: words(s.get)},
		magic.Magic{Name: "%autoreload", Usage: "%autoreload [on|off]", Short: "says whether edited packages of modules on disk are built anew before each cell", Doc: aboutAutoReload, Run: words(s.autoReload)},
		magic.Magic{Name: "%figure", Usage: "%figure [8.8x6cm] [300] [auto|png|svg] [house|gonum] [dark|light] [default]", Short: "says how figures are drawn from now on: size, resolution, format, style", Doc: aboutFigure, Run: words(figure)},
		magic.Magic{Name: "%background", Usage: "%background", Short: "counts the goroutines that run, and those of interrupted cells that cannot be stopped", Doc: aboutBackground, Run: words(s.background)},
		magic.Magic{Name: "%compile", Usage: "%compile [off|auto|list]", Short: "says and sets whether functions that run long are compiled by themselves", Doc: aboutAutomatic, Run: words(s.compiled.auto.magic)},
		magic.Magic{Name: "%%compile", Usage: "%%compile", Short: "compiles the cell's declarations with the Go toolchain", Doc: aboutCompile, Args: magic.GoBody,
			Run: func(c *magic.Call) (engine.Result, error) {
				return s.compileCell(c.Ctx, c.Args, c.Body(), c.Out)
			}},
	)...)
	set.OfCells = s.ownMagics
	return set
}

// What ?%get and the like add to a magic's line.
const (
	aboutGet = `Without a version it is the latest one. The packages stay importable until the
session ends, and are interpreted. What cannot be (cgo, assembly, linknames) is
named with the place and the reason: a %%compile cell can import it. The go
command does the work, with your GOPROXY and GOFLAGS. A FOLDER begins with ./, / or
~: edits of its files are seen by the next cell.

	%get github.com/google/uuid@v1.6.0
	%get ../mymodule

	import "github.com/google/uuid"
	uuid.New()`
	aboutGoMod = `The go.mod requires what %get has fetched, and has the modules on disk that cells
use. "freeze" writes the lines %get with which the notebook runs on another machine.
gonb writes %gomod as !*COMMAND.

	%gomod
	%gomod go mod edit -replace example.com/mymodule=../mymodule
	%gomod freeze`
	aboutAutoReload = `It is on unless it is switched off. Packages that import an edited one are built
anew, too; functions of cells that use them follow. Types that did not change stay
the same types; variables of those that did are named, and no longer declared. If a
package does not compile, cells that use it fail with its errors, and the session
keeps what it had. Without an argument it says what holds.

	%autoreload off`
	aboutFormat = `Magics and commands stay as they are. "on" formats each cell from now on when it
has run. The command dace fmt formats a whole notebook.

	%fmt on
	%fmt off`
	aboutOutput = `CELL is a number; without it, the cell that runs, or has run last. It does not wait for
the cell that runs, whose lines, bars and figures go on here, also where the page was
loaded again. FROM-TO are lines of its text, -f writes them to a file. Of text beyond
a megabyte a notebook shows the beginning and the end; 64 MB of each cell are kept,
and 256 MB in all.

	%output
	%output 3 1000-1100
	%output -f log.txt 3`
	aboutRerun = `A RANGE is a cell's number or 3-7. "stale" runs the cells that %stale lists, in
order. Without arguments it is the cell before this one.

	%rerun 1-3
	%rerun stale`
	aboutStale = `A cell is stale when a variable or declaration that it has read was declared anew or
changed since by another cell, or is what a stale cell computes. Cells that only
declare functions are not, but those that call them are. A variable that a cell merely
updates (n++, m[k] = v) makes those cells stale that stand below it. The line below a
cell's output says which became stale by it.

	%stale
	%rerun stale`
	aboutStore = `What is kept is plain data (numbers, texts, and slices, maps and structs of them)
with the types that cells declare, and functions with the variables that they read.
-r brings back those named, or all; -d forgets them, -z forgets all. Without
arguments it lists what is kept.

	%store results
	%store -r`
	aboutFigure = `Size, resolution in dots per inch, format and style hold for all figures of later
cells. "auto" is a PNG, and in a notebook's page a short SVG that has the colours of
the page's theme; "svg" has such an SVG of any length; "dark" draws light ink on a
dark ground. A plot whose BackgroundColor is nil has a transparent one. "default" is
how it was at the start. Without arguments it says how figures are drawn.

	%figure 12x8cm 150 svg
	%figure gonum
	%figure dark
	%figure default`
	aboutBackground = `A cell that is interrupted inside a compiled call that does not look at ctx (a
lock, a read of a pipe) is left to itself: its goroutine, and what it refers to,
stay until the call returns.

	%background`
	aboutAutomatic = `It is on ("auto") unless it is switched off: a function or method that the cells'
statements name, or a loop among them, that has kept the processor busy for 0.2 s
in all, is built in the background and takes its place before the next cell that
uses it, or has the same loop. fib(30) takes longer, so that the second cell that
calls it runs compiled.
Values of a cell's own types in interfaces, goroutines and channels mean what they
did: an interrupt ends their waiting, too. "list" says why what stays interpreted
does. On macOS values of own types in interfaces do. All are interpreted after "off", and while a debugger is attached. At most 50 a
session; none without Go and a C compiler. What a cell means does not depend on
it. Without an argument it says what holds.

	%compile off
	%compile list`
	aboutCompile = `The Go toolchain builds the cell's declarations, and the kernel loads them: their
functions run as fast as Go does, from other cells and as objectives of dacelib.
Statements run interpreted after them. Without Go and a C compiler the cell says
so and is interpreted.

	%%compile
	func ones(x []bool) float64 {
		n := 0
		for _, bit := range x {
			if bit {
				n++
			}
		}
		return float64(n)
	}`
)

// isName reports whether the session has declared a name.
func (k *known) isName(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prog.Names[name] != nil
}

// steps runs a cell step by step: its magics, and the Go between them.
func (s *Session) steps(ctx context.Context, input engine.Cell, out engine.Outputs) (res engine.Result, err error) {
	set := s.magics()
	steps, err := set.Split(input.Code, s.isName)
	if at := (*magic.Error)(nil); errors.As(err, &at) {
		return res, s.compileError(input.Number, errorAt(input, at.Offset, at.Message))
	}
	if magic.OfGonb(input.Code) {
		s.fetched.auto = true
	}
	parsed := make([]*check.Source, len(steps)) // before any magic runs; nil for a magic
	for i, step := range steps {
		if step.Use != nil {
			continue
		}
		if parsed[i], err = check.ParseCell(s.machine.Files(), input.Number, input.ID, step.Go); err != nil {
			return res, s.compileError(input.Number, err)
		}
	}
	var next *engine.NextInput
	for i, step := range steps {
		if step.Use != nil {
			res, err = set.Run(ctx, host{s}, input, *step.Use, out)
			err = s.magicError(input, *step.Use, err)
		} else {
			res, err = s.executeGo(ctx, parsed[i], out)
		}
		if err != nil {
			return engine.Result{}, err
		}
		if res.Next != nil {
			next = res.Next
		}
	}
	res.Next = next
	return res, nil
}

// errorAt returns an error at a byte offset of a cell.
func errorAt(input engine.Cell, offset int, msg string) error {
	line, col := cell.LineCol(input.Code, offset)
	var l scanner.ErrorList
	l.Add(token.Position{Filename: cell.FileName(input.Number), Offset: offset, Line: line, Column: col}, msg)
	return l
}

// magicError returns the error of a magic as the client shows it.
func (m *messages) magicError(input engine.Cell, u magic.Use, err error) error {
	if e := (*engine.Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	line, col := cell.LineCol(input.Code, u.Start)
	p := token.Position{Filename: cell.FileName(input.Number), Line: line, Column: col}
	return &engine.Error{Name: u.Name, Message: err.Error(), Traceback: m.located(p, bold+err.Error()+plain)}
}

// host implements the interface through which package magic uses the session.
type host struct{ s *Session }

func (h host) Run(ctx context.Context, c engine.Cell, out engine.Outputs) (engine.Result, error) {
	return h.s.steps(ctx, c, out)
}

func (h host) RunFile(ctx context.Context, name, text string, out engine.Outputs) (engine.Result, error) {
	n := cell.NewFile(name)
	h.s.mu.Lock()
	h.s.texts[n] = text
	h.s.mu.Unlock()
	return h.s.steps(ctx, engine.Cell{Number: n, Code: text}, out)
}

func (h host) Values(ctx context.Context, c engine.Cell, out engine.Outputs) ([]any, error) {
	src, err := check.ParseCell(h.s.machine.Files(), c.Number, c.ID, c.Code)
	if err != nil {
		return nil, h.s.compileError(c.Number, err)
	}
	var values []any
	err = h.s.runWith(ctx, src, false, out, func(v []any) { values = v })
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errors.New("internal: the code has no value")
	}
	return values, nil
}

func (h host) Call(ctx context.Context, out engine.Outputs, f func()) error {
	run := h.s.start(ctx, out, nil)
	defer h.s.finish(run)
	stop := magic.Start(ctx)
	err := h.s.runWatched(run, func() error { return h.s.machine.Run(run, f) })
	stop()
	if err == nil {
		return nil
	}
	return h.s.runtimeError(run, err)
}

func (h host) Surviving(f func(*testing.T)) func(*testing.T) {
	return h.s.library.SurvivingTest(f)
}

func (h host) Declared() []magic.Declared {
	hooked := h.s.compiled.auto.hooked()
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	var list []magic.Declared
	for name, e := range h.s.prog.Names {
		if e.Cell == 0 || strings.Contains(name, cell.Mark) || h.s.results.has(name, e.Object) {
			continue
		}
		d := magic.Declared{Name: name, Kind: "variable", Pos: e.Object.Pos()}
		t := e.Object.Type()
		switch e.Object.(type) {
		case *types.Func:
			d.Kind, d.Compiled = "function", check.OfNative(e.Object) || hooked[e.Object]
		case *types.TypeName:
			d.Kind, t = "type", t.Underlying()
		case *types.Const:
			d.Kind = "constant"
		}
		d.Type = types.TypeString(t, func(p *types.Package) string {
			if p == h.s.prog.Package {
				return ""
			}
			return p.Name()
		})
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b magic.Declared) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (h host) Texts() map[int]string {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return maps.Clone(h.s.texts)
}

func (h host) Reset() {
	h.s.concurrent.compiling <- struct{}{}
	defer func() { <-h.s.concurrent.compiling }()
	h.s.mu.Lock()
	var declared []string
	for name, e := range h.s.prog.Names {
		if e.Cell != 0 {
			declared = append(declared, name)
		}
	}
	h.s.mu.Unlock()
	h.drop(declared)
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.prog = h.s.prog.Emptied()
	h.s.results.clear()
	h.s.calamity.set(nil)
	h.s.stale.clear()
}

// drop gives up the values of names. The caller has the turn to compile, and does not
// hold known.mu: the machine may ask for a name.
func (h host) drop(list []string) {
	h.s.compiled.auto.forget(list)
	for _, name := range list {
		if v := h.s.named(name); v != nil {
			h.s.runner.compiler.Drop(v)
		}
	}
}

// figure implements the magic %figure. Without arguments it prints how figures
// are drawn.
func figure(_ context.Context, args []string, out engine.Outputs) error {
	if len(args) > 0 {
		settings, err := display.ParseFigure(strings.Join(args, " "))
		if err == nil {
			err = display.SetFigure(settings)
		}
		if err != nil {
			return err
		}
	}
	out.Stdout("figures: " + display.CurrentFigure().String() + "\n")
	return nil
}

// background is the magic %background.
func (s *Session) background(_ context.Context, args []string, out engine.Outputs) error {
	if len(args) > 0 {
		return errors.New("usage: %background")
	}
	left := s.machine.LeftBehind()
	text := fmt.Sprintf("%d goroutines, the kernel's among them; ", runtime.NumGoroutine())
	switch len(left) {
	case 0:
		text += "no interrupted cell is in a compiled call still"
	case 1:
		text += fmt.Sprintf("1 interrupted cell is in a compiled call still, since %s", left[0].Format(time.TimeOnly))
	default:
		text += fmt.Sprintf("%d interrupted cells are in compiled calls still, the first since %s", len(left), left[0].Format(time.TimeOnly))
	}
	out.Stdout(text + "\n")
	return nil
}
