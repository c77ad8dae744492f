package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplace follows the README's recipe for a plain Go program, in a folder
// outside the clone and without a network.
func TestReplace(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, ok := strings.Cut(string(text), "    go mod init ")
	recipe, _, ok2 := strings.Cut("    go mod init "+recipe, "\n\n")
	if !ok || !ok2 || !strings.Contains(recipe, "../dace") {
		t.Fatal("the recipe is not in the README")
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(repository(t), filepath.Join(dir, "dace")); err != nil {
		t.Fatal(err)
	}
	program := `package main

import (
	"context"
	"fmt"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/stats"
)

func main() {
	r, err := brkga.Run(context.Background(), onemax.Random(1, 40), brkga.Settings{Evaluations: 4000, Seed: 3})
	ranks, _ := stats.Ranks([]float64{3, 1})
	fmt.Println(r.Value, err, ranks)
}
`
	if err := os.WriteFile(filepath.Join(mine, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", recipe)
	cmd.Dir = mine
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "40 <nil> [2 1]") {
		t.Errorf("%v\n%s\n%s", err, recipe, out)
	}
}
