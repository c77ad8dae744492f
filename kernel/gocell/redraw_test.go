package gocell

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// BenchmarkRedraw measures what a move of a control costs in similarity.ipynb:
// the notebook's own cells make the figure, and the kernel its picture.
// go test ./kernel/gocell -run '^$' -bench Redraw
func BenchmarkRedraw(b *testing.B) {
	file, err := os.ReadFile("../../notebooks/similarity.ipynb")
	if err != nil {
		b.Fatal(err)
	}
	var nb struct {
		Cells []struct {
			Type   string   `json:"cell_type"`
			Source []string `json:"source"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(file, &nb); err != nil {
		b.Fatal(err)
	}
	s := benchSession(b)
	n, found := 0, false
	for _, c := range nb.Cells {
		if c.Type != "code" {
			continue
		}
		n++
		// How well the networks have learned does not change the cost.
		code := strings.Replace(strings.Join(c.Source, ""), "steps := 1500", "steps := 100", 1)
		if head, _, ok := strings.Cut(code, "widget.Interact(draw"); ok {
			code, found = head, true
		}
		execute(b, s, n, code)
		if found {
			break
		}
	}
	if !found {
		b.Fatal("the notebook has no cell that makes draw interactive")
	}
	for _, part := range []struct{ name, code string }{
		{"all", "display.Value(draw(0, 1, 0.3))"},
		{"compare", "must(neighbours.Compare(ctx, must(model.Scorer(between(0, 1, 0.3)))))"},
		{"landscape", "curve(\"NIR\", must(model.Scorer(between(0, 1, 0.3))))"},
		{"hardness", "hardness(must(model.Scorer(between(0, 1, 0.3))))"},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				n++
				execute(b, s, n, part.code)
			}
		})
	}
}
