package vm

import (
	"fmt"
	"strings"

	"dace.local/kernel/buildinfo"
)

// maxStack is the stack in bytes that a goroutine of a cell may use. The
// process dies of ten times that.
const maxStack = 100 << 20

// ErrStackOverflow is why a cell was ended that calls itself without end.
var ErrStackOverflow = fmt.Errorf("goroutine stack exceeds %d-byte limit\nfatal error: stack overflow", maxStack)

// IsCode reports whether a function, by its name on a stack, is one of package code.
func IsCode(function string) bool { return strings.HasPrefix(function, codePath) }

// CalledByLibrary is the function that runs what a library calls in package code.
var CalledByLibrary = codePath + "(*G).run"

var codePath = buildinfo.Path("kernel/gocell/internal/code.")

// CheckStack ends the cell whose goroutine has used up its stack: compiled cells
// call it.
func (m *Machine) CheckStack() {
	if used, _ := stack(); used > maxStack {
		m.Cell().cancel(ErrStackOverflow)
		panic(ErrStackOverflow)
	}
}
