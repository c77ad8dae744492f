// Package frame holds tables of data in memory: columns of numbers, texts,
// truth values or times, under names. It reads and writes CSV files, filters,
// groups, aggregates, joins and describes.
//
// Start with ReadCSV:
//
//	runs, err := frame.ReadCSV("runs.csv")
//	runs.GroupBy("method", "d").Mean("value")
//
// It is for data that fits in memory, a few million rows; it is not a database
// and does not read Parquet. Frames are not changed by their methods, which
// return new ones that share columns. Slices that Floats and the like return are
// copies, and With keeps a copy: what is done to them does not change a frame.
//
// A method that is given the name of a column that the frame does not have, or
// of one of another type than it needs, panics, as an index out of range does.
// Errors in data are returned.
package frame

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Frame is a table. Its zero value has no columns and no rows.
type Frame struct {
	columns []column
	rows    int
}

// A column holds one value for each row: in a []float64, []int, []bool,
// []string or []time.Time.
type column struct {
	name   string
	values any
}

// Len returns the number of rows.
func (f Frame) Len() int { return f.rows }

// Names returns the names of the columns.
func (f Frame) Names() []string {
	names := make([]string, len(f.columns))
	for i, c := range f.columns {
		names[i] = c.name
	}
	return names
}

// Has reports whether the frame has a column.
func (f Frame) Has(name string) bool { return f.index(name) >= 0 }

func (f Frame) index(name string) int {
	return slices.IndexFunc(f.columns, func(c column) bool { return c.name == name })
}

// column returns a column, and panics if there is none of that name.
func (f Frame) column(name string) column {
	i := f.index(name)
	if i < 0 {
		panic(fmt.Sprintf("frame: there is no column %q; the columns are %s", name, strings.Join(f.Names(), ", ")))
	}
	return f.columns[i]
}

// Column returns a copy of a column, as a []float64, []int, []bool, []string or
// []time.Time.
func (f Frame) Column(name string) any { return copied(f.column(name).values) }

// Value returns the value of a row in a column, both by their numbers from 0: a
// float64, int, bool, string or time.Time.
func (f Frame) Value(row, column int) any { return f.columns[column].value(row) }

// Floats returns a copy of a column of numbers. Whole numbers are converted,
// truth values are 1 and 0. A missing number is NaN.
func (f Frame) Floats(name string) []float64 { return slices.Clone(f.floats(name)) }

// floats is Floats without the copy.
func (f Frame) floats(name string) []float64 {
	c := f.column(name)
	if v, ok := c.floats(); ok {
		return v
	}
	panic(fmt.Sprintf("frame: column %q holds %s, not numbers", name, c.kind()))
}

// Ints returns a copy of a column of whole numbers.
func (f Frame) Ints(name string) []int { return slices.Clone(typed[[]int](f, name, "whole numbers")) }

// Bools returns a copy of a column of truth values.
func (f Frame) Bools(name string) []bool {
	return slices.Clone(typed[[]bool](f, name, "truth values"))
}

// Times returns a copy of a column of times.
func (f Frame) Times(name string) []time.Time {
	return slices.Clone(typed[[]time.Time](f, name, "times"))
}

// Unique returns the different values of a column as texts, as Strings does, each
// once, in the order in which they first occur. A missing value is one of them, as
// an empty text.
func (f Frame) Unique(name string) []string { return f.unique(name).strings() }

// UniqueFloats returns the different numbers of a column, as Floats does, each
// once, in the order in which they first occur. Missing numbers are one NaN.
func (f Frame) UniqueFloats(name string) []float64 {
	f.floats(name) // panics if they are not numbers
	v, _ := f.unique(name).floats()
	return v
}

// unique returns the different values of a column.
func (f Frame) unique(name string) column {
	seen := map[int]bool{}
	var first []int // the first row of each value
	for i, code := range f.codes([]string{name})[0] {
		if !seen[code] {
			seen[code] = true
			first = append(first, i)
		}
	}
	return f.column(name).take(first)
}

// Strings returns a copy of a column as texts; numbers are formatted.
func (f Frame) Strings(name string) []string { return f.column(name).strings() }

func (c column) strings() []string {
	if v, ok := c.values.([]string); ok {
		return slices.Clone(v)
	}
	out := make([]string, c.len())
	for i := range out {
		out[i] = c.text(i)
	}
	return out
}

// copied returns a copy of a column's values, or nil if they are of another type.
func copied(values any) any {
	switch v := values.(type) {
	case []float64:
		return slices.Clone(v)
	case []int:
		return slices.Clone(v)
	case []bool:
		return slices.Clone(v)
	case []string:
		return slices.Clone(v)
	case []time.Time:
		return slices.Clone(v)
	}
	return nil
}

// len returns the number of a column's values.
func (c column) len() int {
	switch v := c.values.(type) {
	case []float64:
		return len(v)
	case []int:
		return len(v)
	case []bool:
		return len(v)
	case []string:
		return len(v)
	case []time.Time:
		return len(v)
	}
	return 0
}

func typed[S any](f Frame, name, what string) S {
	c := f.column(name)
	v, ok := c.values.(S)
	if !ok {
		panic(fmt.Sprintf("frame: column %q holds %s, not %s", name, c.kind(), what))
	}
	return v
}

// Matrix returns columns of numbers as rows: n x len(names), or n x columns
// without names.
func (f Frame) Matrix(names ...string) [][]float64 {
	if len(names) == 0 {
		names = f.Names()
	}
	all := make([]float64, f.rows*len(names))
	rows := make([][]float64, f.rows)
	for i := range rows {
		rows[i] = all[i*len(names) : (i+1)*len(names) : (i+1)*len(names)]
	}
	for j, name := range names {
		for i, v := range f.floats(name) {
			rows[i][j] = v
		}
	}
	return rows
}

func (c column) kind() string {
	switch c.values.(type) {
	case []float64:
		return "numbers"
	case []int:
		return "whole numbers"
	case []bool:
		return "truth values"
	case []time.Time:
		return "times"
	}
	return "texts"
}

// numeric reports whether aggregates of the column are defined.
func (c column) numeric() bool {
	switch c.values.(type) {
	case []float64, []int, []bool:
		return true
	}
	return false
}

func (c column) floats() ([]float64, bool) {
	switch v := c.values.(type) {
	case []float64:
		return v, true
	case []int:
		out := make([]float64, len(v))
		for i, x := range v {
			out[i] = float64(x)
		}
		return out, true
	case []bool:
		out := make([]float64, len(v))
		for i, x := range v {
			if x {
				out[i] = 1
			}
		}
		return out, true
	}
	return nil, false
}

// value returns the value of a row.
func (c column) value(i int) any {
	switch v := c.values.(type) {
	case []float64:
		return v[i]
	case []int:
		return v[i]
	case []bool:
		return v[i]
	case []time.Time:
		return v[i]
	case []string:
		return v[i]
	}
	return nil
}

// text returns the value of a row as a CSV file has it; a missing number or
// time is empty.
func (c column) text(i int) string {
	switch v := c.values.(type) {
	case []float64:
		if math.IsNaN(v[i]) {
			return ""
		}
		return strconv.FormatFloat(v[i], 'g', -1, 64)
	case []int:
		return strconv.Itoa(v[i])
	case []bool:
		return strconv.FormatBool(v[i])
	case []time.Time:
		switch {
		case v[i].IsZero():
			return ""
		case v[i].Equal(v[i].Truncate(24 * time.Hour)):
			return v[i].Format(time.DateOnly)
		}
		return v[i].Format(time.RFC3339Nano)
	case []string:
		return v[i]
	}
	return ""
}

// take returns the values of the given rows; row -1 is a missing value.
func (c column) take(rows []int) column {
	switch v := c.values.(type) {
	case []float64:
		return column{c.name, pick(v, rows, math.NaN())}
	case []int:
		if slices.Contains(rows, -1) {
			f, _ := c.floats()
			return column{c.name, pick(f, rows, math.NaN())}
		}
		return column{c.name, pick(v, rows, 0)}
	case []bool:
		return column{c.name, pick(v, rows, false)}
	case []time.Time:
		return column{c.name, pick(v, rows, time.Time{})}
	case []string:
		return column{c.name, pick(v, rows, "")}
	}
	return c
}

func pick[T any](v []T, rows []int, missing T) []T {
	out := make([]T, len(rows))
	for k, i := range rows {
		if i < 0 {
			out[k] = missing
			continue
		}
		out[k] = v[i]
	}
	return out
}

// take returns a frame of the given rows.
func (f Frame) take(rows []int) Frame {
	out := Frame{rows: len(rows)}
	for _, c := range f.columns {
		out.columns = append(out.columns, c.take(rows))
	}
	return out
}

// Select returns the frame with only the named columns, in the order of the
// names.
func (f Frame) Select(names ...string) Frame {
	out := Frame{rows: f.rows}
	for _, n := range names {
		out.columns = append(out.columns, f.column(n))
	}
	return out
}

// Drop returns the frame without the named columns.
func (f Frame) Drop(names ...string) Frame {
	out := Frame{rows: f.rows}
	for _, n := range names {
		f.column(n)
	}
	for _, c := range f.columns {
		if !slices.Contains(names, c.name) {
			out.columns = append(out.columns, c)
		}
	}
	return out
}

// Rename returns the frame with a column under another name.
func (f Frame) Rename(name, to string) Frame {
	f.column(name)
	out := Frame{rows: f.rows, columns: slices.Clone(f.columns)}
	out.columns[f.index(name)].name = to
	return out
}

// With returns the frame with a column added, or replaced if it has one of that
// name: values is a []float64, []int, []bool, []string or []time.Time with one
// value for each row, of which the frame keeps a copy.
func (f Frame) With(name string, values any) Frame {
	own := copied(values)
	if own == nil {
		panic(fmt.Sprintf("frame: With takes a slice of float64, int, bool, string or time.Time, not %T", values))
	}
	return f.with(name, own)
}

// with is With without the copy.
func (f Frame) with(name string, values any) Frame {
	n := column{name, values}.len()
	if n != f.rows && len(f.columns) > 0 {
		panic(fmt.Sprintf("frame: column %q has %d values for %d rows", name, n, f.rows))
	}
	out := Frame{rows: n, columns: slices.Clone(f.columns)}
	if i := f.index(name); i >= 0 {
		out.columns[i].values = values
	} else {
		out.columns = append(out.columns, column{name, values})
	}
	return out
}

// Compute returns the frame with a column of numbers, computed from each row.
func (f Frame) Compute(name string, of func(r Row) float64) Frame {
	values := make([]float64, f.rows)
	for i := range values {
		values[i] = of(Row{f, i})
	}
	return f.with(name, values)
}

// A Row is a row of a frame.
type Row struct {
	of Frame
	i  int
}

// Index returns the number of the row, from 0.
func (r Row) Index() int { return r.i }

// Float returns a number of the row; a truth value is 1 or 0.
func (r Row) Float(name string) float64 {
	switch v := r.of.column(name).values.(type) {
	case []float64:
		return v[r.i]
	case []int:
		return float64(v[r.i])
	case []bool:
		if v[r.i] {
			return 1
		}
		return 0
	}
	panic(fmt.Sprintf("frame: column %q holds %s, not numbers", name, r.of.column(name).kind()))
}

// Int returns a whole number of the row.
func (r Row) Int(name string) int { return typed[[]int](r.of, name, "whole numbers")[r.i] }

// Bool returns a truth value of the row.
func (r Row) Bool(name string) bool { return typed[[]bool](r.of, name, "truth values")[r.i] }

// Time returns a time of the row.
func (r Row) Time(name string) time.Time {
	return typed[[]time.Time](r.of, name, "times")[r.i]
}

// String returns a text of the row; a number is formatted.
func (r Row) String(name string) string { return r.of.column(name).text(r.i) }

// Filter returns the rows for which keep is true.
func (f Frame) Filter(keep func(r Row) bool) Frame {
	var rows []int
	for i := range f.rows {
		if keep(Row{f, i}) {
			rows = append(rows, i)
		}
	}
	return f.take(rows)
}

// Where returns the rows whose value in a column compares with a value as op
// says: op is "==", "!=", "<", "<=", ">" or ">=". The value is a number, a text,
// a truth value or a time, as the column holds. It is faster than Filter.
func (f Frame) Where(name, op string, value any) Frame {
	c := f.column(name)
	holds, ok := comparisons[op]
	if !ok {
		panic(fmt.Sprintf("frame: there is no comparison %q; there are ==, !=, <, <=, > and >=", op))
	}
	order := c.orderTo(value)
	var rows []int
	for i := range f.rows {
		if o, comparable := order(i); comparable && holds(o) || !comparable && op == "!=" {
			rows = append(rows, i)
		}
	}
	return f.take(rows)
}

var comparisons = map[string]func(order int) bool{
	"==": func(o int) bool { return o == 0 }, "!=": func(o int) bool { return o != 0 },
	"<": func(o int) bool { return o < 0 }, "<=": func(o int) bool { return o <= 0 },
	">": func(o int) bool { return o > 0 }, ">=": func(o int) bool { return o >= 0 },
}

// orderTo returns the function that compares the value of a row with a value;
// NaN compares with nothing.
func (c column) orderTo(value any) func(i int) (order int, comparable bool) {
	if number, ok := toFloat(value); ok {
		if v, ok := c.floats(); ok {
			return func(i int) (int, bool) { return compareFloats(v[i], number), !math.IsNaN(v[i]) && !math.IsNaN(number) }
		}
	}
	switch v := c.values.(type) {
	case []string:
		if text, ok := value.(string); ok {
			return func(i int) (int, bool) { return strings.Compare(v[i], text), true }
		}
	case []time.Time:
		if t, ok := value.(time.Time); ok {
			return func(i int) (int, bool) { return v[i].Compare(t), !v[i].IsZero() }
		}
	}
	panic(fmt.Sprintf("frame: column %q holds %s, which do not compare with a %T", c.name, c.kind(), value))
}

func toFloat(value any) (float64, bool) {
	switch x := value.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Sort returns the rows in the order of the named columns, the first of which
// counts most; "-name" is descending. Rows that are equal there keep their
// order, and missing values come last.
func (f Frame) Sort(names ...string) Frame {
	type key struct {
		compare func(a, b int) int
		missing func(i int) bool
		sign    int
	}
	keys := make([]key, len(names))
	for k, name := range names {
		sign := 1
		if bare, ok := strings.CutPrefix(name, "-"); ok && !f.Has(name) {
			name, sign = bare, -1
		}
		c := f.column(name)
		compare, missing := c.order()
		keys[k] = key{compare, missing, sign}
	}
	rows := make([]int, f.rows)
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		for _, k := range keys {
			switch ma, mb := k.missing(a), k.missing(b); {
			case ma && mb:
				continue
			case ma:
				return 1
			case mb:
				return -1
			}
			if o := k.compare(a, b); o != 0 {
				return k.sign * o
			}
		}
		return 0
	})
	return f.take(rows)
}

// order returns how rows of the column compare, and which are missing.
func (c column) order() (compare func(a, b int) int, missing func(i int) bool) {
	switch v := c.values.(type) {
	case []string:
		return func(a, b int) int { return strings.Compare(v[a], v[b]) }, func(int) bool { return false }
	case []time.Time:
		return func(a, b int) int { return v[a].Compare(v[b]) }, func(i int) bool { return v[i].IsZero() }
	}
	v, _ := c.floats()
	return func(a, b int) int { return compareFloats(v[a], v[b]) }, func(i int) bool { return math.IsNaN(v[i]) }
}

// Head returns the first n rows, or all if there are fewer.
func (f Frame) Head(n int) Frame { return f.slice(0, min(max(n, 0), f.rows)) }

// Tail returns the last n rows, or all if there are fewer.
func (f Frame) Tail(n int) Frame { return f.slice(f.rows-min(max(n, 0), f.rows), f.rows) }

func (f Frame) slice(from, to int) Frame {
	rows := make([]int, to-from)
	for k := range rows {
		rows[k] = from + k
	}
	return f.take(rows)
}

// Append returns the rows of both frames, which must have the same columns with
// the same types. The order of columns is f's.
func (f Frame) Append(g Frame) (Frame, error) {
	if len(f.columns) == 0 {
		return g, nil
	}
	out := Frame{rows: f.rows + g.rows}
	if len(f.columns) != len(g.columns) {
		return Frame{}, fmt.Errorf("frame: appending rows of %d columns to %d columns", len(g.columns), len(f.columns))
	}
	for _, c := range f.columns {
		if !g.Has(c.name) {
			return Frame{}, fmt.Errorf("frame: the appended rows have no column %q", c.name)
		}
		values, ok := joined(c, g.column(c.name))
		if !ok {
			return Frame{}, fmt.Errorf("frame: column %q holds %s, and %s in the appended rows", c.name, c.kind(), g.column(c.name).kind())
		}
		out.columns = append(out.columns, column{c.name, values})
	}
	return out, nil
}

func joined(a, b column) (any, bool) {
	switch v := a.values.(type) {
	case []int:
		if w, ok := b.values.([]int); ok {
			return slices.Concat(v, w), true
		}
	case []string:
		w, ok := b.values.([]string)
		return slices.Concat(v, w), ok
	case []time.Time:
		w, ok := b.values.([]time.Time)
		return slices.Concat(v, w), ok
	case []bool:
		if w, ok := b.values.([]bool); ok {
			return slices.Concat(v, w), true
		}
	}
	v, ok := a.floats()
	w, alsoOK := b.floats()
	return slices.Concat(v, w), ok && alsoOK
}
