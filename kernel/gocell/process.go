package gocell

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// What would end the process, and the session with it, or change what the
// kernel itself lives by, ends the cell alone, or is done for cells only.

// overrideProcess replaces functions of a package of the standard library.
func (s *Session) overrideProcess(ipath string, set func(name string, f any)) {
	switch ipath {
	case "os":
		set("Exit", func(code int) { panic(exit{code: code}) })
	case "syscall":
		set("Exit", func(code int) { panic(exit{code: code}) })
		set("Kill", s.kill)
		set("Exec", runInstead)
		set("Close", func(fd int) error {
			if fd <= 2 {
				return syscall.EPERM // the kernel's
			}
			return syscall.Close(fd)
		})
		set("Syscall", func(trap, a1, a2, a3 uintptr) (uintptr, uintptr, syscall.Errno) {
			ending(trap, a1)
			return syscall.Syscall(trap, a1, a2, a3)
		})
		set("RawSyscall", func(trap, a1, a2, a3 uintptr) (uintptr, uintptr, syscall.Errno) {
			ending(trap, a1)
			return syscall.RawSyscall(trap, a1, a2, a3)
		})
	case "os/signal":
		set("Notify", s.signals.notify)
		set("NotifyContext", s.signals.notifyContext)
		set("Stop", s.signals.stop)
		set("Ignore", s.signals.ignore)
		set("Ignored", s.signals.isIgnored)
		set("Reset", s.signals.reset)
	case "flag":
		set("Parse", func() { _ = parseFlags(flag.CommandLine, s.opts.Args[1:]) })
	case "runtime":
		set("Breakpoint", func() { panic(plainError("SIGTRAP: trace trap: runtime.Breakpoint without a debugger")) })
		set("SetFinalizer", s.setFinalizer)
	case "runtime/debug":
		// The kernel's own limits stay: beyond these a cell ends, and beyond
		// others the process would.
		for name, n := range map[string]int{"SetMaxStack": 1e9, "SetMaxThreads": 1e4} {
			var limit atomic.Int64
			limit.Store(int64(n))
			set(name, func(n int) int { return int(limit.Swap(int64(n))) })
		}
	}
}

// standIns returns functions for methods of the standard library that may end
// the process, or would tell of the interpreter.
func (s *Session) standIns() map[string]any {
	all := map[string]any{
		"(*sync.Mutex).Unlock":    unlockMutex,
		"(*sync.RWMutex).Unlock":  unlockRWMutex,
		"(*sync.RWMutex).RUnlock": unlockReader,
		"(sync.Locker).Unlock":    unlock,
		"(*sync.Cond).Wait":       wait,
		"(*flag.FlagSet).Parse":   parseFlags,
		"(*os.Process).Signal":    s.signalProcess,
		"(*os.Process).Kill":      s.killProcess,
	}
	maps.Copy(all, s.loggers())
	maps.Copy(all, s.callerMethods())
	return all
}

// methodsStoodIn holds the full names of these methods.
var methodsStoodIn = sync.OnceValue(func() map[string]any { return (*Session)(nil).standIns() })

// standIn returns the name of the kernel's function for a method, or "".
func standIn(f *types.Func) string {
	if f.Pkg() == nil {
		return ""
	}
	switch f.Pkg().Path() {
	case "sync", "flag", "os", "log", "runtime":
		if name := f.FullName(); methodsStoodIn()[name] != nil {
			return standInName(name)
		}
	}
	return ""
}

// standInName is the name of a method's function in rewritten code.
func standInName(method string) string {
	return strings.NewReplacer("(", "", "*", "", ")", "", ".", "_").Replace(method)
}

// parseFlags is (*flag.FlagSet).Parse, which may end the process.
func parseFlags(f *flag.FlagSet, args []string) error {
	how := f.ErrorHandling()
	if how != flag.ExitOnError {
		return f.Parse(args)
	}
	f.Init(f.Name(), flag.ContinueOnError)
	defer f.Init(f.Name(), how)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		panic(exit{})
	case err != nil:
		panic(exit{code: 2})
	}
	return nil
}

// runInstead is syscall.Exec: the program runs in the place of the cell, not of
// the kernel.
func runInstead(path string, args, env []string) error {
	c := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := c.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		panic(exit{})
	case errors.As(err, &ended):
		panic(exit{code: ended.ExitCode()})
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// ending ends the cell where a system call would end the process.
func ending(trap, code uintptr) {
	if trap == syscall.SYS_EXIT || trap == syscall.SYS_EXIT_GROUP {
		panic(exit{code: int(code)})
	}
}

// The run time ends a process that unlocks what is not locked, and nothing
// stops it.

// locks tells where the state of locks is.
var locks = func() (l struct{ mutex, readers uintptr }) {
	m, _ := reflect.TypeFor[sync.Mutex]().FieldByName("mu")
	l.mutex = m.Offset + offsetOf(m.Type, "state")
	l.readers = offsetOf(reflect.TypeFor[sync.RWMutex](), "readerCount")
	return l
}()

func unlockMutex(m *sync.Mutex) {
	if atomic.LoadInt32((*int32)(unsafe.Add(unsafe.Pointer(m), locks.mutex)))&1 == 0 {
		panic(plainError("fatal error: sync: unlock of unlocked mutex"))
	}
	m.Unlock()
}

func readers(m *sync.RWMutex) int32 {
	return (*atomic.Int32)(unsafe.Add(unsafe.Pointer(m), locks.readers)).Load()
}

func unlockRWMutex(m *sync.RWMutex) {
	if readers(m) >= 0 {
		panic(plainError("fatal error: sync: Unlock of unlocked RWMutex"))
	}
	m.Unlock()
}

func unlockReader(m *sync.RWMutex) {
	const writer = -1 << 30 // one that waits for the readers there are
	if n := readers(m); n == 0 || n == writer {
		panic(plainError("fatal error: sync: RUnlock of unlocked RWMutex"))
	}
	m.RUnlock()
}

func unlock(l sync.Locker) {
	switch l := l.(type) {
	case *sync.Mutex:
		unlockMutex(l)
	case *sync.RWMutex:
		unlockRWMutex(l)
	default:
		if m, ok := asReader(l); ok {
			unlockReader(m)
			return
		}
		l.Unlock()
	}
}

// asReader returns the lock that one for reading belongs to.
func asReader(l sync.Locker) (*sync.RWMutex, bool) {
	if reflect.TypeOf(l) != rlocker {
		return nil, false
	}
	return (*sync.RWMutex)(reflect.ValueOf(l).UnsafePointer()), true
}

var rlocker = reflect.TypeOf(new(sync.RWMutex).RLocker())

// wait is (*sync.Cond).Wait, which unlocks.
func wait(c *sync.Cond) {
	locked := true
	switch l := c.L.(type) {
	case *sync.Mutex:
		locked = atomic.LoadInt32((*int32)(unsafe.Add(unsafe.Pointer(l), locks.mutex)))&1 != 0
	case *sync.RWMutex:
		locked = readers(l) < 0
	}
	if !locked {
		panic(plainError("fatal error: sync: unlock of unlocked mutex"))
	}
	c.Wait()
}

// cellSignals are the signals that the session's cells ask for. One that a cell
// sends to its own process goes to cells alone.
type cellSignals struct {
	mu      sync.Mutex
	to      []*listener
	ignored map[os.Signal]bool
	all     bool // are ignored
}

type listener struct {
	c     chan<- os.Signal
	which []os.Signal // all where there are none
}

func (l *cellSignals) notify(c chan<- os.Signal, which ...os.Signal) {
	signal.Notify(c, which...)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range which {
		delete(l.ignored, s)
	}
	l.to = append(l.to, &listener{c, which})
}

func (l *cellSignals) stop(c chan<- os.Signal) {
	signal.Stop(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = slices.DeleteFunc(l.to, func(x *listener) bool { return x.c == c })
}

func (l *cellSignals) notifyContext(parent context.Context, which ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	c := make(chan os.Signal, 1)
	l.notify(c, which...)
	go func() {
		select {
		case s := <-c:
			cancel(fmt.Errorf("%s signal received", s))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		l.stop(c)
	}
}

// forget ends the delivery of signals, all where none is named.
func (l *cellSignals) forget(which []os.Signal) {
	for _, x := range slices.Clone(l.to) {
		signal.Stop(x.c)
		if len(which) > 0 && len(x.which) > 0 {
			x.which = slices.DeleteFunc(x.which, func(s os.Signal) bool { return slices.Contains(which, s) })
			if len(x.which) > 0 {
				signal.Notify(x.c, x.which...)
				continue
			}
		}
		l.to = slices.DeleteFunc(l.to, func(y *listener) bool { return y == x })
	}
}

func (l *cellSignals) ignore(which ...os.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(which)
	l.all = l.all || len(which) == 0
	if l.ignored == nil {
		l.ignored = map[os.Signal]bool{}
	}
	for _, s := range which {
		l.ignored[s] = true
	}
}

func (l *cellSignals) isIgnored(s os.Signal) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all || l.ignored[s]
}

func (l *cellSignals) reset(which ...os.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(which)
	l.all = l.all && len(which) > 0
	for _, s := range which {
		delete(l.ignored, s)
	}
	if len(which) == 0 {
		l.ignored = nil
	}
}

// send does what a signal does to a process that sends it to itself.
func (l *cellSignals) send(s syscall.Signal) error {
	if s == syscall.SIGKILL {
		panic(exit{signal: s})
	}
	l.mu.Lock()
	heard := l.all || l.ignored[s]
	for _, x := range l.to {
		if len(x.which) == 0 || slices.Contains(x.which, os.Signal(s)) {
			heard = true
			select {
			case x.c <- s:
			default:
			}
		}
	}
	l.mu.Unlock()
	switch s {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGSYS,
		syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT:
		if !heard {
			panic(exit{signal: s})
		}
	case syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		if !heard {
			return syscall.EPERM // the kernel would stop
		}
	}
	return nil
}

// kill is syscall.Kill.
func (s *Session) kill(pid int, sig syscall.Signal) error {
	switch pid {
	case os.Getpid(), 0, -syscall.Getpgrp():
		if sig == 0 {
			return nil
		}
		return s.signals.send(sig)
	case -1:
		return syscall.EPERM
	}
	return syscall.Kill(pid, sig)
}

// signalProcess is (*os.Process).Signal.
func (s *Session) signalProcess(p *os.Process, sig os.Signal) error {
	if n, ok := sig.(syscall.Signal); ok && p.Pid == os.Getpid() && n != 0 {
		return s.signals.send(n)
	}
	return p.Signal(sig)
}

// killProcess is (*os.Process).Kill.
func (s *Session) killProcess(p *os.Process) error { return s.signalProcess(p, os.Kill) }

// findObject returns the block that an address is in.
//
//go:linkname findObject runtime.findObject
func findObject(p, refBase, refOff uintptr) (base uintptr, span unsafe.Pointer, index uintptr)

// finalized holds the addresses that cells have set finalizers on.
var finalized sync.Map

// setFinalizer is runtime.SetFinalizer, which ends the process where it is used
// wrongly, as does a panic of a finalizer.
func (s *Session) setFinalizer(obj, finalizer any) {
	refuse := func(format string, args ...any) {
		panic(plainError("fatal error: runtime.SetFinalizer: " + fmt.Sprintf(format, args...)))
	}
	v := reflect.ValueOf(obj)
	if !v.IsValid() {
		refuse("first argument is nil")
	}
	if v.Kind() != reflect.Pointer {
		refuse("first argument is %s, not pointer", v.Type())
	}
	p := v.Pointer()
	base, _, _ := findObject(p, 0, 0)
	const inline = 512 // bytes: up to these a block has no header
	switch t := v.Type().Elem(); {
	case p == 0:
		refuse("pointer not in allocated block")
	case base == 0:
		return // no finalizer will run
	case p == base:
	case p == base+8 && t.Size()+8 > inline && hasPointers(t):
	case t.Size() < 16 && !hasPointers(t):
	default:
		refuse("pointer not at beginning of allocated block")
	}
	f := reflect.ValueOf(finalizer)
	if !f.IsValid() {
		finalized.Delete(p)
		runtime.SetFinalizer(obj, nil)
		return
	}
	if f.Kind() != reflect.Func {
		refuse("second argument is %s, not a function", f.Type())
	}
	if t := f.Type(); t.IsVariadic() {
		refuse("cannot pass %s to finalizer %s because dotdotdot", v.Type(), t)
	} else if t.NumIn() != 1 || !v.Type().AssignableTo(t.In(0)) {
		refuse("cannot pass %s to finalizer %s", v.Type(), t)
	}
	if _, set := finalized.LoadOrStore(p, true); set {
		refuse("finalizer already set")
	}
	run := reflect.MakeFunc(reflect.FuncOf([]reflect.Type{f.Type().In(0)}, nil, false), func(args []reflect.Value) []reflect.Value {
		finalized.Delete(p)
		s.guarded(func() { f.Call(args) })()
		return nil
	})
	runtime.SetFinalizer(obj, run.Interface())
}

// hasPointers reports whether the collector looks into values of a type.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Complex128
}
