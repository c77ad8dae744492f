package display

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"dace.local/kernel/engine"
)

// VegaLite shows a Vega-Lite chart. The specification is JSON text, or any value
// that encodes to it. JupyterLab draws the chart; other front ends show a text.
func VegaLite(spec any) {
	show(chart(spec, "Vega-Lite chart", func(m map[string]any) (mimeType, advice string) {
		version := "5"
		schema, _ := m["$schema"].(string)
		if v := vegaLite.FindStringSubmatch(schema); v != nil && (v[1] == "3" || v[1] == "4") {
			version = v[1]
		} else if schema == "" {
			m["$schema"] = "https://vega.github.io/schema/vega-lite/v5.json"
		}
		return "application/vnd.vegalite.v" + version + "+json", ""
	}), "")
}

// vegaLite matches the version in a specification's $schema.
var vegaLite = regexp.MustCompile(`vega-lite/v(\d)`)

// Plotly shows a Plotly figure. The specification is an object with data and
// layout, or only the list of traces, as JSON text or any value that encodes to
// it. A front end with Plotly's extension draws the figure; others show a text.
func Plotly(spec any) {
	show(chart(spec, "Plotly figure", func(m map[string]any) (mimeType, advice string) {
		if m["layout"] == nil {
			m["layout"] = map[string]any{}
		}
		return "application/vnd.plotly.v1+json", " (JupyterLab draws it with Plotly's extension: pip install plotly, and load the page again)"
	}), "")
}

// chart returns the bundle of a specification; kind returns the MIME type of one, which
// it may complete, and what to do where a text stands in its place.
func chart(spec any, name string, kind func(map[string]any) (mimeType, advice string)) engine.Bundle {
	v, err := decoded(spec)
	if err != nil {
		return engine.Text(name + ": " + err.Error())
	}
	if list, ok := v.([]any); ok && name == "Plotly figure" {
		v = map[string]any{"data": list}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return engine.Text(fmt.Sprintf("%s: its specification must be a JSON object, not %.60s", name, fmt.Sprint(v)))
	}
	mimeType, advice := kind(m)
	return mime(mimeType, m, "<"+name+title(m)+">"+advice)
}

// title returns ": " and the title of a chart, or "" if it has none.
func title(m map[string]any) string {
	layout, _ := m["layout"].(map[string]any)
	for _, t := range []any{m["title"], m["description"], layout["title"]} {
		if inner, ok := t.(map[string]any); ok {
			t = inner["text"]
		}
		if s, ok := t.(string); ok && s != "" {
			return ": " + s
		}
	}
	return ""
}

// isJSON reports whether data of a type is a JSON value.
func isJSON(mimeType string) bool {
	return mimeType == "application/json" || strings.HasSuffix(mimeType, "+json")
}

// decoded returns a JSON value as maps, slices and numbers. v is JSON text
// (string, []byte or json.RawMessage) or any value that encodes to JSON.
func decoded(v any) (any, error) {
	var text []byte
	switch x := v.(type) {
	case string:
		text = []byte(x)
	case []byte:
		text = x
	case json.RawMessage:
		text = x
	default:
		var err error
		if text, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // keeps numbers as they are written
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("this is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("this is not JSON: more follows after the value")
	}
	return out, nil
}
