// Package display is what cells call to show things: figures, tables, HTML,
// Markdown, images, progress. It also decides what the value of a cell's last
// expression becomes.
//
// Start with [Figure] and [Show]; a *plot.Plot, an image or a matrix as the
// last expression of a cell is shown without a call. A type of one's own is
// shown richly when it has a method HTML, Markdown, SVG, PNG or MimeBundle
// (see [Value]).
package display

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strconv"
	"sync"
	"sync/atomic"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	figures "dace.local/dacelib/figure"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
)

var current struct {
	sync.Mutex
	out engine.Outputs
}

// SetOutputs says where shown things go from now on; the kernel calls it for
// every cell.
func SetOutputs(o engine.Outputs) {
	current.Lock()
	current.out = o
	current.Unlock()
}

// A cell is what the kernel keeps with a cell's goroutines.
type cell interface{ Outputs() engine.Outputs }

// outputs returns where this goroutine's cell shows things.
func outputs() engine.Outputs {
	if c, ok := goroutine.Value().(cell); ok {
		return c.Outputs()
	}
	current.Lock()
	defer current.Unlock()
	return current.out
}

// show sends a bundle to the running cell, or its text to nowhere when no cell
// runs (a program that uses the package without a kernel).
func show(b engine.Bundle, id string) {
	if o := outputs(); o != nil && !b.Empty() {
		o.Display(b, id)
	}
}

// HTML shows HTML.
func HTML(s string) { show(mime("text/html", s, s), "") }

// Markdown shows Markdown.
func Markdown(s string) { show(mime("text/markdown", s, s), "") }

// LaTeX shows LaTeX, with its dollar signs.
func LaTeX(s string) { show(mime("text/latex", s, s), "") }

// SVG shows a picture in SVG.
func SVG(s string) { show(mime("image/svg+xml", s, "<SVG picture>"), "") }

// PNG shows a picture in PNG.
func PNG(b []byte) { show(pngBundle(b, 1), "") }

// JPEG shows a picture in JPEG.
func JPEG(b []byte) {
	show(mime("image/jpeg", base64.StdEncoding.EncodeToString(b), "<JPEG picture>"), "")
}

// JSON shows a value as a tree that can be unfolded. It must encode to JSON.
func JSON(v any) { show(mime("application/json", v, fmt.Sprint(v)), "") }

// Text shows plain text.
func Text(s string) { show(engine.Text(s), "") }

// Mime shows data of any MIME type: text, or base64 of binary data.
func Mime(mimeType, data string) { show(mime(mimeType, data, ""), "") }

// Image shows an image.
func Image(m image.Image) { show(imageBundle(m), "") }

// Show shows values as the last expression of a cell would be, one after the
// other.
func Show(values ...any) {
	for _, v := range values {
		show(Value(v), "")
	}
}

// Clear removes the running cell's outputs, with wait only when the next
// output comes: an animation does not flicker.
func Clear(wait bool) {
	if o := outputs(); o != nil {
		o.Clear(wait)
	}
}

// Default size of a figure.
const (
	DefaultWidth  = 15 * vg.Centimeter
	DefaultHeight = 9.5 * vg.Centimeter
)

// Figure shows a plot, width x height; 0 stands for the default, 15 cm x 9.5 cm.
func Figure(p *plot.Plot, width, height vg.Length) { show(figure(p, width, height), "") }

// SVGFigure shows a plot like [Figure], as vectors.
func SVGFigure(p *plot.Plot, width, height vg.Length) {
	width, height = size(width, height)
	var b bytes.Buffer
	if err := figures.WriteSVG(&b, p, width, height); err != nil {
		Text("figure: " + err.Error())
		return
	}
	show(mime("image/svg+xml", b.String(), "<figure>"), "")
}

// Figures shows plots side by side, cols in a row, each width x height.
func Figures(cols int, width, height vg.Length, plots ...*plot.Plot) {
	if len(plots) == 0 {
		return
	}
	width, height = size(width, height)
	cols = min(max(cols, 1), len(plots))
	rows := (len(plots) + cols - 1) / cols
	c := vgimg.NewWith(vgimg.UseWH(width*vg.Length(cols), height*vg.Length(rows)), vgimg.UseDPI(dpi))
	figures.Draw(padded(draw.New(c)), cols, plots)
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
		Text("figures: " + err.Error())
		return
	}
	show(pngBundle(b.Bytes(), dpi/96.), "")
}

// dpi is the resolution of figures: twice a screen's 96, so that they are
// sharp on fine screens and in print.
const dpi = 192

func size(w, h vg.Length) (vg.Length, vg.Length) {
	if w <= 0 {
		w = DefaultWidth
	}
	if h <= 0 {
		h = DefaultHeight
	}
	return w, h
}

// padded leaves a margin, so that labels do not touch the picture's edge.
func padded(c draw.Canvas) draw.Canvas {
	const pad = 1.5 * vg.Millimeter
	return draw.Crop(c, pad, -pad, pad, -pad)
}

// figure draws a plot as PNG.
func figure(p *plot.Plot, w, h vg.Length) engine.Bundle {
	w, h = size(w, h)
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi))
	figures.Draw(padded(draw.New(c)), 1, []*plot.Plot{p})
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
		return engine.Text("figure: " + err.Error())
	}
	out := pngBundle(b.Bytes(), dpi/96.)
	out.Data["text/plain"] = "<figure>"
	if t := p.Title.Text; t != "" {
		out.Data["text/plain"] = "<figure: " + t + ">"
	}
	return out
}

// pngBundle wraps PNG data; scale is the number of its pixels a pixel of the
// page.
func pngBundle(b []byte, scale float64) engine.Bundle {
	out := mime("image/png", base64.StdEncoding.EncodeToString(b), "<PNG picture>")
	if cfg, err := png.DecodeConfig(bytes.NewReader(b)); err == nil && scale != 1 {
		out.Metadata = map[string]any{"image/png": map[string]any{
			"width": int(float64(cfg.Width)/scale + .5), "height": int(float64(cfg.Height)/scale + .5)}}
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

// NewHandle returns an output that shows nothing yet.
func NewHandle() *Handle { return &Handle{id: "dace-" + strconv.FormatInt(handles.Add(1), 10)} }

// Show shows a value in the handle's place, as the last expression of a cell
// would be.
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
