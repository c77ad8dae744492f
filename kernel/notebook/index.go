package notebook

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmtext "github.com/yuin/goldmark/text"
)

// An IndexEntry is a notebook's row in an index of pages.
type IndexEntry struct {
	// File is the page's name, relative to the index.
	File string
	// Title is the notebook's title; About is its first paragraph as plain text.
	Title, About string
	// Cells is the number of its code cells that hold code, Run the number of
	// those that have been run, Failed that of those that ended in an error.
	Cells, Run, Failed int
	// Took is the sum of the cells' times, zero if it is not known.
	Took time.Duration
}

// IndexEntry returns the notebook's row for an index, with its page in file.
func (nb *Notebook) IndexEntry(file string) IndexEntry {
	e := IndexEntry{File: file, Title: nb.title()}
	if e.Title == "" {
		e.Title = strings.TrimSuffix(file, ".html")
	}
	for _, c := range nb.Cells {
		if c.Type == Markdown && e.About == "" {
			e.About = firstParagraph(c.Source)
		}
		if c.Type != Code || strings.TrimSpace(c.Source) == "" || c.HasTag("skip-execution") {
			continue
		}
		e.Cells++
		if c.Count > 0 {
			e.Run++
		}
		for _, o := range c.Outputs {
			if o.Type == Failure && !c.HasTag("raises-exception") {
				e.Failed++
			}
		}
		begin, errBegin := time.Parse(time.RFC3339Nano, textAt(c.Metadata, "execution", "iopub.status.busy"))
		end, errEnd := time.Parse(time.RFC3339Nano, textAt(c.Metadata, "execution", "iopub.status.idle"))
		if errBegin == nil && errEnd == nil && end.After(begin) {
			e.Took += end.Sub(begin)
		}
	}
	return e
}

// State says in words how much of the notebook has been run, and how long it
// took.
func (e IndexEntry) State() string {
	s := fmt.Sprintf("%d cells", e.Cells)
	switch {
	case e.Run == 0:
		return s + ", not run"
	case e.Run < e.Cells:
		s = fmt.Sprintf("%d of %s run", e.Run, s)
	}
	if e.Failed > 0 {
		s += fmt.Sprintf(", %d failed", e.Failed)
	}
	switch {
	case e.Took >= 100*time.Second:
		s += fmt.Sprintf(", %.0f min", e.Took.Minutes())
	case e.Took > 0:
		s += fmt.Sprintf(", %.0f s", max(1, e.Took.Seconds()))
	}
	return s
}

// firstParagraph returns the text of the first paragraph, without its format.
func firstParagraph(markdown string) string {
	source := []byte(markdown)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(gmtext.NewReader(source))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindParagraph {
			return strings.Join(strings.Fields(plainText(n, source)), " ")
		}
	}
	return ""
}

// WriteIndex writes a page that lists notebooks with links to their pages.
func WriteIndex(w io.Writer, entries []IndexEntry) error {
	p := &page{w: bufio.NewWriter(w)}
	p.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		"<meta http-equiv=\"Content-Security-Policy\" content=\"", policy, "\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>Notebooks</title>\n<style>\n", style,
		"</style>\n</head>\n<body>\n<main>\n<h1>Notebooks</h1>\n")
	for _, e := range entries {
		p.put("<h3><a href=\"", html.EscapeString((&url.URL{Path: "./" + e.File}).String()), "\">", html.EscapeString(e.Title), "</a></h3>\n")
		p.put("<p>", html.EscapeString(e.About), "</p>\n<p><small>", html.EscapeString(e.State()), "</small></p>\n")
	}
	p.put("</main>\n</body>\n</html>\n")
	return p.w.Flush()
}
