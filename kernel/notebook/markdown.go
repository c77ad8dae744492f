package notebook

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown converts the Markdown of one notebook's cells to HTML.
type markdown struct{ gm goldmark.Markdown }

func newMarkdown(p *page) *markdown {
	return &markdown{
		gm: goldmark.New(
			goldmark.WithExtensions(extension.GFM, extension.Footnote),
			goldmark.WithParserOptions(
				parser.WithBlockParsers(util.Prioritized(mathBlocks{}, 90)),
				parser.WithInlineParsers(util.Prioritized(mathSpans{}, 90)),
				parser.WithASTTransformers(util.Prioritized(transformer{p, headingIDs{}}, 500)),
			),
			goldmark.WithRendererOptions(
				gmhtml.WithUnsafe(),
				renderer.WithNodeRenderers(util.Prioritized(mathRenderer{}, 90), util.Prioritized(codeRenderer{}, 90)),
			),
		),
	}
}

func (m *markdown) write(w io.Writer, src string) {
	// Convert returns only errors of the writer, which the page's writer
	// keeps.
	_ = m.gm.Convert([]byte(src), w)
}

// latex writes an output of type text/latex: a formula, with or without its
// delimiters, or a LaTeX fragment that only TeX could set.
func (m *markdown) latex(w io.Writer, src string) {
	src = strings.TrimSpace(src)
	for _, d := range []struct{ open, close string }{{"$$", "$$"}, {`\[`, `\]`}, {"$", "$"}, {`\(`, `\)`}} {
		if len(src) > len(d.open)+len(d.close) && strings.HasPrefix(src, d.open) && strings.HasSuffix(src, d.close) {
			src = src[len(d.open) : len(src)-len(d.close)]
			break
		}
	}
	io.WriteString(w, mathHTML(src, true))
}

// headingIDs is the set of heading ids used on a page.
type headingIDs map[string]bool

// id returns an unused id for a heading, formed as in Jupyter, so that links
// to "#My-heading" work.
func (ids headingIDs) id(heading string, form func(string) string) string {
	base := strings.ReplaceAll(strings.TrimSpace(heading), " ", "-")
	if form != nil {
		base = form(heading)
	}
	id := base
	for n := 1; ids[id] || id == ""; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	ids[id] = true
	return id
}

// firstHeading returns the plain text of the first heading in src.
func firstHeading(src string) string {
	source := []byte(src)
	doc := goldmark.DefaultParser().Parse(gmtext.NewReader(source))
	title := ""
	_ = ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && enter {
			title = strings.TrimSpace(plainText(h, source))
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return title
}

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Value(source))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.RawHTML:
		default:
			b.WriteString(plainText(c, source))
		}
	}
	return b.String()
}

// codeRenderer writes fenced blocks of code, those of Go with colours.
type codeRenderer struct{}

func (codeRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		block := n.(*ast.FencedCodeBlock)
		text := string(block.Lines().Value(source))
		w.WriteString("<pre><code>")
		if string(block.Language(source)) == "go" {
			highlight(w, text)
		} else {
			w.Write(util.EscapeHTML([]byte(text)))
		}
		w.WriteString("</code></pre>\n")
		return ast.WalkSkipChildren, nil
	})
}

func unescapePath(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// A transformer assigns ids to headings and embeds images in the page.
type transformer struct {
	page *page
	ids  headingIDs
}

func (t transformer) Transform(doc *ast.Document, reader gmtext.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if enter {
				n.SetAttributeString("id", []byte(t.ids.id(plainText(n, reader.Source()), t.page.set.ID)))
			}
		case *ast.Link:
			if link := t.page.set.Link; link != nil && enter {
				n.Destination = []byte(link(string(n.Destination)))
			}
		case *ast.Image:
			if link := t.page.set.Link; link != nil && enter {
				n.Destination = []byte(link(string(n.Destination)))
			}
			if data, ok := t.page.embed(string(n.Destination)); ok && enter {
				n.Destination = []byte(data)
			}
		}
		return ast.WalkContinue, nil
	})
}

// Formulas: $...$, $$...$$, \(...\), \[...\] and \begin{...}...\end{...}.

var kindMath = ast.NewNodeKind("Math")

// A mathNode is a formula, inline or as a block.
type mathNode struct {
	ast.BaseInline
	tex     string
	display bool
}

func (n *mathNode) Kind() ast.NodeKind { return kindMath }
func (n *mathNode) Dump(src []byte, level int) {
	ast.DumpHelper(n, src, level, map[string]string{"tex": n.tex}, nil)
}

// longestFormula bounds the search for the end of a formula within a text.
const longestFormula = 4096

// mathSpans parses inline formulas.
type mathSpans struct{}

func (mathSpans) Trigger() []byte { return []byte{'$', '\\'} }

func (mathSpans) Parse(parent ast.Node, block gmtext.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	open, close, display := "", "", false
	switch {
	case bytes.HasPrefix(line, []byte("$$")):
		open, close, display = "$$", "$$", true
	case bytes.HasPrefix(line, []byte("$")):
		open, close = "$", "$"
		// "$5 and $6" is money: a formula neither starts with a space
		// nor is followed by a digit.
		if len(line) < 2 || strings.ContainsRune(" \t\r\n", rune(line[1])) {
			return nil
		}
	case bytes.HasPrefix(line, []byte(`\\(`)), bytes.HasPrefix(line, []byte(`\\[`)): // doubled backslashes, as Jupyter's Markdown requires
		open, display = string(line[:3]), line[2] == '['
		close = map[bool]string{true: `\\]`, false: `\\)`}[display]
	case bytes.HasPrefix(line, []byte(`\begin{`)):
		end := bytes.IndexByte(line, '}')
		if end < 0 {
			return nil
		}
		close, display = `\end{`+string(line[len(`\begin{`):end+1]), true
	default:
		return nil
	}
	savedLine, savedPos := block.Position()
	var tex strings.Builder
	rest := line[len(open):]
	block.Advance(len(open))
	for {
		at := findClose(rest, close)
		if at >= 0 {
			body := tex.String() + string(rest[:at])
			after := rest[at+len(close):]
			if open == "$" && (strings.HasSuffix(body, " ") || len(after) > 0 && after[0] >= '0' && after[0] <= '9') {
				break
			}
			if open == "" {
				body += close
			}
			block.Advance(at + len(close))
			if strings.TrimSpace(body) == "" {
				break
			}
			return &mathNode{tex: body, display: display}
		}
		tex.Write(rest)
		block.AdvanceLine()
		rest, _ = block.PeekLine()
		if rest == nil || tex.Len() > longestFormula {
			break
		}
	}
	block.SetPosition(savedLine, savedPos)
	return nil
}

// findClose returns the index of close in s, ignoring places that a backslash
// escapes, or -1.
func findClose(s []byte, close string) int {
	for i := 0; i+len(close) <= len(s); i++ {
		if string(s[i:i+len(close)]) == close {
			return i
		}
		if s[i] == '\\' {
			i++
		}
	}
	return -1
}

// mathBlocks parses formulas that start a line. Markdown would otherwise take
// their lines for lists and headings.
type mathBlocks struct{}

var kindMathBlock = ast.NewNodeKind("MathBlock")

type mathBlock struct {
	ast.BaseBlock
	close string // the delimiter at the end of the last line
	done  bool
	tex   strings.Builder
}

func (n *mathBlock) Kind() ast.NodeKind         { return kindMathBlock }
func (n *mathBlock) IsRaw() bool                { return true }
func (n *mathBlock) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

func (mathBlocks) Trigger() []byte { return []byte{'$', '\\'} }

func (mathBlocks) Open(parent ast.Node, reader gmtext.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	s := strings.TrimSpace(string(line))
	n := &mathBlock{}
	switch {
	case strings.HasPrefix(s, "$$"):
		n.close, s = "$$", s[2:]
	case strings.HasPrefix(s, `\begin{`) && strings.Contains(s, "}"):
		n.close = `\end{` + s[len(`\begin{`):strings.IndexByte(s, '}')+1]
	default:
		return nil, parser.NoChildren
	}
	// A formula is part of a paragraph if text follows it on the same
	// line, or if it has no end.
	if at := findClose([]byte(s), n.close); at >= 0 && at+len(n.close) < len(s) {
		return nil, parser.NoChildren
	} else if at < 0 && !closesLater(reader.Source()[segment.Stop:], n.close) {
		return nil, parser.NoChildren
	}
	n.add(s)
	reader.AdvanceToEOL()
	return n, parser.NoChildren
}

// closesLater reports whether a line of text ends with close before the first
// empty line. The lines may be those of a block quote.
func closesLater(text []byte, close string) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if bytes.HasSuffix(line, []byte(close)) {
			return true
		}
		if len(bytes.Trim(line, "> ")) == 0 {
			return false
		}
	}
	return false
}

func (n *mathBlock) add(s string) {
	if strings.HasSuffix(s, n.close) {
		n.done = true
		if n.close == "$$" {
			s = strings.TrimSuffix(s, n.close)
		}
	}
	n.tex.WriteString(s)
	n.tex.WriteByte('\n')
}

func (mathBlocks) Continue(node ast.Node, reader gmtext.Reader, pc parser.Context) parser.State {
	n := node.(*mathBlock)
	if n.done {
		return parser.Close
	}
	line, _ := reader.PeekLine()
	n.add(strings.TrimSpace(string(line)))
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (mathBlocks) Close(ast.Node, gmtext.Reader, parser.Context) {}
func (mathBlocks) CanInterruptParagraph() bool                   { return true }
func (mathBlocks) CanAcceptIndentedLine() bool                   { return false }

// mathRenderer renders formulas.
type mathRenderer struct{}

func (mathRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindMath, func(w util.BufWriter, _ []byte, n ast.Node, enter bool) (ast.WalkStatus, error) {
		if enter {
			m := n.(*mathNode)
			w.WriteString(mathHTML(m.tex, m.display))
		}
		return ast.WalkSkipChildren, nil
	})
	reg.Register(kindMathBlock, func(w util.BufWriter, _ []byte, n ast.Node, enter bool) (ast.WalkStatus, error) {
		if enter {
			w.WriteString("<div class=\"formula\">" + mathHTML(n.(*mathBlock).tex.String(), true) + "</div>\n")
		}
		return ast.WalkSkipChildren, nil
	})
}
