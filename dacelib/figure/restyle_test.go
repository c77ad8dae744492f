package figure_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"dace.local/dacelib/figure"
)

// actions returns the drawing operations of Draw on a canvas of a column's
// width.
func actions(p *plot.Plot) []recorder.Action {
	var r recorder.Canvas
	figure.Draw(draw.Canvas{Canvas: &r, Rectangle: vg.Rectangle{Max: vg.Point{X: figure.ColumnWidth, Y: figure.ColumnWidth * 2 / 3}}}, 1, []*plot.Plot{p})
	return r.Actions
}

// A plain plot of gonum is drawn in the figures' fonts, numbers and colours,
// with its legend above the data; the plot itself is not changed.
func TestRestyle(t *testing.T) {
	for name, p := range usual() {
		before := fmt.Sprint(p.X, p.Y, p.Title)
		colors := map[color.Color]bool{}
		labels := map[string]vg.Point{}
		for _, a := range actions(p) {
			switch a := a.(type) {
			case *recorder.SetColor:
				colors[a.Color] = true
			case *recorder.FillString:
				labels[a.String] = a.Point
				if a.Font.Variant != "Sans" {
					t.Errorf("%s: %q is written in %s", name, a.String, a.Font.Name())
				}
				if strings.HasSuffix(a.String, ".00") {
					t.Errorf("%s: the label %q", name, a.String)
				}
			}
		}
		if colors[color.Black] {
			t.Errorf("%s: something is drawn in gonum's black", name)
		}
		blue := figure.Color(0).(color.NRGBA)
		found := false
		for c := range colors {
			n, ok := c.(color.NRGBA)
			found = found || ok && n.R == blue.R && n.G == blue.G && n.B == blue.B
		}
		if !found {
			t.Errorf("%s: nothing is drawn in the first colour", name)
		}
		if name == "lines" && labels["sin"].Y < labels["1.0"].Y {
			t.Errorf("the legend is at %v, over the data that goes up to %v", labels["sin"], labels["1.0"])
		}
		if after := fmt.Sprint(p.X, p.Y, p.Title); before != after {
			t.Errorf("%s: drawing changed the plot:\n%s\n%s", name, before, after)
		}
	}
}

// Styles that were set explicitly stay.
func TestRestyleKeeps(t *testing.T) {
	red := color.NRGBA{R: 255, A: 255}
	l, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		t.Fatal(err)
	}
	l.Color = red
	p := plot.New()
	p.Add(l)
	p.Title.TextStyle.Color = red
	p.Y.Min, p.Y.Max = -7, 9
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0.5, Label: "half"}}
	q := figure.Restyle(p)
	if q.Title.TextStyle.Color != red || q.Y.Min != -7 || q.Y.Max != 9 || len(q.X.Tick.Marker.Ticks(0, 1)) != 1 {
		t.Errorf("title %v, y from %v to %v, ticks %v", q.Title.TextStyle.Color, q.Y.Min, q.Y.Max, q.X.Tick.Marker)
	}
	found := false
	for _, a := range actions(p) {
		c, ok := a.(*recorder.SetColor)
		found = found || ok && c.Color == red
	}
	if !found {
		t.Error("the red line is not red")
	}
}

// Points, line and error bars of the same data have one colour.
func TestRestyleSharesColour(t *testing.T) {
	for name, wanted := range map[string]int{"log": 1, "lines": 2, "scatter": 2, "fit": 2} {
		used := map[string]bool{}
		for _, a := range actions(usual()[name]) {
			if c, ok := a.(*recorder.SetColor); ok {
				if n, ok := c.Color.(color.NRGBA); ok && !(n.R == n.G && n.G == n.B) {
					used[fmt.Sprint(n.R, n.G, n.B)] = true
				}
			}
		}
		if len(used) != wanted {
			t.Errorf("%s has %d colours, want %d", name, len(used), wanted)
		}
	}
}

// pdfContent returns the drawing operations of a PDF.
func pdfContent(t *testing.T, b []byte) string {
	t.Helper()
	var out strings.Builder
	for _, m := range regexp.MustCompile(`(?s)stream\r?\n(.*?)\r?\nendstream`).FindAllSubmatch(b, -1) {
		r, err := zlib.NewReader(bytes.NewReader(m[1]))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.String()
}

// A PDF made by gonum's own p.Save, or by Save, shows all letters, including
// bold and Greek ones and the true minus; it needs no font and has the plot's
// colours.
func TestPDF(t *testing.T) {
	p := figure.Lines("Bold μ ± σ", "−5 … 5", "Größe", curves("one"))
	p.Add(&plotter.Polygon{XYs: []plotter.XYs{{{X: 0, Y: 0}, {X: 1, Y: 0}, {X: 1, Y: 1}}}, Color: color.NRGBA{R: 204, A: 102}})
	dir := t.TempDir()
	for name, save := range map[string]func(string) error{
		"plot":   func(path string) error { return p.Save(10*vg.Centimeter, 6*vg.Centimeter, path) },
		"figure": func(path string) error { return figure.Save(p, path) },
	} {
		path := filepath.Join(dir, name+".pdf")
		if err := save(path); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 3000 || len(b) > 50_000 || !bytes.HasPrefix(b, []byte("%PDF-")) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
		if bytes.Contains(b, []byte("/FontFile")) || bytes.Contains(b, []byte("/BaseFont")) {
			t.Errorf("%s: the PDF names a font", name)
		}
		content := pdfContent(t, b)
		if n := strings.Count(content, " c\n") + strings.Count(content, " v\n") + strings.Count(content, " y\n"); n < 200 {
			t.Errorf("%s: %d curves: there are no letters", name, n)
		}
		if !strings.Contains(content, "0.800 0.000 0.000 rg") {
			t.Errorf("%s: the translucent red is another colour", name)
		}
	}
}

// An outlined letter has the same size as in its font: an I of Liberation Sans
// Bold is a rectangle from 137 to 432 of 2048 units in x and from 0 to 1409 in
// y (fontTools).
func TestOutline(t *testing.T) {
	p := figure.New("", "", "")
	path := filepath.Join(t.TempDir(), "a.eps")
	p.HideAxes()
	p.Add(plotter.NewFunction(func(float64) float64 { return math.NaN() })) // a figure without values is not written
	p.Title.Text = "I"
	p.Title.TextStyle.Font.Size = 20.48
	if err := figure.Save(p, path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var xs, ys []float64
	for _, m := range regexp.MustCompile(`(?m)^([\d.]+) ([\d.]+) (?:moveto|lineto)$`).FindAllStringSubmatch(string(b), -1) {
		var x, y float64
		if _, err := fmt.Sscan(m[1], &x); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(m[2], &y); err != nil {
			t.Fatal(err)
		}
		xs, ys = append(xs, x), append(ys, y)
	}
	if len(xs) < 4 {
		t.Fatalf("no outline in\n%s", b)
	}
	xs, ys = xs[len(xs)-4:], ys[len(ys)-4:]
	width, height := 0.0, 0.0
	for i := range xs {
		for k := range xs {
			width, height = math.Max(width, xs[i]-xs[k]), math.Max(height, ys[i]-ys[k])
		}
	}
	if math.Abs(width-2.95) > 0.02 || math.Abs(height-14.09) > 0.02 {
		t.Errorf("the I is %v wide and %v high, want 2.95 and 14.09 (points at %v, %v)", width, height, xs, ys)
	}
}

func TestScatterBy(t *testing.T) {
	p := figure.ScatterBy("", "x", "y", []float64{1, 2, 3}, []float64{4, 5, 6}, []string{"b", "a", "b"})
	var keys []string
	for _, s := range texts(300, 200, 1, p) {
		if s.String == "a" || s.String == "b" {
			keys = append(keys, s.String)
		}
	}
	if fmt.Sprint(keys) != "[b a]" || p.X.Min > 1 || p.X.Max < 3 {
		t.Errorf("groups %v, x from %v to %v", keys, p.X.Min, p.X.Max)
	}
}

// The counts of a histogram agree with the values.
func TestHistogram(t *testing.T) {
	p := figure.Histogram("", "x", 4, []figure.Group{{Values: []float64{0, 1, 1, 2, 4, math.NaN()}}})
	if p.X.Min != 0 || p.X.Max != 4 || p.Y.Min != 0 || p.Y.Max < 2 || p.Y.Max > 2.5 {
		t.Errorf("x from %v to %v, y from %v to %v: the bins hold 1, 2, 1 and 1", p.X.Min, p.X.Max, p.Y.Min, p.Y.Max)
	}
}

func TestSample(t *testing.T) {
	c := figure.Sample("f", -1, 3, func(x float64) float64 { return x * x })
	if n := len(c.X); c.X[0] != -1 || c.X[n-1] != 3 || c.Y[n-1] != 9 {
		t.Errorf("from (%v, %v) to (%v, %v)", c.X[0], c.Y[0], c.X[n-1], c.Y[n-1])
	}
}
