package figure

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatMap draws a table as coloured cells, with z[i][j] in row i from below and
// column j, and a bar that explains the colours. xs and ys label columns and
// rows; nil numbers them. NaN cells stay empty. The cells also show their
// numbers if all numbers fit in letters of 5 points or more; otherwise no cell
// does, and a larger figure will show them.
func HeatMap(title, x, y string, xs, ys []string, z [][]float64) *plot.Plot {
	if len(z) == 0 || len(z[0]) == 0 {
		panic("figure: HeatMap needs at least one cell")
	}
	h := &heat{z: z, lo: math.Inf(1), hi: math.Inf(-1)}
	for _, row := range z {
		if len(row) != len(z[0]) {
			panic("figure: HeatMap needs rows of one length")
		}
		for _, v := range row {
			if ok(v) {
				h.lo, h.hi = min(h.lo, v), max(h.hi, v)
			}
		}
	}
	if h.lo > h.hi {
		h.lo, h.hi = 0, 1
	}
	p := New(title, x, y)
	p.Add(h)
	p.X.Min, p.X.Max = -0.5, float64(len(z[0]))-0.5
	p.Y.Min, p.Y.Max = -0.5, float64(len(z))-0.5
	label := func(a *plot.Axis, names []string, n int) {
		every := 1 + (n-1)/16
		var t plot.ConstantTicks
		for i := 0; i < n; i += every {
			name := strconv.Itoa(i)
			if i < len(names) {
				name = names[i]
			}
			t = append(t, plot.Tick{Value: float64(i), Label: name})
		}
		a.Tick.Marker = t
		a.Tick.LineStyle, a.Tick.Length = hidden, nominalGap
		a.LineStyle.Width = 0
	}
	label(&p.X, xs, len(z[0]))
	label(&p.Y, ys, len(z))
	return p
}

type heat struct {
	z      [][]float64
	lo, hi float64
}

// the bar's place to the right of the data
const barGap, barWidth, barLabels = vg.Length(12), vg.Length(10), vg.Length(38)

// GlyphBoxes reserves space for the bar.
func (h *heat) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: barGap + barWidth + barLabels, Y: 1}}}}
}

func (h *heat) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	decimals := 0
	if h.hi > h.lo {
		decimals = max(0, int(math.Ceil(-math.Log10(h.hi-h.lo)))+2)
	}
	numbers := formatOf(h.lo, h.hi, min(decimals, 6))
	text := style(h.letters(tx(1)-tx(0), ty(1)-ty(0), numbers), ink, draw.XCenter, draw.YCenter)
	cell := func(x0, y0, x1, y1 vg.Length, col color.Color) {
		c.FillPolygon(col, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
	}
	for i, row := range h.z {
		for j, v := range row {
			x0, x1 := tx(float64(j)-0.5), tx(float64(j)+0.5)
			y0, y1 := ty(float64(i)-0.5), ty(float64(i)+0.5)
			if !ok(v) {
				continue
			}
			t := 0.5
			if h.hi > h.lo {
				t = (v - h.lo) / (h.hi - h.lo)
			}
			// Draw cells slightly larger, so that there are no seams between
			// them.
			cell(x0-0.2, y0-0.2, x1+0.2, y1+0.2, viridis(t))
			if text.Font.Size > 0 {
				text.Color = color.White
				if t > 0.6 {
					text.Color = ink
				}
				c.FillText(text, vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}, numbers.text(v))
			}
		}
	}
	const steps = 128
	x := c.Max.X + barGap
	height := c.Max.Y - c.Min.Y
	for k := range steps {
		y0 := c.Min.Y + height*vg.Length(k)/steps
		y1 := c.Min.Y + height*vg.Length(k+1)/steps
		if k < steps-1 {
			y1 += 1
		}
		cell(x, y0, x+barWidth, y1, viridis((float64(k)+0.5)/steps))
	}
	label := style(8, ink, draw.XLeft, draw.YCenter)
	tick := draw.LineStyle{Color: muted, Width: vg.Points(0.7)}
	for _, t := range (Ticks{Wanted: 6}).Ticks(h.lo, h.hi) {
		y := c.Min.Y + height*vg.Length((t.Value-h.lo)/(h.hi-h.lo))
		c.StrokeLine2(tick, x+barWidth, y, x+barWidth+3, y)
		c.FillText(label, vg.Point{X: x + barWidth + 5, Y: y}, t.Label)
	}
}

// letters returns the size in points of the numbers in cells of the given width
// and height: at most 8, and 0 if not even 5 fits.
func (h *heat) letters(width, height vg.Length, numbers format) float64 {
	const most, least = 8, 5
	sty := style(most, ink, draw.XCenter, draw.YCenter)
	widest := vg.Length(0)
	for _, row := range h.z {
		for _, v := range row {
			if ok(v) {
				widest = max(widest, sty.Width(numbers.text(v)))
			}
		}
	}
	size := most * min(1, float64((width-2)/widest), float64((height-1)/(most+1)))
	if !(size >= least) {
		return 0
	}
	return size
}

// anchors of the colour map viridis (Smith and van der Walt, public domain),
// equally spaced.
var anchors = [][3]float64{
	{68, 1, 84}, {72, 40, 120}, {62, 74, 137}, {49, 104, 142}, {38, 130, 142},
	{31, 158, 137}, {53, 183, 121}, {109, 205, 89}, {180, 222, 44}, {253, 231, 37},
}

// viridis maps [0,1] to colours from dark violet to yellow, perceptually
// uniformly.
func viridis(t float64) color.Color {
	t = min(max(t, 0), 1) * float64(len(anchors)-1)
	i := min(int(t), len(anchors)-2)
	f := t - float64(i)
	mix := func(k int) uint8 { return uint8(math.Round(anchors[i][k]*(1-f) + anchors[i+1][k]*f)) }
	return color.NRGBA{mix(0), mix(1), mix(2), 0xff}
}
