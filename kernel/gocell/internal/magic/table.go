package magic

import (
	"fmt"
	"strings"

	"dace.local/kernel/engine"
)

// A line is a magic whose result is only what it prints.
type line func(c *Call) error

func (f line) run(c *Call) (engine.Result, error) { return engine.Result{}, f(c) }

// table returns the magics that need no more of a session than a Host.
func table() []Magic {
	l := func(f line) func(*Call) (engine.Result, error) { return f.run }
	return []Magic{
		{"%bash", "%bash COMMAND", "runs a command, as !COMMAND does", "", Files, l(bashLine)},
		{"%args", "%args [ARGUMENT...]", "sets os.Args of later cells; flag.Parse reads it", "", Words, l(args)},
		{"%%bash", "%%bash [ARGUMENT...]", "runs the cell's lines with bash", "The cell fails if the script's exit status is not 0. `set -e` ends the script at the first failing command.", Words, l(script("bash"))},
		{"%%script", "%%script PROGRAM [ARGUMENT...]", "runs a program that reads the cell's lines: python3, perl, sqlite3 FILE, sort -n", "They are its standard input. The cell fails if the program's exit status is not 0.", Words, l(anyScript)},
		{"%%sh", "%%sh [ARGUMENT...]", "runs the cell's lines with sh", "", Words, l(script("sh"))},
		{"%%capture", "%%capture [NAME]", "keeps what the cell shows, in the variable NAME", "NAME is a *display.Capture: NAME.Text() and NAME.ErrText() are what it printed, NAME.Show() shows everything. Without NAME what the cell shows is dropped; errors are not.", GoBody, capture},
		{"%cd", "%cd [FOLDER|-]", "changes the working folder: to the user's home, or with - to the one before", "", Folders, l(cd)},
		{"%env", "%env [NAME[=VALUE]]", "lists, shows or sets variables of the environment", "`%env NAME VALUE` sets one too. Commands (!cmd) and os.Getenv see it.", Env, l(env)},
		{"%help", "%help [MAGIC]", "explains cells and their magics", "", Names, l(help)},
		{"%history", "%history [-n] [-g PATTERN] [-f FILE] [RANGE...]", "lists the session's cells", "-n adds their numbers, -g lists the cells that match a pattern of *, -f writes to a file. A RANGE is a number or 3-7; none means all.", Words, l(history)},
		{"%%file", "%%file FILE", "writes the cell to a file of a module on disk, whose folder it makes", "A file of Go that has no package clause gets that of its folder. Cells import the package by its path, and see each new text.", Files, l(file)},
		{"%%html", "%%html", "shows the cell as HTML", "", Words, show("text/html")},
		{"%%javascript", "%%javascript", "runs the cell as JavaScript in the notebook's page", "`element` is the place of its output. JupyterLab runs it in trusted notebooks only, `dace html` never.", Words, show("application/javascript")},
		{"%%latex", "%%latex", "shows the cell as LaTeX", "", Words, show("text/latex")},
		{"%load", "%load [-r FROM-TO] FILE", "replaces the cell by a file's text", "-r takes these lines of it only.", Files, load},
		{"%ls", "%ls [ARGUMENT...]", "lists files, as the command ls", "", Files, l(ls)},
		{"%lsmagic", "%lsmagic", "lists the magics", "", Words, l(lsmagic)},
		{"%%markdown", "%%markdown", "shows the cell as Markdown", "", Words, show("text/markdown")},
		{"%precision", "%precision [DIGITS|FORMAT]", "says how floating-point values are shown: %precision 3, %precision %.3g", "Without an argument they are shown in full again. fmt.Print is not concerned.", Words, l(precision)},
		{"%prun", "%prun [-o FILE] [-n LINES] STATEMENT", "runs a statement and shows what lines of cells took the processor's time", aboutPrun, Go, prunLine},
		{"%%prun", "%%prun [-o FILE] [-n LINES]", "runs the cell and shows what lines of cells took the processor's time", aboutPrun, GoBody, prunCell},
		{"%pwd", "%pwd", "shows the working folder", "", Words, l(pwd)},
		{"%reset", "%reset [-f]", "forgets all variables, functions and types of the session", "It asks first; -f does not. Fetched modules (%get) stay.", Words, l(reset)},
		{"%rm", "%rm NAME...", "forgets variables, functions and types of the session", "", Words, l(remove)},
		{"%run", "%run FILE.go|NOTEBOOK.ipynb", "runs a file of Go, or the cells of a notebook, in this session", "What it declares can be used in later cells. A program's main runs too.", Files, run},
		{"%save", "%save [-a] [-f] FILE [RANGE...]", "writes the session's cells as a program of Go", "go vet accepts it, dace script runs it, and dace convert makes a notebook of it. -a appends, -f overwrites. A RANGE is a cell's number or 3-7; none means all.", Files, l(save)},
		{"%bench", "%bench [PATTERN] [PACKAGE...]", "runs the session's benchmarks, or those of packages on disk, ./... if the session has none", "It takes the flags of %test.", Words, l(bench)},
		{"%test", "%test [-v] [-run PATTERN] [-bench PATTERN] [PACKAGE...]", "runs the session's tests (func TestX(t *testing.T)) and benchmarks, or those of packages on disk", "Without -bench no benchmarks run. The cell fails if a test does. A PACKAGE is one of the go command, as ./..., which runs its tests; then all flags of go test are taken, for tests of cells -v, -run, -skip, -bench, -benchtime, -benchmem, -count, -short and -failfast.", Words, l(test)},
		{"%%test", "%%test [-v] [-run PATTERN] [-bench PATTERN]", "runs the cell, then the tests and benchmarks that it declares", "", GoBody, testCell},
		{"%time", "%time STATEMENT", "runs a statement and shows the time it took", "Compiling it is not counted.", Go, timeLine},
		{"%%time", "%%time", "runs the cell and shows the time it took", "Compiling it is not counted.", GoBody, timeCell},
		{"%timeit", "%timeit [-n LOOPS] [-r RUNS] [-q] STATEMENT", "measures a statement: mean and standard deviation of 7 runs", "A run is so many loops that it takes at least 0.2 s. -n and -r set the loops of a run and the runs, -q shows nothing.", Go, timeitLine},
		{"%%timeit", "%%timeit [-n LOOPS] [-r RUNS] [-q] [SETUP]", "measures the cell's statements: mean and standard deviation of 7 runs", "SETUP is a statement that runs once, before.", GoBody, timeitCell},
		{"%who", "%who [KIND...]", "lists the names that cells have declared", "A KIND is variable, constant, function or type.", Words, l(who)},
		{"%whos", "%whos [KIND...]", "lists the names that cells have declared, with their types and values", "A KIND is variable, constant, function or type.", Words, whos},
		{"%%writefile", "%%writefile [-a] FILE", "writes the cell to a file; -a appends", "", Files, l(writefile)},
	}
}

const aboutPrun = `A flame graph and a table list the lines of interpreted and compiled functions. A line has
the time of the libraries that it calls; its total is with the functions of cells that
it calls, and the goroutines that it starts. An interrupt ends the run, and shows what
there is. -o writes a file for go tool pprof, -n sets how many lines are listed.`

// About returns the documentation of a magic as a doc comment.
func (m Magic) About() string {
	text := m.Name + " " + m.Short + "."
	if m.Doc != "" {
		text += "\n\n" + m.Doc
	}
	return text
}

// list lists the magics.
func (s *Set) list() string {
	var b strings.Builder
	for _, m := range s.all() {
		fmt.Fprintf(&b, "  %-12s %s\n", m.Name, m.Short)
	}
	return b.String()
}

func lsmagic(c *Call) error {
	c.Out.Stdout(c.Set.list() + "?%NAME explains one.\n")
	return nil
}

func help(c *Call) error {
	names, err := c.Words()
	if err != nil {
		return err
	}
	for _, name := range names {
		m, ok := c.Set.Lookup(name)
		if !ok {
			m, ok = c.Set.Lookup("%" + strings.TrimLeft(name, "%"))
		}
		if !ok {
			m, ok = c.Set.Lookup("%%" + strings.TrimLeft(name, "%"))
		}
		if !ok {
			return c.Set.unknown(name)
		}
		c.Out.Stdout(m.Usage + "\n\n" + m.About() + "\n")
	}
	if len(names) > 0 {
		return nil
	}
	c.Out.Stdout(`A cell holds Go: imports, declarations and statements in any order. The value of
its last expression is shown, unless a semicolon follows. Packages need no
import; a declaration takes the place of an earlier one of its name.

  ?name        documents a name, ??name shows its source too; Tab completes
  !command     runs a command in the shell; lines := !command keeps its output

Magics, on lines of their own between statements (%) or first in a cell (%%):

` + c.Set.list() + "\n?%NAME explains one.\n")
	return nil
}
