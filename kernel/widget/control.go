package widget

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// A Control is a widget with a value, which [Interact] passes to a function.
type Control interface {
	Widget
	// argument returns the value converted to type t, and whether that is
	// possible.
	argument(t reflect.Type) (reflect.Value, bool)
	// key returns the key of the value in the model's state.
	key() string
}

// value is the common part of controls that keep their value under the key
// "value".
type value struct{ common }

func (*value) key() string { return "value" }

// An Int is a control for a whole number: [IntSlider], [IntText], [Play].
type Int struct{ value }

// A Float is a control for a number: [FloatSlider], [FloatLogSlider],
// [FloatText], [Progress].
type Float struct{ value }

// An IntRange is a control for a lower and an upper whole number:
// [IntRangeSlider].
type IntRange struct{ value }

// A FloatRange is a control for a lower and an upper number:
// [FloatRangeSlider].
type FloatRange struct{ value }

// A String is a control for a text: [Text], [Textarea], [HTML].
type String struct{ value }

// A Bool is a control that is on or off: [Checkbox], [ToggleButton].
type Bool struct{ value }

// A Choice is a control that picks one of several texts: [Dropdown],
// [RadioButtons], [ToggleButtons].
type Choice struct{ common }

// An Action is a button: see [Button].
type Action struct{ common }

// IntSlider returns a slider over the whole numbers from least to greatest.
func IntSlider(name string, least, greatest, value int) *Int {
	order("IntSlider", least, greatest)
	return &Int{newValue("IntSlider", "Slider", name, clamp(value, least, greatest), acceptInt,
		"min", least, "max", greatest, "step", 1, "readout", true, "readout_format", "d", "continuous_update", true, "orientation", "horizontal")}
}

// IntText returns a field for a whole number. Its value changes when the person
// presses Enter or leaves the field.
func IntText(name string, value int) *Int {
	return &Int{newValue("IntText", "Description", name, value, acceptInt, "step", 1, "continuous_update", false)}
}

// Play returns buttons that run a value from least to greatest, step by step.
// The attribute "interval" is the time between two values in milliseconds, 100
// at first. [Link] lets a slider follow the value.
func Play(name string, least, greatest, value int) *Int {
	order("Play", least, greatest)
	return &Int{newValue("Play", "Description", name, clamp(value, least, greatest), acceptInt,
		"min", least, "max", greatest, "step", 1, "interval", 100, "playing", false, "repeat", false, "show_repeat", true)}
}

// FloatSlider returns a slider from least to greatest with about a hundred
// steps. [Float.SetStep] changes the step.
func FloatSlider(name string, least, greatest, value float64) *Float {
	order("FloatSlider", least, greatest)
	step := niceStep(greatest - least)
	return &Float{newValue("FloatSlider", "Slider", name, clamp(value, least, greatest), acceptFloat,
		"min", least, "max", greatest, "step", step, "readout", true, "readout_format", readout(step, greatest), "continuous_update", true, "orientation", "horizontal")}
}

// FloatLogSlider returns a slider from least to greatest on a logarithmic
// scale: each step multiplies the value. Both bounds must be above 0.
func FloatLogSlider(name string, least, greatest, value float64) *Float {
	order("FloatLogSlider", least, greatest)
	if least <= 0 {
		panic(fmt.Sprintf("widget.FloatLogSlider: the least value is %v, want one above 0", least))
	}
	low, high := math.Log10(least), math.Log10(greatest)
	f := newValue("FloatLogSlider", "Slider", name, clamp(value, least, greatest), acceptFloat,
		"min", low, "max", high, "base", 10.0, "step", niceStep(high-low), "readout", true, "readout_format", ".3g", "continuous_update", true, "orientation", "horizontal")
	return &Float{f}
}

// FloatText returns a field for a number. Its value changes when the person
// presses Enter or leaves the field.
func FloatText(name string, value float64) *Float {
	return &Float{newValue("FloatText", "Description", name, finite("FloatText", value), acceptFloat, "step", nil, "continuous_update", false)}
}

// Progress returns a bar from least to greatest. Only [Float.Set] moves it.
func Progress(name string, least, greatest, value float64) *Float {
	order("Progress", least, greatest)
	return &Float{newValue("FloatProgress", "Progress", name, clamp(value, least, greatest), acceptFloat,
		"min", least, "max", greatest, "bar_style", "", "orientation", "horizontal", "_view_name", "ProgressView")}
}

// IntRangeSlider returns a slider with two handles for whole numbers.
func IntRangeSlider(name string, least, greatest, lower, upper int) *IntRange {
	order("IntRangeSlider", least, greatest)
	order("IntRangeSlider", lower, upper)
	v := [2]int{clamp(lower, least, greatest), clamp(upper, least, greatest)}
	return &IntRange{newValue("IntRangeSlider", "Slider", name, v, acceptIntRange,
		"min", least, "max", greatest, "step", 1, "readout", true, "readout_format", "d", "continuous_update", true, "orientation", "horizontal")}
}

// FloatRangeSlider returns a slider with two handles and about a hundred steps.
func FloatRangeSlider(name string, least, greatest, lower, upper float64) *FloatRange {
	order("FloatRangeSlider", least, greatest)
	order("FloatRangeSlider", lower, upper)
	step := niceStep(greatest - least)
	v := [2]float64{clamp(lower, least, greatest), clamp(upper, least, greatest)}
	return &FloatRange{newValue("FloatRangeSlider", "Slider", name, v, acceptFloatRange,
		"min", least, "max", greatest, "step", step, "readout", true, "readout_format", readout(step, greatest), "continuous_update", true, "orientation", "horizontal")}
}

// Text returns a field for a line of text. Its value changes when the person
// presses Enter or leaves the field.
func Text(name, value string) *String {
	return &String{newValue("Text", "Text", name, value, plain, "continuous_update", false, "placeholder", "")}
}

// Textarea returns a field for several lines of text. Its value changes when
// the person leaves the field.
func Textarea(name, value string) *String {
	return &String{newValue("Textarea", "Text", name, value, plain, "continuous_update", false, "placeholder", "")}
}

// HTML returns a widget that shows HTML. [String.Set] changes the HTML.
func HTML(html string) *String {
	return &String{newValue("HTML", "HTML", "", html, plain)}
}

// Checkbox returns a box to tick.
func Checkbox(name string, value bool) *Bool {
	return &Bool{newValue("Checkbox", "Checkbox", name, value, plain, "indent", true)}
}

// ToggleButton returns a button that stays pressed until it is pressed again.
func ToggleButton(name string, value bool) *Bool {
	return &Bool{newValue("ToggleButton", "ToggleButton", name, value, plain, "button_style", "", "icon", "")}
}

// Dropdown returns a menu of options with value chosen. If value is "" and not
// an option, none is chosen.
func Dropdown(name string, options []string, value string) *Choice {
	return newChoice("Dropdown", "Description", name, options, value)
}

// RadioButtons returns a list of options with value chosen. If value is "" and
// not an option, none is chosen.
func RadioButtons(name string, options []string, value string) *Choice {
	return newChoice("RadioButtons", "Description", name, options, value)
}

// ToggleButtons returns a row of buttons, one for each option, with that of
// value pressed. If value is "" and not an option, none is pressed.
func ToggleButtons(name string, options []string, value string) *Choice {
	return newChoice("ToggleButtons", "ToggleButtons", name, options, value)
}

// Button returns a button. [Action.OnClick] registers what it does.
func Button(name string) *Action {
	return &Action{newCommon("Button", "Button", map[string]any{"description": name, "disabled": false, "button_style": "", "icon": "", "tooltip": nil}, plain)}
}

// newValue returns a control with a value. more holds pairs of the name and the
// value of a further attribute.
func newValue(kind, style, name string, v any, accept func(map[string]any, string, any) (any, bool), more ...any) value {
	state := map[string]any{"description": name, "value": v, "disabled": false}
	for i := 0; i < len(more); i += 2 {
		state[more[i].(string)] = more[i+1]
	}
	return value{newCommon(kind, style, state, accept)}
}

func newChoice(kind, style, name string, options []string, value string) *Choice {
	state := map[string]any{"description": name, "disabled": false, "_options_labels": slices.Clone(options), "index": choose(kind, options, value)}
	return &Choice{newCommon(kind, style, state, acceptIndex)}
}

// choose returns the index of value among the options, or nil if value is ""
// and not an option. It panics if any other value is not an option.
func choose(kind string, options []string, value string) any {
	i := slices.Index(options, value)
	switch {
	case i >= 0:
		return i
	case value == "":
		return nil
	}
	panic(fmt.Sprintf("widget.%s: %q is not among the options %q", kind, value, options))
}

// order panics if a bound is not finite or the upper bound is below the lower
// one.
func order[T int | float64](kind string, least, greatest T) {
	if finite(kind, float64(least)); finite(kind, float64(greatest)) < float64(least) {
		panic(fmt.Sprintf("widget.%s: %v to %v is no range, want the lower bound first", kind, least, greatest))
	}
}

// finite returns v. It panics if v is NaN or infinite, which JSON cannot
// encode.
func finite(kind string, v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		panic(fmt.Sprintf("widget.%s: %v is not a finite number", kind, v))
	}
	return v
}

func clamp[T int | float64](v, least, greatest T) T {
	if v != v { // NaN
		return least
	}
	return min(max(v, least), greatest)
}

// niceStep returns a step for a range of the given width: the smallest of 1, 2
// and 5 times a power of ten that is at least a hundredth of the width.
func niceStep(width float64) float64 {
	if width <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(width/100)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= width/100*(1-1e-9) {
			return rounded(f * power)
		}
	}
	return rounded(10 * power)
}

// rounded rounds v to 6 significant digits, which removes the rounding errors
// of powers of ten.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return v
}

// readout returns a number format of d3 (a JavaScript library) with enough
// decimals to show every step of a slider.
func readout(step, greatest float64) string {
	places := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	if places > 6 || math.Abs(greatest) >= 1e7 {
		return ".3e"
	}
	return fmt.Sprintf(".%df", places)
}

// number converts a value from a page to a finite number within the bounds
// "min" and "max" of the state. It returns false if v is not a finite number.
func number(state map[string]any, v any) (float64, bool) {
	x, ok := v.(float64)
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, false
	}
	low, high := asFloat(state["min"]), asFloat(state["max"])
	if state["base"] != nil { // the bounds of a logarithmic slider are exponents
		low, high = math.Pow(10, low), math.Pow(10, high)
	}
	if !math.IsNaN(low) && !math.IsNaN(high) {
		x = clamp(x, low, high)
	}
	return x, true
}

// asFloat converts a number of a state to float64; other values give NaN.
func asFloat(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// whole rounds x to an int and reports whether it fits.
func whole(x float64) (int, bool) {
	x = math.Round(x)
	return int(x), math.Abs(x) < 1<<63
}

func acceptInt(state map[string]any, key string, v any) (any, bool) {
	if key != "value" {
		return plain(state, key, v)
	}
	if x, ok := number(state, v); ok {
		return orRefuse(whole(x))
	}
	return nil, false
}

// orRefuse converts a value and a bool to the result types of model.Accept.
func orRefuse[T any](v T, ok bool) (any, bool) { return v, ok }

func acceptFloat(state map[string]any, key string, v any) (any, bool) {
	if key != "value" {
		return plain(state, key, v)
	}
	return orRefuse(number(state, v))
}

func acceptIntRange(state map[string]any, key string, v any) (any, bool) {
	if key != "value" {
		return plain(state, key, v)
	}
	x, ok := pair(state, v)
	lower, ok1 := whole(x[0])
	upper, ok2 := whole(x[1])
	return [2]int{lower, upper}, ok && ok1 && ok2
}

func acceptFloatRange(state map[string]any, key string, v any) (any, bool) {
	if key != "value" {
		return plain(state, key, v)
	}
	return orRefuse(pair(state, v))
}

// pair converts a value from a page to two numbers, and reports whether they
// are valid and in order.
func pair(state map[string]any, v any) (p [2]float64, ok bool) {
	list, _ := v.([]any)
	if len(list) != 2 {
		return p, false
	}
	for i := range p {
		if p[i], ok = number(state, list[i]); !ok {
			return p, false
		}
	}
	return p, p[0] <= p[1]
}

func acceptIndex(state map[string]any, key string, v any) (any, bool) {
	if key != "index" {
		return plain(state, key, v)
	}
	if v == nil {
		return nil, true
	}
	x, ok := v.(float64)
	i := int(x)
	return i, ok && x == float64(i) && i >= 0 && i < len(state["_options_labels"].([]string))
}

// Value returns the number.
func (c *Int) Value() int { return c.base().m.Get("value").(int) }

// Set changes the number, within the control's bounds, here and on all pages.
func (c *Int) Set(v int) {
	c.base().m.Set("value", checked(c.m, "value", v))
}

// SetRange changes the bounds, and clamps the number to them.
func (c *Int) SetRange(least, greatest int) {
	order(c.base().kind, least, greatest)
	c.m.SetAll(map[string]any{"min": least, "max": greatest, "value": clamp(c.Value(), least, greatest)})
}

// SetStep changes the size of a step.
func (c *Int) SetStep(step int) { c.base().m.Set("step", step) }

// OnChange registers f, which is called with every new number.
func (c *Int) OnChange(f func(v int)) {
	c.base().m.Watch("value", nil, func(v any) { f(v.(int)) })
}

// Value returns the number.
func (c *Float) Value() float64 { return c.base().m.Get("value").(float64) }

// Set changes the number, within the control's bounds, here and on all pages.
func (c *Float) Set(v float64) {
	c.base().m.Set("value", checked(c.m, "value", finite(c.kind, v)))
}

// SetRange changes the bounds, and clamps the number to them.
func (c *Float) SetRange(least, greatest float64) {
	order(c.base().kind, least, greatest)
	low, high := least, greatest
	if c.m.Get("base") != nil {
		if least <= 0 {
			panic(fmt.Sprintf("widget.%s: the least value is %v, want one above 0", c.kind, least))
		}
		low, high = math.Log10(least), math.Log10(greatest)
	}
	c.m.SetAll(map[string]any{"min": low, "max": high, "value": clamp(c.Value(), least, greatest)})
}

// SetStep changes the size of a step; for a [FloatLogSlider], the step of the
// exponent.
func (c *Float) SetStep(step float64) {
	values := map[string]any{"step": finite(c.base().kind, step)}
	if _, ok := c.m.Get("readout_format").(string); ok && step > 0 && c.m.Get("base") == nil {
		values["readout_format"] = readout(step, asFloat(c.m.Get("max")))
	}
	c.m.SetAll(values)
}

// OnChange registers f, which is called with every new number.
func (c *Float) OnChange(f func(v float64)) {
	c.base().m.Watch("value", nil, func(v any) { f(v.(float64)) })
}

// Value returns the lower and the upper number.
func (c *IntRange) Value() (lower, upper int) {
	v := c.base().m.Get("value").([2]int)
	return v[0], v[1]
}

// Set changes both numbers, here and on all pages.
func (c *IntRange) Set(lower, upper int) {
	order(c.base().kind, lower, upper)
	c.m.Set("value", checked(c.m, "value", [2]int{lower, upper}))
}

// OnChange registers f, which is called with both numbers when one changes.
func (c *IntRange) OnChange(f func(lower, upper int)) {
	c.base().m.Watch("value", nil, func(v any) { f(v.([2]int)[0], v.([2]int)[1]) })
}

// Value returns the lower and the upper number.
func (c *FloatRange) Value() (lower, upper float64) {
	v := c.base().m.Get("value").([2]float64)
	return v[0], v[1]
}

// Set changes both numbers, here and on all pages.
func (c *FloatRange) Set(lower, upper float64) {
	order(c.base().kind, lower, upper)
	c.m.Set("value", checked(c.m, "value", [2]float64{lower, upper}))
}

// OnChange registers f, which is called with both numbers when one changes.
func (c *FloatRange) OnChange(f func(lower, upper float64)) {
	c.base().m.Watch("value", nil, func(v any) { f(v.([2]float64)[0], v.([2]float64)[1]) })
}

// Value returns the text.
func (c *String) Value() string { return c.base().m.Get("value").(string) }

// Set changes the text, here and on all pages.
func (c *String) Set(v string) { c.base().m.Set("value", v) }

// OnChange registers f, which is called with every new text.
func (c *String) OnChange(f func(v string)) {
	c.base().m.Watch("value", nil, func(v any) { f(v.(string)) })
}

// Value reports whether the control is on.
func (c *Bool) Value() bool { return c.base().m.Get("value").(bool) }

// Set turns the control on or off, here and on all pages.
func (c *Bool) Set(v bool) { c.base().m.Set("value", v) }

// OnChange registers f, which is called whenever the control is turned on or
// off.
func (c *Bool) OnChange(f func(v bool)) {
	c.base().m.Watch("value", nil, func(v any) { f(v.(bool)) })
}

func (*Choice) key() string { return "index" }

// Value returns the chosen option, "" for none.
func (c *Choice) Value() string { return c.option(c.base().m.Get("index")) }

func (c *Choice) option(index any) string {
	i, ok := index.(int)
	if options := c.Options(); ok && i < len(options) {
		return options[i]
	}
	return ""
}

// Index returns the index of the chosen option, -1 for none.
func (c *Choice) Index() int {
	if i, ok := c.base().m.Get("index").(int); ok {
		return i
	}
	return -1
}

// Options returns the options.
func (c *Choice) Options() []string {
	return slices.Clone(c.base().m.Get("_options_labels").([]string))
}

// Set chooses an option, here and on all pages; "" chooses none.
func (c *Choice) Set(option string) {
	c.base().m.Set("index", choose(c.kind, c.Options(), option))
}

// SetOptions replaces the options and chooses value among them; "" chooses
// none.
func (c *Choice) SetOptions(options []string, value string) {
	c.base().m.SetAll(map[string]any{"_options_labels": slices.Clone(options), "index": choose(c.kind, options, value)})
}

// OnChange registers f, which is called with every newly chosen option, "" for
// none.
func (c *Choice) OnChange(f func(option string)) {
	c.base().m.Watch("index", nil, func(v any) { f(c.option(v)) })
}

// OnClick registers f, which is called whenever a person presses the button.
func (c *Action) OnClick(f func()) {
	c.base().m.Watch("", nil, func(content any) {
		if m, _ := content.(map[string]any); m["event"] == "click" {
			f()
		}
	})
}

func (c *Int) argument(t reflect.Type) (reflect.Value, bool) {
	return numeric(reflect.ValueOf(c.Value()), t)
}

func (c *Float) argument(t reflect.Type) (reflect.Value, bool) {
	if t.Kind() != reflect.Float64 && t.Kind() != reflect.Float32 && t.Kind() != reflect.Interface {
		return reflect.Value{}, false
	}
	return numeric(reflect.ValueOf(c.Value()), t)
}

func (c *IntRange) argument(t reflect.Type) (reflect.Value, bool) {
	lower, upper := c.Value()
	return exactly([2]int{lower, upper}, t)
}

func (c *FloatRange) argument(t reflect.Type) (reflect.Value, bool) {
	lower, upper := c.Value()
	return exactly([2]float64{lower, upper}, t)
}

func (c *String) argument(t reflect.Type) (reflect.Value, bool) { return exactly(c.Value(), t) }
func (c *Bool) argument(t reflect.Type) (reflect.Value, bool)   { return exactly(c.Value(), t) }

func (c *Choice) argument(t reflect.Type) (reflect.Value, bool) {
	if t.Kind() == reflect.Int {
		return exactly(c.Index(), t)
	}
	return exactly(c.Value(), t)
}

// numeric converts a number to t if t is a number type; else it does what
// exactly does.
func numeric(v reflect.Value, t reflect.Type) (reflect.Value, bool) {
	switch k := t.Kind(); {
	case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
		return v.Convert(t), true
	}
	return exactly(v.Interface(), t)
}

// exactly converts x to type t if t has the same kind or x is assignable to it.
func exactly(x any, t reflect.Type) (reflect.Value, bool) {
	v := reflect.ValueOf(x)
	switch {
	case v.Type().AssignableTo(t):
		return v, true
	case v.Kind() == t.Kind() && v.CanConvert(t):
		return v.Convert(t), true
	}
	return reflect.Value{}, false
}
