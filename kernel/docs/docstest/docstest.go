// Package docstest gives the guides of the repository to the tests that check what they
// say.
package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Guides returns the texts of the files that patterns match, by their paths, both from
// the root of the repository. Each pattern must match a file.
func Guides(t testing.TB, patterns ...string) map[string]string {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			t.Fatal("the test does not run in the repository")
		}
		root = filepath.Dir(root)
	}
	guides := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d guides, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			guides[filepath.ToSlash(name)] = string(text)
		}
	}
	return guides
}

var fenced = regexp.MustCompile("(?sm)^```.*?^```$")

// Unfenced returns a guide without its fenced blocks of code.
func Unfenced(guide string) string { return fenced.ReplaceAllString(guide, "") }
