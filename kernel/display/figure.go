package display

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	figures "dace.local/dacelib/figure"
	"dace.local/dacelib/figure/host"
	"dace.local/kernel/engine"
	"dace.local/kernel/internal/drawing"
	"dace.local/kernel/internal/live"
)

// Default size of a figure.
const (
	DefaultWidth  = 15 * vg.Centimeter
	DefaultHeight = 9.5 * vg.Centimeter
)

// FigureSettings are the settings of the figures of a session.
type FigureSettings struct {
	// Width and Height are the default size of a figure; 0 means 15 cm and
	// 9.5 cm.
	Width, Height vg.Length
	// DPI is the resolution in dots an inch; 0 means 192, twice that of a
	// usual screen, so that figures are sharp on high-resolution screens and
	// in print.
	DPI int
	// Format is "png", "svg" for SVG together with a PNG, or "auto": a PNG, and in a
	// notebook's page the SVG if it is short, else a PNG that the page turns to its
	// theme. The SVG has the colours of the page's theme, unless Dark is set. "" means
	// "auto".
	Format string
	// Gonum draws plots in gonum's own style instead of that of package
	// figure. It does not apply to [Figures].
	Gonum bool
	// Dark draws light ink on a dark ground, as the dark theme of JupyterLab has it.
	// Colours stay, greys are turned around.
	Dark bool
}

const (
	screenDPI = 96
	minDPI    = 10
	maxDPI    = 1200
	maxPixels = 100e6 // 400 MB of memory while it is drawn
)

// check returns the settings with zero values replaced by their defaults, or an
// error if a setting is invalid.
func (s FigureSettings) check() (FigureSettings, error) {
	s.Width, s.Height = size(s.Width, s.Height, FigureSettings{Width: DefaultWidth, Height: DefaultHeight})
	if s.DPI == 0 {
		s.DPI = 2 * screenDPI
	}
	if s.Format == "" {
		s.Format = "auto"
	}
	switch w, h := s.pixels(s.Width, s.Height); {
	case s.Format != "png" && s.Format != "svg" && s.Format != "auto":
		return s, fmt.Errorf("figure: there is no format %q: \"auto\", \"png\" or \"svg\"", s.Format)
	case !(minDPI <= s.DPI && s.DPI <= maxDPI):
		return s, fmt.Errorf("figure: a resolution of %d dots an inch is not between %d and %d", s.DPI, minDPI, maxDPI)
	case !(w*h <= maxPixels):
		return s, tooLarge(w, h)
	}
	return s, nil
}

func (s FigureSettings) pixels(width, height vg.Length) (w, h float64) {
	return width.Dots(float64(s.DPI)), height.Dots(float64(s.DPI))
}

func tooLarge(w, h float64) error {
	return fmt.Errorf("figure: %.0f x %.0f pixels are more than %g million: make it smaller, or its resolution lower", w, h, maxPixels/1e6)
}

// session holds the settings of the figures of this kernel's session.
var session = struct {
	sync.Mutex // guards settings
	settings   FigureSettings
}{settings: FigureSettings{DefaultWidth, DefaultHeight, 2 * screenDPI, "auto", false, false}}

// SetFigure sets how figures are drawn from now on in this session. It changes
// nothing if it returns an error.
func SetFigure(s FigureSettings) error {
	s, err := s.check()
	if err != nil {
		return err
	}
	session.Lock()
	session.settings = s
	session.Unlock()
	return nil
}

// CurrentFigure returns the session's present settings.
func CurrentFigure() FigureSettings {
	session.Lock()
	defer session.Unlock()
	return session.settings
}

// String returns the settings in the syntax of [ParseFigure].
func (s FigureSettings) String() string {
	s, err := s.check()
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%.4gx%.4gcm %d %s", float64(s.Width/vg.Centimeter), float64(s.Height/vg.Centimeter), s.DPI, s.Format)
	if s.Gonum {
		text += " gonum"
	}
	if s.Dark {
		text += " dark"
	}
	return text
}

// ParseFigure parses settings: a size with its unit ("8.8x6cm", "6x4in",
// "300x200pt"), a resolution ("300"), a format ("auto", "png", "svg"), a style
// ("gonum", "house") and a ground ("dark", "light"), each of them optional, in any order. Settings that text
// does not contain have their present values; "default" resets all.
func ParseFigure(text string) (FigureSettings, error) {
	s := CurrentFigure()
	for word := range strings.FieldsSeq(text) {
		if dpi, err := strconv.Atoi(word); err == nil {
			s.DPI = dpi
			continue
		}
		switch word {
		case "default":
			s = FigureSettings{}
		case "png", "svg", "auto":
			s.Format = word
		case "gonum", "house":
			s.Gonum = word == "gonum"
		case "dark", "light":
			s.Dark = word == "dark"
		default:
			w, h, err := parseSize(word)
			if err != nil {
				return s, err
			}
			s.Width, s.Height = w, h
		}
	}
	return s.check()
}

// parseSize parses a size such as "8.8x6cm".
func parseSize(word string) (w, h vg.Length, err error) {
	wrong := fmt.Errorf("figure: %q is no size such as 8.8x6cm, resolution such as 300, format (auto, png, svg) or style (gonum, house) or ground (dark, light)", word)
	for unit, length := range map[string]vg.Length{"cm": vg.Centimeter, "mm": vg.Millimeter, "in": vg.Inch, "pt": 1} {
		numbers, ok := strings.CutSuffix(word, unit)
		if !ok {
			continue
		}
		a, b, _ := strings.Cut(numbers, "x")
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		if errors.Join(errX, errY) != nil || !(x > 0 && y > 0) {
			return 0, 0, wrong
		}
		return vg.Length(x) * length, vg.Length(y) * length, nil
	}
	return 0, 0, wrong
}

// size returns w and h, each replaced by the settings' length if it is 0.
func size(w, h vg.Length, s FigureSettings) (width, height vg.Length) {
	if w <= 0 {
		w = s.Width
	}
	if h <= 0 {
		h = s.Height
	}
	if w <= 0 {
		w = DefaultWidth
	}
	if h <= 0 {
		h = DefaultHeight
	}
	return w, h
}

// Figure shows a plot, width x height, in the figures' style (package
// figure's Restyle); 0 stands for the session's size, see [SetFigure].
func Figure(p *plot.Plot, width, height vg.Length) { show(figure(p, width, height), "") }

// GonumFigure shows a plot like [Figure], but in gonum's own style.
func GonumFigure(p *plot.Plot, width, height vg.Length) {
	s := CurrentFigure()
	s.Gonum = true
	show(drawn(p, width, height, s), "")
}

// SVGFigure shows a plot like [Figure], as SVG, together with a PNG for front
// ends and exports that cannot show SVG.
func SVGFigure(p *plot.Plot, width, height vg.Length) {
	s := CurrentFigure()
	s.Format = "svg"
	show(drawn(p, width, height, s), "")
}

// Figures shows plots in a grid with cols columns, each plot width x height.
func Figures(cols int, width, height vg.Length, plots ...*plot.Plot) {
	if len(plots) == 0 {
		return
	}
	s := CurrentFigure()
	width, height = size(width, height, s)
	cols = min(max(cols, 1), len(plots))
	rows := (len(plots) + cols - 1) / cols
	show(drawn(figures.Tiles(cols, plots), width*vg.Length(cols), height*vg.Length(rows), s), "")
}

// figure returns the bundle of a plot drawn with the session's settings.
func figure(p *plot.Plot, w, h vg.Length) engine.Bundle {
	return drawn(p, w, h, CurrentFigure())
}

// drawn returns the bundle of a plot as PNG and, if the settings' format is
// "svg", also as SVG.
func drawn(p *plot.Plot, w, h vg.Length, s FigureSettings) engine.Bundle {
	if p == nil {
		return engine.Text("<nil>")
	}
	w, h = size(w, h, s)
	picture, err := rasterize(p, w, h, s)
	if err != nil {
		return engine.Text(err.Error())
	}
	text := describe(p)
	out := mime("image/png", base64.StdEncoding.EncodeToString(picture), "<"+text+">")
	x, y := s.pixels(w, h)
	scale := screenDPI / float64(s.DPI)
	about := map[string]any{"width": int(x*scale + .5), "height": int(y*scale + .5), "alt": text}
	if _, _, _, alpha := background(p).RGBA(); alpha < 0xffff { // JupyterLab puts that behind it in the other theme
		about["needs_background"] = map[bool]string{false: "light", true: "dark"}[s.Dark]
	}
	out.Metadata = map[string]any{"image/png": about}
	if s.Format == "png" || s.Format == "auto" && (s.Dark || !live.Paged()) {
		return out
	}
	if s.Format == "auto" && s.Gonum {
		return alsoRaster(out, p, picture, text)
	}
	svg, err := s.svg(p, w, h)
	switch {
	case err != nil && s.Format == "svg":
		return engine.Text("figure: " + err.Error())
	case err != nil || s.Format == "auto" && len(svg) > mostThemed:
		return alsoRaster(out, p, picture, text)
	case s.Format == "svg":
		out.Data["image/svg+xml"] = string(svg)
	}
	out.Data["text/html"] = figureHTML(svg, text, !s.Dark)
	return out
}

// alsoRaster adds HTML to the bundle of a plot's PNG in which it follows the page's theme.
func alsoRaster(out engine.Bundle, p *plot.Plot, picture []byte, text string) engine.Bundle {
	if len(picture) <= mostRaster && !hasImage(reflect.ValueOf(p)) {
		about := out.Metadata["image/png"].(map[string]any)
		out.Data["text/html"] = figureHTML(rasterSVG(picture, about["width"].(int), about["height"].(int), text), text, true)
	}
	return out
}

// svg draws a plot as SVG: in the colours of the page's theme, or light on dark.
func (s FigureSettings) svg(p *plot.Plot, w, h vg.Length) ([]byte, error) {
	if !s.Dark {
		return themedSVG(p, w, h)
	}
	var b bytes.Buffer
	err := figures.WriteSVG(&b, p, w, h)
	return b.Bytes(), err
}

// Files and SVGs are drawn until the cell is interrupted, too. What a figure lacks
// is said on the cell's standard error.
func init() {
	drawing.SetLetters(func() (func(vg.CanvasSizer) vg.CanvasSizer, func()) {
		l := new(host.Letters)
		return l.On, l.Warn
	})
	host.SetWarn(func(line string) {
		if o := outputs(); o != nil {
			o.Stderr(line + "\n")
		}
	})
	host.Set(func(draw func(on func(vg.CanvasSizer) vg.CanvasSizer) error) error {
		return drawing.Run(func() (err error) {
			defer drawing.Recover(&err)
			ctx := drawing.Context()
			s := CurrentFigure()
			return draw(func(c vg.CanvasSizer) vg.CanvasSizer { return s.on(drawing.Until(ctx, c)) })
		})
	})
}

// rasterize draws a plot as PNG.
func rasterize(p *plot.Plot, w, h vg.Length, s FigureSettings) (picture []byte, err error) {
	if x, y := s.pixels(w, h); !(x*y <= maxPixels) {
		return nil, tooLarge(x, y)
	}
	var b bytes.Buffer
	letters := new(host.Letters)
	err = drawing.Run(func() (err error) {
		defer drawing.Recover(&err)
		c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(s.DPI), vgimg.UseBackgroundColor(s.onGround(background(p))))
		q := *p
		q.BackgroundColor = nil // the canvas is already filled with it
		const margin = 1.5 * vg.Millimeter
		inside := draw.Crop(draw.New(s.on(letters.On(drawing.Until(drawing.Context(), c)))), margin, -margin, margin, -margin)
		if s.Gonum {
			q.Draw(inside)
		} else {
			figures.Draw(inside, 1, []*plot.Plot{&q})
		}
		// vgimg draws on RGBA images.
		if err := encodePNG(&b, c.Image().(*image.RGBA)); err != nil {
			return fmt.Errorf("figure: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err // b may be written to still
	}
	letters.Warn()
	return b.Bytes(), nil
}

// A darkCanvas draws with greys turned around.
type darkCanvas struct{ vg.CanvasSizer }

func (c darkCanvas) SetColor(ink color.Color) { c.CanvasSizer.SetColor(turned(ink)) }

// turned returns a grey of the light theme as that of the dark one, from #111111 for
// white to #eeeeee for black; other colours as they are.
func turned(ink color.Color) color.Color {
	r, g, b, a := ink.RGBA()
	if max(r, g, b)-min(r, g, b) > a/16 {
		return ink
	}
	grey := func(x uint32) uint16 { return uint16((a*0x11 + (a-x)*(0xee-0x11)) / 0xff) }
	return color.RGBA64{R: grey(r), G: grey(g), B: grey(b), A: uint16(a)}
}

// on returns the canvas that draws as the settings say.
func (s FigureSettings) on(c vg.CanvasSizer) vg.CanvasSizer {
	if s.Dark {
		return darkCanvas{c}
	}
	return c
}

// onGround returns the colour of a figure's ground.
func (s FigureSettings) onGround(c color.Color) color.Color {
	if s.Dark {
		return turned(c)
	}
	return c
}

func background(p *plot.Plot) color.Color {
	if p.BackgroundColor == nil {
		return color.Transparent
	}
	return p.BackgroundColor
}
