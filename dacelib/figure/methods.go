package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/stats"
)

// This file draws the results of dacelib's methods directly.

// Solver turns the runs of a solver into a group for [Convergence].
func Solver(name string, results []brkga.Result) Runs {
	g := Runs{Name: name}
	for _, r := range results {
		var c Curve
		for _, p := range r.History {
			c.X, c.Y = append(c.X, float64(p.Evaluations)), append(c.Y, p.Best)
		}
		if n := len(c.X); n > 0 && r.Evaluations > int(c.X[n-1]) { // to the end of the run
			c.X, c.Y = append(c.X, float64(r.Evaluations)), append(c.Y, c.Y[n-1])
		}
		g.Curves = append(g.Curves, c)
	}
	return g
}

// Training draws the validation losses over a model's training: one curve for
// the scorer of every instance, and one for the reconstruction.
func Training(title string, m *nir.Model) *plot.Plot {
	names := m.Names()
	curves := make([]Curve, len(names)+1)
	for i, n := range names {
		curves[i].Name = n
	}
	curves[len(names)].Name = "reconstruction"
	for _, r := range m.History() {
		losses := append(append([]float64(nil), r.Validation.Scorer...), r.Validation.Reconstruction)
		for i, v := range losses[:min(len(losses), len(curves))] {
			curves[i].X, curves[i].Y = append(curves[i].X, float64(r.Step)), append(curves[i].Y, v)
		}
	}
	return Losses(title, curves)
}

// Hardening draws PGPE's search for a hard instance over its iterations. The
// upper plot has the performance of the portfolio at the mean, averaged over a
// generation, and on the hardest instance so far; the lower plot has the mean
// standard deviation and the distance that the mean has moved.
func Hardening(title string, r pgpe.Result) *plot.Plot {
	f := []Curve{{Name: "hardest so far"}, {Name: "at the mean"}, {Name: "average of the generation"}}
	path := []Curve{{Name: "mean σ"}, {Name: "distance |μ \u2212 e|"}}
	for _, it := range r.History {
		x := float64(it.Number)
		for i, v := range []float64{it.Best, it.AtMean, it.Average} {
			f[i].X, f[i].Y = append(f[i].X, x), append(f[i].Y, v)
		}
		for i, v := range []float64{it.MeanSigma, it.Distance} {
			path[i].X, path[i].Y = append(path[i].X, x), append(path[i].Y, v)
		}
	}
	above := Lines(title, "", "performance", f)
	below := Lines("", "iteration", "search", path)
	for _, p := range []*plot.Plot{above, below} {
		p.Y.Tick.Marker = Ticks{Wanted: 4}
		p.X.Tick.Marker = Ticks{Whole: true}
	}
	return Tiles(1, []*plot.Plot{above, below})
}

// Comparison draws the values of methods on the same instances as boxes, and
// tests the first method against each of the others by Wilcoxon's signed-rank
// test. values[k][i] is the value of method k on instance i. The p of the test
// is written above a box; the line below the boxes names the pair. It panics where
// methods have not as many values, or one that cannot be drawn: NaN, or the -Inf of a
// run without a solution that may be chosen.
func Comparison(title string, names []string, values [][]float64) *plot.Plot {
	if len(names) != len(values) {
		panic("figure: Comparison needs one name for every method")
	}
	groups := make([]Group, len(names))
	for k, n := range names {
		if len(values[k]) != len(values[0]) {
			panic(fmt.Sprintf("figure: Comparison is of values on the same instances, and %s has %d where %s has %d", n, len(values[k]), names[0], len(values[0])))
		}
		if i := slices.IndexFunc(values[k], func(v float64) bool { return !ok(v) }); i >= 0 {
			panic(fmt.Sprintf("figure: Comparison: value %d of %s is %v: leave its instance out of all methods, or give it the value of a failure", i, n, values[k][i]))
		}
		groups[k] = Group{Name: n, Values: values[k]}
		if k > 0 {
			groups[k].Mark = signedRank(values[0], values[k])
		}
	}
	p := Boxes(title, "normalised solution quality", groups)
	if len(names) > 1 {
		p.X.Label.Text = "p: signed-rank test against " + names[0]
	}
	return p
}

// Tested draws the records of a test, one plot for each dimension: the means on the
// instances as boxes, of the methods first, then in grey of the baselines of the test
// and of the virtual best, the best method on each instance. Above a box is the p of
// the signed-rank test of the first method against it, for baselines with Holm's
// correction, as in the tables of package experiment.
func Tested(title string, records []experiment.Record) (*plot.Plot, error) {
	samples, err := experiment.Samples(records, "")
	if err != nil {
		return nil, err
	}
	var plots []*plot.Plot
	for len(samples) > 0 {
		d, first := samples[0].Dim, samples[0].Method
		var groups []Group
		for ; len(samples) > 0 && samples[0].Dim == d; samples = samples[1:] {
			s := samples[0]
			g := Group{Name: s.Method, Values: s.Means, Beside: s.Baseline}
			if !math.IsNaN(s.P) {
				g.Mark = pText(s.P)
			}
			groups = append(groups, g)
		}
		p := SlantX(Boxes(fmt.Sprintf("%s, d = %d", title, d), "normalised solution quality", groups))
		if len(groups) > 1 {
			p.X.Label.Text = "p: signed-rank test against " + first
		}
		plots = append(plots, p)
	}
	if len(plots) == 1 {
		return plots[0], nil
	}
	return Tiles(1, plots), nil
}

// signedRank returns the p value of the signed-rank test of x and y as text.
func signedRank(x, y []float64) string {
	r, err := stats.SignedRank(x, y, stats.SignedRankSettings{})
	if err != nil {
		return "no difference"
	}
	return pText(r.PValue)
}

func pText(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}

// Landscape turns a measured curve into an instance for [FitnessDistance].
func Landscape(c landscape.Curve) Distances {
	return Distances{Name: c.Name, Distance: c.Distance, Mean: c.Mean, Deviation: c.Deviation}
}

// Plane turns the first two coordinates of points, such as those that
// landscape.PCA.Transform returns, into a cloud for [Scatter].
func Plane(name string, points [][]float64) Cloud {
	c := Cloud{Name: name}
	for _, pt := range points {
		if len(pt) < 2 {
			panic("figure: Plane needs points of two coordinates")
		}
		c.X, c.Y = append(c.X, pt[0]), append(c.Y, pt[1])
	}
	return c
}
