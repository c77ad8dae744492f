package display

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"dace.local/dacelib/figure/host"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/internal/drawing"
)

// outs is an engine.Outputs that collects the displays.
type outs struct {
	engine.Outputs
	bundles []engine.Bundle
	updates []engine.Bundle
	stderr  string
}

func (s *outs) Display(b engine.Bundle, _ string) { s.bundles = append(s.bundles, b) }
func (s *outs) Stderr(text string)                { s.stderr += text }
func (s *outs) Update(b engine.Bundle, _ string)  { s.updates = append(s.updates, b) }

// An outsCell is a cell with such outputs.
type outsCell struct{ o *outs }

func (c outsCell) Outputs() engine.Outputs { return c.o }

// capture runs f and returns its displays.
func capture(t *testing.T, f func()) *outs {
	t.Helper()
	var s outs
	goroutine.With(outsCell{&s}, f)
	return &s
}

func picture(t *testing.T, b engine.Bundle) image.Image {
	t.Helper()
	text, _ := b.Data["image/png"].(string)
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v, of %v", err, b.Data)
	}
	return m
}

func TestFigureBundles(t *testing.T) {
	p := curve(t)
	for name, c := range map[string]struct {
		show    func()
		formats string
	}{
		"Figure":      {func() { Figure(p, 0, 0) }, "image/png text/plain"},
		"SVGFigure":   {func() { SVGFigure(p, 0, 0) }, "image/png image/svg+xml text/html text/plain"},
		"GonumFigure": {func() { GonumFigure(p, 0, 0) }, "image/png text/plain"},
		"Figures":     {func() { Figures(2, 0, 0, p, p) }, "image/png text/plain"},
	} {
		s := capture(t, c.show)
		if len(s.bundles) != 1 {
			t.Errorf("%s shows %d bundles", name, len(s.bundles))
			continue
		}
		var formats []string
		for _, f := range []string{"image/png", "image/svg+xml", "text/html", "text/plain"} {
			if s.bundles[0].Data[f] != nil {
				formats = append(formats, f)
			}
		}
		if got := strings.Join(formats, " "); got != c.formats {
			t.Errorf("%s shows %s, want %s", name, got, c.formats)
		}
		want := image.Pt(1134, 718) // 15 x 9.5 cm at 192 dots an inch
		if name == "Figures" {
			want.X = 2268
		}
		if got := picture(t, s.bundles[0]).Bounds().Max; got != want {
			t.Errorf("%s has %v pixels, want %v", name, got, want)
		}
	}
	house, gonum := capture(t, func() { Figure(p, 0, 0) }), capture(t, func() { GonumFigure(p, 0, 0) })
	if house.bundles[0].Data["image/png"] == gonum.bundles[0].Data["image/png"] {
		t.Error("gonum's own style is the house's")
	}
}

func TestSetFigure(t *testing.T) {
	defer func() {
		if err := SetFigure(FigureSettings{}); err != nil {
			t.Error(err)
		}
	}()
	for text, want := range map[string]string{
		"":                      "15x9.5cm 192 auto",
		"8.8x6cm":               "8.8x6cm 192 auto",
		"300 svg":               "15x9.5cm 300 svg",
		"4x2in 96 png gonum":    "10.16x5.08cm 96 png gonum",
		"40x20mm default":       "15x9.5cm 192 auto",
		"10":                    "15x9.5cm 10 auto",
		"pdf":                   `"pdf" is no size`,
		"0x0cm":                 `"0x0cm" is no size`,
		"infxnancm":             `"infxnancm" is no size`,
		"8.8cm":                 `"8.8cm" is no size`,
		"5":                     "a resolution of 5 dots",
		"100000x100000cm":       "pixels are more than 100 million",
		"999999999999999999999": "is no size",
	} {
		s, err := ParseFigure(text)
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if got != want && !(err != nil && strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	s, err := ParseFigure("8.8x6cm 96 svg")
	if err != nil {
		t.Fatal(err)
	}
	if err := SetFigure(s); err != nil {
		t.Fatal(err)
	}
	b := Value(curve(t))
	if got := picture(t, b).Bounds().Max; got != image.Pt(333, 227) || b.Data["image/svg+xml"] == nil {
		t.Errorf("%v pixels, SVG %v", got, b.Data["image/svg+xml"] != nil)
	}
	if err := SetFigure(FigureSettings{Format: "pdf"}); err == nil || CurrentFigure() != s {
		t.Errorf("error %v, now %v", err, CurrentFigure())
	}
}

// TestFigureTooLarge checks that a figure that is too large fails with a clear
// error.
func TestFigureTooLarge(t *testing.T) {
	s := capture(t, func() { Figure(curve(t), 60000*vg.Inch, 60000*vg.Inch) })
	if text := fmt.Sprint(s.bundles[0].Data["text/plain"]); !strings.Contains(text, "make it smaller") {
		t.Error(text)
	}
}

// TestPalette checks that the palette image of a drawing is exact if it has few
// colours and close if it has some more, and that a photograph has no palette.
func TestPalette(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	gradient := func(colors int) *image.RGBA {
		m := image.NewRGBA(image.Rect(0, 0, 200, 150))
		for i := range m.Pix {
			m.Pix[i] = 0xff
		}
		for k := range colors { // a few pixels of each colour, on white
			m.SetRGBA(k%200, k/200, color.RGBA{uint8(k), uint8(k >> 2), uint8(k >> 3), 0xff})
		}
		return m
	}
	photo := image.NewRGBA(image.Rect(0, 0, 200, 150))
	for i := range photo.Pix {
		photo.Pix[i] = uint8(r.Uint32()) | 0xff*uint8(i&3/3)
	}
	for name, c := range map[string]struct {
		m        *image.RGBA
		paletted bool
		most     int // greatest difference of a pixel's component
	}{
		"few": {gradient(255), true, 0}, "some": {gradient(700), true, closeBy}, "photo": {photo, false, 0},
		"empty": {image.NewRGBA(image.Rect(0, 0, 0, 0)), true, 0}, "part": {gradient(255).SubImage(image.Rect(10, 5, 60, 40)).(*image.RGBA), true, 0},
	} {
		p := paletted(c.m)
		if (p != nil) != c.paletted {
			t.Errorf("%s: has a palette: %v", name, p != nil)
		}
		if p == nil {
			continue
		}
		worst := 0
		for y := range c.m.Rect.Dy() {
			for x := range c.m.Rect.Dx() {
				r0, g0, b0, a0 := c.m.At(c.m.Rect.Min.X+x, c.m.Rect.Min.Y+y).RGBA()
				r1, g1, b1, a1 := p.At(x, y).RGBA()
				for _, d := range []int{int(r0) - int(r1), int(g0) - int(g1), int(b0) - int(b1), int(a0) - int(a1)} {
					worst = max(worst, int(math.Abs(float64(d)))>>8)
				}
			}
		}
		if worst > c.most {
			t.Errorf("%s: a pixel is off by %d, want at most %d", name, worst, c.most)
		}
	}
}

// TestCharts checks that charts and other +json types are sent as JSON objects,
// with a text for front ends that cannot draw them.
func TestCharts(t *testing.T) {
	const hint = " (JupyterLab draws it with Plotly's extension: pip install plotly, and load the page again)"
	spec := map[string]any{"mark": "bar", "title": "Bars", "data": map[string]any{"values": []int{1, 2}}}
	type traces struct {
		Data []map[string]any `json:"data"`
	}
	for name, c := range map[string]struct {
		show       func()
		mime, text string
	}{
		"vega value":   {func() { VegaLite(spec) }, "application/vnd.vegalite.v5+json", "<Vega-Lite chart: Bars>"},
		"vega text":    {func() { VegaLite(`{"$schema": "https://vega.github.io/schema/vega-lite/v4.8.json"}`) }, "application/vnd.vegalite.v4+json", "<Vega-Lite chart>"},
		"vega bytes":   {func() { VegaLite([]byte(`{"mark": "point"}`)) }, "application/vnd.vegalite.v5+json", "<Vega-Lite chart>"},
		"plotly value": {func() { Plotly(traces{[]map[string]any{{"y": []int{1}}}}) }, "application/vnd.plotly.v1+json", "<Plotly figure>" + hint},
		"plotly list":  {func() { Plotly(`[{"y": [1, 2]}]`) }, "application/vnd.plotly.v1+json", "<Plotly figure>" + hint},
		"plotly title": {func() { Plotly(`{"data": [], "layout": {"title": {"text": "T"}}}`) }, "application/vnd.plotly.v1+json", "<Plotly figure: T>" + hint},
		"mime":         {func() { Mime("application/vnd.x+json", `{"a": 12345678901234567890}`) }, "application/vnd.x+json", "<application/vnd.x+json>"},
		"wrong":        {func() { VegaLite(`{"mark": `) }, "", "Vega-Lite chart: this is not JSON: unexpected EOF"},
		"more":         {func() { VegaLite(`{} {}`) }, "", "Vega-Lite chart: this is not JSON: more follows after the value"},
		"not object":   {func() { Plotly(7) }, "", "Plotly figure: its specification must be a JSON object, not 7"},
		"no JSON":      {func() { Plotly(math.NaN()) }, "", "Plotly figure: json: unsupported value: NaN"},
	} {
		s := capture(t, c.show)
		if len(s.bundles) != 1 || s.bundles[0].Data["text/plain"] != c.text {
			t.Errorf("%s: shows %v, want the text %q", name, s.bundles, c.text)
			continue
		}
		if c.mime == "" {
			continue
		}
		m, ok := s.bundles[0].Data[c.mime].(map[string]any)
		if !ok {
			t.Errorf("%s: %s is %T", name, c.mime, s.bundles[0].Data[c.mime])
		}
		if text, err := json.Marshal(m); err != nil || name == "mime" && string(text) != `{"a":12345678901234567890}` {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// What a figure's font lacks is said once, in one line, however it is drawn.
func TestLetters(t *testing.T) {
	host.SetFolders()
	p := plot.New()
	p.Title.Text, p.X.Label.Text = "中文 a", "中 b"
	for name, draw := range map[string]func(){
		"SVGFigure": func() { SVGFigure(p, 0, 0) },
		"p.Save": func() {
			if err := drawing.Save(p, vg.Inch, vg.Inch, filepath.Join(t.TempDir(), "f.pdf")); err != nil {
				t.Error(err)
			}
		},
	} {
		if got := capture(t, draw).stderr; got != "figure: its font lacks 中 文, and no font of this computer has them: boxes stand in their place, except in SVG. To see them install Noto Sans CJK (package fonts-noto-cjk) and start again\n" {
			t.Errorf("%s: said %q", name, got)
		}
	}
}

// A transparent picture gets a light background in a dark theme.
func TestBackground(t *testing.T) {
	var opaque, through bytes.Buffer
	for b, m := range map[*bytes.Buffer]image.Image{&opaque: image.NewGray(image.Rect(0, 0, 2, 2)), &through: image.NewNRGBA(image.Rect(0, 0, 2, 2))} {
		if err := png.Encode(b, m); err != nil {
			t.Fatal(err)
		}
	}
	clear := plot.New()
	clear.BackgroundColor = color.Transparent
	for name, c := range map[string]struct {
		show func()
		want any
	}{
		"plot":             {func() { Show(plot.New()) }, nil},
		"clear plot":       {func() { Show(clear) }, "light"},
		"picture":          {func() { PNG(opaque.Bytes()) }, nil},
		"clear picture":    {func() { PNG(through.Bytes()) }, "light"},
		"image of a value": {func() { Show(image.NewNRGBA(image.Rect(0, 0, 2, 2))) }, "light"},
	} {
		about, _ := capture(t, c.show).bundles[0].Metadata["image/png"].(map[string]any)
		if got := about["needs_background"]; got != c.want {
			t.Errorf("%s: needs_background is %v, want %v", name, got, c.want)
		}
	}
}

// What stands between two dollar signs of a value is no formula.
func TestDollars(t *testing.T) {
	type row struct{ A string }
	text := "costs $5 and $6"
	long := make([]row, 40)
	for i := range long {
		long[i].A = text
	}
	for name, b := range map[string]engine.Bundle{
		"table":  Value([]row{{text}}),
		"tree":   Value(map[string]any{"first": long, "second": text, "third": []any{text, text, text, text, text, text, text, text, text, text}}),
		"values": Result([]any{text, []row{{text}}}, false),
		"frame":  Value(map[string][]row{"a": long}),
	} {
		d := xml.NewDecoder(strings.NewReader(fmt.Sprint(b.Data["text/html"])))
		d.Strict, d.Entity = false, xml.HTMLEntity
		texts, ignored := 0, []bool{false} // ignored: of the elements around, outermost first
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(name, err)
			}
			switch x := token.(type) {
			case xml.StartElement:
				class := slices.Contains(x.Attr, xml.Attr{Name: xml.Name{Local: "class"}, Value: "tex2jax_ignore mathjax_ignore"})
				ignored = append(ignored, class || ignored[len(ignored)-1])
			case xml.EndElement:
				ignored = ignored[:len(ignored)-1]
			case xml.CharData:
				if texts += bytes.Count(x, []byte("$")); bytes.Contains(x, []byte("$")) && !ignored[len(ignored)-1] {
					t.Errorf("%s: MathJax does not ignore %q", name, x)
				}
			}
		}
		if texts == 0 {
			t.Errorf("%s has no such text", name)
		}
	}
}
