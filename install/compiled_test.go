package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compiledCells is a notebook that compiles a cell with two imported libraries
// and calls its functions.
const compiledCells = `{"cells": [
 {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [], "source":
  "%%compile\nimport (\n\t\"gonum.org/v1/gonum/mat\"\n\t\"gonum.org/v1/plot\"\n)\n\nfunc trace(n int) float64 {\n\tm := mat.NewDense(n, n, nil)\n\tfor i := range n {\n\t\tm.Set(i, i, 2)\n\t}\n\treturn mat.Trace(m)\n}\n\nfunc titled() string {\n\tp := plot.New()\n\tp.Title.Text = \"compiled\"\n\treturn p.Title.Text\n}"},
 {"cell_type": "code", "id": "c", "metadata": {}, "execution_count": null, "outputs": [], "source": "fmt.Println(titled(), trace(7))"}
], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
`

// TestCompiledCellsForEveryone checks that every user of an installed kernel
// can compile cells: with another home, module cache and GOFLAGS, and after the
// clone is gone ([buildOnce] builds in a copy that it removes).
func TestCompiledCellsForEveryone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	goEnv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if goEnv("CGO_ENABLED") != "1" {
		t.Skip("the kernel is built without cgo and cannot load compiled cells")
	}
	at := inPrefix(t, filepath.Join(t.TempDir(), "prefix"))
	for _, flags := range []string{"", "-mod=vendor -tags=theirs"} {
		home := t.TempDir()
		name := filepath.Join(home, "cells.ipynb")
		if err := os.WriteFile(name, []byte(compiledCells), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), at.Binary, "run", name, "-o", filepath.Join(home, "out.ipynb"))
		cmd.Dir = home
		cmd.Env = []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOFLAGS=" + flags,
			// Compiled packages contain no path of this machine, so another
			// user can use this cache; here that saves time.
			"GOCACHE=" + goEnv("GOCACHE"),
			"GOPROXY=file://" + filepath.ToSlash(goEnv("GOMODCACHE")) + "/cache/download",
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "compiled 14") || strings.Contains(string(out), "interpreted") {
			t.Errorf("with GOFLAGS=%q: %v\n%s", flags, err, out)
		}
		built, err := filepath.Glob(filepath.Join(home, ".cache", "dace", "compiled", "*", "*.so"))
		if err != nil || len(built) != 1 {
			t.Errorf("with GOFLAGS=%q the home has the plugins %q (%v), want one", flags, built, err)
		}
		// Make the module cache writable, so that the test's folder can be
		// removed.
		_ = exec.Command("chmod", "-R", "u+w", home).Run()
	}
}
