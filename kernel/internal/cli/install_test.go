package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallUsage(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"JUPYTER_DATA_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", home) // no python3 that could be asked for a prefix
	dace(t, "", "install", "-user", "-prefix", home).want(t, 2, "", "-user, -prefix and -sys-prefix exclude each other")
	dace(t, "", "install", "-name", "no name").want(t, 1, "", `"no name" is no name for a kernel`)
	dace(t, "", "uninstall", "-name", "../x").want(t, 1, "", `"../x" is no name for a kernel`)
	dace(t, "", "uninstall").want(t, 0, "Nothing to remove: there is no kernelspec in "+filepath.Join(home, ".local"), "")
	dace(t, "", "uninstall", "-quiet").want(t, 0, "", "")
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("uninstalling nothing writes %v, %v", entries, err)
	}
}

// TestDoctor checks that what is missing is named with what it costs, and that
// a registration whose command is gone is a fault.
func TestDoctor(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"JUPYTER_DATA_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", home)
	t.Setenv("GOMAXPROCS", "")
	call := func(missing error) (int, string) {
		var out, errs bytes.Buffer
		code := Main(&Env{Args: []string{"doctor"}, Stdout: &out, Stderr: &errs, Compiler: func() error { return missing }})
		if errs.Len() > 0 {
			t.Errorf("doctor: %s", &errs)
		}
		return code, out.String()
	}
	code, out := call(errors.New("there is no C compiler"))
	for _, want := range []string{"  processors ", "  memory ", "- JupyterLab ", "- kernel         is not registered with Jupyter\n                 to do: dace install", "- Go ", "- gcc ", "- compiled cells cells that begin with %%compile run interpreted, about a hundred times slower: there is no C compiler", ".local/state/dace: nothing yet"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if _, out := call(nil); !strings.Contains(out, "  compiled cells can be built here\n") {
		t.Errorf("compiled cells: %s", out)
	}
	for before, line, _ := strings.Cut(out, "\n"); before != ""; before, line, _ = strings.Cut(line, "\n") {
		if (before[0] == '-' || before[0] == '!') && !strings.HasPrefix(line, "                 to do: ") {
			t.Errorf("%q names no remedy", before)
		}
	}
	spec := filepath.Join(home, ".local/share/jupyter/kernels/dace")
	if err := os.MkdirAll(spec, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"argv": ["/nowhere/dace"], "display_name": "Go (dace)", "metadata": {"dace.local": {"binary": "/nowhere/dace"}}}`
	if err := os.WriteFile(filepath.Join(spec, "kernel.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := call(nil); code != exitFailed || !strings.Contains(out, `! kernel         "Go (dace)" in `+spec+` starts "/nowhere/dace", which is not there`+"\n                 to do: dace install, with") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
