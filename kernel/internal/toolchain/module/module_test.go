package module_test

import (
	"context"
	"errors"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/internal/toolchain/module"
	"dace.local/kernel/internal/toolchain/module/moduletest"
)

func get(t *testing.T, s *module.Store, spec string) *module.Fetch {
	t.Helper()
	f, err := s.Get(t.Context(), spec)
	if err != nil {
		t.Fatalf("Get(%s): %v", spec, err)
	}
	return f
}

func TestGet(t *testing.T) {
	moduletest.Proxy(t)
	var s module.Store
	f := get(t, &s, "example.test/geo@v1.0.0")
	if f.Module.Path != "example.test/geo" || f.Module.Version != "v1.0.0" || f.Module.GoVersion != "1.23" {
		t.Errorf("module is %+v", f.Module)
	}
	var paths []string
	for _, p := range f.Packages {
		paths = append(paths, p.ImportPath)
	}
	if want := []string{"example.test/geo", "example.test/geo/poly"}; !slices.Equal(paths, want) {
		t.Errorf("packages are %v, want %v", paths, want)
	}
	geo := f.All["example.test/geo"]
	if slices.Contains(geo.Files, "never.go") || slices.Contains(geo.Files, "geo_test.go") || !slices.Contains(geo.Files, "system.go") {
		t.Errorf("files of geo are %v", geo.Files)
	}
	if !slices.Equal(geo.Embeds, []string{"greeting.txt"}) {
		t.Errorf("embedded files are %v", geo.Embeds)
	}
	for _, need := range []string{"example.test/units", "example.test/geo/internal/scale", "fmt"} {
		if f.All[need] == nil {
			t.Errorf("%s is needed and not there", need)
		}
	}
	if !f.All["fmt"].Standard {
		t.Error("fmt is not of the standard library")
	}
	b, err := os.ReadFile(filepath.Join(s.Dir(), "go.mod"))
	if err != nil || !strings.Contains(string(b), "example.test/geo v1.0.0") {
		t.Errorf("go.mod: %v\n%s", err, b)
	}

	// Without a version Get takes the latest; for a package it finds the
	// module.
	if f := get(t, &s, "example.test/geo"); f.Module.Version != "v1.1.0" {
		t.Errorf("the latest is %s", f.Module)
	}
	if f := get(t, &s, "example.test/mix/plain"); f.Module.Path != "example.test/mix" || f.Path != "example.test/mix/plain" {
		t.Errorf("asked for a package: %s of %s", f.Path, f.Module)
	}
	dir := s.Dir()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scratch module is left: %v", err)
	}
}

func TestGetFails(t *testing.T) {
	proxy := moduletest.Proxy(t)
	var s module.Store
	t.Cleanup(func() { s.Close() })
	get(t, &s, "example.test/units")
	before, err := os.ReadFile(filepath.Join(s.Dir(), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ spec, want string }{
		{"", `"" is no module path: it is empty`},
		{"fmt", "its first part, fmt, is no host's name"},
		{"https://example.test/geo", "it is an address"},
		{"./geo", "is no module path"},
		{"example.test/a b", "it holds a character that no path has"},
		{"example.test/...", "it holds a character that no path has"},
		{"-u.x/y", "it begins with -"},
		{"example.test/geo@", "no version after @"},
		{"example.test/geo@none", "restart the kernel"},
		{"example.test/nowhere", "there is no module or package example.test/nowhere\n"},
		{"example.test/geo@v9.9.9", "there is no module or package example.test/geo at version v9.9.9"},
		{"example.test/geo/nothing", "there is no module or package example.test/geo/nothing"},
		{"example.test/future", "example.test/future is written for a newer Go than this machine's"},
	} {
		_, err := s.Get(t.Context(), c.spec)
		if err == nil || !strings.Contains(err.Error()+"\n", c.want) {
			t.Errorf("Get(%q) says %v, want %q", c.spec, err, c.want)
		}
	}
	t.Run("checksum", func(t *testing.T) {
		sum := filepath.Join(s.Dir(), "go.sum")
		old, err := os.ReadFile(sum)
		if err != nil {
			t.Fatal(err)
		}
		bad := append(slices.Clip(old), "example.test/old v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"...)
		if err := os.WriteFile(sum, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), "example.test/old@v1.0.0")
		if err == nil || !strings.HasPrefix(err.Error(), "the checksum of example.test/old@v1.0.0 is not what") {
			t.Errorf("says %v", err)
		}
		if err := os.WriteFile(sum, old, 0o666); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("offline", func(t *testing.T) {
		t.Setenv("GOPROXY", "http://127.0.0.1:1")
		_, err := s.Get(t.Context(), "example.test/old")
		if err == nil || !strings.Contains(err.Error(), "is this machine offline?") {
			t.Errorf("says %v", err)
		}
	})
	t.Run("off", func(t *testing.T) {
		t.Setenv("GOPROXY", "off")
		_, err := s.Get(t.Context(), "example.test/old")
		if err == nil || !strings.Contains(err.Error(), "GOPROXY=off forbids") {
			t.Errorf("says %v", err)
		}
	})
	t.Run("no go command", func(t *testing.T) {
		t.Setenv("PATH", proxy)
		if _, err := s.Get(t.Context(), "example.test/old"); !errors.Is(err, module.ErrNoGo) {
			t.Errorf("says %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Get(ctx, "example.test/old"); !errors.Is(err, context.Canceled) {
			t.Errorf("says %v", err)
		}
	})
	after, err := os.ReadFile(filepath.Join(s.Dir(), "go.mod"))
	if err != nil || string(after) != string(before) {
		t.Errorf("go.mod has changed: %v\n%s", err, after)
	}
}

// TestGetInterrupted checks that Get gives up a proxy that does not answer when
// the context ends.
func TestGetInterrupted(t *testing.T) {
	moduletest.Proxy(t)
	hang := hangingProxy(t)
	t.Setenv("GOPROXY", hang)
	var s module.Store
	t.Cleanup(func() { s.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.Get(ctx, "example.test/geo")
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("says %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("Get goes on after its context has ended")
	}
}

func TestFlags(t *testing.T) {
	moduletest.Proxy(t)
	t.Setenv("GOFLAGS", "-modcacherw -mod=vendor -tags=never,more")
	var s module.Store
	t.Cleanup(func() { s.Close() })
	geo := get(t, &s, "example.test/geo@v1.0.0").All["example.test/geo"]
	if !slices.Contains(geo.Files, "never.go") || slices.Contains(geo.Files, "system.go") {
		t.Errorf("the tags of GOFLAGS are not honoured: files are %v", geo.Files)
	}
}

func TestParse(t *testing.T) {
	moduletest.Proxy(t)
	var s module.Store
	t.Cleanup(func() { s.Close() })
	f := get(t, &s, "example.test/mix")
	for _, c := range []struct{ path, want string }{
		{"plain", ""},
		{"raw", ""},
		{"above", ""}, // no problem of its own; its import has some
		{"machine", "machine.s: assembly cannot be interpreted"},
		{"linked", "linked.go:5: go:linkname reaches into another package's machine code, which cannot be interpreted"},
		{"broken", "broken.go:3:"},
		{"newer", ""}, // only type-checking finds the problem
	} {
		p := f.All["example.test/mix/"+c.path]
		if p == nil {
			t.Errorf("%s is not listed", c.path)
			continue
		}
		files, problems := p.Parse(token.NewFileSet(), func(n string) string { return n })
		switch {
		case c.want == "" && (len(problems) > 0 || len(files) == 0):
			t.Errorf("%s: %d files, %v", c.path, len(files), problems)
		case c.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].String(), c.want)):
			t.Errorf("%s: %v, want %q", c.path, problems, c.want)
		}
	}
	const clang = "example.test/mix/clang"
	if p := get(t, &s, clang).All[clang]; p == nil || p.Err != "" || len(p.Foreign) != 1 {
		t.Errorf("clang, with a C compiler: %+v", p)
	}
	t.Setenv("CGO_ENABLED", "0")
	if p := get(t, &s, clang).All[clang]; p == nil || !strings.Contains(p.Err, "cgo is off") {
		t.Errorf("clang: nothing is wrong with a package of cgo alone: %+v", p)
	}
	fast := f.All["example.test/mix/fast"]
	if fast.Portable == nil {
		t.Fatal("fast has no portable form")
	}
	if _, problems := fast.Portable.Parse(token.NewFileSet(), func(n string) string { return n }); len(problems) > 0 {
		t.Errorf("fast in plain Go: %v", problems)
	}
	if p := f.All["example.test/mix/plain"].Portable; p != nil {
		t.Errorf("plain has another portable form: %v", p.Files)
	}
}

func TestLineDirectives(t *testing.T) {
	dir := t.TempDir()
	text := "package p\n\n//line other.go:100\nfunc f() { g( }\n"
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p := &module.Package{Dir: dir, Files: []string{"p.go"}}
	_, problems := p.Parse(token.NewFileSet(), func(n string) string { return n })
	if len(problems) != 1 || problems[0].Line != 4 {
		t.Errorf("problems are %v, want one in line 4", problems)
	}
}
