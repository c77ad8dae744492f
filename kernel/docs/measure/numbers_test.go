package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dace.local/kernel/docs/docstest"
)

// known has for numbers in guides' sentences where they come from. A line "GUIDE: words"
// is followed by an indented one: "FILE: text", which the file must have, or "FILE: N x
// PATTERN", which N of its lines must match.
const known = "testdata/numbers.txt"

// named matches numbers that are part of a name: a version, a part of a paper, the bits of
// an algorithm.
var named = regexp.MustCompile(`\b(?:Go|JupyterLab|Lab|Notebook|WSL|TLS|Python|CPython|SQLite|SMAC|ipywidgets|ipykernel|gonb|pymoo|pandas|matplotlib|Buildah|SHA|MD|Eq\.|Fig\.|Figs?|Figures|Alg\.|Algorithm|Table|section|Section|BSD|UTF|HTTP|int|float|uint|arm|amd|Be)[ -]?\(?\d[\d./]*(?:(?:, | and | to | or )\d+)*`)

// numbers matches those that are no part of a word (python3, RQ1, U+0004) or a range's end.
// Those of few are counts and indices, unless a unit follows.
var (
	numbers = regexp.MustCompile(`(?:^|[\s("|])\d+(?:[.,/]\d+)*`)
	few     = regexp.MustCompile(`^.?[0-3]$`)
	units   = regexp.MustCompile(`^ ?(?:%|[kMG]i?B|[mun]?s\b|min\b|h\b|times\b|hours\b|days\b|of \d)`)
)

// TestNumbers checks that each number in the sentences and tables of a guide stands in a
// table that is generated, is part of a name, or is listed with its source.
func TestNumbers(t *testing.T) {
	sources := map[string][][2]string{}
	list, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	guide, words := "", ""
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSuffix(line, "\n")
		if source, ok := strings.CutPrefix(line, "  "); ok {
			sources[guide] = append(sources[guide], [2]string{words, source})
		} else if line != "" && line[0] != '#' {
			guide, words, _ = strings.Cut(line, ": ")
		}
	}
	pages := docstest.Guides(t, "README.md", "SECURITY.md", "notebooks/README.md", "notebooks/tasks.md", "dacelib/DEVIATIONS.md",
		"*/docs/*.md", "[dk]*/*/README.md") // of dacelib and kernel
	if len(pages) < 25 {
		t.Errorf("there are %d guides: are the patterns still right?", len(pages))
	}
	for name, text := range pages {
		b := []byte(text)
		if name == notebooks { // timed writes this column
			b = notebookRow.ReplaceAll(b, []byte("$1$3"))
		}
		if name == "notebooks/tasks.md" { // TestTasks of kernel/gocell counts the lines in this table
			b = regexp.MustCompile(`(?m)^\| .* \| \d+ \| (?:\d+|none) \|$`).ReplaceAll(b, nil)
		}
		left := sentences(string(b))
		for _, s := range sources[name] {
			if !strings.Contains(left, s[0]) {
				t.Errorf("%s does not say %q any more: take it out of %s", name, s[0], known)
			}
			left = strings.ReplaceAll(left, s[0], "")
			if err := holds("../../..", s[1]); err != nil {
				t.Errorf("%s says %q, and %v", name, s[0], err)
			}
		}
		delete(sources, name)
		for _, words := range unexplained(left) {
			t.Errorf("%s: the number in %q is of nothing that was measured, and %s does not say where it is from", name, words, known)
		}
	}
	for name := range sources {
		t.Errorf("there is no guide %s", name)
	}
}

// TestUnexplained checks which numbers want a source.
func TestUnexplained(t *testing.T) {
	got := strings.Join(unexplained("Go 1.26 and Fig. 5 and python3 of 3 cells, 0 and 1, take 3 ms, 17 of 24, 98 %, 2 GiB and 1,234 bytes."), ";")
	for _, want := range []string{"3 ms", "17 of", "24,", "98 %", "2 GiB", "1,234"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if n := strings.Count(got, ";") + 1; n != 6 {
		t.Errorf("%d numbers: %q", n, got)
	}
}

// unexplained returns the numbers of a text that want a source, with the words around
// each.
func unexplained(text string) (found []string) {
	text = named.ReplaceAllString(text, "")
	for _, at := range numbers.FindAllStringIndex(text, -1) {
		if !few.MatchString(text[at[0]:at[1]]) || units.MatchString(text[at[1]:]) {
			found = append(found, text[max(0, at[0]-30):min(len(text), at[1]+20)])
		}
	}
	return found
}

// sentences returns a guide's text in one line, without code, links' targets and the
// tables of what was measured.
func sentences(text string) string {
	text = block.ReplaceAllString(text, "")
	text = regexp.MustCompile("(?sm)^```.*?^```$").ReplaceAllString(text, "")
	text = regexp.MustCompile("(?m)^(?:    |\t).*$|^#+ \\d+\\. ").ReplaceAllString(text, "")
	text = regexp.MustCompile("`[^`]*`").ReplaceAllString(text, "`")
	text = regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(text, "]")
	text = regexp.MustCompile(`(?m)^\d+\. `).ReplaceAllString(text, "")
	return strings.Join(strings.Fields(text), " ")
}

// holds reports what is wrong with a source.
func holds(root, source string) error {
	file, want, _ := strings.Cut(source, ": ")
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	if m := regexp.MustCompile(`^(\d+) x (.*)$`).FindStringSubmatch(want); m != nil {
		if n := len(regexp.MustCompile("(?m)"+m[2]).FindAll(b, -1)); fmt.Sprint(n) != m[1] {
			return fmt.Errorf("%s has %d lines with %s", file, n, m[2])
		}
	} else if !strings.Contains(string(b), want) {
		return fmt.Errorf("%s has no %q", file, want)
	}
	return nil
}
