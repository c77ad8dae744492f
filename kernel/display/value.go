package display

import (
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"reflect"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"

	"dace.local/dacelib/frame"
	"dace.local/kernel/engine"
)

// Interfaces of types that define how they are shown.
type (
	// An HTMLer is shown as HTML.
	HTMLer interface{ HTML() string }
	// A Markdowner is shown as Markdown.
	Markdowner interface{ Markdown() string }
	// An SVGer is shown as an SVG picture.
	SVGer interface{ SVG() string }
	// A PNGer is shown as a PNG picture.
	PNGer interface{ PNG() []byte }
	// A MimeBundler is shown in the formats that it returns, by MIME type.
	MimeBundler interface{ MimeBundle() map[string]any }
	// A SimpleRenderer is a MimeBundler of gophernotes.
	SimpleRenderer interface{ SimpleRender() MIMEMap }
	// A Renderer is gophernotes' interface of types that define how they are
	// shown.
	Renderer interface{ Render() Data }
)

// A MIMEMap maps MIME types to data. It and Data are gophernotes' types.
type MIMEMap = map[string]any

// Data is a value as it is shown. Transient is ignored.
type Data = struct {
	Data      MIMEMap
	Metadata  MIMEMap
	Transient MIMEMap
}

// MIME types by their names in gophernotes.
const (
	MIMETypeHTML       = "text/html"
	MIMETypeJavaScript = "application/javascript"
	MIMETypeJPEG       = "image/jpeg"
	MIMETypeJSON       = "application/json"
	MIMETypeLatex      = "text/latex"
	MIMETypeMarkdown   = "text/markdown"
	MIMETypePNG        = "image/png"
	MIMETypePDF        = "application/pdf"
	MIMETypeSVG        = "image/svg+xml"
	MIMETypeText       = "text/plain"
)

// bundleOf returns a bundle of what a type's own method returns: texts of JSON
// are decoded, bytes are encoded in base64.
func bundleOf(data, metadata MIMEMap) engine.Bundle {
	b := engine.Bundle{Data: map[string]any{}, Metadata: metadata}
	for k, d := range data {
		switch x := d.(type) {
		case string:
			if isJSON(k) {
				if v, err := decoded(x); err == nil {
					d = v
				}
			}
		case []byte:
			d = base64.StdEncoding.EncodeToString(x)
		}
		b.Data[k] = d
	}
	return b
}

// Value returns the bundle that shows a value: the value's own formats if its
// type has a method for them, a picture for a plot or an image, a table for a
// matrix, and always plain text.
func Value(v any) engine.Bundle {
	b := engine.Bundle{Data: map[string]any{}}
	switch x := v.(type) {
	case nil:
		return engine.Text("<nil>")
	case engine.Bundle:
		return x
	case Shown:
		return engine.Bundle{}
	case Data:
		b = bundleOf(x.Data, x.Metadata)
	case Renderer:
		d := x.Render()
		b = bundleOf(d.Data, d.Metadata)
	case SimpleRenderer:
		b = bundleOf(x.SimpleRender(), nil)
	case MimeBundler:
		b = bundleOf(x.MimeBundle(), nil)
	case HTMLer:
		b.Data["text/html"] = x.HTML()
	case Markdowner:
		b.Data["text/markdown"] = x.Markdown()
	case SVGer:
		b = svgBundle(x.SVG())
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
	case frame.Frame:
		if len(x.Names()) > 0 {
			return frameGrid(x).bundle()
		}
	case mat.Matrix:
		if rv := reflect.ValueOf(x); rv.Kind() != reflect.Pointer || !rv.IsNil() {
			return matrix(x)
		}
	}
	if len(b.Data) == 0 {
		return generic(v)
	}
	if _, ok := b.Data["text/plain"]; !ok {
		text := Format(v)
		if s := summary(reflect.ValueOf(v)); s != nil {
			text = s.plain()
		}
		b.Data["text/plain"] = text
	}
	return b
}

// generic returns the bundle of a value without formats of its own: rows are a
// table, results and settings of dacelib a summary, and other values Go syntax,
// as HTML that can be unfolded if it takes several lines.
func generic(v any) engine.Bundle {
	rv := reflect.ValueOf(v)
	if s := summary(rv); s != nil {
		return s.bundle()
	}
	text, has := own(rv)
	if !has {
		if g := gridOf(v); g != nil {
			if ofLibrary(rv) {
				g.most = summaryLines - 4 // the header, the row for omitted rows, the caption
			}
			return g.bundle()
		}
		text = Format(v)
	}
	if ofLibrary(rv) {
		text = clip(strings.Split(text, "\n"))
	}
	line := ""
	if !has {
		line = distribution(rv)
	}
	b := engine.Text(text + line)
	if !has && (strings.Contains(text, "\n") || strings.Contains(text, "(…)")) && rv.Kind() != reflect.String {
		b.Data["text/html"] = treeHTML(rv)
		if line != "" {
			b.Data["text/html"] = treeHTML(rv) + code + `white-space:pre">` + html.EscapeString(strings.TrimPrefix(line, "\n")) + "</div>"
		}
	}
	return b
}

// Result returns the bundle that shows the values of a cell's last expression.
// If the last of several is an error and nil, it is omitted.
func Result(vs []any, errorLast bool) engine.Bundle {
	if n := len(vs); n > 1 && errorLast && isNil(vs[n-1]) {
		vs = vs[:n-1]
	}
	switch len(vs) {
	case 0:
		return engine.Bundle{}
	case 1:
		return shownLive(vs[0])
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
			rich = append(rich, textHTML(text))
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

// matrix returns a matrix as a table, without its middle if it is large.
func matrix(m mat.Matrix) engine.Bundle {
	r, c := m.Dims()
	excerpt := 0
	if r > mostRows || c > mostColumns {
		excerpt = mostRows / 2
	}
	text := fmt.Sprintf("%d x %d\n%.6g", r, c, mat.Formatted(m, mat.Excerpt(excerpt)))
	page := gridOf(m).HTML()
	if excerpt == 0 { // otherwise there is a caption
		page += fmt.Sprintf("\n<p>%d × %d</p>", r, c)
	}
	return engine.Bundle{Data: map[string]any{"text/plain": text, "text/html": page}}
}
