package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"dace.local/kernel/gocell/symbols/docs"
)

const text = `// Package p is an example.
package p

// Settings of a run.
type Settings struct {
	// Evaluations is the budget; 0 means 800. Every evaluation counts.
	Evaluations int
	// Samples is the number of solutions, 75 % of them to train with; default
	// 100,000.
	Samples int

	// Children and Rule choose among readings.
	Children int
	Rule     int
	Other    int

	// A and B are weights; defaults 1 and 0.0005. A negative number means 0.
	A, B float64
	// Label of the axis.
	Label struct {
		// Text is what stands there.
		Text string
	}
	Seed   uint64 // Seed of everything.
	hidden int    // not shown
}

// Run runs.
func Run(n int) int {
	// A comment within.
	return n + 1
}

// Twice runs twice.
func (s *Settings) Twice() int { return Run(Run(s.hidden)) }

func own() {}
`

func parsed(t *testing.T) (*token.FileSet, []*ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return fset, []*ast.File{f}
}

func TestOf(t *testing.T) {
	fset, files := parsed(t)
	d, err := doc.NewFromFiles(fset, files, "example.org/p")
	if err != nil {
		t.Fatal(err)
	}
	got := docs.Of(d)
	for name, want := range map[string]string{
		"":                             "Package p is an example.",
		"Run":                          "Run runs.",
		"Settings.Twice":               "Twice runs twice.",
		"Settings.Evaluations default": "800",
		"Settings.Samples default":     "100,000",
		"Settings.Children":            "Children and Rule choose among readings.",
		"Settings.Rule":                "Children and Rule choose among readings.",
		"Settings.Other":               "",
		"Settings.A default":           "1",
		"Settings.B default":           "0.0005",
		"Settings.Label.Text":          "Text is what stands there.",
		"Settings.Seed":                "Seed of everything.",
		"Settings.Seed default":        "",
		"Settings.hidden":              "",
	} {
		if got[name] != want {
			t.Errorf("%q: %q, want %q", name, got[name], want)
		}
	}
}

func TestDefault(t *testing.T) {
	for comment, want := range map[string]string{
		"Default Authors.":                         "Authors",
		"Steps between; default a 60th of Steps.":  "a 60th of Steps",
		"0 means that of the instances, or less.":  "that of the instances",
		"Latent is d_z; 0 means d.":                "d",
		"Workers; 0 means one per core. It is so.": "one per core",
		"A rate of 0.5; default 0.001":             "0.001",
		"Every 30 s (default 30 s).":               "30 s",
		"It sets the default for some of the rest": "",
		"No word of it.":                           "",
	} {
		if got := docs.Default(comment, 0, 1); got != want {
			t.Errorf("%q: %q, want %q", comment, got, want)
		}
	}
}

func TestSource(t *testing.T) {
	got := docs.Source(parsed(t))
	for name, want := range map[string]string{
		"Run":            "// Run runs.\nfunc Run(n int) int {\n\t// A comment within.\n\treturn n + 1\n}",
		"Settings.Twice": "// Twice runs twice.\nfunc (s *Settings) Twice() int { return Run(Run(s.hidden)) }",
	} {
		if got[name] != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got[name], want)
		}
	}
	if !strings.Contains(got["Settings"], "hidden int") || got["own"] != "" {
		t.Errorf("%q, %q", got["Settings"], got["own"])
	}
}

// TestKeyword checks that each keyword of Go has an explanation with an example
// that parses.
func TestKeyword(t *testing.T) {
	n := 0
	for tok := token.BREAK; tok <= token.VAR; tok++ {
		if !tok.IsKeyword() {
			continue
		}
		n++
		about := docs.Keyword(tok.String())
		if about == "" || !strings.Contains(about, tok.String()) {
			t.Errorf("%s: %q", tok, about)
			continue
		}
		_, example, found := strings.Cut(about, "\n\n")
		if !found {
			t.Errorf("%s has no example", tok)
			continue
		}
		_, asBody := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+example+"\n}", 0)
		_, asDecl := parser.ParseFile(token.NewFileSet(), "", "package p\n"+example, 0)
		_, asFile := parser.ParseFile(token.NewFileSet(), "", example, 0)
		if asBody != nil && asDecl != nil && asFile != nil {
			t.Errorf("%s: the example is not Go: %v\n%s", tok, asBody, example)
		}
	}
	if n != 25 {
		t.Errorf("%d keywords", n)
	}
	if docs.Keyword("x") != "" {
		t.Error("x is a keyword")
	}
}
