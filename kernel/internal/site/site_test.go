package site

import (
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWrite writes the site of this clone: every link leads to a page and a heading
// that are there, what cells import has a page with its examples, and nothing is
// fetched from elsewhere.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if n, err := Write("../../..", dir); err != nil || n < 80 {
		t.Fatalf("%d pages, %v", n, err)
	}
	pages := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(at)
		name, _ := filepath.Rel(dir, at)
		pages[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	attribute := regexp.MustCompile(`<(a|img|script|link|iframe)\s[^>]*?(href|src)="([^"]*)"`)
	links := 0
	for name, text := range pages {
		if i := strings.Index(text, "\nconst pages = "); i >= 0 { // the search's list
			text = text[:i]
		}
		for _, m := range attribute.FindAllStringSubmatch(text, -1) {
			to := html.UnescapeString(m[3])
			switch {
			case m[1] != "a":
				if !strings.HasPrefix(to, "data:") {
					t.Errorf("%s fetches %.80s", name, to)
				}
				continue
			case strings.Contains(to, "://"), strings.HasPrefix(to, "mailto:"):
				continue
			}
			links++
			file, fragment, _ := strings.Cut(to, "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			fragment, _ = url.PathUnescape(fragment)
			if page, ok := pages[target]; !ok {
				t.Errorf("%s links to %s, which is not there", name, to)
			} else if fragment != "" && !strings.Contains(page, `id="`+html.EscapeString(fragment)+`"`) {
				t.Errorf("%s links to %s, and that page has no such heading", name, to)
			}
		}
	}
	if links < 1000 {
		t.Errorf("%d links: is the pattern still right?", links)
	}
	for name, want := range map[string]string{
		"index.html":                 "<h1 id=\"dace-notebooks\">",
		"api/dacelib/brkga.html":     "<h4 id=\"run\">Run</h4>",
		"api/kernel/display.html":    "func</span> <span class=\"f\">Figures",
		"notebooks/quickstart.html":  "In&nbsp;[3]",
		"search.html":                `"u":"api/dacelib/brkga.html#run"`,
		"kernel/docs/cells.html":     "aria-current=\"page\"",
		"dacelib/docs/glossary.html": "<a href=\"../../dacelib/DEVIATIONS.html\">",
	} {
		if !strings.Contains(pages[name], want) {
			t.Errorf("%s has no %s", name, want)
		}
	}
	for name, text := range pages {
		if slices.Contains([]string{"api/kernel/display.html", "api/kernel/shell.html", "api/kernel/widget.html"}, name) && !strings.Contains(text, "<p>Example") { // TestLibraryExamples demands those of dacelib
			t.Errorf("%s has no example", name)
		}
	}
	if policy := "script-src"; strings.Contains(pages["index.html"], "<script") || strings.Contains(pages["index.html"], policy) {
		t.Error("a page that is not the search has a script")
	}
	if _, err := Write(dir, dir); err == nil || !strings.Contains(err.Error(), "is no clone") {
		t.Errorf("a folder without a go.mod: %v", err)
	}
}
