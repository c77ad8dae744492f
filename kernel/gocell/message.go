package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/vm"
)

// ANSI attributes of messages. They have no colour: front ends show errors on red,
// where no colour of theirs can be read in the light and in the dark theme.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

// outOfMemory is the name of the error of a cell that has used up the memory.
const outOfMemory = "OutOfMemory"

// messages makes the errors that clients show, which quote lines of cells.
type messages struct {
	*known
	files *token.FileSet
}

// compileError returns the error of a cell that does not compile: for each
// message Go's text, its position, and the line with a caret. At most ten
// messages are shown.
func (m *messages) compileError(number int, err error) *engine.Error {
	e := &engine.Error{Name: engine.CompileError}
	var list scanner.ErrorList
	var ce *check.Error
	switch {
	case errors.As(err, &ce):
		list = ce.List
	case errors.As(err, &list):
	default:
		p, msg := token.Position{Filename: cell.FileName(number)}, err.Error()
		if at := placeRE.FindStringSubmatch(msg); at != nil {
			p.Filename, msg = at[2], at[1]+at[5]
			p.Line, _ = strconv.Atoi(at[3])
			p.Column, _ = strconv.Atoi(at[4])
		}
		list.Add(p, cell.Clean(msg))
	}
	list = unique(list)
	const most = 10
	for i, found := range list {
		if i == most {
			e.Traceback = append(e.Traceback, fmt.Sprintf("%s... and %d more%s", faint, len(list)-most, plain))
			break
		}
		if i == 0 {
			e.Message = firstLine(found.Msg)
			if found.Pos.Line > 0 {
				e.Message = fmt.Sprintf("%s:%d:%d: %s", cell.Name(found.Pos.Filename), found.Pos.Line, found.Pos.Column, e.Message)
			}
		}
		e.Traceback = append(e.Traceback, m.located(found.Pos, bold+firstLine(found.Msg)+plain+restLines(found.Msg))...)
	}
	return e
}

// placeRE matches an error that begins with a position in a
// cell.
var placeRE = regexp.MustCompile(`(?s)^(.*?)(In\[-?\d+\]/_\.go):(\d+):(\d+): (.*)$`)

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

// unique keeps the first message of each line: the others repeat it or follow
// from it, as "other declaration of a" does, which begins with a tab.
func unique(list scanner.ErrorList) scanner.ErrorList {
	list.Sort()
	list = slices.DeleteFunc(list, func(m *scanner.Error) bool {
		return strings.HasPrefix(m.Msg, "\t") && slices.ContainsFunc(list, func(other *scanner.Error) bool {
			return !strings.HasPrefix(other.Msg, "\t") && other.Pos.Filename == m.Pos.Filename && other.Pos.Line == m.Pos.Line
		})
	})
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

// located formats a message with its position in a cell, the line, and a caret.
func (m *messages) located(p token.Position, msg string) []string {
	if p.Line <= 0 {
		return []string{msg}
	}
	lines := []string{fmt.Sprintf("%s%s:%d:%d:%s %s", bold, cell.Name(p.Filename), p.Line, p.Column, plain, msg)}
	if line, ok := m.sourceLine(p); ok {
		col := min(max(p.Column, 1), len(line)+1)
		pad := strings.Map(func(r rune) rune {
			if r == '\t' {
				return '\t'
			}
			return ' '
		}, line[:col-1])
		lines = append(lines, "    "+line, "    "+pad+bold+"^"+plain)
	}
	return lines
}

// sourceLine returns the text of the line that a position is in.
func (m *messages) sourceLine(p token.Position) (string, bool) {
	n, ok := cell.Number(p.Filename)
	m.mu.Lock()
	text := m.texts[n]
	if !ok {
		text, ok = m.prog.Importer.Text(p.Filename)
	}
	m.mu.Unlock()
	if !ok {
		return "", false
	}
	lines := strings.Split(text, "\n")
	if p.Line < 1 || p.Line > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[p.Line-1], "\r"), true
}

// runtimeError returns the error that describes how a running cell failed.
func (m *messages) runtimeError(c *vm.Cell, err error) *engine.Error {
	frames := c.TakeFrames()
	if foreign := (*vm.ForeignPanic)(nil); errors.As(err, &foreign) {
		return &engine.Error{Name: engine.Panic, Message: vm.PanicText(foreign.Value, display.Format), Traceback: m.foreignError(foreign)}
	}
	if value, ok := vm.Panicked(err); ok {
		if x, ok := value.(vm.Exit); ok {
			msg := x.Error() + ": the cell has ended, the session lives on"
			return &engine.Error{Name: "Exit", Message: msg, Traceback: []string{bold + msg + plain}}
		}
		if f, ok := value.(vm.Failure); ok {
			return m.failure(frames, f)
		}
		return &engine.Error{Name: engine.Panic, Message: vm.PanicText(value, display.Format), Traceback: m.panicLines(frames, value)}
	}
	switch {
	case errors.Is(err, vm.ErrAbandoned):
		return m.interruptedAt(c.StoppedAt(), ", inside a compiled call that cannot be stopped: it goes on in the background; the session is yours again")
	case errors.Is(err, vm.ErrConcurrent):
		return interrupted("the cell was stopped together with one that ran beside it; what it did up to there is kept")
	case errors.Is(err, vm.ErrStackOverflow):
		return m.overflowError(frames, err)
	case errors.Is(err, vm.ErrMemory):
		debug.FreeOSMemory()
		return &engine.Error{Name: outOfMemory, Message: err.Error(), Traceback: []string{bold + "OutOfMemory" + plain + ": " + err.Error()}}
	case errors.Is(err, vm.ErrThreads):
		return &engine.Error{Name: "OutOfThreads", Message: err.Error(), Traceback: []string{bold + "OutOfThreads" + plain + ": " + err.Error()}}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return m.interruptedAt(c.StoppedAt(), "; what it did up to there is kept")
	}
	msg := cell.Clean(err.Error())
	return &engine.Error{Name: "Error", Message: msg, Traceback: []string{bold + msg + plain}}
}

// failure returns the error of a cell that has met an error, at the innermost of
// the frames.
func (m *messages) failure(frames []vm.Frame, f vm.Failure) *engine.Error {
	return &engine.Error{Name: "Error", Message: f.Error(), Traceback: m.panicLines(frames, f)}
}

// interruptedAt returns the error of a cell that was interrupted at a line, where that is
// known; what follows in the message is given.
func (m *messages) interruptedAt(p token.Position, more string) *engine.Error {
	if !p.IsValid() {
		return interrupted("the cell was interrupted" + more)
	}
	e := interrupted(fmt.Sprintf("the cell was interrupted at %s:%d%s", cell.Name(p.Filename), p.Line, more))
	e.Traceback = append(m.located(p, faint+"it was here"+plain), e.Traceback...)
	return e
}

func interrupted(msg string) *engine.Error {
	return &engine.Error{Name: engine.Interrupted, Message: msg, Traceback: []string{bold + engine.Interrupted + plain + ": " + msg}}
}

// overflowError returns the error of a cell that recursed until its stack was
// used up.
func (m *messages) overflowError(frames []vm.Frame, err error) *engine.Error {
	e := &engine.Error{Name: engine.Panic, Message: "stack overflow"}
	if len(frames) > 0 {
		e.Traceback = m.located(frames[0].Pos, faint+"in "+plain+frames[0].Name+faint+", which calls itself"+plain)
	}
	e.Traceback = append(e.Traceback, bold+"runtime: "+plain+err.Error())
	return e
}

// foreignError returns the traceback of a panic in a goroutine that a library
// started.
func (m *messages) foreignError(p *vm.ForeignPanic) []string {
	if e, ok := p.Value.(vm.Exit); ok {
		return []string{bold + e.Error() + plain}
	}
	note := fmt.Sprintf("%sin a goroutine that %s runs%s", faint, p.Library, plain)
	return append([]string{note}, m.panicLines(p.Frames, p.Value)...)
}

// goroutinePanicked writes to a cell's standard error that a panic has ended
// one of its goroutines.
func (m *messages) goroutinePanicked(c *vm.Cell, frames []vm.Frame, v any) {
	if _, ok := v.(stopping); ok {
		return
	}
	if e, ok := v.(vm.Exit); ok {
		c.Outputs().Stderr(e.Error() + " in a goroutine: the goroutine has ended\n")
		return
	}
	what := "a panic"
	if _, ok := v.(vm.Failure); ok {
		what = "an error"
	}
	c.Outputs().Stderr(engine.GoroutineEnded + what + "\n" + m.traceback(frames, v) + "\n")
}

// traceback returns the text of a panic that has ended a part of a cell.
func (m *messages) traceback(frames []vm.Frame, v any) string {
	if e, ok := v.(vm.Exit); ok {
		return e.Error()
	}
	return strings.Join(m.panicLines(frames, v), "\n")
}

// replaced returns the line of a panic in whose place a deferred call has panicked, with
// where it came from.
func (m *messages) replaced(frames []vm.Frame, p code.Replaced) string {
	line := bold + "panic: " + plain + vm.PanicText(p.Value, display.Format)
	if p.Recovered {
		line += " [recovered]"
	}
	if len(frames) > 0 {
		at := frames[0].Pos
		line += fmt.Sprintf("%s at %s:%d:%d%s", faint, cell.Name(at.Filename), at.Line, at.Column, plain)
	}
	return line
}

// panicLines formats the frames of a panic, outermost first, and its value.
// Repeated frames are shown once, and the middle frames of a long traceback are
// left out.
func (m *messages) panicLines(frames []vm.Frame, v any) []string {
	var lines []string
	note := func(n int, what string) {
		lines = append(lines, fmt.Sprintf("%s... %d %s ...%s", faint, n, what, plain))
	}
	const ends = 8
	// A function that passes the call on to the compiled one has a frame without a place.
	frames = slices.DeleteFunc(slices.Clone(frames), func(f vm.Frame) bool { return !f.Pos.IsValid() && f.Name != "" && f.Name != "main" })
	for i := len(frames) - 1; i >= 0; i-- {
		if skipped := len(frames) - 2*ends; skipped > 1 && i == len(frames)-1-ends {
			note(skipped, "frames")
			i = ends
			continue
		}
		f := frames[i]
		name := "cell"
		if f.Name != "main" && f.Name != "" {
			name = cell.Clean(f.Name)
		}
		lines = append(lines, m.located(f.Pos, faint+"in "+plain+name)...)
		same := 0
		for i-same > 0 && frames[i-same-1] == f {
			same++
		}
		if same > 1 {
			note(same, "more of the same")
			i -= same
		}
	}
	if f, ok := v.(vm.Failure); ok {
		return append(lines, bold+"error: "+plain+f.Error())
	}
	return append(lines, bold+"panic: "+plain+vm.PanicText(v, display.Format))
}
