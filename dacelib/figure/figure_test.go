package figure_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/cmpimg"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"dace.local/dacelib/figure"
)

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// save writes a golden image.
func save(p *plot.Plot, name string) {
	if err := figure.Save(p, "testdata/"+name+".png"); err != nil {
		panic(err)
	}
}

// Convergence draws the median of seven runs of two solvers, with the band
// between the quartiles.
func ExampleConvergence() {
	r := rng()
	solver := func(name string, speed float64) figure.Runs {
		g := figure.Runs{Name: name}
		for range 7 {
			var c figure.Curve
			best := 14 + r.Float64()*3
			for e := 1.0; e < 800; e += 20 * r.Float64() {
				if v := 30 - 14*math.Exp(-e/speed) + r.NormFloat64(); v > best {
					best = v
				}
				c.X, c.Y = append(c.X, e), append(c.Y, math.Min(best, 30))
			}
			g.Curves = append(g.Curves, c)
		}
		return g
	}
	save(figure.Convergence("OneMax, d = 30", []figure.Runs{solver("[200, 700, 100, 0.70, F]", 300), solver("[20, 70, 10, 0.70, F]", 120)}), "convergence")
}

func ExampleLosses() {
	var curves []figure.Curve
	for k := range 6 {
		c := figure.Curve{Name: fmt.Sprintf("scorer %d", k+1)}
		for s := 0.0; s <= 10000; s += 100 {
			c.X, c.Y = append(c.X, s), append(c.Y, 0.02*math.Exp(-s/1500)+2e-4*float64(k+1)*(1+0.1*math.Sin(s/300)))
		}
		curves = append(curves, c)
	}
	curves[5].Name = "reconstruction"
	save(figure.Losses("Validation losses, CCP", curves), "losses")
}

func ExampleLines() {
	c := figure.Curve{Name: "f"}
	for i := range 50 {
		c.X, c.Y = append(c.X, float64(i)), append(c.Y, math.Sin(float64(i)/8))
	}
	c.Y[10] = math.NaN()
	save(figure.Lines("A curve", "iteration", "value", []figure.Curve{c}), "lines")
}

func ExampleBoxes() {
	r := rng()
	group := func(name string, mean float64, mark string) figure.Group {
		g := figure.Group{Name: name, Mark: mark}
		for range 50 {
			g.Values = append(g.Values, mean+0.025*r.NormFloat64())
		}
		return g
	}
	save(figure.Boxes("CCP, d = 40, 50 test instances", "normalised solution quality", []figure.Group{
		group("DACE", 1.08, ""), group("CEPS", 1.06, "p = 0.002"), group("BRKGA-PAP", 1.05, "p < 0.001"),
		group("PARHYDRA", 0.92, "p < 0.001"), group("GLOBAL", 0.89, "p < 0.001"),
	}), "boxes")
}

// The paper's portfolios and two others in two colours.
func ExampleHorizontalBoxes() {
	r := rng()
	group := func(name, kind string, mean float64, mark string) figure.Group {
		g := figure.Group{Name: name, Kind: kind, Mark: mark}
		for range 50 {
			g.Values = append(g.Values, mean+0.025*r.NormFloat64())
		}
		return g
	}
	beside := group("virtual best", "", 1.1, "")
	beside.Beside = true
	save(figure.HorizontalBoxes("CCP, d = 40, 50 test instances", "normalised solution quality", []figure.Group{
		group("DACE (paper)", "the paper's", 1.05, ""), group("BRKGA-PAP", "the paper's", 1.04, "p = 0.012"),
		group("DACE (affine)", "ours", 1.07, "p < 0.001"), group("CEPS", "ours", 1.06, "p = 0.3"), beside,
	}), "horizontal")
}

// What two methods gain over a third, on four classes; hollow marks may be chance.
func ExampleIntervals() {
	nan := math.NaN()
	save(figure.Intervals("Gained by another solver", "difference of normalised quality", []string{"NK", "QUBO", "max-cut", "knapsack"}, []figure.Estimates{
		{Name: "200 evaluations", Mid: []float64{0.19, 0.18, 0.13, nan}, Low: []float64{0.18, 0.17, 0.1, nan}, High: []float64{0.2, 0.19, 0.16, nan}},
		{Name: "800 evaluations", Mid: []float64{0.07, -0.02, 0.04, 0.01}, Low: []float64{0.06, -0.04, 0.03, nan}, High: []float64{0.08, 0.01, 0.05, nan}, Hollow: []bool{false, true, false, true}},
	}), "intervals")
}

func ExampleBars() {
	save(figure.Bars("Evaluations per second", "millions", []string{"OneMax", "CCP", "CIMP", "NIR"}, []float64{80, 1.4, 3.2, 2.5}, []float64{4, 0.2, 0.3, 0.2}), "bars")
}

func ExampleScatter() {
	r := rng()
	cloud := func(name string, x, y, s float64, n int) figure.Cloud {
		c := figure.Cloud{Name: name}
		for range n {
			c.X, c.Y = append(c.X, x+s*r.NormFloat64()), append(c.Y, y+s*r.NormFloat64())
		}
		return c
	}
	save(figure.Scatter("Instances of CCP", "first component", "second component", []figure.Cloud{
		cloud("test", 0, 0, 0.2, 100), cloud("training", 0, 0, 0.1, 5), cloud("DACE", 0.1, 0.1, 0.3, 15), cloud("CEPS", 0, 0.05, 0.2, 15), cloud("NoReg", 0.9, -0.4, 0.3, 15),
	}), "scatter")
}

func ExampleFitnessDistance() {
	var a, b figure.Distances
	a.Name, b.Name = "OneMax", "random"
	for h := 1.0; h <= 30; h++ {
		a.Distance, b.Distance = append(a.Distance, h), append(b.Distance, h)
		a.Mean, a.Deviation = append(a.Mean, math.Sqrt(2*h/math.Pi)/30), append(a.Deviation, math.Sqrt(h*(1-2/math.Pi))/30)
		b.Mean, b.Deviation = append(b.Mean, 0.1), append(b.Deviation, 0.07)
	}
	save(figure.FitnessDistance("Fitness against distance", []figure.Distances{a, b}), "distance")
}

func ExampleHeatMap() {
	var z [][]float64
	for i := range 6 {
		var row []float64
		for j := range 8 {
			row = append(row, 1+0.1*math.Sin(float64(i+j)/3))
		}
		z = append(z, row)
	}
	save(figure.HeatMap("Two parameters of BRKGA on CCP", "elite bias", "elites",
		[]string{"0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8"}, []string{"5", "10", "20", "50", "100", "200"}, z), "heatmap")
}

func ExampleRounds() {
	save(figure.Rounds("Performance through co-evolution", "normalised solution quality", []string{"d = 30", "d = 40"},
		[][]float64{{1.01, 1.045, 1.05, 1.051, 1.052}, {1.02, 1.06, 1.07, 1.075, 1.078}},
		[][]float64{{0.008, 0.007, 0.007, 0.007, 0.007}, {0.009, 0.008, 0.008, 0.008, 0.007}}), "rounds")
}

func ExampleTiles() {
	one := func(name string) *plot.Plot {
		c := figure.Curve{}
		for i := range 50 {
			c.X, c.Y = append(c.X, float64(i)), append(c.Y, float64(i*i))
		}
		return figure.Lines(name, "x", "x squared", []figure.Curve{c})
	}
	save(figure.Tiles(2, []*plot.Plot{one("(a)"), one("(b)")}), "tiles")
}

func ExampleHistogram() {
	r := rng()
	groups := []figure.Group{{Name: "DACE"}, {Name: "CEPS"}}
	for k := range groups {
		for range 300 {
			groups[k].Values = append(groups[k].Values, 1.05-0.03*float64(k)+0.02*r.NormFloat64())
		}
	}
	save(figure.Histogram("300 test instances", "normalised solution quality", 0, groups), "histogram")
}

func ExampleGroupedBars() {
	save(figure.GroupedBars("Published and ours", "normalised solution quality", []string{"GLOBAL", "PARHYDRA", "BRKGA-PAP", "CEPS", "DACE"}, []figure.Series{
		{Name: "paper", Values: []float64{0.9, 0.925, 1.035, 1.04, 1.052}},
		{Name: "ours", Values: []float64{0.904, 0.916, 1.035, 1.044, 1.054}, Errors: []float64{0.01, 0.01, 0.01, 0.01, 0.01}},
	}), "grouped")
}

func ExampleFunction() {
	save(figure.Function("A function", "x", "sin x / x", -20, 20, func(x float64) float64 { return math.Sin(x) / x }), "function")
}

func ExampleRestyle() {
	// figure.Draw, Save and Tiles draw plain plots of gonum in the figures' style.
	var plots []*plot.Plot
	for _, name := range []string{"lines", "scatter", "histogram", "bars", "fit", "log"} {
		plots = append(plots, usual()[name])
	}
	if err := figure.SaveSize(figure.Tiles(2, plots), "testdata/restyle.png", 2*figure.ColumnWidth, 2*figure.ColumnWidth); err != nil {
		panic(err)
	}
}

// column writes a golden image as wide as a column.
func column(p *plot.Plot, name string, height float64) {
	if err := figure.SaveSize(p, "testdata/"+name+".png", figure.ColumnWidth, vg.Length(height)*figure.ColumnWidth); err != nil {
		panic(err)
	}
}

func ExampleContrast()     { column(figure.Contrast(), "contrast", 1) }
func ExampleNIROverview()  { column(figure.NIROverview(), "niroverview", 0.7) }
func ExampleDACEOverview() { column(figure.DACEOverview(), "daceoverview", 1.1) }

// A diagram is boxes, and arrows that join them.
func ExampleDiagram() {
	a := figure.Box{Text: "question", X: 0, Y: 0, W: 60, H: 30}
	b := figure.Box{Text: "answer", X: 120, Y: 0, W: 60, H: 30, Group: 1}
	column(figure.Diagram("A diagram", []string{"asked", "given"}, []figure.Box{a, b}, []figure.Arrow{figure.Join("thought", a, b)}), "diagram", 0.4)
}

func TestGolden(t *testing.T) {
	for name, example := range map[string]func(){
		"convergence": ExampleConvergence, "losses": ExampleLosses, "lines": ExampleLines, "boxes": ExampleBoxes, "horizontal": ExampleHorizontalBoxes, "intervals": ExampleIntervals, "bars": ExampleBars,
		"scatter": ExampleScatter, "distance": ExampleFitnessDistance, "heatmap": ExampleHeatMap, "rounds": ExampleRounds, "tiles": ExampleTiles, "hardening": ExampleHardening, "comparison": ExampleComparison, "tested": ExampleTested,
		"histogram": ExampleHistogram, "grouped": ExampleGroupedBars, "function": ExampleFunction, "restyle": ExampleRestyle,
		"contrast": ExampleContrast, "niroverview": ExampleNIROverview, "daceoverview": ExampleDACEOverview, "diagram": ExampleDiagram,
	} {
		t.Run(name, func(t *testing.T) { cmpimg.CheckPlotApprox(example, t, 0.02, name+".png") })
	}
}

// Data that is empty, has one point or is not finite draws without a panic.
func TestOddData(t *testing.T) {
	none := []figure.Curve{{Name: "a"}}
	one := []figure.Curve{{Name: "a", X: []float64{1}, Y: []float64{2}}}
	nan := []figure.Curve{{Name: "a", X: []float64{1, 2}, Y: []float64{math.NaN(), math.Inf(1)}}}
	plots := []*plot.Plot{
		figure.Boxes("", "", nil), figure.Boxes("", "", []figure.Group{{Name: "a"}, {Name: "b", Values: []float64{1}}}),
		figure.Bars("", "", nil, nil, nil), figure.Bars("", "", []string{"a", "b"}, []float64{-1, math.NaN()}, nil),
		figure.Scatter("", "", "", nil), figure.Convergence("", nil), figure.Convergence("", []figure.Runs{{Name: "a"}, {Name: "b", Curves: none}}),
		figure.HeatMap("", "", "", nil, nil, [][]float64{{math.NaN()}}), figure.HeatMap("", "", "", nil, nil, [][]float64{{1}}),
		figure.Histogram("", "", 0, nil), figure.Histogram("", "", 0, []figure.Group{{}, {Values: []float64{1}}}), figure.Histogram("", "", 0, []figure.Group{{Values: []float64{1, 1}}}),
		figure.Function("", "", "", 0, 0, math.Sqrt), figure.GroupedBars("", "", nil, nil), plot.New(),
		figure.Rounds("", "", nil, nil, nil), figure.HorizontalBoxes("", "", nil), figure.HorizontalBoxes("", "", []figure.Group{{Name: "a"}, {Name: "b", Values: []float64{1}, Mark: "m", Beside: true}}),
		figure.Intervals("", "", nil, nil), figure.Intervals("", "", []string{"a", "b"}, []figure.Estimates{{Mid: []float64{1, math.NaN()}, Low: []float64{math.NaN(), 0}, High: []float64{2, 1}}}), figure.FitnessDistance("", nil), figure.New("", "", ""),
	}
	for _, c := range [][]figure.Curve{nil, none, one, nan} {
		plots = append(plots, figure.Lines("", "", "", c), figure.Losses("", c), figure.Convergence("", []figure.Runs{{Name: "a", Curves: c}}))
	}
	for i, p := range plots {
		c := vgimg.New(100*vg.Millimeter, 60*vg.Millimeter)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p.Draw(draw.New(c))
			figure.Draw(draw.New(c), 1, []*plot.Plot{p})
		})
	}
}

// Ticks are round numbers within the range.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 1, "[0.0 0.2 0.4 0.6 0.8 1.0]"},
		{-1, 1, "[−1.0 −0.5 0.0 0.5 1.0]"},
		{0, 800, "[0 200 400 600 800]"},
		{0, 8000, "[0 2000 4000 6000 8000]"},
		{0, 10000, "[0 2,000 4,000 6,000 8,000 10,000]"},
		{0, 2e7, "[0 5e6 1e7 1.5e7 2e7]"},
		{1.0349, 1.0523, "[1.035 1.040 1.045 1.050]"},
		{0, 2e-5, "[0 5e−6 1e−5 1.5e−5 2e−5]"},
		{3, 3, "[]"},
	} {
		var got []string
		for _, k := range (figure.Ticks{}).Ticks(c.lo, c.hi) {
			got = append(got, k.Label)
		}
		if s := fmt.Sprint(got); s != c.want {
			t.Errorf("[%v, %v]: %v, want %v", c.lo, c.hi, s, c.want)
		}
	}
}

func ExampleSave() {
	dir, err := os.MkdirTemp("", "figure")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	p := figure.Function("Sine", "x", "sin x", 0, 2*math.Pi, math.Sin)
	path := filepath.Join(dir, "sine.pdf") // or .svg, .png, .eps
	if err := figure.Save(p, path); err != nil {
		fmt.Println(err)
		return
	}
	info, err := os.Stat(path)
	fmt.Println(info.Name(), info.Size() > 1000, err)
	// Output: sine.pdf true <nil>
}

// The labels of a logarithmic axis have one form.
func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{1e3, 1e6, "[1,000 10,000 100,000 1,000,000]"},
		{1e-3, 100, "[0.001 0.01 0.1 1 10 100]"},
		{1e-4, 10, "[1e−4 1e−3 1e−2 1e−1 1e0 1e1]"},
		{1, 9, "[1 2 5]"},
	} {
		var got []string
		for _, k := range (figure.LogTicks{}).Ticks(c.lo, c.hi) {
			if k.Label != "" {
				got = append(got, k.Label)
			}
		}
		if s := fmt.Sprint(got); s != c.want {
			t.Errorf("[%v, %v]: %v, want %v", c.lo, c.hi, s, c.want)
		}
	}
}
