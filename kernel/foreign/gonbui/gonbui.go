// Package gonbui has the functions of gonb's package
// github.com/janpfeifer/gonb/gonbui that show something, so that gonb's notebooks
// run in this kernel: an import of that package in a cell imports this one. For
// new notebooks use package display.
package gonbui

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strconv"
	"sync"
	"sync/atomic"

	"dace.local/kernel/display"
)

var ids atomic.Int64

// UniqueId returns an id for UpdateHtml or UpdateMarkdown.
func UniqueId() string { return "gonb_" + strconv.FormatInt(ids.Add(1), 10) }

// UniqueID is UniqueId.
func UniqueID() string { return UniqueId() }

// DisplayHtml shows HTML.
func DisplayHtml(html string) { display.HTML(html) }

// DisplayHTML shows HTML.
func DisplayHTML(html string) { display.HTML(html) }

// DisplayHTMLF shows formatted HTML.
func DisplayHTMLF(format string, args ...any) { display.HTML(fmt.Sprintf(format, args...)) }

// DisplayHtmlf shows formatted HTML.
func DisplayHtmlf(format string, args ...any) { display.HTML(fmt.Sprintf(format, args...)) }

// DisplayMarkdown shows Markdown.
func DisplayMarkdown(markdown string) { display.Markdown(markdown) }

// DisplayPng shows a picture in PNG.
func DisplayPng(png []byte) { display.PNG(png) }

// DisplayPNG shows a picture in PNG.
func DisplayPNG(png []byte) { display.PNG(png) }

// DisplaySvg shows a picture in SVG.
func DisplaySvg(svg string) { display.SVG(svg) }

// DisplaySVG shows a picture in SVG.
func DisplaySVG(svg string) { display.SVG(svg) }

// DisplayImage shows an image. The error is always nil.
func DisplayImage(image image.Image) error {
	display.Image(image)
	return nil
}

// EmbedImageAsPNGSrc returns an image as the text of an <img> element's src.
func EmbedImageAsPNGSrc(img image.Image) (string, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

var shown struct {
	mu      sync.Mutex // guards handles
	handles map[string]*display.Handle
}

// handle returns the output with an id.
func handle(id string) *display.Handle {
	shown.mu.Lock()
	defer shown.mu.Unlock()
	if shown.handles == nil {
		shown.handles = map[string]*display.Handle{}
	}
	if shown.handles[id] == nil {
		shown.handles[id] = display.NewHandle()
	}
	return shown.handles[id]
}

// UpdateHtml shows HTML, in the place of what was shown with this id before.
func UpdateHtml(id, html string) { handle(id).HTML(html) }

// UpdateHTML is UpdateHtml.
func UpdateHTML(id, html string) { UpdateHtml(id, html) }

// UpdateMarkdown shows Markdown, in the place of what was shown with this id
// before.
func UpdateMarkdown(id, markdown string) { handle(id).Markdown(markdown) }

// Sync does nothing: outputs are in order.
func Sync() {}

// Error returns nil.
func Error() error { return nil }

// Logf does nothing.
func Logf(string, ...any) {}
