package figure

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// bandAlpha is the opacity of a band.
const bandAlpha = 0x38

// A Curve is a named line through the points (X[i], Y[i]).
type Curve struct {
	// Name is shown in the legend.
	Name string
	// X and Y have one value for each point.
	X, Y []float64
}

// A Band is a named line Mid with the area between Low and High, all over X.
type Band struct {
	// Name is shown in the legend.
	Name string
	// X, Low, Mid and High have one value for each point.
	X, Low, Mid, High []float64
}

// Runs holds the runs of one method. Each run is a curve of the value reached
// so far: Y[i] holds from X[i] until X[i+1].
type Runs struct {
	// Name is shown in the legend, Curves holds one curve for each run.
	Name   string
	Curves []Curve
}

// Lines draws curves.
func Lines(title, x, y string, curves []Curve) *plot.Plot {
	p := New(title, x, y)
	addCurves(p, curves)
	room(&p.Y, 0.04, 0.06)
	return p
}

// Function draws a function of x from lo to hi. To draw several in one figure,
// pass the curves that [Sample] returns to [Lines].
func Function(title, x, y string, lo, hi float64, f func(float64) float64) *plot.Plot {
	return Lines(title, x, y, []Curve{Sample("", lo, hi, f)})
}

// samples is the number of points of a function's curve. It is larger than the
// number of pixels across a column.
const samples = 512

// Sample returns the curve of a function from lo to hi, at 512 points. The
// curve has no point where the function is not finite.
func Sample(name string, lo, hi float64, f func(float64) float64) Curve {
	c := Curve{Name: name}
	for i := range samples {
		x := lo + (hi-lo)*float64(i)/(samples-1)
		c.X, c.Y = append(c.X, x), append(c.Y, f(x))
	}
	return c
}

func addCurves(p *plot.Plot, curves []Curve) {
	var keys []key
	for i, c := range curves {
		if pts := finite("curve "+c.Name, c.X, c.Y); len(pts) > 0 {
			p.Add(&plotter.Line{XYs: pts, LineStyle: line(i)})
		}
		keys = append(keys, key{c.Name, stroke(line(i), false, i)})
	}
	addKeys(p, keys)
}

// addKeys adds a legend, unless there is nothing to distinguish.
func addKeys(p *plot.Plot, keys []key) {
	if len(keys) > 1 || len(keys) == 1 && keys[0].name != "" {
		p.Add(legend(keys))
	}
}

// Losses draws curves of losses over training steps, with the losses on a
// logarithmic scale (the paper's figure of the validation losses). It omits
// values that are not positive.
func Losses(title string, curves []Curve) *plot.Plot {
	p := New(title, "training step", "loss")
	positive := make([]Curve, len(curves))
	for i, c := range curves {
		positive[i] = Curve{Name: c.Name}
		for _, pt := range finite("curve "+c.Name, c.X, c.Y) {
			if pt.Y > 0 {
				positive[i].X, positive[i].Y = append(positive[i].X, pt.X), append(positive[i].Y, pt.Y)
			}
		}
	}
	addCurves(p, positive)
	logarithmic(&p.Y)
	return p
}

// logarithmic makes an axis logarithmic and adds some space at its ends.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 0) || math.IsInf(a.Max, 0) {
		a.Min, a.Max = 0.1, 1
	}
	f := max(math.Pow(a.Max/a.Min, 0.05), 1.1)
	a.Min, a.Max = a.Min/f, a.Max*f
	a.Scale = plot.LogScale{}
	a.Tick.Marker = LogTicks{}
}

// Bands draws lines with the areas around them.
func Bands(title, x, y string, bands []Band) *plot.Plot {
	p := New(title, x, y)
	var keys []key
	for i, b := range bands {
		if len(b.Low) != len(b.X) || len(b.High) != len(b.X) || len(b.Mid) != len(b.X) {
			panic("figure: band " + b.Name + ": X, Low, Mid and High must be of one length")
		}
		p.Add(area(finite(b.Name, b.X, b.Low), finite(b.Name, b.X, b.High), i))
	}
	for i, b := range bands { // lines last, over all areas
		if pts := finite(b.Name, b.X, b.Mid); len(pts) > 0 {
			p.Add(&plotter.Line{XYs: pts, LineStyle: line(i)})
		}
		keys = append(keys, key{b.Name, stroke(line(i), true, i)})
	}
	addKeys(p, keys)
	room(&p.Y, 0.04, 0.06)
	return p
}

// area returns the polygon between two lines.
func area(low, high plotter.XYs, i int) *plotter.Polygon {
	around := slices.Clone(low)
	for _, pt := range slices.Backward(high) {
		around = append(around, pt)
	}
	return &plotter.Polygon{XYs: []plotter.XYs{around}, Color: tint(i, bandAlpha)}
}

// Convergence draws for every group the median over its runs of the value
// reached, against evaluations, with the band between the quartiles. A group
// starts where all of its runs have a value, of a solution that may be chosen: not -Inf.
func Convergence(title string, groups []Runs) *plot.Plot {
	p := New(title, "evaluations", "best value so far")
	var keys []key
	var lines []*plotter.Line
	for i, g := range groups {
		g.Curves = slices.Clone(g.Curves)
		for j, c := range g.Curves {
			if len(c.X) == len(c.Y) {
				begin := slices.IndexFunc(c.Y, ok)
				if begin < 0 {
					begin = len(c.Y)
				}
				g.Curves[j].X, g.Curves[j].Y = c.X[begin:], c.Y[begin:]
			}
		}
		at := instants(g.Curves)
		var low, mid, high plotter.XYs
		for k, x := range at {
			v := make([]float64, len(g.Curves))
			for j, c := range g.Curves {
				v[j] = c.at(x)
			}
			slices.Sort(v)
			l, m, h := quantile(v, 0.25), quantile(v, 0.5), quantile(v, 0.75)
			if k > 0 { // a step: keep the old value up to here
				for _, s := range []*plotter.XYs{&low, &mid, &high} {
					*s = append(*s, plotter.XY{X: x, Y: (*s)[len(*s)-1].Y})
				}
			}
			low, mid, high = append(low, plotter.XY{X: x, Y: l}), append(mid, plotter.XY{X: x, Y: m}), append(high, plotter.XY{X: x, Y: h})
		}
		if len(at) > 0 {
			p.Add(area(low, high, i))
			lines = append(lines, &plotter.Line{XYs: mid, LineStyle: line(i)})
		}
		keys = append(keys, key{g.Name, stroke(line(i), true, i)})
	}
	for _, l := range lines {
		p.Add(l)
	}
	p.X.Min = min(p.X.Min, 0)
	addKeys(p, keys)
	room(&p.Y, 0.04, 0.06)
	return p
}

// instants returns the positions at which any of the curves changes, starting
// where all of them have begun.
func instants(curves []Curve) []float64 {
	begin := math.Inf(-1)
	var at []float64
	for _, c := range curves {
		if len(c.X) != len(c.Y) {
			panic("figure: curve " + c.Name + ": as many x as y are needed")
		}
		if len(c.X) == 0 {
			return nil
		}
		begin = max(begin, c.X[0])
		at = append(at, c.X...)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	return slices.DeleteFunc(at, func(x float64) bool { return x < begin })
}

// at returns the value of a step function: that of the last point up to x.
func (c Curve) at(x float64) float64 {
	i, found := slices.BinarySearchFunc(c.X, x, cmp.Compare)
	for found && i+1 < len(c.X) && c.X[i+1] == x {
		i++
	}
	if !found {
		i--
	}
	return c.Y[i]
}

// quantile returns the q-quantile of sorted values, with linear interpolation
// between order statistics.
func quantile(sorted []float64, q float64) float64 {
	h := q * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// Rounds draws, for every group, means with error bars against the rounds 0
// (the initial portfolio), 1, 2, ... (the paper's figure of the performance
// through co-evolution). Errors[g][r] is half the length of a bar; if errors is
// nil there are no error bars.
func Rounds(title, y string, names []string, means, errors [][]float64) *plot.Plot {
	if len(names) != len(means) || errors != nil && len(errors) != len(means) {
		panic("figure: Rounds needs one name and one row of errors for every row of means")
	}
	p := New(title, "co-evolution round", y)
	p.X.Tick.Marker = Ticks{Whole: true}
	var keys []key
	for i, row := range means {
		pts := make(plotter.XYs, len(row))
		bars := make(plotter.YErrors, len(row))
		for r, m := range row {
			pts[r] = plotter.XY{X: float64(r), Y: m}
			if errors != nil {
				bars[r].Low, bars[r].High = errors[i][r], errors[i][r]
			}
		}
		l := &plotter.Line{XYs: pts, LineStyle: line(i)}
		s := &plotter.Scatter{XYs: pts, GlyphStyle: mark(i, 3)}
		p.Add(l, s)
		if errors != nil {
			e, err := plotter.NewYErrorBars(struct {
				plotter.XYs
				plotter.YErrors
			}{pts, bars})
			if err == nil { // err is not nil if a value is not finite
				e.LineStyle = line(i)
				e.LineStyle.Dashes = nil
				e.LineStyle.Width = vg.Points(1)
				e.CapWidth = vg.Points(5)
				p.Add(e)
			}
		}
		keys = append(keys, key{names[i], stroke(line(i), false, i)})
	}
	addKeys(p, keys)
	room(&p.X, 0.05, 0.05)
	room(&p.Y, 0.06, 0.06)
	return p
}
