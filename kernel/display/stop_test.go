package display

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	figures "dace.local/dacelib/figure"
	"dace.local/kernel/engine/goroutine"
)

// drawingCell is a cell with a context.
type drawingCell struct{ ctx context.Context }

func (c drawingCell) Context() context.Context { return c.ctx }

// stoppedSoon is a context that ends after its error was asked for a few times: in
// the middle of a drawing.
type stoppedSoon struct {
	context.Context
	left int
}

func (s *stoppedSoon) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

// points returns a plot of n points.
func points(tb testing.TB, n int) *plot.Plot {
	tb.Helper()
	xy := make(plotter.XYs, n)
	for i := range xy {
		xy[i].X, xy[i].Y = float64(i), float64(i%1000)
	}
	s, err := plotter.NewScatter(xy)
	if err != nil {
		tb.Fatal(err)
	}
	p := plot.New()
	p.Add(s)
	return p
}

// Figures that a cell writes end with the cell's interrupt, and leave no file.
func TestFilesStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := points(t, 20_000)
	for _, ext := range []string{"png", "svg", "pdf", "eps", "jpg", "tiff"} {
		half := &stoppedSoon{ctx, 3}
		file := filepath.Join(t.TempDir(), "x."+ext)
		goroutine.With(drawingCell{half}, func() {
			if err := figures.Save(p, file); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", ext, err)
			}
		})
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: there is a file", ext)
		}
		if half.left < -1 {
			t.Errorf("%s: drawing went on after its end", ext)
		}
	}
	var b bytes.Buffer
	goroutine.With(drawingCell{&stoppedSoon{ctx, 3}}, func() {
		if err := figures.WriteSVG(&b, p, 300, 200); !errors.Is(err, context.Canceled) || b.Len() > 0 {
			t.Errorf("WriteSVG: %v, and %d bytes", err, b.Len())
		}
	})
	goroutine.With(drawingCell{ctx}, func() {
		if err := figures.WriteSVG(&b, points(t, 3), 300, 200); err != nil || b.Len() == 0 {
			t.Errorf("WriteSVG without an interrupt: %v, and %d bytes", err, b.Len())
		}
	})
}

// BenchmarkStop interrupts the drawing of 1e7 points after half a second, and
// reports the time from there until it returns.
func BenchmarkStop(b *testing.B) {
	p := points(b, 10_000_000)
	for _, tc := range []struct {
		name string
		draw func(dir string) error
	}{
		{"Save", func(dir string) error { return figures.Save(p, filepath.Join(dir, "x.png")) }},
		{"SaveSVG", func(dir string) error { return figures.Save(p, filepath.Join(dir, "x.svg")) }},
		{"display", func(string) error {
			_, err := rasterize(p, 15*vg.Centimeter, 10*vg.Centimeter, FigureSettings{DPI: 192})
			return err
		}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			dir := b.TempDir()
			var late time.Duration
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				var at time.Time
				time.AfterFunc(500*time.Millisecond, func() { at = time.Now(); cancel() })
				goroutine.With(drawingCell{ctx}, func() {
					if err := tc.draw(dir); !errors.Is(err, context.Canceled) {
						b.Error(err)
					}
				})
				late += time.Since(at)
			}
			b.ReportMetric(float64(late.Milliseconds())/float64(b.N), "ms-late/op")
		})
	}
}
