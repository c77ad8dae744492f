package autodiff

import (
	"strings"
	"testing"
)

// A program without a graph is told which package to import.
func TestNotRegistered(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), `import _ "dace.local/dacelib/nir/graph"`) {
		t.Errorf("New without a registered graph: %v", err)
	}
}
