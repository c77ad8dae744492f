package setup

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dace.local/dacelib/files"
)

// TestProveFails checks that kernels that do not work are reported.
func TestProveFails(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ name, script, want string }{
		{"ends", "echo no such library >&2; exit 3", "no such library"},
		{"is not there", "", "cannot be started"},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := filepath.Join(dir, "kernel.sh")
			os.Remove(program)
			if test.script != "" {
				if err := files.WriteProgram(program, []byte("#!/bin/sh\n"+test.script+"\n")); err != nil {
					t.Fatal(err)
				}
			}
			if err := new(Installer).Register(Place{Spec: dir, Binary: program}, &Record{}); err != nil {
				t.Fatal(err)
			}
			if note, err := Prove(t.Context(), dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v; want an error with %q", note, err, test.want)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	home := t.TempDir()
	for _, test := range []struct {
		name         string
		set          Installer
		env          []string
		spec, binary string
		notOn        string
	}{
		{name: "user", spec: "~/.local/share/jupyter/kernels/dace", binary: "~/.local/bin/dace", notOn: "darwin"},
		{name: "user, XDG", env: []string{"XDG_DATA_HOME=~/data"}, spec: "~/data/jupyter/kernels/dace", binary: "~/.local/bin/dace", notOn: "darwin"},
		{name: "user, Jupyter's own", env: []string{"JUPYTER_DATA_DIR=~/j", "XDG_DATA_HOME=~/data"}, spec: "~/j/kernels/dace", binary: "~/.local/bin/dace"},
		{name: "prefix", set: Installer{Prefix: "~/p"}, spec: "~/p/share/jupyter/kernels/dace", binary: "~/p/bin/dace"},
		{name: "virtual environment", set: Installer{SysPrefix: true}, env: []string{"VIRTUAL_ENV=~/venv", "CONDA_PREFIX=~/conda"}, spec: "~/venv/share/jupyter/kernels/dace", binary: "~/venv/bin/dace"},
		{name: "conda", set: Installer{SysPrefix: true}, env: []string{"CONDA_PREFIX=~/conda"}, spec: "~/conda/share/jupyter/kernels/dace", binary: "~/conda/bin/dace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := func(s string) string { return strings.Replace(s, "~", home, 1) }
			for _, name := range []string{"JUPYTER_DATA_DIR", "XDG_DATA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", home)
			for _, e := range test.env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, in(value))
			}
			test.set.Prefix = in(test.set.Prefix)
			at, err := test.set.Place(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if at.Binary != in(test.binary) {
				t.Errorf("command at %s, want %s", at.Binary, in(test.binary))
			}
			if at.Spec != in(test.spec) && test.notOn != runtime.GOOS {
				t.Errorf("kernelspec at %s, want %s", at.Spec, in(test.spec))
			}
		})
	}
}

func TestLogos(t *testing.T) {
	logos := specFiles()
	for name, size := range map[string]int{"logo-32x32.png": 32, "logo-64x64.png": 64} {
		c, err := png.DecodeConfig(bytes.NewReader(logos[name]))
		if err != nil || c.Width != size || c.Height != size {
			t.Errorf("%s is %d x %d, %v", name, c.Width, c.Height, err)
		}
	}
	if !bytes.HasPrefix(logos["logo-svg.svg"], []byte("<svg ")) {
		t.Error("logo-svg.svg is no SVG")
	}
}
