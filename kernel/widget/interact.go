package widget

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"dace.local/kernel/display"
)

// Interact shows controls and calls f with their values, now and whenever one
// of them changes. The outputs and results of f are shown below the controls
// and replace those of the last call. A panic of f is shown there, too.
//
// f has one parameter for each control, in their order: any number type for an
// [Int], a float type for a [Float], [2]int or [2]float64 for a range, string
// for a [String], bool for a [Bool], and for a [Choice] string (the option) or
// int (its index).
func Interact(f any, controls ...Control) { Interactive(f, controls...).Show() }

// Interactive is like [Interact] but does not show anything: it returns a box,
// to be shown as the value of a cell or put into another box.
func Interactive(f any, controls ...Control) *Box {
	c := newCaller(f, controls)
	for _, x := range controls {
		x.base().m.Watch(x.key(), c.area.area, func(any) { c.call(false) })
	}
	c.first()
	return VBox(append(widgets(controls), c.area)...)
}

// InteractManual is like [Interact] but calls f only when a person presses a
// button. Use it for functions that take long.
func InteractManual(f any, controls ...Control) {
	c := newCaller(f, controls)
	button := Button("Run")
	button.base().m.Watch("", c.area.area, func(any) { c.call(true) })
	VBox(append(widgets(controls), button, c.area)...).Show()
}

func widgets(controls []Control) []Widget {
	list := make([]Widget, 0, len(controls)+2)
	for _, c := range controls {
		list = append(list, c)
	}
	return list
}

// A caller calls a function with the values of controls.
type caller struct {
	f         reflect.Value
	controls  []Control
	area      *Area
	errorLast bool // f's last result is an error

	mu   sync.Mutex // guards last
	last []any      // arguments of the last call, nil before the first
}

func newCaller(f any, controls []Control) *caller {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Func || v.IsNil() {
		panic(fmt.Sprintf("widget.Interact: the first argument is %T, want a function", f))
	}
	t := v.Type()
	if t.IsVariadic() || t.NumIn() != len(controls) {
		panic(fmt.Sprintf("widget.Interact: the function %v must have one parameter for each of the %d controls", t, len(controls)))
	}
	c := &caller{f: v, controls: slices.Clone(controls), area: Output()}
	for i, x := range controls {
		if _, ok := x.argument(t.In(i)); !ok {
			panic(fmt.Sprintf("widget.Interact: parameter %d of the function is %v; a %s has %T", i+1, t.In(i), x.base().kind, x.base().m.Get(x.key())))
		}
	}
	if n := t.NumOut(); n > 0 {
		c.errorLast = t.Out(n-1) == reflect.TypeFor[error]()
	}
	return c
}

// first calls the function for the first time, as part of the running cell.
func (c *caller) first() { c.area.Run(func() { c.call(false) }) }

// call calls the function and shows its results in the area; its outputs must
// go there already. Unless again is true, it skips a call with the same values
// as the last one: one action of a person may change two controls.
func (c *caller) call(again bool) {
	in := make([]reflect.Value, len(c.controls))
	now := make([]any, len(in))
	for i, x := range c.controls {
		in[i], _ = x.argument(c.f.Type().In(i))
		now[i] = in[i].Interface()
	}
	c.mu.Lock()
	known := c.last != nil && reflect.DeepEqual(now, c.last)
	c.last = now
	c.mu.Unlock()
	if known && !again {
		return
	}
	c.area.area.Replace(func() {
		var results []any
		for _, v := range c.f.Call(in) {
			results = append(results, v.Interface())
		}
		if c.errorLast && len(results) == 1 && results[0] == nil {
			return
		}
		if b := display.Result(results, c.errorLast); !b.Empty() {
			c.area.area.Display(b, "")
		}
	})
}
