package figure

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Group is a named list of values, one per instance or run.
type Group struct {
	// Name is shown below the group or in the legend, Values are what it
	// consists of.
	Name   string
	Values []float64
	// Mark is a short text above the group, such as the outcome of a test:
	// "p = 0.002". It may be empty.
	Mark string
	// Beside says that the group is there for comparison only: its box is grey.
	Beside bool
	// Kind, unless empty, is shown in a legend: groups of one kind have one colour,
	// such as the paper's portfolios and ours.
	Kind string
}

// Boxes draws a box for every group, like the paper's figure of the test
// results: the box from the 25 % to the 75 % quantile with a line at the
// median, whiskers to the 2 % and 98 % quantiles, diamonds for values outside,
// and a dot at the mean. Boxes of one kind have one colour, because the names below
// them distinguish the groups; those that are there for comparison only are grey.
func Boxes(title, y string, groups []Group) *plot.Plot {
	p := New(title, "", y)
	nominal(p, addBoxes(p, groups, false))
	room(&p.Y, 0.05, 0.05)
	return p
}

// HorizontalBoxes draws [Boxes] with the values along the x axis and the groups from the
// top down, for names that are too long to stand below boxes.
func HorizontalBoxes(title, x string, groups []Group) *plot.Plot {
	p := New(title, x, "")
	across(p, addBoxes(p, groups, true))
	room(&p.X, 0.05, 0.05)
	return p
}

// addBoxes adds boxes, at 0, 1, ... or from the top down, and returns the groups' names.
func addBoxes(p *plot.Plot, groups []Group, horizontal bool) []string {
	names := make([]string, len(groups))
	var kinds []string
	var keys []key
	for i, g := range groups {
		names[i] = g.Name
		k := besideColor
		if !g.Beside {
			k = slices.Index(kinds, g.Kind)
		}
		if k < 0 {
			k = len(kinds)
			kinds = append(kinds, g.Kind)
			keys = append(keys, key{g.Kind, patch(boxFill(k))})
		}
		b := &box{at: float64(i), mark: g.Mark, k: k, beside: g.Beside, horizontal: horizontal}
		if horizontal {
			b.at = float64(len(groups) - 1 - i)
		}
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
	addKeys(p, slices.DeleteFunc(keys, func(k key) bool { return k.name == "" }))
	return names
}

// hidden is the style of ticks that take up space but are invisible.
var hidden = draw.LineStyle{Color: color.Transparent, Width: 0.1}

// nominalGap keeps names off their axis.
const nominalGap vg.Length = 3

// nominal labels the x axis with names at 0, 1, ...
func nominal(p *plot.Plot, names []string) {
	ticks := make(plot.ConstantTicks, len(names))
	for i, n := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: n}
	}
	p.X.Tick.Marker = ticks
	p.X.Tick.Length = nominalGap
	p.X.Tick.LineStyle = hidden
	p.X.Tick.Label.Font = sans(9)
	p.X.Min, p.X.Max = -0.6, float64(len(names))-0.4
}

// The styles of boxes and bars.
const (
	medianWidth = vg.Length(2.2)
	besideColor = 6 // grey
)

var barEdge = draw.LineStyle{Color: color.White, Width: vg.Points(0.5)}

// boxFill is the area of the k-th colour's boxes: the second colour's are darker than the
// first's and the third's between them, so that kinds differ in grey print.
func boxFill(k int) color.Color { return tint(k, []uint8{0x40, 0xa0, 0x70}[k%3]) }

// boxEdge is the style of the k-th colour's boxes.
func boxEdge(k int) draw.LineStyle { return draw.LineStyle{Color: Color(k), Width: vg.Points(1.2)} }

type box struct {
	at         float64
	values     []float64 // sorted
	mark       string
	k          int // its colour
	beside     bool
	horizontal bool
}

// DataRange implements plot.DataRanger.
func (b *box) DataRange() (xmin, xmax, ymin, ymax float64) {
	low, high := b.values[0], b.values[len(b.values)-1]
	if b.horizontal {
		return low, high, b.at, b.at
	}
	return b.at, b.at, low, high
}

// GlyphBoxes reserves space for the mark.
func (b *box) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	if b.mark == "" {
		return nil
	}
	if b.horizontal {
		return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: b.markStyle().Width(b.mark) + 6, Y: 1}}}}
	}
	return []plot.GlyphBox{{X: 0.5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: 1, Y: 14}}}}
}

func (b *box) markStyle() draw.TextStyle {
	if b.horizontal {
		return style(8.5, muted, draw.XLeft, draw.YCenter)
	}
	return style(8.5, muted, draw.XCenter, draw.YBottom)
}

// Plot implements plot.Plotter.
func (b *box) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	x, next := tx(b.at), tx(b.at+1)
	value := ty
	// at is the point across of the box's axis, at a height of values.
	at := func(across, v vg.Length) vg.Point { return vg.Point{X: x + across, Y: v} }
	if b.horizontal {
		x, next, value = ty(b.at), ty(b.at+1), tx
		at = func(across, v vg.Length) vg.Point { return vg.Point{X: v, Y: x + across} }
	}
	half := min((next-x)*0.27, vg.Points(26))
	q := func(f float64) vg.Length { return value(quantile(b.values, f)) }
	edge := boxEdge(b.k)
	fill, far := boxFill(b.k), tint(b.k, 0xc0)
	if b.beside {
		fill, edge.Color = tint(b.k, 0x30), muted
	}
	lo, hi := q(0.25), q(0.75)
	corners := []vg.Point{at(-half, lo), at(half, lo), at(half, hi), at(-half, hi)}
	c.FillPolygon(fill, corners)
	c.StrokeLines(edge, append(corners, corners[0]))
	line := func(sty draw.LineStyle, a, b vg.Point) { c.StrokeLine2(sty, a.X, a.Y, b.X, b.Y) }
	line(edge, at(0, hi), at(0, q(0.98)))
	line(edge, at(0, lo), at(0, q(0.02)))
	line(edge, at(-half/2, q(0.98)), at(half/2, q(0.98)))
	line(edge, at(-half/2, q(0.02)), at(half/2, q(0.02)))
	median := edge
	median.Width = medianWidth
	line(median, at(-half, q(0.5)), at(half, q(0.5)))
	low, high := quantile(b.values, 0.02), quantile(b.values, 0.98)
	sum := 0.0
	for _, v := range b.values {
		sum += v
		if v < low || v > high {
			c.DrawGlyph(draw.GlyphStyle{Color: far, Radius: vg.Points(2), Shape: diamond{}}, at(0, value(v)))
		}
	}
	c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}, at(0, value(sum/float64(len(b.values)))))
	if b.mark != "" {
		end := c.Max.Y
		if b.horizontal {
			end = c.Max.X
		}
		c.FillText(b.markStyle(), at(0, end+3), b.mark)
	}
}

// Bars draws a bar from 0 for every name, with error bars unless errors is nil.
func Bars(title, y string, names []string, values, errors []float64) *plot.Plot {
	return GroupedBars(title, y, names, []Series{{Values: values, Errors: errors}})
}

// A Series holds one value for every name of [GroupedBars]. Errors[i] is half
// the length of an error bar; if Errors is nil there are no error bars.
type Series struct {
	// Name is shown in the legend; Values and Errors have one entry for each
	// group of bars.
	Name           string
	Values, Errors []float64
}

// GroupedBars draws the bars of all series side by side for every name, from 0.
func GroupedBars(title, y string, names []string, series []Series) *plot.Plot {
	p := New(title, "", y)
	var keys []key
	for k, s := range series {
		if len(names) != len(s.Values) || s.Errors != nil && len(s.Errors) != len(s.Values) {
			panic("figure: bars need one name and one error for every value")
		}
		for i, v := range s.Values {
			if !ok(v) {
				continue
			}
			b := bar{at: float64(i), of: len(series), k: k, value: v}
			if s.Errors != nil && ok(s.Errors[i]) {
				b.err = s.Errors[i]
			}
			p.Add(b)
		}
		keys = append(keys, key{s.Name, patch(tint(k, 0xd0))})
	}
	addKeys(p, keys)
	nominal(p, names)
	if p.Y.Min > p.Y.Max {
		room(&p.Y, 0, 0)
	}
	fromZero(&p.Y)
	return p
}

// fromZero makes an axis begin or end at 0, with some space at its other end.
func fromZero(a *plot.Axis) {
	a.Min, a.Max = min(a.Min, 0), max(a.Max, 0)
	w := a.Max - a.Min
	if a.Min < 0 {
		a.Min -= 0.05 * w
	}
	if a.Max > 0 {
		a.Max += 0.05 * w
	}
}

// A bar is the k-th of the bars that are drawn side by side.
type bar struct {
	at         float64
	k, of      int
	value, err float64
}

func (b bar) DataRange() (xmin, xmax, ymin, ymax float64) {
	return b.at, b.at, min(0, b.value-b.err), max(0, b.value+b.err)
}

func (b bar) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	half := min((tx(b.at+1)-tx(b.at))*0.38/vg.Length(b.of), vg.Points(30))
	x := tx(b.at) + half*vg.Length(2*b.k+1-b.of)
	full := half
	if b.of > 1 {
		half *= 0.94 // a gap
	}
	c.FillPolygon(tint(b.k, 0xd0), []vg.Point{{X: x - half, Y: ty(0)}, {X: x + half, Y: ty(0)}, {X: x + half, Y: ty(b.value)}, {X: x - half, Y: ty(b.value)}})
	if b.err > 0 {
		sty := draw.LineStyle{Color: ink, Width: vg.Points(1)}
		lo, hi, whisker := ty(b.value-b.err), ty(b.value+b.err), min(3, full/2)
		c.StrokeLine2(sty, x, lo, x, hi)
		c.StrokeLine2(sty, x-whisker, lo, x+whisker, lo)
		c.StrokeLine2(sty, x-whisker, hi, x+whisker, hi)
	}
}

// Histogram draws how many values fall into each of bins bins of equal width,
// the same bins for all groups. If bins is 0, the number is the larger of those
// that the rules of Freedman and Diaconis and of Sturges give, at most 100.
func Histogram(title, x string, bins int, groups []Group) *plot.Plot {
	p := New(title, x, "count")
	lo, hi := math.Inf(1), math.Inf(-1)
	values := make([][]float64, len(groups))
	for k, g := range groups {
		for _, v := range g.Values {
			if ok(v) {
				values[k] = append(values[k], v)
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		slices.Sort(values[k])
	}
	if bins <= 0 {
		bins = binsFor(values, lo, hi)
	}
	if lo == hi {
		lo, hi = lo-0.5, hi+0.5
	}
	var keys []key
	for k, v := range values {
		h := counts{lo: lo, hi: hi, n: make([]int, bins), k: k, over: len(groups) > 1}
		for _, v := range v {
			h.n[min(int((v-lo)/(hi-lo)*float64(bins)), bins-1)]++
		}
		if len(v) > 0 {
			p.Add(h)
		}
		keys = append(keys, key{groups[k].Name, patch(h.fill())})
	}
	addKeys(p, keys)
	if lo > hi { // no values
		room(&p.X, 0, 0)
		room(&p.Y, 0, 0)
	}
	fromZero(&p.Y)
	return p
}

// binsFor returns the number of bins for the group that needs the most.
func binsFor(values [][]float64, lo, hi float64) int {
	bins := 1
	for _, v := range values {
		if len(v) == 0 {
			continue
		}
		bins = max(bins, int(math.Ceil(math.Log2(float64(len(v)))))+1) // Sturges
		width := 2 * (quantile(v, 0.75) - quantile(v, 0.25)) / math.Cbrt(float64(len(v)))
		if n := math.Ceil((hi - lo) / width); width > 0 && n > float64(bins) {
			bins = int(min(n, 100))
		}
	}
	return bins
}

// counts holds the bars of a histogram between lo and hi.
type counts struct {
	lo, hi float64
	n      []int
	k      int
	over   bool // drawn over the bars of another group
}

func (h counts) fill() color.Color {
	if h.over {
		return tint(h.k, 0x60)
	}
	return tint(h.k, 0xd0)
}

// DataRange implements plot.DataRanger.
func (h counts) DataRange() (xmin, xmax, ymin, ymax float64) {
	return h.lo, h.hi, 0, float64(slices.Max(h.n))
}

// Plot implements plot.Plotter.
func (h counts) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	at := func(i int) vg.Length { return tx(h.lo + (h.hi-h.lo)*float64(i)/float64(len(h.n))) }
	var outline []vg.Point
	for i, n := range h.n {
		y := ty(float64(n))
		bar := []vg.Point{{X: at(i), Y: ty(0)}, {X: at(i), Y: y}, {X: at(i + 1), Y: y}, {X: at(i + 1), Y: ty(0)}}
		c.FillPolygon(h.fill(), bar)
		outline = append(outline, bar[1], bar[2])
		if !h.over {
			c.StrokeLines(barEdge, append(bar, bar[0]))
		}
	}
	if h.over { // the outline distinguishes groups that overlap
		outline = slices.Concat([]vg.Point{{X: at(0), Y: ty(0)}}, outline, []vg.Point{{X: at(len(h.n)), Y: ty(0)}})
		c.StrokeLines(line(h.k), outline)
	}
}

// A Cloud is a named set of points in the plane.
type Cloud struct {
	// Name is shown in the legend.
	Name string
	// X and Y have one value for each point.
	X, Y []float64
}

// Scatter draws clouds of points, such as instances in the plane of their first
// two principal components (the paper's figure of the instances in 2-d).
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

// ScatterBy draws points like [Scatter]. groups[i], such as an entry of a
// table's column, names the group of the point (xs[i], ys[i]). Every group has
// a colour and a mark, assigned in the order in which the groups first appear.
func ScatterBy(title, x, y string, xs, ys []float64, groups []string) *plot.Plot {
	if len(xs) != len(groups) || len(ys) != len(groups) {
		panic("figure: ScatterBy needs an x, a y and a group for every point")
	}
	var clouds []Cloud
	for i, g := range groups {
		k := slices.IndexFunc(clouds, func(c Cloud) bool { return c.Name == g })
		if k < 0 {
			k = len(clouds)
			clouds = append(clouds, Cloud{Name: g})
		}
		clouds[k].X, clouds[k].Y = append(clouds[k].X, xs[i]), append(clouds[k].Y, ys[i])
	}
	return Scatter(title, x, y, clouds)
}

// mark returns the style of the i-th group's points.
func mark(i int, radius float64) draw.GlyphStyle {
	return draw.GlyphStyle{Color: tint(i, 0xc8), Radius: vg.Points(radius), Shape: marks[i%len(marks)]}
}

// Distances describes how the values of solutions differ at each Hamming
// distance: mean and standard deviation of the absolute difference.
type Distances struct {
	// Name is shown in the legend.
	Name string
	// Distance, Mean and Deviation have one value for each Hamming distance.
	Distance, Mean, Deviation []float64
}

// FitnessDistance draws the mean absolute difference of values against Hamming
// distance, with a band of one standard deviation. The paper compares instances
// by these features.
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
