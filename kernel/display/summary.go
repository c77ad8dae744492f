package display

import (
	"fmt"
	"html"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine"
)

// library is the import path prefix of the types that are shown as a summary.
var library = buildinfo.Path("dacelib/")

// Limits of the summary of a library value: lines of text, and characters of a
// field's value.
const (
	summaryLines = 20
	summaryWidth = 56
)

// fieldDocs holds the function that SetFieldDocs has set.
var fieldDocs struct {
	sync.Mutex // guards doc
	doc        func(pkg, name string) string
}

// SetFieldDocs sets the function that returns the documented default of a
// setting: for a package and "Settings.Evaluations default" it returns "800", or
// "" if no default is documented.
func SetFieldDocs(doc func(pkg, name string) string) {
	fieldDocs.Lock()
	fieldDocs.doc = doc
	fieldDocs.Unlock()
}

// defaultOf returns the documented default of a field, or "".
func defaultOf(t reflect.Type, field string) string {
	fieldDocs.Lock()
	doc := fieldDocs.doc
	fieldDocs.Unlock()
	if doc == nil {
		return ""
	}
	return doc(t.PkgPath(), t.Name()+"."+field+" default")
}

// ofLibrary reports whether the type of v is a type of the library or a pointer
// to one.
func ofLibrary(v reflect.Value) bool {
	if !v.IsValid() {
		return false
	}
	return strings.HasPrefix(pointee(v.Type()).PkgPath(), library)
}

// An item is one line of a summary.
type item struct {
	name, text string
	set        bool  // a setting with a value other than its default
	rows       *Grid // shown instead of text if the front end shows HTML
}

// A brief is the summary of a library value.
type brief struct {
	title string
	text  string // of the value's method Error or String, instead of items
	items []item
	rest  []string // settings with their defaults
	told  bool     // some items are results of methods
	value reflect.Value
}

// mostPointers is how many pointers are followed to what they lead to: a type may be
// a pointer to itself.
const mostPointers = 8

// pointee returns the type that a type of pointers leads to.
func pointee(t reflect.Type) reflect.Type {
	for i := 0; t.Kind() == reflect.Pointer && i < mostPointers; i++ {
		t = t.Elem()
	}
	return t
}

// indirect returns what a pointer leads to: a nil pointer itself.
func indirect(v reflect.Value) reflect.Value {
	for i := 0; v.Kind() == reflect.Pointer && !v.IsNil() && i < mostPointers; i++ {
		v = v.Elem()
	}
	return v
}

// summary returns the summary of a struct of the library, nil for other values.
func summary(v reflect.Value) *brief {
	s := indirect(v)
	if s.Kind() != reflect.Struct || !ofLibrary(s) {
		return nil
	}
	b := &brief{title: typeName(v), value: v}
	if text, ok := own(v); ok && text != "" {
		b.text = text
		if !strings.Contains(text, "\n") {
			return b
		}
	}
	settings := strings.HasSuffix(s.Type().Name(), "Settings")
	fields := 0
	for i := range s.NumField() {
		f := s.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		fields++
		value := s.Field(i)
		if settings {
			b.setting(s.Type(), f.Name, value)
			continue
		}
		if f.Type.Kind() == reflect.Func && value.IsNil() {
			continue
		}
		b.items = append(b.items, item{name: f.Name, text: short(value, summaryWidth), rows: smallTable(value)})
	}
	if fields == 0 || v.Kind() == reflect.Pointer && v.NumMethod() > fields {
		told := getters(v)
		b.items, b.told = append(told, b.items...), len(told) > 0
	}
	return b
}

// setting adds a field of a settings struct.
func (b *brief) setting(t reflect.Type, name string, v reflect.Value) {
	if !v.IsZero() {
		b.items = append(b.items, item{name: name, text: short(v, summaryWidth), set: true})
		return
	}
	if v.Kind() == reflect.Func {
		return // a hook that is not set
	}
	text := defaultOf(t, name)
	if text == "" {
		if _, ok := own(v); ok || v.Kind() == reflect.Bool || v.CanInt() || v.CanUint() || v.CanFloat() {
			text = flat(v, 30)
		}
	}
	if text == "" {
		b.rest = append(b.rest, name)
		return
	}
	b.rest = append(b.rest, name+" "+text)
}

// asked are the methods whose results summarize library types without exported
// fields. All of them are cheap: none computes anything.
var asked = []string{"Name", "Network", "Dim", "Nodes", "Edges", "Size", "Len", "Names", "Status", "Evaluations", "Left", "Done", "Optimum", "Range", "Losses", "Stats", "History", "Settings"}

// getters returns the results of those methods in asked that a value has.
func getters(v reflect.Value) (items []item) {
	for _, name := range asked {
		m := v.MethodByName(name)
		if !m.IsValid() || m.Type().NumIn() != 0 {
			continue
		}
		if out, ok := called(m); ok {
			text := short(out[0], summaryWidth)
			if n := len(out); n == 2 && out[1].Kind() == reflect.Bool && !out[1].Bool() {
				text = "unknown"
			}
			items = append(items, item{name: name, text: text, rows: smallTable(out[0])})
		}
	}
	return items
}

// called calls a method without arguments. ok is false if it panics, as a method
// of a zero value may.
func called(m reflect.Value) (out []reflect.Value, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = nil, false
		}
	}()
	out = m.Call(nil)
	return out, len(out) > 0
}

// short returns a value in about most characters at most.
func short(v reflect.Value, most int) string {
	v = inside(v)
	if !v.IsValid() {
		return "<nil>"
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct && ofLibrary(v) {
			return flat(v, most)
		}
	case reflect.Struct:
		if strings.HasSuffix(v.Type().Name(), "Settings") {
			return changed(v, most)
		}
	case reflect.Slice, reflect.Array:
		if text := shortList(v, most); text != "" {
			return text
		}
	case reflect.Float32, reflect.Float64:
		if _, ok := own(v); !ok {
			return fmt.Sprintf("%.6g", v.Float())
		}
	}
	return flat(v, most)
}

// changed returns the fields of a settings struct that are not zero.
func changed(v reflect.Value, most int) string {
	var parts []string
	for _, i := range shownFields(v.Type()) {
		if f := v.Field(i); !f.IsZero() && f.Kind() != reflect.Func {
			parts = append(parts, v.Type().Field(i).Name+": "+flat(f, 30))
		}
	}
	if len(parts) == 0 {
		return "all default"
	}
	text := strings.Join(parts, ", ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// shortList returns a slice in at most one line, or "" if Go syntax is the best
// way to show it.
func shortList(v reflect.Value, most int) string {
	n := v.Len()
	e := pointee(v.Type().Elem())
	switch {
	case n == 0:
		return "none"
	case e.Kind() == reflect.Bool:
		return bits(v, most)
	case e.Kind() == reflect.String:
		var texts []string
		for i := range min(n, most) {
			texts = append(texts, inside(v.Index(i)).String())
		}
		text := strings.Join(texts, ", ")
		if utf8.RuneCountInString(text) <= most {
			return text
		}
		return thousands(n) + ": " + string([]rune(text)[:most-10]) + "…"
	case e.Kind() == reflect.Float64 || e.Kind() == reflect.Float32:
		return numbers(v, most)
	case e.Kind() == reflect.Slice:
		return fmt.Sprintf("%s × %s", thousands(n), thousands(inside(v.Index(0)).Len()))
	case e.Kind() == reflect.Struct:
		if curve := history(v, most); curve != "" {
			return curve
		}
		if utf8.RuneCountInString(flat(v, most+1)) <= most {
			return flat(v, most)
		}
		return fmt.Sprintf("%s of %s", thousands(n), nameOf(e))
	case e.Kind() == reflect.Interface:
		var names []string
		for i := range min(n, 4) {
			if name, ok := hidden(inside(v.Index(i))); ok {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return fmt.Sprintf("%s of %s", thousands(n), nameOf(e))
		}
		if n > len(names) {
			names = append(names, "…")
		}
		return thousands(n) + ": " + strings.Join(names, ", ")
	case utf8.RuneCountInString(flat(v, most+1)) > most:
		return thousands(n) + ": " + flat(v, most-10)
	}
	return ""
}

// bits returns a solution as a string of 0 and 1.
func bits(v reflect.Value, most int) string {
	var b strings.Builder
	for i := range v.Len() {
		digit := byte('0')
		if v.Index(i).Bool() {
			digit = '1'
		}
		if i < most-14 {
			b.WriteByte(digit)
		}
	}
	if v.Len() > most-14 {
		b.WriteString("…")
	}
	return fmt.Sprintf("%s (%s bits)", b.String(), thousands(v.Len()))
}

// numbers returns up to six numbers as they are, and of more their count, range
// and, if there is room, mean.
func numbers(v reflect.Value, most int) string {
	n := v.Len()
	if n <= 6 {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf("%.4g", v.Index(i).Float()))
		}
		return strings.Join(parts, ", ")
	}
	lo, hi, sum := math.Inf(1), math.Inf(-1), 0.
	for i := range n {
		x := v.Index(i).Float()
		lo, hi, sum = min(lo, x), max(hi, x), sum+x
	}
	text := fmt.Sprintf("%s numbers from %.4g to %.4g", thousands(n), lo, hi)
	if full := fmt.Sprintf("%s, mean %.4g", text, sum/float64(n)); len(full) <= most {
		return full
	}
	return text
}

// distribution returns a line about a slice of more numbers than are shown: how many
// there are, their range and mean, and how they are distributed; "" for other values.
func distribution(v reflect.Value) string {
	const bins = 24
	if k := v.Kind(); k != reflect.Slice && k != reflect.Array || v.Len() <= maxElements || v.Len() > 1e8 || !number(v.Type().Elem()) || v.Type().Elem().Kind() == reflect.Uint8 {
		return ""
	}
	at := func(i int) float64 {
		switch x := v.Index(i); {
		case x.CanInt():
			return float64(x.Int())
		case x.CanUint():
			return float64(x.Uint())
		default:
			return x.Float()
		}
	}
	if v.CanInterface() { // not of a field that is not exported
		if list, ok := v.Interface().([]float64); ok {
			at = func(i int) float64 { return list[i] }
		}
	}
	lo, hi, mean, n := math.Inf(1), math.Inf(-1), 0., 0
	for i := range v.Len() {
		if x := at(i); !math.IsNaN(x) && !math.IsInf(x, 0) {
			n++
			lo, hi, mean = min(lo, x), max(hi, x), mean+(x-mean)/float64(n)
		}
	}
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("\n%s numbers from %.4g to %.4g, mean %.4g", thousands(v.Len()), lo, hi, mean)
	if n < v.Len() {
		text += fmt.Sprintf(", %s not finite", thousands(v.Len()-n))
	}
	if lo == hi || math.IsInf(hi-lo, 0) {
		return text
	}
	counts := make([]float64, bins)
	for i := range v.Len() {
		if x := at(i); x >= lo && x <= hi {
			counts[min(bins-1, int((x-lo)/(hi-lo)*bins))]++
		}
	}
	return text + "  " + histogram(counts)
}

// histogram draws counts as small bars, which begin at 0; those of none are empty.
func histogram(counts []float64) string {
	bars := []rune(" ▁▂▃▄▅▆▇█")
	most := slices.Max(counts)
	var out []rune
	for _, c := range counts {
		out = append(out, bars[int(math.Ceil(c/most*float64(len(bars)-1)))])
	}
	return string(out)
}

// followed are the fields of records that show the course of a run, in order of
// preference.
var followed = []string{"Best", "Cost", "Value", "Validation", "Total"}

// history draws the course of a run from a slice of records. It returns "" if
// they have no field in followed, or if there are too few.
func history(v reflect.Value, most int) string {
	const least = 3
	if v.Len() < least {
		return ""
	}
	var values []float64
	for i := range v.Len() {
		x, ok := following(v.Index(i))
		if !ok {
			return ""
		}
		values = append(values, x)
	}
	text := fmt.Sprintf(" %.4g → %.4g in %s steps", values[0], values[len(values)-1], thousands(len(values)))
	return spark(values, min(24, most-utf8.RuneCountInString(text))) + text
}

// following returns the value of the first field in followed that a record has.
func following(v reflect.Value) (float64, bool) {
	v = indirect(v)
	if v.Kind() != reflect.Struct {
		return 0, false
	}
	for _, name := range followed {
		f := v.FieldByName(name)
		if f.IsValid() && f.CanFloat() {
			return f.Float(), true
		}
		if f.IsValid() && f.Kind() == reflect.Struct {
			if x, ok := following(f); ok {
				return x, true
			}
		}
	}
	return 0, false
}

// spark draws values as a line of at most width small bars.
func spark(values []float64, width int) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	var out []rune
	n := max(0, min(width, len(values)))
	for k := range n {
		v := values[(len(values)-1)*k/max(1, n-1)]
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			out = append(out, ' ')
		case hi == lo:
			out = append(out, bars[0])
		default:
			out = append(out, bars[int((v-lo)/(hi-lo)*float64(len(bars)-1)+0.5)])
		}
	}
	return string(out)
}

// smallTable returns a slice of structs as a table. It returns nil for other
// values, and for records that history draws as a curve.
func smallTable(v reflect.Value) *Grid {
	if v.Kind() != reflect.Slice || v.Len() == 0 || !v.CanInterface() || history(v, summaryWidth) != "" {
		return nil
	}
	e := pointee(v.Type().Elem())
	if e.Kind() != reflect.Struct || e.NumField() > 12 {
		return nil
	}
	return gridOf(v.Interface())
}

// bundle returns the bundle of the summary, with the whole value folded below.
func (b *brief) bundle() engine.Bundle {
	out := engine.Text(b.plain())
	if b.text != "" && len(b.items) == 0 && !strings.Contains(b.text, "\n") {
		return out
	}
	out.Data["text/html"] = b.html()
	return out
}

// plain returns the summary as text.
func (b *brief) plain() string {
	var lines []string
	if b.text != "" {
		lines = strings.Split(b.text, "\n")
	} else {
		lines = b.lines()
	}
	return clip(lines)
}

// clip joins lines, cut to the number and the width that a summary may have.
func clip(lines []string) string {
	for i, l := range lines {
		if utf8.RuneCountInString(l) > 2*lineWidth {
			lines[i] = string([]rune(l)[:2*lineWidth-1]) + "…"
		}
	}
	if len(lines) > summaryLines {
		lines = append(lines[:summaryLines-1], fmt.Sprintf("… %d more lines", len(lines)-summaryLines+1))
	}
	return strings.Join(lines, "\n")
}

func (b *brief) lines() []string {
	// A struct that fits into one line is shown in Go syntax.
	if one := tree(b.value).flat(); len(b.rest) == 0 && !b.told && utf8.RuneCountInString(one) <= lineWidth && !strings.Contains(one, "[]bool{") {
		return []string{one}
	}
	width := 0
	for _, it := range b.items {
		width = max(width, utf8.RuneCountInString(it.name))
	}
	lines := []string{b.title}
	if len(b.rest) > 0 && len(b.items) == 0 {
		lines[0] += ": all default"
	}
	for _, it := range b.items {
		lines = append(lines, "  "+it.name+strings.Repeat(" ", width-utf8.RuneCountInString(it.name)+2)+it.text)
	}
	if len(b.rest) > 0 {
		line := "  default:"
		if len(b.items) == 0 {
			line = " "
		}
		for i, r := range b.rest {
			if i < len(b.rest)-1 {
				r += ","
			}
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(r) > lineWidth {
				lines, line = append(lines, line), "   "
			}
			line += " " + r
		}
		lines = append(lines, line)
	}
	return lines
}

func (b *brief) html() string {
	var s strings.Builder
	fmt.Fprintf(&s, `<div%s><b>%s</b>`, noMath, html.EscapeString(b.title))
	hasTable := slices.ContainsFunc(b.items, func(it item) bool { return it.rows != nil })
	switch {
	case b.text != "" && !hasTable:
		fmt.Fprintf(&s, "<pre>%s</pre>", html.EscapeString(b.plain()))
	default:
		s.WriteString("<table>")
		for _, it := range b.items {
			text := html.EscapeString(it.text)
			if it.rows != nil {
				text = it.rows.HTML()
			}
			if it.set {
				text = "<b>" + text + "</b>"
			}
			fmt.Fprintf(&s, `<tr><td style="text-align:left;vertical-align:top">%s</td><td style="text-align:left">%s</td></tr>`, html.EscapeString(it.name), text)
		}
		if len(b.rest) > 0 {
			fmt.Fprintf(&s, `<tr><td style="text-align:left;vertical-align:top;opacity:.65">default</td><td style="text-align:left;opacity:.65">%s</td></tr>`, html.EscapeString(strings.Join(b.rest, ", ")))
		}
		s.WriteString("</table>")
		if b.text != "" {
			fmt.Fprintf(&s, "<details><summary>as text</summary><pre>%s</pre></details>", html.EscapeString(b.plain()))
		}
	}
	if one := tree(b.value); utf8.RuneCountInString(one.flat()) > lineWidth {
		s.WriteString("<details><summary>all of it</summary>" + treeHTML(b.value) + "</details>")
	}
	s.WriteString("</div>")
	return s.String()
}
