// Package widget provides controls for notebooks: sliders, buttons, menus, and
// containers that arrange them. JupyterLab's widget manager (the front end of
// ipywidgets) shows them; no Python is needed.
//
// Start with [Interact], which calls a function again whenever a person moves a
// control:
//
//	widget.Interact(func(k int, noise float64) *plot.Plot {
//		return draw(k, noise)
//	}, widget.IntSlider("k", 1, 20, 5), widget.FloatSlider("noise", 0, 1, 0.1))
//
// To show a single control, make it the last expression of a cell. Value
// returns its value, Set changes it, and OnChange registers a function for
// changes:
//
//	k := widget.IntSlider("k", 1, 20, 5)
//	k.OnChange(func(v int) { fmt.Println("k is", v) })
//	k
//
// The functions given to OnChange, OnClick and Interact run between cells,
// never at the same time as one, and can be interrupted like a cell. Their
// printed text and their panics are shown in the output of Interact, or else
// below the cell that registered them. If a slider changes many times while a
// function runs, the function is called next for the last position only.
//
// A page that is loaded again shows the widgets in their current state.
// Functions can then no longer print below its cells: their text goes to
// JupyterLab's log, or into an [Output], which stays usable.
//
// For figures and tables that do not change, use package display instead.
package widget
