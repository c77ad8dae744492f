package similarity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"dace.local/dacelib/figure"
)

// title returns a figure's title, with the caution.
func title(text, caution string) string {
	text = strings.ToUpper(text[:1]) + text[1:]
	if caution != "" {
		return text + "\nCAUTION: " + caution
	}
	return text
}

// HeatMap draws the matrix as coloured cells, with the first instance at the top
// left. It panics if there are no instances.
func (m Matrix) HeatMap() *plot.Plot {
	rows, names := slices.Clone(m.Values), slices.Clone(m.Names)
	slices.Reverse(rows) // figure.HeatMap begins at the bottom
	slices.Reverse(names)
	p := figure.HeatMap(title(m.Measure.String(), m.Caution), "", "", m.Names, names, rows)
	for _, name := range m.Names {
		if len(name) > 6 && len(m.Names) > 3 {
			return figure.SlantX(p)
		}
	}
	return p
}

// Map draws the instances in the plane, by classical scaling: see [Matrix.Scale].
// The title says which part of their spread the plane shows. groups, unless nil, has
// the group of every instance, which gets a colour and a mark; of at most 30
// instances the names are written, where there is room.
func (m Matrix) Map(groups []string) (*plot.Plot, error) {
	if groups == nil {
		groups = make([]string, len(m.Names))
	}
	if err := m.fits(groups); err != nil {
		return nil, err
	}
	points, share, err := m.Scale(min(2, len(m.Names)-1))
	if err != nil {
		return nil, err
	}
	x, y := make([]float64, len(points)), make([]float64, len(points))
	at := make(plotter.XYs, len(points))
	for i, p := range points {
		x[i] = p[0]
		if len(p) > 1 {
			y[i] = p[1]
		}
		at[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	text := fmt.Sprintf("%s in the plane, which holds %.0f %% of the spread", m.Measure, 100*share)
	p := figure.ScatterBy(title(text, m.Caution), "", "", x, y, groups)
	if at, names := m.roomy(at); len(names) > 0 {
		labels, err := plotter.NewLabels(plotter.XYLabels{XYs: at, Labels: names})
		if err != nil {
			return nil, err
		}
		for i := range labels.TextStyle {
			labels.TextStyle[i] = p.Legend.TextStyle
			labels.TextStyle[i].Font.Size = 7
		}
		labels.Offset = vg.Point{X: 4, Y: 3}
		p.Add(labels)
		p.X.Max += (p.X.Max - p.X.Min) / 20 // for the names
	}
	return p, nil
}

// roomy returns the points beside which there is room for a name, and the names: none
// of more than 30.
func (m Matrix) roomy(at plotter.XYs) (points plotter.XYs, names []string) {
	if len(at) > 30 {
		return nil, nil
	}
	left, right, low, high := plotter.XYRange(at)
	for i, p := range at {
		if !slices.ContainsFunc(points, func(q plotter.XY) bool {
			return math.Abs(p.X-q.X) < (right-left)/8 && math.Abs(p.Y-q.Y) < (high-low)/25
		}) {
			points, names = append(points, p), append(names, m.Names[i])
		}
	}
	return points, names
}

// Dendrogram draws the tree with the instances below one another, in an order in
// which no lines cross, and the heights of the merges along the x axis.
func (t Tree) Dendrogram() *plot.Plot {
	n := len(t.Names)
	x, y := make([]float64, n+len(t.Merges)), make([]float64, n+len(t.Merges))
	next := float64(n - 1)
	ticks := make(plot.ConstantTicks, 0, n)
	var place func(u int)
	place = func(u int) {
		if u < n {
			y[u] = next
			ticks = append(ticks, plot.Tick{Value: next, Label: t.Names[u]})
			next--
			return
		}
		m := t.Merges[u-n]
		place(m.A)
		place(m.B)
		x[u], y[u] = m.Height, (y[m.A]+y[m.B])/2
	}
	if n > 0 {
		place(n + len(t.Merges) - 1)
	}
	p := figure.New(title("Groups by "+t.Measure.String()+", "+t.Linkage.String()+" linkage", t.Caution), "distance", "")
	for k, m := range t.Merges {
		h := x[n+k]
		p.Add(&plotter.Line{
			XYs:       plotter.XYs{{X: x[m.A], Y: y[m.A]}, {X: h, Y: y[m.A]}, {X: h, Y: y[m.B]}, {X: x[m.B], Y: y[m.B]}},
			LineStyle: draw.LineStyle{Color: figure.Color(0), Width: vg.Points(1.2)},
		})
	}
	p.X.Min = 0
	p.Y.Min, p.Y.Max = -0.5, max(0.5, float64(n)-0.5)
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
	if n > 25 { // so that names do not overlap
		p.Y.Tick.Label.Font.Size = vg.Length(max(2, 8.5*25/float64(n)))
	}
	return p
}
