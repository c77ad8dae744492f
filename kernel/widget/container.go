package widget

import (
	"fmt"
	"slices"

	"dace.local/kernel/widget/model"
)

// A Box shows widgets side by side, one below the other, or in a grid. See
// [HBox], [VBox] and [GridBox].
type Box struct{ common }

// A Stack holds widgets and shows at most one of them at a time. See [Tab] and
// [Accordion].
type Stack struct{ common }

// HBox returns a box that shows widgets side by side.
func HBox(children ...Widget) *Box { return newBox("HBox", children) }

// VBox returns a box that shows widgets one below the other.
func VBox(children ...Widget) *Box { return newBox("VBox", children) }

// GridBox returns a box that shows widgets in a grid with the given number of
// columns, row by row.
func GridBox(columns int, children ...Widget) *Box {
	if columns < 1 {
		panic(fmt.Sprintf("widget.GridBox: %d columns, want at least one", columns))
	}
	b := newBox("GridBox", children)
	b.SetLayout("grid_template_columns", fmt.Sprintf("repeat(%d, auto)", columns))
	return b
}

func newBox(kind string, children []Widget) *Box {
	c := newCommon(kind, "", map[string]any{"children": models(children), "box_style": ""}, plain)
	c.parts = append([]Widget{}, children...)
	return &Box{c}
}

// Tab returns a stack that shows one widget at a time, under a row of titles.
func Tab(titles []string, children ...Widget) *Stack { return newStack("Tab", titles, children, 0) }

// Accordion returns a stack of titles, one below the other; a click on a title
// unfolds its widget. At first all are folded.
func Accordion(titles []string, children ...Widget) *Stack {
	return newStack("Accordion", titles, children, nil)
}

func newStack(kind string, titles []string, children []Widget, selected any) *Stack {
	if len(titles) != len(children) {
		panic(fmt.Sprintf("widget.%s: %d titles for %d widgets", kind, len(titles), len(children)))
	}
	state := map[string]any{"children": models(children), "titles": slices.Clone(titles), "selected_index": selected, "box_style": ""}
	c := newCommon(kind, "", state, acceptSelected)
	c.parts = append([]Widget{}, children...)
	return &Stack{c}
}

func acceptSelected(state map[string]any, key string, v any) (any, bool) {
	if key != "selected_index" {
		return plain(state, key, v)
	}
	if v == nil {
		return nil, true
	}
	x, ok := v.(float64)
	i := int(x)
	return i, ok && x == float64(i) && i >= 0 && i < len(state["titles"].([]string))
}

func models(widgets []Widget) []*model.Model {
	list := make([]*model.Model, len(widgets))
	for i, w := range widgets {
		list[i] = w.base().m
	}
	return list
}

// SetChildren replaces the widgets in the box.
func (c *Box) SetChildren(children ...Widget) {
	for _, w := range children {
		if holds(w, c.base()) {
			panic("widget: a box cannot hold itself")
		}
	}
	c.parts = append([]Widget{}, children...)
	c.m.Set("children", models(children))
}

// holds reports whether w is c, or holds it at any depth.
func holds(w Widget, c *common) bool {
	b := w.base()
	return b == c || slices.ContainsFunc(b.parts, func(p Widget) bool { return holds(p, c) })
}

// Selected returns the index of the shown widget, -1 if none is shown.
func (c *Stack) Selected() int {
	if i, ok := c.base().m.Get("selected_index").(int); ok {
		return i
	}
	return -1
}

// Select shows the widget with index i; -1 folds all widgets of an [Accordion].
func (c *Stack) Select(i int) {
	if i < 0 {
		c.base().m.Set("selected_index", nil)
		return
	}
	c.base().m.Set("selected_index", checked(c.m, "selected_index", i))
}

// OnChange registers f, which is called with the index of the shown widget
// whenever that changes; -1 means that none is shown.
func (c *Stack) OnChange(f func(i int)) {
	c.base().m.Watch("selected_index", nil, func(v any) {
		if i, ok := v.(int); ok {
			f(i)
		} else {
			f(-1)
		}
	})
}

// Link keeps the values of two controls equal; both must have the same kind of
// value. The page itself does this, so that a slider follows [Play] even while
// a cell runs.
func Link(a, b Control) {
	source, target := a.base().m, b.base().m
	if fmt.Sprintf("%T", source.Get(a.key())) != fmt.Sprintf("%T", target.Get(b.key())) {
		panic(fmt.Sprintf("widget.Link: a %s and a %s have values of different kinds", a.base().kind, b.base().kind))
	}
	state := model.State(model.ControlsModule, model.ControlsVersion, "LinkModel", "")
	state["_view_name"] = nil
	state["source"], state["target"] = []any{source, a.key()}, []any{target, b.key()}
	model.New(state, refuse).Open()
}
