package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/files"
	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/docs/docstest"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/echo"
	"dace.local/kernel/notebook"
)

// goEcho is the echo engine with Go as its language, which the verb run
// requires.
type goEcho struct{ *echo.Engine }

func (e goEcho) Info() engine.Info {
	info := e.Engine.Info()
	info.Name, info.Version = "go", "go1"
	return info
}

// A call is the result of one run of the command on the echo engine.
type call struct {
	code     int
	out, err string
	args     []string // arguments given to the session
	streams  Streams
	engine   string
	served   string
}

func dace(t *testing.T, stdin string, args ...string) call {
	t.Helper()
	var c call
	var out, errs bytes.Buffer
	c.code = Main(&Env{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		NewEngine: func(name string, args []string, streams Streams) (engine.Engine, error) {
			c.engine, c.args, c.streams = name, args, streams
			return goEcho{echo.New()}, nil
		},
		Format: func(code string) (string, error) {
			if strings.HasPrefix(code, "%error") {
				return "", errors.New("line 1: it is no cell")
			}
			return strings.TrimSpace(strings.ReplaceAll(code, "  ", " ")), nil
		},
		Serve: func(_ context.Context, file string, _ engine.Engine, _ io.Writer) error {
			c.served = file
			if file == "bad" {
				return errors.New("no such connection")
			}
			return nil
		},
	})
	c.out, c.err = out.String(), errs.String()
	return c
}

// want checks the exit code and that the streams contain the texts.
func (c call) want(t *testing.T, code int, out string, errs ...string) {
	t.Helper()
	ok := c.code == code && strings.Contains(c.out, out)
	for _, text := range errs {
		ok = ok && strings.Contains(c.err, text) && (text != "" || c.err == "")
	}
	if !ok {
		t.Errorf("exit code %d, want %d\nstdout %q\n  want %q\nstderr %q\n  want %q", c.code, code, c.out, out, c.err, errs)
	}
}

func TestUsage(t *testing.T) {
	dace(t, "").want(t, 2, "", "dace VERB -h says more")
	dace(t, "", "-h").want(t, 0, "  run        run notebooks", "")
	dace(t, "", "help").want(t, 0, "  version", "")
	dace(t, "", "nonsense").want(t, 2, "", `there is no verb "nonsense"`)
	dace(t, "", "verson").want(t, 2, "", `there is no verb "verson"; did you mean version?`)
	dace(t, "", "hlep").want(t, 2, "", `there is no verb "hlep"; did you mean help?`)
	dace(t, "", "construct", "-methd", "dace").want(t, 2, "", "there is no flag -methd; did you mean -method?")
	dace(t, "", "run", "--hlep").want(t, 2, "", "there is no flag -hlep; did you mean -help?")
	dace(t, "", "help", "--help").want(t, 0, "  run        run notebooks", "")
	for _, v := range verbs() {
		dace(t, "", v.name, "-h").want(t, 0, "Usage: dace "+v.name, "")
		dace(t, "", "help", v.name).want(t, 0, "Usage: dace "+v.name, "")
		if help := dace(t, "", v.name, "--help").out; !strings.Contains(help, "\nExit code: ") || !strings.Contains(help, "\nExamples:\n  ") {
			t.Errorf("dace %s --help has no exit code or no examples:\n%s", v.name, help)
		}
		dace(t, "", v.name, "-nonsense").want(t, 2, "", "there is no flag -nonsense\nUsage: dace "+v.name)
	}
	for _, name := range topics() {
		dace(t, "", "help", name).want(t, 0, "# ", "")
	}
	if guides := topics(); !slices.Contains(guides, "cells") || !slices.Contains(guides, "glossary") {
		t.Errorf("the topics are %q", guides)
	}
	dace(t, "", "help", "cels").want(t, 2, "", `"cels"; did you mean cells?`)
	dace(t, "", "construct", "-class", "onemx", "-o", "x").want(t, 2, "", "dace construct: there is no class")
	dace(t, "", "construct", "-class", "onemx", "-o", "x").want(t, 2, "", "did you mean onemax?")
	dace(t, "", "data", "fetch", "wikki").want(t, 2, "", "dace data: there is no network \"wikki\"; there are wiki, facebook, epinions; did you mean wiki?")
	dace(t, "", "farm", "stauts").want(t, 2, "", "did you mean status?")
	dace(t, "", "farm", "drain", "-json").want(t, 2, "", "-json is for start, status and submit")
	dace(t, "", "data", "fetsh").want(t, 2, "", "did you mean fetch?")
	dace(t, "", "version").want(t, 0, "dace "+dacerun.Version+"\n", "")
	dace(t, "", "--version").want(t, 0, "dace "+dacerun.Version+"\n", "")
	dace(t, "", "version", "x").want(t, 2, "", `unexpected argument "x"`)
	dace(t, "", "run").want(t, 2, "", "an argument is missing")
	dace(t, "", "run").want(t, 2, "", "an argument is missing: NOTEBOOK.ipynb|NOTEBOOK.go...\n")
	dace(t, "", "farm").want(t, 2, "", "missing: start, status, logs, cancel, submit, adapt, scheduler, drain|stop\nUsage: dace farm start", "\n       dace farm drain|stop [-dir DIR]\nMore: ")
	dace(t, "", "solve", "-class", "labs", "-dim", "many").want(t, 2, "", `dace solve: -dim wants a whole number, not "many"`)
	dace(t, "", "run", "a", "-timeout", "soon").want(t, 2, "", `dace run: -timeout wants a time such as 90s or 10m, not "soon"`)
	dace(t, "", "run", "a", "-check=maybe").want(t, 2, "", `dace run: -check wants true or false, not "maybe"`)
	dace(t, "", "run", "a", "b", "-o", "c").want(t, 2, "", "-o and -html are for one notebook, and there are 2")
	dace(t, "", "run", "a", "-").want(t, 2, "", "one notebook comes from stdin, or several from files")
	dace(t, "", "run", "a", "-check", "-p", "x=1").want(t, 2, "", "run it without -p")
	dace(t, "", "run", "a", "-p", "x").want(t, 2, "", `"x" is not of the form name=value`)
	dace(t, "", "run", "a", "-timeout", "-1s").want(t, 2, "", "negative")
	dace(t, "", "script").want(t, 2, "", "an argument is missing")
}

func TestJupyter(t *testing.T) {
	c := dace(t, "", "jupyter", "-f", "conn.json")
	c.want(t, 0, "", "")
	if c.served != "conn.json" || !c.streams.Output || !c.streams.Input {
		t.Errorf("%+v", c)
	}
	if c := dace(t, "", "jupyter", "-engine", "yaegi", "-f", "conn.json"); c.engine != "yaegi" {
		t.Errorf("%+v", c)
	}
	dace(t, "", "jupyter", "-engine", "yeagi", "-f", "conn.json").want(t, 2, "", `there is no engine "yeagi"; the engines are go and yaegi`)
	dace(t, "", "jupyter").want(t, 2, "", "no connection file")
	dace(t, "", "jupyter", "-f", "bad").want(t, 1, "", "dace jupyter: no such connection\n")
}

// nb writes a notebook of code cells into a new folder and returns its path. A
// cell written "#tag source" gets the tag.
func nb(t *testing.T, cells ...string) (path string) {
	t.Helper()
	n := &notebook.Notebook{Metadata: map[string]any{}}
	for _, s := range cells {
		c := &notebook.Cell{Type: notebook.Code, Metadata: map[string]any{}}
		if strings.HasPrefix(s, "#") {
			tag, source, _ := strings.Cut(s[1:], " ")
			c.Metadata["tags"], s = []any{tag}, source
		}
		c.Source = s
		n.Cells = append(n.Cells, c)
	}
	path = filepath.Join(t.TempDir(), "nb.ipynb")
	if err := notebook.Replace(path, func(w io.Writer) error { return notebook.Write(w, n) }); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) *notebook.Notebook {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := notebook.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRun(t *testing.T) {
	path := nb(t, "%print hello\n%eprint bad", "// comment\n%repeat 30 line", "value")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := dace(t, "", "run", path, "-html", filepath.Join(filepath.Dir(path), "page.html"))
	c.want(t, 0, "", "3 cells in ")
	for _, s := range []string{
		"[1/3] %print hello\n  │ hello\n  │ bad\n  └ ",
		"[2/3] %repeat 30 line\n  │ line\n", "  │ … 10 more lines\n",
		"[3/3] value\n  │ value\n  └ ", " ok\n", "; wrote ", "nb.out.ipynb, ", "page.html\n",
	} {
		if !strings.Contains(c.err, s) || c.out != "" {
			t.Errorf("no %q in\n%s\nor there is a stdout:\n%s", s, c.err, c.out)
		}
	}
	if !c.streams.Output {
		t.Error("the streams are not captured")
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Error("the notebook itself was changed")
	}
	out := read(t, strings.TrimSuffix(path, ".ipynb")+".out.ipynb")
	if o := out.Cells[2].Outputs; len(o) != 1 || o[0].Type != notebook.Result || out.Cells[2].Count != 3 {
		t.Errorf("outputs %+v", o)
	}
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "page.html")); err != nil || !bytes.Contains(b, []byte("hello")) {
		t.Errorf("page: %v", err)
	}
	// Run quietly, in place, with the flags first; the progress of a cell
	// stays on one line.
	c = dace(t, "", "run", "-q", "-o", path, path)
	c.want(t, 0, "", "[1/3] %print hello · 0.00 s ok\n")
	if read(t, path).Cells[0].Count != 1 {
		t.Error("-o with the notebook's own name does not write it")
	}
	// Read from stdin and write to stdout.
	c = dace(t, string(before), "run", "-")
	c.want(t, 0, `"nbformat_minor": 5`, "[3/3] value\n")
	if n, err := notebook.Read([]byte(c.out)); err != nil || n.Cells[0].Count != 1 {
		t.Errorf("stdout is no notebook: %v", err)
	}
}

func TestRunFailures(t *testing.T) {
	path := nb(t, "1", "%fail Oops: no luck", "3")
	out := strings.TrimSuffix(path, ".ipynb") + ".out.ipynb"
	counts := func() (all []int) {
		for _, c := range read(t, out).Cells {
			all = append(all, c.Count)
		}
		return all
	}
	dace(t, "", "run", path).want(t, 1, "", "2 cells, 1 failed, in ", "dace run: cell 2: ")
	if got := counts(); !slices.Equal(got, []int{1, 2, 0}) {
		t.Errorf("counts %v", got)
	}
	dace(t, "", "run", "-keep-going", path).want(t, 1, "", "3 cells, 1 failed, in ", "dace run: cell 2: ")
	if got := counts(); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("counts %v", got)
	}
	dace(t, "", "run", nb(t, "#raises-exception %fail x", "2")).want(t, 0, "", "failed, as it may")
	dace(t, "", "run", nb(t, "%loop"), "-timeout", "50ms").want(t, 1, "", "1 cell, 1 failed, in ", "Timeout: the cell ran longer than 50ms")
	dace(t, "", "run", nb(t, "%input name?")).want(t, 1, "", "no terminal to ask on")

	dir := filepath.Dir(path)
	dace(t, "", "run", filepath.Join(dir, "none.ipynb")).want(t, 1, "", "none.ipynb: no such file or directory")
	dace(t, "{\n \"a\" 1}", "run", "-").want(t, 1, "", "stdin: line 2, column 6: want a colon, got '1'")
	dace(t, `{"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": []}`, "run", "-").want(t, 2, "", "is written in python, and this runs Go")
	c := dace(t, "", "run", path, "-o", filepath.Join(dir, "no", "out.ipynb"))
	c.want(t, 1, "", "cannot write to the folder "+filepath.Join(dir, "no")+": no such file or directory")
	if strings.Contains(c.err, "[1/3]") {
		t.Error("it ran although the output cannot be written")
	}
	dace(t, "", "run", path, "-html", dir).want(t, 1, "", "it is a folder")
	if _, err := os.Stat("/dev/full"); err == nil {
		dace(t, "", "run", nb(t, "1"), "-o", "/dev/full").want(t, 1, "", "1 cell in ", "cannot write /dev/full: no space left on device")
	}
}

// Several notebooks run one after the other, each with the parameters that it
// declares; all run although one fails.
func TestRunSeveral(t *testing.T) {
	a, b := nb(t, "#parameters n := 1", "%fail x"), nb(t, "%print b")
	c := dace(t, "", "run", a, b, "-p", "n=2")
	c.want(t, 1, "", b+"\n[1/1] %print b", "dace run: cell 3: ")
	if !strings.HasPrefix(c.err, a+"\n") {
		t.Errorf("%q", c.out)
	}
	if got := read(t, strings.TrimSuffix(b, ".ipynb")+".out.ipynb"); len(got.Cells) != 1 {
		t.Errorf("the notebook without parameters has %d cells", len(got.Cells))
	}
}

func TestRunCheck(t *testing.T) {
	path := nb(t, "%print 1.5 in 3 s", "value")
	dace(t, "", "run", "-check", path).want(t, 1, "", path+", cell 1 (%print 1.5 in 3 s): it has never been run")
	dace(t, "", "run", path, "-o", path).want(t, 0, "", "wrote ")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dace(t, "", "run", "-check", path).want(t, 0, path+": the outputs are those stored\n", "2 cells in ")
	other := bytes.Replace(before, []byte(`"1.5 in 3 s\n"`), []byte(`"1.2 in 9 s\n"`), 1)
	if bytes.Equal(before, other) {
		t.Fatalf("%s", before)
	}
	if err := os.WriteFile(path, other, 0o644); err != nil {
		t.Fatal(err)
	}
	dace(t, "", "run", "-check", path).want(t, 1, "", path+", cell 1 (%print 1.5 in 3 s): line 1: 1.2 is now 1.5, 20 % apart")
	dace(t, "", "run", "-check", "-tolerance", "0.3", path).want(t, 0, "the outputs are those stored", "2 cells in ")
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, other) {
		t.Error("-check changes the notebook")
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("-check writes files: %v, %v", files, err)
	}
}

func TestRunParameters(t *testing.T) {
	c := dace(t, "", "run", nb(t, "#parameters n := 1", "x"), "-o", "-", "-p", "m=2", "-p", "n=3")
	c.want(t, 0, `"injected-parameters"`, "the cell tagged parameters does not declare m; it declares n")
}

// Cells run in the notebook's folder, but paths on the command line are
// relative to the shell's folder.
func TestRunFolder(t *testing.T) {
	path := nb(t, "1")
	t.Chdir(filepath.Dir(filepath.Dir(path)))
	rel := filepath.Join(filepath.Base(filepath.Dir(path)), "nb.ipynb")
	dace(t, "", "run", rel, "-o", "x.ipynb").want(t, 0, "", "wrote x.ipynb")
	if _, err := os.Stat("x.ipynb"); err != nil {
		t.Error(err)
	}
	os.Remove("x.ipynb")
}

func TestScript(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.go")
	put := func(text string) {
		if err := files.WriteProgram(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("#!/usr/bin/env -S dace script\n%print hi\n%input name? \nvalue")
	c := dace(t, "Ada\n", "script", path, "-x", "y")
	c.want(t, 0, "hi\n", "")
	if !strings.HasSuffix(c.out, "value\n") || !slices.Equal(c.args, []string{path, "-x", "y"}) || c.streams.Output {
		t.Errorf("%+v", c)
	}
	dace(t, "%print a\n%eprint b", "script", "-").want(t, 0, "a\n", "b\n")
	dace(t, "%fail E: m", "script", "-").want(t, 1, "", "m")
	dace(t, "", "script", filepath.Join(dir, "none")).want(t, 1, "", "none: no such file or directory")
	dace(t, "a\x00", "script", "-").want(t, 1, "", "stdin is not a text")
}

func TestFigures(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	c := &console{out: &out, err: &errs, dir: dir, base: "s"}
	c.Display(engine.Bundle{Data: map[string]any{"image/png": "AA\nAA", "text/plain": "figure"}}, "p")
	c.Display(engine.Bundle{Data: map[string]any{"image/svg+xml": "<svg/>", "text/html": "x"}}, "")
	c.Display(engine.Bundle{Data: map[string]any{"text/html": "<b>", "text/plain": "b"}}, "")
	c.Display(engine.Bundle{Data: map[string]any{"text/html": "<b>"}}, "")
	c.Update(engine.Bundle{Data: map[string]any{"image/png": "AQID"}}, "p")
	c.Update(engine.Text("nobody's"), "q")
	c.Display(engine.Text("0 %"), "bar")
	c.Update(engine.Text("50 %"), "bar")
	c.Update(engine.Text("100 %"), "bar")
	c.finish()
	want := "figure: " + dir + "/s-1.png\nfigure: " + dir + "/s-2.svg\nb\nfigure: " + dir + "/s-3.html\n0 %\n100 %\n"
	if out.String() != want || errs.String() != "" {
		t.Errorf("%q %q, want %q", out.String(), errs.String(), want)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "s-1.png")); err != nil || string(b) != "\x01\x02\x03" {
		t.Errorf("updated figure: %q %v", b, err)
	}
	c.dir = filepath.Join(dir, "s-1.png")
	c.Display(engine.Bundle{Data: map[string]any{"image/svg+xml": "<svg/>"}}, "")
	if c.failed == nil || !strings.Contains(errs.String(), "cannot write the figure") {
		t.Errorf("%v %q", c.failed, errs.String())
	}
}

func TestReplPiped(t *testing.T) {
	dace(t, "x = 1\nx\n\n  \nunended", "repl").want(t, 0, "1\nunended\n", "")
	c := dace(t, "%fail E: m\n%print after\n", "repl")
	c.want(t, 1, "after\n", "m")
	dace(t, "%input q\n", "repl").want(t, 1, "", "stdin is the code itself")
	if c := dace(t, "", "repl"); c.out != "" || c.code != 0 {
		t.Errorf("%+v", c)
	}
}

func TestCompleteLine(t *testing.T) {
	matches := func(texts ...string) (all []engine.Completion) {
		for _, s := range texts {
			all = append(all, engine.Completion{Text: s})
		}
		return all
	}
	for _, c := range []struct {
		c          engine.Completions
		line       string
		pos, start int
		want       string
		wantPos    int
		list       int
	}{
		{engine.Completions{Start: 4, End: 6, Matches: matches("Println")}, "fmt.Pr(x)", 6, 0, "fmt.Println(x)", 11, 0},
		{engine.Completions{Start: 14, End: 16, Matches: matches("Print", "Printf", "Println")}, "fmt.Pr", 6, 10, "fmt.Print", 9, 0},
		{engine.Completions{Start: 4, End: 9, Matches: matches("Print", "Printf", "Println")}, "fmt.Print", 9, 0, "fmt.Print", 9, 3},
		{engine.Completions{}, "x", 1, 0, "x", 1, 0},
		{engine.Completions{Start: 0, End: 3, Matches: matches("é", "è")}, "abc", 3, 0, "abc", 3, 2},
	} {
		line, pos, list := completeLine(c.c, c.line, c.pos, c.start)
		if line != c.want || pos != c.wantPos || len(list) != c.list {
			t.Errorf("%q: %q %d %v", c.line, line, pos, list)
		}
	}
	if got := columns([]string{"a", "bb", "c"}, 8); got != "a   bb\nc\n" {
		t.Errorf("columns %q", got)
	}
}

func TestHistory(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	h := openHistory()
	for _, l := range []string{"a", "a", " ", "b"} {
		h.Add(l)
	}
	h = openHistory()
	if h.Len() != 2 || h.At(0) != "b" || h.At(1) != "a" {
		t.Errorf("%+v", h)
	}
	h = &history{}
	h.Add("x") // no file
	if h.Len() != 1 {
		t.Error("lost")
	}
}

// TestCompletions completes words as a shell asks for them. Verbs end before they do
// anything.
func TestCompletions(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string // "" where names of files are completed
	}{
		{[]string{"con"}, "convert construct"},
		{[]string{"convert", "-to", "pe"}, "percent"},
		{[]string{"help", "dat"}, "data databases"},
		{[]string{"data", ""}, "fetch list"},
		{[]string{"completion", ""}, "bash zsh fish"},
		{[]string{"construct", "-meth"}, "-method"},
		{[]string{"construct", "-method", "pa"}, "parhydra"},
		{[]string{"construct", "-o", "x", "-scale", ""}, "quick small tenth paper"},
		{[]string{"construct", "-class", "c"}, "ccp cimp caop"},
		{[]string{"construct", "-solvers", "e"}, "ea eda"},
		{[]string{"test", "dace", "-reading", ""}, "written published both"},
		{[]string{"run", ""}, ""},
		{[]string{"run", "-o", ""}, ""},
		{[]string{"run", "-che"}, "-check"},
		{[]string{"run", "--che"}, "--check"},
		{[]string{"test", "dace", "--reading=wr"}, "--reading=written"},
		{[]string{"data", "fetch", "wi"}, "wiki"},
		{[]string{"reproduce", "II"}, "II III"},
		{[]string{"nothing", ""}, ""},
	} {
		got := dace(t, "", append([]string{"completion", "words"}, c.words...)...)
		if list := strings.Join(strings.Fields(got.out), " "); got.code != 0 || got.err != "" || list != c.want {
			t.Errorf("%q: %q, want %q (code %d, stderr %q)", c.words, list, c.want, got.code, got.err)
		}
	}
	for _, v := range verbs() {
		v.flagsOf(&Env{})
	}
	dace(t, "", "completion", "tcsh").want(t, 2, "", "bash, zsh and fish")
}

// TestBashCompletion has bash itself complete.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	script := dace(t, "", "completion", "bash").out + `
dace() { shift 2; local IFS=' '; printf '%s\n' "words:$*" two; }
COMP_WORDS=(dace test -reading "") COMP_CWORD=3; _dace; printf '<%s>' "${COMPREPLY[@]}"`
	out, err := exec.Command(bash, "-c", script).CombinedOutput()
	if err != nil || string(out) != "<words:test -reading ><two>" {
		t.Errorf("%s, %v", out, err)
	}
}

// TestJSON checks what programs read instead of the tables for people.
func TestJSON(t *testing.T) {
	t.Setenv("DACE_DATA", t.TempDir())
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var versions map[string]string
	var networks []struct {
		Name, Path string
		Nodes      int
	}
	var findings []finding
	for _, c := range []struct {
		args []string
		into any
	}{{[]string{"version", "-json"}, &versions}, {[]string{"data", "list", "--json"}, &networks}, {[]string{"doctor", "-json"}, &findings}} {
		got := dace(t, "", c.args...)
		if err := json.Unmarshal([]byte(got.out), c.into); err != nil || got.err != "" {
			t.Errorf("%q: %v\n%s%s", c.args, err, got.out, got.err)
		}
	}
	if versions["dace"] == "" || !strings.HasPrefix(versions["go"], "go1.") {
		t.Errorf("versions: %v", versions)
	}
	if len(networks) != 3 || networks[0].Name != "wiki" || networks[0].Nodes != 7115 || networks[0].Path != "" {
		t.Errorf("networks: %v", networks)
	}
	if len(findings) < 5 || findings[0].State != "there" || findings[0].What != "dace" {
		t.Errorf("findings: %v", findings)
	}
	for _, f := range findings {
		if (f.State == "there") != (f.Remedy == "") {
			t.Errorf("%+v: what is missing or wrong has a remedy, and nothing else", f)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("dace doctor leaves %v (%v)", left, err)
	}
}

// TestHelpSearch checks that words find the section that answers them.
func TestHelpSearch(t *testing.T) {
	for words, want := range map[string]string{
		"compiled cells":                          `dace help cells "Compiled cells"`,
		"my objective is a Python program":        `dace help objectives "A program"`,
		"noisy objective":                         `dace help objectives "Noise"`,
		"how do I interrupt a cell that hangs?":   `dace help troubleshooting`,
		"slurm":                                   `dace help farms`,
		"compare two instances similarity":        `dace help similarity`,
		"breakpoint":                              `dace help`,
		"install for all users of a jupyterhub":   `dace help installing "Many users"`,
		"irace scenario":                          `dace help`,
		"checksum of a network that was fetched":  `dace data -h`,
		"write a table to latex for the paper":    `dace help`,
		"pandas read_csv":                         `dace help coming-from "pandas"`,
		"a module of my own, edited while I work": `dace help own-code`,
	} {
		got := dace(t, "", "help", words)
		if lines := strings.Split(got.out, "\n"); got.code != 0 || got.err != "" || len(lines) > 2*mostFound+1 || !strings.Contains(strings.Join(lines[:min(len(lines), 5)], "\n"), want) {
			t.Errorf("%q finds (code %d, stderr %q)\n%s", words, got.code, got.err, got.out)
		}
	}
	dace(t, "", "help", "xyzzy", "plugh").want(t, 2, "", "no verb, guide or section")
	one := dace(t, "", "help", "cells", "compiled cells").out
	if !strings.HasPrefix(one, "## Compiled cells\n") || strings.Count(one, "\n## ") != 0 {
		t.Errorf("a section is\n%s", one)
	}
	for _, name := range topics() {
		text, _ := topic(name)
		if strings.Contains(text, "<!--") {
			t.Errorf("%s shows its marks", name)
		}
		for _, s := range sections(name, text) {
			if got := dace(t, "", "help", name, s.title); !strings.HasPrefix(got.out, "#") {
				t.Errorf("%s prints %q", s.command(), got.out)
			}
		}
	}
}

// TestCommandLines checks the command lines of the guides, and those of the verbs' help:
// each is of a verb and of flags that there are.
func TestCommandLines(t *testing.T) {
	texts := map[string]string{}
	for _, v := range verbs() {
		_, examples, _ := strings.Cut(v.usage, "Examples:\n")
		texts["dace "+v.name+" -h"] = regexp.MustCompile("(?m)^  ").ReplaceAllString(examples, "    ")
	}
	for name, text := range docstest.Guides(t, "README.md", "CONTRIBUTING.md", "SECURITY.md", "*/docs/*.md", "dacelib/*.md", "notebooks/*.md", "kernel/foreign/*.md") {
		texts[name] = docstest.Unfenced(text)
	}
	checked := 0
	for name, text := range texts {
		var lines []string
		for _, m := range regexp.MustCompile("(?m)^    +(.*)$").FindAllStringSubmatch(text, -1) {
			line, _, _ := strings.Cut(m[1], " # ")
			lines = append(lines, regexp.MustCompile(` {2,}|; `).Split(line, -1)...)
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
			lines = append(lines, strings.Join(strings.Fields(m[1]), " "))
		}
		for _, line := range lines {
			args, ok := strings.CutPrefix(strings.TrimPrefix(line, "./"), "dace ")
			words := shellWords(args)
			if !ok || len(words) == 0 || slices.Contains(words, "|") || strings.ToUpper(words[0]) == words[0] || words[0] == "help" {
				continue
			}
			v := findVerb(words[0])
			if v == nil && isScript(words[0]) {
				continue
			}
			if v == nil {
				t.Errorf("%s: there is no verb %s: %s", name, words[0], line)
				continue
			}
			checked++
			env := &Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
			env.parsing = func(_ *flag.FlagSet, wrong error) {
				if wrong != nil && !errors.Is(wrong, flag.ErrHelp) && len(words) > 1 && !strings.Contains(wrong.Error(), "missing") && !strings.Contains(wrong.Error(), "needs an argument") && !strings.Contains(line, " BYTES") {
					t.Errorf("%s: %s: %v", name, line, wrong)
				}
			}
			v.run(env, v, words[1:])
		}
	}
	if checked < 100 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// shellWords splits a command line as a shell does, without the brackets of what can be
// left out, and up to where its output goes.
func shellWords(line string) (words []string) {
	line, _, _ = strings.Cut(strings.NewReplacer("[", "", "]", "", "...", "").Replace(line), " >")
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|\S+`).FindAllStringSubmatch(line, -1) {
		switch {
		case m[1]+m[2] != "":
			words = append(words, m[1]+m[2])
		case m[0] == "&&" || m[0] == "&":
			return words
		default:
			words = append(words, m[0])
		}
	}
	return words
}

// Results that a full disk does not take are no success; a reader that wants no more is.
func TestResultsWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	in, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	in.Close()
	for _, args := range [][]string{{"help"}, {"-h"}, {"test", "-list"}, {"version"}, {"test", "-h"}, {"test", "brkga-pap", "-class", "onemax", "-dim", "9", "-instances", "1", "-repeats", "1", "-sample", "9", "-ranges", "none"}} {
		var errs strings.Builder
		if code := Main(&Env{Args: args, Stdout: full, Stderr: &errs}); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit code %d, %s", args, code, errs.String())
		}
		errs.Reset()
		if code := Main(&Env{Args: args, Stdout: gone, Stderr: &errs}); code != exitOK && !strings.Contains(errs.String(), "broken pipe") || strings.Contains(errs.String(), "the results:") {
			t.Errorf("%v to a closed pipe: exit code %d, %s", args, code, errs.String())
		}
	}
}
