package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"strings"

	"dace.local/kernel/engine"
)

// A magic is a line that speaks to the kernel, not to Go. Line magics, %name
// and arguments, stand before the first line of Go and are done in order
// before the cell is looked at. A cell magic, %%name, is the first of all
// lines and takes the cell into its own hands.
type magic struct {
	name  string // with its signs: "%get", "%%compile"
	usage string // "%get MODULE[@VERSION]"
	short string // what it does, in a line
	// line does a line magic. An error that is no *engine.Error is shown
	// with the line.
	line func(s *Session, ctx context.Context, args []string, out engine.Outputs) error
	// cell runs a cell whose magics are blanked.
	cell func(s *Session, ctx context.Context, args []string, cell engine.Cell, out engine.Outputs) (engine.Result, error)
}

// magics returns those that there are.
func magics() []magic {
	return []magic{
		{name: "%get", usage: "%get MODULE[@VERSION]", short: "fetches a Go module, whose packages cells can then import", line: (*Session).get},
		{name: "%%compile", usage: "%%compile", short: "compiles the cell's declarations with the Go toolchain", cell: (*Session).compileCell},
	}
}

// A magicLine is a magic as it stands in a cell.
type magicLine struct {
	magic
	args       []string
	start, end int // byte offsets of its text
}

// readMagics takes the magics off a cell: text is the cell with their lines
// blanked, so that positions stay. The error is a scanner.ErrorList.
func readMagics(number int, code string) (lines []magicLine, text string, err error) {
	b := []byte(code)
	seenGo := false // a line of Go, or a comment
	for off := 0; off < len(code); {
		n := strings.IndexByte(code[off:], '\n') + 1
		if n == 0 {
			n = len(code) - off
		}
		trimmed := strings.TrimSpace(code[off : off+n])
		start := off + strings.Index(code[off:], trimmed)
		end := off + n
		off = end
		if trimmed == "" {
			continue
		}
		if strings.HasPrefix(trimmed, "//") {
			seenGo = true
			continue
		}
		if trimmed[0] != '%' {
			break
		}
		fields := strings.Fields(trimmed)
		m := magicLine{args: fields[1:], start: start, end: start + len(trimmed)}
		fail := func(msg string) error {
			line, col := lineCol(code, start)
			var l scanner.ErrorList
			l.Add(token.Position{Filename: fileName(number), Offset: start, Line: line, Column: col}, msg)
			return l
		}
		known := false
		for _, k := range magics() {
			if k.name == fields[0] {
				m.magic, known = k, true
			}
		}
		switch {
		case !known:
			return nil, code, fail("there is no magic " + fields[0] + magicList())
		case m.cell != nil && (seenGo || len(lines) > 0):
			return nil, code, fail(m.name + " must be the first line of its cell")
		}
		lines = append(lines, m)
		wipe(b[start:m.end])
	}
	return lines, string(b), nil
}

// magicList tells which magics there are, below a message.
func magicList() string {
	var b strings.Builder
	for _, m := range magics() {
		fmt.Fprintf(&b, "\n\t%-24s %s", m.usage, m.short)
	}
	return b.String()
}

// withMagics does the magics of a cell and returns its Go; done says that the
// cell has run.
func (s *Session) withMagics(ctx context.Context, cell engine.Cell, out engine.Outputs) (goes engine.Cell, res engine.Result, done bool, err error) {
	lines, text, err := readMagics(cell.Number, cell.Code)
	if err != nil {
		return cell, res, true, s.compileError(cell.Number, err)
	}
	code := cell.Code
	cell.Code = text
	var whole *magicLine
	for i, m := range lines {
		if m.cell != nil {
			whole = &lines[i]
			continue
		}
		if err := m.line(s, ctx, m.args, out); err != nil {
			var e *engine.Error
			if errors.As(err, &e) {
				return cell, res, true, e
			}
			line, col := lineCol(code, m.start)
			p := token.Position{Filename: fileName(cell.Number), Line: line, Column: col}
			return cell, res, true, &engine.Error{Name: m.name, Message: err.Error(), Traceback: s.located(p, red+err.Error()+plain)}
		}
	}
	if whole != nil {
		res, err = whole.cell(s, ctx, whole.args, cell, out)
		return cell, res, true, err
	}
	return cell, res, false, nil
}

// magicAt returns the word of a magic that the cursor stands in or behind, as
// far as it is typed.
func magicAt(code string, cursor int) (word string, start int, ok bool) {
	start = strings.LastIndexByte(code[:cursor], '\n') + 1
	for start < cursor && (code[start] == ' ' || code[start] == '\t') {
		start++
	}
	word = code[start:cursor]
	ok = strings.HasPrefix(word, "%") && !strings.ContainsAny(word, " \t")
	for line := range strings.Lines(code[:start]) {
		t := strings.TrimSpace(line)
		ok = ok && (t == "" || t[0] == '%' || strings.HasPrefix(t, "//"))
	}
	return word, start, ok
}

// blankMagics returns the cell with the lines before its Go that begin with %
// blanked, known or not.
func blankMagics(code string) string {
	b := []byte(code)
	off := 0
	for line := range strings.Lines(code) {
		t := strings.TrimSpace(line)
		if t != "" && t[0] != '%' && !strings.HasPrefix(t, "//") {
			break
		}
		if strings.HasPrefix(t, "%") {
			wipe(b[off : off+len(line)])
		}
		off += len(line)
	}
	return string(b)
}
