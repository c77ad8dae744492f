package figure

import (
	"fmt"
	"image/color"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgeps"
	"gonum.org/v1/plot/vg/vgpdf"
)

// gonum's PDF writer fails on bold letters ("undefined font"), supports only
// the 256 characters of code page 1252 (no true minus, no Greek), and embeds
// 200 kB per font; its EPS writer embeds no font. A file with letters as
// outlines needs no font and looks the same everywhere. Both writers also
// darken colours that are not opaque. init registers replacements for both
// formats, so that gonum's own p.Save also writes such files.
func init() {
	draw.RegisterFormat("pdf", func(w, h vg.Length) vg.CanvasWriterTo { return outlined{vgpdf.New(w, h), straight} })
	draw.RegisterFormat("eps", func(w, h vg.Length) vg.CanvasWriterTo { return outlined{vgeps.New(w, h), onWhite} })
}

// outlined is a canvas that fills letters as paths and converts colours to the
// form that the writer expects.
type outlined struct {
	vg.CanvasWriterTo
	convert func(color.Color) color.Color
}

// SetColor implements vg.Canvas.
func (o outlined) SetColor(c color.Color) {
	if c == nil {
		c = color.Black
	}
	o.CanvasWriterTo.SetColor(o.convert(c))
}

// straight returns a colour whose components are not multiplied by its opacity,
// because gonum's PDF writer interprets the components of RGBA so.
func straight(c color.Color) color.Color {
	n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
	return components{uint32(n.R), uint32(n.G), uint32(n.B), uint32(n.A)}
}

// onWhite returns the opaque colour that c has on white paper, because EPS does
// not support opacity.
func onWhite(c color.Color) color.Color {
	r, g, b, a := c.RGBA()
	white := 0xffff - a
	return components{r + white, g + white, b + white, 0xffff}
}

// components is a colour given by the values that RGBA returns.
type components [4]uint32

// RGBA implements color.Color.
func (c components) RGBA() (r, g, b, a uint32) { return c[0], c[1], c[2], c[3] }

// FillString implements vg.Canvas.
func (o outlined) FillString(face font.Face, at vg.Point, s string) {
	if face.Font.Size == 0 {
		return
	}
	var (
		buf   sfnt.Buffer
		em    = fixed.Int26_6(face.Face.UnitsPerEm()) // the units of the glyphs' coordinates
		scale = face.Font.Size / vg.Length(em)
		path  vg.Path
		prev  sfnt.GlyphIndex
	)
	for i, r := range s {
		glyph, err := face.Face.GlyphIndex(&buf, r)
		if err != nil {
			panic(fmt.Sprintf("figure: the letter %q: %v", r, err))
		}
		if i > 0 { // fonts without kerning return an error
			if kern, err := face.Face.Kern(&buf, prev, glyph, em, 0); err == nil {
				at.X += vg.Length(kern) * scale
			}
		}
		outline, err := face.Face.LoadGlyph(&buf, glyph, em, nil)
		if err != nil {
			panic(fmt.Sprintf("figure: the letter %q: %v", r, err))
		}
		path = appendGlyph(path, outline, at, scale)
		if advance, err := face.Face.GlyphAdvance(&buf, glyph, em, 0); err == nil {
			at.X += vg.Length(advance) * scale
		}
		prev = glyph
	}
	if len(path) > 0 {
		o.Fill(path)
	}
}

// appendGlyph appends a glyph's contours to a path. The y axis of a glyph
// points down, that of a canvas up.
func appendGlyph(path vg.Path, outline sfnt.Segments, at vg.Point, scale vg.Length) vg.Path {
	point := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: at.X + vg.Length(p.X)*scale, Y: at.Y - vg.Length(p.Y)*scale}
	}
	open := false
	for _, s := range outline {
		a := s.Args
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if open {
				path.Close()
			}
			open = true
			path.Move(point(a[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(point(a[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(point(a[0]), point(a[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(point(a[0]), point(a[1]), point(a[2]))
		}
	}
	if open {
		path.Close()
	}
	return path
}
