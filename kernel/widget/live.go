package widget

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/internal/live"
	"dace.local/kernel/widget/model"
)

func init() { live.Set(&views{}) }

// Limits of the views of values, which hold the values.
const (
	mostViews  = 32 // of all cells
	mostOfCell = 8  // that one run of a cell makes
)

// views shows the values of which outputs have a part only.
type views struct {
	mu   sync.Mutex // guards list
	list []*view    // the latest last
}

// A view shows one value.
type view struct {
	cell *engine.Cell // that made it; nil if it is not known
	root *common

	mu    sync.Mutex // guards of, table and trees, nil when an old view has let go of its value
	of    any
	table live.Table
	trees []live.Tree // the value's unfolded parts
}

// Able reports whether the running cell's page can show widgets. What goes into an
// output widget, which is written again and again, cannot.
func (v *views) Able() bool {
	cell, ok := goroutine.Value().(model.Cell)
	if !ok || !cell.Widgets().Managed() {
		return false
	}
	_, inside := cell.Outputs().(*model.Outputs)
	now, made := runningCell(), 0
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, x := range v.list {
		if now != nil && x.cell == now {
			made++
		}
	}
	return !inside && made < mostOfCell
}

// Follow shows a widget on a page that has no widget manager, as far as is known, and
// shows it anew after cells that have changed it.
func (v *views) Follow(x any, out engine.Outputs, id string) bool {
	w, ok := x.(Widget)
	cell, inCell := goroutine.Value().(model.Cell)
	if _, inside := out.(*model.Outputs); !ok || !inCell || inside || cell.Widgets().Managed() {
		return false
	}
	c := w.base()
	opened := c.m.Open()
	cell.Widgets().Follow(out, id, func() engine.Bundle {
		data := c.static()
		if opened {
			data[model.ViewType] = c.view()
		}
		return engine.Bundle{Data: data}
	})
	return true
}

// runningCell returns the cell of this goroutine, nil if it is not known.
func runningCell() *engine.Cell {
	if c, ok := goroutine.Value().(interface{ Context() context.Context }); ok {
		return engine.CellOf(c.Context())
	}
	return nil
}

// Show makes a view. It closes those of an earlier run of the cell, whose outputs are
// gone, and has the oldest let go of its value.
func (v *views) Show(x live.Value) map[string]any {
	w := &view{cell: runningCell(), of: x.Of, table: x.Table}
	if x.Table != nil {
		w.root = w.rows(x.Table).base()
	} else {
		w.root = w.unfolding(x.Tree, true).base()
	}
	w.root.m.Open()
	v.mu.Lock()
	var gone []*view
	v.list = slices.DeleteFunc(append(v.list, w), func(o *view) bool {
		old := w.cell != nil && o.cell != nil && o.cell != w.cell && o.cell.ID != "" && o.cell.ID == w.cell.ID
		if old {
			gone = append(gone, o)
		}
		return old
	})
	if len(v.list) > mostViews {
		v.list[0].release()
		v.list = slices.Delete(v.list, 0, 1)
	}
	v.mu.Unlock()
	for _, o := range gone {
		o.release()
		o.root.m.CloseAll()
	}
	return map[string]any{model.ViewType: w.root.view()}
}

func (w *view) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of, w.table, w.trees = nil, nil, nil
}

// released is what a view shows that has let go of its value.
const released = "<i>The kernel has let go of this value: run the cell again.</i>"

// read calls f, which reads the value, and reports whether the view still has it.
func (w *view) read(f func(table live.Table, trees []live.Tree)) bool {
	w.mu.Lock()
	of, table, trees := w.of, w.table, w.trees
	w.mu.Unlock()
	if of == nil {
		return false
	}
	if c, ok := goroutine.Value().(interface {
		Reading(f func(), values ...any)
	}); ok {
		c.Reading(func() { f(table, trees) }, of)
	} else {
		f(table, trees)
	}
	return true
}

// rows returns the view of a table: a field for a filter, a menu of columns to sort
// by, another of how many rows there are at once, and a slider that moves these.
func (w *view) rows(t live.Table) Widget {
	columns := t.Columns()
	orders := []string{"in their order"}
	for _, c := range columns[:min(len(columns), 200)] {
		orders = append(orders, c+" ▲", c+" ▼")
	}
	counts, texts := []int{20, 100, 1000}, []string{}
	counts = slices.DeleteFunc(counts, func(n int) bool { return n >= min(t.Rows(), t.Most()) })
	for _, n := range counts {
		texts = append(texts, fmt.Sprint(n, " rows"))
	}
	if counts, texts = append(counts, t.Most()), append(texts, "all rows"); t.Most() < t.Rows() {
		texts[len(texts)-1] = fmt.Sprint(t.Most(), " rows")
	}

	filter := Text("", "")
	filter.SetAttribute("placeholder", "filter: a word, "+comparable(columns))
	filter.SetAttribute("tooltip", "rows that have all words in their texts; or compare a column: =, !=, <, <=, >, >=")
	filter.SetAttribute("continuous_update", t.Rows() <= 5_000)
	order := newChoice("Dropdown", "Description", "", orders, orders[0])
	order.SetAttribute("tooltip", "sorted by")
	many := newChoice("Dropdown", "Description", "", texts, texts[min(1, len(texts)-1)])
	many.SetAttribute("tooltip", "rows at once")
	from := IntSlider("from row", 1, max(1, t.Rows()), 1)
	filter.SetLayout("width", "22em")
	order.SetLayout("width", "auto")
	many.SetLayout("width", "auto")
	from.SetLayout("width", "30em")
	page := HTML("")
	first := 0
	show := func(row int) {
		first = row
		q := live.Query{Filter: filter.Value(), Column: -1, From: first, N: counts[many.Index()]}
		if i := order.Index(); i > 0 {
			q.Column, q.Falling = (i-1)/2, i%2 == 0
		}
		var text string
		found := 0
		if !w.read(func(t live.Table, _ []live.Tree) {
			if text, found = t.Page(q); q.From >= found {
				q.From, first = 0, 0
				text, found = t.Page(q)
			}
		}) {
			page.Set(page.Value() + released)
			return
		}
		page.Set(text)
		display := ""
		if found <= q.N {
			display = "none"
		}
		from.SetLayout("display", display)
		from.m.SetAll(map[string]any{"max": max(1, found), "step": max(1, q.N/2), "value": q.From + 1})
	}
	show(0)
	for _, c := range []Control{filter, order, many} {
		c.base().m.Watch(c.key(), nil, func(any) { show(0) })
	}
	from.OnChange(func(row int) {
		if row != first+1 {
			show(row - 1)
		}
	})
	bar := HBox(filter, order, many)
	bar.SetLayout("flex_flow", "row wrap")
	return VBox(bar, page, from)
}

// comparable returns an example of a comparison with a column.
func comparable(columns []string) string {
	for _, c := range columns {
		if c != "" {
			return "or " + c + " > 3"
		}
	}
	return "or two"
}

// unfolding returns the view of a value that is unfolded by clicks.
func (w *view) unfolding(t live.Tree, open bool) Widget {
	box := VBox()
	box.SetLayout("padding", "0 0 0 1.5em")
	box.SetLayout("align_items", "flex-start")
	text, opened, next := t.Text(), false, 0
	w.mu.Lock()
	w.trees = append(w.trees, t)
	number := len(w.trees) - 1
	w.mu.Unlock()
	var more func()
	more = func() {
		var parts []live.Part
		total := 0
		if !w.read(func(_ live.Table, trees []live.Tree) { parts, next, total = trees[number].Parts(next) }) {
			parts, next = []live.Part{{HTML: released}}, 0
		}
		all := slices.Clone(box.parts)
		for _, p := range parts {
			if p.Tree != nil {
				all = append(all, w.unfolding(p.Tree, false))
			} else {
				all = append(all, HTML(p.HTML))
			}
		}
		if next > 0 {
			rest := flat(fmt.Sprintf("… %d more", total-next))
			rest.OnClick(func() {
				box.SetChildren(box.parts[:len(box.parts)-1]...)
				more()
				rest.m.CloseAll()
			})
			all = append(all, rest)
		}
		box.SetChildren(all...)
	}
	button := flat("")
	show := func() {
		if open && !opened {
			opened = true
			more()
		}
		box.SetLayout("display", map[bool]string{true: "flex", false: "none"}[open])
		button.SetName(map[bool]string{true: "▾ ", false: "▸ "}[open] + text)
	}
	show()
	button.OnClick(func() {
		open = !open
		show()
	})
	v := VBox(button, box)
	v.SetLayout("align_items", "flex-start")
	return v
}

// flat returns a button that looks like a line of text.
func flat(text string) *Action {
	b := Button(text)
	for property, value := range map[string]string{"button_color": "transparent", "text_color": "var(--jp-content-font-color1, CanvasText)",
		"font_family": "var(--jp-code-font-family, monospace)", "font_size": "var(--jp-code-font-size, 13px)"} {
		b.SetStyle(property, value)
	}
	for property, value := range map[string]string{"width": "auto", "max_width": "100%", "height": "auto", "padding": "0", "margin": "0"} {
		b.SetLayout(property, value)
	}
	return b
}
