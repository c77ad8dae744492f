package main

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	_ "dace.local/kernel/gocell/symbols/all"

	"dace.local/kernel/gocell/symbols"
)

// TestHidden holds the names that the linker leaves out against the packages that
// compiled cells are linked with: all that cells can import, and what these import.
func TestHidden(t *testing.T) {
	text, err := os.ReadFile("../kernel/hidden.map")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+);$`).FindAllSubmatch(text, -1) {
		patterns = append(patterns, strings.ReplaceAll(string(m[1]), "?", "/"))
	}
	if len(patterns) == 0 {
		t.Fatal("kernel/hidden.map names nothing")
	}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, symbols.Paths()...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		for _, pattern := range patterns {
			// A pattern's * stands for slashes, too, as the linker's does.
			if ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(p+".F", "/", "|")); ok {
				t.Errorf("%s hides %s, which compiled cells need", pattern, p)
			}
		}
	}
}
