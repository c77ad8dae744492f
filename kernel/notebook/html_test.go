package notebook

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func page1(t testing.TB, nb *Notebook, set HTMLSettings) string {
	t.Helper()
	var b strings.Builder
	if err := WriteHTML(&b, nb, set); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHTML(t *testing.T) {
	b, err := os.ReadFile("testdata/same/gallery.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	got := page1(t, mustRead(t, string(b)), HTMLSettings{})
	golden(t, "gallery.html", []byte(got))
	for _, bad := range []string{"http://", "https://", "<link", "<script", "src=\"/", "url("} {
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(got, "https://example.org", ""), "http://www.w3.org/1998/Math/MathML", ""), bad) {
			t.Errorf("the page is not self-contained: %s", bad)
		}
	}
}

// body returns the part of a page that shows the cell, without the fixed parts
// around it.
func body(t testing.TB, c *Cell, set HTMLSettings) string {
	_, rest, _ := strings.Cut(page1(t, &Notebook{Cells: []*Cell{c}}, set), "<main>\n")
	rest, _, _ = strings.Cut(rest, "</main>")
	return rest
}

func TestHTMLCells(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b.png"), []byte("png"), 0o644); err != nil {
		t.Fatal(err)
	}
	md := func(s string) *Cell { return &Cell{Type: Markdown, Source: s} }
	out := func(data map[string]any) *Cell {
		return &Cell{Type: Code, Outputs: []*Output{{Type: Display, Data: data}}}
	}
	for _, c := range []struct {
		name   string
		cell   *Cell
		has    []string
		hasNot []string
	}{
		{"code", &Cell{Type: Code, Source: "if a < b && c {}", Count: 3}, []string{"In&nbsp;[3]", `<span class="k">if</span> a &lt; b &amp;&amp; c {}`}, nil},
		{"broken code", &Cell{Type: Code, Source: "x := \"a\n`b\r\n'</pre>\x00"}, []string{"&lt;/pre&gt;"}, []string{"</pre>\x00"}},
		{"hidden source", &Cell{Type: Code, Source: "secret", Metadata: map[string]any{"jupyter": map[string]any{"source_hidden": true}}}, nil, []string{"secret"}},
		{"hidden output", &Cell{Type: Code, Source: "x", Outputs: []*Output{{Type: Stream, Text: "secret"}}, Metadata: map[string]any{"jupyter": map[string]any{"outputs_hidden": true}}}, nil, []string{"secret"}},
		{"stream", &Cell{Type: Code, Outputs: []*Output{{Type: Stream, Name: "stderr", Text: "10%\r<b>\n"}}}, []string{`<pre class="stream stderr">&lt;b&gt;</pre>`}, []string{"10%"}},
		{"error without traceback", &Cell{Type: Code, Outputs: []*Output{{Type: Failure, ErrorName: "E", ErrorValue: "v"}}}, []string{`<pre class="error">E: v</pre>`}, nil},
		{"html first", out(map[string]any{"text/html": "<b>x</b>", "image/png": "AA", "text/plain": "p"}), []string{"<b>x</b>"}, []string{"base64", ">p<"}},
		{"svg as an image", out(map[string]any{"image/svg+xml": "<svg/>", "text/plain": "a \"figure\""}), []string{`<img src="data:image/svg+xml;base64,PHN2Zy8+" alt="a &#34;figure&#34;">`}, nil},
		{"png before text", out(map[string]any{"image/png": "AA\nBB\n", "text/markdown": "m"}), []string{"base64,AABB"}, nil},
		{"markdown", out(map[string]any{"text/markdown": "*m*"}), []string{"<em>m</em>"}, nil},
		{"json", out(map[string]any{"application/json": []any{"<"}}), []string{"[\n  &#34;&lt;&#34;\n]"}, nil},
		{"unknown type", out(map[string]any{"application/x": "1"}), []string{"(application/x)"}, nil},
		{"attachment", &Cell{Type: Markdown, Source: "![x](attachment:a%20b.png)", Attachments: map[string]any{"a b.png": map[string]any{"image/png": "AA=="}}}, []string{"data:image/png;base64,AA=="}, nil},
		{"file", md("![x](a%20b.png)"), []string{"data:image/png;base64,cG5n"}, nil},
		{"file outside", md("![x](../a.png) ![y](/etc/x.png)"), []string{`src="../a.png"`, `src="/etc/x.png"`}, nil},
		{"raw HTML", md("<details><summary>s</summary>\n\n*x*\n</details>"), []string{"<details>", "<em>x</em>"}, nil},
		{"heading", md("# A *b* c\n# A *b* c"), []string{`id="A-b-c"`, `id="A-b-c-1"`}, nil},
		{"raw cell", &Cell{Type: Raw, Source: "<i>no</i>"}, nil, []string{"no"}},
		{"raw HTML cell", &Cell{Type: Raw, Source: "<i>yes</i>", Metadata: map[string]any{"format": "text/html"}}, []string{"<i>yes</i>"}, nil},
		{"money", md("It costs $5 and $6, or $ 7 $."), []string{"It costs $5 and $6, or $ 7 $."}, nil},
		{"no math in code", md("`$a$`\n\n    $b$\n"), []string{"<code>$a$</code>", "$b$"}, []string{`class="math`}},
		{"math block", md("$$\n\\foo\n- b\n$$\nafter"), []string{`class="math display"`, "\\foo\n- b", "<p>after</p>"}, []string{"<li>"}},
		{"open block", md("$$ a\n\nb"), []string{"<p>$$ a</p>", "<p>b</p>"}, nil},
		{"escaped dollar", md(`\$a$ and b$`), []string{"$a$ and b$"}, []string{`class="math`}},
	} {
		got := body(t, c.cell, HTMLSettings{Dir: dir})
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %s in\n%s", c.name, s, got)
			}
		}
		for _, s := range c.hasNot {
			if strings.Contains(got, s) {
				t.Errorf("%s: %s in\n%s", c.name, s, got)
			}
		}
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct {
		nb   *Notebook
		want string
	}{
		{&Notebook{Cells: []*Cell{{Type: Code, Source: "# no"}, {Type: Markdown, Source: "text\n\n## A *b* `c` & <i>d</i>\n# e"}}}, "A b c &amp; d"},
		{&Notebook{Metadata: map[string]any{"title": "T"}, Cells: []*Cell{{Type: Markdown, Source: "# x"}}}, "T"},
		{&Notebook{}, "file &lt;x&gt;"},
	} {
		if got := page1(t, c.nb, HTMLSettings{Title: "file <x>"}); !strings.Contains(got, "<title>"+c.want+"</title>") {
			t.Errorf("no title %s in %s", c.want, got[:200])
		}
	}
}

func TestANSI(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a<b", "a&lt;b"},
		{"\x1b[31mr\x1b[0mx", `<span class="fg-1">r</span>x`},
		{"\x1b[1;4;92mr\x1b[22;24mx\x1b[my", `<span class="bold underline fg-10">r</span><span class="fg-10">x</span>y`},
		{"\x1b[38;5;196mr\x1b[48;2;1;2;300mx\x1b[39;49my", `<span style="color:#ff0000">r</span><span style="color:#ff0000;background-color:#0102ff">x</span>y`},
		{"\x1b[38;5;3ma\x1b[38;5;240mb", `<span class="fg-3">a</span><span style="color:#585858">b</span>`},
		{"\x1b[2K\x1b[1Ax", "x"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"},
		{"\x1b", ""}, {"\x1b[", ""}, {"\x1b[38;5", ""}, {"\x1b[38m\x1b[38;5mx", `<span class="fg-0">x</span>`}, {"\x1b]x", ""},
	} {
		var b strings.Builder
		w := bufio.NewWriter(&b)
		writeANSI(w, c.in)
		w.Flush()
		if b.String() != c.want {
			t.Errorf("%q: %s, want %s", c.in, b.String(), c.want)
		}
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("$a$ \\begin{x} $$\nb", "x := `", "\x1b[38;5;1m\x1b]")
	f.Add(`\frac{a}{b_{c}^d} $\left(\sqrt[3]{x}\right]$`, "%%compile\n", "a\rb\n")
	f.Fuzz(func(t *testing.T, text, code, output string) {
		nb := &Notebook{Cells: []*Cell{{Type: Markdown, Source: text}, {Type: Code, Source: code, Outputs: []*Output{
			{Type: Stream, Text: output}, {Type: Result, Data: map[string]any{"text/latex": text}}}}}}
		page1(t, nb, HTMLSettings{})
	})
}

// A page shows the widgets' state at the time when the notebook was saved.
func TestHTMLWidgets(t *testing.T) {
	nb := mustRead(t, `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"widgets": {"application/vnd.jupyter.widget-state+json": {"version_major": 2, "version_minor": 0, "state": {
		"box": {"model_name": "VBoxModel", "state": {"children": ["IPY_MODEL_k", "IPY_MODEL_which", "IPY_MODEL_range", "IPY_MODEL_html", "IPY_MODEL_out", "IPY_MODEL_go", "IPY_MODEL_box", "IPY_MODEL_k", "IPY_MODEL_gone"]}},
		"k": {"model_name": "IntSliderModel", "state": {"description": "k<", "value": 5}},
		"which": {"model_name": "DropdownModel", "state": {"description": "which", "_options_labels": ["a", "b"], "index": 1}},
		"range": {"model_name": "IntRangeSliderModel", "state": {"value": [3, 4]}},
		"html": {"model_name": "HTMLModel", "state": {"value": "<b>bold</b>"}},
		"go": {"model_name": "ButtonModel", "state": {"description": "go"}},
		"out": {"model_name": "OutputModel", "state": {"outputs": [
			{"output_type": "stream", "name": "stdout", "text": "drawn\n"},
			{"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<figure>"}, "metadata": {"image/png": {"width": 567}}},
			{"output_type": "error", "ename": "panic", "evalue": "x", "traceback": ["In[1]:2: oh"]}, 3]}}
	}}}}, "cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1, "outputs": [
		{"output_type": "display_data", "metadata": {}, "data": {"application/vnd.jupyter.widget-view+json": {"model_id": "box"}, "text/plain": "install the manager"}},
		{"output_type": "display_data", "metadata": {}, "data": {"application/vnd.jupyter.widget-view+json": {"model_id": "unknown"}, "text/plain": "as text"}}]}]}`)
	got := page1(t, nb, HTMLSettings{})
	for _, want := range []string{"k&lt;: 5<", ">which: b<", ">3 to 4<", "<b>bold</b>", ">drawn<", "base64,AAAA", "width=\"567\"", "In[1]:2: oh", "as text"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Count(got, "k&lt;") != 1 || strings.Contains(got, "install the manager") {
		t.Error("the page shows a widget twice, or says what to install")
	}
}
