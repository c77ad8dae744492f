package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine"
	"dace.local/kernel/setup"
)

var replVerb = verb{
	name:  "repl",
	short: "a prompt that runs Go",
	usage: `
Usage: dace repl [-figures DIR]

Reads Go, runs it as a notebook's cells would be run and shows the value of
the last expression. Input goes on over several lines until it is complete.
?name documents a name, Tab completes, the arrow keys recall earlier lines,
help explains cells, and help NAME a name. Ctrl-C interrupts what runs (or drops
what was typed), Ctrl-D and exit end. ~/.config/dace/init.go runs first.

Figures are saved as files in the current folder (or in DIR), each with a line
that says where. Lines are remembered in dace/history under $XDG_STATE_HOME
(~/.local/state). Where stdin is no terminal, its text is run without prompts.

Exit code: 0; 1 when something failed that did not come from a terminal; 2 for wrong
arguments.

Examples:
  dace repl
  dace repl -figures /tmp/figures
  echo '1 + 2' | dace repl
`,
	run: runRepl,
}

// errAbandoned is returned when Ctrl-C discards the input.
var errAbandoned = errors.New("abandoned")

// A lineReader returns the input lines of a session without their line ends.
// Its error is io.EOF at the end, and errAbandoned after Ctrl-C.
type lineReader interface {
	readLine(prompt string, before []string) (string, error)
}

func runRepl(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	figures := fs.String("figures", "", "save figures in this `folder`")
	var engine string
	setup.EngineFlag(fs, &engine)
	if _, code, ok := v.parse(env, fs, args, true, 0, 0); !ok {
		return code
	}
	eng, err := env.NewEngine(engine, []string{"dace"}, Streams{Input: true, Typed: true})
	if err != nil {
		return v.fail(env, err)
	}
	defer eng.Close()
	out := &console{out: env.Stdout, err: env.Stderr, dir: *figures, base: "figure"}
	var lines lineReader
	fd, tty := descriptor(env.Stdin)
	if tty {
		info := eng.Info()
		fmt.Fprintf(env.Stdout, "%s %s, %s. ?name documents, Tab completes, help explains, exit ends.\n", info.Implementation, dacerun.Version, info.Version)
		lines = newPrompter(fd, env, eng)
		out.input = (&asker{in: env.Stdin, out: env.Stdout}).ask
	} else {
		lines = &pipedLines{r: bufio.NewReader(env.Stdin)}
		out.input = func(context.Context, string, bool) (string, error) {
			return "", errors.New("the code asks for input, but stdin is the code itself")
		}
	}
	failed := repl(env, eng, lines, out)
	if failed && !tty {
		return exitFailed
	}
	return exitOK
}

// repl runs cells until the input ends, and reports whether any of them
// failed.
func repl(env *Env, eng engine.Engine, lines lineReader, out *console) (failed bool) {
	for number := 1; ; {
		code, err := readCell(eng, lines, number)
		switch word, name := command(eng, code); word {
		case "exit":
			return failed
		case "help":
			code = "%help"
			if name != "" {
				code = "?" + name
			}
		}
		if strings.TrimSpace(code) != "" {
			if e := runInterruptible(eng, engine.Cell{Number: number, Code: code}, out); e != nil {
				failed = true
				trace := e.Error()
				var cell *engine.Error
				if errors.As(e, &cell) {
					trace = cell.Text()
				}
				if !colours(env.Stderr) {
					trace = plain(trace)
				}
				fmt.Fprintln(env.Stderr, trace)
			}
			number++
		}
		switch {
		case err == nil, errors.Is(err, errAbandoned):
		case errors.Is(err, io.EOF):
			return failed
		default:
			fmt.Fprintf(env.Stderr, "dace repl: %v\n", err)
			return true
		}
	}
}

var commandRE = regexp.MustCompile(`^\s*(exit|quit|help)(?:\(\)|\s*\(?\s*(%{0,2}[\pL_][\pL\pN_.]*)\s*\)?)?\s*;?\s*$`)

// command returns the word of a prompt that a line is, exit or help with a name, unless
// the session has declared it.
func command(eng engine.Engine, code string) (word, name string) {
	m := commandRE.FindStringSubmatch(code)
	if m == nil {
		return "", ""
	}
	word, name = m[1], m[2]
	if _, declared := eng.Inspect(word, len(word), 0); declared || word != "help" && name != "" {
		return "", ""
	}
	if word == "quit" {
		word = "exit"
	}
	return word, name
}

// readCell reads lines until they form a complete cell. At the end of the
// input it returns the lines read so far and io.EOF.
func readCell(eng engine.Engine, lines lineReader, number int) (string, error) {
	prompt := fmt.Sprintf("In[%d]: ", number)
	var got []string
	for {
		line, err := lines.readLine(prompt, got)
		if errors.Is(err, errAbandoned) {
			return "", err
		}
		if err != nil {
			return strings.Join(got, "\n"), err
		}
		got = append(got, line)
		code := strings.Join(got, "\n")
		if strings.TrimSpace(code) == "" || eng.IsComplete(code).Status != "incomplete" {
			return code, nil
		}
		prompt = strings.Repeat(" ", max(0, utf8.RuneCountInString(prompt)-5)) + "...: "
	}
}

// runInterruptible runs a cell. While it runs, SIGINT interrupts the cell
// instead of ending the process.
func runInterruptible(eng engine.Engine, cell engine.Cell, out *console) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	result, err := eng.Execute(ctx, cell, out)
	if err == nil {
		out.result(result)
	}
	out.finish()
	return err
}

// pipedLines reads lines from an input that is not a terminal.
type pipedLines struct{ r *bufio.Reader }

func (p *pipedLines) readLine(string, []string) (string, error) {
	line, err := p.r.ReadString('\n')
	if err == io.EOF && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// A prompter reads lines from a terminal, with editing, history and
// completion.
type prompter struct {
	fd   int
	eng  engine.Engine
	keys *keys
	t    *term.Terminal
	hist *history
	// before holds the earlier lines of the cell being typed.
	before []string
}

// keys is the terminal's input and output. It records whether Ctrl-C was
// pressed, because term.Terminal reports Ctrl-C and Ctrl-D as the same error.
type keys struct {
	io.Reader
	io.Writer
	interrupted bool
}

func (k *keys) Read(b []byte) (int, error) {
	n, err := k.Reader.Read(b)
	for _, c := range b[:n] {
		switch c {
		case 3:
			k.interrupted = true
		case '\r', '\n', 4:
			k.interrupted = false
		}
	}
	return n, err
}

func newPrompter(fd int, env *Env, eng engine.Engine) *prompter {
	p := &prompter{fd: fd, eng: eng, keys: &keys{Reader: env.Stdin, Writer: env.Stdout}, hist: openHistory()}
	p.reset()
	return p
}

func (p *prompter) reset() {
	p.t = term.NewTerminal(p.keys, "")
	p.t.History = p.hist
	p.t.AutoCompleteCallback = p.complete
}

func (p *prompter) readLine(prompt string, before []string) (string, error) {
	// Switch to raw mode only while the user types, so that cells run with
	// the terminal in its original mode.
	state, err := term.MakeRaw(p.fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(p.fd, state)
	if w, h, err := term.GetSize(p.fd); err == nil {
		_ = p.t.SetSize(w, h)
	}
	p.before, p.keys.interrupted = before, false
	p.t.SetPrompt(prompt)
	line, err := p.t.ReadLine()
	if err == io.EOF {
		if p.keys.interrupted {
			fmt.Fprint(p.keys, "^C\r\n")
			p.reset() // discard the half-typed line with the old terminal
			return "", errAbandoned
		}
		fmt.Fprint(p.keys, "\r\n")
	}
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// complete is called for every key. Tab completes the name at the cursor, or
// indents if there is no name.
func (p *prompter) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	if strings.TrimSpace(line[:pos]) == "" {
		return line[:pos] + "    " + line[pos:], pos + 4, true
	}
	head := ""
	if len(p.before) > 0 {
		head = strings.Join(p.before, "\n") + "\n"
	}
	newLine, newPos, list := completeLine(p.eng.Complete(head+line, len(head)+pos), line, pos, len(head))
	if len(list) > 0 {
		fmt.Fprint(p.t, columns(list, width(p.keys.Writer)))
	}
	return newLine, newPos, true
}

// completeLine applies completions to line, which starts at byte start of the
// code. It inserts the only match, or the common prefix of all matches. If the
// prefix adds nothing it returns the list of matches instead.
func completeLine(c engine.Completions, line string, pos, start int) (newLine string, newPos int, list []string) {
	from, to := c.Start-start, c.End-start
	if len(c.Matches) == 0 || from < 0 || to < from || to > len(line) {
		return line, pos, nil
	}
	common := c.Matches[0].Text
	for _, m := range c.Matches[1:] {
		for !strings.HasPrefix(m.Text, common) {
			_, n := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-n]
		}
	}
	if len(c.Matches) > 1 && len(common) <= to-from {
		for _, m := range c.Matches {
			list = append(list, m.Text)
		}
		return line, pos, list
	}
	return line[:from] + common + line[to:], from + len(common), nil
}

// columns formats names in columns.
func columns(names []string, width int) string {
	const most = 200
	more := ""
	if len(names) > most {
		more = fmt.Sprintf("... and %d more\n", len(names)-most)
		names = names[:most]
	}
	longest := 0
	for _, n := range names {
		longest = max(longest, utf8.RuneCountInString(n))
	}
	per := max(1, width/(longest+2))
	var b strings.Builder
	for i, n := range names {
		if (i+1)%per == 0 || i == len(names)-1 {
			b.WriteString(n + "\n")
		} else {
			fmt.Fprintf(&b, "%-*s", longest+2, n)
		}
	}
	return b.String() + more
}

// history is the list of lines typed, the newest last; it is also kept in a
// file.
type history struct {
	lines []string
	file  string // "" if the history is not kept in a file
}

// historyLines is the number of lines kept.
const historyLines = 2000

func openHistory() *history {
	h := &history{}
	dir, err := buildinfo.StateDir()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return h
	}
	h.file = filepath.Join(dir, "history")
	b, err := os.ReadFile(h.file)
	if err != nil {
		return h
	}
	h.lines = strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if n := len(h.lines); n > 2*historyLines {
		h.lines = h.lines[n-historyLines:]
		_ = os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add appends a line to the history.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.file == "" {
		return
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// Len returns the number of lines in the history.
func (h *history) Len() int { return len(h.lines) }

// At returns the i-th line, where 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
