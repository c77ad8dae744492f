package host

import (
	"strings"
	"sync/atomic"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Letters draws boxes in the place of letters that a text's font lacks, and keeps
// those letters. Gonum draws nothing there.
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

func (b boxes) FillString(f font.Face, at vg.Point, text string) {
	b.CanvasSizer.FillString(f, at, b.letters.drawable(f, text))
}

const box = '\u25a1' // a white square

// drawable returns a text with a box for each letter that a font lacks, and
// without marks and format characters that it lacks, which have no place.
func (l *Letters) drawable(f font.Face, text string) string {
	has := func(r rune) bool {
		i, err := f.Face.GlyphIndex(&l.fonts, r)
		return err == nil && i != 0
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII || has(r):
			return r
		case unicode.In(r, unicode.M, unicode.C):
			return -1
		}
		if !strings.ContainsRune(string(l.lacking), r) {
			l.lacking = append(l.lacking, r)
		}
		if !has(box) {
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
	(*warn)("figure: its font lacks " + shown + "; boxes stand in their place (SVG shows them in a font of the reader's)")
}
