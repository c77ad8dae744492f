// Package debug is the debugger of cells: the Debug Adapter Protocol as Jupyter's
// front ends speak it, stops, breakpoints and the goroutines that have stopped.
//
// Start with [Debugger.Handle], which answers a request, and [Debugger.Stop],
// which a cell's goroutine calls at a stop whose flag is up and which returns when
// the goroutine is to go on. [NoteStops] says before which statements. The session is
// seen as a [Host].
package debug
