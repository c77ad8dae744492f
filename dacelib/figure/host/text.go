package host

import (
	"math"
	"strings"
	"unicode"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Text is gonum's handler of plain text, with the widths that [Letters] draws letters in
// which a font lacks: Gonum's take the font's empty box for each.
type Text struct{ text.Plain }

// Measured returns a handler that knows these widths, for one of plain text.
func Measured(h text.Handler) text.Handler {
	if plain, ok := h.(text.Plain); ok {
		return Text{plain}
	}
	return h
}

// Box implements [text.Handler].
func (t Text) Box(txt string, f font.Font) (width, height, depth vg.Length) {
	width, height, depth = t.Plain.Box(txt, f)
	return width + t.more(txt, f), height, depth
}

// Draw implements [text.Handler].
func (t Text) Draw(c vg.Canvas, txt string, s text.Style, at vg.Point) {
	if lines := t.Lines(txt); len(lines) == 1 { // gonum aligns a text by its font's width
		x := vg.Length(s.XAlign) * t.more(lines[0], s.Font)
		sin, cos := math.Sincos(s.Rotation)
		at = at.Add(vg.Point{X: x * vg.Length(cos), Y: x * vg.Length(sin)})
	}
	t.Plain.Draw(c, txt, s, at)
}

// more returns how much wider a line is than its font says.
func (t Text) more(line string, f font.Font) (more vg.Length) {
	if !strings.ContainsFunc(line, func(r rune) bool { return r >= unicode.MaxASCII }) {
		return 0
	}
	face, letters := t.Fonts.Lookup(f, f.Size), new(Letters)
	for _, r := range line {
		if r < unicode.MaxASCII || letters.has(face, r) {
			continue
		}
		more -= face.Width(string(r))
		if o := outlineOf(r); o != nil {
			more += vg.Length(o.advance) * f.Size
		} else {
			more += face.Width(letters.drawable(face, string(r)))
		}
	}
	return more
}
