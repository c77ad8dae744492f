package caop

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readVectors reads a file of reference values: from testdata, or from the
// folder named by DACE_VECTORS, where a missing file skips the test.
func readVectors(t testing.TB, name string) []byte {
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

// TestVectorsTable: the table in the library is the reference's.
func TestVectorsTable(t *testing.T) {
	want, err := readTable(readVectors(t, "gcc_flag_table.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range table() {
		if f.ID != want[i].ID || f.Enable != want[i].Enable || f.Disable != want[i].Disable || !slices.Equal(f.Conflicts, want[i].Conflicts) {
			t.Errorf("flag %d: %+v, want %+v", i+1, f, want[i])
		}
	}
}

// TestVectorsGCC12: on the GCC of the reference, the flags in use that are on
// or off are those that it lists or accepts without listing.
func TestVectorsGCC12(t *testing.T) {
	var v struct {
		Source   string
		Usable   []string `json:"mego_boolean_usable"`
		Accepted []string `json:"mego_accepted_but_not_listed"`
	}
	if err := json.Unmarshal(readVectors(t, "gcc12_flags.json"), &v); err != nil {
		t.Fatal(err)
	}
	c := gcc(t, CompilerSettings{})
	if !strings.Contains(c.ID(), "gcc 12.2.0 ") {
		t.Skipf("the reference is for %s, this is %s", v.Source, c.ID())
	}
	want := slices.Concat(v.Usable, v.Accepted)
	var got []string
	for _, f := range c.Flags() {
		if f.Disable != "" {
			got = append(got, f.Enable)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d flags in use, the reference has %d\n%v\n%v", len(got), len(want), got, want)
	}
}
