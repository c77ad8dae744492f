package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A key is an entry of a legend.
type key struct {
	name  string
	thumb func(c *draw.Canvas)
}

// legend is a list of keys in a frame between the title and the data, in one or
// more rows.
type legend []key

const (
	legendRow  = vg.Length(14)
	framePad   = vg.Length(4)
	thumbWidth = vg.Length(18)
	keyGap     = vg.Length(14)
)

// fitted is the text handler of a plot that [Draw] draws. It carries the width
// of the data to the legend, because a plot computes the space of its parts
// without knowing the canvas.
type fitted struct {
	text.Handler
	width vg.Length
}

// mostRows is the number of rows beyond which a legend is written smaller.
const mostRows = 3

// rows breaks the keys into rows that fit the width of the data, and returns
// the width of the widest row and the style that they are written in: of up to
// two thirds of the size, if there are many rows otherwise.
func (l legend) rows(sty draw.TextStyle) (rows [][]key, widest vg.Length, in draw.TextStyle) {
	rows, widest = l.broken(sty)
	for small := sty.Font.Size * 2 / 3; len(rows) > mostRows && sty.Font.Size > small; {
		sty.Font.Size = max(small, sty.Font.Size-0.5)
		rows, widest = l.broken(sty)
	}
	return rows, widest, sty
}

func (l legend) broken(sty draw.TextStyle) (rows [][]key, widest vg.Length) {
	limit := Width - 60 // about the width that a plot's own method Draw leaves in a figure
	if f, ok := sty.Handler.(fitted); ok {
		limit = f.width
	}
	var width vg.Length
	limit -= 2 * framePad
	for _, k := range l {
		w := thumbWidth + 4 + sty.Width(k.name)
		if len(rows) == 0 || width+keyGap+w > limit {
			rows = append(rows, nil)
			width = -keyGap
		}
		width += keyGap + w
		widest = max(widest, width)
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
	}
	return rows, widest
}

// GlyphBoxes reserves space above the data.
func (l legend) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	rows, _, sty := l.rows(p.Legend.TextStyle)
	h := rowHeight(sty, p)*vg.Length(len(rows)) + 8
	return []plot.GlyphBox{{X: 0.5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: 1, Y: h}}}}
}

// rowHeight is the height of a row whose letters have the style sty.
func rowHeight(sty draw.TextStyle, p *plot.Plot) vg.Length {
	return legendRow * sty.Font.Size / p.Legend.TextStyle.Font.Size
}

// Plot draws the keys, in a smaller size if they do not fit otherwise.
func (l legend) Plot(c draw.Canvas, p *plot.Plot) {
	rows, widest, sty := l.rows(p.Legend.TextStyle)
	legendRow := rowHeight(sty, p)
	scale := min(1, (c.Max.X-c.Min.X-2*framePad)/widest)
	sty.Font.Size *= scale
	low, right := c.Max.Y+5, c.Min.X+2*framePad+widest*scale
	high := low + legendRow*vg.Length(len(rows))
	c.StrokeLines(draw.LineStyle{Color: frame, Width: vg.Points(0.6)}, []vg.Point{
		{X: c.Min.X, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: c.Min.X, Y: high}, {X: c.Min.X, Y: low},
	})
	for i, row := range rows {
		y := low + legendRow*(vg.Length(len(rows)-i)-0.5)
		x := c.Min.X + framePad
		for _, k := range row {
			thumb := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + thumbWidth*scale, Y: y + 4},
			}}
			k.thumb(&thumb)
			x += (thumbWidth + 4) * scale
			c.FillText(sty, vg.Point{X: x, Y: y}, k.name)
			x += sty.Width(k.name) + keyGap*scale
		}
	}
}

// stroke draws the sample of a line in a key, over a band if the line has one.
func stroke(sty draw.LineStyle, band bool, i int) func(c *draw.Canvas) {
	return func(c *draw.Canvas) {
		if band {
			c.FillPolygon(tint(i, bandAlpha), []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
		}
		y := c.Center().Y
		c.StrokeLine2(sty, c.Min.X, y, c.Max.X, y)
	}
}

// patch draws the sample of an area in a key.
func patch(fill color.Color) func(c *draw.Canvas) {
	return func(c *draw.Canvas) {
		c.FillPolygon(fill, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	}
}

// spot draws the sample of a mark in a key.
func spot(sty draw.GlyphStyle) func(c *draw.Canvas) {
	return func(c *draw.Canvas) { c.DrawGlyphNoClip(sty, c.Center()) }
}
