package native

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
)

// TestLook checks that errors name what is missing and what to do about it.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go", "gcc", "clang"} {
		if err := files.WriteProgram(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 1\n")); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir() // holds a go command that names no cache folders
	for name, text := range map[string]string{"go": "echo; echo", "gcc": ""} {
		if err := files.WriteProgram(filepath.Join(home, name), []byte("#!/bin/sh\n"+text+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module "+buildinfo.Module()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(root, "gone")
	env := []string{"PATH=" + dir, "GOCACHE=" + t.TempDir()}
	cgo := map[string]string{"CGO_ENABLED": "1"}
	for _, c := range []struct {
		name  string
		set   map[string]string
		clone string
		env   []string
		want  string
	}{
		{"all is there", cgo, root, env, ""},
		{"without cgo", map[string]string{"CGO_ENABLED": "0"}, root, env, "the kernel was built without cgo: with a C compiler on the PATH, go run ./install builds one that can; of a release, the one for linux-amd64-glibc can"},
		{"a moved clone", cgo, moved, env, "the source that the kernel was built from is no longer in " + moved + ": run go run ./install where it is now"},
		{"no paths", cgo, "", env, "the kernel was built with -trimpath and without its source: go run ./install builds one that carries it"},
		{"an empty archive", cgo, "", env, "the kernel's source cannot be unpacked: the kernel was built without its source"},
		{"no HOME", cgo, root, []string{"PATH=" + home}, "the go command has no folder for its cache: set HOME or GOCACHE"},
		{"no toolchain", cgo, root, []string{"PATH=" + root}, "there is no go command on the PATH"},
		{"another C compiler", cgo, root, append([]string{"CC=tcc -O"}, env...), "there is no C compiler on the PATH (tcc), which links what the toolchain compiles"},
	} {
		l := &Loader{Env: c.env, Cache: t.TempDir()}
		_, err := l.lookFor(c.set, c.name == "an empty archive", c.clone)
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

// TestChanged checks that the error says how to recover if the toolchain that
// built the kernel is gone, or if the clone has changed since.
func TestChanged(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{"go: downloading " + runtime.Version() + " (linux/amd64)\ngo: download " + runtime.Version() + " for linux/amd64: toolchain not available",
			"the kernel was built by " + runtime.Version() + ", which is no longer here: run go run ./install again and restart the kernel"},
		{"cell.go:1:1: undefined: x", "cell.go:1:1: undefined: x"},
	} {
		dir := t.TempDir()
		goCommand := filepath.Join(dir, "go")
		if err := files.WriteProgram(goCommand, []byte("#!/bin/sh\ncat <<'E'\n"+c.says+"\nE\nexit 1\n")); err != nil {
			t.Fatal(err)
		}
		tools := toolchain{goCommand: goCommand, root: dir, cache: cache{dir: dir}, env: os.Environ()}
		err := tools.build(t.Context(), buildinfo.Module()+"/cells/x", map[string]string{buildinfo.Module() + "/cells/x": "package cell"}, "", "x")
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
	for pkg, want := range map[string]bool{"math": true, "net/http": true, "example.com/mod": true, "example.com/mod/a": true, "example.com/module": false} {
		if got := inProgram(pkg, []*debug.Module{{Path: "example.com/mod"}}); got != want {
			t.Errorf("%s is in the program: %v, want %v", pkg, got, want)
		}
	}
}

// TestConflict checks that a package that the kernel links in another version
// is reported with both versions, before anything is compiled.
func TestConflict(t *testing.T) {
	dir := t.TempDir()
	goCommand := filepath.Join(dir, "go")
	script := "#!/bin/sh\n[ $1 = list ] || exit 9\necho example.com/free example.com/free v1.0.0\necho example.com/mod/unused example.com/mod v2.0.0\necho example.com/mod/used example.com/mod v2.0.0\n"
	if err := files.WriteProgram(goCommand, []byte(script)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		linked, version, want string
	}{
		{"example.com/mod/used", "v1.9.0", "what the cell imports needs example.com/mod v2.0.0, and the kernel is built with v1.9.0: "},
		{"example.com/mod/used", "v2.0.0", ""},
		{"example.com/mod/other", "v1.9.0", ""},
	} {
		tools := toolchain{goCommand: goCommand, root: dir, env: os.Environ(), linked: map[string]bool{c.linked: true}, versions: map[string]string{"example.com/mod": c.version}}
		err := tools.conflict(t.Context(), nil, "door")
		if got := message(err); !strings.HasPrefix(got, c.want) || c.want == "" && err != nil {
			t.Errorf("%s linked at %s: %q, want %q", c.linked, c.version, got, c.want)
		}
		var b *BuildError
		if err != nil && !errors.As(err, &b) {
			t.Errorf("a %T, want a *BuildError", err)
		}
	}
}
