// Package echo is the smallest complete engine: its one-line commands provoke
// every output, question and failure that package engine defines. The tests of
// the server and of the clients use it; it is of no use otherwise. Start with
// [New].
//
// A cell is a sequence of lines, executed in order. A line that starts with %
// is a command (the table in commands.go), `NAME = TEXT` sets a variable,
// `?NAME` opens the pager, and any other line is an expression: the value of
// a variable, or else the line itself. The value of the last line, if it is
// an expression, is the cell's. A cell with an unknown command or unbalanced
// braces does not compile and changes nothing.
package echo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"dace.local/kernel/engine"
)

// An Engine is a session of the echo language. Its methods may be called from
// several goroutines.
type Engine struct {
	mu     sync.Mutex // guards vars, comms and closed
	vars   map[string]string
	comms  map[string]bool
	closed bool
}

var (
	_ engine.Engine      = (*Engine)(nil)
	_ engine.CommHandler = (*Engine)(nil)
)

// New returns an empty session.
func New() *Engine {
	return &Engine{vars: map[string]string{}, comms: map[string]bool{}}
}

// Info describes the echo language.
func (e *Engine) Info() engine.Info {
	return engine.Info{
		Name:              "echo",
		Version:           "1",
		MimeType:          "text/plain",
		FileExtension:     ".txt",
		PygmentsLexer:     "text",
		CodeMirrorMode:    "text",
		Implementation:    "echo",
		ImplementationVer: "1",
		Banner:            "echo: repeats what it is told",
		HelpLinks:         []engine.HelpLink{{Text: "Jupyter", URL: "https://jupyter.org"}},
		Concurrent:        true,
		Beside:            func(code string) bool { return strings.HasPrefix(code, "%print beside") },
	}
}

// A line is one parsed line of a cell.
type line struct {
	run  command // nil for an expression, a page or an assignment
	name string  // of the variable that is set
	page bool
	text string
}

// parse compiles a cell without executing anything.
func parse(code string) ([]line, error) {
	var lines []line
	for i, s := range strings.Split(code, "\n") {
		s = strings.TrimLeft(s, " \t") // a prompt may end in a space
		fail := func(format string, args ...any) error {
			return failure(engine.CompileError, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		if depth := strings.Count(s, "{") - strings.Count(s, "}"); depth != 0 {
			return nil, fail("unbalanced braces")
		}
		name, value, assign := strings.Cut(s, " = ")
		switch {
		case strings.TrimSpace(s) == "":
		case strings.HasPrefix(s, "?"):
			lines = append(lines, line{page: true, text: strings.TrimSpace(s[1:])})
		case strings.HasPrefix(s, "%"):
			word, rest, _ := strings.Cut(s[1:], " ")
			run, ok := commands[word]
			if !ok {
				return nil, fail("there is no command %%%s", word)
			}
			lines = append(lines, line{run: run, text: rest})
		case assign && isName(name):
			lines = append(lines, line{name: name, text: value})
		default:
			lines = append(lines, line{text: strings.TrimSpace(s)})
		}
	}
	return lines, nil
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !nameRune(r) })
}

func nameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// failure returns an Error with the usual traceback.
func failure(name, message string) *engine.Error {
	e := &engine.Error{Name: name, Message: message}
	e.Traceback = []string{e.Error()}
	return e
}

// Execute runs a cell line by line.
func (e *Engine) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (engine.Result, error) {
	var result engine.Result
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return result, errors.New("echo: the session is closed")
	}
	lines, err := parse(cell.Code)
	if err != nil {
		return result, err
	}
	for _, l := range lines {
		if ctx.Err() != nil {
			return engine.Result{}, failure(engine.Interrupted, "the cell was interrupted")
		}
		result.Value = engine.Bundle{}
		switch {
		case l.run != nil:
			if err := l.run(ctx, e, l.text, out); err != nil {
				if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
					err = failure(engine.Interrupted, "the cell was interrupted")
				}
				return engine.Result{}, err
			}
		case l.page:
			result.Pages = append(result.Pages, engine.Text(e.describe(l.text)))
		case l.name != "":
			e.mu.Lock()
			e.vars[l.name] = l.text
			e.mu.Unlock()
		default:
			result.Value = engine.Text(e.value(l.text))
		}
	}
	return result, nil
}

// value returns the value of an expression.
func (e *Engine) value(text string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if v, ok := e.vars[text]; ok {
		return v
	}
	return text
}

// describe returns the documentation of a name, for the pager and Inspect.
func (e *Engine) describe(name string) string {
	if _, ok := commands[strings.TrimPrefix(name, "%")]; ok {
		return "%" + strings.TrimPrefix(name, "%") + ": a command"
	}
	return name + ": " + e.value(name)
}

// Evaluate returns an expression's value; an empty expression and a command
// are errors.
func (e *Engine) Evaluate(_ context.Context, expr string) (engine.Bundle, error) {
	if expr = strings.TrimSpace(expr); expr == "" || expr[0] == '%' {
		return engine.Bundle{}, failure(engine.CompileError, fmt.Sprintf("%q is not an expression", expr))
	}
	return engine.Text(e.value(expr)), nil
}

// IsComplete reports whether the braces in code are balanced.
func (e *Engine) IsComplete(code string) engine.Completeness {
	depth := 0
	for _, r := range code {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth < 0 {
			return engine.Completeness{Status: "invalid"}
		}
	}
	if depth > 0 {
		return engine.Completeness{Status: "incomplete", Indent: strings.Repeat("  ", depth)}
	}
	return engine.Completeness{Status: "complete"}
}

// word returns the bounds of the name around the cursor, or, if prefix is set,
// of the part of it before the cursor.
func word(code string, cursor int, prefix bool) (start, end int) {
	start, end = cursor, cursor
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(code[:start])
		if !nameRune(r) {
			break
		}
		start -= n
	}
	for !prefix && end < len(code) {
		r, n := utf8.DecodeRuneInString(code[end:])
		if !nameRune(r) {
			break
		}
		end += n
	}
	return start, end
}

// Complete returns commands after a %, and variables elsewhere.
func (e *Engine) Complete(code string, cursor int) engine.Completions {
	start, end := word(code, cursor, true)
	c := engine.Completions{Start: start, End: end}
	kind := "variable"
	var names []string
	if start > 0 && code[start-1] == '%' {
		kind = "function"
		names = slices.Sorted(maps.Keys(commands))
	} else {
		e.mu.Lock()
		names = slices.Sorted(maps.Keys(e.vars))
		e.mu.Unlock()
	}
	for _, name := range names {
		if strings.HasPrefix(name, code[start:end]) {
			c.Matches = append(c.Matches, engine.Completion{Text: name, Type: kind})
		}
	}
	return c
}

// Inspect describes commands and variables.
func (e *Engine) Inspect(code string, cursor, detail int) (engine.Bundle, bool) {
	start, end := word(code, cursor, false)
	name := code[start:end]
	e.mu.Lock()
	_, known := e.vars[name]
	e.mu.Unlock()
	if _, ok := commands[name]; !ok && !known {
		return engine.Bundle{}, false
	}
	doc := e.describe(name)
	if detail > 0 {
		doc += "\n(there is no source)"
	}
	return engine.Text(doc), true
}

// Comm serves the target "echo": it sends the client's messages back, comm_close
// included.
func (e *Engine) Comm(_ context.Context, m engine.CommMessage, out engine.Outputs) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m.Type {
	case "comm_open":
		if m.Target != "echo" {
			return engine.ErrUnknownTarget
		}
		e.comms[m.ID] = true
	case "comm_msg":
		if e.comms[m.ID] {
			return out.Comm(engine.CommMessage{Type: "comm_msg", ID: m.ID, Data: m.Data, Metadata: m.Metadata, Buffers: m.Buffers})
		}
	case "comm_close":
		delete(e.comms, m.ID)
	}
	return nil
}

// Close ends the session.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return nil
}
