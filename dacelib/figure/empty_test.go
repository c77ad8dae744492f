package figure_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"dace.local/dacelib/figure"
)

// A figure without a value is not written to a file; one with a single value, and
// one that has no axes, are.
func TestNoValues(t *testing.T) {
	nan := []float64{math.NaN(), math.Inf(1)}
	one := figure.Lines("t", "x", "y", []figure.Curve{{Name: "a", X: []float64{1}, Y: []float64{2}}})
	for name, c := range map[string]struct {
		plot *plot.Plot
		ok   bool
	}{
		"comparison":    {figure.Comparison("t", []string{"a", "b"}, [][]float64{nil, nil}), false},
		"no methods":    {figure.Comparison("t", nil, nil), false},
		"boxes":         {figure.Boxes("t", "y", nil), false},
		"boxes of none": {figure.Boxes("t", "y", []figure.Group{{Name: "a"}}), false},
		"lines":         {figure.Lines("t", "x", "y", nil), false},
		"lines of NaN":  {figure.Lines("t", "x", "y", []figure.Curve{{Name: "a", X: nan, Y: nan}}), false},
		"scatter":       {figure.Scatter("t", "x", "y", []figure.Cloud{{Name: "a"}}), false},
		"histogram":     {figure.Histogram("t", "x", 10, []figure.Group{{Name: "a"}}), false},
		"convergence":   {figure.Convergence("t", nil), false},
		"losses":        {figure.Losses("t", nil), false},
		"new":           {figure.New("t", "x", "y"), false},
		"one":           {one, true},
		"tiles":         {figure.Tiles(1, []*plot.Plot{one}), true},
		"diagram":       {figure.NIROverview(), true},
		"bars":          {figure.Bars("t", "y", []string{"a"}, []float64{1}, nil), true},
	} {
		for _, ext := range []string{".pdf", ".png", ".svg"} {
			path := filepath.Join(t.TempDir(), "figure"+ext)
			err := figure.Save(c.plot, path)
			_, missing := os.Stat(path)
			if (err == nil) != c.ok || (missing == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "no values") {
				t.Errorf("%s%s: %v", name, ext, err)
			}
		}
	}
}
