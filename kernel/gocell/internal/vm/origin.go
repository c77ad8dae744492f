package vm

import (
	"go/token"
	"reflect"

	"dace.local/kernel/gocell/internal/cell"
)

// Origin returns where in the cells a function value was declared: the name of a
// declared function, "" for a function literal, and the place of the declaration
// or the literal. ok is false for functions that are not interpreted, and for
// methods.
func (m *Machine) Origin(f reflect.Value) (name string, at token.Position, ok bool) {
	if m.Own != nil {
		return m.Own.Origin(f)
	}
	fn, _ := functionIn(f)
	if fn == nil {
		return "", at, false
	}
	at = m.Files().Position(fn.def.pos())
	if fn.def.kind() == "funcDecl" {
		name = cell.Clean(fn.def.children()[1].ident())
	}
	return name, at, at.IsValid()
}
