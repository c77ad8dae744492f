package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/dacelib/files"
	"dace.local/kernel/setup"
)

// wheel returns a Python package that replaces JupyterLab, or a part of it, in
// tests. code is the source of its module, and commands are its console
// scripts.
func wheel(t *testing.T, name, code, commands string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	info := name + "-4.0.0.dist-info/"
	var list strings.Builder
	for _, f := range [][2]string{
		{name + "/__init__.py", code},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 4.0.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "entry_points.txt", "[console_scripts]\n" + commands},
		{info + "RECORD", ""},
	} {
		fmt.Fprintf(&list, "%s,,\n", f[0])
		if strings.HasSuffix(f[0], "RECORD") {
			f[1] = list.String()
		}
		file, err := w.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(file, f[1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestPythonLab installs JupyterLab from a package index that the test serves.
func TestPythonLab(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	if exec.Command(python, "-c", "import venv, ensurepip").Run() != nil {
		t.Skip("python3 makes no virtual environments here (on Debian: python3-venv)")
	}
	// The replacement of JupyterLab lists the widget manager as its extension
	// if it is installed.
	wheels := map[string][]byte{
		"jupyterlab": wheel(t, "jupyterlab", `
def main():
    print('a laboratory')

def extensions():
    try:
        import jupyterlab_widgets
        print('@jupyter-widgets/jupyterlab-manager')
    except ImportError:
        print('none')
`, "jupyter-lab = jupyterlab:main\njupyter-labextension = jupyterlab:extensions\n"),
		"jupyterlab-widgets": wheel(t, "jupyterlab_widgets", "", ""),
	}
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, data := range wheels {
			file := strings.ReplaceAll(name, "-", "_") + "-4.0.0-py3-none-any.whl"
			switch {
			case strings.HasSuffix(r.URL.Path, "/simple/"+name+"/"):
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<!DOCTYPE html><html><body><a href="/%s">%s</a></body></html>`, file, file)
				return
			case r.URL.Path == "/"+file:
				w.Write(data)
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(index.Close)
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	t.Setenv("PIP_INDEX_URL", index.URL+"/simple")
	t.Setenv("UV_DEFAULT_INDEX", index.URL+"/simple")
	t.Setenv("UV_NO_CONFIG", "1")
	for _, proxy := range []string{"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(proxy, "")
	}

	prefix := t.TempDir()
	at := inPrefix(t, prefix)
	in, out := newInstaller(below(prefix))
	spec, err := setup.ReadSpec(at.Spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", pathWithout(t, "jupyter-lab"))
	lab, err := in.setUpLab(t.Context(), t.TempDir(), at, spec.Metadata.Record)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := exec.Command(lab).CombinedOutput(); err != nil || string(got) != "a laboratory\n" {
		t.Errorf("%s: %v\n%s", lab, err, got)
	}
	if lacksWidgets(t.Context(), lab) {
		t.Error("it lacks the widget manager")
	}
	// A JupyterLab that was set up without the widget manager gets it.
	manager, err := filepath.Glob(filepath.Join(at.Lab(), "lib", "python*", "site-packages", widgetManager+"*"))
	if err != nil || len(manager) == 0 {
		t.Fatalf("the manager is not found: %v", err)
	}
	for _, dir := range manager {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if !lacksWidgets(t.Context(), lab) {
		t.Error("without the manager it is taken to have it")
	}
	if _, err := in.setUpLab(t.Context(), t.TempDir(), at, spec.Metadata.Record); err != nil || lacksWidgets(t.Context(), lab) {
		t.Errorf("the manager is not installed: %v", err)
	}
	if err := in.Uninstall(at); err != nil {
		t.Fatal(err)
	}
	if left := paths(t, prefix); len(left) > 0 {
		t.Errorf("after uninstalling there is %q", left)
	}

	index.Close()
	dir := filepath.Join(prefix, "share", "dace", "jupyterlab")
	err = pythonLab(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), "no Python package index answers") {
		t.Errorf("without an index: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s stays", dir)
	}
}

// pathWithout returns the PATH without the folders that contain a program.
func pathWithout(t *testing.T, program string) string {
	t.Helper()
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !isFile(filepath.Join(dir, program)) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(os.PathListSeparator))
}

func TestCommandError(t *testing.T) {
	err := command(t.Context(), t.TempDir(), nil, "sh", "-c", "echo why not; exit 4")
	if err == nil || !strings.Contains(err.Error(), "why not") || !strings.Contains(err.Error(), "status 4") {
		t.Errorf("error %v says neither what nor why", err)
	}
}

// TestTryOut: a command that refuses its Go is not installed, and the error is what
// it said.
func TestTryOut(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"echo version 1", ""},
		{"echo 'dace does not work with go1.99 (x): build it with GOTOOLCHAIN=y in the environment.' >&2; exit 1", "dace does not work with go1.99 (x): build it with GOTOOLCHAIN=y in the environment."},
		{"exit 3", "exit status 3"},
	} {
		name := filepath.Join(t.TempDir(), "dace")
		if err := files.WriteProgram(name, []byte("#!/bin/sh\n"+c.script+"\n")); err != nil {
			t.Fatal(err)
		}
		err := tryOut(context.Background(), name)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", c.script, err, c.want)
		}
	}
}
