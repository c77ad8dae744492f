package vm

import "go/token"

// An ErrorVar is a variable of type error of a function that a panic has left.
type ErrorVar struct {
	Name string
	At   token.Position // where it was set
	Err  error          // not nil
}
