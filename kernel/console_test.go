package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A typed is a cell and what it shows, or a part of that.
type typed struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// magicCells returns the cells with which the magics are tested in front ends; the
// browser test runs them in JupyterLab.
func magicCells(t *testing.T) []typed {
	t.Helper()
	raw, err := os.ReadFile("../install/jupyterlab/cells.dace.json")
	if err != nil {
		t.Fatal(err)
	}
	var cells struct{ Magics []typed }
	if err := json.Unmarshal(raw, &cells); err != nil {
		t.Fatal(err)
	}
	return cells.Magics
}

// TestMagicCells finds each magic of the page of magics in the cells.
func TestMagicCells(t *testing.T) {
	page, err := os.ReadFile("docs/magics.md")
	if err != nil {
		t.Fatal(err)
	}
	// Those that need a network, the Go toolchain or a cell that has panicked have tests of
	// their own, and the browser test looks at what %load does.
	elsewhere := []string{"%get", "%gomod", "%%compile", "%debug", "%load"}
	cells := magicCells(t)
	names := regexp.MustCompile("(?m)^\\*\\*`(%%?[a-z]+)").FindAllStringSubmatch(string(page), -1)
	if len(names) < 30 {
		t.Fatalf("the page has only %d magics", len(names))
	}
	for _, m := range names {
		used := func(c typed) bool {
			return slices.ContainsFunc(strings.Split(c.Code, "\n"), func(line string) bool { return line == m[1] || strings.HasPrefix(line, m[1]+" ") })
		}
		if !slices.ContainsFunc(cells, used) && !slices.Contains(elsewhere, m[1]) {
			t.Errorf("no cell of install/jupyterlab/cells.dace.json has the magic %s", m[1])
		}
	}
}

// TestConsole types the magics into jupyter console on a terminal.
func TestConsole(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	needPython(t, "jupyter_console")
	dir := t.TempDir()
	writeSpec(t, dir)
	raw, err := json.Marshal(magicCells(t))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cells.json"), string(raw))
	script, err := filepath.Abs("testdata/console.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, script, "dace", filepath.Join(dir, "cells.json"))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "JUPYTER_PATH="+dir, "JUPYTER_RUNTIME_DIR="+filepath.Join(dir, "runtime"), "HOME="+dir, "XDG_STATE_HOME=")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "ok") {
		t.Errorf("the console: %v\n%s", err, out)
	}
}
