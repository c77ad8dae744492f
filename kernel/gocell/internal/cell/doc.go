// Package cell holds what a cell is as text: the names that the kernel
// generates, and the way back from them to the user's.
//
// Start with [Mark] and [Clean]. It knows no types and runs nothing.
package cell
