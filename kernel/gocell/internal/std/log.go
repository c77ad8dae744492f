package std

import (
	"fmt"
	"log"
	"log/slog"
	"strings"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
)

// Package log is replaced because it asks the run time for its caller, which
// would be a function of the interpreter, and because Fatal ends the process.

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
	return log.New(to.Writer(), prefix, flags&^place).Output(0, text)
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

// placed returns a copy of a handler's options with which AddSource logs
// positions in cells.
func (l *Library) placed(o *slog.HandlerOptions) *slog.HandlerOptions {
	if o == nil || !o.AddSource {
		return o
	}
	c := *o
	c.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		src, ok := a.Value.Any().(*slog.Source)
		if ok && a.Key == slog.SourceKey && len(groups) == 0 {
			list := l.machine.AllCallers()
			switch name := src.Function; {
			case name == "":
				return slog.Attr{} // a record that the cell made, without a position
			case !strings.HasPrefix(name, "reflect.") && !strings.HasPrefix(name, "github.com/traefik/yaegi/") && !strings.HasPrefix(name, check.NativePath):
			case len(list) == 0:
				return slog.Attr{}
			default:
				a.Value = slog.AnyValue(&slog.Source{Function: list[0].Function, File: list[0].File, Line: list[0].Line})
			}
		}
		if o.ReplaceAttr == nil {
			return a
		}
		return o.ReplaceAttr(groups, a)
	}
	return &c
}
