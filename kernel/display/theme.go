package display

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image/color"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	figures "dace.local/dacelib/figure"
)

// A themed SVG is drawn in an <img>, so that front ends that do not trust a notebook, and
// exports, show it, too. A picture there does not see the page's variables, but it takes
// the scheme, light or dark, of the element around it. JupyterLab and VS Code name their
// themes' scheme at the page's body, and figureStyle hands that on. Where nothing does,
// the figure is light, also where the system is dark, which Chromium would follow on a
// page that names no scheme. Its ground is its own: ink and ground always fit.
const (
	figureStyle = `<style>.dace-figure{color-scheme:light}[data-jp-theme-light=false] .dace-figure,.vscode-dark .dace-figure{color-scheme:dark}` +
		`@media print{.dace-figure.dace-figure{color-scheme:light}}</style>`
	svgStyle = `<style>svg{--i:#000;--g:#fff;fill:var(--i)}@media (prefers-color-scheme:dark){svg{--i:#eee;--g:#111}}</style>`
)

// mostThemed is the most bytes of an SVG that is shown besides a PNG without being asked
// for.
const mostThemed = 64 << 10

// mostRaster is the most bytes of a PNG that an SVG repeats to have it follow the theme.
const mostRaster = 256 << 10

// rasterSVG returns a PNG as SVG that a dark theme turns around: white becomes the dark
// theme's ground and black its ink, as withTheme has them, and colours keep their hue.
func rasterSVG(picture []byte, width, height int, title string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img"><title>%s</title>`+
		`<style>@media (prefers-color-scheme:dark){image{filter:invert(.933) hue-rotate(180deg)}}</style>`+
		`<image width="%[1]d" height="%[2]d" href="data:image/png;base64,%[4]s"/></svg>`,
		width, height, html.EscapeString(title), base64.StdEncoding.EncodeToString(picture))
}

// hasImage reports whether a plot, or one of several in it, has a picture, which is not to
// be seen as a negative.
func hasImage(p reflect.Value) bool {
	plotters := field(indirect(p), "plotters")
	for i := range length(plotters) {
		x := indirect(inside(plotters.Index(i)))
		if x.Type() == reflect.TypeFor[plotter.Image]() {
			return true
		}
		for j := range length(field(x, "plots")) {
			if hasImage(field(x, "plots").Index(j)) {
				return true
			}
		}
	}
	return false
}

// themedSVG draws a plot as SVG in the colours of the page's theme.
func themedSVG(p *plot.Plot, w, h vg.Length) ([]byte, error) {
	outer := plot.New()
	outer.HideAxes()
	outer.X.Padding, outer.Y.Padding = 0, 0
	outer.BackgroundColor = p.BackgroundColor
	outer.Add(onInk{p})
	var b bytes.Buffer
	if err := figures.WriteSVG(&b, outer, w, h); err != nil {
		return nil, err
	}
	return withTheme(b.Bytes(), describe(p)), nil
}

// onInk draws a plot on an inkCanvas.
type onInk struct{ p *plot.Plot }

func (o onInk) Plot(c draw.Canvas, _ *plot.Plot) {
	inner := *o.p
	inner.BackgroundColor = nil // it is there already
	ink := &inkCanvas{Canvas: c.Canvas, at: []transform{{1, 0, 0, 1, 0, 0}}, colors: []color.Color{color.Black}}
	figures.Draw(draw.Canvas{Canvas: ink, Rectangle: c.Rectangle}, 1, []*plot.Plot{&inner})
}

// An inkCanvas marks texts that stand on a colour, such as the numbers of a heat map:
// they keep their grey in every theme.
type inkCanvas struct {
	vg.Canvas
	at     []transform   // now, after those that Push has saved
	colors []color.Color // likewise
	fills  []filled
}

// A transform maps (x, y) to (ax+cy+e, bx+dy+f).
type transform [6]float64

func (m transform) apply(p vg.Point) (x, y float64) {
	px, py := float64(p.X), float64(p.Y)
	return m[0]*px + m[2]*py + m[4], m[1]*px + m[3]*py + m[5]
}

func (m transform) times(n transform) transform {
	return transform{m[0]*n[0] + m[2]*n[1], m[1]*n[0] + m[3]*n[1], m[0]*n[2] + m[2]*n[3], m[1]*n[2] + m[3]*n[3],
		m[0]*n[4] + m[2]*n[5] + m[4], m[1]*n[4] + m[3]*n[5] + m[5]}
}

// A filled is the box around an area.
type filled struct {
	x0, y0, x1, y1 float64
	colored        bool
}

// mostFills bounds the areas that are remembered, to the latest.
const mostFills = 20_000

func (c *inkCanvas) transform(n transform) {
	last := len(c.at) - 1
	c.at[last] = c.at[last].times(n)
}

func (c *inkCanvas) Push() {
	c.at, c.colors = append(c.at, c.at[len(c.at)-1]), append(c.colors, c.colors[len(c.colors)-1])
	c.Canvas.Push()
}

func (c *inkCanvas) Pop() {
	if n := len(c.at) - 1; n > 0 {
		c.at, c.colors = c.at[:n], c.colors[:n]
	}
	c.Canvas.Pop()
}

func (c *inkCanvas) Rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	c.transform(transform{cos, sin, -sin, cos, 0, 0})
	c.Canvas.Rotate(angle)
}

func (c *inkCanvas) Translate(p vg.Point) {
	c.transform(transform{1, 0, 0, 1, float64(p.X), float64(p.Y)})
	c.Canvas.Translate(p)
}

func (c *inkCanvas) Scale(x, y float64) {
	c.transform(transform{x, 0, 0, y, 0, 0})
	c.Canvas.Scale(x, y)
}

func (c *inkCanvas) SetColor(ink color.Color) {
	if ink == nil {
		ink = color.Black
	}
	c.colors[len(c.colors)-1] = ink
	c.Canvas.SetColor(ink)
}

func (c *inkCanvas) Fill(p vg.Path) {
	c.Canvas.Fill(p)
	ink := c.colors[len(c.colors)-1]
	if _, _, _, a := ink.RGBA(); a < 0x8000 || len(p) == 0 {
		return
	}
	f := filled{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1), !grey(ink)}
	for _, part := range p {
		if part.Type == vg.CloseComp {
			continue
		}
		x, y := c.at[len(c.at)-1].apply(part.Pos)
		f.x0, f.y0, f.x1, f.y1 = min(f.x0, x), min(f.y0, y), max(f.x1, x), max(f.y1, y)
	}
	if len(c.fills) == mostFills {
		c.fills = slices.Delete(c.fills, 0, mostFills/2)
	}
	c.fills = append(c.fills, f)
}

func (c *inkCanvas) FillString(f font.Face, at vg.Point, text string) {
	middle := at
	middle.X, middle.Y = at.X+f.Width(text)/2, at.Y+f.Font.Size/3
	x, y := c.at[len(c.at)-1].apply(middle)
	ink := c.colors[len(c.colors)-1]
	for _, area := range slices.Backward(c.fills) {
		if area.x0 <= x && x <= area.x1 && area.y0 <= y && y <= area.y1 {
			if area.colored && grey(ink) {
				c.Canvas.SetColor(stays(ink))
				defer c.Canvas.SetColor(ink)
			}
			break
		}
	}
	c.Canvas.FillString(f, at, text)
}

// grey reports whether a colour is an ink or a ground of the light theme, which another
// theme replaces.
func grey(c color.Color) bool {
	r, g, b, a := c.RGBA()
	return max(r, g, b)-min(r, g, b) <= a/16
}

// stays returns a grey as a colour that withTheme leaves alone and no eye tells apart.
func stays(c color.Color) color.Color {
	g := color.NRGBAModel.Convert(c).(color.NRGBA)
	if g.B = g.R + 1; g.R == 0xff {
		g.B = 0xfe
	}
	g.G = g.R
	return g
}

var svgColors = regexp.MustCompile(`<text |<path |(fill|stroke):#([0-9A-F]{6})`)

// withTheme returns an SVG of package figure in the colours of a theme, with a title.
// Greys go from the theme's ink for black to its ground for white. Colours stay, but
// those of texts get some ink, to be read on either ground.
func withTheme(svg []byte, title string) []byte {
	start := bytes.Index(svg, []byte("<svg"))
	end := bytes.IndexByte(svg[max(0, start):], '>')
	if start < 0 || end < 0 {
		return svg
	}
	text := false
	body := svgColors.ReplaceAllFunc(svg[start+end+1:], func(m []byte) []byte {
		if m[0] == '<' {
			text = m[1] == 't'
			return m
		}
		key, hex, _ := strings.Cut(string(m), ":#")
		v, _ := strconv.ParseUint(hex, 16, 32)
		r, g, b := v>>16, v>>8&0xff, v&0xff
		switch {
		case r == g && g == b && r == 0xff:
			return []byte(key + ":var(--g)")
		case r == g && g == b && r == 0:
			return []byte(key + ":var(--i)")
		case r == g && g == b:
			return fmt.Appendf(nil, "%s:color-mix(in srgb,var(--i) %d%%,var(--g))", key, (255-r)*100/255)
		case text && max(r, g, b)-min(r, g, b) > 1:
			return fmt.Appendf(nil, "%s:color-mix(in srgb,#%s 60%%,var(--i))", key, hex)
		}
		return m
	})
	var out bytes.Buffer
	out.Write(svg[start : start+end])
	out.WriteString(` role="img"><title>` + html.EscapeString(title) + "</title>" + svgStyle)
	out.Write(body)
	return out.Bytes()
}

// figureHTML returns an SVG as HTML that follows the page's theme if it is themed.
// The SVG is in an <img>, because nbconvert removes the drawing from inline SVG.
func figureHTML(svg []byte, text string, themed bool) string {
	style := ""
	if themed {
		style = figureStyle
	}
	return style + `<img class="dace-figure" src="data:image/svg+xml;base64,` + base64.StdEncoding.EncodeToString(svg) + `" alt="` + html.EscapeString(text) + `">`
}

// describe says in words what a plot shows: its title, its axes and its series.
func describe(p *plot.Plot) string {
	if p == nil {
		return "figure"
	}
	return strings.Join(strings.Fields(describePlot(reflect.ValueOf(p).Elem())), " ")
}

// describePlot describes a plot.Plot. Package plot keeps what is drawn to itself, so
// that reflect looks for it.
func describePlot(v reflect.Value) string {
	parts := []string{"figure"}
	if t := stringIn(v, "Title", "Text"); t != "" {
		parts[0] += ": " + t
	}
	for _, axis := range []string{"X", "Y"} {
		if t := stringIn(v, axis, "Label", "Text"); t != "" {
			if scale := inside(field(v, axis, "Scale")); scale.IsValid() && strings.HasPrefix(scale.Type().Name(), "Log") {
				t += " (logarithmic)"
			}
			parts = append(parts, strings.ToLower(axis)+": "+t)
		}
	}
	var kinds, names, plots []string
	count := map[string]int{}
	plotters := field(v, "plotters")
	for i := range length(plotters) {
		x := indirect(inside(plotters.Index(i)))
		if inner := field(x, "plots"); length(inner) > 0 {
			for j := range inner.Len() {
				if q := indirect(inner.Index(j)); q.Type() == reflect.TypeFor[plot.Plot]() {
					plots = append(plots, describePlot(q))
				}
			}
			continue
		}
		kind := strings.ToLower(x.Type().Name())
		if kind == "legend" { // package figure's, a list of keys
			names = append(names, namesIn(x, "name")...)
		}
		if plotterWords[kind] == [2]string{} {
			continue
		}
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	if len(plots) > 0 {
		if len(plots) == 1 {
			return plots[0]
		}
		return fmt.Sprintf("%d figures: %s", len(plots), strings.Join(plots, "; "))
	}
	for i, kind := range kinds {
		if kinds[i] = plotterWords[kind][0]; count[kind] > 1 {
			kinds[i] = fmt.Sprintf("%d %s", count[kind], plotterWords[kind][1])
		}
	}
	parts = append(parts, kinds...)
	text := strings.Join(parts, ", ")
	names = append(names, namesIn(field(v, "Legend", "entries"), "text")...)
	if len(names) > 0 {
		text += " (" + cut(strings.Join(names, ", "), 200) + ")"
	}
	return text
}

// plotterWords are the words for one and for several plotters, by their types' names. What
// stands beside them, such as grids and labels, has none.
var plotterWords = map[string][2]string{
	"line": {"a line", "lines"}, "function": {"a curve", "curves"}, "scatter": {"points", "sets of points"},
	"boxplot": {"a box", "boxes"}, "quartplot": {"a box", "boxes"}, "barchart": {"bars", "sets of bars"}, "histogram": {"a histogram", "histograms"},
	"heatmap": {"a heat map", "heat maps"}, "heat": {"a heat map", "heat maps"}, "contour": {"contours", "sets of contours"},
	"polygon": {"an area", "areas"}, "band": {"a band", "bands"}, "yerrorbars": {"error bars", "sets of error bars"}, "xerrorbars": {"error bars", "sets of error bars"},
	"field": {"arrows", "sets of arrows"}, "sankey": {"flows", "sets of flows"},
	// Those of package figure.
	"box": {"a box", "boxes"}, "bar": {"bars", "sets of bars"}, "counts": {"a histogram", "histograms"},
	"diagram": {"a diagram", "diagrams"}, "estimate": {"an interval", "intervals"},
}

// field returns a field by a path of names, the zero Value where there is none.
func field(v reflect.Value, path ...string) reflect.Value {
	for _, name := range path {
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(name)
	}
	return v
}

// namesIn returns a field of a list's elements, where it is a text.
func namesIn(list reflect.Value, name string) (names []string) {
	for i := range length(list) {
		if t := stringIn(list.Index(i), name); t != "" {
			names = append(names, t)
		}
	}
	return names
}

func length(v reflect.Value) int {
	if v.Kind() != reflect.Slice {
		return 0
	}
	return v.Len()
}

func stringIn(v reflect.Value, path ...string) string {
	if v = field(v, path...); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}
