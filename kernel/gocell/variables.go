package gocell

import (
	"context"
	"reflect"
	"time"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/cell"
)

var _ engine.VariableLister = (*Session)(nil)

// Variables returns the variables that cells have declared, sorted by name.
// While a cell runs, they have no values: the cell may be changing them.
func (s *Session) Variables(ctx context.Context) ([]engine.Variable, error) {
	list := []engine.Variable{}
	for _, d := range (host{s}).Declared() {
		if d.Kind == "variable" {
			list = append(list, engine.Variable{Name: d.Name, Type: d.Type, Value: "(a cell runs)"})
		}
	}
	// No cell begins while this has the turn.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	give, err := s.beside.compiling.take(ctx)
	if err != nil {
		return list, nil
	}
	defer give()
	if s.beside.running() {
		return list, nil
	}
	for i := range list {
		v := &list[i]
		v.Value, v.Shown = s.showVariable(v.Name)
	}
	return list, nil
}

// showVariable returns the value of a variable on one line, and as the value of
// a cell.
func (s *Session) showVariable(name string) (line string, shown engine.Bundle) {
	defer func() {
		if recover() != nil { // a method of the value
			line, shown = "(cannot be shown)", engine.Text("(cannot be shown)")
		}
	}()
	v, ok := s.machine.Value(cell.Mangle(name))
	if !ok {
		return "(in a compiled cell)", engine.Text("(in a compiled cell)")
	}
	var value any
	if v.Kind() != reflect.Interface || !v.IsNil() {
		value = v.Interface()
	}
	return display.Line(value, 200), display.Value(value)
}
