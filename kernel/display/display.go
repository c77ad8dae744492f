// Package display contains the functions with which cells show figures, tables,
// HTML, Markdown, images and progress. It also decides how the value of a cell's
// last expression is shown.
//
// Start with [Figure] and [Show]. The last expression of a cell is shown without
// a call: a *plot.Plot, an image or a matrix as itself, rows of structs, maps or
// slices as a table (see [Rows]), results and settings of dacelib as a summary.
// A long dacelib call shows a progress bar (see [WithProgress]). A type defines
// how it is shown with a method HTML, Markdown, SVG, PNG or MimeBundle (see
// [Value]).
package display

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
)

// A cell is the value that the kernel attaches to a cell's goroutines (see
// package goroutine).
type cell interface{ Outputs() engine.Outputs }

// outputs returns the Outputs of the cell that this goroutine belongs to, or else of
// the cell that started last; nil without a kernel.
func outputs() engine.Outputs {
	if c, ok := goroutine.ValueOrDefault().(cell); ok {
		return c.Outputs()
	}
	return nil
}

// show sends a bundle to the running cell. It does nothing if no cell runs, as
// in a program that uses this package without a kernel.
func show(b engine.Bundle, id string) Shown {
	if o := outputs(); o != nil && !b.Empty() {
		o.Display(b, id)
	}
	return Shown{}
}

// Shown is what a function of this package returns when it has shown something.
// A cell whose last expression it is shows nothing more, and so does
// gophernotes' Display(display.HTML(...)).
type Shown struct{}

// HTML shows HTML.
func HTML(s string) Shown { return show(mime("text/html", s, s), "") }

// Markdown shows Markdown.
func Markdown(s string) Shown { return show(mime("text/markdown", s, s), "") }

// LaTeX shows LaTeX. Formulas in s need their dollar signs, unless s is one that has none:
// then it is shown as [Math] does.
func LaTeX(s string) Shown { return show(mime("text/latex", latexOf(s), s), "") }

// latexOf returns a text in LaTeX, with the dollar signs that a single formula lacks.
func latexOf(s string) string {
	if strings.Contains(s, "$") || delimited.MatchString(s) || !strings.ContainsAny(s, `\^_`) {
		return s
	}
	return "$" + strings.TrimSpace(s) + "$"
}

// delimited matches what a text in LaTeX has that is more than one formula.
var delimited = regexp.MustCompile(`\\[(\[]|\\begin\b|\\(emph|text|section|item)\b`)

// SVG shows a picture in SVG.
func SVG(s string) Shown { return show(svgBundle(s), "") }

// PNG shows a picture in PNG.
func PNG(b []byte) Shown { return show(pngBundle(b, 1), "") }

// JPEG shows a picture in JPEG.
func JPEG(b []byte) Shown {
	return show(mime("image/jpeg", base64.StdEncoding.EncodeToString(b), "<JPEG picture>"), "")
}

// JSON shows a value as a tree that can be unfolded. The value must encode to
// JSON.
func JSON(v any) Shown { return show(mime("application/json", v, fmt.Sprint(v)), "") }

// Latex is [LaTeX].
func Latex(s string) Shown { return LaTeX(s) }

// Math shows a formula of LaTeX, which needs no dollar signs.
func Math(s string) Shown { return LaTeX("$" + strings.Trim(s, "$") + "$") }

// Text shows plain text.
func Text(s string) { show(engine.Text(s), "") }

// Mime shows data of any MIME type: text, base64 of binary data, or, if the type
// is application/json or ends in +json, the text of a JSON value.
func Mime(mimeType, data string) {
	if !isJSON(mimeType) {
		show(mime(mimeType, data, ""), "")
		return
	}
	v, err := decoded(data)
	if err != nil {
		Text("display: " + mimeType + ": " + err.Error())
		return
	}
	show(mime(mimeType, v, "<"+mimeType+">"), "")
}

// Image shows an image.
func Image(m image.Image) Shown { return show(imageBundle(m), "") }

// Show shows values one after the other, each as if it were the last expression
// of a cell.
func Show(values ...any) {
	for _, v := range values {
		show(shownLive(v), "")
	}
}

// Values shows several values as one output, as a cell does whose last expression
// has several.
func Values(values ...any) Shown { return show(Result(values, false), "") }

// ToText writes what is shown from now on to w as text, a line at least for each
// output: for a program that runs without a kernel. In a cell it does nothing.
func ToText(w io.Writer) {
	if _, ok := goroutine.Value().(cell); !ok {
		goroutine.SetDefault(program{&textOutputs{w: w}})
	}
}

// A program is the cell of all goroutines without a kernel.
type program struct{ out engine.Outputs }

func (p program) Outputs() engine.Outputs { return p.out }

// textOutputs are the outputs of a program.
type textOutputs struct {
	mu   sync.Mutex // guards the fields, and writes
	w    io.Writer
	last map[string]string // the text of an output that is changed, by its id
}

func (t *textOutputs) write(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = io.WriteString(t.w, text)
}

func (t *textOutputs) Stdout(text string) { t.write(text) }
func (t *textOutputs) Stderr(text string) { t.write(text) }
func (t *textOutputs) Clear(bool)         {}

func (t *textOutputs) Display(b engine.Bundle, id string) { t.Update(b, id) }

// Update writes a text that has changed below the one that was there.
func (t *textOutputs) Update(b engine.Bundle, id string) {
	text, ok := b.Data["text/plain"].(string)
	for _, mime := range []string{"text/markdown", "text/latex", "text/html"} {
		if !ok {
			text, ok = b.Data[mime].(string)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok || id != "" && t.last[id] == text {
		return
	}
	if id != "" {
		if t.last == nil {
			t.last = map[string]string{}
		}
		t.last[id] = text
	}
	_, _ = io.WriteString(t.w, strings.TrimSuffix(text, "\n")+"\n")
}

func (t *textOutputs) Input(context.Context, string, bool) (string, error) {
	return "", engine.ErrNoInput
}

func (t *textOutputs) Comm(engine.CommMessage) error {
	return errors.New("widgets need a notebook")
}

// Clear removes the running cell's outputs. If wait is set, they are removed
// when the next output comes, so that an animation does not flicker.
func Clear(wait bool) {
	if o := outputs(); o != nil {
		o.Clear(wait)
	}
}

// svgBundle returns the bundle of an SVG picture. Its HTML has the picture as an
// <img>, because nbconvert removes the drawing from inline SVG.
func svgBundle(s string) engine.Bundle {
	b := mime("image/svg+xml", s, "<SVG picture>")
	b.Data["text/html"] = `<img src="data:image/svg+xml;base64,` + base64.StdEncoding.EncodeToString([]byte(s)) + `" alt="SVG picture">`
	return b
}

// pngBundle returns the bundle of PNG data; scale is the number of the image's
// pixels for each pixel of the page.
func pngBundle(b []byte, scale float64) engine.Bundle {
	out := mime("image/png", base64.StdEncoding.EncodeToString(b), "<PNG picture>")
	cfg, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return out
	}
	about := map[string]any{}
	if scale != 1 {
		about["width"], about["height"] = int(float64(cfg.Width)/scale+.5), int(float64(cfg.Height)/scale+.5)
	}
	if cfg.ColorModel == color.NRGBAModel || cfg.ColorModel == color.NRGBA64Model { // it may be transparent
		about["needs_background"] = "light"
	}
	if len(about) > 0 {
		out.Metadata = map[string]any{"image/png": about}
	}
	return out
}

func imageBundle(m image.Image) engine.Bundle {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return engine.Text("image: " + err.Error())
	}
	return pngBundle(b.Bytes(), 1)
}

func mime(t string, data any, text string) engine.Bundle {
	b := engine.Bundle{Data: map[string]any{t: data}}
	if text != "" {
		b.Data["text/plain"] = text
	}
	return b
}

var handles atomic.Int64

// A Handle is an output that can be changed after it was shown.
type Handle struct {
	id    string
	shown atomic.Bool
}

// NewHandle returns a handle that shows nothing yet.
func NewHandle() *Handle { return &Handle{id: newID()} }

func newID() string { return "dace-" + strconv.FormatInt(handles.Add(1), 10) }

// Show shows a value in the handle's place, as if it were the last expression
// of a cell.
func (h *Handle) Show(v any) { h.set(Value(v)) }

// HTML shows HTML in the handle's place.
func (h *Handle) HTML(s string) { h.set(mime("text/html", s, s)) }

// Markdown shows Markdown in the handle's place.
func (h *Handle) Markdown(s string) { h.set(mime("text/markdown", s, s)) }

// Figure shows a plot in the handle's place.
func (h *Handle) Figure(p *plot.Plot, width, height vg.Length) { h.set(figure(p, width, height)) }

func (h *Handle) set(b engine.Bundle) {
	o := outputs()
	if o == nil || b.Empty() {
		return
	}
	if h.shown.Swap(true) {
		o.Update(b, h.id)
		return
	}
	o.Display(b, h.id)
}
