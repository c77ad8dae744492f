package figure

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Box is a named rectangle of a diagram, from (X, Y), its lower left corner,
// to (X + W, Y + H). Lengths are points where the diagram is as wide as a column
// ([ColumnWidth]); in a wider figure all grows with it, letters as well.
type Box struct {
	// Text is written in the middle, in lines that "\n" separates; at the top of a
	// frame.
	Text string
	// X, Y, W and H are the corner and the size.
	X, Y, W, H float64
	// Group is the index of the box's group, which has a colour.
	Group int
	// Frame draws a dashed outline alone: it is around other boxes.
	Frame bool
}

// An Arrow leads along a path of points in a diagram, with a text beside the
// longest of its pieces.
type Arrow struct {
	Text string       // beside the arrow; none by default
	Path []plotter.XY // its corners, from its tail to its head
}

// Join returns the arrow from the middle of the first box's edge to the middle
// of the second's: those edges that face each other.
func Join(text string, from, to Box) Arrow {
	middle := func(b Box) plotter.XY { return plotter.XY{X: b.X + b.W/2, Y: b.Y + b.H/2} }
	a, b := middle(from), middle(to)
	dx, dy := b.X-a.X, b.Y-a.Y
	// The axis along which the boxes are apart: one of them if both are.
	if math.Abs(dx)-(from.W+to.W)/2 > math.Abs(dy)-(from.H+to.H)/2 {
		a.X += math.Copysign(from.W/2, dx)
		b.X -= math.Copysign(to.W/2, dx)
	} else {
		a.Y += math.Copysign(from.H/2, dy)
		b.Y -= math.Copysign(to.H/2, dy)
	}
	return Arrow{text, []plotter.XY{a, b}}
}

// Diagram draws boxes, the frames first, and arrows between them. groups names
// the boxes' groups in a legend; without names there is none.
func Diagram(title string, groups []string, boxes []Box, arrows []Arrow) *plot.Plot {
	p := New(title, "", "")
	d := diagram{slices.Clone(boxes), slices.Clone(arrows)}
	slices.SortStableFunc(d.boxes, func(a, b Box) int {
		switch {
		case a.Frame == b.Frame:
			return 0
		case a.Frame:
			return -1
		}
		return 1
	})
	var keys []key
	for i, name := range groups {
		keys = append(keys, key{name, patch(boxFillOf(i))})
	}
	p.HideAxes()
	p.X.Padding, p.Y.Padding = 0, 0
	p.Add(d)
	addKeys(p, keys)
	return p
}

// boxFillOf is the area of a box of group i: of three groups each is darker than the one
// before, so that they differ in grey print.
func boxFillOf(i int) color.Color { return tint(i, []uint8{0x20, 0x58, 0x90}[i%3]) }

const (
	boxLetters  = 7.5 // points
	noteLetters = 6.5
	lineSpace   = 1.25 // of the size of the letters
)

type diagram struct {
	boxes  []Box
	arrows []Arrow
}

// bounds returns the rectangle around all boxes and arrows.
func (d diagram) bounds() (lo, hi plotter.XY) {
	lo, hi = plotter.XY{X: math.Inf(1), Y: math.Inf(1)}, plotter.XY{X: math.Inf(-1), Y: math.Inf(-1)}
	add := func(x, y float64) {
		lo, hi = plotter.XY{X: min(lo.X, x), Y: min(lo.Y, y)}, plotter.XY{X: max(hi.X, x), Y: max(hi.Y, y)}
	}
	for _, b := range d.boxes {
		add(b.X, b.Y)
		add(b.X+b.W, b.Y+b.H)
	}
	for _, a := range d.arrows {
		for _, q := range a.Path {
			add(q.X, q.Y)
		}
	}
	return lo, hi
}

// Plot implements plot.Plotter: the diagram as large as it fits, in the middle.
func (d diagram) Plot(c draw.Canvas, _ *plot.Plot) {
	lo, hi := d.bounds()
	if !(hi.X > lo.X && hi.Y > lo.Y) {
		return
	}
	width, height := c.Max.X-c.Min.X, c.Max.Y-c.Min.Y
	scale := min(width/vg.Length(hi.X-lo.X), height/vg.Length(hi.Y-lo.Y))
	corner := vg.Point{
		X: c.Min.X + (width-scale*vg.Length(hi.X-lo.X))/2,
		Y: c.Min.Y + (height-scale*vg.Length(hi.Y-lo.Y))/2,
	}
	at := func(x, y float64) vg.Point {
		return vg.Point{X: corner.X + scale*vg.Length(x-lo.X), Y: corner.Y + scale*vg.Length(y-lo.Y)}
	}
	edge := draw.LineStyle{Color: muted, Width: 0.7 * scale}
	dashed := draw.LineStyle{Color: muted, Width: 0.7 * scale, Dashes: []vg.Length{3 * scale, 2 * scale}}
	for _, b := range d.boxes {
		corners := []vg.Point{at(b.X, b.Y), at(b.X+b.W, b.Y), at(b.X+b.W, b.Y+b.H), at(b.X, b.Y+b.H), at(b.X, b.Y)}
		sty := style(boxLetters*float64(scale), ink, draw.XCenter, draw.YCenter)
		if b.Frame {
			c.StrokeLines(dashed, corners)
			sty = style(noteLetters*float64(scale), muted, draw.XCenter, draw.YCenter)
			writeLines(c, sty, at(b.X+b.W/2, b.Y+b.H-noteLetters), b.Text)
			continue
		}
		c.FillPolygon(boxFillOf(b.Group), corners)
		c.StrokeLines(edge, corners)
		writeLines(c, sty, at(b.X+b.W/2, b.Y+b.H/2), b.Text)
	}
	for _, a := range d.arrows {
		points := make([]vg.Point, len(a.Path))
		for i, q := range a.Path {
			points[i] = at(q.X, q.Y)
		}
		arrow(c, draw.LineStyle{Color: ink, Width: 0.8 * scale}, scale, points)
		if a.Text != "" {
			note(c, scale, points, a.Text)
		}
	}
}

// writeLines writes the lines of a text around a point.
func writeLines(c draw.Canvas, sty draw.TextStyle, middle vg.Point, text string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		up := sty.Font.Size * lineSpace * (vg.Length(len(lines)-1)/2 - vg.Length(i))
		c.FillText(sty, vg.Point{X: middle.X, Y: middle.Y + up}, line)
	}
}

// arrow draws a path with a head at its end.
func arrow(c draw.Canvas, sty draw.LineStyle, scale vg.Length, points []vg.Point) {
	if len(points) < 2 {
		return
	}
	end, before := points[len(points)-1], points[len(points)-2]
	dx, dy := float64(end.X-before.X), float64(end.Y-before.Y)
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	ux, uy := vg.Length(dx/length), vg.Length(dy/length)
	head, half := 4*scale, 1.7*scale
	neck := vg.Point{X: end.X - head*ux, Y: end.Y - head*uy}
	path := append(slices.Clone(points[:len(points)-1]), neck)
	c.StrokeLines(sty, path)
	c.FillPolygon(sty.Color, []vg.Point{end, {X: neck.X - half*uy, Y: neck.Y + half*ux}, {X: neck.X + half*uy, Y: neck.Y - half*ux}})
}

// note writes an arrow's text beside the longest piece of its path: above a
// piece that is level, right of one that is not.
func note(c draw.Canvas, scale vg.Length, points []vg.Point, text string) {
	longest, length := 0, -1.0
	for i := range len(points) - 1 {
		if l := math.Hypot(float64(points[i+1].X-points[i].X), float64(points[i+1].Y-points[i].Y)); l > length {
			longest, length = i, l
		}
	}
	if length < 0 {
		return
	}
	a, b := points[longest], points[longest+1]
	middle := vg.Point{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}
	lines := vg.Length(strings.Count(text, "\n") + 1)
	sty := style(noteLetters*float64(scale), ink, draw.XCenter, draw.YCenter)
	if math.Abs(float64(b.X-a.X)) > math.Abs(float64(b.Y-a.Y)) {
		middle.Y += sty.Font.Size*lineSpace*lines/2 + scale
	} else {
		sty.XAlign = draw.XLeft
		middle.X += 3 * scale
	}
	writeLines(c, sty, middle, text)
}
