package notebook

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/scanner"
	"go/token"
	"html"
	"io"
	"maps"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed style.css
var style string

// HTMLSettings says how WriteHTML makes a page.
type HTMLSettings struct {
	// Title is used where the notebook has no heading.
	Title string
	// Dir is the notebook's folder: images that Markdown cells refer to by a
	// relative path are read from it and put into the page. Where it is empty
	// they stay references.
	Dir string
}

// WriteHTML writes the notebook as one page that needs nothing else: style,
// images and attachments are in it. HTML in Markdown cells and outputs is
// passed through as Jupyter does, so a page is as trustworthy as its notebook.
// Formulas are set as MathML; TeX that is not understood stays readable TeX.
func WriteHTML(w io.Writer, nb *Notebook, set HTMLSettings) error {
	p := &page{w: bufio.NewWriterSize(w, 1<<16), nb: nb, set: set}
	p.md = newMarkdown(p)
	title := nb.title()
	if title == "" {
		title = set.Title
	}
	p.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>", html.EscapeString(title),
		"</title>\n<style>\n", style, "</style>\n</head>\n<body>\n<main>\n")
	for _, c := range nb.Cells {
		p.cell(c)
	}
	p.put("</main>\n</body>\n</html>\n")
	return p.w.Flush()
}

// A page is being written; errors of the writer stick in w.
type page struct {
	w   *bufio.Writer
	nb  *Notebook
	set HTMLSettings
	md  *markdown
	// attachments are those of the Markdown cell being written.
	attachments map[string]any
}

func (p *page) put(parts ...string) {
	for _, s := range parts {
		p.w.WriteString(s)
	}
}

// title is the notebook's own, or its first heading.
func (nb *Notebook) title() string {
	if t := textAt(nb.Metadata, "title"); t != "" {
		return t
	}
	for _, c := range nb.Cells {
		if c.Type == Markdown {
			if t := firstHeading(c.Source); t != "" {
				return t
			}
		}
	}
	return ""
}

func (p *page) cell(c *Cell) {
	id := html.EscapeString(c.ID)
	switch c.Type {
	case Markdown:
		p.attachments = c.Attachments
		p.put("<section class=\"cell text\" id=\"cell-", id, "\">\n")
		p.md.write(p.w, c.Source)
		p.put("</section>\n")
		p.attachments = nil
	case Raw:
		// Raw cells are for one format each; those for HTML belong here.
		format := textAt(c.Metadata, "format")
		if format == "" {
			format = textAt(c.Metadata, "raw_mimetype")
		}
		if format == "text/html" {
			p.put("<section class=\"cell text\">\n", c.Source, "\n</section>\n")
		}
	case Code:
		p.code(c, id)
	}
}

func (p *page) code(c *Cell, id string) {
	hidden, _ := jupyterFlag(c, "source_hidden")
	noOutput, _ := jupyterFlag(c, "outputs_hidden")
	if strings.TrimSpace(c.Source) == "" && len(c.Outputs) == 0 {
		return
	}
	p.put("<section class=\"cell code\" id=\"cell-", id, "\">\n")
	if !hidden {
		prompt := " "
		if c.Count > 0 {
			prompt = fmt.Sprint(c.Count)
		}
		p.put("<div class=\"prompt\">In&nbsp;[", prompt, "]</div>\n<pre class=\"source\"><code>")
		if lang := p.nb.Language(); lang == "" || lang == "go" {
			highlight(p.w, c.Source)
		} else {
			p.put(html.EscapeString(c.Source))
		}
		p.put("</code></pre>\n")
	}
	if !noOutput {
		for _, o := range c.Outputs {
			p.output(o)
		}
	}
	p.put("</section>\n")
}

// jupyterFlag returns a truth value of the cell's metadata.jupyter.
func jupyterFlag(c *Cell, key string) (value, ok bool) {
	m, _ := c.Metadata["jupyter"].(map[string]any)
	value, ok = m[key].(bool)
	return value, ok
}

// longOutput is the number of lines from which text scrolls in a box.
const longOutput = 40

func (p *page) output(o *Output) {
	switch o.Type {
	case Stream:
		p.put("<div class=\"prompt\"></div>\n")
		class := "stream"
		if o.Name == "stderr" {
			class += " stderr"
		}
		p.pre(class, settle(o.Text))
	case Failure:
		p.put("<div class=\"prompt\"></div>\n")
		trace := strings.Join(o.Traceback, "\n")
		if strings.TrimSpace(trace) == "" {
			trace = strings.Trim(o.ErrorName+": "+o.ErrorValue, ": ")
		}
		p.pre("error", trace)
	case Display, Result:
		prompt := ""
		if o.Type == Result && o.Count > 0 {
			prompt = fmt.Sprintf("Out&nbsp;[%d]", o.Count)
		}
		p.put("<div class=\"prompt out\">", prompt, "</div>\n")
		p.bundle(o.Data, o.Metadata)
	}
}

func (p *page) pre(class, text string) {
	if strings.Count(text, "\n") > longOutput {
		class += " long"
	}
	p.put("<pre class=\"", class, "\">")
	writeANSI(p.w, strings.TrimSuffix(text, "\n"))
	p.put("</pre>\n")
}

// bundle writes the richest format that a page can show.
func (p *page) bundle(data, meta map[string]any) {
	str := func(mime string) (string, bool) {
		s, ok := data[mime].(string)
		return s, ok
	}
	p.put("<div class=\"output\">")
	defer p.put("</div>\n")
	if s, ok := str("text/html"); ok {
		p.put("<div class=\"rich\">", s, "</div>")
		return
	}
	if s, ok := str("image/svg+xml"); ok {
		p.image("image/svg+xml", base64.StdEncoding.EncodeToString([]byte(s)), meta, data)
		return
	}
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		if s, ok := str(mime); ok {
			p.image(mime, strings.Join(strings.Fields(s), ""), meta, data)
			return
		}
	}
	if s, ok := str("text/markdown"); ok {
		p.put("<div class=\"rich\">")
		p.md.write(p.w, s)
		p.put("</div>")
		return
	}
	if s, ok := str("text/latex"); ok {
		p.put("<div class=\"rich\">")
		p.md.latex(p.w, s)
		p.put("</div>")
		return
	}
	if v, ok := data["application/json"]; ok {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if enc.Encode(v) == nil {
			p.pre("value", b.String())
			return
		}
	}
	if s, ok := str("text/plain"); ok {
		p.pre("value", s)
		return
	}
	if len(data) > 0 {
		p.pre("value", "("+strings.Join(slices.Sorted(maps.Keys(data)), ", ")+")")
	}
}

func (p *page) image(mime, encoded string, meta, data map[string]any) {
	alt, _ := data["text/plain"].(string)
	p.put("<img src=\"data:", mime, ";base64,", html.EscapeString(encoded), "\" alt=\"", html.EscapeString(alt), "\"")
	size, _ := meta[mime].(map[string]any)
	for _, key := range []string{"width", "height"} {
		switch v := size[key].(type) {
		case json.Number:
			p.put(" ", key, "=\"", v.String(), "\"")
		case string:
			p.put(" ", key, "=\"", html.EscapeString(v), "\"")
		}
	}
	p.put(">")
}

// embed returns the target of a Markdown image as a data URL where its bytes
// are at hand: an attachment of the cell or a file beside the notebook.
func (p *page) embed(target string) (string, bool) {
	if name, ok := strings.CutPrefix(target, "attachment:"); ok {
		bundle, _ := p.attachments[unescapePath(name)].(map[string]any)
		for _, mime := range slices.Sorted(maps.Keys(bundle)) {
			s, ok := bundle[mime].(string)
			if !ok {
				continue
			}
			if mime == "image/svg+xml" {
				s = base64.StdEncoding.EncodeToString([]byte(s))
			}
			return "data:" + mime + ";base64," + strings.Join(strings.Fields(s), ""), true
		}
		return "", false
	}
	path := filepath.FromSlash(unescapePath(target))
	kind := mime.TypeByExtension(filepath.Ext(path))
	if p.set.Dir == "" || !filepath.IsLocal(path) || !strings.HasPrefix(kind, "image/") {
		return "", false
	}
	root, err := os.OpenRoot(p.set.Dir)
	if err != nil {
		return "", false
	}
	defer root.Close()
	b, err := root.ReadFile(path)
	if err != nil {
		return "", false
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b), true
}

// classes of predeclared names.
var predeclared = map[string]string{}

func init() {
	for _, n := range strings.Fields("any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr") {
		predeclared[n] = "t"
	}
	for _, n := range strings.Fields("append cap clear close complex copy delete imag len make max min new panic print println real recover") {
		predeclared[n] = "b"
	}
	for _, n := range strings.Fields("true false nil iota") {
		predeclared[n] = "n"
	}
}

// highlight writes Go source as HTML with the tokens marked.
func highlight(w *bufio.Writer, src string) {
	src = strings.ReplaceAll(src, "\r", "")
	type span struct {
		start, end int
		class      string
	}
	var spans []span
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, []byte(src), func(token.Position, string) {}, scanner.ScanComments)
	last := token.ILLEGAL
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		at := file.Offset(pos)
		class := ""
		switch {
		case tok == token.COMMENT:
			class = "c"
		case tok == token.STRING || tok == token.CHAR:
			class = "s"
		case tok.IsLiteral() && tok != token.IDENT:
			class = "n"
		case tok.IsKeyword():
			class, lit = "k", tok.String()
		case tok == token.IDENT:
			if last != token.PERIOD {
				class = predeclared[lit]
			}
			if class == "" && strings.HasPrefix(src[min(at+len(lit), len(src)):], "(") {
				class = "f"
			}
		}
		if tok != token.COMMENT {
			last = tok
		}
		if class != "" {
			spans = append(spans, span{at, min(at+len(lit), len(src)), class})
		}
	}
	done := 0
	for _, sp := range spans {
		if sp.start < done {
			continue
		}
		w.WriteString(html.EscapeString(src[done:sp.start]))
		fmt.Fprintf(w, "<span class=\"%s\">%s</span>", sp.class, html.EscapeString(src[sp.start:sp.end]))
		done = sp.end
	}
	w.WriteString(html.EscapeString(src[done:]))
}
