package std

import "dace.local/kernel/gocell/internal/vm"

// States of a loop that ranges over a function. Rewritten code keeps one state
// for each loop.
const (
	RangeReady  = iota
	RangeDone   // the body has returned false
	RangeExited // the loop is over
	RangeInBody // the body runs, or was left by a panic
	RangeLost   // a panic of the body was swallowed
)

// newRangeError returns the value with which the loop panics when the iterator
// function calls the body in a state in which it must not.
func newRangeError(state int) any {
	return vm.RuntimeError("range function " + [...]string{
		RangeReady:  "misbehaved",
		RangeDone:   "continued iteration after function for loop body returned false",
		RangeExited: "continued iteration after whole loop exit",
		RangeInBody: "continued iteration after loop body panic",
		RangeLost:   "recovered a loop body panic and did not resume panicking",
	}[state])
}
