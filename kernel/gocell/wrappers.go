package gocell

import (
	"reflect"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Wrappers by which compiled code sees a cell's value together with the
// optional methods that it looks for; the interpreter takes the first of which
// the cell's type has all methods.

type wrapPlotter struct {
	IValue     any
	WPlot      func(draw.Canvas, *plot.Plot)
	WDataRange func() (xmin, xmax, ymin, ymax float64)
}

func (w wrapPlotter) Plot(c draw.Canvas, p *plot.Plot)            { w.WPlot(c, p) }
func (w wrapPlotter) DataRange() (xmin, xmax, ymin, ymax float64) { return w.WDataRange() }

// composed lists the wrappers of an interface, by package and name.
var composed = map[string]map[string][]reflect.Type{
	"gonum.org/v1/plot": {"_Plotter": {reflect.TypeFor[wrapPlotter]()}},
}
