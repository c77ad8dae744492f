package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestJupyterLab uses the installed kernel in JupyterLab in a headless browser:
// launcher, a run of the whole quickstart, completion, interrupt, restart and
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
	ctx, cancel := context.WithTimeout(t.Context(), 18*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, frontEnd(root), "smoke", "dace",
		"--notebook="+filepath.Join(root, "notebooks", "quickstart.ipynb"))
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
