package figure

import (
	"image/color"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"dace.local/dacelib/figure/host"
)

// Restyle returns a copy of a plot in the style of the figures. Wherever p still
// has the defaults of plot.New and gonum's plotters, the copy has the figures'
// fonts, ticks, grid, colours and legend (in a frame above the data). Other
// settings stay as they are; to draw a line in black, use another black than
// color.Black, which is gonum's default. [Draw], [Save] and notebooks apply
// Restyle to every plot; p.Save and p.Draw are gonum's own.
func Restyle(p *plot.Plot) *plot.Plot {
	q := *p
	gonum, ours := plot.New(), New("", "", "")
	plain := reflect.DeepEqual(p.X.Tick.Marker, gonum.X.Tick.Marker) || reflect.DeepEqual(p.Y.Tick.Marker, gonum.Y.Tick.Marker)
	restyleText(&q.Title.TextStyle, gonum.Title.TextStyle, ours.Title.TextStyle)
	replace(&q.Title.Padding, gonum.Title.Padding, ours.Title.Padding)
	restyleText(&q.Legend.TextStyle, gonum.Legend.TextStyle, ours.Legend.TextStyle)
	restyleAxis(&q.X, gonum.X, ours.X)
	restyleAxis(&q.Y, gonum.Y, ours.Y)
	restyleNominal(&q.X, &q.Y, ours.X, ours.Y)
	restyleNominal(&q.Y, &q.X, ours.Y, ours.X)

	own := plotters(&q)
	if own == nil {
		return &q
	}
	restyled, replaced := restylePlotters(*own)
	if plain {
		roomFor(&q, *own)
		if !slices.ContainsFunc(*own, isGrid) {
			restyled = slices.Insert(restyled, 0, plot.Plotter(grid{}))
		}
	}
	if keys := takeLegend(&q.Legend, replaced); len(keys) > 0 {
		restyled = append(restyled, keys)
	}
	*own = restyled
	return &q
}

// replace sets a field to our value if it has gonum's default.
func replace[T any](field *T, gonum, ours T) {
	if reflect.DeepEqual(*field, gonum) {
		*field = ours
	}
}

// House is Restyle.
//
// Deprecated: use [Restyle].
func House(p *plot.Plot) *plot.Plot { return Restyle(p) }

func restyleText(s *text.Style, gonum, ours text.Style) {
	if s.Font.Typeface == gonum.Font.Typeface && s.Font.Variant == gonum.Font.Variant {
		s.Font.Typeface, s.Font.Variant = ours.Font.Typeface, ours.Font.Variant
	}
	replace(&s.Font.Weight, gonum.Font.Weight, ours.Font.Weight)
	replace(&s.Font.Size, gonum.Font.Size, ours.Font.Size)
	replace(&s.Color, gonum.Color, ours.Color)
	replace(&s.XAlign, gonum.XAlign, ours.XAlign)
	replace(&s.YAlign, gonum.YAlign, ours.YAlign)
	s.Handler = host.Measured(s.Handler)
}

func restyleAxis(a *plot.Axis, gonum, ours plot.Axis) {
	restyleText(&a.Label.TextStyle, gonum.Label.TextStyle, ours.Label.TextStyle)
	restyleText(&a.Tick.Label, gonum.Tick.Label, ours.Tick.Label)
	replace(&a.Label.Padding, gonum.Label.Padding, ours.Label.Padding)
	for style, to := range map[*draw.LineStyle]draw.LineStyle{&a.LineStyle: ours.LineStyle, &a.Tick.LineStyle: ours.Tick.LineStyle} {
		replace(&style.Color, gonum.LineStyle.Color, to.Color)
		replace(&style.Width, gonum.LineStyle.Width, to.Width)
	}
	replace(&a.Tick.Length, gonum.Tick.Length, ours.Tick.Length)
	replace(&a.Padding, gonum.Padding, ours.Padding)
	switch a.Tick.Marker.(type) {
	case plot.DefaultTicks:
		a.Tick.Marker = Ticks{}
	case plot.LogTicks:
		a.Tick.Marker = LogTicks{}
	}
}

// restyleNominal gives an axis that plot.NominalX or NominalY has labelled with
// names our axis line, on which bars stand, and moves the other axis,
// which they have put apart, to its end.
func restyleNominal(a, other *plot.Axis, ours, otherOurs plot.Axis) {
	if _, named := a.Tick.Marker.(plot.ConstantTicks); !named || a.LineStyle.Width != 0 || a.Tick.LineStyle.Width != 0 || a.Tick.Length != 0 {
		return
	}
	a.LineStyle = ours.LineStyle
	a.Tick.LineStyle, a.Tick.Length = hidden, nominalGap
	other.Padding = otherOurs.Padding
}

// private returns an unexported field of an addressable value so that it can be
// read and set, because a plot has no exported way to tell what was added to
// it. It returns an invalid Value if the field does not have the kind that it
// has in gonum/plot v0.17.
func private(v reflect.Value, name string, kind reflect.Kind) reflect.Value {
	f := v.FieldByName(name)
	if !f.IsValid() || f.Kind() != kind {
		return reflect.Value{}
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// plotters returns a pointer to a plot's plotters, or nil if the field is not
// found.
func plotters(p *plot.Plot) *[]plot.Plotter {
	f := private(reflect.ValueOf(p).Elem(), "plotters", reflect.Slice)
	if !f.IsValid() {
		return nil
	}
	list, _ := f.Addr().Interface().(*[]plot.Plotter)
	return list
}

// takeLegend removes the entries of gonum's legend, which is drawn over the
// data, and returns them as a legend to be drawn above the data.
func takeLegend(l *plot.Legend, replaced map[any]any) (keys legend) {
	entries := private(reflect.ValueOf(l).Elem(), "entries", reflect.Slice)
	if !entries.IsValid() {
		return nil
	}
	for i := range entries.Len() {
		name := private(entries.Index(i), "text", reflect.String)
		thumbs := private(entries.Index(i), "thumbs", reflect.Slice)
		if !name.IsValid() || !thumbs.IsValid() {
			return nil
		}
		list, _ := thumbs.Interface().([]plot.Thumbnailer)
		list = slices.Clone(list)
		for k, t := range list {
			if reflect.TypeOf(t).Comparable() {
				if other, ok := replaced[t].(plot.Thumbnailer); ok {
					list[k] = other
				}
			}
		}
		keys = append(keys, key{name.String(), func(c *draw.Canvas) {
			for _, t := range list {
				t.Thumbnail(c)
			}
		}})
	}
	entries.SetZero()
	return keys
}

func isGrid(p plot.Plotter) bool {
	switch p.(type) {
	case grid, tiles, diagram, *plotter.Grid:
		return true
	}
	return false
}

// restylePlotters returns the plotters, with those in gonum's default style
// replaced by copies in our style. Each copy has the next colour; points,
// lines and error bars of the same data share one. The map replaced gives the
// copy of each replaced plotter.
func restylePlotters(list []plot.Plotter) (out []plot.Plotter, replaced map[any]any) {
	replaced = map[any]any{}
	var seen []plotter.XYs
	next := 0
	// index returns the number of the colour for a plotter's data.
	index := func(data plotter.XYs) int {
		if data != nil {
			if i := slices.IndexFunc(seen, func(xys plotter.XYs) bool { return slices.Equal(xys, data) }); i >= 0 {
				return i
			}
		}
		for len(seen) <= next {
			seen = append(seen, nil)
		}
		seen[next] = data
		next++
		return next - 1
	}
	for _, p := range list {
		styled := restylePlotter(p, index)
		if reflect.TypeOf(p).Comparable() {
			replaced[p] = styled
		}
		out = append(out, styled)
	}
	return out, replaced
}

func isDefault(s draw.LineStyle) bool {
	d := plotter.DefaultLineStyle
	return s.Color == d.Color && s.Width == d.Width && len(s.Dashes) == len(d.Dashes)
}

func restylePlotter(p plot.Plotter, index func(plotter.XYs) int) plot.Plotter {
	switch p := p.(type) {
	case *plotter.Line:
		if isDefault(p.LineStyle) {
			l := *p
			l.LineStyle = line(index(p.XYs))
			return &l
		}
	case *plotter.Scatter:
		if p.GlyphStyleFunc == nil && p.GlyphStyle == plotter.DefaultGlyphStyle {
			s := *p
			s.GlyphStyle = mark(index(p.XYs), 2.6)
			return &s
		}
	case *plotter.Function:
		if isDefault(p.LineStyle) {
			f := *p
			f.LineStyle = line(index(nil))
			return &f
		}
	case *plotter.Histogram:
		if isDefault(p.LineStyle) && p.FillColor == (color.Gray{Y: 128}) {
			h := *p
			h.FillColor, h.LineStyle = tint(index(nil), 0xd0), barEdge
			return &h
		}
	case *plotter.BarChart:
		if isDefault(p.LineStyle) && p.Color == color.Black {
			b := *p
			b.Color, b.LineStyle = tint(index(nil), 0xd0), barEdge
			return &b
		}
	case *plotter.BoxPlot:
		if isDefault(p.BoxStyle) && p.FillColor == nil {
			b, edge := *p, boxEdge(0)
			b.FillColor, b.BoxStyle, b.WhiskerStyle, b.MedianStyle = boxFill(0), edge, edge, edge
			b.MedianStyle.Width = medianWidth
			b.GlyphStyle = draw.GlyphStyle{Color: tint(0, 0xc0), Radius: vg.Points(2), Shape: diamond{}}
			return &b
		}
	case *plotter.YErrorBars:
		if isDefault(p.LineStyle) {
			e := *p
			e.LineStyle = draw.LineStyle{Color: Color(index(p.XYs)), Width: vg.Points(1)}
			return &e
		}
	case *plotter.XErrorBars:
		if isDefault(p.LineStyle) {
			e := *p
			e.LineStyle = draw.LineStyle{Color: Color(index(p.XYs)), Width: vg.Points(1)}
			return &e
		}
	}
	return p
}

// roomFor extends the axes of a plot where they end exactly at the data, so
// that they have the space that the figures' axes have.
func roomFor(p *plot.Plot, list []plot.Plotter) {
	data := plot.New()
	var bars, counts, points bool
	for _, pl := range list {
		if d, ok := pl.(plot.DataRanger); ok {
			xmin, xmax, ymin, ymax := d.DataRange()
			data.X.Min, data.X.Max = min(data.X.Min, xmin), max(data.X.Max, xmax)
			data.Y.Min, data.Y.Max = min(data.Y.Min, ymin), max(data.Y.Max, ymax)
		}
		switch pl.(type) {
		case *plotter.BarChart:
			bars = true
		case *plotter.Histogram:
			counts = true
		case *plotter.Scatter:
			points = true
		}
	}
	widen := func(a *plot.Axis, data plot.Axis, low, high float64) {
		further := func(from, to, by float64) float64 { return to + by*(to-from) }
		switch a.Scale.(type) {
		case plot.LinearScale:
		case plot.LogScale:
			further = func(from, to, by float64) float64 { return to * math.Pow(to/from, by) }
		default:
			return
		}
		first, last := a.Min, a.Max
		if _, log := a.Scale.(plot.LogScale); !(first < last) || log && first <= 0 {
			return
		}
		if first == data.Min {
			a.Min = further(last, first, low)
		}
		if last == data.Max {
			a.Max = further(first, last, high)
		}
	}
	low := 0.04
	if (bars || counts) && data.Y.Min == 0 {
		low = 0
	}
	widen(&p.Y, data.Y, low, 0.06)
	switch {
	case bars && p.X.Min < p.X.Max:
		half := 0.6 / (p.X.Max - p.X.Min) // of the distance between two bars
		widen(&p.X, data.X, half, half)
	case points:
		widen(&p.X, data.X, 0.04, 0.04)
	}
}
