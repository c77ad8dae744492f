package debug

import "testing"

// TestMurmur2 compares with what JupyterLab computes.
func TestMurmur2(t *testing.T) {
	for text, want := range map[string]uint32{
		"":                           3990065800,
		"a":                          2167009006,
		"ab":                         2805137849,
		"abc":                        3350977461,
		"abcd":                       804720481,
		"x := \"ü€😀\"":               1371489235,
		"abcdefghijklmnopqrstuvwxyz": 2640016850,
	} {
		if got := murmur2(text, seed); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
