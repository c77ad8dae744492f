package display

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	figures "dace.local/dacelib/figure"
	"dace.local/kernel/internal/live"
)

// svgInk returns a CSS colour of a themed SVG in a theme with an ink and a ground.
func svgInk(t *testing.T, css string, ink, ground color.RGBA) color.RGBA {
	t.Helper()
	hex := func(s string) color.RGBA {
		v, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
		if err != nil {
			t.Fatalf("%q is no colour", css)
		}
		return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}
	}
	one := func(s string) color.RGBA {
		switch s = strings.TrimSpace(s); s {
		case "var(--i)":
			return ink
		case "var(--g)":
			return ground
		}
		return hex(s)
	}
	inner, ok := strings.CutPrefix(css, "color-mix(in srgb,")
	if !ok {
		return one(css)
	}
	first, second, _ := strings.Cut(strings.TrimSuffix(inner, ")"), "%,")
	name, percent, _ := strings.Cut(first, " ")
	part, err := strconv.ParseFloat(percent, 64)
	if err != nil {
		t.Fatalf("%q is no mixture", css)
	}
	a, b := one(name), one(second)
	mix := func(x, y uint8) uint8 { return uint8((float64(x)*part + float64(y)*(100-part)) / 100) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

var (
	svgTexts = regexp.MustCompile(`(?s)<text ([^>]*)>([^<]*)</text>`)
	svgFill  = regexp.MustCompile(`fill:([^;"]*)`)
	themes   = map[string][2]color.RGBA{
		"light": {{0, 0, 0, 0xff}, {0xff, 0xff, 0xff, 0xff}},
		"dark":  {{0xee, 0xee, 0xee, 0xff}, {0x11, 0x11, 0x11, 0xff}},
	}
)

// TestThemedContrast checks that all texts of figures have a contrast of 4.5 at least in
// both themes, and that numbers on colours keep theirs.
func TestThemedContrast(t *testing.T) {
	if !strings.Contains(svgStyle, "--i:#000;--g:#fff;") || !strings.Contains(svgStyle, "--i:#eee;--g:#111}") {
		t.Fatalf("the themes are others than this test's: %s", svgStyle)
	}
	curves := make([]figures.Curve, 8)
	for i := range curves {
		curves[i] = figures.Curve{Name: fmt.Sprint("curve ", i), X: []float64{1, 2, 3}, Y: []float64{1, float64(i), 2}}
	}
	heat := figures.HeatMap("similarity", "", "", []string{"a", "b"}, []string{"a", "b"}, [][]float64{{0, 1}, {0.5, 0.25}})
	for name, p := range map[string]*plot.Plot{"lines": figures.Lines("Title", "x", "y", curves), "heat map": heat, "grid": figures.Tiles(2, []*plot.Plot{curve(t), curve(t)})} {
		b, err := themedSVG(p, 300, 200)
		if err != nil {
			t.Fatal(err)
		}
		svg := string(b)
		if err := xml.Unmarshal(b, new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(svg, `<title>`+"") || !strings.Contains(svg, "fill:var(--g)") || strings.Contains(svg, "FFFFFF") {
			t.Errorf("%s has another ground: %.600s", name, svg)
		}
		texts, kept := 0, 0
		for _, m := range svgTexts.FindAllStringSubmatch(svg, -1) {
			css := "var(--i)"
			if f := svgFill.FindStringSubmatch(m[1]); f != nil {
				css = f[1]
			}
			if strings.HasPrefix(css, "#") {
				kept++ // on a colour of the data, which no theme changes
				continue
			}
			texts++
			for theme, colors := range themes {
				if c := contrast(svgInk(t, css, colors[0], colors[1]), colors[1]); c < 4.5 {
					t.Errorf("%s, %s: %q in %s has a contrast of %.2f", name, theme, m[2], css, c)
				}
			}
		}
		if texts == 0 || (kept > 0) != (name == "heat map") {
			t.Errorf("%s: %d texts, %d on colours", name, texts, kept)
		}
	}
}

// TestDescribe checks the texts that stand for figures.
func TestDescribe(t *testing.T) {
	p := figures.Lines("Squares", "n", "value", []figures.Curve{{Name: "a <b>", X: []float64{1, 2}, Y: []float64{1, 4}}, {Name: "c", X: []float64{1, 2}, Y: []float64{2, 4}}})
	p.Y.Scale = plot.LogScale{}
	text := describe(p)
	for _, want := range []string{"figure: Squares", "x: n", "y: value (logarithmic)", "2 ", "2 lines (a <b>, c)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if got := describe(figures.Tiles(2, []*plot.Plot{p, curve(t)})); !strings.HasPrefix(got, "2 figures: figure: Squares, ") {
		t.Errorf("of two: %q", got)
	}
	if got := describe(plot.New()); got != "figure" {
		t.Errorf("of none: %q", got)
	}
	s := CurrentFigure()
	s.Format = "svg"
	b := drawn(p, 0, 0, s)
	page, _ := b.Data["text/html"].(string)
	if !strings.Contains(page, `alt="figure: Squares, `) || !strings.Contains(page, "a &lt;b&gt;") || b.Data["text/plain"] != "<"+text+">" {
		t.Errorf("%v %.300s", b.Data["text/plain"], page)
	}
	if about := b.Metadata["image/png"].(map[string]any); about["alt"] != text {
		t.Errorf("the PNG is %v", about)
	}
	if svg, _ := b.Data["image/svg+xml"].(string); !strings.Contains(svg, "<title>figure: Squares, ") {
		t.Error("the SVG has no title")
	}
}

// TestAuto checks that a page gets a short SVG without being asked for, and of a long one
// the PNG, turned to the theme; one with a picture stays as it is.
func TestAuto(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	live.SetPaged(true)
	defer live.SetPaged(false)
	many := make(plotter.XYs, 20_000)
	for i := range many {
		many[i] = plotter.XY{X: float64(i), Y: float64(i * i % 977)}
	}
	long := plot.New()
	dots, err := plotter.NewScatter(many)
	if err != nil {
		t.Fatal(err)
	}
	long.Add(dots)
	photo := plot.New()
	photo.Add(dots, plotter.NewImage(image.NewGray(image.Rect(0, 0, 2, 2)), 0, 0, 1, 1))
	s := FigureSettings{}
	for name, c := range map[string]struct {
		p    *plot.Plot
		more func(*FigureSettings)
		html string // a part of the SVG in it
	}{
		"short": {curve(t), func(*FigureSettings) {}, "{svg{--i:"},
		"long":  {long, func(*FigureSettings) {}, "{image{filter:invert"},
		"photo": {figures.Tiles(1, []*plot.Plot{photo}), func(*FigureSettings) {}, ""},
		"dark":  {curve(t), func(s *FigureSettings) { s.Dark = true }, ""},
		"png":   {curve(t), func(s *FigureSettings) { s.Format = "png" }, ""},
		"gonum": {curve(t), func(s *FigureSettings) { s.Gonum = true }, "{image{filter:invert"},
	} {
		set := s
		c.more(&set)
		if set, err = set.check(); err != nil {
			t.Fatal(err)
		}
		b := drawn(c.p, 0, 0, set)
		page, _ := b.Data["text/html"].(string)
		if (page != "") != (c.html != "") || b.Data["image/png"] == nil || b.Data["image/svg+xml"] != nil {
			t.Errorf("%s: HTML %.60s", name, page)
		}
		if c.html != "" {
			_, data, _ := strings.Cut(page, "base64,")
			data, _, _ = strings.Cut(data, `"`)
			if svg, err := base64.StdEncoding.DecodeString(data); err != nil || !strings.Contains(string(svg), "(prefers-color-scheme:dark)"+c.html) || xml.Unmarshal(svg, new(struct{ XMLName xml.Name })) != nil {
				t.Errorf("%s: %v %.200s", name, err, svg)
			}
			if !strings.Contains(page, "<style>.dace-figure{color-scheme:light}[data-jp-theme-light=false]") || strings.Contains(page, "<script") {
				t.Errorf("%s: %.300s", name, page)
			}
		}
	}
}
