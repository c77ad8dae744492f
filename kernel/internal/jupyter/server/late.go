package server

import (
	"html"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
)

// A client that runs a notebook with no one watching, as nbclient, drops the outputs of
// cells that have ended. It allows no input. There a cell whose goroutines go on shows
// an empty display at its end, which messages of later cells fill with what the
// goroutines have shown since: such a client takes updates of any display.

// late is what a cell has shown after its end.
type late struct {
	id    string // of the display
	items []lateItem
	fresh bool // whether the client lacks some
}

// A lateItem is text, or a display with its id.
type lateItem struct {
	text   string
	bundle engine.Bundle
	id     string
}

// Lasts notes that the cell ends while goroutines of it go on.
func (o *outputs) Lasts() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.allowStdin || o.silent || o.late != nil {
		return
	}
	o.late = &late{id: "dace-late-" + o.parent.MsgID}
	o.server.lasting.mu.Lock()
	o.server.lasting.cells = append(o.server.lasting.cells, o)
	o.server.lasting.mu.Unlock()
	o.server.iopub.post("display_data", o.parent, displayContent{map[string]any{"text/plain": ""}, map[string]any{}, transient{o.late.id}})
}

// lasting are the cells with a display for late outputs.
type lasting struct {
	mu    sync.Mutex // guards cells
	cells []*outputs
}

// sendLate sends what earlier cells have shown late, as part of the cell that ends.
func (s *server) sendLate(of wire.Header) {
	s.lasting.mu.Lock()
	cells := slices.Clone(s.lasting.cells)
	s.lasting.mu.Unlock()
	for _, o := range cells {
		o.mu.Lock()
		if o.late.fresh && o.parent.Session == of.Session {
			o.late.fresh = false
			s.iopub.post("update_display_data", of, displayContent{o.late.bundle(), map[string]any{}, transient{o.late.id}})
		}
		o.mu.Unlock()
	}
}

// now returns where outputs go now: to the cell, also when it has ended. A client that
// drops those gets as outputs of the cell that runs what comes of no goroutine that
// Lasts has told of.
func (o *outputs) now() *outputs {
	if o.allowStdin || o.running == nil || o.running.Err() == nil {
		return o
	}
	if c := o.server.current.Load(); c != nil && !c.allowStdin && c.parent.Session == o.parent.Session {
		return c
	}
	return o
}

// isLate reports whether outputs are for the display of Lasts; o.mu is held.
func (o *outputs) isLate() bool { return o.late != nil && o.running.Err() != nil }

// mostLate bounds the text of late outputs that is kept, in bytes: the last.
const mostLate = 1 << 19

func (l *late) add(x lateItem) {
	l.fresh = true
	if n := len(l.items); n > 0 && x.id == "" && x.text != "" && l.items[n-1].bundle.Empty() {
		x.text = l.items[n-1].text + x.text
		if len(x.text) > 2*mostLate {
			x.text = "…" + strings.ToValidUTF8(x.text[len(x.text)-mostLate:], "")
		}
		l.items[n-1] = x
		return
	}
	l.items = append(l.items, x)
}

// show reports whether a display belongs to the late ones.
func (l *late) show(kind string, b engine.Bundle, id string) bool {
	if kind == "display_data" {
		l.add(lateItem{bundle: b, id: id})
		return true
	}
	i := slices.IndexFunc(l.items, func(x lateItem) bool { return x.id == id && id != "" })
	if i >= 0 {
		l.items[i].bundle, l.fresh = b, true
	}
	return i >= 0
}

// bundle returns one display of all items.
func (l *late) bundle() map[string]any {
	var plain, rich strings.Builder
	isRich := false
	for _, x := range l.items {
		text := x.text
		if t, ok := x.bundle.Data["text/plain"].(string); ok {
			text = t + "\n"
		}
		plain.WriteString(text)
		page, isPage := x.bundle.Data["text/html"].(string)
		svg, isSVG := x.bundle.Data["image/svg+xml"].(string)
		png, isPNG := x.bundle.Data["image/png"].(string)
		isRich = isRich || isPage || isSVG || isPNG
		switch {
		case isPage:
			rich.WriteString(page)
		case isPNG:
			rich.WriteString(`<img src="data:image/png;base64,` + png + `">`)
		case isSVG:
			rich.WriteString(svg)
		default:
			rich.WriteString("<pre>" + html.EscapeString(text) + "</pre>")
		}
	}
	data := map[string]any{"text/plain": plain.String()}
	if isRich {
		data["text/html"] = rich.String()
	}
	return data
}
