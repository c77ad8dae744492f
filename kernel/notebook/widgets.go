package notebook

import (
	"fmt"
	"strings"
)

// A page has no kernel that could respond to a slider, but it shows the
// widgets' state at the time when the notebook was saved: outputs, and the
// values of controls.

// widgetView is the MIME type of outputs that show a widget.
const widgetView = "application/vnd.jupyter.widget-view+json"

// widgets returns the saved states of the notebook's widgets by their ids.
func (nb *Notebook) widgets() map[string]any {
	all, _ := nb.Metadata["widgets"].(map[string]any)
	state, _ := all[widgetState].(map[string]any)
	models, _ := state["state"].(map[string]any)
	return models
}

// widget writes a widget in its saved state and reports whether the notebook
// has its state. Shown holds the ids of the widgets already written, because
// boxes in an untrusted notebook may contain each other.
func (p *page) widget(id string, shown map[string]bool) bool {
	model, _ := p.nb.widgets()[id].(map[string]any)
	state, _ := model["state"].(map[string]any)
	if state == nil || shown[id] {
		return false
	}
	shown[id] = true
	children, _ := state["children"].([]any)
	titles, _ := state["titles"].([]any)
	for i, c := range children {
		if i < len(titles) {
			p.pre("value", fmt.Sprint(titles[i]))
		}
		ref, _ := c.(string)
		p.widget(strings.TrimPrefix(ref, "IPY_MODEL_"), shown)
	}
	outputs, _ := state["outputs"].([]any)
	for _, o := range outputs {
		switch o := new(reader).output(o, ""); o.Type {
		case Stream:
			p.pre("stream", settle(o.Text))
		case Failure:
			p.pre("error", strings.Join(o.Traceback, "\n"))
		case Display, Result:
			p.bundle(o.Data, o.Metadata)
		}
	}
	if model["model_name"] == "HTMLModel" {
		value, _ := state["value"].(string)
		p.put("<div class=\"rich\">", value, "</div>\n")
	} else if v, ok := controlValue(state); ok {
		name, _ := state["description"].(string)
		p.pre("value", strings.TrimPrefix(name+": "+v, ": "))
	}
	return true
}

// controlValue returns the value of a control as text.
func controlValue(state map[string]any) (string, bool) {
	if options, ok := state["_options_labels"].([]any); ok {
		var i int
		if n, err := fmt.Sscan(fmt.Sprint(state["index"]), &i); n == 1 && err == nil && i >= 0 && i < len(options) {
			return fmt.Sprint(options[i]), true
		}
		return "none", true
	}
	switch v := state["value"].(type) {
	case nil:
		return "", false
	case []any:
		if len(v) == 2 {
			return fmt.Sprintf("%v to %v", v[0], v[1]), true
		}
		return fmt.Sprint(v...), true
	default:
		return fmt.Sprint(v), true
	}
}
