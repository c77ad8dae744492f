package display

import (
	"fmt"
	"html"
	"reflect"
	"strconv"
	"strings"

	"dace.local/kernel/engine"
)

// Table shows rows under a header. Cells that are numbers are set flush right.
func Table(header []string, rows [][]string) { show(table(header, rows), "") }

// Records shows a slice of structs, or of pointers to structs, as a table: a
// row an element, a column a field. Other values are shown as [Show] does.
func Records(v any) {
	header, rows, ok := records(reflect.ValueOf(v))
	if !ok {
		Show(v)
		return
	}
	Table(header, rows)
}

func records(v reflect.Value) (header []string, rows [][]string, ok bool) {
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return nil, nil, false
	}
	t := v.Type().Elem()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, nil, false
	}
	var fields []int
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			fields = append(fields, i)
			header = append(header, t.Field(i).Name)
		}
	}
	for i := range v.Len() {
		e := v.Index(i)
		for e.Kind() == reflect.Pointer && !e.IsNil() {
			e = e.Elem()
		}
		row := make([]string, len(fields))
		if e.Kind() == reflect.Struct {
			for k, f := range fields {
				row[k] = cellText(e.Field(f))
			}
		}
		rows = append(rows, row)
	}
	return header, rows, true
}

func cellText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'g', 6, 64)
	case reflect.String:
		return v.String()
	}
	return Format(v.Interface())
}

// table draws a table as HTML and as aligned text.
func table(header []string, rows [][]string) engine.Bundle {
	cols := len(header)
	for _, r := range rows {
		cols = max(cols, len(r))
	}
	at := func(r []string, j int) string {
		if j < len(r) {
			return r[j]
		}
		return ""
	}
	width := make([]int, cols)
	numeric := make([]bool, cols)
	for j := range cols {
		width[j] = len([]rune(at(header, j)))
		numeric[j] = len(rows) > 0
		for _, r := range rows {
			s := at(r, j)
			width[j] = max(width[j], len([]rune(s)))
			if _, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64); err != nil && s != "" {
				numeric[j] = false
			}
		}
	}
	var text, page strings.Builder
	line := func(r []string, tag string) {
		page.WriteString("<tr>")
		for j := range cols {
			align := "left"
			pad := strings.Repeat(" ", width[j]-len([]rune(at(r, j))))
			if numeric[j] {
				align = "right"
				text.WriteString(pad + at(r, j))
			} else {
				text.WriteString(at(r, j) + pad)
			}
			if j < cols-1 {
				text.WriteString("  ")
			}
			fmt.Fprintf(&page, `<%s style="text-align:%s;white-space:nowrap">%s</%s>`, tag, align, html.EscapeString(at(r, j)), tag)
		}
		page.WriteString("</tr>\n")
		text.WriteString("\n")
	}
	page.WriteString("<table>\n")
	if len(header) > 0 {
		line(header, "th")
	}
	for _, r := range rows {
		line(r, "td")
	}
	page.WriteString("</table>")
	return engine.Bundle{Data: map[string]any{"text/html": page.String(), "text/plain": strings.TrimRight(text.String(), "\n")}}
}
