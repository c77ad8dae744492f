// Package cli is the command dace: one file for each verb. A verb takes flags
// in, calls a package and gives an exit code out. Start with [Main].
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"dace.local/kernel/engine"
)

// Version is the release that the command belongs to.
const Version = "0.1.0"

// Exit codes. A run that a signal ended returns 128 plus the signal's number,
// as shells do.
const (
	exitOK     = 0
	exitFailed = 1 // a cell failed, or a file could not be read or written
	exitUsage  = 2
)

// An Env is what the command works with.
type Env struct {
	// Args are the arguments behind the command's name.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// NewEngine starts a session of the language. Args is what the session's
	// code sees as its arguments; streams are those of the process's that
	// become the running cell's.
	NewEngine func(args []string, streams Streams) (engine.Engine, error)
	// Serve is a Jupyter kernel on a connection file, until it is shut down.
	Serve func(ctx context.Context, connectionFile string, eng engine.Engine, stderr io.Writer) error
}

// Streams are standard streams of the process that a session takes over.
type Streams struct {
	// Output: what compiled code writes to stdout and stderr becomes the
	// running cell's output.
	Output bool
	// Input: who reads stdin reads what the outputs' Input is answered.
	Input bool
}

// A verb is one of the command's.
type verb struct {
	name, short string
	// usage is the text of -h above the flags.
	usage string
	run   func(env *Env, v *verb, args []string) int
}

// verbs returns all of them in the order of the help.
func verbs() []*verb {
	return []*verb{&jupyterVerb, &runVerb, &scriptVerb, &replVerb, &dataVerb, &versionVerb}
}

// Main runs the command and returns its exit code.
func Main(env *Env) int {
	if len(env.Args) == 0 {
		fmt.Fprint(env.Stderr, overview())
		return exitUsage
	}
	name, args := env.Args[0], env.Args[1:]
	switch name {
	case "-h", "-help", "--help", "help":
		if name == "help" && len(args) > 0 {
			name, args = args[0], []string{"-h"}
			break
		}
		fmt.Fprint(env.Stdout, overview())
		return exitOK
	case "-version", "--version":
		name = "version"
	}
	for _, v := range verbs() {
		if v.name == name {
			return v.run(env, v, args)
		}
	}
	fmt.Fprintf(env.Stderr, "dace: there is no verb %q\n\n%s", name, overview())
	return exitUsage
}

func overview() string {
	var b strings.Builder
	b.WriteString("dace runs Go notebooks: cells of Go with the DACE library at hand.\n\nUsage: dace VERB ...\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %-9s %s\n", v.name, v.short)
	}
	b.WriteString("\ndace VERB -h says more about one.\n")
	return b.String()
}

// flags returns an empty flag set that speaks for the verb.
func (v *verb) flags(env *Env) *flag.FlagSet {
	fs := flag.NewFlagSet("dace "+v.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // what it says is said by parse
	fs.Usage = func() {}
	return fs
}

// parse reads flags and up to max other arguments. With mixed, flags may also
// stand behind those; else everything behind the first is left alone. When ok
// is false the verb ends with code.
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
	case errors.Is(err, flag.ErrHelp):
		v.help(env.Stdout, fs)
		return nil, exitOK, false
	case err != nil:
		return nil, v.misuse(env, "%v", err), false
	case len(rest) < min:
		return nil, v.misuse(env, "an argument is missing"), false
	case max >= 0 && len(rest) > max:
		return nil, v.misuse(env, "unexpected argument %q", rest[max]), false
	}
	return rest, exitOK, true
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

// misuse says what is wrong with the arguments and how they should be.
func (v *verb) misuse(env *Env, format string, args ...any) int {
	line, _, _ := strings.Cut(strings.TrimSpace(v.usage), "\n")
	fmt.Fprintf(env.Stderr, "dace %s: %s\n%s\nMore: dace %s -h\n", v.name, fmt.Sprintf(format, args...), line, v.name)
	return exitUsage
}

// fail reports what went wrong.
func (v *verb) fail(env *Env, err error) int {
	fmt.Fprintf(env.Stderr, "dace %s: %v\n", v.name, err)
	return exitFailed
}

// reason shortens an error of the file system that names a path which the
// message around it names too.
func reason(err error) error {
	var perr *os.PathError
	if errors.As(err, &perr) {
		return perr.Err
	}
	return err
}
