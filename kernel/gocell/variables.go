package gocell

import (
	"context"
	"reflect"
	"time"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
)

var _ engine.VariableLister = (*Session)(nil)

// Variables returns the variables that cells have declared, sorted by name.
// While a cell runs, they have no values: the cell may be changing them.
func (s *Session) Variables(ctx context.Context) ([]engine.Variable, error) {
	list := []engine.Variable{}
	for _, d := range (host{s}).Declared() {
		if d.Kind == "variable" {
			list = append(list, engine.Variable{Name: d.Name, Type: d.Type, Value: aCellRuns})
		}
	}
	release, idle := s.idle(ctx)
	defer release()
	if !idle {
		return list, nil
	}
	for i := range list {
		v := &list[i]
		v.Value, v.Shown = s.showVariable(v.Name)
	}
	return list, nil
}

// What stands for a value that is not known.
const (
	aCellRuns      = "(a cell runs)"
	inCompiledCell = "(in a compiled cell)"
)

// idle reports whether no cell runs. None begins until the caller calls release.
func (k *concurrent) idle(ctx context.Context) (release func(), is bool) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	release, err := k.compiling.take(ctx)
	if err != nil {
		return func() {}, false
	}
	return release, !k.running()
}

// showVariable returns the value of a variable on one line, and as the value of
// a cell.
func (s *Session) showVariable(name string) (line string, shown engine.Bundle) {
	defer func() {
		if recover() != nil { // a method of the value
			line, shown = "(cannot be shown)", engine.Text("(cannot be shown)")
		}
	}()
	v, ok := s.global(name)
	if !ok {
		return inCompiledCell, engine.Text(inCompiledCell)
	}
	var value any
	if v.Kind() != reflect.Interface || !v.IsNil() {
		value = v.Interface()
	}
	return display.Line(value, 200), display.Value(value)
}
