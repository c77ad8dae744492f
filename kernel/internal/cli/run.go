package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/engine"
	"dace.local/kernel/notebook"
	"dace.local/kernel/setup"
)

var runVerb = verb{
	name:  "run",
	short: "run notebooks without Jupyter, or check their outputs",
	usage: `
Usage: dace run NOTEBOOK.ipynb|NOTEBOOK.go... [-o OUT.ipynb] [-html OUT.html] [-p name=value]... [-check] [-engine yaegi]

Runs the code cells in order in a new session, in the notebook's folder, and
writes the notebook with its outputs: to OUT.ipynb, or beside the notebook as
NOTEBOOK.out.ipynb. The notebook itself is overwritten only by -o with its own
name. The output is saved after every cell (a large one less often), also when
a cell fails, runs into the timeout or is interrupted; a file is replaced as a
whole or not at all. "-" reads the notebook from stdin, -o - writes to stdout. A notebook may be a
text with lines // %% between its cells (see dace convert).

The cells, what they show and how long they took are told on stderr.

Parameters go into a cell behind the one tagged "parameters", or first where
there is none. Numbers, true, false, durations (90s) and quoted texts are
taken as such, anything else is a text; name:=expression gives any Go. Of
several notebooks, each gets the parameters that its tagged cell declares.

-check says whether the stored outputs could come from running the notebook from
top to bottom: by the execution counts, by names that are used above the cell that
declares them, and by running it. It compares each cell's outputs with those
stored, says which cell differs and how, and writes nothing without -o. Numbers may differ by
-tolerance and by one in their last digit, figures in -pixels of their pixels;
durations, progress bars and cells tagged nbval-ignore-output are not compared.

A cell tagged skip-execution is not run, one tagged raises-exception may fail.
The page of -html runs no script: the notebook's HTML may be somebody else's.
-html-scripts allows it.

Cells that read os.Stdin ask at the terminal, or read what is piped to dace run.

Exit code: 0 when all went well, 1 when a cell failed or differs, or a file
could not be read or written, 2 for wrong arguments, 130 when interrupted.

Examples:
  dace run quickstart.ipynb
  dace run quickstart.ipynb -o quickstart.ipynb -html quickstart.html
  dace run search.ipynb -p seed=7 -p instance=wiki -p 'sizes:=[]int{1, 2, 4}'
  dace run long.ipynb -timeout 10m -keep-going
  dace run -check quickstart.ipynb search.ipynb
`,
	run: runRun,
}

// parameters collects the values of -p flags.
type parameters []notebook.Parameter

func (p *parameters) String() string { return "" }

func (p *parameters) Set(s string) error {
	v, err := notebook.ParseParameter(s)
	if err != nil {
		return err
	}
	*p = append(*p, v)
	return nil
}

// runOptions holds the flags of the verb run.
type runOptions struct {
	in, out, html    string
	params           parameters
	timeout          time.Duration
	engine           string
	keepGoing, quiet bool
	scripts          bool
	check            bool
	compare          notebook.CompareSettings
	several          bool // it is one of several notebooks
}

func runRun(env *Env, v *verb, args []string) int {
	var o runOptions
	fs := v.flags(env)
	fs.StringVar(&o.out, "o", "", "write the notebook with its outputs to this `file` (default NOTEBOOK.out.ipynb)")
	fs.StringVar(&o.html, "html", "", "also write a self-contained HTML page to this `file`")
	fs.BoolVar(&o.scripts, "html-scripts", false, "let the HTML page run scripts that are in the notebook: for notebooks that you trust")
	fs.Var(&o.params, "p", "set a parameter: `name=value`, or name:=expression; may be repeated")
	fs.DurationVar(&o.timeout, "timeout", 0, "stop a cell that runs longer than this `duration` (90s, 10m), and with it the run; each cell anew; 0 is no limit")
	setup.EngineFlag(fs, &o.engine)
	fs.BoolVar(&o.keepGoing, "keep-going", false, "run the cells after one that failed")
	fs.BoolVar(&o.quiet, "q", false, "do not show the cells' outputs in the terminal")
	fs.BoolVar(&o.check, "check", false, "compare the outputs with those stored in the notebook")
	fs.Float64Var(&o.compare.Tolerance, "tolerance", 0, "with -check, the greatest relative `difference` of two numbers")
	fs.Float64Var(&o.compare.Pixels, "pixels", 0.001, "with -check, the greatest `share` of a figure's pixels that may differ")
	rest, code, ok := v.parse(env, fs, args, true, 1, -1)
	if !ok {
		return code
	}
	o.several = len(rest) > 1
	switch {
	case o.timeout < 0:
		return v.misuse(env, "-timeout %v is negative", o.timeout)
	case o.check && len(o.params) > 0:
		return v.misuse(env, "-check compares with the outputs that are stored: run it without -p")
	case filepath.Ext(o.out) == ".go":
		return v.misuse(env, "-o %s: a notebook with its outputs is an .ipynb file; dace convert writes texts", o.out)
	case o.several && (o.out != "" || o.html != ""):
		return v.misuse(env, "-o and -html are for one notebook, and there are %d", len(rest))
	case o.several && slices.Contains(rest, "-"):
		return v.misuse(env, "one notebook comes from stdin, or several from files")
	}
	worst := exitOK
	for _, in := range rest {
		of := o
		of.in = in
		if of.out == "" && !of.check {
			of.out = "-"
			if of.in != "-" {
				of.out = strings.TrimSuffix(of.in, filepath.Ext(of.in)) + ".out.ipynb"
			}
		}
		if o.several {
			fmt.Fprintf(env.Stderr, "%s\n", in)
		}
		code := run(env, v, of)
		if code > exitUsage { // a signal
			return code
		}
		worst = max(worst, code)
		debug.FreeOSMemory() // the next notebook begins with the memory of this one
	}
	return worst
}

// foreign returns the language of a notebook that is not written in Go.
func foreign(nb *notebook.Notebook) string {
	if lang := nb.Language(); lang != "go" {
		return lang
	}
	return ""
}

// run performs the verb run.
func run(env *Env, v *verb, o runOptions) int {
	nb, dir, err := readNotebook(env, o.in)
	if err != nil {
		return v.fail(env, err)
	}
	if lang := foreign(nb); lang != "" {
		fmt.Fprintf(env.Stderr, "dace run: %s is written in %s, and this runs Go\n", o.in, lang)
		return exitUsage
	}
	show := &progress{w: env.Stderr, quiet: o.quiet}
	_, show.tty = descriptor(show.w)
	show.colour, show.width = colours(show.w), width(show.w)
	if o.several {
		o.params = nb.Declared(o.params)
	}
	undeclared, known := nb.Inject(o.params)
	if len(undeclared) > 0 {
		fmt.Fprintf(env.Stderr, "dace run: the cell tagged parameters does not declare %s; it declares %s\n",
			strings.Join(undeclared, ", "), strings.Join(known, ", "))
	}
	// Cells run in the notebook's folder, as in Jupyter.
	for _, path := range []*string{&o.out, &o.html} {
		if *path != "" && *path != "-" {
			if *path, err = filepath.Abs(*path); err != nil {
				return v.fail(env, err)
			}
		}
	}
	var save *notebook.File
	if o.out != "-" && o.out != "" {
		if save, err = notebook.NewFile(o.out); err != nil {
			return v.fail(env, err)
		}
	}
	if o.html != "" && o.html != "-" {
		if _, err := notebook.NewFile(o.html); err != nil {
			return v.fail(env, err)
		}
	}
	stored := nb
	if o.check {
		for _, why := range notebook.Order(nb) {
			fmt.Fprintf(env.Stderr, "%s, not in one run from top to bottom: %s\n", o.in, why)
		}
		if nb, err = nb.Copy(); err != nil {
			return v.fail(env, err)
		}
	}
	leave, err := enter(dir)
	if err != nil {
		return v.fail(env, err)
	}
	defer leave()

	eng, err := env.NewEngine(o.engine, nil, Streams{Output: true, Input: o.in == "-" || !piped(env.Stdin)})
	if err != nil {
		return v.fail(env, err)
	}
	defer eng.Close()
	ctx, stop := untilSignal()
	defer stop()
	set := notebook.Settings{
		Timeout: o.timeout, KeepGoing: o.keepGoing,
		OnStart: show.start, OnEnd: show.end, OnOutput: show.output, OnUpdate: show.update, OnPage: show.page,
		Checkpoint: func(copy func() *notebook.Notebook) {
			if save == nil {
				return
			}
			save.Checkpoint(copy)
			if err := save.Err(); err != nil && !show.warned {
				show.warned = true
				fmt.Fprintf(env.Stderr, "dace run: %v; the run goes on, and the file is tried again at the end\n", err)
			}
		},
	}
	if _, tty := descriptor(env.Stdin); tty {
		set.Input = (&asker{in: env.Stdin, out: env.Stderr}).ask
	} else {
		set.Input = func(context.Context, string, bool) (string, error) {
			return "", errors.New("the cell asks for input, and dace run has no terminal to ask on")
		}
	}
	start := time.Now()
	runErr := notebook.Run(ctx, nb, mindChildren(eng), set)
	took := time.Since(start)

	code := exitOK
	var written []string
	if err := writeOutputs(env, nb, o, dir, save, &written); err != nil {
		v.fail(env, err)
		code = exitFailed
	}
	fmt.Fprintf(show.w, "%s in %s", show.summary(), dacerun.Duration(took))
	if len(written) > 0 {
		fmt.Fprintf(show.w, "; wrote %s", strings.Join(written, ", "))
	}
	fmt.Fprintln(show.w)
	if runErr == nil && o.check && !checked(env, o, notebook.Compare(stored, nb, o.compare)) {
		return exitFailed
	}
	if runErr == nil {
		return code
	}
	var sig signalled
	if errors.As(runErr, &sig) {
		v.fail(env, sig)
		return sig.code()
	}
	var cell *notebook.CellError
	if errors.As(runErr, &cell) && len(undeclared) > 0 && cell.Cell.HasTag("injected-parameters") {
		runErr = fmt.Errorf("%w (no such parameter: %s)", runErr, strings.Join(undeclared, ", "))
	}
	var failed *engine.Error
	if errors.As(runErr, &cell) && errors.As(runErr, &failed) {
		for _, why := range notebook.DeclaredBelow(nb, cell.Cell, failed.Text()) {
			runErr = fmt.Errorf("%w (%s)", runErr, why)
		}
	}
	return v.fail(env, runErr)
}

// checked reports whether there are no differences, and prints them.
func checked(env *Env, o runOptions, differences []notebook.Difference) bool {
	if len(differences) == 0 {
		fmt.Fprintf(env.Stdout, "%s: the outputs are those stored\n", o.in)
		return true
	}
	for _, d := range differences {
		fmt.Fprintf(env.Stderr, "%s, %v\n", o.in, d)
	}
	return false
}

// readNotebook reads a notebook and returns it with its folder.
func readNotebook(env *Env, path string) (nb *notebook.Notebook, dir string, err error) {
	var data []byte
	if path == "-" {
		dir, path = ".", "stdin"
		data, err = io.ReadAll(env.Stdin)
	} else {
		dir = filepath.Dir(path)
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot read %s: %w", path, reason(err))
	}
	if nb, err = parseNotebook(env, path, data); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return nb, dir, nil
}

// parseNotebook reads a notebook in any of its formats: a file that ends in .go, or
// whose text is no JSON, is a text.
func parseNotebook(env *Env, path string, data []byte) (*notebook.Notebook, error) {
	isJSON := bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n"), []byte("{"))
	if filepath.Ext(path) != ".go" && (isJSON || filepath.Ext(path) == ".ipynb" || !notebook.IsPercent(data)) {
		return notebook.Read(data)
	}
	if env.FromProgram != nil {
		if nb, ok := env.FromProgram(data); ok {
			return nb, nil
		}
	}
	return notebook.ReadPercent(data)
}

// enter changes the working folder to dir; leave changes it back.
func enter(dir string) (leave func(), err error) {
	old, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if err := os.Chdir(dir); err != nil {
		return nil, fmt.Errorf("cannot work in %s: %w", dir, reason(err))
	}
	return func() { _ = os.Chdir(old) }, nil
}

// writeOutputs writes the notebook and the HTML page. If one fails it still
// writes the other.
func writeOutputs(env *Env, nb *notebook.Notebook, o runOptions, dir string, save *notebook.File, written *[]string) error {
	var errs []error
	note := func(path string, err error) {
		switch {
		case err != nil:
			errs = append(errs, err)
		case path != "-":
			*written = append(*written, shorten(path))
		}
	}
	switch {
	case save != nil:
		note(o.out, save.Close(nb))
	case o.out == "-":
		note("-", notebook.Write(env.Stdout, nb))
	}
	if o.html != "" {
		name := filepath.Base(o.in)
		page := func(w io.Writer) error {
			return notebook.WriteHTML(w, nb, notebook.HTMLSettings{Title: strings.TrimSuffix(name, filepath.Ext(name)), Dir: ".", Scripts: o.scripts})
		}
		if o.html == "-" {
			note("-", page(env.Stdout))
		} else {
			note(o.html, notebook.Replace(o.html, page))
		}
	}
	return errors.Join(errs...)
}

// shorten returns path relative to the shell's folder, which it takes from the
// environment, if path is inside that folder, and otherwise path itself.
func shorten(path string) string {
	if wd := os.Getenv("PWD"); wd != "" {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// progress shows a run in the terminal: one line for each cell, and below it
// the cell's text output, shortened.
type progress struct {
	w      io.Writer
	quiet  bool
	tty    bool
	colour bool
	width  int
	warned bool

	ran, failed int
	open        bool   // the cell's line has no newline yet
	shown, cut  int    // number of output lines shown and left out
	partial     []byte // the unfinished line of a stream
	status      string // current text of an output that is updated, such as a progress bar
	drawn       bool   // the terminal's last line shows status
}

// shownLines is the greatest number of output lines shown for a cell.
const shownLines = 20

func (p *progress) paint(code, s string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *progress) start(c *notebook.Cell, i, n int) {
	digits := len(fmt.Sprint(n))
	head := fmt.Sprintf("[%*d/%d] ", digits, i+1, n)
	code := clip(firstLine(c.Source), p.width-len(head)-20)
	fmt.Fprint(p.w, p.paint("2", head), code)
	p.open, p.shown, p.cut, p.partial, p.status = true, 0, 0, nil, ""
}

func (p *progress) end(c *notebook.Cell, i, n int, took time.Duration, err error) {
	p.flush()
	if p.status != "" {
		p.line(p.status)
	}
	if p.cut > 0 {
		p.line(p.paint("2", fmt.Sprintf("… %d more lines", p.cut)))
	}
	p.ran++
	word := p.paint("32", "ok")
	if err != nil {
		word = p.paint("1;31", "failed")
		if c.HasTag("raises-exception") {
			word = p.paint("33", "failed, as it may")
		} else {
			p.failed++
		}
	}
	if p.open {
		fmt.Fprint(p.w, p.paint("2", " · "))
	} else {
		fmt.Fprint(p.w, p.paint("2", "  └ "))
	}
	fmt.Fprintf(p.w, "%s %s\n", dacerun.Duration(took), word)
	p.open = false
}

// line writes one line below the cell's line.
func (p *progress) line(s string) {
	p.begin()
	if !p.colour {
		s = plain(s)
	}
	fmt.Fprintf(p.w, "%s%s\n", p.paint("2", "  │ "), s)
}

// begin ends an open line, so that a new one can be written.
func (p *progress) begin() {
	if p.open {
		fmt.Fprintln(p.w)
	}
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.open, p.drawn = false, false
}

// update shows an output that changes. In a terminal it is redrawn in place,
// and its last state stays.
func (p *progress) update(_ *notebook.Cell, o *notebook.Output) {
	text := strings.TrimSpace(asText(o.Data))
	if p.quiet || text == "" || strings.Contains(text, "\n") {
		return
	}
	p.status = clip(text, p.width-5)
	if p.tty {
		p.begin()
		fmt.Fprintf(p.w, "%s%s", p.paint("2", "  │ "), p.status)
		p.drawn = true
	}
}

// text shows lines of output, up to shownLines per cell.
func (p *progress) text(s string) {
	if p.shown >= shownLines {
		p.cut++
		return
	}
	p.shown++
	s = s[strings.LastIndexByte(s, '\r')+1:]
	if !strings.Contains(s, "\x1b") {
		s = clip(s, max(p.width-5, 75))
	}
	p.line(s)
}

func (p *progress) flush() {
	if len(p.partial) > 0 {
		p.text(string(p.partial))
		p.partial = p.partial[:0]
	}
}

func (p *progress) output(_ *notebook.Cell, o *notebook.Output) {
	if o.Type == notebook.Failure {
		p.flush()
		for _, l := range strings.Split(strings.Join(o.Traceback, "\n"), "\n") {
			p.line(l)
		}
		return
	}
	if p.quiet {
		return
	}
	switch o.Type {
	case notebook.Stream:
		p.partial = append(p.partial, o.Text...)
		for {
			at := bytes.IndexByte(p.partial, '\n')
			if at < 0 {
				break
			}
			p.text(strings.TrimSuffix(string(p.partial[:at]), "\r"))
			p.partial = p.partial[at+1:]
		}
	case notebook.Display, notebook.Result:
		p.bundle(o.Data)
	}
}

func (p *progress) page(_ *notebook.Cell, b engine.Bundle) {
	if !p.quiet {
		p.bundle(b.Data)
	}
}

func (p *progress) bundle(data map[string]any) {
	p.flush()
	for l := range strings.Lines(asText(data)) {
		p.text(strings.TrimRight(l, "\r\n"))
	}
}

func (p *progress) summary() string {
	s := fmt.Sprintf("%d cells", p.ran)
	if p.ran == 1 {
		s = "1 cell"
	}
	if p.failed > 0 {
		s += fmt.Sprintf(", %d failed,", p.failed)
	}
	return s
}

// asText returns the text to show for a bundle: one of its texts, or the list
// of its MIME types.
func asText(data map[string]any) string {
	for _, mime := range []string{"text/plain", "text/markdown", "text/latex"} {
		if s, ok := data[mime].(string); ok {
			return s
		}
	}
	if len(data) == 0 {
		return ""
	}
	return "(" + strings.Join(slices.Sorted(maps.Keys(data)), ", ") + ")"
}

// firstLine returns the first line of code that is neither blank nor a
// comment, or the first comment line if there is no code.
func firstLine(code string) string {
	first := ""
	for l := range strings.Lines(code) {
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		if first == "" {
			first = l
		}
		if !strings.HasPrefix(l, "//") {
			return strings.ReplaceAll(l, "\t", " ")
		}
	}
	return first
}

// clip shortens s to at most n characters, or 10 if n is smaller.
func clip(s string, n int) string {
	n = max(n, 10)
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
