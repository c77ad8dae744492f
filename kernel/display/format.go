package display

import (
	"fmt"
	"html"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dace.local/kernel/buildinfo"
)

// Limits of a formatted value, so that it does not fill a notebook. fmt.Print
// shows everything.
const (
	maxElements  = 100
	maxDepth     = 6
	maxPointers  = 2 // depth of nested pointers that are followed
	maxText      = 16 << 10
	deepText     = 32 << 10 // of a tree that is unfolded by clicks
	deepest      = 60       // its depth, and that of its pointers
	maxLines     = 60
	manyFloats   = 20 // elements from which on floats are written in one precision
	lineWidth    = 80
	previewWidth = lineWidth + 20 // of what is folded
	indentation  = "    "
)

// Format returns a value as text, mostly in Go's syntax, with the names of types
// and fields and with quoted strings. Long slices and maps are cut. A value that
// does not fit into a line of 80 columns is split into several, as by gofmt. A
// value with a method Error or String is shown by it. Unexported fields are
// shown only of types that cells declare, not of those of packages. Twenty floats
// and more are written in one precision, or by [SetPrecision].
func Format(v any) string {
	rv := reflect.ValueOf(v)
	if text, ok := own(rv); ok {
		return text
	}
	if rv.Kind() == reflect.String && strings.Contains(rv.String(), "\n") {
		return cut(rv.String(), maxText) // a text of several lines is more readable without quotes
	}
	return tree(rv).text()
}

// cut shortens a text to at most n bytes, without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// flat returns a value on one line of at most this many characters.
func flat(v reflect.Value, most int) string {
	text, ok := own(v)
	if !ok {
		text = tree(v).flat()
	}
	if first, _, several := strings.Cut(text, "\n"); several {
		text = first + " …"
	}
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// A node is a value in Go syntax: a leaf, or a composite literal with elements.
type node struct {
	key  string // the text before the value: "Field: "
	head string // the text of a leaf, or the type of a literal: "[]int"
	kids []node
	rest int  // number of omitted elements
	list bool // a composite literal, even if it has no elements
	nums bool // a literal whose elements are numbers
}

// tree returns the tree of a value.
func tree(v reflect.Value) node {
	f := formatter{seen: map[uintptr]bool{}}
	return f.node(v, 0, true)
}

func leaf(text string) node { return node{head: text} }

func (n node) flat() string {
	if !n.list {
		return n.key + n.head
	}
	var b strings.Builder
	b.WriteString(n.key + n.head + "{")
	for i, k := range n.kids {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k.flat())
	}
	if n.rest > 0 {
		fmt.Fprintf(&b, ", … %d more", n.rest)
	}
	b.WriteByte('}')
	return b.String()
}

// text formats a tree as lines of text.
func (n node) text() string {
	lines := n.lines("")
	if len(lines) > maxLines {
		lines = append(lines[:maxLines-1], fmt.Sprintf("… %d more lines", len(lines)-maxLines+1))
	}
	return cut(strings.Join(lines, "\n"), maxText)
}

func (n node) lines(indent string) []string {
	one := n.flat()
	if !n.list || len(n.kids) == 0 || len(indent)+utf8.RuneCountInString(one) <= lineWidth {
		return []string{indent + one}
	}
	lines := []string{indent + n.key + n.head + "{"}
	inner := indent + indentation
	if n.plain() { // numbers, for example: as many in each line as fit
		line := inner
		width := 0
		for _, k := range n.kids {
			if n.nums { // flush right
				width = max(width, utf8.RuneCountInString(k.head)+1)
			}
		}
		for i, k := range n.kids {
			item := fmt.Sprintf("%*s", width, k.head+",")
			if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(item) > lineWidth {
				lines, line = append(lines, line), inner
			}
			if line != inner {
				line += " "
			}
			line += item
		}
		lines = append(lines, line)
	} else {
		for _, k := range n.kids {
			l := k.lines(inner)
			l[len(l)-1] += ","
			lines = append(lines, l...)
		}
	}
	if n.rest > 0 {
		lines = append(lines, fmt.Sprintf("%s… %d more", inner, n.rest))
	}
	return append(lines, indent+"}")
}

// plain reports whether all elements are leaves without a key.
func (n node) plain() bool {
	for _, k := range n.kids {
		if k.key != "" || k.list {
			return false
		}
	}
	return true
}

// html writes a tree as HTML lines that can be folded.
func (n node) html(b *strings.Builder, open bool) {
	one := n.flat()
	if n.nums && len(n.kids) > 0 && utf8.RuneCountInString(one) > lineWidth {
		b.WriteString(`<div style="white-space:pre">` + html.EscapeString(strings.Join(n.lines(""), "\n")) + "</div>")
		return
	}
	if !n.list || len(n.kids) == 0 || utf8.RuneCountInString(one) <= lineWidth || n.plain() {
		b.WriteString("<div>" + html.EscapeString(one) + "</div>")
		return
	}
	attribute := ""
	if open {
		attribute = " open"
	}
	preview := string([]rune(one)[:min(utf8.RuneCountInString(one), previewWidth)])
	fmt.Fprintf(b, `<details%s><summary>%s…</summary><div style="padding-left:1.5em">`, attribute, html.EscapeString(preview))
	for _, k := range n.kids {
		k.html(b, false)
	}
	if n.rest > 0 {
		fmt.Fprintf(b, "<div>… %d more</div>", n.rest)
	}
	b.WriteString("</div></details>")
}

// noMath is the attribute of HTML in which a dollar sign is one: front ends and
// exports take what stands between two of them for a formula.
const noMath = ` class="tex2jax_ignore mathjax_ignore"`

// code begins HTML in the font of code. JupyterLab takes variables out of the styles of
// notebooks that it does not trust.
const code = `<div` + noMath + ` style="font-family:monospace;font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px);line-height:1.4;`

// treeHTML returns a value as HTML lines that can be folded.
func treeHTML(v reflect.Value) string {
	var b strings.Builder
	b.WriteString(code + `overflow-wrap:anywhere">`)
	deepTree(v).html(&b, true)
	b.WriteString("</div>")
	return b.String()
}

// deepTree returns the tree of a value that is unfolded by clicks.
func deepTree(v reflect.Value) node {
	f := formatter{seen: map[uintptr]bool{}, deep: !ofLibrary(v)} // those have summaries
	return f.node(v, 0, true)
}

// textHTML returns a text as HTML that keeps its lines.
func textHTML(text string) string {
	return code + `white-space:pre-wrap">` + html.EscapeString(text) + "</div>"
}

type formatter struct {
	deep  bool             // as far as deepText goes, for a front end that folds it
	exact bool             // floats in full, however many
	size  int              // bytes of all leaves so far
	seen  map[uintptr]bool // pointers from the root to the present node, to detect cycles
}

// own returns the result of a value's method Error or String. It recovers from
// a panic of the method, mostly on a nil receiver.
func own(v reflect.Value) (text string, ok bool) {
	if !v.IsValid() || !v.CanInterface() {
		return "", false
	}
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	switch x := v.Interface().(type) {
	case time.Time:
		return x.Round(0).String(), true // without the reading of a monotonic clock
	case error:
		return x.Error(), true
	case fmt.Stringer:
		return x.String(), true
	}
	return "", false
}

// typeName returns the name of a value's type as a cell would write it.
func typeName(v reflect.Value) string { return nameOf(v.Type()) }

func nameOf(t reflect.Type) string {
	return strings.NewReplacer("main.", "", "interface {}", "any", "[]uint8", "[]byte").Replace(t.String())
}

// named reports whether the type of v is a named type of a package or cell.
func named(v reflect.Value) bool { return v.Type().Name() != "" && v.Type().PkgPath() != "" }

// node returns the tree of a value. If typed is set, the tree must name the
// value's type, because the enclosing literal does not.
func (f *formatter) node(v reflect.Value, depth int, typed bool) node {
	n := f.bare(v, depth, typed)
	f.size += len(n.head)
	return n
}

func (f *formatter) bare(v reflect.Value, depth int, typed bool) node {
	if f.size > f.most(maxText, deepText) {
		return leaf("…")
	}
	if !v.IsValid() {
		return leaf("<nil>")
	}
	if depth > 0 {
		if text, ok := own(v); ok {
			first, _, several := strings.Cut(text, "\n")
			if several {
				first += " …"
			}
			return leaf(first)
		}
	}
	if depth > f.most(maxDepth, deepest) {
		return leaf("…")
	}
	switch v.Kind() {
	case reflect.Bool:
		return leaf(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return leaf(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return leaf(strconv.FormatUint(v.Uint(), 10))
	case reflect.Uintptr:
		return leaf(fmt.Sprintf("%#x", v.Uint()))
	case reflect.Float32, reflect.Float64:
		return leaf(formatFloat(v))
	case reflect.Complex64, reflect.Complex128:
		return leaf(formatComplex(v))
	case reflect.String:
		return leaf(strconv.Quote(cut(v.String(), maxText)))
	case reflect.Interface:
		if v.IsNil() {
			return leaf("<nil>")
		}
		return f.node(v.Elem(), depth, true)
	case reflect.Pointer:
		return f.pointer(v, depth)
	case reflect.Slice, reflect.Array:
		return f.elements(v, depth, typed)
	case reflect.Map:
		return f.mapping(v, depth, typed)
	case reflect.Struct:
		return f.structure(v, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if v.IsNil() {
			return leaf(typeName(v) + "(nil)")
		}
		return leaf(typeName(v))
	}
	return leaf(fmt.Sprintf("%v", v))
}

// most returns the limit that holds for this tree.
func (f *formatter) most(usual, deep int) int {
	if f.deep {
		return deep
	}
	return usual
}

func (f *formatter) pointer(v reflect.Value, depth int) node {
	if v.IsNil() {
		return leaf("<nil>")
	}
	if k := v.Elem().Kind(); depth > 0 && k != reflect.Struct || f.seen[v.Pointer()] || len(f.seen) >= f.most(maxPointers, deepest) {
		return leaf("(" + typeName(v) + ")(…)")
	}
	if name, ok := hidden(v); ok {
		return leaf("(" + typeName(v) + ")(" + strconv.Quote(name) + ")")
	}
	f.seen[v.Pointer()] = true
	n := f.node(v.Elem(), depth+1, true)
	delete(f.seen, v.Pointer())
	n.head = "&" + n.head
	return n
}

// hidden returns the name of a library value without exported fields, such as
// an instance of a problem; ok is false for other values and if there is no
// method Name.
func hidden(v reflect.Value) (name string, ok bool) {
	if !v.IsValid() { // a nil interface
		return "", false
	}
	e := indirect(v)
	t := e.Type()
	if t.Kind() != reflect.Struct || !ofLibrary(e) || !v.CanInterface() {
		return "", false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return "", false
		}
	}
	n, ok := v.Interface().(interface{ Name() string })
	if !ok {
		return "", false
	}
	defer func() { // the methods of a zero value may panic
		if recover() != nil {
			name, ok = "", false
		}
	}()
	return n.Name(), true
}

func (f *formatter) elements(v reflect.Value, depth int, typed bool) node {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return leaf(typeName(v) + "(nil)")
	}
	n := node{list: true}
	if typed || named(v) {
		n.head = typeName(v)
	}
	length := v.Len()
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 && length > 0 && utf8.Valid(v.Bytes()) && printable(v.Bytes()) {
		return leaf(fmt.Sprintf("%s(%q)", n.head, v.Bytes()[:min(length, 10*maxElements)]))
	}
	shown := min(length, maxElements)
	if write := f.together(v, shown); write != nil {
		for i := range shown {
			text := write(v.Index(i).Float())
			f.size += len(text)
			n.kids = append(n.kids, leaf(text))
		}
	} else {
		for i := range shown {
			n.kids = append(n.kids, f.node(v.Index(i), depth+1, false))
		}
	}
	n.nums = number(v.Type().Elem())
	n.rest = length - shown
	return n
}

// together returns how the first n elements of a slice are written if they are
// so many floats that they take several lines: in one precision, as in a column
// of a table. It returns nil for other slices.
func (f *formatter) together(v reflect.Value, n int) func(float64) string {
	if kind := v.Type().Elem().Kind(); f.exact || n < manyFloats || kind != reflect.Float32 && kind != reflect.Float64 {
		return nil
	}
	if v.Type().Elem().Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil
	}
	floats := make([]float64, n)
	for i := range floats {
		floats[i] = v.Index(i).Float()
	}
	return floatFormat(floats)
}

// number reports whether elements of a type are written as numbers.
func number(t reflect.Type) bool {
	k := t.Kind()
	return (k >= reflect.Int && k <= reflect.Uint64 || k == reflect.Float32 || k == reflect.Float64) && !t.Implements(reflect.TypeFor[fmt.Stringer]())
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func (f *formatter) mapping(v reflect.Value, depth int, typed bool) node {
	if v.IsNil() {
		return leaf(typeName(v) + "(nil)")
	}
	n := node{list: true}
	if typed || named(v) {
		n.head = typeName(v)
	}
	keys := sortedKeys(v)
	for _, k := range keys[:min(len(keys), maxElements)] {
		kid := f.node(v.MapIndex(k), depth+1, false)
		kid.key = f.node(k, depth+1, false).flat() + ": "
		n.kids = append(n.kids, kid)
	}
	n.rest = max(0, len(keys)-maxElements)
	return n
}

func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keyLess(keys[i], keys[j]) })
	return keys
}

// keyLess is the order in which the keys of a map are shown.
func keyLess(a, b reflect.Value) bool {
	for a.Kind() == reflect.Interface && !a.IsNil() {
		a = a.Elem()
	}
	for b.Kind() == reflect.Interface && !b.IsNil() {
		b = b.Elem()
	}
	if a.Kind() == b.Kind() {
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		case a.CanFloat():
			return a.Float() < b.Float()
		}
	}
	return fmt.Sprint(a) < fmt.Sprint(b)
}

func (f *formatter) structure(v reflect.Value, depth int) node {
	n := node{list: true}
	if v.Type().Name() != "" {
		n.head = typeName(v)
	}
	for _, i := range shownFields(v.Type()) {
		kid := f.node(v.Field(i), depth+1, false)
		kid.key = v.Type().Field(i).Name + ": "
		n.kids = append(n.kids, kid)
	}
	return n
}

// shownFields returns the fields of a struct type that are shown: the exported
// fields if the type is a library's and has some, and all fields otherwise.
func shownFields(t reflect.Type) []int {
	var exported, all []int
	for i := range t.NumField() {
		all = append(all, i)
		if t.Field(i).IsExported() {
			exported = append(exported, i)
		}
	}
	if len(exported) > 0 && t.Name() != "" && !ofCell(t) {
		return exported
	}
	return all
}

// compiledCells is what the import paths of compiled cells begin with.
var compiledCells = buildinfo.Path("cells/")

// ofCell reports whether a cell declares a type, interpreted or compiled.
func ofCell(t reflect.Type) bool {
	return t.PkgPath() == "main" || strings.HasPrefix(t.PkgPath(), compiledCells)
}
