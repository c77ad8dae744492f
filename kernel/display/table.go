package display

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg/draw"

	"dace.local/dacelib/frame"
	"dace.local/kernel/engine"
)

// Limits of a table on the screen: of a larger one only the first and last rows
// and columns are shown. CSV and LaTeX are complete.
const (
	mostRows    = 20
	mostColumns = 20
	mostInCell  = 36  // characters
	mostInLine  = 150 // characters of a line of text; columns that do not fit are omitted
)

// A Grid is a table. It reads only the rows that it shows of the value that it
// was made from. A Grid that is the last expression of a cell is shown.
type Grid struct {
	header  []string
	rows    int
	columns int
	cell    func(i, j int) reflect.Value
	most    int // rows that are shown; 0 means mostRows
}

// Rows makes a table of a value: a slice or a map of structs or of pointers to
// structs, a slice of maps, a slice of slices, a matrix, or a value whose method
// Markdown returns a table.
func Rows(v any) (*Grid, error) {
	if g := gridOf(v); g != nil {
		return g, nil
	}
	return nil, fmt.Errorf("display: Rows makes no table of %T: it takes slices and maps of structs, slices of maps or slices, and matrices", v)
}

// All returns a copy of the table that shows all its rows. Without it, a table
// of more than 20 rows shows the first and the last of them.
func (g *Grid) All() *Grid {
	all := *g
	all.most = max(1, g.rows)
	return &all
}

// NewTable makes a table of rows under a header, for CSV, LaTeX or Markdown; to
// show it, end a cell with it or call [Table].
func NewTable(header []string, rows [][]string) *Grid { return textGrid(header, rows) }

// Table shows rows under a header. Columns of numbers are aligned right.
func Table(header []string, rows [][]string) { Show(textGrid(header, rows)) }

// Records shows a slice of structs, or of pointers to structs, as a table with a
// row for each element and a column for each field. Other values are shown as by
// [Show]. The last expression of a cell is shown this way without a call.
func Records(v any) { Show(v) }

func textGrid(header []string, rows [][]string) *Grid {
	g := &Grid{header: header, rows: len(rows), columns: len(header)}
	for _, r := range rows {
		g.columns = max(g.columns, len(r))
	}
	g.cell = func(i, j int) reflect.Value {
		if j < len(rows[i]) {
			return reflect.ValueOf(rows[i][j])
		}
		return reflect.Value{}
	}
	return g
}

// gridOf returns a value as a table, or nil if it cannot be shown as one.
func gridOf(v any) *Grid {
	if m, ok := v.(mat.Matrix); ok && !isNil(v) {
		r, c := m.Dims()
		return &Grid{rows: r, columns: c, cell: func(i, j int) reflect.Value { return reflect.ValueOf(m.At(i, j)) }}
	}
	if f, ok := v.(frame.Frame); ok {
		return frameGrid(f)
	}
	if m, ok := v.(Markdowner); ok && !isNil(v) {
		return parseMarkdown(m.Markdown())
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Slice, reflect.Array:
		return sliceGrid(rv, rv.Len(), rv.Index)
	case reflect.Map:
		keys := sortedKeys(rv)
		g := sliceGrid(rv, len(keys), func(i int) reflect.Value { return rv.MapIndex(keys[i]) })
		if g == nil || rv.Type().Elem().Kind() == reflect.Map || rv.Type().Elem().Kind() == reflect.Slice {
			return nil
		}
		inner := g.cell
		g.header, g.columns = append([]string{""}, g.header...), g.columns+1
		g.cell = func(i, j int) reflect.Value {
			if j == 0 {
				return keys[i]
			}
			return inner(i, j-1)
		}
		return g
	}
	return nil
}

// frameGrid makes a table of a frame.
func frameGrid(f frame.Frame) *Grid {
	g := &Grid{header: f.Names(), rows: f.Len(), columns: len(f.Names())}
	g.cell = func(i, j int) reflect.Value { return reflect.ValueOf(f.Value(i, j)) }
	return g
}

// sliceGrid makes a table of the n elements of a slice or map.
func sliceGrid(v reflect.Value, n int, at func(i int) reflect.Value) *Grid {
	if n == 0 {
		return nil
	}
	t := v.Type().Elem()
	switch {
	case rich(t):
		return nil
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		return mapGrid(n, at)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		if t.PkgPath() != "" || !scalar(t.Elem()) || t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		g := &Grid{rows: n}
		for i := range n {
			g.columns = max(g.columns, at(i).Len())
		}
		g.cell = func(i, j int) reflect.Value {
			if r := at(i); j < r.Len() {
				return r.Index(j)
			}
			return reflect.Value{}
		}
		if g.columns == 0 {
			return nil
		}
		return g
	}
	t = pointee(t)
	if t.Kind() != reflect.Struct || rich(reflect.PointerTo(t)) {
		return nil
	}
	return structGrid(t, n, at)
}

// structGrid makes a table of structs or pointers to structs, with a column for
// each field.
func structGrid(t reflect.Type, n int, at func(i int) reflect.Value) *Grid {
	fields := shownFields(t)
	if len(fields) == 0 || !ofCell(t) && !t.Field(fields[0]).IsExported() {
		return nil // such as time.Time
	}
	g := &Grid{rows: n, columns: len(fields)}
	for _, f := range fields {
		g.header = append(g.header, t.Field(f).Name)
	}
	g.cell = func(i, j int) reflect.Value {
		e := at(i)
		if e = indirect(e); e.Kind() == reflect.Pointer {
			return reflect.Value{}
		}
		return e.Field(fields[j])
	}
	return g
}

// mapGrid makes a table of maps, with a column for each key, sorted.
func mapGrid(n int, at func(i int) reflect.Value) *Grid {
	g := &Grid{rows: n}
	names := map[string]reflect.Value{}
	for i := range n {
		for _, k := range at(i).MapKeys() {
			names[k.String()] = k
		}
	}
	if len(names) == 0 {
		return nil
	}
	for name := range names {
		g.header = append(g.header, name)
	}
	slices.Sort(g.header)
	g.columns = len(g.header)
	g.cell = func(i, j int) reflect.Value { return at(i).MapIndex(names[g.header[j]]) }
	return g
}

func scalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Interface:
		return true
	}
	return reflect.Int <= t.Kind() && t.Kind() <= reflect.Float64
}

// rich reports whether values of a type are errors, or are shown as a picture or
// in formats of their own.
func rich(t reflect.Type) bool {
	for _, i := range []reflect.Type{
		reflect.TypeFor[MimeBundler](), reflect.TypeFor[HTMLer](), reflect.TypeFor[SVGer](), reflect.TypeFor[PNGer](),
		reflect.TypeFor[interface{ Draw(draw.Canvas) }](), reflect.TypeFor[error](),
	} {
		if t.Implements(i) {
			return true
		}
	}
	return false
}

// parseMarkdown parses a Markdown table; it returns nil if text is not one.
// Hyphens that do not break, which are for Markdown alone, become plain ones.
func parseMarkdown(text string) *Grid {
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		inner, ok := strings.CutPrefix(line, "|")
		if !ok {
			if len(rows) > 0 {
				break
			}
			continue
		}
		row := strings.Split(strings.TrimSuffix(inner, "|"), "|")
		for j := range row {
			row[j] = strings.ReplaceAll(strings.TrimSpace(row[j]), "\u2011", "-")
		}
		rows = append(rows, row)
	}
	if len(rows) < 2 || strings.Trim(strings.Join(rows[1], ""), ":- ") != "" {
		return nil
	}
	return textGrid(rows[0], rows[2:])
}

// Len returns the number of rows.
func (g *Grid) Len() int { return g.rows }

// exactly formats a value without loss of precision, for other programs.
func exactly(v reflect.Value) string {
	v = inside(v)
	switch {
	case !v.IsValid():
		return ""
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	}
	if at, ok := timeOf(v); ok {
		return at.Format(time.RFC3339Nano) // which package frame reads
	}
	if text, ok := own(v); ok {
		return text
	}
	f := formatter{exact: true, seen: map[uintptr]bool{}}
	return f.node(v, 0, true).flat()
}

// timeOf returns the time that v holds; ok is false if it holds none.
func timeOf(v reflect.Value) (at time.Time, ok bool) {
	if v.IsValid() && v.CanInterface() {
		at, ok = v.Interface().(time.Time)
	}
	return at, ok
}

// timeFormat returns a function that formats times by what tells them apart:
// with a time of day if there is one that is not midnight, with fractions of a
// second if there are any, and with a zone if there is another than UTC.
func timeFormat(values []reflect.Value) func(time.Time) string {
	layout, fraction, zone := time.DateOnly, "", ""
	for _, v := range values {
		at, ok := timeOf(v)
		if !ok {
			continue
		}
		if hour, minute, second := at.Clock(); hour+minute+second+at.Nanosecond() > 0 {
			layout = time.DateTime
		}
		switch n := at.Nanosecond(); {
		case n%1e6 > 0:
			fraction = ".000000"
		case n > 0:
			fraction = max(fraction, ".000")
		}
		if name, offset := at.Zone(); name != "UTC" || offset != 0 {
			layout, zone = time.DateTime, " -0700"
		}
	}
	return func(at time.Time) string { return at.Format(layout + fraction + zone) }
}

// inside returns the value inside of an interface.
func inside(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// CSV returns all rows as comma-separated values, with numbers in full
// precision. The first line has the names of the columns, if there are any.
func (g *Grid) CSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	if len(g.header) > 0 {
		w.Write(g.header) // a strings.Builder never returns an error
	}
	row := make([]string, g.columns)
	for i := range g.rows {
		for j := range row {
			row[j] = exactly(g.cell(i, j))
		}
		w.Write(row)
	}
	w.Flush()
	return b.String()
}

// texts returns the texts of the given rows and columns, with the numbers of a
// column in one precision, and which columns hold numbers. Row or column -1
// stands for the omitted ones.
func (g *Grid) texts(rows, columns []int) (cells [][]string, numeric []bool) {
	cells = make([][]string, len(rows))
	for k := range cells {
		cells[k] = make([]string, len(columns))
	}
	numeric = make([]bool, len(columns))
	values := make([]reflect.Value, len(rows))
	for n, j := range columns {
		for k, i := range rows {
			values[k] = reflect.Value{}
			if i >= 0 && j >= 0 {
				values[k] = inside(g.cell(i, j))
			}
		}
		texts, right := columnTexts(values)
		numeric[n] = right && j >= 0
		for k, i := range rows {
			if cells[k][n] = texts[k]; i < 0 || j < 0 {
				cells[k][n] = "…"
			}
		}
	}
	return cells, numeric
}

// columnTexts returns the texts of a column and whether they are numbers.
func columnTexts(values []reflect.Value) (texts []string, right bool) {
	var floats []float64
	right = true
	any := false
	for _, v := range values {
		if !v.IsValid() {
			continue
		}
		if _, ok := own(v); ok {
			right = false
			continue
		}
		switch {
		case v.CanFloat():
			floats = append(floats, v.Float())
		case v.CanInt(), v.CanUint():
		case v.Kind() == reflect.String && (v.String() == "" || isNumber(v.String())):
		default:
			right = false
		}
		any = true
	}
	write, date := floatFormat(floats), timeFormat(values)
	texts = make([]string, len(values))
	for k, v := range values {
		at, isTime := timeOf(v)
		switch _, has := own(v); {
		case !v.IsValid():
		case isTime:
			texts[k] = date(at)
		case has:
			texts[k] = flat(v, mostInCell)
		case v.CanFloat():
			texts[k] = write(v.Float())
		case v.Kind() == reflect.String:
			texts[k] = cut(strings.Join(strings.Fields(v.String()), " "), 2*mostInCell)
		default:
			texts[k] = short(v, mostInCell)
		}
	}
	return texts, right && any
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	return err == nil
}

// floatFormat returns a function that formats numbers with as many decimals as
// six digits of the largest of values need, or by [SetPrecision].
func floatFormat(values []float64) func(float64) string {
	if f := precision.Load(); f != nil {
		return func(v float64) string { return fmt.Sprintf(*f, v) }
	}
	most, least := 0., math.Inf(1)
	for _, v := range values {
		if a := math.Abs(v); a > 0 && !math.IsInf(a, 0) {
			most, least = max(most, a), min(least, a)
		}
	}
	if most >= 1e9 || most > 0 && least < 1e-5 {
		return func(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }
	}
	limit := 6
	if most > 0 {
		limit = min(6, max(0, 5-int(math.Floor(math.Log10(most)))))
	}
	decimals := 0
	for _, v := range values {
		for decimals < limit && !math.IsNaN(v) && !math.IsInf(v, 0) {
			p := math.Pow(10, float64(decimals))
			if math.Abs(v*p-math.Round(v*p)) <= 1e-9*p*max(1, math.Abs(v)) {
				break
			}
			decimals++
		}
	}
	return func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
}

// visible returns the part of the table that is shown: its header, its texts,
// and which columns hold numbers.
func (g *Grid) visible() (header []string, cells [][]string, numeric []bool) {
	columns := shown(g.columns, mostColumns)
	cells, numeric = g.texts(shown(g.rows, cmp.Or(g.most, mostRows)), columns)
	if len(g.header) > 0 {
		for _, j := range columns {
			switch {
			case j < 0:
				header = append(header, "…")
			case j < len(g.header):
				header = append(header, g.header[j])
			default:
				header = append(header, "")
			}
		}
	}
	return header, cells, numeric
}

// caption returns the size of the table, or "" if all of it is shown.
func (g *Grid) caption() string {
	switch {
	case g.columns > mostColumns:
		return thousands(g.rows) + " rows, " + thousands(g.columns) + " columns"
	case g.rows > cmp.Or(g.most, mostRows):
		return thousands(g.rows) + " rows"
	}
	return ""
}

// thousands formats n with commas between groups of three digits: 1,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// String returns the rows that are shown as aligned text.
func (g *Grid) String() string {
	header, cells, numeric := g.visible()
	all := cells
	if header != nil {
		all = append([][]string{header}, cells...)
	}
	width := make([]int, len(numeric))
	for _, row := range all {
		for j, s := range row {
			width[j] = max(width[j], utf8.RuneCountInString(s))
		}
	}
	columns, line := 0, 0
	for columns < len(width) && (columns == 0 || line+width[columns] <= mostInLine) {
		line += width[columns] + 2
		columns++
	}
	var b strings.Builder
	for _, row := range all {
		var line strings.Builder
		for j, s := range row[:columns] {
			pad := strings.Repeat(" ", width[j]-utf8.RuneCountInString(s))
			if numeric[j] {
				line.WriteString(pad + s)
			} else {
				line.WriteString(s + pad)
			}
			line.WriteString("  ")
		}
		if columns < len(row) {
			line.WriteString("…")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if c := g.caption(); c != "" {
		b.WriteString(c)
	}
	return strings.TrimRight(b.String(), "\n")
}

// HTML returns the rows that are shown as an HTML table.
func (g *Grid) HTML() string {
	header, cells, numeric := g.visible()
	var b strings.Builder
	line := func(row []string, tag string) {
		b.WriteString("<tr>")
		for j, s := range row {
			align := "left"
			if numeric[j] {
				align = "right"
			}
			wrap := "white-space:nowrap"
			if utf8.RuneCountInString(s) > mostInCell { // in several lines, or what follows would be out of sight
				wrap = "min-width:18em"
			}
			fmt.Fprintf(&b, `<%s style="text-align:%s;%s">%s</%s>`, tag, align, wrap, html.EscapeString(s), tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("<table" + noMath + ">\n")
	if header != nil {
		b.WriteString("<thead>")
		line(header, "th")
		b.WriteString("</thead>\n")
	}
	b.WriteString("<tbody>\n")
	for _, row := range cells {
		line(row, "td")
	}
	b.WriteString("</tbody></table>")
	if c := g.caption(); c != "" {
		b.WriteString("\n<p>" + c + "</p>")
	}
	return b.String()
}

// LaTeX returns all rows as a tabular that needs the package booktabs. Numbers
// are aligned right, in one precision for each column; Markdown's **bold** text
// is bold.
func (g *Grid) LaTeX() string {
	cells, numeric := g.texts(shown(g.rows, g.rows), shown(g.columns, g.columns))
	var b strings.Builder
	b.WriteString(`\begin{tabular}{`)
	for _, n := range numeric {
		b.WriteString(map[bool]string{true: "r", false: "l"}[n])
	}
	b.WriteString("}\n\\toprule\n")
	line := func(row []string) {
		for j, s := range row {
			if j > 0 {
				b.WriteString(" & ")
			}
			b.WriteString(latex(s))
		}
		b.WriteString(" \\\\\n")
	}
	if len(g.header) > 0 {
		line(append(slices.Clone(g.header), make([]string, max(0, g.columns-len(g.header)))...))
		b.WriteString("\\midrule\n")
	}
	for _, row := range cells {
		line(row)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}

// Markdown returns all rows as a table in Markdown, with columns of numbers
// aligned right. A table without a header gets an empty one.
func (g *Grid) Markdown() string {
	cells, numeric := g.texts(shown(g.rows, g.rows), shown(g.columns, g.columns))
	var b strings.Builder
	line := func(row []string) {
		b.WriteString("|")
		for _, s := range row {
			b.WriteString(" " + strings.ReplaceAll(s, "|", "\\|") + " |")
		}
		b.WriteString("\n")
	}
	line(append(slices.Clone(g.header), make([]string, max(0, g.columns-len(g.header)))...))
	b.WriteString("|")
	for _, n := range numeric {
		b.WriteString(map[bool]string{true: "--:|", false: "---|"}[n])
	}
	b.WriteString("\n")
	for _, row := range cells {
		line(row)
	}
	return b.String()
}

// latexEscapes escapes the characters that are commands in LaTeX, and a few that
// its usual fonts lack.
var latexEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `$<$`, ">", `$>$`, "±", `$\pm$`, "−", `$-$`, "×", `$\times$`, "…", `\dots{}`,
	"†", `$\dagger$`, "‡", `$\ddagger$`,
)

func latex(s string) string {
	bold := false
	if inner, ok := strings.CutPrefix(s, "**"); ok {
		if inner, ok = strings.CutSuffix(inner, "**"); ok {
			s, bold = inner, true
		}
	}
	if isNumber(s) && strings.HasPrefix(s, "-") {
		s = "−" + s[1:]
	}
	s = latexEscapes.Replace(s)
	if bold {
		return `\textbf{` + s + "}"
	}
	return s
}

func (g *Grid) bundle() engine.Bundle {
	return engine.Bundle{Data: map[string]any{"text/html": g.HTML(), "text/plain": g.String()}}
}

// shown returns at most this many of the indices 0 to n-1, the first and the
// last ones; -1 stands for the omitted ones between them.
func shown(n, most int) []int {
	var l []int
	for i := range min(n, most) {
		if n > most && i == most/2 {
			l = append(l, -1)
		}
		if n > most && i >= most/2 {
			i += n - most
		}
		l = append(l, i)
	}
	return l
}
