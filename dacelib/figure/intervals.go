package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Estimates are values with their intervals, one for every name of [Intervals].
type Estimates struct {
	// Name is shown in the legend.
	Name string
	// Mid, Low and High have one entry for each name: the value, and the ends of its
	// interval. There is no mark where Mid is NaN, and no line where an end is.
	Mid, Low, High []float64
	// Hollow, unless nil, has an entry for each name: true draws the mark hollow, such
	// as that of a difference that may be chance.
	Hollow []bool
}

// Intervals draws values with their intervals along the x axis, one row for every name
// from the top down, and in a row those of all series below one another. Where the axis
// contains 0, a line marks it: what the interval of a difference should not cross.
func Intervals(title, x string, names []string, series []Estimates) *plot.Plot {
	p := New(title, x, "")
	p.Add(&rows{n: len(names)})
	var keys []key
	for k, s := range series {
		if len(s.Mid) != len(names) || len(s.Low) != len(names) || len(s.High) != len(names) || s.Hollow != nil && len(s.Hollow) != len(names) {
			panic("figure: estimates " + s.Name + ": Mid, Low, High and Hollow need one entry for every name")
		}
		for i, v := range s.Mid {
			if ok(v) {
				at := float64(len(names)-1-i) + 0.7*(float64(len(series)-1)/2-float64(k))/float64(max(1, len(series)))
				p.Add(&estimate{at: at, mid: v, low: s.Low[i], high: s.High[i], k: k, hollow: s.Hollow != nil && s.Hollow[i]})
			}
		}
		keys = append(keys, key{s.Name, spot(estimateMark(k))})
	}
	addKeys(p, keys)
	across(p, names)
	room(&p.X, 0.04, 0.04)
	return p
}

// across labels the y axis with names from the top down.
func across(p *plot.Plot, names []string) {
	ticks := make(plot.ConstantTicks, len(names))
	for i, n := range names {
		ticks[i] = plot.Tick{Value: float64(len(names) - 1 - i), Label: n}
	}
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Length = nominalGap
	p.Y.Tick.LineStyle = hidden
	p.Y.Tick.Label.Font = sans(9)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
}

// rows draws light lines between the n names, and a line at 0.
type rows struct{ n int }

// Plot implements plot.Plotter.
func (r *rows) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i := 1; i < r.n; i++ {
		y := ty(float64(i) - 0.5)
		c.StrokeLine2(draw.LineStyle{Color: light, Width: vg.Points(0.6)}, c.Min.X, y, c.Max.X, y)
	}
	if p.X.Min < 0 && p.X.Max > 0 {
		c.StrokeLine2(draw.LineStyle{Color: muted, Width: vg.Points(0.9)}, tx(0), c.Min.Y, tx(0), c.Max.Y)
	}
}

type estimate struct {
	at, mid, low, high float64
	k                  int
	hollow             bool
}

// DataRange implements plot.DataRanger.
func (e *estimate) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = e.mid, e.mid
	if ok(e.low) && ok(e.high) {
		xmin, xmax = min(xmin, e.low), max(xmax, e.high)
	}
	return xmin, xmax, e.at, e.at
}

// Plot implements plot.Plotter.
func (e *estimate) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	at := vg.Point{X: tx(e.mid), Y: ty(e.at)}
	if ok(e.low) && ok(e.high) {
		c.StrokeLine2(draw.LineStyle{Color: Color(e.k), Width: vg.Points(1.3)}, tx(e.low), at.Y, tx(e.high), at.Y)
	}
	c.DrawGlyph(estimateMark(e.k), at)
	if e.hollow {
		inner := estimateMark(e.k)
		inner.Color, inner.Radius = color.White, inner.Radius-vg.Points(1)
		c.DrawGlyph(inner, at)
	}
}

// estimateMark is the mark of the k-th series.
func estimateMark(k int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: Color(k), Radius: vg.Points(2.8), Shape: marks[k%4]} // those with an inside
}
