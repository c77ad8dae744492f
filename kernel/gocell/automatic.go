package gocell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/types"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/internal/toolchain/background"
)

// A session compiles functions that run long by itself, unless %compile off has
// been said. A cell that has kept the processor busy long enough says which
// functions its statements name; these are built one after the other at low
// priority, also while the cell still runs, and take the place of the
// interpreted ones before a later cell runs.

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
	known map[string]*types.Func // the functions of packages among them, as they are now
	paths map[string]bool        // of what has been built
	built int
	queue []*hotFunc
	busy  bool // a goroutine builds what is in the queue
}

// A hotFunc is a function that runs long.
type hotFunc struct {
	name      string
	fetched   *types.Func   // of a package; nil for a cell's
	uses      []*types.Func // of packages, that a cell's uses
	native    *check.Native // what is built for that
	text      string        // its declaration when it was looked at
	path      string        // of the package that was built for it
	done      chan struct{} // closed when it is built or refused
	why       error         // why it stays interpreted, once done is closed
	installed bool          // cells call the compiled function
}

func (a *automatic) init(s *Session) {
	a.s, a.spent, a.funcs, a.known, a.paths = s, map[string]time.Duration{}, map[string]*hotFunc{}, map[string]*types.Func{}, map[string]bool{}
	a.on, a.after = s.opts.CompileAfter != 0, cmp.Or(s.opts.CompileAfter, HotAfter)
	if a.patience = patience; a.after < 0 {
		a.patience = math.MaxInt64
	}
	a.ctx, a.stop = context.WithCancel(background.Work(context.Background()))
}

// timeUsed returns the processor time that the process has used.
func timeUsed() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watch measures the processor time of a cell that begins to run, until over is
// called.
func (a *automatic) watch(c *check.Checked) (over func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.on {
		return func() {}
	}
	var names []string
	for _, o := range c.Info.Uses {
		f, ok := o.(*types.Func)
		if !ok || f.Signature().Recv() != nil {
			continue
		}
		name := f.Name()
		if check.FetchedOf(f.Pkg()) != nil {
			name = a.know(f)
		} else if f.Pkg() != c.Next.Package {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return func() {}
	}
	var mu sync.Mutex // guards last
	last := timeUsed()
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		now := timeUsed()
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

// consider queues a function, or those that it calls if it cannot be compiled.
func (a *automatic) consider(name string, seen map[string]bool) {
	if seen[name] || !a.on || strings.HasPrefix(name, check.PackageKey("")) {
		return
	}
	seen[name] = true
	if f := a.known[name]; f != nil {
		a.considerFetched(name, f, seen)
		return
	}
	a.s.mu.Lock()
	src, err := a.s.prog.Automatic(a.s.machine.Files(), name)
	uses := a.s.prog.Uses(name)
	a.s.mu.Unlock()
	if errors.Is(err, check.ErrCompiled) {
		return
	}
	h := a.funcs[name]
	if h != nil && h.installed { // something that it uses has changed: count anew
		h.installed, a.spent[name] = false, 0
		delete(a.funcs, name)
		return
	}
	switch {
	case h != nil && (src == nil || h.text == src.Text()):
	case src == nil:
		h = refused(name, "", err)
		a.funcs[name] = h
	case a.built >= mostBuilt:
		h = refused(name, src.Text(), fmt.Errorf("there are %d compiled functions already", mostBuilt))
		a.funcs[name] = h
	default:
		a.built++
		h = &hotFunc{name: name, text: src.Text()}
		a.funcs[name] = h
		a.enqueue(h)
	}
	if h.refused() {
		a.considerUsed(h, uses, seen)
	}
}

// considerUsed considers what a function uses that stays interpreted.
func (a *automatic) considerUsed(h *hotFunc, uses []string, seen map[string]bool) {
	for _, used := range append(uses, a.usesFetched(h)...) {
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

func refused(name, text string, why error) *hotFunc {
	h := &hotFunc{name: name, text: text, done: make(chan struct{}), why: why}
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
			a.s.mu.Lock()
			uses := a.s.prog.Uses(h.name)
			a.s.mu.Unlock()
			a.considerUsed(h, uses, map[string]bool{h.name: true})
		}
		a.mu.Unlock()
	}
}

// build builds a function's plugin, without using it.
func (a *automatic) build(h *hotFunc) (err error) {
	if err := a.s.compiled.Ready(); err != nil {
		return err
	}
	var n *check.Native
	if h.fetched != nil {
		if n, err = a.flat(h); err != nil {
			return err
		}
		h.native = n
	} else {
		_, c, err := a.check(h)
		if err != nil {
			return err
		}
		n = c.Natives[0]
	}
	err = a.s.compiled.Prepare(a.ctx, n)
	h.path = n.Path
	return firstMessage(err)
}

// firstMessage returns the first message of an error.
func firstMessage(err error) error {
	var ce *check.Error
	if errors.As(err, &ce) && len(ce.List) > 0 {
		return errors.New(ce.List[0].Msg)
	}
	return err
}

// check returns the cell that declares a function as compiled.
func (a *automatic) check(h *hotFunc) (*check.Source, *check.Checked, error) {
	a.s.mu.Lock()
	src, err := a.s.prog.Automatic(a.s.machine.Files(), h.name)
	a.s.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	if src.Text() != h.text {
		return nil, nil, errors.New("it has been declared again")
	}
	c, err := a.s.checkCell(src)
	switch {
	case err != nil:
		return nil, nil, firstMessage(err)
	case len(c.Natives) != 1 || len(c.Notes) > 0:
		return nil, nil, errors.New("a compiled cell uses it")
	}
	why := h.usesPackages(c.Natives[0])
	if why == "" {
		why = a.unfit(c.Natives[0])
	}
	if why != "" {
		return nil, nil, errors.New(why)
	}
	return src, c, nil
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
		a.revert(ctx)
	}
}

// revert has the installed functions interpreted again.
func (a *automatic) revert(ctx context.Context) {
	a.mu.Lock()
	var names []string
	for name, h := range a.funcs {
		if h.installed {
			names = append(names, name)
		}
	}
	a.mu.Unlock()
	slices.Sort(names)
	for _, name := range names {
		if a.revertFetched(name) {
			continue
		}
		a.s.mu.Lock()
		src, err := a.s.prog.Interpreted(a.s.machine.Files(), name)
		a.s.mu.Unlock()
		if err == nil && a.s.runWith(ctx, src, false, discard{}, func([]any) {}) != nil {
			continue // the cell was interrupted: the next one tries again
		}
		a.mu.Lock()
		if h := a.funcs[name]; h != nil {
			h.installed = false
		}
		a.mu.Unlock()
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
	waiting = slices.DeleteFunc(waiting, func(h *hotFunc) bool { return !reached[h.reachedBy()] })
	slices.SortFunc(waiting, func(x, y *hotFunc) int { return strings.Compare(x.name, y.name) })
	late := time.NewTimer(a.patience)
	defer late.Stop()
	for _, h := range waiting {
		for ready := false; !ready; {
			a.mu.Lock()
			done := h.done
			a.mu.Unlock()
			select {
			case <-done:
				a.mu.Lock()
				refused := h.refused()
				a.mu.Unlock()
				ready = refused || a.install(ctx, h)
			case <-late.C:
				return
			case <-ctx.Done():
				return
			}
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

// install declares a function as compiled, whose plugin has been built. It returns
// false if the function is built again, since it uses one that has been compiled
// meanwhile.
func (a *automatic) install(ctx context.Context, h *hotFunc) bool {
	if h.fetched != nil {
		a.installFetched(h)
		return true
	}
	src, c, err := a.check(h)
	if err == nil {
		err = firstMessage(a.s.compiled.Generate(c.Natives[0]))
	}
	if err == nil && c.Natives[0].Path != h.path {
		a.mu.Lock()
		defer a.mu.Unlock()
		select {
		case <-h.done:
			a.enqueue(h)
		default: // a concurrent cell has done so
		}
		return false
	}
	if err == nil {
		err = a.s.runWith(ctx, src, false, discard{}, func([]any) {})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		h.why = err
	}
	h.installed = err == nil
	return true
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
	for name, h := range a.funcs {
		state := "is being built"
		select {
		case <-h.done:
			a.s.mu.Lock()
			compiled := a.s.prog.IsAutomatic(name) || h.fetched != nil && h.installed && a.current(h.fetched)
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
