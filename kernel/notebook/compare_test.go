package notebook_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"dace.local/kernel/notebook"
)

// square returns a picture of 100 x 100 pixels, n of which are black.
func square(t *testing.T, n int) string {
	t.Helper()
	p := image.NewRGBA(image.Rect(0, 0, 100, 100))
	for i := range 100 * 100 {
		p.Set(i%100, i/100, color.White)
		if i < n {
			p.Set(i%100, i/100, color.Black)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestCompare(t *testing.T) {
	text := func(s string) []*notebook.Output {
		return []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: s}}
	}
	shown := func(mime, s string) []*notebook.Output {
		return []*notebook.Output{{Type: notebook.Display, Data: map[string]any{mime: s, "text/plain": "<figure>"}}}
	}
	table := func(plain, html string) []*notebook.Output {
		return []*notebook.Output{{Type: notebook.Result, Data: map[string]any{"text/plain": plain, "text/html": html}}}
	}
	bar := func(s string) *notebook.Output {
		return &notebook.Output{Type: notebook.Display, Data: map[string]any{"text/plain": s}, Metadata: map[string]any{notebook.Progress: true}}
	}
	for _, c := range []struct {
		name   string
		a, b   []*notebook.Output
		set    notebook.CompareSettings
		differ string // "" if they do not differ
	}{
		{name: "same", a: text("1\n2\n"), b: text("1\n2\n")},
		{name: "pieces", a: text("1\n2\n"), b: append(text("1\n"), text("2\n")...)},
		{name: "word", a: text("wins"), b: text("loses"), differ: "line 1 differs\n    was wins\n    is  loses"},
		{name: "second line", a: text("a\nb 3\n"), b: text("a\nb 4\n"), differ: "line 2: 3 is now 4, 25 % apart"},
		{name: "count", a: text("30 of 30"), b: text("29 of 30"), differ: "30 is now 29"},
		{name: "thousands", a: text("1,000 runs"), b: text("1,001 runs"), set: notebook.CompareSettings{Tolerance: 0.01}},
		{name: "thousands apart", a: text("1,000 runs"), b: text("1,100 runs"), set: notebook.CompareSettings{Tolerance: 0.01}, differ: "1,000 is now 1,100"},
		{name: "last digit", a: text("mean 1.0523"), b: text("mean 1.0524")},
		{name: "two in the last digit", a: text("mean 1.0523"), b: text("mean 1.0525"), differ: "1.0523 is now 1.0525"},
		{name: "exponent", a: text("loss 4.9e-05"), b: text("loss 5.0e-05")},
		{name: "exponents apart", a: text("loss 4.9e-05"), b: text("loss 4.9e-03"), differ: "apart"},
		{name: "sign", a: text("-1.5"), b: text("1.5"), differ: "line 1 differs"},
		{name: "within", a: text("mean 1.05"), b: text("mean 1.08"), set: notebook.CompareSettings{Tolerance: 0.05}},
		{name: "durations", a: text("12 cells in 3.2 s, 12/s, 1 min 4 s, 41m44s"), b: text("12 cells in 940 ms, 3,100/s, 59 s, 1.5s")},
		{name: "duration", a: text("trained in 3.2 s at 12/s"), b: text("trained in 11 s at 3,100/s")},
		{name: "not a duration", a: text("d = 30"), b: text("d = 40"), differ: "30 is now 40"},
		{name: "line missing", a: text("1\n2"), b: text("1"), differ: `line 2 is missing: "2"`},
		{name: "line more", a: text("1"), b: text("1\n2"), differ: `there is a line more: "2"`},
		{name: "stderr", a: text("1"), b: []*notebook.Output{{Type: notebook.Stream, Name: "stderr", Text: "1"}}, differ: `was stdout "1", is stderr "1"`},
		{name: "output missing", a: text("1"), differ: `an output is missing: stdout "1"`},
		{name: "output more", b: text("1"), differ: `there is an output more: stdout "1"`},
		{name: "error", a: text("1"), b: []*notebook.Output{{Type: notebook.Failure, ErrorName: "Panic", ErrorValue: "no"}}, differ: "is Panic: no"},
		{name: "bar", a: append([]*notebook.Output{bar("1/2")}, text("1")...), b: text("1")},
		{name: "wider numbers", a: table("a   1\nb  10", "x"), b: table("a  1\nb  9.99", "y"), set: notebook.CompareSettings{Tolerance: 0.01}},
		{name: "table", a: table("a  1.5\nb  2.5", "x"), b: table("a  1.5\nb  3.5", "x"), differ: "line 2: 2.5 is now 3.5"},
		{name: "svg", a: shown("image/svg+xml", "<path d='1.50'/>"), b: shown("image/svg+xml", "<path d='9.50'/>"), differ: "the figure differs: line 1: 1.50 is now 9.50"},
		{name: "picture", a: shown("image/png", square(t, 100)), b: shown("image/png", square(t, 110)), differ: "the figure differs in 0.1 % of its pixels"},
		{name: "picture within", a: shown("image/png", square(t, 100)), b: shown("image/png", square(t, 110)), set: notebook.CompareSettings{Pixels: 0.01}},
		{name: "figure missing", a: shown("image/png", square(t, 1)), b: shown("x/y", ""), differ: "a figure is missing"},
		{name: "broken figure", a: shown("image/png", "AAAA"), b: shown("image/png", square(t, 1)), differ: "the stored figure cannot be read"},
	} {
		book := func(o []*notebook.Output) *notebook.Notebook {
			return &notebook.Notebook{Cells: []*notebook.Cell{
				{ID: "m", Type: notebook.Markdown, Source: "text"},
				{ID: "c", Type: notebook.Code, Source: "f()\ng()", Count: 1, Outputs: o},
			}}
		}
		got := notebook.Compare(book(c.a), book(c.b), c.set)
		switch {
		case c.differ == "" && len(got) > 0:
			t.Errorf("%s: %v", c.name, got)
		case c.differ != "" && (len(got) != 1 || !strings.Contains(got[0].String(), c.differ) || !strings.HasPrefix(got[0].String(), "cell 1 (f()): ")):
			t.Errorf("%s: %v, want %q", c.name, got, c.differ)
		}
	}
}

// Cells that are tagged are not compared; a cell that was never run, or that is
// gone, is a difference.
func TestCompareCells(t *testing.T) {
	cell := func(id string, count int, out string, tags ...any) *notebook.Cell {
		return &notebook.Cell{
			ID: id, Type: notebook.Code, Source: id, Count: count, Metadata: map[string]any{"tags": tags},
			Outputs: []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: out}},
		}
	}
	stored := &notebook.Notebook{Cells: []*notebook.Cell{
		cell("a", 1, "1", notebook.Ignored), cell("b", 0, ""), cell("c", 2, "1"), cell("d", 3, "1", "skip-execution"), cell("e", 4, "1"),
	}}
	again := &notebook.Notebook{Cells: []*notebook.Cell{cell("a", 1, "2"), cell("b", 1, ""), cell("e", 2, "2")}}
	got := notebook.Compare(stored, again, notebook.CompareSettings{})
	want := []string{"cell 2 (b): it has never been run", "cell 3 (c): it is not in", "cell 5 (e): line 1: 1 is now 2"}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i].String(), w) {
			t.Errorf("%v, want %q", got[i], w)
		}
	}
}
