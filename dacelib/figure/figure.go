// Package figure draws the figures of the paper, and further figures for
// studies of search methods, in one style: convergence of solvers, losses,
// PGPE's path, box plots of methods, instances in the plane, fitness against
// distance, heat maps.
//
// Start with [Convergence], [Boxes] or [Lines]. Each returns a *plot.Plot of
// gonum, which a notebook displays, [Save] writes to a file, and any plotter
// can be added to. [New] returns an empty plot in the figures' style, [Restyle]
// applies that style to a plot made with gonum, and [Tiles] joins several plots
// into one.
//
// Colours are those of Okabe and Ito, which colour-blind readers can
// distinguish; groups also differ in their dashes or marks. Points that are NaN
// or infinite are omitted. Slices of unequal lengths are the caller's bug and
// panic.
package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"dace.local/dacelib/figure/host"
)

// Width and Height are the default size of a figure.
const (
	Width  = 6 * vg.Inch
	Height = 3.7 * vg.Inch
)

// ColumnWidth is the width of a column of a journal's page.
const ColumnWidth = 8.8 * vg.Centimeter

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	muted = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	light = color.NRGBA{0xe6, 0xe6, 0xe6, 0xff}
	frame = color.NRGBA{0xcc, 0xcc, 0xcc, 0xff}
)

// palette is Okabe and Ito's without yellow, which is too light for lines.
var palette = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermillion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0x44, 0x44, 0x44, 0xff}, // grey
}

// Color returns the colour of the i-th group of a figure.
func Color(i int) color.Color { return palette[i%len(palette)] }

// tint returns the i-th colour with the given opacity.
func tint(i int, alpha uint8) color.NRGBA {
	c := palette[i%len(palette)]
	c.A = alpha
	return c
}

// dashes distinguish lines without colour; the first is solid.
var dashes = [][]vg.Length{
	nil,
	{vg.Points(5), vg.Points(2)},
	{vg.Points(1.5), vg.Points(1.8)},
	{vg.Points(7), vg.Points(2), vg.Points(1.5), vg.Points(2)},
	{vg.Points(3), vg.Points(1.5)},
}

// line returns the style of the i-th line.
func line(i int) draw.LineStyle {
	return draw.LineStyle{Color: Color(i), Width: vg.Points(1.6), Dashes: dashes[i%len(dashes)]}
}

// marks distinguish points without colour.
var marks = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, diamond{}, cross{}, draw.RingGlyph{}, draw.TriangleGlyph{},
}

// cross is an x with lines thick enough to be seen.
type cross struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (cross) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, pt vg.Point) {
	sty, r := draw.LineStyle{Color: s.Color, Width: vg.Points(1.3)}, s.Radius*0.9
	c.StrokeLine2(sty, pt.X-r, pt.Y-r, pt.X+r, pt.Y+r)
	c.StrokeLine2(sty, pt.X-r, pt.Y+r, pt.X+r, pt.Y-r)
}

// diamond is the mark of outliers in the paper's figures.
type diamond struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, pt vg.Point) {
	r := s.Radius * 1.25
	c.FillPolygon(s.Color, []vg.Point{{X: pt.X - r, Y: pt.Y}, {X: pt.X, Y: pt.Y + r}, {X: pt.X + r, Y: pt.Y}, {X: pt.X, Y: pt.Y - r}})
}

// sans returns the figures' font in the given size.
func sans(size float64) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, font.Length(size))
}

// style returns a text style in the figures' font.
func style(size float64, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: c, Font: sans(size), XAlign: x, YAlign: y, Handler: host.Measured(plot.DefaultTextHandler)}
}

// New returns an empty plot in the figures' style, with a light grid.
func New(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle = style(11, ink, draw.XCenter, draw.YTop-0.4) // a little down, for a margin above the title
	p.Title.TextStyle.Font.Weight = 3                               // bold
	p.Title.Padding = vg.Points(11)
	axis(&p.X, x)
	axis(&p.Y, y)
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.Legend.TextStyle = style(9, ink, draw.XLeft, draw.YCenter)
	p.Add(grid{})
	return p
}

func axis(a *plot.Axis, label string) {
	a.Label.Text = label
	a.Label.TextStyle = style(9.5, ink, draw.XCenter, draw.YBottom)
	a.Label.Padding = vg.Points(4)
	a.LineStyle = draw.LineStyle{Color: muted, Width: vg.Points(0.7)}
	a.Tick.LineStyle = a.LineStyle
	a.Tick.Length = vg.Points(3.5)
	a.Tick.Label = style(8.5, ink, draw.XCenter, draw.YCenter)
	a.Tick.Marker = Ticks{}
	a.Padding = 0
}

// grid draws light lines at the labelled ticks.
type grid struct{}

// GlyphBoxes reserves a margin at the right.
func (grid) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: 8, Y: 1}}}}
}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	sty := draw.LineStyle{Color: light, Width: vg.Points(0.6)}
	ticked := func(a plot.Axis) bool { return a.Tick.Length > 0 && a.Tick.LineStyle.Color != hidden.Color }
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() && ticked(p.X) {
			c.StrokeLine2(sty, tx(t.Value), c.Min.Y, tx(t.Value), c.Max.Y)
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() && ticked(p.Y) {
			c.StrokeLine2(sty, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
		}
	}
}

// room extends an axis at either end by a share of its length.
func room(a *plot.Axis, low, high float64) {
	if math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) {
		a.Min, a.Max = 0, 1
	}
	if a.Min == a.Max {
		w := max(math.Abs(a.Min)*0.01, 1e-3)
		a.Min, a.Max = a.Min-w, a.Max+w
	}
	w := a.Max - a.Min
	a.Min, a.Max = a.Min-low*w, a.Max+high*w
}

// finite returns the points whose coordinates are finite.
func finite(what string, x, y []float64) plotter.XYs {
	if len(x) != len(y) {
		panic("figure: " + what + ": as many x as y are needed")
	}
	var out plotter.XYs
	for i := range x {
		if ok(x[i]) && ok(y[i]) {
			out = append(out, plotter.XY{X: x[i], Y: y[i]})
		}
	}
	return out
}

func ok(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
