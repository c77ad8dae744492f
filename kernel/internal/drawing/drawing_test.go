package drawing

import (
	"bytes"
	"context"
	"errors"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"dace.local/kernel/engine/goroutine"
)

// cell is a cell with a context.
type cell struct{ ctx context.Context }

func (c cell) Context() context.Context { return c.ctx }

// wave returns a plot of n points, as a line or as glyphs.
func wave(n int, glyphs bool) *plot.Plot {
	xy := make(plotter.XYs, n)
	for i := range xy {
		xy[i].X, xy[i].Y = float64(i), math.Sin(float64(i)/1000)
	}
	p := plot.New()
	if glyphs {
		s, err := plotter.NewScatter(xy)
		if err != nil {
			panic(err)
		}
		p.Add(s)
		return p
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		panic(err)
	}
	p.Add(l)
	return p
}

// stopping is a context that ends after its error was asked for a few times: in
// the middle of a drawing.
type stopping struct {
	context.Context
	left int
}

func (s *stopping) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestSaveStops(t *testing.T) {
	for _, glyphs := range []bool{false, true} {
		for _, ext := range []string{"png", "svg", "pdf"} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			half := &stopping{Context: ctx, left: 3}
			file := filepath.Join(t.TempDir(), "x."+ext)
			goroutine.With(cell{half}, func() {
				if err := Save(wave(60_000, glyphs), 300, 200, file); !errors.Is(err, context.Canceled) {
					t.Errorf("glyphs %t: %v", glyphs, err)
				}
			})
			if _, err := os.Stat(file); err == nil {
				t.Error("there is a file")
			}
			if half.left < -1 {
				t.Errorf("drawing went on after its end: asked %d times more", -half.left)
			}
		}
	}
}

// zigzag returns a plot of a line that goes up and down n times.
func zigzag(n int) *plot.Plot {
	xy := make(plotter.XYs, n)
	for i := range xy {
		xy[i].X, xy[i].Y = float64(i), math.Sin(float64(i)*float64(i))
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		panic(err)
	}
	p := plot.New()
	p.Add(l)
	return p
}

// TestSame checks that figures are drawn alike on a canvas of Until, pixel for
// pixel, and that a line that is drawn in pieces has the same points where it
// is cut.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		name  string
		plot  *plot.Plot
		parts float64 // of the pixels that may differ
	}{
		{"100 points", wave(100, false), 0},
		{"many points", wave(longPath, false), 0.001},
		{"more points", wave(3*longPath+7, false), 0.001},
		{"up and down 5 times", zigzag(5), 0},
		{"up and down 50 times", zigzag(50), 0.001},
		{"up and down 200 times", zigzag(200), 0.002},
	} {
		picture := func(ctx context.Context) *vgimg.Canvas {
			v := vgimg.New(300, 200)
			c.plot.Draw(draw.New(Until(ctx, v)))
			return v
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		plain, watched := picture(context.Background()), picture(ctx)
		different := 0
		b := plain.Image().Bounds()
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				if far(plain.Image().At(x, y), watched.Image().At(x, y)) {
					different++
				}
			}
		}
		t.Logf("%s: %d pixels of %d differ", c.name, different, b.Dx()*b.Dy())
		if float64(different) > c.parts*float64(b.Dx()*b.Dy()) {
			t.Errorf("%s: %d pixels of %d differ", c.name, different, b.Dx()*b.Dy())
		}
	}
}

// BenchmarkZigzag draws a line that goes up and down 200 times, as gonum does
// and in pieces.
func BenchmarkZigzag(b *testing.B) {
	p := zigzag(200)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for name, ctx := range map[string]context.Context{"gonum": context.Background(), "pieces": ctx} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := vgimg.NewWith(vgimg.UseWH(15*vg.Centimeter, 9.5*vg.Centimeter), vgimg.UseDPI(192))
				p.Draw(draw.New(Until(ctx, c)))
			}
		})
	}
}

// far reports whether two colours differ by more than a tenth.
func far(a, b color.Color) bool {
	r, g, bl, _ := a.RGBA()
	r2, g2, bl2, _ := b.RGBA()
	d := func(x, y uint32) bool { return math.Abs(float64(x)-float64(y)) > 6500 }
	return d(r, r2) || d(g, g2) || d(bl, bl2)
}

func TestSaveAsGonum(t *testing.T) {
	dir := t.TempDir()
	p := wave(1000, false)
	ours, gonums := filepath.Join(dir, "a.svg"), filepath.Join(dir, "b.svg")
	if err := Save(p, 300, 200, ours); err != nil {
		t.Fatal(err)
	}
	if err := p.Save(300, 200, gonums); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(ours)
	b, _ := os.ReadFile(gonums)
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("the files differ")
	}
	if err := Save(p, 300, 200, filepath.Join(dir, "a.nosuch")); err == nil {
		t.Error("an unknown format is no error")
	}
	if err := Save(p, vg.Length(300), 200, filepath.Join(dir, "no", "a.png")); err == nil {
		t.Error("a missing folder is no error")
	}
}
