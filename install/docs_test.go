package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	library "dace.local/dacelib/run"
)

// TestCitationVersion checks that CITATION.cff names the version of the library.
func TestCitationVersion(t *testing.T) {
	text, err := os.ReadFile("../CITATION.cff")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("\nversion: "+library.Version+"\n")) {
		t.Errorf("CITATION.cff does not name the version %s", library.Version)
	}
}

// docPath matches a path of the repository in backquotes.
var docPath = regexp.MustCompile("`((?:\\./)?(?:kernel|dacelib|install|notebooks|\\.ci)(?:/[\\w.-]+)*)(?:/|/\\.\\.\\.)?`")

// TestDocsNameWhatIsThere checks that the files and folders that the guides
// name exist.
func TestDocsNameWhatIsThere(t *testing.T) {
	named := 0
	for _, name := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range docPath.FindAllSubmatch(text, -1) {
			named++
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(string(m[1])))); err != nil {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
	}
	if named < 100 {
		t.Errorf("the guides name %d places: is the pattern still right?", named)
	}
}
