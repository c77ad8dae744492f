package figure

import (
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// The texts of the paper's diagrams fit their boxes, boxes do not overlap, and
// every box that is no frame has an arrow, at the edge of which it ends.
func TestPaperDiagrams(t *testing.T) {
	for name, p := range map[string]*plot.Plot{"Contrast": Contrast(), "NIROverview": NIROverview(), "DACEOverview": DACEOverview()} {
		t.Run(name, func(t *testing.T) {
			var d diagram
			for _, pl := range *plotters(p) {
				if found, ok := pl.(diagram); ok {
					d = found
				}
			}
			if len(d.boxes) == 0 || len(d.arrows) == 0 {
				t.Fatal("no diagram")
			}
			for i, a := range d.boxes {
				sty := style(boxLetters, ink, draw.XCenter, draw.YCenter)
				lines := strings.Split(a.Text, "\n")
				for _, line := range lines {
					if w := float64(sty.Width(line)); w > a.W-3 {
						t.Errorf("%q is %.0f points wide, its box %.0f", line, w, a.W)
					}
				}
				if h := float64(len(lines)) * boxLetters * lineSpace; h > a.H {
					t.Errorf("%q is %.0f points high, its box %.0f", a.Text, h, a.H)
				}
				for _, b := range d.boxes[:i] {
					apart := a.X >= b.X+b.W || b.X >= a.X+a.W || a.Y >= b.Y+b.H || b.Y >= a.Y+a.H
					inside := b.Frame && a.X >= b.X && a.X+a.W <= b.X+b.W && a.Y >= b.Y && a.Y+a.H <= b.Y+b.H
					if !apart && !inside {
						t.Errorf("%q and %q overlap", a.Text, b.Text)
					}
				}
			}
			for _, a := range d.arrows {
				for _, end := range []struct{ X, Y float64 }{{a.Path[0].X, a.Path[0].Y}, {a.Path[len(a.Path)-1].X, a.Path[len(a.Path)-1].Y}} {
					touches := false
					for _, b := range d.boxes {
						within := end.X >= b.X && end.X <= b.X+b.W && end.Y >= b.Y && end.Y <= b.Y+b.H
						edge := end.X == b.X || end.X == b.X+b.W || end.Y == b.Y || end.Y == b.Y+b.H
						touches = touches || within && edge
					}
					if !touches {
						t.Errorf("an arrow ends at (%v, %v), at no box", end.X, end.Y)
					}
				}
			}
		})
	}
}

func TestJoin(t *testing.T) {
	a := Box{X: 0, Y: 0, W: 10, H: 4}
	for _, c := range []struct {
		to             Box
		x0, y0, x1, y1 float64
	}{
		{Box{X: 20, Y: 0, W: 10, H: 4}, 10, 2, 20, 2},
		{Box{X: -20, Y: 0, W: 10, H: 4}, 0, 2, -10, 2},
		{Box{X: 0, Y: 14, W: 10, H: 4}, 5, 4, 5, 14},
		{Box{X: 2, Y: -14, W: 10, H: 4}, 5, 0, 7, -10},
	} {
		got := Join("", a, c.to).Path
		if got[0].X != c.x0 || got[0].Y != c.y0 || got[1].X != c.x1 || got[1].Y != c.y1 {
			t.Errorf("to %v: %v", c.to, got)
		}
	}
}
