// Package host lets a program that runs others' code, as a notebook's kernel does, end
// the drawing of their figures and warn of letters that fonts lack. Start with [Set] and
// [SetWarn]. Code that draws figures does not need it.
package host

import (
	"sync/atomic"

	"gonum.org/v1/plot/vg"
)

// A Runner calls draw, gives it the function that returns the canvas to draw on in
// the place of another, and returns draw's error. It may return before draw does,
// with an error of its own; what draw writes is then not used.
type Runner func(draw func(on func(vg.CanvasSizer) vg.CanvasSizer) error) error

var runner atomic.Pointer[Runner]

// Set has r run the drawings of figures that are written to files and streams; nil
// has them drawn as they are.
func Set(r Runner) {
	if r == nil {
		runner.Store(nil)
		return
	}
	runner.Store(&r)
}

// Run runs a drawing as the program wants; see [Runner].
func Run(draw func(on func(vg.CanvasSizer) vg.CanvasSizer) error) error {
	if r := runner.Load(); r != nil {
		return (*r)(draw)
	}
	return draw(func(c vg.CanvasSizer) vg.CanvasSizer { return c })
}
