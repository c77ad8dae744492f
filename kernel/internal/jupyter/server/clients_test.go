package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine/echo"
	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// The tests in this file run real clients with the kernel as a process of its
// own: the dace command, or this test binary on the echo engine.

// echoKernel is the environment variable that makes this test binary run as a
// kernel.
const echoKernel = "DACE_TEST_ECHO_KERNEL"

func TestMain(m *testing.M) {
	if os.Getenv(echoKernel) != "" {
		if err := Serve(context.Background(), os.Args[len(os.Args)-1], echo.New(), Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// buildDir is the folder that buildDace puts the dace command into, "" before.
var buildDir string

// buildDace builds the dace command, unless `go run ./install -test` has, and returns its
// path.
var buildDace = sync.OnceValues(func() (string, error) {
	if built := os.Getenv("DACE_TEST_COMMAND"); built != "" {
		return built, nil
	}
	var err error
	if buildDir, err = os.MkdirTemp("", "dace"); err != nil {
		return "", err
	}
	binary := filepath.Join(buildDir, "dace")
	if out, err := exec.Command("go", "build", "-o", binary, buildinfo.Path("kernel")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

// A language is a kernel that the clients run, with samples of code for it.
type language struct {
	name string
	argv func(t *testing.T) []string // without the connection file
	// kernelTest holds the class attributes for jupyter_kernel_test.
	kernelTest object
	// session is the code for testdata/session.py.
	session map[string]string
	// notebook holds cells; the test that runs them checks their outputs.
	notebook [][2]string
}

var echoLanguage = language{
	name: "echo",
	argv: func(t *testing.T) []string {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return []string{self}
	},
	kernelTest: object{
		"language_name":                "echo",
		"file_extension":               ".txt",
		"code_hello_world":             "%print hello, world",
		"code_stderr":                  "%eprint oops",
		"completion_samples":           []object{{"text": "%pri", "matches": []string{"print"}}},
		"complete_code_samples":        []string{"a", "{}"},
		"incomplete_code_samples":      []string{"{"},
		"invalid_code_samples":         []string{"}"},
		"code_page_something":          "?print",
		"code_generate_error":          "%fail on purpose",
		"code_execute_result":          []object{{"code": "6 by 7", "result": "6 by 7"}, {"code": "x", "result": "x"}},
		"code_display_data":            []object{{"code": "%display text/html <b>x</b>", "mime": "text/html"}, {"code": "%display image/png QUJD", "mime": "image/png"}},
		"code_history_pattern":         "6?by*",
		"supported_history_operations": []string{"tail", "range", "search"},
		"code_inspect_sample":          "print",
		"code_clear_output":            "%clear",
	},
	session: map[string]string{
		"set":    "x = 1",
		"get":    "%print state 1",
		"loop":   "%print running\n%loop",
		"ask":    "%input name? ",
		"prompt": "name? ",
		"unset":  "%fail there is nothing to lose here",

		"concurrent": "yes",
	},
	notebook: [][2]string{
		{"%print a\n%print b\n6 by 7", "stream stdout a\nb\n|execute_result 6 by 7"},
		{"%eprint oops", "stream stderr oops\n"},
		{"%display text/html <b>x</b>", "display_data <text/html>"},
		{"%fail on purpose", "error Failure: on purpose"},
		{"x = 3", ""},
		{"%show d text/html <b>x</b>\n%update d text/plain y", "display_data y"},
	},
}

var goLanguage = language{
	name: "dace",
	argv: func(t *testing.T) []string {
		binary, err := buildDace()
		if err != nil {
			t.Fatal(err)
		}
		return []string{binary, "jupyter", "-f"}
	},
	kernelTest: object{
		"language_name":    "go",
		"file_extension":   ".go",
		"code_hello_world": `fmt.Println("hello, world")`,
		"code_stderr":      `fmt.Fprintln(os.Stderr, "oops")`,
		"completion_samples": []object{
			{"text": "fmt.Printl", "matches": []string{"Println"}},
			{"text": "x := strings.ToUpp", "matches": []string{"ToUpper", "ToUpperSpecial"}},
			{"text": "日本 := math.Sqrt", "matches": []string{"Sqrt", "Sqrt2", "SqrtE", "SqrtPhi", "SqrtPi"}},
		},
		"complete_code_samples":   []string{"x := 1", "func f() int {\n\treturn 1\n}", "for i := range 3 {\n\tfmt.Println(i)\n}", `import "math"`, "1 + 1"},
		"incomplete_code_samples": []string{"for i := range 3 {", "func f() {\n\treturn", "fmt.Println(", "x := []int{\n\t1,", "s := `raw"},
		"invalid_code_samples":    []string{"x := )", "func 1", "a b c"},
		"code_page_something":     "?fmt.Println",
		"code_generate_error":     `panic("on purpose")`,
		"code_execute_result":     []object{{"code": "6 * 7", "result": "42"}, {"code": "x := 3; x", "result": "3"}},
		"code_display_data": []object{
			{"code": `display.HTML("<b>x</b>")`, "mime": "text/html"},
			{"code": `display.Markdown("**x**")`, "mime": "text/markdown"},
			{"code": `display.LaTeX("$x$")`, "mime": "text/latex"},
			{"code": `display.JSON(map[string]int{"a": 1})`, "mime": "application/json"},
			{"code": `display.SVG("<svg xmlns='http://www.w3.org/2000/svg'/>")`, "mime": "image/svg+xml"},
		},
		"code_history_pattern":         "6 ? 7*",
		"supported_history_operations": []string{"tail", "range", "search"},
		"code_inspect_sample":          "fmt.Println",
		"code_clear_output":            "display.Clear(false)",
	},
	session: map[string]string{
		"set":    "state := 1",
		"get":    `fmt.Println("state", state)`,
		"loop":   "fmt.Println(\"running\")\nfor {\n}",
		"ask":    "var name string\nfmt.Print(\"name? \")\nfmt.Scanln(&name)\nfmt.Println(\"got\", name)",
		"prompt": "",
		"known":  "running",
		"lines":  "for sc := bufio.NewScanner(os.Stdin); sc.Scan(); {\n\tfmt.Println(\"line\", sc.Text())\n}",
		"unset":  "state++",

		"variable":   "state",
		"concurrent": "yes",
	},
	notebook: [][2]string{
		{"fmt.Println(\"a\")\nfmt.Println(\"b\")\n6 * 7", "stream stdout a\nb\n|execute_result 42"},
		{`fmt.Fprintln(os.Stderr, "oops")`, "stream stderr oops\n"},
		{`fmt.Println("no echo")`, "stream stdout no echo\n"},
		{`panic("on purpose")`, "error panic: on purpose"},
		{"x := 3", ""},
		{"x", "execute_result 3"},
	},
}

// yaegiLanguage is the same language on the engine that is yaegi alone.
var yaegiLanguage = language{
	name: "yaegi",
	argv: func(t *testing.T) []string {
		argv := goLanguage.argv(t)
		return []string{argv[0], "jupyter", "-engine", "yaegi", "-f"}
	},
	kernelTest: goLanguage.kernelTest,
}

// languages are the kernels that every client is tested with.
var languages = []language{echoLanguage, goLanguage}

// python is Debian's interpreter, for which Debian packages Python modules.
const python = "/usr/bin/python3"

// needPython skips the test if Python modules are missing, or fails it if
// DACE_REQUIRE_CLIENTS=1 is set.
func needPython(t *testing.T, modules ...string) {
	t.Helper()
	for _, module := range modules {
		if err := exec.Command(python, "-c", "import "+module).Run(); err != nil {
			message := fmt.Sprintf("%s has no module %s: install the Debian package python3-%s",
				python, module, strings.ReplaceAll(module, "_", "-"))
			if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
				t.Fatal(message)
			}
			t.Skip(message)
		}
	}
}

// script runs a Python script of testdata with an installed kernel, passes it
// data as a JSON file, and returns its output.
func (l language) script(t *testing.T, name string, data any) string {
	t.Helper()
	dir := t.TempDir()
	spec := object{"argv": append(l.argv(t), "{connection_file}"), "display_name": l.name, "language": l.name,
		"env": object{echoKernel: "1", "DACE_LOG": "info"}}
	if l.name != "echo" {
		delete(spec["env"].(object), echoKernel)
	}
	write(t, filepath.Join(dir, "kernels", l.name, "kernel.json"), spec)
	file := filepath.Join(dir, "data.json")
	write(t, file, data)

	// A reply that never comes must not hang the tests.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, filepath.Join("testdata", name), l.name, file)
	cmd.Env = append(os.Environ(), "JUPYTER_PATH="+dir, "JUPYTER_RUNTIME_DIR="+filepath.Join(dir, "runtime"), "HOME="+dir, "XDG_STATE_HOME=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", name, err, out, &stderr)
	}
	t.Logf("%s%s", out, &stderr)
	return string(out)
}

func write(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(name, raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lastLine decodes the last line of a script's output.
func lastLine(t *testing.T, out string, v any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), v); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
}

// TestJupyterKernelTest runs the suite jupyter_kernel_test: all of its 12 tests,
// none skipped.
func TestJupyterKernelTest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, l := range append(languages, yaegiLanguage) {
		t.Run(l.name, func(t *testing.T) {
			needPython(t, "jupyter_kernel_test")
			var result struct {
				Run             int
				Failed, Skipped []string
			}
			out := l.script(t, "kernel_test.py", l.kernelTest)
			lastLine(t, out, &result)
			if result.Run != 12 || len(result.Failed) > 0 || len(result.Skipped) > 0 {
				t.Errorf("%d tests ran, failed: %v, skipped: %v\n%s", result.Run, result.Failed, result.Skipped, out)
			}
		})
	}
}

func TestNBClient(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			needPython(t, "nbclient")
			var sources []string
			for _, c := range l.notebook {
				sources = append(sources, c[0])
			}
			var cells []struct {
				Count   int
				Outputs []nbOutput
			}
			lastLine(t, l.script(t, "nbclient_run.py", sources), &cells)
			for i, c := range cells {
				var shown []string
				for i, o := range c.Outputs {
					// A slow kernel may send one stream's text in pieces.
					if i > 0 && o.Type == "stream" && o.Type == c.Outputs[i-1].Type && o.Name == c.Outputs[i-1].Name {
						shown[len(shown)-1] += o.Text
						continue
					}
					shown = append(shown, o.String())
				}
				if got := strings.Join(shown, "|"); got != l.notebook[i][1] || c.Count != i+1 {
					t.Errorf("cell %d shows %q, want %q\n%s", c.Count, got, l.notebook[i][1], sources[i])
				}
			}
		})
	}
}

// An nbOutput is one output of a cell in a notebook file.
type nbOutput struct {
	Type  string            `json:"output_type"`
	Name  string            `json:"name"`
	Text  string            `json:"text"`
	Data  map[string]string `json:"data"`
	Error string            `json:"ename"`
	Value string            `json:"evalue"`
}

func (o nbOutput) String() string {
	switch o.Type {
	case "stream":
		return "stream " + o.Name + " " + o.Text
	case "error":
		return "error " + o.Error + ": " + o.Value
	}
	return o.Type + " " + o.Data["text/plain"]
}

func TestJupyterClient(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			needPython(t, "jupyter_client")
			if out := l.script(t, "session.py", l.session); !strings.HasSuffix(out, "done\n") {
				t.Errorf("the session ended early:\n%s", out)
			}
		})
	}
}

// TestAsides sends questions, such as completion, to a kernel that runs a cell.
func TestAsides(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			needPython(t, "jupyter_client")
			out := l.script(t, "asides.py", l.session)
			if !strings.HasSuffix(out, "done\n") {
				t.Errorf("it ended early:\n%s", out)
			}
			t.Log(out)
		})
	}
}

// startProcess starts a kernel process on ipc and connects a client. prefix is
// put before its command line.
func startProcess(t *testing.T, prefix ...string) (*exec.Cmd, *transport.Client) {
	t.Helper()
	conn := wire.Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "k"), Key: "k", SignatureScheme: "hmac-sha256",
		ShellPort: 1, IOPubPort: 2, StdinPort: 3, ControlPort: 4, HBPort: 5}
	file := filepath.Join(t.TempDir(), "connection.json")
	if err := conn.Write(file); err != nil {
		t.Fatal(err)
	}
	args := append(prefix, append(echoLanguage.argv(t), file)...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), echoKernel+"=1", fmt.Sprintf("JPY_PARENT_PID=%d", os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := transport.Dial(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return cmd, c
}

// exit waits for a process to end.
func exit(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("the kernel does not end")
		return nil
	}
}

func TestSIGTERM(t *testing.T) {
	cmd, c := startProcess(t)
	if _, err := c.Request(wire.Shell, "execute_request", executeObject("%print running\n%loop")); err != nil {
		t.Fatal(err)
	}
	awaitRunning(t, c)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := exit(t, cmd); err != nil {
		t.Errorf("the kernel ends with %v, want no error", err)
	}
}

// awaitRunning waits for the first output of a cell.
func awaitRunning(t *testing.T, c *transport.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		m, err := c.Receive(ctx, wire.IOPub)
		if err != nil {
			t.Fatalf("the cell does not run: %v", err)
		}
		if m.Header.MsgType == "stream" {
			return
		}
	}
}

// TestSIGINT checks that SIGINT stops a cell and keeps the session, and that it
// has no effect while the kernel is idle.
func TestSIGINT(t *testing.T) {
	cmd, c := startProcess(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	reply := func(code string, during func()) object {
		t.Helper()
		h, err := c.Request(wire.Shell, "execute_request", executeObject(code))
		if err != nil {
			t.Fatal(err)
		}
		during()
		for {
			m, err := c.Receive(ctx, wire.Shell)
			if err != nil {
				t.Fatal(err)
			}
			if m.Parent.MsgID == h.MsgID {
				return content(m)
			}
		}
	}
	interrupt := func() {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		got := reply("%print running\n%loop", func() {
			awaitRunning(t, c)
			interrupt()
		})
		if got["ename"] != "Interrupted" {
			t.Errorf("an interrupted cell gives %v", got)
		}
		if got := reply("as is", func() {}); got["status"] != "ok" {
			t.Errorf("the next cell gives %v", got)
		}
	}
	interrupt()
	got := reply("as is", func() {})
	if got["ename"] == "Interrupted" { // the signal came late; it must not stop a second cell
		got = reply("as is", func() {})
	}
	if got["status"] != "ok" {
		t.Errorf("after an interrupt while idle a cell gives %v", got)
	}
}

// TestOrphan checks that a kernel ends when its parent, here a shell, is
// killed.
func TestOrphan(t *testing.T) {
	cmd, c := startProcess(t, "/bin/sh", "-c", `"$@"; true`, "sh")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if _, err := c.Ping(ctx); err != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Error("the kernel outlives its parent")
	}
}

func TestServeErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	write(t, bad, object{"transport": "pgm"})
	for file, says := range map[string]string{
		filepath.Join(dir, "none.json"): "no such file",
		bad:                             "transport",
	} {
		err := Serve(context.Background(), file, echo.New(), Options{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error is %v, want %q in it", file, err, says)
		}
	}
	if _, err := NewLog(&bytes.Buffer{}, "loud"); err == nil || !strings.Contains(err.Error(), "DACE_LOG") {
		t.Errorf("an unknown level gives %v", err)
	}
}
