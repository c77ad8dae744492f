package model

// These are the JavaScript modules of the widgets' models and views, and their
// versions.
const (
	BaseModule      = "@jupyter-widgets/base"
	ControlsModule  = "@jupyter-widgets/controls"
	OutputModule    = "@jupyter-widgets/output"
	ControlsVersion = "2.0.0"
	OutputVersion   = "1.0.0"
)

// ViewType is the MIME type of an output that shows a widget.
const ViewType = "application/vnd.jupyter.widget-view+json"

// State returns the part of a model's state that names its model and view.
func State(module, version, name, view string) map[string]any {
	return map[string]any{
		"_model_module": module, "_model_module_version": version, "_model_name": name,
		"_view_module": module, "_view_module_version": version, "_view_name": view,
	}
}

// Static returns the state of a widget that shows HTML.
func Static(html string) map[string]any {
	m := State(ControlsModule, ControlsVersion, "HTMLModel", "HTMLView")
	m["value"], m["layout"], m["style"] = html, nil, nil
	return m
}
