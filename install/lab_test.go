package main

import (
	"context"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"dace.local/kernel/setup"
)

// servedCopy copies a folder as serve.py does, and says where it is.
const servedCopy = `
import sys
sys.path.insert(0, sys.argv[1])
import serve
print(serve.copied(sys.argv[2], sys.argv[3]))`

// What one does in JupyterLab is done in a copy of the notebooks: what was edited there
// stays when the clone's changes, and what was not follows it.
func TestServedCopy(t *testing.T) {
	root := repository(t)
	needPython(t, "jupyter_server", "jupyterlab_server")
	if !frontEndBuilt(root) {
		missing(t, "JupyterLab is not set up; `go run ./install -test` does it")
	}
	source, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write := func(dir, name, text string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	serve := func(want map[string]string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), setup.SystemPython, "-c", servedCopy, filepath.Join(root, "install", "jupyterlab"), source, to)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for name, text := range want {
			if b, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(b) != text {
				t.Errorf("%s: %q, %v, want %q", name, b, err, text)
			}
		}
	}
	write(source, "a.ipynb", "a", 4*time.Hour)
	write(source, "results/b.json", "b", 4*time.Hour)
	write(source, ".ipynb_checkpoints/a.ipynb", "old", 4*time.Hour)
	serve(map[string]string{"a.ipynb": "a", "results/b.json": "b"})
	write(to, "a.ipynb", "my a", 3*time.Hour)
	write(to, "mine.ipynb", "mine", 3*time.Hour)
	for _, name := range []string{"a.ipynb", "results/b.json", "c.ipynb"} {
		write(source, name, "new "+name, 2*time.Hour)
	}
	for range 2 {
		serve(map[string]string{"a.ipynb": "my a", "mine.ipynb": "mine", "results/b.json": "new results/b.json", "c.ipynb": "new c.ipynb"})
	}
	if b, err := os.ReadFile(filepath.Join(source, "a.ipynb")); err != nil || string(b) != "new a.ipynb" {
		t.Errorf("the clone's file is %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(to, ".ipynb_checkpoints")); err == nil {
		t.Error("hidden folders are copied")
	}
}

// labNotebook is a notebook of many figures that computes little; install itself runs the
// quickstart, which takes a minute of two processors.
var labNotebook = flag.String("lab.notebook", "gallery", "run the `notebook` of this name in JupyterLab")

// TestJupyterLab uses the installed kernel in JupyterLab in a headless browser:
// launcher, a run of a whole notebook, completion, interrupt, restart and
// more (see jupyterlab/smoke.mjs). Screenshots are written to jupyterlab/shots.
func TestJupyterLab(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes a minute or two")
	}
	root := repository(t)
	needPython(t, "jupyter_server", "jupyterlab_server")
	for _, program := range []string{"node", "chromium"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "there is no "+program+"; `go run ./install -test` installs it")
		}
	}
	if !frontEndBuilt(root) {
		missing(t, "JupyterLab is not set up; `go run ./install -test` does it")
	}
	prefix := t.TempDir()
	t.Setenv("PYTHONUSERBASE", prefix) // where the exporter is written
	at := inPrefix(t, prefix)
	if taken, err := net.Listen("tcp", "127.0.0.1:8899"); err == nil { // else by somebody's JupyterLab
		defer taken.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 18*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, frontEnd(root), "smoke", "dace", "--notebook="+filepath.Join(root, "notebooks", *labNotebook+".ipynb"))
	cmd.Env = append(os.Environ(),
		"JUPYTER_PATH="+filepath.Dir(filepath.Dir(at.Spec)),
		"SMOKE_TIMEOUT=180000") // milliseconds; pages are slow if the machine is busy
	gentle(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
