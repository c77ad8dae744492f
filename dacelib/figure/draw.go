package figure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// between is the space between plots that are drawn together.
const between = vg.Length(14)

// Draw draws plots on a canvas in rows of so many columns: their axes aligned,
// the titles of a row at one height, and each legend in as many rows as it
// needs there. Drawing a single plot by it, rather than by its own method
// Draw, fits the legend to the canvas. Where a plot is nil its place is empty.
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
				q := *p // its style is changed below
				table[i][j] = &q
			}
		}
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: between, PadY: between}
	for i, row := range plot.Align(table, tiles, c) {
		for j, p := range table[i] {
			if p != nil {
				data := p.DataCanvas(row[j])
				p.Legend.TextStyle.Handler = fitted{p.Legend.TextStyle.Handler, data.Max.X - data.Min.X}
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
			if p.Title.Text != "" { // it hangs from the top of its tile
				p.Title.Padding += top - row[j].Max.Y
				row[j].Max.Y = top
			}
			p.Draw(row[j])
		}
	}
}

// Tiles joins plots to one, in rows of so many columns, as [Draw] draws them.
// The plots' own sizes shrink accordingly.
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

// Save writes a plot to a file in the figures' own size; the file's ending
// says how: .png, .svg, .jpg, .tiff or .eps. (gonum's PDF writer takes neither
// bold letters nor a true minus: for a PDF, convert an SVG.)
func Save(p *plot.Plot, path string) error {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	c, err := draw.NewFormattedCanvas(Width, Height, format)
	if err != nil || format == "pdf" || format == "tex" {
		return fmt.Errorf("figure: %s: the name must end in .png, .svg, .jpg, .tiff or .eps, not %q", path, filepath.Ext(path))
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	if format == "svg" {
		err = WriteSVG(f, p, Width, Height)
	} else {
		Draw(draw.New(c), 1, []*plot.Plot{p})
		_, err = c.WriteTo(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("figure: writing %s: %w", path, err)
	}
	return nil
}

// WriteSVG writes a plot as SVG of a width and a height. Where the figures' font
// is not installed, a reader takes one whose letters are as wide.
func WriteSVG(w io.Writer, p *plot.Plot, width, height vg.Length) error {
	c := vgsvg.New(width, height)
	const margin = 1.5 * vg.Millimeter // letters may be a little wider than ours
	Draw(draw.Crop(draw.New(c), margin, -margin, margin, -margin), 1, []*plot.Plot{p})
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	const font = "font-family:Liberation Sans"
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte(font+";"), []byte(font+",Arial,Helvetica,sans-serif;")))
	return err
}
