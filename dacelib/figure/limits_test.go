package figure

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// A plot whose axes end at NaN or infinity returns an error in every format; a
// plot without data is not written.
func TestAxisLimits(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	dir := t.TempDir()
	for _, c := range []struct {
		set func(*plot.Plot)
		bad string
	}{
		{func(*plot.Plot) {}, "no values"},
		{func(p *plot.Plot) { p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, -1, 1 }, "no values"},
		{func(p *plot.Plot) { p.X.Min, p.X.Max = nan, 1 }, "the x axis"},
		{func(p *plot.Plot) { p.X.Min, p.X.Max = 0, nan }, "the x axis"},
		{func(p *plot.Plot) { p.Y.Min, p.Y.Max = -inf, 1 }, "the y axis"},
		{func(p *plot.Plot) { p.Y.Min, p.Y.Max = 0, inf }, "the y axis"},
	} {
		p := New("T", "x", "y")
		c.set(p)
		for _, plot := range []*plot.Plot{p, Tiles(1, []*plot.Plot{p})} {
			for _, format := range []string{".svg", ".png", ".pdf"} {
				err := Save(plot, filepath.Join(dir, "a"+format))
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("%s from %v to %v, %v to %v: %v, want %q", format, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max, err, c.bad)
				}
			}
		}
	}
}
