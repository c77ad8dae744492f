package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dace.local/kernel/setup"
)

// buildDir is the folder of the kernel that the tests install. It is built
// once, unless -test has built it.
var buildDir string

var buildOnce = sync.OnceValues(func() (string, error) {
	if built := os.Getenv(testCommand); built != "" {
		return built, nil
	}
	var err error
	if buildDir, err = os.MkdirTemp("", "dace-install-test-"); err != nil {
		return "", err
	}
	name := filepath.Join(buildDir, "dace")
	return name, buildAway(context.Background(), "..", name)
})

func TestMain(m *testing.M) {
	if prefix := os.Getenv("DACE_TEST_KILLED"); prefix != "" {
		killedMain(prefix)
		return
	}
	// Build with the same CGO_ENABLED and GOCACHE as `go test`, so that packages
	// are not compiled twice.
	for _, name := range []string{"CGO_ENABLED", "GOCACHE"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			os.Setenv(name, strings.TrimSpace(string(out)))
		}
	}
	state, err := os.MkdirTemp("", "dace-install-state-")
	if err != nil {
		panic(err)
	}
	os.Setenv("DACE_PREBUILD", "off") // nothing goes on when a test has ended
	// What the tests' kernels keep; the tests remove it with the kernels.
	os.Setenv("XDG_STATE_HOME", filepath.Join(state, "state"))
	os.Setenv("XDG_CACHE_HOME", filepath.Join(state, "cache"))
	code := m.Run()
	os.RemoveAll(state)
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// newInstaller returns an installer that copies the kernel of buildOnce instead
// of building one, and its output.
func newInstaller(set settings) (*installer, *bytes.Buffer) {
	var out bytes.Buffer
	set.skipQuickstart = true
	set.Out = &out
	set.Build = func(_ context.Context, to string) error {
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
	}
	return &installer{settings: set, out: &out, err: &out}, &out
}

// below returns the settings for a prefix.
func below(prefix string) settings {
	return settings{Installer: setup.Installer{Prefix: prefix}}
}

// inPrefix installs the kernel below a prefix and returns the paths.
func inPrefix(t *testing.T, prefix string) setup.Place {
	t.Helper()
	in, out := newInstaller(below(prefix))
	if err := in.install(t.Context(), repository(t)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at, err := in.Place(t.Context())
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

// paths returns the paths of everything below a folder.
func paths(t *testing.T, dir string) []string {
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
	if testing.Short() {
		t.Skip("takes seconds")
	}
	prefix := filepath.Join(t.TempDir(), "new", "prefix with spaces")
	at := inPrefix(t, prefix)
	want := []string{
		"bin", "bin/dace", "share", "share/jupyter", "share/jupyter/kernels", "share/jupyter/kernels/dace",
		"share/jupyter/kernels/dace/kernel.json", "share/jupyter/kernels/dace/logo-32x32.png",
		"share/jupyter/kernels/dace/logo-64x64.png", "share/jupyter/kernels/dace/logo-svg.svg",
	}
	if got := paths(t, prefix); !slices.Equal(got, want) {
		t.Fatalf("installed %q, want %q", got, want)
	}
	spec, err := setup.ReadSpec(at.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if spec.DisplayName != "Go (dace)" || spec.Language != "go" || spec.InterruptMode != "message" || !spec.Metadata.Debugger ||
		!slices.Equal(spec.Argv, []string{at.Binary, "jupyter", "-f", "{connection_file}"}) || !filepath.IsAbs(at.Binary) {
		t.Errorf("kernelspec: %+v", spec)
	}

	// Install again while the kernel is running: the running process keeps its
	// file.
	running := exec.Command(at.Binary, "script", "-")
	stdin, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(at.Binary)
	if err != nil {
		t.Fatal(err)
	}
	inPrefix(t, prefix)
	after, err := os.Stat(at.Binary)
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
	if got := paths(t, prefix); !slices.Equal(got, want) {
		t.Errorf("after the second time there is %q", got)
	}

	// Files of others in the same folders stay.
	other := filepath.Join(prefix, "bin", "other")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	in, said := newInstaller(below(prefix))
	in.Dry = true
	if err := in.Uninstall(at); err != nil || !strings.Contains(said.String(), "Would remove "+at.Spec+" and "+at.Binary+".\n") {
		t.Errorf("a dry run says %q, %v", said, err)
	}
	if got, want := paths(t, prefix), slices.Insert(slices.Clone(want), 2, "bin/other"); !slices.Equal(got, want) {
		t.Errorf("after a dry run there is %q, want %q", got, want)
	}
	in.Dry = false
	if err := in.Uninstall(at); err != nil {
		t.Fatal(err)
	}
	if got, want := paths(t, prefix), []string{"bin", "bin/other"}; !slices.Equal(got, want) {
		t.Errorf("after uninstalling there is %q, want %q", got, want)
	}
	if err := in.Uninstall(at); err != nil {
		t.Errorf("uninstalling what is not there: %v", err)
	}

	// Nothing stays if the folders did not exist before.
	os.Remove(other)
	os.RemoveAll(filepath.Dir(prefix))
	at = inPrefix(t, prefix)
	if err := in.Uninstall(at); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(prefix)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folders that the installer made stay: %v", err)
	}
}

func TestForeign(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
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
			in, _ := newInstaller(below(prefix))
			err := in.install(t.Context(), repository(t))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "-force") {
				t.Fatalf("error %v, want one that says %q and -force", err, test.want)
			}
			if text, _ := os.ReadFile(file); string(text) != test.text {
				t.Errorf("%s was changed", file)
			}
			at, _ := in.Place(t.Context())
			if test.file != "bin/dace" {
				if err := in.Uninstall(at); err == nil {
					t.Error("it was uninstalled")
				}
			}
			in.Force = true
			if err := in.install(t.Context(), repository(t)); err != nil {
				t.Errorf("with -force: %v", err)
			}
		})
	}
}

// TestCannotWrite checks that the error gives the reason, and that nothing is
// left behind.
func TestCannotWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
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
	in, _ := newInstaller(below(prefix))
	err := in.install(t.Context(), repository(t))
	if err == nil || !strings.Contains(err.Error(), "cannot write into "+prefix) || !strings.Contains(err.Error(), "-prefix DIR") {
		t.Errorf("error %v does not say what to do", err)
	}
	if got := paths(t, prefix); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
}

// TestBuildFails checks that an earlier installation stays unchanged if the
// build fails.
func TestBuildFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	prefix := t.TempDir()
	at := inPrefix(t, prefix)
	before := paths(t, prefix)
	in, _ := newInstaller(below(prefix))
	in.Build = func(_ context.Context, to string) error {
		os.WriteFile(to, []byte("half"), 0o644)
		return errors.New("no compiler today")
	}
	if err := in.install(t.Context(), repository(t)); err == nil || !strings.Contains(err.Error(), "no compiler today") {
		t.Fatalf("error %v", err)
	}
	if got := paths(t, prefix); !slices.Equal(got, before) {
		t.Errorf("there is %q, want %q", got, before)
	}
	if !setup.IsOurs(at.Binary) {
		t.Error("the command is broken")
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-user", "-sys-prefix"}, {"-prefix", "x", "-user"}, {"-uninstall", "-test"}, {"-test", "-quiet"}, {"-all"}, {"more"}, {"-nonsense"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out, &out); !errors.Is(err, errUsage) || out.Len() == 0 {
			t.Errorf("%q: error %v, output %q", args, err, &out)
		}
	}
}

// needPython skips the test if Python modules are missing, or fails it with
// DACE_REQUIRE_CLIENTS=1.
func needPython(t *testing.T, modules ...string) {
	t.Helper()
	if out, err := exec.Command(setup.SystemPython, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput(); err != nil {
		missing(t, fmt.Sprintf("%s lacks a module of %s (%v); `go run ./install -test` installs it\n%s", setup.SystemPython, modules, err, tail(out, 1)))
	}
}

// missing skips a test because of a missing program, or fails it with
// DACE_REQUIRE_CLIENTS=1.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// TestJupyterClient starts the installed kernel as Jupyter finds it in its
// search for kernelspecs, without the go command on the PATH.
func TestJupyterClient(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	needPython(t, "jupyter_client")
	at := inPrefix(t, filepath.Join(t.TempDir(), "p"))
	jupyterPath := "JUPYTER_PATH=" + filepath.Dir(filepath.Dir(at.Spec))

	list := exec.Command(setup.SystemPython, "-m", "jupyter_client.kernelspecapp", "list")
	list.Env = append(os.Environ(), jupyterPath)
	out, err := list.CombinedOutput()
	if err != nil || !strings.Contains(string(out), at.Spec) {
		t.Errorf("jupyter kernelspec list: %v\n%s", err, out)
	}

	cmd := exec.CommandContext(t.Context(), setup.SystemPython, "testdata/client.py", t.TempDir())
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
	if seen.Spec != at.Spec {
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
