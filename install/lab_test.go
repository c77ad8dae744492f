package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestJupyterLab opens the installed kernel in JupyterLab and works with it in
// a headless browser: launcher, the quickstart run as a whole, completion,
// interrupt, restart and more, see jupyterlab/smoke.mjs. The screenshots stay
// in jupyterlab/shots.
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
	at := inPrefix(t, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 18*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, frontEnd(root), "smoke", "dace",
		"--notebook="+filepath.Join(root, "notebooks", "quickstart.ipynb"))
	cmd.Env = append(os.Environ(),
		"JUPYTER_PATH="+filepath.Dir(filepath.Dir(at.spec)),
		"SMOKE_TIMEOUT=180000") // a page takes its time where others want the processor, too
	gentle(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
