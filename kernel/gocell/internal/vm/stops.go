package vm

import (
	"go/token"
	"reflect"
)

// A Stack is the calls under way in a goroutine of a cell that has stopped, for a
// debugger.
type Stack struct {
	// Goroutine tells the goroutines of the cells that run apart.
	Goroutine uintptr
	Cell      *Cell // that the goroutine belongs to
	// Calls are where each function that is not the innermost has called another,
	// the outermost first.
	Calls []StackCall
	// Function is the innermost function.
	Function string

	files *token.FileSet
	vars  func(i, stop int) []reflect.Value
}

// A StackCall is a call under way.
type StackCall struct {
	Pos      token.Pos
	Function string // that makes the call
}

// NewStack returns the calls under way in this goroutine: calls and function are the
// Stack's, vars does what Variables does.
func (m *Machine) NewStack(calls []StackCall, function string, vars func(i, stop int) []reflect.Value) *Stack {
	return &Stack{Goroutine: currentG(), Cell: m.Cell(), Calls: calls, Function: function, files: m.files, vars: vars}
}

// Goroutine returns what Stack.Goroutine is of this goroutine.
func Goroutine() uintptr { return currentG() }

// GoroutineStack returns how many bytes of its stack this goroutine uses, and what
// Goroutine returns.
func GoroutineStack() (used, id uintptr) { return stack() }

// Position returns where a position is.
func (s *Stack) Position(p token.Pos) token.Position { return s.files.Position(p) }

// Depth is the number of calls under way.
func (s *Stack) Depth() int { return len(s.Calls) }

// Variables returns the variables of a stop in a frame: of call i, or with
// len(s.Calls) that of the innermost function. They can be set. There are none where
// the frame is not known.
func (s *Stack) Variables(i, stop int) []reflect.Value { return s.vars(i, stop) }
