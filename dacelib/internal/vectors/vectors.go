// Package vectors reads reference values, made by other implementations, with
// which tests compare.
package vectors

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Bytes returns a file of the package's testdata or, if the environment
// variable DACE_VECTORS names a folder, which may hold more files, of that
// folder. A test whose file is missing there is skipped.
func Bytes(t testing.TB, name string) []byte {
	t.Helper()
	dir, other := "testdata", os.Getenv("DACE_VECTORS")
	if other != "" {
		dir = other
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if other != "" && errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no %s in %s", name, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Read decodes a file that [Bytes] returns, which is JSON, into v.
func Read(t testing.TB, name string, v any) {
	t.Helper()
	if err := json.Unmarshal(Bytes(t, name), v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
