package gocell

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"strconv"
	"strings"
	"text/tabwriter"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/debug"
	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/gocell/internal/vm"
)

const aboutDebug = `The functions are numbered, the one that panicked is 0. With
GO, an expression or statement, it runs that among the variables of a function: of 0,
or that of the number before it. A number alone shows the variables of that function
whole. Variables of cells, and those of functions that run compiled, are not listed.
JupyterLab's debugger, the bug above the notebook, stops where a cell panics.

	%debug
	%debug len(xs)
	%debug 1 n + 1`

// A calamity is a panic that has ended a cell or a goroutine of one. It keeps the
// functions' variables until the next one.
type calamity struct {
	text  string
	calls []call
}

// A call is a function that a panic has left, where it was then.
type call struct {
	at   token.Position
	name string
	debug.Scope
}

// mostVars is how many variables of a function are listed.
const mostVars = 20

// panicked keeps what a panic with a value has left in a goroutine.
func (r *runner) panicked(s *Session, g *code.G, value any) {
	switch value.(type) {
	case vm.Exit, stopping:
		return
	}
	c := &calamity{text: vm.PanicText(value, display.Format)}
	s.mu.Lock() // the search for names may reach the package's scope
	defer s.mu.Unlock()
	for _, st := range g.Trace {
		at := s.machine.Files().Position(token.Pos(st.Pos))
		if st.Frame == nil || !at.IsValid() || at.Filename == cell.FileName(0) {
			continue
		}
		in := call{at: at, name: shownFunction(st.Fn)}
		for _, v := range r.compiler.InScope(st.Frame, token.Pos(st.Pos)) {
			if value := r.compiler.Local(st.Frame, v); value.IsValid() {
				in.Vars, in.Values = append(in.Vars, v), append(in.Values, value)
			}
		}
		c.calls = append(c.calls, in)
	}
	s.calamity.set(c)
}

// postMortem is the magic %debug.
func (s *Session) postMortem(m *magic.Call) (res engine.Result, err error) {
	c := s.calamity.get()
	if c == nil {
		return res, errors.New("no cell of this session has panicked")
	}
	text := strings.TrimSpace(m.Args)
	if text == "" {
		m.Out.Stdout(s.shownCalls(c))
		return res, nil
	}
	word, rest, _ := strings.Cut(text, " ")
	number, numErr := strconv.Atoi(word)
	switch {
	case numErr != nil:
		number, rest = 0, text
	case number < 0 || number >= len(c.calls):
		return res, fmt.Errorf("there is no function %d: %%debug lists those of the last panic", number)
	}
	if len(c.calls) == 0 {
		return res, errors.New("the panic came out of compiled code, whose variables are not known")
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		m.Out.Stdout(s.shownCall(number, c.calls[number], true))
		return res, nil
	}
	value, typ, err := debugHost{s}.Run(m.Ctx, rest, c.calls[number].Scope, m.Out)
	if err == nil && typ != "" {
		res.Value = display.Result([]any{value}, false)
	} else if list, ok := value.([]any); ok && err == nil {
		res.Value = display.Result(list, false)
	}
	return res, err
}

// shownCalls lists the functions that a panic has left, with their variables. The
// middle ones of many are left out, as in tracebacks.
func (s *Session) shownCalls(c *calamity) string {
	const ends = 8
	var b strings.Builder
	b.WriteString("panic: " + c.text + "\n")
	for i, in := range c.calls {
		switch skipped := len(c.calls) - 2*ends; {
		case skipped > 1 && i == ends:
			fmt.Fprintf(&b, "... %d functions ...\n", skipped)
		case skipped > 1 && i > ends && i < len(c.calls)-ends:
		default:
			b.WriteString(s.shownCall(i, in, false))
		}
	}
	return b.String()
}

// shownCall is a function that a panic has left, with its variables: whole, or a line
// of each.
func (s *Session) shownCall(i int, in call, whole bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s:%d in %s\n", i, cell.Name(in.at.Filename), in.at.Line, cmp.Or(strings.TrimPrefix(in.name, "main"), "cell"))
	if line, ok := s.sourceLine(in.at); ok {
		b.WriteString("    " + strings.TrimSpace(line) + "\n")
	}
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for j, v := range in.Vars {
		if j == mostVars && !whole {
			fmt.Fprintf(table, "  … %d more: %%debug %d\n", len(in.Vars)-j, i)
			break
		}
		text := display.Format(in.Values[j].Interface())
		if first, _, several := strings.Cut(text, "\n"); several && !whole {
			text = first + " …"
		}
		if runes := []rune(text); len(runes) > 100 && !whole {
			text = string(runes[:99]) + "…"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", v.Name(), debugHost{s}.TypeName(v.Type()), strings.ReplaceAll(text, "\n", "\n  "))
	}
	table.Flush()
	return b.String()
}
