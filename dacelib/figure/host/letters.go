package host

import (
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Letters draws letters that a text's font lacks in another font of this computer, or
// boxes, and keeps those for which there is none. Gonum draws nothing there.
type Letters struct {
	lacking []rune
	fonts   sfnt.Buffer
}

// On returns a canvas that draws on c, which is no SVG: a reader of SVG takes what
// a font lacks from another.
func (l *Letters) On(c vg.CanvasSizer) vg.CanvasSizer { return boxes{c, l} }

type boxes struct {
	vg.CanvasSizer
	letters *Letters
}

// FillString draws letters that the font lacks by those of another font of this
// computer, as areas.
func (b boxes) FillString(f font.Face, at vg.Point, text string) {
	run := 0 // the beginning of what the font has
	for i, r := range text {
		if r < unicode.MaxASCII || b.letters.has(f, r) {
			continue
		}
		o := outlineOf(r)
		if o == nil {
			continue
		}
		at.X += b.fill(f, at, text[run:i])
		b.CanvasSizer.Fill(o.path(at, f.Font.Size))
		at.X += vg.Length(o.advance) * f.Font.Size
		run = i + utf8.RuneLen(r)
	}
	b.fill(f, at, text[run:])
}

// fill draws a text with boxes, and returns its width.
func (b boxes) fill(f font.Face, at vg.Point, text string) vg.Length {
	if text == "" {
		return 0
	}
	text = b.letters.drawable(f, text)
	b.CanvasSizer.FillString(f, at, text)
	return f.Width(text)
}

// has reports whether a font has a letter.
func (l *Letters) has(f font.Face, r rune) bool {
	i, err := f.Face.GlyphIndex(&l.fonts, r)
	return err == nil && i != 0
}

// Has reports whether a font has all letters of a text.
func (l *Letters) Has(f font.Face, text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= unicode.MaxASCII && !l.has(f, r) })
}

const box = '\u25a1' // a white square

// drawable returns a text with a box for each letter that a font lacks, and
// without marks and format characters that it lacks, which have no place.
func (l *Letters) drawable(f font.Face, text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII || l.has(f, r):
			return r
		case unicode.In(r, unicode.M, unicode.C):
			return -1
		}
		if !strings.ContainsRune(string(l.lacking), r) {
			l.lacking = append(l.lacking, r)
		}
		if !l.has(f, box) {
			return '?'
		}
		return box
	}, text)
}

var warner atomic.Pointer[func(string)]

// SetWarn has warn called with a line about each drawing that lacks letters; nil
// ends that. A program that does not call it hears nothing: the boxes are seen.
func SetWarn(warn func(line string)) {
	if warn == nil {
		warner.Store(nil)
		return
	}
	warner.Store(&warn)
}

// Warn tells the program of the letters that the drawing lacks, if there are any.
func (l *Letters) Warn() {
	const most = 20
	warn := warner.Load()
	if warn == nil || len(l.lacking) == 0 {
		return
	}
	shown := strings.Join(strings.Split(string(l.lacking[:min(most, len(l.lacking))]), ""), " ")
	if len(l.lacking) > most {
		shown += " …"
	}
	(*warn)("figure: its font lacks " + shown + ", and no font of this computer has them: boxes stand in their place, except in SVG. To see them install " + fontFor(l.lacking) + " and start again")
}
