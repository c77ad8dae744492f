package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/files"
	"dace.local/kernel/setup"
)

// aNotebook has a cell, a figure, and a run of the library.
const aNotebook = `{"cells": [
 {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [], "source": "1 + 1"},
 {"cell_type": "code", "id": "b", "metadata": {}, "execution_count": null, "outputs": [], "source":
  "p := plot.New()\nline, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 2}})\np.Add(line)\np"},
 {"cell_type": "code", "id": "c", "metadata": {}, "execution_count": null, "outputs": [], "source":
  "r, err := brkga.Run(ctx, onemax.Random(1, 30), brkga.Settings{Evaluations: 3000, Seed: 1})\nfmt.Println(r.Value)"}
], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
`

// TestAlone copies nothing but the built command to an empty folder, and uses
// it without Go, without any other program on the PATH and without the caches
// of a home: it installs itself, runs cells as an installed kernel, is
// diagnosed, and uninstalls itself. Afterwards the files are as before.
func TestAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, where := range [][]string{nil, {"-prefix", "PREFIX", "-name", "dace-next", "-display-name", "Go, next"}} {
		dir := t.TempDir()
		home := filepath.Join(dir, "home")
		if err := os.Mkdir(home, 0o755); err != nil {
			t.Fatal(err)
		}
		from, err := buildOnce()
		if err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		alone := filepath.Join(dir, "dace")
		if err := files.WriteProgram(alone, program); err != nil {
			t.Fatal(err)
		}
		notebook := filepath.Join(dir, "in.ipynb")
		if err := os.WriteFile(notebook, []byte(aNotebook), 0o644); err != nil {
			t.Fatal(err)
		}
		env := []string{"HOME=" + home, "PATH=" + filepath.Join(dir, "nothing")}
		call := func(command string, args ...string) string {
			t.Helper()
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "PREFIX", filepath.Join(dir, "pre fix"))
			}
			cmd := exec.CommandContext(t.Context(), command, args...)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s %q: %v\n%s", command, args, err, out)
			}
			return string(out)
		}
		before := paths(t, dir)

		out := call(alone, append([]string{"install"}, where...)...)
		if !strings.Contains(out, "1 + 1 = 2") {
			t.Errorf("install: %s", out)
		}
		spec, installed := filepath.Join(home, ".local/share/jupyter/kernels/dace"), filepath.Join(home, ".local/bin/dace")
		title := "Go (dace)"
		if where != nil {
			spec, installed = filepath.Join(dir, "pre fix/share/jupyter/kernels/dace-next"), filepath.Join(dir, "pre fix/bin/dace-next")
			title = "Go, next"
		}
		copied, err := os.ReadFile(installed)
		if err != nil || !bytes.Equal(copied, program) {
			t.Errorf("the installed command is not the one that installed it (%v)", err)
		}
		kernel, err := setup.ReadSpec(spec)
		if err != nil || kernel.DisplayName != title || kernel.InterruptMode != "message" || kernel.Argv[0] != installed {
			t.Errorf("kernelspec %+v, %v", kernel, err)
		}

		result := filepath.Join(dir, "out.ipynb")
		call(installed, "run", notebook, "-o", result)
		shown, err := os.ReadFile(result)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"2"`, `image/png`, `"30\n"`} {
			if !bytes.Contains(shown, []byte(want)) {
				t.Errorf("the executed notebook has no %s", want)
			}
		}
		if out := asKernel(t, spec, env); out != "2" {
			t.Errorf("1 + 1 gave %q in the installed kernel", out)
		}
		prefix := []string{}
		if where != nil {
			prefix = where[:2]
		}
		out = call(installed, append([]string{"doctor"}, prefix...)...)
		if !strings.Contains(out, "- Go  ") || !strings.Contains(out, "- JupyterLab") || where == nil && !strings.Contains(out, "starts this file") {
			t.Errorf("doctor: %s", out)
		}
		if err := os.Remove(result); err != nil {
			t.Fatal(err)
		}
		if where == nil && slices.Equal(paths(t, dir), before) {
			t.Error("the kernel keeps no history, so the test does not see it removed")
		}
		out = call(installed, append([]string{"uninstall"}, where...)...)
		if after := paths(t, dir); !slices.Equal(after, before) {
			t.Errorf("before there is %q, afterwards %q\n%s", before, after, out)
		}
	}
}

// asKernel starts the kernel of a kernelspec as Jupyter does, with the given
// environment, and returns the result of a cell.
func asKernel(t *testing.T, spec string, env []string) string {
	t.Helper()
	k, err := setup.Start(t.Context(), spec, t.TempDir(), env, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := k.Execute(t.Context(), "1 + 1")
	if err = errors.Join(err, k.End(t.Context())); err != nil {
		t.Error(err)
	}
	return result
}

// TestSameSpec checks that `dace install` writes the same kernelspec, byte for
// byte, as `go run ./install`.
func TestSameSpec(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	prefix := filepath.Join(t.TempDir(), "prefix")
	// The record lists what kernels keep if it is not there yet: no other test's may be.
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	read := func(at setup.Place) map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, name := range paths(t, at.Spec) {
			text, err := os.ReadFile(filepath.Join(at.Spec, name))
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(text)
		}
		return all
	}
	at := inPrefix(t, prefix)
	want := read(at)
	in, _ := newInstaller(below(prefix))
	if err := in.Uninstall(at); err != nil {
		t.Fatal(err)
	}
	from, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), from, "install", "-prefix", prefix).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := read(at)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s\nwant %s", name, got[name], text)
		}
	}
	if len(got) != len(want) || !json.Valid([]byte(got["kernel.json"])) {
		t.Errorf("there are %d files, want %d", len(got), len(want))
	}
	if out, err := exec.CommandContext(t.Context(), from, "uninstall", "-prefix", prefix).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(prefix); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %q", prefix, paths(t, prefix))
	}
}
