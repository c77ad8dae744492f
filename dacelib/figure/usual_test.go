package figure_test

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// usual returns six plots as users of gonum typically write them, without a
// style.
func usual() map[string]*plot.Plot {
	r := rng()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	labels := func(title, x, y string) *plot.Plot {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
		return p
	}
	out := map[string]*plot.Plot{}

	p := labels("Two lines", "time (s)", "value (V)")
	for k, f := range []func(float64) float64{math.Sin, math.Cos} {
		var xy plotter.XYs
		for i := range 200 {
			x := float64(i) / 20
			xy = append(xy, plotter.XY{X: x, Y: f(x)})
		}
		l, err := plotter.NewLine(xy)
		must(err)
		p.Add(l)
		p.Legend.Add([]string{"sin", "cos"}[k], l)
	}
	out["lines"] = p

	p = labels("Two clouds", "length (cm)", "width (cm)")
	for k := range 2 {
		var xy plotter.XYs
		for range 100 {
			xy = append(xy, plotter.XY{X: 5 + float64(k) + 0.4*r.NormFloat64(), Y: 25 + 3*float64(k) + r.NormFloat64()})
		}
		s, err := plotter.NewScatter(xy)
		must(err)
		p.Add(s)
		p.Legend.Add([]string{"setosa", "virginica"}[k], s)
	}
	out["scatter"] = p

	p = labels("A histogram", "value", "count")
	var v plotter.Values
	for range 1000 {
		v = append(v, r.NormFloat64())
	}
	h, err := plotter.NewHist(v, 20)
	must(err)
	p.Add(h)
	out["histogram"] = p

	p = labels("Bars", "", "millions a second")
	b, err := plotter.NewBarChart(plotter.Values{80, 25, 32, 12}, vg.Points(30))
	must(err)
	p.Add(b)
	p.NominalX("OneMax", "CCP", "CIMP", "NIR")
	out["bars"] = p

	p = labels("Points, a fit and errors", "x", "y")
	var xy plotter.XYs
	var errs plotter.YErrors
	for i := range 10 {
		x := float64(i)
		xy = append(xy, plotter.XY{X: x, Y: 25 + 2*x + 2*r.NormFloat64()})
		errs = append(errs, struct{ Low, High float64 }{2, 2})
	}
	s, err := plotter.NewScatter(xy)
	must(err)
	e, err := plotter.NewYErrorBars(struct {
		plotter.XYs
		plotter.YErrors
	}{xy, errs})
	must(err)
	fit := plotter.NewFunction(func(x float64) float64 { return 25 + 2*x })
	p.Add(s, e, fit)
	p.Legend.Add("measured", s)
	p.Legend.Add("25 + 2x", fit)
	out["fit"] = p

	p = labels("A power law", "size", "seconds")
	xy = nil
	for i := 1.0; i < 1e5; i *= 1.5 {
		xy = append(xy, plotter.XY{X: i, Y: 1e-6 * math.Pow(i, 1.5)})
	}
	l, pts, err := plotter.NewLinePoints(xy)
	must(err)
	p.Add(l, pts)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{}, plot.LogTicks{}
	out["log"] = p
	return out
}
