package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A key is an entry of a legend.
type key struct {
	name  string
	thumb func(c *draw.Canvas)
}

// legend is a row of keys, or several, between the title and the data.
type legend []key

const (
	legendRow   = vg.Length(14)
	thumbWidth  = vg.Length(18)
	keyGap      = vg.Length(14)
	legendWidth = Width - 60 // what a row may fill; the canvas is not known when room is made
)

// rows cuts the keys into rows.
func (l legend) rows(sty draw.TextStyle) [][]key {
	var out [][]key
	var width vg.Length
	for _, k := range l {
		w := thumbWidth + 4 + sty.Width(k.name) + keyGap
		if len(out) == 0 || width+w > legendWidth {
			out = append(out, nil)
			width = 0
		}
		width += w
		out[len(out)-1] = append(out[len(out)-1], k)
	}
	return out
}

// GlyphBoxes makes room above the data.
func (l legend) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	h := legendRow*vg.Length(len(l.rows(p.Legend.TextStyle))) + 4
	return []plot.GlyphBox{{X: 0.5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: 1, Y: h}}}}
}

// Plot draws the keys.
func (l legend) Plot(c draw.Canvas, p *plot.Plot) {
	rows := l.rows(p.Legend.TextStyle)
	for i, row := range rows {
		y := c.Max.Y + 4 + legendRow*(vg.Length(len(rows)-i)-0.5)
		x := c.Min.X
		for _, k := range row {
			thumb := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + thumbWidth, Y: y + 4},
			}}
			k.thumb(&thumb)
			x += thumbWidth + 4
			c.FillText(p.Legend.TextStyle, vg.Point{X: x, Y: y}, k.name)
			x += p.Legend.TextStyle.Width(k.name) + keyGap
		}
	}
}

// stroke is the thumb of a line, over a band if it has one.
func stroke(sty draw.LineStyle, band bool, i int) func(c *draw.Canvas) {
	return func(c *draw.Canvas) {
		if band {
			c.FillPolygon(tint(i, bandAlpha), []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
		}
		y := c.Center().Y
		c.StrokeLine2(sty, c.Min.X, y, c.Max.X, y)
	}
}

// spot is the thumb of a mark.
func spot(sty draw.GlyphStyle) func(c *draw.Canvas) {
	return func(c *draw.Canvas) { c.DrawGlyphNoClip(sty, c.Center()) }
}
