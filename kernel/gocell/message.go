package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"reflect"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
)

// ANSI colours of messages.
const (
	red   = "\x1b[31m"
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

// compileError says why a cell cannot be compiled: Go's text, the place, the
// line with a caret. At most ten messages are shown.
func (s *Session) compileError(number int, err error) *engine.Error {
	e := &engine.Error{Name: engine.CompileError}
	var list scanner.ErrorList
	var ce *checkError
	switch {
	case errors.As(err, &ce):
		list = ce.list
	case errors.As(err, &list):
	default:
		p, msg := token.Position{Filename: fileName(number)}, err.Error()
		if m := placeRE.FindStringSubmatch(msg); m != nil {
			p.Filename, msg = m[2], m[1]+m[5]
			p.Line, _ = strconv.Atoi(m[3])
			p.Column, _ = strconv.Atoi(m[4])
		}
		list.Add(p, cleanMessage(msg))
	}
	list = unique(list)
	const most = 10
	for i, m := range list {
		if i == most {
			e.Traceback = append(e.Traceback, fmt.Sprintf("%s... and %d more%s", faint, len(list)-most, plain))
			break
		}
		if i == 0 {
			e.Message = firstLine(m.Msg)
			if m.Pos.Line > 0 {
				e.Message = fmt.Sprintf("%s:%d:%d: %s", cellName(m.Pos.Filename), m.Pos.Line, m.Pos.Column, e.Message)
			}
		}
		e.Traceback = append(e.Traceback, s.located(m.Pos, red+bold+firstLine(m.Msg)+plain+restLines(m.Msg))...)
	}
	return e
}

// placeRE matches an error of the interpreter that names a place in a cell.
var placeRE = regexp.MustCompile(`(?s)^(.*?)(In\[\d+\]/_\.go):(\d+):(\d+): (.*)$`)

func firstLine(s string) string {
	l, _, _ := strings.Cut(s, "\n")
	return l
}

func restLines(s string) string {
	_, r, ok := strings.Cut(s, "\n")
	if !ok {
		return ""
	}
	return "\n" + r
}

// unique drops repeats and consequences: messages of the same line.
func unique(list scanner.ErrorList) scanner.ErrorList {
	list.Sort()
	var out scanner.ErrorList
	for _, m := range list {
		if n := len(out); n > 0 && out[n-1].Pos.Line == m.Pos.Line && out[n-1].Pos.Filename == m.Pos.Filename && m.Pos.Line > 0 &&
			(out[n-1].Pos.Column == m.Pos.Column || out[n-1].Msg == m.Msg) {
			continue
		}
		out = append(out, m)
	}
	return out
}

// located formats a message at a place of a cell.
func (s *Session) located(p token.Position, msg string) []string {
	if p.Line <= 0 {
		return []string{msg}
	}
	lines := []string{fmt.Sprintf("%s%s:%d:%d:%s %s", bold, cellName(p.Filename), p.Line, p.Column, plain, msg)}
	if line, ok := s.sourceLine(p); ok {
		col := min(max(p.Column, 1), len(line)+1)
		pad := strings.Map(func(r rune) rune {
			if r == '\t' {
				return '\t'
			}
			return ' '
		}, line[:col-1])
		lines = append(lines, "    "+line, "    "+pad+red+"^"+plain)
	}
	return lines
}

// sourceLine returns the text of the line of a position.
func (s *Session) sourceLine(p token.Position) (string, bool) {
	n, ok := cellNumber(p.Filename)
	s.mu.Lock()
	text := s.cellSrc[n]
	if !ok {
		text, ok = s.prog.imp.text(p.Filename)
	}
	s.mu.Unlock()
	if !ok {
		return "", false
	}
	lines := strings.Split(text, "\n")
	if p.Line < 1 || p.Line > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[p.Line-1], "\r"), true
}

// cellName turns the name of a cell's file into what a person sees.
func cellName(file string) string { return strings.TrimSuffix(file, "/"+cellBase) }

func cellNumber(file string) (int, bool) {
	s, ok := strings.CutPrefix(file, "In[")
	if !ok {
		return 0, false
	}
	s, _, ok = strings.Cut(s, "]")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

var aliasRE = regexp.MustCompile(mark + `[\pL\pN_]*`)

// cleanMessage takes the made-up names out of an interpreter's message.
func cleanMessage(s string) string {
	return aliasRE.ReplaceAllStringFunc(strings.ReplaceAll(s, exportMark, ""), func(a string) string {
		if n, ok := instanceNames.Load(a); ok {
			return n.(string)
		}
		a = strings.TrimPrefix(a, mark)
		return a[strings.LastIndexByte(a, '_')+1:]
	})
}

// A frame is a function that a panic passed.
type frame struct {
	pos  token.Position
	name string
}

var frameRE = regexp.MustCompile(`^(.+/_\.go):(\d+):(\d+): panic: (.*)\(\.\.\.\)$`)

func parseFrame(line string) (frame, bool) {
	m := frameRE.FindStringSubmatch(line)
	if m == nil {
		return frame{}, false
	}
	l, _ := strconv.Atoi(m[2])
	c, _ := strconv.Atoi(m[3])
	return frame{token.Position{Filename: m[1], Line: l, Column: c}, strings.TrimPrefix(m[4], "main.")}, true
}

// runtimeError says how a running cell failed.
func (s *Session) runtimeError(r *running, err error) *engine.Error {
	r.mu.Lock()
	frames := r.frames
	r.frames = nil
	r.mu.Unlock()
	var p interp.Panic
	var foreign *foreignPanic
	switch {
	case errors.As(err, &foreign):
		return &engine.Error{Name: engine.Panic, Message: panicText(foreign.value), Traceback: s.foreignError(foreign)}
	case errors.Is(err, errAbandoned):
		msg := "the cell was interrupted, but it is inside a compiled call that cannot be stopped: it goes on in the background; the session is yours again"
		return &engine.Error{Name: engine.Interrupted, Message: msg, Traceback: []string{red + engine.Interrupted + plain + ": " + msg}}
	case errors.Is(err, errStackOverflow):
		e := &engine.Error{Name: engine.Panic, Message: "stack overflow"}
		switch {
		case r.at.IsValid():
			e.Traceback = s.located(s.fset.Position(r.at), faint+"in a recursive call"+plain)
		case len(frames) > 0: // of a compiled cell
			e.Traceback = s.located(frames[0].pos, faint+"in "+plain+frames[0].name+faint+", which calls itself"+plain)
		}
		e.Traceback = append(e.Traceback, red+bold+"runtime: "+plain+red+err.Error()+plain)
		return e
	case errors.Is(err, errMemory):
		debug.FreeOSMemory()
		return &engine.Error{Name: "OutOfMemory", Message: err.Error(), Traceback: []string{red + "OutOfMemory" + plain + ": " + err.Error()}}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		msg := "the cell was interrupted; what it did up to there is kept"
		return &engine.Error{Name: engine.Interrupted, Message: msg, Traceback: []string{red + engine.Interrupted + plain + ": " + msg}}
	case errors.As(err, &p):
		if x, ok := p.Value.(exit); ok {
			msg := x.Error() + ": the cell has ended, the session lives on"
			return &engine.Error{Name: "Exit", Message: msg, Traceback: []string{red + msg + plain}}
		}
		e := &engine.Error{Name: engine.Panic, Message: panicText(p.Value)}
		e.Traceback = s.panicLines(frames, p.Value)
		return e
	}
	msg := cleanMessage(err.Error())
	return &engine.Error{Name: "Error", Message: msg, Traceback: []string{red + msg + plain}}
}

// panicLines lists the frames of a panic, outermost first, and what it says.
// A frame that repeats is shown once, and the middle of many is left out.
func (s *Session) panicLines(frames []frame, v any) []string {
	var lines []string
	note := func(n int, what string) {
		lines = append(lines, fmt.Sprintf("%s... %d %s ...%s", faint, n, what, plain))
	}
	const ends = 8
	for i := len(frames) - 1; i >= 0; i-- {
		if skipped := len(frames) - 2*ends; skipped > 1 && i == len(frames)-1-ends {
			note(skipped, "frames")
			i = ends
			continue
		}
		f := frames[i]
		name := "cell"
		if f.name != "main" && f.name != "" {
			name = cleanMessage(f.name)
		}
		lines = append(lines, s.located(f.pos, faint+"in "+plain+name)...)
		same := 0
		for i-same > 0 && frames[i-same-1] == f {
			same++
		}
		if same > 1 {
			note(same, "more of the same")
			i -= same
		}
	}
	return append(lines, red+bold+"panic: "+plain+red+panicText(v)+plain)
}

// panicText says what a recovered value is, in the words of Go's own crash
// report.
func panicText(v any) string {
	v = recovered(v)
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array, reflect.Func, reflect.Chan:
		return fmt.Sprintf("(%T) %s", v, display.Format(v))
	case reflect.String:
		return fmt.Sprintf("%T(%q)", v, v)
	}
	if rv.IsValid() && rv.Type().PkgPath() != "" {
		return fmt.Sprintf("%T(%v)", v, v)
	}
	return fmt.Sprint(v)
}
