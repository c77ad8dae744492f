package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// buildDir holds the kernel that the tests install, built once.
var buildDir string

var buildOnce = sync.OnceValues(func() (string, error) {
	var err error
	if buildDir, err = os.MkdirTemp("", "dace-install-test-"); err != nil {
		return "", err
	}
	name := filepath.Join(buildDir, "dace")
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	return name, buildKernel(context.Background(), root, name)
})

func TestMain(m *testing.M) {
	// Build as `go test` does, and so compile nothing a second time.
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err == nil {
		os.Setenv("CGO_ENABLED", strings.TrimSpace(string(out)))
	}
	state, err := os.MkdirTemp("", "dace-install-state-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", state) // the kernels' history
	code := m.Run()
	os.RemoveAll(state)
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// newInstaller returns an installer that takes the kernel built once.
func newInstaller(set settings) (*installer, *bytes.Buffer) {
	var out bytes.Buffer
	set.skipQuickstart = true
	return &installer{settings: set, out: &out, err: &out, build: func(_ context.Context, to string) error {
		from, err := buildOnce()
		if err != nil {
			return err
		}
		r, err := os.Open(from)
		if err != nil {
			return err
		}
		defer r.Close()
		w, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, r)
		return errors.Join(err, w.Close())
	}}, &out
}

// inPrefix installs into a folder and returns the place.
func inPrefix(t *testing.T, prefix string) place {
	t.Helper()
	in, out := newInstaller(settings{prefix: prefix})
	if err := in.install(t.Context(), repository(t)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at, err := in.place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// files lists what is below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && name != dir {
			rel, _ := filepath.Rel(dir, name)
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestInstallAgainAndUninstall(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "new", "prefix with spaces")
	at := inPrefix(t, prefix)
	want := []string{
		"bin", "bin/dace", "share", "share/jupyter", "share/jupyter/kernels", "share/jupyter/kernels/dace",
		"share/jupyter/kernels/dace/kernel.json", "share/jupyter/kernels/dace/logo-32x32.png",
		"share/jupyter/kernels/dace/logo-64x64.png", "share/jupyter/kernels/dace/logo-svg.svg",
	}
	if got := files(t, prefix); !slices.Equal(got, want) {
		t.Fatalf("installed %q, want %q", got, want)
	}
	spec, err := readSpec(at.spec)
	if err != nil {
		t.Fatal(err)
	}
	if spec.DisplayName != "Go (dace)" || spec.Language != "go" || spec.InterruptMode != "message" ||
		!slices.Equal(spec.Argv, []string{at.binary, "jupyter", "-f", "{connection_file}"}) || !filepath.IsAbs(at.binary) {
		t.Errorf("kernelspec: %+v", spec)
	}

	// Again, while the kernel is running: the running one keeps its file.
	running := exec.Command(at.binary, "script", "-")
	stdin, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(at.binary)
	if err != nil {
		t.Fatal(err)
	}
	inPrefix(t, prefix)
	after, err := os.Stat(at.binary)
	if err != nil {
		t.Fatal(err)
	}
	if os.SameFile(before, after) {
		t.Error("the command was written in place, not replaced")
	}
	io.WriteString(stdin, "x := 1\n_ = x\n")
	stdin.Close()
	if err := running.Wait(); err != nil {
		t.Errorf("the running command: %v", err)
	}
	if got := files(t, prefix); !slices.Equal(got, want) {
		t.Errorf("after the second time there is %q", got)
	}

	// What others put beside it stays.
	other := filepath.Join(prefix, "bin", "other")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	in, _ := newInstaller(settings{prefix: prefix})
	if err := in.uninstall(at); err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, prefix), []string{"bin", "bin/other"}; !slices.Equal(got, want) {
		t.Errorf("after uninstalling there is %q, want %q", got, want)
	}
	if err := in.uninstall(at); err != nil {
		t.Errorf("uninstalling what is not there: %v", err)
	}

	// And nothing at all stays where there was nothing before.
	os.Remove(other)
	os.RemoveAll(filepath.Dir(prefix))
	at = inPrefix(t, prefix)
	if err := in.uninstall(at); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(prefix)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folders that the installer made stay: %v", err)
	}
}

func TestForeign(t *testing.T) {
	write := func(t *testing.T, name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, file, text, want string
	}{
		{"spec", "share/jupyter/kernels/dace/kernel.json", `{"argv": ["x"], "display_name": "Data-centric"}`, `that this installer did not write ("Data-centric")`},
		{"broken spec", "share/jupyter/kernels/dace/kernel.json", `{`, "that this installer did not write"},
		{"command", "bin/dace", "#!/bin/sh\n", "bin/dace is another program"},
	} {
		t.Run(test.name, func(t *testing.T) {
			prefix := t.TempDir()
			file := filepath.Join(prefix, filepath.FromSlash(test.file))
			write(t, file, test.text)
			in, _ := newInstaller(settings{prefix: prefix})
			err := in.install(t.Context(), repository(t))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "-force") {
				t.Fatalf("error %v, want one that says %q and -force", err, test.want)
			}
			if text, _ := os.ReadFile(file); string(text) != test.text {
				t.Errorf("%s was changed", file)
			}
			at, _ := in.place(t.Context())
			if test.file != "bin/dace" {
				if err := in.uninstall(at); err == nil {
					t.Error("it was uninstalled")
				}
			}
			in.force = true
			if err := in.install(t.Context(), repository(t)); err != nil {
				t.Errorf("with -force: %v", err)
			}
		})
	}
}

// TestCannotWrite: the reason is said, and nothing is left behind.
func TestCannotWrite(t *testing.T) {
	t.Run("a file in the way", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "share"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		cannotWrite(t, dir, []string{"share"})
	})
	t.Run("no permission", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may write everywhere")
		}
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		cannotWrite(t, dir, nil)
	})
}

func cannotWrite(t *testing.T, prefix string, want []string) {
	t.Helper()
	in, _ := newInstaller(settings{prefix: prefix})
	err := in.install(t.Context(), repository(t))
	if err == nil || !strings.Contains(err.Error(), "cannot write into "+prefix) || !strings.Contains(err.Error(), "-prefix DIR") {
		t.Errorf("error %v does not say what to do", err)
	}
	if got := files(t, prefix); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
}

// TestBuildFails: what was installed before stays as it was.
func TestBuildFails(t *testing.T) {
	prefix := t.TempDir()
	at := inPrefix(t, prefix)
	before := files(t, prefix)
	in, _ := newInstaller(settings{prefix: prefix})
	in.build = func(_ context.Context, to string) error {
		os.WriteFile(to, []byte("half"), 0o644)
		return errors.New("no compiler today")
	}
	if err := in.install(t.Context(), repository(t)); err == nil || !strings.Contains(err.Error(), "no compiler today") {
		t.Fatalf("error %v", err)
	}
	if got := files(t, prefix); !slices.Equal(got, before) {
		t.Errorf("there is %q, want %q", got, before)
	}
	if !isOurs(at.binary) {
		t.Error("the command is broken")
	}
}

// TestProveFails: a kernel that does not work is not praised.
func TestProveFails(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ name, script, want string }{
		{"ends", "echo no such library >&2; exit 3", "no such library"},
		{"is not there", "", "cannot be started"},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := filepath.Join(dir, "kernel.sh")
			os.Remove(program)
			if test.script != "" {
				if err := os.WriteFile(program, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := (place{spec: dir, binary: program}).register(&record{}); err != nil {
				t.Fatal(err)
			}
			if note, err := prove(t.Context(), dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v; want an error with %q", note, err, test.want)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	home := t.TempDir()
	for _, test := range []struct {
		name         string
		set          settings
		env          []string
		spec, binary string
		notOn        string
	}{
		{name: "user", spec: "~/.local/share/jupyter/kernels/dace", binary: "~/.local/bin/dace", notOn: "darwin"},
		{name: "user, XDG", env: []string{"XDG_DATA_HOME=~/data"}, spec: "~/data/jupyter/kernels/dace", binary: "~/.local/bin/dace", notOn: "darwin"},
		{name: "user, Jupyter's own", env: []string{"JUPYTER_DATA_DIR=~/j", "XDG_DATA_HOME=~/data"}, spec: "~/j/kernels/dace", binary: "~/.local/bin/dace"},
		{name: "prefix", set: settings{prefix: "~/p"}, spec: "~/p/share/jupyter/kernels/dace", binary: "~/p/bin/dace"},
		{name: "virtual environment", set: settings{sysPrefix: true}, env: []string{"VIRTUAL_ENV=~/venv", "CONDA_PREFIX=~/conda"}, spec: "~/venv/share/jupyter/kernels/dace", binary: "~/venv/bin/dace"},
		{name: "conda", set: settings{sysPrefix: true}, env: []string{"CONDA_PREFIX=~/conda"}, spec: "~/conda/share/jupyter/kernels/dace", binary: "~/conda/bin/dace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := func(s string) string { return strings.Replace(s, "~", home, 1) }
			for _, name := range []string{"JUPYTER_DATA_DIR", "XDG_DATA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", home)
			for _, e := range test.env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, in(value))
			}
			test.set.prefix = in(test.set.prefix)
			at, err := (&installer{settings: test.set}).place(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if at.binary != in(test.binary) {
				t.Errorf("command at %s, want %s", at.binary, in(test.binary))
			}
			if at.spec != in(test.spec) && test.notOn != "darwin" {
				t.Errorf("kernelspec at %s, want %s", at.spec, in(test.spec))
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-user", "-sys-prefix"}, {"-prefix", "x", "-user"}, {"-uninstall", "-test"}, {"-test", "-quiet"}, {"more"}, {"-nonsense"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out, &out); !errors.Is(err, errUsage) || out.Len() == 0 {
			t.Errorf("%q: error %v, output %q", args, err, &out)
		}
	}
}

func TestLogos(t *testing.T) {
	logos := specFiles()
	for name, size := range map[string]int{"logo-32x32.png": 32, "logo-64x64.png": 64} {
		c, err := png.DecodeConfig(bytes.NewReader(logos[name]))
		if err != nil || c.Width != size || c.Height != size {
			t.Errorf("%s is %d x %d, %v", name, c.Width, c.Height, err)
		}
	}
	if !bytes.HasPrefix(logos["logo-svg.svg"], []byte("<svg ")) {
		t.Error("logo-svg.svg is no SVG")
	}
}

// needPython skips the test where Python modules are missing; with
// DACE_REQUIRE_CLIENTS=1 it fails instead.
func needPython(t *testing.T, modules ...string) {
	t.Helper()
	if out, err := exec.Command(debianPython, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput(); err != nil {
		missing(t, fmt.Sprintf("%s lacks a module of %s (%v); `go run ./install -test` installs it\n%s", debianPython, modules, err, tail(out, 1)))
	}
}

// missing skips a test, or fails it where every client is required.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// TestJupyterClient starts the installed kernel through Jupyter's own search
// for kernelspecs, without go on the PATH.
func TestJupyterClient(t *testing.T) {
	needPython(t, "jupyter_client")
	at := inPrefix(t, filepath.Join(t.TempDir(), "p"))
	jupyterPath := "JUPYTER_PATH=" + filepath.Dir(filepath.Dir(at.spec))

	list := exec.Command(debianPython, "-m", "jupyter_client.kernelspecapp", "list")
	list.Env = append(os.Environ(), jupyterPath)
	out, err := list.CombinedOutput()
	if err != nil || !strings.Contains(string(out), at.spec) {
		t.Errorf("jupyter kernelspec list: %v\n%s", err, out)
	}

	cmd := exec.CommandContext(t.Context(), debianPython, "testdata/client.py", t.TempDir())
	cmd.Env = append(os.Environ(), jupyterPath)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err = cmd.Output(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var seen struct {
		Spec, Status, Interrupt string
		First, After            []string
		Gone                    bool
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if seen.Spec != at.spec {
		t.Errorf("Jupyter took %s", seen.Spec)
	}
	if seen.Status != "ok" || !slices.Contains(seen.First, "20\n") || !slices.Contains(seen.First, "21") {
		t.Errorf("first cell: %s, %q", seen.Status, seen.First)
	}
	if seen.Interrupt != "error" {
		t.Errorf("interrupted cell: %s", seen.Interrupt)
	}
	if !slices.Contains(seen.After, "40") {
		t.Errorf("after the interrupt: %q", seen.After)
	}
	if !seen.Gone {
		t.Error("the kernel is still there")
	}
}
