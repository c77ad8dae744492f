package display

import (
	"bytes"
	"encoding/base64"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// contrast returns the contrast of two colours by WCAG 2.1: 1 to 21.
func contrast(a, b color.Color) float64 {
	light := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		part := func(x uint32) float64 {
			v := float64(x) / 0xffff
			if v <= 0.04045 {
				return v / 12.92
			}
			return math.Pow((v+0.055)/1.055, 2.4)
		}
		return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestDark draws a figure on both grounds: its texts have a contrast of 4.5 at least.
func TestDark(t *testing.T) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = "A title", "a label"
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 3}})
	if err != nil {
		t.Fatal(err)
	}
	p.Add(line)
	for _, text := range []string{"light png", "dark png", "dark gonum", "dark svg"} {
		s, err := ParseFigure("6x4cm 100 house light " + text)
		if err != nil {
			t.Fatal(err)
		}
		b := drawn(p, 0, 0, s)
		picture, err := base64.StdEncoding.DecodeString(b.Data["image/png"].(string))
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		ground, most := m.At(0, 0), 1.
		want := color.RGBA{0xff, 0xff, 0xff, 0xff}
		if s.Dark {
			want = color.RGBA{0x11, 0x11, 0x11, 0xff}
		}
		if contrast(ground, want) > 1.02 {
			t.Errorf("%s: the ground is %v, want %v", text, ground, want)
		}
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				most = max(most, contrast(ground, m.At(x, y)))
			}
		}
		if most < 7 {
			t.Errorf("%s: the greatest contrast is %.1f", text, most)
		}
	}
	for _, ink := range []color.Color{p.Title.TextStyle.Color, p.X.Label.TextStyle.Color, p.X.Tick.Label.Color, color.Gray{0x50}} {
		if c := contrast(ink, color.White); c < 4.5 {
			t.Errorf("%v on white has a contrast of %.2f", ink, c)
		}
		if c := contrast(turned(ink), turned(color.White)); c < 4.5 {
			t.Errorf("%v on the dark ground has a contrast of %.2f", ink, c)
		}
	}
	if blue := (color.RGBA{0, 0x72, 0xb2, 0xff}); turned(blue) != blue || turned(color.Transparent).(color.RGBA64).A != 0 {
		t.Error("colours and what is transparent must stay")
	}
	before := CurrentFigure()
	defer func() { _ = SetFigure(before) }()
	s, _ := ParseFigure("dark svg")
	if err := SetFigure(s); err != nil || !strings.HasSuffix(CurrentFigure().String(), "svg dark") {
		t.Errorf("%v: %s", err, CurrentFigure())
	}
	if svg, _ := figure(p, 0, 0).Data["image/svg+xml"].(string); !strings.Contains(svg, "fill:#111111") || strings.Contains(strings.ToUpper(svg), "#FFFFFF") || !strings.Contains(svg, "fill:#D") {
		t.Errorf("the SVG has no light ink on a dark ground: %.3000s", svg)
	}
}
