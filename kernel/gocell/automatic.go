package gocell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/internal/system/process"
	"dace.local/kernel/internal/toolchain/background"
)

// A session has functions, methods and loops of cells that run long compiled by the
// toolchain, unless %compile off has been said. A cell that has kept the processor busy
// long enough says which functions its statements name and which loops they are; these
// are built one after the other at low priority, also while the cell still runs, and take
// the place of the others before a later cell runs.

// HotAfter is the processor time after which a kernel compiles a function by
// itself, if its user has not said otherwise.
const HotAfter = 200 * time.Millisecond

const (
	mostBuilt = 50 // functions in a session: a plugin is never unloaded
	patience  = 3 * time.Second
)

// automatic is the state of what a session compiles by itself.
type automatic struct {
	s *Session

	after    time.Duration // of processor time a function is compiled
	patience time.Duration // how long a cell waits for the build of a function that it names

	ctx  context.Context // of builds; it ends with the session
	stop func()

	mu    sync.Mutex // guards the following
	on    bool
	spent map[string]time.Duration // processor time of the cells that name a function
	funcs map[string]*hotFunc
	known map[string]*types.Func  // those among them that can be hooked, as they are now
	loops map[string]*check.Piece // loops of cells that have run
	paths map[string]bool         // of what has been built
	// literals are the function literals that variables of the session were given last, as
	// declarations, and literalAt has the texts of all by where they stand.
	literals  map[string]check.Piece
	literalAt map[token.Pos]string
	built     int
	queue     []*hotFunc
	busy      bool // a goroutine builds what is in the queue
}

// A hotFunc is a function that runs long.
type hotFunc struct {
	name      string
	fn        *types.Func   // nil for a loop
	loop      *check.Piece  // of a cell's statements; nil for functions
	uses      []*types.Func // of packages, that a cell's uses
	native    *check.Native // what is built for it
	path      string        // of the package that was built for it
	done      chan struct{} // closed when it is built or refused
	why       error         // why it stays interpreted, once done is closed
	installed bool          // cells call the compiled function
}

func (a *automatic) init(s *Session) {
	a.s, a.spent, a.funcs, a.known, a.paths, a.loops = s, map[string]time.Duration{}, map[string]*hotFunc{}, map[string]*types.Func{}, map[string]bool{}, map[string]*check.Piece{}
	a.literals, a.literalAt = map[string]check.Piece{}, map[token.Pos]string{}
	a.on, a.after = s.opts.CompileAfter != 0, cmp.Or(s.opts.CompileAfter, HotAfter)
	if a.patience = patience; a.after < 0 {
		a.patience = math.MaxInt64
	}
	a.ctx, a.stop = context.WithCancel(background.Work(context.Background()))
}

// watch measures the processor time of a cell that begins to run, until over is
// called.
func (a *automatic) watch(c *check.Checked) (over func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.on {
		return func() {}
	}
	names := a.knowLoops(c)
	for _, o := range c.Info.Uses {
		f, ok := o.(*types.Func)
		if !ok {
			continue
		}
		ofCells := f.Pkg() == c.Next.Package
		if t := receiver(f); f.Signature().Recv() != nil && (!ofCells || t == nil || types.IsInterface(t.Type())) || !ofCells && check.FetchedOf(f.Pkg()) == nil {
			continue
		}
		name := a.know(f)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return func() {}
	}
	var mu sync.Mutex // guards last
	last := process.TotalTime()
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		now := process.TotalTime()
		a.add(names, now-last)
		last = now
	}
	end := make(chan struct{})
	go func() {
		t := time.NewTicker(HotAfter / 2)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				look()
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		look()
	}
}

// add notes processor time of functions, and queues those that have become hot.
func (a *automatic) add(names []string, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		if a.spent[name] += d; a.spent[name] >= a.after {
			a.consider(name, map[string]bool{})
		}
	}
}

// consider queues a function or a loop, or the functions that it calls if it cannot be
// compiled.
func (a *automatic) consider(name string, seen map[string]bool) {
	if seen[name] || !a.on {
		return
	}
	seen[name] = true
	if pc := a.loops[name]; pc != nil {
		a.considerLoop(name, pc)
	} else if f := a.known[name]; f != nil {
		a.considerHooked(name, f, seen)
	}
}

// considerUsed considers what a function uses that stays interpreted.
func (a *automatic) considerUsed(h *hotFunc, seen map[string]bool) {
	for _, used := range a.usesHooked(h) {
		a.consider(used, seen)
	}
}

// enqueue has a function built.
func (a *automatic) enqueue(h *hotFunc) {
	h.done = make(chan struct{})
	a.queue = append(a.queue, h)
	if !a.busy {
		a.busy = true
		go a.work()
	}
}

// refused reports whether a function stays interpreted. The caller holds
// automatic.mu.
func (h *hotFunc) refused() bool {
	select {
	case <-h.done:
		return h.why != nil
	default:
		return false
	}
}

func refused(name string, why error) *hotFunc {
	h := &hotFunc{name: name, done: make(chan struct{}), why: why}
	close(h.done)
	return h
}

// work builds what is in the queue.
func (a *automatic) work() {
	for {
		a.mu.Lock()
		if len(a.queue) == 0 || a.s.closed.Load() {
			a.busy = false
			a.mu.Unlock()
			return
		}
		h := a.queue[0]
		a.queue = a.queue[1:]
		a.mu.Unlock()
		err := a.build(h)
		a.mu.Lock()
		h.why = err
		if err != nil || a.paths[h.path] { // what was built before is loaded once
			a.built--
		} else {
			a.paths[h.path] = true
		}
		close(h.done)
		if err != nil {
			a.considerUsed(h, map[string]bool{h.name: true})
		}
		a.mu.Unlock()
	}
}

// build builds a plugin, without using it.
func (a *automatic) build(h *hotFunc) error {
	if err := a.s.compiled.Ready(); err != nil {
		return err
	}
	n, err := a.native(h)
	if err != nil {
		return err
	}
	h.native = n
	if err := a.aim(n); err != nil {
		return err
	}
	if err = a.s.compiled.Prepare(a.ctx, n); err == nil && n.Layout {
		err = a.s.compiled.Fits(n)
	}
	h.path = n.Path
	return firstMessage(err)
}

// aim finds the types that a plugin is to have.
func (a *automatic) aim(n *check.Native) error {
	if len(n.Copies) == 0 {
		return nil
	}
	release, err := a.s.concurrent.compiling.take(a.ctx)
	if err != nil {
		return err
	}
	defer release()
	return a.s.compiled.Aim(n)
}

// firstMessage returns the first message of an error.
func firstMessage(err error) error {
	var ce *check.Error
	if errors.As(err, &ce) && len(ce.List) > 0 {
		return errors.New(ce.List[0].Msg)
	}
	return err
}

// update installs the functions that have been built, before a cell of this text
// runs. If automatic compilation is off, or a debugger is attached (compiled
// functions have no stops), it reverts those that are installed.
func (a *automatic) update(ctx context.Context, text string) {
	a.mu.Lock()
	on := a.on
	a.mu.Unlock()
	if on && !a.s.debugger.Attached() {
		a.installBuilt(ctx, text)
	} else {
		a.revert()
	}
}

// forget has the functions interpreted for good that use variables whose values are given
// up: the compiled ones have the memory that these had.
func (a *automatic) forget(names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.funcs {
		if !h.installed || !slices.ContainsFunc(names, func(n string) bool { return h.native.Vars[n] != nil }) {
			continue
		}
		a.takeOut(h)
		h.installed, h.why = false, errors.New("a variable that it uses has been deleted")
	}
}

// revert has the installed functions interpreted again.
func (a *automatic) revert() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.funcs {
		if h.installed {
			a.takeOut(h)
		}
		h.installed = false
	}
}

// takeOut has what was compiled for a function or a loop called no more.
func (a *automatic) takeOut(h *hotFunc) {
	if h.fn != nil {
		a.s.hook(h.fn, reflect.Value{})
	}
	for _, m := range h.native.Methods {
		a.s.compiled.Method(h.native.Copies[m.Copy].Of, m.Func.Name(), reflect.Value{})
	}
}

// installBuilt installs the functions that have been built. A cell that names a
// function under construction, or one that calls it, waits for it.
func (a *automatic) installBuilt(ctx context.Context, text string) {
	a.mu.Lock()
	var waiting []*hotFunc
	for _, h := range a.funcs {
		if a.on && !h.installed && !h.refused() {
			waiting = append(waiting, h)
		}
	}
	a.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	reached := a.reached(text)
	waiting = slices.DeleteFunc(waiting, func(h *hotFunc) bool {
		if h.loop != nil {
			return !h.in(text)
		}
		return !reached[h.reachedBy()]
	})
	slices.SortFunc(waiting, func(x, y *hotFunc) int { return strings.Compare(x.name, y.name) })
	late := time.NewTimer(a.patience)
	defer late.Stop()
	for _, h := range waiting {
		select {
		case <-h.done:
			a.mu.Lock()
			refused := h.refused()
			a.mu.Unlock()
			if !refused && h.fn != nil {
				a.installHooked(h)
			}
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

var identifierRE = regexp.MustCompile(`[\pL_][\pL_\p{Nd}]*`)

// reached returns the names in a cell's text, and what the functions among them
// use, in turn.
func (a *automatic) reached(text string) map[string]bool {
	names := map[string]bool{}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for next := identifierRE.FindAllString(text, -1); len(next) > 0; {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if !names[name] {
			names[name] = true
			next = append(next, a.s.prog.Uses(name)...)
			if path := a.s.prog.Imports[name]; path != "" {
				next = append(next, check.PackageKey(path))
			}
		}
	}
	return names
}

// magic implements the magic %compile.
func (a *automatic) magic(_ context.Context, args []string, out engine.Outputs) error {
	if len(args) > 1 {
		return errors.New("%compile takes one of off, auto and list")
	}
	what := ""
	if len(args) > 0 {
		what = args[0]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch what {
	case "":
		out.Stdout("%compile " + map[bool]string{true: "auto", false: "off"}[a.on] + "\n")
	case "auto":
		if err := a.s.compiled.Ready(); err != nil {
			return fmt.Errorf("nothing can be compiled: %w", err)
		}
		a.on = true
	case "off":
		a.on = false
	case "list":
		out.Stdout(a.list())
	default:
		return fmt.Errorf("%%compile takes off, auto or list, not %s", what)
	}
	return nil
}

// list returns a line for each function that has run long.
func (a *automatic) list() string {
	var lines []string
	for _, h := range a.funcs {
		state := "is being built"
		select {
		case <-h.done:
			a.s.mu.Lock()
			compiled := h.installed && (h.fn == nil || a.current(h.fn))
			a.s.mu.Unlock()
			switch {
			case h.why != nil:
				state = "interpreted: " + h.why.Error()
			case compiled:
				state = "compiled"
			case h.installed:
				state = "interpreted, since what it uses has changed"
			case !a.on:
				state = "built, and interpreted while %compile is off"
			case a.s.debugger.Attached():
				state = "built, and interpreted while a debugger is attached"
			default:
				state = "built: the next cell that uses it runs it compiled"
			}
		default:
		}
		lines = append(lines, fmt.Sprintf("%-20s %s\n", h.shown(), state))
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		return "no function has run long enough\n"
	}
	return strings.Join(lines, "")
}
