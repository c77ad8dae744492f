package figure

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"dace.local/dacelib/figure/host"
)

// A box stands for each letter that the font lacks, wherever a plot has text, and
// one line names them. An SVG has the letters themselves.
func TestLetters(t *testing.T) {
	var said []string
	host.SetWarn(func(line string) { said = append(said, line) })
	defer host.SetWarn(nil)
	host.SetFolders()
	dir := t.TempDir()
	drawn := func(title, ext string) []byte { return lettered(t, dir, title, ext) }
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
	if svg := drawn("|中|", ".svg"); regexp.MustCompile(`<text textLength[^>]*>\|中`).Match(svg) {
		t.Error("the SVG squeezes a letter of another font")
	}
	all := "figure: its font lacks 中 文 \U0001f600, and no font of this computer has them: boxes stand in their place, except in SVG. To see them install Noto Sans CJK (package fonts-noto-cjk) and start again"
	if len(said) != 5 || !strings.Contains(said[0], "lacks 中,") || slices.ContainsFunc(said[1:], func(s string) bool { return s != all }) {
		t.Errorf("said %q", said)
	}
}

// lettered draws a figure with a text in its title, its label and its tick, and returns
// the file.
func lettered(t *testing.T, dir, title, ext string) []byte {
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

// widthOf returns the width of a text in a figure's font of 10 points.
func widthOf(text string) float64 {
	width, _, _ := style(10, ink, draw.XCenter, draw.YTop).Handler.Box(text, sans(10))
	return float64(width)
}

// advance returns the width of a letter of a font of 10 points.
func advance(t *testing.T, file []byte, r rune) float64 {
	t.Helper()
	f, err := sfnt.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	i, err := f.GlyphIndex(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	width, err := f.GlyphAdvance(nil, i, fixed.I(1000), font.HintingNone)
	if err != nil {
		t.Fatal(err)
	}
	return float64(width) / 64 / 100
}

// A letter that the figures' font lacks is drawn in a font of this computer that has
// it, without a word.
func TestLettersOfSystem(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string][]byte{"a.ttf": goregular.TTF, "broken.ttf": []byte("no font"), "b.txt": goregular.TTF} {
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	host.SetWarn(func(line string) { said = append(said, line) })
	defer host.SetWarn(nil)
	defer host.SetFolders()
	draw := func(title, ext string) []byte { return lettered(t, dir, title, ext) }
	const letter = "a ∪ b" // ∪ is in Go's font, but not in the figures'
	for _, ext := range []string{".png", ".pdf"} {
		host.SetFolders()
		said = nil
		box := draw(letter, ext)
		if len(said) != 1 {
			t.Fatalf("the figures' font has it: %q", said)
		}
		host.SetFolders(dir)
		said = nil
		if got, want := widthOf("∪a∪"), widthOf("a")+2*advance(t, goregular.TTF, '∪'); math.Abs(got-want) > 0.01 {
			t.Errorf("two letters of another font are %.2f wide with a third, want %.2f", got, want)
		}
		if found := draw(letter, ext); len(said) > 0 || bytes.Equal(box, found) {
			t.Errorf("%s: said %q, drawn as a box: %v", ext, said, bytes.Equal(box, found))
		}
	}
}
