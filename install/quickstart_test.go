package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestQuickstartNBClient runs the quickstart on the installed kernel with
// nbclient, Jupyter's own runner, and checks its figures and its recovered
// targets.
func TestQuickstartNBClient(t *testing.T) {
	if testing.Short() {
		t.Skip("the quickstart takes a minute")
	}
	root := repository(t)
	needPython(t, "nbconvert", "nbclient")
	at := inPrefix(t, t.TempDir())
	out := filepath.Join(t.TempDir(), "quickstart.ipynb")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", "-m", "nbconvert", "--to", "notebook", "--execute",
		"--ExecutePreprocessor.timeout=500", "--output", out, filepath.Join(root, "notebooks", "quickstart.ipynb"))
	cmd.Env = append(os.Environ(), "JUPYTER_PATH="+filepath.Dir(filepath.Dir(at.Spec)))
	gentle(cmd)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var nb struct {
		Cells []struct {
			Type    string `json:"cell_type"`
			Outputs []struct {
				Type string                     `json:"output_type"`
				Data map[string]json.RawMessage `json:"data"`
			} `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(b, &nb); err != nil {
		t.Fatal(err)
	}
	code, figures, tables := 0, 0, 0
	for _, c := range nb.Cells {
		if c.Type == "code" {
			code++
		}
		for _, o := range c.Outputs {
			if o.Type == "error" {
				t.Errorf("a cell failed: %+v", o)
			}
			if o.Data["image/png"] != nil {
				figures++
			}
			if o.Type == "display_data" && o.Data["text/html"] != nil {
				tables++
			}
		}
	}
	// The figures show convergence, losses, hardening and a comparison; the
	// table holds the recovered targets.
	if code != 9 || figures != 4 || tables < 1 {
		t.Errorf("%d code cells with %d figures and %d tables, want 9, 4 and some", code, figures, tables)
	}
}
