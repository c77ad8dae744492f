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
	"regexp"
	"slices"
	"strings"
)

//go:embed style.css
var style string

// HTMLSettings configures WriteHTML.
type HTMLSettings struct {
	// Title is the page's title if the notebook has no heading.
	Title string
	// Dir is the notebook's folder. Images that Markdown cells refer to by
	// a relative path are read from it and embedded in the page. If Dir is
	// empty they stay references.
	Dir string
	// Scripts allows scripts, frames and forms in the notebook's own HTML;
	// set it only for trusted notebooks.
	Scripts bool
	// Head is HTML above the notebook: a site's navigation.
	Head string
	// Link, if not nil, replaces the destination of a link or an image in Markdown.
	Link func(destination string) string
	// ID, if not nil, forms the id of a heading from its text; by default it is
	// Jupyter's.
	ID func(heading string) string
}

// policy is the content security policy of a page. It allows styles, images
// and sounds, but nothing that runs or leads the reader elsewhere by itself.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src * data: blob: file:; media-src * data: blob: file:; font-src * data:; form-action 'none'; base-uri 'none'"

// metaRE matches meta elements, which may redirect the reader (no policy
// forbids that), but not <metadata>.
var metaRE = regexp.MustCompile(`(?i)<meta([\s/>])`)

// WriteHTML writes the notebook as one self-contained page that includes
// style, images and attachments. HTML in Markdown cells and outputs is passed
// through as in Jupyter, but no script in it runs unless [HTMLSettings] allows
// it, because the notebook may come from an untrusted source. Formulas become
// MathML; TeX that is not supported stays readable TeX.
func WriteHTML(w io.Writer, nb *Notebook, set HTMLSettings) error {
	to := bufio.NewWriterSize(w, 1<<16)
	p := &page{w: to, nb: nb, set: set}
	p.md = newMarkdown(p)
	title := nb.title()
	if title == "" {
		title = set.Title
	}
	p.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	if !set.Scripts {
		p.put("<meta http-equiv=\"Content-Security-Policy\" content=\"", policy, "\">\n")
	}
	p.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>", html.EscapeString(title),
		"</title>\n<style>\n", style, "</style>\n</head>\n<body>\n", set.Head, "<main>\n")
	var body bytes.Buffer
	if !set.Scripts {
		p.w = bufio.NewWriter(&body)
	}
	for _, c := range nb.Cells {
		p.cell(c)
	}
	if !set.Scripts {
		p.w.Flush()
		p.w = to
		p.w.Write(metaRE.ReplaceAll(body.Bytes(), []byte("&lt;meta$1")))
	}
	p.put("</main>\n</body>\n</html>\n")
	return p.w.Flush()
}

// A page is the state of a page being written. Errors of the writer are kept
// in w.
type page struct {
	w   *bufio.Writer
	nb  *Notebook
	set HTMLSettings
	md  *markdown
	// attachments holds the attachments of the Markdown cell being
	// written.
	attachments map[string]any
}

func (p *page) put(parts ...string) {
	for _, s := range parts {
		p.w.WriteString(s)
	}
}

// title returns the notebook's title, or its first heading.
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
		// Raw cells are meant for one format each; include those for
		// HTML.
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

// jupyterFlag returns the boolean under key in the cell's metadata.jupyter.
func jupyterFlag(c *Cell, key string) (value, ok bool) {
	m, _ := c.Metadata["jupyter"].(map[string]any)
	value, ok = m[key].(bool)
	return value, ok
}

// longOutput is the number of lines above which a text is shown in a scrolling
// box.
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

// bundle writes the richest format of a bundle that a page can show.
func (p *page) bundle(data, meta map[string]any) {
	str := func(mime string) (string, bool) {
		s, ok := data[mime].(string)
		return s, ok
	}
	p.put("<div class=\"output\">")
	defer p.put("</div>\n")
	if view, ok := data[widgetView].(map[string]any); ok {
		if id, _ := view["model_id"].(string); p.widget(id, map[string]bool{}) {
			return
		}
	}
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

// embed returns the target of a Markdown image as a data URL if its content is
// available: as an attachment of the cell or as a file in Dir.
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

// predeclared maps Go's predeclared identifiers to their CSS classes.
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

// highlight writes Go source as HTML with syntax highlighting.
func highlight(w io.Writer, src string) {
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
		io.WriteString(w, html.EscapeString(src[done:sp.start]))
		fmt.Fprintf(w, "<span class=\"%s\">%s</span>", sp.class, html.EscapeString(src[sp.start:sp.end]))
		done = sp.end
	}
	io.WriteString(w, html.EscapeString(src[done:]))
}
