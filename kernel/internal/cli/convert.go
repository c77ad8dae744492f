package cli

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/notebook"
	"dace.local/kernel/setup/source"
)

var convertVerb = verb{
	name:  "convert",
	short: "notebooks as texts, programs or modules of Go, and back",
	usage: `
Usage: dace convert NOTEBOOK.ipynb [-to percent|go|module] [-o OUT]
       dace convert NOTEBOOK.go [-o NOTEBOOK.ipynb]

Writes a notebook in another form; nothing is run.

  percent   a text, NOTEBOOK.go: a line // %% begins each cell, text cells and
            magics are comments (Jupytext's percent format). dace run runs it,
            and converting it back gives the same notebook.
  go        one program, NOTEBOOK.go, which go vet accepts and dace script runs:
            main has the statements, the last expression of a cell is shown by a
            call, imports are written. What it cannot do is said in comments.
  module    that program as a folder NOTEBOOK with a go.mod, for go run, with
            copies of the packages that it uses of modules on disk.

A text becomes a notebook again. Outputs are not in texts: those of NOTEBOOK.ipynb
stay for cells whose code has not changed, if it is there (the file that is
written, or the one beside the text). "-" reads from stdin, -o - writes to stdout.

Exit code: 0; 1 when a file could not be read or written; 2 for wrong arguments.

Examples:
  dace convert quickstart.ipynb
  dace convert quickstart.go
  dace convert quickstart.ipynb -to module -o /tmp/quick && cd /tmp/quick && go run .
`,
	run: runConvert,
}

func runConvert(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	to := fs.String("to", "", "write this `form`: percent, go, module or notebook (default percent of a notebook, notebook of a text)")
	out := fs.String("o", "", "write to this `file`, or for a module folder (default beside the notebook)")
	rest, code, ok := v.parse(env, fs, args, true, 1, 1)
	if !ok {
		return code
	}
	in := rest[0]
	name := strings.TrimSuffix(filepath.Base(in), filepath.Ext(in))
	if in == "-" {
		name = "notebook"
	}
	nb, dir, err := readNotebook(env, in)
	if err != nil {
		return v.fail(env, err)
	}
	if *to == "" {
		if *to = "percent"; filepath.Ext(in) == ".go" || filepath.Ext(*out) == ".ipynb" {
			*to = "notebook"
		}
	}
	ext, known := map[string]string{"percent": ".go", "go": ".go", "module": "", "notebook": ".ipynb"}[*to]
	if !known {
		return v.misuse(env, "-to %s: there are percent, go, module and notebook", *to)
	}
	if lang := foreign(nb); lang != "" && *to != "notebook" {
		fmt.Fprintf(env.Stderr, "dace convert: %s is written in %s, and this writes Go\n", in, lang)
		return exitUsage
	}
	named := *out != ""
	if !named {
		if *out = "-"; in != "-" {
			*out = filepath.Join(dir, name) + ext
		}
	}
	if *to == "module" && *out == "-" {
		return v.misuse(env, "a module is a folder: name it by -o")
	}
	if !named && *to != "notebook" && *out != "-" {
		if err := ours(*out); err != nil {
			return v.fail(env, err)
		}
	}
	var b bytes.Buffer
	var program *notebook.Program
	switch *to {
	case "percent":
		err = notebook.WritePercent(&b, nb)
	case "notebook":
		if filepath.Ext(in) == ".go" || in == "-" {
			beside := *out
			if _, err := os.Stat(beside); err != nil && in != "-" {
				beside = filepath.Join(dir, name) + ".ipynb"
			}
			if err := completed(nb, beside); err != nil {
				return v.fail(env, err)
			}
		}
		err = notebook.Write(&b, nb)
	default:
		if env.Program == nil {
			return v.fail(env, errors.New("this program has no compiler of notebooks"))
		}
		if program, err = env.Program(nb, name, dir); program != nil {
			defer program.Close()
			for _, l := range program.Lacks {
				fmt.Fprintf(env.Stderr, "dace convert: %s\n", l)
			}
			b.Write(program.Text)
		}
	}
	if err != nil {
		return v.fail(env, fmt.Errorf("%s: %w", in, err))
	}
	switch {
	case *out == "-":
		_, err = env.Stdout.Write(b.Bytes())
	case *to == "module":
		err = writeModule(*out, name, program)
	default:
		err = notebook.Replace(*out, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
	}
	if err != nil {
		return v.fail(env, err)
	}
	if *out != "-" {
		fmt.Fprintln(env.Stdout, shorten(*out))
	}
	return exitOK
}

// converted is the first line of programs that convert writes, after the name.
const converted = "by dace convert"

// ours returns an error if there is a file that convert has not written.
func ours(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if info.IsDir() {
		path = filepath.Join(path, "main.go")
	}
	data, err := os.ReadFile(path)
	if err == nil && !notebook.IsPercent(data) && !bytes.Contains(data[:min(len(data), 300)], []byte(converted)) {
		return fmt.Errorf("there is a file %s that is no notebook's: -o names another, or this one to replace it", path)
	}
	return nil
}

// completed adds to a notebook read from a text what an older notebook has.
func completed(nb *notebook.Notebook, path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s, whose outputs are to stay: %w", path, reason(err))
	}
	old, err := notebook.Read(data)
	if err != nil {
		return fmt.Errorf("%s, whose outputs are to stay: %w", path, err)
	}
	nb.Complete(old)
	return nil
}

var fmtVerb = verb{
	name:  "fmt",
	short: "format the cells of notebooks as gofmt does",
	usage: `
Usage: dace fmt [-l] NOTEBOOK.ipynb|FILE.go...

Formats the code of notebooks, and of texts of Go: programs, scripts, and notebooks
as texts. Magics, commands, text cells and outputs stay as they are, and a file
that is formatted is not written. The names of those that are go to stdout.

Cells that are not Go are reported with their lines, and stay as they are.

Exit code: 0, or 1 if a cell is not Go or a file cannot be read or written; with -l
also if a file is not formatted.

Examples:
  dace fmt analysis.ipynb
  dace fmt -l notebooks/*.ipynb
`,
	run: runFmt,
}

func runFmt(env *Env, v *verb, args []string) int {
	flags := v.flags(env)
	list := flags.Bool("l", false, "list the files that are not formatted, and write nothing")
	rest, code, ok := v.parse(env, flags, args, true, 1, -1)
	if !ok {
		return code
	}
	code = exitOK
	for _, path := range rest {
		old, err := os.ReadFile(path)
		if err != nil {
			v.fail(env, fmt.Errorf("cannot read %s: %w", path, reason(err)))
			code = exitFailed
			continue
		}
		text, problems := formatted(env, path, old)
		for _, p := range problems {
			fmt.Fprintf(env.Stderr, "%s: %s\n", path, p)
			code = exitFailed
		}
		if text == nil || bytes.Equal(text, old) {
			continue
		}
		if *list {
			code = exitFailed
		} else if err := notebook.Replace(path, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			v.fail(env, err)
			code = exitFailed
			continue
		}
		fmt.Fprintln(env.Stdout, path)
	}
	return code
}

// formatted returns the text of a file with its cells formatted; nil if none has
// changed.
func formatted(env *Env, path string, data []byte) (text []byte, problems []string) {
	percent := notebook.IsPercent(data) && filepath.Ext(path) != ".ipynb"
	switch {
	case filepath.Ext(path) == ".go" && packageClause.Match(data):
		out, err := format.Source(data)
		if err != nil {
			return nil, []string{err.Error()}
		}
		return out, nil
	case filepath.Ext(path) == ".go" && !percent:
		out, err := env.Format(string(data))
		if err != nil {
			return nil, []string{err.Error()}
		}
		return []byte(out + "\n"), nil
	}
	read := notebook.Read
	if percent {
		read = notebook.ReadPercent
	}
	nb, err := read(data)
	if err != nil {
		return nil, []string{err.Error()}
	}
	if lang := foreign(nb); lang != "" {
		return nil, []string{"the notebook is written in " + lang}
	}
	changed := false
	for i, c := range nb.Cells {
		if c.Type != notebook.Code {
			continue
		}
		out, err := env.Format(c.Source)
		if err != nil {
			problems = append(problems, fmt.Sprintf("cell %d, %v", i+1, err))
			continue
		}
		changed = changed || out != c.Source
		if percent {
			nb.SetSource(i, out)
		} else {
			c.Source = out
		}
	}
	if !changed {
		return nil, problems
	}
	var b bytes.Buffer
	if percent {
		err = notebook.WritePercent(&b, nb)
	} else {
		err = notebook.Write(&b, nb)
	}
	if err != nil {
		return nil, append(problems, err.Error())
	}
	return b.Bytes(), problems
}

// packageClause matches the line that makes a text a file of Go.
var packageClause = regexp.MustCompile(`(?m)^package [\pL_]`)

// isPercentFile reports whether a text is a notebook in the percent format, not a
// program.
func isPercentFile(data []byte) bool { return notebook.IsPercent(data) && !packageClause.Match(data) }

// writeModule writes a program as a module: main.go, go.mod and go.sum, with the
// library beside it where the command carries its source, so that the folder stands
// alone, and copies of modules on disk.
func writeModule(dir, name string, program *notebook.Program) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("cannot make the module %s: there is a file of that name", dir)
	}
	library := filepath.Join(dir, buildinfo.Module())
	if source.Present() {
		if err := os.MkdirAll(library, 0o755); err != nil {
			return fmt.Errorf("cannot make the module %s: %w", dir, reason(err))
		}
		if err := source.Unpack(library); err != nil {
			return err
		}
	} else {
		if library = buildinfo.Clone(); library == "" {
			return errors.New("the command does not carry the library's source, which the module needs: build it with go run ./install")
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make the module %s: %w", dir, reason(err))
		}
	}
	mod, err := os.ReadFile(filepath.Join(library, "go.mod"))
	if err != nil {
		return fmt.Errorf("the library's go.mod: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(library, "go.sum"))
	if err != nil {
		return fmt.Errorf("the library's go.sum: %w", err)
	}
	replaced := library
	if source.Present() {
		replaced = "./" + buildinfo.Module()
	}
	// What the library requires, as the go command wants to see it here, too.
	first, rest, _ := strings.Cut(string(mod), "\n")
	own := strings.TrimSpace(strings.TrimPrefix(first, "module"))
	text := "module " + moduleName(name) + "\n" + rest + fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", own, own, replaced)
	for file, data := range map[string][]byte{"main.go": program.Text, "go.mod": []byte(text), "go.sum": sum} {
		if err := notebook.Replace(filepath.Join(dir, file), func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
			return err
		}
	}
	return program.Export(dir, moduleName(name))
}

var notInModules = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

func moduleName(name string) string {
	return strings.Trim(notInModules.ReplaceAllString(name, "-"), "-") + ".notebook"
}
