package display

import (
	"math"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// curve returns a plot of a line through 200 points, as a cell makes it.
func curve(tb testing.TB) *plot.Plot {
	pts := make(plotter.XYs, 200)
	for i := range pts {
		pts[i].X, pts[i].Y = float64(i), math.Sin(float64(i)/20)
	}
	l, err := plotter.NewLine(pts)
	if err != nil {
		tb.Fatal(err)
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "A sine", "step", "value"
	p.Add(l)
	p.Legend.Add("sine", l)
	return p
}

// BenchmarkFigure shows a line through 200 points.
func BenchmarkFigure(b *testing.B) {
	p := curve(b)
	for b.Loop() {
		Value(p)
	}
}
