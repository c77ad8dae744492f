package native

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What is missing is said, with what to do about it.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go", "gcc", "clang"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module "+module+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	here := func(root string) string { return filepath.Join(root, "kernel", "native", "native.go") }
	moved := filepath.Join(root, "gone")
	env := []string{"PATH=" + dir}
	cgo := map[string]string{"CGO_ENABLED": "1"}
	for _, c := range []struct {
		name string
		set  map[string]string
		file string
		env  []string
		want string
	}{
		{"all is there", cgo, here(root), env, ""},
		{"without cgo", map[string]string{"CGO_ENABLED": "0"}, here(root), env, "the kernel was built without cgo: with a C compiler on the PATH, go run ./install builds one that can"},
		{"a moved clone", cgo, here(moved), env, "the source that the kernel was built from is no longer in " + moved + ": run go run ./install where it is now"},
		{"no paths", cgo, "dace.local/kernel/native/native.go", env, "the kernel was built with -trimpath and does not know where its source is: run go run ./install, which builds one that does"},
		{"no toolchain", cgo, here(root), []string{"PATH=" + root}, "there is no go command on the PATH"},
		{"another C compiler", cgo, here(root), append([]string{"CC=tcc -O"}, env...), "there is no C compiler on the PATH (tcc), which links what the toolchain compiles"},
	} {
		l := &Loader{Env: c.env, Cache: t.TempDir()}
		_, err := l.lookFor(c.set, c.file)
		if got := message(err); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Where the toolchain that built the kernel is gone, or the clone has changed
// since, the remedy is said.
func TestChanged(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{"go: downloading " + runtime.Version() + " (linux/amd64)\ngo: download " + runtime.Version() + " for linux/amd64: toolchain not available",
			"the kernel was built by " + runtime.Version() + ", which is no longer here: run go run ./install again and restart the kernel"},
		{"cell.go:1:1: undefined: x", "cell.go:1:1: undefined: x"},
	} {
		dir := t.TempDir()
		goCommand := filepath.Join(dir, "go")
		if err := os.WriteFile(goCommand, []byte("#!/bin/sh\ncat <<'E'\n"+c.says+"\nE\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		tools := toolchain{goCommand: goCommand, root: dir, cache: dir, env: os.Environ()}
		err := tools.build(t.Context(), module+"/cells/x", map[string]string{module + "/cells/x": "package cell"}, "", filepath.Join(dir, "x.so"))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q gives %v, want %s", c.says, err, c.want)
		}
	}
	other := errors.New("plugin.Open(\"x\"): plugin was built with a different version of package math")
	for modules, want := range map[string]string{
		"":         "package math is not as it was when the kernel was built: the clone or the toolchain has changed since; run go run ./install again and restart the kernel",
		"/a/place": "what was fetched needs another version of package math than the kernel is built with",
	} {
		if got := explainOpen(other, modules).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("says %s, want %s", got, want)
		}
	}
}
