package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/buildinfo"
)

// released is the version under which fileProxy serves this module.
const released = "v0.0.1-test"

// fileProxy writes the files of this repository as a module's version into a folder that
// GOPROXY can name, and returns the environment of a go command that takes it from there,
// and all other modules from what this machine has. What it takes is removed at the end.
func fileProxy(t testing.TB) (env []string) {
	t.Helper()
	dir := t.TempDir()
	module := buildinfo.Module()
	versions := filepath.Join(dir, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	names := repositoryFiles(t)
	var parts []string // folders with a go.mod of their own
	for _, name := range names {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			parts = append(parts, path.Dir(name)+"/")
		}
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			continue // deleted, and the deletion is not committed yet
		}
		w, err := z.Create(module + "@" + released + "/" + name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": released, "Time": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"list": []byte(released + "\n"), released + ".info": info, released + ".mod": mod, released + ".zip": b.Bytes()} {
		if err := os.WriteFile(filepath.Join(versions, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		os.RemoveAll(filepath.Join(cache, filepath.FromSlash(module)+"@"+released))
		kept, _ := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(module), "@v", released+".*"))
		for _, file := range kept {
			os.Remove(file)
		}
	})
	return append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(dir)+",file://"+filepath.ToSlash(cache)+"/cache/download",
		"GONOSUMDB=*", "GOSUMDB=off", "GOWORK=off", "GOFLAGS=-modcacherw", "GOBIN="+filepath.Join(dir, "bin"))
}

// TestGoInstall takes the module from a proxy, as a stranger does from its public home:
// the go command accepts it and would build the command, and a program that requires it
// runs. BenchmarkGoInstall builds the command, too.
func TestGoInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	env := fileProxy(t)
	dir := t.TempDir()
	call := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %q: %v\n%s", args, err, tail(out, 20))
		}
		return string(out)
	}
	if out := call("install", "-n", buildinfo.Path("kernel@"+released)); !strings.Contains(out, filepath.Join("bin", "kernel")) {
		t.Errorf("go install would do:\n%s", tail([]byte(out), 20))
	}
	program := "package main\n\nimport (\n\t\"fmt\"\n\n\t\"" + buildinfo.Path("dacelib/stats") + "\"\n)\n\nfunc main() { fmt.Println(stats.Holm([]float64{0.25, 0.5})) }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	call("mod", "init", "example.com/mine")
	call("get", buildinfo.Module()+"@latest")
	if out := call("run", "-mod=mod", "."); out != "[0.5 0.5]\n" {
		t.Errorf("the program prints %q", out)
	}
}

// BenchmarkGoInstall is `go install` from a proxy, and what it installed registers itself
// as the command dace.
func BenchmarkGoInstall(b *testing.B) {
	env := fileProxy(b)
	for b.Loop() {
		dir := b.TempDir()
		for _, args := range [][]string{
			{"go", "install", buildinfo.Path("kernel@" + released)},
			{filepath.Join(dir, "kernel"), "install", "-prefix", dir, "-quiet"},
			{filepath.Join(dir, "bin", "dace"), "version"},
		} {
			cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
			cmd.Dir, cmd.Env = dir, append(env, "GOBIN="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				b.Fatalf("%q: %v\n%s", args, err, tail(out, 20))
			}
			if strings.HasSuffix(args[0], "dace") && !bytes.HasPrefix(out, []byte("dace ")) {
				b.Errorf("dace version says %s", out)
			}
		}
	}
}
