package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Tree draws a forest as rings: node i is on the ring level[i], the roots
// innermost, with a line to its parent. parent[i] is the index of its parent, or
// -1 for a root; the level of a child is above its parent's. Nodes with a
// negative level are left out. group[i] is the index of the node's name in
// groups, which the legend shows.
func Tree(title string, parent, level, group []int, groups []string) *plot.Plot {
	if len(parent) != len(level) || len(group) != len(level) {
		panic("figure: Tree needs a parent, a level and a group for every node")
	}
	children := make([][]int, len(level))
	for i, u := range parent {
		if level[i] >= 0 && u >= 0 {
			children[u] = append(children[u], i)
		}
	}
	// Leaves are spread evenly around the circle, the others are in the middle
	// of theirs.
	angle := make([]float64, len(level))
	leaves := 0.0
	var place func(u int)
	place = func(u int) {
		if len(children[u]) == 0 {
			leaves++
			angle[u] = leaves
			return
		}
		for _, v := range children[u] {
			place(v)
		}
		angle[u] = (angle[children[u][0]] + angle[children[u][len(children[u])-1]]) / 2
	}
	for i := range level {
		if level[i] >= 0 && parent[i] < 0 {
			place(i)
		}
	}
	at := func(u int) plotter.XY {
		a, r := 2*math.Pi*angle[u]/leaves, float64(level[u])+2
		return plotter.XY{X: r * math.Cos(a), Y: r * math.Sin(a)}
	}
	clouds := make([]Cloud, len(groups))
	for k, name := range groups {
		clouds[k].Name = name
	}
	for i := range level {
		if level[i] >= 0 {
			p, c := at(i), &clouds[group[i]]
			c.X, c.Y = append(c.X, p.X), append(c.Y, p.Y)
		}
	}
	p := Scatter(title, "", "", clouds)
	for i := range level {
		if level[i] < 0 || parent[i] < 0 {
			continue
		}
		from, to := at(parent[i]), at(i)
		gap := 0.13 / math.Hypot(to.X-from.X, to.Y-from.Y) // marks stay free
		dx, dy := gap*(to.X-from.X), gap*(to.Y-from.Y)
		p.Add(&plotter.Line{
			XYs:       plotter.XYs{{X: from.X + dx, Y: from.Y + dy}, {X: to.X - dx, Y: to.Y - dy}},
			LineStyle: draw.LineStyle{Color: light, Width: vg.Points(0.8)},
		})
	}
	p.HideAxes()
	return p
}

// LargestBars draws the n values that are largest in size, in ascending order,
// with their names at a slant.
func LargestBars(title, y string, names []string, values []float64, n int) *plot.Plot {
	if len(names) != len(values) {
		panic("figure: LargestBars needs one name for every value")
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	by := func(f func(float64) float64) {
		slices.SortStableFunc(order, func(a, b int) int {
			switch u, v := f(values[a]), f(values[b]); {
			case u < v:
				return -1
			case u > v:
				return 1
			}
			return 0
		})
	}
	by(func(v float64) float64 { return -math.Abs(v) })
	order = order[:min(n, len(order))]
	by(func(v float64) float64 { return v })
	shown, of := make([]string, len(order)), make([]float64, len(order))
	for k, i := range order {
		shown[k], of[k] = names[i], values[i]
	}
	return SlantX(Bars(title, y, shown, of, nil))
}

// SlantX writes the labels of the x axis at a slant, for long names, and returns
// the plot.
func SlantX(p *plot.Plot) *plot.Plot {
	p.X.Tick.Label.Rotation = math.Pi / 6
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	return p
}

// Quartiles makes a band of samples: samples[i] are the values at x[i]. The line
// is their median, the band is from the first quartile to the third.
func Quartiles(name string, x []float64, samples [][]float64) Band {
	b := Band{Name: name}
	for i, v := range samples {
		v = slices.Sorted(slices.Values(v))
		if len(v) == 0 {
			continue
		}
		b.X = append(b.X, x[i])
		b.Low, b.Mid, b.High = append(b.Low, quantile(v, 0.25)), append(b.Mid, quantile(v, 0.5)), append(b.High, quantile(v, 0.75))
	}
	return b
}
