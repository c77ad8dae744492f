package buildinfo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The clone is known without -trimpath, and else by its variable.
func TestClone(t *testing.T) {
	t.Setenv("DACE_SOURCE", "named")
	dir := Clone()
	if dir == "named" {
		return // built with -trimpath
	}
	if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !strings.HasPrefix(string(text), "module "+Module()+"\n") {
		t.Errorf("%s is no clone: %v", dir, err)
	}
}
