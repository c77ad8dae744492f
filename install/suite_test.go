package main

import (
	"slices"
	"strings"
	"testing"
)

func TestFailedBesideOthers(t *testing.T) {
	test := strings.Fields("go test -count=1 -race ./kernel/...")
	for _, c := range []struct {
		name, command, printed, want string
	}{
		{"nothing failed", "", "ok  \tdace.local/a\t0.1s\n", ""},
		{"two failed", "", "--- FAIL: TestA (0.1s)\nFAIL\nFAIL\tdace.local/a\t0.1s\nok  \tdace.local/b\t0.1s\nFAIL\tdace.local/c\t2.0s\nFAIL\n", "dace.local/a dace.local/c"},
		{"words of a test", "", "    lab_test.go:40: exit status 1\n        FAIL debugger (184 ms): not visible\nFAIL\tdace.local/a\t0.1s\nFAIL\n", "dace.local/a"},
		{"a data race", "", "WARNING: DATA RACE\nFAIL\tdace.local/a\t0.1s\nFAIL\n", ""},
		{"no build", "", "FAIL\tdace.local/a [build failed]\nFAIL\tdace.local/b\t0.1s\nFAIL\n", ""},
		{"no test", "go vet ./...", "FAIL\tdace.local/a\t0.1s\n", ""},
	} {
		argv := test
		if c.command != "" {
			argv = strings.Fields(c.command)
		}
		if got := failedBesideOthers(argv, c.printed); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
}
