package gocell

import (
	"fmt"
	"log"
	"log/slog"
	"strings"
)

// Package log asks the run time where it is called, who would name the
// interpreter, and its Fatal ends the process.

// logged writes a message of a cell; depth is how far out its caller is.
func (s *Session) logged(l *log.Logger, depth int, text string) error {
	const place = log.Lshortfile | log.Llongfile
	flags := l.Flags()
	if flags&place == 0 {
		return l.Output(0, text)
	}
	where := "???:0: "
	if list := s.callers(); depth < len(list) {
		where = fmt.Sprintf("%s:%d: ", list[depth].file, list[depth].line)
	}
	prefix := l.Prefix()
	if flags&log.Lmsgprefix != 0 {
		prefix = where + prefix
	} else {
		text = where + text
	}
	return log.New(l.Writer(), prefix, flags&^place).Output(0, text)
}

// loggers returns stand-ins for the methods of a Logger that write.
func (s *Session) loggers() map[string]any {
	all := map[string]any{"(*log.Logger).Output": func(l *log.Logger, depth int, text string) error { return s.logged(l, depth-1, text) }}
	for name, then := range map[string]func(string){
		"Print": func(string) {}, "Panic": func(text string) { panic(text) }, "Fatal": func(string) { panic(exit{code: 1}) },
	} {
		write := func(l *log.Logger, text string) {
			_ = s.logged(l, 0, text)
			then(text)
		}
		all["(*log.Logger)."+name] = func(l *log.Logger, a ...any) { write(l, fmt.Sprint(finite(a)...)) }
		all["(*log.Logger)."+name+"ln"] = func(l *log.Logger, a ...any) { write(l, fmt.Sprintln(finite(a)...)) }
		all["(*log.Logger)."+name+"f"] = func(l *log.Logger, f string, a ...any) { write(l, fmt.Sprintf(f, finitef(f, a)...)) }
	}
	return all
}

// overrideLog replaces the functions of package log, which write to the default
// Logger.
func (s *Session) overrideLog(set func(name string, f any)) {
	for method, f := range s.loggers() {
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

// placed returns the options of a handler that names a place as it is in cells.
func (s *Session) placed(o *slog.HandlerOptions) *slog.HandlerOptions {
	if o == nil || !o.AddSource {
		return o
	}
	c := *o
	c.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		src, ok := a.Value.Any().(*slog.Source)
		if ok && a.Key == slog.SourceKey && len(groups) == 0 {
			list := s.callers()
			switch name := src.Function; {
			case name == "":
				return slog.Attr{} // a record of a cell's own, from another place
			case !strings.HasPrefix(name, "reflect.") && !strings.HasPrefix(name, "github.com/traefik/yaegi/"):
			case len(list) == 0:
				return slog.Attr{}
			default:
				a.Value = slog.AnyValue(&slog.Source{Function: list[0].function, File: list[0].file, Line: list[0].line})
			}
		}
		if o.ReplaceAttr == nil {
			return a
		}
		return o.ReplaceAttr(groups, a)
	}
	return &c
}
