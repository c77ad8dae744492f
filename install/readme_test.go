package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the README's cells, and checks that the files it names exist.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllSubmatch(text, -1) {
		if _, err := os.Stat("../" + string(link[1])); err != nil && !strings.Contains(string(link[1]), "://") {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	cells := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
	if len(cells) == 0 {
		t.Fatal("there is no cell in it")
	}
	dace, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range cells {
		cmd := exec.CommandContext(t.Context(), dace, "script", "-")
		cmd.Dir = t.TempDir() // figures are saved where the script runs
		cmd.Stdin = strings.NewReader(string(cell[1]))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, cell[1])
		}
	}
}
