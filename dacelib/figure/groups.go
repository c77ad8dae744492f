package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Group is the values of a method, one per instance or run.
type Group struct {
	Name   string
	Values []float64
	// Mark is a short text above the group, such as the outcome of a test:
	// "p = 0.002". It may be empty.
	Mark string
}

// Boxes draws a box for every group, as the paper's figure of the test
// results: the box from the 25 to the 75 % quantile with a line at the median,
// whiskers to the 2 and 98 % quantiles, diamonds for what lies outside, and a
// dot at the mean.
func Boxes(title, y string, groups []Group) *plot.Plot {
	p := New(title, "", y)
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Name
		b := &box{at: float64(i), i: i, mark: g.Mark}
		for _, v := range g.Values {
			if ok(v) {
				b.values = append(b.values, v)
			}
		}
		slices.Sort(b.values)
		if len(b.values) > 0 {
			p.Add(b)
		}
	}
	nominal(p, names)
	room(&p.Y, 0.05, 0.05)
	return p
}

// nominal labels the x axis by names at 0, 1, ...
func nominal(p *plot.Plot, names []string) {
	ticks := make(plot.ConstantTicks, len(names))
	for i, n := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: n}
	}
	p.X.Tick.Marker = ticks
	p.X.Tick.Length = 0
	p.X.Tick.Label.Font = sans(9)
	p.X.Min, p.X.Max = -0.6, float64(len(names))-0.4
}

type box struct {
	at     float64
	i      int
	values []float64 // sorted
	mark   string
}

// DataRange implements plot.DataRanger.
func (b *box) DataRange() (xmin, xmax, ymin, ymax float64) {
	return b.at, b.at, b.values[0], b.values[len(b.values)-1]
}

// GlyphBoxes makes room for the mark.
func (b *box) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	if b.mark == "" {
		return nil
	}
	return []plot.GlyphBox{{X: 0.5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: 1, Y: 14}}}}
}

// Plot implements plot.Plotter.
func (b *box) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	x := tx(b.at)
	half := min((tx(b.at+1)-x)*0.27, vg.Points(26))
	q := func(f float64) vg.Length { return ty(quantile(b.values, f)) }
	edge := draw.LineStyle{Color: Color(b.i), Width: vg.Points(1.2)}
	lo, hi := q(0.25), q(0.75)
	c.FillPolygon(tint(b.i, 0x50), []vg.Point{{X: x - half, Y: lo}, {X: x + half, Y: lo}, {X: x + half, Y: hi}, {X: x - half, Y: hi}})
	c.StrokeLines(edge, []vg.Point{{X: x - half, Y: lo}, {X: x + half, Y: lo}, {X: x + half, Y: hi}, {X: x - half, Y: hi}, {X: x - half, Y: lo}})
	c.StrokeLine2(edge, x, hi, x, q(0.98))
	c.StrokeLine2(edge, x, lo, x, q(0.02))
	c.StrokeLine2(edge, x-half/2, q(0.98), x+half/2, q(0.98))
	c.StrokeLine2(edge, x-half/2, q(0.02), x+half/2, q(0.02))
	median := edge
	median.Width = vg.Points(2.2)
	c.StrokeLine2(median, x-half, q(0.5), x+half, q(0.5))
	low, high := quantile(b.values, 0.02), quantile(b.values, 0.98)
	sum := 0.0
	for _, v := range b.values {
		sum += v
		if v < low || v > high {
			c.DrawGlyph(draw.GlyphStyle{Color: tint(b.i, 0xc0), Radius: vg.Points(2), Shape: diamond{}}, vg.Point{X: x, Y: ty(v)})
		}
	}
	c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}, vg.Point{X: x, Y: ty(sum / float64(len(b.values)))})
	if b.mark != "" {
		c.FillText(style(8.5, muted, draw.XCenter, draw.YBottom), vg.Point{X: x, Y: c.Max.Y + 3}, b.mark)
	}
}

// Bars draws a bar for every name, from 0, with error bars where errors is
// not nil.
func Bars(title, y string, names []string, values, errors []float64) *plot.Plot {
	if len(names) != len(values) || errors != nil && len(errors) != len(values) {
		panic("figure: Bars needs one name and one error for every value")
	}
	p := New(title, "", y)
	for i, v := range values {
		if !ok(v) {
			continue
		}
		b := bar{at: float64(i), value: v}
		if errors != nil && ok(errors[i]) {
			b.err = errors[i]
		}
		p.Add(b)
	}
	nominal(p, names)
	if p.Y.Min > p.Y.Max {
		room(&p.Y, 0, 0)
	}
	p.Y.Min, p.Y.Max = min(p.Y.Min, 0), max(p.Y.Max, 0)
	w := p.Y.Max - p.Y.Min
	if p.Y.Min < 0 {
		p.Y.Min -= 0.05 * w
	}
	if p.Y.Max > 0 {
		p.Y.Max += 0.05 * w
	}
	return p
}

type bar struct{ at, value, err float64 }

func (b bar) DataRange() (xmin, xmax, ymin, ymax float64) {
	return b.at, b.at, min(0, b.value-b.err), max(0, b.value+b.err)
}

func (b bar) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	x := tx(b.at)
	half := min((tx(b.at+1)-x)*0.36, vg.Points(30))
	c.FillPolygon(tint(0, 0xd0), []vg.Point{{X: x - half, Y: ty(0)}, {X: x + half, Y: ty(0)}, {X: x + half, Y: ty(b.value)}, {X: x - half, Y: ty(b.value)}})
	if b.err > 0 {
		sty := draw.LineStyle{Color: ink, Width: vg.Points(1)}
		lo, hi := ty(b.value-b.err), ty(b.value+b.err)
		c.StrokeLine2(sty, x, lo, x, hi)
		c.StrokeLine2(sty, x-3, lo, x+3, lo)
		c.StrokeLine2(sty, x-3, hi, x+3, hi)
	}
}

// A Cloud is a named set of points in the plane.
type Cloud struct {
	Name string
	X, Y []float64
}

// Scatter draws clouds of points, such as instances in the plane of their two
// principal components (the paper's figure of the instances in 2-d).
func Scatter(title, x, y string, clouds []Cloud) *plot.Plot {
	p := New(title, x, y)
	var keys []key
	for i, cl := range clouds {
		if pts := finite("cloud "+cl.Name, cl.X, cl.Y); len(pts) > 0 {
			radius := 2.6
			if len(pts) < 30 {
				radius = 3.4
			}
			p.Add(&plotter.Scatter{XYs: pts, GlyphStyle: mark(i, radius)})
		}
		keys = append(keys, key{cl.Name, spot(mark(i, 3.2))})
	}
	addKeys(p, keys)
	room(&p.X, 0.05, 0.05)
	room(&p.Y, 0.05, 0.05)
	return p
}

// mark is the style of the i-th group's points.
func mark(i int, radius float64) draw.GlyphStyle {
	return draw.GlyphStyle{Color: tint(i, 0xc8), Radius: vg.Points(radius), Shape: marks[i%len(marks)]}
}

// Distances is how the values of solutions differ with their Hamming
// distance: mean and standard deviation of the absolute difference.
type Distances struct {
	Name                      string
	Distance, Mean, Deviation []float64
}

// FitnessDistance draws the mean absolute difference of values over Hamming
// distance, with a band of one standard deviation: the features by which the
// paper compares instances.
func FitnessDistance(title string, instances []Distances) *plot.Plot {
	bands := make([]Band, len(instances))
	for i, d := range instances {
		b := Band{Name: d.Name, X: d.Distance, Mid: d.Mean}
		if len(d.Mean) != len(d.Distance) || len(d.Deviation) != len(d.Distance) {
			panic("figure: instance " + d.Name + ": Distance, Mean and Deviation must be of one length")
		}
		for k, m := range d.Mean {
			b.Low, b.High = append(b.Low, math.Max(0, m-d.Deviation[k])), append(b.High, m+d.Deviation[k])
		}
		bands[i] = b
	}
	p := Bands(title, "Hamming distance", "difference of normalised values", bands)
	p.Y.Min = 0
	return p
}
