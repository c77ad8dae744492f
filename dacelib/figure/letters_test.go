package figure

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"dace.local/dacelib/figure/host"
)

// A box stands for each letter that the font lacks, wherever a plot has text, and
// one line names them. An SVG has the letters themselves.
func TestLetters(t *testing.T) {
	var said []string
	host.SetWarn(func(line string) { said = append(said, line) })
	defer host.SetWarn(nil)
	dir := t.TempDir()
	drawn := func(title, ext string) []byte {
		t.Helper()
		p := New(title, "", "")
		p.X.Label.Text, p.X.Min, p.X.Max = title, 0, 1
		p.X.Tick.Marker = plot.ConstantTicks{{Value: 0.5, Label: title}}
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
		if err != nil {
			t.Fatal(err)
		}
		p.Add(line)
		path := filepath.Join(dir, "f"+ext)
		if err := Save(p, path); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const had = "β(°) ≤ é Ж ∑ x₁² − ±"
	drawn(had, ".png")
	if len(said) > 0 {
		t.Errorf("%q: %q", had, said)
	}
	box, other, nothing := drawn("|中|", ".png"), drawn("|文|", ".png"), drawn("|\U000e0001|", ".png")
	if !bytes.Equal(box, other) || bytes.Equal(box, nothing) {
		t.Error("no box stands for a letter")
	}
	said = said[:1]
	for _, ext := range []string{".pdf", ".eps", ".jpg", ".tiff"} {
		drawn("|中文\U0001f600\ufe0f|", ext)
	}
	if svg := drawn("|中文\U0001f600|", ".svg"); !bytes.Contains(svg, []byte("中文\U0001f600")) {
		t.Error("the SVG lacks the letters")
	}
	all := "figure: its font lacks 中 文 \U0001f600; boxes stand in their place (SVG shows them in a font of the reader's)"
	if len(said) != 5 || !strings.Contains(said[0], "lacks 中;") || slices.ContainsFunc(said[1:], func(s string) bool { return s != all }) {
		t.Errorf("said %q", said)
	}
}
