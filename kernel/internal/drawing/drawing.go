// Package drawing makes the drawing of plots stop when a cell is interrupted.
// Start with [Until]. It is not a style: figures are drawn as they are without
// it.
package drawing

import (
	"context"
	pixels "image/draw"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"dace.local/kernel/engine/goroutine"
)

// Context returns the context of the cell that this goroutine belongs to; it
// ends with the cell's interrupt.
func Context() context.Context {
	if c, ok := goroutine.Value().(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}

// stopped is the panic of a canvas whose context has ended.
type stopped struct{ err error }

func (s stopped) Error() string { return "the drawing was interrupted: " + s.err.Error() }
func (s stopped) Unwrap() error { return s.err }

// Recover sets err if drawing on a canvas of [Until] has been stopped. Functions
// that draw defer it.
func Recover(err *error) {
	switch v := recover().(type) {
	case nil:
	case stopped:
		*err = v
	default:
		panic(v)
	}
}

// Run calls f, which draws on a canvas of [Until], in a goroutine of its own and
// returns its error. When the cell is interrupted it returns at once: a plotter
// may be busy for seconds before it draws anything, and f ends as it does.
func Run(f func() error) error {
	ctx := Context()
	if ctx.Done() == nil {
		return f()
	}
	type outcome struct {
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.err = f()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.err
	case <-ctx.Done():
		return stopped{ctx.Err()}
	}
}

// Until returns a canvas that draws on c. When ctx ends, the next operation
// panics, for [Recover].
func Until(ctx context.Context, c vg.CanvasSizer) vg.CanvasSizer {
	if ctx.Done() == nil {
		return c
	}
	_, raster := c.(interface{ Image() pixels.Image })
	return &canvas{CanvasSizer: c, ctx: ctx, raster: raster}
}

type canvas struct {
	vg.CanvasSizer
	ctx    context.Context
	raster bool   // it is drawn in pixels, not written as SVG or PDF
	dashed []bool // the state now, after those that Push has saved
	n      int
}

// A path is drawn in pieces of at most longPath parts, some milliseconds. In
// those of pictures a row of pixels is crossed at most crossings times on the
// average: the rasterizer walks through a row's cells for each one that it adds.
const (
	longPath  = 1 << 12
	crossings = 8
)

func (c *canvas) check(parts int) {
	if c.n += 1 + parts; c.n < 256 {
		return
	}
	c.n = 0
	if err := c.ctx.Err(); err != nil {
		panic(stopped{err})
	}
}

func (c *canvas) SetLineDash(dashes []vg.Length, offset vg.Length) {
	if len(c.dashed) == 0 {
		c.dashed = []bool{false}
	}
	c.dashed[len(c.dashed)-1] = len(dashes) > 0
	c.CanvasSizer.SetLineDash(dashes, offset)
}

func (c *canvas) Push() {
	if len(c.dashed) > 0 {
		c.dashed = append(c.dashed, c.dashed[len(c.dashed)-1])
	}
	c.CanvasSizer.Push()
}

func (c *canvas) Pop() {
	if len(c.dashed) > 1 {
		c.dashed = c.dashed[:len(c.dashed)-1]
	}
	c.CanvasSizer.Pop()
}

// Stroke draws a long line, and one that goes up and down often, in pieces.
func (c *canvas) Stroke(p vg.Path) {
	c.check(len(p))
	if !polyline(p) || len(c.dashed) > 0 && c.dashed[len(c.dashed)-1] {
		c.CanvasSizer.Stroke(p)
		return
	}
	for {
		n := c.pieceOf(p)
		if n == len(p) {
			c.CanvasSizer.Stroke(p)
			return
		}
		piece, rest := cut(p, n)
		c.CanvasSizer.Stroke(piece)
		c.check(len(piece))
		p = rest
	}
}

// pieceOf returns how many parts of a path are drawn at once.
func (c *canvas) pieceOf(p vg.Path) int {
	if len(p) == 0 {
		return 0
	}
	low, high, climb := p[0].Pos.Y, p[0].Pos.Y, vg.Length(0)
	for i := 1; i < len(p); i++ {
		y := p[i].Pos.Y
		low, high = min(low, y), max(high, y)
		if p[i].Type == vg.LineComp {
			climb += max(y-p[i-1].Pos.Y, p[i-1].Pos.Y-y)
		}
		if i+1 >= longPath || c.raster && climb > crossings*(high-low) {
			return i + 1
		}
	}
	return len(p)
}

// cut cuts a path in the middle of the last of its first n parts, where no
// corner is: the pieces overlap by a pixel there, so that no gap is seen.
func cut(p vg.Path, n int) (piece, rest vg.Path) {
	const overlap = vg.Length(0.25)
	last := p[n-1]
	if last.Type == vg.MoveComp {
		return p[:n-1], p[n-1:]
	}
	from, to := p[n-2].Pos, last.Pos
	line := to.Sub(from)
	half := vg.Length(0)
	if length := vg.Length(math.Hypot(float64(line.X), float64(line.Y))); length > 0 {
		half = min(overlap/length, 0.5)
	}
	end := vg.PathComp{Type: vg.LineComp, Pos: from.Add(line.Scale(0.5 + half))}
	begin := vg.PathComp{Type: vg.MoveComp, Pos: from.Add(line.Scale(0.5 - half))}
	return append(slices.Clone(p[:n-1]), end), append(vg.Path{begin}, p[n-1:]...)
}

// polyline reports whether a path has only moves and lines.
func polyline(p vg.Path) bool {
	for _, x := range p {
		if x.Type != vg.MoveComp && x.Type != vg.LineComp {
			return false
		}
	}
	return true
}

func (c *canvas) Fill(p vg.Path) {
	c.check(len(p))
	c.CanvasSizer.Fill(p)
}

func (c *canvas) FillString(f font.Face, at vg.Point, text string) {
	c.check(0)
	c.CanvasSizer.FillString(f, at, text)
}

// letters returns what SetLetters was given.
var letters = func() (boxes func(vg.CanvasSizer) vg.CanvasSizer, warn func()) {
	return func(c vg.CanvasSizer) vg.CanvasSizer { return c }, func() {}
}

// SetLetters has each drawing of this package call f, before any is made: boxes
// returns the canvas to draw on in the place of another, for letters that fonts
// lack, and warn tells of these when the drawing is done.
func SetLetters(f func() (boxes func(vg.CanvasSizer) vg.CanvasSizer, warn func())) { letters = f }

// WriterTo is (*plot.Plot).WriterTo, but stops when the cell is interrupted.
func WriterTo(p *plot.Plot, w, h vg.Length, format string) (io.WriterTo, error) {
	c, err := draw.NewFormattedCanvas(w, h, format)
	if err != nil {
		return nil, err
	}
	boxes, warn := letters()
	err = Run(func() (err error) {
		defer Recover(&err)
		on := Until(Context(), c)
		if format != "svg" {
			on = boxes(on)
		}
		p.Draw(draw.New(on))
		return nil
	})
	if err == nil {
		warn()
	}
	return c, err
}

// Save is (*plot.Plot).Save, but stops when the cell is interrupted; then there
// is no file.
func Save(p *plot.Plot, w, h vg.Length, file string) (err error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	c, err := WriterTo(p, w, h, format)
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	_, err = c.WriteTo(f)
	return err
}
