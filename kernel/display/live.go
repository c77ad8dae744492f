package display

import (
	"cmp"
	"fmt"
	"html"
	"image"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"

	"dace.local/dacelib/frame"
	"dace.local/kernel/engine"
	"dace.local/kernel/internal/live"
)

// shownLive returns the bundle that shows a value. If the page of the running cell has
// a widget manager, and the bundle has a part of the value only, it lets the page ask
// for the rest: what the bundle has is for pages and files without a kernel.
func shownLive(v any) engine.Bundle {
	if o := outputs(); o != nil && live.Follow(v, o, newID()) {
		return engine.Bundle{}
	}
	b := Value(v)
	if b.Data["text/html"] == nil || !live.Able() {
		return b
	}
	x := live.Value{Of: v}
	if g := gridShown(v); g != nil {
		if g.rows <= cmp.Or(g.most, mostRows) && g.columns <= mostColumns {
			return b
		}
		x.Table = &gridView{g: g}
	} else if rv := reflect.ValueOf(v); treeShown(v, rv) && deepTree(rv).cut() {
		x.Tree = branch{v: rv}
	} else {
		return b
	}
	if more := live.Show(x); more != nil {
		b.Data = maps.Clone(b.Data)
		maps.Copy(b.Data, more)
	}
	return b
}

// ownFormats reports whether Value shows a value otherwise than by its parts.
func ownFormats(v any) bool {
	switch v.(type) {
	case nil, engine.Bundle, Shown, Data, Renderer, SimpleRenderer, MimeBundler, HTMLer, Markdowner, SVGer, PNGer, *plot.Plot, image.Image:
		return true
	}
	return false
}

// gridShown returns the table as which Value shows a value, or nil.
func gridShown(v any) *Grid {
	switch x := v.(type) {
	case *Grid:
		return x
	case frame.Frame, mat.Matrix:
		return gridOf(v)
	}
	rv := reflect.ValueOf(v)
	if ownFormats(v) || summary(rv) != nil {
		return nil
	}
	if _, has := own(rv); has {
		return nil
	}
	return gridOf(v)
}

// treeShown reports whether Value shows a value as a tree.
func treeShown(v any, rv reflect.Value) bool {
	_, has := own(rv)
	return !ownFormats(v) && !has && summary(rv) == nil
}

// cut reports whether a tree lacks a part of its value.
func (n node) cut() bool {
	return n.rest > 0 || n.head == "…" || strings.HasSuffix(n.head, "(…)") || slices.ContainsFunc(n.kids, node.cut)
}

// liveCells is the most cells of a table that a page gets at once, about a megabyte:
// Jupyter's server stops what sends more than that in a second.
const liveCells = 20_000

// A gridView is a table that is read in pages.
type gridView struct {
	g *Grid

	mu    sync.Mutex // guards asked and order
	asked live.Query // for which order was made
	order []int      // the rows that the filter leaves
}

func (t *gridView) Rows() int { return t.g.rows }
func (t *gridView) Most() int { return max(mostRows, liveCells/max(1, t.g.columns)) }

func (t *gridView) Columns() []string {
	names := slices.Clone(t.g.header)
	for j := len(names); j < t.g.columns; j++ {
		names = append(names, strconv.Itoa(j))
	}
	return names
}

func (t *gridView) Page(q live.Query) (page string, found int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if same := q.Filter == t.asked.Filter && q.Column == t.asked.Column && q.Falling == t.asked.Falling; !same || t.order == nil {
		t.order, t.asked = t.g.ordered(q), q
	}
	from := min(max(0, q.From), len(t.order))
	to := min(len(t.order), from+min(max(0, q.N), t.Most()))
	return t.g.page(t.order[from:to], fmt.Sprintf("%s–%s", thousands(min(from+1, to)), thousands(to)), len(t.order)), len(t.order)
}

// liveStyle is of tables in widgets, which have none of their own. What has no
// JupyterLab around it takes the colours of its system.
const liveStyle = `<style>.dace-grid{max-height:26em;overflow:auto;color:var(--jp-content-font-color1,CanvasText);font-size:var(--jp-ui-font-size1,13px)}` +
	`.dace-grid table{border-collapse:separate;border-spacing:0;line-height:1.4}.dace-grid td,.dace-grid th{padding:2px 8px;text-align:left;white-space:nowrap}` +
	`.dace-grid .n{text-align:right}.dace-grid th{position:sticky;top:0;background:var(--jp-layout-color1,Canvas);border-bottom:1px solid var(--jp-border-color1,GrayText)}` +
	`.dace-grid tbody tr:nth-child(odd){background:var(--jp-rendermime-table-row-background,transparent)}</style>`

// page returns rows as HTML for a widget.
func (g *Grid) page(rows []int, which string, found int) string {
	columns := shown(g.columns, liveCells)
	cells, numeric := g.texts(rows, columns)
	var b strings.Builder
	fmt.Fprintf(&b, `%s<div class="dace-grid tex2jax_ignore mathjax_ignore" tabindex="0" role="region" aria-label="rows %s"><table>`, liveStyle, which)
	line := func(row []string, tag, scope string) {
		b.WriteString("<tr>")
		for j, s := range row {
			class := ""
			if numeric[j] {
				class = ` class="n"`
			}
			b.WriteString("<" + tag + scope + class + ">" + html.EscapeString(s) + "</" + tag + ">")
		}
		b.WriteString("</tr>")
	}
	if len(g.header) > 0 {
		b.WriteString("<thead>")
		line(append(slices.Clone(g.header), make([]string, max(0, g.columns-len(g.header)))...), "th", ` scope="col"`)
		b.WriteString("</thead>")
	}
	b.WriteString("<tbody>")
	for _, row := range cells {
		line(row, "td", "")
	}
	caption := fmt.Sprintf("rows %s of %s", which, thousands(found))
	switch {
	case found == 0:
		caption = "none of " + thousands(g.rows) + " rows"
	case found < g.rows:
		caption += ", of " + thousands(g.rows) + " in all"
	}
	b.WriteString("</tbody></table></div><div style=\"color:var(--jp-content-font-color1,CanvasText)\">" + caption + "</div>")
	return b.String()
}

// ordered returns the rows that a query's filter leaves, in its order.
func (g *Grid) ordered(q live.Query) []int {
	pass := g.filter(q.Filter)
	order := make([]int, 0, g.rows)
	for i := range g.rows {
		if pass(i) {
			order = append(order, i)
		}
	}
	if q.Column < 0 || q.Column >= g.columns {
		return order
	}
	keys := make([]cellKey, g.rows)
	for _, i := range order {
		keys[i] = keyOf(g.cell(i, q.Column))
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := keys[i], keys[j]
		if q.Falling && a.kind != missing && b.kind != missing { // what is missing stays at the end
			a, b = b, a
		}
		return a.compare(b)
	})
	return order
}

// A cellKey is what cells are compared by.
type cellKey struct {
	kind   int // numbers before texts
	number float64
	whole  int64 // of an integer, which a float64 may round
	text   string
}

const (
	numeral = iota
	textual
	missing // no cell, and not a number
)

func (a cellKey) compare(b cellKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.number, b.number), cmp.Compare(a.whole, b.whole), cmp.Compare(a.text, b.text))
}

func keyOf(v reflect.Value) cellKey {
	v = inside(v)
	if !v.IsValid() {
		return cellKey{kind: missing}
	}
	if at, ok := timeOf(v); ok {
		return cellKey{number: float64(at.Unix()), whole: int64(at.Nanosecond())}
	}
	switch {
	case v.CanInt():
		return cellKey{number: float64(v.Int()), whole: v.Int()}
	case v.CanUint():
		return cellKey{number: float64(v.Uint()), whole: int64(min(v.Uint(), math.MaxInt64))}
	case v.CanFloat():
		if math.IsNaN(v.Float()) {
			return cellKey{kind: missing}
		}
		return cellKey{number: v.Float()}
	}
	return keyOfText(cellText(v))
}

func keyOfText(text string) cellKey {
	if f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); err == nil && !math.IsNaN(f) {
		return cellKey{number: f}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return cellKey{number: float64(at.Unix()), whole: int64(at.Nanosecond())}
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return cellKey{number: float64(at.Unix())}
	}
	return cellKey{kind: textual, text: text}
}

// cellText returns the text of a cell that a filter looks into.
func cellText(v reflect.Value) string {
	v = inside(v)
	switch {
	case !v.IsValid():
		return ""
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', 6, 64)
	}
	return flat(v, 1000)
}

var comparison = regexp.MustCompile(`\s*(<=|>=|!=|==|=|<|>)\s*`)

// filter returns whether a row passes a filter: each of its words stands in one of the
// row's texts, or compares a column with a value, such as N>3. Words in double quotes
// are one.
func (g *Grid) filter(text string) func(row int) bool {
	var tests []func(int) bool
	for i, quoted := range strings.Split(text, `"`) {
		words := []string{quoted}
		if i%2 == 0 {
			words = strings.Fields(comparison.ReplaceAllString(quoted, "$1"))
		}
		for _, w := range words {
			if w == "" {
				continue
			}
			test := g.comparing(w)
			if test == nil || i%2 == 1 {
				test = g.containing(strings.ToLower(w))
			}
			tests = append(tests, test)
		}
	}
	return func(row int) bool {
		return !slices.ContainsFunc(tests, func(test func(int) bool) bool { return !test(row) })
	}
}

func (g *Grid) containing(word string) func(row int) bool {
	return func(row int) bool {
		for j := range g.columns {
			if strings.Contains(strings.ToLower(cellText(g.cell(row, j))), word) {
				return true
			}
		}
		return false
	}
}

// comparing returns the test of a comparison with a column, or nil for other words.
func (g *Grid) comparing(word string) func(row int) bool {
	at := comparison.FindStringIndex(word)
	if at == nil {
		return nil
	}
	column := slices.IndexFunc(g.header, func(h string) bool { return strings.EqualFold(h, word[:at[0]]) })
	if column < 0 {
		return nil
	}
	operator, want := word[at[0]:at[1]], keyOfText(word[at[1]:])
	return func(row int) bool {
		k := keyOf(g.cell(row, column))
		if k.kind != want.kind { // a text has no order among numbers
			return operator == "!="
		}
		k.whole = 0 // want has none
		if k.kind == numeral && want.whole != 0 {
			k = keyOf(g.cell(row, column))
		}
		c := k.compare(want)
		if want.kind == textual {
			c = cmp.Compare(strings.ToLower(k.text), strings.ToLower(want.text))
		}
		switch operator {
		case "<":
			return c < 0
		case "<=":
			return c <= 0
		case ">":
			return c > 0
		case ">=":
			return c >= 0
		case "!=":
			return c != 0
		}
		return c == 0
	}
}

// Limits of what a person unfolds by one click; of numbers first maxElements.
const (
	openParts   = 50
	moreNumbers = 1000
)

// A branch is a part of a value, which is unfolded when a person asks for it.
type branch struct {
	key string
	v   reflect.Value
}

func (b branch) Text() string { return b.key + flat(b.v, previewWidth) }

// parts returns the number of a value's parts, and the one with a number; n is 0 for
// what has none.
func (b branch) parts() (n int, at func(i int) branch) {
	v := inside(b.v)
	if _, has := own(v); has && !exportsFields(v) {
		return 0, nil
	}
	for i := 0; v.Kind() == reflect.Pointer && !v.IsNil() && i < mostPointers; i++ {
		v = inside(v.Elem())
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		return v.Len(), func(i int) branch { return branch{strconv.Itoa(i) + ": ", v.Index(i)} }
	case reflect.Map:
		keys := sortedKeys(v)
		return len(keys), func(i int) branch { return branch{tree(keys[i]).flat() + ": ", v.MapIndex(keys[i])} }
	case reflect.Struct:
		fields := shownFields(v.Type())
		return len(fields), func(i int) branch {
			return branch{v.Type().Field(fields[i]).Name + ": ", v.Field(fields[i])}
		}
	}
	return 0, nil
}

// exportsFields reports whether what v leads to is a list or map, or has exported
// fields.
func exportsFields(v reflect.Value) bool {
	switch v = indirect(v); v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return true
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				return true
			}
		}
	}
	return false
}

// folded reports whether a value has parts that its text of one line does not have.
func (b branch) folded() bool {
	if n, _ := b.parts(); n == 0 {
		return false
	}
	if _, has := own(b.v); has {
		return true
	}
	t := tree(b.v)
	return t.cut() || utf8.RuneCountInString(b.key)+utf8.RuneCountInString(t.flat()) > lineWidth
}

// numbers reports whether a value is a list of numbers.
func (b branch) numbers() bool {
	v := indirect(inside(b.v))
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && number(v.Type().Elem())
}

// numbersIn returns the elements of a list of numbers in lines, in one precision.
func numbersIn(at func(int) branch, from, to int) string {
	values := make([]reflect.Value, 0, to-from)
	for i := from; i < to; i++ {
		values = append(values, at(i).v)
	}
	texts, _ := columnTexts(values)
	width := 0
	for _, t := range texts {
		width = max(width, len(t))
	}
	var b strings.Builder
	for line := range slices.Chunk(texts, max(1, lineWidth/(width+2))) {
		for _, t := range line {
			fmt.Fprintf(&b, "%*s", width+2, t)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (b branch) Parts(from int) (parts []live.Part, next, total int) {
	n, at := b.parts()
	if from >= n {
		return nil, 0, n
	}
	if b.numbers() {
		to := min(n, from+moreNumbers)
		if from == 0 {
			to = min(n, maxElements)
		}
		text := fmt.Sprintf("%d…%d:\n", from, to-1) + numbersIn(at, from, to)
		if from == 0 {
			text = strings.TrimPrefix(distribution(indirect(inside(b.v)))+"\n", "\n") + text
		}
		return []live.Part{{HTML: liveCode(text)}}, to % n, n
	}
	to := min(n, from+openParts)
	var plain []string
	flush := func() {
		if plain != nil {
			parts, plain = append(parts, live.Part{HTML: liveCode(strings.Join(plain, "\n"))}), nil
		}
	}
	for i := from; i < to; i++ {
		if p := at(i); p.folded() {
			flush()
			parts = append(parts, live.Part{Tree: p})
		} else {
			plain = append(plain, p.key+flat(p.v, 2000))
		}
	}
	flush()
	return parts, to % n, n
}

// liveCode returns lines as HTML for a widget.
func liveCode(text string) string {
	return `<div class="tex2jax_ignore mathjax_ignore" style="white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.4;color:var(--jp-content-font-color1,CanvasText);font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px)">` +
		html.EscapeString(text) + "</div>"
}
