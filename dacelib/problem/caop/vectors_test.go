package caop

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/internal/vectors"
)

// TestVectorsTable checks that the library's table equals the reference's.
func TestVectorsTable(t *testing.T) {
	want, err := readTable(vectors.Bytes(t, "gcc_flag_table.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range table() {
		if f.ID != want[i].ID || f.Enable != want[i].Enable || f.Disable != want[i].Disable || !slices.Equal(f.Conflicts, want[i].Conflicts) {
			t.Errorf("flag %d: %+v, want %+v", i+1, f, want[i])
		}
	}
}

// TestVectorsGCC12 checks on the reference's GCC that the on/off flags in use
// are those that this GCC lists, or accepts without listing.
func TestVectorsGCC12(t *testing.T) {
	var v struct {
		Source   string
		Usable   []string `json:"mego_boolean_usable"`
		Accepted []string `json:"mego_accepted_but_not_listed"`
	}
	if err := json.Unmarshal(vectors.Bytes(t, "gcc12_flags.json"), &v); err != nil {
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
