// Package cli implements the command dace, one file for each verb. A verb
// parses its flags, calls a package and returns an exit code. Start with
// [Main].
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	_ "dace.local/dacelib/nir/graph" // for nir.Settings.Gorgonia
	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/engine"
	"dace.local/kernel/internal/suggest"
	"dace.local/kernel/notebook"
)

// Build returns the release that the command belongs to and, if it is known, the
// revision that it was built from.
func Build() string { return dacerun.Build() }

// Exit codes. A run that is ended by a signal returns 128 plus the signal's
// number, as in shells.
const (
	exitOK     = 0
	exitFailed = 1 // a cell failed, or a file could not be read or written
	exitUsage  = 2
)

// An Env is the environment of the command: arguments, streams and the
// functions that it calls.
type Env struct {
	// Args are the arguments after the command's name.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// NewEngine starts a session of the language on the engine of a name, one of
	// setup.Engines or "" for the first. Args are the arguments that the session's
	// code sees; streams selects the process's standard streams that the session
	// redirects to the running cell.
	NewEngine func(name string, args []string, streams Streams) (engine.Engine, error)
	// Serve runs a Jupyter kernel on a connection file until it is shut
	// down.
	Serve func(ctx context.Context, connectionFile string, eng engine.Engine, stderr io.Writer) error
	// Compiler returns nil if this machine can build compiled cells, else an
	// error that says what is missing.
	Compiler func() error
	// Prebuild has what compiled cells need compiled.
	Prebuild func(ctx context.Context) error
	// Format returns a cell as it is to be written. The error of a cell that is
	// not Go begins with its line.
	Format func(code string) (string, error)
	// Program returns a notebook as a program of Go, with a sentence about each
	// thing that the program lacks.
	Program func(nb *notebook.Notebook, name, dir string) (*notebook.Program, error)
	// FromProgram returns the notebook of such a program; ok is false if the text
	// is none.
	FromProgram func(text []byte) (nb *notebook.Notebook, ok bool)
	// Share copies this user's compiled cells to the installation, for all its
	// users, and returns the number of new ones.
	Share func() (int, error)

	// parsing, if set, is given the flags that a verb has, and what is wrong with its
	// arguments, and the verb ends there.
	parsing func(flags *flag.FlagSet, wrong error)
}

// Streams selects the standard streams of the process that a session takes
// over.
type Streams struct {
	// Output: what compiled code writes to stdout and stderr becomes the
	// running cell's output.
	Output bool
	// Kept: what cells show is kept, and long text sent in parts, as servers of
	// notebooks want it.
	Kept bool
	// Kernel is the file of a kernel's sockets, whose name stays when it starts again; ""
	// without Jupyter.
	Kernel string
	// Input: reads from stdin return the answers of engine.Outputs.Input.
	Input bool
	// Typed: somebody types the cells, so that ~/.config/dace/init.go runs first.
	Typed bool
}

// A verb is a subcommand of the command dace.
type verb struct {
	name, short string
	// usage is the text that -h prints above the flags.
	usage string
	run   func(env *Env, v *verb, args []string) int
}

// A verbGroup is verbs that the help lists together.
type verbGroup struct {
	title string
	verbs []*verb
}

// verbGroups returns all verbs in the order in which the help lists them.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"Notebooks and cells:", []*verb{&runVerb, &replVerb, &scriptVerb, &convertVerb, &fmtVerb, &htmlVerb, &jupyterVerb}},
		{"Problems and portfolios:", []*verb{&solveVerb, &constructVerb, &testVerb, &reproduceVerb, &dataVerb}},
		{"Many machines:", []*verb{&farmVerb, &workerVerb}},
		{"The installation:", []*verb{&doctorVerb, &installVerb, &uninstallVerb, &shareVerb, &prebuildVerb, &docsVerb, &completionVerb, &versionVerb}},
	}
}

// verbs returns all verbs in the order in which the help lists them.
func verbs() (all []*verb) {
	for _, group := range verbGroups() {
		all = append(all, group.verbs...)
	}
	return all
}

// findVerb returns the verb of a name, nil if there is none.
func findVerb(name string) *verb {
	for _, v := range verbs() {
		if v.name == name {
			return v
		}
	}
	return nil
}

// Main runs the command and returns its exit code.
func Main(env *Env) int {
	if len(env.Args) == 0 {
		fmt.Fprint(env.Stderr, overview())
		return exitUsage
	}
	name, args := env.Args[0], env.Args[1:]
	switch name {
	case "-h", "-help", "--help":
		return helpVerb.written(env, nil)
	case "help":
		return helpVerb.written(env, args)
	case "-version", "--version", "-V":
		name = "version"
	}
	if v := findVerb(name); v != nil {
		return v.written(env, args)
	}
	if isScript(name) { // dace FILE, as the line #!/usr/bin/env dace has it
		return runScript(env, &scriptVerb, append([]string{name}, args...))
	}
	meant := suggest.DidYouMean("", name, slices.Values(append(verbNames(), "help")))
	fmt.Fprintf(env.Stderr, "dace: there is no verb %q%s\n\"dace help\" lists the verbs, \"dace help WORDS\" searches the guides.\n", name, meant)
	return exitUsage
}

// verbNames returns the names of all verbs.
func verbNames() (names []string) {
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return names
}

func overview() string {
	var b strings.Builder
	b.WriteString("dace runs Go notebooks: cells of Go with the DACE library at hand.\n\nUsage: dace VERB ...\n")
	for _, group := range verbGroups() {
		fmt.Fprintf(&b, "\n%s\n", group.title)
		for _, v := range group.verbs {
			fmt.Fprintf(&b, "  %-10s %s\n", v.name, v.short)
		}
	}
	fmt.Fprintf(&b, `
dace VERB -h says more about one; flags begin with one dash or with two.
dace help TOPIC prints a guide, dace help WORDS searches them:
%s
`, wrapped(strings.Join(topics(), ", "), 80, "  "))
	return b.String()
}

// wrapped returns a text in lines of at most a width, each behind an indent.
func wrapped(text string, width int, indent string) string {
	line, lines := indent, []string(nil)
	for _, w := range strings.Fields(text) {
		if len(line)+len(w) > width && line != indent {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += w + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}

// flags returns an empty flag set for the verb.
func (v *verb) flags(env *Env) *flag.FlagSet {
	fs := flag.NewFlagSet("dace "+v.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // parse reports the errors
	fs.Usage = func() {}
	return fs
}

// parse parses flags and between min and max other arguments. With mixed,
// flags may also follow the other arguments; without, parsing stops at the
// first other argument. If ok is false, the verb must return code.
func (v *verb) parse(env *Env, fs *flag.FlagSet, args []string, mixed bool, min, max int) (rest []string, code int, ok bool) {
	err := fs.Parse(args)
	rest = fs.Args()
	if mixed {
		rest = nil
		for err == nil && fs.NArg() > 0 {
			left := fs.Args()
			if used := len(args) - len(left); used > 0 && args[used-1] == "--" {
				rest = append(rest, left...)
				break
			}
			rest = append(rest, left[0])
			args = left[1:]
			err = fs.Parse(args)
		}
	}
	switch {
	case err != nil:
		err = flagError(fs, err)
	case len(rest) < min:
		err = fmt.Errorf("an argument is missing: %s", v.wanted(len(rest)))
	case max >= 0 && len(rest) > max:
		err = fmt.Errorf("unexpected argument %q", rest[max])
	}
	switch {
	case env.parsing != nil:
		env.parsing(fs, err)
		return nil, exitOK, false
	case errors.Is(err, flag.ErrHelp):
		v.help(env.Stdout, fs)
		return nil, exitOK, false
	case err != nil:
		return nil, v.misuse(env, "%v", err), false
	}
	return rest, exitOK, true
}

// unparsed matches package flag's error about a value that it cannot parse.
var unparsed = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): parse error$`)

// kinds are the values that flags take, by their types.
var kinds = map[string]string{
	"bool": "true or false", "int": "a whole number", "uint": "a whole number, 0 or more", "uint64": "a whole number, 0 or more",
	"int64": "a whole number", "float64": "a number", "time.Duration": "a time such as 90s or 10m",
}

// flagError returns package flag's error, but with a suggestion where a flag is not
// defined, and with what is wanted where a value is of another type.
func flagError(fs *flag.FlagSet, err error) error {
	if m := unparsed.FindStringSubmatch(err.Error()); m != nil {
		if get, ok := fs.Lookup(m[2]).Value.(flag.Getter); ok && kinds[fmt.Sprintf("%T", get.Get())] != "" {
			return fmt.Errorf("-%s wants %s, not %s", m[2], kinds[fmt.Sprintf("%T", get.Get())], m[1])
		}
	}
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return err
	}
	return fmt.Errorf("there is no flag -%s%s", name, suggest.DidYouMean("-", name, func(yield func(string) bool) {
		more := true
		fs.VisitAll(func(f *flag.Flag) { more = more && yield(f.Name) })
		if more {
			yield("help")
		}
	}))
}

func (v *verb) help(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprint(w, strings.TrimSpace(v.usage), "\n")
	var b strings.Builder
	fs.SetOutput(&b)
	fs.PrintDefaults()
	if b.Len() > 0 {
		fmt.Fprint(w, "\nFlags:\n", b.String())
	}
}

// forms returns the lines of the verb's usage, as they stand above its help.
func (v *verb) forms() string {
	lines, _, _ := strings.Cut(strings.TrimSpace(v.usage), "\n\n")
	return lines
}

var (
	brackets = regexp.MustCompile(`\[[^\]]*\](?:\.\.\.)?`)
	flagged  = regexp.MustCompile(` -\S+(?: [A-Z]+\b)?`)
)

// wanted returns the words of the verb's usage for the n-th argument that is no flag.
func (v *verb) wanted(n int) string {
	var words []string
	for line := range strings.Lines(v.forms()) {
		_, form, ok := strings.Cut(line, "dace "+v.name+" ")
		given := strings.Fields(flagged.ReplaceAllString(brackets.ReplaceAllString(" "+form, ""), ""))
		if ok && len(given) > n && !slices.Contains(words, given[n]) {
			words = append(words, given[n])
		}
	}
	return strings.Join(words, ", ")
}

// misuse reports wrong arguments together with the verb's usage.
func (v *verb) misuse(env *Env, format string, args ...any) int {
	fmt.Fprintf(env.Stderr, "dace %s: %s\n%s\nMore: dace %s -h\n", v.name, v.unprefixed(fmt.Sprintf(format, args...)), v.forms(), v.name)
	return exitUsage
}

// printJSON prints a value as indented JSON and returns the exit code.
func (v *verb) printJSON(env *Env, value any) int {
	b, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(env.Stdout, "%s\n", b)
	}
	if err != nil {
		return v.fail(env, err)
	}
	return exitOK
}

// fail reports err and returns exitFailed.
func (v *verb) fail(env *Env, err error) int {
	fmt.Fprintf(env.Stderr, "dace %s: %s\n", v.name, v.unprefixed(err.Error()))
	return exitFailed
}

// ourPackages are those whose errors begin with their names, which tell a user of the
// command nothing.
var ourPackages = []string{"experiment", "snap", "construct", "portfolio", "farm", "natsfarm", "solver", "external", "problem"}

// unprefixed returns a message without the names of packages before it, and with a
// suggestion where it lists the names that there are.
func (v *verb) unprefixed(message string) string {
	for {
		name, rest, ok := strings.Cut(message, ": ")
		if !ok || name != v.name && !slices.Contains(ourPackages, name) {
			return message + meantName(message)
		}
		message = rest
	}
}

var listedNames = regexp.MustCompile(`there is no [\w ]*"([^"]+)"; (?:there are|the [\w ]+ are) ([\w-]+(?:(?:, | and | or )[\w-]+)+)$`)

// meantName returns a suggestion of a name that a message lists.
func meantName(message string) string {
	m := listedNames.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	return suggest.DidYouMean("", m[1], slices.Values(regexp.MustCompile(`, | and | or `).Split(m[2], -1)))
}

// reason removes the path from a file system error, for messages that name the
// path already.
func reason(err error) error {
	var perr *os.PathError
	if errors.As(err, &perr) {
		return perr.Err
	}
	return err
}
