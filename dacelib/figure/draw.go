package figure

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"dace.local/dacelib/figure/host"
)

// between is the space between plots that are drawn side by side.
const between = vg.Length(14)

// Draw draws plots on a canvas in rows of the given number of columns. It
// aligns their axes, puts the titles of a row at one height, and breaks each
// legend into as many rows as it needs. Each plot is drawn in the style of
// [Restyle]; the place of a nil plot stays empty. Draw panics if an axis ends at
// NaN or infinity, as it does after data of that kind, because such an axis has
// no scale.
func Draw(c draw.Canvas, columns int, plots []*plot.Plot) {
	if columns < 1 || len(plots) == 0 {
		panic("figure: Draw and Tiles need at least one column and one plot")
	}
	rows := (len(plots) + columns - 1) / columns
	table := make([][]*plot.Plot, rows)
	for i := range table {
		table[i] = make([]*plot.Plot, columns)
		for j, p := range plots[i*columns : min((i+1)*columns, len(plots))] {
			if p != nil {
				if err := drawable(p); err != nil {
					panic(err.Error())
				}
				table[i][j] = Restyle(p) // a copy, which is changed below
			}
		}
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: between, PadY: between}
	for i, row := range plot.Align(table, tiles, c) {
		for j, p := range table[i] {
			if p != nil {
				data := p.DataCanvas(row[j])
				p.Legend.TextStyle.Handler = fitted{p.Legend.TextStyle.Handler, data.Max.X - data.Min.X}
				fit(p, row[j].Rectangle, data.Rectangle)
			}
		}
	}
	for i, row := range plot.Align(table, tiles, c) {
		for j, p := range table[i] {
			if p != nil { // as the legend may have changed the data's size
				fitTicks(p, p.DataCanvas(row[j]).Rectangle.Size())
			}
		}
	}
	for i, row := range plot.Align(table, tiles, c) {
		top := row[0].Max.Y
		for _, tile := range row[:min(columns, len(plots)-i*columns)] {
			top = max(top, tile.Max.Y)
		}
		for j, p := range table[i] {
			if p == nil {
				continue
			}
			if p.Title.Text != "" { // a title hangs from the top of its tile
				p.Title.Padding += top - row[j].Max.Y
				row[j].Max.Y = top
			}
			p.Draw(row[j])
		}
	}
}

// drawable returns an error if an axis of the plot has no scale. A plot without
// data has the limits +Inf and -Inf that gonum starts with, and is drawable.
func drawable(p *plot.Plot) error {
	for name, a := range map[string]plot.Axis{"x": p.X, "y": p.Y} {
		if math.IsNaN(a.Min) || math.IsNaN(a.Max) || math.IsInf(a.Min, -1) || math.IsInf(a.Max, 1) {
			return fmt.Errorf("figure: the %s axis of the plot %q goes from %v to %v: leave NaN and infinity out of the data, or set the axis's Min and Max", name, p.Title.Text, a.Min, a.Max)
		}
	}
	return nil
}

// empty reports whether a plot draws nothing but its grid. Such a plot can be looked
// at, and is a mistake in a file.
func empty(p *plot.Plot) bool {
	list := plotters(p)
	if list == nil {
		return false
	}
	for _, pl := range *list {
		switch pl := pl.(type) {
		case grid, legend, *plotter.Grid:
			continue
		case tiles:
			if slices.ContainsFunc(pl.plots, func(p *plot.Plot) bool { return !empty(p) }) {
				return false
			}
			continue
		case plot.DataRanger:
			if xmin, xmax, ymin, ymax := pl.DataRange(); !(xmin <= xmax && ymin <= ymax) {
				continue
			}
		}
		return false
	}
	return true
}

// Tiles joins plots into one plot, in rows of the given number of columns, as
// [Draw] draws them. The joined plots become smaller accordingly.
func Tiles(columns int, plots []*plot.Plot) *plot.Plot {
	if columns < 1 || len(plots) == 0 {
		panic("figure: Draw and Tiles need at least one column and one plot")
	}
	p := plot.New()
	p.HideAxes()
	p.X.Padding, p.Y.Padding = 0, 0
	p.Add(tiles{columns, plots})
	return p
}

type tiles struct {
	columns int
	plots   []*plot.Plot
}

func (t tiles) Plot(c draw.Canvas, _ *plot.Plot) { Draw(c, t.columns, t.plots) }

// Save writes a plot to a file in the default size. The file's extension
// selects the format: .png, .svg, .pdf, .eps, .jpg or .tiff. PDF and EPS files
// contain letters as outlines and so need no fonts. A box stands for a letter that
// the figures' fonts lack, except in SVG, whose reader shows it in another font.
func Save(p *plot.Plot, path string) error { return SaveSize(p, path, Width, Height) }

// SaveSize writes a plot like [Save], but in the given size, such as
// [ColumnWidth] and two thirds of it.
func SaveSize(p *plot.Plot, path string, width, height vg.Length) error {
	letters := new(host.Letters)
	b, err := written(func(b *bytes.Buffer, on canvasFor) error { return write(b, p, path, width, height, on, letters) })
	if err != nil {
		return err
	}
	letters.Warn()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}

// A canvasFor returns the canvas to draw on in the place of another.
type canvasFor = func(vg.CanvasSizer) vg.CanvasSizer

// written returns what draw writes, which the program that runs this code may end.
func written(draw func(b *bytes.Buffer, on canvasFor) error) ([]byte, error) {
	b := new(bytes.Buffer)
	if err := host.Run(func(on canvasFor) error { return draw(b, on) }); err != nil {
		return nil, err // b may be written to still
	}
	return b.Bytes(), nil
}

// write draws a plot in the format that the extension of path selects.
func write(b *bytes.Buffer, p *plot.Plot, path string, width, height vg.Length, on canvasFor, letters *host.Letters) (err error) {
	if !(width > 0 && height > 0) {
		return fmt.Errorf("figure: %s: a figure of %v x %v points has no area", path, width, height)
	}
	defer func() { // gonum's writers panic if they cannot draw something
		switch r := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("figure: drawing %s: %w", path, r)
		default:
			err = fmt.Errorf("figure: drawing %s: %v", path, r)
		}
	}()
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	switch format {
	case "svg":
		err = writeSVG(b, p, width, height, on)
	case "png", "pdf", "eps", "jpg", "jpeg", "tif", "tiff":
		var c vg.CanvasWriterTo
		if c, err = draw.NewFormattedCanvas(width, height, format); err == nil {
			drawInside(draw.New(letters.On(on(c))), p)
			_, err = c.WriteTo(b)
		}
	default:
		return fmt.Errorf("figure: %s: the name must end in .png, .svg, .pdf, .eps, .jpg or .tiff, not %q", path, filepath.Ext(path))
	}
	if err != nil {
		return fmt.Errorf("figure: writing %s: %w", path, err)
	}
	if empty(p) {
		return fmt.Errorf("figure: %s is not written: the plot %q has no values (NaN and infinite ones do not count)", path, p.Title.Text)
	}
	return nil
}

// drawInside draws a plot on a canvas with a margin: gonum lets a tick's label
// extend over the edge, and a reader's font may be a little wider than ours.
func drawInside(c draw.Canvas, p *plot.Plot) {
	const margin = 1.5 * vg.Millimeter
	if p.BackgroundColor != nil {
		c.SetColor(p.BackgroundColor)
		c.Fill(c.Rectangle.Path())
	}
	Draw(draw.Crop(c, margin, -margin, margin, -margin), 1, []*plot.Plot{p})
}

// WriteSVG writes a plot as SVG with the given width and height. For readers
// without the figures' font, the SVG names fonts whose letters are as wide, and
// the width of every text, to which other fonts are squeezed or stretched.
func WriteSVG(w io.Writer, p *plot.Plot, width, height vg.Length) error {
	b, err := written(func(b *bytes.Buffer, on canvasFor) error { return writeSVG(b, p, width, height, on) })
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func writeSVG(b *bytes.Buffer, p *plot.Plot, width, height vg.Length, on canvasFor) error {
	if err := drawable(p); err != nil {
		return err
	}
	c := &measuredCanvas{Canvas: vgsvg.New(width, height)}
	drawInside(draw.New(on(c)), p)
	var plain bytes.Buffer
	if _, err := c.WriteTo(&plain); err != nil {
		return err
	}
	const font = "font-family:Liberation Sans"
	text := bytes.ReplaceAll(plain.Bytes(), []byte(font+";"), []byte(font+",Arial,Helvetica,sans-serif;"))
	parts := bytes.Split(text, []byte("<text "))
	b.Write(parts[0])
	for i, part := range parts[1:] {
		if c.widths[i] < 0 { // the reader's font has the width
			b.WriteString("<text " + string(part))
			continue
		}
		fmt.Fprintf(b, `<text textLength="%.1f" lengthAdjust="spacingAndGlyphs" %s`, c.widths[i].Points(), part)
	}
	return nil
}

// A measuredCanvas keeps the widths of the texts drawn on an SVG, in their
// order.
type measuredCanvas struct {
	*vgsvg.Canvas
	widths  []vg.Length // negative for texts with letters that the font lacks
	letters host.Letters
}

func (c *measuredCanvas) FillString(f font.Face, at vg.Point, text string) {
	width := f.Width(text)
	if !c.letters.Has(f, text) {
		width = -1
	}
	c.widths = append(c.widths, width)
	c.Canvas.FillString(f, at, text)
}
