package widget

import "dace.local/kernel/widget/model"

// An Area shows printed and displayed outputs of functions. See [Output].
type Area struct{ common }

// Output returns a place for outputs, which [Area.Run] fills.
func Output() *Area {
	state := model.State(model.OutputModule, model.OutputVersion, "OutputModel", "OutputView")
	state["layout"] = model.New(model.State(model.BaseModule, model.ControlsVersion, "LayoutModel", "LayoutView"), refuse)
	state["msg_id"], state["outputs"] = "", []map[string]any{}
	m := model.New(state, refuse)
	return &Area{common{kind: "Output", m: m, area: model.NewOutputs(m)}}
}

// Run calls f and shows its outputs in the area instead of below the cell. If f
// calls OnChange or OnClick, the outputs of the registered functions go there,
// too.
func (a *Area) Run(f func()) { a.base().area.Run(f) }

// Clear removes the area's outputs: at once, or with wait when the next output
// comes.
func (a *Area) Clear(wait bool) { a.base().area.Clear(wait) }
