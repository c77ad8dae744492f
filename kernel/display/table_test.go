package display

import (
	"encoding/csv"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"

	"dace.local/dacelib/frame"
)

type point struct {
	Name string
	X    float64
	N    int
}

// bold is a type whose method Markdown returns a table.
type bold struct{}

func (bold) Markdown() string {
	return "| d | DACE |\n|---|---|\n| 30 | **1.054 ± 0.01** |\n| a_b | 5 % |\n"
}

// TestTables checks how rows are shown as the last expression of a cell.
func TestTables(t *testing.T) {
	many := make([]point, 1000)
	for i := range many {
		many[i] = point{fmt.Sprint("p", i), float64(i) / 4, i}
	}
	type at struct{ At time.Time }
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"structs": {[]point{{"a", 1.5, 1}, {"bcd", 10, 22}},
			"Name     X   N\na      1.5   1\nbcd   10.0  22"},
		"pointers": {[]*point{{"a", 1, 1}, nil},
			"Name  X  N\na     1  1"},
		"array": {[1]point{{"a", 1, 1}},
			"Name  X  N\na     1  1"},
		"map of structs": {map[string]point{"k": {"a", 1, 1}, "b": {"c", 2, 2}},
			"   Name  X  N\nb  c     2  2\nk  a     1  1"},
		"map with numbers": {map[int]*point{10: {"a", 1, 1}, 9: {"c", 2, 2}},
			"    Name  X  N\n 9  c     2  2\n10  a     1  1"},
		"strings": {[][]string{{"name", "n"}, {"a", "1"}},
			"name  n\na     1"},
		"floats": {[][]float64{{1, 2.25}, {3, 4}, {5}},
			"1  2.25\n3  4.00\n5"},
		"maps": {[]map[string]any{{"b": 1, "a": "x"}, {"c": 2.5}},
			"a  b    c\nx  1\n      2.5"},
		"not a number": {[][]float64{{math.NaN(), 1}, {math.Inf(1), 1e-9}},
			" NaN      1\n+Inf  1e-09"},
		"large and small": {[]point{{"a", 1e12, 1}, {"b", -3, 2}},
			"Name      X  N\na     1e+12  1\nb        -3  2"},
		"long text": {[][]string{{strings.Repeat("x", 200)}}, strings.Repeat("x", 72) + "…"},
		"durations": {[]time.Duration{time.Second}, "[]time.Duration{1s}"},
		"dates":     {[]at{{noon.Add(-12 * time.Hour)}, {noon.AddDate(0, 0, 1).Add(-12 * time.Hour)}}, "At\n2026-11-22\n2026-11-23"},
		"times":     {[]at{{noon}, {noon.Add(12 * time.Hour)}}, "At\n2026-11-22 12:00:00\n2026-11-23 00:00:00"},
		"fractions": {[]at{{noon}, {noon.Add(1500 * time.Microsecond)}}, "At\n2026-11-22 12:00:00.000000\n2026-11-22 12:00:00.001500"},
		"zones":     {[]at{{noon.In(time.FixedZone("CET", 3600))}, {noon}}, "At\n2026-11-22 13:00:00 +0100\n2026-11-22 12:00:00 +0000"},
		"bytes":     {[][]byte{[]byte("ab")}, `[][]byte{("ab")}`},
		"empty":     {[]point{}, "[]display.point{}"},
		"no rows":   {[][]int{{}, {}}, "[][]int{{}, {}}"},
		"errors":    {[]error{nil}, "[]error{<nil>}"},
		"plots":     {[]*plot.Plot(nil), "[]*plot.Plot(nil)"},
		"thousand":  {many, ""},
		"matrix":    {mat.NewDense(2, 2, []float64{1, 2, 3, 4}), "2 x 2\n⎡1  2⎤\n⎣3  4⎦"},
	} {
		b := Value(c.v)
		text := fmt.Sprint(b.Data["text/plain"])
		if name == "thousand" {
			if n := strings.Count(text, "\n"); n != 22 || !strings.HasSuffix(text, "\n1,000 rows") || !strings.Contains(text, "p999  249.75  999") {
				t.Errorf("%s: %d lines\n%s", name, n, text)
			}
			continue
		}
		if text != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, text, c.want)
		}
		if isTable := b.Data["text/html"] != nil && strings.Contains(fmt.Sprint(b.Data["text/html"]), "<table"); isTable != (gridOf(c.v) != nil) {
			t.Errorf("%s: a table in HTML: %v", name, isTable)
		}
	}
}

// TestTableSize checks that a slice of 10,000 rows adds less than 20 kB to a
// notebook.
func TestTableSize(t *testing.T) {
	rows := make([]point, 10_000)
	wide := mat.NewDense(500, 500, nil)
	for i := range rows {
		rows[i] = point{strings.Repeat("name", 5), 1 / float64(i+1), i}
	}
	for name, v := range map[string]any{"rows": rows, "matrix": wide} {
		b := Value(v)
		if n := len(fmt.Sprint(b.Data["text/html"])) + len(fmt.Sprint(b.Data["text/plain"])); n > map[string]int{"rows": 20_000, "matrix": 60_000}[name] {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

func TestRows(t *testing.T) {
	g, err := Rows([]point{{"a,b", 1.0 / 3, 1}, {"c\"d", 2, -2}})
	if err != nil {
		t.Fatal(err)
	}
	back, err := csv.NewReader(strings.NewReader(g.CSV())).ReadAll()
	if want := `[[Name X N] [a,b 0.3333333333333333 1] [c"d 2 -2]]`; err != nil || fmt.Sprint(back) != want {
		t.Errorf("CSV: %v, %v", back, err)
	}
	if want := "\\begin{tabular}{lrr}\n\\toprule\nName & X & N \\\\\n\\midrule\na,b & 0.33333 & 1 \\\\\nc\"d & 2.00000 & $-$2 \\\\\n\\bottomrule\n\\end{tabular}\n"; g.LaTeX() != want {
		t.Errorf("LaTeX:\n%s", g.LaTeX())
	}
	if g, err = Rows(bold{}); err != nil {
		t.Fatal(err)
	}
	if want := "\\begin{tabular}{ll}\n\\toprule\nd & DACE \\\\\n\\midrule\n30 & \\textbf{1.054 $\\pm$ 0.01} \\\\\na\\_b & 5 \\% \\\\\n\\bottomrule\n\\end{tabular}\n"; g.LaTeX() != want {
		t.Errorf("LaTeX of Markdown:\n%s", g.LaTeX())
	}
	if g := parseMarkdown("| W-D-L |\n|---|\n| 1\u20112\u20110 |\n"); !strings.Contains(g.LaTeX(), "1-2-0") || !strings.Contains(g.CSV(), "1-2-0") {
		t.Errorf("hyphens that do not break: %s%s", g.LaTeX(), g.CSV())
	}
	if want := "| name | n |\n|---|--:|\n| a\\|b | 12 |\n"; NewTable([]string{"name", "n"}, [][]string{{"a|b", "12"}}).Markdown() != want {
		t.Errorf("Markdown:\n%s", NewTable([]string{"name", "n"}, [][]string{{"a|b", "12"}}).Markdown())
	}
	long := make([]float64, manyFloats)
	for i := range long {
		long[i] = 1.0 / 3
	}
	g, err = Rows([]struct {
		At   time.Time
		Long []float64
	}{{time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), long}})
	if text := g.CSV(); err != nil || !strings.Contains(text, "2026-11-22T00:00:00Z,") || strings.Count(text, "0.3333333333333333") != manyFloats {
		t.Errorf("CSV of times and slices: %s, %v", text, err)
	}
	many, err := Rows(make([]point, mostRows+5))
	if err != nil {
		t.Fatal(err)
	}
	if few, all := strings.Count(many.String(), "\n"), strings.Count(many.All().String(), "\n"); few != mostRows+2 || all != mostRows+5 {
		t.Errorf("%d and %d lines of %d rows", few, all, many.Len())
	}
	for _, v := range []any{nil, 7, "x", []int{1}, map[string]int{}, (*mat.Dense)(nil)} {
		if _, err := Rows(v); err == nil {
			t.Errorf("%T is a table", v)
		}
	}
}

func TestFormat(t *testing.T) {
	type inner struct{ A, B int }
	type outer struct {
		Name  string
		Inner []inner
	}
	long, lengths := make([]int, 30), make([]int, 30)
	for i := range lengths {
		lengths[i] = []int{1, 3, 9, 27, 81, 243}[i%6]
	}
	thirds := make([]float64, manyFloats)
	for i := range thirds {
		thirds[i] = float64(i) / 3
	}
	thirds[manyFloats-1] *= -1
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"in any":     {[]any{[]int{2}, map[string]int{"a": 1}, []any{nil}}, `[]any{[]int{2}, map[string]int{"a": 1}, []any{<nil>}}`},
		"map of any": {map[string]any{"a": []int{2}}, `map[string]any{"a": []int{2}}`},
		"nested":     {map[string][]int{"a": {2}}, `map[string][]int{"a": {2}}`},
		"several lines": {map[string][]int{"long": long, "short": {1}}, `map[string][]int{
    "long": {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0,
    },
    "short": {1},
}`},
		"struct": {&outer{Name: "x", Inner: []inner{{1, 2}}}, `&display.outer{Name: "x", Inner: {display.inner{A: 1, B: 2}}}`},
		"numbers": {lengths, `[]int{
      1,   3,   9,  27,  81, 243,   1,   3,   9,  27,  81, 243,   1,   3,   9,
     27,  81, 243,   1,   3,   9,  27,  81, 243,   1,   3,   9,  27,  81, 243,
}`},
		"few floats": {[]float64{1.0 / 3, 2}, "[]float64{0.3333333333333333, 2}"},
		"many floats": {thirds, `[]float64{
     0.00000,  0.33333,  0.66667,  1.00000,  1.33333,  1.66667,  2.00000,
     2.33333,  2.66667,  3.00000,  3.33333,  3.66667,  4.00000,  4.33333,
     4.66667,  5.00000,  5.33333,  5.66667,  6.00000, -6.33333,
}`},
		"clock": {noon, "2026-11-22 12:00:00 +0000 UTC"},
		"text":  {"a\nb", "a\nb"},
		"error": {fmt.Errorf("wrong"), "wrong"},
	} {
		if got := Format(c.v); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	// Large values are cut, so that they are short and fast to format.
	deep := map[string]any{}
	for range 20 {
		deep = map[string]any{"a": deep, "b": make([]int, 1000)}
	}
	if s := Format([]any{deep, deep, make([][100]string, 1000)}); len(s) > 2*maxText || strings.Count(s, "\n") > maxLines {
		t.Errorf("%d bytes, %d lines", len(s), strings.Count(s, "\n"))
	}
}

// TestTreeHTML checks that a value of several lines has HTML that can be
// unfolded, and that its text is escaped.
func TestTreeHTML(t *testing.T) {
	b := Value(map[string][]string{"<b>": {strings.Repeat("a", 50), strings.Repeat("b", 50)}, "c": {"d"}})
	page := fmt.Sprint(b.Data["text/html"])
	if !strings.Contains(page, "<details open>") || strings.Contains(page, "<b>") || !strings.Contains(page, "&lt;b&gt;") {
		t.Error(page)
	}
	page = fmt.Sprint(Value(mat.NewDense(30, 30, nil)).Data["text/html"])
	if strings.Count(page, "<p>") != 1 || !strings.Contains(page, "30 rows, 30 columns") {
		t.Errorf("the caption of a matrix: %s", page[strings.Index(page, "</table>"):])
	}
	page = NewTable([]string{"advice"}, [][]string{{strings.Repeat("more ", 10)}}).HTML()
	if strings.Count(page, "nowrap") != 1 || !strings.Contains(page, "min-width") {
		t.Errorf("a long text does not wrap: %s", page)
	}
	page = fmt.Sprint(Result([]any{[]point{{"a", 1, 1}}, "<b>"}, false).Data["text/html"])
	if !strings.Contains(page, "<table") || !strings.Contains(page, "&lt;b&gt;") || strings.Contains(page, "<pre>") {
		t.Errorf("two values: %s", page)
	}
	if b := Value([]int{1}); len(b.Data) != 1 {
		t.Errorf("a value of one line has %v", b.Data)
	}
}

// TestFrame checks that a frame is shown as a table.
func TestFrame(t *testing.T) {
	f := frame.Frame{}.With("name", []string{"a", "b"}).With("x", []float64{1.5, 20})
	b := Value(f)
	if text := b.Data["text/plain"].(string); !strings.Contains(text, "name     x") || !strings.Contains(text, "20.0") {
		t.Errorf("%q", text)
	}
	if page, _ := b.Data["text/html"].(string); !strings.Contains(page, "<table") {
		t.Errorf("%q", page)
	}
	if b := Value(frame.Frame{}); b.Data["text/plain"] == "" {
		t.Error("no columns: no text")
	}
	if g, err := Rows(f); err != nil || g.CSV() != "name,x\na,1.5\nb,20\n" {
		t.Errorf("%v, %v", g, err)
	}
}
