package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/buildinfo"
)

func TestStale(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := filepath.Join(root, "lib", "a.go")
	now := time.Now()
	put := func(name, text string, age time.Duration) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	const first = "package a\n\ntype T struct{ A int }\n\nfunc F(x int) int { return x }\n"
	packages := []string{buildinfo.Path("lib")}
	put(filepath.Join(root, "kernel/gocell/symbols/types.pack"), "", time.Hour)
	put(source, first, time.Minute)
	sum, err := Sum(root, packages)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		age        time.Duration
		stale      bool
	}{
		{"as generated", first, time.Minute, false},
		{"another body", strings.Replace(first, "return x", "return x + 1", 1), time.Minute, false},
		{"a field more", strings.Replace(first, "A int", "A, B int", 1), time.Minute, true},
		{"a parameter more", strings.Replace(first, "x int", "x, y int", 1), time.Minute, true},
		{"a method more", first + "func (T) M() {}\n", time.Minute, true},
		{"a function of its own", first + "func f() {}\n", time.Minute, false},
		{"edited after the build", strings.Replace(first, "A int", "A, B int", 1), -time.Minute, false},
		{"not parsed", first + "}", time.Minute, false},
	} {
		put(source, c.text, c.age)
		if got := Stale(root, packages, sum, now); (got != "") != c.stale {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
