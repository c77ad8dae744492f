//go:build unix

package module

import (
	"path/filepath"
	"testing"

	"dace.local/dacelib/files"
)

// A go command that has ended well has not failed, although a process that git has left
// running holds its output open.
func TestLeftRunning(t *testing.T) {
	goCmd := filepath.Join(t.TempDir(), "go")
	if err := files.WriteProgram(goCmd, []byte("#!/bin/sh\nsleep 2 &\necho done\necho go: added example.com/x v1.0.0 >&2\n")); err != nil {
		t.Fatal(err)
	}
	var s Store
	if out, err := s.runIn(t.Context(), goCmd, t.TempDir(), nil, "get"); err != nil || string(out) != "done\n" {
		t.Errorf("%q, %v", out, err)
	}
}
