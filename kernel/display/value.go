package display

import (
	"fmt"
	"html"
	"image"
	"reflect"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"

	"dace.local/kernel/engine"
)

// The methods by which a type of one's own says how it is shown.
type (
	// An HTMLer is shown as HTML.
	HTMLer interface{ HTML() string }
	// A Markdowner is shown as Markdown.
	Markdowner interface{ Markdown() string }
	// An SVGer is shown as an SVG picture.
	SVGer interface{ SVG() string }
	// A PNGer is shown as a PNG picture.
	PNGer interface{ PNG() []byte }
	// A MimeBundler gives its formats itself, by MIME type.
	MimeBundler interface{ MimeBundle() map[string]any }
)

// Value returns what a value is shown as: its own formats where its type has
// a method for them, a picture for a plot or an image, a table for a matrix,
// and always plain text.
func Value(v any) engine.Bundle {
	b := engine.Bundle{Data: map[string]any{}}
	switch x := v.(type) {
	case nil:
		return engine.Text("<nil>")
	case engine.Bundle:
		return x
	case MimeBundler:
		for k, d := range x.MimeBundle() {
			b.Data[k] = d
		}
	case HTMLer:
		b.Data["text/html"] = x.HTML()
	case Markdowner:
		b.Data["text/markdown"] = x.Markdown()
	case SVGer:
		b.Data["image/svg+xml"] = x.SVG()
	case PNGer:
		b = pngBundle(x.PNG(), 1)
	case *plot.Plot:
		if x != nil {
			return figure(x, 0, 0)
		}
	case image.Image:
		if rv := reflect.ValueOf(x); rv.Kind() != reflect.Pointer || !rv.IsNil() {
			return imageBundle(x)
		}
	case mat.Matrix:
		if rv := reflect.ValueOf(x); rv.Kind() != reflect.Pointer || !rv.IsNil() {
			return matrix(x)
		}
	}
	if _, ok := b.Data["text/plain"]; !ok {
		b.Data["text/plain"] = Format(v)
	}
	return b
}

// Result returns what the values of a cell's last expression are shown as.
// Where the last of several is an error, a nil one is left out.
func Result(vs []any, errorLast bool) engine.Bundle {
	if n := len(vs); n > 1 && errorLast && isNil(vs[n-1]) {
		vs = vs[:n-1]
	}
	switch len(vs) {
	case 0:
		return engine.Bundle{}
	case 1:
		return Value(vs[0])
	}
	var texts []string
	var rich []string
	anyRich := false
	for _, v := range vs {
		b := Value(v)
		text, _ := b.Data["text/plain"].(string)
		texts = append(texts, text)
		switch {
		case b.Data["text/html"] != nil:
			rich, anyRich = append(rich, fmt.Sprint(b.Data["text/html"])), true
		case b.Data["image/png"] != nil:
			rich, anyRich = append(rich, fmt.Sprintf(`<img src="data:image/png;base64,%s">`, b.Data["image/png"])), true
		default:
			rich = append(rich, "<pre>"+html.EscapeString(text)+"</pre>")
		}
	}
	out := engine.Text(strings.Join(texts, ", "))
	if strings.Contains(out.Data["text/plain"].(string), "\n") {
		out = engine.Text(strings.Join(texts, "\n"))
	}
	if anyRich {
		out.Data["text/html"] = strings.Join(rich, "\n")
	}
	return out
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return rv.IsNil()
	}
	return false
}

// matrix shows a matrix as a table, its middle left out when it is large.
func matrix(m mat.Matrix) engine.Bundle {
	r, c := m.Dims()
	text := fmt.Sprintf("%d x %d\n%.6g", r, c, mat.Formatted(m, mat.Excerpt(excerpt(r, c))))
	var b strings.Builder
	b.WriteString("<table>")
	rows, cols := shown(r), shown(c)
	for _, i := range rows {
		b.WriteString("<tr>")
		for _, j := range cols {
			switch {
			case i < 0 || j < 0:
				b.WriteString("<td>…</td>")
			default:
				fmt.Fprintf(&b, `<td style="text-align:right">%.6g</td>`, m.At(i, j))
			}
		}
		b.WriteString("</tr>")
	}
	fmt.Fprintf(&b, "</table><p>%d × %d</p>", r, c)
	return engine.Bundle{Data: map[string]any{"text/plain": text, "text/html": b.String()}}
}

const most = 20 // rows or columns of a matrix or table that are shown whole

func excerpt(r, c int) int {
	if r > most || c > most {
		return most / 2
	}
	return 0
}

// shown returns the indices to show of n, -1 for what is left out.
func shown(n int) []int {
	var l []int
	for i := range n {
		if n > most && i == most/2 {
			l = append(l, -1)
		}
		if n <= most || i < most/2 || i >= n-most/2 {
			l = append(l, i)
		}
	}
	return l
}
