package magic

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"dace.local/dacelib/files"
	"dace.local/kernel/engine"
	"dace.local/kernel/internal/system/process"
	"dace.local/kernel/notebook"
)

// one returns the only argument of a magic, "" if there is none.
func one(c *Call) (string, error) {
	list, err := c.Words()
	if err != nil {
		return "", err
	}
	if len(list) > 1 {
		return "", fmt.Errorf("%s takes one argument; quote one that holds spaces: %s", c.Name, c.usage())
	}
	return strings.Join(list, ""), nil
}

func (c *Call) usage() string {
	m, _ := c.Set.Lookup(c.Name)
	return m.Usage
}

// cd changes the working folder. As in a shell, the one before is $OLDPWD.
func cd(c *Call) error {
	dir, err := one(c)
	if err != nil {
		return err
	}
	switch dir {
	case "":
		dir = "~"
	case "-":
		if dir = os.Getenv("OLDPWD"); dir == "" {
			return errors.New("there is no folder before this one")
		}
	}
	before, err := os.Getwd()
	if err != nil {
		before = ""
	}
	if err := os.Chdir(home(dir)); err != nil {
		return fmt.Errorf("cannot change to %s: %w", dir, reason(err))
	}
	_ = os.Setenv("OLDPWD", before)
	return pwd(c)
}

func pwd(c *Call) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	_ = os.Setenv("PWD", dir) // Getwd prefers it, so a link's name is kept
	c.Out.Stdout(dir + "\n")
	return nil
}

func ls(c *Call) error { return shell(c, strings.TrimSpace("ls "+c.Args)) }

func bashLine(c *Call) error {
	if c.Args == "" {
		return errors.New("%bash wants a command; %%bash runs the lines below it")
	}
	return shell(c, c.Args)
}

func shell(c *Call, line string) error { return c.Execute(process.Shell(line)) }

// Execute runs a command with the cell's outputs.
func (c *Call) Execute(cmd process.Command) error {
	cmd.Stdout, cmd.Stderr = c.Out.Stdout, c.Out.Stderr
	err := cmd.Run(c.Ctx)
	if c.Ctx.Err() != nil {
		msg := "the command was interrupted, with all that it started"
		return &engine.Error{Name: engine.Interrupted, Message: msg, Traceback: []string{engine.Interrupted + ": " + msg}}
	}
	return err
}

// script returns the magic that runs a cell's lines with a program.
func script(program string) line {
	return func(c *Call) error {
		args, err := c.Words()
		if err != nil {
			return err
		}
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("this machine has no %s", program)
		}
		return c.Execute(process.Command{Args: append([]string{program, "/dev/fd/3"}, args...), Script: c.Text() + "\n"})
	}
}

// anyScript runs a program with the cell's lines as its standard input, as IPython does:
// many read their program there, others their data.
func anyScript(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("want a program, as python3: " + c.usage())
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return fmt.Errorf("this machine has no %s", args[0])
	}
	return c.Execute(process.Command{Args: args, Stdin: strings.NewReader(c.Text() + "\n")})
}

func env(c *Call) error {
	name, value, set := strings.Cut(c.Args, "=")
	if !set {
		name, value, set = strings.Cut(c.Args, " ")
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	switch {
	case name == "" && !set:
		all := os.Environ()
		slices.Sort(all)
		c.Out.Stdout(strings.Join(all, "\n") + "\n")
		return nil
	case set:
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("cannot set %q: %w", name, reason(err))
		}
		c.Out.Stdout("env: " + name + "=" + value + "\n")
		return nil
	}
	value, ok := os.LookupEnv(name)
	if !ok {
		return fmt.Errorf("the environment has no variable %s", name)
	}
	c.Out.Stdout(value + "\n")
	return nil
}

// options splits flags without values off a magic's arguments.
func options(args []string, known ...string) (set map[string]bool, rest []string, err error) {
	set = map[string]bool{}
	for i, a := range args {
		if !strings.HasPrefix(a, "-") || len(a) < 2 {
			return set, args[i:], nil
		}
		if !slices.Contains(known, a) {
			return nil, nil, fmt.Errorf("unknown flag %s; there are %s", a, strings.Join(known, ", "))
		}
		set[a] = true
	}
	return set, nil, nil
}

func writefile(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	set, rest, err := options(args, "-a")
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("want one file: " + c.usage())
	}
	text := c.Text()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return write(c, rest[0], text, set["-a"])
}

// file implements %%file: it is %%writefile for a module's files. It makes the
// folder, and begins a file of Go with its package clause if it has none.
func file(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return errors.New("want one file: " + c.usage())
	}
	name, text := args[0], strings.TrimRight(c.Text(), "\n")+"\n"
	with := ""
	if f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly); filepath.Ext(name) == ".go" && (err != nil || f.Name == nil) {
		pkg := packageOf(home(name))
		text, with = "package "+pkg+"\n\n"+text, ", with the line package "+pkg+" before it"
	}
	if err := os.MkdirAll(filepath.Dir(home(name)), 0o777); err != nil {
		return fmt.Errorf("cannot make the folder of %s: %w", name, reason(err))
	}
	return writeSaying(c, name, text, false, with)
}

// packageOf returns the name of the package that a new file of Go belongs to: that
// of its folder's other files, else the folder's.
func packageOf(name string) string {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return "main"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, other := range files {
		if f, err := parser.ParseFile(token.NewFileSet(), other, nil, parser.PackageClauseOnly); err == nil && !strings.HasSuffix(other, "_test.go") {
			return f.Name.Name
		}
	}
	base := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, filepath.Base(dir))
	if !token.IsIdentifier(base) {
		return "main"
	}
	return base
}

// write writes a text to a file, and says so.
func write(c *Call, name, text string, add bool) error { return writeSaying(c, name, text, add, "") }

// writeSaying is like write, and says more after the file's name.
func writeSaying(c *Call, name, text string, add bool, more string) error {
	file := home(name)
	verb := "Writing"
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if _, err := os.Stat(file); err == nil {
		verb = "Overwriting"
	}
	if add {
		flags, verb = os.O_CREATE|os.O_WRONLY|os.O_APPEND, "Appending to"
	}
	f, err := os.OpenFile(file, flags, 0o666)
	if err == nil {
		_, err = io.WriteString(f, text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, reason(err))
	}
	c.Out.Stdout(verb + " " + name + more + "\n")
	return nil
}

// contents returns what is in a file, at most as much as there is memory for, and
// until the cell is interrupted.
func contents(c *Call, name string) ([]byte, error) {
	var f *os.File
	var err error
	opened := make(chan struct{})
	go func() { // a pipe is opened when somebody writes to it
		f, err = os.Open(home(name))
		close(opened)
	}()
	select {
	case <-opened:
	case <-c.Ctx.Done():
		return nil, stoppedReading(name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	defer f.Close()
	done := context.AfterFunc(c.Ctx, func() { f.Close() }) // ends the reading of a pipe
	defer done()
	text, err := io.ReadAll(files.Reader(f, 1.5))
	if c.Ctx.Err() != nil {
		return nil, stoppedReading(name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	return text, nil
}

func stoppedReading(name string) error {
	msg := "the reading of " + name + " was interrupted"
	return &engine.Error{Name: engine.Interrupted, Message: msg, Traceback: []string{engine.Interrupted + ": " + msg}}
}

// read returns the text of a file.
func read(c *Call, name string) (string, error) {
	text, err := contents(c, name)
	if err != nil {
		return "", err
	}
	if slices.Contains(text, 0) {
		return "", fmt.Errorf("%s is not a text", name)
	}
	return string(text), nil
}

func load(c *Call) (engine.Result, error) {
	args, err := c.Words()
	if err != nil {
		return engine.Result{}, err
	}
	lines := ""
	if len(args) == 3 && args[0] == "-r" {
		lines, args = args[1], args[2:]
	}
	if len(args) != 1 {
		return engine.Result{}, errors.New("want one file: " + c.usage())
	}
	text, err := read(c, args[0])
	if err != nil {
		return engine.Result{}, err
	}
	if lines != "" {
		from, to, err := span(lines)
		if err != nil {
			return engine.Result{}, err
		}
		all := strings.SplitAfter(text, "\n")
		from = max(from, 1)
		if from > len(all) {
			return engine.Result{}, fmt.Errorf("%s has %d lines", args[0], len(all))
		}
		text = strings.Join(all[from-1:min(to, len(all))], "")
	}
	text = "// " + strings.TrimSpace(c.Cell.Code[c.Start:c.End]) + "\n" + text
	return engine.Result{Next: &engine.NextInput{Text: strings.TrimSuffix(text, "\n"), Replace: true}}, nil
}

// span parses a number or a range 3-7.
func span(s string) (from, to int, err error) {
	first, last, isRange := strings.Cut(s, "-")
	from, err = strconv.Atoi(first)
	to = from
	if err == nil && isRange {
		to, err = strconv.Atoi(last)
	}
	if err != nil || from > to {
		return 0, 0, fmt.Errorf("%q is neither a number nor a range like 3-7", s)
	}
	return from, to, nil
}

// An entry is a cell of the session's history.
type entry struct {
	number int
	text   string
}

// entries returns the session's cells in these ranges; none means all before
// the running one.
func entries(c *Call, ranges []string) ([]entry, error) {
	texts := c.Texts()
	var list []entry
	for n, text := range texts {
		in := len(ranges) == 0 && n != c.Cell.Number
		for _, r := range ranges {
			from, to, err := span(r)
			if err != nil {
				return nil, err
			}
			in = in || from <= n && n <= to
		}
		if in && n > 0 {
			list = append(list, entry{n, text})
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return a.number - b.number })
	return list, nil
}

// Cells returns the numbers of the session's cells in these ranges; none means all
// before the running one.
func (c *Call) Cells(ranges []string) (numbers []int, err error) {
	list, err := entries(c, ranges)
	for _, e := range list {
		numbers = append(numbers, e.number)
	}
	return numbers, err
}

func save(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	set, rest, err := options(args, "-a", "-f")
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return errors.New("want a file: " + c.usage())
	}
	name := rest[0]
	if path.Ext(name) == "" {
		name += ".go"
	}
	list, err := entries(c, rest[1:])
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("there are no such cells")
	}
	if _, err := os.Stat(home(name)); err == nil && !set["-a"] && !set["-f"] {
		return fmt.Errorf("there is a file %s: -f overwrites it, -a appends to it", name)
	}
	var texts []string
	if _, err := os.Stat(home(name)); err == nil && set["-a"] {
		old, err := read(c, name)
		if err != nil {
			return err
		}
		if texts, err = c.CellsOf(old); err != nil {
			return fmt.Errorf("cannot append to %s: %w", name, err)
		}
	}
	for _, e := range list {
		texts = append(texts, e.text)
	}
	text, lacks, err := c.Program(texts, strings.TrimSuffix(filepath.Base(name), path.Ext(name)))
	if err != nil {
		return err
	}
	for _, l := range lacks {
		c.Out.Stderr(l + "\n")
	}
	return write(c, name, text, false)
}

func history(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	numbers, pattern, file := false, "", ""
	var ranges []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; a {
		case "-n":
			numbers = true
		case "-g", "-f":
			if i++; i == len(args) {
				return fmt.Errorf("%s wants an argument: %s", a, c.usage())
			}
			if a == "-g" {
				pattern = args[i]
			} else {
				file = args[i]
			}
		default:
			ranges = append(ranges, a)
		}
	}
	list, err := entries(c, ranges)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range list {
		if pattern != "" && !matches(pattern, e.text) {
			continue
		}
		if numbers {
			fmt.Fprintf(&b, "%4d: ", e.number)
		}
		b.WriteString(strings.TrimRight(e.text, "\n") + "\n")
	}
	if file != "" {
		return write(c, file, b.String(), false)
	}
	c.Out.Stdout(b.String())
	return nil
}

// matches reports whether a text contains a pattern in which * stands for any
// text.
func matches(pattern, text string) bool {
	for part := range strings.SplitSeq(pattern, "*") {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// running is the key of the files that are being run in a context: a *runs.
type running struct{}

// runs is a file that is being run, and the one that runs it.
type runs struct {
	name string
	info os.FileInfo
	by   *runs
}

// within returns an error if a file is being run already, and else notes in the
// call's context that it is.
func within(c *Call, name string) error {
	info, err := os.Stat(home(name))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	outer, _ := c.Ctx.Value(running{}).(*runs)
	way := name
	for r := outer; r != nil; r = r.by {
		way = r.name + " -> " + way
		if os.SameFile(r.info, info) {
			return fmt.Errorf("%s runs itself: %s", name, way)
		}
	}
	c.Ctx = context.WithValue(c.Ctx, running{}, &runs{name, info, outer})
	return nil
}

// run runs a file in the session.
func run(c *Call) (engine.Result, error) {
	name, err := one(c)
	if err != nil {
		return engine.Result{}, err
	}
	if name == "" {
		return engine.Result{}, errors.New("want a file: " + c.usage())
	}
	if err := within(c, name); err != nil {
		return engine.Result{}, err
	}
	if filepath.Ext(name) != ".ipynb" {
		text, err := read(c, name)
		if err != nil {
			return engine.Result{}, err
		}
		return c.RunFile(c.Ctx, name, text, c.Out)
	}
	text, err := contents(c, name)
	if err != nil {
		return engine.Result{}, err
	}
	nb, err := notebook.Read(text)
	if err != nil {
		return engine.Result{}, fmt.Errorf("%s: %w", name, err)
	}
	var res engine.Result
	n := 0
	for _, cell := range nb.Cells {
		if cell.Type != notebook.Code {
			continue
		}
		n++
		if res, err = c.RunFile(c.Ctx, fmt.Sprintf("%s cell %d", filepath.Base(name), n), cell.Source, c.Out); err != nil {
			return res, err
		}
		if !res.Value.Empty() {
			c.Out.Display(res.Value, "")
		}
	}
	return engine.Result{}, nil
}

// reason returns an error of package os without the operation and the name.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var s *os.SyscallError
	if errors.As(err, &s) {
		return s.Err
	}
	return err
}
