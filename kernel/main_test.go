package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dace.local/dacelib/files"
	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/setup"
)

// TestMain runs the command instead of the tests if the environment asks for
// it.
func TestMain(m *testing.M) {
	if os.Getenv("DACE_BE_THE_COMMAND") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DACE_BE_THE_COMMAND=1", "XDG_STATE_HOME="+dir, "PWD="+dir)
	return cmd
}

func exitCode(err error) int {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	if err != nil {
		return -2
	}
	return 0
}

// dace runs the command and waits until it ends.
func dace(t *testing.T, dir, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, dir, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	code = exitCode(cmd.Run())
	return code, out.String(), errs.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := files.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// cells returns the JSON text of a notebook of code cells.
func cells(sources ...string) string {
	var list []string
	for _, s := range sources {
		list = append(list, fmt.Sprintf(`{"cell_type": "code", "metadata": {}, "source": %q, "outputs": [], "execution_count": null}`, s))
	}
	return `{"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [` + strings.Join(list, ",") + `]}`
}

func TestScripts(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, source string
		args         []string
		stdin        string
		code         int
		out, err     string
	}{
		{"plain", "import \"strings\"\nx := strings.ToUpper(\"a\")\nfunc f() string { return x + \"b\" }\nfmt.Println(f())\nlen(x)", nil, "", 0, "Ab\n1\n", ""},
		{"program", "#!/usr/bin/env -S dace script\n// A program.\npackage main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() { fmt.Println(os.Args[1:]) }\n", []string{"-a", "b"}, "", 0, "[-a b]\n", ""},
		{"streams", "fmt.Println(1)\nfmt.Fprintln(os.Stderr, 2)", nil, "", 0, "1\n", "2\n"},
		{"stdin", "var n int\nfmt.Scan(&n)\nfmt.Println(n + 1)", nil, "41\n", 0, "42\n", ""},
		{"stdin as a file", "var n int\nfmt.Scan(&n)\nb, err := io.ReadAll(os.Stdin)\nfmt.Printf(\"%d %q %v\", n, b, err)", nil, "41\r\n\x00\xffend", 0, `41 "\n\x00\xffend" <nil>`, ""},
		{"exit", "fmt.Println(1)\nos.Exit(3)", nil, "", 3, "1\n", ""},
		{"exit well", "os.Exit(0)", nil, "", 0, "", ""},
		{"panic", "fmt.Println(1)\nvar m map[string]int\nm[\"a\"] = 1", nil, "", 1, "1\n", "assignment to entry in nil map"},
		{"not Go", "x := \"a\" + 1", nil, "", 1, "", "mismatched types"},
		{"error at the end", "fmt.Println(1)\nos.Open(\"/nosuch\")", nil, "", 1, "1\n", "error at the end.go:2:1: in cell\n"},
		{"error in the second cell", "// %%\nx := 1\n\n// %%\n// %precision 3\ny := x\ny / (x - x)", nil, "", 1, "", "error in the second cell.go:7:1: in cell\n"},
		{"error assigned", "f, err := os.Open(\"/nosuch\")\nf, err", nil, "", 0, "<nil>, open /nosuch: no such file or directory\n", ""},
		{"must", "fmt.Println(must(strconv.Atoi(\"1\")))\nmust(os.Open(\"/nosuch\"))\nfmt.Println(2)", nil, "", 1, "1\n", "error: open /nosuch: no such file or directory"},
		{"must in a program", "package main\n\nfunc main() { must(os.Open(\"/nosuch\")) }", nil, "", 1, "", "error: open /nosuch: no such file or directory"},
		{"goroutine", "package main\n\nfunc main() {\n\tc := make(chan int)\n\tgo func() { panic(\"there\") }()\n\t<-c\n}", nil, "", 1, "", "a goroutine has ended in a panic\ngoroutine.go:5:14: in main.func\n"},
		{"figure", "p := plot.New()\np", nil, "", 0, "figure: figure-1.png\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.name + ".go"
			write(t, filepath.Join(dir, path), c.source)
			code, out, errs := dace(t, dir, c.stdin, append([]string{"script", path}, c.args...)...)
			if code != c.code || out != c.out || !strings.Contains(errs, c.err) || c.err == "" && errs != "" {
				t.Errorf("exit code %d, want %d\nstdout %q\n  want %q\nstderr %q\n  want %q", code, c.code, out, c.out, errs, c.err)
			}
		})
	}
}

// TestShebang runs an executable script by its name.
func TestShebang(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(dir, "dace")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "count"), "#!/usr/bin/env dace\n%cd /\nlines := !echo a; echo b\nfmt.Println(len(lines), os.Args[1:])\nnosuch()\n")
	write(t, filepath.Join(dir, "sum.go"), "#!/usr/bin/env dace\nfmt.Println(1+2, os.Args[1:])\n")
	for name, want := range map[string]string{"sum.go": "3 [x -y]\n", "count": "count:5:1: undefined: nosuch"} {
		cmd := exec.Command(filepath.Join(dir, name), "x", "-y")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "DACE_BE_THE_COMMAND=1", "XDG_STATE_HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("%s shows %q, want %q", name, out, want)
		}
	}
}

func TestRunGo(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nb.ipynb"), cells("x := 6", "fmt.Println(\"hello\")", "os.Stdout.WriteString(\"raw\\n\")", "x * 7"))
	code, out, errs := dace(t, dir, "", "run", "nb.ipynb", "-html", "nb.html")
	if code != 0 || out != "" {
		t.Errorf("exit code %d, stdout %q", code, out)
	}
	for _, s := range []string{"  │ hello\n", "  │ raw\n", "  │ 42\n", "4 cells in ", "; wrote nb.out.ipynb, nb.html\n"} {
		if !strings.Contains(errs, s) {
			t.Errorf("no %q in\n%s", s, errs)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "nb.out.ipynb"))
	if err != nil || !bytes.Contains(b, []byte(`"version": "go1.`)) || !bytes.Contains(b, []byte(`"dace": "`+dacerun.Version)) || !bytes.Contains(b, []byte(`"raw\n"`)) {
		t.Errorf("%v\n%s", err, b)
	}
}

// A run that is interrupted or killed keeps the outputs of the cells run so
// far.
func TestRunEndings(t *testing.T) {
	for _, c := range []struct {
		sig  syscall.Signal
		code int
		has  string
	}{
		{syscall.SIGINT, 130, `"ename": "Interrupted"`},
		{syscall.SIGTERM, 143, `"ename": "Interrupted"`},
		{syscall.SIGKILL, -1, `"first\n"`},
	} {
		t.Run(c.sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "nb.ipynb"), cells("fmt.Println(\"first\")", "fmt.Println(\"second\")\nfor {}", "fmt.Println(\"third\")"))
			cmd := command(t, dir, "run", "nb.ipynb")
			out, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			seen := ""
			buf := make([]byte, 4096)
			for !strings.Contains(seen, "│ second") {
				n, err := out.Read(buf)
				if err != nil {
					t.Fatalf("%v after %q", err, seen)
				}
				seen += string(buf[:n])
			}
			if err := cmd.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out)
			if code := exitCode(cmd.Wait()); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			b, err := os.ReadFile(filepath.Join(dir, "nb.out.ipynb"))
			if err != nil || !bytes.Contains(b, []byte(`"first\n"`)) || !bytes.Contains(b, []byte(c.has)) || bytes.Contains(b, []byte(`"third\n"`)) {
				t.Errorf("%v\n%s", err, b)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// An error that a cell ends with stops dace run and nbconvert, with exit code 1.
func TestErrorStops(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	for i, text := range []string{"os.Open(\"/nosuch\")", "must(os.Open(\"/nosuch\"))"} {
		name := fmt.Sprintf("nb%d", i)
		write(t, filepath.Join(dir, name+".ipynb"), cells(text, "fmt.Println(\"after\")"))
		code, out, errs := dace(t, dir, "", "run", name+".ipynb")
		if code != 1 || !strings.Contains(out+errs, "open /nosuch: no such file or directory") || strings.Contains(out+errs, "after") {
			t.Errorf("%s: exit code %d\n%s%s", text, code, out, errs)
		}
	}
	needPython(t, "nbconvert")
	writeSpec(t, dir)
	cmd := exec.CommandContext(t.Context(), python, "-m", "nbconvert", "--to", "notebook", "--execute", "nb0.ipynb", "--ExecutePreprocessor.kernel_name=dace")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "JUPYTER_PATH="+dir, "XDG_STATE_HOME="+dir)
	if out, err := cmd.CombinedOutput(); exitCode(err) != 1 || !bytes.Contains(out, []byte("open /nosuch")) {
		t.Errorf("nbconvert: %v\n%s", err, out)
	}
}

// TestExecutableScript exports notebooks as JupyterLab's menu does, with what an
// installation adds to nbconvert.
func TestExecutableScript(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	needPython(t, "nbconvert")
	dir := t.TempDir()
	t.Setenv("PYTHONUSERBASE", dir)
	in := &setup.Installer{Prefix: dir, Keep: true, Out: t.Output()}
	at, err := in.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{at.Spec, filepath.Dir(at.Binary)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(exe, at.Binary); err != nil {
		t.Fatal(err)
	}
	if err := in.AddExporter(t.Context(), at, &setup.Record{Binary: at.Binary}); err != nil {
		t.Fatal(err)
	}
	text := cells("x := 3\nx", "import \"strconv\"\nfunc f() string { return strconv.Itoa(x) }\nf()", "%figure 10x8cm", "x := \"é\"\nx")
	for kernel, plain := range map[string]bool{"dace": false, "gonb": true} {
		write(t, filepath.Join(dir, kernel+".ipynb"), strings.Replace(text, `"metadata": {}, "cells"`,
			`"metadata": {"language_info": {"name": "go"}, "kernelspec": {"name": "`+kernel+`", "display_name": "Go"}}, "cells"`, 1))
		cmd := exec.CommandContext(t.Context(), python, "-m", "nbconvert", "--to", "script", kernel+".ipynb")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "DACE_BE_THE_COMMAND=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		program, err := os.ReadFile(filepath.Join(dir, kernel+".go"))
		pretty, goErr := format.Source(program)
		if plain {
			if err != nil || !strings.Contains(string(program), "\n%figure 10x8cm\n") {
				t.Errorf("%v, a notebook of another kernel:\n%s", err, program)
			}
			continue
		}
		if err != nil || goErr != nil || !bytes.Equal(pretty, program) || !bytes.HasPrefix(program, []byte("// dace.ipynb as a program")) {
			t.Errorf("%v, %v:\n%s", err, goErr, program)
		}
		if code, out, errs := dace(t, dir, "", "script", "dace.go"); code != 0 || out != "3\n\"3\"\n\"é\"\n" {
			t.Errorf("exit code %d, %q, %s\n%s", code, out, errs, program)
		}
	}
	if err := in.Uninstall(at); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "lib")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind by the removal: %v", err)
	}
}

// dace run writes the same notebook as nbclient with this kernel, except for
// times.
func TestSameAsNbclient(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	needPython(t, "nbclient")
	dir := t.TempDir()
	writeSpec(t, dir)
	write(t, filepath.Join(dir, "nb.ipynb"), cells(
		"x := 6", "fmt.Println(\"hello\", x)", "x * 7", "",
		"fmt.Fprintln(os.Stderr, \"bad\")", "p := plot.New()\np", "display.HTML(\"<b>x</b>\")\ndisplay.Markdown(\"*y*\")",
		"fmt.Println(1)\ndisplay.Clear()\nfmt.Println(2)", "undefined", "var m map[string]int\nm[\"a\"] = x", "x",
		"os.Open(\"/nosuch\")", "must(strconv.Atoi(\"y\"))", "x, 7",
		"start, done := make(chan bool), make(chan bool)\ngo func() {\n\t<-start\n\tfmt.Println(\"late\")\n\tdisplay.HTML(\"later\")\n\tclose(done)\n}()", "start <- true\n_, ok := <-done"))
	if code, _, errs := dace(t, dir, "", "run", "-keep-going", "-q", "nb.ipynb"); code != 1 {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", `import sys, json, nbformat, nbclient
with open("nb.out.ipynb") as f:
    ours = nbformat.read(f, as_version=nbformat.NO_CONVERT)
nbformat.validate(ours)
theirs = nbformat.from_dict(json.loads(json.dumps(ours)))
for c in theirs.cells:
    c.outputs, c.execution_count, c.metadata = [], None, nbformat.from_dict({})
nbclient.NotebookClient(theirs, kernel_name="dace", allow_errors=True, timeout=60).execute()
for nb in ours, theirs:
    for c in nb.cells:
        times = c.metadata.pop("execution", {})
        for o in c.outputs:
            if "image/png" in o.get("data", {}): # pages get the figure in the theme's colours, too
                o.data.pop("text/html", None)
            if o.output_type == "error":
                o.traceback = "\\n".join(o.traceback)
late = theirs.cells[-2].outputs[0].data # nbclient cannot add outputs to a cell that has ended
if late["text/html"] != "<pre>late\n</pre>later" or late["text/plain"] != "late\nlater\n":
    sys.exit("the goroutine's cell shows %s" % late)
if [o.output_type for o in ours.cells[-2].outputs] != ["stream", "display_data"]:
    sys.exit("the goroutine's cell shows %s" % ours.cells[-2].outputs)
theirs.cells[-2].outputs = ours.cells[-2].outputs
for a, b in zip(ours.cells, theirs.cells):
    if a != b:
        sys.exit("cell %s\\n ours  %s\\n nbclient %s" % (a.source, a, b))
if ours.metadata != theirs.metadata:
    sys.exit("metadata %s %s" % (ours.metadata, theirs.metadata))
`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "JUPYTER_PATH="+dir, "XDG_STATE_HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Cells read the stdin that is piped to dace run; without a pipe, input
// requests fail.
func TestRunStdin(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nb.ipynb"), cells("sc := bufio.NewScanner(os.Stdin)\nsc.Scan()", "for sc.Scan() {\n\tfmt.Println(\"line\", sc.Text())\n}"))
	code, out, errs := dace(t, dir, "head\na\nb", "run", "nb.ipynb")
	if code != 0 || !strings.Contains(errs, "line a\n  │ line b\n") || out != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	cmd := command(t, dir, "run", "nb.ipynb")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "no terminal to ask on") {
		t.Errorf("without stdin: %v\n%s", err, out)
	}
}

func TestReplPiped(t *testing.T) {
	code, out, errs := dace(t, t.TempDir(), "x := 3\nfor i := range 2 {\n\tfmt.Println(i)\n}\nx * 2\n", "repl")
	if code != 0 || out != "0\n1\n6\n" || errs != "" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	dir := t.TempDir()
	start := filepath.Join(dir, ".config", "dace", "init.go")
	if err := os.MkdirAll(filepath.Dir(start), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(start, []byte("const own = 17\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
	code, out, errs = dace(t, dir, "own + _nothing\nown\n_ + 1\nhelp strings.Cut\nhelp\nexit := 5\nexit\nquit\nnosuch\n", "repl")
	if code != 1 || !strings.HasPrefix(out, "17\n18\nfunc strings.Cut(") || !strings.Contains(out, "A cell holds Go") || !strings.HasSuffix(out, "\n5\n") ||
		!strings.Contains(errs, "undefined: _nothing") || strings.Contains(errs, "nosuch") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	code, out, errs = dace(t, t.TempDir(), "y\n1 + 1\n", "repl")
	if code != 1 || out != "2\n" || !strings.Contains(errs, "undefined: y") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

// TestRunCheckOrder checks a notebook whose outputs come from cells run out of order.
func TestRunCheckOrder(t *testing.T) {
	dir := t.TempDir()
	const nb = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
{"cell_type": "code", "id": "a", "metadata": {}, "source": "x * 2", "execution_count": 4, "outputs": []},
{"cell_type": "code", "id": "b", "metadata": {}, "source": "x := 3", "execution_count": 1, "outputs": []}]}`
	if err := os.WriteFile(filepath.Join(dir, "nb.ipynb"), []byte(nb), 0o666); err != nil {
		t.Fatal(err)
	}
	code, _, errs := dace(t, dir, "", "run", "-check", "nb.ipynb")
	for _, want := range []string{"nb.ipynb, not in one run from top to bottom: cell 1 is In[4]", "cell 2 (In[1]) was run before cell 1 (In[4])", "it uses x, which is declared below, in cell 2"} {
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, no %q in %q", code, want, errs)
		}
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := dace(t, t.TempDir(), "", "version")
	for _, s := range []string{"dace ", "go       go1.", "yaegi    v0.16.2-", "cpu      "} {
		if code != 0 || !strings.Contains(out, s) {
			t.Errorf("no %q in %q", s, out)
		}
	}
}

func TestConnectionFileErrors(t *testing.T) {
	code, _, errs := dace(t, t.TempDir(), "", "jupyter", "-f", "none.json")
	if code != 1 || !strings.Contains(errs, "none.json") {
		t.Errorf("%d %q", code, errs)
	}
}
