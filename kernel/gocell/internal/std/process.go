package std

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

	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/gocell/rtype"
)

// Functions that would end the process, and the session with it, end the cell
// instead. Functions that would change signals, limits or streams of the kernel
// affect cells only.

// overrideProcess replaces the functions of a standard library package that
// would act on the kernel's process.
func (l *Library) overrideProcess(ipath string, set func(name string, f any)) {
	switch ipath {
	case "os":
		set("Exit", func(code int) { panic(vm.Ending(vm.Exit{Code: code})) })
	case "syscall", "golang.org/x/sys/unix":
		set("Exit", func(code int) { panic(vm.Ending(vm.Exit{Code: code})) })
		set("Kill", l.kill)
		set("Exec", runInstead)
		set("Close", func(fd int) error {
			if fd <= 2 {
				return syscall.EPERM // the kernel's standard streams
			}
			return syscall.Close(fd)
		})
		l.overrideThreads(set)
		set("Syscall", func(trap, a1, a2, a3 uintptr) (uintptr, uintptr, syscall.Errno) {
			l.ending(trap, a1, a2, a3)
			return syscall.Syscall(trap, a1, a2, a3)
		})
		set("RawSyscall", func(trap, a1, a2, a3 uintptr) (uintptr, uintptr, syscall.Errno) {
			l.ending(trap, a1, a2, a3)
			return syscall.RawSyscall(trap, a1, a2, a3)
		})
		set("Syscall6", func(trap, a1, a2, a3, a4, a5, a6 uintptr) (uintptr, uintptr, syscall.Errno) {
			l.ending(trap, a1, a2, a3)
			return syscall.Syscall6(trap, a1, a2, a3, a4, a5, a6)
		})
		set("RawSyscall6", func(trap, a1, a2, a3, a4, a5, a6 uintptr) (uintptr, uintptr, syscall.Errno) {
			l.ending(trap, a1, a2, a3)
			return syscall.RawSyscall6(trap, a1, a2, a3, a4, a5, a6)
		})
	case "testing":
		l.overrideTesting(set)
	case "os/signal":
		set("Notify", l.signals.notify)
		set("NotifyContext", l.signals.notifyContext)
		set("Stop", l.signals.stop)
		set("Ignore", l.signals.ignore)
		set("Ignored", l.signals.isIgnored)
		set("Reset", l.signals.reset)
	case "flag":
		set("Parse", func() { _ = parseFlags(flag.CommandLine, l.args[1:]) })
	case "runtime":
		set("Breakpoint", func() { panic(vm.PlainError("SIGTRAP: trace trap: runtime.Breakpoint without a debugger")) })
		set("SetFinalizer", l.setFinalizer)
	case "runtime/debug":
		// Only remember the setting, because the kernel keeps its own limits:
		// beyond those a cell ends, beyond others the process would end.
		for name, n := range map[string]int{"SetMaxStack": 1e9, "SetMaxThreads": 1e4} {
			var limit atomic.Int64
			limit.Store(int64(n))
			set(name, func(n int) int { return int(limit.Swap(int64(n))) })
		}
	}
}

// standIns returns functions that replace methods of the standard library which
// may end the process or show the kernel.
func (l *Library) standIns() map[string]any {
	all := map[string]any{
		"(*sync.Mutex).Unlock":    unlockMutex,
		"(*sync.RWMutex).Unlock":  unlockRWMutex,
		"(*sync.RWMutex).RUnlock": unlockReader,
		"(sync.Locker).Unlock":    unlock,
		"(*sync.rlocker).Unlock":  unlock, // through an interface of a cell's
		"(*sync.Cond).Wait":       wait,
		"(*flag.FlagSet).Parse":   parseFlags,
		"(*os.Process).Signal":    l.signalProcess,
		"(*os.Process).Kill":      l.killProcess,
	}
	maps.Copy(all, l.loggers())
	maps.Copy(all, l.slogMethods())
	maps.Copy(all, l.callerMethods())
	maps.Copy(all, l.sizedStandIns())
	maps.Copy(all, l.testingMethods())
	maps.Copy(all, l.testLogMethods())
	maps.Copy(all, mapMethods())
	maps.Copy(all, encoderMethods())
	maps.Copy(all, streamMethods())
	maps.Copy(all, commandMethods())
	maps.Copy(all, absentMethods())
	return all
}

// methodsStoodIn holds the functions of standIns by the full names of the
// methods.
var methodsStoodIn = sync.OnceValue(func() map[string]any { return (*Library)(nil).standIns() })

// StandIn returns the name by which rewritten code calls the function that
// replaces a method, or "".
func StandIn(f *types.Func) string {
	if f.Pkg() == nil {
		return ""
	}
	if packagesStoodIn()[f.Pkg().Path()] {
		if name := f.FullName(); methodsStoodIn()[name] != nil {
			return standInName(name)
		}
	}
	return ""
}

// StandInOf is StandIn for a method of a value that an interface holds.
func StandInOf(t reflect.Type, method string) string {
	star, n := "", t
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		star, n = "*", t.Elem()
	}
	if !packagesStoodIn()[n.PkgPath()] {
		return ""
	}
	names := []string{"(" + star + n.PkgPath() + "." + n.Name() + ")." + method}
	if n.PkgPath() == "testing" { // T, B and F have methods of a type that they embed
		names = append(names, "(*testing.common)."+method)
	}
	for _, name := range names {
		if methodsStoodIn()[name] != nil {
			return standInName(name)
		}
	}
	return ""
}

// packagesStoodIn holds the import paths of those methods.
var packagesStoodIn = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for name := range methodsStoodIn() {
		receiver, _, _ := strings.Cut(strings.TrimLeft(name, "(*"), ")")
		m[receiver[:strings.LastIndexByte(receiver, '.')]] = true
	}
	return m
})

// standInName returns the name of a method's replacement in rewritten code.
func standInName(method string) string { return standInNames.Replace(method) }

var standInNames = strings.NewReplacer("(", "", "*", "", ")", "", ".", "_", "/", "_")

// parseFlags is (*flag.FlagSet).Parse, but ends the cell where that ends the
// process.
func parseFlags(f *flag.FlagSet, args []string) error {
	how := f.ErrorHandling()
	if how != flag.ExitOnError {
		return f.Parse(args)
	}
	err := func() error {
		f.Init(f.Name(), flag.ContinueOnError)
		defer f.Init(f.Name(), how)
		return f.Parse(args)
	}()
	switch {
	case errors.Is(err, flag.ErrHelp):
		panic(vm.Ending(vm.Exit{}))
	case err != nil:
		panic(vm.Ending(vm.Exit{Code: 2}))
	}
	return nil
}

// runInstead replaces syscall.Exec: the program takes the place of the cell,
// not of the kernel.
func runInstead(path string, args, env []string) error {
	c := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := c.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		panic(vm.Ending(vm.Exit{}))
	case errors.As(err, &ended):
		panic(vm.Ending(vm.Exit{Code: ended.ExitCode()}))
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// ending ends the cell if a system call would end the process.
func (l *Library) ending(trap, a1, a2, a3 uintptr) {
	switch {
	case slices.Contains(endingCalls, trap):
		panic(vm.Ending(vm.Exit{Code: int(a1)}))
	case trap == syscall.SYS_KILL && (int(a1) == os.Getpid() || a1 == 0):
		_ = l.killThread(0, syscall.Signal(a2))
	default:
		l.endingThread(trap, a1, a2, a3)
	}
}

// killThread sends a signal that is meant for a thread of the kernel to the
// cell. There are no other threads that a cell could know.
func (l *Library) killThread(_ int, sig syscall.Signal) error {
	if sig == 0 {
		return nil
	}
	return l.signals.send(sig)
}

// Unlocking a lock that is not locked is a fatal error of the run time, which
// cannot be recovered. In cells it is a panic.

func unlockMutex(m *sync.Mutex) {
	if !vm.Locked(m) {
		panic(vm.PlainError("fatal error: sync: unlock of unlocked mutex"))
	}
	m.Unlock()
}

func unlockRWMutex(m *sync.RWMutex) {
	if vm.Readers(m) >= 0 {
		panic(vm.PlainError("fatal error: sync: Unlock of unlocked RWMutex"))
	}
	m.Unlock()
}

func unlockReader(m *sync.RWMutex) {
	const writer = -1 << 30 // added to the count when a writer waits for the present readers
	if n := vm.Readers(m); n == 0 || n == writer {
		panic(vm.PlainError("fatal error: sync: RUnlock of unlocked RWMutex"))
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

// asReader returns the RWMutex whose RLocker l is.
func asReader(l sync.Locker) (*sync.RWMutex, bool) {
	if reflect.TypeOf(l) != rlocker {
		return nil, false
	}
	return (*sync.RWMutex)(reflect.ValueOf(l).UnsafePointer()), true
}

var rlocker = reflect.TypeOf(new(sync.RWMutex).RLocker())

// wait is (*sync.Cond).Wait, with the panic for a lock that is not locked.
func wait(c *sync.Cond) {
	locked := true
	switch l := c.L.(type) {
	case *sync.Mutex:
		locked = vm.Locked(l)
	case *sync.RWMutex:
		locked = vm.Readers(l) < 0
	}
	if !locked {
		panic(vm.PlainError("fatal error: sync: unlock of unlocked mutex"))
	}
	c.Wait()
}

// cellSignals keeps the signals that the session's cells listen for or ignore.
// A signal that a cell sends to its own process is delivered to cells only.
type cellSignals struct {
	mu      sync.Mutex // guards to, ignored and all
	to      []*listener
	ignored map[os.Signal]bool
	all     bool // whether all signals are ignored
}

type listener struct {
	c     chan<- os.Signal
	which []os.Signal // empty means all signals
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

// forget stops the delivery of the given signals, or of all if none is given.
// The caller holds mu.
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

// send has the effect on the cell that the signal would have on a process that
// sends it to itself.
func (l *cellSignals) send(s syscall.Signal) error {
	if s == syscall.SIGKILL {
		panic(vm.Ending(vm.Exit{Signal: s}))
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
		syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, stackFault:
		if !heard {
			panic(vm.Ending(vm.Exit{Signal: s}))
		}
	case syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		if !heard {
			return syscall.EPERM // it would stop the kernel
		}
	}
	return nil
}

// kill is syscall.Kill, but a signal to the kernel's own process goes to the
// cell.
func (l *Library) kill(pid int, sig syscall.Signal) error {
	switch pid {
	case os.Getpid(), 0, -syscall.Getpgrp():
		if sig == 0 {
			return nil
		}
		return l.signals.send(sig)
	case -1:
		return syscall.EPERM
	}
	return syscall.Kill(pid, sig)
}

// signalProcess is (*os.Process).Signal, but a signal to the kernel's own
// process goes to the cell.
func (l *Library) signalProcess(p *os.Process, sig os.Signal) error {
	if n, ok := sig.(syscall.Signal); ok && p.Pid == os.Getpid() && n != 0 {
		return l.signals.send(n)
	}
	return p.Signal(sig)
}

// killProcess is (*os.Process).Kill, but killing the kernel's own process ends
// the cell.
func (l *Library) killProcess(p *os.Process) error { return l.signalProcess(p, os.Kill) }

// finalized holds the addresses of the objects on which cells have set
// finalizers, until the finalizers have run. Its keys are of type uintptr.
var finalized sync.Map

// setFinalizer is runtime.SetFinalizer, but neither wrong use nor a panic of the
// finalizer ends the process: wrong use panics in the cell, and the finalizer
// runs in a function that recovers.
func (l *Library) setFinalizer(obj, finalizer any) {
	refuse := func(format string, args ...any) {
		panic(vm.PlainError("fatal error: runtime.SetFinalizer: " + fmt.Sprintf(format, args...)))
	}
	v := reflect.ValueOf(obj)
	if !v.IsValid() {
		refuse("first argument is nil")
	}
	if v.Kind() != reflect.Pointer {
		refuse("first argument is %s, not pointer", v.Type())
	}
	p := v.Pointer()
	base := vm.BlockOf(p)
	const inline = 512 // larger blocks with pointers have a header
	switch t := v.Type().Elem(); {
	case p == 0:
		refuse("pointer not in allocated block")
	case base == 0:
		return // as in Go, no finalizer will run for this address
	case p == base:
	case p == base+8 && t.Size()+8 > inline && rtype.HasPointers(t):
	case t.Size() < 16 && !rtype.HasPointers(t):
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
		l.machine.Guarded(func() { f.Call(args) })()
		return nil
	})
	runtime.SetFinalizer(obj, run.Interface())
}
