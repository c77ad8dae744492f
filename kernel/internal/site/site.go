// Package site writes the documentation of a clone as a static site: guides, notebooks,
// the packages that cells and programs import, and a page that searches them. Its pages
// need no network and, but for the search, no script.
package site

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"html"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/notebook"
)

// A page is one of the site: a guide, a notebook or a package.
type page struct {
	section string // of the navigation
	source  string // in the clone, with slashes: README.md, dacelib/brkga
	file    string // in the site, with slashes
	title   string
	nb      *notebook.Notebook
}

// site is a site being written.
type site struct {
	clone string
	pages []page
	files map[string]string // by source
}

// roots are the folders whose packages have pages.
var roots = []string{"dacelib", "kernel/display", "kernel/widget", "kernel/shell"}

// Write writes the site of a clone into dir and returns the number of its pages. The
// clone is a folder with the module's go.mod.
func Write(clone, dir string) (pages int, err error) {
	if _, err := os.Stat(filepath.Join(clone, "go.mod")); err != nil {
		return 0, fmt.Errorf("%s is no clone: %w", clone, err)
	}
	s := &site{clone: clone, files: map[string]string{}}
	if err := s.find(); err != nil {
		return 0, err
	}
	for _, p := range s.pages {
		s.files[p.source] = p.file
	}
	var index []entry
	for _, p := range s.pages {
		if err := s.write(dir, p); err != nil {
			return 0, fmt.Errorf("%s: %w", p.source, err)
		}
		index = append(index, s.entries(p)...)
	}
	return len(s.pages) + 1, s.search(dir, index)
}

// find finds the pages.
func (s *site) find() error {
	err := filepath.WalkDir(s.clone, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(s.clone, at)
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if base := d.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || base == "dist") {
				return fs.SkipDir
			}
			return s.pack(name)
		}
		switch path.Ext(name) {
		case ".md":
			text, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			file, section := strings.TrimSuffix(name, ".md")+".html", "Guides"
			switch {
			case name == "README.md":
				file, section = "index.html", ""
			case strings.Contains(name, "/results/") || strings.HasSuffix(name, "PLAN.md") || strings.HasSuffix(name, "RESULTS.md"):
				section = "Results"
			case !strings.Contains(name, "/") || strings.HasPrefix(name, "install/jupyterlab/"):
				section = "The project"
			}
			s.add(page{section: section, source: name, file: file, nb: text2notebook(string(text))})
		case ".ipynb":
			text, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			nb, err := notebook.Read(text)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			s.add(page{section: "Notebooks", source: name, file: strings.TrimSuffix(name, ".ipynb") + ".html", nb: nb})
		}
		return nil
	})
	home, e := os.ReadFile(filepath.Join(s.clone, "README.md"))
	place := func(p page) int { // where the README, whose list is in a reader's order, links the page
		if at := strings.Index(string(home), "]("+p.source+")"); at >= 0 {
			return at
		}
		return len(home)
	}
	slices.SortStableFunc(s.pages, func(a, b page) int {
		order := []string{"", "Guides", "Notebooks", "Packages", "The project", "Results"}
		return cmp.Or(cmp.Compare(slices.Index(order, a.section), slices.Index(order, b.section)), cmp.Compare(place(a), place(b)), cmp.Compare(a.source, b.source))
	})
	return errors.Join(err, e)
}

func (s *site) add(p page) {
	if p.title = cmp.Or(p.title, p.nb.IndexEntry(p.source).Title); p.source == "README.md" {
		p.title = "Home"
	}
	s.pages = append(s.pages, p)
}

// text2notebook is a notebook of one cell of Markdown.
func text2notebook(text string) *notebook.Notebook {
	return &notebook.Notebook{Metadata: map[string]any{}, Cells: []*notebook.Cell{{ID: "text", Type: notebook.Markdown, Source: text}}}
}

var headings = regexp.MustCompile(`(?m)^(#{1,4}) +(.+)$`)

// plain is a text without the marks of Markdown.
func plain(text string) string {
	text = regexp.MustCompile("(?m)^```.*$|^<!--.*-->$").ReplaceAllString(text, "")
	text = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(text, "$1")
	return strings.TrimSpace(regexp.MustCompile("[`*\\\\]|</?[a-z][^>]*>").ReplaceAllString(text, ""))
}

// anchor is the id of a heading, as links in guides have it.
func anchor(heading string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^\pL\pN_ -]`).ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// write writes a page.
func (s *site) write(dir string, p page) error {
	up := strings.Repeat("../", strings.Count(p.file, "/"))
	set := notebook.HTMLSettings{Title: p.title, Dir: s.clone, Head: s.navigation(p, up)}
	if p.section != "Notebooks" {
		set.ID = anchor
	}
	set.Link = func(to string) string { return s.link(p, up, to) }
	file := filepath.Join(dir, filepath.FromSlash(p.file))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return notebook.Replace(file, func(w io.Writer) error { return notebook.WriteHTML(w, p.nb, set) })
}

// link returns where a link of a page leads in the site. Images are read from the
// clone; of code there is the page of its package.
func (s *site) link(p page, up, to string) string {
	if to == "" || to[0] == '#' || strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") || strings.HasPrefix(to, "attachment:") {
		return to
	}
	file, fragment, marked := strings.Cut(to, "#")
	source := path.Join(path.Dir(p.source), file)
	if strings.HasPrefix(file, "api:") { // of a package's page
		source = strings.TrimPrefix(file, "api:")
	}
	if marked {
		fragment = "#" + fragment
	}
	if page, ok := s.files[source]; ok {
		return up + page + fragment
	}
	if page, ok := s.files[path.Join(source, "README.md")]; ok {
		return up + page + fragment
	}
	if strings.HasSuffix(source, ".png") || strings.HasSuffix(source, ".svg") {
		return source // embedded
	}
	for at := path.Dir(source); at != "."; at = path.Dir(at) {
		if page, ok := s.files[at]; ok {
			return up + page
		}
	}
	return up + "index.html"
}

const navigationStyle = `<style>
nav{border-bottom:1px solid var(--line);padding:.6rem 1.5rem;font-size:.92em;display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;position:relative}
nav summary{cursor:pointer;color:var(--link)} nav details[open]>ul{position:absolute;z-index:1;background:var(--page);border:1px solid var(--line);border-radius:6px;padding:.6rem 1.2rem .6rem 2rem;max-height:70vh;overflow:auto;max-width:90vw}
nav [aria-current]{font-weight:650}
@media (max-width:40rem){nav details[open]>ul{left:0;right:0;top:100%;max-width:none}}
@media print{nav{display:none}}
</style>
`

// onePage is the guide that prints as a single page, A4 across.
const onePage = "kernel/docs/cheatsheet.md"

const onePageStyle = `<style>
@page{size:A4 landscape;margin:7mm}
@media print{main{max-width:none;columns:2;column-gap:6mm;font-size:8.4pt;padding:0;margin:0} .cell.text{padding-left:0;margin:0} main *{line-height:1.25}
pre,code{font-size:7.2pt} pre code{font-size:1em} pre{padding:2pt 4pt;margin:2pt 0} h1{display:none} h2{font-size:9pt;margin:3pt 0 1pt;border:0}
table{margin:2pt 0;font-size:7.8pt} td,th{padding:0 3pt} p,ul{margin:2pt 0}}
</style>
`

// navigation is the head of a page: lists of all others.
func (s *site) navigation(at page, up string) string {
	var b strings.Builder
	if at.source == onePage {
		b.WriteString(onePageStyle)
	}
	b.WriteString(navigationStyle + "<nav aria-label=\"Pages\">\n")
	fmt.Fprintf(&b, "<a href=\"%sindex.html\">Home</a>\n", up)
	section := ""
	for _, p := range s.pages {
		if p.section == "" {
			continue
		}
		if p.section != section {
			if section != "" {
				b.WriteString("</ul></details>\n")
			}
			section = p.section
			fmt.Fprintf(&b, "<details name=\"pages\"><summary>%s</summary><ul>\n", html.EscapeString(section))
		}
		current := ""
		if p.file == at.file {
			current = " aria-current=\"page\""
		}
		fmt.Fprintf(&b, "<li><a href=\"%s%s\"%s>%s</a></li>\n", up, html.EscapeString(p.file), current, html.EscapeString(p.title))
	}
	fmt.Fprintf(&b, "</ul></details>\n<a href=\"%ssearch.html\">Search</a>\n</nav>\n", up)
	return b.String()
}

// An entry is a part of a page that can be found.
type entry struct {
	URL   string `json:"u"`
	Title string `json:"t"`
	Text  string `json:"x"`
}

// entries are the parts of a page, each from a heading to the next.
func (s *site) entries(p page) (all []entry) {
	for _, c := range p.nb.Cells {
		if c.Type != notebook.Markdown {
			continue
		}
		at := headings.FindAllStringSubmatchIndex(c.Source, -1)
		for i, m := range at {
			end := len(c.Source)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			e := entry{p.file, plain(c.Source[m[4]:m[5]]), strings.Join(strings.Fields(plain(c.Source[m[1]:end])), " ")}
			if len(all) > 0 {
				if p.section != "Notebooks" {
					e.URL += "#" + anchor(e.Title)
				}
				e.Title = p.title + ": " + e.Title
			}
			if cut := []rune(e.Text); len(cut) > 600 {
				e.Text = string(cut[:600])
			}
			all = append(all, e)
		}
	}
	return all
}

// search writes the page that searches the others.
func (s *site) search(dir string, index []entry) error {
	list, err := json.Marshal(index) // escapes < and >, so that no text ends the script
	if err != nil {
		return err
	}
	nb := text2notebook("# Search\n\n" + `<p><input id="words" type="search" autofocus aria-label="words" placeholder="words" style="font:inherit;width:min(34rem,100%);box-sizing:border-box;padding:.4rem .7rem;color:inherit;background:transparent;border:1px solid var(--line);border-radius:6px"></p><div id="found"></div>` +
		"\n<script>\nconst pages = " + string(list) + searchScript + "</script>\n")
	return notebook.Replace(filepath.Join(dir, "search.html"), func(w io.Writer) error {
		return notebook.WriteHTML(w, nb, notebook.HTMLSettings{Title: "Search", Head: s.navigation(page{file: "search.html"}, ""), Scripts: true})
	})
}

const searchScript = `;
const words = document.getElementById("words"), found = document.getElementById("found");
// around is the part of a text where the first of some words stands.
function around(text, ws) {
  const at = Math.min(...ws.map(w => text.toLowerCase().indexOf(w)).filter(i => i >= 0), text.length);
  const from = at < 100 || at == text.length ? 0 : text.indexOf(" ", at - 60) + 1;
  const cut = text.slice(from, from + 160), whole = from + 160 >= text.length;
  return (from ? "… " : "") + (whole ? cut : cut.replace(/\s\S*$/, "") + " …");
}
function look() {
  const ws = words.value.toLowerCase().split(/\s+/).filter(w => w);
  const hits = pages.map(p => {
    const t = p.t.toLowerCase(), x = p.x.toLowerCase();
    let score = 0;
    for (const w of ws) {
      if (!t.includes(w) && !x.includes(w)) return [0, p];
      score += t.includes(w) ? 10 - Math.min(9, t.length / 20) : 1;
    }
    return [score, p];
  }).filter(h => h[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 40);
  found.replaceChildren(...hits.map(([, p]) => {
    const div = document.createElement("p"), a = document.createElement("a"), text = document.createElement("div");
    a.href = p.u; a.textContent = p.t; text.textContent = around(p.x, ws);
    div.append(a, text);
    return div;
  }));
  if (ws.length && !hits.length) found.textContent = "nothing found";
}
words.addEventListener("input", look);
`

// pack adds the page of the package in a folder of the clone, if it is one that cells
// or programs import.
func (s *site) pack(folder string) error {
	if strings.Contains(folder, "internal") || path.Base(folder) == "docs" || !slices.ContainsFunc(roots, func(r string) bool { return folder == r || strings.HasPrefix(folder, r+"/") }) {
		return nil
	}
	dir := filepath.Join(s.clone, filepath.FromSlash(folder))
	found, err := build.ImportDir(dir, 0)
	var none *build.NoGoError
	if errors.As(err, &none) || err == nil && found.Name == "main" {
		return nil
	}
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range slices.Concat(found.GoFiles, found.TestGoFiles, found.XTestGoFiles) {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, buildinfo.Path(folder))
	if err != nil {
		return err
	}
	s.add(page{section: "Packages", source: folder, file: "api/" + folder + ".html", title: strings.TrimPrefix(folder, "dacelib/"), nb: text2notebook(s.markdown(p, fset))})
	return nil
}

// markdown is the documentation of a package.
func (s *site) markdown(p *doc.Package, fset *token.FileSet) string {
	var b strings.Builder
	printer := p.Printer()
	printer.HeadingLevel = 4
	printer.HeadingID = func(*comment.Heading) string { return "" }
	printer.DocLinkURL = func(l *comment.DocLink) string {
		symbol := l.Name
		if l.Recv != "" {
			symbol = l.Recv + "." + l.Name
		}
		if symbol != "" {
			symbol = "#" + anchor(symbol)
		}
		if l.ImportPath == "" {
			return symbol
		}
		if in, ok := strings.CutPrefix(l.ImportPath, buildinfo.Path("")); ok {
			return "api:" + in + symbol
		}
		return "https://pkg.go.dev/" + l.ImportPath + "#" + l.Name
	}
	text := func(doc string) { b.Write(printer.Markdown(p.Parser().Parse(doc))) }
	code := func(n any) {
		b.WriteString("\n```go\n")
		if err := format.Node(&b, fset, n); err != nil {
			fmt.Fprint(&b, err)
		}
		b.WriteString("\n```\n\n")
	}
	examples := func(all []*doc.Example) {
		for _, e := range all {
			b.WriteString("\nExample")
			if e.Suffix != "" {
				fmt.Fprintf(&b, " (%s)", strings.ReplaceAll(e.Suffix, "_", " "))
			}
			b.WriteString(":\n")
			if e.Doc != "" {
				b.WriteString("\n" + e.Doc + "\n")
			}
			var source bytes.Buffer
			if err := format.Node(&source, fset, e.Code); err != nil {
				continue
			}
			lines := strings.TrimSuffix(strings.TrimPrefix(source.String(), "{\n"), "}")
			lines = regexp.MustCompile(`(?m)^\t`).ReplaceAllString(lines, "")
			lines, _, _ = strings.Cut(lines, "// Output:")
			fmt.Fprintf(&b, "\n```go\n%s\n```\n\n", strings.TrimSpace(lines))
			if e.Output != "" {
				fmt.Fprintf(&b, "```text\n%s\n```\n\n", strings.TrimSpace(e.Output))
			}
		}
	}
	funcs := func(all []*doc.Func, level string) {
		for _, f := range all {
			name := f.Name
			if f.Recv != "" {
				name = strings.TrimPrefix(f.Recv, "*") + "." + name
			}
			fmt.Fprintf(&b, "%s %s\n", level, name)
			declaration := *f.Decl
			declaration.Doc, declaration.Body = nil, nil
			code(&declaration)
			text(f.Doc)
			examples(f.Examples)
			b.WriteString("\n")
		}
	}
	// mark makes names without a heading of their own places to which links lead.
	mark := func(names ...string) {
		for _, name := range names {
			fmt.Fprintf(&b, "<a id=%q></a>", anchor(name))
		}
		b.WriteString("\n")
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			mark(v.Names...)
			declaration := *v.Decl
			declaration.Doc = nil
			code(&declaration)
			text(v.Doc)
		}
	}
	fmt.Fprintf(&b, "# Package %s\n\n```go\nimport %q\n```\n\n", p.Name, p.ImportPath)
	text(p.Doc)
	examples(p.Examples)
	if len(p.Consts)+len(p.Vars) > 0 {
		b.WriteString("\n## Constants and variables\n")
		values(p.Consts)
		values(p.Vars)
	}
	if len(p.Funcs) > 0 {
		b.WriteString("\n## Functions\n\n")
		funcs(p.Funcs, "###")
	}
	if len(p.Types) > 0 {
		b.WriteString("\n## Types\n\n")
	}
	for _, t := range p.Types {
		fmt.Fprintf(&b, "### %s\n", t.Name)
		mark(fields(t)...)
		declaration := *t.Decl
		declaration.Doc = nil
		code(&declaration)
		text(t.Doc)
		values(t.Consts)
		values(t.Vars)
		examples(t.Examples)
		funcs(t.Funcs, "####")
		funcs(t.Methods, "####")
	}
	return b.String()
}

// fields returns the names of the fields of a struct and of the methods of an interface,
// as "Type.Name".
func fields(t *doc.Type) (names []string) {
	ast.Inspect(t.Decl, func(n ast.Node) bool {
		var list *ast.FieldList
		switch n := n.(type) {
		case *ast.StructType:
			list = n.Fields
		case *ast.InterfaceType:
			list = n.Methods
		default:
			return true
		}
		for _, f := range list.List {
			for _, name := range f.Names {
				names = append(names, t.Name+"."+name.Name)
			}
		}
		return false
	})
	return names
}
