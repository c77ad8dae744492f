//go:build unix

package module

import (
	"os"
	"path/filepath"
	"testing"
)

// A go command that has ended well has not failed, although a process that git has left
// running holds its output open.
func TestLeftRunning(t *testing.T) {
	goCmd := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(goCmd, []byte("#!/bin/sh\nsleep 2 &\necho done\necho go: added example.com/x v1.0.0 >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var s Store
	if out, err := s.runIn(t.Context(), goCmd, t.TempDir(), nil, "get"); err != nil || string(out) != "done\n" {
		t.Errorf("%q, %v", out, err)
	}
}
