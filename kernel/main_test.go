package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is the command where the environment says so.
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

// dace runs the command to its end.
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
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// cells is the JSON of a notebook of code cells.
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

func TestRunGo(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nb.ipynb"), cells("x := 6", "fmt.Println(\"hello\")", "os.Stdout.WriteString(\"raw\\n\")", "x * 7"))
	code, out, errs := dace(t, dir, "", "run", "nb.ipynb", "-html", "nb.html")
	if code != 0 || errs != "" {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	for _, s := range []string{"  │ hello\n", "  │ raw\n", "  │ 42\n", "4 cells in ", "; wrote nb.out.ipynb, nb.html\n"} {
		if !strings.Contains(out, s) {
			t.Errorf("no %q in\n%s", s, out)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "nb.out.ipynb"))
	if err != nil || !bytes.Contains(b, []byte(`"version": "go1.`)) || !bytes.Contains(b, []byte(`"raw\n"`)) {
		t.Errorf("%v\n%s", err, b)
	}
}

// A run that is interrupted or killed keeps what it has done.
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
			out, err := cmd.StdoutPipe()
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

// What dace run writes is what nbclient writes with the kernel, but for times.
func TestSameAsNbclient(t *testing.T) {
	needPython(t, "nbclient")
	dir := t.TempDir()
	writeSpec(t, dir)
	write(t, filepath.Join(dir, "nb.ipynb"), cells(
		"x := 6", "fmt.Println(\"hello\", x)", "x * 7", "",
		"fmt.Fprintln(os.Stderr, \"bad\")", "p := plot.New()\np", "display.HTML(\"<b>x</b>\")\ndisplay.Markdown(\"*y*\")",
		"fmt.Println(1)\ndisplay.Clear()\nfmt.Println(2)", "undefined", "var m map[string]int\nm[\"a\"] = x", "x"))
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
            if o.output_type == "error":
                o.traceback = "\\n".join(o.traceback)
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

// Cells read what is piped to dace run; without a pipe there is nobody to ask.
func TestRunStdin(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nb.ipynb"), cells("sc := bufio.NewScanner(os.Stdin)\nsc.Scan()", "for sc.Scan() {\n\tfmt.Println(\"line\", sc.Text())\n}"))
	code, out, errs := dace(t, dir, "head\na\nb", "run", "nb.ipynb")
	if code != 0 || !strings.Contains(out, "line a\n  │ line b\n") || errs != "" {
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
	code, out, errs = dace(t, t.TempDir(), "y\n1 + 1\n", "repl")
	if code != 1 || out != "2\n" || !strings.Contains(errs, "undefined: y") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

// A terminal is the master's side of a pseudo-terminal.
type terminal struct {
	*os.File
	mu   sync.Mutex
	seen strings.Builder
}

func openTerminal(t *testing.T) (master *terminal, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	_ = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})
	master = &terminal{File: os.NewFile(uintptr(fd), "ptmx")}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			master.mu.Lock()
			master.seen.Write(buf[:n])
			master.mu.Unlock()
		}
	}()
	return master, slave
}

var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// expect waits until the terminal has shown text, and forgets what it showed.
func (m *terminal) expect(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		m.mu.Lock()
		seen := escape.ReplaceAllString(m.seen.String(), "")
		if at := strings.Index(seen, text); at >= 0 {
			m.seen.Reset()
			m.seen.WriteString(seen[at+len(text):])
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatalf("no %q in %q", text, seen)
		}
	}
}

func (m *terminal) typeText(t *testing.T, keys string) {
	t.Helper()
	if _, err := m.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func TestReplTerminal(t *testing.T) {
	master, slave := openTerminal(t)
	defer master.Close()
	dir := t.TempDir()
	cmd := command(t, dir, "repl")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	master.expect(t, "Ctrl-D ends.")
	for _, step := range []struct{ keys, shows string }{
		{"", "In[1]: "},
		{"x := 4\r", "In[2]: "},
		{"x * 5\r", "20\r\nIn[3]: "},
		{"for i := range 2 {\r", "  ...: "},                                // goes on
		{"\tfmt.Printl\t(i)\r", "    fmt.Println(i)"},                      // indented, completed
		{"}\r", "0\r\n1\r\nIn[4]: "},                                       // run
		{"half a line\x03", "^C\r\nIn[4]: "},                               // dropped
		{"fmt.Println(`o` + `n`); for {}\r", "on\r\n"},                     // runs
		{"\x03", "Interrupted"},                                            // interrupted
		{"", "In[5]: "},                                                    // lives on
		{"x\r", "4\r\nIn[6]: "},                                            // with its state
		{"\x1b[A\r", "x\r\n4\r\nIn[7]: "},                                  // recalled
		{"var s string\rfmt.Print(`na` + `me`); fmt.Scanln(&s)\r", "name"}, // typed ahead
	} {
		master.typeText(t, step.keys)
		master.expect(t, step.shows)
	}
	master.typeText(t, "Ada\r")
	master.expect(t, "In[9]: ")
	master.typeText(t, "s\r")
	master.expect(t, "\"Ada\"\r\nIn[10]: ")
	// Ctrl-D ends what is read.
	master.typeText(t, "fmt.Print(`a` + `ll`); b, err := io.ReadAll(os.Stdin)\r")
	master.expect(t, "all")
	master.typeText(t, "one\r\x04")
	master.expect(t, "In[11]: ")
	master.typeText(t, "len(b)\r")
	master.expect(t, "4\r\nIn[12]: ")
	// An interrupted question takes no later line.
	master.typeText(t, "fmt.Print(`ag` + `ain`); fmt.Scanln(&s)\r")
	master.expect(t, "again")
	master.typeText(t, "\x03")
	master.expect(t, "In[13]: ")
	master.typeText(t, "x + 1\r")
	master.expect(t, "5\r\nIn[14]: ")
	master.typeText(t, "?fmt.Println\r")
	master.expect(t, "Println(a ...any) (n int, err error)")
	master.expect(t, "In[15]: ")
	master.typeText(t, "\x04")
	if code := exitCode(cmd.Wait()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	b, err := os.ReadFile(filepath.Join(dir, "dace", "history"))
	if err != nil || !strings.Contains(string(b), "x * 5\n") {
		t.Errorf("history %q %v", b, err)
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
