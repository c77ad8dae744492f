package figure_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"dace.local/dacelib/figure"
)

// texts returns the texts that Draw writes on a canvas, with their positions.
func texts(width, height vg.Length, columns int, plots ...*plot.Plot) []*recorder.FillString {
	var r recorder.Canvas
	figure.Draw(draw.Canvas{Canvas: &r, Rectangle: vg.Rectangle{Max: vg.Point{X: width, Y: height}}}, columns, plots)
	var out []*recorder.FillString
	for _, a := range r.Actions {
		if s, ok := a.(*recorder.FillString); ok {
			out = append(out, s)
		}
	}
	return out
}

// right returns the right end of a text.
func right(s *recorder.FillString) vg.Length {
	sty := text.Style{Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, s.Size), Handler: plot.DefaultTextHandler}
	return s.Point.X + sty.Width(s.String)
}

func curves(names ...string) (out []figure.Curve) {
	for i, n := range names {
		out = append(out, figure.Curve{Name: n, X: []float64{0, 1}, Y: []float64{0, float64(i + 1)}})
	}
	return out
}

// No entry of a legend is cut off at the edge of the canvas, however narrow.
func TestLegendFits(t *testing.T) {
	names := []string{"[200, 700, 100, 0.70, F]", "[20, 70, 10, 0.70, F]", "random search", "one with a name longer than it should be, for nearly any figure"}
	for width := vg.Length(120); width < 700; width += 20 {
		// The second time it is narrower than before.
		p := figure.Lines("", "x", "y", curves(names...))
		for _, w := range []vg.Length{width, width - 15} {
			found := 0
			for _, s := range texts(w, 250, 1, p) {
				for _, n := range names {
					if s.String == n {
						found++
						if right(s) > w-7.99 {
							t.Errorf("width %v: %q ends at %v", w, n, right(s))
						}
					}
				}
			}
			if found != len(names) {
				t.Errorf("width %v: %d of %d keys are drawn", w, found, len(names))
			}
		}
	}
}

// The titles of a row are at one height, and so are the axes, whatever the
// legends.
func TestTitlesLevel(t *testing.T) {
	plots := []*plot.Plot{
		figure.Lines("first", "x", "y", curves("")),
		figure.Lines("second", "x", "y", curves("a long name of a curve", "a second one, as long", "a third one")),
		figure.Lines("third", "x", "y", curves("short", "legend")),
		figure.Lines("", "x", "y", curves("untitled", "legend")),
		figure.Lines("fifth", "x", "y", curves("")),
	}
	y := map[string]vg.Length{}
	for _, s := range texts(600, 500, 3, plots...) {
		y[s.String] = s.Point.Y
	}
	if y["first"] == 0 || y["first"] != y["second"] || y["first"] != y["third"] {
		t.Errorf("the titles are at %v, %v and %v", y["first"], y["second"], y["third"])
	}
	if y["fifth"] == 0 || y["fifth"] >= y["first"] {
		t.Errorf("the title of the second row is at %v, those of the first at %v", y["fifth"], y["first"])
	}
}

// A heat map shows all of its numbers or none.
func TestHeatMapNumbers(t *testing.T) {
	all, none := 0, 0
	for _, n := range []int{1, 3, 7, 12, 20} {
		for width := vg.Length(100); width < 900; width += 50 {
			var z [][]float64
			for i := range n {
				z = append(z, nil)
				for j := range n {
					z[i] = append(z[i], 7777+float64(i*n+j)/float64(n*n)) // a range of numbers that no axis shows
				}
			}
			found := texts(width, width*0.8, 1, figure.HeatMap("", "", "", nil, nil, z))
			bar := vg.Length(0) // the horizontal position of the colour bar's numbers
			for _, s := range found {
				bar = max(bar, s.Point.X)
			}
			numbers := 0
			for _, s := range found {
				if strings.HasPrefix(s.String, "777") && s.Point.X < bar {
					numbers++
				}
			}
			switch numbers {
			case n * n:
				all++
			case 0:
				none++
			default:
				t.Errorf("%d x %d cells in a figure %v wide: %d numbers", n, n, width, numbers)
			}
		}
	}
	if all == 0 || none == 0 {
		t.Errorf("%d figures with numbers, %d without", all, none)
	}
}

// Every text of an SVG names fonts of the same widths, and its own width, for
// readers without our font.
func TestSVGFonts(t *testing.T) {
	var b strings.Builder
	if err := figure.WriteSVG(&b, figure.Lines("Title", "x", "y", curves("one", "two")), 300, 200); err != nil {
		t.Fatal(err)
	}
	texts, fonts := strings.Count(b.String(), "<text"), strings.Count(b.String(), "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	if texts < 8 || texts != fonts {
		t.Errorf("%d texts, %d of them with all fonts", texts, fonts)
	}
	if lengths := regexp.MustCompile(`<text textLength="[1-9][0-9.]*" `).FindAllString(b.String(), -1); len(lengths) != texts {
		t.Errorf("%d texts, %d of them with a width", texts, len(lengths))
	}
}

func TestSave(t *testing.T) {
	p := figure.Lines("A curve", "x", "y", curves("f"))
	for _, end := range []string{".png", ".svg", ".pdf", ".JPG", ".tiff", ".eps"} {
		path := filepath.Join(t.TempDir(), "a"+end)
		if err := figure.Save(p, path); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(path); err != nil || len(b) < 1000 {
			t.Errorf("%s has %d bytes, error %v", path, len(b), err)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "a.doc"), filepath.Join(t.TempDir(), "no", "a.png")} {
		if err := figure.Save(p, path); err == nil {
			t.Errorf("%s: no error", path)
		} else if !strings.Contains(fmt.Sprint(err), "figure: ") {
			t.Error(err)
		}
	}
}
