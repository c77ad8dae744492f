package std

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
)

// Package log is replaced because it asks the run time for its caller, which
// would be a function of the kernel, and because Fatal ends the process.

// logged writes a cell's log message. depth selects the frame of the cell whose
// position is logged; 0 is the innermost.
func (l *Library) logged(to *log.Logger, depth int, text string) error {
	const place = log.Lshortfile | log.Llongfile
	flags := to.Flags()
	if flags&place == 0 {
		return to.Output(0, text)
	}
	where := "???:0: "
	if list := l.machine.AllCallers(); depth < len(list) {
		where = fmt.Sprintf("%s:%d: ", list[depth].File, list[depth].Line)
	}
	prefix := to.Prefix()
	if flags&log.Lmsgprefix != 0 {
		prefix = where + prefix
	} else {
		text = where + text
	}
	defer l.logs.lock(to)()
	return log.New(to.Writer(), prefix, flags&^place).Output(0, text)
}

// logLocks have a lock for each logger that writes, as another writes in its place.
type logLocks struct {
	mu sync.Mutex
	of map[*log.Logger]*logLock
}

type logLock struct {
	sync.Mutex
	users int // that have it or wait for it
}

// lock waits until nobody else writes in a logger's place.
func (l *logLocks) lock(of *log.Logger) (unlock func()) {
	l.mu.Lock()
	if l.of == nil {
		l.of = map[*log.Logger]*logLock{}
	}
	k := l.of[of]
	if k == nil {
		k = new(logLock)
		l.of[of] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.of, of)
		}
	}
}

// loggers returns stand-ins for the methods of log.Logger that write.
func (l *Library) loggers() map[string]any {
	all := map[string]any{"(*log.Logger).Output": func(to *log.Logger, depth int, text string) error { return l.logged(to, depth-1, text) }}
	for name, then := range map[string]func(string){
		"Print": func(string) {}, "Panic": func(text string) { panic(text) }, "Fatal": func(string) { panic(vm.Ending(vm.Exit{Code: 1})) },
	} {
		write := func(to *log.Logger, text string) {
			_ = l.logged(to, 0, text)
			then(text)
		}
		all["(*log.Logger)."+name] = func(to *log.Logger, a ...any) {
			write(to, formatted(func(a []any) string { return fmt.Sprint(a...) })(a))
		}
		all["(*log.Logger)."+name+"ln"] = func(to *log.Logger, a ...any) {
			write(to, formatted(func(a []any) string { return fmt.Sprintln(a...) })(a))
		}
		all["(*log.Logger)."+name+"f"] = func(to *log.Logger, f string, a ...any) { write(to, formattedf(fmt.Sprintf)(f, a...)) }
	}
	return all
}

// overrideLog replaces the functions of package log, which write to the default
// Logger.
func (l *Library) overrideLog(set func(name string, f any)) {
	for method, f := range l.loggers() {
		name := method[len("(*log.Logger)."):]
		switch f := f.(type) {
		case func(*log.Logger, ...any):
			set(name, func(a ...any) { f(log.Default(), a...) })
		case func(*log.Logger, string, ...any):
			set(name, func(format string, a ...any) { f(log.Default(), format, a...) })
		case func(*log.Logger, int, string) error:
			set(name, func(depth int, text string) error { return f(log.Default(), depth, text) })
		}
	}
}

// Records of package slog have the program counter of the call that logs, which would be
// one of the kernel. Those of interpreted cells have one of callers.go, which handlers of
// the library do not know: a label of the goroutine has it while they write.

// slogLevels holds the levels of the functions that are named by one.
var slogLevels = map[string]slog.Level{"Debug": slog.LevelDebug, "Info": slog.LevelInfo, "Warn": slog.LevelWarn, "Error": slog.LevelError}

// slogMethods returns stand-ins for the methods of slog.Logger that log, and of what
// passes their records on.
func (l *Library) slogMethods() map[string]any {
	all := map[string]any{
		"(*log/slog.Logger).Log": func(to *slog.Logger, ctx context.Context, level slog.Level, msg string, args ...any) {
			l.slogged(to, ctx, level, msg, func(r *slog.Record) { r.Add(args...) })
		},
		"(*log/slog.Logger).LogAttrs": func(to *slog.Logger, ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
			l.slogged(to, ctx, level, msg, func(r *slog.Record) { r.AddAttrs(attrs...) })
		},
		"(log/slog.Handler).Handle":      l.handle,
		"(*log/slog.TextHandler).Handle": func(h *slog.TextHandler, ctx context.Context, r slog.Record) error { return l.handle(h, ctx, r) },
		"(*log/slog.JSONHandler).Handle": func(h *slog.JSONHandler, ctx context.Context, r slog.Record) error { return l.handle(h, ctx, r) },
		"(log/slog.Record).Source": func(r slog.Record) *slog.Source {
			if c, ok := placeAt(r.PC); ok {
				return sourceOf(c)
			}
			return r.Source()
		},
	}
	for name, level := range slogLevels {
		all["(*log/slog.Logger)."+name] = func(to *slog.Logger, msg string, args ...any) {
			l.slogged(to, context.Background(), level, msg, func(r *slog.Record) { r.Add(args...) })
		}
		all["(*log/slog.Logger)."+name+"Context"] = func(to *slog.Logger, ctx context.Context, msg string, args ...any) {
			l.slogged(to, ctx, level, msg, func(r *slog.Record) { r.Add(args...) })
		}
	}
	return all
}

// overrideSlog replaces the functions of package slog that log, and those that make
// handlers.
func (l *Library) overrideSlog(set func(name string, f any)) {
	for method, f := range l.slogMethods() {
		name, ok := strings.CutPrefix(method, "(*log/slog.Logger).")
		if !ok {
			continue
		}
		switch f := f.(type) {
		case func(*slog.Logger, string, ...any):
			set(name, func(msg string, args ...any) { f(slog.Default(), msg, args...) })
		case func(*slog.Logger, context.Context, string, ...any):
			set(name, func(ctx context.Context, msg string, args ...any) { f(slog.Default(), ctx, msg, args...) })
		case func(*slog.Logger, context.Context, slog.Level, string, ...any):
			set(name, func(ctx context.Context, level slog.Level, msg string, args ...any) {
				f(slog.Default(), ctx, level, msg, args...)
			})
		case func(*slog.Logger, context.Context, slog.Level, string, ...slog.Attr):
			set(name, func(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
				f(slog.Default(), ctx, level, msg, attrs...)
			})
		}
	}
	set("NewTextHandler", func(w io.Writer, o *slog.HandlerOptions) *slog.TextHandler {
		return slog.NewTextHandler(w, l.placed(o))
	})
	set("NewJSONHandler", func(w io.Writer, o *slog.HandlerOptions) *slog.JSONHandler {
		return slog.NewJSONHandler(w, l.placed(o))
	})
}

// slogged logs what add adds to a record.
func (l *Library) slogged(to *slog.Logger, ctx context.Context, level slog.Level, msg string, add func(*slog.Record)) {
	if ctx == nil {
		ctx = context.Background()
	}
	h := to.Handler()
	if !h.Enabled(ctx, level) {
		return
	}
	var pc uintptr
	if list := l.machine.AllCallers(); len(list) > 0 {
		pc = pcOf(list[0])
	}
	r := slog.NewRecord(time.Now(), level, msg, pc)
	add(&r)
	_ = l.handle(h, ctx, r)
}

// slogLabel is the label of a goroutine that has the program counter of the record which
// is being written.
const slogLabel = "dace.slog"

// handle passes a record to a handler.
func (l *Library) handle(h slog.Handler, ctx context.Context, r slog.Record) (err error) {
	if _, ok := placeAt(r.PC); !ok || !l.addsSource.Load() {
		return h.Handle(ctx, r)
	}
	goroutine.WithLabel(slogLabel, strconv.FormatUint(uint64(r.PC), 10), func() { err = h.Handle(ctx, r) })
	return err
}

func sourceOf(c vm.Caller) *slog.Source {
	return &slog.Source{Function: c.Function, File: c.File, Line: c.Line}
}

// placed returns a copy of a handler's options with which AddSource logs
// positions in cells.
func (l *Library) placed(o *slog.HandlerOptions) *slog.HandlerOptions {
	if o == nil || !o.AddSource {
		return o
	}
	l.addsSource.Store(true)
	c := *o
	c.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		src, ok := a.Value.Any().(*slog.Source)
		if ok && a.Key == slog.SourceKey && len(groups) == 0 {
			list := l.machine.AllCallers()
			pc, _ := strconv.ParseUint(goroutine.Label(slogLabel), 10, 64)
			at, ok := placeAt(uintptr(pc))
			switch name := src.Function; {
			case name == "" && ok:
				a.Value = slog.AnyValue(sourceOf(at))
			case name == "":
				return slog.Attr{} // a record that the cell made, without a position
			case !strings.HasPrefix(name, "reflect.") && !strings.HasPrefix(name, buildinfo.Path("kernel/")) && !strings.HasPrefix(name, check.NativePath):
			case len(list) == 0:
				return slog.Attr{}
			default:
				a.Value = slog.AnyValue(sourceOf(list[0]))
			}
		}
		if o.ReplaceAttr == nil {
			return a
		}
		return o.ReplaceAttr(groups, a)
	}
	return &c
}
