package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/engine"
	"dace.local/kernel/notebook"
	"dace.local/kernel/setup"
)

var scriptVerb = verb{
	name:  "script",
	short: "run a file of Go as a notebook's cell would",
	usage: `
Usage: dace script [-figures DIR] [-engine yaegi] FILE.go [ARGUMENT...]
       dace FILE.go [ARGUMENT...]

Runs the file without a compiler and without a browser. It may be what a cell
may be - imports, declarations and statements in any order, the DACE library
at hand without imports - or a program: package main with a main function. Lines
// %% begin cells, as dace convert writes them: they run one by one, and the value
of each is shown.
"-" reads it from stdin. What stands behind the file is os.Args[1:], and stdin
is the script's own.

What the code displays is printed as text; figures are saved as files beside
the script (or in DIR), each with a line that says where.

A file that starts with the line

  #!/usr/bin/env dace

can be made executable and run by its name.

Exit code: 0, or what the script gives to os.Exit; 1 when it failed, with the
traceback on stderr, also when a goroutine panicked; 2 for wrong arguments; 130 when interrupted.

Examples:
  dace script experiment.go -seed 7
  echo 'fmt.Println(math.Sqrt(2))' | dace script -
  dace script count.go <data.txt
`,
	run: runScript,
}

func runScript(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	figures := fs.String("figures", "", "save figures in this `folder` instead of beside the script")
	var name string
	setup.EngineFlag(fs, &name)
	rest, code, ok := v.parse(env, fs, args, false, 1, -1)
	if !ok {
		return code
	}
	path := rest[0]
	source, err := readScript(env, path)
	if err != nil {
		return v.fail(env, err)
	}
	cells, lines := []string{source}, []int{0}
	if isPercentFile([]byte(source)) {
		nb, err := notebook.ReadPercent([]byte(source))
		if err != nil {
			return v.fail(env, fmt.Errorf("%s: %w", path, err))
		}
		cells = nil
		for _, c := range nb.Cells {
			if c.Type == notebook.Code {
				cells = append(cells, c.Source)
			}
		}
		lines = linesOf(source, cells)
	}
	asker := &asker{in: env.Stdin, out: env.Stdout}
	out := &console{out: env.Stdout, err: env.Stderr, dir: *figures, base: "script", input: asker.ask}
	if path != "-" {
		out.base = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		if *figures == "" {
			out.dir = filepath.Dir(path)
		}
	}
	eng, err := env.NewEngine(name, rest, Streams{})
	if err != nil {
		return v.fail(env, err)
	}
	defer eng.Close()
	ctx, stop := untilSignal()
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	inScript := func(trace string) string {
		if trace = inFile(trace, path, lines); !colours(env.Stderr) {
			trace = plain(trace)
		}
		return trace
	}
	// As in a program, a panic in a goroutine ends the script, which may wait for it.
	out.ended = func(report string) {
		out.write(out.err, inScript(report))
		end(errGoroutine)
	}
	var result engine.Result
	for i, text := range cells {
		if result, err = eng.Execute(ctx, engine.Cell{Number: i + 1, Code: text}, out); err != nil {
			break
		}
		out.result(result)
	}
	out.finish()
	return scriptCode(env, v, ctx, out, err, inScript)
}

// errGoroutine is why a script ends with which a goroutine has, by a panic that is reported.
var errGoroutine = errors.New("a goroutine has panicked")

// linesOf returns, for each cell of a text, the number of lines before it; -1 for one
// whose first line the text does not have as it is.
func linesOf(source string, cells []string) (before []int) {
	at, text := 0, strings.Split(source, "\n")
	for _, cell := range cells {
		first, _, _ := strings.Cut(cell, "\n")
		i := slices.IndexFunc(text[at:], func(line string) bool { return line == first || line == "// "+first }) // a magic is a comment there
		if i < 0 {
			before = append(before, -1)
			continue
		}
		before = append(before, at+i)
		at += i + strings.Count(cell, "\n") + 1
		at = min(at, len(text))
	}
	return before
}

var cellPlace = regexp.MustCompile(`In\[(\d+)\]:(\d+)`)

// inFile puts places in a file in the stead of those in cells: x.go:3 for In[1]:3.
func inFile(trace, path string, lines []int) string {
	if path == "-" {
		path = "stdin"
	}
	return cellPlace.ReplaceAllStringFunc(trace, func(place string) string {
		m := cellPlace.FindStringSubmatch(place)
		cell, _ := strconv.Atoi(m[1])
		line, _ := strconv.Atoi(m[2])
		if cell < 1 || cell > len(lines) || lines[cell-1] < 0 {
			return place
		}
		return fmt.Sprintf("%s:%d", path, lines[cell-1]+line)
	})
}

// scriptCode reports the error with which a script ended, if any, as placed has its text,
// and returns the exit code.
func scriptCode(env *Env, v *verb, ctx context.Context, out *console, err error, placed func(trace string) string) int {
	var e *engine.Error
	switch {
	case err == nil && out.failed != nil, errors.Is(context.Cause(ctx), errGoroutine):
		return exitFailed // reported already
	case err == nil:
		return exitOK
	case !errors.As(err, &e):
		return v.fail(env, err)
	}
	var status int
	if n, _ := fmt.Sscanf(e.Message, "os.Exit(%d)", &status); n == 1 && e.Name == "Exit" {
		return status
	}
	fmt.Fprintln(env.Stderr, placed(e.Text()))
	var sig signalled
	if errors.As(context.Cause(ctx), &sig) {
		return sig.code()
	}
	return exitFailed
}

// readScript reads a script. It blanks a first line that starts with #!, so
// that line numbers stay the same.
func readScript(env *Env, path string) (string, error) {
	var src []byte
	var err error
	if path == "-" {
		path = "stdin"
		src, err = io.ReadAll(env.Stdin)
	} else {
		src, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, reason(err))
	}
	if bytes.IndexByte(src, 0) >= 0 {
		return "", fmt.Errorf("%s is not a text", path)
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if bytes.HasPrefix(src, []byte("#!")) {
		end := bytes.IndexByte(src, '\n')
		if end < 0 {
			end = len(src)
		}
		src = src[end:]
	}
	return string(src), nil
}

// isScript reports whether a command's name that is no verb is a script: a file
// that ends in .go or begins with #!.
func isScript(name string) bool {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	if filepath.Ext(name) == ".go" {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var start [2]byte
	_, err = io.ReadFull(f, start[:])
	return err == nil && string(start[:]) == "#!"
}
