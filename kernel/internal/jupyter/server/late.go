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
	lost  bool // whether there were more, before these
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

// Of late outputs the last are kept, as each update has them all.
const (
	mostLate      = 1 << 19 // bytes of a text
	mostLateItems = 100     // texts and displays
	mostLateBytes = 8 << 20 // of all
)

// size returns the bytes of an item.
func (x lateItem) size() int {
	n := len(x.text)
	for _, v := range x.bundle.Data {
		if s, ok := v.(string); ok {
			n += len(s)
		}
	}
	return n
}

// bound drops what is too much, the oldest first, and keeps the last.
func (l *late) bound() {
	bytes := 0
	for i, x := range slices.Backward(l.items) {
		bytes += x.size()
		if n := len(l.items) - i; n > mostLateItems || n > 1 && bytes > mostLateBytes {
			l.items, l.lost = slices.Delete(l.items, 0, i+1), true
			return
		}
	}
}

func (l *late) add(x lateItem) {
	l.fresh = true
	defer l.bound()
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
		l.bound()
	}
	return i >= 0
}

// bundle returns one display of all items.
func (l *late) bundle() map[string]any {
	var plain, rich strings.Builder
	isRich := false
	items := l.items
	if l.lost {
		items = slices.Insert(slices.Clone(items), 0, lateItem{text: "… what came before is not kept\n"})
	}
	for _, x := range items {
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
