package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wheel is a Python package that stands in for JupyterLab.
func wheel(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	const info = "jupyterlab-4.0.0.dist-info/"
	var list strings.Builder
	for _, f := range [][2]string{
		{"jupyterlab/__init__.py", "def main():\n    print('a laboratory')\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: jupyterlab\nVersion: 4.0.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "entry_points.txt", "[console_scripts]\njupyter-lab = jupyterlab:main\n"},
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

// TestPythonLab installs from a package index of our own.
func TestPythonLab(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	if exec.Command(python, "-c", "import venv, ensurepip").Run() != nil {
		t.Skip("python3 makes no virtual environments here (on Debian: python3-venv)")
	}
	const name = "jupyterlab-4.0.0-py3-none-any.whl"
	data := wheel(t)
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/simple/jupyterlab/"):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<!DOCTYPE html><html><body><a href="/%s">%s</a></body></html>`, name, name)
		case r.URL.Path == "/"+name:
			w.Write(data)
		default:
			http.NotFound(w, r)
		}
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
	in, out := newInstaller(settings{prefix: prefix})
	spec, err := readSpec(at.spec)
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
	if err := in.uninstall(at); err != nil {
		t.Fatal(err)
	}
	if left := files(t, prefix); len(left) > 0 {
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

// pathWithout is the PATH without the folders that hold a program.
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
