package widget

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"dace.local/kernel/display"
	"dace.local/kernel/widget/model"
)

// A Widget is anything that this package can show: a control, an output area,
// or a container of other widgets.
type Widget interface {
	// MimeBundle lets the kernel show the widget as the value of a cell.
	MimeBundle() map[string]any
	base() *common
}

// common holds the fields that all widgets have.
type common struct {
	kind  string // such as "IntSlider"
	m     *model.Model
	parts []Widget       // the widgets in a container, else nil
	area  *model.Outputs // the outputs of an Area, else nil
}

func (c *common) base() *common {
	if c == nil || c.m == nil {
		panic("widget: a widget is made by the function of its name, such as widget.IntSlider")
	}
	return c
}

// newCommon returns the common part of a widget of a kind whose model is in the
// controls module. The widget gets a layout and, unless style is "", a style.
func newCommon(kind, style string, state map[string]any, accept model.Accept) common {
	m := model.State(model.ControlsModule, model.ControlsVersion, kind+"Model", kind+"View")
	m["layout"] = model.New(model.State(model.BaseModule, model.ControlsVersion, "LayoutModel", "LayoutView"), refuse)
	if style != "" {
		s := model.State(model.ControlsModule, model.ControlsVersion, style+"StyleModel", "StyleView")
		s["_view_module"] = model.BaseModule
		m["style"] = model.New(s, refuse)
	}
	for key, v := range state {
		m[key] = v
	}
	return common{kind: kind, m: model.New(m, accept)}
}

// refuse is the Accept function of models that pages cannot change.
func refuse(map[string]any, string, any) (any, bool) { return nil, false }

// plain accepts a value of the same JSON type as the value that it replaces.
func plain(state map[string]any, key string, v any) (any, bool) {
	switch state[key].(type) {
	case bool:
		_, ok := v.(bool)
		return v, ok
	case string:
		_, ok := v.(string)
		return v, ok
	case int, float64:
		_, ok := v.(float64)
		return v, ok
	}
	return nil, false
}

// MimeBundle lets the kernel show the widget as the value of a cell. It also
// opens the widget's model on the pages of the running cell.
func (c *common) MimeBundle() map[string]any {
	c.base()
	b := c.static()
	if c.m.Open() {
		b[model.ViewType] = c.view()
	}
	return b
}

// view returns the data of an output that shows the widget.
func (c *common) view() map[string]any {
	return map[string]any{"version_major": 2, "version_minor": 0, "model_id": c.m.ID()}
}

// static returns the widget for pages and files that cannot show it.
func (c *common) static() map[string]any {
	text := c.text() + "\n" + withoutManager
	b := map[string]any{"text/plain": text}
	if png, width := c.png(); png != "" {
		// JupyterLab shows this in a stored notebook until its reader trusts it.
		size := ""
		if width > 0 {
			size = fmt.Sprintf(` width="%d"`, width)
		}
		b["text/html"] = fmt.Sprintf(`<img src="data:image/png;base64,%s"%s><pre>%s</pre>`, png, size, html.EscapeString(text))
	}
	return b
}

// withoutManager is the text that a page shows if it has no widget manager.
const withoutManager = "(to see this as a widget, JupyterLab needs its widget manager: `pip install jupyterlab_widgets`, or `go run ./install -jupyter`, and load the page again)"

// png returns the first picture that the widget shows, as [model.Outputs.PNG].
func (c *common) png() (png string, width int) {
	if c.area != nil {
		return c.area.PNG()
	}
	for _, p := range c.parts {
		if png, width := p.base().png(); png != "" {
			return png, width
		}
	}
	return "", 0
}

// text describes the widget for pages and files that cannot show it.
func (c *common) text() string {
	switch {
	case c.area != nil:
		return c.area.Text()
	case c.parts != nil:
		var lines []string
		for _, p := range c.parts {
			if t := p.base().text(); t != "" {
				lines = append(lines, t)
			}
		}
		return strings.Join(lines, "\n")
	}
	name, _ := c.m.Get("description").(string)
	text := strings.TrimSpace(c.kind + " " + name)
	if options, ok := c.m.Get("_options_labels").([]string); ok {
		if i, ok := c.m.Get("index").(int); ok {
			return fmt.Sprintf("%s: %s", text, options[i])
		}
		return text
	}
	if v := c.m.Get("value"); v != nil {
		text = fmt.Sprintf("%s: %v", text, v)
	}
	return text
}

// Show shows the widget at once, as if it were the value of the cell.
func (c *common) Show() { display.Show(c) }

// Close removes the widget from all pages.
func (c *common) Close() { c.base().m.Close() }

// SetName changes the widget's name, the text beside it.
func (c *common) SetName(name string) { c.base().m.Set("description", name) }

// SetEnabled sets whether a person can use the widget. Widgets are enabled at
// first.
func (c *common) SetEnabled(enabled bool) { c.base().m.Set("disabled", !enabled) }

// SetAttribute sets an attribute of the widget's model. Names are those of
// ipywidgets, such as "tooltip", "orientation" ("vertical"), "readout_format"
// (".2e"), "continuous_update" (false) or "button_style" ("success"). The value
// must encode to JSON.
func (c *common) SetAttribute(name string, value any) {
	c.base()
	if strings.HasPrefix(name, "_") || name == "layout" || name == "style" || name == "children" || name == "outputs" {
		panic(fmt.Sprintf("widget: the attribute %q cannot be set", name))
	}
	c.m.Set(name, checked(c.m, name, value))
}

// checked returns a value of an attribute in the form that the model stores. It
// panics if the widget refuses the value.
func checked(m *model.Model, name string, value any) any {
	b, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("widget: the value of %q: %v", name, err))
	}
	var v any
	_ = json.Unmarshal(b, &v) // cannot fail: b was encoded just now
	if m.Get(name) == nil {
		return v
	}
	v, ok := m.Accepts(name, v)
	if !ok {
		panic(fmt.Sprintf("widget: %q cannot be %s", name, b))
	}
	return v
}

// SetLayout sets a CSS property of the widget's layout, such as "width" ("60%"),
// "border" or "grid_template_columns".
func (c *common) SetLayout(property, value string) {
	c.base().m.Get("layout").(*model.Model).Set(property, value)
}

// SetStyle sets a property of the widget's style, such as "description_width"
// ("initial"), "handle_color", "button_color" or "bar_color".
func (c *common) SetStyle(property, value string) {
	style, ok := c.base().m.Get("style").(*model.Model)
	if !ok {
		panic("widget: " + c.kind + " has no style")
	}
	style.Set(property, value)
}
