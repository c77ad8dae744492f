package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestData(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DACE_DATA", dir)
	dace(t, "", "data").want(t, 2, "", "an argument is missing")
	dace(t, "", "data", "nonsense").want(t, 2, "", `there is no "nonsense"`)
	dace(t, "", "data", "fetch").want(t, 2, "", "which network?")
	dace(t, "", "data", "fetch", "wiki", "nowhere").want(t, 2, "", `there is no network "nowhere"`)
	dace(t, "", "data", "list", "x").want(t, 2, "", `unexpected argument "x"`)
	dace(t, "", "data", "list").want(t, 0, "dace data fetch epinions", "")

	// An existing file is verified and not downloaded.
	path := filepath.Join(dir, "wiki-Vote.txt")
	if err := os.WriteFile(path, []byte("1 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dace(t, "", "data", "list").want(t, 0, path, "")
	dace(t, "", "data", "fetch", "wiki").want(t, 1, "", "it has 2 nodes and 1 edges")
}
