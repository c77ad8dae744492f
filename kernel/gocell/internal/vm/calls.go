package vm

import (
	"go/token"
	"reflect"
	"slices"
)

// A Caller is a call under way in a cell.
type Caller struct {
	Function string
	File     string
	Line     int
	Start    token.Pos // of the function; none for a cell's statements
}

// Callers returns the calls under way in this goroutine, the innermost first:
// that of the compiled function which asks.
func (m *Machine) Callers() []Caller { return m.hooks.Callers() }

// FunctionOf describes a function that cells have made, see Hooks.
func (m *Machine) FunctionOf(f reflect.Value) (c Caller, ok bool) {
	if m.hooks.FunctionOf == nil || f.Kind() != reflect.Func || f.IsNil() || !f.CanInterface() {
		return c, false
	}
	return m.hooks.FunctionOf(f)
}

// AllCallers is Callers with the functions of compiled cells. Those that interpreted
// functions have called, and that call interpreted ones, come last.
func (m *Machine) AllCallers() []Caller {
	if m.hooks.CompiledCallers == nil {
		return m.Callers()
	}
	inner, outer := m.hooks.CompiledCallers()
	return slices.Concat(inner, m.Callers(), outer)
}
