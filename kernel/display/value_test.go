package display

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"image"
	"image/png"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"

	"dace.local/dacelib/frame"
	"dace.local/kernel/engine"
)

type (
	drawnAs   string // an HTMLer and others
	gophers   struct{}
	rendered  struct{}
	bundled   struct{}
	marked    struct{}
	pictured  struct{}
	vectorial struct{}
)

func (d drawnAs) HTML() string             { return string(d) }
func (gophers) Render() Data               { return Data{Data: MIMEMap{"text/html": "x"}} }
func (rendered) SimpleRender() MIMEMap     { return MIMEMap{"text/html": "x"} }
func (bundled) MimeBundle() map[string]any { return map[string]any{"text/html": "x"} }
func (marked) Markdown() string            { return "x" }
func (vectorial) SVG() string              { return "<svg/>" }
func (pictured) PNG() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1)))
	return b.Bytes()
}

// TestCases shows an example of each case of Value: all have a text, for front ends
// that can show nothing else, and the format that the case is for.
func TestCases(t *testing.T) {
	table, err := frame.Of([]struct{ N int }{{1}})
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]struct {
		v      any
		format string
	}{
		"nil":            {nil, "text/plain"},
		"engine.Bundle":  {engine.Text("x"), "text/plain"},
		"Shown":          {Shown{}, ""},
		"Data":           {Data{Data: MIMEMap{"text/html": "x"}}, "text/html"},
		"Renderer":       {gophers{}, "text/html"},
		"SimpleRenderer": {rendered{}, "text/html"},
		"MimeBundler":    {bundled{}, "text/html"},
		"HTMLer":         {drawnAs("x"), "text/html"},
		"Markdowner":     {marked{}, "text/markdown"},
		"SVGer":          {vectorial{}, "image/svg+xml"},
		"PNGer":          {pictured{}, "image/png"},
		"*plot.Plot":     {plot.New(), "image/png"},
		"image.Image":    {image.NewGray(image.Rect(0, 0, 1, 1)), "image/png"},
		"frame.Frame":    {table, "text/html"},
		"mat.Matrix":     {mat.NewDense(1, 1, nil), "text/html"},
	}
	f, err := parser.ParseFile(token.NewFileSet(), "value.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(f, func(n ast.Node) bool {
		fn, ok := n.(*ast.FuncDecl)
		if ok && fn.Name.Name != "Value" {
			return false
		}
		clause, ok := n.(*ast.CaseClause)
		if !ok {
			return true
		}
		for _, e := range clause.List {
			found++
			name := types.ExprString(e)
			x, ok := examples[name]
			if !ok {
				t.Errorf("Value has a case for %s: add an example of it to examples in value_test.go", name)
				continue
			}
			data := Value(x.v).Data
			if x.format != "" && (data[x.format] == nil || data["text/plain"] == nil) {
				t.Errorf("%s is shown as %v: it must have %s and text/plain", name, data, x.format)
			}
		}
		return true
	})
	if found != len(examples) {
		t.Errorf("Value has %d cases, and there are %d examples", found, len(examples))
	}
}
