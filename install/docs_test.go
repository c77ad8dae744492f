package main

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
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

// docFile matches a Go file without its folder in backquotes.
var docFile = regexp.MustCompile("`(\\w+\\.go)`")

// TestDocsNameWhatIsThere checks that the files and folders that the guides
// name exist.
func TestDocsNameWhatIsThere(t *testing.T) {
	named := 0
	files := map[string]bool{}
	for _, name := range repositoryFiles(t) {
		files[path.Base(name)] = true
	}
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
		for _, m := range docFile.FindAllSubmatch(text, -1) {
			if !files[string(m[1])] {
				t.Errorf("%s names %s, and no folder has such a file", name, m[1])
			}
		}
	}
	if named < 100 {
		t.Errorf("the guides name %d places: is the pattern still right?", named)
	}
}

// TestQuotedMessages checks that the messages that the page of troubles quotes in its
// tables are the code's.
func TestQuotedMessages(t *testing.T) {
	text, err := os.ReadFile("../kernel/docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	for _, name := range repositoryFiles(t) {
		if path := filepath.Join("..", name); filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			b, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			code = append(code, b...)
		}
	}
	quoted := regexp.MustCompile(`(?m)^\| "([^"]+)"`).FindAllStringSubmatch(string(text), -1)
	if len(quoted) < 4 {
		t.Errorf("the page quotes %d messages: is the pattern still right?", len(quoted))
	}
	for _, m := range quoted {
		for part := range strings.SplitSeq(m[1], "...") {
			if part = strings.TrimSpace(part); !bytes.Contains(code, []byte(part)) {
				t.Errorf("no code says %q", part)
			}
		}
	}
}
